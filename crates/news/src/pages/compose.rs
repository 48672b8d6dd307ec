//! `/news/compose`: write an article, an answer, or one in the place of another; see it as it will look; send it.
//!
//! What somebody wrote is kept before anything else is done with it, so no error, expired session or restart loses it. These
//! pages are for whoever is signed in; the form alone is taken from those whose session has ended, and kept.

pub(crate) mod posts;
mod write;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Form, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use weir_config::ENCODED;
use weir_engine::dispatch::Asker;
use weir_news_proto::Newsgroup;
use weir_web::{Failure, Right, Visitor};

use self::write::{ComposePage, Purpose};
use super::address::{self, read_id, read_newsgroup};
use super::trouble::{self, Wanted};
use crate::model::Model;
use crate::posting::draft::{Draft, DraftName};
use crate::posting::{NotPosted, Poster, reply};
use crate::reader::Reader;
use crate::reading::{NewsgroupList, Posting, ReadArticle, Rendered};

/// What is written here, for people who are signed in.
pub fn router(reader: &Arc<Reader>) -> Router {
    Router::new()
        .route("/news/compose", get(compose))
        .route("/news/posts", get(posts::all))
        .route("/news/posts/discard", post(posts::discard))
        .route("/news/posts/{id}", get(posts::one))
        .route(
            "/news/article/{id}/cancel",
            get(posts::ask_cancel).post(posts::cancel),
        )
        .with_state(reader.clone())
}

/// The form, also from those who have to sign in again.
pub fn form_router(reader: &Arc<Reader>) -> Router {
    Router::new()
        .route("/news/drafts", post(submit))
        .with_state(reader.clone())
}

/// What somebody wants to write.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ComposeView {
    /// Newsgroups.
    group: String,
    /// The article to answer.
    reply: String,
    /// The article to replace.
    replace: String,
    /// A draft to go on with.
    draft: String,
}

/// The form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ComposeForm {
    draft: String,
    /// Under which name the browser keeps a copy.
    keep: String,
    name: String,
    address: String,
    newsgroups: String,
    subject: String,
    followup: String,
    text: String,
    references: String,
    replaces: String,
    /// `send`, `preview` or `keep`.
    act: String,
}

/// Where articles are posted, if they are.
pub(crate) fn desk(reader: &Reader) -> Result<&Arc<Model>, Failure> {
    reader.model.as_ref().ok_or_else(Failure::internal)
}

/// Drafts cannot be read, or there are no random numbers to name one.
pub(super) fn failed(error: impl std::fmt::Display) -> Failure {
    tracing::error!(front = "news", %error, "a draft cannot be opened");
    Failure::internal()
}

/// A change to a draft that is only useful: the article is safe without it.
pub(super) fn unless_full(changed: Result<(), weir_store::Error>) {
    if let Err(error) = changed {
        tracing::error!(front = "news", %error, "a draft cannot be changed");
    }
}

/// `GET /news/compose`.
async fn compose(
    State(reader): State<Arc<Reader>>,
    Query(view): Query<ComposeView>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let model = desk(&reader)?;
    let drafts = &model.outbox.drafts;
    let fresh = || drafts.name().map_err(failed);
    let mut notes = Vec::new();
    let (name, purpose, mut draft) = if !view.draft.is_empty() {
        let found = drafts.read_name(&view.draft);
        let kept = found.as_ref().map(|name| drafts.find(name)).transpose();
        let (Some(name), Some(Some(draft))) = (found.clone(), kept.map_err(failed)?) else {
            return Err(gone());
        };
        (name, Purpose::of(&draft), draft)
    } else if !view.reply.is_empty() {
        let id = read_id(&view.reply)?;
        let read = match reader.library.article(&id).await {
            Ok(read) => read,
            Err(unread) => {
                return Ok(trouble::show(
                    &visitor,
                    &unread,
                    Wanted::Article,
                    reader.now(),
                ));
            }
        };
        let reply = reply::to(&read);
        if let Some(address) = &reply.by_mail {
            notes.push(format!(
                "The author asks for replies by mail, to {address}, and not in the newsgroup."
            ));
        }
        if !reply.elsewhere.is_empty() {
            let names = crate::posting::listed(&reply.elsewhere);
            notes.push(format!("The author asks for replies in {names}."));
        }
        (fresh()?, Purpose::Reply, reply.draft)
    } else if !view.replace.is_empty() {
        let id = read_id(&view.replace)?;
        posts::own(model, &id, &visitor)?;
        let found = reader.library.article(&id).await;
        let read = found.map_err(|unread| unread.failure(Wanted::Article, reader.now()))?;
        (fresh()?, Purpose::Replace, reply::instead_of(&read))
    } else {
        let names = view.group.split(',').filter(|name| !name.is_empty());
        for name in names {
            read_newsgroup(name.trim())?;
        }
        let draft = Draft {
            newsgroups: view.group.replace(',', ", "),
            ..Draft::default()
        };
        (fresh()?, Purpose::New, draft)
    };
    if draft.address.is_empty() {
        (draft.name, draft.address) = drafts.author();
    }
    let standing = standing(&reader, &draft).await;
    let page = ComposePage {
        purpose,
        // Who has not begun to write needs no form for what nobody takes.
        is_open: !standing.closed || view.group.is_empty(),
        notes: notes.into_iter().chain(standing.notes).collect(),
        ..ComposePage::new(&name, keep_of(&view, &name), &draft)
    };
    page.show(&visitor)
}

