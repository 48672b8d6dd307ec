//! Outages, flapping, restarts and reloads in virtual time.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const MINUTE: u64 = 60;
const HOUR: u64 = 3600;
/// How often is looked, in seconds.
const LOOK: u64 = 5;

const TERMS: Terms = Terms {
    down_after: Duration::from_secs(10 * MINUTE),
    back_after: Duration::from_secs(2 * MINUTE),
    overload_after: Duration::from_secs(MINUTE),
};

fn at(seconds: u64) -> Moment {
    Moment(1_700_000_000 * 1_000_000_000) + Duration::from_secs(seconds)
}

fn seconds(moment: Moment) -> u64 {
    at(0).until(moment).as_secs()
}

fn whom(name: &str) -> Whom {
    Whom::new("search", name)
}

fn upstream(name: &str) -> Subject {
    Subject::Upstream(whom(name))
}

/// A watch whose rows are kept, as the store keeps them.
struct World {
    watch: Watch,
    kept: BTreeMap<Subject, KeptCourse>,
    /// What was told, and when.
    told: Vec<(u64, Happening)>,
}

impl World {
    fn new() -> Self {
        Self {
            watch: Watch::restored(Whom::new("notify", "phone"), []),
            kept: BTreeMap::new(),
            told: Vec::new(),
        }
    }

    fn look(&mut self, now: u64, seen: &Sightings) {
        let noticed = self.watch.look(at(now), seen, &TERMS);
        for (subject, kept) in noticed.changes {
            match kept {
                Some(kept) => self.kept.insert(subject, kept),
                None => self.kept.remove(&subject),
            };
        }
        let told = noticed.happenings.into_iter();
        self.told.extend(told.map(|happening| (now, happening)));
    }

    /// Everything but what was kept is forgotten. What is kept passes through JSON, as in the store.
    fn restart(&mut self) {
        let kept = self.kept.iter().map(|(subject, kept)| {
            let json = serde_json::to_string(kept).unwrap();
            let subject = Subject::read(&subject.to_string()).unwrap();
            (subject, serde_json::from_str(&json).unwrap())
        });
        self.watch = Watch::restored(Whom::new("notify", "phone"), kept);
    }

    /// When what was told of a subject: when it was told, whether it began, since when and until when.
    fn of(&self, subject: &Subject) -> Vec<(u64, bool, u64, Option<u64>)> {
        let of = self
            .told
            .iter()
            .filter(|(_, told)| told.subject == *subject);
        of.map(|(now, told)| match told.turn {
            Turn::Began { since } => (*now, true, seconds(since), None),
            Turn::Ended { since, until } => (*now, false, seconds(since), Some(seconds(until))),
        })
        .collect()
    }
}

/// One subject over time: bad from each first moment to the second, as the engine tells it.
fn timeline(outages: &[(u64, u64)], now: u64) -> Seen {
    let outage = outages
        .iter()
        .find(|(from, to)| (*from..*to).contains(&now));
    outage.map_or(Seen::Fine, |(from, _)| Seen::Bad { since: at(*from) })
}

/// Looks from the beginning to `end` at one upstream, restarting at these times.
fn run(outages: &[(u64, u64)], restarts: &[u64], end: u64) -> World {
    let mut world = World::new();
    for now in (0..end).step_by(LOOK as usize) {
        if restarts.iter().any(|at| (now..now + LOOK).contains(at)) {
            world.restart();
        }
        world.look(
            now,
            &Sightings::from([(upstream("a"), timeline(outages, now))]),
        );
    }
    world
}

#[test]
fn an_outage_is_told_when_it_lasts_and_when_it_is_over() {
    let world = run(&[(100, 100 + 30 * MINUTE)], &[], 2 * HOUR);
    let (began, ended) = (100 + 10 * MINUTE, 100 + 32 * MINUTE);
    assert_eq!(
        world.of(&upstream("a")),
        [
            (began, true, 100, None),
            (ended, false, 100, Some(100 + 30 * MINUTE))
        ]
    );
    let short = run(&[(100, 100 + 9 * MINUTE)], &[], 2 * HOUR);
    assert_eq!(short.told, []);
    assert!(short.kept.is_empty());
}

