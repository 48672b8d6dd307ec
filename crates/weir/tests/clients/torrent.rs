//! A private torrent of one file with random content.

use std::fs::File;
use std::io::Read;

use sha1::{Digest, Sha1};

/// Several pieces, of which the last is shorter.
const LENGTH: usize = 700_001;
const PIECE: usize = 64 * 1024;

pub(crate) struct Torrent {
    pub(crate) content: Vec<u8>,
    pub(crate) hash: [u8; 20],
    /// The bencoded dictionary whose hash that is.
    info: Vec<u8>,
}

impl Torrent {
    /// The name of its file.
    pub(crate) const NAME: &str = "weir.bin";

    pub(crate) fn new() -> Self {
        let mut content = vec![0; LENGTH];
        File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut content))
            .expect("the system has randomness");
        let pieces: Vec<u8> = content.chunks(PIECE).flat_map(Sha1::digest).collect();
        let mut info = format!(
            "d6:lengthi{LENGTH}e4:name{}:{}12:piece lengthi{PIECE}e6:pieces{}:",
            Self::NAME.len(),
            Self::NAME,
            pieces.len()
        )
        .into_bytes();
        info.extend(pieces);
        // Clients use neither the DHT nor peer exchange for a private torrent (BEP 27).
        info.extend(b"7:privatei1ee");
        Self {
            content,
            hash: Sha1::digest(&info).into(),
            info,
        }
    }

    /// The `.torrent` file, for a client that should announce to `tracker`.
    pub(crate) fn file(&self, tracker: &str) -> Vec<u8> {
        let mut file = format!("d8:announce{}:{tracker}4:info", tracker.len()).into_bytes();
        file.extend(&self.info);
        file.push(b'e');
        file
    }
}
