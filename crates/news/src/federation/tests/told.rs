//! Two servers that fail in turn: what readers are told, the records, the counters and the card agree.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use weir_engine::{Record, Standing};
use weir_web::Card as _;

use super::*;
use crate::card::NewsCard;
use crate::inbound::nntp::NntpFigures;
use crate::silence;

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    /// Somebody reads an article.
    Read(u64),
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
        4 => (whom(), behaviour).prop_map(|(whom, how)| Step::Behave(whom, how)),
        1 => whom().prop_map(Step::Off),
        1 => whom().prop_map(Step::On),
        1 => whom().prop_map(Step::Clear),
        3 => prop::sample::select(vec![1, 20, 70, 400]).prop_map(Step::Pass),
    ]
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
                let until = skipped.skip.wait.map(|wait| record.at + wait);
                let until = until.map(|until| silence::seconds(&self.engine, until));
                assert_eq!(told.retry_at, until, "{}", told.reason);
                let cause = record.cause.as_deref().unwrap_or_default();
                assert!(told.reason.contains(cause), "{cause}: {}", told.reason);
            }
            _ => {
                // Somebody who waits is told after a while, and the call goes on.
                let moved_on = matches!(why, NoAnswer::Fault(NewsFault::Silent));
                let failed = records.iter().any(|one| {
                    let is_start = matches!(one.what, What::Started { .. });
                    let end = one.end.is_some_and(|end| end.kind.is_failure());
                    let said = end && one.cause.as_deref() == Some(&*told.reason);
                    is_start && (said || moved_on && one.end.is_none())
                });
                assert!(failed, "{}: {records:?}", told.reason);
            }
        }
    }

    fn assert_agrees(&self) {
        let counters = self.engine.status().counters;
        let sum: u64 = counters.parts().iter().map(|(_, count)| count).sum();
        assert_eq!(sum, counters.asked, "{counters:?}");
        let rows = self.engine.upstreams(0, usize::MAX);
        let mut skipped = 0;
        for row in &rows {
            let records = self.engine.decisions(row.upstream, None, usize::MAX);
            let count = |is: &dyn Fn(&Record) -> bool| {
                records.iter().filter(|record| is(record)).count() as u64
            };
            let ended = count(&|record| record.end.is_some());
            let calls: u64 = row.requests.iter().sum();
            assert_eq!(calls, ended, "{}: {records:?}", row.name);
            skipped += count(&|record| matches!(record.what, What::Skipped(_)));
        }
        assert_eq!(skipped, counters.skipped, "{counters:?}");
        let open = rows.iter().filter(|row| row.standing == Standing::Open);
        let card = NewsCard(self.engine.clone(), NntpFigures::default());
        let sentence = card.view().sentence;
        let words = match open.count() {
            2 => "All 2 news servers are open.",
            1 => "1 of 2 news servers is open.",
            _ if sentence.starts_with("None of the 2") => "None of the 2 news servers",
            _ => "0 of 2 news servers are open.",
        };
        assert!(sentence.starts_with(words), "{words}: {sentence}");
    }

    async fn play(&self, step: &Step) {
        let upstream = |whom: usize| self.server(["one", "two"][whom]).upstream;
        match step {
            Step::Read(number) => {
                if let Sought::Unknown(silent) = self.article(*number).await {
                    for (server, why) in &silent {
                        self.assert_recorded(server, why);
                    }
                }
            }
            Step::Behave(whom, how) => {
                self.servers[*whom].set(how.clone());
                self.servers[*whom].cut();
            }
            Step::Off(whom) => self.engine.switch_off(upstream(*whom), "renewal", "me"),
            Step::On(whom) => self.engine.switch_on(upstream(*whom)),
            Step::Clear(whom) => self.engine.clear(upstream(*whom)),
            Step::Pass(seconds) => tokio::time::sleep(Duration::from_secs(*seconds)).await,
        }
    }
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
            let world = World::new(|_| {}).await;
            for step in &steps {
                world.play(step).await;
                world.assert_agrees();
            }
        });
    }
}
