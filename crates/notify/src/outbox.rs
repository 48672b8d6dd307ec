//! What one hook still has to be told. Bounded: what does not fit is counted.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::config::hook::EventKind;

/// One event as it will be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line {
    /// Rises, and stays the same when a message is sent again: receivers can tell what they have seen.
    pub(crate) id: u64,
    /// [`EventKind::name`].
    pub(crate) event: String,
    /// Whether something began; else it ended.
    pub(crate) began: bool,
    /// What it is about, as [`Subject`](crate::subject::Subject) writes it.
    pub(crate) subject: String,
    pub(crate) front: Option<String>,
    pub(crate) upstream: Option<String>,
    /// When it was noticed, since when it was bad, and until when: nanoseconds since 1970.
    pub(crate) at: u64,
    pub(crate) since: u64,
    pub(crate) until: Option<u64>,
    /// In a few words: `harbor is down`.
    pub(crate) title: String,
    /// As pages say it.
    pub(crate) sentence: String,
}

impl Line {
    pub(crate) fn is(&self, kind: EventKind) -> bool {
        self.event == kind.name()
    }
}

/// Lines that wait, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outbox {
    lines: VecDeque<Line>,
    /// How many more there were.
    more: u32,
    /// The last one that a message under way tells.
    #[serde(skip)]
    under_way: Option<u64>,
}

/// What one message tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) lines: Vec<Line>,
    pub(crate) more: u32,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.more == 0
    }

    /// The last line's number.
    pub(crate) fn last(&self) -> u64 {
        self.lines.back().map_or(0, |line| line.id)
    }

    /// Adds a line, within so many. The end of something that was not told yet takes the place of its beginning: it says
    /// both.
    pub(crate) fn push(&mut self, line: Line, most: usize) {
        let under_way = self.under_way;
        let is_free = |line: &Line| under_way.is_none_or(|last| line.id > last);
        if !line.began {
            self.lines
                .retain(|one| !(is_free(one) && one.began && one.subject == line.subject));
        }
        self.lines.push_back(line);
        while self.lines.len() > most {
            // The newest say how things are now.
            let Some(oldest) = self.lines.iter().position(is_free) else {
                break;
            };
            self.lines.remove(oldest);
            self.more = self.more.saturating_add(1);
        }
    }

    /// What the next message tells; `None` if there is nothing. Stays until it [was sent](Self::sent).
    pub(crate) fn begin(&mut self) -> Option<Batch> {
        if self.is_empty() {
            return None;
        }
        self.under_way = Some(self.last());
        Some(Batch {
            lines: self.lines.iter().cloned().collect(),
            more: self.more,
        })
    }

    /// A message has arrived.
    pub(crate) fn sent(&mut self, batch: &Batch) {
        let last = batch.lines.last().map_or(0, |line| line.id);
        self.lines.retain(|line| line.id > last);
        self.more = self.more.saturating_sub(batch.more);
        self.under_way = None;
    }

    /// No message is under way any more.
    pub(crate) fn rest(&mut self) {
        self.under_way = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: u64, subject: &str, began: bool) -> Line {
        Line {
            id,
            event: if began { "down" } else { "back" }.to_owned(),
            began,
            subject: subject.to_owned(),
            front: None,
            upstream: None,
            at: id,
            since: id,
            until: None,
            title: String::new(),
            sentence: subject.to_owned(),
        }
    }

    fn ids(batch: &Batch) -> Vec<u64> {
        batch.lines.iter().map(|line| line.id).collect()
    }

    #[test]
    fn what_does_not_fit_is_counted_and_the_newest_stay() {
        let mut outbox = Outbox::default();
        for id in 1..=34 {
            outbox.push(line(id, &format!("upstream/search/{id}"), true), 20);
        }
        let batch = outbox.begin().unwrap();
        assert_eq!(ids(&batch), (15..=34).collect::<Vec<_>>());
        assert_eq!(batch.more, 14);
        outbox.sent(&batch);
        assert!(outbox.is_empty() && outbox.begin().is_none());
    }

    #[test]
    fn an_end_takes_the_place_of_a_beginning_that_nobody_was_told() {
        let mut outbox = Outbox::default();
        outbox.push(line(1, "a", true), 20);
        outbox.push(line(2, "b", true), 20);
        outbox.push(line(3, "a", false), 20);
        assert_eq!(ids(&outbox.begin().unwrap()), [2, 3]);
    }

    #[test]
    fn what_a_message_under_way_tells_stays_until_it_has_arrived() {
        let mut outbox = Outbox::default();
        outbox.push(line(1, "a", true), 2);
        let first = outbox.begin().unwrap();
        outbox.push(line(2, "a", false), 2);
        outbox.push(line(3, "b", true), 2);
        outbox.rest();
        let second = outbox.begin().unwrap();
        assert_eq!(ids(&first), [1]);
        assert_eq!(
            (ids(&second), second.more),
            (vec![1, 3], 1),
            "it failed, and is told again"
        );
        outbox.push(line(4, "c", true), 9);
        outbox.sent(&second);
        assert_eq!(ids(&outbox.begin().unwrap()), [4]);
        assert_eq!(outbox.more, 0);
    }
}
