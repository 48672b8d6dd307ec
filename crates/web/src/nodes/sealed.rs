//! Rows as they stand in the store: sealed, and bound to their place, so that whoever keeps the store can neither read them
//! nor make or move any.

use weir_store::shared::{Seal, Table};

use super::Fields;

/// The longest row that is read: names and secrets are short.
const LONGEST: usize = 4096;

/// A row for the store.
pub(super) fn write(seal: &Seal, table: Table, id: &[u8], fields: &Fields) -> Vec<u8> {
    let mut plain = place(table, id);
    plain.extend_from_slice(
        serde_json::Value::from(fields.clone())
            .to_string()
            .as_bytes(),
    );
    seal.seal(&plain)
}

/// The fields of a row that a node wrote to this place; `None` for anything else.
pub(super) fn read(seal: &Seal, table: Table, id: &[u8], body: &[u8]) -> Option<Fields> {
    if body.len() > LONGEST {
        return None;
    }
    let plain = seal.open(body)?;
    let fields = plain.strip_prefix(place(table, id).as_slice())?;
    serde_json::from_slice(fields).ok()
}

/// The name of a place: its length comes first, so that no place begins like another.
fn place(table: Table, id: &[u8]) -> Vec<u8> {
    let table = match table {
        Table::Sessions => "sessions",
        Table::Keys => "keys",
        Table::Indexers => "indexers",
    };
    let mut place = format!("{table} {} ", id.len()).into_bytes();
    place.extend_from_slice(id);
    place
}
