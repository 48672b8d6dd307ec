//! Listeners in memory: what each gets, and in which order.

use futures_util::{FutureExt, StreamExt};

use super::*;
use crate::live::{mailbox::Reading, topic::Whom};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn hub() -> Arc<Hub> {
    Arc::new(Hub::new(Timestamp::from_millisecond(0x10).unwrap()))
}

/// One listener, and what it was sent: `event data`, without ids.
struct Ears {
    subscription: Subscription,
    reading: Reading,
}

impl Ears {
    fn open(hub: &Arc<Hub>, topics: &[Topic], last: Option<&str>) -> Self {
        let subscription = hub.subscribe(topics.to_vec(), Pass::Open, last).unwrap();
        let reading = Reading(subscription.mailbox.clone());
        Self {
            subscription,
            reading,
        }
    }

    fn frames(&mut self) -> Vec<String> {
        let mut all = std::mem::take(&mut self.subscription.first);
        while let Some(Some(Ok(frame))) = self.reading.next().now_or_never() {
            all.push(frame);
        }
        let text = |frame: Bytes| String::from_utf8(frame.to_vec()).unwrap();
        all.into_iter().map(text).collect()
    }

    fn heard(&mut self) -> Vec<String> {
        let frames = self
            .frames()
            .into_iter()
            .filter(|frame| frame.starts_with("id: "));
        let words = frames.map(|frame| {
            let field = |name: &str| {
                let line = frame.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap_or_default().to_owned()
            };
            match field("event: ") {
                name if name == "missed" => name,
                name => format!("{name} {}", field("data: ")),
            }
        });
        words.collect()
    }

    /// The id of the last event.
    fn last(&mut self) -> String {
        let last = self.frames().pop().unwrap();
        last.lines()
            .find_map(|line| line.strip_prefix("id: "))
            .unwrap()
            .to_owned()
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.reading.next().now_or_never(), Some(None))
    }
}

fn wanted(hub: &Hub) -> Vec<(String, bool, bool)> {
    let wanted = hub.wanted(|_| true).unwrap_or_default().into_iter();
    wanted
        .map(|one| (one.topic.to_string(), one.changes, one.whole))
        .collect()
}

fn happened(topic: Topic, data: &str) -> MadeEvent {
    let (name, made) = (topic.word(), Made::Happened(Some(data.to_owned())));
    MadeEvent { topic, name, made }
}

fn state(topic: Topic, changed: Option<&str>, whole: Option<&str>) -> MadeEvent {
    let own = |text: Option<&str>| text.map(ToOwned::to_owned);
    let made = Made::State {
        changed: own(changed),
        whole: own(whole),
    };
    MadeEvent {
        topic,
        name: "parts",
        made,
    }
}

#[test]
fn everybody_gets_the_same_bytes_and_newcomers_the_whole() {
    let hub = hub();
    let topic = || Topic::Overview("1h");
    let mut old = Ears::open(&hub, &[topic()], None);
    assert_eq!(wanted(&hub), [("page:overview:1h".to_owned(), false, true)]);
    hub.deliver(vec![state(topic(), None, Some("A"))], NOW);
    assert_eq!(old.heard(), ["parts A"]);
    let mut new = Ears::open(&hub, &[topic()], None);
    assert_eq!(wanted(&hub), [("page:overview:1h".to_owned(), true, true)]);
    // Somebody comes while it is being made.
    let mut late = Ears::open(&hub, &[topic()], None);
    hub.deliver(vec![state(topic(), Some("b"), Some("AB"))], NOW);
    assert_eq!(
        (old.heard(), new.heard()),
        (vec!["parts b".to_owned()], vec!["parts AB".to_owned()])
    );
    assert_eq!(late.heard(), ["parts AB"], "a whole is a whole");
    let mut later = Ears::open(&hub, &[topic()], None);
    hub.deliver(vec![state(topic(), Some("c"), None)], NOW);
    assert_eq!(later.heard(), [""; 0], "a change of nothing is not told");
    assert!(wanted(&hub)[0].2, "it still waits for the whole");
    hub.deliver(vec![state(topic(), None, Some("ABC"))], NOW);
    assert_eq!(later.heard(), ["parts ABC"]);
    assert_eq!(old.heard(), ["parts c"]);
}

