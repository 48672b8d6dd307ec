//! Answers that never come to their end, each in another part of HTTP's framing.
//!
//! They are readable as far as they go, so only who counts what it reads gets out of them. A flood goes on
//! without a pause for as many bytes as it was given, then the connection ends.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::serve::{Act, Acts};

/// Bytes that are written at once.
const PIECE: usize = 64 << 10;

/// What is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flood {
    /// `100 Continue`, each a whole head.
    Informational,
    /// Lines of one head.
    Headers,
    /// Chunks of one byte.
    Chunks,
    /// The digit zero in the size of a chunk.
    ChunkSize,
    /// The extension of one chunk.
    ChunkExtension,
    /// Lines after the last chunk.
    Trailers,
    /// Members of a gzip file, all of them empty.
    GzipMembers,
}

impl Flood {
    /// Every kind there is.
    pub const ALL: [Self; 7] = [
        Self::Informational,
        Self::Headers,
        Self::Chunks,
        Self::ChunkSize,
        Self::ChunkExtension,
        Self::Trailers,
        Self::GzipMembers,
    ];

    /// How the answer begins.
    pub fn beginning(self) -> Vec<u8> {
        let head = "HTTP/1.1 200 OK\r\n";
        let chunked = "Transfer-Encoding: chunked\r\n\r\n";
        match self {
            Self::Informational => String::new(),
            Self::Headers => head.to_owned(),
            Self::Chunks => format!("{head}{chunked}"),
            Self::ChunkSize => format!("{head}{chunked}0"),
            Self::ChunkExtension => format!("{head}{chunked}1;"),
            Self::Trailers => format!("{head}{chunked}1\r\nx\r\n0\r\n"),
            Self::GzipMembers => {
                format!("{head}Content-Encoding: gzip\r\nConnection: close\r\n\r\n")
            }
        }
        .into_bytes()
    }

    /// What comes again and again.
    pub fn refrain(self) -> Vec<u8> {
        match self {
            Self::Informational => b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(),
            Self::Headers | Self::Trailers => b"X-More: y\r\n".to_vec(),
            Self::Chunks => b"1\r\nx\r\n".to_vec(),
            Self::ChunkSize => b"0".to_vec(),
            Self::ChunkExtension => b"y".to_vec(),
            Self::GzipMembers => empty_member(),
        }
    }

    /// The steps after one request: at most `most` bytes after the beginning.
    pub(super) fn acts(self, most: usize) -> Acts {
        let refrain = self.refrain();
        let piece = refrain.repeat(PIECE / refrain.len());
        let pieces = most / piece.len();
        let rest = refrain.repeat(most % piece.len() / refrain.len());
        let beginning = std::iter::once(Act::Write(self.beginning()));
        let pieces = (0..pieces).map(move |_| Act::Write(piece.clone()));
        Box::new(
            beginning
                .chain(pieces)
                .chain([Act::Write(rest), Act::Close]),
        )
    }
}

fn empty_member() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.flush().expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}
