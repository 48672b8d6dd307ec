//! Asking *why*, and whether the answer is true.

use serde_json::Value;
use weir_engine::dispatch::Moment;

use super::super::agree::{exact, text};
use super::super::*;
use super::{DOWNLOADS, GRABS, Program, Week};

/// A timer is late by up to this much.
const TICK: Duration = Duration::from_millis(2);

/// When a decision was made.
fn moment(row: &Value) -> Moment {
    let at = row["at"].as_str().expect("a time");
    let at: jiff::Timestamp = at.parse().expect("a time");
    Moment(u64::try_from(at.as_nanosecond()).expect("of this century"))
}

/// Whether these are the same, as exactly as times are written.
fn is_near(one: Moment, other: Moment) -> bool {
    one <= other + TICK && other <= one + TICK
}

/// Those about one indexer.
fn about(all: &[Value], name: &str) -> Vec<Value> {
    let own = all.iter().filter(|row| row["upstream"] == name);
    own.cloned().collect()
}

impl Week {
    /// The decisions since a moment that concern a program, oldest first.
    async fn decided(&self, program: Program, since: Moment) -> Vec<Value> {
        // What is decided at a deadline is recorded as the reply leaves.
        turn().await;
        let target = "/api/v1/decisions?front=search&limit=60";
        let body = self.world.json(target).await;
        let rows = body["decisions"].as_array().expect("a list");
        let time = |row: &Value| -> jiff::Timestamp {
            let time = row["at"].as_str().expect("a time");
            time.parse().expect("a time")
        };
        let since: jiff::Timestamp = exact(since).parse().expect("a time");
        let is_wanted = |row: &&Value| row["asker"] == program.name() && time(row) >= since;
        rows.iter().filter(is_wanted).rev().cloned().collect()
    }

    /// The sentence is on the indexer's page as well, which does not repeat its name.
    async fn assert_on_page(&self, name: &str, what: &str, sentence: &str) {
        let page = self
            .world
            .get(&format!("/upstreams/search/{name}?what={what}&each=1"))
            .await;
        let page = text(&page.body);
        let rest = weir_web::without_name(name, sentence);
        assert!(page.contains(&rest), "{sentence} in {page}");
    }

    /// Asks about each indexer that had no part in an answer, or had to be waited for.
    pub(super) async fn why(
        &mut self,
        program: Program,
        question: &str,
        began: Moment,
        reply: &Reply,
    ) {
        let told: Vec<(String, String, Option<String>)> = match reply.status {
            200 => reply.skipped(),
            429 => self.named_in(&reply.body),
            status => panic!("{status}: {}", reply.body),
        };
        // Not about a question of before, whose call may be made only now.
        let words = match question.split_once("q=") {
            Some((_, words)) => format!("\"{}\"", words.replace('+', " ")),
            None => "recent releases".to_owned(),
        };
        let mut all = self.decided(program, began).await;
        all.retain(|row| row["about"] == words.as_str() || row["about"] == "caps");
        for (name, reason, until) in told {
            let whom = NAMES.iter().position(|known| *known == name).expect("ours");
            let own = about(&all, &name);
            self.why_not(whom, program, (began, &own), (&text(&reason), until), reply)
                .await;
        }
        for (whom, name) in NAMES.iter().enumerate().take(self.indexers.len()) {
            let own = about(&all, name);
            self.why_caps(whom, &own).await;
            self.why_so_late(whom, question, &own).await;
        }
    }

    /// Those whom an error names, with their reasons.
    fn named_in(&self, body: &str) -> Vec<(String, String, Option<String>)> {
        let (_, body) = body.split_once("description=\"").expect("an error");
        let body = text(body.split('"').next().expect("words"));
        let mut places: Vec<(usize, &str)> = NAMES[..self.indexers.len()]
            .iter()
            .filter_map(|name| Some((body.find(&format!(" {name}: "))?, *name)))
            .collect();
        places.sort_unstable();
        let ends = places.iter().skip(1).map(|(at, _)| *at).chain([body.len()]);
        let named = places.iter().zip(ends);
        named
            .map(|((at, name), end)| {
                let reason = &body[at + name.len() + 3..end];
                let reason = reason.trim().trim_end_matches('.');
                ((*name).to_owned(), reason.to_owned(), None)
            })
            .collect()
    }

