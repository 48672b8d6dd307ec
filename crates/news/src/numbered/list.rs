//! The marks of every newsgroup, without asking a server about any single one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use weir_engine::dispatch::Asker;
use weir_net::aside;
use weir_news_proto::Newsgroup;

use super::NumberedNewsgroup;
use crate::catalogue::MergedList;
use crate::model::Model;
use crate::newsgroup::OpenNewsgroup;
use crate::numbers::{ArticleNumbers, Carried, Marks, ServerId};
use crate::reading::{NewsgroupList, Posting, Unread};

/// So many newsgroups are listed on the spot.
const FEW: usize = 2000;

/// No place in the list of servers.
const NOWHERE: u32 = u32::MAX;

/// All newsgroups with their marks.
#[derive(Debug)]
pub struct NumberedList {
    /// Sorted by name.
    newsgroups: Vec<NumberedNewsgroup>,
    /// Where each is in the list that has the descriptions.
    places: Vec<u32>,
    listed: Arc<NewsgroupList>,
}

/// What newsreaders have been told of newsgroups.
#[derive(Default)]
pub(crate) struct ToldMarks {
    known: Mutex<HashMap<Newsgroup, KnownMarks>>,
    /// Changes whenever one of them does.
    version: AtomicU64,
    made: Mutex<Option<MadeList>>,
    /// Held while it is made: two at a time would each forget what the other has told.
    making: Mutex<()>,
    /// When each newsgroup was first seen on any server.
    pub(super) first_seen: Mutex<HashMap<Newsgroup, i64>>,
    /// Other nodes give numbers too: nothing is told ahead of them.
    shared: bool,
}

/// The marks of a newsgroup that somebody has opened.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KnownMarks {
    marks: Marks,
    count: u64,
    /// Up to which of its numbers each server has been dealt with.
    reached: Box<[(ServerId, u64)]>,
}

/// The list, and what it was made from.
#[derive(Clone)]
struct MadeList {
    merged: Arc<MergedList>,
    version: u64,
    list: Arc<NumberedList>,
}

impl NumberedList {
    /// All of them by name, each with what it is about; that is empty if no server says.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (&NumberedNewsgroup, &str)> {
        let places = self.places.iter();
        self.newsgroups.iter().zip(places).map(|(row, &place)| {
            let listed = self.listed.newsgroups.get(place as usize);
            (row, listed.map_or("", |listed| &listed.description))
        })
    }

    /// One of them.
    pub fn find(&self, name: &Newsgroup) -> Option<&NumberedNewsgroup> {
        let by_name = |row: &NumberedNewsgroup| row.name.as_str().cmp(name.as_str());
        let place = self.newsgroups.binary_search_by(by_name).ok()?;
        self.newsgroups.get(place)
    }
}

impl Marks {
    /// Numbers from the lowest to the highest.
    pub(super) fn numbers(self) -> u64 {
        (self.high + 1).saturating_sub(self.low)
    }

    /// The same, but that neither is lower than what was told before.
    pub(super) fn or_higher(self, told: Self) -> Self {
        let low = self.low.max(told.low);
        let high = self.high.max(told.high).max(low.saturating_sub(1));
        Self { low, high }
    }
}

impl KnownMarks {
    /// What these marks will be, and how many articles, when what servers list is dealt with.
    fn ahead(&self, carried: &[(ServerId, Carried)]) -> (Marks, u64) {
        let above = carried.iter().filter_map(|(server, carried)| {
            let (_, reached) = self.reached.iter().find(|(known, _)| known == server)?;
            Some(carried.high.saturating_sub(*reached))
        });
        // Most articles are new on several servers at once.
        let above = above.max().unwrap_or(0);
        let Marks { low, high } = self.marks;
        match high.checked_add(above).filter(|&high| high <= READABLE) {
            Some(high) => (Marks { low, high }, self.count.saturating_add(above)),
            None => (self.marks, self.count),
        }
    }
}

/// The largest number that newsreaders understand; larger ones are not told before somebody has seen them.
const READABLE: u64 = 2_147_483_647;

impl Model {
    /// All newsgroups with their marks.
    ///
    /// # Errors
    /// Why there is no list.
    pub async fn numbered_list(&self, asker: Asker) -> Result<Arc<NumberedList>, Unread> {
        let merged = self.listed(asker).await?;
        if let Some(made) = self.told.current(&merged) {
            return Ok(made);
        }
        let Some(model) = self.me.upgrade() else {
            return Err(Unread::Unreachable(Vec::new()));
        };
        let made = match merged.list.newsgroups.len() {
            ..FEW => self.told.make(&merged),
            _ => aside(move || model.told.make(&merged)).await,
        };
        Ok(made)
    }

    /// The marks that newsreaders have last been told of a newsgroup.
    pub(crate) fn told(&self, name: &Newsgroup) -> Marks {
        let made = self.told.made.lock().clone();
        let row = made.as_ref().and_then(|made| made.list.find(name));
        row.map_or(Marks::default(), |row| Marks {
            low: row.low,
            high: row.high,
        })
    }

