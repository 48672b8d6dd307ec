use weir_dispatch::Windows;
use weir_store::shared::NodeId;

use super::*;

const UP: UpstreamId = UpstreamId(0);
const KEY: UpstreamKey = UpstreamKey([7; 16]);

fn at(seconds: u64) -> Moment {
    Moment(0) + Duration::from_secs(1_000_000 + seconds)
}

fn id(number: u64) -> AskId {
    AskId {
        node: NodeId(1),
        number,
    }
}

fn windows(limit: u32) -> Vec<WindowUse> {
    vec![WindowUse {
        window: Window::HOUR,
        used: 0,
        limit,
        learned: false,
        next: Moment(0),
    }]
}

fn wanted() -> Wanted {
    Wanted {
        upstream: UP,
        budget: Budget::Query,
        gap: Some(Duration::from_secs(2)),
        question: None,
    }
}

fn made(second: u64, alone: bool) -> Made {
    Made {
        budget: Budget::Query,
        at: at(second),
        alone,
        longest: Duration::from_secs(3600),
        most: 100,
    }
}

fn with_share(starts: u32) -> Ledger {
    let mut ledger = Ledger::default();
    ledger.add(UP, KEY);
    let share = Share {
        upstream: KEY,
        ledger: state::Ledger::Query,
        window: state::Window(3600),
        starts,
    };
    ledger.look(&[share], 3);
    ledger
}

#[test]
fn alone_it_spends_its_share_and_nothing_else() {
    let mut ledger = with_share(2);
    // What the store granted is not its share.
    ledger.start(id(0), UP, &made(0, false));
    for second in [10, 20] {
        assert_eq!(
            ledger.alone(&wanted(), &windows(40), true, at(second)),
            Ok(())
        );
        ledger.start(id(second), UP, &made(second, true));
    }
    let refused = ledger
        .alone(&wanted(), &windows(40), true, at(30))
        .unwrap_err();
    assert_eq!((refused.reason, refused.until), (Wait::Share, at(3612)));
    let full = refused.full.unwrap();
    assert_eq!((full.used, full.limit, full.kept), (2, 40, 2));
    // The first call may have taken a moment to arrive, and the next one takes none.
    assert!(
        ledger
            .alone(&wanted(), &windows(40), true, at(3611))
            .is_err()
    );
    assert_eq!(
        ledger.alone(&wanted(), &windows(40), true, at(3612)),
        Ok(())
    );
}

#[test]
fn without_a_share_it_makes_no_call_that_counts() {
    let ledger = with_share(0);
    let refused = ledger
        .alone(&wanted(), &windows(3), true, at(30))
        .unwrap_err();
    assert_eq!(refused.reason, Wait::Share);
    let full = refused.full.unwrap();
    assert_eq!((full.used, full.limit, full.kept), (0, 3, 0));
    assert_eq!(ledger.alone(&wanted(), &[], true, at(30)), Ok(()));
}

#[test]
fn a_share_that_others_take_for_spent_is_none() {
    let ledger = with_share(5);
    let windows = windows(100);
    assert!(ledger.alone(&wanted(), &windows, true, at(60)).is_ok());
    assert!(ledger.alone(&wanted(), &windows, false, at(60)).is_err());
}

#[test]
fn starts_at_an_upstream_that_was_removed_are_handed_in_as_long_as_they_count() {
    let mut ledger = with_share(1);
    let hour = Duration::from_secs(3600);
    ledger.start(id(1), UP, &made(10, false));
    ledger.remove(UP, hour, at(20));
    assert_eq!((ledger.key(UP), ledger.all().count()), (None, 0));
    assert_eq!(ledger.handed(at(3600)).count(), 1);
    assert_eq!(ledger.handed(at(3613)).count(), 0);
    // Back, it has them still, and once.
    let again = UpstreamId(UP.0 + 1);
    ledger.add(again, KEY);
    ledger.restore(id(7), again, Budget::Query, at(10));
    let handed: Vec<AskId> = ledger.handed(at(30)).map(|start| start.id).collect();
    assert_eq!(handed, [id(1)]);
    // Where the new one was there first, it has them from what was kept.
    ledger.add(UP, KEY);
    ledger.restore(id(8), UP, Budget::Query, at(10));
    ledger.remove(again, hour, at(30));
    let handed: Vec<AskId> = ledger.handed(at(30)).map(|start| start.id).collect();
    assert_eq!(handed, [id(8)]);
}

