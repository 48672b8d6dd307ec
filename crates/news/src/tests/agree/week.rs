//! A week of two readers, in virtual time: servers fail and recover, the queue fills, somebody posts too much, Weir is
//! restarted and its configuration changed, an operator switches servers off and ends cooldowns. Whoever was skipped, put
//! off, turned away, given another server's answer or that of somebody else's call asks *why*, through the API and on
//! the server's page, and gets an answer that is true.
//!
//! What is true is known here without asking Weir: what each server saw and when, and how it was told to behave
//! (`truth`).

mod truth;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use weir_engine::dispatch::Moment;
use weir_testkit::html::text;
use weir_testkit::zoo::news::Behaviour;

use self::truth::Truth;
use super::story::{Story, printed, turn};
use super::*;
use crate::posting::NotPosted;
use crate::reading::SilentServer;
use crate::tests::world::{MINUTE, SECOND};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

/// Articles of each kind.
const MANY: u64 = 300;

/// Who has an article.
#[derive(Clone, Copy, Debug)]
enum Whose {
    Everybody,
    First,
    Second,
    Nobody,
}

/// What happens at a time.
#[derive(Clone, Debug)]
enum Event {
    Read(Program, Whose),
    /// Both want the same at once.
    Both,
    /// More articles are asked for at once than there is room for.
    Crowd,
    /// Somebody posts until they are turned away.
    Posts(Program),
    Behave(usize, Mood),
    Operate(usize, &'static str),
    Reload,
    Restart(u64),
    /// Everything that is told is compared.
    Look,
}

struct Week {
    story: Story,
    truth: Vec<Truth>,
    /// Articles of each kind that were read so far: no answer of before is used again.
    read: u64,
    asked: BTreeMap<&'static str, usize>,
}

fn events() -> Vec<(Duration, Event)> {
    let at = |day: u32, hour: u32, minute: u32| DAY * day + HOUR * hour + MINUTE * minute;
    let mut events = Vec::new();
    for day in 0..7 {
        for hour in (0..24).step_by(3) {
            events.push((
                at(day, hour, 1),
                Event::Read(Program::Tin, Whose::Everybody),
            ));
        }
        events.push((at(day, 9, 30), Event::Read(Program::Slrn, Whose::Second)));
        events.push((at(day, 9, 40), Event::Read(Program::Tin, Whose::Nobody)));
        events.push((at(day, 5, 10), Event::Both));
        events.push((at(day, 7, 20), Event::Crowd));
        events.push((at(day, 23, 50), Event::Look));
    }
    for (whom, day, hour, mood) in [
        (0, 0, 12, Mood::Busy),
        (0, 1, 15, Mood::Hangs),
        (1, 2, 12, Mood::Closes),
        (0, 3, 18, Mood::Closes),
        (1, 4, 12, Mood::Busy),
        (0, 5, 12, Mood::Busy),
        (1, 6, 15, Mood::Hangs),
    ] {
        events.push((at(day, hour, 30), Event::Behave(whom, mood)));
        for minute in [33, 36, 41, 58] {
            let whose = if whom == 0 {
                Whose::First
            } else {
                Whose::Second
            };
            for (add, who, whose) in [
                (0, Program::Tin, Whose::Everybody),
                (1, Program::Slrn, whose),
            ] {
                events.push((at(day, hour, minute + add), Event::Read(who, whose)));
            }
        }
        events.push((at(day, hour + 2, 0), Event::Behave(whom, Mood::Good)));
    }
    for (day, hour, minute) in [(0, 12, 35), (3, 18, 40), (5, 12, 38)] {
        events.push((at(day, hour, minute), Event::Restart(20)));
    }
    events.push((at(4, 12, 40), Event::Operate(1, "clear")));
    for day in [2, 6] {
        events.push((at(day, 19, 0), Event::Operate(0, "disable")));
        for minute in [5, 10] {
            events.push((
                at(day, 19, minute),
                Event::Read(Program::Tin, Whose::Everybody),
            ));
            events.push((
                at(day, 19, minute + 1),
                Event::Read(Program::Slrn, Whose::First),
            ));
        }
        events.push((at(day, 20, 0), Event::Operate(0, "enable")));
    }
    for day in [1, 3, 5] {
        events.push((at(day, 21, 40), Event::Posts(Program::Tin)));
        events.push((at(day, 22, 10), Event::Reload));
    }
    events.sort_by_key(|(time, _)| *time);
    events
}

impl Week {
    async fn play(&mut self, event: Event) {
        match event {
            Event::Read(program, whose) => self.read(program, whose).await,
            Event::Both => self.both().await,
            Event::Crowd => self.crowd().await,
            Event::Posts(program) => self.posts(program).await,
            Event::Behave(whom, mood) => {
                self.story.behave(whom, mood);
                let now = self.now();
                self.truth[whom].behave(now, mood);
            }
            Event::Operate(whom, action) => {
                self.story.operate(NAMES[whom], action).await;
                let now = self.now();
                let truth = &mut self.truth[whom];
                match action {
                    "disable" => truth.off = true,
                    "enable" => truth.off = false,
                    _ => truth.clear(now),
                }
            }
            Event::Reload => self.story.reload(),
            Event::Restart(seconds) => self.story.go_on(&Step::Restart(seconds)).await,
            Event::Look => self.story.go_on(&Step::Look).await,
        }
    }

