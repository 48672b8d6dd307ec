//! What one indexer is asked, given what it can do: the question itself, its text form, or nothing.

use weir_search_proto::{Function, Query, Term};

use crate::indexer::Abilities;

/// What becomes of a question at one indexer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// It is asked this, in its own categories.
    Ask(Query),
    /// It has nothing to ask: why.
    Nothing(&'static str),
}

// What is said of an indexer that has nothing to be asked; the reply accounts for it all the same.
const NO_CATEGORY: &str = "it has none of these categories";
const NO_ID: &str = "it does not support these IDs, and the query has no text";
const NO_TEXT: &str = "it offers no such search";

/// What to ask; `only` are the categories that the operator wants from it.
pub(crate) fn plan(known: &Abilities, query: &Query, only: &[u32]) -> Plan {
    let Some(categories) = categories(known, query, only) else {
        return Plan::Nothing(NO_CATEGORY);
    };
    let asked = match form(known, query) {
        Ok(query) => query,
        Err(reason) => return Plan::Nothing(reason),
    };
    Plan::Ask(Query {
        categories,
        ..asked
    })
}

/// Its own numbers for the categories asked for; `None` if it has none of them.
fn categories(known: &Abilities, query: &Query, only: &[u32]) -> Option<Vec<u32>> {
    let wanted = match (query.categories.as_slice(), only) {
        ([], only) => only.to_vec(),
        (asked, []) => asked.to_vec(),
        // What is asked for and allowed: a parent stands for its children.
        (asked, only) => {
            let within = |list: &[u32], id: u32| {
                list.iter()
                    .any(|other| *other == id || *other == weir_search_proto::category::parent(id))
            };
            let mut both: Vec<u32> = asked
                .iter()
                .copied()
                .filter(|id| within(only, *id))
                .collect();
            both.extend(only.iter().copied().filter(|id| within(asked, *id)));
            both.sort_unstable();
            both.dedup();
            if both.is_empty() {
                return None;
            }
            both
        }
    };
    if wanted.is_empty() || known.caps.categories.is_empty() {
        return Some(wanted);
    }
    let theirs = known.mapping.theirs(&wanted);
    (!theirs.is_empty()).then_some(theirs)
}

/// The question in a form that the indexer takes.
fn form(known: &Abilities, query: &Query) -> Result<Query, &'static str> {
    let caps = &known.caps;
    if query.recent() {
        // The recent releases of its kind where it has that kind; everybody has the plain form.
        let function = match caps.functions.contains_key(&query.function) {
            true => query.function,
            false => Function::Search,
        };
        let query = query.clone();
        return Ok(Query { function, ..query });
    }
    if caps.functions.contains_key(&query.function) {
        let takes_text = query.q.is_empty() || caps.text.contains(&query.function);
        let (taken, left): (Vec<Term>, Vec<Term>) = query
            .terms
            .keys()
            .partition(|term| caps.allows(query.function, **term));
        let ids = query.terms.keys().filter(|term| term.is_id()).count();
        let ids_taken = taken.iter().filter(|term| term.is_id()).count();
        // Ids are alternatives: one that it knows is enough. The rest must be taken whole, or it would find more
        // than was asked for.
        let narrow = left.iter().all(|term| term.is_id() || is_vague(*term));
        let identified = ids_taken > 0 || (ids == 0 && takes_text);
        if identified && narrow && (takes_text || ids_taken > 0) {
            let mut terms = query.terms.clone();
            terms.retain(|term, _| taken.contains(term));
            let q = match takes_text {
                true => query.q.clone(),
                false => String::new(),
            };
            return Ok(Query {
                terms,
                q,
                ..query.clone()
            });
        }
        // By text in the same function: ids are left out.
        if takes_text && !query.q.is_empty() && narrow {
            let mut terms = query.terms.clone();
            terms.retain(|term, _| taken.contains(term) && !term.is_id());
            return Ok(Query {
                terms,
                ..query.clone()
            });
        }
    }
    let takes_plain_text =
        caps.text.contains(&Function::Search) || !caps.functions.contains_key(&Function::Search);
    match query.text_form() {
        Some(text) if takes_plain_text => Ok(text),
        Some(_) => Err(NO_TEXT),
        None => Err(NO_ID),
    }
}

