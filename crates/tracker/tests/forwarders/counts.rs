//! What the counters say of requests over real sockets.

use weir_testkit::zoo::Place;
use weir_testkit::zoo::http::{Behaviour, Good, Tracker};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_reply_is_held_counts_once() {
    let good = Behaviour::Good(Good {
        peers: vec![SocketAddr::from(([198, 51, 100, 7], 51413))],
        ..Good::default()
    });
    let tracker = Tracker::start(Place::Loopback, good).await;
    let tracker = tracker.expect("a tracker");
    let config = Config {
        first_wait: PATIENCE,
        ..Config::default()
    };
    let weir = Weir::start_with(forwarder(&tracker.url(), None), config);
    let reply = weir.announce(1, 1000, "").await;
    assert!(reply.contains("8:completei1e"), "it waited: {reply}");
    let reply = weir.announce_udp(2, 1000).await;
    assert_eq!(reply[8..12], [0, 0, 0, 1], "so did this one: {reply:?}");
    weir.called(2).await;
    let counters = weir.engine.status().counters;
    assert_eq!((counters.asked, counters.sent), (2, 2), "{counters:?}");
    weir.announce(1, 1000, "").await;
    weir.announce_udp(2, 1000).await;
    let counters = weir.engine.status().counters;
    assert_eq!((counters.asked, counters.from_memory), (4, 2));
    assert_eq!((counters.sent, counters.waiting()), (2, 0));
}
