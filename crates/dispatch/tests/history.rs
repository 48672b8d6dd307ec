//! Thousands of random histories: the dispatcher decides as the reference model does.

#[path = "model/both.rs"]
mod both;
#[path = "history/pair.rs"]
mod pair;
#[path = "model/reference.rs"]
mod reference;

use std::time::Duration;

use pair::{Ask, Op, Pair, Seen, policy};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use weir_dispatch::{Budget, Finish, Moment, Quota, Usage, Window, Windows};

fn span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0u64..3_000).prop_map(Duration::from_millis),
        3 => (0u64..30).prop_map(Duration::from_secs),
        2 => (0u64..1_000).prop_map(Duration::from_secs),
        1 => (0u64..30).prop_map(|hours| Duration::from_secs(3600 * hours)),
    ]
}

fn budget() -> impl Strategy<Value = Budget> {
    prop_oneof![6 => Just(Budget::Query), 1 => Just(Budget::Side), 1 => Just(Budget::Grab)]
}

fn windows() -> impl Strategy<Value = Windows> {
    let limit = || prop::option::weighted(0.3, 1u32..8);
    (
        limit(),
        limit(),
        limit(),
        prop::option::weighted(0.2, 0u64..86_400),
    )
        .prop_map(|(minute, hour, day, reset)| Windows {
            minute,
            hour,
            day,
            day_reset: reset.map(|seconds| Moment(1_000_000_000_000_000 + seconds * 1_000_000_000)),
        })
}

fn quota() -> impl Strategy<Value = Quota> {
    (
        prop_oneof![Just(0u64), Just(2), Just(60)],
        1u32..4,
        windows(),
        windows(),
    )
        .prop_map(|(spacing, in_flight, query, grab)| Quota {
            spacing: Duration::from_secs(spacing),
            in_flight,
            query,
            grab,
        })
}

fn ask() -> impl Strategy<Value = Ask> {
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
    )
        .prop_map(
            |((upstream, class, budget, delay), max_wait, pending, scheduled, order, probe)| Ask {
                upstream,
                class,
                budget,
                delay,
                max_wait,
                pending,
                scheduled,
                order,
                probe,
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
    let window = prop_oneof![Just(Window::Minute), Just(Window::Hour), Just(Window::Day)];
    (budget(), window, 0u32..6, prop::option::of(0u32..8)).prop_map(
        |(budget, window, limit, used)| Usage {
            budget,
            window,
            limit,
            used,
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => ask().prop_map(Op::Submit),
        3 => prop::collection::vec(ask(), 0..6).prop_map(Op::Burst),
        1 => prop::collection::vec(ask(), 12..25).prop_map(Op::Burst),
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
        1 => quota().prop_map(Op::Add),
        1 => any::<u8>().prop_map(Op::Remove),
        1 => Just(Op::Restart),
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
        kind in 0u8..2,
        quotas in prop::collection::vec(quota(), 1..5),
        ops in ops(),
    ) {
        live(kind, &quotas, &ops);
    }
}

#[test]
fn the_histories_bring_about_what_they_are_to_test() {
    let histories = 300;
    let history = (0u8..2, prop::collection::vec(quota(), 1..5), ops());
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

/// One history from its beginning to the end of everything.
fn live(kind: u8, quotas: &[Quota], ops: &[Op]) -> Seen {
    let mut pair = Pair::new(policy(kind), quotas);
    for op in ops {
        pair.apply(op);
    }
    pair.check_wake();
    pair.finish_all();
    pair.seen
}
