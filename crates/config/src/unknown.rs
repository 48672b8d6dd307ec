//! What is said about a key that no table has.

use crate::nearest::nearest;
use crate::{Row, Table};

/// More keys than this are looked up in the sample file rather than read in a message.
const MANY: usize = 10;

/// Names the key that was meant: the same one in another section, or one nearby in this table.
pub(crate) fn explain(key: &str, here: &Table, root: &Table) -> String {
    let mut elsewhere = None;
    root.walk(&mut |path, row| {
        if row.key() == key && elsewhere.is_none() {
            elsewhere = Some(path.to_owned());
        }
    });
    if let Some(path) = elsewhere {
        return format!("this key stands elsewhere; write {path}");
    }
    match nearest(key, here.rows.iter().map(Row::key)) {
        Some(near) => format!("there is no such key; did you mean {near}?"),
        None => format!("there is no such key; {}", known(here)),
    }
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
