//! Names on a real name server.

use std::time::Duration;

use tokio::time::timeout;
use weir_net::{Error, Family, Ground, Names, Reach, System};
use weir_testkit::dns::Server;
use weir_testkit::memory::Name;

async fn start() -> (Server, System) {
    let server = Server::start().await.expect("a port");
    let system = System::with_name_servers(vec![server.address()]);
    (server, system)
}

fn addresses(texts: &[&str]) -> Name {
    let texts = texts.iter();
    Name::Addresses(
        texts
            .map(|text| text.parse().expect("an address"))
            .collect(),
    )
}

#[tokio::test]
async fn both_families_are_found_and_remembered() {
    let (server, system) = start().await;
    server.set(
        "a.example",
        addresses(&["2001:db8::1", "192.0.2.1", "192.0.2.2"]),
    );
    for _ in 0..2 {
        let found = system.resolve("a.example").await.expect("addresses");
        let mut found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found.last().map(String::as_str),
            Some("2001:db8::1"),
            "v4 comes first"
        );
        found.sort();
        assert_eq!(found, ["192.0.2.1", "192.0.2.2", "2001:db8::1"]);
    }
    let mut questions = server.questions();
    questions.sort();
    assert_eq!(
        questions,
        ["A a.example", "AAAA a.example"],
        "the second answer was at hand"
    );
}

#[tokio::test]
async fn names_without_addresses_do_not_exist() {
    let (server, system) = start().await;
    server.set("empty.example", addresses(&[]));
    server.set("four.example", addresses(&["192.0.2.1"]));
    for name in ["empty.example", "unknown.example"] {
        assert_eq!(system.resolve(name).await, Err(Error::NoSuchHost), "{name}");
    }
    let six = Names::addresses(&system, "four.example", 80, Family::V6, Reach::Public).await;
    assert_eq!(six, Err(Error::NoAddress));
    let four = Names::addresses(&system, "FOUR.example", 80, Family::V4, Reach::Public).await;
    assert_eq!(four, Ok(vec!["192.0.2.1:80".parse().expect("an address")]));
}

#[tokio::test]
async fn a_failing_server_is_as_good_as_none() {
    let (server, system) = start().await;
    server.set_failing(true);
    assert_eq!(system.resolve("a.example").await, Err(Error::SilentDns));
    server.set_failing(false);
    server.set("a.example", addresses(&["192.0.2.1"]));
    assert!(system.resolve("a.example").await.is_ok());
}

#[tokio::test]
async fn a_silent_server_costs_a_bounded_time() {
    let (server, system) = start().await;
    server.set_silent(true);
    let asked = timeout(Duration::from_secs(8), system.resolve("a.example"));
    assert_eq!(asked.await.expect("a bound"), Err(Error::SilentDns));
}

#[tokio::test]
async fn no_servers_are_silent_servers() {
    let system = System::with_name_servers(Vec::new());
    let asked = timeout(Duration::from_secs(8), system.resolve("a.example"));
    assert_eq!(asked.await.expect("a bound"), Err(Error::SilentDns));
}

#[tokio::test]
async fn silence_about_v6_does_not_hide_v4() {
    let (server, system) = start().await;
    server.ignore_v6();
    server.set("a.example", addresses(&["192.0.2.1"]));
    let asked = timeout(Duration::from_secs(2), system.resolve("a.example"));
    let found = asked
        .await
        .expect("not the whole bound")
        .expect("addresses");
    assert_eq!(found.len(), 1);
}

#[tokio::test]
async fn the_machine_knows_itself() {
    let found = System::new().resolve("localhost").await.expect("addresses");
    assert!(found.iter().all(std::net::IpAddr::is_loopback), "{found:?}");
}
