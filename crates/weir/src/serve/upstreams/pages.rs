//! The pages with the form: add, edit, remove.

use std::collections::BTreeMap;

use askama::Template;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use url::form_urlencoded;
use weir_config::Origin;
use weir_engine::span;
use weir_web::{Failure, FieldMistake, Visitor, upstream_path};

use super::api::failure;
use super::form::{Filled, FormPage, KindLink, fields, kinds};
use super::{Editor, NotTried, TriedOut, elsewhere, tries};
use crate::added::{Draft, Kind, SavedValue, saved};
use crate::serve::reload::saving::{Edit, EntryPlace, NotSaved};

/// Which kind is added.
#[derive(Deserialize)]
#[serde(default)]
pub(super) struct AddQuery {
    front: String,
}

impl Default for AddQuery {
    fn default() -> Self {
        Self {
            front: Kind::Indexer.front().to_owned(),
        }
    }
}

/// A form that was sent.
struct SentForm {
    draft: Draft,
    revision: Option<String>,
    tries: bool,
    /// A secret was typed before that is not remembered any more, as after a restart.
    forgotten: bool,
}

/// What the form says above its fields.
#[derive(Default)]
struct FormTrouble {
    status: StatusCode,
    sentence: Option<String>,
    details: Vec<String>,
    fields: Vec<FieldMistake>,
    changed: bool,
    tried: Option<TriedOut>,
}

/// What the form is for.
struct FormAbout {
    title: String,
    action: String,
    /// The name and the page of the upstream, if it is there.
    upstream: Option<(String, String)>,
    /// The kinds to choose from; none for a change.
    kinds: Vec<KindLink>,
    /// What is saved now, and its revision.
    saved: Option<BTreeMap<&'static str, SavedValue>>,
    revision: String,
}

#[derive(Template)]
#[template(path = "upstream_own.html")]
struct OwnPage {
    name: String,
    path: String,
    sentence: String,
    is_demo: bool,
}

/// A removal that was sent and is not done.
#[derive(Default)]
struct Removal<'a> {
    given: &'a str,
    mistake: Option<String>,
    /// The revision that they saw.
    seen: Option<String>,
}

#[derive(Template)]
#[template(path = "upstream_remove.html")]
struct RemovePage<'a> {
    form_token: &'a str,
    name: &'a str,
    path: String,
    file: String,
    revision: String,
    given: &'a str,
    mistake: Option<String>,
}

/// `GET /upstreams/add`.
pub(super) async fn add(
    State(editor): State<Editor>,
    Query(AddQuery { front }): Query<AddQuery>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let kind = kind(&front)?;
    let draft = Draft::new(kind);
    Ok(editor.form_to_add(&visitor, &draft, FormTrouble::default()))
}

/// `POST /upstreams/add`.
pub(super) async fn save_new(
    State(editor): State<Editor>,
    Query(AddQuery { front }): Query<AddQuery>,
    visitor: Visitor,
    body: Bytes,
) -> Result<Response, Failure> {
    let kind = kind(&front)?;
    let SentForm {
        draft,
        tries,
        forgotten,
        ..
    } = editor.sent(kind, &visitor, &body);
    let edit = Edit::Add(draft.clone());
    let trouble = match tries {
        _ if forgotten => FormTrouble::forgotten(),
        true => editor.tried(&visitor, kind, edit).await,
        false => match editor.save(edit).await {
            Ok(names) => return Ok(done(kind, names.first(), "added")),
            Err(not_saved) => FormTrouble::of(not_saved),
        },
    };
    Ok(editor.form_to_add(&visitor, &draft, trouble))
}

/// `GET /upstreams/{front}/{name}/edit`.
pub(super) async fn edit(
    State(editor): State<Editor>,
    Path((front, name)): Path<(String, String)>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let kind = kind(&front)?;
    let mut draft = Draft::new(kind);
    match editor.entry(kind, &name).await {
        Ok(None) => Err(unknown(kind)),
        Ok(Some(EntryPlace::Own(origin))) => Ok(editor.own(&visitor, kind, &name, &origin)),
        Ok(Some(EntryPlace::Added { entry, revision })) => {
            for (key, value) in saved(kind, &entry) {
                if let SavedValue::Shown(value) = value {
                    draft.set(key, &value);
                }
            }
            let form = (Some(revision), FormTrouble::default());
            Ok(editor.form_to_change(&visitor, &name, &draft, form).await)
        }
        // Without what is saved the form would be empty, and saving it would erase the entry.
        Err(why) => Err(failure(why)),
    }
}

