//! What people and the API ask: checked once, begun, kept for reloads and remembered.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_search_proto::{Function, Query, Request, Term, parse_request};

use crate::desk::Desk;
use crate::indexer::Indexer;
use crate::policy::INTERACTIVE;
use crate::program::Program;
use crate::search::{Question, Search, SearchId};

/// The name under which the search page asks.
pub(crate) const PAGE: &str = "the search page";

/// Whom those ask who name nobody, in words.
pub(crate) const EVERYBODY: &str = "all indexers";

/// A question as it was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
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
        Ok(_) => Err("This is no search.".to_owned()),
        Err(refusal) => Err(format!("{}.", refusal.description)),
    }
}

impl Ask {
    /// The question, normalised.
    ///
    /// # Errors
    /// With a sentence that says what is wrong.
    fn query(&self) -> Result<Query, String> {
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

    fn scope(&self, desk: &Desk) -> Result<Vec<Arc<Indexer>>, String> {
        let roster = desk.roster.load();
        if roster.all.is_empty() {
            return Err("No indexer is configured, so there is nobody to ask.".to_owned());
        }
        let mut scope: Vec<Arc<Indexer>> = Vec::new();
        for name in &self.indexers {
            let Some(indexer) = roster.named(name) else {
                let names: Vec<&str> = roster.all.iter().map(|indexer| indexer.name()).collect();
                return Err(format!(
                    "There is no indexer {name:?}. There are: {}.",
                    names.join(", ")
                ));
            };
            if !scope.iter().any(|other| other.name() == name) {
                scope.push(indexer.clone());
            }
        }
        match scope.is_empty() {
            true => Ok(roster.all.clone()),
            false => Ok(scope),
        }
    }
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

impl Desk {
    /// Begins a search for a person or the API.
    ///
    /// # Errors
    /// With a sentence that says what is wrong.
    pub(crate) fn search_for(
        self: &Arc<Self>,
        ask: &Ask,
        program: Program,
        address: String,
    ) -> Result<Arc<Search>, String> {
        let query = ask.query()?;
        let scope = ask.scope(self)?;
        let config = self.config.load();
        let search = self.begin(Question {
            query,
            scope,
            class: INTERACTIVE,
            max_wait: None,
            no_cache: ask.no_cache,
            program,
            address,
            deadline: config.deadline,
        });
        let kept = usize::try_from(config.kept_searches.get()).unwrap_or(usize::MAX);
        let bytes = config.cache.memory.len();
        self.searches.keep(&search, kept, bytes);
        self.remember(&search, self.scope_of(&search));
        Ok(search)
    }

    /// Who was asked, in words.
    pub(crate) fn scope_of(&self, search: &Search) -> String {
        let scope = &search.question.scope;
        if scope.len() == self.roster.load().all.len() {
            return EVERYBODY.to_owned();
        }
        let names: Vec<&str> = scope.iter().map(|indexer| indexer.name()).collect();
        names.join(", ")
    }
}

impl SearchId {
    /// Reads the 16 hex digits that an id is written in.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).ok()?;
        digits.then_some(Self(number))
    }
}

impl std::fmt::Display for SearchId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(function: &str, terms: &[(&str, &str)]) -> Result<Query, String> {
        let terms = terms.iter();
        let ask = Ask {
            words: "  some   show ".to_owned(),
            categories: "5040,5030".to_owned(),
            function: function.to_owned(),
            terms: terms
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..Ask::default()
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

    #[test]
    fn an_id_is_16_hex_digits() {
        let id = SearchId(0xab);
        assert_eq!(id.to_string(), "00000000000000ab");
        assert_eq!(SearchId::parse(&id.to_string()), Some(id));
        for text in [
            "",
            "ab",
            "+0000000000000ab",
            "00000000000000abc",
            "000000000000000g",
        ] {
            assert_eq!(SearchId::parse(text), None, "{text}");
        }
    }
}