    async fn why_not(
        &mut self,
        whom: usize,
        program: Program,
        (began, all): (Moment, &[Value]),
        (reason, until): (&str, Option<String>),
        reply: &Reply,
    ) {
        let (name, world) = (NAMES[whom], &self.world);
        let searches = world.moments(&self.indexers[whom].searches());
        let calls = world.moments(&self.indexers[whom].asked());
        let is_called = reason.starts_with("it has not answered yet");
        let failed = searches.iter().rev().find(|at| **at >= began);
        let wanted = |row: &&Value| match (is_called, failed) {
            // No call reaches anybody.
            _ if self.is_cut_off => row["kind"] == "started" || row["kind"] == "skipped",
            (true, _) => row["kind"] == "started" || row["kind"] == "skipped",
            (false, Some(_)) => row["kind"] != "waits",
            (false, None) => row["kind"] == "skipped",
        };
        let row = all.iter().find(wanted);
        let row = row.unwrap_or_else(|| panic!("no answer why {name}: {reason}, {all:?}"));
        let sentence = row["sentence"].as_str().expect("a sentence");
        // Who: its name and the program's. What the program got, as the reply says.
        assert!(
            sentence.starts_with(name) && sentence.contains(program.name()),
            "{sentence}"
        );
        let got = match reason.split_once("; answered from cache, ") {
            Some((_, old)) => format!("{} got the cached answer, {old}.", program.name()),
            None if reply.status == 429 && row["about"] != "caps" => {
                let after = reply.retry_after.as_deref().expect("a time");
                let after = Duration::from_secs(after.parse().expect("seconds"));
                let after = weir_engine::span(after);
                format!("{} was told to retry in {after}.", program.name())
            }
            None => format!("{} got nothing", program.name()),
        };
        if !is_called && row["kind"] == "skipped" || reply.status == 429 {
            let got = got.to_lowercase();
            assert!(sentence.to_lowercase().contains(&got), "{got}: {sentence}");
        }
        if self.is_cut_off {
            return self.why_cut_off(name, row, (reason, until)).await;
        }
        let at: jiff::Timestamp = row["at"].as_str().expect("a time").parse().expect("a time");
        let at = Moment(u64::try_from(at.as_nanosecond()).expect("of this century"));
        let cooling = self.truth[whom].cooling(&searches, at + TICK);
        let next = if row["kind"] == "started" {
            self.assert_failed(whom, at, sentence, is_called);
            match is_called {
                true => self.asked.late += 1,
                false => self.asked.failed += 1,
            }
            None
        } else if let Some(why) = self.truth[whom].off {
            let told = format!("switched off by an operator: {why}");
            assert_eq!(reason, told, "{sentence}");
            let told = format!("it is switched off by an operator (\u{201c}{why}\u{201d})");
            assert!(sentence.contains(&told), "{sentence}");
            self.asked.off += 1;
            None
        } else if reason.contains("cooling down") {
            let cooling =
                cooling.unwrap_or_else(|| panic!("{name} does not cool at {at:?}: {sentence}"));
            assert!(sentence.contains(cooling.cause), "{cooling:?}: {sentence}");
            assert!(reason.contains(cooling.cause), "{cooling:?}: {reason}");
            self.asked.cooling += 1;
            Some(cooling.until)
        } else if reason.contains("quota is used up") {
            let full = self.truth[whom].full(&calls, at);
            self.asked.full += 1;
            Some(full.unwrap_or_else(|| panic!("{name} is not full: {sentence}")))
        } else if reason.contains("asked a moment ago") {
            assert!(cooling.is_none(), "{cooling:?}: {sentence}");
            self.asked.spacing += 1;
            let last = searches.iter().rev().find(|begun| **begun <= at);
            Some(*last.expect("it was asked") + 25 * SECOND)
        } else {
            assert!(
                is_called || reason.contains("still queued when the deadline passed"),
                "{reason}: {sentence}, {}",
                reply.body
            );
            self.asked.late += 1;
            None
        };
        if let (Some(next), Some(until)) = (next, until) {
            let until: jiff::Timestamp = until.parse().expect("a time");
            let seconds = i64::try_from((next + TICK).0 / 1_000_000_000).expect("a time");
            assert!(
                (seconds - until.as_second()).abs() <= 1,
                "{next:?} {until}: {sentence}"
            );
        }
        if let Some(next) = next {
            // Until when, as the page writes it.
            let zone = jiff::tz::TimeZone::system();
            let clock = |moment: Moment| {
                let time = jiff::Timestamp::from_second((moment.0 / 1_000_000_000) as i64);
                time.expect("a time")
                    .to_zoned(zone.clone())
                    .strftime("%H:%M")
                    .to_string()
            };
            let told = [clock(next), clock(next + TICK), clock(next - TICK)];
            assert!(
                told.iter().any(|clock| sentence.contains(clock)),
                "{told:?}: {sentence}"
            );
        }
        let what = if row["kind"] == "skipped" {
            "skipped"
        } else {
            ""
        };
        self.assert_on_page(name, what, sentence).await;
    }

