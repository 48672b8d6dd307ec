//! What is wrong with a store that answers: its clock was set back. Told in the log, on pages, by the API and in metrics.

use std::fmt;
use std::sync::atomic::Ordering;

use super::Node;

/// Something that is wrong with a store that answers, for people; `{}` is all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreTrouble {
    /// What it is, without a full stop.
    pub what: &'static str,
    /// What that means and what to do, in sentences.
    pub means: &'static str,
}

/// What the store tells is the latest time that it has shown, so for nodes its clock stands still until it is there again.
const SET_BACK: StoreTrouble = StoreTrouble {
    what: "The store's clock was set back",
    means: "Shared limits and waits do not end until it reaches the time that it showed before. If the clock is wrong now, set it right (with NTP, for example); otherwise wait.",
};

impl fmt::Display for StoreTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}", self.what, self.means)
    }
}

impl Node {
    /// What is wrong with the store although it answers.
    pub fn store_trouble(&self) -> Option<StoreTrouble> {
        let stands = self.0.stands.load(Ordering::Relaxed);
        // Of a store that does not answer nobody knows what its clock does meanwhile.
        (stands && !self.is_alone()).then_some(SET_BACK)
    }

    /// Notes whether the store's clock stands still, which it seems to do from when it is set back until it is there again.
    pub(super) fn note_standing(&self, stands: bool) {
        if self.0.stands.swap(stands, Ordering::Relaxed) == stands {
            return;
        }
        match stands {
            true => tracing::warn!(node = self.0.name, "{SET_BACK}"),
            false => tracing::info!(node = self.0.name, "the store's clock goes on"),
        }
    }
}
