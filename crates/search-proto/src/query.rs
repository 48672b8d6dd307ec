//! A search as it is meant, whoever asks and whoever is asked.

mod function;
mod term;
mod text;

use std::collections::BTreeMap;

pub use function::Function;
pub use term::Term;

/// A search as it is meant: normalised, so that equal questions are equal values.
///
/// [`parse_request`](crate::parse_request) makes normalised ones; whoever builds one by hand keeps
/// to the same forms: categories sorted and without repetition, numbers without zeros in front,
/// `imdbid` with seven digits at least, no search by words alone with a term of another kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Query {
    /// What kind of search.
    pub function: Function,
    /// The words; empty if there are none.
    pub q: String,
    /// The categories asked for; none means all.
    pub categories: Vec<u32>,
    /// Everything else that narrows the search.
    pub terms: BTreeMap<Term, String>,
    /// Only releases of at most this age.
    pub max_age_days: Option<u32>,
    /// Only releases of at least this age.
    pub min_age_days: Option<u32>,
    /// Only releases of at least this many bytes.
    pub min_size: Option<u64>,
    /// Only releases of at most this many bytes.
    pub max_size: Option<u64>,
}

impl Query {
    /// A search of this kind for nothing in particular.
    pub fn new(function: Function) -> Self {
        Self {
            function,
            q: String::new(),
            categories: Vec::new(),
            terms: BTreeMap::new(),
            max_age_days: None,
            min_age_days: None,
            min_size: None,
            max_size: None,
        }
    }

    /// Whether this asks for nothing in particular: the feed of recent releases.
    pub fn recent(&self) -> bool {
        self.q.is_empty() && self.terms.is_empty()
    }

    /// The ids of databases that this asks by; several mean any of them.
    pub fn ids(&self) -> impl Iterator<Item = (Term, &str)> {
        let terms = self.terms.iter().filter(|(term, _)| term.is_id());
        terms.map(|(term, value)| (*term, value.as_str()))
    }

    /// The value of one term.
    pub fn term(&self, term: Term) -> Option<&str> {
        self.terms.get(&term).map(String::as_str)
    }

    /// The parameters that ask an indexer this, `t` first; values are not percent-encoded.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters = vec![("t", self.function.name().to_owned())];
        if !self.q.is_empty() {
            parameters.push(("q", self.q.clone()));
        }
        if !self.categories.is_empty() {
            let list: Vec<String> = self.categories.iter().map(u32::to_string).collect();
            parameters.push(("cat", list.join(",")));
        }
        let terms = self.terms.iter();
        parameters.extend(terms.map(|(term, value)| (term.name(), value.clone())));
        let bounds = [
            ("maxage", self.max_age_days.map(u64::from)),
            ("minage", self.min_age_days.map(u64::from)),
            ("minsize", self.min_size),
            ("maxsize", self.max_size),
        ];
        let bounds = bounds.into_iter();
        parameters.extend(bounds.filter_map(|(name, value)| Some((name, value?.to_string()))));
        parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_in_a_fixed_order() {
        let mut query = Query::new(Function::Tv);
        query.q = "some show".to_owned();
        query.categories = vec![5030, 5040];
        query.terms.insert(Term::TvdbId, "123".to_owned());
        query.terms.insert(Term::Season, "1".to_owned());
        query.max_size = Some(7);
        query.max_age_days = Some(3);
        let parameters = query.parameters();
        let written: Vec<String> = parameters.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let expected =
            "t=tvsearch q=some show cat=5030,5040 season=1 tvdbid=123 maxage=3 maxsize=7";
        assert_eq!(written.join(" "), expected);
        assert_eq!(query.ids().collect::<Vec<_>>(), [(Term::TvdbId, "123")]);
    }

    #[test]
    fn only_a_search_without_words_and_terms_is_for_what_is_recent() {
        let mut query = Query::new(Function::Movie);
        query.categories = vec![2000];
        query.max_age_days = Some(1);
        assert!(query.recent());
        query.terms.insert(Term::Year, "2026".to_owned());
        assert!(!query.recent());
        query.terms.clear();
        query.q = "x".to_owned();
        assert!(!query.recent());
    }
}
