//! Every misbehaviour, in memory and on loopback: each must look as it is meant to look.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};
use weir_net::http::{Client, Limits, Request, Roots};
use weir_net::{Datagrams, Error, Family, Ground, Home, Reach, System};
use weir_testkit::memory::Network;
use weir_testkit::zoo::flood::Flood;
use weir_testkit::zoo::http::{Behaviour, Good, RetryAfter, Tracker};
use weir_testkit::zoo::{Place, udp};
use weir_tracker_proto::http::{AnnounceAnswer, Answer, read_announce_reply};
use weir_tracker_proto::udp::{
    ConnectionId, Family as PacketFamily, Reply, TransactionId, request,
};
use weir_tracker_proto::{Announce, InfoHash, PeerId, ReplyError};

const ADDRESS: &str = "192.0.2.1:6969";

fn at(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn client(ground: Arc<dyn Ground>) -> Client {
    Client::new(ground, Roots::System, Limits::default()).expect("a client")
}

/// What a client makes of a tracker; nothing if it waits in vain.
async fn meet(client: &Client, tracker: &Tracker) -> Option<Result<(u16, Vec<u8>), Error>> {
    let url = weir_config::SecretUrl::parse(&tracker.url()).expect("a URL");
    let home = Home::new(&url);
    let request = Request {
        reach: Reach::Home(&home),
        redirects: 3,
        body_limit: 1 << 20,
        ..Request::new(&url)
    };
    let asked = timeout(Duration::from_secs(3), client.get(&request));
    let answer = asked.await.ok()?;
    Some(answer.map(|response| (response.status, response.body.to_vec())))
}

/// What must come of each behaviour.
enum Meant {
    Status(u16),
    Fails(Error),
    Hangs,
}

fn table() -> Vec<(Behaviour, Meant)> {
    use Meant::{Fails, Hangs, Status};
    let limit = 1 << 20;
    let too_large = || Fails(Error::TooLarge { limit });
    let too_many = |what| Fails(Error::TooMany(what));
    let flood = |flood| Behaviour::Flood(flood, 8 << 20);
    let date = RetryAfter::Text("Fri, 06 Nov 2099 08:49:37 GMT".to_owned());
    vec![
        (Behaviour::Good(Good::default()), Status(200)),
        (Behaviour::Status(429, RetryAfter::Seconds(9)), Status(429)),
        (Behaviour::Status(503, date), Status(503)),
        (Behaviour::Status(500, RetryAfter::None), Status(500)),
        (Behaviour::Hang, Hangs),
        (Behaviour::HalfBody, Fails(Error::Cut)),
        (Behaviour::Drip(Duration::from_secs(1)), Hangs),
        (Behaviour::CloseAtOnce, Fails(Error::Cut)),
        (Behaviour::CloseAfterRequest, Fails(Error::Cut)),
        (Behaviour::Reset, Fails(Error::Cut)),
        (Behaviour::Garbage, Fails(Error::Unreadable)),
        (Behaviour::Html, Status(200)),
        (Behaviour::Empty, Status(200)),
        (Behaviour::Truncated, Status(200)),
        (Behaviour::NestingBomb, Status(200)),
        (Behaviour::EndlessString, Status(200)),
        (Behaviour::HugeBody(3 << 20), too_large()),
        (Behaviour::GzipBomb(3 << 20), too_large()),
        (
            Behaviour::HugeHead(1 << 20),
            Fails(Error::TooLarge { limit: 64 << 10 }),
        ),
        (flood(Flood::Informational), too_many("preliminary replies")),
        (
            flood(Flood::Headers),
            Fails(Error::TooLarge { limit: 64 << 10 }),
        ),
        (flood(Flood::Chunks), too_many("small pieces")),
        (flood(Flood::ChunkSize), too_large()),
        (flood(Flood::ChunkExtension), Fails(Error::Unreadable)),
        (flood(Flood::Trailers), Fails(Error::Unreadable)),
        (flood(Flood::GzipMembers), too_large()),
        // Few enough bytes, and far too many members.
        (
            Behaviour::Flood(Flood::GzipMembers, 200_000),
            too_many("gzip members"),
        ),
        (Behaviour::Interval(-1), Status(200)),
        (Behaviour::RetryIn(5), Status(200)),
        (Behaviour::RetryNever, Status(200)),
        (Behaviour::FailureOnly("no".to_owned()), Status(200)),
        (
            Behaviour::Redirect("http://127.0.0.1:1/".to_owned()),
            Fails(Error::Forbidden(at("127.0.0.1:1").ip())),
        ),
        (Behaviour::RedirectLoop, Fails(Error::Redirects)),
    ]
}

async fn check(client: &Client, tracker: &Tracker) {
    for (behaviour, meant) in table() {
        tracker.set(behaviour.clone());
        let met = meet(client, tracker).await;
        match (meant, met) {
            (Meant::Hangs, None) => {}
            (Meant::Status(expected), Some(Ok((status, _)))) if status == expected => {}
            (Meant::Fails(expected), Some(Err(error))) if error == expected => {}
            (_, met) => panic!("{behaviour:?} came out as {met:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_misbehaviour_shows_in_memory() {
    let network = Network::new();
    let place = Place::Memory(&network, at(ADDRESS));
    let tracker = Tracker::start(place, Behaviour::Hang)
        .await
        .expect("a tracker");
    check(&client(network.ground()), &tracker).await;
}

#[tokio::test]
async fn every_misbehaviour_shows_on_loopback() {
    let tracker = Tracker::start(Place::Loopback, Behaviour::Hang).await;
    let tracker = tracker.expect("a tracker");
    let system = Arc::new(System::with_name_servers(Vec::new()));
    check(&client(system), &tracker).await;
}

/// Reads a body as an announce's answer.
async fn body(behaviour: Behaviour) -> Vec<u8> {
    let network = Network::new();
    let place = Place::Memory(&network, at(ADDRESS));
    let tracker = Tracker::start(place, behaviour).await.expect("a tracker");
    let met = meet(&client(network.ground()), &tracker).await;
    met.expect("in time").expect("an answer").1
}

fn peers(body: &[u8]) -> (AnnounceAnswer<'_>, Vec<SocketAddr>) {
    match read_announce_reply(body) {
        Ok(Answer::Given(told)) => (told, told.peers.addresses().collect()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn good_bodies_can_be_read_in_every_shape() {
    let everyone = vec![
        at("198.51.100.7:1"),
        at("198.51.100.8:2"),
        at("[2001:db8::7]:3"),
    ];
    for (dictionaries, gzip) in [(false, false), (true, false), (false, true)] {
        let good = Good {
            interval: 900,
            min_interval: Some(60),
            peers: everyone.clone(),
            tracker_id: Some("id".to_owned()),
            warning: Some("careful".to_owned()),
            dictionaries,
            gzip,
        };
        let body = body(Behaviour::Good(good)).await;
        let (told, found) = peers(&body);
        assert_eq!(found, everyone);
        assert_eq!(told.interval, Some(900));
        assert_eq!(told.tracker_id, Some(&b"id"[..]));
    }
}

#[tokio::test(start_paused = true)]
async fn bad_bodies_cannot_be_read() {
    for behaviour in [
        Behaviour::Html,
        Behaviour::Empty,
        Behaviour::Truncated,
        Behaviour::NestingBomb,
        Behaviour::EndlessString,
    ] {
        let body = body(behaviour.clone()).await;
        let read: Result<_, ReplyError> = read_announce_reply(&body);
        assert!(read.is_err(), "{behaviour:?}");
    }
    for behaviour in [
        Behaviour::RetryIn(5),
        Behaviour::RetryNever,
        Behaviour::FailureOnly("no".to_owned()),
    ] {
        let body = body(behaviour.clone()).await;
        let read = read_announce_reply(&body);
        assert!(matches!(read, Ok(Answer::Refused(_))), "{behaviour:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tracker_remembers_when_it_was_asked() {
    let network = Network::new();
    let place = Place::Memory(&network, at(ADDRESS));
    let tracker = Tracker::start(place, Behaviour::Good(Good::default())).await;
    let tracker = tracker.expect("a tracker");
    let client = client(network.ground());
    let start = Instant::now();
    for _ in 0..2 {
        meet(&client, &tracker).await;
        tokio::time::advance(Duration::from_secs(10)).await;
    }
    let seen = tracker.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1].at - start, Duration::from_secs(10));
    assert!(seen[0].bytes.starts_with(b"GET /announce HTTP/1.1\r\n"));
    assert_eq!(
        (tracker.connections(), network.connections(at(ADDRESS))),
        (1, 1)
    );
    drop(tracker);
    tokio::task::yield_now().await;
    let url = weir_config::SecretUrl::parse("http://192.0.2.1:6969/").expect("a URL");
    let error = client.get(&Request::new(&url)).await;
    assert_eq!(error.expect_err("it is gone"), Error::Refused);
}

/// A client of UDP trackers that knows no patience.
struct Asker {
    socket: Arc<dyn Datagrams>,
    tracker: SocketAddr,
}

impl Asker {
    async fn ask(&self, packet: &[u8]) -> Option<Vec<u8>> {
        self.socket.send(packet, self.tracker).await.expect("sent");
        let mut answer = [0; 2048];
        let received = timeout(Duration::from_millis(300), self.socket.receive(&mut answer));
        let (length, from) = received.await.ok()?.expect("received");
        assert_eq!(from, self.tracker);
        Some(answer[..length].to_vec())
    }

    async fn connect(&self) -> Option<ConnectionId> {
        let answer = self.ask(&request::connect(TransactionId(7))).await?;
        match Reply::parse(&answer, PacketFamily::V4) {
            Ok(Reply::Connect { connection, .. }) => Some(connection),
            _ => None,
        }
    }

    async fn announce(&self, connection: ConnectionId) -> Option<Vec<u8>> {
        let port = 6881.try_into().expect("a port");
        let announce = Announce::new(InfoHash([1; 20]), PeerId([2; 20]), port);
        let packet = request::announce(connection, TransactionId(8), &announce);
        self.ask(&packet).await
    }
}

fn is_announce(answer: Option<&Vec<u8>>) -> bool {
    let answer = answer.map(|answer| Reply::parse(answer, PacketFamily::V4));
    matches!(answer, Some(Ok(Reply::Announce { .. })))
}

fn is_error(answer: Option<&Vec<u8>>) -> bool {
    let answer = answer.map(|answer| Reply::parse(answer, PacketFamily::V4));
    matches!(answer, Some(Ok(Reply::Error { .. })))
}

async fn check_udp(asker: &Asker, tracker: &udp::Tracker) {
    tracker.set(udp::Behaviour::good());
    let id = asker.connect().await.expect("an id");
    assert!(is_announce(asker.announce(id).await.as_ref()));
    assert!(is_error(asker.announce(ConnectionId(1)).await.as_ref()));

    tracker.set(udp::Behaviour::RejectConnectionId(1));
    assert!(is_error(asker.announce(id).await.as_ref()));
    let fresh = asker.connect().await.expect("an id");
    assert_ne!(fresh, id);
    assert!(is_announce(asker.announce(fresh).await.as_ref()));

    tracker.set(udp::Behaviour::Drop(2));
    assert_eq!(asker.announce(fresh).await, None);
    assert_eq!(asker.announce(fresh).await, None);
    assert!(is_announce(asker.announce(fresh).await.as_ref()));

    tracker.set(udp::Behaviour::ErrorPacket("no".to_owned()));
    assert!(asker.connect().await.is_some());
    assert!(is_error(asker.announce(fresh).await.as_ref()));

    tracker.set(udp::Behaviour::WrongTransaction);
    let answer = asker.announce(fresh).await.expect("an answer");
    let answer = Reply::parse(&answer, PacketFamily::V4).expect("readable");
    assert_ne!(answer.transaction(), TransactionId(8));

    tracker.set(udp::Behaviour::Short);
    let answer = asker.announce(fresh).await.expect("an answer");
    let answer = Reply::parse(&answer, PacketFamily::V4);
    assert!(matches!(answer, Ok(Reply::Cut { .. })));
    assert_eq!(asker.connect().await, None);

    tracker.set(udp::Behaviour::Garbage);
    let answer = asker.announce(fresh).await.expect("an answer");
    assert!(Reply::parse(&answer, PacketFamily::V4).is_err());

    tracker.set(udp::Behaviour::SilentAnnounce);
    assert!(asker.connect().await.is_some());
    assert_eq!(asker.announce(fresh).await, None);
    tracker.set(udp::Behaviour::Silent);
    assert_eq!(asker.connect().await, None);
    assert_eq!(tracker.seen().len(), 18);
}

#[tokio::test(start_paused = true)]
async fn udp_trackers_misbehave_in_memory() {
    let network = Network::new();
    let place = Place::Memory(&network, at(ADDRESS));
    let tracker = udp::Tracker::start(place, udp::Behaviour::Silent).await;
    let tracker = tracker.expect("a tracker");
    let asker = Asker {
        socket: network.bind(Family::Any).await.expect("a socket"),
        tracker: tracker.address(),
    };
    check_udp(&asker, &tracker).await;
    tracker.set(udp::Behaviour::good());
    network.lose(at(ADDRESS), 1);
    assert_eq!(asker.connect().await, None);
    assert!(asker.connect().await.is_some());
    network.set_down(true);
    assert_eq!(asker.connect().await, None);
    network.set_down(false);
    assert!(asker.connect().await.is_some());
}

#[tokio::test]
async fn udp_trackers_misbehave_on_loopback() {
    let tracker = udp::Tracker::start(Place::Loopback, udp::Behaviour::Silent).await;
    let tracker = tracker.expect("a tracker");
    let system = System::with_name_servers(Vec::new());
    let asker = Asker {
        socket: system.bind(Family::Any).await.expect("a socket"),
        tracker: tracker.address(),
    };
    check_udp(&asker, &tracker).await;
}

#[tokio::test(start_paused = true)]
async fn a_reset_is_no_end() {
    let network = Network::new();
    let place = Place::Memory(&network, at(ADDRESS));
    let tracker = Tracker::start(place, Behaviour::Reset).await;
    let tracker = tracker.expect("a tracker");
    for (behaviour, expected) in [
        (Behaviour::Reset, Err(ErrorKind::ConnectionReset)),
        (Behaviour::CloseAfterRequest, Ok(0)),
    ] {
        tracker.set(behaviour);
        let mut stream = network.connect(at(ADDRESS)).await.expect("a stream");
        stream
            .write_all(b"GET / HTTP/1.1\r\n\r\n")
            .await
            .expect("sent");
        let read = stream.read(&mut [0; 9]).await;
        assert_eq!(read.map_err(|error| error.kind()), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn open_streams_stand_still_while_the_network_is_down() {
    let network = Network::new();
    let place = Place::Memory(&network, at(ADDRESS));
    let tracker = Tracker::start(place, Behaviour::Good(Good::default())).await;
    let tracker = tracker.expect("a tracker");
    let client = client(network.ground());
    assert!(meet(&client, &tracker).await.is_some());
    network.set_down(true);
    assert!(
        meet(&client, &tracker).await.is_none(),
        "the kept connection is silent"
    );
    let asked = meet(&client, &tracker).await;
    assert_eq!(asked, Some(Err(Error::Unreachable)));
    network.set_down(false);
    assert!(matches!(meet(&client, &tracker).await, Some(Ok(_))));
}
