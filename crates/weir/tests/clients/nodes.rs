//! Real clients at different Weirs, which share nothing but a store: they find one another all the same.

use weir_testkit::redis::Redis;

use crate::asking::Counts;
use crate::client::Client;
use crate::network::{Families, Network};
use crate::tracker::{By, Weir};
use crate::{Aria2, HttpV4, Libtorrent, Program, Torrent, Transmission, UdpV4, V4, reached};

/// Several Weirs on the network's own host, each at ports of its own. Dropped in this order: the network outlives the
/// programs in it.
struct Shared {
    clients: Vec<Client>,
    weirs: Vec<Weir>,
    _redis: Redis,
    torrent: Torrent,
    network: Network,
}

impl Shared {
    fn new(nodes: u16) -> Self {
        let network = Network::new();
        // On this thread, which is inside the network.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let redis = runtime.block_on(Redis::start()).expect("`redis-server`");
        let store = format!(
            "store: {{ redis: '{}', secret: 'a secret of these tests' }}\n",
            redis.url()
        );
        let weirs = (0..nodes).map(|node| Weir::node(&network, node, &store));
        Self {
            clients: Vec::new(),
            weirs: weirs.collect(),
            _redis: redis,
            torrent: Torrent::new(),
            network,
        }
    }

    /// Adds a client that knows one of the Weirs and none of the others.
    fn client(&mut self, program: Program, families: Families, by: By, node: usize, seeds: bool) {
        let host = self.network.host(families);
        let url = self.weirs[node].url(by);
        let start = if seeds { Client::seed } else { Client::leech };
        self.clients.push(start(program, host, &self.torrent, &url));
    }

    fn counts(&self) -> Vec<Counts> {
        let weirs = self.weirs.iter();
        weirs.map(|weir| weir.scrape(&self.torrent)).collect()
    }

    fn wait(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        if reached(|| condition(self)) {
            return;
        }
        let mut logs = String::new();
        for weir in &self.weirs {
            logs += &format!("\n== Weir ==\n{}", weir.log());
        }
        for client in &self.clients {
            logs += &format!("\n== {:?} ==\n{}", client.program, client.log());
        }
        panic!(
            "it never came to pass that {what}: {:?}{logs}",
            self.counts()
        );
    }

    /// Waits until all Weirs count the same.
    fn all_count(&self, complete: u32, downloaded: u32) {
        let wanted = Counts {
            complete,
            downloaded,
            incomplete: 0,
        };
        self.wait(&format!("all Weirs count {wanted:?}"), |shared| {
            shared.counts().iter().all(|counts| *counts == wanted)
        });
    }
}

#[test]
fn clients_at_three_weirs_get_a_file_from_one_another() {
    let mut shared = Shared::new(3);
    shared.client(Libtorrent, V4, HttpV4, 0, true);
    shared.all_count(1, 0);
    shared.client(Transmission, V4, HttpV4, 1, false);
    shared.client(Aria2, V4, UdpV4, 2, false);
    for number in [1, 2] {
        shared.wait("each has the file", |shared| {
            shared.clients[number].has(&shared.torrent)
        });
    }
    shared.all_count(3, 2);
    for (client, left) in shared.clients.iter().zip([2, 1, 0]) {
        client.stop();
        shared.wait("all Weirs know who is left", |shared| {
            let counts = shared.counts();
            counts.iter().all(|counts| counts.complete == left)
        });
    }
}
