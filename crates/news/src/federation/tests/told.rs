//! Two servers that fail in turn: what readers are told, the records, the counters, `/stats` and the card agree, over restarts
//! and with a full queue.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use weir_engine::{Got, Kind, Record, Standing};
use weir_web::{Card as _, Section, Upstreams};

use super::*;
use crate::card::NewsCard;
use crate::inbound::nntp::NntpFigures;
use crate::silence;

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    /// Somebody reads an article.
    Read(u64),
    /// So many read articles of their own while nothing is called: the queue is full, and they move on.
    Crowd(u64),
    /// Weir stops, and starts after so many seconds.
    Restart(u64),
    Behave(usize, Behaviour),
    /// An operator switches a server off or on, or ends its cooldown.
    Off(usize),
    On(usize),
    Clear(usize),
    /// So many seconds pass.
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let behaviour = prop::sample::select(vec![
        Behaviour::Good,
        Behaviour::Close,
        Behaviour::Hang,
        Behaviour::Line("400 Going down".to_owned()),
    ]);
    let article = prop::sample::select(vec![1, 30, 70, 90, 999]);
    let whom = || 0..2_usize;
    prop_oneof![
        8 => article.prop_map(Step::Read),
        1 => prop::sample::select(vec![3, 12]).prop_map(Step::Crowd),
        1 => prop::sample::select(vec![0, 40]).prop_map(Step::Restart),
        4 => (whom(), behaviour).prop_map(|(whom, how)| Step::Behave(whom, how)),
        1 => whom().prop_map(Step::Off),
        1 => whom().prop_map(Step::On),
        1 => whom().prop_map(Step::Clear),
        3 => prop::sample::select(vec![1, 20, 70, 400]).prop_map(Step::Pass),
    ]
}

/// The engine as pages and `/stats` see it.
struct Watched(Engine);

impl Upstreams for Watched {
    fn engine(&self) -> &Engine {
        &self.0
    }

    fn kind(&self) -> &'static str {
        "news server"
    }

    fn place(&self, _: UpstreamId) -> String {
        String::new()
    }

    fn probe(&self, _: UpstreamId) -> Option<Arc<dyn weir_engine::Call>> {
        None
    }

    fn classes(&self) -> &'static [&'static str] {
        &policy::CLASSES
    }
}

/// A history: all that was recorded, and what of it was recorded in this run.
#[derive(Default)]
struct Story {
    /// By the server's name and the record's number.
    records: BTreeMap<(String, u64), Record>,
    /// The newest record that a server brought along from before.
    from: BTreeMap<String, u64>,
}

/// What a record says that means the same in every run, and never changes.
fn fixed(record: &Record) -> (weir_engine::dispatch::Moment, &weir_engine::About, What) {
    let what = match record.what {
        What::Shared { after, .. } => What::Shared {
            with: Asker::NOBODY,
            after,
        },
        what => what,
    };
    (record.at, &record.about, what)
}

impl Story {
    /// Looks at all records: none has changed but for what was open, and whoever read was told what is recorded.
    fn look(&mut self, world: &World) {
        for row in world.engine.upstreams(0, usize::MAX) {
            for record in world.engine.decisions(row.upstream, None, usize::MAX) {
                let place = (row.name.to_string(), record.number);
                if let Some(before) = self.records.get(&place) {
                    assert_eq!(fixed(&record), fixed(before), "{place:?}");
                    if before.end.is_some() {
                        let end = |one: &Record| (one.end, one.cause.clone());
                        assert_eq!(end(&record), end(before), "{place:?}");
                    }
                    if before.got.is_some() {
                        assert_eq!(record.got, before.got, "{place:?}");
                    }
                }
                self.records.insert(place, record);
            }
        }
    }

    fn count(&self, name: Option<&str>, is: impl Fn(&Record) -> bool) -> u64 {
        let of_run = self.records.iter().filter(|((of, number), _)| {
            *number > self.from.get(of).copied().unwrap_or(0) && name.is_none_or(|name| name == of)
        });
        of_run.filter(|(_, record)| is(record)).count() as u64
    }

    /// Weir has been started anew: what was recorded is still there.
    fn restarted(&mut self, world: &World) {
        for row in world.engine.upstreams(0, usize::MAX) {
            let newest = world.engine.decisions(row.upstream, None, 1);
            let newest = newest.first().map_or(0, |record| record.number);
            let name = row.name.to_string();
            // Of a server that was never called no row is kept, and its records end with the run.
            let own = |(of, _): &(&(String, u64), &Record)| of.0 == name;
            let mut records = self.records.iter().filter(own);
            let was_called = records.any(|(_, one)| matches!(one.what, What::Started { .. }));
            let is_lost = |(of, number): &(String, u64)| *of == name && *number > newest;
            let lost: Vec<_> = self.records.keys().filter(|place| is_lost(place)).collect();
            assert!(lost.is_empty() || !was_called, "{lost:?}");
            self.records.retain(|place, _| !is_lost(place));
            self.from.insert(row.name.to_string(), newest);
        }
    }
}