    /// While our own network is away a call says that it could not be made, or that it waits for that; and a record of the
    /// front says why nobody is blamed.
    async fn why_cut_off(&mut self, name: &str, row: &Value, told: (&str, Option<String>)) {
        let (reason, until) = told;
        let (reason, _) = reason.split_once("; answered").unwrap_or((reason, ""));
        let sentence = row["sentence"].as_str().expect("a sentence");
        let why = match row["kind"] == "skipped" {
            true => {
                assert!(
                    reason.starts_with("calls pause: our own network is down. Next try in "),
                    "{reason}"
                );
                assert_eq!(row["reason"], "our_network", "{row}");
                let paused = self.world.engine.status().counts.paused_until;
                let paused = exact(paused.expect("calls pause"));
                assert_eq!(row["until"], paused.as_str(), "{row}");
                if let Some(until) = until {
                    assert_eq!(until[..19], paused[..19], "{row}");
                }
                "our own network is down"
            }
            false => reason,
        };
        assert!(sentence.contains(why), "{why}: {sentence}");
        let own = self
            .world
            .json("/api/v1/decisions?front=search&limit=500")
            .await;
        let mut own = own["decisions"].as_array().expect("a list").iter();
        let record = own
            .find(|row| row["kind"] == "our_network")
            .expect("a record of the outage");
        let words = record["sentence"].as_str().expect("a sentence");
        assert!(
            words.contains("upstreams failed at once, so the fault is in our own network."),
            "{words}"
        );
        let status = self.world.view(name).status;
        assert_eq!((status.failures, status.rung), (0, 0), "nobody is blamed");
        self.asked.outage += 1;
        let what = if row["kind"] == "skipped" {
            "skipped"
        } else {
            ""
        };
        self.assert_on_page(name, what, sentence).await;
    }

    /// A call that was made and failed says how, and the indexer knows that it did.
    fn assert_failed(&self, whom: usize, at: Moment, sentence: &str, is_called: bool) {
        let seen = self.world.moments(&self.indexers[whom].searches());
        let seen = seen
            .iter()
            .any(|begun| *begun >= at - TICK && *begun <= at + TICK);
        assert!(seen, "{} saw no call at {at:?}: {sentence}", NAMES[whom]);
        if !is_called {
            let now = self.world.timeline.now();
            let all = self.world.moments(&self.indexers[whom].searches());
            let cooling = self.truth[whom].cooling(&all, now);
            let cooling =
                cooling.unwrap_or_else(|| panic!("{} at {at:?}: {sentence}", NAMES[whom]));
            assert!(sentence.contains(cooling.cause), "{cooling:?}: {sentence}");
        }
    }

