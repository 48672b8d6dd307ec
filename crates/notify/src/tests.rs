//! The whole front before scripted hooks, in memory and with paused time: when is who told what?

mod answers;
mod web;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;
use weir_config::{Secret, SecretUrl};
use weir_engine::dispatch::{Moment, UpstreamId};
use weir_engine::{Engine, Kind, Options, Outward, Standing, Timeline, Weather};
use weir_net::Ground;
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::hook::{Behaviour, Hook, Received};

use crate::config::Config;
use crate::config::hook::{EventKind, HookEntry, HookKind};
use crate::front::Front;
use crate::keep::{Keep, KeptRows};
use crate::model::{Model, Surroundings};
use crate::policy::policy;
use crate::rules::split;
use crate::subject::{Subject, Whom};
use crate::tower::Tower;
use crate::watch::{Happening, Seen, Sightings, Turn};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
/// The wall time at which worlds begin: midnight.
const BEGINS: u64 = 20_000 * 86_400;

/// A clock that stands still with the engine's.
struct Follows(Timeline);

impl weir_web::Clock for Follows {
    fn now(&self) -> Timestamp {
        let wall = self.0.wall(self.0.now());
        Timestamp::try_from(wall).expect("a time of this century")
    }
}

/// What the other fronts look like.
#[derive(Clone, Default)]
struct Scenery(Arc<Mutex<(Sightings, bool)>>);

impl Scenery {
    fn set(&self, subject: Subject, seen: Seen) {
        self.0.lock().0.insert(subject, seen);
    }

    fn set_network_down(&self, down: bool, since: Moment) {
        self.0.lock().1 = down;
        let seen = if down {
            Seen::Bad { since }
        } else {
            Seen::Fine
        };
        self.set(Subject::Network, seen);
    }
}

impl Tower for Scenery {
    fn look(&self, _now: Moment) -> Sightings {
        self.0.lock().0.clone()
    }

    fn is_network_down(&self) -> bool {
        self.0.lock().1
    }

    fn tell(&self, happening: &Happening) -> (String, String) {
        let what = match happening.turn {
            Turn::Began { .. } => "began",
            Turn::Ended { .. } => "ended",
        };
        let words = format!("{} {what}", happening.subject);
        (words.clone(), format!("{words}."))
    }
}

/// A running front.
struct World {
    model: Arc<Model>,
    scenery: Scenery,
    kept: Arc<Mutex<KeptRows>>,
    engine: Engine,
    timeline: Timeline,
    began: Instant,
}

impl World {
    fn new(ground: Arc<dyn Ground>, config: &Config) -> Self {
        Self::after(
            ground,
            config,
            Arc::default(),
            Scenery::default(),
            Duration::ZERO,
        )
    }

    /// A world that finds what another has kept, so long after the beginning of that one.
    fn after(
        ground: Arc<dyn Ground>,
        config: &Config,
        kept: Arc<Mutex<KeptRows>>,
        scenery: Scenery,
        later: Duration,
    ) -> Self {
        let wall = UNIX_EPOCH + Duration::from_secs(BEGINS) + later;
        let timeline = Timeline::starting_at(wall);
        let options = Options {
            seed: Some(7),
            ..Options::new(timeline, Weather::default())
        };
        let general = weir_testkit::policy::general();
        let engine = Engine::new("notify", policy(general, config), options);
        let outward = Outward::without_rows(engine.clone(), ground);
        let surroundings = Surroundings {
            keep: Keep::Memory(kept.clone()),
            clock: Arc::new(Follows(timeline)),
            host: "mill".into(),
        };
        let model = Model::open(config, outward, surroundings).expect("a model");
        let model = Arc::new(model);
        Front::watch(&model, Box::new(scenery.clone()));
        Self {
            model,
            scenery,
            kept,
            engine,
            timeline,
            began: Instant::now(),
        }
    }

    fn now(&self) -> Moment {
        self.timeline.now()
    }

    /// An upstream of another front is down from now on, or works.
    fn upstream(&self, name: &str, is_down: bool) {
        let subject = Subject::Upstream(Whom::new("search", name));
        let bad = Seen::Bad { since: self.now() };
        self.scenery
            .set(subject, if is_down { bad } else { Seen::Fine });
    }

    fn standing(&self) -> Standing {
        self.engine
            .upstream(UpstreamId(0))
            .expect("the hook")
            .figures
            .standing
    }

    fn last_error(&self) -> String {
        let view = self.engine.upstream(UpstreamId(0)).expect("the hook");
        view.last_error
            .map_or_else(String::new, |(_, words)| words.to_string())
    }