    /// Notes the marks of a newsgroup that may have changed.
    pub(crate) fn note_marks(&self, open: &OpenNewsgroup) {
        let marks = open.with(|state| state.numbers.as_ref().map(KnownMarks::of));
        let Some(marks) = marks else { return };
        self.told.note(&open.name, marks);
    }

    /// Reads the marks that were kept. Blocks, and is for the start.
    pub(crate) fn recall_marks(&self) {
        self.told.first_seen.lock().extend(self.file.seen());
        for kept in self.file.marks() {
            let (low, high) = (kept.marks.low, kept.marks.high);
            let marks = Marks { low, high };
            let all = marks.numbers();
            let given = all - kept.marks.room_end.saturating_sub(low).min(all);
            let promised = kept.lead.map_or(0, |(promised, _)| promised);
            let claimed = kept.lead.map_or(0, |(_, claimed)| claimed);
            let known = KnownMarks {
                marks,
                count: given.saturating_sub(promised) + promised.min(claimed),
                reached: kept.reached.into_boxed_slice(),
            };
            self.told.note(&kept.name, known);
        }
    }
}

impl KnownMarks {
    fn of(numbers: &ArticleNumbers) -> Self {
        let (low, high) = (numbers.low(), numbers.high());
        Self {
            marks: Marks { low, high },
            count: numbers.count(),
            reached: numbers.reached().collect(),
        }
    }
}

impl ToldMarks {
    pub(crate) fn new(shared: bool) -> Self {
        Self {
            shared,
            ..Self::default()
        }
    }

    /// Whether anybody has ever opened a newsgroup; articles have no numbers in others.
    pub(super) fn has_opened(&self, name: &Newsgroup) -> bool {
        self.known.lock().contains_key(name)
    }

    fn note(&self, name: &Newsgroup, marks: KnownMarks) {
        let mut known = self.known.lock();
        if known.get(name) != Some(&marks) {
            known.insert(name.clone(), marks);
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    /// The list that was made from this, if nothing has changed since.
    fn current(&self, merged: &Arc<MergedList>) -> Option<Arc<NumberedList>> {
        let made = self.made.lock();
        let version = self.version.load(Ordering::Acquire);
        let same = |made: &&MadeList| Arc::ptr_eq(&made.merged, merged) && made.version == version;
        made.as_ref().filter(same).map(|made| made.list.clone())
    }

    fn make(&self, merged: &Arc<MergedList>) -> Arc<NumberedList> {
        let _making = self.making.lock();
        // Whoever waited for another may be served with its list.
        if let Some(made) = self.current(merged) {
            return made;
        }
        let version = self.version.load(Ordering::Acquire);
        let before = self.made.lock().as_ref().map(|made| made.list.clone());
        let list = Arc::new(self.numbered(merged, before.as_deref()));
        *self.made.lock() = Some(MadeList {
            merged: merged.clone(),
            version,
            list: list.clone(),
        });
        list
    }

    fn numbered(&self, merged: &Arc<MergedList>, before: Option<&NumberedList>) -> NumberedList {
        let listed = &merged.list.newsgroups;
        let mut all: Vec<(NumberedNewsgroup, u32)> = Vec::with_capacity(listed.len());
        let known = self.known.lock();
        for (place, row) in listed.iter().enumerate() {
            let carried = merged.carried_at(place);
            let (marks, count) = match known.get(&row.name) {
                Some(known) if self.shared => (known.marks, known.count),
                Some(known) => known.ahead(carried),
                None => ArticleNumbers::marks_at_first_sight(carried),
            };
            let place = u32::try_from(place).unwrap_or(NOWHERE);
            all.push((numbered(&row.name, marks, count, row.posting), place));
        }
        // Those that no server lists any more can be read as well.
        for (name, known) in known.iter() {
            if known.marks.numbers() > 0 && merged.find(name).is_none() {
                let row = numbered(name, known.marks, known.count, Posting::Closed);
                all.push((row, NOWHERE));
            }
        }
        drop(known);
        all.sort_by(|(one, _), (other, _)| one.name.as_str().cmp(other.name.as_str()));
        let mut told = before
            .map_or(&[][..], |before| &before.newsgroups)
            .iter()
            .peekable();
        for (row, _) in &mut all {
            while told
                .next_if(|told| told.name.as_str() < row.name.as_str())
                .is_some()
            {}
            if let Some(told) = told.next_if(|told| told.name == row.name) {
                let (low, high) = (told.low, told.high);
                let marks = Marks {
                    low: row.low,
                    high: row.high,
                }
                .or_higher(Marks { low, high });
                (row.low, row.high) = (marks.low, marks.high);
                row.count = row.count.min(marks.numbers());
            }
        }
        let (newsgroups, places) = all.into_iter().unzip();
        NumberedList {
            newsgroups,
            places,
            listed: merged.list.clone(),
        }
    }
}

fn numbered(name: &Newsgroup, marks: Marks, count: u64, posting: Posting) -> NumberedNewsgroup {
    NumberedNewsgroup {
        name: name.clone(),
        low: marks.low,
        high: marks.high,
        count: count.min(marks.numbers()),
        posting,
    }
}
