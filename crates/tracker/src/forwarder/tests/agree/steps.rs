//! What happens in a history, drawn at random.

use proptest::prelude::*;
use weir_tracker_proto::Event;

/// The forwarders.
pub(super) const NAMES: [&str; 5] = ["alder", "birch", "cedar", "dogwood", "elm"];

/// The swarm that is not served.
pub(super) const DENIED: u8 = 8;

/// What may happen.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A peer of a swarm announces.
    Announce(u8, u8, Event),
    /// So many swarms that nobody knows are announced at once.
    Crowd(u8),
    Scrape(u8),
    /// A forwarder behaves so from now on.
    Behave(usize, Mood),
    /// Our own network goes away, or is back.
    Network(bool),
    /// No call starts, so that the queue fills; or calls start again.
    Hold(bool),
    /// An operator acts.
    Act(usize, &'static str),
    Reload(usize, Change),
    /// After so many seconds.
    Restart(u32),
    /// Weir is killed, and starts after so many seconds. What was not handed to the writer of its file is lost.
    Kill(u32),
    Wait(u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Good,
    Often,
    TooMany,
    WaitSome,
    Unavailable,
    Wait,
    Hangs,
    Refuses,
    NoSuchHost,
    RetrySoon,
    RetryLater,
    Never,
    Failure,
    Unreadable,
}

/// What a reload does to a forwarder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It is no longer there, or there again.
    Toggle,
    /// It is listed first.
    First,
    /// Clients are told and allowed something else from now on, or what they were before.
    Rules,
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let event = prop_oneof![
        4 => Just(Event::None),
        2 => Just(Event::Started),
        1 => Just(Event::Completed),
        1 => Just(Event::Stopped),
    ];
    let mood = prop::sample::select(vec![
        Mood::Good,
        Mood::Often,
        Mood::TooMany,
        Mood::WaitSome,
        Mood::Unavailable,
        Mood::Wait,
        Mood::Hangs,
        Mood::Refuses,
        Mood::NoSuchHost,
        Mood::RetrySoon,
        Mood::RetryLater,
        Mood::Never,
        Mood::Failure,
        Mood::Unreadable,
    ]);
    let action = prop::sample::select(vec!["probe", "clear", "disable", "enable"]);
    let change = prop_oneof![
        2 => Just(Change::Toggle),
        1 => Just(Change::First),
        1 => Just(Change::Rules),
    ];
    let wait = prop_oneof![4 => 2..10u16, 4 => 20..100u16, 3 => 200..1000u16, 1 => 3000..5000u16];
    // The longer one is more than records are kept.
    let away = prop_oneof![4 => 1..600u32, 1 => Just(90_000u32)];
    let who = 0..NAMES.len();
    prop_oneof![
        10 => (1..=DENIED, 1..5u8, event).prop_map(|(swarm, peer, event)| Step::Announce(swarm, peer, event)),
        1 => (1..30u8).prop_map(Step::Crowd),
        1 => (1..8u8).prop_map(Step::Scrape),
        5 => (who.clone(), mood).prop_map(|(who, mood)| Step::Behave(who, mood)),
        1 => any::<bool>().prop_map(Step::Hold),
        2 => any::<bool>().prop_map(Step::Network),
        2 => (who.clone(), action).prop_map(|(who, action)| Step::Act(who, action)),
        2 => (who, change).prop_map(|(who, change)| Step::Reload(who, change)),
        1 => away.clone().prop_map(Step::Restart),
        1 => away.prop_map(Step::Kill),
        8 => wait.prop_map(Step::Wait),
    ]
}
