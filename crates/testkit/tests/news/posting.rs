//! Articles go in, and everything goes packed.

use std::io::Write;

use flate2::write::{DeflateDecoder, DeflateEncoder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_testkit::zoo::news::Behaviour;

use crate::{greeted, server};

#[tokio::test(start_paused = true)]
async fn posting_may_end_badly() {
    let (network, news) = server().await;
    let text = "From: a@b\r\nNewsgroups: misc.test\r\nSubject: s\r\nMessage-ID: <p@q>\r\n\r\n..dot\r\n.\r\n";
    let mut client = greeted(&network).await;
    assert_eq!(client.ask("POST", "\n").await, "340 Send it\r\n");
    client.send(text).await;
    assert_eq!(client.until("\n").await, "240 Thanks\r\n");
    assert!(news.posted()[0].bytes.ends_with(b"\r\n\r\n.dot\r\n"));
    assert_eq!(client.ask("IHAVE <p@q>", "\n").await, "435 Have it\r\n");
    assert_eq!(client.ask("POST", "\n").await, "340 Send it\r\n");
    client.send(text).await;
    assert_eq!(client.until("\n").await, "441 Not wanted: a duplicate\r\n");

    for (behaviour, kept) in [
        (Behaviour::DieBeforeArticle, 1),
        (Behaviour::Verdict("441 No".to_owned()), 1),
        (Behaviour::DieAfterArticle, 2),
    ] {
        news.set_for("POST", behaviour.clone());
        let mut client = greeted(&network).await;
        assert_eq!(
            client.ask("POST", "\n").await,
            "340 Send it\r\n",
            "{behaviour:?}"
        );
        let _ = client
            .stream
            .write_all(text.replace("p@q", "r@s").as_bytes())
            .await;
        let (text, ended) = client.rest().await;
        let verdict = matches!(behaviour, Behaviour::Verdict(_));
        assert_eq!(
            text,
            if verdict { "441 No\r\n" } else { "" },
            "{behaviour:?}"
        );
        assert_eq!(
            (ended, news.posted().len()),
            (!verdict, kept),
            "{behaviour:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn packed_conversations_and_bombs() {
    let (network, news) = server().await;
    let mut client = greeted(&network).await;
    assert_eq!(
        client.ask("COMPRESS DEFLATE", "\n").await,
        "206 Packed from here\r\n"
    );
    let mut pack = DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut unpack = DeflateDecoder::new(Vec::new());
    pack.write_all(b"DATE\r\nGROUP misc.test\r\n").unwrap();
    pack.flush().unwrap();
    client.stream.write_all(pack.get_ref()).await.unwrap();
    pack.get_mut().clear();
    while !unpack.get_ref().ends_with(b"misc.test\r\n") {
        let mut bytes = Vec::new();
        client.stream.read_buf(&mut bytes).await.unwrap();
        unpack.write_all(&bytes).unwrap();
        unpack.flush().unwrap();
    }
    assert_eq!(
        unpack.get_ref().as_slice(),
        b"111 20240201120000\r\n211 5 3 7 misc.test\r\n"
    );

    let before = news.written();
    news.set_for("OVER", Behaviour::EndlessBlock(10 << 20));
    pack.write_all(b"OVER 3-7\r\n").unwrap();
    pack.flush().unwrap();
    client.stream.write_all(pack.get_ref()).await.unwrap();
    let mut packed = Vec::new();
    client.stream.read_to_end(&mut packed).await.unwrap();
    unpack.write_all(&packed).unwrap();
    unpack.flush().unwrap();
    assert!(unpack.get_ref().len() > 10 << 20);
    assert!(packed.len() < 1 << 20, "{}", packed.len());
    assert_eq!(news.written() - before, packed.len());
}
