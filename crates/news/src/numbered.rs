//! Newsgroups by their own article numbers, as newsreaders see them: all servers as one whose numbers never change.
//!
//! A newsgroup's marks are those of its numbers ([`crate::numbers`]); one that nobody has opened has those that its first sight
//! would give it. What newsreaders were told once does not fall, so whoever lists or opens a newsgroup goes by what was told
//! before. Lines come from the store, else from windows of the servers' overviews; a number whose line cannot be had makes
//! the whole range fail, since a reader takes a shorter list for the truth.

mod arrivals;
mod lines;
mod list;
mod xref;

use std::ops::RangeInclusive;

use weir_engine::dispatch::Asker;
use weir_news_proto::{MessageId, Newsgroup};

pub use self::arrivals::NewArticles;
pub use self::lines::{NumberedLine, NumberedLines};
pub use self::list::NumberedList;
pub(crate) use self::list::ToldMarks;
use crate::model::Model;
use crate::newsgroup::OpenNewsgroup;
use crate::numbers::{ArticleNumbers, Marks, ServerId};
use crate::reading::{Posting, Unread};

/// Numbers that are looked at first to find the next article; more, if there is none among them.
const NEAR: u64 = 16;

/// Numbers that are looked at at a time, at most.
const FAR: u64 = 400;

/// A newsgroup by its own numbers, as GROUP and LIST tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedNewsgroup {
    /// Its name.
    pub name: Newsgroup,
    /// The lowest number that an article can have. It never falls.
    pub low: u64,
    /// The highest number that an article can have; one below the lowest if there are none. It never falls.
    pub high: u64,
    /// About how many articles there are, rather too many than too few.
    pub count: u64,
    /// Whether one may post.
    pub posting: Posting,
}

impl Model {
    /// A newsgroup with its marks, as new as its page would be.
    ///
    /// # Errors
    /// [`Unread::NoNewsgroup`] if there is none of this name, else why nothing is known of its numbers.
    pub async fn numbered(
        &self,
        name: &Newsgroup,
        asker: Asker,
    ) -> Result<NumberedNewsgroup, Unread> {
        let until = self.deadline();
        let row = self.row(name, asker).await?;
        let open = self.open_in_time(name, until).await?;
        self.bring_up_to_date(&open, until, asker).await;
        let (told, carried) = (self.told(name), self.carried(name));
        let known = open.with(|state| {
            let numbers = state.numbers.as_ref()?;
            let (low, high) = (numbers.low(), numbers.high());
            Some((Marks { low, high }, numbers.count()))
        });
        let (marks, count) = match known {
            Some(known) => known,
            // Nobody answered. What the servers have listed is what LIST says.
            None if !carried.is_empty() => ArticleNumbers::marks_at_first_sight(&carried),
            None => return Err(unreachable(&open)),
        };
        let marks = marks.or_higher(told);
        Ok(NumberedNewsgroup {
            name: name.clone(),
            low: marks.low,
            high: marks.high,
            count: count.min(marks.numbers()),
            posting: row.posting,
        })
    }

