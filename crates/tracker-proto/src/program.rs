//! Which program a peer is, as its id says (BEP 20): for records that people read. Nothing is decided by it, since a
//! client may write there what it likes.

use std::fmt::Write;

use crate::hash::PeerId;

/// How a program writes its version behind its two letters.
#[derive(Clone, Copy)]
enum Version {
    /// A digit or letter for each part: `4650` is 4.6.5, `0D80` is 0.13.8.
    Parts,
    /// Two digits for each part: `0205` is 2.5.
    Pairs,
    /// One part, then two digits: `2940` is 2.94.
    Hundredths,
    /// Nothing that its users would know.
    None,
}

/// The letters between dashes, as in `-qB4650-`, and whose they are.
const PROGRAMS: [([u8; 2], &str, Version); 41] = [
    (*b"7T", "aTorrent", Version::Parts),
    (*b"AG", "Ares", Version::Parts),
    (*b"AZ", "Vuze", Version::Parts),
    (*b"BC", "BitComet", Version::Pairs),
    (*b"BI", "BiglyBT", Version::Parts),
    (*b"BT", "BitTorrent", Version::Parts),
    (*b"BW", "BitTorrent Web", Version::Parts),
    (*b"CD", "Enhanced CTorrent", Version::Parts),
    (*b"CT", "CTorrent", Version::Parts),
    (*b"DE", "Deluge", Version::Parts),
    (*b"FD", "Free Download Manager", Version::Parts),
    (*b"FL", "Flud", Version::Parts),
    (*b"FW", "FrostWire", Version::Parts),
    (*b"FX", "Folx", Version::None),
    (*b"GT", "anacrolix/torrent", Version::Parts),
    (*b"HL", "Halite", Version::Parts),
    (*b"KT", "KTorrent", Version::Parts),
    (*b"LR", "LibreTorrent", Version::Parts),
    (*b"LT", "libtorrent", Version::Parts),
    (*b"LW", "LimeWire", Version::None),
    (*b"MG", "MediaGet", Version::Parts),
    (*b"PI", "PicoTorrent", Version::Parts),
    (*b"SD", "Thunder", Version::Parts),
    (*b"SZ", "Shareaza", Version::Parts),
    (*b"TB", "Torch", Version::Parts),
    (*b"TL", "Tribler", Version::Parts),
    (*b"TR", "Transmission", Version::Hundredths),
    (*b"TX", "Tixati", Version::Pairs),
    (*b"UE", "µTorrent Embedded", Version::Parts),
    (*b"UM", "µTorrent for Mac", Version::Parts),
    (*b"UT", "µTorrent", Version::Parts),
    (*b"UW", "µTorrent Web", Version::Parts),
    (*b"WD", "WebTorrent Desktop", Version::Pairs),
    (*b"WW", "WebTorrent", Version::Pairs),
    (*b"XL", "Xunlei", Version::Parts),
    (*b"ZO", "Zona", Version::Parts),
    (*b"lt", "rTorrent (libTorrent)", Version::Parts),
    (*b"qB", "qBittorrent", Version::Parts),
    (*b"rQ", "rqbit", Version::Parts),
    (*b"st", "SharkTorrent", Version::Parts),
    (*b"tT", "tTorrent", Version::Parts),
];

/// Letters of an id that are shown of a program nobody knows.
const SHOWN: usize = 8;

impl PeerId {
    /// The program and its version: `qBittorrent 4.6.5`. Of one that is not known, the beginning of its id as far as it
    /// can be read; `None` if that is hardly anything. At most 48 bytes.
    pub fn program(&self) -> Option<String> {
        self.known_program().or_else(|| beginning(&self.0))
    }

    /// The same, but nothing of a program that is not known.
    pub fn known_program(&self) -> Option<String> {
        between_dashes(&self.0).or_else(|| with_dashes(&self.0))
    }
}

/// `-qB4650-…`: two letters and four of a version.
fn between_dashes(id: &[u8; 20]) -> Option<String> {
    let &[b'-', one, two, a, b, c, d, b'-', ..] = id else {
        return None;
    };
    let (_, name, version) = *PROGRAMS.iter().find(|(code, ..)| *code == [one, two])?;
    let version = match version {
        // From the fourth on, Transmission has three parts like others.
        Version::Hundredths if a >= b'4' => parts(&[a, b, c]),
        Version::Hundredths => hundredths([a, b, c]),
        Version::Parts => parts(&[a, b, c, d]),
        Version::Pairs => pairs([a, b, c, d]),
        Version::None => None,
    };
    Some(match version {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    })
}

/// `A2-1-36-0-…` and `M7-10-5--…`: a name, and numbers between dashes.
fn with_dashes(id: &[u8; 20]) -> Option<String> {
    let (name, rest) = match &id[..] {
        [b'A', b'2', b'-', rest @ ..] => ("aria2", rest),
        [b'M', rest @ ..] if rest[0].is_ascii_digit() => ("BitTorrent", rest),
        _ => return None,
    };
    let mut text = name.to_owned();
    let numbers = rest.split(|byte| *byte == b'-').take(3);
    for (number, separator) in numbers.zip([' ', '.', '.']) {
        let is_number = (1..=3).contains(&number.len()) && number.iter().all(u8::is_ascii_digit);
        if !is_number {
            // A version whose first number is none is not one of theirs.
            return (separator == '.').then_some(text);
        }
        text.push(separator);
        text.extend(number.iter().map(|byte| char::from(*byte)));
    }
    Some(text)
}