    /// Stops as a clean stop does.
    async fn stop(self) -> (Arc<Mutex<KeptRows>>, Scenery) {
        let front = Front::of_tests(self.model);
        weir_web::Front::stop(&front, 10 * SECOND).await;
        (self.kept, self.scenery)
    }
}

fn address(number: u8) -> SocketAddr {
    SocketAddr::from(([203, 0, 113, number], 80))
}

async fn hook(network: &Network, number: u8, behaviour: Behaviour) -> Hook {
    let started = Hook::start(Place::Memory(network, address(number)), behaviour).await;
    started.expect("memory has room")
}

fn entry(name: &str, hook: &Hook, kind: HookKind) -> HookEntry {
    HookEntry {
        name: name.to_owned(),
        url: SecretUrl::parse(&hook.url("/hooks/s3cr3t-part")).expect("a URL"),
        kind,
        events: vec![
            EventKind::Down,
            EventKind::Back,
            EventKind::Quota,
            EventKind::Overload,
            EventKind::Network,
        ],
        down_after: None,
        secret: None,
        token: None,
        priority: 3,
        tags: Vec::new(),
        timeout: 10 * SECOND,
        proxy: None,
    }
}

fn config(hooks: Vec<HookEntry>) -> Config {
    Config {
        hooks,
        ..Config::default()
    }
}

/// The events of a message to a webhook: what happened to whom, and the IDs.
fn events(received: &Received) -> Vec<(String, String, String)> {
    let body: Value = serde_json::from_str(&received.body).expect("JSON");
    let events = body["events"].as_array().expect("events").iter();
    let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    events
        .map(|event| {
            (
                text(event, "event"),
                text(event, "upstream"),
                text(event, "id"),
            )
        })
        .collect()
}

/// When messages came, in seconds since the beginning.
fn times(world: &World, hook: &Hook) -> Vec<u64> {
    let received = hook.received();
    let times = received
        .iter()
        .map(|one| one.at.duration_since(world.began).as_secs());
    times.collect()
}

#[tokio::test(start_paused = true)]
async fn an_outage_and_its_end_are_told_once_each() {
    let network = Network::new();
    let hook = hook(&network, 1, Behaviour::good()).await;
    let world = World::new(
        network.ground(),
        &config(vec![entry("a", &hook, HookKind::Webhook)]),
    );
    world.upstream("harbor", true);
    tokio::time::sleep(30 * MINUTE).await;
    world.upstream("harbor", false);
    tokio::time::sleep(HOUR).await;
    let received = hook.received();
    let all: Vec<_> = received
        .iter()
        .flat_map(events)
        .map(|one| (one.0, one.1))
        .collect();
    let told = |event: &str| (event.to_owned(), "harbor".to_owned());
    assert_eq!(all, [told("down"), told("back")]);
    let times = times(&world, &hook);
    assert!((600..=610).contains(&times[0]), "{times:?}");
    assert!((32 * 60..=32 * 60 + 10).contains(&times[1]), "{times:?}");
    assert!(
        received[0].head.starts_with("POST /hooks/s3cr3t-part "),
        "{}",
        received[0].head
    );
    assert_eq!(received[0].header("content-type"), Some("application/json"));
    assert_eq!(
        received[0].header("x-weir-signature"),
        None,
        "there is no key"
    );
}

#[tokio::test(start_paused = true)]
async fn a_mass_outage_is_one_message_with_a_count() {
    let network = Network::new();
    let hook = hook(&network, 1, Behaviour::good()).await;
    let world = World::new(
        network.ground(),
        &config(vec![entry("a", &hook, HookKind::Webhook)]),
    );
    for number in 0..34 {
        world.upstream(&format!("site-{number}"), true);
    }
    tokio::time::sleep(HOUR).await;
    let received = hook.received();
    assert_eq!(received.len(), 1);
    let body: Value = serde_json::from_str(&received[0].body).expect("JSON");
    assert_eq!(body["events"].as_array().map(Vec::len), Some(20));
    assert_eq!(body["more"], 14);
    let text = body["text"].as_str().expect("text");
    assert!(text.contains("\nand 14 more\nWeir on mill"), "{text}");
    assert_eq!(body["title"], "Weir: 20 down, 14 more");
}

#[tokio::test(start_paused = true)]
async fn there_is_at_most_one_message_a_minute_and_nothing_is_lost_or_told_twice() {
    let network = Network::new();
    let hook = hook(&network, 1, Behaviour::good()).await;
    let mut config = config(vec![entry("a", &hook, HookKind::Webhook)]);
    config.hooks[0].down_after = Some(Duration::ZERO);
    let world = World::new(network.ground(), &config);
    for number in 0..100 {
        world.upstream(&format!("site-{number}"), true);
        tokio::time::sleep(7 * SECOND).await;
    }
    tokio::time::sleep(5 * MINUTE).await;
    let times = times(&world, &hook);
    assert!(
        times.windows(2).all(|two| two[1] - two[0] >= 59),
        "{times:?}"
    );
    assert!(times.len() >= 10, "{times:?}");
    let all: Vec<_> = hook.received().iter().flat_map(events).collect();
    let mut names: Vec<&str> = all.iter().map(|one| &*one.1).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), all.len()), (100, 100));
}

