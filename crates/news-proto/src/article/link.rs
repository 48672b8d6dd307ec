//! Links in plain text: web addresses, mail addresses, newsgroups and other articles.
//!
//! Text is walked once. Whether something is a link is decided by what it starts with, so that
//! a long candidate that turns out not to be a link is not read twice.

use super::limits;
use crate::{MessageId, Newsgroup};

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// Plain text, with line feeds.
    Text(String),
    /// Text that leads somewhere.
    Link {
        /// What is shown.
        text: String,
        /// Where it leads.
        target: Target,
    },
}

/// Where a link leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An address with `http`, `https`, `ftp`, `mailto` or `nntp`: fit for `href` once it is
    /// escaped like any other text.
    Url(String),
    /// A newsgroup by its name.
    Newsgroup(Newsgroup),
    /// An article by its Message-ID.
    Article(MessageId),
}

impl Span {
    /// What is shown.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Link { text, .. } => text,
        }
    }
}

/// Splits text into plain text and links, at most `budget` of those.
pub(super) fn spans(text: &str, budget: &mut usize) -> Vec<Span> {
    let mut spans = Vec::new();
    let (mut start, mut at) = (0, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() && *budget > 0 {
        let is_start = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        let found = match bytes[at] {
            b'<' => message_id(&text[..at], &text[at..]),
            b'h' | b'H' | b'f' | b'F' | b'm' | b'M' | b'n' | b'N' if is_start => url(&text[at..]),
            _ => None,
        };
        let Some((length, target)) = found else {
            at += 1;
            continue;
        };
        if start < at {
            spans.push(Span::Text(text[start..at].to_owned()));
        }
        let end = at + length;
        if let Some(target) = target {
            *budget -= 1;
            spans.push(Span::Link {
                text: text[at..end].to_owned(),
                target,
            });
        } else {
            spans.push(Span::Text(text[at..end].to_owned()));
        }
        (start, at) = (end, end);
    }
    if start < text.len() {
        spans.push(Span::Text(text[start..].to_owned()));
    }
    spans
}

/// The address at the start of this text: its length, and where it leads. Without a target, that
/// much is text.
fn url(text: &str) -> Option<(usize, Option<Target>)> {
    let colon = text.bytes().take(7).position(|byte| byte == b':')?;
    let scheme = text[..colon].to_ascii_lowercase();
    let rest = &text[colon + 1..];
    let after = match scheme.as_str() {
        "http" | "https" | "ftp" | "nntp" => rest.strip_prefix("//")?,
        "mailto" => rest,
        "news" => rest.strip_prefix("//").unwrap_or(rest),
        _ => return None,
    };
    if !after.starts_with(|c: char| c.is_alphanumeric() || c == '[') {
        return None;
    }
    let whole = text.find(ends).unwrap_or(text.len());
    if whole > limits::LINK_BYTES {
        return Some((whole, None));
    }
    let found = trimmed(&text[..whole]);
    let inner = &found[(colon + 1).min(found.len())..];
    let target = match scheme.as_str() {
        "mailto" => inner.contains('@').then(|| Target::Url(found.to_owned())),
        "news" => news(inner),
        _ => Some(Target::Url(found.to_owned())),
    };
    Some((found.len(), target))
}

/// `news:id@host`, `news:group` or `news://server/group`.
fn news(inner: &str) -> Option<Target> {
    let name = match inner.strip_prefix("//") {
        Some(path) => path.split_once('/')?.1,
        None => inner,
    };
    if name.contains('@') {
        return MessageId::from_bare(name).ok().map(Target::Article);
    }
    name.parse().ok().map(Target::Newsgroup)
}

/// `<id@host>`. Addresses of people look the same: what has no sign of being an ID stays text.
fn message_id(before: &str, text: &str) -> Option<(usize, Option<Target>)> {
    let end = text
        .bytes()
        .take(250)
        .skip(1)
        .position(|byte| !byte.is_ascii_graphic() || matches!(byte, b'<' | b'>'))?;
    let id = text.get(..end + 2)?;
    let (local, host) = id.get(1..=end)?.split_once('@')?;
    let plain = |text: &str| !text.is_empty() && !text.contains(['@', ':', '/']);
    if !plain(local) || !plain(host) {
        return None;
    }
    let digits = local.bytes().filter(u8::is_ascii_digit).count();
    let is_odd = digits >= 4 || local.len() >= 20 || local.contains(['$', '%', '=', '!', '*']);
    if !is_odd && !is_announced(before) {
        return None;
    }
    let target = id.parse().ok().map(Target::Article)?;
    Some((id.len(), Some(target)))
}

/// Whether the words before say that a Message-ID follows.
fn is_announced(before: &str) -> bool {
    let before = before.trim_end();
    ["article", "message", "id", "id:", "news:"]
        .iter()
        .any(|word| {
            let start = before.len().checked_sub(word.len());
            let tail = start.and_then(|start| before.get(start..));
            tail.is_some_and(|tail| tail.eq_ignore_ascii_case(word))
        })
}

/// What no address contains.
fn ends(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(
            character,
            '<' | '>' | '"' | '`' | '|' | '“' | '”' | '«' | '»'
        )
}

/// Without the punctuation of the sentence around it.
fn trimmed(found: &str) -> &str {
    let count = |c: char| found.matches(c).count();
    let mut unmatched = [(')', '('), (']', '['), ('}', '{')]
        .map(|(close, open)| (close, count(close).saturating_sub(count(open))));
    let mut rest = found;
    while let Some(last) = rest.chars().next_back() {
        let pair = unmatched
            .iter_mut()
            .find(|(close, surplus)| *close == last && *surplus > 0);
        match pair {
            Some((_, surplus)) => *surplus -= 1,
            None if matches!(
                last,
                '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' | '…'
            ) => {}
            None => break,
        }
        rest = &rest[..rest.len() - last.len_utf8()];
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links in brackets with their targets: `see [http://a]`.
    fn shown(text: &str) -> String {
        let spans = spans(text, &mut 100);
        assert_eq!(spans.iter().map(Span::text).collect::<String>(), text);
        let shown = spans.iter().map(|span| match span {
            Span::Text(text) => text.clone(),
            Span::Link {
                text,
                target: Target::Url(url),
            } if text == url => format!("[{url}]"),
            Span::Link {
                target: Target::Url(url),
                ..
            } => format!("[url {url}]"),
            Span::Link {
                target: Target::Newsgroup(name),
                ..
            } => format!("[group {name}]"),
            Span::Link {
                target: Target::Article(id),
                ..
            } => format!("[id {id}]"),
        });
        shown.collect()
    }

    #[test]
    fn addresses_end_where_the_sentence_goes_on() {
        for (text, expected) in [
            ("see http://a.example/b.", "see [http://a.example/b]."),
            ("(see https://a.example/b)", "(see [https://a.example/b])"),
            ("https://a.example/b_(c), x", "[https://a.example/b_(c)], x"),
            ("<URL:http://a.example/>", "<URL:[http://a.example/]>"),
            (
                "<HTTPS://a.example/?q=1&r=2>",
                "<[HTTPS://a.example/?q=1&r=2]>",
            ),
            (
                "ftp://a.example/x\nmailto:m@a.example",
                "[ftp://a.example/x]\n[mailto:m@a.example]",
            ),
            ("http://größe.example/ä", "[http://größe.example/ä]"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn articles_and_newsgroups_lead_inside() {
        for (text, expected) in [
            ("news:example.rivers", "[group example.rivers]"),
            ("<news:abc@a.example>", "<[id <abc@a.example>]>"),
            (
                "news://host.example/example.rivers",
                "[group example.rivers]",
            ),
            (
                "In article <abc@a.example>, x",
                "In article [id <abc@a.example>], x",
            ),
            (
                "see <slrn12345.x@a.example>",
                "see [id <slrn12345.x@a.example>]",
            ),
            ("Mira <mira@a.example> wrote", "Mira <mira@a.example> wrote"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn what_only_looks_like_a_link_stays_text() {
        for text in [
            "javascript:alert(1)",
            "data:text/html,x",
            "xhttp://a.example",
            "http://",
            "http:// x",
            "http://\"x",
            "news: today",
            "mailto: me",
            "mailto:me",
            "<>",
            "<@>",
            "<a b@c12345>",
            "<é12345@b>",
            "file:///etc/passwd",
            "vbscript:x",
            "<12345@x",
            "h",
            "<http://@12345>",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn links_are_limited_in_number_and_length() {
        let text = "http://a.example/ ".repeat(10);
        assert_eq!(spans(&text, &mut 3).len(), 6);
        let long = format!("http://a.example/{}", "x".repeat(3_000));
        assert_eq!(spans(&long, &mut 3), [Span::Text(long)]);
    }
}
