//! Full queues, and lists. Nobody empties the queue behind the gate.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use weir_engine::dispatch::Moment;
use weir_engine::{Gate, Rate};
use weir_tracker_proto::PeerId;

use super::*;
use crate::config::{Config, OverloadReply};
use crate::forwarding::allowance::HeldBack;
use crate::forwarding::{ForwardKind, ForwardRules, SentAnnounce, Share};
use crate::ledger::{Ledger, LedgerLimits};
use crate::rules::split;
use crate::swarm::{Minute, Mirrored, PeerEndpoint};

/// What an announce gets of an empty queue.
const ALL_30: Share = Share {
    places: 30,
    asked: 30,
    wanted: 30,
    fill: 0,
};

struct Setup {
    tracker: Tracker,
    gate: Arc<Gate>,
    sent: mpsc::Receiver<SentAnnounce>,
    events: mpsc::Receiver<SentAnnounce>,
    now: Now,
}

/// A tracker with 30 forwarders, a queue of 100 and three tokens.
fn setup(config: Config) -> Setup {
    let rules = split(&config).1.terms.forwarding;
    setup_with(config, rules)
}

fn setup_with(config: Config, forwarding_rules: ForwardRules) -> Setup {
    let (start, reload) = split(&config);
    let rate = Rate {
        per_second: 0,
        burst: 3,
    };
    let gate = Arc::new(Gate::new(100, rate));
    let limits = LedgerLimits {
        sheets: 100,
        peers: 1000,
        peers_of_one: 100,
    };
    let ledger = Ledger::new(limits, [1; 16]);
    let events = reload.forwarders.events_per_minute;
    let (forwarding, rings) = Forwarding::new(Arc::clone(&gate), ledger, 10, events, 2);
    forwarding.set_forwarders(30);
    let tracker = Tracker::new(
        Arc::new(Swarms::new(start.swarms, [1; 16])),
        forwarding,
        ClientTerms {
            forwarding: forwarding_rules,
            ..reload.terms
        },
    );
    Setup {
        tracker,
        gate,
        sent: rings.regular,
        events: rings.events,
        now: Now {
            minute: Minute::START,
            seconds: 0,
            moment: Moment(0),
        },
    }
}

impl Setup {
    fn announce(&mut self, swarm: u8) -> Result<AnnounceReply, TrackerRefusal> {
        self.event(swarm, Event::None)
    }

    fn event(&mut self, swarm: u8, event: Event) -> Result<AnnounceReply, TrackerRefusal> {
        self.event_of(swarm, event, 1)
    }

    fn event_of(
        &mut self,
        swarm: u8,
        event: Event,
        port: u16,
    ) -> Result<AnnounceReply, TrackerRefusal> {
        let port = NonZeroU16::new(port).unwrap();
        let announce = Announce {
            event,
            ..Announce::new(InfoHash([swarm; 20]), PeerId([1; 20]), port)
        };
        let terms = self.tracker.terms();
        let source = [10, 0, 0, 1].into();
        let mut random = fastrand::Rng::with_seed(1);
        let out = [&mut Vec::new(), &mut Vec::new()];
        let when = (self.now, &mut random);
        self.tracker
            .announce(&terms, &announce, source, Carries::Both, when, out)
    }

    /// Fills the queue up to a percentage.
    fn fill(&self, percent: u32) {
        let missing = percent - self.gate.fill_percent();
        assert_eq!(self.gate.reserve(missing), missing);
    }

    fn places(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.sent.try_recv().ok())
            .map(|sent| match sent.kind {
                ForwardKind::Regular(share) => share.places.into(),
                kind => panic!("{kind:?} is no regular announce"),
            })
            .collect()
    }
}

#[tokio::test]
async fn first_announces_go_on_and_then_only_when_due() {
    let mut setup = setup(Config::default());
    let told = setup.announce(1).unwrap();
    assert!(told.interval == 60 && told.held.is_none());
    setup.announce(1).unwrap();
    let sent = setup.sent.try_recv().unwrap();
    assert_eq!(sent.kind, ForwardKind::Regular(ALL_30));
    assert_eq!(sent.announce.info_hash, InfoHash([1; 20]));
    assert_eq!(sent.at.address(), IpAddr::from([10, 0, 0, 1]));
    assert_eq!(setup.places(), [0; 0], "the second one is not due");
    setup.now.minute = setup.now.minute.plus(1);
    setup.announce(1).unwrap();
    assert_eq!(setup.places(), [30]);
}

