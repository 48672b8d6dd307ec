//! How overviews are fetched from a server: what is configured, what it says it can do, and what turned out otherwise.

use std::sync::atomic::{AtomicU8, Ordering};

use weir_news_proto::Capabilities;

use crate::config::Overview;

/// How one server's overviews are fetched.
#[derive(Debug)]
pub(crate) struct Method {
    configured: Overview,
    /// A [`FetchBy`] as a number.
    now: AtomicU8,
}

/// The ways to fetch overviews, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchBy {
    /// All fields with one command.
    Over,
    /// The same under its name from before RFC 3977.
    Xover,
    /// One command for each field.
    Hdr,
    /// One command for each article.
    Head,
}

const ALL: [FetchBy; 4] = [FetchBy::Over, FetchBy::Xover, FetchBy::Hdr, FetchBy::Head];

impl FetchBy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Over => "OVER",
            Self::Xover => "XOVER",
            Self::Hdr => "HDR",
            Self::Head => "HEAD",
        }
    }
}

impl Method {
    pub(super) fn new(configured: Overview) -> Self {
        let first = match configured {
            Overview::Auto | Overview::Over => FetchBy::Over,
            Overview::Hdr => FetchBy::Hdr,
            Overview::Head => FetchBy::Head,
        };
        Self {
            configured,
            now: AtomicU8::new(first as u8),
        }
    }

    pub(super) fn now(&self) -> FetchBy {
        ALL[usize::from(self.now.load(Ordering::Relaxed)).min(ALL.len() - 1)]
    }

    pub(super) fn name(&self) -> &'static str {
        self.now().name()
    }

    /// Takes in what a server says it can do. One that says nothing of overviews may be older than the word for it.
    pub(super) fn learn(&self, capabilities: &Capabilities) {
        let by = match self.configured {
            Overview::Auto if capabilities.has("OVER") => FetchBy::Over,
            Overview::Auto if capabilities.has("HDR") && capabilities.has("VERSION") => {
                FetchBy::Hdr
            }
            Overview::Over if !capabilities.has("VERSION") => FetchBy::Xover,
            Overview::Auto => FetchBy::Xover,
            Overview::Over | Overview::Hdr | Overview::Head => return,
        };
        self.now.store(by as u8, Ordering::Relaxed);
    }

    /// The server does not know this way after all. Gives the next one, where the configuration leaves the choice.
    pub(super) fn instead_of(&self, by: FetchBy) -> Option<FetchBy> {
        let next = match (self.configured, by) {
            (Overview::Auto | Overview::Over, FetchBy::Over) => FetchBy::Xover,
            (Overview::Auto, FetchBy::Xover) => FetchBy::Hdr,
            (Overview::Auto, FetchBy::Hdr) => FetchBy::Head,
            _ => return None,
        };
        self.now.store(next as u8, Ordering::Relaxed);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capable(text: &str) -> Capabilities {
        Capabilities::parse(text.lines().map(str::as_bytes))
    }

    #[test]
    fn what_a_server_offers_decides_where_nothing_is_configured() {
        for (offers, by) in [
            ("VERSION 2\nOVER\nHDR", "OVER"),
            ("VERSION 2\nHDR", "HDR"),
            ("VERSION 2\nREADER", "XOVER"),
            ("", "XOVER"),
        ] {
            let method = Method::new(Overview::Auto);
            method.learn(&capable(offers));
            assert_eq!(method.name(), by, "{offers}");
        }
        let method = Method::new(Overview::Head);
        method.learn(&capable("VERSION 2\nOVER"));
        assert_eq!(method.name(), "HEAD");
    }

    #[test]
    fn one_way_after_the_other_is_tried() {
        let method = Method::new(Overview::Auto);
        let mut tried = vec![method.now()];
        while let Some(next) = method.instead_of(method.now()) {
            tried.push(next);
        }
        assert_eq!(tried, ALL);
        assert_eq!(Method::new(Overview::Hdr).instead_of(FetchBy::Hdr), None);
    }
}