/// `POST /upstreams/{front}/{name}/edit`.
pub(super) async fn save_changed(
    State(editor): State<Editor>,
    Path((front, name)): Path<(String, String)>,
    visitor: Visitor,
    body: Bytes,
) -> Result<Response, Failure> {
    let kind = kind(&front)?;
    let SentForm {
        draft,
        revision,
        tries,
        forgotten,
    } = editor.sent(kind, &visitor, &body);
    let edit = Edit::Replace {
        name: name.clone(),
        revision: revision.clone(),
        draft: draft.clone(),
    };
    let trouble = match tries {
        _ if forgotten => FormTrouble::forgotten(),
        true => editor.tried(&visitor, kind, edit).await,
        false => match editor.save(edit).await {
            Ok(names) => return Ok(done(kind, names.first(), "changed")),
            Err(not_saved) => FormTrouble::of(not_saved),
        },
    };
    let form = (revision, trouble);
    Ok(editor.form_to_change(&visitor, &name, &draft, form).await)
}

/// `GET /upstreams/{front}/{name}/remove`.
pub(super) async fn ask_to_remove(
    State(editor): State<Editor>,
    Path((front, name)): Path<(String, String)>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let removal = Removal::default();
    editor
        .removal(&visitor, kind(&front)?, &name, &removal)
        .await
}

/// `POST /upstreams/{front}/{name}/remove`.
pub(super) async fn remove(
    State(editor): State<Editor>,
    Path((front, name)): Path<(String, String)>,
    visitor: Visitor,
    body: Bytes,
) -> Result<Response, Failure> {
    let kind = kind(&front)?;
    let sent = pairs(&body);
    let given = value(&sent, "confirm").trim();
    let revision = Some(value(&sent, "_revision").to_owned());
    let revision = revision.filter(|revision| !revision.is_empty());
    let again = async |mistake: String, status: StatusCode| {
        let removal = Removal {
            given,
            mistake: Some(mistake),
            // Whoever is told of a change decides again.
            seen: revision.clone().filter(|_| status != StatusCode::CONFLICT),
        };
        let mut page = editor.removal(&visitor, kind, &name, &removal).await?;
        *page.status_mut() = status;
        Ok(page)
    };
    if given != name {
        let mistake = format!("Type {name} to remove it. Nothing was changed.");
        return again(mistake, StatusCode::UNPROCESSABLE_ENTITY).await;
    }
    let edit = Edit::Remove {
        kind,
        name: name.clone(),
        revision: revision.clone(),
    };
    match editor.save(edit).await {
        Ok(_) => Ok(Redirect::to("/upstreams?did=removed").into_response()),
        Err(NotSaved::Gone) => Err(unknown(kind)),
        Err(NotSaved::Changed) => again(
            "Somebody has changed this entry since you opened the page. Nothing was removed; look at it, then decide again."
                .to_owned(),
            StatusCode::CONFLICT,
        )
        .await,
        Err(not_saved) => {
            let trouble = FormTrouble::of(not_saved);
            let mut sentence = trouble.sentence.unwrap_or_default();
            for detail in trouble.details {
                sentence += &format!(" {detail}");
            }
            again(sentence, trouble.status).await
        }
    }
}

impl Editor {
    /// Reads a form. Secrets that were typed before and are not sent again are filled in.
    fn sent(&self, kind: Kind, visitor: &Visitor, body: &[u8]) -> SentForm {
        let sent = pairs(body);
        let mut draft = Draft::of_form(kind, &sent);
        let token = value(&sent, "_kept");
        let kept = self.0.secrets.find(visitor.identity, token);
        let forgotten = kept.is_none() && !token.is_empty() && draft.secrets().is_empty();
        if let Some(secrets) = kept {
            draft.fill(&secrets);
        }
        SentForm {
            draft,
            // Whoever was shown no entry replaces none.
            revision: Some(value(&sent, "_revision").to_owned()),
            tries: value(&sent, "_do") == "try",
            forgotten,
        }
    }

    async fn tried(&self, visitor: &Visitor, kind: Kind, edit: Edit) -> FormTrouble {
        match self.try_out(visitor, kind, edit).await {
            Ok(tried) => FormTrouble {
                tried: Some(tried),
                ..FormTrouble::default()
            },
            Err(NotTried::NotSaved(not_saved)) => FormTrouble::of(not_saved),
            Err(NotTried::Busy(sentence)) => FormTrouble {
                status: StatusCode::TOO_MANY_REQUESTS,
                sentence: Some(sentence.to_owned()),
                ..FormTrouble::default()
            },
        }
    }

