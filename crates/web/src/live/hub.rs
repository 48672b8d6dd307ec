//! Who listens to what, and what they already have.
//!
//! Once a second the task asks what is [`Hub::wanted`], makes it, and [`Hub::deliver`]s it. Neither time nor the rest of Weir
//! is known here. The lock is held while frames are handed out, never while one is made.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use hyper::body::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;

use super::{
    frame,
    mailbox::{Mailbox, ReaderPace},
    ring::{KeptEvent, Ring},
    topic::Topic,
};
use crate::auth::Pass;

/// Different parts of pages that are watched at most, by all together.
const PAGE_TOPICS: usize = 4096;
/// A listener that takes nothing for so many ticks has to go.
const STUCK: u32 = 30;
/// After so many ticks without an event a comment is sent.
const QUIET: u32 = 15;
/// For so many ticks events are made for a listener that may come back.
const LINGER: u32 = 60;

/// All listeners.
pub(super) struct Hub {
    state: Mutex<HubState>,
    came: Notify,
    is_run: AtomicBool,
}

struct HubState {
    /// Part of every event's id. Another one means that events in between were not kept, or not even made.
    epoch: u64,
    /// Of the latest event.
    number: u64,
    /// Events up to this number may be missing from the ring.
    forgotten: u64,
    ring: Ring,
    listeners: HashMap<u64, Listener>,
    next: u64,
    topics: BTreeMap<Topic, Audience>,
    closed: bool,
}

struct Listener {
    mailbox: Arc<Mailbox>,
    topics: Vec<Topic>,
    pass: Pass,
    /// Ticks for which it has been behind.
    late: u32,
    /// Ticks since it was last sent something.
    quiet: u32,
    /// It was sent something in this tick.
    has_post: bool,
}

/// Who listens to a topic.
struct Audience {
    ears: Vec<Ear>,
    /// The number of the event after which it is made without a gap.
    since: u64,
    /// Ticks without anybody.
    idle: u32,
}

struct Ear {
    listener: u64,
    /// It has nothing yet to which a change could be applied.
    needs_whole: bool,
}

/// A topic to make an event of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WantedTopic {
    pub(super) topic: Topic,
    /// Somebody has the rest already.
    pub(super) changes: bool,
    /// Somebody has nothing yet.
    pub(super) whole: bool,
}

/// What was made of a topic, as JSON.
pub(super) enum Made {
    /// What happened, for everybody who listens.
    Happened(Option<String>),
    /// What changed, for those who have the rest, and the whole for whoever has just come.
    State {
        changed: Option<String>,
        whole: Option<String>,
    },
}

/// An event on its way to those who listen to its topic.
pub(super) struct MadeEvent {
    pub(super) topic: Topic,
    /// The event's name.
    pub(super) name: &'static str,
    pub(super) made: Made,
}

/// Why nobody more can listen.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotHeard {
    /// Too many different parts of pages are watched.
    Full,
    /// Weir is stopping.
    Closed,
}

/// A listener's place; given back when dropped.
pub(super) struct Subscription {
    hub: Arc<Hub>,
    number: u64,
    pub(super) mailbox: Arc<Mailbox>,
    /// What it is sent before anything else.
    pub(super) first: Vec<Bytes>,
}

impl Hub {
    pub(super) fn new(started: Timestamp) -> Self {
        let epoch = started.as_millisecond().unsigned_abs();
        Self {
            state: Mutex::new(HubState {
                epoch,
                number: 0,
                forgotten: 0,
                ring: Ring::default(),
                listeners: HashMap::new(),
                next: 1,
                topics: BTreeMap::new(),
                closed: false,
            }),
            came: Notify::new(),
            is_run: AtomicBool::new(false),
        }
    }

    /// Whether its task runs; from now on it does.
    pub(super) fn is_run(&self) -> bool {
        self.is_run.swap(true, Ordering::Relaxed)
    }

    /// Waits until somebody listens.
    ///
    /// # Cancel safety
    /// Whoever came is still there.
    pub(super) async fn somebody(&self) {
        while self.state.lock().topics.is_empty() {
            self.came.notified().await;
        }
    }

