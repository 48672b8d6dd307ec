//! The configuration as operators see it: precedence, mistakes, sample, secrets.

mod added;
mod formats;
mod mistakes;
mod precedence;
mod sample;
mod secrets;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Parser;
use tempfile::TempDir;
use weir::cli::Cli;
use weir::config::{Loaded, Sources, load};

/// A directory with files, an environment and flags.
struct Setup {
    dir: TempDir,
    file: Option<PathBuf>,
    environment: BTreeMap<String, String>,
    flags: Vec<String>,
}

impl Setup {
    fn new() -> Self {
        Self {
            dir: TempDir::new().expect("a temporary directory"),
            file: None,
            environment: BTreeMap::new(),
            flags: Vec::new(),
        }
    }

    fn yaml(text: &str) -> Self {
        Self::new().file("weir.yaml", text)
    }

    fn toml(text: &str) -> Self {
        Self::new().file("weir.toml", text)
    }

    /// Writes a file and chooses it; `{dir}` in the text is the directory.
    fn file(mut self, name: &str, text: &str) -> Self {
        let path = self.dir.path().join(name);
        let text = text.replace("{dir}", &self.dir.path().to_string_lossy());
        std::fs::write(&path, text).expect("a file in the temporary directory");
        self.file = Some(path);
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        let value = value.replace("{dir}", &self.dir.path().to_string_lossy());
        self.environment.insert(name.to_owned(), value);
        self
    }

    fn flag(mut self, flag: &str, value: &str) -> Self {
        let value = value.replace("{dir}", &self.dir.path().to_string_lossy());
        self.flags.extend([flag.to_owned(), value]);
        self
    }

    fn sources(&self) -> Sources {
        let words = ["weir".to_owned()]
            .into_iter()
            .chain(self.flags.iter().cloned());
        Sources {
            file: self.file.clone(),
            places: vec![self.dir.path().to_owned()],
            environment: Box::new(self.environment.clone()),
            flags: Cli::parse_from(words).settings.flags(),
            data: None,
        }
    }

    fn load(&self) -> Loaded {
        match load(&self.sources()) {
            Ok(loaded) => loaded,
            Err(mistakes) => panic!("{mistakes}"),
        }
    }

    /// The messages for the operator, without the name of the directory.
    fn mistakes(&self) -> String {
        let mistakes = load(&self.sources()).expect_err("mistakes");
        self.hide_directory(&mistakes.to_string())
    }

    /// Value and source of a key.
    fn explain(&self, path: &str) -> String {
        let loaded = self.load();
        let row = loaded.resolved.iter().find(|row| row.path == path);
        let row = row.expect("a key of the table");
        self.hide_directory(&format!("{} from {}", row.shown, row.origin))
    }

    fn hide_directory(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.dir.path().display()), "")
    }
}