#[test]
fn alone_it_keeps_the_distance_of_all_members() {
    let mut ledger = with_share(9);
    ledger.start(id(0), UP, &made(100, false));
    let refused = ledger.alone(&wanted(), &[], true, at(102)).unwrap_err();
    assert_eq!((refused.reason, refused.until), (Wait::Gap, at(106)));
    assert_eq!(ledger.alone(&wanted(), &[], true, at(106)), Ok(()));
}

#[test]
fn starts_of_an_earlier_run_count_against_the_share() {
    let mut ledger = with_share(1);
    ledger.restore(id(1), UP, Budget::Query, at(40));
    assert!(ledger.alone(&wanted(), &windows(20), true, at(60)).is_err());
    let handed: Vec<HandedStart> = ledger.handed(at(60)).collect();
    assert_eq!(handed[0].age, Duration::from_secs(20));
}

#[test]
fn starts_that_no_longer_count_are_forgotten() {
    let mut ledger = with_share(1);
    for second in 0..500 {
        ledger.start(id(second), UP, &made(second * 60, false));
    }
    assert!(ledger.handed(at(30_000)).count() <= 62);
    let many = Made {
        most: 10,
        ..made(30_000, false)
    };
    for number in 0..500 {
        ledger.start(id(number), UP, &many);
    }
    assert!(ledger.handed(at(30_000)).count() <= 10 + SPARE);
}

#[test]
fn a_download_makes_no_query_forgotten() {
    let mut ledger = with_share(2);
    for second in [0, 10] {
        ledger.start(id(second), UP, &made(second, true));
    }
    let grab = |second| Made {
        budget: Budget::Grab,
        longest: Duration::from_secs(60),
        most: 1,
        ..made(second, true)
    };
    for second in 0..100 {
        ledger.start(id(1000 + second), UP, &grab(1800 + second));
    }
    // Nor is the share had twice.
    assert!(
        ledger
            .alone(&wanted(), &windows(40), true, at(2000))
            .is_err()
    );
    let handed = ledger.handed(at(2000));
    let queries = handed.filter(|start| start.ledger == state::Ledger::Query);
    assert_eq!(queries.count(), 2);
}

#[test]
fn nothing_is_asked_before_the_store_said_what_time_it_is() {
    let mut ledger = with_share(1);
    let quota = Quota {
        gaps: [Duration::ZERO; 4],
        in_flight: 1,
        query: Windows::from([(Window::HOUR, 20)]),
        grab: Windows::default(),
    };
    assert_eq!(ledger.ask(id(1), &wanted(), &quota, at(0)), None);
    ledger.hear(StoreTime(5_000), at(0));
    let ask = ledger.ask(id(1), &wanted(), &quota, at(2)).unwrap();
    assert_eq!(ask.wanted_until, StoreTime(8_000));
    assert_eq!(ask.windows, [(state::Window(3600), 20)]);
}

#[test]
fn who_leaves_tells_of_an_earlier_run_what_may_have_been_its_share() {
    let mut ledger = with_share(2);
    for second in 0..50 {
        ledger.restore(id(second), UP, Budget::Query, at(second));
    }
    ledger.start(id(60), UP, &made(60, false));
    ledger.start(id(70), UP, &made(70, true));
    let mut left: Vec<u64> = ledger
        .left(at(100))
        .iter()
        .map(|one| one.id.number)
        .collect();
    left.sort_unstable();
    assert_eq!(left, [48, 49, 70]);
    // A store that has lost something hears of all.
    assert_eq!(ledger.handed(at(100)).count(), 52);
}

#[test]
fn a_store_that_lies_makes_no_share_larger_than_it_can_be() {
    let mut ledger = with_share(u32::MAX);
    let mut wanted = wanted();
    wanted.gap = None;
    for second in 0..5 {
        assert_eq!(
            ledger.alone(&wanted, &windows(100), true, at(second)),
            Ok(())
        );
        ledger.start(id(second), UP, &made(second, true));
    }
    assert!(ledger.alone(&wanted, &windows(100), true, at(6)).is_err());
}
