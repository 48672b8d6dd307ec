//! Random histories of a tracker with forwarders that fail in turn, a queue that fills, operators, reloads and restarts:
//! pages, API, figures and records say the same about all of it, and what they say about the future comes true.

mod calls;
mod desk;
mod kept;
mod killed;
mod own;
mod promises;
mod steps;
mod swarms;
mod views;
mod weather;
mod week;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use weir_store::sqlite::File;
use weir_testkit::memory::{Fault, Name};
use weir_testkit::zoo::http::RetryAfter;

use self::desk::Desk;
use self::kept::Kept;
use self::own::{Incident, Met, Toll};
use self::promises::Promises;
use self::steps::{Change, DENIED, Mood, NAMES, Step, step};
use super::*;
use crate::lists::Lists;
use crate::swarm::PeerEndpoint;

/// The one that is reached by name.
const NAMED: usize = 4;
const HOST: &str = "elm.example";

/// A world, whoever looks at it, and what the test remembers of it.
struct Story {
    network: Network,
    trackers: Vec<http::Tracker>,
    config: Config,
    /// All forwarders that ever were, in the order of [`NAMES`].
    entries: Vec<forwarder::ForwarderEntry>,
    /// Both are there but for a moment of each restart.
    world: Option<World>,
    desk: Option<Desk>,
    file: File,
    met: Met,
    kept: Kept,
    held: bool,
    crowds: u8,
    /// Peers whose `stopped` will be sent later, as was said.
    later: Vec<([u8; 20], PeerEndpoint)>,
}

impl Story {
    async fn begin(file: &File) -> Self {
        let network = Network::new();
        network.resolves(HOST, &["192.0.2.5"]);
        let (trackers, config) = crowd(&network, 5).await;
        let url = |index: usize| match index {
            NAMED => format!("http://{HOST}:6969/announce"),
            index => trackers[index].url(),
        };
        let entries = NAMES.iter().enumerate();
        let entries: Vec<_> = entries
            .map(|(index, name)| forwarder(name, &url(index)))
            .collect();
        let config = Config {
            forwarders: entries.clone(),
            forwarder_queue_size: number(12),
            max_swarms: number(30),
            rate_limit_initial_burst: number(2),
            rate_limit_initial_per_sec: number(1),
            queue_throttle_top_n: 2,
            forward_events_per_minute: 6,
            forwarder_fail_threshold: number(3),
            forwarder_retry_attempts: number(2),
            ..config
        };
        let world = World::new(&network, &config);
        let desk = Desk::new(&world, file);
        let story = Self {
            network,
            trackers,
            config,
            entries,
            world: Some(world),
            desk: Some(desk),
            file: file.clone(),
            met: Met::default(),
            kept: Kept::default(),
            held: false,
            crowds: 0,
            later: Vec::new(),
        };
        story.set_terms();
        story
    }

    /// The terms of the configuration, with a list of what is not served.
    fn set_terms(&self) {
        self.world().tracker.set_terms(ClientTerms {
            lists: Lists::of(None, &[DENIED]),
            ..split(&self.config).1.terms
        });
    }

    fn world(&self) -> &World {
        self.world.as_ref().expect("it is there")
    }

    fn desk(&self) -> &Desk {
        self.desk.as_ref().expect("it is there")
    }

