//! Answers of which the next pages may be asked for: for some minutes they stay as they were.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use weir_search_proto::{Query, Skipped};

use crate::merge::ReleaseList;

/// Answers that are kept, however small: clients that turn pages are few.
const MOST: usize = 500;

/// Whose answer to what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey {
    pub(crate) program: Arc<str>,
    pub(crate) address: String,
    /// The path that was asked: all indexers, one, or those of a tag.
    pub(crate) scope: String,
    pub(crate) query: Query,
}

/// An answer as it was given.
pub(crate) struct Frozen {
    pub(crate) list: Arc<ReleaseList>,
    pub(crate) skipped: Vec<Skipped>,
}

/// The answers whose next pages may be asked for.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<SessionKey, (Instant, Arc<Frozen>)>>);

impl Sessions {
    /// What was answered, if it is not longer ago than `life`.
    pub(crate) fn find(&self, key: &SessionKey, life: Duration) -> Option<Arc<Frozen>> {
        let sessions = self.0.lock();
        let (at, frozen) = sessions.get(key)?;
        (at.elapsed() < life).then(|| frozen.clone())
    }

    /// Keeps an answer; the oldest go when all of them hold more than `most` bytes.
    pub(crate) fn keep(&self, key: SessionKey, frozen: Arc<Frozen>, life: Duration, most: usize) {
        let mut sessions = self.0.lock();
        sessions.retain(|_, (at, _)| at.elapsed() < life);
        sessions.remove(&key);
        let mut held: usize = sessions.values().map(|(_, kept)| kept.list.weight()).sum();
        held += frozen.list.weight();
        while sessions.len() >= MOST || (held > most && !sessions.is_empty()) {
            let oldest = sessions.iter().min_by_key(|(_, (at, _))| *at);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            if let Some((_, gone)) = sessions.remove(&oldest) {
                held -= gone.list.weight();
            }
        }
        sessions.insert(key, (Instant::now(), frozen));
    }

    /// Lets go of what is too old.
    pub(crate) fn sweep(&self, life: Duration) {
        self.0.lock().retain(|_, (at, _)| at.elapsed() < life);
    }
}

#[cfg(test)]
mod tests {
    use weir_search_proto::Function;

    use super::*;
    use crate::merge::tests::{input, release};

    fn key(program: &str) -> SessionKey {
        SessionKey {
            program: program.into(),
            address: "192.0.2.1".to_owned(),
            scope: "/torznab/api".to_owned(),
            query: Query::new(Function::Search),
        }
    }

    fn frozen() -> Arc<Frozen> {
        let answer = input(1, vec![release("a", 1, None)]);
        Arc::new(Frozen {
            list: Arc::new(ReleaseList::of(vec![answer], |_, _| true)),
            skipped: Vec::new(),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_go_when_all_hold_too_much() {
        let (sessions, life) = (Sessions::default(), Duration::from_secs(600));
        let most = 2 * frozen().list.weight();
        for program in ["one", "two", "three"] {
            sessions.keep(key(program), frozen(), life, most);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let found = |program| sessions.find(&key(program), life).is_some();
        assert_eq!(["one", "two", "three"].map(found), [false, true, true]);
        // Another page 0 of the same takes the place of its own.
        sessions.keep(key("two"), frozen(), life, most);
        assert_eq!(["two", "three"].map(found), [true, true]);
        // One that is too large alone is kept all the same: its asker turns the pages.
        sessions.keep(key("four"), frozen(), life, 1);
        assert_eq!(["two", "three", "four"].map(found), [false, false, true]);
    }
}
