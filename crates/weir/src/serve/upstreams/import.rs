//! `/upstreams/import`: picks from the indexers that Prowlarr or Jackett has.

use std::collections::BTreeMap;

use askama::Template;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use weir_config::{Secret, SecretUrl};
use weir_web::Visitor;

use super::pages::{pairs, value};
use super::{Editor, tries};
use crate::added::{Draft, Kind, destination};
use crate::cli::From;
use crate::import::{self, ImportedIndexer};
use crate::remote::{RejectedKey, Remote};
use crate::serve::reload::saving::{Edit, NotSaved};

/// Bytes of another program's list. Prowlarr describes each indexer in some 20 kB.
const LIST: usize = 16 << 20;
/// Indexers that are listed.
const MOST: usize = 500;

/// What a program has, in the order of its list.
#[derive(Clone)]
pub(super) struct ImportList {
    program: &'static str,
    place: String,
    drafts: Vec<(Draft, ImportRow)>,
    /// How many more there are.
    left_out: usize,
}

/// One row of the list.
#[derive(Clone)]
struct ImportRow {
    number: usize,
    name: String,
    kind: &'static str,
    ticked: bool,
    /// Why it is not ticked.
    note: String,
}

#[derive(Template, Default)]
#[template(path = "upstreams_import.html")]
struct ImportPage<'a> {
    form_token: &'a str,
    jackett: bool,
    url: &'a str,
    file: String,
    trouble: Option<String>,
    /// The field that the trouble is about.
    wrong: &'static str,
    rows: Vec<ImportRow>,
    /// The token of the list; without one, that of the key that was typed.
    kept: String,
    from: String,
    left_out: usize,
}

/// `GET /upstreams/import`.
pub(super) async fn ask(State(editor): State<Editor>, visitor: Visitor) -> Response {
    let page = ImportPage {
        form_token: &visitor.form_token,
        file: editor.0.running.added_file(),
        ..ImportPage::default()
    };
    visitor.show(TITLE, &page)
}

/// The field of the other program's key.
const KEY: &str = "key";

const TITLE: &str = "Import indexers · Upstreams";

/// The program that a form names.
fn program(sent: &[(String, String)]) -> From {
    match value(sent, "program") {
        "jackett" => From::Jackett,
        _ => From::Prowlarr,
    }
}

/// `POST /upstreams/import`: asks the program.
pub(super) async fn list(State(editor): State<Editor>, visitor: Visitor, body: Bytes) -> Response {
    let sent = pairs(&body);
    let url = value(&sent, "url").trim();
    let typed = value(&sent, "key").trim();
    let token = value(&sent, "_kept");
    let before = (editor.0.secrets.find(visitor.identity, token))
        .and_then(|secrets| secrets.get(KEY).cloned());
    let key = match before {
        Some(before) if typed.is_empty() => before,
        _ => typed.to_owned(),
    };
    let key = key.as_str();
    let from = program(&sent);
    let mut page = ImportPage {
        form_token: &visitor.form_token,
        jackett: from == From::Jackett,
        url,
        file: editor.0.running.added_file(),
        ..ImportPage::default()
    };
    let refused = |mut page: ImportPage<'_>, status, wrong, why: String| {
        page.trouble = Some(why);
        page.wrong = wrong;
        // It is typed once, unless it is the wrong one.
        if wrong != KEY && !key.is_empty() {
            let secrets = BTreeMap::from([(KEY, key.to_owned())]);
            page.kept = editor.0.secrets.put(visitor.identity, secrets);
        }
        (status, visitor.show(TITLE, &page)).into_response()
    };
    let web = SecretUrl::parse(url).filter(|url| matches!(url.scheme(), "http" | "https"));
    if web.is_none() || url.len() > 2000 {
        let why = "Enter the address that you open in a browser, such as http://127.0.0.1:9696.";
        return refused(
            page,
            StatusCode::UNPROCESSABLE_ENTITY,
            "url",
            why.to_owned(),
        );
    }
    if key.is_empty() || key.len() > 2000 || key.chars().any(char::is_control) {
        let why = "Enter the API key of the program.".to_owned();
        return refused(page, StatusCode::UNPROCESSABLE_ENTITY, KEY, why);
    }
    let place = match editor.0.tries.begin(&visitor) {
        Ok(place) => place,
        Err(why) => {
            return refused(page, StatusCode::TOO_MANY_REQUESTS, "", why.to_owned());
        }
    };
    let asked = tokio::time::timeout(tries::LONGEST, editor.ask_program(from, url, key)).await;
    drop(place);
    let list = match asked {
        Ok(Ok(list)) => list,
        Ok(Err(error)) => {
            let (wrong, why) = match error.is::<RejectedKey>() {
                true => (KEY, rejected(from).to_owned()),
                false => ("url", sentence(&format!("{error:#}"))),
            };
            return refused(page, StatusCode::UNPROCESSABLE_ENTITY, wrong, why);
        }
        Err(_) => {
            let why = format!(
                "It did not answer within {}.",
                weir_engine::span(tries::LONGEST)
            );
            return refused(page, StatusCode::UNPROCESSABLE_ENTITY, "url", why);
        }
    };
    page.show_list(&list);
    page.kept = editor.0.lists.put(visitor.identity, list);
    visitor.show(TITLE, &page)
}