/// What narrows a search so little that leaving it out does no harm.
fn is_vague(term: Term) -> bool {
    matches!(
        term,
        Term::Year | Term::Genre | Term::Label | Term::Track | Term::Publisher
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use weir_search_proto::{Caps, Category};

    use super::*;

    fn known(functions: &[(Function, &[Term])], text: &[Function]) -> Abilities {
        let functions = functions
            .iter()
            .map(|(function, terms)| (*function, terms.iter().copied().collect()));
        let category = |id, name: &str| Category {
            id,
            name: name.into(),
            subcategories: Vec::new(),
        };
        Abilities::new(
            Caps {
                title: "one".into(),
                default_limit: 100,
                max_limit: 100,
                functions: functions.collect(),
                text: text.iter().copied().collect(),
                categories: vec![category(2000, "Movies"), category(5000, "TV")],
                tags: Vec::new(),
            },
            0,
        )
    }

    fn query(function: Function, q: &str, terms: &[(Term, &str)]) -> Query {
        Query {
            function,
            q: q.into(),
            categories: Vec::new(),
            terms: terms
                .iter()
                .map(|(term, value)| (*term, (*value).to_owned()))
                .collect::<BTreeMap<_, _>>(),
            max_age_days: None,
            min_age_days: None,
            min_size: None,
            max_size: None,
        }
    }

    fn asked(plan: Plan) -> Query {
        match plan {
            Plan::Ask(query) => query,
            Plan::Nothing(why) => panic!("nothing to ask: {why}"),
        }
    }

    const EPISODE: [(Term, &str); 3] = [
        (Term::TvdbId, "123"),
        (Term::Season, "1"),
        (Term::Episode, "2"),
    ];

    #[test]
    fn ids_go_to_those_who_know_them() {
        let tv: &[Term] = &[Term::TvdbId, Term::Season, Term::Episode];
        let known = known(
            &[(Function::Search, &[]), (Function::Tv, tv)],
            &Function::ALL,
        );
        let query = query(Function::Tv, "", &EPISODE);
        assert_eq!(asked(plan(&known, &query, &[])), query);
    }

    #[test]
    fn of_several_ids_the_known_ones_are_asked() {
        let tv: &[Term] = &[Term::TvdbId, Term::Season, Term::Episode];
        let known = known(&[(Function::Tv, tv)], &[]);
        let mut terms = EPISODE.to_vec();
        terms.push((Term::TvmazeId, "9"));
        let asked = asked(plan(&known, &query(Function::Tv, "Show", &terms), &[]));
        assert_eq!(asked.terms.len(), 3);
        assert_eq!(asked.q, "");
    }

    #[test]
    fn without_the_id_the_text_is_asked() {
        let tv: &[Term] = &[Term::Season, Term::Episode];
        let known = known(
            &[(Function::Search, &[]), (Function::Tv, tv)],
            &[Function::Search, Function::Tv],
        );
        let asked = asked(plan(
            &known,
            &query(Function::Tv, "Some Show", &EPISODE),
            &[],
        ));
        assert_eq!(asked.function, Function::Tv);
        assert!(!asked.terms.contains_key(&Term::TvdbId));
        assert_eq!(asked.terms.len(), 2);
    }

    #[test]
    fn without_its_function_the_plain_text_is_asked() {
        let known = known(&[(Function::Search, &[])], &[Function::Search]);
        let asked = asked(plan(
            &known,
            &query(Function::Tv, "Some Show", &EPISODE),
            &[],
        ));
        assert_eq!(asked.function, Function::Search);
        assert_eq!(asked.q, "Some Show S01E02");
        assert!(asked.terms.is_empty());
    }

    #[test]
    fn an_unknown_id_without_text_leaves_nothing_to_ask() {
        let known = known(&[(Function::Search, &[])], &[Function::Search]);
        let plan = plan(&known, &query(Function::Tv, "", &EPISODE), &[]);
        assert_eq!(plan, Plan::Nothing(NO_ID));
    }

    #[test]
    fn recent_releases_are_there_at_everyone() {
        let known = known(&[(Function::Search, &[])], &[Function::Search]);
        let asked = asked(plan(&known, &query(Function::Tv, "", &[]), &[]));
        assert_eq!(asked.function, Function::Search);
    }

    #[test]
    fn categories_that_it_lacks_leave_nothing_to_ask() {
        let known = known(&[(Function::Search, &[])], &[Function::Search]);
        let mut music = query(Function::Search, "x", &[]);
        music.categories = vec![3000];
        assert_eq!(plan(&known, &music, &[]), Plan::Nothing(NO_CATEGORY));
        music.categories = vec![5040];
        assert_eq!(plan(&known, &music, &[2000]), Plan::Nothing(NO_CATEGORY));
        assert_eq!(asked(plan(&known, &music, &[5000])).categories.len(), 1);
    }
}
