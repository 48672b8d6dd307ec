//! A week in which the tracker is full, its queue fills, forwarders fail in turn, operators act, the configuration is read
//! anew and Weir is restarted: whatever did not go as somebody expected can be asked about, on the page and in the API, and
//! the answer is what happened.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use weir_engine::OwnKind;

use super::*;

/// Reports are made once a second.
const REPORTED: SignedDuration = SignedDuration::from_secs(2);

/// What fails on which day, and what its forwarder is said to do then.
const TROUBLES: [(Mood, &str); 7] = [
    (Mood::TooMany, "it says we ask too often"),
    (Mood::Unavailable, "answered 503"),
    (Mood::Hangs, "it did not answer within 30 s"),
    (Mood::WaitSome, "it says we ask too often"),
    (Mood::NoSuchHost, "no such host"),
    (Mood::Never, "never ask about this torrent again"),
    (Mood::Unreadable, "its answer cannot be read"),
];

/// Each of these happens in that week, by kind and reason.
const INCIDENTS: [(&str, &str); 10] = [
    ("deduplicated", "repeated"),
    ("dropped", "queue_full"),
    ("refused", "crowded"),
    ("refused", "denied"),
    ("refused", "full"),
    ("refused", "no_token"),
    ("refused", "queue_full"),
    ("throttled", "queue_filling"),
    ("throttled", "queue_full"),
    ("throttled", "too_many"),
];

/// The same of single forwarders, by kind.
const ABOUT_FORWARDERS: [&str; 7] = [
    "cooldown",
    "disabled",
    "put_off",
    "retried",
    "cleared",
    "switched_off",
    "switched_on",
];

/// Who fails on a day.
fn troubled(day: u8) -> usize {
    match TROUBLES[usize::from(day)].0 {
        // Only one is reached by name.
        Mood::NoSuchHost => NAMED,
        _ => usize::from(day) % NAMES.len(),
    }
}

fn day(day: u8) -> Vec<Step> {
    let (who, other) = (troubled(day), (troubled(day) + 1) % NAMES.len());
    let all = |peer, event| (1..=7).map(move |swarm| Step::Announce(swarm, peer, event));
    let mut steps = Vec::new();
    if day == 3 {
        steps.push(Step::Reload(other, Change::Toggle));
    }
    steps.push(Step::Behave(who, TROUBLES[usize::from(day)].0));
    steps.extend(all(1, Event::Started));
    steps.push(Step::Announce(DENIED, 1, Event::Started));
    steps.push(Step::Wait(60));
    match day {
        0 => steps.push(Step::Act(who, "clear")),
        1 => steps.push(Step::Act(other, "disable")),
        3 => steps.push(Step::Reload(other, Change::Toggle)),
        5 => steps.push(Step::Reload(0, Change::Rules)),
        _ => {}
    }
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
    steps.extend([Step::Crowd(8), Step::Wait(20)]);
    // There is no room for these.
    steps.extend(all(3, Event::Completed).take(3));
    steps.extend([Step::Crowd(40), Step::Wait(20)]);
    steps.extend(all(3, Event::None));
    steps.extend([Step::Wait(3), Step::Hold(false), Step::Wait(600)]);
    steps.extend(all(2, Event::Stopped));
    steps.push(Step::Wait(60));
    match day {
        1 => steps.push(Step::Act(other, "enable")),
        5 => steps.push(Step::Reload(0, Change::Rules)),
        _ => {}
    }
    if day.is_multiple_of(2) {
        steps.push(Step::Restart(300));
    }
    steps.push(Step::Behave(who, Mood::Good));
    steps.extend((0..8).map(|_| Step::Wait(10_000)));
    steps
}

impl Story {
    /// Asks for the reason of all that happened since this was last asked. Gives of what kinds it was.
    async fn ask_why(&mut self) -> BTreeSet<(&'static str, &'static str)> {
        let desk = self.desk();
        let rows = desk.decisions().await;
        let rows = rows.iter().filter(|row| row["upstream"].is_null());
        let rows: Vec<&Value> = rows.collect();
        let page = desk.listed("/decisions?front=tracker").await;
        let page: BTreeMap<u64, (String, String)> = page
            .into_iter()
            .map(|(number, at, words)| (number, (at, words)))
            .collect();
        assert_eq!(page.len(), rows.len(), "all of them are on the pages");
        let time = |row: &Value, key: &str| -> Timestamp {
            let time = row[key].as_str().expect("a time");
            time.parse().expect("a time")
        };
        let mut asked = BTreeSet::new();
        for one in &self.met.incidents {
            let at: Timestamp = one.at.parse().expect("a time");
            let answers = rows.iter().filter(|row| {
                row["kind"] == one.kind
                    && row["reason"] == one.reason
                    && (one.asker.is_none() || row["asker"].as_str() == one.asker.as_deref())
                    && time(row, "at") - REPORTED <= at
                    && at <= time(row, "last")
            });
            let answers: Vec<&&Value> = answers.collect();
            let what = format!("{} {} at {at}", one.kind, one.reason);
            assert!(!answers.is_empty(), "{what}: {rows:?}");
            for row in answers {
                let words = row["sentence"].as_str().expect("words");
                assert!(words.contains(&one.right), "{what}: {words}");
                let number = row["number"].as_u64().expect("a number");
                let (shown_at, shown) = &page[&number];
                assert_eq!(row["at"], shown_at.as_str());
                assert!(shown.starts_with(words), "{what}: {words}, {shown}");
            }
            asked.insert((one.kind, one.reason));
        }
        self.met.incidents.clear();
        asked
    }

    /// Asks for the reason of all that was decided about single forwarders and is still recorded: page and API give the
    /// same, and the one in trouble is told as such. Gives of what kinds it was.
    async fn ask_about_forwarders(&self, day: u8) -> BTreeSet<String> {
        let desk = self.desk();
        let all = desk.decisions().await;
        let mut asked = BTreeSet::new();
        for (index, name) in NAMES.iter().enumerate() {
            let rows = all.iter().filter(|row| row["upstream"] == *name);
            let rows: Vec<&Value> = rows.collect();
            let page = desk
                .listed(&format!("/upstreams/tracker/{name}?each=1"))
                .await;
            let told = rows.iter().map(|row| {
                let words = row["sentence"].as_str().expect("words");
                let at = row["at"].as_str().expect("a time");
                let number = row["number"].as_u64().expect("a number");
                (number, at.to_owned(), weir_web::without_name(name, words))
            });
            assert_eq!(page, told.collect::<Vec<_>>(), "{name}");
            asked.extend(
                rows.iter()
                    .filter_map(|row| Some(row["kind"].as_str()?.to_owned())),
            );
            if index == troubled(day) {
                let (mood, right) = TROUBLES[usize::from(day)];
                let mut words = page.iter().map(|(_, _, words)| words.to_lowercase());
                assert!(
                    words.any(|words| words.contains(&right.to_lowercase())),
                    "{mood:?}: {page:?}"
                );
            }
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
    let (mut asked, mut about_forwarders) = (BTreeSet::new(), BTreeSet::new());
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
            // A restart changes no answer.
            if matches!(step, Step::Behave(_, Mood::Good)) {
                asked.extend(story.ask_why().await);
                about_forwarders.extend(story.ask_about_forwarders(number).await);
            }
        }
    }
    story.told_later();
    assert_eq!(asked.into_iter().collect::<Vec<_>>(), INCIDENTS);
    for kind in ABOUT_FORWARDERS {
        assert!(
            about_forwarders.contains(kind),
            "{kind}: {about_forwarders:?}"
        );
    }
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