    /// Adds a listener. `last` is the id of the last event that it got, if it comes back.
    pub(super) fn subscribe(
        self: &Arc<Self>,
        mut topics: Vec<Topic>,
        pass: Pass,
        last: Option<&str>,
    ) -> Result<Subscription, NotHeard> {
        topics.sort();
        topics.dedup();
        let mut state = self.state.lock();
        if state.closed {
            return Err(NotHeard::Closed);
        }
        let pages = |topic: &&Topic| !topic.is_for_programs();
        let watched = state.topics.keys().filter(pages).count();
        let new = topics.iter().filter(pages);
        let new = new.filter(|topic| !state.topics.contains_key(topic));
        if watched + new.count() > PAGE_TOPICS {
            return Err(NotHeard::Full);
        }
        let number = state.next;
        state.next += 1;
        let mut first = vec![frame::hello(number)];
        first.extend(last.map_or_else(Vec::new, |last| state.since(last, &topics)));
        let since = state.number;
        for topic in &topics {
            let audience = state.topics.entry(topic.clone());
            let audience = audience.or_insert_with(|| Audience::new(since));
            audience.ears.push(Ear {
                listener: number,
                needs_whole: true,
            });
        }
        let mailbox = Arc::<Mailbox>::default();
        let listener = Listener {
            mailbox: Arc::clone(&mailbox),
            topics,
            pass,
            late: 0,
            quiet: 0,
            has_post: false,
        };
        state.listeners.insert(number, listener);
        drop(state);
        self.came.notify_one();
        Ok(Subscription {
            hub: Arc::clone(self),
            number,
            mailbox,
            first,
        })
    }

    /// What must be made now; `None` if nobody has listened for a while, so that the task may sleep. Listeners that may not
    /// listen any more, or do not, are ended here.
    pub(super) fn wanted(&self, lets_pass: impl Fn(&Pass) -> bool) -> Option<Vec<WantedTopic>> {
        let mut state = self.state.lock();
        state.review(lets_pass);
        for audience in state.topics.values_mut() {
            audience.idle = match audience.ears.is_empty() {
                true => audience.idle + 1,
                false => 0,
            };
        }
        state.topics.retain(|topic, audience| {
            let lingers = topic.is_for_programs() && audience.idle <= LINGER;
            !audience.ears.is_empty() || lingers
        });
        if state.topics.is_empty() {
            state.begin_epoch();
            return None;
        }
        let wanted = state.topics.iter().map(|(topic, audience)| WantedTopic {
            topic: topic.clone(),
            // Without anybody it is made for whoever comes back.
            changes: audience.ears.is_empty() || audience.ears.iter().any(|ear| !ear.needs_whole),
            whole: audience.ears.iter().any(|ear| ear.needs_whole),
        });
        Some(wanted.collect())
    }

    /// Hands out what was made.
    pub(super) fn deliver(&self, events: Vec<MadeEvent>, at: Timestamp) {
        let mut state = self.state.lock();
        for event in events {
            state.hand_out(event, at);
        }
        let mut woken = Vec::with_capacity(state.listeners.len());
        for listener in state.listeners.values_mut() {
            listener.quiet += 1;
            if listener.quiet >= QUIET {
                listener.put(frame::PING);
            }
            if std::mem::take(&mut listener.has_post) {
                listener.quiet = 0;
                woken.push(Arc::clone(&listener.mailbox));
            }
        }
        drop(state);
        woken.iter().for_each(|mailbox| mailbox.wake());
    }

    /// Events may have been lost: everybody is told, and gets the whole of everything again.
    pub(super) fn lose_track(&self) {
        let mut state = self.state.lock();
        if state.listeners.is_empty() {
            return;
        }
        state.begin_epoch();
        let all: Vec<u64> = state.listeners.keys().copied().collect();
        all.into_iter()
            .for_each(|listener| state.begin_again(listener));
    }

    /// Ends all listeners; nobody can listen any more.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        for (_, listener) in state.listeners.drain() {
            listener.mailbox.end();
        }
        state.topics.clear();
    }

    #[cfg(test)]
    fn listeners(&self) -> usize {
        self.state.lock().listeners.len()
    }
}

impl HubState {
    fn id(&self) -> String {
        format!("{:x}-{}", self.epoch, self.number)
    }

    /// What somebody missed who was here before, or that it cannot be told.
    fn since(&self, last: &str, topics: &[Topic]) -> Vec<Bytes> {
        let number = last.split_once('-').and_then(|(epoch, number)| {
            let same = u64::from_str_radix(epoch, 16).ok()? == self.epoch;
            same.then(|| number.parse::<u64>().ok()).flatten()
        });
        let is_made = |topic: &&Topic, number| {
            let audience = self.topics.get(topic);
            audience.is_some_and(|audience| audience.since <= number)
        };
        let programs = || topics.iter().filter(|topic| topic.is_for_programs());
        let known = number.filter(|&number| {
            number <= self.number
                && number >= self.forgotten
                && programs().all(|topic| is_made(&topic, number))
        });
        match known {
            Some(number) => self.ring.after(number, topics),
            // Pages get the whole anyway.
            None if programs().next().is_none() => Vec::new(),
            None => {
                let last: String = last.chars().take(40).collect();
                vec![self.missed(Some(&last))]
            }
        }
    }