    fn form_to_add(&self, visitor: &Visitor, draft: &Draft, trouble: FormTrouble) -> Response {
        let kind = draft.kind;
        let about = FormAbout {
            title: format!("Add {}", kind.a_noun()),
            action: format!("/upstreams/add?front={}", kind.front()),
            upstream: None,
            kinds: kinds(kind),
            saved: None,
            revision: String::new(),
        };
        self.form(visitor, draft, &trouble, about)
    }

    async fn form_to_change(
        &self,
        visitor: &Visitor,
        name: &str,
        draft: &Draft,
        (seen, mut trouble): (Option<String>, FormTrouble),
    ) -> Response {
        let kind = draft.kind;
        // What was typed is not lost with the entry.
        let (saved, revision) = match self.entry(kind, name).await {
            Ok(Some(EntryPlace::Added { entry, revision })) => {
                // Only whoever was shown a change may replace it.
                let seen = seen.filter(|_| !trouble.changed);
                (Some(saved(kind, &entry)), seen.unwrap_or(revision))
            }
            // The mistakes of the file are what keeps anything from being saved, and nothing was removed.
            Err(why) => {
                trouble = FormTrouble::of(why);
                (None, seen.unwrap_or_default())
            }
            Ok(Some(EntryPlace::Own(origin))) => {
                trouble.status = StatusCode::CONFLICT;
                trouble.sentence = Some(format!(
                    "{} Nothing was changed; what you typed is still below.",
                    self.elsewhere(&origin)
                ));
                (None, String::new())
            }
            Ok(None) => {
                trouble.status = StatusCode::CONFLICT;
                trouble.sentence = Some(
                    "This entry was removed after you opened the form. Saving adds it again; saved secrets have to be entered again."
                        .to_owned(),
                );
                return self.form_to_add(visitor, draft, trouble);
            }
        };
        let path = upstream_path(kind.front(), name);
        let about = FormAbout {
            title: format!("Edit {name}"),
            action: format!("{path}/edit"),
            upstream: Some((name.to_owned(), path)),
            kinds: Vec::new(),
            saved,
            revision,
        };
        self.form(visitor, draft, &trouble, about)
    }

    fn form(
        &self,
        visitor: &Visitor,
        draft: &Draft,
        trouble: &FormTrouble,
        about: FormAbout,
    ) -> Response {
        let (status, filled, (sentence, details)) = trouble.split(draft, about.saved);
        let (usual, more) = fields(&filled);
        let page = FormPage {
            form_token: &visitor.form_token,
            title: about.title,
            action: about.action,
            upstream: about.upstream,
            kinds: about.kinds,
            usual,
            more,
            revision: about.revision,
            kept: self.remember(visitor, draft),
            trouble: sentence,
            details,
            tried: filled.tried.map(|tried| (tried.answered, tried.sentence)),
            tries: match draft.kind {
                Kind::Tracker => "sends it a real scrape",
                Kind::Indexer => {
                    "makes two real calls, for its capabilities and its latest releases,"
                }
                Kind::NewsServer => "connects for real, signs in if there is a password,",
            },
            longest: span(tries::LONGEST),
            file: self.0.running.added_file(),
        };
        let title = format!("{} · Upstreams", page.title);
        (status, visitor.show(&title, &page)).into_response()
    }

    /// Keeps the secrets that were typed for the next step of the form.
    fn remember(&self, visitor: &Visitor, draft: &Draft) -> String {
        let secrets = draft.secrets();
        match secrets.is_empty() {
            true => String::new(),
            false => self.0.secrets.put(visitor.identity, secrets),
        }
    }

    /// Says where an entry is that Weir does not write.
    fn own(&self, visitor: &Visitor, kind: Kind, name: &str, origin: &Origin) -> Response {
        let page = OwnPage {
            path: upstream_path(kind.front(), name),
            sentence: self.elsewhere(origin),
            is_demo: visitor.is_demo(),
            name: name.to_owned(),
        };
        visitor.show(&format!("{name} · Upstreams"), &page)
    }

