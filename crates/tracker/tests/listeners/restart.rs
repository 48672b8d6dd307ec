//! What a restart keeps, and what ends with the process.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::num::NonZeroU32;

use weir_tracker::config::Config;
use weir_web::Front as _;

use super::{Tracker, config, start};

#[test]
fn a_clean_restart_loses_nobody() {
    let mut tracker = Tracker::start(config());
    for port in 1..=500 {
        let mut stream = TcpStream::connect(tracker.at("http")).expect("a connection");
        let hash = port % 7;
        write!(stream, "GET /announce?info_hash={hash:020}&peer_id={port:020}&port={port}&left={} HTTP/1.0\r\n\r\n", port % 2).expect("it is sent");
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).expect("a reply");
        let reply = reply.escape_ascii().to_string();
        assert!(reply.contains("8:intervali1800e"), "{reply}");
    }
    let before = tracker.front().totals();
    assert_eq!(before.peers(), 500);
    tracker.front.take().expect("it runs").close();
    let again = start(&config(), tracker.directory.path(), &[]);
    assert_eq!(again.totals(), before);
    again.close();
}

#[test]
fn stopping_ends_every_thread_with_clients_still_connected() {
    for threads in [1, 3] {
        let tracker = Tracker::start(Config {
            listener_threads: NonZeroU32::new(threads),
            udp_listen: Some("[::]:0".parse().expect("all addresses")),
            http_listen: Some("[::]:0".parse().expect("all addresses")),
            ..config()
        });
        let port = tracker.at("http").port();
        let idle = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        let mut begun = TcpStream::connect(("::1", port)).expect("a connection");
        begun.write_all(b"GET /announce").expect("it is sent");
        drop(tracker); // waits for the threads
        drop((idle, begun));
    }
}
