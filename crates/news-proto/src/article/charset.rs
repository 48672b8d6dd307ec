//! Bytes to characters: by their label, and by a guess where there is none or it cannot be true.
//!
//! UTF-7 is never used: it can hide markup from whoever looks at the bytes. The same goes for the
//! encodings that browsers have given up for that reason (ISO-2022-KR, HZ); all of them are
//! [`Unknown`](Choice::unknown).

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes that are looked at for a guess, from the first one that is not ASCII.
const GUESS_BYTES: usize = 64 * 1024;

/// Names that newsreaders use and the list of browsers lacks.
const ALIASES: [(&str, &str); 8] = [
    ("cp932", "shift_jis"),
    ("cp936", "gbk"),
    ("cp949", "euc-kr"),
    ("cp950", "big5"),
    ("cp1252", "windows-1252"),
    ("latin-1", "iso-8859-1"),
    ("latin-9", "iso-8859-15"),
    ("utf8mb4", "utf-8"),
];

/// Labels that say nothing.
const EMPTY: [&str; 8] = [
    "",
    "unknown",
    "x-unknown",
    "unknown-8bit",
    "x-unknown-8bit",
    "x-user-defined",
    "default",
    "binary",
];

/// The character set that a text is read with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    encoding: &'static Encoding,
    /// Whether it was guessed because there was no label or a wrong one.
    pub(super) guessed: bool,
    /// The label, if it names nothing that we read.
    pub(super) unknown: Option<String>,
}

impl Choice {
    /// Chooses for these bytes and their label.
    pub(super) fn of(bytes: &[u8], label: Option<&str>) -> Self {
        let label = label.unwrap_or_default().trim().to_ascii_lowercase();
        if EMPTY.contains(&label.as_str()) {
            return Self::guess(bytes);
        }
        let Some(encoding) = named(&label) else {
            let unknown = Some(super::characters::token(label.as_bytes()));
            return Self {
                unknown,
                ..Self::guess(bytes)
            };
        };
        // Half of the newsreaders of the nineties said us-ascii whatever they sent, and some
        // programs say UTF-8 because it is their default: these two are believed only if true.
        let is_true = match encoding.name() {
            "UTF-8" => mostly_utf8(bytes),
            "windows-1252" if label.contains("ascii") || label.starts_with("ansi_") => plain(bytes),
            _ => true,
        };
        match encoding.name() {
            _ if !is_true => Self::guess(bytes),
            "UTF-16LE" if label != "utf-16le" => Self::labelled(utf16(bytes)),
            _ => Self::labelled(encoding),
        }
    }

    /// The name of the character set.
    pub(super) fn name(&self) -> &'static str {
        self.encoding.name()
    }

    /// The characters, and whether all bytes meant something.
    pub(super) fn decode(&self, bytes: &[u8]) -> (String, bool) {
        let (text, broken) = self.encoding.decode_without_bom_handling(bytes);
        (text.into_owned(), !broken)
    }

    fn labelled(encoding: &'static Encoding) -> Self {
        Self {
            encoding,
            guessed: false,
            unknown: None,
        }
    }

    fn guess(bytes: &[u8]) -> Self {
        let guessed = !plain(bytes);
        Self {
            encoding: guess(bytes),
            guessed,
            unknown: None,
        }
    }
}

/// A short text without a label of its own: UTF-8 if it is, else as `hint` says if that fits, else
/// a guess.
pub(super) fn unlabelled(bytes: &[u8], hint: Option<&str>) -> String {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !has_escape(bytes)
    {
        return text.to_owned();
    }
    if let Some(encoding) = hint.and_then(named) {
        let hinted = encoding.decode_without_bom_handling_and_without_replacement(bytes);
        if let Some(text) = hinted.filter(|_| encoding != UTF_8 && encoding.is_ascii_compatible()) {
            return text.into_owned();
        }
    }
    guess(bytes)
        .decode_without_bom_handling(bytes)
        .0
        .into_owned()
}

/// Whether this label names a character set that we read.
pub(super) fn is_known(label: &str) -> bool {
    named(label).is_some()
}

fn named(label: &str) -> Option<&'static Encoding> {
    let label = label.trim();
    let alias = ALIASES
        .iter()
        .find(|(alias, _)| alias.eq_ignore_ascii_case(label));
    let label = alias.map_or(label, |(_, name)| name);
    Encoding::for_label_no_replacement(label.as_bytes())
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding;
    }
    if mostly_utf8(bytes) && !has_escape(bytes) {
        return UTF_8;
    }
    let first = bytes
        .iter()
        .position(|byte| !byte.is_ascii() || *byte == 0x1B);
    let start = first.unwrap_or_default().saturating_sub(2);
    let end = bytes.len().min(start + GUESS_BYTES);
    // Browsers never guess ISO-2022-JP, since it can hide markup; here, everything is escaped after
    // it was decoded.
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes[start..end], end == bytes.len());
    match detector.guess(None, Utf8Detection::Deny) {
        guessed if guessed.is_ascii_compatible() || has_escape(bytes) => guessed,
        _ => WINDOWS_1252,
    }
}