    /// Who was called after a wait says for what, and the indexer saw the call when it says.
    async fn why_so_late(&mut self, whom: usize, question: &str, all: &[Value]) {
        let name = NAMES[whom];
        for row in all.iter().filter(|row| row["kind"] == "started") {
            let sentence = row["sentence"].as_str().expect("a sentence");
            let Some((_, wait)) = sentence.split_once(" after ") else {
                continue;
            };
            if wait.contains("waiting for our own network") {
                assert!(self.is_cut_off, "{sentence}");
                continue;
            }
            let at: jiff::Timestamp = row["at"].as_str().expect("a time").parse().expect("a time");
            let at = Moment(u64::try_from(at.as_nanosecond()).expect("of this century"));
            let calls = self.world.moments(&self.indexers[whom].searches());
            let place = calls.iter().position(|call| *call + TICK >= at);
            let place = place.unwrap_or_else(|| panic!("no call at {at:?}: {sentence}"));
            if wait.contains("of spacing") && place > 0 {
                let gap = calls[place - 1].until(calls[place]);
                assert!(gap + TICK >= SECOND, "{question}, {gap:?}: {sentence}");
            }
            self.asked.waited += 1;
            // Most calls of a season are like the one before.
            if self.asked.waited % 8 == 1 {
                self.assert_on_page(name, "", sentence).await;
            }
        }
    }

    /// A call for its caps was made when it is said, and is told as one.
    async fn why_caps(&mut self, whom: usize, all: &[Value]) {
        let name = NAMES[whom];
        let mut calls = self.indexers[whom].asked();
        calls.retain(|asked| asked.value("t") == Some("caps"));
        let calls = self.world.moments(&calls);
        for row in all.iter().filter(|row| row["about"] == "caps") {
            let sentence = row["sentence"].as_str().expect("a sentence");
            let is_own = row["kind"] == "started" || row["kind"] == "skipped";
            assert!(!is_own || sentence.contains("(caps)"), "{sentence}");
            if row["kind"] == "started" {
                let at = moment(row);
                let seen = calls.iter().any(|call| is_near(*call, at));
                assert!(seen, "{name} saw no call at {at:?}: {sentence}");
                self.asked.caps += 1;
            }
            self.assert_on_page(name, "", sentence).await;
        }
    }

    /// Who asked one indexer alone and would not wait so long is told when its next call is possible, and how long they would
    /// have waited.
    pub(super) async fn why_impatient(
        &mut self,
        program: Program,
        whom: usize,
        began: Moment,
        reply: &Reply,
        (class, limit): (&str, &str),
    ) {
        let name = NAMES[whom];
        let all = about(&self.decided(program, began).await, name);
        let row = all.iter().find(|row| row["kind"] == "skipped");
        let row = row.unwrap_or_else(|| panic!("no answer why: {} {all:?}", reply.body));
        let sentence = row["sentence"].as_str().expect("a sentence");
        assert_eq!(row["class"].as_str(), Some(class), "{row}");
        // What is true: the window of the one is full, the other was called a moment ago.
        let calls = self.world.moments(&self.indexers[whom].asked());
        let searches = self.world.moments(&self.indexers[whom].searches());
        let next = match self.truth[whom].full(&calls, began) {
            Some(next) => next,
            None => *searches.last().expect("it was called") + 2 * SECOND,
        };
        assert!(is_near(moment(row), began), "{row}");
        let until: jiff::Timestamp = row["until"].as_str().expect("a time").parse().expect("one");
        let until = Moment(u64::try_from(until.as_nanosecond()).expect("of this century"));
        assert!(is_near(until, next), "{next:?}: {row}");
        let waits = format!("and {class} requests wait at most {limit}.");
        assert!(sentence.contains(&waits), "{waits}: {sentence}");
        let got = match (reply.status, &reply.retry_after) {
            (429, Some(after)) => {
                let after = Duration::from_secs(after.parse().expect("seconds"));
                let told = next.max(began);
                assert!(
                    is_near(began + after, told) || began + after >= told,
                    "{reply:?}"
                );
                assert!(began + after < told + SECOND + TICK, "{told:?} {reply:?}");
                let after = weir_engine::span(after);
                format!("{} was told to retry in {after}.", program.name())
            }
            _ => {
                let (_, _, until) = reply.skipped().remove(0);
                assert!(until.is_some(), "{}", reply.body);
                format!("{} got the cached answer, ", program.name())
            }
        };
        let got = got.to_lowercase();
        assert!(sentence.to_lowercase().contains(&got), "{got}: {sentence}");
        self.assert_on_page(name, "skipped", sentence).await;
    }

