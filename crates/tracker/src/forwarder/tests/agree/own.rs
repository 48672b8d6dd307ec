//! What clients met is what counters, card and the front's own records tell.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde_json::Value;
use weir_engine::{OwnDecision, OwnKind, OwnReason, Span, about};

use super::super::*;
use super::desk::{Everything, between, text};
use crate::forwarding::allowance::HeldBack;
use crate::forwarding::overload::Overload;

/// What clients were told, in this run; and what was refused in all runs, because records outlive a run.
#[derive(Default)]
pub(super) struct Met {
    /// Over UDP and over HTTP.
    answered: [u64; 2],
    pub(super) scrapes: u64,
    refused: BTreeMap<&'static str, u64>,
    /// How long they were told to wait, in all runs.
    told: BTreeMap<&'static str, BTreeSet<u64>>,
    /// What can be asked about, in all runs.
    pub(super) incidents: Vec<Incident>,
    /// The same and more of earlier runs, as far as it is still kept, by kind and reason of the record.
    before: BTreeMap<(&'static str, &'static str), u64>,
    /// Jobs that were dropped in earlier runs.
    dropped_before: u64,
    /// Enough time has passed for whatever is told once a second.
    pub(super) settled: bool,
    /// What counters said when they were last read, and their names in records.
    counted: BTreeMap<(&'static str, &'static str), u64>,
}

/// Something that did not go as somebody may have expected, who asks why.
pub(super) struct Incident {
    pub(super) at: String,
    /// As in the record.
    pub(super) kind: &'static str,
    pub(super) reason: &'static str,
    pub(super) asker: Option<String>,
    /// What the answer says.
    pub(super) right: String,
}

/// What the tracker has done and not done so far in this run, by kind and reason of the record.
pub(super) struct Toll(Vec<((&'static str, &'static str), u64)>);

impl Toll {
    pub(super) fn now(world: &World) -> Self {
        let forwarding = &world.tracker.forwarding;
        let overloads = Overload::ALL.into_iter().map(|what| {
            let own = what.own();
            let names = (own.kind.name(), own.reason.name());
            (names, forwarding.overloads().total(what))
        });
        let held_back = HeldBack::ALL.into_iter().map(|why| {
            let names = match why {
                HeldBack::Repeated => ("deduplicated", "repeated"),
                HeldBack::Throttled | HeldBack::Delayed => ("throttled", "too_many"),
            };
            (names, forwarding.allowances().total(why))
        });
        Self(overloads.chain(held_back).collect())
    }

    /// What has happened since.
    pub(super) fn since<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = (&'static str, &'static str)> {
        let both = self.0.iter().zip(&before.0);
        both.filter(|(now, before)| now.1 > before.1)
            .map(|(now, _)| now.0)
    }
}

impl Met {
    /// Takes note of a reply, which says the same as a scrape at this moment.
    pub(super) fn replied(
        &mut self,
        world: &World,
        (swarm, over_http): (u8, bool),
        reply: &Result<Reply, TrackerRefusal>,
    ) {
        let terms = world.tracker.terms();
        let (why, wait) = match reply {
            Ok(reply) => {
                self.answered[usize::from(over_http)] += 1;
                let scraped = world
                    .tracker
                    .scrape(&world.tracker.terms(), InfoHash([swarm; 20]));
                let scraped = (scraped.complete, scraped.incomplete);
                assert_eq!(reply.counts, scraped, "of swarm {swarm}");
                return;
            }
            Err(TrackerRefusal::Busy(_)) => ("no_token", Some(terms.forwarding.busy)),
            Err(TrackerRefusal::QueueFull(_)) => ("queue_full", Some(terms.forwarding.full)),
            Err(TrackerRefusal::Full(_)) => ("full", Some(terms.interval)),
            Err(TrackerRefusal::Crowded(_)) => ("crowded", Some(terms.interval)),
            Err(TrackerRefusal::NotServed) => ("denied", None),
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(reply.as_ref().err().and_then(TrackerRefusal::retry), wait);
        *self.refused.entry(why).or_default() += 1;
        self.told
            .entry(why)
            .or_default()
            .extend(wait.map(u64::from));
    }

    /// Counters begin anew, records do not: those of the last day are told again.
    pub(super) fn restart(&mut self, world: &World, away: Duration) {
        self.count(world);
        let oldest = world.timeline.now() + away - DAY;
        let decisions = world.engine.own_decisions();
        for (kind, count) in std::mem::take(&mut self.counted) {
            let gone = decisions.iter().filter(|one| one.last < oldest);
            let gone = sum(gone, kind);
            let before = self.before.entry(kind).or_default();
            *before = *before + count - gone;
        }
        if away >= DAY {
            // Those that are noted as it stops as well.
            self.before.clear();
        }
        self.begin_run(world);
    }

    /// Weir is killed now.
    pub(super) fn cut_off(&mut self, world: &World) {
        self.count(world);
        self.begin_run(world);
    }

    /// It is there again, and its own records tell what was written.
    pub(super) fn back(&mut self, world: &World) {
        let decisions = world.engine.own_decisions();
        for (kind, count) in std::mem::take(&mut self.counted) {
            let before = self.before.entry(kind).or_default();
            let told = sum(decisions.iter(), kind);
            assert!(told <= *before + count, "{kind:?}: {decisions:?}");
            *before = told;
        }
    }

    fn begin_run(&mut self, world: &World) {
        self.dropped_before += dropped_jobs(world);
        (self.answered, self.scrapes, self.settled) = ([0; 2], 0, false);
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
            ("udp_announce", "udp_announce", self.answered[0]),
            ("http_announce", "http_announce", self.answered[1]),
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
            (("refused", "denied"), refused("denied")),
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
        for (&(kind, reason), &now) in &self.counted {
            let before = self
                .before
                .get(&(kind, reason))
                .copied()
                .unwrap_or_default();
            let told = sum(decisions.iter(), (kind, reason));
            assert_eq!(told, before + now, "{kind} {reason}: {decisions:?}");
        }
        for one in &decisions {
            let told = self.told.get(one.own.reason.name());
            let told = told.filter(|told| one.own.kind == OwnKind::Refused && !told.is_empty());
            let is_right = match (one.own.retry, told) {
                (Some(retry), Some(told)) => told.contains(&retry.as_secs()),
                (retry, told) => retry.is_none() && told.is_none(),
            };
            assert!(is_right, "as clients were told: {one:?} {told:?}");
        }
    }
}

/// How often records of a kind and reason tell that it happened.
fn sum<'a>(decisions: impl Iterator<Item = &'a OwnDecision>, (kind, reason): (&str, &str)) -> u64 {
    let counts = decisions.map(|one| {
        let own = &one.own;
        let is_it = match kind {
            "left out" => {
                return if &*own.about == about::FORWARDERS {
                    own.concerned
                } else {
                    0
                };
            }
            "dropped" => own.kind == OwnKind::Dropped,
            kind => own.kind.name() == kind && own.reason.name() == reason,
        };
        if is_it { one.count } else { 0 }
    });
    counts.sum()
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
        let copes = [
            OwnReason::Slow,
            OwnReason::Crowded,
            OwnReason::Denied,
            OwnReason::Repeated,
            OwnReason::TooMany,
            OwnReason::AllFailed,
        ];
        !copes.contains(&one.own.reason) && one.last.until(now) < Duration::from_secs(seconds)
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