#[tokio::test(start_paused = true)]
async fn a_restart_sends_nothing_twice_and_delivers_what_waited() {
    let network = Network::new();
    let hook = hook(&network, 1, Behaviour::good()).await;
    let config = config(vec![entry("a", &hook, HookKind::Webhook)]);
    let world = World::new(network.ground(), &config);
    world.upstream("harbor", true);
    tokio::time::sleep(20 * MINUTE).await;
    assert_eq!(hook.received().len(), 1);
    // The hook is dead when the next event comes, and Weir is killed: nothing is stopped properly.
    hook.set(Behaviour::Says(500, String::new()));
    world.upstream("lake", true);
    tokio::time::sleep(15 * MINUTE).await;
    let tried = hook.received().len();
    assert!(tried > 1);
    let (kept, scenery) = (world.kept.clone(), world.scenery.clone());
    world.model.lifetime.leave();
    world.engine.shutdown(Duration::ZERO).await;
    hook.set(Behaviour::good());
    let world = World::after(network.ground(), &config, kept, scenery, 36 * MINUTE);
    tokio::time::sleep(HOUR).await;
    let received = hook.received();
    let new: Vec<_> = received[tried..]
        .iter()
        .flat_map(events)
        .map(|one| (one.0, one.1))
        .collect();
    assert_eq!(new, [("down".to_owned(), "lake".to_owned())]);
    // And the ends of both are told.
    world.upstream("harbor", false);
    world.upstream("lake", false);
    tokio::time::sleep(HOUR).await;
    let received = hook.received();
    let mut new: Vec<_> = received[tried + 1..].iter().flat_map(events).collect();
    new.sort_by(|one, other| one.1.cmp(&other.1));
    let new: Vec<_> = new.into_iter().map(|one| (one.0, one.1)).collect();
    let back = |name: &str| ("back".to_owned(), name.to_owned());
    assert_eq!(new, [back("harbor"), back("lake")]);
    drop(world);
}

#[tokio::test(start_paused = true)]
async fn a_clean_stop_does_not_wait_for_a_hook_that_cools_down() {
    let network = Network::new();
    let hook = hook(&network, 1, Behaviour::Says(500, String::new())).await;
    let config = config(vec![entry("a", &hook, HookKind::Webhook)]);
    let world = World::new(network.ground(), &config);
    world.upstream("harbor", true);
    tokio::time::sleep(20 * MINUTE).await;
    let began = Instant::now();
    let (kept, scenery) = world.stop().await;
    assert!(began.elapsed() < 2 * SECOND, "{:?}", began.elapsed());
    hook.set(Behaviour::good());
    let before = hook.received().len();
    let _world = World::after(network.ground(), &config, kept, scenery, 21 * MINUTE);
    tokio::time::sleep(5 * MINUTE).await;
    let all: Vec<_> = hook.received()[before..].iter().flat_map(events).collect();
    assert_eq!(all.len(), 1, "what waited is told after the start");
}

#[tokio::test(start_paused = true)]
async fn a_reload_keeps_what_hooks_were_told() {
    let network = Network::new();
    let (first, second) = (
        hook(&network, 1, Behaviour::good()).await,
        hook(&network, 2, Behaviour::good()).await,
    );
    let one = entry("a", &first, HookKind::Webhook);
    let world = World::new(network.ground(), &config(vec![one.clone()]));
    world.upstream("harbor", true);
    tokio::time::sleep(20 * MINUTE).await;
    assert_eq!(first.received().len(), 1);
    // Another hook joins, and the first is called elsewhere under the same name.
    let moved = HookEntry {
        url: SecretUrl::parse(&first.url("/hooks/other")).expect("a URL"),
        ..one
    };
    let more = config(vec![moved, entry("b", &second, HookKind::Webhook)]);
    world.model.apply(split(&more).1);
    tokio::time::sleep(20 * MINUTE).await;
    assert_eq!(first.received().len(), 1, "it knows");
    assert_eq!(second.received().len(), 1, "it hears what is still so");
    // The second goes, and is forgotten.
    world
        .model
        .apply(split(&config(more.hooks[..1].to_vec())).1);
    world.upstream("harbor", false);
    tokio::time::sleep(20 * MINUTE).await;
    assert_eq!((first.received().len(), second.received().len()), (2, 1));
    assert!(first.received()[1].head.starts_with("POST /hooks/other "));
    let kept = format!("{:?}", world.kept.lock());
    assert!(!kept.contains("(\"b\""), "{kept}");
}

