//! Times of replies, and how they are spread.

use std::time::Duration;

/// Every time that was measured, in units of 0.1 µs.
#[derive(Debug, Default)]
pub(crate) struct Latency(Vec<u32>);

impl Latency {
    pub(crate) fn note(&mut self, time: Duration) {
        let units = time.as_nanos() / 100;
        self.0.push(u32::try_from(units).unwrap_or(u32::MAX));
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Times below which these shares lie, in microseconds.
    pub(crate) fn percentiles<const N: usize>(&mut self, shares: [f64; N]) -> [f64; N] {
        self.0.sort_unstable();
        let last = self.0.len().saturating_sub(1) as f64;
        shares.map(|share| {
            let place = (last * share).round() as usize;
            self.0
                .get(place)
                .map_or(f64::NAN, |units| f64::from(*units) / 10.0)
        })
    }
}
