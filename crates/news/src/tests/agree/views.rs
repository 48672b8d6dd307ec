//! All that is told at one moment: pages, the API, `/stats` and `/metrics`, against the engine and its records.

use std::collections::BTreeMap;

use serde_json::Value;
use weir_engine::dispatch::{Availability, Moment, What};
use weir_engine::{Kind, Record, Standing, UpstreamView};

use super::book::Book;
use super::world::World;
use crate::reading::SilentServer;
use weir_testkit::html::{between, metrics, parts, text, times};

/// The parts of what was asked, and what `/metrics` calls them.
fn metric(name: &str) -> String {
    match name {
        "shared" => "weir_flights_shared_total".to_owned(),
        "duplicates" => "weir_jobs_duplicate_total".to_owned(),
        "waiting" => "weir_jobs_waiting".to_owned(),
        name => format!("weir_jobs_{name}_total"),
    }
}

/// What everybody sees who looks everywhere at once.
struct Views {
    overview: String,
    list: Value,
    list_page: String,
    stats: Value,
    status: Value,
    metrics: BTreeMap<String, f64>,
    /// Of all servers and of the front itself.
    decisions: Vec<Value>,
}

/// What is told of one server.
struct View {
    name: String,
    view: UpstreamView,
    records: Vec<Record>,
    one: Value,
    page: String,
}

/// Fails unless everything that is told at this moment agrees.
pub(super) async fn agree(world: &World, book: &mut Book) {
    book.look(world);
    let before = world.engine.status();
    let decisions = world.json("/api/v1/decisions?front=news&limit=500").await;
    let views = Views {
        overview: world.get("/").await,
        list: world.json("/api/v1/upstreams?limit=500").await,
        list_page: world.get("/upstreams").await,
        stats: world.json("/stats?format=json").await,
        status: world.json("/api/v1/status").await,
        metrics: metrics(&world.get("/metrics").await),
        decisions: decisions["decisions"].as_array().expect("a list").clone(),
    };
    let mut all = Vec::new();
    for row in world.engine.upstreams(0, usize::MAX) {
        let seen = world.engine.upstream_with_records(row.upstream);
        let (view, records) = seen.expect("it is there");
        let path = format!("/upstreams/news/{}", row.name);
        all.push(View {
            name: row.name.to_string(),
            view,
            records,
            one: world.json(&format!("/api/v1{path}")).await,
            page: world.get(&format!("{path}?each=1")).await,
        });
    }
    let after = world.engine.status();
    assert_eq!(
        (before.at, before.counters),
        (after.at, after.counters),
        "a look changes nothing"
    );
    views.counters(world, book);
    views.summaries(&all);
    views.newest_decisions();
    for one in &all {
        one.state(&views);
        one.reasons(&views);
        one.calls(&views, book);
        one.told(&views);
    }
}

impl Views {
    /// Counters add up, are the same everywhere, and are as many as there are records.
    fn counters(&self, world: &World, book: &Book) {
        let counters = world.engine.status().counters;
        let sum: u64 = counters.parts().iter().map(|(_, count)| count).sum();
        assert_eq!(sum, counters.asked, "{counters:?}");
        let all = counters.parts().into_iter();
        for (name, count) in all.chain([("asked", counters.asked)]) {
            let told = self.metrics[&format!("{}{{front=\"news\"}}", metric(name))];
            assert_eq!(told, count as f64, "{name}");
            assert_eq!(
                self.stats["fronts"]["news"]["counters"][name], count,
                "{name}"
            );
            assert_eq!(self.status["fronts"][0]["counters"][name], count, "{name}");
        }
        let count = |is: fn(&What) -> bool| book.count(None, |record| is(&record.what));
        for (told, recorded, name) in [
            (
                counters.skipped,
                count(|what| matches!(what, What::Skipped(_) | What::Missed(_))),
                "skipped",
            ),
            (
                counters.dropped,
                count(|what| matches!(what, What::Dropped { .. })),
                "dropped",
            ),
            (
                counters.sent,
                count(|what| matches!(what, What::Started { .. })),
                "sent",
            ),
            (
                counters.shared,
                count(|what| matches!(what, What::Shared { .. })),
                "shared",
            ),
            (counters.refused, book.refused(world), "refused"),
        ] {
            assert_eq!(told, recorded, "{name}: {counters:?}");
        }
    }

