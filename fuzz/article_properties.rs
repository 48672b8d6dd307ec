//! What must hold for any bytes at all when they are read as an article or as a header, one function
//! per fuzz target and named as it.
//!
//! The targets call these with made-up bytes; a test of `weir-news-proto` calls them with the
//! recorded and kept ones.

use weir_news_proto::article::{
    Article, Author, Block, Part, Role, Span, Target, decode_header, rot13, snippet, write_mbox,
};

/// Elements that the sanitiser lets through; those without an end come first.
const TAGS: &str = "br hr a b blockquote center cite code dd del div dl dt em h1 h2 h3 h4 h5 h6 i ins kbd li ol p pre \
                    q s samp strong sub sup table tbody td th tr tt ul";

const REL: &str = " rel=\"nofollow noopener noreferrer\"";

/// An article is harmless to a page whatever it was, and its files are what it says of them.
pub(crate) fn article(raw: &[u8]) {
    let article = Article::parse(raw);
    for header in &article.head.headers {
        one_line(&header.value);
        assert!(header.name.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    author(&article.head.from);
    for (index, attachment) in article.attachments().enumerate() {
        one_line(&attachment.name);
        assert!(!attachment.name.is_empty() && !attachment.name.contains(['/', '\\', '"', '<']));
        assert!(
            attachment
                .content_type
                .bytes()
                .all(|byte| byte.is_ascii_graphic())
        );
        let (found, content) = article.attachment(index, raw).expect("it is listed");
        assert_eq!((found, content.len()), (attachment, attachment.size));
        let _ = attachment.content(b"other bytes");
    }
    for part in &article.parts {
        if let Part::Html { html, .. } = part {
            harmless(html.as_str());
        }
    }
    article.blocks().for_each(block);
    assert!(article.parts.len() <= 250 && article.damage.len() <= 20);
    for damage in &article.damage {
        one_line(&damage.to_string());
    }
    let text = article.plain_text();
    assert_eq!(rot13(&rot13(&text)), text);
    assert!(article.snippet(40).chars().count() <= 40);
    assert!(snippet(&text, 7).chars().count() <= 7);
    mailbox(raw);
}

/// A header is one line without control characters, whatever it was.
pub(crate) fn header_words(raw: &[u8]) {
    let text = decode_header(raw);
    one_line(&text);
    author(&Author::parse(raw));
    let is_plain = raw.iter().all(|byte| byte.is_ascii_graphic());
    if is_plain && !text.contains("=?") && !raw.windows(2).any(|two| two == b"=?") {
        assert_eq!(text.as_bytes(), raw);
    }
}

fn author(author: &Author) {
    one_line(&author.name);
    one_line(&author.address);
}

fn block(block: &Block) {
    let text = block.text();
    assert!(
        !text.contains(|c: char| removed(c) && !matches!(c, '\n' | '\t')),
        "{text:?}"
    );
    assert!(matches!(block.role, Role::File(_)) || !text.trim().is_empty());
    for span in &block.spans {
        let Span::Link { target, .. } = span else {
            continue;
        };
        let target = match target {
            Target::Url(url) => url,
            Target::Newsgroup(name) => name.as_str(),
            Target::Article(id) => id.as_str(),
        };
        assert!(!target.contains(char::is_whitespace), "{target:?}");
        if let Span::Link {
            target: Target::Url(url),
            ..
        } = span
        {
            allowed(url);
            assert!(!url.contains('"'), "{url}");
        }
    }
}

/// Every tag is one of ours with nothing but the attributes of ours, and all are closed in order.
fn harmless(html: &str) {
    assert!(!html.contains(|c: char| removed(c) && !matches!(c, '\n' | '\t')));
    let mut open = Vec::new();
    let mut pieces = html.split('<');
    let first = pieces.next().unwrap_or_default();
    assert!(!first.contains('>'), "{html}");
    for piece in pieces {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "{html}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{html}");
            continue;
        }
        let (name, attributes) = tag.split_at(tag.find(' ').unwrap_or(tag.len()));
        let place = TAGS
            .split(' ')
            .position(|known| known == name)
            .expect("a tag of ours");
        if place >= 2 {
            open.push(name);
        }
        if !attributes.is_empty() {
            assert_eq!(name, "a");
            // An address that nobody can follow, such as `http://[`, is gone; the element stays.
            let Some(rest) = attributes.strip_prefix(" href=\"") else {
                assert_eq!(attributes, REL);
                continue;
            };
            let (url, rest) = rest.split_once('"').expect("an end");
            assert_eq!(rest, REL);
            allowed(url);
        }
    }
    assert!(open.is_empty(), "{html}");
}

fn allowed(url: &str) {
    let (scheme, _) = url.split_once(':').expect("a scheme");
    let schemes = ["http", "https", "ftp", "mailto", "news", "nntp"];
    assert!(
        schemes
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(scheme)),
        "{url}"
    );
}

fn one_line(text: &str) {
    assert!(!text.contains(removed), "{text:?}");
    assert!(
        !text.contains("  ") && text.trim_matches(' ') == text,
        "{text:?}"
    );
}

fn removed(character: char) -> bool {
    let turns = matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    character.is_control()
        || turns
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFF}')
}

/// Two articles in a mailbox are two articles again, up to their line ends.
fn mailbox(raw: &[u8]) {
    let mut mailbox = Vec::new();
    write_mbox(&mut mailbox, raw, "a@river.example", 1_794_736_800);
    write_mbox(&mut mailbox, b"second\n", "", 0);
    let mut articles: Vec<Vec<u8>> = Vec::new();
    for line in mailbox.split_inclusive(|byte| *byte == b'\n') {
        let marks = line.iter().take_while(|byte| **byte == b'>').count();
        if line.starts_with(b"From ") {
            articles.push(Vec::new());
        } else if let Some(article) = articles.last_mut() {
            let is_quoted = marks > 0 && line[marks..].starts_with(b"From ");
            article.extend_from_slice(&line[usize::from(is_quoted)..]);
        }
    }
    let mut expected = Vec::new();
    for line in raw.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        expected.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        expected.push(b'\n');
    }
    expected.push(b'\n');
    assert_eq!(articles, [expected, b"second\n\n".to_vec()]);
}