#[test]
fn events_are_in_order_and_each_hears_only_its_topics() {
    let hub = hub();
    let mut both = Ears::open(
        &hub,
        &[Topic::Decisions, Topic::States, Topic::States],
        None,
    );
    let mut one = Ears::open(&hub, &[Topic::States], None);
    let topics: Vec<_> = wanted(&hub).into_iter().map(|one| one.0).collect();
    assert_eq!(topics, ["states", "decisions"], "each once");
    for round in 0..3 {
        let events =
            [Topic::States, Topic::Decisions].map(|topic| happened(topic, &round.to_string()));
        hub.deliver(events.into(), NOW);
    }
    assert_eq!(one.heard(), ["states 0", "states 1", "states 2"]);
    let all = [
        "states 0",
        "decisions 0",
        "states 1",
        "decisions 1",
        "states 2",
        "decisions 2",
    ];
    assert_eq!(both.heard(), all);
}

#[test]
fn whoever_comes_back_gets_what_was_missed() {
    let hub = hub();
    let topics = [Topic::States, Topic::Decisions];
    let mut cut = Ears::open(&hub, &topics, None);
    wanted(&hub);
    hub.deliver(vec![happened(Topic::States, "1")], NOW);
    let last = cut.last();
    assert_eq!(last, "10-1");
    drop(cut);
    // Nobody is there, and still it is made.
    assert_eq!(wanted(&hub).len(), 2);
    hub.deliver(
        vec![
            happened(Topic::States, "2"),
            happened(Topic::Decisions, "3"),
        ],
        NOW,
    );
    let mut back = Ears::open(&hub, &topics, Some(&last));
    wanted(&hub);
    hub.deliver(vec![happened(Topic::States, "4")], NOW);
    assert_eq!(back.heard(), ["states 2", "decisions 3", "states 4"]);
    let mut only = Ears::open(&hub, &[Topic::Decisions], Some(&last));
    assert_eq!(only.heard(), ["decisions 3"]);
    let mut newest = Ears::open(&hub, &topics, Some("10-4"));
    assert_eq!(newest.heard(), [""; 0]);
}

#[test]
fn what_cannot_be_told_again_is_called_missed() {
    let hub = hub();
    let _states = Ears::open(&hub, &[Topic::States], None);
    wanted(&hub);
    hub.deliver(vec![happened(Topic::States, "1")], NOW);
    let heard = |topic: Topic, last: &str| Ears::open(&hub, &[topic], Some(last)).heard();
    for last in [
        "10-9",
        "9-1",
        "11-1",
        "",
        "x",
        "10-",
        "10--1",
        "\"é",
        "10-99999999999999999999",
    ] {
        assert_eq!(heard(Topic::States, last), ["missed"], "{last}");
    }
    assert_eq!(
        heard(Topic::Decisions, "10-0"),
        ["missed"],
        "nobody listened to it then"
    );
    assert_eq!(
        heard(Topic::Overview("1h"), "x"),
        [""; 0],
        "pages get the whole anyway"
    );
    assert_eq!(heard(Topic::States, "10-0"), ["states 1"]);
    for number in 0..3000 {
        hub.deliver(vec![happened(Topic::States, &number.to_string())], NOW);
    }
    assert_eq!(
        heard(Topic::States, "10-1"),
        ["missed"],
        "the ring is bounded"
    );
    assert_eq!(heard(Topic::States, "10-3000"), ["states 2999"]);
}

#[test]
fn a_minute_after_the_last_one_left_all_is_forgotten() {
    let hub = hub();
    let mut ears = Ears::open(&hub, &[Topic::States, Topic::Decided], None);
    assert_eq!(wanted(&hub).len(), 2);
    hub.deliver(vec![happened(Topic::States, "1")], NOW);
    let last = ears.last();
    drop(ears);
    for second in 0..LINGER {
        assert_eq!(wanted(&hub).len(), 1, "{second}: pages need no memory");
    }
    assert!(hub.wanted(|_| true).is_none());
    assert!(hub.somebody().now_or_never().is_none(), "it sleeps");
    let mut back = Ears::open(&hub, &[Topic::States], Some(&last));
    assert_eq!(back.heard(), ["missed"]);
    assert!(hub.somebody().now_or_never().is_some());
}

