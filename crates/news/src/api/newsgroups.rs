//! `GET /api/v1/news/groups`: newsgroups by name, all or those that match.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::{Value, json};
use weir_net::aside;
use weir_web::Failure;

use super::{currency, posting, time};
use crate::pages::address::NewsView;
use crate::pages::groups::matching;
use crate::pages::trouble::Wanted;
use crate::reader::Reader;
use crate::reading::{NewsgroupList, NewsgroupRow};

/// Newsgroups in one answer.
const PAGE: usize = 500;

/// Newsgroups that are wanted by their whole names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NamedView {
    /// Separated by commas, which no name has.
    names: String,
}

/// `GET /api/v1/news/groups`.
pub(super) async fn list(
    State(reader): State<Arc<Reader>>,
    Query(view): Query<NewsView>,
    Query(named): Query<NamedView>,
) -> Result<Json<Value>, Failure> {
    let page = view.page()?;
    let list = reader.library.newsgroups().await;
    let list = list.map_err(|unread| unread.failure(Wanted::Newsgroups, reader.now()))?;
    let answer = move || answer(&list, view.q.trim(), &named.names, page);
    // To look through fifty thousand names takes a while.
    Ok(Json(aside(answer).await))
}

fn answer(list: &NewsgroupList, q: &str, names: &str, page: usize) -> Value {
    let found: Vec<&NewsgroupRow> = match (names, q) {
        ("", "") => list.newsgroups.iter().collect(),
        ("", q) => matching(list, q),
        (names, _) => named(list, names),
    };
    let shown = found.iter().skip(page.saturating_mul(PAGE)).take(PAGE);
    json!({
        "total": found.len(),
        "page": page + 1,
        "pages": found.len().div_ceil(PAGE),
        "groups": shown.map(|row| newsgroup(row)).collect::<Vec<_>>(),
        "currency": currency(&list.currency),
    })
}

fn named<'a>(list: &'a NewsgroupList, names: &str) -> Vec<&'a NewsgroupRow> {
    let rows = &list.newsgroups;
    let find = |name: &str| {
        rows.binary_search_by(|row| row.name.as_str().cmp(name))
            .ok()
    };
    let found = names.split(',').take(PAGE).filter_map(find);
    found.map(|index| &rows[index]).collect()
}

/// A newsgroup.
pub(super) fn newsgroup(row: &NewsgroupRow) -> Value {
    json!({
        "name": row.name.as_str(),
        "description": row.description,
        "articles": row.articles,
        "posting": posting(row.posting),
        "servers": row.servers,
        "newest_at": row.newest.map(time),
    })
}