#[test]
fn one_that_fails_again_soon_was_never_back() {
    let outages = [(0, 20 * MINUTE), (21 * MINUTE, 40 * MINUTE)];
    let world = run(&outages, &[], 2 * HOUR);
    let told = world.of(&upstream("a"));
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[1], (42 * MINUTE, false, 0, Some(40 * MINUTE)));
}

#[test]
fn a_restart_tells_nothing_twice_and_forgets_no_end() {
    let outages = [(0, 60 * MINUTE)];
    let restarts = [
        5 * MINUTE,
        15 * MINUTE,
        30 * MINUTE,
        61 * MINUTE,
        70 * MINUTE,
    ];
    let world = run(&outages, &restarts, 3 * HOUR);
    let told = world.of(&upstream("a"));
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0].0, 10 * MINUTE);
    assert_eq!(told[1].0, 62 * MINUTE);
}

#[test]
fn nobody_is_called_down_before_it_could_be_tried_after_a_start() {
    let mut world = World::new();
    let since = Sightings::from([(upstream("a"), Seen::Bad { since: at(0) })]);
    for now in (HOUR..HOUR + 55).step_by(LOOK as usize) {
        world.look(now, &since);
    }
    assert_eq!(
        world.told,
        [],
        "the store says that it was down an hour ago"
    );
    world.look(HOUR + 60, &since);
    assert_eq!(world.of(&upstream("a")), [(HOUR + 60, true, 0, None)]);
}

#[test]
fn what_is_removed_is_forgotten_and_what_is_switched_off_waits() {
    let mut world = World::new();
    let seen = |seen| Sightings::from([(upstream("a"), seen)]);
    let bad = seen(Seen::Bad { since: at(0) });
    for now in (0..20 * MINUTE).step_by(LOOK as usize) {
        world.look(now, &bad);
    }
    for now in (20 * MINUTE..HOUR).step_by(LOOK as usize) {
        world.look(now, &seen(Seen::Unclear));
    }
    assert_eq!(
        world.told.len(),
        1,
        "an operator knows what they switched off"
    );
    world.look(HOUR, &seen(Seen::Fine));
    world.look(HOUR + 2 * MINUTE, &seen(Seen::Fine));
    assert_eq!(world.told.len(), 2, "told as down, told as back");
    world.look(HOUR + 3 * MINUTE, &bad);
    world.look(HOUR + 4 * MINUTE, &Sightings::new());
    assert!(world.kept.is_empty() && world.watch.courses.is_empty());
}

#[test]
fn a_hook_is_not_told_of_itself_and_others_are() {
    let subject = Subject::Upstream(Whom::new("notify", "phone"));
    let seen = Sightings::from([(subject.clone(), Seen::Bad { since: at(0) })]);
    let mut world = World::new();
    let mut other = Watch::restored(Whom::new("notify", "desk"), []);
    let mut told = 0;
    for now in (0..20 * MINUTE).step_by(LOOK as usize) {
        world.look(now, &seen);
        told += other.look(at(now), &seen, &TERMS).happenings.len();
    }
    assert_eq!((world.told.len(), told), (0, 1));
}

#[test]
fn a_quota_is_told_once_each_time_it_is_used_up() {
    let quota = Subject::Quota(whom("a"));
    let mut world = World::new();
    let day = 24 * HOUR;
    for now in (0..3 * day).step_by(LOOK as usize) {
        // Used up from six in the evening on; one call at a time falls out of the window and is used at once.
        let is_used = now % day >= 18 * HOUR && now % MINUTE != 0;
        let seen = if is_used {
            Seen::Bad { since: at(now) }
        } else {
            Seen::Fine
        };
        world.look(now, &Sightings::from([(quota.clone(), seen)]));
    }
    let told = world.of(&quota);
    let began: Vec<u64> = told
        .iter()
        .filter(|told| told.1)
        .map(|told| told.0 / HOUR)
        .collect();
    assert_eq!(began, [18, 42, 66], "{told:?}");
}

#[test]
fn an_overload_that_comes_and_goes_is_told_less_and_less_often() {
    let front = Subject::Front("tracker".into());
    let mut world = World::new();
    let mut since = 0;
    for now in (0..12 * HOUR).step_by(LOOK as usize) {
        // Five minutes of every ten.
        let is_bad = now % (10 * MINUTE) < 5 * MINUTE;
        if now % (10 * MINUTE) == 0 {
            since = now;
        }
        let seen = if is_bad {
            Seen::Bad { since: at(since) }
        } else {
            Seen::Fine
        };
        world.look(now, &Sightings::from([(front.clone(), seen)]));
    }
    let began = world.of(&front).iter().filter(|told| told.1).count();
    assert!((1..=3).contains(&began), "{:?}", world.of(&front));
}

