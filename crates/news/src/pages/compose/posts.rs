//! `/news/posts`: drafts and posts, what became of each, and taking one back.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Form, Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use weir_engine::dispatch::Asker;
use weir_news_proto::{MessageId, Newsgroup};
use weir_web::{Failure, Visitor, kit};

use super::{desk, failed, post_address, private, take_back_addresses, unless_full, up};
use crate::model::Model;
use crate::pages::address::{self, read_id};
use crate::pages::message::titled;
use crate::pages::when::{Times, When};
use crate::posting::outbox::{Post, PostState};
use crate::posting::{NotPosted, Poster, Taken};
use crate::reader::Reader;

/// Posts that are listed.
const LISTED: usize = 200;

#[derive(Template)]
#[template(path = "news_posts.html")]
struct PostsBody<'a> {
    token: &'a str,
    drafts: Vec<DraftLine>,
    posts: Vec<PostLine>,
    more: bool,
}

struct DraftLine {
    name: String,
    subject: String,
    newsgroups: String,
    when: When,
}

struct PostLine {
    href: String,
    subject: String,
    newsgroups: String,
    when: When,
    says: String,
}

#[derive(Template)]
#[template(path = "news_post.html")]
struct PostBody {
    up: (String, String),
    heading: &'static str,
    subject: String,
    says: String,
    newsgroups: String,
    when: When,
    id: String,
    /// Whether another look may tell more.
    open: bool,
    here: String,
    /// The thread, or the article by itself.
    read: Option<String>,
    /// What took its place.
    by: Option<String>,
    replace: Option<String>,
    cancel: Option<String>,
    /// What the browser need not keep any more.
    keep: String,
}

#[derive(Template)]
#[template(path = "news_cancel.html")]
struct CancelBody<'a> {
    up: (String, String),
    token: &'a str,
    subject: String,
    here: String,
    back: String,
    trouble: Option<String>,
}

/// What a page of a post was opened with.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PostView {
    keep: String,
}

/// Which draft is to be discarded.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DiscardForm {
    draft: String,
}

/// A post that this visitor may take back.
pub(crate) fn own(model: &Model, id: &MessageId, visitor: &Visitor) -> Result<Arc<Post>, Failure> {
    let poster = Poster::visitor(visitor);
    let post = model.outbox.find(id);
    let post = post.filter(|post| poster.may_handle(&post.poster));
    post.ok_or_else(|| {
        Failure::unknown(
            "This article was not posted here.",
            "Only whoever posted an article can cancel or replace it. Your posts are at /news/posts.",
        )
    })
}

/// `GET /news/posts`.
pub(super) async fn all(
    State(reader): State<Arc<Reader>>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let model = desk(&reader)?;
    let times = Times::new(Some(reader.now()));
    let drafts = &model.outbox.drafts;
    let mut lines = Vec::new();
    for kept in drafts.all().map_err(failed)? {
        if model.is_out(&kept) {
            // It took longer to be sent than its page was waited for.
            unless_full(drafts.discard(&kept.name).await);
            continue;
        }
        lines.push(DraftLine {
            name: kept.name.as_str().to_owned(),
            subject: titled(&kept.draft.subject),
            newsgroups: kept.draft.newsgroups.clone(),
            when: times.full(kept.at),
        });
    }
    let posts = model.outbox.all();
    let poster = Poster::visitor(&visitor);
    let articles: Vec<&Arc<Post>> = posts
        .iter()
        .filter(|post| poster.may_handle(&post.poster))
        .filter(|post| !matches!(post.takes_back, Some(Taken::Cancelled(_))))
        .collect();
    let body = PostsBody {
        token: &visitor.form_token,
        drafts: lines,
        more: articles.len() > LISTED,
        posts: articles
            .into_iter()
            .take(LISTED)
            .map(|post| PostLine {
                href: post_address(&post.id),
                subject: titled(&post.subject),
                newsgroups: crate::posting::listed(&post.newsgroups),
                when: times.full(post.note.at),
                says: match post.poster.key_name() {
                    Some(name) => format!("Posted by {name}. {}", says(post)),
                    None => says(post),
                },
            })
            .collect(),
    };
    let page = visitor.page("Drafts and posts · News", &kit::render(&body)?);
    Ok(private(page, StatusCode::OK))
}

/// `POST /news/posts/discard`.
pub(super) async fn discard(
    State(reader): State<Arc<Reader>>,
    Form(form): Form<DiscardForm>,
) -> Result<Response, Failure> {
    let drafts = &desk(&reader)?.outbox.drafts;
    if let Some(name) = drafts.read_name(&form.draft) {
        let discarded = drafts.discard(&name).await;
        discarded.map_err(|error| Failure::unwritten(&error))?;
    }
    Ok(Redirect::to("/news/posts").into_response())
}

