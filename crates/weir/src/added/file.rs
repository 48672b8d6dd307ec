//! The file as it is read, with the place of each entry, and as it is written.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use weir_config::{
    FileFormat, Mistakes, Node, Origin, Secret, TreeEntry, Value, read_file, read_text, show_text,
};

use super::Kind;

/// What the file begins with.
const HEAD: &str = "\
# Upstreams that were added in the browser or through the API.
# Weir writes this file and replaces all of it with each change, comments included.
# It holds keys and passwords. Put what you write by hand into your own configuration file.
";

/// The entries of the file, each list in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Added {
    lists: [Vec<Node>; 3],
}

/// What came of reading the file.
pub enum AddedFile {
    /// Its entries; none if there is no file.
    Read(Added),
    /// It is there and another user's.
    Denied,
    /// It has mistakes, which were collected.
    Wrong,
}

impl AddedFile {
    /// Reads the file.
    pub fn read(path: &Path, mistakes: &mut Mistakes) -> Self {
        match std::fs::File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Self::Read(Added::default()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Self::Denied,
            // Other trouble is told by whoever reads all of it.
            _ => match read_file(path, mistakes).and_then(|tree| Added::of(tree, mistakes)) {
                Some(added) => Self::Read(added),
                None => Self::Wrong,
            },
        }
    }
}

impl Added {
    /// Reads the text that is in the file or will be; on `None`, `mistakes` has the reason.
    pub fn parse(text: &str, path: &Path, mistakes: &mut Mistakes) -> Option<Self> {
        let name = path.to_string_lossy();
        let tree = read_text(text, FileFormat::Yaml, &name, mistakes)?;
        Self::of(tree, mistakes)
    }

    fn of(tree: Node, mistakes: &mut Mistakes) -> Option<Self> {
        let mut added = Self::default();
        let before = mistakes.len();
        for section in map(tree, "", mistakes) {
            let known = Kind::ALL.iter().any(|kind| kind.front() == section.key);
            if !known {
                mistakes.push(section.origin, shown(&section.key), BELONGS);
                continue;
            }
            for list in map(section.node, &section.key, mistakes) {
                let path = format!("{}.{}", section.key, shown(&list.key));
                let mut kinds = Kind::ALL.into_iter();
                let Some(kind) = kinds.find(|kind| kind.section() == (&section.key, &list.key))
                else {
                    mistakes.push(list.origin, path, BELONGS);
                    continue;
                };
                match list.node.value {
                    Value::Null => {}
                    Value::List(entries) => added.lists[kind as usize] = entries,
                    _ => mistakes.push(
                        list.node.origin,
                        path,
                        "write a list; each entry begins with a dash",
                    ),
                }
            }
        }
        (mistakes.len() == before).then_some(added)
    }

    /// The entries of one list.
    pub fn entries(&self, kind: Kind) -> &[Node] {
        &self.lists[kind as usize]
    }

    /// The entries of one list, to be changed.
    pub fn entries_mut(&mut self, kind: Kind) -> &mut Vec<Node> {
        &mut self.lists[kind as usize]
    }

    /// Which entry of a list has this name.
    pub fn position(&self, kind: Kind, name: &str) -> Option<usize> {
        let named = |entry: &Node| kind.read(entry.clone()).name.as_deref() == Some(name);
        self.entries(kind).iter().position(named)
    }

    /// The file as it is written. Values that a key does not accept are left out, so the entries are checked before.
    pub fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for kind in Kind::ALL {
            let entries = self.entries(kind);
            if entries.is_empty() {
                continue;
            }
            let (section, list) = kind.section();
            text += &format!("{section}:\n  {list}:\n");
            for entry in entries {
                text += &entry_text(kind, entry);
            }
        }
        text
    }
}

const BELONGS: &str = "move this to your own configuration file; Weir writes this one, and only tracker.forwarders, \
                       search.indexers and news.servers belong here";

/// An entry as lines of a list. Keys that were not written are left to their defaults, but not the name: what it follows
/// from may change.
pub(super) fn entry_text(kind: Kind, entry: &Node) -> String {
    let report = kind.read(entry.clone()).report;
    let written = report.resolved.iter();
    let written = written.filter(|row| row.origin != Origin::Default || row.path == "name");
    let mut text = String::new();
    for row in written {
        let start = if text.is_empty() { "    - " } else { "      " };
        let value = match row.secret.as_ref().map(Secret::expose) {
            Some("null") | None => row.shown.clone(),
            Some(secret) => show_text(secret.trim()),
        };
        text += &format!("{start}{}: {value}\n", row.path);
    }
    text
}

fn map(node: Node, path: &str, mistakes: &mut Mistakes) -> Vec<TreeEntry> {
    match node.value {
        Value::Null => Vec::new(),
        Value::Map(entries) => entries,
        _ => {
            mistakes.push(node.origin, path, BELONGS);
            Vec::new()
        }
    }
}

/// A key as messages show it.
fn shown(key: &str) -> String {
    key.chars()
        .take(64)
        .filter(|letter| !letter.is_control())
        .collect()
}

/// The file's full path in a data directory.
pub fn path_in(data: &Path) -> PathBuf {
    let path = data.join(super::FILE);
    std::path::absolute(&path).unwrap_or(path)
}
