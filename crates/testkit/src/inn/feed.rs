//! Articles into an INN, as one server hands them to another: streaming, without waiting for each (RFC 4644).
//!
//! A reader may post about a thousand articles on a connection, each with two round trips; a peer has no such limits.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpSocket;

use super::files::FEEDER;
use super::invalid;

/// Bytes that are written at once.
const PIECE: usize = 256 << 10;

/// Hands over articles; the first that is not taken is an error.
pub(super) async fn feed(
    to: SocketAddr,
    articles: impl Iterator<Item = Vec<u8>>,
) -> io::Result<usize> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::from(FEEDER), 0).into())?;
    let (read, mut write) = socket.connect(to).await?.into_split();
    let mut lines = BufReader::new(read).lines();
    expect(lines.next_line().await?, "200")?;
    write.write_all(b"MODE STREAM\r\n").await?;
    expect(lines.next_line().await?, "203")?;
    // Both ends would wait for each other for ever if only one of these went on at a time.
    let (count, counted) = tokio::sync::oneshot::channel();
    let send = async move {
        let (mut piece, mut sent) = (Vec::with_capacity(PIECE), 0);
        for article in articles {
            offer(&article, &mut piece)?;
            sent += 1;
            if piece.len() >= PIECE {
                write.write_all(&piece).await?;
                piece.clear();
            }
        }
        let _ = count.send(sent);
        piece.extend_from_slice(b"QUIT\r\n");
        write.write_all(&piece).await
    };
    let receive = async {
        let mut taken = 0;
        loop {
            let line = lines.next_line().await?;
            if line.as_deref().is_some_and(|line| line.starts_with("205")) {
                return Ok(taken);
            }
            expect(line, "239")?;
            taken += 1;
        }
    };
    let ((), taken): ((), usize) = tokio::try_join!(send, receive)?;
    let sent = counted.await.unwrap_or(0);
    match taken == sent {
        true => Ok(taken),
        false => Err(invalid(&format!("{taken} of {sent} articles were taken"))),
    }
}

fn expect(line: Option<String>, code: &str) -> io::Result<()> {
    match line {
        Some(line) if line.starts_with(code) => Ok(()),
        Some(line) => Err(invalid(&format!("INN says {line:?} instead of {code}"))),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// `TAKETHIS` and the article, with a `Path` if it has none.
fn offer(article: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
    let text = String::from_utf8_lossy(article);
    let head = text.split("\r\n\r\n").next().unwrap_or_default();
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let id = fields.find(|(name, _)| name.eq_ignore_ascii_case("message-id"));
    let (_, id) = id.ok_or_else(|| invalid("an article without an id"))?;
    into.extend_from_slice(format!("TAKETHIS {}\r\n", id.trim()).as_bytes());
    let has_path = |line: &str| {
        line.get(..5)
            .is_some_and(|name| name.eq_ignore_ascii_case("path:"))
    };
    if !head.lines().any(has_path) {
        into.extend_from_slice(b"Path: feeder!not-for-mail\r\n");
    }
    for line in article.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b".") {
            into.push(b'.');
        }
        into.extend_from_slice(line);
    }
    if !article.ends_with(b"\n") {
        into.extend_from_slice(b"\r\n");
    }
    into.extend_from_slice(b".\r\n");
    Ok(())
}