/// `POST /upstreams/import/add`: adds what was ticked.
pub(super) async fn add(State(editor): State<Editor>, visitor: Visitor, body: Bytes) -> Response {
    let sent = pairs(&body);
    let kept = value(&sent, "_kept");
    let mut page = ImportPage {
        form_token: &visitor.form_token,
        // The list itself may be gone by now; where it came from is not.
        jackett: program(&sent) == From::Jackett,
        url: value(&sent, "url").trim(),
        file: editor.0.running.added_file(),
        ..ImportPage::default()
    };
    let Some(mut list) = editor.0.lists.find(visitor.identity, kept) else {
        page.trouble = Some("This list has expired. List the indexers again.".to_owned());
        return (StatusCode::CONFLICT, visitor.show(TITLE, &page)).into_response();
    };
    for (_, row) in &mut list.drafts {
        let number = row.number.to_string();
        row.ticked = sent
            .iter()
            .any(|(field, value)| field == "pick" && *value == number);
    }
    let picked = list.drafts.iter().filter(|(_, row)| row.ticked);
    let picked: Vec<Draft> = picked.map(|(draft, _)| draft.clone()).collect();
    let count = picked.len();
    let (status, why) = match count {
        0 => (
            StatusCode::UNPROCESSABLE_ENTITY,
            "Select at least one. Nothing was changed.".to_owned(),
        ),
        _ => match editor.save(Edit::AddAll(picked)).await {
            Ok(_) => {
                let to = format!("/upstreams?front=search&did=imported&how={count}");
                return Redirect::to(&to).into_response();
            }
            Err(not_saved) => reason(not_saved),
        },
    };
    page.trouble = Some(why);
    page.show_list(&list);
    page.kept = kept.to_owned();
    (status, visitor.show(TITLE, &page)).into_response()
}

fn reason(not_saved: NotSaved) -> (StatusCode, String) {
    let nothing = "Nothing was changed:";
    match not_saved {
        NotSaved::Fields(fields) => {
            let all: Vec<String> = fields.into_iter().map(|one| one.detail).collect();
            (
                StatusCode::UNPROCESSABLE_ENTITY,
                format!("{nothing} {}", all.join(" ")),
            )
        }
        NotSaved::Mistakes(mistakes) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("{nothing} {}.", mistakes.join("; ")),
        ),
        NotSaved::Failed(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{nothing} {why}.")),
        NotSaved::Changed | NotSaved::Gone | NotSaved::Own(_) => (
            StatusCode::CONFLICT,
            format!("{nothing} somebody else is changing the same."),
        ),
    }
}

