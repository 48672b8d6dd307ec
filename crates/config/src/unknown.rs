//! The message about a key that is not in the table.

use crate::nearest::near_or_longer;
use crate::{Row, Table};

/// A message lists at most this many keys; for more, the sample file is easier to read.
const MANY: usize = 10;

/// Characters of a key that are shown.
const LONGEST: usize = 64;

/// Guesses which key was meant: a sibling with a similar name or the same ending, or the same key in another section.
/// At the top level, where the siblings are sections, other sections are searched first.
pub(crate) fn explain(key: &str, here: &Table, root: &Table) -> String {
    if key
        .split_once(':')
        .is_some_and(|(start, _)| here.rows.iter().any(|row| row.key() == start))
    {
        return "put a space after the colon".to_owned();
    }
    if let Some((_, advice)) = here.gone.iter().find(|(gone, _)| *gone == key) {
        return (*advice).to_owned();
    }
    let at_the_top = std::ptr::eq(here, root);
    let elsewhere =
        elsewhere(key, root).map(|path| format!("this key belongs elsewhere; write {path}"));
    let sibling =
        sibling(key, here).map(|near| format!("there is no such key; did you mean {near}?"));
    let meant = if at_the_top {
        elsewhere.or(sibling)
    } else {
        sibling.or(elsewhere)
    };
    meant.unwrap_or_else(|| format!("there is no such key; {}", known(here)))
}

fn sibling(key: &str, here: &Table) -> Option<&'static str> {
    let keys: Vec<&'static str> = here.rows.iter().map(Row::key).collect();
    near_or_longer(key, &keys)
}

fn elsewhere(key: &str, root: &Table) -> Option<String> {
    let mut found = None;
    root.walk(&mut |path, row| {
        if row.key() == key && found.is_none() {
            found = Some(path.to_owned());
        }
    });
    found
}

/// A key as messages show it: cut off where it stops looking like a key, because a slip such as `password:word`
/// makes a secret part of the key.
pub(crate) fn shown(key: &str) -> String {
    let word = |c: &char| c.is_alphanumeric() || "_-".contains(*c);
    let start: String = key.chars().take_while(word).take(LONGEST).collect();
    if start == key { start } else { start + "…" }
}

/// Lists the keys of a table.
pub(crate) fn known(table: &Table) -> String {
    let keys: Vec<&str> = table.rows.iter().map(Row::key).collect();
    match keys.get(..MANY) {
        Some(first) if keys.len() > MANY => {
            format!("the keys here are {} and others", first.join(", "))
        }
        _ => format!("the keys here are {}", keys.join(", ")),
    }
}
