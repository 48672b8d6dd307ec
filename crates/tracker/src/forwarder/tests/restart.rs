//! What a restart and a reload keep, and what they do not.

use weir_testkit::zoo::http::RetryAfter;

use super::*;
use crate::swarm::snapshot::GROUPS;

impl World {
    /// Stops, and gives what the next world begins with after so much time.
    pub(super) async fn stop(self, away: Duration) -> Before {
        self.forwarders.stop(SECOND).await;
        let now = FileTime {
            seconds: self.clock.now().seconds,
            wall: 0,
        };
        let ledger = self.tracker.forwarding.ledger();
        let mut files = Vec::new();
        for group in 0..GROUPS {
            // Both, whether or not something changed since the last time.
            self.tracker.swarms.not_written(group);
            ledger.not_written(group);
            let swarm = self.tracker.swarms.capture(group, now);
            let sheets = ledger.capture(group, now);
            files.extend(swarm.zip(sheets));
        }
        tokio::time::sleep(away).await;
        Before {
            state: Arc::clone(&self.disk.state),
            files,
            away: away.as_secs(),
            ..Before::default()
        }
    }

    /// The world after a stop, on a clock of its own.
    pub(super) async fn again(self, away: Duration, config: &Config) -> Self {
        let wall = self.timeline.wall(self.timeline.now()) + away;
        let network = self.network.clone();
        let before = self.stop(away).await;
        let world = Self::on(Timeline::starting_at(wall), &network, config, before);
        turn().await;
        world
    }

