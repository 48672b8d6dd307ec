//! What is told to those who have no key: nothing by which they learn who the indexers are.

use super::*;
use crate::config::indexer::IndexerKind;

/// What stands in braces in an address.
fn at(address: &str, name: &str) -> String {
    let Some((before, rest)) = address.split_once('{') else {
        return address.to_owned();
    };
    let (_, after) = rest.split_once('}').expect("a closing brace");
    format!("{before}{name}{after}")
}

#[tokio::test(start_paused = true)]
async fn without_a_key_every_address_answers_the_same_whoever_it_stands_for() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let mut config = config(["quokka", "wombat"].into_iter().zip(&indexers));
    config.indexers[1].kind = IndexerKind::Newznab;
    config.indexers[0].tags = vec!["marsupial".to_owned()];
    config.indexers[1].tags = vec!["marsupial".to_owned()];
    let world = World::new(network.ground(), &config);
    let numbers = world.get("/prowlarr/api/v1/indexer").await.body;
    assert!(
        numbers.contains("\"id\":1") && numbers.contains("\"id\":2"),
        "{numbers}"
    );
    let known = ["quokka", "wombat", "marsupial", "1", "2"];
    let others = [
        "quokk",
        "quokka2",
        "QUOKKA",
        "Wombat",
        "marsupials",
        "nobody",
        "3",
        "0",
        "-1",
        "all",
        "%71uokka",
    ];
    let mut open = 0;
    for address in crate::inbound::addresses() {
        for query in [
            "t=caps",
            "t=caps&o=json",
            "t=search&q=some",
            "t=tvsearch",
            "t=indexers",
            "t=get&id=x",
            "t=nonsense",
            "",
        ] {
            let ask = async |name: &str| {
                let target = format!("{}?{query}", at(&address, name));
                let reply = world.send(&target, &[("user-agent", "curl/8.0")]).await;
                (reply.status, reply.retry_after, reply.location, reply.body)
            };
            let unknown = ask("nobody-here").await;
            open += u32::from(unknown.0 == 200);
            for name in ["quokka", "wombat", "marsupial"] {
                assert!(
                    !unknown.3.contains(name),
                    "{address} {query}: {}",
                    unknown.3
                );
            }
            for name in known.into_iter().chain(others) {
                assert_eq!(ask(name).await, unknown, "{address} {query} {name}");
            }
        }
    }
    assert_eq!(
        open,
        2 * 13,
        "caps, in two forms, of all addresses that have them"
    );
}

#[tokio::test(start_paused = true)]
async fn with_a_key_an_address_stands_for_its_indexer() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let config = config([("quokka", &indexers[0])]);
    let world = World::new(network.ground(), &config);
    for target in [
        "/torznab/quokka/api?t=caps",
        "/prowlarr/1/api?t=caps",
        "/jackett/api/v2.0/indexers/quokka/results/torznab?t=caps",
    ] {
        let caps = world.get(target).await;
        assert!(
            caps.body.contains("Weir: quokka"),
            "{target}: {}",
            caps.body
        );
        let open = world.send(target, &[]).await;
        assert_eq!(open.status, 200, "{target}");
        assert!(open.body.contains("<searching>"), "{}", open.body);
    }
    let near = world.get("/torznab/quokk/api?t=caps").await;
    assert_eq!(near.status, 404);
    assert!(near.body.contains("There are: quokka."), "{}", near.body);
}
