//! Redirects.

use weir_net::http::{Client, Request};
use weir_net::{Error, Home, Reach};
use weir_testkit::memory::Network;

use crate::{PUBLIC, Scripted, answer, at, client, url};

fn to(location: &str) -> Vec<u8> {
    answer(&format!("302 Found\r\nLocation: {location}"), b"elsewhere")
}

fn ok() -> Vec<u8> {
    answer("200 OK", b"ok")
}

async fn follow(client: &Client, text: &str, redirects: u8) -> Result<u16, Error> {
    let url = url(text);
    let home = Home::new(&url);
    let request = Request {
        query: "x=1",
        host: Some("override.example"),
        reach: Reach::Home(&home),
        redirects,
        ..Request::new(&url)
    };
    Ok(client.get(&request).await?.status)
}

#[tokio::test(start_paused = true)]
async fn redirects_are_followed_without_our_question() {
    let network = Network::new();
    network.resolves("b.example", &["192.0.2.2"]);
    let script = vec![vec![to("/next?a=%7e")], vec![to("http://b.example/end")]];
    let first = Scripted::start(network.listen(at(PUBLIC)), script);
    let second = Scripted::start(network.listen(at("192.0.2.2:80")), vec![vec![ok()]]);
    let status = follow(&client(&network), "http://me:word@192.0.2.1/k3y", 2).await;
    assert_eq!(status, Ok(200));
    let heads = first.heads();
    assert!(heads[0].starts_with("GET /k3y?x=1 HTTP/1.1\r\nHost: override.example\r\n"));
    assert!(heads[1].starts_with("GET /next?a=%7e HTTP/1.1\r\nHost: override.example\r\n"));
    let head = &second.heads()[0];
    assert!(head.starts_with("GET /end HTTP/1.1\r\nHost: b.example\r\n"));
    assert!(!head.contains("Authorization"), "{head}");
}

#[tokio::test(start_paused = true)]
async fn a_loop_ends() {
    let network = Network::new();
    let server = Scripted::start(network.listen(at(PUBLIC)), vec![vec![to("/")]; 10]);
    let client = client(&network);
    let status = follow(&client, "http://192.0.2.1/", 5).await;
    assert_eq!(status, Err(Error::Redirects));
    assert_eq!(server.heads().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn without_redirects_the_redirect_is_the_answer() {
    let network = Network::new();
    let script = vec![vec![to("/next")], vec![to("magnet:?xt=urn:btih:0")]];
    let _server = Scripted::start(network.listen(at(PUBLIC)), script.clone());
    let client = client(&network);
    assert_eq!(follow(&client, "http://192.0.2.1/", 0).await, Ok(302));
    // A redirect to another scheme cannot be followed.
    let _server = Scripted::start(network.listen(at(PUBLIC)), script[1..].to_vec());
    assert_eq!(follow(&client, "http://192.0.2.1/", 5).await, Ok(302));
}

#[tokio::test(start_paused = true)]
async fn redirects_stay_out_of_private_networks() {
    let network = Network::new();
    network.resolves("inside.example", &["10.0.0.2"]);
    for (location, inner) in [
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://[::1]/", "::1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://inside.example/", "10.0.0.2"),
        ("http://10.0.0.1:81/", "10.0.0.1"),
        ("https://10.0.0.1/", "10.0.0.1"),
        ("https://10.0.0.1:80/", "10.0.0.1"),
        ("http://[::ffff:10.0.0.2]/", "10.0.0.2"),
        ("http://[64:ff9b::a00:2]/", "64:ff9b::a00:2"),
        ("http://[2002:a00:2::]/", "2002:a00:2::"),
        ("//169.254.169.254/latest/meta-data", "169.254.169.254"),
    ] {
        let listener = network.listen(at("10.0.0.1:80"));
        let _server = Scripted::start(listener, vec![vec![to(location)]]);
        let error = follow(&client(&network), "http://10.0.0.1/", 5).await;
        let inner = inner.parse().expect("an address");
        assert_eq!(error, Err(Error::Forbidden(inner)), "{location}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_configured_private_host_may_redirect_to_itself() {
    let network = Network::new();
    let script = vec![vec![to("http://10.0.0.1:8080/end")], vec![ok()]];
    let _server = Scripted::start(network.listen(at("10.0.0.1:8080")), script);
    let status = follow(&client(&network), "http://10.0.0.1:8080/", 1).await;
    assert_eq!(status, Ok(200));
}

#[tokio::test(start_paused = true)]
async fn a_kept_private_connection_is_no_way_in() {
    let network = Network::new();
    let inside = Scripted::start(network.listen(at("10.0.0.1:80")), vec![vec![ok(); 2]]);
    let _outside = Scripted::start(
        network.listen(at(PUBLIC)),
        vec![vec![to("http://10.0.0.1/")]],
    );
    let client = client(&network);
    assert_eq!(follow(&client, "http://10.0.0.1/", 0).await, Ok(200));
    assert_eq!(client.idle(), 1);
    let error = follow(&client, "http://192.0.2.1/", 1).await;
    assert!(matches!(error, Err(Error::Forbidden(_))), "{error:?}");
    assert_eq!(inside.heads().len(), 1);
}
