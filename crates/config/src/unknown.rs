//! What is said about a key that no table has.

use crate::nearest::nearest;
use crate::{Row, Table};

/// More keys than this are looked up in the sample file rather than read in a message.
const MANY: usize = 10;

/// Names the key that was meant: a sibling that looks or ends alike, or the same key in another section.
/// At the top the sections are no likely siblings of a key, so there the other sections come first.
pub(crate) fn explain(key: &str, here: &Table, root: &Table) -> String {
    let at_the_top = std::ptr::eq(here, root);
    let elsewhere =
        elsewhere(key, root).map(|path| format!("this key stands elsewhere; write {path}"));
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
    let keys = || here.rows.iter().map(Row::key);
    let longer = |known: &&str| {
        known
            .strip_suffix(key)
            .is_some_and(|start| start.ends_with('_'))
    };
    nearest(key, keys()).or_else(|| keys().find(longer))
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

/// Says which keys a table has.
pub(crate) fn known(table: &Table) -> String {
    let keys: Vec<&str> = table.rows.iter().map(Row::key).collect();
    match keys.get(..MANY) {
        Some(first) if keys.len() > MANY => {
            format!("known here are {} and others", first.join(", "))
        }
        _ => format!("known here are {}", keys.join(", ")),
    }
}
