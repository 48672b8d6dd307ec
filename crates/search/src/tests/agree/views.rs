//! All that is told at one moment: pages, the API, `/stats` and `/metrics`, against the engine itself.

use std::collections::BTreeMap;

use serde_json::Value;
use weir_engine::dispatch::{Availability, Moment, Wait, What};
use weir_engine::{Got, Record, Standing, UpstreamView};

use super::book::Book;
use super::*;

/// Everything that is told, of one moment.
pub(super) struct Views {
    pub(super) indexers: Vec<View>,
    /// Decisions of the front itself.
    own: Vec<Value>,
    /// Whether our own network is down, and until when calls pause.
    network: (bool, Option<Moment>),
    list: Value,
    list_page: String,
    overview: String,
    pub(super) stats: Value,
    stats_text: String,
    pub(super) status: Value,
    /// By name and labels, as they are written.
    pub(super) metrics: BTreeMap<String, f64>,
}

/// What is told of one indexer.
pub(super) struct View {
    pub(super) name: String,
    pub(super) view: UpstreamView,
    pub(super) records: Vec<Record>,
    pub(super) one: Value,
    pub(super) decisions: Vec<Value>,
    page: String,
}

impl Views {
    pub(super) async fn of(world: &World) -> Self {
        let now = world.timeline.now();
        let mut indexers = Vec::new();
        for row in world.engine.upstreams(0, usize::MAX) {
            let seen = world.engine.upstream_with_records(row.upstream);
            let (view, records) = seen.expect("it is there");
            let name = row.name.to_string();
            let decisions = format!("/api/v1/decisions?front=search&upstream={name}&limit=500");
            let decisions = world.json(&decisions).await;
            let one = world
                .json(&format!("/api/v1/upstreams/search/{name}"))
                .await;
            let page = world
                .get(&format!("/upstreams/search/{name}?each=1"))
                .await
                .body;
            indexers.push(View {
                decisions: decisions["decisions"].as_array().expect("a list").clone(),
                name,
                view,
                records,
                one,
                page,
            });
        }
        let metrics = world.get("/metrics").await.body;
        let all = world.json("/api/v1/decisions?front=search&limit=500").await;
        let mut own = all["decisions"].as_array().expect("a list").clone();
        own.retain(|row| row["upstream"].is_null());
        let views = Self {
            indexers,
            own,
            network: {
                let figures = world.engine.status();
                (figures.network_down, figures.counts.paused_until)
            },
            list: world.json("/api/v1/upstreams?limit=500").await,
            list_page: world.get("/upstreams").await.body,
            overview: world.get("/").await.body,
            stats: world.json("/stats?format=json").await,
            stats_text: world.get("/stats").await.body,
            status: world.json("/api/v1/status").await,
            metrics: metrics.lines().filter_map(sample).collect(),
        };
        assert_eq!(world.timeline.now(), now, "a look takes no time");
        views
    }

    /// Fails unless all of them tell the same.
    pub(super) fn agree(&self, book: &Book) {
        for indexer in &self.indexers {
            indexer.agrees_with_engine(book);
            indexer.agrees_with_list(&self.list);
            indexer.agrees_with_stats(&self.stats);
            indexer.agrees_with_metrics(&self.metrics);
            indexer.agrees_with_page(&self.list_page);
            indexer.health_agrees(&self.stats);
            indexer.agrees_with_overview(&self.overview);
            indexer.decisions_agree();
        }
        self.text_stats_agree();
        self.summaries_agree();
        self.network_agrees();
        self.newest_decisions_agree();
    }

    /// The text of `/stats` says what its JSON says.
    fn text_stats_agree(&self) {
        let lines: Vec<&str> = self.stats_text.lines().collect();
        let has = |line: String| assert!(lines.contains(&&*line), "{line} in {lines:#?}");
        let section = self.stats["fronts"]["search"].as_object();
        for (name, value) in section.expect("a section") {
            match value {
                Value::Number(number) => has(format!("{name} {number}")),
                Value::Object(counts) => {
                    let counts = counts.iter();
                    counts.for_each(|(of, count)| has(format!("{name} {of} {count}")));
                }
                _ => {}
            }
        }
        let rows = self.stats["fronts"]["search"]["upstreams"].as_array();
        for row in rows.expect("a list") {
            let word = |field: &str| match &row[field] {
                Value::Null => None,
                Value::String(words) => Some(words.clone()),
                value => Some(value.to_string()),
            };
            let name = word("name").expect("a name");
            let mut wanted = format!("upstream {name}: {}", word("state").expect("a state"));
            for field in ["reason", "until", "response_ms", "calls", "last_error"] {
                let words = word(field).map(|words| format!(", {field} {words}"));
                wanted += &words.unwrap_or_default();
            }
            for quota in row["quota"].as_array().expect("a list") {
                let what = match quota["budget"].as_str() {
                    Some("grab") => "downloads",
                    _ => "calls",
                };
                let used = format!(", {} of {} {what} ", quota["used"], quota["limit"]);
                let line = lines.iter().find(|line| line.starts_with(&*wanted));
                assert!(line.is_some_and(|line| line.contains(&used)), "{used}");
            }
            let line = lines.iter().find(|line| line.starts_with(&*wanted));
            assert!(line.is_some(), "{wanted} in {lines:#?}");
        }
    }