    fn now(&self) -> Moment {
        self.story.world().timeline.now()
    }

    /// The number of an article that nobody has read.
    fn next(&mut self, whose: Whose) -> u64 {
        self.read += 1;
        assert!(self.read < MANY, "there are no more");
        self.read
            + match whose {
                Whose::Everybody => 1000,
                Whose::First => 2000,
                Whose::Second => 3000,
                Whose::Nobody => 9000,
            }
    }

    /// Reads an article, and asks about everybody who did not have it.
    async fn read(&mut self, program: Program, whose: Whose) {
        let number = self.next(whose);
        let began = self.now();
        // How it stood when each was to be asked, as the servers know it.
        let seen = |week: &Self, whom: usize| week.truth[whom].seen(&week.story, whom);
        let before: Vec<_> = (0..NAMES.len())
            .map(|whom| self.truth[whom].condition(&seen(self, whom), began))
            .collect();
        let told = self.story.ask(&[(program, Wanted::Article(number))]).await;
        // A call that hangs ends after its reader has gone on.
        tokio::time::sleep(40 * SECOND).await;
        turn().await;
        let has = |whom: usize| match whose {
            Whose::Everybody => true,
            Whose::First => whom == 0,
            Whose::Second => whom == 1,
            Whose::Nobody => false,
        };
        let configured = self.story.world().engine.upstreams(0, usize::MAX).len();
        // Those that can be called come first.
        let mut order: Vec<usize> = (0..configured).collect();
        order.sort_by_key(|whom| before[*whom].is_away());
        let found = order
            .iter()
            .position(|whom| has(*whom) && before[*whom] == truth::Condition::Good);
        let asked = &order[..found.unwrap_or(order.len())];
        for &whom in asked {
            let got = match found {
                Some(_) => "elsewhere",
                None => "nothing",
            };
            self.why(whom, program, (began, number), &before[whom], got, &told[0])
                .await;
        }
    }

