//! What is remembered between two steps of a form, for whoever took the first one.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use weir_web::Identity;

/// The most that is remembered at once; the oldest goes first.
const MOST: usize = 64;
/// For how long.
const LIFE: Duration = Duration::from_secs(30 * 60);

/// Values in memory, each under a token that only its owner can use.
pub(super) struct Kept<T> {
    all: Mutex<Remembered<T>>,
    /// Makes tokens that nobody can guess.
    key: RandomState,
}

struct Remembered<T> {
    values: VecDeque<OneKept<T>>,
    next: u64,
}

struct OneKept<T> {
    token: String,
    owner: Identity,
    until: Instant,
    value: T,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            all: Mutex::new(Remembered {
                values: VecDeque::new(),
                next: 0,
            }),
            key: RandomState::new(),
        }
    }
}

impl<T: Clone> Kept<T> {
    /// Remembers a value, and returns its token.
    pub(super) fn put(&self, owner: Identity, value: T) -> String {
        let mut all = self.all.lock();
        all.next += 1;
        let token = format!("{:016x}", self.key.hash_one(all.next));
        if all.values.len() >= MOST {
            all.values.pop_front();
        }
        all.values.push_back(OneKept {
            token: token.clone(),
            owner,
            until: Instant::now() + LIFE,
            value,
        });
        token
    }

    /// The value of a token, if it is the owner's and not too old.
    pub(super) fn find(&self, owner: Identity, token: &str) -> Option<T> {
        let mut all = self.all.lock();
        let now = Instant::now();
        all.values.retain(|one| one.until > now);
        let mut values = all.values.iter();
        let one = values.find(|one| one.token == token && one.owner == owner)?;
        Some(one.value.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_its_owner_finds_a_value_and_only_for_a_while() {
        let kept = Kept::default();
        let token = kept.put(Identity::Key, 7);
        assert_eq!(kept.find(Identity::Key, &token), Some(7));
        assert_eq!(kept.find(Identity::Anyone, &token), None);
        assert_eq!(kept.find(Identity::Key, "0"), None);
        tokio::time::advance(LIFE).await;
        assert_eq!(kept.find(Identity::Key, &token), None);
        let first = kept.put(Identity::Key, 1);
        (0..MOST).for_each(|_| drop(kept.put(Identity::Key, 2)));
        assert_eq!(
            kept.find(Identity::Key, &first),
            None,
            "there is no end of it"
        );
    }
}
