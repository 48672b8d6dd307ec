//! Who may read, who may post, and how one signs in.

use std::time::Duration;

use super::world::{FRIEND, HERE, KEY, Newsreader, Rig, STRANGER, Wishes};
use crate::inbound::nntp::OpenKind;

const SECURE: Wishes = Wishes {
    public: false,
    auth_none: false,
    tls: true,
};

#[tokio::test(start_paused = true)]
async fn whoever_is_near_reads_and_others_are_asked_to_sign_in() {
    let mut rig = Rig::wishing(Wishes::default()).await;
    for address in [HERE, FRIEND, "::1"] {
        let mut near = rig.from(address).await;
        assert_eq!(near.code("GROUP misc.test").await, 211, "{address}");
        assert_eq!(near.code("POST").await, 480, "{address}");
    }
    let mut stranger = rig.from(STRANGER).await;
    for command in [
        "GROUP misc.test",
        "LISTGROUP misc.test",
        "ARTICLE <1@zoo.example>",
        "STAT <1@zoo.example>",
        "OVER <1@zoo.example>",
        "HDR Subject <1@zoo.example>",
        "XPAT Subject 1- *",
        "LIST",
        "LIST OVERVIEW.FMT",
        "NEWNEWS * 20240101 000000 GMT",
        "NEWGROUPS 20240101 000000 GMT",
        "NEXT",
        "POST",
    ] {
        assert_eq!(stranger.code(command).await, 480, "{command}");
    }
    assert_eq!(stranger.code("DATE").await, 111);
    assert_eq!(stranger.code("MODE READER").await, 200);
}