    async fn removal(
        &self,
        visitor: &Visitor,
        kind: Kind,
        name: &str,
        removal: &Removal<'_>,
    ) -> Result<Response, Failure> {
        match self.entry(kind, name).await.map_err(failure)? {
            None => Err(unknown(kind)),
            Some(EntryPlace::Own(origin)) => Ok(self.own(visitor, kind, name, &origin)),
            Some(EntryPlace::Added { revision, .. }) => {
                let page = RemovePage {
                    form_token: &visitor.form_token,
                    name,
                    path: upstream_path(kind.front(), name),
                    file: self.0.running.added_file(),
                    revision: removal.seen.clone().unwrap_or(revision),
                    given: removal.given,
                    mistake: removal.mistake.clone(),
                };
                Ok(visitor.show(&format!("Remove {name} · Upstreams"), &page))
            }
        }
    }
}

impl FormTrouble {
    fn forgotten() -> Self {
        Self {
            status: StatusCode::CONFLICT,
            sentence: Some(
                "Nothing was changed: the key or password that you typed is not remembered any more. Enter it again."
                    .to_owned(),
            ),
            ..Self::default()
        }
    }

    fn of(not_saved: NotSaved) -> Self {
        let trouble = |status, sentence: &str, details| Self {
            status,
            sentence: Some(sentence.to_owned()),
            details,
            ..Self::default()
        };
        match not_saved {
            NotSaved::Fields(fields) => Self {
                status: StatusCode::UNPROCESSABLE_ENTITY,
                fields,
                ..Self::default()
            },
            NotSaved::Changed => Self {
                changed: true,
                ..trouble(
                    StatusCode::CONFLICT,
                    "Somebody has changed this entry since you opened the form. What you typed is still here; the saved value is shown below each field that differs. Save again to replace it.",
                    Vec::new(),
                )
            },
            NotSaved::Gone => Self {
                status: StatusCode::CONFLICT,
                ..Self::default()
            },
            NotSaved::Own(origin) => trouble(StatusCode::CONFLICT, &elsewhere(&origin), Vec::new()),
            NotSaved::Mistakes(mistakes) => trouble(
                StatusCode::UNPROCESSABLE_ENTITY,
                "Nothing was changed: the configuration has mistakes, which have to be corrected first.",
                mistakes,
            ),
            NotSaved::Failed(why) => trouble(
                StatusCode::SERVICE_UNAVAILABLE,
                &format!("Nothing was changed: {why}."),
                Vec::new(),
            ),
        }
    }

    /// The status, what fills the fields, and what is said above them.
    fn split<'a>(
        &'a self,
        draft: &'a Draft,
        saved: Option<BTreeMap<&'static str, SavedValue>>,
    ) -> (StatusCode, Filled<'a>, (Option<String>, Vec<String>)) {
        // A mistake of a key that has no field is told above.
        let mut details = self.details.clone();
        let known = |mistake: &&FieldMistake| {
            let mut keys = draft.kind.keys();
            keys.any(|about| about.key == mistake.field)
        };
        let strange = self.fields.iter().filter(|mistake| !known(mistake));
        details.extend(strange.map(|mistake| mistake.detail.clone()));
        let filled = Filled {
            draft,
            saved,
            changed: self.changed,
            mistakes: &self.fields,
            tried: self.tried.clone(),
        };
        (self.status, filled, (self.sentence.clone(), details))
    }
}

/// Where to go when it is saved.
fn done(kind: Kind, name: Option<&String>, did: &str) -> Response {
    let name = name.map_or("", String::as_str);
    let whom = format!("{}/{name}", kind.front());
    let whom: String = form_urlencoded::byte_serialize(whom.as_bytes()).collect();
    let path = upstream_path(kind.front(), name);
    Redirect::to(&format!("{path}?did={did}&whom={whom}")).into_response()
}

fn kind(front: &str) -> Result<Kind, Failure> {
    Kind::of_front(front).ok_or_else(|| {
        Failure::unknown(
            "Upstreams of this front are not added on the pages.",
            "Choose tracker, search or news.",
        )
    })
}

fn unknown(kind: Kind) -> Failure {
    Failure::unknown(
        format!("There is no {} of this name.", kind.noun()),
        "It may have been renamed or removed. Look it up under Upstreams.",
    )
}

/// The fields of a form.
pub(super) fn pairs(body: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(body).into_owned().collect()
}

/// One of them.
pub(super) fn value<'a>(fields: &'a [(String, String)], name: &str) -> &'a str {
    let mut all = fields.iter();
    all.find(|(field, _)| field == name)
        .map_or("", |(_, value)| value)
}
