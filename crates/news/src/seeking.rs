//! Full text: what is looked for in stored articles, and the task that keeps the index behind them in step.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use weir_engine::{Own, OwnKind, OwnReason, about};

use crate::model::Model;
pub use crate::store::{Coverage, Hit};
use crate::store::{LINE, Looking, MOST_MATCHES, NotLooked, Stepped};
use crate::text::{Inquiry, Order};

/// Between two steps of indexing at least; otherwise as long as the step took, so that it never takes more than half a processor.
const PAUSE: Duration = Duration::from_millis(10);
/// How long something that was written waits to be indexed. Readers wait for what is being written about, and one step for
/// all of it costs less than one for each piece.
const GATHER: Duration = Duration::from_millis(250);
/// How long the index rests when it is complete and nothing is written, or when it cannot be written.
const REST: Duration = Duration::from_secs(60);
/// Seconds after which another try makes sense when too many are looking.
const LATER: u64 = 3;

/// What somebody looks for.
#[derive(Clone, Debug, Default)]
pub struct Seeking {
    /// The words and what narrows them down.
    pub inquiry: Inquiry,
    /// What comes first.
    pub order: Order,
    /// Which page, counted from 0.
    pub page: usize,
}

/// A page of what was found.
#[derive(Clone, Debug, Default)]
pub struct FoundPage {
    /// The articles on it.
    pub hits: Vec<Hit>,
    /// Which page, counted from 0.
    pub page: usize,
    /// How many there are on all pages.
    pub found: usize,
    /// Whether that is all; otherwise only the newest were looked at.
    pub is_all: bool,
    /// What of the question could not be used, in sentences.
    pub notes: Vec<String>,
    /// How much can be found at all.
    pub coverage: Coverage,
}

impl FoundPage {
    /// Articles on each page.
    pub const SIZE: usize = 20;
    /// Pages that can be seen. Whoever wants more asks for something else.
    pub const PAGES: usize = 50;

    /// How many of those that were found can be seen.
    pub fn shown(&self) -> usize {
        self.found.min(Self::SIZE * Self::PAGES)
    }

    /// Whether there is a page after this one.
    pub fn has_next(&self) -> bool {
        (self.page + 1) * Self::SIZE < self.shown()
    }
}

/// Why nothing was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfound {
    /// There is no index: the configuration says so, or nothing is stored.
    Off,
    /// The index cannot be read.
    Unreadable,
    /// Too many are looking.
    Busy {
        /// Seconds after which another try makes sense.
        retry_after: u64,
    },
}

impl Model {
    /// Looks for something in stored articles. Asks no server.
    ///
    /// # Errors
    /// Why nothing could be looked for.
    pub async fn seek(&self, seeking: Seeking) -> Result<FoundPage, Unfound> {
        let index = self.index.as_ref().ok_or(Unfound::Off)?;
        let Seeking {
            inquiry,
            order,
            page,
        } = seeking;
        let mut notes = inquiry.notes.clone();
        let looking = Looking {
            inquiry,
            order,
            skip: page.saturating_mul(FoundPage::SIZE).min(MOST_MATCHES),
            take: if page < FoundPage::PAGES {
                FoundPage::SIZE
            } else {
                0
            },
        };
        match index.look(looking).await {
            Ok(looked) => {
                notes.extend(looked.notes);
                Ok(FoundPage {
                    hits: looked.hits,
                    page,
                    found: looked.found,
                    is_all: looked.is_all,
                    notes,
                    coverage: looked.coverage,
                })
            }
            Err(NotLooked::Busy) => {
                self.engine.note_refused(Own {
                    limit: u32::try_from(LINE).ok(),
                    retry: Some(Duration::from_secs(LATER)),
                    ..Own::new(OwnKind::Refused, OwnReason::TooMany, about::ARTICLE_SEARCH)
                });
                Err(Unfound::Busy { retry_after: LATER })
            }
            Err(NotLooked::Unreadable) => Err(Unfound::Unreadable),
        }
    }

    /// Keeps the index in step with what is stored as long as Weir runs.
    pub(crate) fn keep_indexing(&self) {
        let Some(index) = self.index.clone() else {
            return;
        };
        let vital = self.engine.vitals().add("news", "indexer");
        let (me, lifetime) = (self.me.clone(), self.lifetime.clone());
        let indexing = vital.drive((me, lifetime.clone(), index), |(me, lifetime, index)| {
            Box::pin(async move {
                loop {
                    let stirred = index.stirred();
                    tokio::pin!(stirred);
                    stirred.as_mut().enable();
                    let Some(now) = me.upgrade().map(|model| model.now().1) else {
                        return;
                    };
                    let began = Instant::now();
                    let stepped = tokio::select! {
                        stepped = index.step(now) => stepped,
                        () = lifetime.closing() => return,
                    };
                    let pause = async {
                        match stepped {
                            Stepped::More => sleep(began.elapsed().max(PAUSE)).await,
                            Stepped::Stuck => sleep(REST).await,
                            Stepped::Done => {
                                tokio::select! {
                                    () = stirred => sleep(GATHER).await,
                                    () = sleep(REST) => {}
                                }
                            }
                        }
                    };
                    tokio::select! {
                        () = pause => {}
                        () = lifetime.closing() => return,
                    }
                }
            })
        });
        lifetime.spawn(indexing);
    }
}
