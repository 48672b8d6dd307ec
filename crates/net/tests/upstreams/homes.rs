//! Where a configured upstream may be reached if its name servers belong to somebody else.

use weir_net::http::{Client, Request};
use weir_net::{Error, Family, Home, Names, Reach};
use weir_testkit::memory::Network;

use crate::{Scripted, answer, at, client, url};

fn ok() -> Vec<u8> {
    answer("200 OK", b"ok")
}

/// Answers that also end their connection, so that the next request looks the name up again.
fn last() -> Vec<u8> {
    answer("200 OK\r\nConnection: close", b"ok")
}

async fn ask(client: &Client, home: &Home, text: &str) -> Result<u16, Error> {
    let url = url(text);
    let request = Request {
        reach: Reach::Home(home),
        redirects: 3,
        ..Request::new(&url)
    };
    Ok(client.get(&request).await?.status)
}

fn moved(text: &str) -> Result<u16, Error> {
    Err(Error::Moved(text.parse().expect("an address")))
}

#[tokio::test(start_paused = true)]
async fn a_name_that_turns_private_is_refused_and_explained() {
    let network = Network::new();
    network.resolves("indexer.example", &["192.0.2.1"]);
    let _public = Scripted::start(network.listen(at("192.0.2.1:80")), vec![vec![last()]; 2]);
    let inside = Scripted::start(network.listen(at("10.0.0.5:80")), vec![vec![last()]; 2]);
    let home = Home::new(&url("http://indexer.example/api"));
    let client = client(&network);
    let api = "http://indexer.example/api";
    assert_eq!(ask(&client, &home, api).await, Ok(200));
    network.resolves("indexer.example", &["10.0.0.5"]);
    let error = ask(&client, &home, api).await;
    assert_eq!(error, moved("10.0.0.5"));
    let words = error.expect_err("refused").to_string();
    assert!(
        words.contains("10.0.0.5") && words.contains("reload"),
        "{words}"
    );
    assert_eq!(
        ask(&client, &home, "http://indexer.example/file/1").await,
        moved("10.0.0.5")
    );
    // Among other addresses it is skipped.
    network.resolves("indexer.example", &["10.0.0.5", "192.0.2.1"]);
    assert_eq!(ask(&client, &home, api).await, Ok(200));
    assert_eq!(inside.heads().len(), 0);
    assert_eq!(network.connections(at("10.0.0.5:80")), 0);
    // The operator has reloaded the configuration.
    network.resolves("indexer.example", &["10.0.0.5"]);
    home.forget();
    assert_eq!(ask(&client, &home, api).await, Ok(200));
}

#[tokio::test(start_paused = true)]
async fn a_neighbour_is_called_where_it_was_and_nowhere_else() {
    for (host, moves) in [("nas.example", false), ("nas.lan", true), ("nas", true)] {
        let network = Network::new();
        network.resolves(host, &["10.0.0.5"]);
        let script = || vec![vec![last()]];
        let _old = Scripted::start(network.listen(at("10.0.0.5:9117")), script());
        let _new = Scripted::start(network.listen(at("10.0.0.6:9117")), script());
        let api = format!("http://{host}:9117/api");
        let home = Home::new(&url(&api));
        let client = client(&network);
        assert_eq!(ask(&client, &home, &api).await, Ok(200), "{host}");
        network.resolves(host, &["10.0.0.6"]);
        let expected = match moves {
            true => Ok(200),
            false => moved("10.0.0.6"),
        };
        assert_eq!(ask(&client, &home, &api).await, expected, "{host}");
    }
}

#[tokio::test(start_paused = true)]
async fn links_lead_to_a_neighbour_only_at_its_own_scheme_host_and_port() {
    let network = Network::new();
    network.resolves("nas.example", &["10.0.0.5"]);
    let _server = Scripted::start(network.listen(at("10.0.0.5:9117")), vec![vec![ok(); 2]]);
    let home = Home::new(&url("http://nas.example:9117/api"));
    let client = client(&network);
    let file = "http://nas.example:9117/file/1";
    assert_eq!(ask(&client, &home, file).await, Ok(200));
    for text in [
        "http://nas.example/file/1",
        "http://nas.example:22/file/1",
        "https://nas.example:9117/file/1",
        "http://10.0.0.5:9117/file/1",
    ] {
        let error = ask(&client, &home, text).await;
        let forbidden = "10.0.0.5".parse().expect("an address");
        assert_eq!(error, Err(Error::Forbidden(forbidden)), "{text}");
    }
    assert_eq!(network.connections(at("10.0.0.5:9117")), 1);
}

#[tokio::test(start_paused = true)]
async fn an_open_connection_serves_only_those_who_could_have_opened_it() {
    let network = Network::new();
    network.resolves("shared.example", &["10.0.0.5"]);
    let server = Scripted::start(network.listen(at("10.0.0.5:80")), vec![vec![ok(); 3]]);
    let client = client(&network);
    let text = "http://shared.example/";
    let first = Home::new(&url(text));
    assert_eq!(ask(&client, &first, text).await, Ok(200));
    assert_eq!(client.idle(), 1);
    // Another upstream's link, and one whose name was public when it was looked up.
    let stranger = Home::new(&url("http://other.example/"));
    let error = ask(&client, &stranger, text).await;
    assert!(matches!(error, Err(Error::Forbidden(_))), "{error:?}");
    let second = Home::new(&url(text));
    network.resolves("shared.example", &["192.0.2.1"]);
    let reach = Reach::Home(&second);
    let looked_up = Names::addresses(&network, "shared.example", 80, Family::Any, reach).await;
    assert_eq!(looked_up, Ok(vec![at("192.0.2.1:80")]));
    assert_eq!(ask(&client, &second, text).await, Err(Error::Refused));
    // It still serves the upstream it was opened for.
    assert_eq!((client.idle(), server.heads().len()), (1, 1));
    assert_eq!(ask(&client, &first, text).await, Ok(200));
    assert_eq!(network.connections(at("10.0.0.5:80")), 1);
}

#[tokio::test(start_paused = true)]
async fn a_link_outside_may_send_back_home() {
    let network = Network::new();
    network.resolves("cdn.example", &["192.0.2.1"]);
    let to = |location| answer(&format!("302 Found\r\nLocation: {location}"), b"");
    let script = vec![
        vec![to("http://10.0.0.5:9117/file/1")],
        vec![to("http://10.0.0.5:9118/")],
    ];
    let _cdn = Scripted::start(network.listen(at("192.0.2.1:80")), script);
    let _home = Scripted::start(network.listen(at("10.0.0.5:9117")), vec![vec![ok()]]);
    let home = Home::new(&url("http://10.0.0.5:9117/api"));
    let client = client(&network);
    let link = "http://cdn.example/1";
    assert_eq!(ask(&client, &home, link).await, Ok(200));
    let error = ask(&client, &home, link).await;
    assert!(matches!(error, Err(Error::Forbidden(_))), "{error:?}");
}
