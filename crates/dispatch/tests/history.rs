//! Thousands of random histories: the dispatcher decides as the reference model does.

#[path = "model/both.rs"]
mod both;
#[path = "history/pair.rs"]
mod pair;
#[path = "model/reference.rs"]
mod reference;

use std::time::Duration;

use pair::{Op, Pair, Seen, Verdict, Wanted, policy};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use weir_dispatch::{
    Budget, Finish, FullWindow, MAX_CLASSES, Moment, Quota, Usage, Wait, Window, Windows,
};

fn span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0u64..3_000).prop_map(Duration::from_millis),
        3 => (0u64..30).prop_map(Duration::from_secs),
        2 => (0u64..1_000).prop_map(Duration::from_secs),
        1 => (0u64..30).prop_map(|hours| Duration::from_secs(3600 * hours)),
    ]
}

/// How long it is between a stop and the next start: mostly nothing, or so long that a window of 30 days empties.
fn off_for() -> impl Strategy<Value = Duration> {
    let days = (0u64..40).prop_map(|days| Duration::from_secs(86_400 * days));
    prop_oneof![3 => Just(Duration::ZERO), 1 => days]
}

fn budget() -> impl Strategy<Value = Budget> {
    prop_oneof![6 => Just(Budget::Query), 1 => Just(Budget::Side), 1 => Just(Budget::Grab)]
}

/// The three with keys of their own, lengths such as those of "300 in 5 min" and "25 in 30 days", and odd ones.
fn window() -> impl Strategy<Value = Window> {
    prop_oneof![
        Just(Window::MINUTE),
        Just(Window::HOUR),
        Just(Window::DAY),
        Just(Window::of_seconds(5 * 60)),
        Just(Window::of_seconds(30 * 86_400)),
        (1u32..100_000).prop_map(Window::of_seconds),
    ]
}

fn windows() -> impl Strategy<Value = Windows> {
    let limits = prop_oneof![
        2 => Just(Vec::new()),
        3 => prop::collection::vec((window(), 1u32..8), 1..5),
    ];
    (limits, prop::option::weighted(0.2, 0u64..86_400)).prop_map(|(limits, reset)| {
        let windows: Windows = limits.into_iter().collect();
        match reset {
            Some(seconds) => {
                windows.resetting(Moment(1_000_000_000_000_000 + seconds * 1_000_000_000))
            }
            None => windows,
        }
    })
}

/// Gaps that grow with the class, gaps that do not, and none.
fn gaps() -> impl Strategy<Value = [Duration; MAX_CLASSES]> {
    let millis = prop_oneof![
        Just([0; 4]),
        Just([200, 1_000, 1_400, 2_000]),
        Just([1_000, 2_000, 2_000, 25_000]),
        Just([6_000, 30_000, 42_000, 60_000]),
        prop::array::uniform4(0u64..40_000),
    ];
    millis.prop_map(|gaps| gaps.map(Duration::from_millis))
}

fn quota() -> impl Strategy<Value = Quota> {
    (gaps(), 1u32..4, windows(), windows()).prop_map(|(gaps, in_flight, query, grab)| Quota {
        gaps,
        in_flight,
        query,
        grab,
    })
}

fn wanted() -> impl Strategy<Value = Wanted> {
    (
        (
            0u8..6,
            0u8..4,
            budget(),
            prop_oneof![2 => Just(Duration::ZERO), 1 => span()],
        ),
        prop::option::weighted(0.2, span()),
        prop::option::weighted(0.4, 0u8..6),
        prop::option::weighted(0.4, 0u8..4),
        prop::option::weighted(0.4, 0u8..3),
        prop::bool::weighted(0.04),
        (prop::bool::weighted(0.04), prop::bool::weighted(0.2)),
    )
        .prop_map(
            |(
                (upstream, class, budget, delay),
                max_wait,
                pending,
                scheduled,
                order,
                probe,
                (trial, claims),
            )| Wanted {
                upstream,
                class,
                budget,
                delay,
                max_wait,
                pending,
                scheduled,
                order,
                probe,
                trial,
                claims,
            },
        )
}

fn finish() -> impl Strategy<Value = Finish> {
    prop_oneof![
        6 => Just(Finish::Done),
        1 => Just(Finish::No),
        1 => span().prop_map(|after| Finish::Again { after }),
        2 => prop::option::of(span()).prop_map(|retry_after| Finish::Throttled { retry_after }),
        3 => Just(Finish::Unavailable),
        1 => Just(Finish::Broken),
        1 => prop::option::of(span()).prop_map(|at_least| Finish::Rejected { at_least }),
        1 => Just(Finish::OurNetwork { pause: Duration::from_secs(30) }),
        1 => Just(Finish::Panicked),
    ]
}

fn usage() -> impl Strategy<Value = Usage> {
    (budget(), window(), 0u32..6, prop::option::of(0u32..8)).prop_map(
        |(budget, window, limit, used)| Usage {
            budget,
            window,
            limit,
            used,
        },
    )
}