#[tokio::test(start_paused = true)]
async fn what_happened_while_our_network_was_down_is_told_when_it_is_back() {
    let network = Network::new();
    let hook = hook(&network, 1, Behaviour::good()).await;
    let world = World::new(
        network.ground(),
        &config(vec![entry("a", &hook, HookKind::Webhook)]),
    );
    world.scenery.set_network_down(false, world.now());
    world
        .scenery
        .set(Subject::Front("tracker".into()), Seen::Fine);
    tokio::time::sleep(5 * MINUTE).await;
    world.scenery.set_network_down(true, world.now());
    network.set_down(true);
    let overload = Seen::Bad { since: world.now() };
    world
        .scenery
        .set(Subject::Front("tracker".into()), overload);
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!(
        network.connections(address(1)),
        0,
        "nobody is called in vain"
    );
    assert_eq!(
        world.standing(),
        Standing::Untried,
        "and the hook is not blamed"
    );
    assert_eq!(
        world.engine.status().counters.asked,
        0,
        "nothing is even queued: its records would tell of calls that were not made"
    );
    network.set_down(false);
    world.scenery.set_network_down(false, world.now());
    tokio::time::sleep(20 * MINUTE).await;
    let all: Vec<_> = hook
        .received()
        .iter()
        .flat_map(events)
        .map(|one| one.0)
        .collect();
    assert_eq!(all, ["overload", "network"]);
    let last = hook.received().last().expect("a message").body.clone();
    let last: Value = serde_json::from_str(&last).expect("JSON");
    let event = &last["events"][0];
    assert_eq!(event["since"], "2024-10-04T00:05:00Z");
    let until = event["until"].as_str().expect("an end");
    assert!(until.starts_with("2024-10-04T00:35:0"), "{until}");
}

#[tokio::test(start_paused = true)]
async fn a_hook_next_door_is_told_at_once_that_the_network_is_down() {
    let network = Network::new();
    let near = SocketAddr::from(([192, 168, 1, 7], 80));
    let hook = Hook::start(Place::Memory(&network, near), Behaviour::good()).await;
    let hook = hook.expect("memory has room");
    let world = World::new(
        network.ground(),
        &config(vec![entry("a", &hook, HookKind::Webhook)]),
    );
    world.scenery.set_network_down(true, world.now());
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(hook.received().len(), 1);
    world.scenery.set_network_down(false, world.now());
    tokio::time::sleep(10 * MINUTE).await;
    let all: Vec<_> = hook
        .received()
        .iter()
        .flat_map(events)
        .map(|one| one.0)
        .collect();
    assert_eq!(all, ["network", "network"]);
}

#[tokio::test(start_paused = true)]
async fn a_hook_hears_only_of_the_events_it_wants() {
    let network = Network::new();
    let hook = hook(&network, 1, Behaviour::good()).await;
    let mut config = config(vec![entry("a", &hook, HookKind::Webhook)]);
    config.hooks[0].events = vec![EventKind::Back];
    config.hooks[0].down_after = Some(HOUR);
    let world = World::new(network.ground(), &config);
    world.upstream("harbor", true);
    tokio::time::sleep(30 * MINUTE).await;
    world.upstream("harbor", false);
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!(hook.received().len(), 0, "it was not down for an hour");
    world.upstream("harbor", true);
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(hook.received().len(), 0);
    world.upstream("harbor", false);
    tokio::time::sleep(30 * MINUTE).await;
    let all: Vec<_> = hook
        .received()
        .iter()
        .flat_map(events)
        .map(|one| one.0)
        .collect();
    assert_eq!(all, ["back"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_switched_off_is_told_nothing_until_it_is_on() {
    let network = Network::new();
    let hook = hook(&network, 1, Behaviour::good()).await;
    let world = World::new(
        network.ground(),
        &config(vec![entry("a", &hook, HookKind::Webhook)]),
    );
    tokio::time::sleep(SECOND).await;
    world
        .engine
        .switch_off(UpstreamId(0), "holiday", "operator");
    world.upstream("harbor", true);
    world.upstream("lake", true);
    tokio::time::sleep(30 * MINUTE).await;
    world.upstream("lake", false);
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!(hook.received().len(), 0);
    world.engine.switch_on(UpstreamId(0), "me");
    tokio::time::sleep(5 * MINUTE).await;
    let all: Vec<_> = hook
        .received()
        .iter()
        .flat_map(events)
        .map(|one| (one.0, one.1))
        .collect();
    assert_eq!(all, [("down".to_owned(), "harbor".to_owned())]);
}
