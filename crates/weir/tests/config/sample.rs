//! The committed sample matches the tables, and its lines are the defaults.

use std::collections::BTreeSet;
use std::path::Path;

use weir::config::Config;
use weir_config::{Row, Section, Table, sample};

use crate::Setup;

#[test]
fn the_committed_sample_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/weir.sample.yaml");
    let fresh = sample(Config::TABLE);
    if std::env::var_os("WEIR_TEST_UPDATE").is_some() {
        std::fs::write(&path, &fresh).expect("the sample can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == fresh,
        "run `weir check --sample > docs/weir.sample.yaml`"
    );
}

#[test]
fn the_sample_gives_the_defaults() {
    let defaults = Setup::new().load().config;
    assert_eq!(Setup::yaml(&sample(Config::TABLE)).load().config, defaults);
}

#[test]
fn the_sample_without_marks_gives_the_defaults() {
    let uncommented: String = sample(Config::TABLE)
        .lines()
        .map(|line| uncomment(line) + "\n")
        .collect();
    let setup = Setup::yaml(&uncommented);
    assert_eq!(setup.load().config, Setup::new().load().config);
    let unset: Vec<String> = setup
        .load()
        .resolved
        .into_iter()
        .filter(|row| row.origin.to_string() == "default")
        .map(|row| row.path)
        .collect();
    assert!(unset.is_empty(), "every key is in the sample: {unset:?}");
}

/// The sample in which the lines of these lists and their examples have lost their marks.
fn with_examples(keys: &[&str]) -> String {
    let mut within = false;
    let mut text = String::new();
    for line in sample(Config::TABLE).lines() {
        let bare = line.trim_start();
        let is_list = keys.iter().any(|key| bare == format!("#{key}:"));
        within = is_list || within && bare.starts_with("#  ");
        text += &match within {
            true => line.replacen('#', "", 1),
            false => line.to_owned(),
        };
        text.push('\n');
    }
    text
}

#[test]
fn each_list_of_the_sample_has_an_example_that_works() {
    let lists = ["forwarders", "indexers", "servers"];
    let mut known = Vec::new();
    Config::TABLE.walk(&mut |_, row| {
        if let Row::List(_, table) = row {
            known.push(table.key);
        }
    });
    assert_eq!(known, lists);
    let count = |keys: &[&str]| {
        let config = Setup::yaml(&with_examples(keys)).load().config;
        [
            config.tracker.forwarders.len(),
            config.search.indexers.len(),
            config.news.servers.len(),
        ]
    };
    assert_eq!(count(&lists[..1]), [1, 0, 0]);
    assert_eq!(count(&lists[1..2]), [0, 1, 0]);
    assert_eq!(count(&lists[2..]), [0, 0, 1]);
    assert_eq!(count(&lists), [1, 1, 1]);
}

#[test]
fn every_key_of_the_tables_is_read() {
    let loaded = Setup::new().load();
    let read: Vec<&str> = loaded
        .resolved
        .iter()
        .map(|row| row.path.as_str())
        .collect();
    let mut listed = Vec::new();
    Config::TABLE.walk(&mut |path, row| {
        if !matches!(row, Row::Section(_)) {
            listed.push(path.to_owned());
        }
    });
    assert_eq!(read, listed);
}

/// Every key in the sample has an effect: one that no code outside its own section mentions would have none. `web`,
/// `engine`, `store` and `log` are destructured without `..`, so there an unused key does not compile.
#[test]
fn every_key_of_a_front_is_used_by_its_crate_or_by_the_binary() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let binary = words_of(&crates.join("weir/src/serve"));
    // The news front is not built yet.
    for front in ["tracker", "search"] {
        let words = words_of(&crates.join(front).join("src"));
        let mut unused = Vec::new();
        let table = sections().find(|table| table.key == front);
        for_each_key(table.expect("a section of it").rows, &mut |key| {
            if !words.contains(key) && !binary.contains(key) {
                unused.push(key);
            }
        });
        assert_eq!(unused, [""; 0], "keys of {front} that nobody reads");
    }
}

fn sections() -> impl Iterator<Item = &'static Table> {
    Config::TABLE.rows.iter().filter_map(|row| match row {
        Row::Section(table) => Some(*table),
        Row::Field(_) | Row::List(..) => None,
    })
}

fn for_each_key(rows: &'static [Row], visit: &mut dyn FnMut(&'static str)) {
    for row in rows {
        match row {
            Row::Field(about) => visit(about.key),
            Row::Section(table) | Row::List(_, table) => for_each_key(table.rows, visit),
        }
    }
}

/// The identifiers in the code of a directory, without comments, strings, tests and the definition of the section.
fn words_of(directory: &Path) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for entry in std::fs::read_dir(directory).expect("a crate's sources") {
        let path = entry.expect("an entry of it").path();
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        if name == "tests" || name == "config" && path.is_dir() {
            continue;
        }
        if path.is_dir() {
            words.extend(words_of(&path));
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source file");
        let code = match name {
            "config" => text
                .split_once("impl Config {")
                .map_or("", |(_, code)| code),
            _ => text.split("#[cfg(test)]").next().unwrap_or(""),
        };
        for line in code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
        {
            let outside = line.split('"').step_by(2);
            let parts =
                outside.flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_'));
            words.extend(parts.map(str::to_owned));
        }
    }
    words
}

/// `#key: value` becomes `key: value`; `# words` stay a comment.
fn uncomment(line: &str) -> String {
    let text = line.trim_start();
    match text.strip_prefix('#') {
        Some(key) if !key.starts_with(' ') => line.replacen('#', "", 1),
        _ => line.to_owned(),
    }
}