    fn summaries(&self, all: &[View]) {
        let count = |wanted| all.iter().filter(|one| one.standing() == wanted).count();
        for standing in Standing::ALL {
            let told = self.list["states"][standing.name()].as_u64();
            assert_eq!(told, Some(count(standing) as u64), "{standing:?}");
        }
        let overview = text(&self.overview);
        let summary = self.list["summary"].as_str().expect("a sentence");
        assert!(text(&self.list_page).contains(summary), "{summary}");
        let (open, of) = (count(Standing::Open), all.len());
        let begins = match open {
            open if open == of => format!("All {of} news servers are open"),
            0 if all.iter().all(View::is_untouched) => {
                format!("None of the {of} news servers has been tried yet")
            }
            1 => format!("1 of {of} news servers is open"),
            open => format!("{open} of {of} news servers are open"),
        };
        assert!(overview.contains(&begins), "{begins} in {overview}");
        let card = between(
            &self.overview,
            "<section id=\"front-news\" data-live",
            "</section>",
        );
        let told = self.status["fronts"][0]["sentence"].as_str();
        assert_eq!(Some(&*text(between(card, "<p>", "</p>"))), told);
    }

    /// The overview lists the newest ten of all, in the same words.
    fn newest_decisions(&self) {
        let overview = text(&self.overview);
        for row in self.decisions.iter().take(10) {
            // Of several of one moment it is not said which come first.
            let same = self.decisions.iter();
            let same = same.filter(|other| other["at"] == row["at"]).count();
            let sentence = row["sentence"].as_str().expect("a sentence");
            assert!(
                same > 1 || overview.contains(sentence),
                "{sentence} in {overview}"
            );
        }
    }
}

impl View {
    fn standing(&self) -> Standing {
        self.view.status.state.into()
    }

    fn is_untouched(&self) -> bool {
        self.standing() == Standing::Untried && self.view.last_call.is_none()
    }

    fn until(&self) -> Option<Moment> {
        match self.view.status.state {
            Availability::Cooldown { until } | Availability::Disabled { until } => Some(until),
            _ => None,
        }
    }

    /// Why it is in its state, where that comes from outside.
    fn reason(&self) -> Option<&str> {
        match self.standing() {
            Standing::Manual => self.view.off.as_ref().map(|off| off.reason.as_str()),
            Standing::Cooldown | Standing::Disabled | Standing::Probing => {
                let trouble = self.view.trouble.as_ref();
                Some(&trouble.expect("a reason").reason)
            }
            Standing::Open | Standing::Untried => None,
        }
    }