/// `GET /news/posts/{id}`.
pub(super) async fn one(
    State(reader): State<Arc<Reader>>,
    Path(id): Path<String>,
    Query(view): Query<PostView>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let model = desk(&reader)?;
    let post = own(model, &read_id(&id)?, &visitor)?;
    let times = Times::new(Some(reader.now()));
    let cancels = matches!(post.takes_back, Some(Taken::Cancelled(_)));
    let back = &post.note.taken_back;
    let free = post.is_out() && back.is_none() && !cancels;
    let here = address::article(&post.id);
    let (replace, cancel) = take_back_addresses(&post.id);
    let body = PostBody {
        up: up(&post.newsgroups),
        heading: heading(&post),
        subject: titled(&post.subject),
        says: says(&post),
        newsgroups: crate::posting::listed(&post.newsgroups),
        when: times.full(post.note.at),
        id: post.id.to_string(),
        open: matches!(post.note.state, PostState::Sending | PostState::Unsure),
        here: post_address(&post.id),
        read: (post.is_out() && !cancels).then(|| here.clone()),
        by: back
            .as_ref()
            .and_then(|back| back.by.as_ref())
            .map(post_address),
        replace: free.then(|| replace.clone()),
        cancel: free.then(|| cancel.clone()),
        keep: view.keep,
    };
    let page = visitor.page("Your post · News", &kit::render(&body)?);
    Ok(private(page, StatusCode::OK))
}

/// `GET /news/article/{id}/cancel`: are you sure?
pub(super) async fn ask_cancel(
    State(reader): State<Arc<Reader>>,
    Path(id): Path<String>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let post = own(desk(&reader)?, &read_id(&id)?, &visitor)?;
    confirm(&visitor, &post, None)
}

/// `POST /news/article/{id}/cancel`.
pub(super) async fn cancel(
    State(reader): State<Arc<Reader>>,
    Path(id): Path<String>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let model = desk(&reader)?;
    let post = own(model, &read_id(&id)?, &visitor)?;
    match take_back(&reader, model, &post).await {
        Ok(_) => Ok(Redirect::to(&post_address(&post.id)).into_response()),
        Err(not) => confirm(&visitor, &post, Some(&not)),
    }
}

/// Cancels a post, in the name of whoever wrote it.
pub(crate) async fn take_back(
    reader: &Reader,
    model: &Model,
    post: &Post,
) -> Result<MessageId, NotPosted> {
    // As it is in the article, or servers that know no locks would not believe it.
    let from = match reader.library.article(&post.id).await {
        Ok(read) => read.article.head.from.address.clone(),
        Err(_) => model.outbox.drafts.author().1,
    };
    let names: Vec<&str> = post.newsgroups.iter().map(Newsgroup::as_str).collect();
    let (id, names) = (&post.id, names.join(","));
    let article = format!(
        "From: {from}\r\nNewsgroups: {names}\r\nSubject: cmsg cancel {id}\r\nControl: cancel {id}\r\n\r\n\
         Cancelled by its author.\r\n"
    );
    let sent = model.post(article.into(), post.poster.clone(), Asker::NOBODY);
    sent.await
}

fn confirm(visitor: &Visitor, post: &Post, not: Option<&NotPosted>) -> Result<Response, Failure> {
    let body = CancelBody {
        up: up(&post.newsgroups),
        token: &visitor.form_token,
        subject: titled(&post.subject),
        here: format!("{}/cancel", address::article(&post.id)),
        back: address::article(&post.id),
        trouble: not.map(ToString::to_string),
    };
    let page = visitor.page("Cancel your article · News", &kit::render(&body)?);
    let status = not.map_or(StatusCode::OK, super::status);
    Ok(private(page, status))
}

fn heading(post: &Post) -> &'static str {
    match (post.note.state, &post.note.taken_back) {
        (_, Some(back)) if back.by.is_some() => "Replaced",
        (_, Some(_)) => "Cancelled",
        (PostState::Sending, None) => "Being sent",
        (PostState::Unsure, None) => "Perhaps sent",
        (PostState::Sent | PostState::Seen, None) => "Sent",
        (PostState::Refused, None) => "Refused",
        (PostState::Lost, None) => "Not known",
    }
}

/// What became of it; servers that list it are said too, for whoever waits for just that.
fn says(post: &Post) -> String {
    let server = post.note.server.as_deref().unwrap_or("a server");
    let seen = || format!("Sent through {server}, and listed there.");
    post.note.sentence().unwrap_or_else(seen)
}
