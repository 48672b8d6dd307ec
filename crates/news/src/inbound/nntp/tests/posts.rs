//! POST.

use std::time::Duration;

use weir_testkit::zoo::news::Behaviour;

use super::world::{Newsreader, Rig};

const ARTICLE: &str = "From: A Poster <poster@example.com>\r\nNewsgroups: misc.test\r\nSubject: Dots\r\n\r\n\
    First line.\r\n..hidden\r\n...\r\n..\r\n";

async fn signed_in(rig: &mut Rig) -> Newsreader {
    let mut reader = rig.here().await;
    reader.sign_in().await;
    reader
}

#[tokio::test(start_paused = true)]
async fn an_article_is_posted_as_it_was_written_and_can_be_read_at_once() {
    let mut rig = Rig::of(1..=2).await;
    let mut reader = signed_in(&mut rig).await;
    assert_eq!(reader.code("GROUP misc.test").await, 211);
    assert_eq!(reader.code("POST").await, 340);
    // Pipelined behind the article.
    reader.send(format!("{ARTICLE}.\r\nDATE\r\n")).await;
    let reply = reader.line().await;
    let id = reply
        .strip_prefix("240 Article posted as ")
        .unwrap_or_else(|| panic!("{reply}"));
    assert!(reader.line().await.starts_with("111 "));
    let posted = rig.world.servers[0].posted();
    assert_eq!(posted.len(), 1);
    let text = String::from_utf8(posted[0].bytes.clone()).unwrap();
    assert!(
        text.ends_with("\r\n\r\nFirst line.\r\n.hidden\r\n..\r\n.\r\n"),
        "{text}"
    );
    assert_eq!(reader.code(&format!("BODY {id}")).await, 222);
    assert_eq!(
        reader.block().await,
        b"First line.\r\n.hidden\r\n..\r\n.\r\n"
    );
}

#[tokio::test(start_paused = true)]
async fn articles_may_come_in_any_pieces() {
    let mut rig = Rig::of([1]).await;
    let mut reader = signed_in(&mut rig).await;
    assert_eq!(reader.code("POST").await, 340);
    for byte in format!("{ARTICLE}.\r\n").as_bytes() {
        reader.send([*byte]).await;
        tokio::task::yield_now().await;
    }
    assert!(reader.line().await.starts_with("240 "));
    assert_eq!(rig.world.servers[0].posted().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn why_an_article_was_not_posted_is_said() {
    let mut rig = Rig::of([1]).await;
    let mut reader = signed_in(&mut rig).await;
    for (article, why) in [
        (ARTICLE.replace("Newsgroups: misc.test\r\n", ""), "441 "),
        (ARTICLE.replace("Subject: Dots", "Subject: a\rb"), "441 "),
        ("nonsense\r\n".to_owned(), "441 "),
        (String::new(), "441 "),
    ] {
        assert_eq!(reader.code("POST").await, 340);
        reader.send(format!("{article}.\r\n")).await;
        let reply = reader.line().await;
        assert!(reply.starts_with(why), "{article:?}: {reply}");
    }
    assert_eq!(rig.world.servers[0].posted(), []);
    let verdict = Behaviour::Verdict("441 Not today".to_owned());
    rig.world.servers[0].set_for("POST", verdict);
    assert_eq!(reader.code("POST").await, 340);
    reader.send(format!("{ARTICLE}.\r\n")).await;
    let reply = reader.line().await;
    assert!(
        reply.starts_with("441 ") && reply.contains("Not today"),
        "{reply}"
    );
    assert_eq!(reader.code("DATE").await, 111);
}

#[tokio::test(start_paused = true)]
async fn an_article_without_end_is_not_kept() {
    let mut rig = Rig::of([1]).await;
    let mut reader = signed_in(&mut rig).await;
    assert_eq!(reader.code("POST").await, 340);
    let line = "x".repeat(78) + "\r\n";
    reader
        .send(format!("{ARTICLE}{}.\r\n", line.repeat(8_000)))
        .await;
    let reply = reader.line().await;
    assert!(
        reply.starts_with("441 The article is larger than "),
        "{reply}"
    );
    assert_eq!(reader.code("DATE").await, 111);
    // One that goes on for ever, and one that stops in the middle.
    assert_eq!(reader.code("POST").await, 340);
    let piece = line.repeat(500);
    let mut sent = 0;
    while tokio::io::AsyncWriteExt::write_all(&mut reader.stream, piece.as_bytes())
        .await
        .is_ok()
    {
        sent += piece.len();
        assert!(sent < 4 << 20, "nobody stops it");
    }
    let mut reader = signed_in(&mut rig).await;
    assert_eq!(reader.code("POST").await, 340);
    reader.send(ARTICLE).await;
    let began = tokio::time::Instant::now();
    assert_eq!(reader.rest().await, b"");
    assert!(began.elapsed() <= Duration::from_secs(31));
    assert_eq!(rig.world.servers[0].posted(), []);
}
