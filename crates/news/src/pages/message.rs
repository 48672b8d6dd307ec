//! One article as pages show it: who, to whom, when, what; in a thread and by itself.

use askama::Template;
use weir_engine::words::{counted, size};
use weir_news_proto::article::{Article, Attachment, Part};

use super::address;
use super::text::{Paragraph, Passage, Phrase, Reading, passages};
use super::when::{Times, When};
use crate::reading::ReadArticle;

/// What an article is called that has no subject.
pub(crate) const UNTITLED: &str = "(no subject)";
/// What an author is called who gave no name.
pub(crate) const UNNAMED: &str = "(no name)";

/// The text of an article with what belongs to it.
#[derive(Template)]
#[template(path = "news_text.html")]
pub(crate) struct ArticleText {
    passages: Vec<Passage>,
    /// The language, if the author names one.
    language: Option<String>,
    /// How many lines were left out, and where they are.
    rest: Option<(String, String)>,
    files: Vec<OfferedFile>,
    damage: Vec<String>,
    /// The page of the article as HTML.
    html: Option<String>,
    source: String,
}

/// A file to download.
struct OfferedFile {
    href: String,
    name: String,
    says: String,
}

impl ArticleText {
    pub(crate) fn new(read: &ReadArticle, reading: Reading) -> Self {
        let article = &read.article;
        let here = address::article(&read.id);
        let (passages, cut) = passages(article, reading);
        Self {
            language: language(article),
            rest: (cut > 0).then(|| (counted(cut as u64, "more line", "more lines"), here.clone())),
            files: offered(article, &here),
            damage: article.damage.iter().map(ToString::to_string).collect(),
            html: has_html(article).then(|| format!("{here}/html")),
            source: format!("{here}/source"),
            passages,
        }
    }
}

/// What `Content-Language` names, if it is one tag.
fn language(article: &Article) -> Option<String> {
    let tag = article.head.header("Content-Language")?.trim();
    let is_tag = (2..=35).contains(&tag.len())
        && tag
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_tag.then(|| tag.to_owned())
}

fn offered(article: &Article, here: &str) -> Vec<OfferedFile> {
    let file = |file: &Attachment| {
        let other = match file.is_alternative {
            true => ", another form of this text",
            false => "",
        };
        OfferedFile {
            href: format!("{here}/part/{}", file.index),
            name: file.name.clone(),
            says: format!("{}, {}{other}", size(file.size as u64), file.content_type),
        }
    };
    article.attachments().map(file).collect()
}

/// Whether there is something to show as HTML.
pub(crate) fn has_html(article: &Article) -> bool {
    article
        .parts
        .iter()
        .any(|part| matches!(part, Part::Html { .. }))
}

/// What an article says about itself, folded under *Details*.
pub(crate) struct MessageFacts {
    pub(crate) from: String,
    pub(crate) address: String,
    pub(crate) newsgroups: Vec<(String, String)>,
    pub(crate) id: String,
    pub(crate) server: String,
    pub(crate) fetched: When,
}

impl MessageFacts {
    pub(crate) fn new(read: &ReadArticle, times: &Times) -> Self {
        let head = &read.article.head;
        let newsgroups = head.newsgroups.iter();
        Self {
            from: head.from.name.clone(),
            address: head.from.address.clone(),
            newsgroups: newsgroups
                .map(|name| (name.to_string(), address::newsgroup(name.as_str())))
                .collect(),
            id: read.id.to_string(),
            server: read.server.to_string(),
            fetched: times.full(read.fetched),
        }
    }
}

/// A name, never empty.
pub(crate) fn named(name: &str) -> String {
    match name.trim() {
        "" => UNNAMED.to_owned(),
        name => name.to_owned(),
    }
}

/// A subject, never empty.
pub(crate) fn titled(subject: &str) -> String {
    match subject.trim() {
        "" => UNTITLED.to_owned(),
        subject => subject.to_owned(),
    }
}