#[test]
fn a_slow_listener_is_told_so_and_gets_the_whole() {
    let hub = hub();
    let topic = || Topic::Overview("1h");
    let mut slow = Ears::open(&hub, &[topic(), Topic::States], None);
    let mut quick = Ears::open(&hub, &[topic()], None);
    wanted(&hub);
    for _ in 0..300 {
        hub.deliver(vec![state(topic(), Some("x"), Some("x"))], NOW);
    }
    assert_eq!(
        wanted(&hub)[1],
        ("page:overview:1h".to_owned(), true, false)
    );
    assert_eq!((slow.heard().len(), quick.heard().len()), (256, 256));
    hub.deliver(vec![state(topic(), Some("y"), None)], NOW);
    assert_eq!(slow.heard(), [""; 0], "not before it was told");
    assert_eq!(
        wanted(&hub)[1],
        ("page:overview:1h".to_owned(), false, true)
    );
    hub.deliver(vec![state(topic(), None, Some("Z"))], NOW);
    assert_eq!(slow.heard(), ["missed", "parts Z"]);
}

#[test]
fn whoever_never_reads_has_to_go() {
    let hub = hub();
    let mut stuck = Ears::open(&hub, &[Topic::States], None);
    wanted(&hub);
    for _ in 0..300 {
        hub.deliver(vec![happened(Topic::States, "x")], NOW);
    }
    for _ in 0..STUCK {
        wanted(&hub);
        assert_eq!(hub.listeners(), 1);
    }
    wanted(&hub);
    assert_eq!(hub.listeners(), 0);
    assert_eq!(stuck.heard().len(), 256);
    assert!(stuck.has_ended());
}

#[test]
fn streams_end_with_the_right_to_them_and_with_weir() {
    let hub = hub();
    let subscribe = |pass| hub.subscribe(vec![Topic::States], pass, None).unwrap();
    let (key, session) = (Pass::Key([1; 32]), Pass::Session([2; 32]));
    let places = [subscribe(key), subscribe(session)];
    let mut readings = places
        .each_ref()
        .map(|place| Reading(place.mailbox.clone()));
    hub.wanted(|pass| *pass == key);
    assert!(readings[0].next().now_or_never().is_none());
    assert_eq!(readings[1].next().now_or_never(), Some(None));
    hub.close();
    assert_eq!(readings[0].next().now_or_never(), Some(None));
    let refused = hub.subscribe(vec![Topic::States], key, None);
    assert_eq!(refused.err(), Some(NotHeard::Closed));
    drop(places);
}

#[test]
fn silence_is_broken_by_a_comment() {
    let hub = hub();
    let mut ears = Ears::open(&hub, &[Topic::States], None);
    assert!(ears.frames()[0].starts_with("retry: "));
    let mut pings = Vec::new();
    for second in 0..40 {
        wanted(&hub);
        let events = if second == 5 {
            vec![happened(Topic::States, "x")]
        } else {
            Vec::new()
        };
        hub.deliver(events, NOW);
        pings.extend(
            ears.frames()
                .into_iter()
                .filter(|frame| frame == ": ping\n\n")
                .map(|_| second),
        );
    }
    assert_eq!(pings, [5 + 15, 5 + 30]);
}

#[test]
fn different_parts_of_pages_are_bounded() {
    let hub = hub();
    let rows = |from: usize| -> Vec<Topic> {
        let names = (from..from + 64).map(|number| number.to_string());
        names
            .map(|name| Topic::Row(Whom::new("search", &name)))
            .collect()
    };
    let mut open: Vec<Ears> = (0..64)
        .map(|n| Ears::open(&hub, &rows(n * 64), None))
        .collect();
    let more = |topics| hub.subscribe(topics, Pass::Open, None).err();
    assert_eq!(more(rows(5000)), Some(NotHeard::Full));
    assert_eq!(more(rows(0)), None, "the same ones again");
    assert_eq!(more(vec![Topic::States]), None);
    open.truncate(1);
    wanted(&hub);
    assert_eq!(more(rows(5000)), None);
}

#[test]
fn after_a_panic_everybody_begins_again() {
    let hub = hub();
    let topic = || Topic::Overview("1h");
    let mut ears = Ears::open(&hub, &[topic(), Topic::States], None);
    wanted(&hub);
    hub.deliver(
        vec![
            state(topic(), None, Some("A")),
            happened(Topic::States, "1"),
        ],
        NOW,
    );
    let last = ears.last();
    hub.lose_track();
    assert!(wanted(&hub)[1].2);
    hub.deliver(vec![state(topic(), Some("b"), Some("AB"))], NOW);
    assert_eq!(ears.heard(), ["missed", "parts AB"]);
    assert_eq!(
        Ears::open(&hub, &[Topic::States], Some(&last)).heard(),
        ["missed"]
    );
}
