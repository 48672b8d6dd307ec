//! Reads Jackett's list of indexers (`t=indexers`).

use crate::error::Unreadable;
use crate::text::{clean, cut};
use crate::xml::{self, Node};

/// Indexers that are read; Jackett knows some hundreds.
const ENTRIES: usize = 10_000;
/// Characters of an id or a title that are kept.
const NAME: usize = 200;

/// One indexer of such a list.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ListedIndexer {
    /// What it is called in addresses.
    pub id: String,
    /// What it is called by people.
    pub title: String,
    /// Whether it is set up.
    pub configured: bool,
}

/// Reads the list, without the caps in it.
pub fn read_indexers(body: &[u8]) -> Result<Vec<ListedIndexer>, Unreadable> {
    let text = xml::decode(body, None)?;
    let mut nodes = xml::open(&text, "indexers")?;
    let mut list: Vec<ListedIndexer> = Vec::new();
    let inside = nodes.depth();
    loop {
        match nodes.next()? {
            Node::Open(tag) if nodes.depth() == inside + 1 && tag.name() == "indexer" => {
                if list.len() >= ENTRIES {
                    return Err(Unreadable::TooMany);
                }
                let attribute = |name| {
                    let value = tag.attribute(name)?;
                    Ok::<_, Unreadable>(value.map(|value| clean(cut(value.trim(), NAME))))
                };
                list.push(ListedIndexer {
                    id: attribute("id")?.unwrap_or_default(),
                    title: String::new(),
                    configured: attribute("configured")?.is_none_or(|word| word == "true"),
                });
            }
            Node::Open(tag) if nodes.depth() == inside + 2 && tag.name() == "title" => {
                let mut title = String::new();
                nodes.text(&mut title)?;
                if let Some(last) = list.last_mut() {
                    last.title = clean(cut(title.trim(), NAME));
                }
            }
            Node::End => break,
            _ if nodes.depth() < inside => break,
            _ => {}
        }
    }
    list.retain(|indexer| !indexer.id.is_empty());
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Caps, write_indexers};

    #[test]
    fn what_is_written_is_read() {
        let caps = Caps::default();
        let written = write_indexers(&[
            ("one", "The First", "private", true, &caps),
            ("two", "A & B", "public", false, &caps),
        ]);
        let entry = |id: &str, title: &str, configured| ListedIndexer {
            id: id.into(),
            title: title.into(),
            configured,
        };
        let expected = [
            entry("one", "The First", true),
            entry("two", "A & B", false),
        ];
        assert_eq!(read_indexers(written.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn a_title_deeper_inside_is_another_one() {
        let list = r#"<indexers><indexer id="a" configured="true"><title>A</title>
            <caps><server title="x"/><title>no</title></caps></indexer></indexers>"#;
        let read = read_indexers(list.as_bytes()).unwrap();
        assert_eq!((read.len(), read[0].title.as_str()), (1, "A"));
    }

    #[test]
    fn an_error_is_told() {
        let error = read_indexers(br#"<error code="100" description="no"/>"#).unwrap_err();
        assert!(matches!(error, Unreadable::Error(error) if error.code == 100));
    }
}