    /// The world after a kill: what was not handed over is lost, and so are the swarms, whose files were not written yet.
    pub(super) async fn killed(self, away: Duration, config: &Config) -> Self {
        self.disk.is_cut_off.store(true, Ordering::Relaxed);
        let wall = self.timeline.wall(self.timeline.now()) + away;
        let (network, state) = (self.network.clone(), Arc::clone(&self.disk.state));
        self.forwarders.stop(Duration::ZERO).await;
        drop(self);
        tokio::time::sleep(away).await;
        let before = Before {
            state,
            away: away.as_secs(),
            ..Before::default()
        };
        let world = Self::on(Timeline::starting_at(wall), &network, config, before);
        turn().await;
        world
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_calls_nobody_early() {
    let network = Network::new();
    let calm = tracker(&network, 1, good(1800, &["198.51.100.7:1"])).await;
    let often = tracker(&network, 2, Behaviour::Status(429, RetryAfter::None)).await;
    let later = tracker(&network, 3, Behaviour::RetryIn(5)).await;
    let gone = tracker(&network, 4, Behaviour::RetryNever).await;
    let config = config(&[
        ("calm", &calm.url()),
        ("often", &often.url()),
        ("later", &later.url()),
        ("gone", &gone.url()),
    ]);
    let trackers = [&calm, &often, &later, &gone];
    let seen = || trackers.map(|tracker| tracker.seen().len());
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    assert_eq!(seen(), [1; 4]);
    world.until(100 * SECOND).await;
    for tracker in trackers {
        tracker.set(good(1800, &["198.51.100.7:1"]));
    }
    // 100 s before, 50 s away.
    let world = world.again(50 * SECOND, &config).await;
    assert_eq!(world.state_of("often"), "cooldown 150");
    assert_eq!(world.state_of("gone"), "open", "of one torrent alone");
    assert_eq!(world.engine.status().counts.scheduled, 1);
    let reply = world.announce(1, 1).await;
    assert_eq!(
        reply.peers,
        ["198.51.100.7:1"].map(at),
        "peers are still known"
    );
    world.until(149 * SECOND).await;
    world.announce(1, 1).await;
    world.announce(1, 2).await;
    assert_eq!(seen(), [1; 4]);
    world.until(150 * SECOND).await;
    assert_eq!(seen(), [1, 1, 2, 1], "the retry comes by itself");
    world.announce(1, 1).await;
    assert_eq!(seen(), [1, 2, 2, 1]);
    world.until(1650 * SECOND).await;
    world.announce(1, 1).await;
    assert_eq!(seen(), [1, 2, 2, 1]);
    // Files tell times in whole seconds; the one that was begun is not counted.
    world.until(1651 * SECOND).await;
    world.announce(1, 1).await;
    assert_eq!(seen(), [2, 2, 2, 1]);
    let events = events(&calm.seen());
    assert_eq!(events, ["started", ""], "it knows the peer");
}

#[tokio::test(start_paused = true)]
async fn a_retry_ends_with_its_peers_and_what_is_long_over_is_asked_at_once() {
    let network = Network::new();
    let later = tracker(&network, 1, Behaviour::RetryIn(5)).await;
    let world = World::new(&network, &config(&[("a", &later.url())]));
    world.announce(1, 1).await;
    world.announce(2, 1).await;
    later.set(good(1800, &[]));
    world.until(60 * SECOND).await;
    let config = config(&[("a", &later.url())]);
    let mut before = world.stop(10 * MINUTE).await;
    let wall = SystemTime::UNIX_EPOCH + DAY + 11 * MINUTE;
    // Only the swarm of the first file is still there.
    let with = |hash: u8| {
        move |(swarm, _): &(Vec<u8>, Vec<u8>)| swarm.windows(20).any(|window| window == [hash; 20])
    };
    before.files.retain(with(1));
    let world = World::on(Timeline::starting_at(wall), &network, &config, before);
    turn().await;
    let queries = queries(&later.seen());
    assert_eq!(queries.len(), 3, "one retry");
    assert!(queries[2].contains("info_hash=%01%01"), "{}", queries[2]);
    assert_eq!(world.engine.status().counts.scheduled, 0);
}

#[tokio::test(start_paused = true)]
async fn a_reload_keeps_who_stays_ends_who_goes_and_asks_who_comes() {
    let network = Network::new();
    let (trackers, _) = crowd(&network, 4).await;
    let urls: Vec<String> = trackers.iter().map(http::Tracker::url).collect();
    trackers[0].set(good(7200, &["198.51.100.1:1"]));
    trackers[1].set(Behaviour::Status(429, RetryAfter::Seconds(3600)));
    trackers[2].set(good(1800, &["198.51.100.3:1"]));
    let before = config(&[
        ("stays", &urls[0]),
        ("throttled", &urls[1]),
        ("goes", &urls[2]),
    ]);
    let world = World::new(&network, &before);
    world.announce(1, 1).await;
    world.until(MINUTE).await;
    let after = config(&[
        ("throttled", &urls[1]),
        ("comes", &urls[3]),
        ("stays", &urls[0]),
    ]);
    world.reload(&after);
    assert_eq!(world.state_of("throttled"), "cooldown 3540");
    assert_eq!(world.engine.status().upstreams, 3);
    let reply = world.announce(1, 2).await;
    assert!(
        !reply.peers.contains(&at("198.51.100.3:1")),
        "its peers go: {reply:?}"
    );
    assert!(reply.peers.contains(&at("198.51.100.1:1")));
    let seen = || -> Vec<usize> {
        trackers
            .iter()
            .map(|tracker| tracker.seen().len())
            .collect()
    };
    assert_eq!(
        seen(),
        [1, 1, 1, 1],
        "who comes is asked with the next announce"
    );
    world.until(2 * MINUTE).await;
    world.event(1, 1, Event::Stopped).await;
    assert_eq!(events(&trackers[0].seen()), ["started", "stopped"]);
    assert_eq!(
        events(&trackers[2].seen()),
        ["started"],
        "who is gone hears nothing"
    );
    world.until(2 * HOUR).await;
    world.announce(1, 2).await;
    assert_eq!(seen()[0], 3, "its time counted on");
}

#[tokio::test(start_paused = true)]
async fn who_comes_is_asked_although_nobody_else_is_due() {
    let network = Network::new();
    let old = tracker(&network, 1, good(7200, &[])).await;
    let new = tracker(&network, 2, good(7200, &[])).await;
    let world = World::new(&network, &config(&[("old", &old.url())]));
    world.announce(1, 1).await;
    world.until(MINUTE).await;
    world.reload(&config(&[("old", &old.url()), ("new", &new.url())]));
    world.announce(1, 1).await;
    assert_eq!((old.seen().len(), new.seen().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_forwarder_with_another_url_begins_anew() {
    let network = Network::new();
    let old = tracker(&network, 1, Behaviour::Status(429, RetryAfter::None)).await;
    let new = tracker(&network, 2, good(1800, &[])).await;
    let world = World::new(&network, &config(&[("a", &old.url())]));
    world.announce(1, 1).await;
    world.announce(2, 2).await;
    world.until(MINUTE).await;
    world.reload(&config(&[("a", &new.url())]));
    assert_eq!(world.state_of("a"), "untried");
    world.event(1, 1, Event::Stopped).await;
    assert_eq!(
        events(&new.seen()),
        [""; 0],
        "it was never told of this peer"
    );
    world.announce(2, 2).await;
    assert_eq!(events(&new.seen()), ["started"]);
    assert_eq!(old.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_forwarder_that_comes_back_is_in_the_same_cooldown() {
    let network = Network::new();
    let busy = Behaviour::Status(429, RetryAfter::Seconds(600));
    let old = tracker(&network, 1, busy).await;
    let with = config(&[("a", &old.url())]);
    let world = World::new(&network, &with);
    world.announce(1, 1).await;
    assert_eq!(world.state_of("a"), "cooldown 600");
    let mut without = with.clone();
    without.forwarders.clear();
    world.reload(&without);
    world.until(MINUTE).await;
    world.reload(&with);
    assert_eq!(world.state_of("a"), "cooldown 540");
    world.announce(1, 1).await;
    assert_eq!(old.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn jobs_of_a_forwarder_that_goes_end() {
    let network = Network::new();
    let (trackers, config) = crowd(&network, 2).await;
    let world = World::new(&network, &config);
    world.engine.hold();
    world.announce(1, 1).await;
    assert_eq!(world.engine.status().counts.queued, 2);
    let mut fewer = config.clone();
    fewer.forwarders.remove(0);
    world.reload(&fewer);
    assert_eq!(world.engine.status().counts.queued, 1);
    world.engine.release();
    turn().await;
    assert_eq!(asked(&trackers[..1]), 0);
    assert_eq!(asked(&trackers[1..]), 1);
    let none = Config {
        forwarders: Vec::new(),
        ..config
    };
    world.reload(&none);
    assert_eq!(world.announce(2, 1).await.interval, 1800, "nobody is asked");
}

#[tokio::test(start_paused = true)]
async fn what_a_tracker_never_wants_outlives_a_restart() {
    let network = Network::new();
    let tracker = tracker(&network, 1, Behaviour::RetryNever).await;
    let config = config(&[("a", &tracker.url())]);
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    world.announce(2, 1).await;
    let world = world.again(MINUTE, &config).await;
    world.announce(1, 1).await;
    assert_eq!(
        (tracker.seen().len(), world.state_of("a").as_str()),
        (2, "open")
    );
    let world = world.again(MINUTE, &config).await;
    world.announce(3, 1).await;
    assert_eq!(world.state_of("a"), "disabled 86400", "the third");
    let world = world.again(MINUTE, &config).await;
    world.engine.clear(world.view("a").figures.upstream, "me");
    tracker.set(good(1800, &[]));
    world.announce(4, 1).await;
    tracker.set(Behaviour::RetryNever);
    let world = world.again(MINUTE, &config).await;
    for swarm in [5, 6] {
        world.announce(swarm, 1).await;
        assert_eq!(world.state_of("a"), "open", "its answer counts then, too");
    }
}

#[tokio::test(start_paused = true)]
async fn records_say_whose_program_a_call_was_made_for() {
    let network = Network::new();
    let tracker = tracker(&network, 1, Behaviour::RetryIn(5)).await;
    let config = config(&[("a", &tracker.url())]);
    let world = World::new(&network, &config);
    let first = Announce {
        peer_id: PeerId(*b"-qB4650-abcdefghijkl"),
        ..announce(1, 1, Event::Started)
    };
    world.ask_as(&first, 1).expect("a reply");
    turn().await;
    world.announce(2, 2).await;
    let askers = |world: &World| {
        let upstream = world.view("a").figures.upstream;
        let decisions = world.engine.decisions(upstream, None, 100);
        let started = decisions.iter().rev().filter(|decision| {
            matches!(decision.what, weir_engine::dispatch::What::Started { .. })
        });
        let name = |asker| {
            let name = world.engine.asker_name(asker);
            name.map_or_else(String::new, |name| name.to_string())
        };
        started
            .map(|decision| name(decision.asker))
            .collect::<Vec<_>>()
    };
    assert_eq!(askers(&world), ["qBittorrent 4.6.5", ""]);
    let world = world.again(10 * MINUTE, &config).await;
    world.until(SECOND).await;
    let mut after = askers(&world);
    after.sort();
    assert_eq!(
        after,
        ["", "", "qBittorrent 4.6.5", "qBittorrent 4.6.5"],
        "the calls before the restart, and their retries after it"
    );
}

#[tokio::test(start_paused = true)]
async fn the_last_interval_and_the_last_error_are_told_after_a_restart() {
    let network = Network::new();
    let [calm, broken] = [
        tracker(&network, 1, good(1234, &[])).await,
        tracker(&network, 2, Behaviour::Status(500, RetryAfter::None)).await,
    ];
    let config = config(&[("calm", &calm.url()), ("broken", &broken.url())]);
    let world = World::new(&network, &config);
    world.announce(1, 1).await;
    // All attempts are over, so that nobody is called at the start.
    world.until(MINUTE).await;
    let told = |world: &World| {
        let [calm, broken] = ["calm", "broken"].map(|name| world.view(name));
        let interval = world.forwarders.last_interval(calm.figures.upstream);
        let (at, words) = broken.last_error.expect("it failed");
        (interval, at, words, broken.last_call, broken.trouble)
    };
    let before = told(&world);
    assert_eq!(before.0, Some(1234 * SECOND));
    let world = world.again(50 * SECOND, &config).await;
    assert_eq!(told(&world), before);
}