    /// The article that has a number; `None` if there is none.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub async fn id_at(
        &self,
        name: &Newsgroup,
        number: u64,
        asker: Asker,
    ) -> Result<Option<MessageId>, Unread> {
        let mut lines = self.numbered_lines(name, number..=number, asker);
        match lines.next().await {
            Ok(lines) => Ok(lines.and_then(|lines| Some(lines.first()?.id.clone()))),
            // Its line is not to be had, but whose number it is does not change.
            Err(why) => match self.held(name).and_then(|open| held_at(&open, number)) {
                Some(id) => Ok(Some(id)),
                None => Err(why),
            },
        }
    }

    /// The number of an article in a newsgroup, as far as it is known without asking anybody.
    pub async fn number_of(&self, name: &Newsgroup, id: &MessageId) -> Option<u64> {
        self.known_number(name, id)
    }

    /// The nearest article with a higher or a lower number.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub async fn beside(
        &self,
        name: &Newsgroup,
        number: u64,
        up: bool,
        asker: Asker,
    ) -> Result<Option<(u64, MessageId)>, Unread> {
        let found = self.in_time(self.find_beside(name, number, up, asker), self.deadline());
        let found = found.await;
        found.unwrap_or(Err(Unread::Unreachable(Vec::new())))
    }

    async fn find_beside(
        &self,
        name: &Newsgroup,
        number: u64,
        up: bool,
        asker: Asker,
    ) -> Result<Option<(u64, MessageId)>, Unread> {
        let (mut at, mut width) = (number, NEAR);
        while let Some(start) = self.nearest(name, at, up, asker).await? {
            let end = match up {
                true => start.saturating_add(width),
                false => start.saturating_sub(width),
            };
            let range = start.min(end)..=start.max(end);
            match self.outermost(name, range, up, asker).await {
                Ok(Some(line)) => return Ok(Some((line.number, line.id))),
                Ok(None) => (at, width) = (end, (width * 4).min(FAR)),
                // What is farther off may be all that cannot be had.
                Err(_) if width > 0 => width = 0,
                Err(why) => return Err(why),
            }
        }
        Ok(None)
    }

    /// The lowest line of a range, or the highest.
    async fn outermost(
        &self,
        name: &Newsgroup,
        range: RangeInclusive<u64>,
        lowest: bool,
        asker: Asker,
    ) -> Result<Option<NumberedLine>, Unread> {
        let mut lines = self.numbered_lines(name, range, asker);
        let mut highest = None;
        while let Some(batch) = lines.next().await? {
            let mut batch = batch.into_iter();
            if lowest {
                return Ok(batch.next());
            }
            highest = batch.next_back().or(highest);
        }
        Ok(highest)
    }

    /// The nearest number beyond this one that may have an article.
    async fn nearest(
        &self,
        name: &Newsgroup,
        number: u64,
        up: bool,
        asker: Asker,
    ) -> Result<Option<u64>, Unread> {
        let open = self.readable(name, asker).await?;
        let from = match up {
            true => number.checked_add(1),
            false => number.checked_sub(1),
        };
        let Some(from) = from else {
            return Ok(None);
        };
        let stored = self.file.nearest(name, from, up);
        let servers = self.reading_order();
        let nearest = open.with(|state| {
            let numbers = state.numbers.as_ref()?;
            let stored = stored.filter(|number| (numbers.low()..=numbers.high()).contains(number));
            match up {
                true => numbers.next(from, &servers).into_iter().chain(stored).min(),
                false => {
                    let previous = numbers.previous(from, &servers);
                    previous.into_iter().chain(stored).max()
                }
            }
        });
        Ok(nearest)
    }

    /// A newsgroup that has numbers.
    async fn readable(
        &self,
        name: &Newsgroup,
        asker: Asker,
    ) -> Result<std::sync::Arc<OpenNewsgroup>, Unread> {
        let until = self.deadline();
        let open = self.open_in_time(name, until).await?;
        if open.with(|state| state.numbers.is_none()) {
            self.row(name, asker).await?;
            self.bring_up_to_date(&open, until, asker).await;
            if open.with(|state| state.numbers.is_none()) {
                return Err(unreachable(&open));
            }
        }
        Ok(open)
    }

    /// The servers by whom a newsgroup's numbers are looked up, those first that are asked first.
    fn reading_order(&self) -> Vec<ServerId> {
        let servers = self.federation.in_order().into_iter();
        servers.map(|server| self.server_id(&server)).collect()
    }

    /// The number of an article in a newsgroup, in memory or in the store.
    fn known_number(&self, name: &Newsgroup, id: &MessageId) -> Option<u64> {
        let held = self.held(name).map(|open| {
            open.with(|state| {
                let low = state.numbers.as_ref().map_or(0, ArticleNumbers::low);
                let number = state.table.article(id).and_then(|known| known.number());
                (low, number, state.beyond)
            })
        });
        match held {
            Some((low, Some(number), _)) => Some(number).filter(|&number| number >= low),
            Some((_, None, false)) => None,
            Some((low, None, true)) => {
                let number = self.file.number_of(name, id);
                number.filter(|&number| number >= low)
            }
            None => self.file.number_of(name, id),
        }
    }
}

/// Who has a number, if that is in memory.
fn held_at(open: &OpenNewsgroup, number: u64) -> Option<MessageId> {
    open.with(|state| {
        let low = state.numbers.as_ref().map_or(0, ArticleNumbers::low);
        let article = state.table.numbered(number).filter(|_| number >= low)?;
        article.id().parse().ok()
    })
}

/// Why nothing is known of a newsgroup's numbers.
fn unreachable(open: &OpenNewsgroup) -> Unread {
    let currency = open.with(|state| state.currency());
    match currency.busy {
        Some(retry_after) => Unread::Busy { retry_after },
        None => Unread::Unreachable(currency.silent),
    }
}
