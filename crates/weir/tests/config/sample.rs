//! The committed sample matches the tables, and its lines are the defaults.

use std::path::Path;

use weir::config::Config;
use weir_config::{Row, Section, sample};

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
    let lists = ["forwarders", "indexers", "servers", "hooks"];
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
            config.notify.hooks.len(),
        ]
    };
    assert_eq!(count(&lists[..1]), [1, 0, 0, 0]);
    assert_eq!(count(&lists[1..2]), [0, 1, 0, 0]);
    assert_eq!(count(&lists[2..3]), [0, 0, 1, 0]);
    assert_eq!(count(&lists[3..]), [0, 0, 0, 1]);
    assert_eq!(count(&lists), [1, 1, 1, 1]);
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

/// `#key: value` becomes `key: value`; `# words` stay a comment.
fn uncomment(line: &str) -> String {
    let text = line.trim_start();
    match text.strip_prefix('#') {
        Some(key) if !key.starts_with(' ') => line.replacen('#', "", 1),
        _ => line.to_owned(),
    }
}
