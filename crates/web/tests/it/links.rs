//! Sign-in links where several nodes share a store: each signs in at every node, and once.

use std::time::Duration;

use axum::http::StatusCode;

use crate::nodes::{Cluster, is_in, node_with};
use crate::support::{KEY, Reply, Rig, config};

/// Opens a link in a new browser.
async fn open(rig: &Rig, link: &str) -> Reply {
    let mut browser = rig.visitor();
    let reply = browser.get(link).await;
    assert_eq!(browser.signed_in(), reply.status == StatusCode::SEE_OTHER);
    reply
}

/// Whether it is said to be used or replaced.
async fn is_over(rig: &Rig, link: &str) -> bool {
    let reply = open(rig, link).await;
    reply.status == StatusCode::FORBIDDEN && reply.body.contains("used or replaced")
}

#[tokio::test]
async fn a_link_made_at_one_node_signs_in_at_another_and_then_nowhere() {
    let cluster = Cluster::new(3).await;
    let [a, b, c] = &cluster.rigs[..] else {
        panic!("three")
    };
    let link = a.app.sign_in_link().unwrap();
    cluster.settle().await;
    let mut browser = b.visitor();
    assert_eq!(browser.get(&link).await.status, StatusCode::SEE_OTHER);
    assert!(is_in(&browser, a).await && is_in(&browser, c).await);
    // At once, before anybody has heard of it: the store says who took it.
    for rig in [a, c, b] {
        assert!(is_over(rig, &link).await);
    }
    // Also where everything was lost, and after a restart.
    cluster.settle().await;
    cluster.store.restart_empty();
    cluster.away().await;
    cluster.back().await;
    for rig in &cluster.rigs {
        assert!(is_over(rig, &link).await);
    }
}

#[tokio::test]
async fn a_link_that_was_just_made_is_looked_for_before_it_is_refused() {
    let cluster = Cluster::new(2).await;
    let [a, b] = &cluster.rigs[..] else {
        panic!("two")
    };
    let link = a.app.sign_in_link().unwrap();
    // Told, but nobody has read it.
    a.app.exchange().await.unwrap();
    assert_eq!(open(b, &link).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn whoever_is_fastest_a_link_signs_in_once() {
    let cluster = Cluster::new(3).await;
    for round in 0..6 {
        let link = cluster.rigs[round % 3].app.sign_in_link().unwrap();
        cluster.settle().await;
        let all = cluster.rigs.iter().chain(&cluster.rigs);
        let all = futures_util::future::join_all(all.map(|rig| open(rig, &link)));
        let all = all.await;
        let inside = all
            .iter()
            .filter(|reply| reply.status == StatusCode::SEE_OTHER);
        assert_eq!(inside.count(), 1);
    }
}

#[tokio::test]
async fn a_newer_link_of_a_node_replaces_its_own_and_no_others() {
    let cluster = Cluster::new(2).await;
    let [a, b] = &cluster.rigs[..] else {
        panic!("two")
    };
    let old = a.app.sign_in_link().unwrap();
    cluster.settle().await;
    let other = b.app.sign_in_link().unwrap();
    let new = a.app.sign_in_link().unwrap();
    cluster.settle().await;
    cluster.settle().await;
    assert!(is_over(b, &old).await && is_over(a, &old).await);
    assert_eq!(open(a, &other).await.status, StatusCode::SEE_OTHER);
    assert_eq!(open(b, &new).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_link_replaced_while_its_node_did_not_run_is_over() {
    let mut cluster = Cluster::new(2).await;
    let old = cluster.rigs[0].app.sign_in_link().unwrap();
    cluster.settle().await;
    // As `weir sign-in` does it, with Weir stopped.
    let new = cluster.rigs[0].app.sign_in_link().unwrap();
    let rig = cluster.rigs.remove(0);
    let node = node_with("alder", 1, cluster.ways[0].clone(), "a secret");
    cluster.beat(node.clone()).await;
    let rig = rig.restarted_at(Some(node), config());
    cluster.rigs.insert(0, rig);
    cluster.settle().await;
    cluster.settle().await;
    assert!(is_over(&cluster.rigs[1], &old).await);
    assert_eq!(
        open(&cluster.rigs[1], &new).await.status,
        StatusCode::SEE_OTHER
    );
}

#[tokio::test]
async fn an_old_link_has_expired_at_every_node() {
    let cluster = Cluster::new(2).await;
    let link = cluster.rigs[0].app.sign_in_link().unwrap();
    cluster.settle().await;
    cluster.clock.advance(Duration::from_secs(3600));
    cluster.settle().await;
    for rig in &cluster.rigs {
        let reply = open(rig, &link).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN);
        assert!(reply.body.contains("has expired"), "{}", reply.body);
    }
}

#[tokio::test]
async fn while_the_store_is_away_a_link_signs_in_at_its_own_node_alone() {
    let cluster = Cluster::new(2).await;
    let [a, b] = &cluster.rigs[..] else {
        panic!("two")
    };
    let link = a.app.sign_in_link().unwrap();
    cluster.settle().await;
    cluster.away().await;
    // The other node may know it, and yet not whether it was used.
    let unsure = open(b, &link).await;
    assert_eq!(unsure.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(unsure.body.contains("Open it at alder"), "{}", unsure.body);
    let unknown = open(b, "/sign-in?link=nobody-knows-this-one").await;
    assert_eq!(unknown.status, StatusCode::SERVICE_UNAVAILABLE);
    let told = unknown.body.contains("Open it at the node that made it");
    assert!(told, "{}", unknown.body);
    // A guess counts as one, a link that is known does not.
    for _ in 0..4 {
        open(b, "/sign-in?link=nobody-knows-this-one").await;
    }
    let guessed = open(b, "/sign-in?link=nobody-knows-this-one").await;
    assert_eq!(guessed.status, StatusCode::TOO_MANY_REQUESTS);
    let unsure = open(b, &link).await;
    assert_eq!(unsure.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(open(a, &link).await.status, StatusCode::SEE_OTHER);
    assert!(is_over(a, &link).await);
    cluster.back().await;
    let mut elsewhere = b.visitor_from("198.51.100.77");
    let reply = elsewhere.get(&link).await;
    assert_eq!(reply.status, StatusCode::FORBIDDEN, "used is used");
    // Who has a key gets in whatever becomes of links.
    let mut browser = b.visitor_from("198.51.100.78");
    browser.sign_in(KEY).await;
    assert!(browser.signed_in());
}

#[tokio::test]
async fn a_right_link_signs_in_whatever_others_at_the_address_sent() {
    let cluster = Cluster::new(2).await;
    let [a, b] = &cluster.rigs[..] else {
        panic!("two")
    };
    let link = a.app.sign_in_link().unwrap();
    cluster.settle().await;
    for _ in 0..6 {
        b.visitor().get("/sign-in?link=wrong").await;
    }
    let wrong = open(b, "/sign-in?link=wrong").await;
    assert_eq!(wrong.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(open(b, &link).await.status, StatusCode::SEE_OTHER);
}
