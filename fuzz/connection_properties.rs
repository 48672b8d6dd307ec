//! What must hold for a whole connection to the tracker, whatever its client sends.
//!
//! The target `tracker_connection` calls this with made-up bytes; a test of `weir-tracker` calls it with the kept ones.

use weir_tracker::conversation::{Conversation, ConversationEnd, converse, deserved};

/// Longest reply: 200 peers as dictionaries, or a scrape of 74 info hashes.
const LONGEST: usize = 32 << 10;

/// What is answered does not depend on how the bytes were cut into pieces, each whole request up to the first error has
/// one reply, and after an error nothing is answered.
///
/// The first byte says whether a proxy speaks and how much the system takes at once, the second how many cuts follow;
/// then the cuts, each the length of a piece, and all the rest is the stream.
pub(crate) fn tracker_connection(bytes: &[u8]) {
    let [flags, cuts, rest @ ..] = bytes else {
        return;
    };
    let (cuts, stream) = rest.split_at(usize::from(*cuts).min(rest.len()));
    let by_proxy = flags & 1 == 1;
    let at_once = usize::from(flags >> 1) * 8;
    let whole = converse([stream], by_proxy, usize::MAX);
    assert_eq!(converse(cut(stream, cuts), by_proxy, at_once), whole);
    let short = &stream[..stream.len().min(3000)];
    let short_whole = converse([short], by_proxy, usize::MAX);
    assert_eq!(converse(short.chunks(1), by_proxy, usize::MAX), short_whole);
    check(&whole, deserved(stream, by_proxy), stream);
    check(&short_whole, deserved(short, by_proxy), short);
}

fn cut<'a>(mut stream: &'a [u8], cuts: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, rest) = stream.split_at(stream.len().min(usize::from(*cut)));
        pieces.push(piece);
        stream = rest;
    }
    pieces.push(stream);
    pieces
}

fn check(Conversation { replies, end }: &Conversation, deserved: usize, stream: &[u8]) {
    assert!(replies.len() <= deserved * LONGEST, "{}", replies.len());
    let (mut rest, mut count) = (&replies[..], 0);
    while !rest.is_empty() {
        let head = rest.windows(4).position(|four| four == b"\r\n\r\n");
        let head = head.expect("a whole head") + 4;
        let text = str::from_utf8(&rest[..head]).expect("a head is text");
        let length = text
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "))
            .expect("each reply says how long it is");
        let length: usize = length.parse().expect("a number");
        assert!(rest.len() >= head + length, "a reply is whole");
        rest = &rest[head + length..];
        count += 1;
        let last = !text.starts_with("HTTP/1.1 200 ") || text.contains("Connection: close");
        if last {
            assert!(rest.is_empty(), "nothing follows the last reply");
            assert_eq!(*end, ConversationEnd::Closed);
        }
    }
    assert_eq!(count, deserved, "one reply for each request");
    match end {
        ConversationEnd::Waits(left) | ConversationEnd::Left(left) => {
            assert!(stream.ends_with(left))
        }
        ConversationEnd::Closed => {}
    }
}