    async fn step(&mut self, step: &Step) {
        self.met.settled = false;
        let before = match step {
            Step::Announce(..) | Step::Crowd(_) => Some(Toll::now(self.world())),
            _ => None,
        };
        match *step {
            Step::Announce(swarm, peer, event) => self.announce(swarm, peer, event),
            Step::Crowd(count) => {
                for _ in 0..count {
                    self.crowds = (self.crowds + 1) % 200;
                    // Some from one address, until it has too many, and some from others, until there is no room.
                    let peer = match self.crowds % 3 {
                        0 => 1,
                        _ => 1 + self.crowds % 50,
                    };
                    self.announce(20 + self.crowds, peer, Event::None);
                }
            }
            Step::Scrape(swarm) => {
                let world = self.world();
                let hash = InfoHash([swarm; 20]);
                world.tracker.scrape(&world.tracker.terms(), hash);
                world.tally.count(TallyKind::UdpScrape);
                self.met.scrapes += 1;
            }
            Step::Behave(who, mood) => self.behave(who, mood),
            Step::Network(works) => self.network.set_down(!works),
            Step::Hold(hold) => {
                self.held = hold;
                match hold {
                    true => self.world().engine.hold(),
                    false => self.world().engine.release(),
                }
            }
            Step::Act(who, action) => {
                let name = NAMES[who];
                if self.is_listed(name) {
                    self.desk().act(name, action).await;
                }
            }
            Step::Reload(who, change) => self.reload(who, change),
            Step::Restart(away) => self.restart(away * SECOND).await,
            Step::Kill(away) => self.kill(away * SECOND).await,
            Step::Wait(seconds) => self.wait(u32::from(seconds) * SECOND).await,
        }
        self.world().settle().await;
        if let Some(before) = before {
            self.note_incidents(step, &before);
        }
    }

    /// What did not go as the client of a step, or an operator, may have expected.
    fn note_incidents(&mut self, step: &Step, before: &Toll) {
        let world = self.world.as_ref().expect("it is there");
        let at = world.wall(world.timeline.now());
        let config = &self.config;
        let client = match step {
            Step::Announce(_, peer, _) => address(*peer).to_string(),
            _ => String::new(),
        };
        let now = Toll::now(world);
        for (kind, reason) in now.since(before) {
            let (right, asker) = match (kind, reason) {
                ("refused", "no_token") => (
                    format!(
                        "refused: the limit of {} per second",
                        config.rate_limit_initial_per_sec
                    ),
                    None,
                ),
                ("refused", "queue_full") => ("refused: queue full (12)".to_owned(), None),
                ("refused", "full") => (
                    "the tracker is full (max_peers or max_swarms".to_owned(),
                    None,
                ),
                ("refused", "crowded") => {
                    ("refused: too many peers from one address".to_owned(), None)
                }
                ("refused", "denied") => (
                    "refused: torrents in deny_file are not served".to_owned(),
                    None,
                ),
                ("dropped", "queue_full") => ("dropped: queue full (12)".to_owned(), None),
                ("throttled", "queue_filling") => (
                    format!("sent to only {} forwarders", config.queue_throttle_top_n),
                    None,
                ),
                ("throttled", "queue_full") => ("queue full (12)".to_owned(), None),
                ("throttled", "slow") => (
                    "Slow forwarders already fill half the queue".to_owned(),
                    None,
                ),
                ("throttled", "too_many") => {
                    let most = config.forward_events_per_minute;
                    (
                        format!("{client} sent more than {most} events in a minute"),
                        Some(client.clone()),
                    )
                }
                ("deduplicated", "repeated") => {
                    (format!("{client} repeated "), Some(client.clone()))
                }
                other => panic!("{other:?}"),
            };
            self.met.incidents.push(Incident {
                at: at.clone(),
                kind,
                reason,
                asker,
                right,
            });
        }
    }

    fn announce(&mut self, swarm: u8, peer: u8, event: Event) {
        let ids: [&[u8; 8]; 4] = [b"-qB4650-", b"-TR3000-", b"-qB4650-", b"unknown!"];
        let mut id = [peer; 20];
        id[..8].copy_from_slice(ids[usize::from(peer) % ids.len()]);
        let announce = Announce {
            peer_id: PeerId(id),
            left: u64::from(peer % 2),
            ..announce(swarm, peer, event)
        };
        let world = self.world.as_ref().expect("it is there");
        let over_http = peer.is_multiple_of(4);
        let reply = match over_http {
            true => world.ask_over_http(&announce, peer),
            false => world.ask_as(&announce, peer),
        };
        self.met.replied(world, (swarm, over_http), &reply);
        if event == Event::Stopped {
            // Whether it is now or later, trackers are told.
            let endpoints = world
                .tracker
                .terms()
                .trust
                .endpoints(&announce, address(peer));
            self.later.push((announce.info_hash.0, endpoints.0));
        }
    }

