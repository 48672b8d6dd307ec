//! One upstream in the list of all: its row, whose parts change while somebody looks.

use std::time::Duration;

use askama::Template;

use super::{
    act,
    day::{Day, SPARK},
    limit::UpstreamLimit,
    numbers::{answer_time, capital, percent},
    reason,
    sight::Sight,
    times::{Times, at},
};
use crate::{kit, live::Topic};

/// A row of the list. Everything that changes is rendered already, as it is sent to whoever watches.
pub(super) struct UpstreamLine {
    pub(super) href: String,
    /// What brings its parts.
    pub(super) topic: Topic,
    pub(super) name: String,
    pub(super) front: &'static str,
    pub(super) icon: &'static str,
    pub(super) what: String,
    /// It has limits.
    pub(super) limited: bool,
    pub(super) why: String,
    pub(super) quota: String,
    pub(super) latency: String,
    pub(super) success: String,
    pub(super) act: String,
}

#[derive(Template)]
#[template(path = "upstreams/row_why.html")]
struct WhyCell {
    id: String,
    /// For the keys that go from one to the next.
    attention: bool,
    look: &'static str,
    chip: String,
    reason: String,
}

#[derive(Template)]
#[template(path = "upstreams/row_quota.html")]
struct QuotaCell {
    id: String,
    meters: Vec<LimitMeter>,
}

#[derive(Template)]
#[template(path = "upstreams/row_latency.html")]
struct LatencyCell {
    id: String,
    p50: String,
    p95: String,
    spark: Option<Spark>,
}

#[derive(Template)]
#[template(path = "upstreams/row_success.html")]
struct SuccessCell {
    id: String,
    success: String,
}

/// The button alone: the form around it has the visitor's token.
#[derive(Template)]
#[template(path = "upstreams/row_act.html")]
struct ActCell<'a> {
    id: String,
    href: &'a str,
    name: &'a str,
    action: Option<(&'static str, &'static str)>,
}

/// What is used of one limit.
pub(super) struct LimitMeter {
    pub(super) label: String,
    /// HTML.
    pub(super) words: String,
    pub(super) said: String,
    pub(super) width: u32,
    pub(super) high: bool,
    /// The only one that a phone shows.
    pub(super) tightest: bool,
}

/// Answer times of 24 hours as a line; hours without a call are dots at the bottom.
struct Spark {
    line: String,
    missing: String,
}

impl UpstreamLine {
    pub(super) fn new(sight: &Sight<'_>) -> Self {
        let (day, times, href) = (&sight.day, &sight.times, sight.path());
        let limits = UpstreamLimit::all(&sight.view);
        let action = act::fitting(sight).map(|action| (action.name(), action.label()));
        let id = |part| part_id(sight, part);
        Self {
            topic: Topic::Row(sight.whom()),
            name: sight.name().to_owned(),
            front: sight.front.name,
            icon: sight.front.icon.symbol(),
            what: what(sight),
            limited: !limits.is_empty(),
            why: kit::written(&WhyCell {
                id: id("why"),
                attention: sight.needs_attention(),
                look: sight.look(),
                chip: times.html(&reason::chip(sight)),
                reason: times.html(&reason::short(sight)),
            }),
            quota: kit::written(&QuotaCell {
                id: id("quota"),
                meters: meters(&limits, times),
            }),
            latency: kit::written(&LatencyCell {
                id: id("latency"),
                p50: answer_time(day.p50),
                p95: answer_time(day.p95),
                spark: Spark::new(day),
            }),
            success: kit::written(&SuccessCell {
                id: id("success"),
                success: percent(day.answered(), day.total()),
            }),
            act: kit::written(&ActCell {
                id: id("act"),
                href: &href,
                name: sight.name(),
                action,
            }),
            href,
        }
    }

    /// What changes of it, each part with the id of its element.
    pub(super) fn parts(self, sight: &Sight<'_>) -> Vec<(String, String)> {
        [
            ("why", self.why),
            ("quota", self.quota),
            ("latency", self.latency),
            ("success", self.success),
            ("act", self.act),
        ]
        .map(|(part, html)| (part_id(sight, part), html))
        .into()
    }
}

/// The id of the element that shows a part of an upstream's row. The names are written as in its address, where no letter
/// has to be escaped.
fn part_id(sight: &Sight<'_>, part: &str) -> String {
    format!("{}-{part}", sight.whom())
}

/// What it is and where: `Tracker, udp://tracker.example:1337`.
pub(super) fn what(sight: &Sight<'_>) -> String {
    let kind = capital(sight.upstreams.kind());
    match sight.place.as_str() {
        "" => kind,
        place => format!("{kind}, {place}"),
    }
}

pub(super) fn meters(limits: &[UpstreamLimit], times: &Times) -> Vec<LimitMeter> {
    let used = |limit: &UpstreamLimit| {
        let (used, limit) = (limit.window.used, limit.window.limit.max(1));
        u64::from(used) * 100 / u64::from(limit)
    };
    let queries = limits.iter().enumerate().filter(|(_, limit)| !limit.grabs);
    let tightest = queries.max_by_key(|(_, limit)| used(limit));
    let tightest = tightest.map_or(0, |(index, _)| index);
    let full = |limit: &UpstreamLimit| {
        let window = limit.window;
        window.used >= window.limit && window.limit > 0 && window.next > times.moment
    };
    limits
        .iter()
        .enumerate()
        .map(|(index, limit)| LimitMeter {
            label: limit.label(),
            said: limit.said(),
            words: times.html(&match full(limit) {
                true => format!("next {}", at(limit.window.next)),
                false => limit.used(),
            }),
            width: u32::try_from(used(limit)).unwrap_or(100).min(100),
            high: used(limit) >= 80,
            tightest: index == tightest,
        })
        .collect()
}

impl Spark {
    /// In a box of 70 by 16; `None` if there was no call all day.
    fn new(day: &Day) -> Option<Self> {
        let known = day.hours.iter().flatten();
        let most = known.clone().max()?.as_secs_f64().max(0.001);
        let least = known.min()?.as_secs_f64();
        let x = |hour: usize| (hour as f64 * 70.0 / (SPARK - 1) as f64).round();
        let y = |time: &Duration| {
            let part = (time.as_secs_f64() - least) / (most - least).max(most * 0.1);
            (14.0 - part * 12.0).round()
        };
        let (mut line, mut missing, mut hour) = (String::new(), String::new(), 0);
        for run in day
            .hours
            .chunk_by(|one, other| one.is_some() == other.is_some())
        {
            for (index, time) in run.iter().enumerate() {
                let x = x(hour + index);
                match time {
                    Some(time) if index == 0 => line.push_str(&format!("M{x} {}h1", y(time))),
                    Some(time) => line.push_str(&format!("L{x} {}", y(time))),
                    None => missing.push_str(&format!("M{x} 15h1")),
                }
            }
            hour += run.len();
        }
        Some(Self { line, missing })
    }
}
