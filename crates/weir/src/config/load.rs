//! Finds the file, applies environment and flags on top of it, then reads and checks the result.

use std::path::{Path, PathBuf};

use weir_config::{
    Environment, Layers, Mistakes, Origin, Report, Resolved, Section, read, read_file,
};

use super::Config;

/// `WEIR_` variables that are not keys: the file, and what commands need to reach a running Weir.
const OTHER_VARIABLES: [&str; 3] = ["WEIR_CONFIG", "WEIR_KEY", "WEIR_URL"];

/// File names looked for in each place.
const FILE_NAMES: [&str; 3] = ["weir.yaml", "weir.yml", "weir.toml"];

/// Where the configuration comes from. Kept for the life of the process, so that a reload reads the same sources.
pub struct Sources {
    /// The file given with `-c`; without it, `WEIR_CONFIG` or the first file found is used.
    pub file: Option<PathBuf>,
    /// Directories searched for a file; the first that has one wins.
    pub places: Vec<PathBuf>,
    /// The environment.
    pub environment: Box<dyn Environment + Send + Sync>,
    /// Flags, which override everything else.
    pub flags: Vec<Flag>,
}

/// A value given by flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The key's path.
    pub path: &'static str,
    /// The flag with its dashes.
    pub flag: &'static str,
    /// The value as it was written.
    pub value: String,
}

/// A configuration without mistakes.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The checked values.
    pub config: Config,
    /// Each value as it is shown, with its source; secrets are masked.
    pub resolved: Vec<Resolved>,
    /// The file it was read from, if there is one.
    pub file: Option<PathBuf>,
}

/// Reads and checks everything; on failure, reports all mistakes at once.
pub fn load(sources: &Sources) -> Result<Loaded, Mistakes> {
    let mut mistakes = Mistakes::default();
    let mut layers = Layers::new(Config::TABLE);
    layers.environment(
        sources.environment.as_ref(),
        &OTHER_VARIABLES,
        &mut mistakes,
    );
    for Flag { path, flag, value } in &sources.flags {
        layers.flag(path, flag, value);
    }
    let file = choose(sources, &mut mistakes);
    let tree = file.as_deref().map(|file| read_file(file, &mut mistakes));
    if matches!(tree, Some(None)) {
        // Without the file's values, checks across keys would report mistakes that are not there.
        return Err(mistakes
            .or(())
            .expect_err("an unreadable file is a mistake"));
    }
    let (
        config,
        Report {
            mistakes: found,
            resolved,
        },
    ) = read::<Config>(tree.flatten(), &layers);
    mistakes.append(found);
    mistakes.or(Loaded {
        config,
        resolved,
        file,
    })
}

fn choose(sources: &Sources, mistakes: &mut Mistakes) -> Option<PathBuf> {
    if sources.file.is_some() {
        return sources.file.clone();
    }
    let mut variables = sources.environment.variables().into_iter();
    let named = variables
        .find_map(|(name, value)| value.filter(|value| name == "WEIR_CONFIG" && !value.is_empty()));
    if let Some(named) = named {
        return Some(named.into());
    }
    sources
        .places
        .iter()
        .find_map(|place| find_in(place, mistakes))
}

fn find_in(place: &Path, mistakes: &mut Mistakes) -> Option<PathBuf> {
    let there = FILE_NAMES
        .iter()
        .map(|name| place.join(name))
        .filter(|path| path.is_file());
    let mut there: Vec<PathBuf> = there.collect();
    if let [first, .., last] = &there[..] {
        let text = format!(
            "keep only one of {} and {}, or choose one with -c",
            first.display(),
            last.display()
        );
        mistakes.push(Origin::Default, "", text);
    }
    (!there.is_empty()).then(|| there.remove(0))
}
