//! Files that come with an article: named safely, described, and decoded when somebody wants them.

use std::borrow::Cow;
use std::ops::Range;

use super::characters;
use super::damage::Report;
use super::transfer::Transfer;
use super::tree::Leaf;

/// Characters of a file name that are kept.
const NAME: usize = 120;

/// Names that are devices on Windows, whatever their extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// A part of an article that is not shown but offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its number in the article, from 0: what [`Article::attachment`](super::Article::attachment)
    /// is asked for.
    pub index: usize,
    /// A name without directories and without characters that mean something to a system.
    pub name: String,
    /// The type that the sender gave, `image/png`; in lower case and always with a `/`. Whoever
    /// serves it must not trust it.
    pub content_type: String,
    /// How many bytes the file has.
    pub size: usize,
    /// Whether it is another form of what is shown, such as HTML beside plain text.
    pub is_alternative: bool,
    body: Range<usize>,
    transfer: Transfer,
}

impl Attachment {
    pub(super) fn of(
        leaf: &Leaf,
        raw: &[u8],
        index: usize,
        is_alternative: bool,
        report: &mut Report,
    ) -> Self {
        let media = &leaf.media;
        // Offered as it was sent if we cannot decode it.
        let transfer = media.transfer.unwrap_or(Transfer::Plain);
        let (size, damage) = transfer.count(raw.get(leaf.body.clone()).unwrap_or_default());
        if let Some(damage) = damage {
            report.add(damage);
        }
        let content_type = format!("{}/{}", media.kind, media.subtype);
        let name = media
            .name
            .as_deref()
            .map(safe_name)
            .filter(|name| !name.is_empty());
        Self {
            index,
            name: name
                .unwrap_or_else(|| format!("part-{}.{}", index + 1, extension(&content_type))),
            content_type,
            size,
            is_alternative,
            body: leaf.body.clone(),
            transfer,
        }
    }

    /// The bytes of the file, taken from the article that was parsed. Of other bytes than that, any
    /// bytes.
    #[must_use]
    pub fn content<'a>(&self, raw: &'a [u8]) -> Cow<'a, [u8]> {
        let body = raw.get(self.body.clone()).unwrap_or_default();
        self.transfer.decode(body, usize::MAX).0
    }
}

/// A file name that can be saved anywhere: the last piece of a path, without characters that are
/// removed from text or that a system gives a meaning to. Empty if nothing is left.
#[must_use]
pub fn safe_name(name: &str) -> String {
    let name = characters::one_line(name);
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept = last.chars().map(|character| match character {
        '<' | '>' | ':' | '"' | '|' | '?' | '*' | '\'' | '`' | '$' | '&' | ';' | '%' => '_',
        _ => character,
    });
    let kept: String = kept.collect();
    // A leading dot hides a file, a leading dash makes it an option, a trailing dot is lost.
    let kept = kept
        .trim_start_matches(['.', '-', ' '])
        .trim_end_matches(['.', ' ']);
    let stem = kept
        .split('.')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let is_port = stem.len() == 4 && (stem.starts_with("com") || stem.starts_with("lpt"));
    match is_port || DEVICES.contains(&stem.as_str()) {
        true => format!("_{}", shortened(kept)),
        false => shortened(kept),
    }
}

/// Cuts a long name before its extension.
fn shortened(name: &str) -> String {
    if characters::cut(name, NAME).len() == name.len() {
        return name.to_owned();
    }
    let extension = name
        .rfind('.')
        .map(|dot| &name[dot..])
        .filter(|end| end.len() <= 12);
    let extension = extension.unwrap_or_default();
    let stem = characters::cut(name, NAME - extension.chars().count());
    format!("{stem}{extension}")
}

fn extension(content_type: &str) -> &'static str {
    match content_type {
        "message/rfc822" => "eml",
        "text/html" => "html",
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "application/pdf" => "pdf",
        "application/pgp-signature" => "asc",
        "text/calendar" => "ics",
        _ if content_type.starts_with("text/") => "txt",
        _ => "bin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_a_system_might_obey() {
        for (name, expected) in [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Windows\\system.ini", "system.ini"),
            ("a\u{202E}gpj.exe", "agpj.exe"),
            ("\0a\r\nb.txt", "a b.txt"),
            (".bashrc", "bashrc"),
            ("-rf", "rf"),
            ("<script>.html", "_script_.html"),
            ("nul.txt", "_nul.txt"),
            ("COM1", "_COM1"),
            ("größe 1.png", "größe 1.png"),
            ("...", ""),
            ("/", ""),
        ] {
            assert_eq!(safe_name(name), expected, "{name:?}");
        }
    }

    #[test]
    fn long_names_keep_their_extension() {
        let name = safe_name(&format!("{}.jpeg", "ä".repeat(500)));
        assert_eq!(name.chars().count(), NAME);
        assert!(name.ends_with("ä.jpeg"));
        assert_eq!(safe_name(&"x".repeat(500)).len(), NAME);
    }
}
