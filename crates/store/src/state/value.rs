//! The small types that rows consist of, and the words they are stored as.

use std::time::Duration;

use crate::Error;

/// A wall time in nanoseconds since 1970, the engine's unit: a time that an upstream gave comes back exactly and
/// is never rounded to an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wall(pub i64);

impl Wall {
    /// The time `span` earlier.
    pub fn before(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)),
        )
    }
}

/// Declares an enum together with the word that each value is stored as.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $value:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $value,)* }

        impl $name {
            pub(super) fn word(self) -> &'static str {
                match self { $(Self::$value => $word,)* }
            }

            pub(super) fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$value),)* _ => None }
            }
        }
    };
}

words! {
    /// What caused a cooldown.
    Cause {
        /// The upstream asked to be left alone.
        Throttled = "throttled",
        /// It failed; shown as a cooldown.
        Failed = "failed",
        /// It failed too often; shown as disabled.
        FailedOften = "failed often",
        /// It refused in a way that another try would not change.
        Rejected = "rejected",
    }
}

words! {
    /// Which of an upstream's limits a job counts against.
    Budget {
        /// An ordinary call.
        Query = "query",
        /// Counts like a query, without spacing.
        Side = "side",
        /// A download.
        Grab = "grab",
    }
}

words! {
    /// Which limits a start counts against; calls of [`Budget::Side`] count as queries.
    Ledger {
        /// Queries and side calls.
        Query = "query",
        /// Grabs.
        Grab = "grab",
    }
}

/// A window, by its length in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Window(pub u32);

impl Window {
    /// How long a start counts in it.
    pub fn length(self) -> Duration {
        Duration::from_secs(self.0.into())
    }
}

/// The front's own part of an agenda entry: at most [`Payload::MOST`] bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload(Box<[u8]>);

impl Payload {
    /// Maximum length in bytes; the store's memory and commits stay bounded by it.
    pub const MOST: usize = 256;

    /// Wraps the bytes.
    ///
    /// # Errors
    /// [`Error::PayloadTooLong`] beyond [`Payload::MOST`] bytes.
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Result<Self, Error> {
        let bytes = bytes.into();
        if bytes.len() > Self::MOST {
            return Err(Error::PayloadTooLong {
                length: bytes.len(),
                most: Self::MOST,
            });
        }
        Ok(Self(bytes))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}