    fn summaries_agree(&self) {
        let count = |wanted| {
            let states = self.indexers.iter();
            states.filter(|one| one.standing() == wanted).count()
        };
        for standing in Standing::ALL {
            let told = self.list["states"][standing.name()].as_u64();
            assert_eq!(told, Some(count(standing) as u64), "{standing:?}");
        }
        let (open, all) = (count(Standing::Open), self.indexers.len());
        let summary = self.list["summary"].as_str().expect("a sentence");
        let overview = text(&self.overview);
        let untried = self.indexers.iter();
        let untried = untried
            .filter(|one| one.standing() == Standing::Untried && one.view.last_call.is_none());
        let failing = self.indexers.iter().filter(|one| one.is_failing()).count();
        let failing = match failing {
            0 => String::new(),
            1 if open == 1 => ", but failing".to_owned(),
            failing if failing == open => ", but all of them are failing".to_owned(),
            1 => ", but 1 is failing".to_owned(),
            failing => format!(", but {failing} are failing"),
        };
        let words = match (open, untried.count()) {
            (open, _) if open == all => format!("All {all} upstreams are open{failing}."),
            (_, untried) if untried == all => {
                format!("None of the {all} upstreams has been tried yet.")
            }
            _ => {
                let are = if open == 1 { "is" } else { "are" };
                format!("{open} of {all} upstreams {are} open{failing}.")
            }
        };
        // On the card of the front as well.
        for words in [&words, &words.replace("upstreams", "indexers")] {
            assert!(overview.contains(words), "{words} in {overview}");
        }
        assert!(text(&self.list_page).contains(summary), "{summary}");
        let untils = self.indexers.iter().filter_map(View::until);
        if let Some(until) = untils.min() {
            let exact = exact(until);
            let next = self.indexers.iter();
            // Of several that come back together it is not said which one is named.
            let mut next = next.filter(|one| one.until() == Some(until)).map(|one| {
                let what = match one.standing() {
                    Standing::Disabled => "Next probe",
                    _ => "Next one back",
                };
                format!("{what}: {} at <time datetime=\"{exact}\">", one.name)
            });
            assert!(next.any(|words| self.overview.contains(&words)), "{exact}");
        }
    }

    /// While our own network is down everybody is told so, and a record tells of it.
    fn network_agrees(&self) {
        const SAYS: &str = "fault is in our own network.";
        let (is_down, paused) = self.network;
        let told = self.metrics["weir_network_down{front=\"search\"}"];
        assert_eq!(told, f64::from(u8::from(is_down)));
        assert_eq!(self.status["fronts"][0]["network_down"], is_down);
        let (_, headline) = self
            .overview
            .split_once("<h1 id=\"headline\"")
            .expect("a headline");
        let (headline, _) = headline.split_once("</h1>").expect("its end");
        assert_eq!(headline.contains(SAYS), is_down, "{headline}");
        assert_eq!(self.list_page.contains(SAYS), is_down, "{}", self.list_page);
        if !is_down {
            return;
        }
        match paused.map(exact) {
            Some(until) => assert!(headline.contains(&until), "{until}: {headline}"),
            None => assert!(headline.contains("The next call will show"), "{headline}"),
        }
        let mut own = self.own.iter();
        let record = own.find(|row| row["kind"] == "our_network");
        let sentence = record.and_then(|record| record["sentence"].as_str());
        assert!(
            sentence.is_some_and(|words| words.contains(SAYS)),
            "{record:?}"
        );
    }

