//! The values of terms in the one form in which they are compared and sent on.

use super::{TERM, digits, wrong};
use crate::error::Refusal;
use crate::query::{Query, Term};

/// Adds a term to a query unless it has one already.
pub(super) fn add(query: &mut Query, term: Term, value: &str) -> Result<(), Refusal> {
    if let Some(value) = normal(term, value)? {
        query.terms.entry(term).or_insert(value);
    }
    Ok(())
}

/// The normal form of a value; nothing where it says nothing.
fn normal(term: Term, value: &str) -> Result<Option<String>, Refusal> {
    let (form, expected) = match term {
        Term::Season => (
            short(strip(value, "s")).map(Some),
            "a season number or a year",
        ),
        Term::Episode => {
            let number = || short(strip(value, "e"));
            let form = date(value).or_else(number);
            (form.map(Some), "an episode number or MM/DD")
        }
        Term::ImdbId => (id(strip(value, "tt"), 7), "an IMDb id"),
        Term::Year => (id(value, 1).filter(|_| value.len() <= 4), "a year"),
        _ if term.is_id() => (id(value, 1), "a number"),
        _ => {
            let fits = value.chars().nth(TERM).is_none();
            let form = fits.then(|| Some(value.to_owned()));
            (form, "at most 300 characters")
        }
    };
    form.ok_or_else(|| wrong(term.name(), expected))
}

/// An id with at least that many digits; zero is what programs send when they know none.
fn id(value: &str, width: usize) -> Option<Option<String>> {
    let digits = digits(value)?.trim_start_matches('0');
    match digits.len() {
        0 => Some(None),
        1..=18 => Some(Some(format!("{digits:0>width$}"))),
        _ => None,
    }
}

/// A small number without zeros in front.
fn short(value: &str) -> Option<String> {
    let digits = digits(value)?;
    let number: u32 = digits.parse().ok().filter(|number| *number < 100_000)?;
    Some(number.to_string())
}

/// `MM/DD` of a daily show, with two digits each.
fn date(value: &str) -> Option<String> {
    let (month, day) = value.split_once('/')?;
    let (month, day): (u32, u32) = (digits(month)?.parse().ok()?, digits(day)?.parse().ok()?);
    let real = (1..=12).contains(&month) && (1..=31).contains(&day);
    real.then(|| format!("{month:02}/{day:02}"))
}

/// The value without letters in front of its number, in any case.
fn strip<'a>(value: &'a str, letters: &str) -> &'a str {
    match value.get(..letters.len()) {
        Some(start) if start.eq_ignore_ascii_case(letters) => &value[letters.len()..],
        _ => value,
    }
}