#[tokio::test(start_paused = true)]
async fn what_is_public_is_read_by_everybody_and_posted_to_by_nobody() {
    let wishes = Wishes {
        public: true,
        ..Wishes::default()
    };
    let mut rig = Rig::wishing(wishes).await;
    let mut stranger = rig.from(STRANGER).await;
    assert_eq!(stranger.code("GROUP misc.test").await, 211);
    assert_eq!(stranger.code("POST").await, 480);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_needs_a_key_everybody_reads_and_any_password_will_do() {
    let wishes = Wishes {
        auth_none: true,
        ..Wishes::default()
    };
    let mut rig = Rig::wishing(wishes).await;
    let mut stranger = rig.from(STRANGER).await;
    assert_eq!(stranger.code("GROUP misc.test").await, 211);
    assert_ne!(stranger.code("POST").await, 480);
    let mut near = rig.here().await;
    assert_eq!(near.code("AUTHINFO USER me").await, 381);
    assert_eq!(near.code("AUTHINFO PASS nonsense").await, 281);
}

#[tokio::test(start_paused = true)]
async fn a_key_signs_in_once_and_opens_posting() {
    let mut rig = Rig::wishing(Wishes::default()).await;
    let mut near = rig.here().await;
    assert_eq!(near.code("AUTHINFO PASS x").await, 482, "no name yet");
    assert_eq!(near.code("AUTHINFO USER me").await, 381);
    assert_eq!(near.code("AUTHINFO PASS wrong").await, 481);
    assert_eq!(near.code(&format!("AUTHINFO PASS {KEY}")).await, 482);
    assert!(near.capabilities().await.contains("AUTHINFO USER"));
    near.sign_in().await;
    assert_eq!(near.code("AUTHINFO USER me").await, 502);
    assert_eq!(near.code(&format!("AUTHINFO PASS {KEY}")).await, 502);
    assert_eq!(near.code("AUTHINFO SASL PLAIN").await, 502);
    let all = near.capabilities().await;
    assert!(
        !all.iter().any(|one| one.starts_with("AUTHINFO")),
        "{all:?}"
    );
    assert_ne!(near.code("POST").await, 480);
    assert_eq!(rig.here().await.code("AUTHINFO SASL PLAIN").await, 503);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_not_taken_where_others_could_read_it() {
    let mut rig = Rig::wishing(Wishes::default()).await;
    let mut stranger = rig.from(STRANGER).await;
    assert_eq!(stranger.code("AUTHINFO USER me").await, 483);
    assert_eq!(stranger.code(&format!("AUTHINFO PASS {KEY}")).await, 483);
    assert_eq!(stranger.code("AUTHINFO SASL PLAIN").await, 483);
    assert_eq!(stranger.code("STARTTLS").await, 580, "no certificate");
    let all = stranger.capabilities().await;
    let has = |word: &str| all.iter().any(|one| one.starts_with(word));
    assert!(!has("AUTHINFO") && !has("STARTTLS"), "{all:?}");
    rig.from(FRIEND).await.sign_in().await;
}

#[tokio::test(start_paused = true)]
async fn five_wrong_keys_close_an_address_whatever_comes_next() {
    let mut rig = Rig::wishing(SECURE).await;
    let mut one = rig.secure(STRANGER).await;
    for _ in 0..5 {
        assert_eq!(one.code("AUTHINFO USER me").await, 381);
        let reply = one.ask("AUTHINFO PASS guess").await;
        assert!(reply.starts_with("481 That is not a key"), "{reply}");
    }
    // Another connection of the same address, and the right key.
    let mut two = rig.secure(STRANGER).await;
    assert_eq!(two.code("AUTHINFO USER me").await, 381);
    let reply = two.ask(&format!("AUTHINFO PASS {KEY}")).await;
    assert!(reply.starts_with("481 Too many wrong keys"), "{reply}");
    rig.secure("203.0.113.10").await.sign_in().await;
}

#[tokio::test(start_paused = true)]
async fn starttls_makes_it_safe_to_sign_in() {
    let mut rig = Rig::wishing(SECURE).await;
    let mut plain = rig.from(STRANGER).await;
    let all = plain.capabilities().await;
    assert!(
        all.contains("STARTTLS") && all.contains("AUTHINFO"),
        "{all:?}"
    );
    assert_eq!(plain.code("AUTHINFO USER me").await, 483);
    assert_eq!(plain.code("STARTTLS").await, 382);
    let mut secure = Newsreader::new(rig.tls(plain.stream).await);
    let all = secure.capabilities().await;
    assert_eq!(rig.server.figures().count(OpenKind::Encrypted), 1);
    assert!(
        all.contains("AUTHINFO USER") && !all.contains("STARTTLS"),
        "{all:?}"
    );
    assert_eq!(secure.code("STARTTLS").await, 502);
    assert_eq!(secure.code("GROUP misc.test").await, 480);
    secure.sign_in().await;
    assert_eq!(secure.code("GROUP misc.test").await, 211);
    assert_eq!(secure.code("STARTTLS").await, 502);
}

/// Somebody on the way puts commands behind STARTTLS and hopes that they are answered as the client's own.
#[tokio::test(start_paused = true)]
async fn what_is_sent_in_plain_after_starttls_is_thrown_away() {
    let mut rig = Rig::wishing(SECURE).await;
    let mut plain = rig.here().await;
    assert_eq!(plain.code("GROUP misc.test").await, 211);
    plain
        .send("STARTTLS\r\nAUTHINFO USER evil\r\nDATE\r\nSTA")
        .await;
    assert!(plain.line().await.starts_with("382 "));
    let mut secure = Newsreader::new(rig.tls(plain.stream).await);
    assert_eq!(secure.code("STAT").await, 412, "the newsgroup is forgotten");
    assert_eq!(secure.code(&format!("AUTHINFO PASS {KEY}")).await, 482);
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_never_comes_ends_the_connection() {
    let mut rig = Rig::wishing(SECURE).await;
    let mut plain = rig.here().await;
    assert_eq!(plain.code("STARTTLS").await, 382);
    let began = tokio::time::Instant::now();
    assert_eq!(plain.rest().await, b"");
    assert_eq!(began.elapsed(), Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_may_only_read_does_not_post() {
    let mut rig = Rig::wishing(SECURE).await;
    let (_, reads) = rig.make_key("reader", "read").await;
    let (_, posts) = rig.make_key("writer", "post").await;
    let mut secure = rig.secure(STRANGER).await;
    assert_eq!(secure.code("AUTHINFO USER me").await, 381);
    assert_eq!(secure.code(&format!("AUTHINFO PASS {reads}")).await, 281);
    assert_eq!(secure.code("GROUP misc.test").await, 211);
    let refused = secure.ask("POST").await;
    assert_eq!(
        refused,
        "440 Posting needs a key with the right \"post\"; yours has \"read\""
    );
    let mut secure = rig.secure(STRANGER).await;
    assert_eq!(secure.code("AUTHINFO USER me").await, 381);
    assert_eq!(secure.code(&format!("AUTHINFO PASS {posts}")).await, 281);
    assert_eq!(secure.code("POST").await, 340);
}

#[tokio::test(start_paused = true)]
async fn a_revoked_key_ends_connections_that_wait() {
    let mut rig = Rig::wishing(SECURE).await;
    let (theirs, key) = rig.make_key("reader", "read").await;
    let (other, _) = rig.make_key("somebody else", "read").await;
    let mut secure = rig.secure(STRANGER).await;
    assert_eq!(secure.code("AUTHINFO USER me").await, 381);
    assert_eq!(secure.code(&format!("AUTHINFO PASS {key}")).await, 281);
    rig.api("DELETE", &other, String::new()).await;
    assert_eq!(secure.code("DATE").await, 111, "another one's");
    let began = tokio::time::Instant::now();
    rig.api("DELETE", &theirs, String::new()).await;
    let rest = secure.rest().await;
    let rest = String::from_utf8_lossy(&rest);
    assert!(
        rest.starts_with("400 The key that you signed in with"),
        "{rest}"
    );
    assert!(began.elapsed() < std::time::Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn another_key_in_force_ends_what_the_old_one_opened() {
    let mut rig = Rig::wishing(SECURE).await;
    let mut secure = rig.secure(STRANGER).await;
    secure.sign_in().await;
    assert_eq!(secure.code("GROUP misc.test").await, 211);
    rig.replace_key("another key of sixteen letters");
    let rest = secure.rest().await;
    let rest = String::from_utf8_lossy(&rest);
    assert!(
        rest.starts_with("400 The key that you signed in with"),
        "{rest}"
    );
}
