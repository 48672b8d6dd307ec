//! Connecting, keeping connections, and finding them closed.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, advance, timeout};
use weir_net::http::{Client, Limits, Roots};
use weir_net::{Error, Family, Goal, Reach, System, connect};
use weir_testkit::memory::{Fault, Name, Network};

use crate::{PUBLIC, Scripted, answer, at, client, get};

fn ok() -> Vec<u8> {
    answer("200 OK", b"ok")
}

#[tokio::test(start_paused = true)]
async fn a_connection_serves_many_requests() {
    let network = Network::new();
    // One more than is used, because the server closes after its last answer.
    let server = Scripted::start(network.listen(at(PUBLIC)), vec![vec![ok(); 4]]);
    let client = client(&network);
    for path in ["/one", "/two", "/three"] {
        let text = format!("http://192.0.2.1{path}");
        get(&client, &text).await.expect("an answer");
        assert_eq!(client.idle(), 1);
    }
    assert_eq!(server.heads().len(), 3);
    assert_eq!(network.connections(at(PUBLIC)), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_the_upstream_ends_is_not_kept() {
    let network = Network::new();
    let closing = answer("200 OK\r\nConnection: close", b"ok");
    let script = vec![vec![closing.clone(), closing.clone()], vec![closing]];
    let _server = Scripted::start(network.listen(at(PUBLIC)), script);
    let client = client(&network);
    get(&client, "http://192.0.2.1/").await.expect("an answer");
    assert_eq!(client.idle(), 0);
}

#[tokio::test(start_paused = true)]
async fn closed_connections_are_noticed_before_they_are_used() {
    let network = Network::new();
    let mut listener = network.listen(at(PUBLIC));
    let client = client(&network);
    let server = async {
        let mut streams = Vec::new();
        for _ in 0..2 {
            streams.push(listener.accept().await.expect("a connection"));
        }
        for stream in &mut streams {
            stream.write_all(&ok()).await.expect("sent");
        }
        streams
    };
    let asked = join_all((0..2).map(|_| get(&client, "http://192.0.2.1/")));
    let (streams, answers) = tokio::join!(server, asked);
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(client.idle(), 2);
    drop(streams);
    let server = Scripted::start(listener, vec![vec![ok(); 2]]);
    get(&client, "http://192.0.2.1/").await.expect("an answer");
    assert_eq!(client.idle(), 1, "both old ones are gone");
    assert_eq!(server.heads().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_on_a_closing_connection_is_repeated_once() {
    let network = Network::new();
    // The second request is read, and then the connection is closed.
    let script = vec![vec![ok(), Vec::new()], vec![ok()]];
    let server = Scripted::start(network.listen(at(PUBLIC)), script);
    let client = client(&network);
    get(&client, "http://192.0.2.1/1").await.expect("an answer");
    get(&client, "http://192.0.2.1/2").await.expect("an answer");
    let heads = server.heads();
    assert_eq!(heads.len(), 3);
    assert_eq!(heads[1], heads[2]);
    assert_eq!(network.connections(at(PUBLIC)), 2);
}

#[tokio::test(start_paused = true)]
async fn a_fresh_connection_that_closes_is_not_tried_again() {
    let network = Network::new();
    let script = vec![vec![ok(), Vec::new()], vec![Vec::new()], vec![ok()]];
    let server = Scripted::start(network.listen(at(PUBLIC)), script);
    let client = client(&network);
    get(&client, "http://192.0.2.1/1").await.expect("an answer");
    let error = get(&client, "http://192.0.2.1/2").await;
    assert_eq!(error.expect_err("closed twice"), Error::Cut);
    assert_eq!(server.heads().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_began_is_not_asked_for_again() {
    let network = Network::new();
    let script = vec![vec![ok(), b"HTTP/1.1 2".to_vec()], vec![ok()]];
    let server = Scripted::start(network.listen(at(PUBLIC)), script);
    let client = client(&network);
    get(&client, "http://192.0.2.1/1").await.expect("an answer");
    let error = get(&client, "http://192.0.2.1/2").await;
    assert_eq!(error.expect_err("cut"), Error::Cut);
    assert_eq!(server.heads().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn idle_connections_are_closed_in_time() {
    let network = Network::new();
    let script = vec![vec![ok(); 2], vec![ok(); 2]];
    let _server = Scripted::start(network.listen(at(PUBLIC)), script);
    let client = client(&network);
    for connections in 1..=2 {
        get(&client, "http://192.0.2.1/").await.expect("an answer");
        assert_eq!(network.connections(at(PUBLIC)), connections);
        advance(Duration::from_secs(54)).await;
        assert_eq!(client.idle(), 1);
        advance(Duration::from_secs(2)).await;
        // Lets the sweeper run.
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(client.idle(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn idle_connections_are_bounded_in_number() {
    let network = Network::new();
    let limits = Limits {
        idle: 2,
        ..Limits::default()
    };
    let client = Client::new(network.ground(), Roots::System, limits).expect("a client");
    let mut servers = Vec::new();
    for host in 1..=3 {
        let listener = network.listen(at(&format!("192.0.2.{host}:80")));
        servers.push(Scripted::start(listener, vec![vec![ok(); 2]; 2]));
        let text = format!("http://192.0.2.{host}/");
        get(&client, &text).await.expect("an answer");
        advance(Duration::from_secs(1)).await;
    }
    assert_eq!(client.idle(), 2);
    for (host, connections) in [(3, 1), (2, 1), (1, 2)] {
        let text = format!("http://192.0.2.{host}/");
        get(&client, &text).await.expect("an answer");
        let address = at(&format!("192.0.2.{host}:80"));
        assert_eq!(network.connections(address), connections, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn connections_to_one_upstream_are_bounded() {
    let network = Network::new();
    let limits = Limits {
        idle_per_upstream: 2,
        ..Limits::default()
    };
    let client = Client::new(network.ground(), Roots::System, limits).expect("a client");
    let mut listener = network.listen(at(PUBLIC));
    let server = async {
        let mut streams = Vec::new();
        for _ in 0..4 {
            streams.push(listener.accept().await.expect("a connection"));
        }
        for stream in &mut streams {
            stream.write_all(&ok()).await.expect("sent");
        }
        streams
    };
    let asked = join_all((0..4).map(|_| get(&client, "http://192.0.2.1/")));
    let (_streams, answers) = tokio::join!(server, asked);
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(client.idle(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_request_closes_its_connection() {
    let network = Network::new();
    let mut listener = network.listen(at(PUBLIC));
    let client = client(&network);
    let asked = timeout(Duration::from_secs(1), get(&client, "http://192.0.2.1/"));
    assert!(asked.await.is_err());
    let mut stream = listener.accept().await.expect("a connection");
    let mut rest = Vec::new();
    let read = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest);
    timeout(Duration::from_secs(1), read)
        .await
        .expect("an end")
        .expect("an end");
    assert!(rest.starts_with(b"GET / HTTP/1.1\r\n"));
    assert_eq!(client.idle(), 0);
}

#[tokio::test(start_paused = true)]
async fn every_address_gets_its_share_of_the_time() {
    let network = Network::new();
    network.resolves("a.example", &["192.0.2.1", "192.0.2.2", "2001:db8::1"]);
    network.set_fault(at("192.0.2.1:80"), Fault::Silent);
    network.set_fault(at("[2001:db8::1]:80"), Fault::Unreachable);
    let _server = Scripted::start(network.listen(at("192.0.2.2:80")), vec![vec![ok()]]);
    let start = Instant::now();
    get(&client(&network), "http://a.example/")
        .await
        .expect("an answer");
    let taken = start.elapsed();
    assert_eq!(
        taken.as_millis() / 10,
        333,
        "a third of ten seconds, not {taken:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_most_telling_failure_is_told() {
    let network = Network::new();
    let client = client(&network);
    network.resolves("a.example", &["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    for (faults, expected) in [
        (
            [Fault::Unreachable, Fault::Refused, Fault::NoRoute],
            Error::Refused,
        ),
        (
            [Fault::Silent, Fault::Unreachable, Fault::NoRoute],
            Error::TimedOut,
        ),
        (
            [Fault::Unreachable, Fault::NoRoute, Fault::Unreachable],
            Error::NoRoute,
        ),
        ([Fault::Unreachable; 3], Error::Unreachable),
        ([Fault::Silent; 3], Error::TimedOut),
    ] {
        for (host, fault) in (1..).zip(faults) {
            network.set_fault(at(&format!("192.0.2.{host}:80")), fault);
        }
        let error = get(&client, "http://a.example/").await;
        assert_eq!(error.expect_err("nobody is there"), expected, "{faults:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn names_that_fail_are_told_apart() {
    let network = Network::new();
    network.set_name("silent.example", Name::Silent);
    let client = client(&network);
    for (text, expected) in [
        ("http://silent.example/", Error::SilentDns),
        ("http://unknown.example/", Error::NoSuchHost),
    ] {
        assert_eq!(get(&client, text).await.expect_err("no host"), expected);
    }
    network.set_down(true);
    let error = get(&client, "http://unknown.example/").await;
    assert_eq!(error.expect_err("down"), Error::SilentDns);
    let error = get(&client, "http://192.0.2.1/").await;
    assert_eq!(error.expect_err("down"), Error::Unreachable);
}

#[tokio::test(start_paused = true)]
async fn private_hosts_are_refused_unless_configured() {
    let network = Network::new();
    network.resolves("mixed.example", &["10.0.0.1", "192.0.2.1"]);
    network.resolves("inside.example", &["10.0.0.1", "fd00::1"]);
    let goal = |host, reach| Goal {
        host,
        port: 80,
        family: Family::Any,
        reach,
    };
    let within = Duration::from_secs(1);
    for (host, reach, expected) in [
        (
            "inside.example",
            Reach::Public,
            Error::Forbidden("10.0.0.1".parse().expect("an address")),
        ),
        (
            "127.0.0.1",
            Reach::Public,
            Error::Forbidden("127.0.0.1".parse().expect("an address")),
        ),
        (
            "[::ffff:127.0.0.1]",
            Reach::Public,
            Error::Forbidden("127.0.0.1".parse().expect("an address")),
        ),
        (
            "0x7f.1",
            Reach::Public,
            Error::Forbidden("127.0.0.1".parse().expect("an address")),
        ),
        ("inside.example", Reach::Everywhere, Error::Refused),
        ("mixed.example", Reach::Public, Error::Refused),
    ] {
        let error = connect(&network, goal(host, reach), within).await;
        assert_eq!(error.err(), Some(expected), "{host}");
    }
    assert_eq!(network.connections(at("10.0.0.1:80")), 1);
    assert_eq!(network.connections(at(PUBLIC)), 1);
}

#[tokio::test]
async fn the_kernel_refuses_in_our_words() {
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let system = System::with_name_servers(Vec::new());
    let goal = Goal {
        host: "127.0.0.1",
        port,
        family: Family::Any,
        reach: Reach::Everywhere,
    };
    let error = connect(&system, goal, Duration::from_secs(5)).await;
    assert_eq!(error.err(), Some(Error::Refused));
}