/// UTF-16 without a byte order mark: the zero bytes of Latin letters, spaces and line ends tell.
fn utf16(bytes: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding;
    }
    let zeros = |offset: usize| {
        let bytes = bytes[..bytes.len().min(GUESS_BYTES)]
            .iter()
            .skip(offset)
            .step_by(2);
        bytes.filter(|byte| **byte == 0).count()
    };
    if zeros(0) > zeros(1) {
        UTF_16BE
    } else {
        UTF_16LE
    }
}

/// Whether this is UTF-8 with at most a few broken characters, as a cut or a faulty gateway leaves
/// them. In another encoding, hardly any byte above ASCII would fit.
fn mostly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().bytes().filter(|byte| *byte >= 0xC0).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    bad * 10 <= good
}

/// ASCII without the escapes that switch ISO-2022-JP to another alphabet.
fn plain(bytes: &[u8]) -> bool {
    bytes.is_ascii() && !has_escape(bytes)
}

/// Whether these bytes look like ISO-2022-JP. An escape alone might be the colours of a terminal.
fn has_escape(bytes: &[u8]) -> bool {
    bytes.is_ascii()
        && bytes
            .windows(3)
            .any(|three| matches!(three, [0x1B, b'$', b'@' | b'B']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], label: Option<&str>) -> (String, &'static str, bool) {
        let choice = Choice::of(bytes, label);
        (choice.decode(bytes).0, choice.name(), choice.guessed)
    }

    #[test]
    fn labels_are_believed_where_they_can_be_true() {
        assert_eq!(decoded(b"gr\xF6\xDFe", Some("ISO-8859-1")).0, "größe");
        assert_eq!(
            decoded("größe".as_bytes(), Some("utf-8")),
            ("größe".into(), "UTF-8", false)
        );
        assert_eq!(
            decoded(b"plain", Some("us-ascii")),
            ("plain".into(), "windows-1252", false)
        );
        assert_eq!(decoded(b"\x83e\x83X\x83g", Some("cp932")).0, "テスト");
    }

    #[test]
    fn labels_that_cannot_be_true_are_replaced_by_a_guess() {
        let words = b"die gr\xF6\xDFte \xDCberraschung f\xFCr M\xFCller";
        let expected = "die größte Überraschung für Müller";
        assert_eq!(
            decoded(words, Some("utf-8")),
            (expected.into(), "windows-1252", true)
        );
        assert_eq!(
            decoded(words, Some("us-ascii")),
            (expected.into(), "windows-1252", true)
        );
        let utf8 = expected.as_bytes();
        assert_eq!(
            decoded(utf8, Some("us-ascii")),
            (expected.into(), "UTF-8", true)
        );
        assert_eq!(decoded(utf8, None), (expected.into(), "UTF-8", true));
    }

    #[test]
    fn one_broken_character_leaves_the_others() {
        let mut text = "äöüäöüäöüäöü".as_bytes().to_vec();
        text.pop();
        let choice = Choice::of(&text, Some("utf-8"));
        assert_eq!(choice.name(), "UTF-8");
        assert_eq!(choice.decode(&text), ("äöüäöüäöüäö\u{FFFD}".into(), false));
    }

    #[test]
    fn utf7_is_never_used() {
        let choice = Choice::of(b"+ADw-script+AD4-", Some("UTF-7"));
        assert_eq!(choice.unknown.as_deref(), Some("utf-7"));
        assert_eq!(choice.decode(b"+ADw-script+AD4-").0, "+ADw-script+AD4-");
        assert!(
            !is_known("unicode-1-1-utf-7") && !is_known("iso-2022-kr") && !is_known("hz-gb-2312")
        );
    }

    #[test]
    fn utf16_is_read_in_either_order() {
        assert_eq!(decoded(b"\0h\0i", Some("utf-16")).0, "hi");
        assert_eq!(decoded(b"h\0i\0", Some("utf-16")).0, "hi");
        assert_eq!(decoded(b"\xFE\xFF\0h\0i", Some("utf-16")).0, "\u{FEFF}hi");
        assert_eq!(decoded(b"\xFF\xFEh\0i\0", None).0, "\u{FEFF}hi");
    }

    #[test]
    fn a_hint_is_better_than_a_guess() {
        assert_eq!(
            unlabelled(b"\xCF\xD2\xC9\xD7\xC5\xD4", Some("koi8-r")),
            "оривет"
        );
        assert_eq!(unlabelled("größe".as_bytes(), Some("koi8-r")), "größe");
        assert_eq!(unlabelled(b"M\xFCller", Some("utf-16")), "Müller");
        assert_eq!(unlabelled(b"\x1B$B%F%9%H\x1B(B", None), "テスト");
    }
}