    /// Asks why a server did not give an article to somebody who wanted it.
    async fn why(
        &mut self,
        whom: usize,
        program: Program,
        (began, number): (Moment, u64),
        condition: &truth::Condition,
        got: &str,
        told: &[SilentServer],
    ) {
        let name = NAMES[whom];
        let rows = self.decided(name, began).await;
        let about = printed(number);
        let row = rows.iter().find(|row| row["about"] == *about);
        let row = row.unwrap_or_else(|| panic!("{name}, {about}: {condition:?} {rows:?}"));
        let sentence = row["sentence"].as_str().expect("a sentence").to_owned();
        let has = |words: &str| {
            assert!(
                sentence.contains(words),
                "{words}: {sentence}, {condition:?}"
            )
        };
        assert!(sentence.starts_with(name), "{sentence}");
        has(&format!("for {}", program.name()));
        assert_eq!(row["got"]["what"], got, "{sentence}");
        let (kind, what) = match condition {
            truth::Condition::Off => {
                has("switched off by an operator (\u{201c}renewal\u{201d})");
                ("skipped", "off")
            }
            truth::Condition::Cooling { until, cause } => {
                has(cause);
                let at: jiff::Timestamp = row["until"]
                    .as_str()
                    .expect("a time")
                    .parse()
                    .expect("a time");
                let at = Moment(u64::try_from(at.as_nanosecond()).expect("of this century"));
                let apart = at.until(*until).max(until.until(at));
                assert!(apart <= SECOND / 100, "{until:?}: {sentence}");
                if let Some(told) = told.iter().find(|told| *told.name == *name) {
                    let seconds = i64::try_from(until.0 / 1_000_000_000).expect("a time");
                    assert_eq!(told.retry_at, Some(seconds), "{told:?}");
                    assert!(told.reason.contains(cause), "{told:?}");
                }
                ("skipped", "cooling")
            }
            truth::Condition::Fails { cause } => {
                has(cause);
                ("started", "failed")
            }
            truth::Condition::Good => {
                has("it has no such article");
                ("started", "absent")
            }
        };
        assert_eq!(row["kind"], kind, "{sentence}");
        self.asked_about(what);
        if self.asked[what] % 4 == 1 {
            self.is_on_page(name, &sentence).await;
        }
    }

    /// Two readers of the same article.
    async fn both(&mut self) {
        let (began, number) = (self.now(), self.next(Whose::Everybody));
        self.story.servers[0].set_for("ARTICLE", Behaviour::Far(2 * SECOND));
        let wanted = Wanted::Article(number);
        let (world, server) = (self.story.world(), 0);
        // The second comes while the first is waited for, and by another way: the model would let both wait for one errand.
        let question = crate::call::AskArticle(crate::tests::world::id(number));
        let slrn = (crate::policy::HIGH, world.engine.asker("slrn"));
        let tin = world.read(Program::Tin, wanted);
        let joins = async {
            tokio::time::sleep(SECOND).await;
            world
                .model
                .federation
                .seek(&question, slrn, || weir_engine::Got::Nothing)
                .await
        };
        tokio::join!(tin, joins);
        self.story.servers[server].set_for("ARTICLE", Behaviour::Good);
        let rows = self.decided(NAMES[server], began).await;
        let shared: Vec<&Value> = rows.iter().filter(|row| row["kind"] == "shared").collect();
        assert_eq!(shared.len(), 1, "{rows:?}");
        let sentence = shared[0]["sentence"]
            .as_str()
            .expect("a sentence")
            .to_owned();
        for program in ["tin", "slrn"] {
            assert!(sentence.contains(program), "{sentence}");
        }
        self.asked_about("shared");
        self.is_on_page(NAMES[server], &sentence).await;
    }

    /// Of those who ask at once, whoever found no room asks why, and whoever waited in vain.
    async fn crowd(&mut self) {
        let began = self.now();
        let all: Vec<(Program, Wanted)> = (0..12)
            .map(|_| (Program::Slrn, Wanted::Article(self.next(Whose::Everybody))))
            .collect();
        let engine = self.story.world().engine.clone();
        engine.hold();
        let goes_on = async {
            tokio::time::sleep(60 * SECOND).await;
            engine.release();
        };
        let (_, ()) = tokio::join!(self.story.ask(&all), goes_on);
        turn().await;
        let mut counts = BTreeMap::new();
        for name in NAMES {
            for row in self.decided(name, began).await {
                let sentence = row["sentence"].as_str().expect("a sentence");
                let kind = match row["kind"].as_str() {
                    Some("dropped") => {
                        let words = "was dropped: ";
                        assert!(
                            sentence.contains(words) && sentence.contains("queue"),
                            "{sentence}"
                        );
                        "dropped"
                    }
                    Some("skipped") => {
                        let words = "the request was still queued after 4 s";
                        assert!(sentence.contains(words), "{sentence}");
                        "queued"
                    }
                    // The last one is waited for, and is called in the end.
                    _ => continue,
                };
                assert!(sentence.contains("slrn"), "{sentence}");
                *counts.entry(kind).or_insert(0) += 1;
                self.asked_about(kind);
            }
        }
        // All but eight of twelve find no room at the first, and go on to the next ones, whose rooms they fill in turn.
        assert!(
            counts["dropped"] >= 1 && counts["queued"] >= 1,
            "{counts:?}"
        );
    }

