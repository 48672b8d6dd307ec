//! Blocks as they are written, cut into pieces and read.

use proptest::collection::vec;
use proptest::prelude::*;
use weir_news_proto::block::write_block;
use weir_news_proto::{BlockReader, BlockWriter, Error};

/// Bytes that are mostly dots and line ends.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => Just(b'.'),
        2 => Just(b'\r'),
        2 => Just(b'\n'),
        3 => Just(b'a'),
        1 => any::<u8>(),
    ];
    vec(byte, 0..80)
}

/// Lines ended with CRLF, without any other CR or LF.
fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![2 => Just(b'.'), 3 => 0x20_u8..=0xff];
    vec(vec(byte, 0..12), 0..12)
}

/// Feeds pieces of these lengths, over and over, and gives what was left.
fn feed<'a>(reader: &mut BlockReader, mut input: &'a [u8], sizes: &[usize]) -> &'a [u8] {
    for size in sizes.iter().cycle() {
        let (piece, rest) = input.split_at(*size.min(&input.len()));
        let fed = reader.feed(piece);
        if fed.done {
            return &input[fed.used..];
        }
        assert_eq!(fed.used, piece.len());
        input = rest;
        assert!(!input.is_empty(), "the end was missed");
    }
    input
}

proptest! {
    #[test]
    fn written_block_is_read_as_it_was(lines in lines(), sizes in vec(1..9_usize, 1..9)) {
        let content: Vec<u8> = lines.iter().flat_map(|line| [line, &b"\r\n"[..]].concat()).collect();
        let mut wire = Vec::new();
        write_block(&content, &mut wire);
        wire.extend_from_slice(b"205 next");
        let mut reader = BlockReader::new(content.len());
        prop_assert_eq!(feed(&mut reader, &wire, &sizes), b"205 next");
        let mut by_line = reader.clone();
        for line in &lines {
            prop_assert_eq!(by_line.next_line(), Some(&line[..]));
        }
        prop_assert_eq!(by_line.next_line(), None);
        prop_assert_eq!(reader.into_bytes(), Ok(content));
    }

    #[test]
    fn no_content_ends_its_block_early(content in content(), sizes in vec(1..9_usize, 1..9)) {
        let mut wire = Vec::new();
        write_block(&content, &mut wire);
        let length = wire.len();
        wire.extend_from_slice(b"205 next");
        let mut reader = BlockReader::new(wire.len());
        prop_assert_eq!(feed(&mut reader, &wire, &sizes), b"205 next");
        // Once its line ends are regular, it stays as it is.
        let regular = reader.into_bytes().expect("complete");
        let mut again = Vec::new();
        write_block(&regular, &mut again);
        prop_assert_eq!(&again[..], &wire[..length]);
    }

    #[test]
    fn pieces_are_written_as_the_whole(content in content(), size in 1..9_usize) {
        let mut whole = Vec::new();
        write_block(&content, &mut whole);
        let (mut writer, mut pieces) = (BlockWriter::new(), Vec::new());
        for piece in content.chunks(size) {
            writer.piece(piece, &mut pieces);
        }
        writer.finish(&mut pieces);
        prop_assert_eq!(pieces, whole);
    }

    #[test]
    fn limit_changes_neither_the_end_nor_earlier_lines(lines in lines(), limit in 0..60_usize) {
        let content = lines.join(&b"\r\n"[..]);
        let mut wire = Vec::new();
        write_block(&content, &mut wire);
        wire.extend_from_slice(b"205 next");
        let mut reader = BlockReader::new(limit);
        prop_assert_eq!(feed(&mut reader, &wire, &[3]), b"205 next");
        let mut kept = 0;
        let mut expected = lines.iter();
        while let Some(line) = reader.next_line() {
            prop_assert_eq!(Some(line), expected.next().map(Vec::as_slice));
            kept += line.len() + 2;
        }
        prop_assert!(kept <= limit);
        let over = reader.finish() == Err(Error::BlockTooLong(limit));
        prop_assert_eq!(over, reader.is_over());
        prop_assert!(over || reader.finish().is_ok());
    }
}
