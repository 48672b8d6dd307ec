//! COMPRESS DEFLATE.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::world::{HERE, Newsreader, Rig, Wishes};
use crate::inbound::nntp::OpenKind;

/// A newsreader after COMPRESS.
struct Packed {
    reader: Newsreader,
    packer: Compress,
    unpacker: Decompress,
}

impl Packed {
    async fn begin(mut reader: Newsreader) -> Self {
        assert_eq!(reader.code("COMPRESS DEFLATE").await, 206);
        Self {
            reader,
            packer: Compress::new(Compression::default(), false),
            unpacker: Decompress::new(false),
        }
    }

    async fn send(&mut self, text: &str) {
        let mut packed = Vec::with_capacity(text.len() + 256);
        self.packer
            .compress_vec(text.as_bytes(), &mut packed, FlushCompress::Sync)
            .unwrap();
        self.reader.send(packed).await;
    }

    /// Reads until the text ends so.
    async fn until(&mut self, end: &str) -> String {
        let mut all = Vec::new();
        while !all.ends_with(end.as_bytes()) {
            // Some may have come with the line before.
            let mut piece = std::mem::take(&mut self.reader.arrived);
            if piece.is_empty() {
                let read = self.reader.stream.read_buf(&mut piece).await.unwrap();
                assert!(read > 0, "{}", String::from_utf8_lossy(&all));
            }
            let mut left = &piece[..];
            while !left.is_empty() {
                all.reserve(64 << 10);
                let before = self.unpacker.total_in();
                self.unpacker
                    .decompress_vec(left, &mut all, FlushDecompress::Sync)
                    .unwrap();
                left = &left[usize::try_from(self.unpacker.total_in() - before).unwrap()..];
            }
        }
        String::from_utf8(all).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_compressed_conversation_says_the_same() {
    let mut rig = Rig::of(1..=600).await;
    let mut plain = rig.here().await;
    plain.code("GROUP misc.test").await;
    let (_, wanted) = plain.list("OVER 1-600").await;
    let reader = rig.here().await;
    let mut packed = Packed::begin(reader).await;
    // Pipelined, and after each answer the packer is made anew.
    for _ in 0..3 {
        packed.send("GROUP misc.test\r\nOVER 1-600\r\n").await;
        let all = packed.until("\r\n.\r\n").await;
        let (head, block) = all.split_once("224 ").unwrap();
        assert_eq!(head, "211 600 1 600 misc.test\r\n");
        let block = block.split_once("\r\n").unwrap().1;
        assert_eq!(
            block.trim_end_matches(".\r\n").replace("\r\n", "\n"),
            wanted
        );
    }
    assert_eq!(rig.server.figures().count(OpenKind::Compressed), 1);
}

#[tokio::test(start_paused = true)]
async fn after_compress_nothing_else_can_begin() {
    let wishes = Wishes {
        tls: true,
        ..Wishes::default()
    };
    let mut rig = Rig::wishing(wishes).await;
    let mut packed = Packed::begin(rig.here().await).await;
    for command in [
        "STARTTLS",
        "AUTHINFO USER me",
        "AUTHINFO PASS x",
        "COMPRESS DEFLATE",
    ] {
        packed.send(&format!("{command}\r\n")).await;
        let reply = packed.until("\r\n").await;
        assert!(reply.starts_with("502 "), "{command}: {reply}");
    }
    packed.send("CAPABILITIES\r\n").await;
    let all = packed.until("\r\n.\r\n").await;
    for word in ["STARTTLS", "AUTHINFO", "COMPRESS"] {
        assert!(!all.contains(word), "{word} in {all}");
    }
}

#[tokio::test(start_paused = true)]
async fn plain_bytes_behind_compress_are_thrown_away() {
    let mut rig = Rig::of([1]).await;
    let mut reader = rig.here().await;
    reader
        .send("COMPRESS DEFLATE\r\nDATE\r\nSTAT <1@zoo.example>\r\n")
        .await;
    assert!(reader.line().await.starts_with("206 "));
    let mut packed = Packed {
        reader,
        packer: Compress::new(Compression::default(), false),
        unpacker: Decompress::new(false),
    };
    packed.send("QUIT\r\n").await;
    assert_eq!(packed.until("\r\n").await, "205 Goodbye\r\n");
}

#[tokio::test(start_paused = true)]
async fn only_so_many_are_compressed() {
    let shelf = vec![weir_testkit::zoo::news::Newsgroup::new("misc.test")];
    let change = |config: &mut crate::Config| {
        config.nntp.compressed = std::num::NonZeroU32::MIN;
    };
    let mut rig = Rig::with(vec![shelf], Wishes::default(), change).await;
    let packed = Packed::begin(rig.here().await).await;
    let mut other = rig.here().await;
    assert_eq!(other.code("COMPRESS DEFLATE").await, 403);
    assert_eq!(other.code("DATE").await, 111);
    drop(packed);
    rig.open.join_next().await.unwrap().unwrap();
    assert_eq!(other.code("COMPRESS DEFLATE").await, 206);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_unpacked_ends_the_connection() {
    let mut rig = Rig::of([1]).await;
    let mut packed = Packed::begin(rig.here().await).await;
    packed.reader.send([0xff; 100]).await;
    assert_eq!(packed.reader.rest().await, b"");
    // A line without end, packed into few bytes.
    let mut packed = Packed::begin(rig.from(HERE).await).await;
    let bomb = "x".repeat(1 << 20);
    let mut small = Vec::with_capacity(1 << 20);
    packed
        .packer
        .compress_vec(bomb.as_bytes(), &mut small, FlushCompress::Sync)
        .unwrap();
    assert!(small.len() < 10_000);
    let _ = packed.reader.stream.write_all(&small).await;
    let reply = packed.until("\r\n").await;
    assert_eq!(reply, "400 No command is as long as that line\r\n");
    while rig.open.join_next().await.is_some() {}
}
