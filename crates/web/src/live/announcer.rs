//! What a front tells those who listen, in its own words. While nobody does, it costs one look at a flag.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::topic::Topic;

/// Announcements that are kept for the next second at most.
const MOST: usize = 100;

/// Takes a front's announcements; clones are the same one.
#[derive(Clone)]
pub struct Announcer(Arc<Announced>);

struct Announced {
    topic: Topic,
    /// Somebody listens. Set once a second.
    heard: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    announced: Vec<Value>,
    more: u64,
}

impl Announcer {
    /// For searches that begin and end.
    pub fn of_searches() -> Self {
        Self::new(Topic::Searches)
    }

    /// For newsgroups with something new in them.
    pub fn of_news() -> Self {
        Self::new(Topic::News)
    }

    fn new(topic: Topic) -> Self {
        Self(Arc::new(Announced {
            topic,
            heard: AtomicBool::new(false),
            waiting: Mutex::default(),
        }))
    }

    /// Announces something, if anybody listens; of more than a hundred in a second it is told how many.
    pub fn announce(&self, tell: impl FnOnce() -> Value) {
        if !self.0.heard.load(Ordering::Relaxed) {
            return;
        }
        let mut waiting = self.0.waiting.lock();
        match waiting.announced.len() < MOST {
            true => waiting.announced.push(tell()),
            false => waiting.more += 1,
        }
    }

    pub(crate) fn topic(&self) -> &Topic {
        &self.0.topic
    }

    /// Whether anybody listens from now on.
    pub(crate) fn set_heard(&self, heard: bool) {
        if self.0.heard.swap(heard, Ordering::Relaxed) && !heard {
            *self.0.waiting.lock() = Waiting::default();
        }
    }

    /// What was announced since the last time.
    pub(crate) fn take(&self) -> Option<Value> {
        let Waiting { announced, more } = std::mem::take(&mut *self.0.waiting.lock());
        let word = self.0.topic.word();
        (!announced.is_empty()).then(|| json!({ word: announced, "more": more }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_heard_pays_nothing_and_who_is_is_bounded() {
        let announcer = Announcer::of_news();
        announcer.announce(|| unreachable!("nobody listens"));
        assert_eq!(announcer.take(), None);
        announcer.set_heard(true);
        (0..MOST + 5).for_each(|number| announcer.announce(|| number.into()));
        let told = announcer.take().unwrap();
        assert_eq!(told["news"].as_array().map(Vec::len), Some(MOST));
        assert_eq!((&told["news"][0], &told["more"]), (&0.into(), &5.into()));
        assert_eq!(announcer.take(), None);
        announcer.announce(|| 1.into());
        announcer.set_heard(false);
        announcer.set_heard(true);
        assert_eq!(announcer.take(), None, "what nobody heard is gone");
    }
}