    /// The overview lists the newest ten of all, in the same words.
    fn newest_decisions_agree(&self) {
        let all = self.indexers.iter().flat_map(|one| &one.decisions);
        let mut all: Vec<&Value> = all.chain(&self.own).collect();
        all.sort_by_key(|row| std::cmp::Reverse(row["at"].as_str()));
        let overview = text(&self.overview);
        for row in all.iter().take(10) {
            // Of several of one moment it is not said which come first.
            let same = all.iter().filter(|other| other["at"] == row["at"]).count();
            let sentence = row["sentence"].as_str().expect("a sentence");
            assert!(
                same > 1 || overview.contains(sentence),
                "{sentence} in {overview}"
            );
        }
    }
}

impl View {
    pub(super) fn standing(&self) -> Standing {
        self.view.status.state.into()
    }

    /// Whether it is called although it has answered none of a day's calls.
    fn is_failing(&self) -> bool {
        let calls = |of: fn(&[u32; 4]) -> u32| -> u32 {
            let points = self.view.day.iter();
            points.map(|point| of(&point.calls)).sum()
        };
        let (all, answered) = (calls(|calls| calls.iter().sum()), calls(|calls| calls[0]));
        self.standing() == Standing::Open && all > 0 && answered == 0
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

    fn agrees_with_engine(&self, book: &Book) {
        let one = &self.one;
        assert_eq!(one["state"], self.standing().name());
        assert_eq!(one["since"], exact(self.view.since), "{one}");
        assert_eq!(one["until"], Value::from(self.until().map(exact)), "{one}");
        let probe = Value::from(self.view.probe_at.map(exact));
        assert_eq!(one["next_probe"], probe, "{one}");
        if self.standing() == Standing::Disabled {
            // When it ends, or later if there is no quota for a probe then.
            assert!(self.view.probe_at >= self.until(), "{}", self.name);
        }
        let sentence = one["sentence"].as_str().expect("a sentence");
        if let Some(reason) = self.reason() {
            let told = one["reason"].as_str().expect("a reason");
            let reason_in = |words: &str| words.to_lowercase().contains(&reason.to_lowercase());
            assert!(reason_in(told) && reason_in(sentence), "{reason}: {one}");
        }
        // A disabled one is told to be disabled from the first such record on, a cooling one likewise.
        let newest = self.records.iter().find(|record| {
            matches!(
                record.what,
                weir_engine::dispatch::What::CooldownBegan { .. }
            )
        });
        // Where a kill took the records of a minute, states and last calls may be newer than those that are left.
        let is_whole = |record: &&Record| !book.is_from_before_a_kill(&self.name, record.number);
        if let (Some(until), Some(record)) = (self.until(), newest.filter(is_whole))
            && let weir_engine::dispatch::What::CooldownBegan { cooldown, .. } = record.what
        {
            assert_eq!(cooldown.until, until, "{}: {record:?}", self.name);
            assert_eq!(record.cause.as_deref(), self.reason(), "{}", self.name);
            let trouble = self.view.trouble.as_ref().expect("a reason");
            assert_eq!(trouble.began, record.at, "{}", self.name);
            assert!(self.view.since <= record.at, "{}", self.name);
        }
        let last = self
            .records
            .iter()
            .find(|record| matches!(record.what, weir_engine::dispatch::What::Started { .. }));
        // With another key it is another account, which was never called.
        if let (Some(last), Some(called)) = (last, self.view.last_call) {
            let is_same = called == last.at || called > last.at && !is_whole(&last);
            assert!(is_same, "{}: {called:?}, {last:?}", self.name);
        }
    }

    fn agrees_with_list(&self, list: &Value) {
        let rows = list["upstreams"].as_array().expect("a list").iter();
        let row = rows.clone().find(|row| row["name"] == self.name.as_str());
        let row = row.expect("it is listed").as_object().expect("a row");
        for (field, told) in row {
            assert_eq!(&self.one[field], told, "{field} of {}", self.name);
        }
    }

    fn agrees_with_stats(&self, stats: &Value) {
        let rows = stats["fronts"]["search"]["upstreams"].as_array();
        let mut rows = rows.expect("a list").iter();
        let row = rows.find(|row| row["name"] == self.name.as_str());
        let row = row.expect("it is there");
        for field in ["state", "until", "quota"] {
            assert_eq!(row[field], self.one[field], "{field} of {row}");
        }
        assert_eq!(row["last_error"], self.one["last_error"]["text"], "{row}");
        assert_eq!(row["reason"], Value::from(self.reason()), "{row}");
        let calls: u64 = self.view.figures.requests.iter().sum();
        assert_eq!(row["calls"], calls, "{row}");
    }

    fn agrees_with_metrics(&self, metrics: &BTreeMap<String, f64>) {
        let name = &self.name;
        for standing in Standing::ALL {
            let labels = format!(
                "{{front=\"search\",upstream=\"{name}\",state=\"{}\"}}",
                standing.name()
            );
            let told = metrics[&format!("weir_upstream_state{labels}")];
            let wanted = f64::from(u8::from(standing == self.standing()));
            assert_eq!(told, wanted, "{labels}");
        }
        let outcomes = self.one["requests"].as_object().expect("counts");
        for (outcome, count) in outcomes {
            let labels = format!("{{front=\"search\",upstream=\"{name}\",outcome=\"{outcome}\"}}");
            let told = metrics[&format!("weir_upstream_requests_total{labels}")];
            assert_eq!(Some(told), count.as_f64(), "{labels}");
        }
        let all: u64 = self.view.figures.requests.iter().sum();
        let labels = format!("{{front=\"search\",upstream=\"{name}\"}}");
        let told = metrics[&format!("weir_upstream_request_seconds_count{labels}")];
        assert_eq!(told, all as f64, "{labels}");
    }

    /// Its own page, and its row on the page of all.
    fn agrees_with_page(&self, list: &str) {
        let page = text(&self.page);
        let sentence = self.one["sentence"].as_str().expect("a sentence");
        assert!(page.contains(sentence), "{sentence} in {page}");
        let since = format!(
            "<dt>In this state since</dt><dd><time datetime=\"{}\"",
            exact(self.view.since)
        );
        assert!(self.page.contains(&since), "{since} in {}", self.page);
        let row = list
            .split("<tr data-item")
            .find(|row| row.contains(&format!("href=\"/upstreams/search/{}\"", self.name)));
        let row = row.expect("its row");
        let chip = self.chip();
        assert!(
            text(row).contains(chip) && page.contains(chip),
            "{chip}: {row}"
        );
        if let Some(reason) = self.one["reason"].as_str() {
            assert!(text(row).contains(reason), "{reason} in {row}");
        }
        let told = match self.standing() {
            Standing::Disabled => self.view.probe_at,
            _ => self.until(),
        };
        if let Some(until) = told {
            let time = format!("datetime=\"{}\"", exact(until));
            assert!(
                row.contains(&time) && self.page.contains(&time),
                "{time} in {row}"
            );
        }
        let calls: u64 = self.view.figures.requests.iter().sum();
        let words = match calls {
            0 => "none".to_owned(),
            1 => "1 call: ".to_owned(),
            calls => format!("{calls} calls: "),
        };
        let fact = format!("<dt>Calls since Weir started</dt><dd>{words}");
        assert!(self.page.contains(&fact), "{fact} in {}", self.page);
    }

    /// How often and how fast it answered, on the page, in the API and in `/stats`.
    fn health_agrees(&self, stats: &Value) {
        let calls = |kind: usize| -> u64 {
            let points = self.view.day.iter();
            points.map(|point| u64::from(point.calls[kind])).sum()
        };
        let counts = [0, 1, 2, 3].map(calls);
        let words = ["answered", "refused", "failed", "timed_out"];
        for (word, count) in words.into_iter().zip(counts) {
            assert_eq!(self.one["calls_24h"][word], count, "{word}: {}", self.one);
        }
        let (answered, all) = (counts[0], counts.iter().sum::<u64>());
        let tenths = (all > 0).then(|| answered * 1000 / all);
        let told = self.one["success_pct"].as_f64();
        assert_eq!(told, tenths.map(|tenths| tenths as f64 / 10.0));
        let success = match tenths {
            None => "–".to_owned(),
            Some(1000) => "100 %".to_owned(),
            Some(tenths) => format!("{}.{} %", tenths / 10, tenths % 10),
        };
        let fact = format!("<dt>Answered, 24 h</dt><dd>{success}");
        assert!(self.page.contains(&fact), "{fact} in {}", self.page);
        let time = |percentile: &str| match self.one["latency"][percentile].as_f64() {
            None => "–".to_owned(),
            Some(millis) if millis < 400.0 => format!("{} ms", millis.floor()),
            Some(millis) if millis < 10_000.0 => format!("{:.1} s", millis / 1000.0),
            Some(millis) => format!("{:.0} s", millis / 1000.0),
        };
        let (p50, p95) = (time("p50_ms"), time("p95_ms"));
        let fact = format!("<dt>Answer time p50 / p95</dt><dd>{p50} / {p95}");
        assert!(self.page.contains(&fact), "{fact} in {}", self.page);
        let rows = stats["fronts"]["search"]["upstreams"].as_array();
        let mut rows = rows.expect("a list").iter();
        let row = rows.find(|row| row["name"] == self.name.as_str());
        let told = row.expect("it is there")["response_ms"].as_f64();
        let p50 = self.one["latency"]["p50_ms"].as_f64();
        assert_eq!(told, p50.map(f64::floor), "{}", self.name);
    }

    fn agrees_with_overview(&self, overview: &str) {
        let (_, rest) = overview.split_once("id=\"attention\"").expect("a list");
        let (attention, _) = rest.split_once("</section>").expect("its end");
        let mut rows = attention.split("<li ").skip(1);
        let link = format!("href=\"/upstreams/search/{}\"", self.name);
        let row = rows.find(|row| row.contains(&link));
        let standing = self.standing();
        let wanted = matches!(
            standing,
            Standing::Cooldown | Standing::Probing | Standing::Disabled
        );
        assert!(!wanted || row.is_some(), "{} in {attention}", self.name);
        if let (Some(row), Some(reason)) = (row, self.one["reason"].as_str()) {
            assert!(text(row).contains(reason), "{reason} in {row}");
            assert!(text(row).contains(self.chip()), "{row}");
        }
    }

    fn chip(&self) -> &'static str {
        match self.standing() {
            Standing::Untried if self.view.last_call.is_some() => "No answer yet",
            Standing::Untried => "Not tried yet",
            Standing::Open if self.is_failing() => "Open, failing",
            Standing::Open => "Open",
            Standing::Cooldown => "Cooldown until",
            Standing::Probing => "Probing",
            Standing::Disabled => "Disabled, probe at",
            Standing::Manual => "Off by operator",
        }
    }

