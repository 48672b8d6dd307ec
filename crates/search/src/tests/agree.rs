//! Whatever happens, and in whatever order: everything that is told about it agrees.
//!
//! A history is a list of steps: programs ask, indexers fail in turn, an operator acts, the configuration changes, Weir
//! restarts, time passes. After each step the engine's own records are looked at (`book`, `promises`), and where a step
//! says so all pages, the API, `/stats`, `/metrics` and the history are compared (`views`, `counts`, `parts`, `searches`).
//! Whoever is told to come back later does so, and then there is a slot.
//!
//! The same few histories are played each time; with `PROPTEST_CASES` so many others.

mod book;
mod counts;
mod grabs;
mod killed;
mod parts;
mod promises;
mod searches;
mod story;
mod views;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

pub(super) use self::book::Book;
pub(super) use self::views::{exact, text};

use super::*;

/// Fails unless everything that is told at this moment agrees.
pub(super) async fn agree_now(world: &World, book: &Book) {
    let views = views::Views::of(world).await;
    views.agree(book);
    counts::agree(world, &views, book);
}

/// Something that happens.
#[derive(Clone, Debug)]
enum Step {
    /// These are asked at the same moment; the next step waits for their answers, or does not.
    Ask(Vec<Ask>, bool),
    /// A program asks alone. If it is told to come back later, it does so exactly then, and nothing happens before.
    ComeBack(Ask),
    /// Somebody searches on the page, for these words, one indexer or all.
    Browse(&'static str, Option<usize>),
    /// A program downloads one of the releases that it was offered. If it is told to come back later, it does, or does not.
    Download(Program, usize, bool),
    /// An indexer behaves like this from now on.
    Behave(usize, Mood),
    /// Our own network goes away, or is back.
    Network(bool),
    /// An operator does this to an indexer.
    Operate(usize, Act),
    Reload(Change),
    /// Weir stops, and starts again after so many seconds.
    Restart(u64),
    /// It is killed, and starts again after so many seconds. What was not handed to the writer of its files is lost.
    Kill(u64),
    /// So many seconds pass.
    Pass(u64),
    /// Everything that is told is compared.
    Look,
}

/// One request of a program.
#[derive(Clone, Debug)]
struct Ask {
    program: Program,
    words: &'static str,
    /// One indexer, or all.
    whom: Option<usize>,
    hurried: bool,
    no_cache: bool,
    max_wait: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Sonarr,
    Radarr,
    CrossSeed,
}

#[derive(Clone, Copy, Debug)]
enum Mood {
    Good,
    Slow(u64),
    Throttles(Option<u64>),
    Busy(Option<u64>),
    Fails,
    Hangs,
    Refuses,
    WrongKey,
    Garbage,
    /// Its caps fail as well.
    Down,
    /// Searches work, and files do not.
    NoFiles,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Probe,
    Clear,
    Off,
    On,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    /// The indexer `c` goes, or comes back.
    Toggle,
    /// `b` has these limits.
    Limits(u32),
    /// `a` has another key.
    Key,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Self::Sonarr => "Sonarr",
            Self::Radarr => "Radarr",
            Self::CrossSeed => "cross-seed",
        }
    }

    fn user_agent(self) -> &'static str {
        match self {
            Self::Sonarr => "Sonarr/4.0.1 (linux)",
            Self::Radarr => "Radarr/5.11 (linux)",
            Self::CrossSeed => "CrossSeed/6.8",
        }
    }
}

impl Ask {
    fn target(&self) -> String {
        let path = match self.whom {
            Some(whom) => format!("/torznab/{}/api", NAMES[whom]),
            None => "/torznab/api".to_owned(),
        };
        let cache = if self.no_cache { "&nocache=1" } else { "" };
        match self.words {
            "" => format!("{path}?t=search{cache}"),
            words => format!("{path}?t=search&q={words}{cache}"),
        }
    }

    fn class(&self) -> Class {
        match (self.hurried, self.words, self.program) {
            (true, ..) => INTERACTIVE,
            (_, "", _) => RSS,
            (.., Program::CrossSeed) => BACKGROUND,
            _ => COMPLETION,
        }
    }
}

