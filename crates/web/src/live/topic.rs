//! What can be listened to. Programs get JSON, pages (`page:…`) get parts of themselves as HTML.

use std::fmt;

use percent_encoding::{percent_decode_str, utf8_percent_encode};
use weir_config::ENCODED;

use crate::kit;

/// A topic. Events of one tick come in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Topic {
    /// What each front counts, and how it is doing.
    Figures,
    /// Upstreams that went from one state to another.
    States,
    /// Decisions, as they are made.
    Decisions,
    /// The newest point of each chart.
    Points,
    /// Searches that begin and end.
    Searches,
    /// Newsgroups with something new in them.
    News,
    /// The overview, with one of [`WINDOWS`].
    Overview(&'static str),
    /// The list of decisions about everything.
    Decided,
    /// The list of decisions about one upstream.
    DecidedAbout(Whom),
    /// A row of the list of upstreams.
    Row(Whom),
    /// The page of one upstream.
    Upstream(Whom),
    /// What a front contributed under this name.
    Contributed(&'static str),
}

/// An upstream, by names. There may be none of these names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Whom {
    pub(crate) front: String,
    pub(crate) name: String,
}

/// How far back the overview looks.
pub(crate) const WINDOWS: [&str; 4] = ["1h", "6h", "24h", "7d"];

impl Topic {
    /// All that programs can listen to.
    pub(super) const FOR_PROGRAMS: [Self; 6] = [
        Self::Figures,
        Self::States,
        Self::Decisions,
        Self::Points,
        Self::Searches,
        Self::News,
    ];

    /// Whether its events are kept for those who come back.
    pub(super) fn is_for_programs(&self) -> bool {
        Self::FOR_PROGRAMS.contains(self)
    }

    /// `contributed` are the names that fronts have given to parts of their pages.
    pub(super) fn parse(text: &str, contributed: &[&'static str]) -> Option<Self> {
        let Some(page) = text.strip_prefix("page:") else {
            let mut all = Self::FOR_PROGRAMS.into_iter();
            return all.find(|topic| topic.word() == text);
        };
        let (word, rest) = page.split_once(':').unwrap_or((page, ""));
        match (word, rest) {
            ("overview", window) => {
                let window = WINDOWS.into_iter().find(|known| *known == window)?;
                Some(Self::Overview(window))
            }
            ("decisions", "") => Some(Self::Decided),
            ("decisions", whom) => Some(Self::DecidedAbout(Whom::parse(whom)?)),
            ("row", whom) => Some(Self::Row(Whom::parse(whom)?)),
            ("upstream", whom) => Some(Self::Upstream(Whom::parse(whom)?)),
            (word, "") => {
                let mut known = contributed.iter();
                known
                    .find(|name| **name == word)
                    .copied()
                    .map(Self::Contributed)
            }
            _ => None,
        }
    }

    /// The topic that was perhaps meant.
    pub(super) fn nearest(text: &str, contributed: &[&'static str]) -> Option<String> {
        let programs = Self::FOR_PROGRAMS.into_iter();
        let windows = WINDOWS.into_iter().map(Self::Overview);
        let fronts = contributed.iter().copied().map(Self::Contributed);
        let fixed = programs.chain([Self::Decided]).chain(windows).chain(fronts);
        let names = fixed.map(|topic| topic.to_string()).collect();
        kit::nearest(text, names).into_iter().next()
    }

    /// Its name up to what it is about; also that of the event, if it is for programs.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Figures => "figures",
            Self::States => "states",
            Self::Decisions => "decisions",
            Self::Points => "points",
            Self::Searches => "searches",
            Self::News => "news",
            Self::Overview(_) => "page:overview",
            Self::Decided | Self::DecidedAbout(_) => "page:decisions",
            Self::Row(_) => "page:row",
            Self::Upstream(_) => "page:upstream",
            Self::Contributed(_) => "page",
        }
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word();
        match self {
            Self::Overview(name) | Self::Contributed(name) => write!(f, "{word}:{name}"),
            Self::DecidedAbout(whom) | Self::Row(whom) | Self::Upstream(whom) => {
                write!(f, "{word}:{whom}")
            }
            _ => f.write_str(word),
        }
    }
}

impl Whom {
    #[cfg(test)]
    pub(crate) fn new(front: &str, name: &str) -> Self {
        let (front, name) = (front.to_owned(), name.to_owned());
        Self { front, name }
    }

    /// `search/a%2Cb`, as in the address of its page: neither comma nor space is left to be taken for something else.
    fn parse(text: &str) -> Option<Self> {
        let (front, name) = text.split_once('/')?;
        let plain = |text| Some(percent_decode_str(text).decode_utf8().ok()?.into_owned());
        let (front, name) = (plain(front)?, plain(name)?);
        (!front.is_empty() && !name.is_empty()).then_some(Self { front, name })
    }
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = |text| utf8_percent_encode(text, ENCODED);
        write!(f, "{}/{}", encoded(&self.front), encoded(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_is_read_as_it_is_written() {
        let whom = || Whom::new("search", "a/b, ü?:<i>");
        let pages = [
            Topic::Overview("6h"),
            Topic::Decided,
            Topic::DecidedAbout(whom()),
            Topic::Row(whom()),
            Topic::Upstream(whom()),
            Topic::Contributed("swarms"),
        ];
        for topic in Topic::FOR_PROGRAMS.into_iter().chain(pages) {
            let text = topic.to_string();
            assert!(!text.contains([',', ' ']), "{text}");
            assert_eq!(Topic::parse(&text, &["swarms"]), Some(topic), "{text}");
        }
    }

    #[test]
    fn what_is_no_topic_is_told_what_was_meant() {
        for (text, meant) in [
            ("figure", Some("figures")),
            ("Decisions", Some("decisions")),
            ("page:overview", Some("page:overview:1h")),
            ("page:swarm", Some("page:swarms")),
            ("page:overview:2h", Some("page:overview:1h")),
            ("page:row:search", None),
            ("page:row:/x", None),
            ("page:row:search/%ff", None),
            ("", None),
        ] {
            assert_eq!(Topic::parse(text, &["swarms"]), None, "{text}");
            let near = Topic::nearest(text, &["swarms"]);
            if let Some(meant) = meant {
                assert_eq!(near.as_deref(), Some(meant), "{text}");
            }
        }
        assert_eq!(Topic::parse("page:swarms", &[]), None);
    }
}
