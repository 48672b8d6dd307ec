//! What other trackers were asked about a swarm: a table on its page and in its opened row.

use askama::Template;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Value, json};
use weir_engine::dispatch::Moment;
use weir_engine::span;
use weir_engine::words::{capital, grouped};
use weir_web::Shown;

use crate::asked::{AskedForwarder, NextAsk};
use crate::clock::TrackerClock;
use crate::look::Look;

/// Unknown is never zero.
const UNKNOWN: &str = "–";

/// Times as this page shows them.
pub(super) struct SwarmTimes {
    clock: TrackerClock,
    now: Timestamp,
    zone: TimeZone,
}

impl SwarmTimes {
    pub(super) fn new(look: &Look) -> Self {
        let clock = look.clock();
        Self {
            now: stamp(clock, clock.now().moment),
            clock,
            zone: TimeZone::system(),
        }
    }

    fn shown(&self, moment: Moment) -> Shown {
        Shown::new(stamp(self.clock, moment), self.now, &self.zone)
    }

    fn exact(&self, moment: Moment) -> String {
        self.shown(moment).exact
    }

    fn html(&self, moment: Moment) -> String {
        let Shown { exact, text } = self.shown(moment);
        format!("<time datetime=\"{exact}\">{text}</time>")
    }

    /// When the first of some trackers is asked; HTML.
    pub(super) fn next(&self, next: Option<NextAsk>) -> String {
        match next {
            None => UNKNOWN.to_owned(),
            Some(NextAsk::Now) => "call queued".to_owned(),
            Some(NextAsk::WithAnnounce) => "at the next announce".to_owned(),
            Some(NextAsk::After(moment)) => self.html(moment),
            Some(NextAsk::Off) => "off".to_owned(),
        }
    }
}

/// To the second: a page says no more.
fn stamp(clock: TrackerClock, moment: Moment) -> Timestamp {
    let at = Timestamp::try_from(clock.wall(moment)).unwrap_or(Timestamp::MAX);
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// One row for each forwarder.
#[derive(Template)]
#[template(path = "swarm_forwarders.html")]
pub(super) struct ForwarderTable {
    rows: Vec<ForwarderRow>,
}

struct ForwarderRow {
    name: String,
    href: String,
    seeders: String,
    leechers: String,
    peers: String,
    interval: String,
    /// HTML.
    next: String,
    word: String,
    /// When it said that; HTML.
    at: String,
}

impl ForwarderTable {
    pub(super) fn new(
        look: &Look,
        hash: &[u8; 20],
        asked: Vec<AskedForwarder>,
        times: &SwarmTimes,
    ) -> Self {
        let rows = asked.iter();
        Self {
            rows: rows
                .map(|one| ForwarderRow::new(look, hash, one, times))
                .collect(),
        }
    }
}

impl ForwarderRow {
    fn new(look: &Look, hash: &[u8; 20], one: &AskedForwarder, times: &SwarmTimes) -> Self {
        let word = look.forwarders().exchange().last_word(hash, &one.forwarder);
        let known = |number: Option<u32>| number.map_or_else(|| UNKNOWN.to_owned(), grouped);
        let name = &one.forwarder.config.name;
        let said = word.as_ref();
        let interval = said.and_then(|word| word.interval);
        Self {
            name: name.clone(),
            href: weir_web::upstream_path("tracker", name),
            seeders: known(said.and_then(|word| word.seeders)),
            leechers: known(said.and_then(|word| word.leechers)),
            peers: match one.asked.was_asked() {
                true => grouped(one.asked.peers),
                false => UNKNOWN.to_owned(),
            },
            interval: interval.map_or_else(|| UNKNOWN.to_owned(), span),
            next: times.next(Some(one.next)),
            word: match said {
                Some(word) => match &word.trouble {
                    Some(trouble) => capital(trouble),
                    None => format!("Answered with {} peers", grouped(word.peers as u64)),
                },
                None if one.asked.is_asked => "Call queued".to_owned(),
                None if one.asked.was_asked() => "Not kept".to_owned(),
                None => "Not asked yet".to_owned(),
            },
            at: said.map_or_else(String::new, |word| times.html(word.at)),
        }
    }
}

/// The same for programs.
pub(super) fn json(
    look: &Look,
    hash: &[u8; 20],
    asked: &[AskedForwarder],
    times: &SwarmTimes,
) -> Value {
    let rows = asked.iter().map(|one| {
        let word = look.forwarders().exchange().last_word(hash, &one.forwarder);
        let said = word.as_ref();
        let next = match one.next {
            NextAsk::After(moment) => Some(times.exact(moment)),
            NextAsk::Now | NextAsk::WithAnnounce | NextAsk::Off => None,
        };
        json!({
            "name": one.forwarder.config.name,
            "was_asked": one.asked.was_asked(),
            "is_asked": one.asked.is_asked,
            "peers": one.asked.peers,
            "next_ask": next,
            "seeders": said.and_then(|word| word.seeders),
            "leechers": said.and_then(|word| word.leechers),
            "interval_seconds": said.and_then(|word| word.interval).map(|time| time.as_secs()),
            "last_word": said.and_then(|word| word.trouble.as_deref()),
            "last_word_at": said.map(|word| times.exact(word.at)),
        })
    });
    rows.collect()
}
