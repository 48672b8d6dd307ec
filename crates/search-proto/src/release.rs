//! One hit, as an indexer gave it.

use std::fmt::{self, Debug, Display, Formatter};
use std::str::FromStr;

use data_encoding::{BASE32_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};

/// How a release is downloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// By BitTorrent: a `.torrent` file or a magnet link.
    Torrent,
    /// From news servers: an NZB file.
    Nzb,
}

impl Protocol {
    /// The media type of its files.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Torrent => "application/x-bittorrent",
            Self::Nzb => "application/x-nzb",
        }
    }
}

/// What a torrent is known by: 20 bytes. Displays as hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InfoHash(pub [u8; 20]);

/// Text that is no info hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an info hash is 40 hexadecimal digits or 32 digits in base 32")]
pub struct NotAnInfoHash;

impl FromStr for InfoHash {
    type Err = NotAnInfoHash;

    /// Reads hexadecimal, or base 32 as old magnet links have it.
    fn from_str(text: &str) -> Result<Self, NotAnInfoHash> {
        let bytes = match text.len() {
            40 => HEXLOWER_PERMISSIVE.decode(text.as_bytes()),
            32 => BASE32_NOPAD.decode(text.to_ascii_uppercase().as_bytes()),
            _ => return Err(NotAnInfoHash),
        };
        let bytes = bytes.map_err(|_| NotAnInfoHash)?;
        bytes.try_into().map(Self).map_err(|_| NotAnInfoHash)
    }
}

impl Display for InfoHash {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&HEXLOWER.encode_display(&self.0), f)
    }
}

impl Debug for InfoHash {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "InfoHash({self})")
    }
}

/// One hit as an indexer gave it; it has a title and at least one way to be downloaded.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Release {
    /// Its name, on one line.
    pub title: String,
    /// What the indexer knows it by.
    pub guid: String,
    /// A page about it for people.
    pub details: Option<String>,
    /// The address of the `.torrent` or NZB file; `http` or `https`.
    pub download: Option<String>,
    /// A magnet link.
    pub magnet: Option<String>,
    /// The torrent, if the indexer tells.
    pub info_hash: Option<InfoHash>,
    /// Bytes of all its files.
    pub size: Option<u64>,
    /// When the indexer got it, in Unix seconds.
    pub published: Option<i64>,
    /// The indexer's own category ids; [`Mapping`](crate::Mapping) makes ours of them.
    pub categories: Vec<u32>,
    /// Peers that have all of it.
    pub seeders: Option<u32>,
    /// All peers, seeders among them.
    pub peers: Option<u32>,
    /// How often it was downloaded.
    pub grabs: Option<u32>,
    /// How many files it has.
    pub files: Option<u32>,
    /// All other attributes in their order, at most 64, each value of at most 1,000 characters.
    pub attributes: Vec<(String, String)>,
    /// How it is downloaded, if that can be told.
    pub protocol: Option<Protocol>,
}

/// The info hash that a magnet link names.
pub fn magnet_hash(magnet: &str) -> Option<InfoHash> {
    let (_, parameters) = magnet.split_once('?')?;
    parameters.split('&').find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        let numbered = key.strip_prefix("xt").or_else(|| key.strip_prefix("XT"))?;
        if !numbered.is_empty() && !numbered.starts_with('.') {
            return None;
        }
        let value = value.replace("%3A", ":").replace("%3a", ":");
        let urn = value
            .get(..9)
            .filter(|urn| urn.eq_ignore_ascii_case("urn:btih:"))?;
        value[urn.len()..].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "aabbccddeeff00112233445566778899a0b1c2d3";
    // From Python: base64.b32encode(bytes.fromhex(HEX)).
    const BASE32: &str = "VK54ZXPO74ABCIRTIRKWM54ITGQLDQWT";

    #[test]
    fn hexadecimal_and_base_32_are_the_same_hash() {
        let hash: InfoHash = HEX.parse().unwrap();
        assert_eq!(hash.to_string(), HEX);
        assert_eq!(HEX.to_uppercase().parse(), Ok(hash));
        assert_eq!(BASE32.parse(), Ok(hash));
        assert_eq!(BASE32.to_lowercase().parse(), Ok(hash));
    }

    #[test]
    fn other_text_is_no_hash() {
        let odd = ["", "aa", &HEX[1..], &HEX.replace('a', "g"), &"1".repeat(32)];
        for text in odd.into_iter().chain(["ä".repeat(20).as_str()]) {
            assert_eq!(text.parse::<InfoHash>(), Err(NotAnInfoHash), "{text}");
        }
    }

    #[test]
    fn magnet_names_its_torrent() {
        let hash: InfoHash = HEX.parse().unwrap();
        for magnet in [
            format!("magnet:?xt=urn:btih:{HEX}"),
            format!("magnet:?dn=a&xt=urn:btih:{BASE32}&tr=x"),
            format!("magnet:?xt=urn%3Abtih%3A{HEX}"),
            format!("magnet:?xt.1=urn:btmh:1220aa&xt.2=URN:BTIH:{HEX}"),
        ] {
            assert_eq!(magnet_hash(&magnet), Some(hash), "{magnet}");
        }
        for magnet in [
            "magnet:",
            "magnet:?xt=urn:btih:abc",
            "magnet:?xtra=urn:btih:",
            "magnet:?xt=ä€ä€",
        ] {
            assert_eq!(magnet_hash(magnet), None, "{magnet}");
        }
    }
}
