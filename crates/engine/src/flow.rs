//! What became of everything that a front was asked, within a window: the difference between what its counters say now
//! and what they said, in the same steps as the charts.
//!
//! Nothing is counted here as it happens: the counters are looked at when a step ends.

use std::collections::VecDeque;

use weir_dispatch::Moment;

use crate::series::{Span, text};
use crate::tally::Counters;

/// What became of requests, in the order of [`Counters::parts`], without those that wait.
type Ends = [u64; 9];

/// The flows of one front.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    rings: [VecDeque<(u32, text::Row)>; 4],
    /// What the steps that are not over have so far.
    open: [Ends; 4],
    /// What the counters said at the last look.
    counted: Ends,
}

impl Flows {
    /// The step that ended at step number `now` is over; `before` is the number at the last closing. Returns whether
    /// anything ended in it.
    pub(crate) fn close(&mut self, before: u64, now: u64, counters: &Counters) -> bool {
        let since = self.since(counters);
        for (counted, more) in self.counted.iter_mut().zip(since) {
            *counted += more;
        }
        for span in Span::ALL {
            let open = &mut self.open[span as usize];
            for (sum, more) in open.iter_mut().zip(since) {
                *sum += more;
            }
            if before / span.steps() != now / span.steps() {
                let number = u32::try_from(before / span.steps()).unwrap_or(u32::MAX);
                let row =
                    std::mem::take(open).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
                push(&mut self.rings[span as usize], number, row, span);
            }
        }
        since != Ends::default()
    }

    /// What ended since the last look. A call that turns out never to have been made is taken back from the counters; then
    /// the next one of its kind is not counted again.
    fn since(&self, counters: &Counters) -> Ends {
        let mut ends = ends(counters);
        for (end, counted) in ends.iter_mut().zip(self.counted) {
            *end = end.saturating_sub(counted);
        }
        ends
    }

    /// What became of everything within a span, up to this moment. It adds up: what was asked is what has ended in it and
    /// what waits now.
    pub(crate) fn sum(&self, span: Span, now: Moment, counters: &Counters) -> Counters {
        let mut sum = self.since(counters);
        // The finest steps that are over have been added to those of all spans.
        for (sum, open) in sum.iter_mut().zip(self.open[span as usize]) {
            *sum += open;
        }
        let ring = self.rings[span as usize].iter();
        let within = ring.filter(|(number, _)| span.begin(*number) + span.length() > now);
        for (_, row) in within {
            for (sum, count) in sum.iter_mut().zip(row) {
                *sum += u64::from(*count);
            }
        }
        let [
            from_memory,
            shared,
            duplicates,
            sent,
            skipped,
            dropped,
            refused,
            cancelled,
            shut_down,
        ] = sum;
        Counters {
            asked: sum.iter().sum::<u64>() + counters.waiting(),
            from_memory,
            shared,
            duplicates,
            sent,
            skipped,
            dropped,
            dropped_full: 0,
            refused,
            cancelled,
            shut_down,
        }
    }

    /// The steps of a span as text, the one that is not over included.
    pub(crate) fn write(&self, span: Span, now: Moment, counters: &Counters) -> String {
        let mut ring = self.rings[span as usize].clone();
        let mut open = self.since(counters);
        for (sum, more) in open.iter_mut().zip(self.open[span as usize]) {
            *sum += more;
        }
        if open != Ends::default() {
            let row = open.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            push(&mut ring, span.number(now), row, span);
        }
        text::write(ring.make_contiguous())
    }

    /// Takes in such a text; see [`Series::read`](crate::series::Series::read).
    pub(crate) fn read(&mut self, span: Span, text: &str, shift: i64, now: Moment) {
        let rows = text::read(text, span.points() + 1);
        for (number, row) in text::moved(rows, span, shift, now) {
            push(&mut self.rings[span as usize], number, row, span);
        }
    }
}

fn ends(counters: &Counters) -> Ends {
    let [a, b, c, d, e, f, g, h, i, _waiting] = counters.parts().map(|(_, count)| count);
    [a, b, c, d, e, f, g, h, i]
}

/// Adds a step: to the first part of itself if a restart cut it in two.
fn push(ring: &mut VecDeque<(u32, text::Row)>, number: u32, row: text::Row, span: Span) {
    match ring.back_mut() {
        Some((last, sum)) if *last == number => {
            for (sum, more) in sum.iter_mut().zip(row) {
                *sum = sum.saturating_add(more);
            }
        }
        Some((last, _)) if *last > number => {}
        _ => {
            if ring.len() == span.points() {
                ring.pop_front();
            }
            ring.push_back((number, row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(asked: u64, sent: u64, from_memory: u64) -> Counters {
        Counters {
            asked,
            sent,
            from_memory,
            ..Counters::default()
        }
    }

    fn adds_up(window: &Counters) {
        let sum: u64 = window.parts().iter().map(|(_, count)| count).sum();
        assert_eq!(sum, window.asked);
    }

    #[test]
    fn a_window_forgets_what_is_older_and_adds_up() {
        let mut flows = Flows::default();
        let mut all = counters(0, 0, 0);
        for step in 0..720 {
            all = counters(all.asked + 3, all.sent + 1, all.from_memory + 2);
            flows.close(step, step + 1, &all);
        }
        let now = Span::Hour.begin(720);
        let hour = flows.sum(Span::Hour, now, &all);
        assert_eq!(
            (hour.asked, hour.sent, hour.from_memory),
            (359 * 3, 359, 718)
        );
        let six = flows.sum(Span::SixHours, now, &all);
        assert_eq!((six.asked, six.sent), (720 * 3, 720));
        // Three more were asked in this second; one of them still waits.
        let waits = counters(all.asked + 3, all.sent + 1, all.from_memory + 1);
        let hour = flows.sum(Span::Hour, now, &waits);
        assert_eq!(
            (hour.asked, hour.sent, hour.waiting()),
            (359 * 3 + 3, 360, 1)
        );
        adds_up(&hour);
    }

    #[test]
    fn what_waited_when_the_window_began_is_counted_where_it_ends() {
        let mut flows = Flows::default();
        flows.close(0, 1, &counters(5, 0, 0));
        // An hour later they are sent; nobody has asked for anything since.
        for step in 1..400 {
            flows.close(step, step + 1, &counters(5, 0, 0));
        }
        let hour = flows.sum(Span::Hour, Span::Hour.begin(400), &counters(5, 5, 0));
        assert_eq!((hour.asked, hour.sent, hour.waiting()), (5, 5, 0));
        adds_up(&hour);
    }

    #[test]
    fn a_call_that_was_taken_back_is_counted_once() {
        let mut flows = Flows::default();
        flows.close(0, 1, &counters(1, 1, 0));
        flows.close(1, 2, &counters(1, 0, 0));
        flows.close(2, 3, &counters(2, 1, 0));
        let now = Span::Hour.begin(3);
        assert_eq!(flows.sum(Span::Hour, now, &counters(2, 1, 0)).sent, 1);
    }

    #[test]
    fn rings_never_hold_more_than_their_points() {
        let mut flows = Flows::default();
        for step in 0..100_000 {
            flows.close(step, step + 1, &counters(step, step, 0));
        }
        for span in Span::ALL {
            assert_eq!(flows.rings[span as usize].len(), span.points());
            let text = flows.write(span, Span::Hour.begin(100_000), &counters(0, 0, 0));
            assert!(text.len() < 30_000, "{}", text.len());
        }
    }
}
