//! The way to a server, against servers of all kinds in memory, where time can be paused.

mod animals;
mod inn;
mod pools;
mod posts;
mod ways;

use std::num::NonZeroU32;
use std::time::Duration;

use weir_net::Roots;
use weir_news_proto::{MessageId, Newsgroup};
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{self, Behaviour, News};

use super::*;
use crate::config::Config;
use crate::config::server::TlsMode;
use crate::rules::split;

const SECOND: Duration = Duration::from_secs(1);
const PORT: u16 = 119;

/// One server in a network, with a hundred articles in one newsgroup and three in another, and the way to it.
struct World {
    network: Network,
    server: News,
    outbound: Outbound,
    config: Config,
    entry: ServerEntry,
}

impl World {
    async fn new() -> Self {
        let network = Network::new();
        let shelf = vec![
            news::Newsgroup::new("misc.test").with(1..=100),
            news::Newsgroup::new("misc.other").with(7..=9),
        ];
        let address = ([192, 0, 2, 1], PORT).into();
        let server = News::start(Place::Memory(&network, address), shelf).await;
        let outbound = Outbound::new(network.ground(), &Roots::default());
        Self {
            server: server.expect("a server"),
            outbound: outbound.expect("a way out"),
            config: Config::default(),
            entry: ServerEntry {
                port: NonZeroU32::new(PORT.into()),
                tls: TlsMode::Off,
                ..ServerEntry::new("one", "192.0.2.1")
            },
            network,
        }
    }

    fn link(&self) -> Link {
        self.outbound.link(&split(&self.config).1.link, &self.entry)
    }

    /// The commands that came in, without those that every connection begins with.
    fn asked(&self) -> Vec<String> {
        let overture = ["CAPABILITIES", "MODE READER", "COMPRESS DEFLATE"];
        let lines = self.server.commands().into_iter().map(|one| one.line);
        lines
            .filter(|line| !overture.contains(&line.as_str()))
            .collect()
    }

    fn connections(&self) -> usize {
        self.server.connections().len()
    }
}

fn newsgroup(name: &str) -> Newsgroup {
    name.parse().expect("a name")
}

fn id(number: u64) -> MessageId {
    news::id(number).parse().expect("an ID")
}

/// The numbers of a window's lines.
fn numbers(window: &Window) -> Vec<u64> {
    window.lines().map(|line| line.number).collect()
}
