//! Three nodes on a cluster of three servers.

use crate::nodes::{Nodes, Plan};
use crate::{pass, secs};

#[test]
#[ignore = "takes minutes; cargo xtask chaos"]
fn windows_hold_on_a_cluster_and_while_one_of_its_servers_is_stopped() {
    let plan = Plan {
        cluster: true,
        ..Plan::default()
    };
    let nodes = Nodes::start(plan);
    std::thread::scope(|scope| {
        for one in &nodes.all {
            for _ in 0..20 {
                scope.spawn(|| assert_eq!(one.search("debian").status(), 200));
            }
        }
    });
    for indexer in &nodes.indexers {
        assert_eq!(indexer.searches().len(), 1, "{:?}", indexer.searches());
    }
    let clients = nodes.clients(3);
    nodes.wait_for_calls(20);
    let mut alone = 0;
    // The one that has nearly everything is among them.
    for (number, server) in nodes.stores.iter().enumerate() {
        nodes.say(&format!("server {number} is stopped"));
        let seen: Vec<_> = nodes.all.iter().map(|one| one.process().lines()).collect();
        server.freeze();
        pass(secs(10));
        server.thaw();
        nodes.say("and woken");
        nodes.wait_together();
        nodes.wait_for_calls(10);
        for (one, seen) in nodes.all.iter().zip(seen) {
            let log = one.process().log();
            let mut said = log.iter().skip(seen);
            alone += usize::from(said.any(|line| line.contains("alone: of shared limits")));
        }
    }
    assert!(alone >= 3, "no server was missed: {alone}");
    nodes.let_windows_pass();
    clients.end();
    nodes.check();
}