    /// Downloads the same file as often as an address may, and twice more.
    pub(super) async fn hoard(&mut self, program: Program, number: usize) {
        let link = self.links[number].replace("http://weir:7070", "");
        let name = link.rsplit('/').next().expect("a name");
        let title = name.trim_end_matches(".torrent").to_owned();
        let agent = [("user-agent", program.user_agent())];
        let grabbed = self.indexers[3].grabs().len();
        for count in 1..=DOWNLOADS + 2 {
            let reply = self.world.ask(&link, &agent).await;
            let Some(refused) = count.checked_sub(DOWNLOADS).filter(|over| *over > 0) else {
                assert_eq!(reply.status, 200, "{}", reply.body);
                continue;
            };
            assert_eq!(reply.status, 429, "{}", reply.body);
            let all = self
                .world
                .json("/api/v1/decisions?front=search&limit=60")
                .await;
            let mut rows = all["decisions"].as_array().expect("a list").iter();
            let row = rows.find(|row| row["upstream"].is_null());
            let row = row.unwrap_or_else(|| panic!("no answer why: {}", reply.body));
            let told = reply.retry_after.as_deref().expect("a time");
            assert_eq!(row["told_retry_seconds"].to_string(), told, "{row}");
            assert_eq!(
                (&row["kind"], &row["count"]),
                (&"refused".into(), &refused.into())
            );
            let told = weir_engine::span(Duration::from_secs(told.parse().expect("seconds")));
            let why = format!("127.0.0.1 asked for more than {DOWNLOADS} files in a minute.");
            let words = match refused {
                1 => format!("Download of {title} refused: {why} It was told to retry in {told}."),
                _ => format!(
                    "{refused} downloads refused, most recently of {title}: {why} It was last told to retry in {told}."
                ),
            };
            let sentence = row["sentence"].as_str().expect("a sentence");
            assert_eq!(sentence, words);
            let overview = text(&self.world.get("/").await.body);
            assert!(overview.contains(sentence), "{sentence} in {overview}");
            self.asked.refused += 1;
        }
        assert_eq!(self.indexers[3].grabs().len(), grabbed, "from the cache");
    }

    /// Of two who asked the same at once, one is told to have shared the call of the other.
    pub(super) async fn why_shared(&mut self, one: Program, other: Program, began: Moment) {
        for (whom, name) in NAMES.iter().enumerate().take(2) {
            let seen = self.world.moments(&self.indexers[whom].searches());
            let calls = seen.iter().filter(|at| **at >= began).count();
            let mut shared = Vec::new();
            for program in [one, other] {
                let all = about(&self.decided(program, began).await, name);
                let all = all.into_iter().filter(|row| row["kind"] == "shared");
                shared.extend(all);
            }
            // Who was asked a moment ago, cools down or has it in the cache was asked by neither.
            if calls == 0 {
                assert!(shared.is_empty(), "{shared:?}");
                continue;
            }
            assert_eq!((calls, shared.len()), (1, 1), "{shared:?}");
            let sentence = shared[0]["sentence"]
                .as_str()
                .expect("a sentence")
                .to_owned();
            for program in [one, other] {
                assert!(sentence.contains(program.name()), "{sentence}");
            }
            self.asked.shared += 1;
            self.assert_on_page(name, "shared", &sentence).await;
        }
    }

