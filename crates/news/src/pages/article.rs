//! `/news/article/{message-id}`: one article by itself, with all that it says about itself.

use askama::Template;
use weir_news_proto::article::{Followup, Header};
use weir_web::Failure;
use weir_web::kit;

use super::message::{ArticleText, MessageFacts, named, titled};
use super::text::Reading;
use super::when::{Times, When};
use super::{address, compose, written};
use crate::posting::PostNote;
use crate::reading::{ReadArticle, Written};

/// Bytes of text on the page; an article may have a megabyte, and its source has the rest.
const PAGE_TEXT: usize = 1 << 20;
/// Ancestors that are listed.
const ANCESTORS: usize = 20;

#[derive(Template)]
#[template(path = "news_article.html")]
struct ArticleBody<'a> {
    here: String,
    id: String,
    anchor: String,
    subject: String,
    author: String,
    at: Option<i64>,
    when: Option<When>,
    /// The date as it was written, if it means nothing.
    odd_date: &'a str,
    rot13: bool,
    /// What is known of it, if it was posted here.
    note: Option<String>,
    reply: String,
    /// For whoever posted it: where to replace and to cancel it.
    own: Option<(String, String)>,
    text: String,
    facts: MessageFacts,
    organization: &'a str,
    program: &'a str,
    followup: String,
    /// Newsgroups with the thread there.
    threads: Vec<(String, String)>,
    ancestors: Vec<(String, String)>,
    headers: &'a [Header],
}

/// The title of the page.
pub(crate) fn title(read: &ReadArticle) -> String {
    let head = &read.article.head;
    format!(
        "{} · {} · News",
        titled(&head.subject),
        named(head.from.shown())
    )
}

/// Writes the page.
pub(crate) fn write(read: &ReadArticle, rot13: bool) -> Result<Written, Failure> {
    write_for(read, rot13, false)
}

/// The same for whoever may take it back.
pub(crate) fn write_for(read: &ReadArticle, rot13: bool, own: bool) -> Result<Written, Failure> {
    let head = &read.article.head;
    let times = Times::new(Some(read.fetched));
    let reading = Reading {
        most: PAGE_TEXT,
        rot13,
    };
    let root = head.references.first().unwrap_or(&read.id);
    let threads = head.newsgroups.iter();
    let ancestors = head.references.iter().rev().take(ANCESTORS).rev();
    let body = ArticleBody {
        here: address::article(&read.id),
        id: read.id.to_string(),
        anchor: address::anchor(&read.id),
        subject: titled(&head.subject),
        author: named(head.from.shown()),
        at: head.date.seconds,
        when: head.date.seconds.map(|seconds| times.full(seconds)),
        odd_date: match head.date.seconds {
            Some(_) => "",
            None => &head.date.raw,
        },
        rot13,
        note: read.post.as_ref().and_then(PostNote::sentence),
        reply: compose::reply_address(&read.id),
        own: own.then(|| compose::take_back_addresses(&read.id)),
        text: kit::render(&ArticleText::new(read, reading))?,
        facts: MessageFacts::new(read, &times),
        organization: &head.organization,
        program: &head.user_agent,
        followup: match &head.followup_to {
            None => String::new(),
            Some(Followup::Poster) => "by mail to the author".to_owned(),
            Some(Followup::Newsgroups(names)) => {
                let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
                names.join(", ")
            }
        },
        threads: threads
            .map(|name| (name.to_string(), address::thread_at(name, root, &read.id)))
            .collect(),
        ancestors: ancestors
            .map(|id| (id.to_string(), address::article(id)))
            .collect(),
        headers: &head.headers,
    };
    Ok(written(kit::render(&body)?))
}
