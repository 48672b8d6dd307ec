//! What the templates of all crates have in common.

use std::path::{Path, PathBuf};

/// All templates of pages.
fn templates() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let each = crates.read_dir().unwrap();
    let mut waiting: Vec<PathBuf> = each
        .map(|entry| entry.unwrap().path().join("templates"))
        .filter(|path| path.is_dir())
        .collect();
    let mut found = Vec::new();
    while let Some(path) = waiting.pop() {
        match path.is_dir() {
            true => waiting.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path())),
            false => found.push(path),
        }
    }
    found
}

#[test]
fn what_is_wrong_with_a_form_is_told_first_and_has_the_focus() {
    let mut all = 0;
    for path in templates() {
        let text = std::fs::read_to_string(&path).unwrap();
        let tags = text.split('<').map(|tag| tag.split('>').next().unwrap());
        let is_summary =
            |tag: &&str| tag.contains("class=\"notice bad\"") && tag.contains("role=\"alert\"");
        for tag in tags.filter(is_summary) {
            all += 1;
            let has = tag.contains("tabindex=\"-1\"") && tag.contains(" autofocus");
            assert!(has, "{}: <{tag}>", path.display());
        }
    }
    assert!(all > 8, "only {all}");
}
