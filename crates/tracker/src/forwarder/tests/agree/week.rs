//! A week in which the tracker is full, its queue fills, and forwarders fail in turn: whenever a client was turned away, it
//! can be asked why, and the answer is what the client was told.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use weir_engine::OwnKind;

use super::*;

/// Reports are made once a second.
const REPORTED: SignedDuration = SignedDuration::from_secs(2);

/// What clients are told, and what its record says.
const ANSWERS: [(&str, &str); 4] = [
    ("no_token", "the limit of 1 per second was reached"),
    ("queue_full", "queue full (12)"),
    (
        "full",
        "the tracker is full (max_peers or max_swarms reached)",
    ),
    ("crowded", "too many peers from one address"),
];

fn day(day: u8) -> Vec<Step> {
    let moods = [
        Mood::TooMany,
        Mood::Unavailable,
        Mood::Hangs,
        Mood::WaitSome,
        Mood::NoSuchHost,
        Mood::Never,
        Mood::Unreadable,
    ];
    let trouble = Step::Behave(usize::from(day) % NAMES.len(), moods[usize::from(day)]);
    let all = |peer, event| (1..=7).map(move |swarm| Step::Announce(swarm, peer, event));
    let mut steps = vec![trouble];
    steps.extend(all(1, Event::Started));
    steps.push(Step::Wait(60));
    // More events than one address may send in a minute, one of them twice.
    steps.extend(all(2, Event::Completed));
    steps.push(Step::Announce(1, 2, Event::Completed));
    steps.push(Step::Wait(2000));
    if [2, 5].contains(&day) {
        // Our own network goes away for a minute, and what is announced meanwhile waits.
        steps.push(Step::Network(false));
        steps.extend(all(1, Event::None));
        steps.extend([
            Step::Wait(10),
            Step::Crowd(2),
            Step::Wait(2),
            Step::Network(true),
        ]);
        steps.extend([Step::Wait(60), Step::Wait(2000)]);
    }
    steps.push(Step::Hold(true));
    steps.extend(all(1, Event::None));
    steps.extend([
        Step::Crowd(8),
        Step::Wait(20),
        Step::Crowd(40),
        Step::Wait(20),
    ]);
    steps.extend(all(3, Event::None));
    steps.extend([Step::Wait(3), Step::Hold(false), Step::Wait(600)]);
    if day == 0 {
        // Later, records of the first day would be too old to be kept.
        steps.push(Step::Restart(300));
    }
    let good = Step::Behave(usize::from(day) % NAMES.len(), Mood::Good);
    steps.push(good);
    steps.extend((0..8).map(|_| Step::Wait(10_000)));
    steps
}

impl Story {
    /// Asks for the reason of all that clients were refused so far. Gives how often each was.
    async fn ask_why(&self) -> BTreeMap<&'static str, usize> {
        let rows = self.desk().decisions().await;
        let time = |row: &Value, key: &str| -> Timestamp {
            let time = row[key].as_str().expect("a time");
            time.parse().expect("a time")
        };
        let mut asked = BTreeMap::new();
        for (at, why) in &self.met.turned_away {
            let at: Timestamp = at.parse().expect("a time");
            let answers = rows.iter().filter(|row| {
                row["kind"] == "refused"
                    && row["reason"] == *why
                    && time(row, "at") - REPORTED <= at
                    && at <= time(row, "last")
            });
            let answers: Vec<&str> = answers.filter_map(|row| row["sentence"].as_str()).collect();
            let mut right = ANSWERS.iter().filter(|(reason, _)| reason == why);
            let (_, right) = right.next().expect("it is one of them");
            let is_right = |answer: &&str| answer.contains(right);
            assert!(
                !answers.is_empty() && answers.iter().all(is_right),
                "{why} at {at}: {answers:?}"
            );
            *asked.entry(*why).or_default() += 1;
        }
        asked
    }
}

impl Story {
    /// Asks for the reason of each call that came late because our own network was down. Gives how many there were.
    async fn ask_why_late(&self) -> usize {
        let rows = self.desk().decisions().await;
        let time = |row: &Value, key: &str| -> Timestamp {
            let time = row[key].as_str().expect("a time");
            time.parse().expect("a time")
        };
        let outages: Vec<&Value> = rows
            .iter()
            .filter(|row| row["kind"] == "our_network")
            .collect();
        let late = rows.iter().filter(|row| row["reason"] == "our_network");
        let late = late.inspect(|row| {
            let sentence = row["sentence"].as_str().expect("a sentence");
            assert!(
                sentence.contains(" s of waiting for our own network"),
                "{sentence}"
            );
            // It was called when the pause was over, which the last call in vain had begun.
            let at = time(row, "at");
            let why = outages.iter().find(|outage| {
                let pause = at.duration_since(time(outage, "last"));
                SignedDuration::ZERO < pause && pause <= SignedDuration::from_secs(31)
            });
            let why = why.unwrap_or_else(|| panic!("{sentence} at {at}: {outages:?}"));
            let words = why["sentence"].as_str().expect("a sentence");
            assert!(
                words.contains("upstreams failed at once, so the fault is in our own network."),
                "{words}"
            );
        });
        late.count()
    }
}

async fn week(file: &File) {
    fastrand::seed(7);
    let mut story = Story::begin(file).await;
    let mut late = 0;
    for number in 0..7 {
        for step in day(number) {
            story.step(&step).await;
            story.kept.check(story.world.as_ref().expect("it is there"));
            // Whoever looks reads some thirty pages: where most has just happened.
            if matches!(step, Step::Wait(..100)) {
                story.check().await;
            }
            // Records of busy days push out older ones.
            if matches!(step, Step::Wait(60)) {
                late += story.ask_why_late().await;
            }
        }
        story.ask_why().await;
    }
    let asked = story.ask_why().await;
    assert_eq!(
        asked.len(),
        ANSWERS.len(),
        "each of them happened: {asked:?}"
    );
    assert!(late >= 4, "{late} calls waited for our own network");
    let own = story.world().engine.own_decisions();
    for kind in OwnKind::ALL {
        assert!(own.iter().any(|one| one.own.kind == kind), "{kind:?}");
    }
}

#[test]
fn in_a_week_whoever_was_turned_away_can_be_told_why() {
    in_virtual_time(week);
}
