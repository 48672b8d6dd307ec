//! Terms inside of the words, as Prowlarr's users write them: `{tvdbid:123}`.

use super::term;
use crate::error::Refusal;
use crate::query::{Query, Term};
use crate::text::squeeze;

/// Takes the terms out of a query's words; a parameter of the same name wins.
pub(super) fn take(query: &mut Query) -> Result<(), Refusal> {
    if !query.q.contains('{') {
        return Ok(());
    }
    let text = std::mem::take(&mut query.q);
    let mut words = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find('{') {
        let (before, token) = rest.split_at(at);
        words.push_str(before);
        match read(token) {
            Some((term, value, length)) => {
                term::add(query, term, value)?;
                words.push(' ');
                rest = &token[length..];
            }
            None => {
                words.push('{');
                rest = &token[1..];
            }
        }
    }
    words.push_str(rest);
    query.q = squeeze(&words);
    Ok(())
}

/// The token at the beginning of a text: its term, its value and its length.
fn read(text: &str) -> Option<(Term, &str, usize)> {
    let end = text.find('}')?;
    let (name, value) = text[1..end].split_once(':')?;
    // A name with space around it is none, or what is left around a token could become one.
    let (term, value) = (Term::parse(name)?, value.trim());
    (!value.is_empty()).then_some((term, value, end + 1))
}
