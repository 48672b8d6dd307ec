//! When the newest article of each newsgroup was written, for those newsgroups that somebody looks at.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use weir_engine::Got;
use weir_engine::dispatch::{Asker, Moment};
use weir_news_proto::Newsgroup;

use crate::bring::Wish;
use crate::call::AskWindow;
use crate::catalogue::MergedList;
use crate::lines::Dates;
use crate::model::Model;
use crate::policy::LOW;
use crate::reading::{NewsgroupList, NewsgroupRow, Rendered};

/// Newsgroups of a page whose dates are asked for at a time: about as many as a screen shows.
const SHOWN: usize = 60;

/// Beyond so many errands under way nobody is sent for dates.
const RUNNING: usize = 200;

/// The list is not made anew more often than this.
const ANEW: Duration = Duration::from_secs(5);

/// The list with dates, and what it was made from.
pub(crate) struct DatedList {
    merged: Arc<MergedList>,
    at: Moment,
    stats: u64,
    list: Arc<NewsgroupList>,
}

/// What is known of a newsgroup beside the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewsgroupStats {
    newest: Option<i64>,
    /// When a server said so, in Unix seconds; `None` if none ever did.
    said: Option<i64>,
    /// When one was last asked.
    at: Moment,
}

impl Model {
    /// These newsgroups are being looked at: what is not known of when their newest articles were written, or not known to
    /// be so any more, is asked for meanwhile. The next one who looks will see it.
    pub fn look_at(&self, shown: &[&Newsgroup], asker: Asker) {
        if self.errands.running() > RUNNING {
            return;
        }
        let fresh = self.now().0 - self.rules.load().cache.group_stats;
        let wanted = |name: &&&Newsgroup| {
            let known = self.stats.lock().get(name);
            self.held(name).is_none() && known.is_none_or(|known| known.at < fresh)
        };
        for name in shown.iter().filter(wanted).take(SHOWN) {
            self.send_for_newest(name, asker);
        }
    }

    /// The list with what is known of newest articles. It is made anew at most every few seconds: there may be a hundred
    /// thousand newsgroups.
    pub(crate) fn dated(&self, merged: &Arc<MergedList>) -> Arc<NewsgroupList> {
        let now = self.now().0;
        let mut dated = self.dated.lock();
        if let Some(made) = &*dated
            && Arc::ptr_eq(&made.merged, merged)
            && (made.at >= now - ANEW || made.stats == self.stats_version.load(Ordering::Relaxed))
        {
            return made.list.clone();
        }
        let stats = self.stats_version.load(Ordering::Relaxed);
        let mut known: HashMap<Newsgroup, i64> = HashMap::new();
        self.stats.lock().retain(|name, stats| {
            known.extend(stats.newest.map(|newest| (name.clone(), newest)));
            true
        });
        let list = match known.is_empty() {
            true => merged.list.clone(),
            false => {
                let rows = merged.list.newsgroups.iter().map(|row| NewsgroupRow {
                    newest: known.get(&row.name).copied(),
                    ..row.clone()
                });
                Arc::new(NewsgroupList {
                    newsgroups: rows.collect(),
                    currency: merged.list.currency.clone(),
                    rendered: Rendered::default(),
                })
            }
        };
        *dated = Some(DatedList {
            merged: merged.clone(),
            at: now,
            stats,
            list: list.clone(),
        });
        list
    }

    /// Notes when the newest article of a newsgroup was written.
    pub(crate) fn note_newest(&self, name: &Newsgroup, newest: Option<i64>) {
        let (at, said) = self.now();
        let stats = NewsgroupStats {
            newest,
            said: Some(said),
            at,
        };
        let mut all = self.stats.lock();
        let before = all.get(name);
        all.put(name.clone(), stats, 128);
        if before.and_then(|before| before.newest) != newest {
            self.stats_version.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Nobody answered: what was known stays.
    fn note_asked(&self, name: &Newsgroup) {
        let at = self.now().0;
        let mut all = self.stats.lock();
        let known = all.get(name);
        let stats = NewsgroupStats {
            newest: known.and_then(|known| known.newest),
            said: known.and_then(|known| known.said),
            at,
        };
        all.put(name.clone(), stats, 128);
    }

    fn send_for_newest(&self, name: &Newsgroup, asker: Asker) {
        let (me, name) = (self.me.clone(), name.clone());
        let wish = (Wish::Newest(name.clone()), LOW);
        drop(self.errands.join(wish, || async move {
            let Some(model) = me.upgrade() else { return };
            match model.ask_newest(&name, asker).await {
                Some(newest) => model.note_newest(&name, newest),
                None => model.note_asked(&name),
            }
        }));
    }

    /// Asks the first server that carries it for its newest line.
    async fn ask_newest(&self, name: &Newsgroup, asker: Asker) -> Option<Option<i64>> {
        let (merged, _) = self.catalogue.merged()?;
        let (_, carried) = merged.find(name)?;
        let mut owed = self.federation.owed();
        for server in self.carriers(name) {
            let id = self.server_id(&server);
            let high = carried.iter().find(|(carrier, _)| *carrier == id)?.1.high;
            let question = AskWindow {
                newsgroup: name.clone(),
                low: high.saturating_sub(LAST).max(1),
                high,
            };
            if high == 0 {
                continue;
            }
            match self.federation.ask(&server, question, (LOW, asker)).await {
                Ok(window) => {
                    owed.got(Got::Elsewhere);
                    let dates = Dates::of(&window.lines, self.now().1);
                    return Some(dates.into_iter().max());
                }
                Err(unheard) => owed.add(unheard.owed),
            }
        }
        let known = self.stats.lock().get(name);
        owed.got(self.known_since(known.and_then(|known| known.said)));
        None
    }
}

/// The last number may stand for an article that was cancelled, so a few before it are asked for as well.
const LAST: u64 = 4;
