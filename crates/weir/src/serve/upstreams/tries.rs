//! How often upstreams may be tried: a person tries one at a time, and nobody makes Weir look through a network.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use weir_web::{Identity, Visitor};

/// How long a tryout may take, whatever time the entry allows.
pub(super) const LONGEST: Duration = Duration::from_secs(20);
/// Tryouts under way at once.
const AT_ONCE: usize = 3;
/// Tryouts within [`WINDOW`].
const MOST: usize = 30;
const WINDOW: Duration = Duration::from_secs(5 * 60);

/// Tryouts under way, and when the last ones began.
#[derive(Default)]
pub(super) struct Tries(Mutex<Tried>);

#[derive(Default)]
struct Tried {
    by: Vec<String>,
    began: VecDeque<Instant>,
}

/// The right to make one.
pub(super) struct TryoutPlace<'a> {
    tries: &'a Tries,
    by: String,
}

impl Tries {
    /// Takes a place for a visitor.
    ///
    /// # Errors
    /// Why there is none, as a sentence.
    pub(super) fn begin(&self, visitor: &Visitor) -> Result<TryoutPlace<'_>, &'static str> {
        self.begin_as(match visitor.identity {
            Identity::Session(session) => format!("{session:?}"),
            _ => visitor.client.address.to_string(),
        })
    }

    fn begin_as(&self, by: String) -> Result<TryoutPlace<'_>, &'static str> {
        let mut tried = self.0.lock();
        let now = Instant::now();
        tried.began.retain(|began| now < *began + WINDOW);
        if tried.by.contains(&by) {
            return Err("You are trying an upstream already. Wait until it has answered.");
        }
        if tried.by.len() >= AT_ONCE {
            return Err("Three upstreams are being tried already. Try again in a moment.");
        }
        if tried.began.len() >= MOST {
            return Err("30 upstreams were tried in the last five minutes. Try again later.");
        }
        tried.began.push_back(now);
        tried.by.push(by.clone());
        Ok(TryoutPlace { tries: self, by })
    }
}

impl Drop for TryoutPlace<'_> {
    fn drop(&mut self) {
        self.tries.0.lock().by.retain(|by| *by != self.by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_each_a_few_at_once_and_not_too_often() {
        let tries = Tries::default();
        let begin = |by: &str| tries.begin_as(by.to_owned());
        let first = begin("a").unwrap();
        assert!(begin("a").is_err(), "one at a time");
        let others = (begin("b").unwrap(), begin("c").unwrap());
        assert!(begin("d").is_err(), "a few in all");
        drop((first, others));
        for _ in 3..MOST {
            drop(begin("a").unwrap());
        }
        assert!(begin("a").is_err(), "not that often");
        tokio::time::advance(WINDOW).await;
        assert!(begin("a").is_ok());
    }
}