/// Under which name the browser keeps what is written: by what it is for, so that it is found again however one comes back.
fn keep_of(view: &ComposeView, name: &DraftName) -> String {
    match (&view.reply, &view.replace, &view.group) {
        _ if !view.draft.is_empty() => format!("draft:{}", name.as_str()),
        (reply, _, _) if !reply.is_empty() => format!("reply:{reply}"),
        (_, replace, _) if !replace.is_empty() => format!("replace:{replace}"),
        (_, _, group) => format!("group:{group}"),
    }
}

/// What servers say of the newsgroups of a draft.
struct Standing {
    notes: Vec<String>,
    /// Nobody takes articles for any of them.
    closed: bool,
}

async fn standing(reader: &Reader, draft: &Draft) -> Standing {
    let names = draft.newsgroups().unwrap_or_default();
    let Ok(list) = reader.library.newsgroups().await else {
        return Standing {
            notes: vec!["No server answers now. What you write is kept until one does.".to_owned()],
            closed: false,
        };
    };
    let states: Vec<_> = names.iter().map(|name| posting(&list, name)).collect();
    let notes = names.iter().zip(&states).filter_map(|(name, state)| match state {
        None => Some(format!("No server carries {name}.")),
        Some(Posting::Closed) => Some(format!("{name} is closed: nobody may post there.")),
        Some(Posting::Moderated) => Some(format!(
            "{name} is moderated: what you send goes to a moderator first, and appears if they approve it."
        )),
        Some(Posting::Open) => None,
    });
    let takes = |state: &Option<Posting>| matches!(state, Some(Posting::Open | Posting::Moderated));
    Standing {
        notes: notes.collect(),
        closed: !names.is_empty() && !states.iter().any(takes),
    }
}

fn posting(list: &NewsgroupList, name: &Newsgroup) -> Option<Posting> {
    let rows = &list.newsgroups;
    let found = rows.binary_search_by(|row| row.name.cmp(name)).ok()?;
    Some(rows[found].posting)
}

