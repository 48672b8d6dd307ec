//! Every misbehaviour of an indexer, in memory and on loopback: each must look as it is meant to look.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use weir_net::http::{Client, Limits, Request, Roots};
use weir_net::{Error, Ground, Home, Reach, System};
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::flood::Flood;
use weir_testkit::zoo::indexer::{Behaviour, Files, Indexer, RetryAfter, Setup};

const MOST: usize = 1 << 20;

fn client(ground: Arc<dyn Ground>) -> Client {
    Client::new(ground, Roots::System, Limits::default()).expect("a client")
}

/// What a client makes of an address; nothing if it waits in vain.
async fn meet(client: &Client, url: &str) -> Option<Result<(u16, String), Error>> {
    let url = weir_config::SecretUrl::parse(url).expect("a URL");
    let home = Home::new(&url);
    let request = Request {
        reach: Reach::Home(&home),
        redirects: 3,
        body_limit: MOST,
        ..Request::new(&url)
    };
    let answer = timeout(Duration::from_secs(2), client.get(&request));
    let answer = answer.await.ok()?;
    Some(answer.map(|response| {
        let body = String::from_utf8_lossy(&response.body);
        (response.status, body.into_owned())
    }))
}

/// What must come of a behaviour: a status and words of the body, an error, or nothing.
type Meant = Option<Result<(u16, &'static str), Error>>;

fn table() -> Vec<(Behaviour, Meant)> {
    use Behaviour as B;
    let too_large = || Some(Err(Error::TooLarge { limit: MOST }));
    let item = "<title>Some.Show.S01E02.1080p</title>";
    vec![
        (B::Good, Some(Ok((200, item)))),
        (B::Gzip, Some(Ok((200, item)))),
        (B::Slow(Duration::from_millis(9)), Some(Ok((200, item)))),
        (B::WrongPaging, Some(Ok((200, "total=\"999999\"")))),
        (B::Latin1, Some(Ok((200, "encoding=\"ISO-8859-1\"")))),
        (
            B::Limits {
                calls: (5, 100),
                grabs: (1, 10),
            },
            Some(Ok((200, "apimax=\"100\" grabcurrent=\"1\" grabmax=\"10\""))),
        ),
        (
            B::Status(429, RetryAfter::Seconds(9)),
            Some(Ok((429, "status 429"))),
        ),
        (
            B::BurstLimit {
                calls: 0,
                window: Duration::from_secs(60),
                retry_after: RetryAfter::None,
            },
            Some(Ok((429, ""))),
        ),
        (
            B::Error(900, "words".to_owned()),
            Some(Ok((200, "<error code=\"900\" description=\"words\"/>"))),
        ),
        (
            B::ErrorStatus(400, 201, "words".to_owned()),
            Some(Ok((400, "<error code=\"201\""))),
        ),
        (B::Html, Some(Ok((200, "<!DOCTYPE html>")))),
        (B::Empty, Some(Ok((200, "")))),
        (B::InvalidXml, Some(Ok((200, "<channel>")))),
        (B::EntityBomb, Some(Ok((200, "<!ENTITY a9 ")))),
        (B::ExternalEntity, Some(Ok((200, "SYSTEM \"http://")))),
        (B::Flaky(1), Some(Ok((500, "")))),
        (B::RedirectLoop, Some(Err(Error::Redirects))),
        (B::CloseAfterRequest, Some(Err(Error::Cut))),
        (B::HugeBody(3 << 20), too_large()),
        (B::GzipBomb(3 << 20), too_large()),
        (
            B::Flood(Flood::Informational, 8 << 20),
            Some(Err(Error::TooMany("preliminary replies"))),
        ),
        (
            B::Flood(Flood::Chunks, 8 << 20),
            Some(Err(Error::TooMany("small pieces"))),
        ),
        (
            B::Flood(Flood::GzipMembers, 200_000),
            Some(Err(Error::TooMany("gzip members"))),
        ),
        (B::Drip(Duration::from_millis(100)), None),
        (B::Hang, None),
    ]
}

async fn check(client: &Client, indexer: &Indexer) {
    for (behaviour, meant) in table() {
        indexer.set(behaviour.clone());
        let caps = meet(client, &format!("{}?t=caps", indexer.url())).await;
        let Some(Ok((200, caps))) = caps else {
            panic!("{behaviour:?}: {caps:?}");
        };
        assert!(
            caps.contains("<limits default=\"100\" max=\"100\"/>"),
            "{caps}"
        );
        let met = meet(client, &format!("{}?t=search&cat=5000", indexer.url())).await;
        match (&meant, &met) {
            (None, None) => {}
            (Some(Ok((status, words))), Some(Ok((other, body)))) => {
                assert_eq!(status, other, "{behaviour:?}");
                assert!(body.contains(words), "{behaviour:?}: {body}");
            }
            (Some(Err(error)), Some(Err(other))) if error == other => {}
            _ => panic!("{behaviour:?} came out as {met:?}"),
        }
    }
    indexer.set_all(Behaviour::Html);
    let caps = meet(client, &format!("{}?t=caps", indexer.url())).await;
    assert!(matches!(caps, Some(Ok((200, page))) if page.starts_with("<!DOCTYPE")));
    assert!(!indexer.was_lured());
    let base = indexer.url().replace("/api", "");
    for (files, status) in [
        (Files::Good, 200),
        (Files::Html, 200),
        (Files::Missing, 404),
        (Files::Magnet, 302),
        (Files::Status(429, RetryAfter::None), 429),
        (Files::Error(501, "words".to_owned()), 200),
    ] {
        indexer.set_files(files.clone());
        let met = meet(client, &format!("{base}/file/7")).await;
        assert!(
            matches!(met, Some(Ok((other, _))) if other == status),
            "{files:?}: {met:?}"
        );
    }
    assert_eq!(indexer.grabs().len(), 6);
    meet(client, &format!("{base}/external")).await;
    assert!(indexer.was_lured());
}

#[tokio::test(start_paused = true)]
async fn every_misbehaviour_shows_in_memory() {
    let network = Network::new();
    let address = SocketAddr::from(([192, 0, 2, 1], 80));
    let place = Place::Memory(&network, address);
    let indexer = Indexer::start(place, Setup::with(1..4)).await;
    check(
        &client(network.ground()),
        &indexer.expect("memory has room"),
    )
    .await;
}

#[tokio::test]
async fn every_misbehaviour_shows_on_loopback() {
    let indexer = Indexer::start(Place::Loopback, Setup::with(1..4)).await;
    let system = Arc::new(System::with_name_servers(Vec::new()));
    check(&client(system), &indexer.expect("a port")).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_is_found() {
    let network = Network::new();
    let place = Place::Memory(&network, SocketAddr::from(([192, 0, 2, 1], 80)));
    let indexer = Indexer::start(place, Setup::with(1..10)).await;
    let indexer = indexer.expect("memory has room");
    let client = client(network.ground());
    for (query, count) in [
        ("t=search", 9),
        ("t=search&q=some+show", 9),
        ("t=search&q=Some%20Show%20S01E03", 1),
        ("t=search&q=other", 0),
        ("t=search&cat=5040", 9),
        ("t=search&cat=2000,5000", 9),
        ("t=search&cat=2000%2C2040", 0),
        ("t=search&limit=4", 4),
        ("t=search&limit=4&offset=6", 3),
    ] {
        let met = meet(&client, &format!("{}?{query}", indexer.url())).await;
        let Some(Ok((200, body))) = met else {
            panic!("{query}: {met:?}");
        };
        assert_eq!(body.matches("<item>").count(), count, "{query}: {body}");
    }
    assert_eq!(indexer.searches().len(), 9);
    assert_eq!(indexer.searches()[8].value("offset"), Some("6"));
}