    fn missed(&self, last: Option<&str>) -> Bytes {
        let data = json!({
            "last": last,
            "kept_since": self.ring.since().map(|since| since.to_string()),
            "sentence": "Some events were missed.",
            "advice": "Read the whole state again: /api/v1/status, /api/v1/upstreams, /api/v1/decisions.",
        });
        frame::event(&self.id(), "missed", &data.to_string())
    }

    /// Ends who may not listen any more or does not, and begins again with those who were too slow.
    fn review(&mut self, lets_pass: impl Fn(&Pass) -> bool) {
        let (mut ended, mut caught_up) = (Vec::new(), Vec::new());
        for (number, listener) in &mut self.listeners {
            let pace = listener.mailbox.pace();
            listener.late = match pace {
                ReaderPace::Behind => listener.late + 1,
                ReaderPace::Follows | ReaderPace::CaughtUp => 0,
            };
            if listener.late > STUCK || !lets_pass(&listener.pass) {
                ended.push(*number);
            } else if pace == ReaderPace::CaughtUp {
                caught_up.push(*number);
            }
        }
        for number in ended {
            if let Some(listener) = self.remove(number) {
                listener.mailbox.end();
            }
        }
        for number in caught_up {
            self.begin_again(number);
        }
    }

    fn begin_again(&mut self, number: u64) {
        let missed = self.missed(None);
        let Some(listener) = self.listeners.get_mut(&number) else {
            return;
        };
        listener.mailbox.begin_again();
        listener.put(missed);
        for topic in &listener.topics {
            let ears = self.topics.get_mut(topic).into_iter();
            let mut ears = ears.flat_map(|audience| &mut audience.ears);
            if let Some(ear) = ears.find(|ear| ear.listener == number) {
                ear.needs_whole = true;
            }
        }
    }

    fn hand_out(&mut self, event: MadeEvent, at: Timestamp) {
        let MadeEvent { topic, name, made } = event;
        let (changed, whole) = match made {
            Made::Happened(None) => return,
            Made::Happened(Some(text)) => (Some(text), None),
            Made::State {
                changed: None,
                whole: None,
            } => return,
            Made::State { changed, whole } => (changed, Some(whole)),
        };
        self.number += 1;
        let id = self.id();
        let write = |text: String| frame::event(&id, name, &text);
        let changed = changed.map(write);
        // What only happens has no whole: whoever has just come hears of it like everybody.
        let whole = match whole {
            Some(whole) => whole.map(write),
            None => changed.clone(),
        };
        if let Some(frame) = changed.clone().filter(|_| topic.is_for_programs()) {
            let number = self.number;
            let kept = KeptEvent {
                number,
                at,
                topic: topic.clone(),
                frame,
            };
            self.forgotten = self.ring.push(kept).unwrap_or(self.forgotten);
        }
        let Some(audience) = self.topics.get_mut(&topic) else {
            return;
        };
        for ear in &mut audience.ears {
            let frame = if ear.needs_whole { &whole } else { &changed };
            // Whoever came after this was begun waits for the next whole.
            let Some(frame) = frame else { continue };
            ear.needs_whole = false;
            if let Some(listener) = self.listeners.get_mut(&ear.listener) {
                listener.put(frame.clone());
            }
        }
    }

    fn remove(&mut self, number: u64) -> Option<Listener> {
        let listener = self.listeners.remove(&number)?;
        for topic in &listener.topics {
            if let Some(audience) = self.topics.get_mut(topic) {
                audience.ears.retain(|ear| ear.listener != number);
            }
        }
        Some(listener)
    }

    fn begin_epoch(&mut self) {
        self.epoch += 1;
        (self.number, self.forgotten) = (0, 0);
        self.ring.clear();
        for audience in self.topics.values_mut() {
            audience.since = 0;
        }
    }
}

impl Listener {
    fn put(&mut self, frame: Bytes) {
        self.mailbox.put(frame);
        self.has_post = true;
    }
}

impl Audience {
    fn new(since: u64) -> Self {
        Self {
            ears: Vec::new(),
            since,
            idle: 0,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.state.lock().remove(self.number);
    }
}

#[cfg(test)]
#[path = "hub/tests.rs"]
mod tests;