/// `POST /news/drafts`.
async fn submit(
    State(reader): State<Arc<Reader>>,
    visitor: Visitor,
    Form(form): Form<ComposeForm>,
) -> Result<Response, Failure> {
    let model = desk(&reader)?;
    let drafts = &model.outbox.drafts;
    let signed_in = visitor.identity.signed_in();
    let name = match drafts.read_name(&form.draft) {
        Some(name) => name,
        None if signed_in => drafts.name().map_err(failed)?,
        // Nobody has been given this form.
        None => return Ok(Redirect::to("/sign-in").into_response()),
    };
    let rules = model.rules.load().posting;
    let mut draft = Draft {
        name: form.name,
        address: form.address,
        newsgroups: form.newsgroups,
        subject: form.subject,
        followup: form.followup,
        text: form.text.replace("\r\n", "\n"),
        references: form.references,
        replaces: form.replaces,
        ..Draft::default()
    };
    let kept = match drafts.find(&name) {
        Ok(before) => {
            draft.refused = before.map_or(0, |before| before.refused);
            drafts.keep(&name, &draft, reader.now()).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = kept {
        tracing::error!(front = "news", %error, "a draft cannot be kept");
        // Without it nothing else is done either: what was typed goes back to where it is safe.
        let page = ComposePage {
            unkept: true,
            ..ComposePage::new(&name, form.keep, &draft)
        };
        return page.show(&visitor);
    }
    if !signed_in {
        let back = format!("/news/compose?draft={}", name.as_str());
        let back = utf8_percent_encode(&back, ENCODED);
        return Ok(Redirect::to(&format!("/sign-in?next={back}")).into_response());
    }
    if !visitor.may(Right::Post) {
        let mut failure = visitor.too_little(Right::Post);
        failure.add_advice("What you wrote is kept as a draft.");
        return Err(failure);
    }
    if form.act == "keep" {
        return Ok(Redirect::to("/news/posts").into_response());
    }
    let standing = standing(&reader, &draft).await;
    let mut page = ComposePage {
        notes: standing.notes,
        mistakes: draft.mistakes(rules.bytes, rules.newsgroups),
        ..ComposePage::new(&name, form.keep.clone(), &draft)
    };
    let raw = match draft.article() {
        Ok(raw) if page.mistakes.is_empty() => raw,
        Ok(_) => return page.show(&visitor),
        Err(mistake) => {
            if page.mistakes.is_empty() {
                page.mistakes.push(mistake);
            }
            return page.show(&visitor);
        }
    };
    let ready = match model.make_ready(&raw, drafts.seed(&name, &draft)) {
        Ok(ready) => ready,
        Err(not) => {
            page.trouble = Some(not);
            return page.show(&visitor);
        }
    };
    if form.act != "send" {
        let read = previewed(&ready.id, &ready.raw, reader.now());
        page.preview = Some(write::preview(&read, &ready.newsgroups)?);
        return page.show(&visitor);
    }
    unless_full(drafts.remember_author(&draft).await);
    let id = ready.id.clone();
    let sent = model.post_ready(ready, Poster::visitor(&visitor), Asker::NOBODY);
    // It goes on by itself; the page that follows says how far it has come.
    let sent = model.in_time(sent, model.deadline()).await;
    if matches!(sent, Some(Ok(_))) {
        // It is out, which a failure here would deny. The list of drafts tries again.
        unless_full(drafts.discard(&name).await);
    }
    let not = match sent {
        Some(Err(not)) => not,
        // It is not even known yet who could take it.
        None if model.outbox.find(&id).is_none() => NotPosted::Unreachable(
            "No server has taken it yet, and Weir is still trying. If you send it again, it is the same article."
                .to_owned(),
        ),
        Some(Ok(_)) | None => {
            let id = utf8_percent_encode(id.bare(), ENCODED);
            let keep = utf8_percent_encode(&form.keep, ENCODED);
            return Ok(Redirect::to(&format!("/news/posts/{id}?keep={keep}")).into_response());
        }
    };
    if matches!(not, NotPosted::Refused(_)) {
        // A server may remember what it refused, so another try is another article.
        draft.refused += 1;
        unless_full(drafts.keep(&name, &draft, reader.now()).await);
    }
    let page = ComposePage {
        trouble: Some(not),
        ..ComposePage::new(&name, form.keep, &draft)
    };
    page.show(&visitor)
}

/// An article that is not anywhere yet, as it will be read.
fn previewed(id: &weir_news_proto::MessageId, raw: &bytes::Bytes, now: i64) -> ReadArticle {
    ReadArticle {
        id: id.clone(),
        article: weir_news_proto::article::Article::parse(raw),
        raw: raw.clone(),
        server: "Weir".into(),
        fetched: now,
        post: None,
        rendered: Rendered::default(),
    }
}

/// The status that a page with this trouble has.
fn status(not: &NotPosted) -> StatusCode {
    match not {
        NotPosted::Refused(_) => StatusCode::UNPROCESSABLE_ENTITY,
        NotPosted::Forbidden(_) => StatusCode::FORBIDDEN,
        NotPosted::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
        NotPosted::Unreachable(_) | NotPosted::Unkept(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The same as a failure, for programs.
pub(crate) fn failure(not: &NotPosted) -> Failure {
    let advice = match not {
        NotPosted::Refused(_) => "Change the article, then post it again.",
        NotPosted::Forbidden(_) => "Post to a newsgroup that takes articles.",
        NotPosted::TooMany { .. } => "Wait, then post it again.",
        NotPosted::Unreachable(_) => "Post it again later.",
        NotPosted::Unkept(_) => "Check the log, then post again.",
    };
    let failure = Failure::new(status(not), not.to_string(), advice);
    match not {
        NotPosted::TooMany { retry_after, .. } => failure.retry_after(*retry_after),
        _ => failure,
    }
}

fn gone() -> Failure {
    Failure::unknown(
        "There is no such draft: it was sent or discarded.",
        "Your drafts and posts are at /news/posts.",
    )
}

/// Where an answer to an article is written.
pub(crate) fn reply_address(id: &weir_news_proto::MessageId) -> String {
    format!(
        "/news/compose?reply={}",
        utf8_percent_encode(id.bare(), ENCODED)
    )
}

/// Where an article is replaced, and where it is cancelled.
pub(crate) fn take_back_addresses(id: &weir_news_proto::MessageId) -> (String, String) {
    let bare = utf8_percent_encode(id.bare(), ENCODED);
    let replace = format!("/news/compose?replace={bare}");
    (replace, format!("{}/cancel", address::article(id)))
}

/// Where a new article is written.
pub(crate) fn new_address(newsgroup: &str) -> String {
    format!(
        "/news/compose?group={}",
        utf8_percent_encode(newsgroup, ENCODED)
    )
}

/// The page of a post.
pub(crate) fn post_address(id: &weir_news_proto::MessageId) -> String {
    format!("/news/posts/{}", utf8_percent_encode(id.bare(), ENCODED))
}

/// Nobody keeps these pages: they are one person's.
fn private(mut response: Response, status: StatusCode) -> Response {
    *response.status_mut() = status;
    let keep = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, keep);
    response
}

/// The newsgroup's page, or the list if there is none.
fn up(newsgroups: &[Newsgroup]) -> (String, String) {
    match newsgroups.first() {
        Some(name) => (name.to_string(), address::newsgroup(name.as_str())),
        None => ("News".to_owned(), address::NEWS.to_owned()),
    }
}