#[tokio::test]
async fn a_filling_queue_asks_fewer_forwarders() {
    let mut setup = setup(Config::default());
    setup.fill(59);
    setup.announce(1).unwrap();
    assert_eq!(setup.places(), [30]);
    setup.announce(2).unwrap();
    assert_eq!(
        setup.places(),
        [11],
        "twenty are asked for, as many as fit are reserved"
    );
    let off = Config {
        queue_throttle_top_n: 0,
        ..Config::default()
    };
    let mut setup = self::setup(off);
    setup.fill(65);
    setup.announce(1).unwrap();
    assert_eq!(setup.places(), [30], "0 switches it off");
}

#[tokio::test]
async fn first_announces_need_a_token_when_the_queue_is_nearly_full() {
    let mut setup = setup(Config::default());
    setup.fill(80);
    for swarm in 1..=3 {
        setup.announce(swarm).unwrap();
        let places = setup.places();
        setup.gate.release(places.iter().sum());
    }
    assert_eq!(setup.announce(4).unwrap_err(), TrackerRefusal::Busy(300));
    assert_eq!(
        setup.tracker.swarms.totals().peers(),
        4,
        "the peer is stored all the same"
    );
    setup.now.minute = setup.now.minute.plus(1);
    setup.announce(1).unwrap();
    assert_eq!(
        setup.places(),
        [20],
        "one that is not the first needs no token"
    );
    assert_eq!(
        setup.announce(4).unwrap_err(),
        TrackerRefusal::Busy(300),
        "it is still the first"
    );
}

#[tokio::test]
async fn a_full_queue_refuses_first_announces_and_drops_others() {
    let unlimited = ForwardRules {
        limit_at: 0,
        ..split(&Config::default()).1.terms.forwarding
    };
    let mut setup = setup_with(Config::default(), unlimited);
    setup.announce(1).unwrap();
    setup.places();
    setup.fill(100);
    assert_eq!(
        setup.announce(2).unwrap_err(),
        TrackerRefusal::QueueFull(1800)
    );
    setup.now.minute = setup.now.minute.plus(1);
    assert_eq!(
        setup.announce(1).unwrap().interval,
        1800,
        "a re-announce is answered"
    );
    assert!(setup.places().is_empty());
    setup.gate.release(30);
    setup.announce(2).unwrap();
    assert_eq!(setup.places(), [20]);
    setup.announce(1).unwrap();
    assert!(
        setup.places().is_empty(),
        "a dropped one is tried again after a minute, not at once"
    );
}

#[tokio::test]
async fn a_swarm_that_finds_no_place_was_never_forwarded() {
    let mut setup = setup(Config::default());
    let forwarded = |setup: &Setup, swarm: u8| {
        let flags = setup.tracker.swarms.flags(&[swarm; 20]);
        flags.has(ForwardFlags::FORWARDED)
    };
    setup.fill(100);
    for _ in 0..3 {
        assert_eq!(
            setup.announce(1).unwrap_err(),
            TrackerRefusal::QueueFull(1800)
        );
        assert!(!forwarded(&setup, 1));
    }
    assert_eq!(setup.announce(1).unwrap_err(), TrackerRefusal::Busy(300));
    assert!(!forwarded(&setup, 1), "and the tokens are gone");
    setup.event(1, Event::Stopped).unwrap();
    assert!(setup.events.try_recv().is_err(), "nobody was told of it");
    setup.gate.release(30);
    setup.announce(1).unwrap();
    assert!(forwarded(&setup, 1));
    assert_eq!(setup.places(), [20]);
    assert_eq!(setup.gate.queued(), 90, "refused ones took nothing");
}