    /// Trackers that were to be told later that a peer stopped have been, unless it is here again.
    fn told_later(&self) {
        let world = self.world();
        let ledger = world.tracker.forwarding.ledger();
        for (hash, at) in &self.later {
            let is_over = !ledger.is_told(hash, at) || world.tracker.swarms.has_peer(hash, at);
            assert!(is_over, "{at:?} of {}", hash[0]);
        }
    }

    fn behave(&self, who: usize, mood: Mood) {
        let status = |status, after| Behaviour::Status(status, after);
        let behaviour = match mood {
            Mood::Good => good(1800, &["198.51.100.7:1", "198.51.100.8:1"]),
            Mood::Often => good(60, &["198.51.100.7:1"]),
            Mood::TooMany => status(429, RetryAfter::None),
            Mood::WaitSome => status(429, RetryAfter::Seconds(90)),
            Mood::Unavailable => status(503, RetryAfter::None),
            Mood::Wait => status(503, RetryAfter::Seconds(30)),
            Mood::Hangs => Behaviour::Hang,
            Mood::RetrySoon => Behaviour::RetryIn(1),
            Mood::RetryLater => Behaviour::RetryIn(20),
            Mood::Never => Behaviour::RetryNever,
            Mood::Failure => Behaviour::FailureOnly("not here".to_owned()),
            Mood::Unreadable => Behaviour::Html,
            Mood::Refuses | Mood::NoSuchHost => good(1800, &[]),
        };
        let refuses = (mood == Mood::Refuses).then_some(Fault::Refused);
        self.network.set_fault(place(who as u8 + 1), refuses);
        if who == NAMED {
            match mood {
                Mood::NoSuchHost => self.network.set_name(HOST, Name::Unknown),
                _ => self.network.resolves(HOST, &["192.0.2.5"]),
            }
        }
        self.trackers[who].set(behaviour);
    }

    fn is_listed(&self, name: &str) -> bool {
        let mut all = self.config.forwarders.iter();
        all.any(|entry| entry.name == name)
    }

    fn reload(&mut self, who: usize, change: Change) {
        let (name, listed) = (NAMES[who], &mut self.config.forwarders);
        let place = listed.iter().position(|entry| entry.name == name);
        match (place, change) {
            (_, Change::Rules) => {
                let config = &mut self.config;
                let usual = config.forward_events_per_minute == 6;
                let either = |one, other| if usual { other } else { one };
                config.forward_events_per_minute = either(6, 4);
                config.queue_throttle_top_n = either(2, 3);
                config.retry_period = SECOND * either(300, 200);
                config.queue_full_retry = MINUTE * either(30, 20);
                config.announce_interval = MINUTE * either(30, 25);
            }
            (Some(place), Change::Toggle) => drop(listed.remove(place)),
            (Some(place), Change::First) => listed[..=place].rotate_right(1),
            (None, _) => listed.push(self.entries[who].clone()),
        }
        self.world().reload(&self.config);
        self.set_terms();
    }

    async fn restart(&mut self, away: Duration) {
        // It holds on to the engine.
        self.desk = None;
        let world = self.world.take().expect("it is there");
        self.met.restart(&world, away);
        let world = world.again(away, &self.config).await;
        if away >= DAY {
            self.kept.cut();
        }
        self.desk = Some(Desk::new(&world, &self.file));
        self.world = Some(world);
        self.set_terms();
        self.held = false;
    }

    async fn kill(&mut self, away: Duration) {
        self.desk = None;
        let world = self.world.take().expect("it is there");
        let at = world.timeline.wall(world.timeline.now());
        self.met.cut_off(&world);
        let world = world.killed(away, &self.config).await;
        self.kept.killed(&world, at);
        self.met.back(&world);
        self.desk = Some(Desk::new(&world, &self.file));
        self.world = Some(world);
        self.set_terms();
        self.held = false;
        // Nobody knows these peers any more.
        self.later.clear();
    }