impl World {
    fn records(&self, server: &Server) -> Vec<Record> {
        self.engine.decisions(server.upstream, None, usize::MAX)
    }

    /// What somebody is told of a server that gave nothing is what is recorded of it.
    fn assert_recorded(&self, server: &Server, why: &NoAnswer) {
        let told = silence::silent(&self.engine, server, why);
        let records = self.records(server);
        match why {
            NoAnswer::Ended(Ended::Skipped(skipped)) => {
                let mut all = records.iter();
                let record = all.find(|one| Some(one.number) == skipped.number);
                let record = record.expect("a skip has a record");
                assert_eq!(record.what, What::Skipped(skipped.skip));
                assert_eq!((record.at, &record.cause), (skipped.at, &skipped.cause));
                let wait = skipped.skip.wait.filter(|wait| !wait.is_zero());
                let until = wait.map(|wait| record.at + wait);
                let until = until.map(|until| silence::seconds(&self.engine, until));
                assert_eq!(told.retry_at, until, "{}", told.reason);
                let cause = record.cause.as_deref().unwrap_or_default();
                assert!(told.reason.contains(cause), "{cause}: {}", told.reason);
                assert_eq!(
                    told.reason.contains("still queued"),
                    skipped.skip.wait == Some(Duration::ZERO),
                    "{}",
                    told.reason
                );
            }
            NoAnswer::Ended(Ended::Dropped(reason)) => {
                let is = |one: &Record| matches!(one.what, What::Dropped { reason: of, .. } if of == *reason);
                assert!(records.iter().any(is), "{}: {records:?}", told.reason);
                assert!(told.reason.contains("queue"), "{}", told.reason);
            }
            // Somebody who waits moves on after a while, and the call that was made goes on.
            NoAnswer::Late => {
                let is = |one: &Record| match one.what {
                    What::Started { .. } => one.got.is_some(),
                    What::Missed(skip) => skip.wait.is_none(),
                    _ => false,
                };
                assert!(records.iter().any(is), "{}: {records:?}", told.reason);
                assert_eq!(told.reason, "it did not answer within 4 s");
            }
            _ => {
                let failed = records.iter().any(|one| {
                    let is_start = matches!(one.what, What::Started { .. });
                    let end = one.end.is_some_and(|end| end.kind.is_failure());
                    is_start && end && one.cause.as_deref() == Some(&*told.reason)
                });
                assert!(failed, "{}: {records:?}", told.reason);
            }
        }
    }

    fn assert_agrees(&self, story: &Story) {
        let counters = self.engine.status().counters;
        let sum: u64 = counters.parts().iter().map(|(_, count)| count).sum();
        assert_eq!(sum, counters.asked, "{counters:?}");
        let stats = Section::of_engine(&Watched(self.engine.clone()), 2).json;
        for (name, count) in counters.parts() {
            assert_eq!(stats["counters"][name], count, "{name}");
        }
        let rows = self.engine.upstreams(0, usize::MAX);
        for row in &rows {
            let calls: u64 = row.requests.iter().sum();
            let ended = story.count(Some(&row.name), |record| record.end.is_some());
            assert_eq!(calls, ended, "{}", row.name);
        }
        let count = |is: fn(&What) -> bool| story.count(None, |record| is(&record.what));
        for (told, recorded) in [
            (
                counters.skipped,
                count(|what| matches!(what, What::Skipped(_) | What::Missed(_))),
            ),
            (
                counters.dropped,
                count(|what| matches!(what, What::Dropped { .. })),
            ),
            (
                counters.sent,
                count(|what| matches!(what, What::Started { .. })),
            ),
            (
                counters.shared,
                count(|what| matches!(what, What::Shared { .. })),
            ),
        ] {
            assert_eq!(told, recorded, "{counters:?}");
        }
        self.assert_given(story);
        let open = rows.iter().filter(|row| row.standing == Standing::Open);
        let card = NewsCard(self.engine.clone(), NntpFigures::default());
        let sentence = card.view().sentence;
        let words = match open.count() {
            2 => "All 2 news servers are open",
            1 => "1 of 2 news servers is open",
            _ if sentence.starts_with("None of the 2") => "None of the 2 news servers",
            _ => "0 of 2 news servers are open.",
        };
        assert!(sentence.starts_with(words), "{words}: {sentence}");
    }