    /// Posts until there were too many, and asks why.
    async fn posts(&mut self, program: Program) {
        let began = self.now();
        let mut refused = None;
        for _ in 0..8 {
            if let Err(NotPosted::TooMany { retry_after, .. }) =
                self.story.world().post(program).await
            {
                refused.get_or_insert(retry_after);
            }
        }
        let retry = refused.expect("there were too many");
        assert!(retry <= 3600, "{retry}");
        let rows = self.decided("", began).await;
        let mut posts = rows.iter().filter(|row| row["kind"] == "refused");
        let row = posts.next().unwrap_or_else(|| panic!("{rows:?}"));
        let sentence = row["sentence"].as_str().expect("a sentence");
        let words = "3 posts refused: tin had posted 5 in the last hour. The client was last told to retry in ";
        assert!(sentence.starts_with(words), "{sentence}");
        let overview = text(&self.story.world().get("/").await);
        assert!(overview.contains(sentence), "{sentence} in {overview}");
        self.asked_about("refused");
    }

    fn asked_about(&mut self, what: &'static str) {
        *self.asked.entry(what).or_default() += 1;
    }

    /// What the API says was decided about a server, or by the front itself, since then.
    async fn decided(&self, name: &str, began: Moment) -> Vec<Value> {
        let rows = self.story.world().engine.upstreams(0, usize::MAX);
        if !name.is_empty() && !rows.iter().any(|row| *row.name == *name) {
            return Vec::new();
        }
        let target = match name {
            "" => "/api/v1/decisions?front=news&limit=100".to_owned(),
            name => format!("/api/v1/decisions?front=news&upstream={name}&limit=100"),
        };
        let all = self.story.world().json(&target).await;
        let rows = all["decisions"].as_array().expect("a list").iter();
        let since = rows.filter(|row| {
            let at: jiff::Timestamp = row["at"].as_str().expect("a time").parse().expect("a time");
            // Written in milliseconds.
            at.as_millisecond() >= i64::try_from(began.0 / 1_000_000).expect("of this century")
                && (!name.is_empty() || row["upstream"].is_null())
        });
        since.cloned().collect()
    }

    async fn is_on_page(&self, name: &str, sentence: &str) {
        let page = text(
            &self
                .story
                .world()
                .get(&format!("/upstreams/news/{name}?each=1"))
                .await,
        );
        let words = weir_web::without_name(name, sentence);
        assert!(page.contains(&words), "{words} in {page}");
    }
}

#[test]
fn in_a_week_every_question_why_has_a_true_answer() {
    live(MANY, async |story: Story| {
        let began = story.world().timeline.now();
        let truth = NAMES.map(|_| Truth::new(began)).into();
        let mut week = Week {
            story,
            truth,
            read: 0,
            asked: BTreeMap::new(),
        };
        for (time, event) in events() {
            let wait = week.now().until(began + time);
            tokio::time::sleep(wait).await;
            turn().await;
            week.play(event).await;
            week.story.look();
        }
        for kind in [
            "off", "cooling", "failed", "absent", "shared", "dropped", "queued", "refused",
        ] {
            let count = week.asked.get(kind).copied().unwrap_or_default();
            assert!(
                count >= 3,
                "nobody had to ask about {kind}: {:?}",
                week.asked
            );
        }
        week.story.end().await;
    });
}
