//! Reads a file into a tree: picks the format by the file name and limits size and depth.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::{Mistakes, Node, Origin, toml_file, yaml};

/// The largest file that is read. A list of a few thousand forwarders is well below it.
const LARGEST: u64 = 4 * 1024 * 1024;

/// The deepest nesting that is read, so that a file cannot overflow the stack. Real ones have four levels.
pub(crate) const DEPTH: usize = 32;

/// Reads a YAML (`.yaml`, `.yml`) or TOML (`.toml`) file. On `None`, `mistakes` has the reason.
pub fn read_file(path: &Path, mistakes: &mut Mistakes) -> Option<Node> {
    let name: Arc<str> = path.to_string_lossy().into();
    let top = |text: String, mistakes: &mut Mistakes| {
        let origin = Origin::File {
            file: Arc::clone(&name),
            line: 1,
            column: 1,
        };
        mistakes.push(origin, "", text);
        None
    };
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    if let Err(error) = file {
        return top(format!("cannot read this file: {error}"), mistakes);
    }
    if bytes.len() as u64 > LARGEST {
        return top(
            "make this file smaller; Weir reads at most 4 MiB".to_owned(),
            mistakes,
        );
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return top("save this file as UTF-8".to_owned(), mistakes);
    };
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("toml") => read_text(&text, FileFormat::Toml, &name, mistakes),
        Some("yaml" | "yml") => read_text(&text, FileFormat::Yaml, &name, mistakes),
        _ => top(
            "rename this file so that it ends in .yaml, .yml or .toml".to_owned(),
            mistakes,
        ),
    }
}

/// The format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// YAML 1.2.
    Yaml,
    /// TOML 1.1.
    Toml,
}

/// Reads text; mistakes name `name` as its file. On `None`, `mistakes` has the reason.
pub fn read_text(
    text: &str,
    format: FileFormat,
    name: &str,
    mistakes: &mut Mistakes,
) -> Option<Node> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let before = mistakes.len();
    let node = match format {
        FileFormat::Yaml => yaml::parse(text, &name.into(), mistakes),
        FileFormat::Toml => toml_file::parse(text, &name.into(), mistakes),
    };
    // After a duplicate key there is still a tree to check; after any other mistake there is none.
    node.or_else(|| {
        debug_assert!(mistakes.len() > before, "a file without tree has a mistake");
        None
    })
}