impl Editor {
    async fn ask_program(&self, from: From, url: &str, key: &str) -> anyhow::Result<ImportList> {
        let private = self.0.running.allows_private_indexers();
        let remote = Remote::new(url, Secret::new(key), from.about_key())?.bounded(LIST, private);
        let found = import::list(from, &remote, key).await?;
        let here = self.0.running.addresses(Kind::Indexer);
        let mut names: Vec<String> = here.iter().map(|(name, _)| name.clone()).collect();
        let left_out = found.len().saturating_sub(MOST);
        let rows = found.into_iter().take(MOST).enumerate();
        let drafts = rows.map(|(number, indexer)| {
            let there = here.iter().find(|(_, url)| same(url, &indexer.url));
            let note = match (there, indexer.enabled) {
                (Some((name, _)), _) => format!("Already here as {name}."),
                (None, false) => format!("Disabled in {}.", from.name()),
                (None, true) => String::new(),
            };
            let row = ImportRow {
                number,
                name: indexer.name.clone(),
                kind: if indexer.usenet { "Usenet" } else { "torrents" },
                ticked: note.is_empty(),
                note,
            };
            (draft(&indexer, key, &mut names), row)
        });
        Ok(ImportList {
            program: from.name(),
            place: remote.base().to_owned(),
            drafts: drafts.collect(),
            left_out,
        })
    }
}

impl ImportPage<'_> {
    fn show_list(&mut self, list: &ImportList) {
        self.rows = list.drafts.iter().map(|(_, row)| row.clone()).collect();
        let place = SecretUrl::parse(&list.place).map_or_else(String::new, |url| url.place());
        self.from = format!("{} at {place}", list.program);
        self.left_out = list.left_out;
    }
}

/// What the page says of a key that was rejected.
fn rejected(from: From) -> &'static str {
    match from {
        From::Prowlarr => "Prowlarr rejected this key. Copy it from Settings, General.",
        From::Jackett => "Jackett rejected this key. Copy it from the top of its dashboard.",
    }
}

/// What a command would say, as a sentence.
fn sentence(text: &str) -> String {
    format!("{}.", weir_engine::words::capital(text))
}

/// The entry of an indexer, under a name that is not taken.
fn draft(indexer: &ImportedIndexer, key: &str, names: &mut Vec<String>) -> Draft {
    let mut name = indexer.name.clone();
    let mut number = 2;
    while names.contains(&name) {
        name = format!("{}-{number}", indexer.name);
        number += 1;
    }
    names.push(name.clone());
    let mut draft = Draft::new(Kind::Indexer);
    draft.set("name", &name);
    draft.set("url", &indexer.url);
    draft.set("api_key", key);
    if indexer.usenet {
        draft.set("kind", "newznab");
    }
    if let Some(priority) = indexer.priority {
        draft.set("priority", &priority.to_string());
    }
    for (limit, calls) in &indexer.limits {
        draft.set(limit, &calls.to_string());
    }
    draft.set("tags", &indexer.tags.join(", "));
    draft
}

/// Whether two addresses lead to the same indexer. Its key is compared when it is added: it may be another here.
fn same(one: &str, other: &str) -> bool {
    let place = |text: &str| {
        let mut url = destination(&SecretUrl::parse(text)?);
        url.set_query(None);
        Some(url)
    };
    place(one).is_some() && place(one) == place(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_indexer_is_recognised_however_its_address_is_written() {
        let listed = "http://127.0.0.1:9117/api/v2.0/indexers/a/results/torznab/api";
        for copied in [
            "http://127.0.0.1:9117/api/v2.0/indexers/a/results/torznab/",
            "http://localhost:9117/api/v2.0/indexers/a/results/torznab",
            "http://[::1]:9117/api/v2.0/indexers/a/results/torznab/api?apikey=k",
        ] {
            assert!(same(copied, listed), "{copied}");
        }
        assert!(!same("http://host/1/api", "http://host/2/api"));
        assert!(!same("http://host/api", "https://host/api"));
        assert!(!same("nowhere", "nowhere"));
    }
}
