//! The form as a page: what was typed, what is wrong with it beside each field, and how it will look.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use weir_news_proto::Newsgroup;
use weir_web::{Failure, MAKE_ROOM, UNWRITTEN, Visitor, kit};

use super::{private, status, up};
use crate::pages::message::{ArticleText, named, titled};
use crate::pages::text::Reading;
use crate::posting::NotPosted;
use crate::posting::draft::{Draft, DraftField, DraftName, Mistake};
use crate::reading::ReadArticle;

/// Bytes of text in a preview.
const PREVIEW: usize = 240_000;

/// What is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    New,
    Reply,
    Replace,
}

impl Purpose {
    pub(super) fn of(draft: &Draft) -> Self {
        match draft {
            draft if !draft.replaces.is_empty() => Self::Replace,
            draft if !draft.references.is_empty() => Self::Reply,
            _ => Self::New,
        }
    }

    fn heading(self) -> &'static str {
        match self {
            Self::New => "New article",
            Self::Reply => "Reply",
            Self::Replace => "Replace your article",
        }
    }
}

/// How it will look.
pub(super) struct Preview {
    subject: String,
    author: String,
    newsgroups: String,
    text: String,
}

/// What the page is made of.
pub(super) struct ComposePage<'a> {
    pub(super) purpose: Purpose,
    pub(super) name: &'a DraftName,
    /// Under which name the browser keeps a copy.
    pub(super) keep: String,
    pub(super) draft: &'a Draft,
    /// Whether there is a form; not so where nobody takes articles.
    pub(super) is_open: bool,
    pub(super) notes: Vec<String>,
    pub(super) mistakes: Vec<Mistake>,
    pub(super) trouble: Option<NotPosted>,
    /// It is nowhere but on this page.
    pub(super) unkept: bool,
    pub(super) preview: Option<Preview>,
}

#[derive(Template)]
#[template(path = "news_compose.html")]
struct ComposeBody<'a> {
    up: (String, String),
    heading: &'static str,
    token: &'a str,
    name: &'a str,
    keep: &'a str,
    draft: &'a Draft,
    is_open: bool,
    notes: &'a [String],
    mistakes: Vec<(&'static str, &'a str)>,
    trouble: Option<String>,
    unkept: Option<String>,
    preview: Option<&'a Preview>,
    /// It answers or replaces something.
    follows: bool,
}

impl ComposeBody<'_> {
    /// What is wrong with a field.
    fn wrong(&self, field: &str) -> Option<&str> {
        let found = self.mistakes.iter().find(|(id, _)| *id == field);
        found.map(|(_, says)| *says)
    }
}

impl<'a> ComposePage<'a> {
    /// The form with what was written so far, and nothing to say of it.
    pub(super) fn new(name: &'a DraftName, keep: String, draft: &'a Draft) -> Self {
        Self {
            purpose: Purpose::of(draft),
            name,
            keep,
            draft,
            is_open: true,
            notes: Vec::new(),
            mistakes: Vec::new(),
            trouble: None,
            unkept: false,
            preview: None,
        }
    }

    pub(super) fn show(&self, visitor: &Visitor) -> Result<Response, Failure> {
        let heading = self.purpose.heading();
        let mistakes = self.mistakes.iter();
        let body = ComposeBody {
            up: up(&self.draft.newsgroups().unwrap_or_default()),
            heading,
            token: &visitor.form_token,
            name: self.name.as_str(),
            keep: &self.keep,
            draft: self.draft,
            is_open: self.is_open,
            notes: &self.notes,
            mistakes: mistakes
                .map(|(field, says)| (id(*field), says.as_str()))
                .collect(),
            trouble: self.trouble.as_ref().map(ToString::to_string),
            unkept: (self.unkept).then(|| format!("Not kept: {UNWRITTEN} {MAKE_ROOM}")),
            preview: self.preview.as_ref(),
            follows: self.purpose != Purpose::New,
        };
        let status = match (&self.trouble, self.mistakes.is_empty()) {
            _ if self.unkept => StatusCode::SERVICE_UNAVAILABLE,
            (Some(not), _) => status(not),
            (None, false) => StatusCode::UNPROCESSABLE_ENTITY,
            (None, true) => StatusCode::OK,
        };
        let page = visitor.page(&format!("{heading} · News"), &kit::render(&body)?);
        Ok(private(page.into_response(), status))
    }
}

/// An article as it will look, by whatever shows articles.
pub(super) fn preview(read: &ReadArticle, newsgroups: &[Newsgroup]) -> Result<Preview, Failure> {
    let head = &read.article.head;
    let reading = Reading {
        most: PREVIEW,
        rot13: false,
    };
    Ok(Preview {
        subject: titled(&head.subject),
        author: named(head.from.shown()),
        newsgroups: crate::posting::listed(newsgroups),
        text: kit::render(&ArticleText::new(read, reading))?,
    })
}

fn id(field: DraftField) -> &'static str {
    match field {
        DraftField::Name => "name",
        DraftField::Address => "address",
        DraftField::Newsgroups => "newsgroups",
        DraftField::Subject => "subject",
        DraftField::Followup => "followup",
        DraftField::Text => "text",
    }
}
