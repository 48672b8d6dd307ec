//! Whatever happens, and in whatever order: everything that is told about it agrees.
//!
//! A history is a list of steps: readers ask, servers fail in turn, an operator acts, the configuration changes, Weir
//! restarts, time passes. After each step the engine's own records are looked at (`book`, `promises`), and where a step
//! says so all pages, the API, `/stats` and `/metrics` are compared (`views`).
//!
//! The same few histories are played each time; with `PROPTEST_CASES` so many others.

mod book;
mod promises;
mod story;
mod views;
mod week;
mod world;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use self::story::Story;

/// The servers, the first one first.
const NAMES: [&str; 3] = ["one", "two", "three"];

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    /// These are asked for at the same moment.
    Ask(Vec<(Program, Wanted)>),
    /// Somebody opens this page.
    Page(&'static str),
    /// A newsreader sends this.
    Command(&'static str),
    /// So many articles are asked for while nothing is called: the queue is full, and readers move on.
    Crowd(u64),
    Behave(usize, Mood),
    /// An operator does this to a server.
    Operate(usize, &'static str),
    /// The last server goes or comes back.
    Reload,
    /// Weir stops, and starts again after so many seconds.
    Restart(u64),
    /// So many seconds pass.
    Pass(u64),
    /// Everything that is told is compared.
    Look,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Tin,
    Slrn,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Self::Tin => "tin",
            Self::Slrn => "slrn",
        }
    }
}

/// What a reader wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Article(u64),
    Newsgroups,
    Threads(usize),
    Thread(u64),
    Lines(u64),
    Dates,
    Post,
    /// More articles than anybody may post in an hour.
    Posts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Good,
    Closes,
    Hangs,
    Busy,
    Rejects,
    /// Articles alone hang.
    SlowArticles,
    /// It lets nobody post.
    ReadOnly,
}

fn step() -> impl Strategy<Value = Step> {
    let wanted = || {
        let article = || prop::sample::select(vec![1_u64, 30, 70, 90, 999]);
        prop_oneof![
            4 => article().prop_map(Wanted::Article),
            2 => Just(Wanted::Newsgroups),
            2 => (0..2_usize).prop_map(Wanted::Threads),
            1 => article().prop_map(Wanted::Thread),
            1 => (1..60_u64).prop_map(Wanted::Lines),
            1 => Just(Wanted::Dates),
            1 => Just(Wanted::Post),
            1 => Just(Wanted::Posts),
        ]
    };
    let program = || prop::sample::select(vec![Program::Tin, Program::Slrn]);
    let asks = prop::collection::vec((program(), wanted()), 1..4);
    let mood = prop::sample::select(vec![
        Mood::Good,
        Mood::Good,
        Mood::Closes,
        Mood::Hangs,
        Mood::Busy,
        Mood::Rejects,
        Mood::SlowArticles,
        Mood::ReadOnly,
    ]);
    let page = prop::sample::select(vec![
        "/news",
        "/news/misc.test",
        "/news/article/70@zoo.example",
    ]);
    let command = prop::sample::select(vec![
        "LIST ACTIVE",
        "GROUP misc.test",
        "ARTICLE <90@zoo.example>",
        "STAT <30@zoo.example>",
    ]);
    let action = prop::sample::select(vec!["probe", "clear", "disable", "enable"]);
    let whom = 0..NAMES.len();
    prop_oneof![
        8 => asks.prop_map(Step::Ask),
        1 => page.prop_map(Step::Page),
        1 => command.prop_map(Step::Command),
        1 => prop::sample::select(vec![3_u64, 12]).prop_map(Step::Crowd),
        5 => (whom.clone(), mood).prop_map(|(whom, mood)| Step::Behave(whom, mood)),
        2 => (whom, action).prop_map(|(whom, action)| Step::Operate(whom, action)),
        1 => Just(Step::Reload),
        1 => prop::sample::select(vec![0_u64, 40, 5000]).prop_map(Step::Restart),
        5 => prop::sample::select(vec![1_u64, 20, 70, 400, 4000]).prop_map(Step::Pass),
        3 => Just(Step::Look),
    ]
}

/// Lets a story happen in virtual time, with so many more articles.
fn live(more: u64, story: impl AsyncFnOnce(Story)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async { story(Story::begin(more).await).await });
}

fn cases(usual: u32) -> ProptestConfig {
    let given = std::env::var("PROPTEST_CASES").ok();
    let given = given.and_then(|cases| cases.parse().ok());
    ProptestConfig {
        rng_seed: given.map_or(RngSeed::Fixed(13), |_: u32| RngSeed::Random),
        failure_persistence: None,
        ..ProptestConfig::with_cases(given.unwrap_or(usual))
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn everything_that_is_told_agrees(steps in prop::collection::vec(step(), 5..30)) {
        live(0, async |mut story: Story| {
            for step in &steps {
                story.go_on(step).await;
            }
            story.end().await;
        });
    }
}