    fn stats<'a>(&self, views: &'a Views) -> &'a Value {
        let rows = views.stats["fronts"]["news"]["upstreams"].as_array();
        let mut rows = rows.expect("a list").iter();
        rows.find(|row| row["name"] == *self.name)
            .expect("it is there")
    }

    fn listed<'a>(&self, views: &'a Views) -> &'a str {
        let link = format!("href=\"/upstreams/news/{}\"", self.name);
        let mut rows = parts(&views.list_page, "<tr data-item");
        rows.find(|row| row.contains(&link)).expect("its row")
    }

    fn attention<'a>(&self, views: &'a Views) -> Option<&'a str> {
        let link = format!("href=\"/upstreams/news/{}\"", self.name);
        let panel = between(&views.overview, "id=\"attention\"", "</section>");
        parts(panel, "<li").find(|row| row.contains(&link))
    }

    fn state(&self, views: &Views) {
        let (one, standing) = (&self.one, self.standing());
        let rows = views.list["upstreams"].as_array().expect("a list");
        let row = rows.iter().find(|row| row["name"] == *self.name);
        for (field, told) in row.expect("it is listed").as_object().expect("a row") {
            assert_eq!(&one[field], told, "{field} of {}", self.name);
        }
        assert_eq!(one["state"], standing.name());
        assert_eq!(one["since"], exact(self.view.since), "{one}");
        assert_eq!(one["until"], Value::from(self.until().map(exact)), "{one}");
        assert_eq!(
            one["next_probe"],
            Value::from(self.view.probe_at.map(exact)),
            "{one}"
        );
        for field in ["state", "until", "quota"] {
            assert_eq!(
                self.stats(views)[field],
                one[field],
                "{field} of {}",
                self.name
            );
        }
        for state in Standing::ALL {
            let labels = format!(
                "{{front=\"news\",upstream=\"{}\",state=\"{}\"}}",
                self.name,
                state.name()
            );
            let told = views.metrics[&format!("weir_upstream_state{labels}")];
            assert_eq!(told == 1.0, state == standing, "{labels}");
        }
        let since = between(&self.page, "<dt>In this state since</dt><dd>", "</dd>");
        assert_eq!(times(since), [exact(self.view.since)], "{since}");
        let history = one["history"].as_array().expect("a list");
        let last = history.last().expect("never empty");
        assert_eq!(last["state"], standing.name(), "{one}");
        let chip = |html| {
            text(
                between(html, "<span class=\"chip", "</span></span>")
                    .split_once('>')
                    .map_or("", |(_, chip)| chip),
            )
        };
        let rows = [Some(self.listed(views)), self.attention(views)];
        for row in rows.into_iter().flatten() {
            assert_eq!(chip(row), chip(&self.page), "{}", self.name);
        }
        let is_away = matches!(
            standing,
            Standing::Cooldown | Standing::Probing | Standing::Disabled
        );
        assert!(
            !is_away || rows[1].is_some(),
            "{} needs attention",
            self.name
        );
    }

    /// Its reason is the same everywhere, and that of the record that tells of it.
    fn reasons(&self, views: &Views) {
        let sentence = self.one["sentence"].as_str().expect("a sentence");
        assert!(
            text(&self.page).contains(sentence),
            "{sentence} in {}",
            self.page
        );
        let short = self.one["reason"].as_str().unwrap_or_default();
        let rows = [Some(self.listed(views)), self.attention(views)];
        for row in rows.into_iter().flatten() {
            assert!(text(row).contains(short), "{short} in {row}");
        }
        assert_eq!(
            self.stats(views)["reason"],
            Value::from(self.reason()),
            "{}",
            self.name
        );
        assert_eq!(
            self.stats(views)["last_error"],
            self.one["last_error"]["text"]
        );
        if let Some(reason) = self.reason() {
            let is_in = |words: &str| words.to_lowercase().contains(&reason.to_lowercase());
            assert!(is_in(short) && is_in(sentence), "{reason}: {}", self.one);
        }
        let mut records = self.records.iter();
        let newest = records.find(|one| matches!(one.what, What::CooldownBegan { .. }));
        if let (Some(until), Some(record)) = (self.until(), newest)
            && let What::CooldownBegan { cooldown, .. } = record.what
        {
            assert_eq!(cooldown.until, until, "{}: {record:?}", self.name);
            assert_eq!(record.cause.as_deref(), self.reason(), "{}", self.name);
        }
        let mut records = self.records.iter();
        let switched = records.find(|one| matches!(one.what, What::SwitchedOff | What::SwitchedOn));
        if switched.is_some_and(|one| one.what == What::SwitchedOff) {
            assert_eq!(self.standing(), Standing::Manual, "{}", self.name);
        }
    }

    /// Calls by outcome, in the API, in figures, on the page and in records.
    fn calls(&self, views: &Views, book: &Book) {
        let mut total = 0;
        for (kind, count) in Kind::ALL.into_iter().zip(self.view.figures.requests) {
            assert_eq!(self.one["requests"][kind.name()], count);
            let labels = format!(
                "{{front=\"news\",upstream=\"{}\",outcome=\"{}\"}}",
                self.name,
                kind.name()
            );
            let told = views
                .metrics
                .get(&format!("weir_upstream_requests_total{labels}"));
            assert_eq!(told.copied().unwrap_or_default(), count as f64, "{labels}");
            let ended = |record: &Record| record.end.is_some_and(|end| end.kind == kind);
            assert_eq!(
                book.count(Some(&self.name), ended),
                count,
                "{kind:?} of {}",
                self.name
            );
            total += count;
        }
        assert_eq!(self.stats(views)["calls"], total, "{}", self.name);
        let words = match total {
            0 => "none".to_owned(),
            1 => "1 call: ".to_owned(),
            total => format!("{} calls: ", weir_engine::words::grouped(total)),
        };
        let shown = between(&self.page, "<dt>Calls since Weir started</dt><dd>", "</dd>");
        assert!(text(shown).starts_with(words.trim()), "{words}: {shown}");
        let last = self.records.iter();
        let last = last.filter(|record| matches!(record.what, What::Started { .. }));
        if let (Some(last), Some(called)) =
            (last.map(|record| record.at).next(), self.view.last_call)
        {
            assert_eq!(called, last, "{}", self.name);
        }
    }

    /// Each record is a row of the API, and the newest are rows of the page, in the same words.
    fn told(&self, views: &Views) {
        let rows = views.decisions.iter();
        let rows: Vec<&Value> = rows.filter(|row| row["upstream"] == *self.name).collect();
        let numbers = self.records.iter().map(|record| record.number);
        let told = rows.iter().filter_map(|row| row["number"].as_u64());
        // The API gave the newest 500 of all servers.
        if views.decisions.len() < 500 {
            assert!(numbers.eq(told), "{}: the API tells others", self.name);
        }
        let page = text(&self.page);
        for (record, row) in self.records.iter().zip(rows).take(25) {
            assert_eq!(row["at"], exact(record.at), "{row}");
            assert_eq!(row["got"].is_null(), record.got.is_none(), "{row}");
            if let What::Skipped(_) | What::Missed(_) = record.what {
                assert_eq!(row["cause"], Value::from(record.cause.as_deref()), "{row}");
            }
            let words = row["sentence"].as_str().expect("a sentence");
            let words = weir_web::without_name(&self.name, words);
            assert!(page.contains(&words), "{words} in {page}");
        }
    }
}

