//! The last events for programs, for those who lost the connection and come back.

use std::collections::VecDeque;

use hyper::body::Bytes;
use jiff::Timestamp;

use super::topic::Topic;

/// Events kept at most, and their bytes together.
const EVENTS: usize = 2048;
const BYTES: usize = 4 << 20;

/// Oldest first.
#[derive(Default)]
pub(super) struct Ring {
    events: VecDeque<KeptEvent>,
    bytes: usize,
}

pub(super) struct KeptEvent {
    pub(super) number: u64,
    pub(super) at: Timestamp,
    pub(super) topic: Topic,
    pub(super) frame: Bytes,
}

impl Ring {
    /// Takes an event in. Returns the number of the newest one that had to go for it.
    pub(super) fn push(&mut self, event: KeptEvent) -> Option<u64> {
        self.bytes += event.frame.len();
        self.events.push_back(event);
        let mut gone = None;
        while self.events.len() > EVENTS || (self.bytes > BYTES && self.events.len() > 1) {
            let oldest = self.events.pop_front()?;
            self.bytes -= oldest.frame.len();
            gone = Some(oldest.number);
        }
        gone
    }

    /// The events after this number that are about one of these topics.
    pub(super) fn after(&self, number: u64, topics: &[Topic]) -> Vec<Bytes> {
        let first = self.events.partition_point(|event| event.number <= number);
        let later = self.events.range(first..);
        later
            .filter(|event| topics.contains(&event.topic))
            .map(|event| event.frame.clone())
            .collect()
    }

    /// When the oldest one was made.
    pub(super) fn since(&self) -> Option<Timestamp> {
        self.events.front().map(|event| event.at)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u64, bytes: usize) -> KeptEvent {
        KeptEvent {
            number,
            at: Timestamp::from_second(number as i64).unwrap(),
            topic: [Topic::Figures, Topic::States][number as usize % 2].clone(),
            frame: vec![0; bytes].into(),
        }
    }

    #[test]
    fn count_and_bytes_are_bounded_and_it_is_known_what_went() {
        let mut ring = Ring::default();
        for number in 1..=EVENTS as u64 {
            assert_eq!(ring.push(event(number, 10)), None);
        }
        assert_eq!(ring.push(event(3000, 10)), Some(1));
        assert_eq!(ring.push(event(3001, BYTES - 100)), Some(2039));
        assert!(ring.bytes <= BYTES && ring.events.len() == 11);
        assert_eq!(ring.push(event(3002, 2 * BYTES)), Some(3001));
        assert_eq!(ring.after(0, &[Topic::Figures]).len(), 1, "never empty");
    }

    #[test]
    fn what_came_later_is_given_by_topic() {
        let mut ring = Ring::default();
        for number in 1..=9 {
            assert_eq!(ring.push(event(number, number as usize)), None);
        }
        let sizes = |number, topics: &[Topic]| -> Vec<usize> {
            ring.after(number, topics).iter().map(Bytes::len).collect()
        };
        assert_eq!(sizes(5, &[Topic::Figures]), [6, 8]);
        assert_eq!(sizes(6, &[Topic::States, Topic::Figures]), [7, 8, 9]);
        assert_eq!(sizes(9, &[Topic::States]), [0; 0]);
        assert_eq!(ring.since(), Timestamp::from_second(1).ok());
    }
}