    /// Every record of somebody whom a server gave nothing says what they got.
    fn assert_given(&self, story: &Story) {
        for (place, record) in &story.records {
            let failed = record.end.is_some_and(|end| end.kind.is_failure());
            let missing = match record.what {
                What::Skipped(_) | What::Missed(_) | What::Dropped { .. } => true,
                What::Started { .. } => failed,
                _ => false,
            };
            if missing && record.asker != Asker::WEIR {
                let got = matches!(record.got, Some(Got::Nothing | Got::Elsewhere));
                assert!(got, "{place:?}: {record:?}");
            }
            if record.end.is_some_and(|end| end.kind == Kind::Done) {
                assert!(record.got.is_none_or(|got| got != Got::Fresh), "{record:?}");
            }
        }
    }

    /// Somebody reads an article, and is told of all who did not have it.
    async fn read(&self, number: u64) {
        let reader = self.engine.asker("tin");
        let question = AskArticle(id(number));
        if let Sought::Unknown(silent) = self
            .federation
            .seek(&question, (HIGH, reader), || Got::Nothing)
            .await
        {
            for (server, why) in &silent {
                self.assert_recorded(server, why);
            }
        }
    }

    async fn play(&mut self, step: &Step, story: &mut Story) {
        let upstream = |whom: usize| self.server(["one", "two"][whom]).upstream;
        match step {
            Step::Read(number) => self.read(*number).await,
            Step::Crowd(count) => {
                self.engine.hold();
                let crowd = join_all((1..=*count).map(|number| self.read(number)));
                let goes_on = async {
                    tokio::time::sleep(6 * SECOND).await;
                    self.engine.release();
                };
                tokio::join!(crowd, goes_on);
            }
            Step::Restart(seconds) => {
                self.restart(Duration::from_secs(*seconds)).await;
                story.restarted(self);
            }
            Step::Behave(whom, how) => {
                self.servers[*whom].set(how.clone());
                self.servers[*whom].cut();
            }
            Step::Off(whom) => self.engine.switch_off(upstream(*whom), "renewal", "me"),
            Step::On(whom) => self.engine.switch_on(upstream(*whom), "me"),
            Step::Clear(whom) => self.engine.clear(upstream(*whom), "me"),
            Step::Pass(seconds) => tokio::time::sleep(Duration::from_secs(*seconds)).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_moves_on_is_told_whether_the_server_was_asked_at_all() {
    let world = World::new(|_| {}).await;
    let reader = world.engine.asker("tin");
    let read = async |number| {
        let question = AskArticle(id(number));
        world
            .federation
            .seek(&question, (HIGH, reader), || Got::Nothing)
            .await
    };
    let newest = |name| {
        let upstream = world.server(name).upstream;
        world.engine.decisions(upstream, None, 1).remove(0)
    };
    // The first holds its call back, the second has the article.
    world.servers[0].set_for("ARTICLE", Behaviour::Hang);
    assert_eq!(found(&read(1).await), "two");
    assert_eq!(newest("one").got, Some(Got::Elsewhere));
    // Neither has it or says so: the first is called and hangs, the second says no.
    let Sought::Unknown(silent) = read(70).await else {
        panic!("the first might have it");
    };
    let told = |(server, why): &(Arc<Server>, NoAnswer)| {
        silence::silent(&world.engine, server, why).reason
    };
    assert_eq!(told(&silent[0]), "it did not answer within 4 s");
    assert_eq!(newest("one").got, Some(Got::Nothing));
    // Nothing is called at all.
    world.engine.hold();
    let goes_on = async {
        tokio::time::sleep(5 * SECOND).await;
        world.engine.release();
    };
    let (sought, ()) = tokio::join!(read(71), goes_on);
    let Sought::Unknown(silent) = sought else {
        panic!("the first might have it");
    };
    let words = "it was not asked: the request was still queued after 4 s";
    assert_eq!(told(&silent[0]), words);
    let skipped = newest("one");
    assert!(matches!(skipped.what, What::Skipped(_)), "{skipped:?}");
    assert_eq!(skipped.got, Some(Got::Nothing));
    assert_eq!(
        world.heard(0, &["ARTICLE"]).len(),
        2,
        "it was never asked for the last"
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(13),
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_told_of_servers_agrees(steps in prop::collection::vec(step(), 5..30)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let few = |config: &mut Config| {
                config.queue_size = NonZeroU32::new(8).expect("not zero");
            };
            let mut world = World::kept(few).await;
            let mut story = Story::default();
            for step in &steps {
                world.play(step, &mut story).await;
                story.look(&world);
                world.assert_agrees(&story);
            }
        });
    }
}