fn ask() -> impl Strategy<Value = Ask> {
    let program = prop_oneof![
        Just(Program::Sonarr),
        Just(Program::Radarr),
        Just(Program::CrossSeed)
    ];
    let words = prop::sample::select(vec!["some", "show", "", "nothing"]);
    let whom = prop::option::weighted(0.5, 0..3_usize);
    let max_wait = prop::option::weighted(0.1, 0..90_u8);
    (
        program,
        words,
        whom,
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.5),
        max_wait,
    )
        .prop_map(|(program, words, whom, hurried, no_cache, max_wait)| Ask {
            program,
            words,
            whom,
            hurried,
            no_cache,
            max_wait,
        })
}

fn mood() -> impl Strategy<Value = Mood> {
    let named = || prop::option::of(prop::sample::select(vec![60_u64, 200, 4000]));
    prop_oneof![
        4 => Just(Mood::Good),
        2 => prop::sample::select(vec![3_u64, 14, 20]).prop_map(Mood::Slow),
        2 => named().prop_map(Mood::Throttles),
        1 => named().prop_map(Mood::Busy),
        1 => Just(Mood::Fails),
        1 => Just(Mood::Hangs),
        1 => Just(Mood::Refuses),
        1 => Just(Mood::WrongKey),
        1 => Just(Mood::Garbage),
        1 => Just(Mood::Down),
        1 => Just(Mood::NoFiles),
    ]
}

/// How long nobody runs. The last is longer than records are kept.
fn away() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![0_u64, 40, 5000, 90_000])
}

fn step() -> impl Strategy<Value = Step> {
    let act = prop::sample::select(vec![Act::Probe, Act::Clear, Act::Off, Act::On]);
    let change = prop_oneof![
        2 => Just(Change::Toggle),
        2 => prop::sample::select(vec![1_u32, 3, 50]).prop_map(Change::Limits),
        1 => Just(Change::Key),
    ];
    let pass = prop::sample::select(vec![1_u64, 3, 20, 31, 70, 400, 2000, 4500]);
    prop_oneof![
        8 => (prop::collection::vec(ask(), 1..4), prop::bool::weighted(0.7))
            .prop_map(|(asks, waits)| Step::Ask(asks, waits)),
        2 => ask().prop_map(Step::ComeBack),
        2 => (prop::sample::select(vec!["some", "show", ""]), prop::option::weighted(0.3, 0..3_usize))
            .prop_map(|(words, whom)| Step::Browse(words, whom)),
        4 => (Just(Program::Radarr), 0..50_usize, prop::bool::weighted(0.3))
            .prop_map(|(who, link, back)| Step::Download(who, link, back)),
        6 => (0..3_usize, mood()).prop_map(|(whom, mood)| Step::Behave(whom, mood)),
        3 => (0..3_usize, act).prop_map(|(whom, act)| Step::Operate(whom, act)),
        2 => change.prop_map(Step::Reload),
        1 => away().prop_map(Step::Restart),
        1 => away().prop_map(Step::Kill),
        2 => any::<bool>().prop_map(Step::Network),
        6 => pass.prop_map(Step::Pass),
        3 => Just(Step::Look),
    ]
}

fn setting(name: &str, usual: u32) -> u32 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// One history from its beginning to its end, with a look at everything.
fn live(steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut story = story::Story::begin().await;
        for step in steps {
            story.go_on(step).await;
        }
        story.end().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: setting("PROPTEST_CASES", 24),
        max_shrink_iters: setting("PROPTEST_MAX_SHRINK_ITERS", 200),
        max_shrink_time: setting("PROPTEST_MAX_SHRINK_TIME", 60_000),
        failure_persistence: None,
        rng_seed: match std::env::var_os("PROPTEST_CASES") {
            Some(_) => RngSeed::Random,
            None => RngSeed::Fixed(13),
        },
        ..ProptestConfig::default()
    })]

    #[test]
    fn everything_that_is_told_agrees(steps in prop::collection::vec(step(), 5..40)) {
        live(&steps);
    }
}