    async fn wait(&mut self, time: Duration) {
        let promises = Promises::made(self.world(), self.held);
        self.world().until(self.world().time() + time).await;
        self.world().settle().await;
        promises.kept(self.world());
        self.met.settled = time >= 2 * SECOND;
    }

    async fn check(&mut self) {
        let (Some(world), Some(desk)) = (&self.world, &self.desk) else {
            panic!("both are there between two steps");
        };
        let before = world.engine.status();
        let all = desk.everything().await;
        views::check(world, desk, &all, &self.kept).await;
        swarms::check(world, desk, &all).await;
        weather::check(world, &all);
        self.met.check(world, &all);
        if self.config.forwarders.len() == NAMES.len() {
            self.met.drops(world, &self.kept.drops());
        }
        let after = world.engine.status();
        assert_eq!(before.at, after.at, "no time passes while one looks");
        assert_eq!(before.counters, after.counters, "and nothing happens");
    }
}

impl World {
    /// Lets everything happen that needs no time, however much that is.
    async fn settle(&self) {
        let look = || {
            let status = self.engine.status();
            (status.counters, status.counts.busy, status.counts.queued)
        };
        for _ in 0..100 {
            let before = look();
            turn().await;
            if look() == before {
                return;
            }
        }
        panic!("it never comes to rest");
    }
}

async fn tell(file: &File, steps: &[Step]) {
    fastrand::seed(7);
    let mut story = Story::begin(file).await;
    for (number, step) in steps.iter().enumerate() {
        story.step(step).await;
        story.kept.check(story.world.as_ref().expect("it is there"));
        // Whoever looks reads some thirty pages, so not after each announce.
        let quiet = matches!(
            step,
            Step::Announce(..) | Step::Behave(..) | Step::Scrape(_)
        );
        if !quiet || number % 5 == 0 {
            story.check().await;
        }
    }
    // All comes to an end.
    for who in 0..NAMES.len() {
        story.behave(who, Mood::Good);
    }
    story.step(&Step::Network(true)).await;
    story.step(&Step::Hold(false)).await;
    story.step(&Step::Wait(400)).await;
    for (who, name) in NAMES.iter().enumerate() {
        if !story.is_listed(name) {
            story.step(&Step::Reload(who, Change::Toggle)).await;
        }
    }
    story.kept.check(story.world.as_ref().expect("it is there"));
    story.check().await;
    story.told_later();
    let counters = story.world().engine.status().counters;
    assert_eq!(counters.waiting(), 0, "{counters:?}");
}

/// The same histories each time, or as many others as one likes: `PROPTEST_CASES=1000`.
fn cases(usual: u32) -> ProptestConfig {
    let given = std::env::var("PROPTEST_CASES").ok();
    let given = given.and_then(|cases| cases.parse().ok());
    ProptestConfig {
        rng_seed: given.map_or(RngSeed::Fixed(1), |_: u32| RngSeed::Random),
        failure_persistence: None,
        ..ProptestConfig::with_cases(given.unwrap_or(usual))
    }
}

fn in_virtual_time(story: impl AsyncFnOnce(&File)) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = File::open(directory.path().join("state.db")).expect("a file");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(story(&file));
    file.close();
}

fn tell_all(steps: &[Step]) {
    in_virtual_time(async |file: &File| tell(file, steps).await);
}

#[test]
fn events_that_waited_for_room_as_their_forwarder_went_are_told() {
    let fill = [Step::Hold(true), Step::Crowd(9)];
    let event = |event| Step::Announce(1, 1, event);
    let waits = [event(Event::Started), event(Event::Completed)];
    let goes = [Step::Reload(0, Change::Toggle), Step::Wait(3)];
    tell_all(&[&fill[..], &waits, &goes].concat());
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn all_who_look_are_told_the_same(steps in prop::collection::vec(step(), 1..60)) {
        tell_all(&steps);
    }
}
