//! Calls of one forwarder, counted: the same on its page, in the API, in figures and in records.

use std::collections::BTreeMap;

use weir_engine::dispatch::What;
use weir_engine::words::grouped;
use weir_engine::{Kind, Record};

use super::super::*;
use super::desk::{Everything, text, times};
use super::views::Look;

impl Look<'_> {
    /// Calls by outcome: API, metrics, page, figures and records.
    pub(super) fn calls(&self, world: &World, all: &Everything) {
        let (api, view) = (&self.api, &self.view);
        let began = view.at - world.time();
        let calls = |since| {
            self.records.iter().filter(move |record| {
                matches!(record.what, What::Started { .. }) && record.at >= since
            })
        };
        let (mut total, mut words) = (0, Vec::new());
        for (kind, count) in Kind::ALL.into_iter().zip(view.figures.requests) {
            assert_eq!(api["requests"][kind.name()], count);
            let labels = format!(
                "front=\"tracker\",upstream=\"{}\",outcome=\"{}\"",
                self.name,
                kind.name()
            );
            assert_eq!(
                all.metrics
                    .get(&format!("upstream_requests_total{{{labels}}}"))
                    .copied()
                    .unwrap_or_default(),
                count,
                "{labels}"
            );
            let ended =
                calls(began).filter(|record| record.end.is_some_and(|end| end.kind == kind));
            assert_eq!(
                ended.count() as u64,
                count,
                "{kind:?} of {}: {:?}",
                self.name,
                self.records
            );
            total += count;
            if count > 0 {
                words.push(format!(
                    "{} {}",
                    grouped(count),
                    kind.name().replace('_', " ")
                ));
            }
        }
        assert_eq!(self.stats(all)["announces"], total);
        let shown = match total {
            0 => "none".to_owned(),
            1 => format!("1 call: {}", words.join(", ")),
            total => format!("{} calls: {}", grouped(total), words.join(", ")),
        };
        assert_eq!(text(self.fact("Calls since Weir started")), shown);
        let under_way = calls(view.at - DAY).filter(|record| record.end.is_none());
        // Those of one that was removed meanwhile, and is back, do not count in its limit.
        let young = under_way
            .clone()
            .all(|record| record.at + 30 * SECOND >= view.at);
        let enough = under_way.count() >= view.status.in_flight as usize;
        assert!(young && enough, "{}: {:?}", self.name, self.records);
        let newest = calls(view.at - DAY).next();
        let last = newest.map(|record| world.wall(record.at));
        let told = api["last_call"].as_str();
        let time = |text: &str| text.parse::<jiff::Timestamp>().expect("a time");
        let is_later = !self.is_last(newest) && told.map(time) > last.as_deref().map(time);
        assert!(
            told == last.as_deref() || is_later,
            "{}: {told:?}, {:?}",
            self.name,
            self.records
        );
        assert_eq!(
            times(self.fact("Last call")),
            told.into_iter().collect::<Vec<_>>()
        );
        self.day(calls(view.at - DAY));
    }

    /// The last day, in calls of all runs.
    fn day<'r>(&self, calls: impl Iterator<Item = &'r Record>) {
        let mut groups = BTreeMap::from([
            ("answered", 0),
            ("refused", 0),
            ("failed", 0),
            ("timed_out", 0),
        ]);
        for end in calls.filter_map(|record| record.end) {
            let group = match end.kind {
                Kind::Done | Kind::No | Kind::Again => "answered",
                Kind::Throttled | Kind::Rejected => "refused",
                Kind::TimedOut => "timed_out",
                Kind::Cut | Kind::Lost => continue,
                _ => "failed",
            };
            *groups.entry(group).or_default() += 1;
        }
        for (group, count) in groups {
            assert_eq!(
                self.api["calls_24h"][group], count,
                "{group} of {}: {:?}",
                self.name, self.records
            );
        }
    }
}
