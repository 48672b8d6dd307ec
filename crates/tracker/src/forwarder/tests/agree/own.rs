//! What clients met is what counters, card and the front's own records tell.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::Value;
use weir_engine::{OwnDecision, OwnKind, OwnReason, Span, about};

use super::super::*;
use super::desk::{Everything, between, text};
use crate::forwarding::allowance::HeldBack;

/// What clients were told, in this run; and what was refused in all runs, because records outlive a run.
#[derive(Default)]
pub(super) struct Met {
    answered: u64,
    pub(super) scrapes: u64,
    refused: BTreeMap<&'static str, u64>,
    /// When that was, in all runs.
    pub(super) turned_away: Vec<(String, &'static str)>,
    /// The same and more of earlier runs, by kind and reason of the record.
    before: BTreeMap<(&'static str, &'static str), u64>,
    /// Jobs that were dropped in earlier runs.
    dropped_before: u64,
    /// Enough time has passed for whatever is told once a second.
    pub(super) settled: bool,
    /// What counters said when they were last read, and their names in records.
    counted: BTreeMap<(&'static str, &'static str), u64>,
}

impl Met {
    /// Takes note of a reply, which says the same as a scrape at this moment.
    pub(super) fn replied(
        &mut self,
        world: &World,
        swarm: u8,
        reply: &Result<Reply, TrackerRefusal>,
    ) {
        let why = match reply {
            Ok(reply) => {
                self.answered += 1;
                let scraped = world
                    .tracker
                    .scrape(&world.tracker.terms(), InfoHash([swarm; 20]));
                let scraped = (scraped.complete, scraped.incomplete);
                assert_eq!(reply.counts, scraped, "of swarm {swarm}");
                return;
            }
            Err(TrackerRefusal::Busy(300)) => "no_token",
            Err(TrackerRefusal::QueueFull(1800)) => "queue_full",
            Err(TrackerRefusal::Full(1800)) => "full",
            Err(TrackerRefusal::Crowded(1800)) => "crowded",
            Err(other) => panic!("{other:?}"),
        };
        *self.refused.entry(why).or_default() += 1;
        self.turned_away
            .push((world.wall(world.timeline.now()), why));
    }

    /// Counters begin anew, records do not.
    pub(super) fn restart(&mut self, world: &World) {
        self.count(world);
        for (kind, count) in std::mem::take(&mut self.counted) {
            *self.before.entry(kind).or_default() += count;
        }
        self.dropped_before += dropped_jobs(world);
        (self.answered, self.scrapes, self.settled) = (0, 0, false);
        self.refused.clear();
    }

    pub(super) fn check(&mut self, world: &World, everything: &Everything) {
        let Everything {
            metrics,
            stats,
            lines,
            ..
        } = everything;
        let status = world.engine.status();
        let refused = |why| self.refused.get(why).copied().unwrap_or_default();
        let all = self.refused.values().sum::<u64>();
        assert_eq!(
            (status.counters.refused, status.rate_limited),
            (all, refused("no_token"))
        );
        for (name, kind, count) in [
            ("udp_announce", "udp_announce", self.answered),
            ("udp_scrape", "udp_scrape", self.scrapes),
            ("refused", "refused", all),
        ] {
            assert_eq!(stats["requests"][name], count, "{name}");
            let metric = format!("requests_total{{front=\"tracker\",kind=\"{kind}\"}}");
            assert_eq!(metrics[&metric], count, "{name}");
            assert!(
                lines.contains(&format!("requests {name} {count}\n")),
                "{name} in {lines}"
            );
        }
        for (name, metric, count) in [
            (
                "rate_limited",
                "queue_rate_limited_total",
                status.rate_limited,
            ),
            (
                "throttled_forwarders",
                "queue_throttled_forwarders_total",
                status.throttled,
            ),
        ] {
            assert_eq!(stats[name], count, "{name}");
            assert_eq!(metrics[&format!("{metric}{{front=\"tracker\"}}")], count);
        }
        self.count(world);
        if self.settled {
            self.records(world);
        }
        overload(world, everything, self.settled);
    }

    /// What happened in this run, by the kind and reason of the record that tells it.
    fn count(&mut self, world: &World) {
        let listeners = world.tallies.by_themselves();
        let allowances = world.tracker.forwarding.allowances();
        let held_back = |why| allowances.total(why);
        let refused = |why| self.refused.get(why).copied().unwrap_or_default();
        self.counted = [
            (("refused", "no_token"), refused("no_token")),
            (("refused", "queue_full"), refused("queue_full")),
            (("refused", "full"), refused("full")),
            (("refused", "crowded"), refused("crowded")),
            (("dropped", ""), listeners.dropped),
            (("left out", ""), world.engine.status().throttled),
            (("deduplicated", "repeated"), held_back(HeldBack::Repeated)),
            (
                ("throttled", "too_many"),
                held_back(HeldBack::Throttled) + held_back(HeldBack::Delayed),
            ),
        ]
        .into();
    }

