//! Each forwarder on the overview, in the list, on its page, in the API, in `/stats` and in `/metrics`: one state, one
//! reason, the same times and counts, and all of them as its records have it.

use serde_json::Value;
use weir_engine::dispatch::What;
use weir_engine::words::grouped;
use weir_engine::{Record, Standing, UpstreamView};

use super::super::*;
use super::desk::{Desk, Everything, between, parts, text, times};
use super::kept::Kept;

pub(super) async fn check(world: &World, desk: &Desk, all: &Everything, kept: &Kept) {
    counters(world, all);
    last_decisions(all);
    let mut queued = 0;
    for forwarder in world.forwarders.all().iter() {
        let name = &forwarder.config.name;
        let seen = world.engine.upstream_with_records(forwarder.upstream);
        let (view, records) = seen.expect("it is there");
        let path = format!("/upstreams/tracker/{name}");
        let one = Look {
            name,
            page: desk.page(&format!("{path}?each=1")).await,
            api: desk.json(&format!("/api/v1{path}")).await,
            view,
            records,
            cut: kept.cuts.get(name).copied().unwrap_or_default(),
        };
        queued += one.view.status.queued;
        one.state(world, all);
        one.reasons(all);
        one.calls(world, all);
        one.told(all);
        one.follows_from_its_records(world);
    }
    assert_eq!(queued, world.engine.status().counts.queued);
}

/// Counters add up and are the same everywhere.
fn counters(world: &World, all: &Everything) {
    let counters = world.engine.status().counters;
    let sum: u64 = counters.parts().iter().map(|(_, count)| count).sum();
    assert_eq!(sum, counters.asked, "{counters:?}");
    for (name, count) in counters
        .parts()
        .into_iter()
        .chain([("asked", counters.asked)])
    {
        let metric = match name {
            "shared" => "flights_shared_total".to_owned(),
            "duplicates" => "jobs_duplicate_total".to_owned(),
            "waiting" => "jobs_waiting".to_owned(),
            name => format!("jobs_{name}_total"),
        };
        assert_eq!(
            all.metrics[&format!("{metric}{{front=\"tracker\"}}")],
            count,
            "{name}"
        );
        assert_eq!(all.stats["counters"][name], count, "{name}");
        assert_eq!(all.status["fronts"][0]["counters"][name], count, "{name}");
    }
    // What waits is in the queue or on the agenda, where retries are as well.
    let counts = world.engine.status().counts;
    let most = u64::from(counts.queued + counts.scheduled);
    assert!(counters.waiting() <= most, "{counters:?} {counts:?}");
    let queue = &all.status["fronts"][0]["queue"];
    assert_eq!(queue["depth"], all.stats["queue_depth"]);
    assert_eq!(
        all.metrics["queue_depth{front=\"tracker\"}"],
        all.stats["queue_depth"].as_u64().expect("a number")
    );
}

/// The overview tells the newest decisions in the words of the API.
fn last_decisions(all: &Everything) {
    let panel = between(&all.overview, "<h2 id=\"decisions\">", "</section>");
    let shown: Vec<(String, String)> = parts(panel, "<li")
        .map(|row| {
            let (time, words) = row.split_once("</time>").expect("a time");
            (times(time)[0].to_owned(), text(words))
        })
        .collect();
    let told = all.decisions.iter().take(10).map(|row| {
        let words = row["sentence"].as_str().expect("words");
        let words = match row["upstream"].is_null() {
            true => format!("Tracker: {words}"),
            false => words.to_owned(),
        };
        (row["at"].as_str().expect("a time").to_owned(), words)
    });
    assert_eq!(shown, told.collect::<Vec<_>>());
}

/// One forwarder.
pub(super) struct Look<'a> {
    pub(super) name: &'a str,
    pub(super) page: String,
    pub(super) api: Value,
    pub(super) view: UpstreamView,
    pub(super) records: Vec<Record>,
    /// Of those up to this number, some may be gone: to a kill, or because they are too old.
    pub(super) cut: u64,
}