    /// Of those who asked at once, whoever found no room asks why.
    pub(super) async fn why_dropped(&mut self, program: Program, began: Moment, replies: &[Reply]) {
        let full = "too many requests for this upstream are already queued";
        let told = |reply: &&Reply| text(&reply.body.replace("description=\"", ">")).contains(full);
        let dropped: Vec<&Reply> = replies.iter().filter(told).collect();
        let all = about(&self.decided(program, began).await, "a");
        let rows = all.iter().filter(|row| row["kind"] == "dropped");
        let rows: Vec<&Value> = rows.collect();
        assert_eq!((rows.len(), dropped.len()), (3, 3), "{rows:?}");
        for (row, reply) in rows.into_iter().zip(dropped) {
            assert_eq!(reply.status, 429, "{}", reply.body);
            let after = reply.retry_after.as_deref().expect("a time");
            let after = weir_engine::span(Duration::from_secs(after.parse().expect("seconds")));
            let (who, about) = (program.name(), row["about"].as_str().expect("words"));
            let words = format!(
                "a: the request from {who} ({about}) was dropped: 32 requests for this upstream are already \
                 queued. \
                 {} was told to retry in {after}.",
                weir_engine::words::capital(who)
            );
            let sentence = row["sentence"].as_str().expect("a sentence");
            assert_eq!(sentence, words);
            self.asked.dropped += 1;
            // Those that were still queued at the deadline come before it.
            let number = row["number"].as_u64().expect("a number");
            let what = format!("skipped&before={}", number + 1);
            self.assert_on_page("a", &what, sentence).await;
        }
    }

    /// Downloads one more release of `d`, and asks why if it is turned away.
    pub(super) async fn download(&mut self, program: Program, number: usize) {
        if self.links.is_empty() {
            let target = "/torznab/d/api?t=search&limit=100";
            let reply = self.world.ask(target, &[("user-agent", "curl/8")]).await;
            self.links = reply.links();
        }
        let link = self.links[number].replace("http://weir:7070", "");
        let began = self.world.timeline.now();
        let grabbed = self.indexers[3].grabs().len();
        let agent = [("user-agent", program.user_agent())];
        let reply = self.world.ask(&link, &agent).await;
        if reply.status == 200 {
            assert_eq!(self.indexers[3].grabs().len(), grabbed + 1);
            return;
        }
        assert_eq!(reply.status, 429, "{}", reply.body);
        let all = about(&self.decided(program, began).await, "d");
        let row = all
            .first()
            .unwrap_or_else(|| panic!("no answer why: {}", reply.body));
        let sentence = row["sentence"].as_str().expect("a sentence");
        assert_eq!(
            (&row["kind"], &row["about"]),
            (&"skipped".into(), &"a file".into()),
            "{row}"
        );
        let seconds: u64 = reply
            .retry_after
            .as_deref()
            .expect("a time")
            .parse()
            .expect("seconds");
        let told = weir_engine::span(Duration::from_secs(seconds));
        let told = format!("{} was told to retry in {told}.", program.name());
        assert!(sentence.ends_with(&told), "{told}: {sentence}");
        let searches = self.world.moments(&self.indexers[3].searches());
        match self.truth[3].cooling(&searches, began) {
            Some(cooling) => assert!(sentence.contains(cooling.cause), "{cooling:?}: {sentence}"),
            None => assert_eq!(grabbed, GRABS, "{sentence}"),
        }
        self.asked.downloads += 1;
        self.assert_on_page("d", "skipped", sentence).await;
    }
}
