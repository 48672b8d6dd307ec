//! What an indexer can do: read from indexers, united, and written for clients.

mod listed;
mod reader;
mod writer;

use std::collections::{BTreeMap, BTreeSet};

use crate::category::{self, Mapping};
use crate::error::Unreadable;
use crate::query::{Function, Term};

pub use listed::{ListedIndexer, read_indexers};
pub use writer::{WrittenIndexer, write_indexers};

/// Releases in an answer where an indexer does not say.
const LIMIT: u32 = 100;

/// What an indexer can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// What it calls itself.
    pub title: String,
    /// Releases in an answer if the request does not say.
    pub default_limit: u32,
    /// Releases in an answer at most.
    pub max_limit: u32,
    /// The kinds of search it has, and what each can be narrowed by besides words.
    pub functions: BTreeMap<Function, BTreeSet<Term>>,
    /// The kinds of search that take words.
    pub text: BTreeSet<Function>,
    /// Its categories, by its own numbers.
    pub categories: Vec<Category>,
    /// Names and descriptions of tags it gives to releases.
    pub tags: Vec<(String, String)>,
}

/// A category and what is below it; an indexer has two levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Category {
    /// Its number.
    pub id: u32,
    /// Its name; below a parent without that of the parent, most of the time.
    pub name: String,
    /// The categories below it.
    pub subcategories: Vec<Self>,
}

impl Default for Caps {
    /// Those of an indexer that can do nothing.
    fn default() -> Self {
        Self {
            title: String::new(),
            default_limit: LIMIT,
            max_limit: LIMIT,
            functions: BTreeMap::new(),
            text: BTreeSet::new(),
            categories: Vec::new(),
            tags: Vec::new(),
        }
    }
}

impl Caps {
    /// Reads an indexer's caps; `charset` as for [`read_feed`](crate::read_feed).
    pub fn read(body: &[u8], charset: Option<&str>) -> Result<Self, Unreadable> {
        reader::read(body, charset)
    }

    /// The document for clients.
    pub fn xml(&self) -> String {
        writer::xml(self)
    }

    /// The document for those who asked with `o=json`.
    pub fn json(&self) -> String {
        writer::json(self)
    }

    /// What several indexers can do together: every term that one of them takes, and the standard
    /// categories of all.
    ///
    /// An id is offered where all know it that have releases of the kind: a program that may ask by an id
    /// sends no words with it, and those who do not know it would have nothing to be asked.
    pub fn union<'a>(title: &str, all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut union = Self {
            title: title.to_owned(),
            ..Self::default()
        };
        let (mut standard, mut tags) = (BTreeSet::new(), BTreeSet::new());
        let mut kinds = Vec::new();
        for caps in all {
            union.default_limit = union.default_limit.max(caps.default_limit);
            union.max_limit = union.max_limit.max(caps.max_limit);
            for (function, terms) in &caps.functions {
                union.functions.entry(*function).or_default().extend(terms);
            }
            union.text.extend(&caps.text);
            let mapping = Mapping::of(caps);
            let ids = caps.categories.iter().flat_map(Category::ids);
            let ours: BTreeSet<u32> = ids.flat_map(|id| mapping.ours(id)).collect();
            let tops: BTreeSet<u32> = ours.iter().map(|id| id / 1000 * 1000).collect();
            kinds.push((caps, tops));
            standard.extend(ours);
            let new = caps.tags.iter().filter(|(name, _)| tags.insert(name));
            union.tags.extend(new.cloned());
        }
        union.categories = standard_tree(&standard);
        for (function, terms) in &mut union.functions {
            let mut takers = kinds.clone();
            takers.retain(|(_, tops)| tops.is_empty() || tops.contains(&function.category()));
            let all_know = |term| takers.iter().all(|(caps, _)| caps.allows(*function, term));
            terms.retain(|term| !term.is_id() || all_know(*term));
        }
        union
    }

    /// Whether a kind of search can be narrowed by a term.
    pub fn allows(&self, function: Function, term: Term) -> bool {
        let terms = self.functions.get(&function);
        terms.is_some_and(|terms| terms.contains(&term))
    }
}

impl Category {
    /// A category with nothing below it.
    pub fn leaf(id: u32, name: &str) -> Self {
        Self {
            id,
            name: name.to_owned(),
            subcategories: Vec::new(),
        }
    }

    /// Its id and those below it.
    fn ids(&self) -> impl Iterator<Item = u32> {
        let below = self.subcategories.iter().map(|category| category.id);
        [self.id].into_iter().chain(below)
    }
}

/// The part of the standard table that has these ids; a child brings its parent along.
fn standard_tree(ids: &BTreeSet<u32>) -> Vec<Category> {
    let tops = category::TABLE.iter().filter_map(|(id, name, children)| {
        let below = children.iter().filter(|(child, _)| ids.contains(child));
        let below: Vec<Category> = below.map(|(id, name)| Category::leaf(*id, name)).collect();
        let there = ids.contains(id) || !below.is_empty();
        there.then(|| Category {
            subcategories: below,
            ..Category::leaf(*id, name)
        })
    });
    tops.collect()
}