impl Look<'_> {
    /// Whether the newest record of something is the last that there was.
    pub(super) fn is_last(&self, newest: Option<&Record>) -> bool {
        newest.map_or(0, |record| record.number) > self.cut || self.cut == 0
    }

    pub(super) fn stats<'v>(&self, all: &'v Everything) -> &'v Value {
        let mut rows = all.stats["forwarders"].as_array().expect("a list").iter();
        rows.find(|row| row["name"] == self.name)
            .expect("it is listed")
    }

    fn listed<'v>(&self, all: &'v Everything) -> &'v str {
        let name = format!("<bdi>{}</bdi>", self.name);
        let mut rows = parts(&all.list, "<tr data-item");
        rows.find(|row| row.contains(&name)).expect("it is listed")
    }

    /// Its place among those that need attention.
    fn attention<'v>(&self, all: &'v Everything) -> Option<&'v str> {
        let name = format!("<bdi>{}</bdi>", self.name);
        let panel = between(&all.overview, "<h2 id=\"attention\">", "</section>");
        parts(panel, "<li").find(|row| row.contains(&name))
    }

    pub(super) fn fact(&self, label: &str) -> &str {
        between(&self.page, &format!("<dt>{label}</dt><dd>"), "</dd>")
    }

    fn state(&self, world: &World, all: &Everything) {
        let (api, view) = (&self.api, &self.view);
        let mut rows = all.rows["upstreams"].as_array().expect("a list").iter();
        let row = rows
            .find(|row| row["name"] == self.name)
            .expect("it is listed");
        for (key, value) in row.as_object().expect("an object") {
            assert_eq!(&api[key], value, "{key} of {}", self.name);
        }
        let standing = Standing::from(view.status.state);
        assert_eq!(api["state"], standing.name());
        assert_eq!(self.stats(all)["state"], standing.name());
        for state in Standing::ALL {
            let labels = format!(
                "front=\"tracker\",upstream=\"{}\",state=\"{}\"",
                self.name,
                state.name()
            );
            let is = all.metrics[&format!("upstream_state{{{labels}}}")];
            assert_eq!(is == 1, state == standing, "{labels}");
        }
        let since = world.wall(view.since);
        assert_eq!(api["since"], since);
        assert_eq!(times(self.fact("In this state since")), [since.as_str()]);
        let history = api["history"].as_array().expect("a list");
        let last = history.last().expect("never empty");
        assert_eq!(last["state"], standing.name(), "{api}");
        // A failed probe does not begin another cooldown.
        let began = match standing {
            Standing::Cooldown | Standing::Disabled => {
                let mut all = history.iter();
                all.any(|state| state["at"] == since && state["state"] == standing.name())
            }
            _ => last["at"] == since,
        };
        // The states of a minute may be lost with a kill.
        assert!(began || self.cut > 0, "{api}");
        let chips = [
            Some(self.page.as_str()),
            Some(self.listed(all)),
            self.attention(all),
        ];
        let chips = chips
            .map(|html| html.map(|html| between(html, "<span class=\"chip", "</span></span>")))
            // The rest of the tag, which differs.
            .map(|html| html.and_then(|html| Some(html.split_once('>')?.1)));
        for chip in chips.iter().flatten() {
            assert_eq!(Some(text(chip)), chips[0].map(text));
        }
        assert_eq!(api["until"], self.stats(all)["until"]);
        if let Some(until) = api["until"].as_str() {
            let chip = chips[0].expect("a page has one");
            assert_eq!(times(chip), [until], "{chip}");
        }
    }

    fn reasons(&self, all: &Everything) {
        let (api, stats) = (&self.api, self.stats(all));
        let why = between(&self.page, "<h2 id=\"why\">", "</section>");
        assert_eq!(text(between(why, "<p>", "</p>")), api["sentence"]);
        let short = api["reason"].as_str().unwrap_or_default();
        assert_eq!(
            text(between(self.listed(all), "</span></span><p>", "</p>")),
            short
        );
        if let Some(row) = self.attention(all) {
            assert_eq!(text(between(row, "<p>", "</p>")), short);
        }
        if let Some(reason) = stats["reason"].as_str() {
            for said in [api["sentence"].as_str().expect("words"), short] {
                // It may begin a sentence.
                let is_told = said.to_lowercase().contains(&reason.to_lowercase());
                assert!(is_told, "{reason}: {said}");
            }
        }
        assert_eq!(api["last_error"]["text"], stats["last_error"]);
        let shown = text(between(&self.page, "<pre class=\"said\">", "</pre>"));
        assert_eq!(
            shown,
            api["last_error"]["text"].as_str().unwrap_or_default()
        );
        assert_eq!(api["last_interval_seconds"], stats["last_interval"]);
    }

    /// Its records, on its page and in the API.
    fn told(&self, all: &Everything) {
        let rows: Vec<&Value> = all
            .decisions
            .iter()
            .filter(|row| row["upstream"] == self.name)
            .collect();
        assert_eq!(rows.len(), self.records.len());
        let every = format!(">All {}<", grouped(rows.len() as u64));
        assert!(self.page.contains(&every), "{every} of {}", self.name);
        let shown = parts(&self.page, "<tr id=\"d-");
        let shown: Vec<(&str, &str, String)> = shown
            .map(|row| {
                let (number, _) = row.split_once('"').expect("a number");
                let sentence = row.rsplit_once("<td>").map_or("", |(_, last)| last);
                let (sentence, _) = sentence.split_once("</td>").expect("a cell");
                (number, times(row)[0], text(sentence))
            })
            .collect();
        assert_eq!(shown.len(), rows.len().min(25));
        for ((number, at, sentence), row) in shown.iter().zip(&rows) {
            assert_eq!(*number, row["number"].to_string());
            let words = row["sentence"].as_str().expect("words");
            let words = weir_web::without_name(self.name, words);
            let at_api = row["at"].as_str().expect("a time");
            assert_eq!((*at, sentence), (at_api, &words));
        }
    }

    /// Its state is what its last record about it says.
    fn follows_from_its_records(&self, world: &World) {
        let (view, name) = (&self.view, self.name);
        let standing = Standing::from(view.status.state);
        let about_it = self.records.iter().find(|record| {
            matches!(
                record.what,
                What::CooldownBegan { .. } | What::Healed | What::Cleared | What::Forgiven
            )
        });
        let off = self
            .records
            .iter()
            .find(|record| matches!(record.what, What::SwitchedOff | What::SwitchedOn));
        match off.map(|record| record.what) {
            _ if !self.is_last(off) => {}
            Some(What::SwitchedOff) => {
                let off = view.off.as_ref().expect("it is off");
                assert_eq!(standing, Standing::Manual, "{name}");
                let record = self
                    .records
                    .iter()
                    .find(|one| one.what == What::SwitchedOff);
                let record = record.expect("just found");
                assert_eq!(
                    (record.at, record.cause.as_deref()),
                    (off.at, Some(off.reason.as_str()))
                );
            }
            _ => assert_ne!(standing, Standing::Manual, "{name}: {:?}", self.records),
        }
        match about_it.map(|record| record.what) {
            _ if !self.is_last(about_it) => {}
            Some(What::CooldownBegan { cooldown, .. }) => {
                let record = about_it.expect("just found");
                let trouble = view.trouble.as_ref().expect("it is in trouble");
                assert_eq!(record.cause.as_deref(), Some(&*trouble.reason), "{name}");
                assert_eq!(world.wall(record.at), world.wall(trouble.began), "{name}");
                let until = view
                    .status
                    .cooldown
                    .map(|cooldown| world.wall(cooldown.until));
                assert_eq!(
                    until,
                    Some(world.wall(cooldown.until)),
                    "{name}: {:?}",
                    self.records
                );
                assert_ne!(standing, Standing::Open, "{name}: {:?}", self.records);
            }
            _ => {
                let well = [Standing::Open, Standing::Untried, Standing::Manual];
                assert!(
                    well.contains(&standing),
                    "{name} is {standing:?}: {:?}",
                    self.records
                );
                assert_eq!(view.trouble, None, "{name}");
            }
        }
    }
}