#[test]
fn while_our_network_is_down_nobody_else_is_blamed() {
    let mut world = World::new();
    for now in (0..3 * HOUR).step_by(LOOK as usize) {
        let down = (HOUR..2 * HOUR).contains(&now);
        let network = if down {
            Seen::Bad { since: at(HOUR) }
        } else {
            Seen::Fine
        };
        // Fails from before our outage until soon after it.
        let bad = (HOUR - 30..2 * HOUR + 40).contains(&now);
        let up = if bad {
            Seen::Bad {
                since: at(HOUR - 30),
            }
        } else {
            Seen::Fine
        };
        world.look(
            now,
            &Sightings::from([(Subject::Network, network), (upstream("a"), up)]),
        );
    }
    assert_eq!(world.of(&upstream("a")), []);
    let told = world.of(&Subject::Network);
    assert_eq!(
        told,
        [
            (HOUR, true, HOUR, None),
            (2 * HOUR + 2 * MINUTE, false, HOUR, Some(2 * HOUR))
        ]
    );
}

/// Lengths of outages, and of the times between them.
fn stretches(calm: std::ops::Range<u64>) -> impl Strategy<Value = Vec<(u64, u64)>> {
    let stretch = (calm, 1_u64..(40 * MINUTE));
    prop::collection::vec(stretch, 1..12).prop_map(|stretches| {
        let mut now = 0;
        let outage = |(calm, bad): (u64, u64)| {
            let from = now + calm;
            now = from + bad;
            (from, now)
        };
        stretches.into_iter().map(outage).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Outages far apart: each that lasts is told exactly once, its end exactly once, the others never.
    #[test]
    fn every_outage_that_lasts_is_told_once_and_its_end_once(
        outages in stretches(61 * MINUTE..(90 * MINUTE)),
        restarts in prop::collection::vec(0_u64..(20 * HOUR), 0..6),
    ) {
        let end = outages.last().map_or(0, |outage| outage.1) + 2 * HOUR;
        let world = run(&outages, &restarts, end);
        let told = world.of(&upstream("a"));
        for pair in told.chunks(2) {
            let [(_, true, since, None), (_, false, same, Some(until))] = pair else {
                panic!("{told:?}");
            };
            prop_assert_eq!(since, same);
            let outage = outages.iter().filter(|outage| outage.0 == *since).collect::<Vec<_>>();
            prop_assert_eq!(outage.len(), 1);
            prop_assert!((outage[0].1..outage[0].1 + LOOK).contains(until));
        }
        for (from, to) in &outages {
            let times = told.iter().filter(|told| told.1 && told.2 == *from).count();
            // A restart in between gives it a minute more.
            let lasts = to - from;
            match lasts {
                _ if lasts >= 11 * MINUTE + 2 * LOOK => prop_assert_eq!(times, 1),
                _ if lasts < 10 * MINUTE => prop_assert_eq!(times, 0),
                _ => prop_assert!(times <= 1),
            }
        }
    }

    /// However it comes and goes: beginnings and ends alternate, nothing is told of what does not last, and there is no
    /// stream of messages.
    #[test]
    fn one_that_flaps_sends_no_stream(
        outages in stretches(1..(20 * MINUTE)),
        restarts in prop::collection::vec(0_u64..(8 * HOUR), 0..4),
    ) {
        let end = outages.last().map_or(0, |outage| outage.1) + 3 * HOUR;
        let world = run(&outages, &restarts, end);
        let told = world.of(&upstream("a"));
        for (number, (now, began, since, _)) in told.iter().enumerate() {
            prop_assert_eq!(*began, number % 2 == 0, "{:?}", told);
            prop_assert!(!began || now - since >= 10 * MINUTE);
        }
        prop_assert!(told.len().is_multiple_of(2), "it is fine at the end, and that is told: {:?}", told);
        // 2, 4, 8, 16 minutes to mend: whoever never works for longer is told four times.
        prop_assert!(told.len() <= 2 * 5, "{:?}", told);
    }
}