#[tokio::test]
async fn a_completion_that_comes_first_needs_neither_place_nor_token() {
    let mut setup = setup(Config::default());
    setup.fill(80);
    for swarm in 1..=5 {
        setup.event(swarm, Event::Completed).unwrap();
        assert_eq!(
            setup.events.try_recv().unwrap().kind,
            ForwardKind::Completed
        );
    }
    assert!(setup.places().is_empty());
    assert_eq!(setup.gate.queued(), 80);
    setup.announce(6).unwrap();
    assert_eq!(setup.places(), [20], "the tokens are still there");
}

#[tokio::test]
async fn an_operator_may_give_peers_instead_of_a_refusal() {
    let mut setup = setup(Config {
        overload_reply: OverloadReply::Peers,
        ..Config::default()
    });
    setup.fill(100);
    for swarm in 1..=5 {
        let interval = setup.announce(swarm).unwrap().interval;
        let (least, most) = if swarm <= 3 { (1800, 1980) } else { (300, 330) };
        assert!((least..=most).contains(&interval), "{interval}");
    }
}

#[tokio::test]
async fn nothing_waits_where_there_is_nobody_to_ask() {
    let mut setup = setup(Config::default());
    setup.fill(100);
    setup.tracker.forwarding.set_forwarders(0);
    assert_eq!(setup.announce(1).unwrap().interval, 1800);
}

#[tokio::test]
async fn events_go_on_whatever_the_queue_holds() {
    let mut setup = setup(Config::default());
    setup.event(1, Event::Stopped).unwrap();
    assert!(setup.events.try_recv().is_err(), "nobody was told of it");
    setup.announce(1).unwrap();
    setup.fill(100);
    setup.event(1, Event::Completed).unwrap();
    setup.event(1, Event::Stopped).unwrap();
    let kinds = [(); 2].map(|()| setup.events.try_recv().unwrap().kind);
    assert_eq!(
        kinds,
        [ForwardKind::Completed, ForwardKind::Stopped { last: true }]
    );
    assert!(setup.events.try_recv().is_err());
}

#[tokio::test]
async fn a_goodbye_of_nobody_takes_no_place_among_events() {
    let mut setup = setup(Config::default());
    setup.announce(1).unwrap();
    for _ in 0..3 {
        setup.event_of(1, Event::Stopped, 2).unwrap();
    }
    assert!(setup.events.try_recv().is_err(), "port 2 was never here");
    setup.event(1, Event::Stopped).unwrap();
    setup.event(1, Event::Stopped).unwrap();
    assert!(setup.events.try_recv().is_ok());
    assert!(setup.events.try_recv().is_err(), "it left once");
}

#[tokio::test]
async fn a_completion_that_stays_here_is_like_any_announce() {
    let mut setup = setup(Config {
        forward_events_per_minute: 1,
        ..Config::default()
    });
    setup.event(1, Event::Completed).unwrap();
    assert_eq!(
        setup.events.try_recv().unwrap().kind,
        ForwardKind::Completed
    );
    setup.now.minute = setup.now.minute.plus(1);
    setup.event(1, Event::Completed).unwrap();
    setup.event(2, Event::Completed).unwrap();
    for swarm in 1..=2 {
        let sent = setup.sent.try_recv().unwrap();
        let whole = |share: Share| share.places == 30;
        assert!(
            matches!(sent.kind, ForwardKind::Regular(share) if whole(share)),
            "{swarm}"
        );
        assert_eq!(sent.announce.event, Event::None);
    }
    assert!(setup.events.try_recv().is_err());
    setup.fill(100);
    let refused = setup.event(3, Event::Completed).unwrap_err();
    assert_eq!(refused, TrackerRefusal::QueueFull(1800), "a first announce");
    let allowances = setup.tracker.forwarding.allowances();
    assert_eq!(HeldBack::ALL.map(|why| allowances.total(why)), [1, 2, 0]);
}

