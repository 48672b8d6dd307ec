//! What clients send that nobody should: too long, in pieces, binary, half a conversation.

use std::time::Duration;

use tokio::io::AsyncWriteExt;

use super::world::Rig;

const TALK: &str = "GROUP misc.test\r\nSTAT\r\nNEXT\r\nHDR Subject 1-2\r\nNONSENSE\r\nDATE\r\nBODY <1@zoo.example>\r\nQUIT\r\n";

async fn answers(rig: &mut Rig, pieces: impl Iterator<Item = &[u8]>) -> Vec<u8> {
    let mut reader = rig.here().await;
    for piece in pieces {
        reader.send(piece).await;
        // The server sees each piece by itself.
        tokio::task::yield_now().await;
    }
    reader.rest().await
}

#[tokio::test(start_paused = true)]
async fn commands_may_come_all_at_once_or_byte_by_byte() {
    let mut rig = Rig::of(1..=2).await;
    let whole = answers(&mut rig, std::iter::once(TALK.as_bytes())).await;
    let text = String::from_utf8(whole.clone()).unwrap();
    let codes: Vec<&str> = text
        .lines()
        .filter_map(|line| line.get(..4))
        .filter(|code| code.ends_with(' ') && code.as_bytes()[..3].iter().all(u8::is_ascii_digit))
        .collect();
    assert_eq!(
        codes,
        [
            "211 ", "223 ", "223 ", "225 ", "500 ", "111 ", "222 ", "205 "
        ],
        "{text}"
    );
    for border in 1..TALK.len() {
        let (first, second) = TALK.as_bytes().split_at(border);
        let split = answers(&mut rig, [first, second].into_iter()).await;
        assert_eq!(split, whole, "cut at {border}");
    }
    let bytes = answers(&mut rig, TALK.as_bytes().chunks(1)).await;
    assert_eq!(bytes, whole);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_closes_its_half_still_gets_its_answers() {
    let mut rig = Rig::of(1..=2).await;
    let mut reader = rig.here().await;
    reader
        .send("GROUP misc.test\r\nHDR Subject 1-2\r\nDATE\r\nSTA")
        .await;
    reader.stream.shutdown().await.unwrap();
    let rest = String::from_utf8(reader.rest().await).unwrap();
    assert!(rest.starts_with("211 2 1 2 misc.test\r\n225 "), "{rest}");
    assert!(rest.contains("\r\n2 Subject 2\r\n.\r\n111 "), "{rest}");
    assert_eq!(rest.lines().count(), 6, "half a command is none: {rest}");
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_too_long_is_answered_and_skipped() {
    let mut rig = Rig::of([1]).await;
    let mut reader = rig.here().await;
    let long = "x".repeat(5000);
    assert_eq!(reader.code(&format!("GROUP {long}")).await, 501);
    assert_eq!(reader.code("DATE").await, 111);
    let just = format!("STAT {}", "0".repeat(510 - "STAT ".len()));
    assert_eq!(reader.code(&just).await, 412);
    assert_eq!(reader.code(&format!("{just}0")).await, 501);
    assert_eq!(reader.code("DATE").await, 111);
}

#[tokio::test(start_paused = true)]
async fn a_line_without_end_ends_the_connection() {
    let mut rig = Rig::of([1]).await;
    let mut reader = rig.here().await;
    reader.send("DATE\r\n").await;
    reader.send([b'x'; 60_000]).await;
    assert!(reader.line().await.starts_with("111 "));
    let _ = reader.stream.write_all(&[b'x'; 60_000]).await;
    assert_eq!(
        reader.line().await,
        "400 No command is as long as that line"
    );
    assert_eq!(reader.rest().await, b"");
    rig.open.join_next().await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn binary_is_refused_line_by_line() {
    let mut rig = Rig::of([1]).await;
    let mut reader = rig.here().await;
    for line in [
        &b"\x00\x01\x02\xff\r\n"[..],
        b"GROUP \xff\xfe\r\n",
        b"GROUP a\0b\r\n",
        b"STAT \rDATE\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
    ] {
        reader.send(line).await;
        let reply = reader.line().await;
        assert!(reply.starts_with("50"), "{line:?}: {reply}");
    }
    assert_eq!(reader.code("DATE").await, 111);
    // Whoever speaks HTTP here is told line by line that this is not it, and no line of theirs comes back.
    reader.send("GET /secret HTTP/1.1\r\nHost: x\r\n\r\n").await;
    for _ in 0..3 {
        assert_eq!(reader.line().await, "500 Unknown command");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_in_a_command_gets_into_a_reply_line() {
    let mut rig = Rig::of([1]).await;
    let mut reader = rig.here().await;
    for command in [
        "GROUP evil\u{a0}name",
        "ARTICLE <evil\u{7f}@x>",
        "LIST ACTIVE \u{85}",
        "HDR X\u{1}Y 1",
    ] {
        let reply = reader.ask(command).await;
        assert!(
            !reply.contains("evil") && !reply.contains(char::is_control),
            "{reply:?}"
        );
    }
    assert_eq!(reader.code("DATE").await, 111);
}

#[tokio::test(start_paused = true)]
async fn whoever_says_nothing_is_told_and_let_go() {
    let mut rig = Rig::of([1]).await;
    let began = tokio::time::Instant::now();
    let mut silent = rig.here().await;
    assert!(silent.line().await.starts_with("400 "));
    assert_eq!(
        began.elapsed(),
        Duration::from_secs(60),
        "before a first command"
    );
    let mut reader = rig.here().await;
    assert_eq!(reader.code("DATE").await, 111);
    let began = tokio::time::Instant::now();
    assert!(reader.line().await.starts_with("400 "));
    assert_eq!(began.elapsed(), Duration::from_secs(600));
    // Half a command does not hold the place for longer than a whole one.
    let mut reader = rig.here().await;
    assert_eq!(reader.code("DATE").await, 111);
    let began = tokio::time::Instant::now();
    for _ in 0..30 {
        reader.send("x").await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        if !rig.open.is_empty() && reader.stream.write_all(b"x").await.is_err() {
            break;
        }
    }
    assert!(reader.line().await.starts_with("400 "));
    assert!(began.elapsed() <= Duration::from_secs(160));
}
