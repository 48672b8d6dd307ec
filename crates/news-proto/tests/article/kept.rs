//! All articles and headers that are kept: recorded ones, and what the fuzzer starts from or once
//! tripped over.

use std::fs;
use std::path::{Path, PathBuf};

use weir_news_proto::article::Article;

#[path = "../../../../fuzz/article_properties.rs"]
pub(crate) mod properties;

#[test]
fn kept_bytes_keep_the_fuzzers_properties() {
    let mut articles = files(&recorded());
    articles.extend(files(&seeds("article")));
    for path in articles {
        properties::article(&fs::read(&path).expect("a file"));
    }
    let mut headers = files(&seeds("header_words"));
    headers.extend(files(&recorded()));
    for path in headers {
        properties::header_words(&fs::read(&path).expect("a file"));
    }
}

/// The bytes of a recorded article.
pub(crate) fn raw(name: &str) -> Vec<u8> {
    fs::read(recorded().join(name).with_extension("eml")).expect("a recorded article")
}

/// A recorded article.
pub(crate) fn article(name: &str) -> Article {
    Article::parse(&raw(name))
}

/// IDs or names as text.
pub(crate) fn texts<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(T::to_string).collect()
}

/// All recorded articles.
pub(crate) fn all() -> Vec<(String, Vec<u8>)> {
    let read = |path: PathBuf| {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        (name, fs::read(path).expect("a file"))
    };
    files(&recorded()).into_iter().map(read).collect()
}

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/article")
}

fn seeds(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target)
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert!(!files.is_empty(), "nothing kept in {}", directory.display());
    files.sort();
    files
}
