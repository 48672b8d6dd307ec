//! `POST /api/v1/news/articles` and `/api/v1/news/posts`: posting, what became of it, and taking it back.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use weir_engine::dispatch::Asker;
use weir_news_proto::Newsgroup;
use weir_web::{Failure, FieldMistake, Visitor};

use super::time;
use crate::pages::address::{self, read_id};
use crate::pages::compose::{desk, failure, posts as desk_posts};
use crate::pages::trouble::Wanted;
use crate::posting::draft::{Draft, DraftField};
use crate::posting::outbox::{Post, PostState};
use crate::posting::{PostNote, Poster, reply};
use crate::reader::Reader;

/// Posts in one answer.
const LISTED: usize = 500;

/// What a program wants to post.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NewArticle {
    /// `Name <address>` in its parts.
    name: String,
    address: String,
    groups: Vec<String>,
    subject: String,
    text: String,
    /// Newsgroups, or the word `poster`.
    followup_to: Vec<String>,
    /// The Message-ID of what it answers; newsgroups and subject need not be given then.
    reply_to: String,
    /// The Message-ID of an article of one's own that it replaces.
    supersedes: String,
    /// A Message-ID of one's own, so that the same article can be posted again safely.
    id: String,
}

/// `POST /api/v1/news/articles`.
pub(super) async fn create(
    State(reader): State<Arc<Reader>>,
    visitor: Visitor,
    Json(new): Json<NewArticle>,
) -> Result<(StatusCode, Json<Value>), Failure> {
    let model = desk(&reader)?;
    let mut draft = Draft {
        name: new.name,
        address: new.address,
        newsgroups: new.groups.join(","),
        subject: new.subject,
        followup: new.followup_to.join(","),
        text: new.text,
        ..Draft::default()
    };
    if !new.reply_to.is_empty() {
        let answered = own_id(&new.reply_to, "reply_to")?;
        let found = reader.library.article(&read_id(&answered)?).await;
        let read = found.map_err(|unread| unread.failure(Wanted::Article, reader.now()))?;
        let answer = reply::to(&read).draft;
        draft.references = answer.references;
        for (given, usual) in [
            (&mut draft.newsgroups, answer.newsgroups),
            (&mut draft.subject, answer.subject),
        ] {
            if given.is_empty() {
                *given = usual;
            }
        }
    }
    for (name, given, kept) in [
        ("supersedes", new.supersedes, &mut draft.replaces),
        ("id", new.id, &mut draft.id),
    ] {
        if !given.is_empty() {
            *kept = own_id(&given, name)?;
        }
    }
    let rules = model.rules.load().posting;
    let mistakes = draft.mistakes(rules.bytes, rules.newsgroups);
    let article = draft.article();
    let raw = match (mistakes.is_empty(), article) {
        (true, Ok(raw)) => raw,
        (_, article) => {
            let mut mistakes = mistakes;
            if mistakes.is_empty() {
                mistakes.extend(article.err());
            }
            let says: Vec<&str> = mistakes.iter().map(|(_, says)| says.as_str()).collect();
            let sentence = says.join(" ");
            let fields = mistakes.iter().map(|(field, says)| FieldMistake {
                field: name_of(*field).to_owned(),
                detail: says.clone(),
            });
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Err(Failure::at_fields(status, sentence, fields.collect()));
        }
    };
    let posted = model.post(raw.into(), Poster::visitor(&visitor), Asker::NOBODY);
    let id = posted.await.map_err(|not| failure(&not))?;
    let post = model.outbox.find(&id).ok_or_else(Failure::internal)?;
    Ok((StatusCode::CREATED, Json(one_post(&post))))
}

/// A field of the body as programs know it.
fn name_of(field: DraftField) -> &'static str {
    match field {
        DraftField::Name => "name",
        DraftField::Address => "address",
        DraftField::Newsgroups => "groups",
        DraftField::Subject => "subject",
        DraftField::Followup => "followup_to",
        DraftField::Text => "text",
    }
}

/// A Message-ID in a field of the body.
fn own_id(given: &str, field: &str) -> Result<String, Failure> {
    let id = read_id(given).map_err(|_| {
        let failure = Failure::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "This is not a Message-ID.",
            "One looks like 20261110.4711@news.example and has no spaces.",
        );
        failure.at(field)
    })?;
    Ok(id.to_string())
}

/// `GET /api/v1/news/posts`.
pub(super) async fn list(
    State(reader): State<Arc<Reader>>,
    visitor: Visitor,
) -> Result<Json<Value>, Failure> {
    let poster = Poster::visitor(&visitor);
    let mut posts = desk(&reader)?.outbox.all();
    posts.retain(|post| poster.may_handle(&post.poster));
    let shown = posts.iter().take(LISTED).map(|post| one_post(post));
    Ok(Json(json!({
        "total": posts.len(),
        "posts": shown.collect::<Vec<_>>(),
    })))
}

/// `GET /api/v1/news/posts/{id}`.
pub(super) async fn one(
    State(reader): State<Arc<Reader>>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Json<Value>, Failure> {
    let post = desk_posts::own(desk(&reader)?, &read_id(&id)?, &visitor)?;
    Ok(Json(one_post(&post)))
}

/// `DELETE /api/v1/news/posts/{id}`: cancels the article.
pub(super) async fn cancel(
    State(reader): State<Arc<Reader>>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<Value>), Failure> {
    let model = desk(&reader)?;
    let post = desk_posts::own(model, &read_id(&id)?, &visitor)?;
    let cancelled = desk_posts::take_back(&reader, model, &post).await;
    cancelled.map_err(|not| failure(&not))?;
    let post = desk_posts::own(model, &post.id, &visitor)?;
    Ok((StatusCode::ACCEPTED, Json(one_post(&post))))
}

fn one_post(post: &Post) -> Value {
    let mut answer = note(&post.note);
    let names = post.newsgroups.iter().map(Newsgroup::as_str);
    answer["id"] = post.id.bare().into();
    answer["subject"] = post.subject.as_str().into();
    answer["groups"] = names.collect::<Vec<_>>().into();
    answer["url"] = address::article(&post.id).into();
    answer
}

/// What is known of a post.
pub(super) fn note(note: &PostNote) -> Value {
    let state = match note.state {
        PostState::Sending => "sending",
        PostState::Unsure => "unsure",
        PostState::Sent => "sent",
        PostState::Seen => "seen",
        PostState::Refused => "refused",
        PostState::Lost => "lost",
    };
    let left = note.left_out.iter().map(Newsgroup::as_str);
    json!({
        "state": state,
        "posted_at": time(note.at),
        "changed_at": time(note.changed),
        "server": note.server,
        "left_out": left.collect::<Vec<_>>(),
        "says": note.sentence(),
        "taken_back_at": note.taken_back.as_ref().map(|back| time(back.at)),
        "replaced_by": note.taken_back.as_ref().and_then(|back| back.by.as_ref()).map(|id| id.bare().to_owned()),
    })
}