    /// The forwarders' records tell of each job that was dropped before it was sent, whichever run it was in. Those of a
    /// forwarder that is not listed are seen when it is again.
    pub(super) fn drops(&self, world: &World, told: &RangeInclusive<u64>) {
        let all = self.dropped_before + dropped_jobs(world);
        assert!(
            told.contains(&all),
            "{all} dropped, records tell of {told:?}"
        );
    }

    /// The front's own records tell each of these once, whichever run it was in.
    fn records(&self, world: &World) {
        let decisions = world.engine.own_decisions();
        let sum = |is: &dyn Fn(&OwnDecision) -> bool, count: fn(&OwnDecision) -> u64| -> u64 {
            decisions.iter().filter(|one| is(one)).map(count).sum()
        };
        for (&(kind, reason), &now) in &self.counted {
            let before = self
                .before
                .get(&(kind, reason))
                .copied()
                .unwrap_or_default();
            let told = match kind {
                "left out" => sum(&|one| &*one.own.about == about::FORWARDERS, |one| {
                    one.own.concerned
                }),
                "dropped" => sum(&|one| one.own.kind == OwnKind::Dropped, |one| one.count),
                kind => sum(
                    &|one| one.own.kind.name() == kind && one.own.reason.name() == reason,
                    |one| one.count,
                ),
            };
            assert_eq!(told, before + now, "{kind} {reason}: {decisions:?}");
        }
        for one in &decisions {
            let retry = match (one.own.kind, one.own.reason) {
                (OwnKind::Refused, OwnReason::NoToken) => Some(300),
                (OwnKind::Refused, OwnReason::QueueFull | OwnReason::Full | OwnReason::Crowded) => {
                    Some(1800)
                }
                _ => None,
            };
            assert_eq!(
                one.own.retry,
                retry.map(Duration::from_secs),
                "as clients were told: {one:?}"
            );
        }
    }
}

/// Jobs that were dropped in this run before they were sent.
fn dropped_jobs(world: &World) -> u64 {
    world.engine.status().counters.dropped - world.tallies.by_themselves().dropped
}

/// The card says that it is overloaded while records say so, and adds up.
fn overload(world: &World, everything: &Everything, settled: bool) {
    let Everything {
        status, overview, ..
    } = everything;
    let front = &status["fronts"][0];
    assert_eq!(
        text(between(overview, "<h1 id=\"headline\" data-live>", "</h1>")),
        status["sentence"]
    );
    let card = between(
        overview,
        "<section id=\"front-tracker\" data-live",
        "</section>",
    );
    assert_eq!(text(between(card, "<p>", "</p>")), front["sentence"]);
    let now = world.timeline.now();
    let is_told = |one: &OwnDecision, seconds: u64| {
        !matches!(one.own.reason, OwnReason::Slow | OwnReason::Crowded)
            && !matches!(one.own.reason, OwnReason::Repeated | OwnReason::TooMany)
            && one.own.kind != OwnKind::OurNetwork
            && one.last.until(now) < Duration::from_secs(seconds)
    };
    let decisions = world.engine.own_decisions();
    let is_overloaded = front["state"] == "overloaded";
    if is_overloaded {
        assert!(
            decisions.iter().any(|one| is_told(one, 62)),
            "{decisions:?}"
        );
    } else if settled {
        let began = now - world.time();
        let lately = |one: &&OwnDecision| is_told(one, 58) && one.last >= began;
        assert!(decisions.iter().find(lately).is_none(), "{decisions:?}");
    }
    assert_eq!(is_overloaded, front["overload"] != Value::Null);
    figures(world, card, &front["counters"]);
}

/// The card's figures are those of the last hour, the API's those since the start; both add up.
fn figures(world: &World, card: &str, counters: &Value) {
    let shown = |name: &str| {
        let html = between(card, &format!("data-figure=\"{name}\">"), "</b>");
        text(html)
            .replace(',', "")
            .parse::<u64>()
            .expect("a number")
    };
    let hour = world.engine.window(Span::Hour).counters;
    assert_eq!(shown("asked"), hour.asked, "{card}");
    assert_eq!(shown("sent"), hour.sent, "{card}");
    let parts: u64 = hour.parts().iter().map(|(_, count)| count).sum();
    assert_eq!(parts, hour.asked, "{hour:?}");
    let since = counters.as_object().expect("counters");
    let parts = since.iter().filter(|(name, _)| *name != "asked");
    let parts: u64 = parts.filter_map(|(_, count)| count.as_u64()).sum();
    assert_eq!(counters["asked"], parts, "{counters}");
}