#[tokio::test]
async fn the_short_interval_holds_while_trackers_are_asked_and_the_swarm_is_young() {
    let mut setup = setup(Config::default());
    assert_eq!(setup.announce(1).unwrap().interval, 60);
    assert_eq!(
        setup.announce(1).unwrap().interval,
        1800,
        "nothing is pending"
    );
    let pending = Mirrored {
        pending: true,
        peers: false,
        due: setup.now.minute.plus(30),
    };
    let swarms = &setup.tracker.swarms;
    swarms.mirror(&[1; 20], pending, setup.now.minute);
    setup.now.minute = setup.now.minute.plus(4);
    assert_eq!(setup.announce(1).unwrap().interval, 60);
    setup.now.minute = setup.now.minute.plus(1);
    assert_eq!(
        setup.announce(1).unwrap().interval,
        1800,
        "five minutes later"
    );
    let off = Config {
        first_interval: Duration::ZERO,
        ..Config::default()
    };
    let mut setup = self::setup(off);
    assert_eq!(
        setup.announce(1).unwrap().interval,
        1800,
        "0 switches it off"
    );
}

#[tokio::test]
async fn replies_to_first_announces_are_held_until_something_happens() {
    let mut setup = setup(Config {
        first_wait: Duration::from_secs(5),
        ..Config::default()
    });
    setup.tracker.forwarding.set_forwarders(1);
    let mut held = setup.announce(1).unwrap().held.unwrap();
    assert!(held.wake.try_recv().is_err(), "it waits");
    assert!(
        setup.announce(1).unwrap().held.is_none(),
        "the peer is not new"
    );
    let forwarding = &setup.tracker.forwarding;
    forwarding.wake(&[2; 20]);
    assert!(held.wake.try_recv().is_err(), "it is about another swarm");
    forwarding.wake(&[1; 20]);
    assert_eq!(held.wake.try_recv(), Ok(()));
    let kept = [2, 3].map(|swarm| setup.announce(swarm).unwrap().held.unwrap());
    assert!(setup.announce(4).unwrap().held.is_none(), "two at most");
    drop(kept);
    setup.tracker.forwarding.wake(&[2; 20]);
    assert!(setup.announce(5).unwrap().held.is_some());
    setup.tracker.forwarding.wake(&[5; 20]);
    setup.fill(100);
    assert_eq!(
        setup.announce(6).unwrap_err(),
        TrackerRefusal::QueueFull(1800)
    );
    setup.gate.release(50);
    assert!(
        setup.announce(7).unwrap().held.is_some(),
        "a refused one holds no place"
    );
}

#[tokio::test]
async fn a_reply_is_not_sent_without_the_peers_of_an_answer_that_came_at_once() {
    let mut setup = setup(Config {
        first_wait: Duration::from_secs(5),
        ..Config::default()
    });
    drop(setup.announce(1).unwrap());
    let (tracker, hash) = (&setup.tracker, [1; 20]);
    let forwarding = &tracker.forwarding;
    let keep = |first| {
        forwarding.wake(&hash);
        let held = forwarding.hold(&hash, PeerEndpoint::V4([1; 6])).unwrap();
        tracker.keep_held(&hash, first, held)
    };
    assert!(
        keep(true).unwrap().wake.try_recv().is_err(),
        "nobody answered"
    );
    assert!(keep(false).is_none(), "nobody is asked any more");
    let peers = Mirrored {
        pending: false,
        peers: true,
        due: setup.now.minute,
    };
    tracker.swarms.mirror(&hash, peers, setup.now.minute);
    assert_eq!(keep(true).unwrap().wake.try_recv(), Ok(()));
    assert_eq!(keep(false).unwrap().wake.try_recv(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_held_announce_is_not_done_again_for_a_peer_that_left() {
    let mut setup = setup(Config {
        first_wait: Duration::from_secs(5),
        ..Config::default()
    });
    setup.tracker.forwarding.set_forwarders(1);
    let held = setup.announce(1).unwrap().held.unwrap();
    assert!(
        setup.tracker.wait_for(held).await,
        "its time is over, it is here"
    );
    let held = setup.announce(2).unwrap().held.unwrap();
    setup.event(2, Event::Stopped).unwrap();
    assert!(!setup.tracker.wait_for(held).await);
    assert!(setup.event(3, Event::Completed).unwrap().held.is_none());
    let held = [4, 5].map(|swarm| setup.announce(swarm).unwrap().held);
    assert!(
        held.iter().all(Option::is_some),
        "those whose time is over hold no place"
    );
}