/// What can be read at the beginning of an id.
fn beginning(id: &[u8; 20]) -> Option<String> {
    let readable = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
    let letters = id.iter().take(SHOWN).take_while(readable);
    let text: String = letters.map(|byte| char::from(*byte)).collect();
    let says_something = text.bytes().filter(u8::is_ascii_alphanumeric).count() >= 2;
    says_something.then_some(text)
}

fn parts(digits: &[u8]) -> Option<String> {
    let mut numbers: Vec<u8> = Vec::with_capacity(4);
    for (position, digit) in digits.iter().enumerate() {
        match digit {
            b'0'..=b'9' => numbers.push(digit - b'0'),
            // The last one often is a mark of the release, such as stable or beta.
            b'A'..=b'Z' if position < 3 => {
                numbers.push(digit - b'A' + 10);
            }
            _ if position + 1 == digits.len() => {}
            _ => return None,
        }
    }
    if numbers.len() > 3 && numbers.last() == Some(&0) {
        numbers.pop();
    }
    Some(dotted(&numbers))
}

fn pairs([a, b, c, d]: [u8; 4]) -> Option<String> {
    let all_digits = [a, b, c, d].iter().all(u8::is_ascii_digit);
    let pair = |tens: u8, ones: u8| (tens - b'0') * 10 + (ones - b'0');
    all_digits.then(|| dotted(&[pair(a, b), pair(c, d)]))
}

fn hundredths([a, b, c]: [u8; 3]) -> Option<String> {
    let all_digits = [a, b, c].iter().all(u8::is_ascii_digit);
    all_digits.then(|| format!("{}.{}{}", char::from(a), char::from(b), char::from(c)))
}

fn dotted(numbers: &[u8]) -> String {
    let mut text = String::new();
    for (position, number) in numbers.iter().enumerate() {
        let dot = if position == 0 { "" } else { "." };
        let _ = write!(text, "{dot}{number}"); // a string takes everything
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn program(beginning: &[u8]) -> Option<String> {
        let mut id = [0xff; 20];
        id[..beginning.len()].copy_from_slice(beginning);
        PeerId(id).program()
    }

    #[test]
    fn programs_are_known_by_their_ids() {
        for (id, name) in [
            ("-qB4650-", "qBittorrent 4.6.5"),
            ("-qB5020-", "qBittorrent 5.0.2"),
            ("-qB33G0-", "qBittorrent 3.3.16"),
            ("-TR2940-", "Transmission 2.94"),
            ("-TR3000-", "Transmission 3.00"),
            ("-TR4060-", "Transmission 4.0.6"),
            ("-TR410B-", "Transmission 4.1.0"),
            ("-DE13F0-", "Deluge 1.3.15"),
            ("-DE211s-", "Deluge 2.1.1"),
            ("-LT2080-", "libtorrent 2.0.8"),
            ("-lt0D80-", "rTorrent (libTorrent) 0.13.8"),
            ("A2-1-36-0-", "aria2 1.36.0"),
            ("A2-1-37-0-x", "aria2 1.37.0"),
            ("-UT355S-", "µTorrent 3.5.5"),
            ("-UT355W-", "µTorrent 3.5.5"),
            ("-BT7A5S-", "BitTorrent 7.10.5"),
            ("M7-10-5--", "BitTorrent 7.10.5"),
            ("-AZ5760-", "Vuze 5.7.6"),
            ("-KT5110-", "KTorrent 5.1.1"),
            ("-BI3500-", "BiglyBT 3.5.0"),
            ("-WW0102-", "WebTorrent 1.2"),
            ("-BC0205-", "BitComet 2.5"),
        ] {
            assert_eq!(program(id.as_bytes()).as_deref(), Some(name), "{id}");
        }
    }

    #[test]
    fn others_show_what_can_be_read() {
        for (id, name) in [
            (&b"-XX1234-abc"[..], Some("-XX1234-")),
            (b"-qB<b>0-", Some("qBittorrent")),
            (b"Plus---", Some("Plus---")),
            (b"A2-x", Some("A2-x")),
            (b"M7x", Some("M7x")),
            (b"ab\xffc", Some("ab")),
            (b"-a<script>", None),
            (b"", None),
        ] {
            assert_eq!(program(id).as_deref(), name, "{}", id.escape_ascii());
        }
    }

    #[test]
    fn no_two_have_the_same_letters() {
        for (position, (code, ..)) in PROGRAMS.iter().enumerate() {
            assert!(PROGRAMS[..position].iter().all(|(other, ..)| other != code));
        }
    }

    proptest! {
        #[test]
        fn any_id_gives_a_short_name_that_can_be_shown(id: [u8; 20], dashes: bool, known in 0..PROGRAMS.len()) {
            let mut id = id;
            if dashes {
                (id[0], id[7]) = (b'-', b'-');
                id[1..3].copy_from_slice(&PROGRAMS[known].0);
            }
            if let Some(name) = PeerId(id).program() {
                prop_assert!(name.len() <= 48 && !name.is_empty());
                prop_assert!(name.chars().all(|letter| letter == 'µ' || letter.is_ascii_graphic() || letter == ' '));
                prop_assert!(!name.contains(['<', '&', '"']));
            }
        }
    }
}