fn verdict() -> impl Strategy<Value = Verdict> {
    let reason = prop_oneof![
        4 => Just(Wait::Window),
        4 => Just(Wait::Gap),
        1 => Just(Wait::Cooldown),
        1 => Just(Wait::Off),
        1 => Just(Wait::Agreeing),
        1 => Just(Wait::Share),
    ];
    let full =
        (window(), 0u32..9, 0u32..9, 0u32..2).prop_map(|(window, used, limit, kept)| FullWindow {
            window,
            used,
            limit,
            kept,
        });
    let refuse = (span(), reason, prop::option::of(full)).prop_map(|(after, reason, full)| {
        Verdict::Refuse {
            after,
            reason,
            full,
        }
    });
    prop_oneof![
        6 => Just(Verdict::Grant),
        4 => refuse,
        3 => span().prop_map(Verdict::Defer),
        1 => Just(Verdict::Answered),
        1 => Just(Verdict::Nothing),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => wanted().prop_map(Op::Submit),
        3 => prop::collection::vec(wanted(), 0..6).prop_map(Op::Burst),
        2 => prop::collection::vec(wanted(), 12..25).prop_map(Op::Burst),
        4 => any::<u16>().prop_map(Op::Cancel),
        4 => (any::<u16>(), 0u8..4).prop_map(|(at, class)| Op::Raise(at, class)),
        20 => (any::<u16>(), finish(), 0u16..=500).prop_map(|(at, finish, jitter)| Op::Finish(at, finish, jitter)),
        20 => (span(), any::<bool>()).prop_map(|(span, stop)| Op::Pass(span, stop)),
        1 => (any::<u8>(), quota()).prop_map(|(at, quota)| Op::SetQuota(at, quota)),
        1 => (any::<u8>(), usage()).prop_map(|(at, usage)| Op::Observe(at, usage)),
        1 => (1u32..4, 0u32..4).prop_map(|(base, more)| Op::SetCrew(base, more)),
        1 => any::<u8>().prop_map(Op::Clear),
        1 => any::<u8>().prop_map(Op::SwitchOff),
        1 => any::<u8>().prop_map(Op::SwitchOn),
        1 => any::<bool>().prop_map(Op::Hold),
        4 => (any::<u8>(), prop::bool::weighted(0.8)).prop_map(|(at, shared)| Op::Share(at, shared)),
        24 => (any::<u16>(), verdict()).prop_map(|(at, verdict)| Op::Answer(at, verdict)),
        1 => (any::<u8>(), span()).prop_map(|(at, span)| Op::Throttle(at, span)),
        1 => quota().prop_map(Op::Add),
        1 => any::<u8>().prop_map(Op::Remove),
        1 => off_for().prop_map(Op::Restart),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..120)
}

/// A number of the environment, for longer or shorter runs than those of every day.
fn setting(name: &str, usual: u32) -> u32 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: setting("PROPTEST_CASES", 1000),
        max_shrink_iters: setting("PROPTEST_MAX_SHRINK_ITERS", 20_000),
        ..ProptestConfig::default()
    })]

    #[test]
    fn dispatcher_decides_as_the_model_does(
        kind in 0u8..4,
        quotas in prop::collection::vec(quota(), 1..5),
        ops in ops(),
    ) {
        live(kind, &quotas, &ops);
    }
}

#[test]
fn the_histories_bring_about_what_they_are_to_test() {
    let histories = 300;
    let history = (0u8..4, prop::collection::vec(quota(), 1..5), ops());
    let mut runner = TestRunner::deterministic();
    let mut happened: Vec<(&str, u32)> = Vec::new();
    for _ in 0..histories {
        let tree = history
            .new_tree(&mut runner)
            .expect("nothing is filtered out");
        let (kind, quotas, ops) = tree.current();
        let seen = live(kind, &quotas, &ops);
        if happened.is_empty() {
            happened = seen.all().map(|(name, _)| (name, 0)).to_vec();
        }
        for ((_, histories), (_, times)) in happened.iter_mut().zip(seen.all()) {
            *histories += u32::from(times > 0);
        }
    }
    let rare: Vec<_> = happened
        .iter()
        .filter(|(_, times)| times * 100 < histories * 20)
        .collect();
    assert!(
        rare.is_empty(),
        "in fewer than a fifth of {histories}: {rare:?} of {happened:?}"
    );
}

/// One history from its beginning to the end of everything. In every other one other nodes call all upstreams that there
/// are at the beginning.
fn live(kind: u8, quotas: &[Quota], ops: &[Op]) -> Seen {
    let mut pair = Pair::new(policy(kind % 2), quotas);
    for at in (0u8..).zip(quotas).map(|(at, _)| at) {
        pair.apply(&Op::Share(at, kind >= 2));
    }
    for op in ops {
        pair.apply(op);
    }
    pair.check_wake();
    pair.finish_all();
    pair.seen
}
