//! What people and the API ask, as they send it: checked once.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_search_proto::{Function, Query, Request, Term, parse_request};
use weir_web::kit;

use crate::indexer::Indexer;

/// Names of indexers in a message.
const LISTED: usize = 20;

/// The name under which the search page asks.
pub(crate) const PAGE: &str = "the search page";

/// A question as it was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchForm {
    pub(crate) words: String,
    /// Category numbers with commas between them.
    pub(crate) categories: String,
    /// Names of indexers; none asks all.
    pub(crate) indexers: Vec<String>,
    /// `search` and the like; empty is `search`.
    pub(crate) function: String,
    pub(crate) terms: BTreeMap<String, String>,
    /// The whole question as [`written`] gives it; in place of all above but the indexers.
    pub(crate) whole: String,
    pub(crate) no_cache: bool,
}

/// A question that can be asked again as it is: function, words, categories, terms and bounds, as a query string.
pub(crate) fn written(query: &Query) -> String {
    let mut written = url::form_urlencoded::Serializer::new(String::new());
    written.extend_pairs(query.parameters());
    written.finish()
}

/// The question that was [`written`].
///
/// # Errors
/// With a sentence that says what is wrong.
pub(crate) fn read(written: &str) -> Result<Query, String> {
    match parse_request(written).request {
        Ok(Request::Search(asked)) => Ok(asked.query),
        Ok(_) => Err("This is not a search request.".to_owned()),
        Err(refusal) => Err(format!("{}.", refusal.description)),
    }
}

impl SearchForm {
    /// The question, normalised.
    ///
    /// # Errors
    /// With a sentence that says what is wrong.
    pub(crate) fn query(&self) -> Result<Query, String> {
        if !self.whole.is_empty() {
            return read(&self.whole);
        }
        let function = match self.function.as_str() {
            "" => Function::Search,
            name => Function::parse(name).ok_or_else(|| {
                let all = Function::ALL.map(Function::name);
                format!(
                    "There is no function {name:?}. There are: {}.",
                    all.join(", ")
                )
            })?,
        };
        let mut written = url::form_urlencoded::Serializer::new(String::new());
        written.append_pair("t", function.name());
        written.append_pair("q", &self.words);
        written.append_pair("cat", &self.categories);
        for (name, value) in &self.terms {
            let term = Term::parse(name).filter(|term| Term::of(function).contains(term));
            let Some(term) = term else {
                return Err(no_such_term(function, name));
            };
            written.append_pair(term.name(), value);
        }
        read(&written.finish())
    }

    /// The field of the API's body that keeps it from being asked, as far as that can be told from the question alone: the
    /// first term that would not do by itself, else the words and categories, else the indexers.
    pub(crate) fn wrong_field(&self) -> String {
        let without = Self {
            terms: BTreeMap::new(),
            ..self.clone()
        };
        let alone = |(name, value): (&String, &String)| Self {
            terms: [(name.clone(), value.clone())].into(),
            ..without.clone()
        };
        if without.query().is_err() {
            let words = Self {
                categories: String::new(),
                ..without
            };
            let field = match words.query() {
                Ok(_) => "categories",
                Err(_) => "query",
            };
            return field.to_owned();
        }
        let mut terms = self.terms.iter();
        match terms.find(|term| alone(*term).query().is_err()) {
            Some((name, _)) => format!("terms.{name}"),
            None if self.query().is_err() => "terms".to_owned(),
            None => "indexers".to_owned(),
        }
    }

    /// Whom it asks of these: those it names, or all.
    ///
    /// # Errors
    /// With a sentence that says what is wrong.
    pub(crate) fn scope(&self, all: &[Arc<Indexer>]) -> Result<Vec<Arc<Indexer>>, String> {
        if all.is_empty() {
            return Err("No indexer is configured, so there is nobody to ask.".to_owned());
        }
        let mut scope: Vec<Arc<Indexer>> = Vec::new();
        for name in &self.indexers {
            let Some(indexer) = all.iter().find(|indexer| indexer.name() == name) else {
                return Err(no_such_indexer(name, all));
            };
            if !scope.iter().any(|other| other.name() == name) {
                scope.push(indexer.clone());
            }
        }
        match scope.is_empty() {
            true => Ok(all.to_vec()),
            false => Ok(scope),
        }
    }
}

/// Which names were perhaps meant, and which there are.
pub(crate) fn no_such_indexer(name: &str, all: &[Arc<Indexer>]) -> String {
    let names: Vec<String> = all
        .iter()
        .map(|indexer| indexer.name().to_owned())
        .collect();
    if names.is_empty() {
        return format!("There is no indexer {name:?}: none is configured.");
    }
    let listed = match names.len().checked_sub(LISTED) {
        Some(more @ 1..) => format!("{} and {more} more", names[..LISTED].join(", ")),
        _ => names.join(", "),
    };
    let near = match &kit::nearest(name, names)[..] {
        [] => ".".to_owned(),
        near => format!("; did you mean {}?", near.join(" or ")),
    };
    format!("There is no indexer {name:?}{near} There are: {listed}.")
}

fn no_such_term(function: Function, name: &str) -> String {
    let terms: Vec<&str> = Term::of(function).iter().map(|term| term.name()).collect();
    let function = function.name();
    match terms.is_empty() {
        true => format!("The function {function} takes words alone, so not {name:?}."),
        false => format!(
            "The function {function} does not take {name:?}. It takes: {}.",
            terms.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(function: &str, terms: &[(&str, &str)]) -> Result<Query, String> {
        let terms = terms.iter();
        let ask = SearchForm {
            words: "  some   show ".to_owned(),
            categories: "5040,5030".to_owned(),
            function: function.to_owned(),
            terms: terms
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..SearchForm::default()
        };
        ask.query()
    }

    #[test]
    fn questions_are_normalised() {
        let query = ask("tvsearch", &[("season", "01"), ("tvdbid", "123")]).unwrap();
        assert_eq!(query.q, "some show");
        assert_eq!(query.categories, [5030, 5040]);
        assert_eq!(query.term(Term::Season), Some("1"));
    }

    #[test]
    fn mistakes_get_a_sentence() {
        let said = |function, terms: &[(&str, &str)]| ask(function, terms).unwrap_err();
        assert!(said("find", &[]).contains("There are: search, tvsearch"));
        assert!(said("", &[("season", "1")]).contains("takes words alone"));
        assert!(said("movie", &[("season", "1")]).contains("It takes: imdbid"));
        assert!(said("movie", &[("imdbid", "x")]).contains("imdbid"));
    }
}