    /// Each record is a row of the API, and the newest are rows of the page, in the same words.
    fn decisions_agree(&self) {
        let numbers = self.records.iter().map(|record| record.number);
        let told = self
            .decisions
            .iter()
            .filter_map(|row| row["number"].as_u64());
        assert!(numbers.eq(told), "{}: the API tells others", self.name);
        let page = text(&self.page);
        for (record, row) in self.records.iter().zip(&self.decisions).take(25) {
            assert_eq!(row["at"], exact(record.at), "{row}");
            let got = record.got.map(|got| match got {
                Got::Fresh => ("fresh", None),
                Got::Nothing => ("nothing", None),
                Got::Elsewhere => ("elsewhere", None),
                Got::Cached { age } => ("cached", Some(age.as_secs())),
                Got::Retry { after } => ("retry", Some(after.as_secs())),
            });
            let told = row["got"]["what"].as_str().map(|what| {
                let got = &row["got"];
                (
                    what,
                    got["age_seconds"]
                        .as_u64()
                        .or(got["retry_seconds"].as_u64()),
                )
            });
            assert_eq!(told, got, "{row}");
            if let What::Skipped(skip) | What::Missed(skip) = record.what {
                let wait = skip.wait.filter(|wait| !wait.is_zero());
                let until = wait.map(|wait| exact(record.at + wait));
                assert_eq!(row["until"], Value::from(until), "{row}");
                assert_eq!(row["cause"], Value::from(record.cause.as_deref()), "{row}");
                assert_eq!(row["reason"] == "off", skip.reason == Wait::Off, "{row}");
            }
            let words = row["sentence"].as_str().expect("a sentence");
            let words = weir_web::without_name(&self.name, words);
            assert!(page.contains(&words), "{words} in {page}");
        }
    }
}

/// A moment as the API writes it.
pub(in crate::tests) fn exact(moment: Moment) -> String {
    let millis = i64::try_from(moment.0 / 1_000_000).expect("of this century");
    let time = jiff::Timestamp::from_millisecond(millis);
    time.expect("of this century").to_string()
}

/// A line of `/metrics`: name with labels, and value.
fn sample(line: &str) -> Option<(String, f64)> {
    let (name, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok()?;
    (!line.starts_with('#')).then(|| (name.to_owned(), value))
}

/// What people read of a page.
pub(in crate::tests) fn text(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    for piece in html.split('<') {
        let after = piece.split_once('>').map_or(piece, |(_, after)| after);
        text.push_str(after);
    }
    let entities = [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&quot;", "\""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&#38;", "&"),
        ("&amp;", "&"),
    ];
    let plain = |text: String, (from, to): (&str, &str)| text.replace(from, to);
    entities.into_iter().fold(text, plain)
}
