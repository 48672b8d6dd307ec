//! What the indexers of an address can do together.

use std::sync::Arc;

use axum::response::Response;
use weir_search_proto::{
    Caps, Category, Format, Function, Term, WrittenIndexer, category, write_indexers,
};

use super::document;
use crate::indexer::Indexer;
use crate::rules::SearchRules;
use crate::scope::Scope;

/// What the indexers of a scope can do together.
pub(crate) fn caps(scope: &Scope, rules: &SearchRules, format: Format) -> Response {
    let caps = caps_of(scope, rules);
    document(format, || caps.xml(), || caps.json())
}

fn caps_of(scope: &Scope, rules: &SearchRules) -> Caps {
    let known: Vec<_> = scope
        .indexers
        .iter()
        .filter_map(|indexer| indexer.known.load_full())
        .collect();
    let mut caps = Caps::union(&scope.title(), known.iter().map(|known| &known.caps));
    // Whoever has not been heard yet can do something too, and clients keep this for a week.
    for function in Function::ALL {
        caps.functions.entry(function).or_default();
        caps.text.insert(function);
    }
    for term in [Term::Season, Term::Episode] {
        caps.functions.entry(Function::Tv).or_default().insert(term);
    }
    if caps.categories.is_empty() {
        caps.categories = standard();
    }
    if let ([_], [known], true) = (&scope.indexers[..], &known[..], scope.in_detail) {
        // Its own numbers mean something where nobody else answers.
        let own = known.caps.categories.iter();
        let own = own.flat_map(|top| std::iter::once(top).chain(&top.subcategories));
        let own = own.flat_map(|category| {
            let ids = known.mapping.ours(category.id).into_iter();
            let ids = ids.filter(|id| *id >= category::SITE);
            ids.map(|id| Category::leaf(id, &category.name))
        });
        caps.categories.extend(own);
    }
    caps.default_limit = rules.page_default;
    caps.max_limit = rules.page_max;
    caps
}

/// All that there may be.
fn standard() -> Vec<Category> {
    let tops = category::TABLE.iter();
    tops.map(|(id, name, below)| Category {
        subcategories: below
            .iter()
            .map(|(id, name)| Category::leaf(*id, name))
            .collect(),
        ..Category::leaf(*id, name)
    })
    .collect()
}

/// Jackett's list of indexers with their caps.
pub(crate) fn indexers(indexers: &[Arc<Indexer>], is_demo: bool) -> Response {
    let titles = indexers.iter().map(|indexer| match is_demo {
        true => format!("{} (demo)", indexer.name()),
        false => indexer.name().to_owned(),
    });
    let titles: Vec<String> = titles.collect();
    let known: Vec<_> = indexers
        .iter()
        .map(|indexer| (indexer, indexer.known.load_full()))
        .collect();
    let nothing = Caps::default();
    let listed: Vec<WrittenIndexer<'_>> = known
        .iter()
        .zip(&titles)
        .map(|((indexer, known), title)| {
            let caps = known.as_ref().map_or(&nothing, |known| &known.caps);
            (indexer.name(), title.as_str(), "private", true, caps)
        })
        .collect();
    document(Format::Xml, || write_indexers(&listed), String::new)
}
