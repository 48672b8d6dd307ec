//! Answers of which the next pages may be asked for: for some minutes they stay as they were.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::time::Instant;
use weir_search_proto::{Query, Skipped};

use crate::merge::List;

/// Answers that are kept.
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
    pub(crate) list: List,
    pub(crate) skipped: Vec<Skipped>,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<SessionKey, (Instant, Arc<Frozen>)>>);

impl Sessions {
    /// What was answered, if it is not longer ago than `life`.
    pub(crate) fn find(&self, key: &SessionKey, life: Duration) -> Option<Arc<Frozen>> {
        let sessions = self.0.lock();
        let (at, frozen) = sessions.get(key)?;
        (at.elapsed() < life).then(|| frozen.clone())
    }

    pub(crate) fn keep(&self, key: SessionKey, frozen: Arc<Frozen>, life: Duration) {
        let mut sessions = self.0.lock();
        if sessions.len() >= MOST {
            sessions.retain(|_, (at, _)| at.elapsed() < life);
        }
        if sessions.len() >= MOST {
            let oldest = sessions.iter().min_by_key(|(_, (at, _))| *at);
            let oldest = oldest.map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                sessions.remove(&oldest);
            }
        }
        sessions.insert(key, (Instant::now(), frozen));
    }

    /// Lets go of what is too old.
    pub(crate) fn sweep(&self, life: Duration) {
        self.0.lock().retain(|_, (at, _)| at.elapsed() < life);
    }
}
