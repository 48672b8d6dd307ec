//! Several nodes on one store: who hears of whom, and who asks other trackers.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::task::JoinSet;
use weir_engine::{KeptNode, NodeOptions};
use weir_store::shared::{
    Beat, Epoch, Fault, MemoryStore, NodeId, Seal, SharedStore as _, StoreTime, Stream,
};
use weir_tracker_proto::nodes::{CompactPeer, Head, PeerDid, PeerEvent};

use super::*;
use crate::catalogue::Catalogue;
use crate::inbound::start::Answering;
use crate::look::Look;
use crate::sharing::{SharingCount, name_of, read_places};

/// Nodes on one store, each with a clock of its own.
struct Nodes {
    network: Network,
    store: MemoryStore,
    /// What nodes that are started cannot reach.
    lost: Option<Stream>,
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

/// One node: its tracker, its way to the store, and what it is made of once more.
struct One {
    world: World,
    store: Arc<MemoryStore>,
    node: Node,
    id: u64,
    stop: CancellationToken,
}

impl Nodes {
    fn new() -> Self {
        Self {
            network: Network::new(),
            store: MemoryStore::on_tokio_time(StoreTime(1_000_000_000)),
            lost: None,
            tasks: JoinSet::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Starts a node.
    async fn start(&mut self, id: u64, config: &Config) -> One {
        self.start_with(id, config, Before::default()).await
    }

    async fn start_with(&mut self, id: u64, config: &Config, before: Before) -> One {
        // Days apart: no clock of a node plays a part.
        let wall = SystemTime::UNIX_EPOCH + DAY * u32::try_from(id).unwrap();
        let wall = wall + Duration::from_secs(before.away);
        let timeline = Timeline::starting_at(wall);
        let store = Arc::new(self.store.handle());
        self.lost.inspect(|stream| store.lose(*stream, true));
        let node = Node::new(NodeOptions {
            name: format!("node {id}"),
            version: "1".to_owned(),
            store: store.clone(),
            seal: Seal::new("a secret"),
            timeline,
            kept: KeptNode {
                id: NodeId(id),
                ..KeptNode::default()
            },
            keeper: Box::new(|_: &KeptNode| {}),
        });
        let stop = self.stop.child_token();
        let (beats, ends) = (node.clone(), stop.clone());
        self.tasks.spawn(async move { beats.run(ends).await });
        let before = Before {
            node: Some(node.clone()),
            ..before
        };
        let world = World::on(timeline, &self.network, config, before);
        let one = One {
            world,
            store,
            node,
            id,
            stop,
        };
        // All have heard of it, and it has read what they wrote.
        tokio::time::sleep(5 * SECOND).await;
        turn().await;
        one
    }

    /// Three nodes with the same configuration.
    async fn three(&mut self, config: &Config) -> [One; 3] {
        let one = self.start(1, config).await;
        let two = self.start(2, config).await;
        [one, two, self.start(3, config).await]
    }

    /// A node that was stopped is back after so much time; what its files hold is there, if they were written.
    async fn again(&mut self, one: One, away: Duration, config: &Config, files: bool) -> One {
        let One {
            world, stop, id, ..
        } = one;
        if let (true, Some(sharing)) = (files, &world.sharing) {
            sharing.stop().await;
        }
        let places = world
            .sharing
            .as_ref()
            .map(|running| running.sharing.places.write());
        stop.cancel();
        let mut before = world.stop(away).await;
        before.places = read_places(&places.unwrap()).unwrap();
        if !files {
            before = Before::default();
        }
        self.start_with(id, config, before).await
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl One {
    fn count(&self, what: SharingCount) -> u64 {
        self.sharing().figures.get(what)
    }

    fn sharing(&self) -> &Sharing {
        &self.world.sharing.as_ref().unwrap().sharing
    }

    /// Seeders and leechers, and downloads.
    fn told(&self, swarm: u8) -> (u32, u32, u32) {
        let told = self.world.tracker.told(&[swarm; 20]);
        let counts = told.map_or_else(SwarmCounts::default, |told| told.counts);
        (counts.seeders, counts.leechers, counts.completed)
    }

    fn has(&self, swarm: u8, peer: u8) -> bool {
        let at = crate::swarm::PeerEndpoint::new(address(peer), 6881);
        self.world.tracker.swarms.has_peer(&[swarm; 20], &at)
    }
}

/// A configuration without forwarders, in which the addresses of tests are shared.
fn shared() -> Config {
    Config {
        share_private: true,
        ..Config::default()
    }
}

/// The same with forwarders.
fn shared_with(forwarders: &[(&str, &str)]) -> Config {
    Config {
        share_private: true,
        ..config(forwarders)
    }
}

/// Lets so much time pass, most of it at once: nobody beats or reads meanwhile.
async fn jump(time: Duration) {
    tokio::time::advance(time - 4 * SECOND).await;
    tokio::time::sleep(4 * SECOND).await;
    turn().await;
}

/// Long enough for a batch to be written and read.
async fn a_second() {
    tokio::time::sleep(SECOND).await;
    turn().await;
}

#[tokio::test(start_paused = true)]
async fn a_peer_of_one_node_is_given_out_by_the_others_until_it_goes() {
    let mut nodes = Nodes::new();
    let [one, two, three] = nodes.three(&shared()).await;
    one.world.announce(1, 7).await;
    assert_eq!(two.told(1), (0, 0, 0));
    a_second().await;
    for other in [&two, &three] {
        assert_eq!(other.told(1), (0, 1, 0));
        let reply = other.world.announce(1, 8).await;
        assert!(reply.peers.contains(&at("10.0.0.7:6881")), "{reply:?}");
    }
    // A seeder in IPv6 as well.
    let seeder = Announce {
        left: 0,
        ..announce(1, 9, Event::Started)
    };
    two.world.ask_as(&seeder, 9).unwrap();
    a_second().await;
    assert_eq!(one.told(1), (1, 2, 0));
    assert_eq!(three.told(1), (1, 2, 0));
    // It goes at a node that it did not come to.
    three.world.event(1, 7, Event::Stopped).await;
    one.world.event(1, 8, Event::Stopped).await;
    a_second().await;
    for node in [&one, &two, &three] {
        assert_eq!(node.told(1), (1, 0, 0));
        assert!(!node.has(1, 7));
    }
    two.world.event(1, 9, Event::Stopped).await;
    a_second().await;
    for node in [&one, &two, &three] {
        assert_eq!(node.world.tracker.swarms.totals().swarms, 0);
        assert!(node.sharing().lags().iter().all(|(_, lag)| *lag < SECOND));
        assert_eq!(node.sharing().lags().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn what_changes_nothing_is_not_told_but_once_in_each_third_of_the_age() {
    let mut nodes = Nodes::new();
    let one = nodes.start(1, &shared()).await;
    one.world.announce(1, 7).await;
    a_second().await;
    assert_eq!(one.count(SharingCount::Written), 1);
    for _ in 0..5 {
        one.world.announce(1, 7).await;
        a_second().await;
    }
    assert_eq!(one.count(SharingCount::Written), 1);
    // Thirds of three hours begin with each hour of the tracker's clock, which begins within one.
    for _ in 0..8 {
        jump(30 * MINUTE).await;
        one.world.announce(1, 7).await;
        a_second().await;
    }
    let written = one.count(SharingCount::Written);
    assert!((4..=6).contains(&written), "{written}");
}

#[tokio::test(start_paused = true)]
async fn a_download_counts_once_everywhere() {
    let mut nodes = Nodes::new();
    let [one, two, three] = nodes.three(&shared()).await;
    one.world.announce(1, 7).await;
    a_second().await;
    // Told to two nodes at the same time, and to the third later.
    one.world.ask(1, 7, Event::Completed).unwrap();
    two.world.ask(1, 7, Event::Completed).unwrap();
    a_second().await;
    three.world.event(1, 7, Event::Completed).await;
    a_second().await;
    for node in [&one, &two, &three] {
        assert_eq!(node.told(1), (1, 0, 1));
    }
    three.world.event(1, 8, Event::Completed).await;
    a_second().await;
    for node in [&one, &two, &three] {
        assert_eq!(node.told(1), (2, 0, 2));
    }
    // A node that reads no more of it than that somebody is here has the count all the same.
    one.world.event(1, 7, Event::Stopped).await;
    jump(3 * HOUR).await;
    one.world.event(1, 8, Event::None).await;
    a_second().await;
    one.world.announce(1, 9).await;
    a_second().await;
    let new = nodes.start(4, &shared()).await;
    for node in [&one, &new] {
        assert_eq!(node.told(1), (0, 2, 2), "node {}", node.id);
    }
}

#[tokio::test(start_paused = true)]
async fn private_addresses_stay_on_their_node() {
    let mut nodes = Nodes::new();
    let one = nodes.start(1, &Config::default()).await;
    let two = nodes.start(2, &Config::default()).await;
    one.world.announce(1, 7).await;
    let public = announce(1, 9, Event::None);
    let told = one.world.tracker.announce(
        &one.world.tracker.terms(),
        &public,
        [198, 51, 100, 9].into(),
        Carries::Both,
        (one.world.clock.now(), &mut fastrand::Rng::with_seed(1)),
        [&mut Vec::new(), &mut Vec::new()],
    );
    told.unwrap();
    a_second().await;
    assert_eq!(one.told(1), (0, 2, 0));
    assert_eq!(two.told(1), (0, 1, 0), "the public one");
    // A node that is set to share them is not believed by one that is not.
    let open = nodes.start(3, &shared()).await;
    open.world.announce(2, 8).await;
    a_second().await;
    assert_eq!(two.told(2), (0, 0, 0));
    assert!(two.count(SharingCount::Ignored) > 0);
}

#[tokio::test(start_paused = true)]
async fn a_restart_goes_on_from_where_the_files_end() {
    let mut nodes = Nodes::new();
    let [one, two, three] = nodes.three(&shared()).await;
    for peer in 1..=20 {
        one.world.announce(1, peer).await;
    }
    a_second().await;
    let three = {
        // While nobody runs there, somebody comes and somebody goes.
        let One { world, stop, .. } = three;
        let places = world.sharing.as_ref().unwrap().sharing.places.write();
        stop.cancel();
        let mut before = world.stop(SECOND).await;
        before.places = read_places(&places).unwrap();
        one.world.event(1, 5, Event::Stopped).await;
        two.world.announce(1, 21).await;
        a_second().await;
        nodes.start_with(3, &shared(), before).await
    };
    assert_eq!(three.told(1), (0, 20, 0));
    assert!(!three.has(1, 5) && three.has(1, 21));
    let read = three.count(SharingCount::Read);
    assert!(read <= 3, "not from the beginning: {read}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_killed_reads_what_it_had_told() {
    let mut nodes = Nodes::new();
    let one = nodes.start(1, &shared()).await;
    for peer in 1..=9 {
        one.world.announce(1, peer).await;
    }
    one.world.event(1, 3, Event::Stopped).await;
    a_second().await;
    let one = nodes.again(one, SECOND, &shared(), false).await;
    assert_eq!(one.told(1), (0, 8, 0));
    assert!(!one.has(1, 3));
    // And tells on.
    let two = nodes.start(2, &shared()).await;
    one.world.announce(1, 3).await;
    a_second().await;
    assert_eq!(two.told(1), (0, 9, 0));
}

#[tokio::test(start_paused = true)]
async fn who_was_away_for_a_day_and_who_is_new_are_whole() {
    let mut nodes = Nodes::new();
    let [one, two, three] = nodes.three(&shared()).await;
    for peer in 1..=5 {
        one.world.announce(1, peer).await;
        three.world.announce(2, peer).await;
    }
    a_second().await;
    let One { world, stop, .. } = three;
    let places = world.sharing.as_ref().unwrap().sharing.places.write();
    stop.cancel();
    let mut before = world.stop(SECOND).await;
    before.places = read_places(&places).unwrap();
    // Half of them stay, and announce at one node or the other; others come.
    for turn in 0..52 {
        jump(30 * MINUTE).await;
        for peer in 3..=8 {
            let node = if (turn + peer) % 2 == 0 { &one } else { &two };
            node.world.announce(1, peer).await;
        }
    }
    before.away = 26 * 3600;
    a_second().await;
    let three = nodes.start_with(3, &shared(), before).await;
    let four = nodes.start(4, &shared()).await;
    // Those of the clock's minute: nodes sweep once a minute.
    for node in [&one, &two, &three, &four] {
        let minute = node.world.clock.now().minute;
        for shard in 0..crate::swarm::SHARDS {
            node.world.tracker.swarms.sweep(shard, minute);
        }
        assert_eq!(node.told(1), (0, 6, 0), "node {}", node.id);
        assert_eq!(node.told(2), (0, 0, 0), "node {}", node.id);
    }
    // A store that lost everything is read from its beginning.
    nodes.store.restart_empty();
    tokio::time::sleep(30 * SECOND).await;
    two.world.announce(3, 1).await;
    a_second().await;
    for node in [&one, &three, &four] {
        assert!(node.has(3, 1), "node {}", node.id);
    }
}

/// Peers of the first node and the second: more than one swarm, seeders, downloads, and a peer of minutes ago.
async fn announce_some(one: &One, two: &One) {
    one.world.announce(1, 1).await;
    one.world.event(1, 2, Event::Completed).await;
    two.world.announce(2, 3).await;
    a_second().await;
    jump(20 * MINUTE).await;
    two.world.event(1, 4, Event::Completed).await;
    one.world.announce(2, 5).await;
    a_second().await;
}

/// Whether a node has exactly those peers, each as old as it is.
fn assert_some(node: &One) {
    let told = [1, 2].map(|swarm| node.told(swarm));
    assert_eq!(told, [(2, 1, 2), (0, 2, 0)], "node {}", node.id);
    // Who announced twenty minutes before the others is forgotten that much sooner.
    let now = node.world.clock.now().minute;
    let past = |minutes| {
        for shard in 0..crate::swarm::SHARDS {
            node.world.tracker.swarms.sweep(shard, now.plus(minutes));
        }
    };
    past(180 - 22);
    assert_eq!(node.world.tracker.swarms.totals().peers(), 5);
    past(180 - 15);
    assert_eq!(node.world.tracker.swarms.totals().peers(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_comes_after_a_node_has_left_is_whole() {
    let mut nodes = Nodes::new();
    let config = shared();
    let [one, two, three] = [
        nodes.start(11, &config).await,
        nodes.start(12, &config).await,
        nodes.start(13, &config).await,
    ];
    announce_some(&one, &two).await;
    one.world.sharing.as_ref().unwrap().stop().await;
    one.stop.cancel();
    a_second().await;
    a_second().await;
    let written = [
        two.count(SharingCount::Written),
        three.count(SharingCount::Written),
    ];
    assert_eq!(written, [2, 0], "nobody needs it yet");
    // Its number is the lowest, and it knows nobody.
    let new = nodes.start(1, &config).await;
    assert_eq!(
        three.count(SharingCount::Written),
        0,
        "one of them is enough"
    );
    assert_eq!(two.count(SharingCount::Written), 2 + 5);
    // Once is enough for all who come.
    let newer = nodes.start(2, &config).await;
    assert_eq!(two.count(SharingCount::Written), 2 + 5);
    for node in [&new, &newer] {
        assert_some(node);
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_after_the_store_was_emptied_is_whole() {
    let mut nodes = Nodes::new();
    let config = shared();
    let one = nodes.start(11, &config).await;
    let two = nodes.start(12, &config).await;
    announce_some(&one, &two).await;
    nodes.store.restart_empty();
    tokio::time::sleep(30 * SECOND).await;
    let new = nodes.start(1, &config).await;
    assert_some(&new);
    let written = [&one, &two, &new].map(|node| node.count(SharingCount::Written));
    assert_eq!(written, [3 + 5, 2, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_clean_restart_tells_nothing_again_and_brings_nobody_back() {
    let mut nodes = Nodes::new();
    let config = shared();
    let [one, two, three] = nodes.three(&config).await;
    one.world.announce(1, 7).await;
    one.world.announce(1, 8).await;
    jump(10 * MINUTE).await;
    two.world.event(1, 7, Event::Stopped).await;
    a_second().await;
    // Longer ago than anybody remembers what happened, and still in the streams.
    jump(80 * MINUTE).await;
    let written = |nodes: [&One; 2]| nodes.map(|node| node.count(SharingCount::Written));
    assert_eq!(written([&two, &three]), [1, 0]);
    let one = nodes.again(one, MINUTE, &config, true).await;
    for node in [&one, &two, &three] {
        assert!(node.has(1, 8) && !node.has(1, 7), "node {}", node.id);
    }
    assert_eq!(written([&two, &three]), [1, 0]);
    assert_eq!(one.count(SharingCount::Written), 0);
}

#[tokio::test(start_paused = true)]
async fn who_came_and_left_elsewhere_during_an_outage_is_gone_when_it_is_over() {
    let mut nodes = Nodes::new();
    let config = shared();
    let [one, two, three] = nodes.three(&config).await;
    three.world.announce(1, 8).await;
    a_second().await;
    for node in [&one, &two, &three] {
        node.store.cut(true);
    }
    // Two that only the first knows, one of them in a swarm of its own, and one that all know. That they are gone is told first.
    one.world.announce(1, 7).await;
    one.world.announce(2, 7).await;
    one.world.event(1, 8, Event::Completed).await;
    tokio::time::sleep(30 * SECOND).await;
    two.world.event(1, 7, Event::Stopped).await;
    two.world.event(2, 7, Event::Stopped).await;
    two.world.event(1, 8, Event::Stopped).await;
    tokio::time::sleep(30 * SECOND).await;
    two.store.cut(false);
    three.store.cut(false);
    tokio::time::sleep(5 * SECOND).await;
    one.store.cut(false);
    tokio::time::sleep(5 * SECOND).await;
    let four = nodes.start(4, &config).await;
    for node in [&one, &two, &three, &four] {
        let has = [(1, 7), (2, 7), (1, 8)].map(|(swarm, peer)| node.has(swarm, peer));
        assert_eq!(has, [false; 3], "node {}", node.id);
    }
    assert!(one.count(SharingCount::Written) >= 3);
}

#[tokio::test(start_paused = true)]
async fn who_announces_while_an_older_goodbye_is_read_stays() {
    let mut nodes = Nodes::new();
    let [one, two, three] = nodes.three(&shared()).await;
    one.world.announce(1, 7).await;
    a_second().await;
    two.world.event(1, 7, Event::Stopped).await;
    while two.count(SharingCount::Written) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // It stands in the stream; the answer to whoever asks is under way for a while.
    one.store.fail(Fault::Slow(Duration::from_millis(400)));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(one.has(1, 7), "it was read already");
    one.world.event(1, 7, Event::Completed).await;
    a_second().await;
    for node in [&one, &two, &three] {
        assert!(node.has(1, 7), "node {}", node.id);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_done_while_the_store_was_away_is_told_when_it_is_back() {
    let mut nodes = Nodes::new();
    let [one, two, _three] = nodes.three(&shared()).await;
    one.store.cut(true);
    one.world.announce(1, 7).await;
    two.world.announce(1, 8).await;
    tokio::time::sleep(MINUTE).await;
    assert!(one.node.is_alone());
    assert!(!two.has(1, 7) && !one.has(1, 8));
    assert!(
        one.sharing()
            .lags()
            .iter()
            .all(|(_, lag)| *lag > 50 * SECOND)
    );
    one.store.cut(false);
    tokio::time::sleep(5 * SECOND).await;
    assert!(two.has(1, 7) && one.has(1, 8));
    assert!(one.sharing().lags().iter().all(|(_, lag)| *lag < SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_server_of_a_cluster_that_is_away_makes_nobody_alone() {
    weir_testkit::log::listen();
    let mut nodes = Nodes::new();
    let [one, two, three] = nodes.three(&shared()).await;
    let stream = Stream::Swarm(NodeId(1));
    for node in [&one, &two, &three] {
        node.store.lose(stream, true);
    }
    one.world.announce(1, 7).await;
    two.world.announce(1, 8).await;
    three.world.announce(1, 9).await;
    tokio::time::sleep(10 * SECOND).await;
    a_second().await;
    assert_eq!(one.told(1), (0, 3, 0));
    for node in [&two, &three] {
        assert_eq!(node.told(1), (0, 2, 0), "{}", node.id);
        let lags = node.sharing().lags();
        let late = lags.iter().filter(|(_, lag)| *lag > 5 * SECOND);
        assert_eq!(late.count(), 1, "{lags:?}");
    }
    for node in [&one, &two, &three] {
        assert!(!node.node.is_alone());
        assert_eq!(node.node.view().returns, 1);
        node.store.lose(stream, false);
    }
    a_second().await;
    for node in [&one, &two, &three] {
        assert_eq!(node.told(1), (0, 3, 0), "{}", node.id);
    }
    let logged = weir_testkit::log::all();
    assert_eq!(logged.matches("some nodes arrive late").count(), 3);
    assert_eq!(logged.matches("cluster answer again").count(), 3);
    // One that comes while its own server is away hears of the others.
    let lost = Stream::Swarm(NodeId(4));
    nodes.lost = Some(lost);
    let four = nodes.start(4, &shared()).await;
    four.world.announce(1, 10).await;
    a_second().await;
    assert_eq!(four.told(1), (0, 4, 0));
    assert_eq!(one.told(1), (0, 3, 0));
    four.store.lose(lost, false);
    a_second().await;
    assert_eq!(one.told(1), (0, 4, 0));
}

#[tokio::test(start_paused = true)]
async fn an_announce_that_is_older_than_a_goodbye_is_ignored_whichever_is_read_first() {
    let mut nodes = Nodes::new();
    let [one, two, three] = nodes.three(&shared()).await;
    one.world.announce(1, 7).await;
    a_second().await;
    // The announce is kept back on the first node; the goodbye comes through the second.
    one.store.cut(true);
    one.world.ask(1, 7, Event::Completed).unwrap();
    tokio::time::sleep(SECOND).await;
    two.world.event(1, 7, Event::Stopped).await;
    a_second().await;
    assert!(!three.has(1, 7));
    one.store.cut(false);
    tokio::time::sleep(3 * SECOND).await;
    assert!(one.count(SharingCount::Written) >= 2);
    assert!(!three.has(1, 7), "it came before the goodbye");
    assert!(three.count(SharingCount::Ignored) > 0);
}

#[tokio::test(start_paused = true)]
async fn hostile_bytes_in_a_stream_change_nothing_and_stop_nothing() {
    let mut nodes = Nodes::new();
    let one = nodes.start(1, &shared()).await;
    let (store, seal) = (nodes.store.handle(), Seal::new("a secret"));
    let beat = Beat {
        node: NodeId(66),
        name: "bad".to_owned(),
        new_epoch: Epoch(9),
        ..Beat::default()
    };
    store.beat(beat).await.unwrap();
    let event = |port: u8| PeerEvent {
        hash: InfoHash([1; 20]),
        at: CompactPeer::V4([10, 0, 0, 7, 0, port]),
        did: PeerDid::IsHere,
        seeder: true,
        paused: false,
        counted: false,
        downloads: u32::MAX,
        silent: 0,
    };
    let batch = |events: &[PeerEvent], age: u32| {
        let stream = name_of(Stream::Swarm(NodeId(66)));
        let written = store.time().0;
        let mut batch = Vec::new();
        let head = Head {
            stream,
            written,
            age,
        };
        head.write(&mut batch);
        events.iter().for_each(|event| event.write(&mut batch));
        batch
    };
    let mut odd = vec![
        Vec::new(),
        vec![0; 100],
        Seal::new("another secret").seal(&batch(&[event(1)], 0)),
        seal.seal(&[]),
        seal.seal(&[1, 0, 0, 0, 0]),
        seal.seal(&[255; 300]),
        seal.seal(&vec![1; 200 << 10]),
        vec![7; 1 << 20],
    ];
    let whole = batch(&[event(1), event(0)], u32::MAX);
    odd.extend((0..whole.len()).map(|end| seal.seal(&whole[..end])));
    let count = odd.len();
    for (number, body) in odd.into_iter().enumerate() {
        let stream = match number % 2 {
            0 => Stream::Swarm(NodeId(66)),
            _ => Stream::Forwarded(NodeId(66)),
        };
        store.append(stream, body, HOUR).await.unwrap();
    }
    tokio::time::sleep(10 * SECOND).await;
    let unreadable = one.count(SharingCount::Unreadable);
    assert!(unreadable as usize >= count - 10, "{unreadable} of {count}");
    // Far too old, as they say: nobody came.
    assert_eq!(one.world.tracker.swarms.totals().peers(), 0);
    let now = batch(&[event(1), event(0)], 0);
    let stream = Stream::Swarm(NodeId(66));
    store.append(stream, seal.seal(&now), HOUR).await.unwrap();
    a_second().await;
    assert_eq!(one.told(1), (1, 0, u32::MAX), "nobody is at port 0");
    one.world.event(1, 9, Event::Completed).await;
    assert_eq!(one.told(1), (2, 0, u32::MAX));
}

/// Whoever can write to the store has all that nodes have ever said, sealed as it is.
#[tokio::test(start_paused = true)]
async fn what_a_node_said_means_nothing_in_another_stream_or_at_another_time() {
    let mut nodes = Nodes::new();
    let one = nodes.start(1, &shared()).await;
    let (store, seal) = (nodes.store.handle(), Seal::new("a secret"));
    for node in [66, 67] {
        let beat = Beat {
            node: NodeId(node),
            new_epoch: Epoch(9),
            ..Beat::default()
        };
        store.beat(beat).await.unwrap();
    }
    let of = |node| Stream::Swarm(NodeId(node));
    let said = |did, port| {
        let event = PeerEvent {
            hash: InfoHash([1; 20]),
            at: CompactPeer::V4([10, 0, 0, 7, 0, port]),
            did,
            seeder: true,
            paused: false,
            counted: false,
            downloads: 0,
            silent: 0,
        };
        let head = Head {
            stream: name_of(of(66)),
            written: store.time().0,
            age: 0,
        };
        let mut batch = Vec::new();
        head.write(&mut batch);
        event.write(&mut batch);
        seal.seal(&batch)
    };
    let seeders = || one.told(1).0;
    let unreadable = || one.count(SharingCount::Unreadable);
    let came = said(PeerDid::IsHere, 1);
    let before = unreadable();
    store.append(of(67), came.clone(), HOUR).await.unwrap();
    let other = Stream::Forwarded(NodeId(66));
    store.append(other, came.clone(), HOUR).await.unwrap();
    a_second().await;
    assert_eq!((seeders(), unreadable() - before), (0, 2));
    store.append(of(66), came.clone(), HOUR).await.unwrap();
    a_second().await;
    assert_eq!((seeders(), unreadable() - before), (1, 2));
    let left = said(PeerDid::Left, 1);
    store.append(of(66), left.clone(), HOUR).await.unwrap();
    a_second().await;
    assert_eq!(seeders(), 0);
    tokio::time::sleep(100 * SECOND).await;
    store.append(of(66), came, HOUR).await.unwrap();
    a_second().await;
    assert_eq!((seeders(), unreadable() - before), (0, 3), "it had left");
    let back = said(PeerDid::IsHere, 1);
    store.append(of(66), back, HOUR).await.unwrap();
    a_second().await;
    store.append(of(66), left, HOUR).await.unwrap();
    a_second().await;
    assert_eq!((seeders(), unreadable() - before), (1, 4), "it is back");
}

/// The clock of a store may jump.
#[tokio::test(start_paused = true)]
async fn what_was_written_with_another_time_is_written_again() {
    let mut nodes = Nodes::new();
    let one = nodes.start(1, &shared()).await;
    let two = nodes.start(2, &shared()).await;
    one.world.announce(1, 7).await;
    a_second().await;
    assert!(two.has(1, 7));
    let later = nodes.store.time().0 + 7_200_000;
    nodes.store.follow_tokio_time(StoreTime(later));
    one.world.announce(1, 8).await;
    a_second().await;
    assert!(two.has(1, 8));
}

#[tokio::test(start_paused = true)]
async fn three_nodes_make_one_announce_to_each_tracker_and_interval() {
    let mut nodes = Nodes::new();
    let calm = tracker(&nodes.network, 1, good(1800, &["198.51.100.7:1"])).await;
    let other = tracker(&nodes.network, 2, good(900, &["198.51.100.8:1"])).await;
    let config = shared_with(&[("calm", &calm.url()), ("other", &other.url())]);
    // Other names, and another order: a tracker is its address.
    let renamed = shared_with(&[("b", &other.url()), ("a", &calm.url())]);
    let one = nodes.start(1, &config).await;
    let two = nodes.start(2, &renamed).await;
    let three = nodes.start(3, &config).await;
    let seen = || [calm.seen().len(), other.seen().len()];
    let all = [&one, &two, &three];
    for (node, peer) in all.into_iter().zip(1..) {
        node.world.ask(1, peer, Event::Started).unwrap();
    }
    turn().await;
    a_second().await;
    assert_eq!(seen(), [1, 1]);
    let elsewhere: u64 = all
        .iter()
        .map(|node| node.count(SharingCount::Elsewhere))
        .sum();
    assert_eq!(elsewhere, 4);
    // All of them have the peers.
    for (node, peer) in all.into_iter().zip(1..) {
        let reply = node.world.announce(1, peer).await;
        for peer in ["198.51.100.7:1", "198.51.100.8:1"] {
            assert!(
                reply.peers.contains(&at(peer)),
                "node {}: {reply:?}",
                node.id
            );
        }
    }
    // One that is new asks nobody either, although what was answered is forgotten: each answer drops those of the minute
    // before, but for the last of them.
    jump(5 * MINUTE).await;
    one.world.announce(2, 1).await;
    jump(2 * MINUTE).await;
    one.world.announce(3, 1).await;
    jump(2 * MINUTE).await;
    let four = nodes.start(4, &config).await;
    assert_eq!(seen(), [3, 3]);
    four.world.announce(1, 4).await;
    a_second().await;
    assert_eq!(seen(), [3, 3]);
    assert_eq!(four.count(SharingCount::Elsewhere), 2);
    // Two hours of announces each five minutes, at each node.
    let all = [&one, &two, &three, &four];
    let began = one.world.time();
    while one.world.time() < began + 2 * HOUR {
        jump(5 * MINUTE).await;
        for (node, peer) in all.into_iter().zip(1..) {
            node.world.ask(1, peer, Event::None).unwrap();
        }
        turn().await;
    }
    let [calm, other] = seen().map(|seen| seen - 2);
    assert!((4..=5).contains(&calm), "{calm}");
    assert!((7..=9).contains(&other), "{other}");
}

#[tokio::test(start_paused = true)]
async fn trackers_hear_of_a_goodbye_from_the_node_that_told_them() {
    let mut nodes = Nodes::new();
    let calm = tracker(&nodes.network, 1, good(1800, &[])).await;
    let config = shared_with(&[("calm", &calm.url())]);
    let [one, two, three] = nodes.three(&config).await;
    one.world.event(1, 7, Event::Started).await;
    a_second().await;
    two.world.event(1, 7, Event::None).await;
    a_second().await;
    assert_eq!(events(&calm.seen()), ["started"]);
    // It finishes at the second and goes at the third.
    two.world.event(1, 7, Event::Completed).await;
    a_second().await;
    assert_eq!(events(&calm.seen()), ["started", "completed"]);
    three.world.event(1, 7, Event::Stopped).await;
    a_second().await;
    let told = events(&calm.seen());
    // Both of them told it of this peer.
    assert_eq!(told, ["started", "completed", "stopped", "stopped"]);
    let told = queries(&calm.seen());
    assert!(
        told.iter()
            .all(|query| value(query, "peer_id") == value(&told[0], "peer_id"))
    );
    tokio::time::sleep(2 * MINUTE).await;
    assert_eq!(calm.seen().len(), 4, "nobody says it twice");
}

#[tokio::test(start_paused = true)]
async fn alone_a_node_asks_as_if_there_were_no_others() {
    let mut nodes = Nodes::new();
    let calm = tracker(&nodes.network, 1, good(1800, &[])).await;
    let config = shared_with(&[("calm", &calm.url())]);
    let one = nodes.start(1, &config).await;
    let two = nodes.start(2, &config).await;
    one.world.announce(1, 1).await;
    a_second().await;
    one.store.cut(true);
    two.store.cut(true);
    two.world.announce(2, 1).await;
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(calm.seen().len(), 2);
    one.world.announce(2, 2).await;
    a_second().await;
    assert_eq!(calm.seen().len(), 3, "each of them");
    // A store that does not say anything keeps nobody waiting for longer than a second.
    one.store.cut(false);
    two.store.cut(false);
    tokio::time::sleep(10 * SECOND).await;
    assert!(!one.node.is_alone());
    for _ in 0..50 {
        one.store.fail(Fault::Slow(MINUTE));
    }
    one.world.announce(3, 1).await;
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(calm.seen().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn clients_of_other_nodes_are_not_among_the_peers_of_trackers() {
    let mut nodes = Nodes::new();
    let peers = ["198.51.100.7:1", "203.0.113.5:6881", "203.0.113.5:7000"];
    let calm = tracker(&nodes.network, 1, good(1800, &peers)).await;
    let config = shared_with(&[("calm", &calm.url())]);
    let one = nodes.start(1, &config).await;
    let two = nodes.start(2, &config).await;
    two.node.set_addresses([[203, 0, 113, 5].into()]);
    tokio::time::sleep(5 * SECOND).await;
    one.world.announce(1, 1).await;
    a_second().await;
    let reply = one.world.announce(1, 2).await;
    let mut peers = reply.peers;
    peers.sort();
    assert_eq!(peers, ["10.0.0.1:6881", "198.51.100.7:1"].map(at));
}

#[tokio::test(start_paused = true)]
async fn what_comes_from_other_nodes_is_counted_and_shown() {
    let mut nodes = Nodes::new();
    let one = nodes.start(1, &shared()).await;
    let two = nodes.start(2, &shared()).await;
    two.world.announce(1, 7).await;
    a_second().await;
    let world = &one.world;
    let swarms = Arc::clone(&world.tracker.swarms);
    let (catalogue, _walker) = Catalogue::new(swarms, world.clock, one.stop.clone());
    let answering = Answering {
        tracker: Arc::clone(&world.tracker),
        clock: world.clock,
        tallies: world.tallies.clone(),
    };
    let listening = vec![("udp", at("192.0.2.200:6969"))];
    let look = Look::new(answering, listening, catalogue, world.forwarders.clone());
    let card = weir_web::Card::view(&look);
    let shares = "Swarms are shared with 1 other node.";
    assert!(card.sentence.ends_with(shares), "{}", card.sentence);
    let text = weir_web::Stats::section(&look).text;
    assert!(text.contains(&"swarm_events read 1".to_owned()), "{text:?}");
    let mut registry = Registry::with_prefix("weir");
    crate::metrics::register(look.clone(), &mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    for line in [
        "weir_swarm_events_total{outcome=\"read\"} 1",
        "weir_swarm_events_total{outcome=\"came\"} 1",
        "weir_swarm_events_total{outcome=\"written\"} 0",
        "weir_swarm_events_total{outcome=\"dropped\"} 0",
        "weir_swarm_entries_unreadable_total 0",
        "weir_swarm_lag_seconds{node=\"node 2\"} 0",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    // While the store is away nothing is shared, and nobody is told that it is.
    one.store.cut(true);
    tokio::time::sleep(MINUTE).await;
    let later = "Other nodes hear of these swarms when the store answers again.";
    let sentence = weir_web::Card::view(&look).sentence;
    assert!(
        one.node.is_alone() && sentence.ends_with(later),
        "{sentence}"
    );
}
