use super::*;

const LIMIT: usize = 1_000_000;

fn read(input: &[u8]) -> (BlockReader, Fed) {
    let mut reader = BlockReader::new(LIMIT);
    let fed = reader.feed(input);
    (reader, fed)
}

fn lines(reader: &mut BlockReader) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(line) = reader.next_line() {
        lines.push(String::from_utf8_lossy(line).into_owned());
    }
    lines
}

#[test]
fn lines_come_out_without_their_ends_and_stuffing() {
    let (mut reader, fed) = read(b"a\r\n..\r\n...b\r\n\r\n.\r\n200 next");
    assert_eq!(
        fed,
        Fed {
            used: 18,
            done: true
        }
    );
    assert_eq!(lines(&mut reader), ["a", ".", "..b", ""]);
    assert_eq!(reader.finish(), Ok(()));
}

#[test]
fn empty_block_has_no_lines() {
    let (mut reader, fed) = read(b".\r\n");
    assert_eq!(
        fed,
        Fed {
            used: 3,
            done: true
        }
    );
    assert_eq!(reader.next_line(), None);
    assert_eq!(reader.into_bytes(), Ok(Vec::new()));
}

#[test]
fn content_keeps_its_line_ends() {
    let (reader, _) = read(b"a\r\n..b\nc\rd\0\r\n.\r\n");
    assert_eq!(reader.into_bytes().unwrap(), b"a\r\n.b\nc\rd\0\r\n");
}

#[test]
fn bare_lf_ends_lines_and_blocks() {
    let (mut reader, fed) = read(b"a\nb\n.\nrest");
    assert_eq!(
        fed,
        Fed {
            used: 6,
            done: true
        }
    );
    assert_eq!(lines(&mut reader), ["a", "b"]);
}

#[test]
fn dot_that_is_followed_by_something_is_no_end() {
    let (mut reader, fed) = read(b".a\r\n.\rb\r\n. \r\na.\r\n.\r\n");
    assert!(fed.done);
    assert_eq!(lines(&mut reader), ["a", "\rb", " ", "a."]);
    // A second CR does not end it either: only the dot's own line end does.
    let (mut reader, fed) = read(b".\r\r\nx\r\n");
    assert!(!fed.done);
    assert_eq!(lines(&mut reader), ["\r", "x"]);
}

#[test]
fn nothing_after_the_end_is_taken() {
    let (mut reader, _) = read(b"a\r\n.\r\n");
    assert_eq!(
        reader.feed(b"b\r\n"),
        Fed {
            used: 0,
            done: true
        }
    );
    assert_eq!(lines(&mut reader), ["a"]);
}

#[test]
fn pieces_may_be_cut_anywhere() {
    let input = b"a\r\n..\r\n.\rb\r\n\n.c\n\r\n.\r\nnext";
    let (mut whole, fed) = read(input);
    let expected = lines(&mut whole);
    for first in 0..=fed.used {
        for second in first..=fed.used {
            let mut reader = BlockReader::new(LIMIT);
            let mut got = Vec::new();
            for piece in [&input[..first], &input[first..second]] {
                assert_eq!(reader.feed(piece).used, piece.len());
                got.extend(lines(&mut reader));
            }
            let last = reader.feed(&input[second..]);
            assert_eq!(
                last,
                Fed {
                    used: fed.used - second,
                    done: true
                },
                "{first} {second}"
            );
            got.extend(lines(&mut reader));
            assert_eq!(got, expected, "{first} {second}");
        }
    }
}

#[test]
fn half_a_line_is_not_handed_out() {
    let (mut reader, fed) = read(b"a\r\nhal");
    assert_eq!(
        fed,
        Fed {
            used: 6,
            done: false
        }
    );
    assert_eq!(lines(&mut reader), ["a"]);
    assert_eq!(reader.finish(), Err(Error::Incomplete));
    reader.feed(b"f\r\n.\r\n");
    assert_eq!(lines(&mut reader), ["half"]);
    assert_eq!(reader.into_bytes(), Ok(Vec::new()));
}

#[test]
fn too_long_block_is_skipped_to_its_end() {
    for size in 1..20 {
        let input = b"one\r\ntwo\r\nthree\r\n.\r\nnext";
        let mut reader = BlockReader::new(8);
        let mut used = 0;
        for piece in input.chunks(size) {
            let fed = reader.feed(piece);
            used += fed.used;
            if fed.done {
                break;
            }
        }
        assert_eq!(used, 20, "{size}");
        assert!(reader.is_over());
        assert_eq!(lines(&mut reader), ["one"], "{size}");
        assert_eq!(reader.finish(), Err(Error::BlockTooLong(8)));
        assert_eq!(reader.into_bytes(), Err(Error::BlockTooLong(8)));
    }
}

#[test]
fn block_of_exactly_the_limit_is_kept() {
    let mut reader = BlockReader::new(8);
    assert!(reader.feed(b"one\r\n..\r\n.\r\n").done);
    assert!(!reader.is_over());
    assert_eq!(reader.into_bytes().unwrap(), b"one\r\n.\r\n");
}

#[test]
fn too_long_block_costs_no_memory() {
    let mut reader = BlockReader::new(1_000);
    for _ in 0..10_000 {
        reader.feed(b"a line that goes on and on and on and never ends");
    }
    assert!(reader.buffer.capacity() < 4_000 && reader.is_over());
    assert_eq!(reader.next_line(), None);
}

#[test]
fn taken_lines_cost_no_memory() {
    let mut reader = BlockReader::new(usize::MAX);
    let mut count = 0;
    for _ in 0..100_000 {
        reader.feed(b"a line of an overview\r\nhalf a line");
        reader.feed(b"\r\n");
        while reader.next_line().is_some() {
            count += 1;
        }
    }
    assert_eq!(count, 200_000);
    assert!(
        reader.buffer.capacity() < 100_000,
        "{}",
        reader.buffer.capacity()
    );
}

/// Single bytes, and lines taken one by one, cost as much looking as one large piece.
#[test]
fn each_byte_is_looked_at_a_few_times_however_it_arrives() {
    let mut input =
        b"..an overview line of usual length\r\nand one that begins otherwise\r\n".repeat(2_000);
    input.extend_from_slice(&[b'x'; 100_000]);
    input.extend_from_slice(b"\r\n.\r\n");
    for size in [1, 2, 3, 1_000, input.len()] {
        let mut reader = BlockReader::new(LIMIT);
        let mut taken = 0;
        for piece in input.chunks(size) {
            reader.feed(piece);
            while reader.next_line().is_some() {
                taken += 1;
            }
        }
        assert_eq!(taken, 4_001);
        assert!(
            reader.looked_at <= 4 * input.len(),
            "{size}: {}",
            reader.looked_at
        );
    }
}