/// Servers that a page names as having given nothing.
pub(super) fn silent(page: &str) -> Vec<SilentServer> {
    let named = parts(page, "No answer from <b>");
    let named = named.filter_map(|rest| {
        let (name, rest) = rest.split_once("</b>: ")?;
        let (line, _) = rest.split_once("</p>")?;
        let (reason, next) = line.split_once(" Next try: ").unwrap_or((line, ""));
        let at = times(next).first().map(|at| {
            let at: jiff::Timestamp = at.parse().expect("a time");
            at.as_second()
        });
        Some(SilentServer {
            name: name.into(),
            reason: text(reason).trim_end_matches('.').to_owned(),
            retry_at: at,
        })
    });
    named.collect()
}

/// The same of a newsreader's line.
pub(super) fn silent_in_line(line: &str) -> Vec<SilentServer> {
    let Some((_, named)) = line.split_once("No news server could answer: ") else {
        return Vec::new();
    };
    let named = named.split("; ").filter_map(|one| {
        let (name, reason) = one.split_once(": ")?;
        Some(SilentServer {
            name: name.into(),
            reason: reason.to_owned(),
            retry_at: None,
        })
    });
    named.collect()
}

/// A moment as the API writes it.
fn exact(moment: Moment) -> String {
    let millis = i64::try_from(moment.0 / 1_000_000).expect("of this century");
    let time = jiff::Timestamp::from_millisecond(millis);
    time.expect("of this century").to_string()
}
