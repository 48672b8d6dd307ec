//! Finds the file, applies environment and flags on top of it, then reads and checks the result.

use std::path::{Path, PathBuf};

use weir_config::{
    Environment, Layers, Mistakes, Node, Origin, Report, Resolved, Section, Setting, Value, read,
    read_file,
};

use super::Config;
use crate::added::{Added, AddedFile, Kind, path_in};

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
    /// The data directory of a Weir that runs, which no reload changes; `None` for the one that is configured.
    pub data: Option<PathBuf>,
}

impl Sources {
    /// The files that are looked for, as full paths, in the order in which they are tried.
    pub fn looked_for(&self) -> Vec<PathBuf> {
        let all = match self.named() {
            Some(file) => vec![file],
            None => self
                .places
                .iter()
                .flat_map(|place| names_in(place))
                .collect(),
        };
        all.into_iter().map(full).collect()
    }

    /// The file to edit, as a full path: the one in use, else the first that is looked for.
    pub fn to_edit(&self, in_use: Option<&Path>) -> PathBuf {
        let in_use = in_use.map(|file| full(file.to_owned()));
        let mut looked_for = self.looked_for().into_iter();
        in_use.or_else(|| looked_for.next()).unwrap_or_default()
    }

    /// The file that a flag or the environment names.
    fn named(&self) -> Option<PathBuf> {
        let is_named = |(name, value): (String, Option<String>)| {
            value.filter(|value| name == "WEIR_CONFIG" && !value.is_empty())
        };
        self.file.clone().or_else(|| {
            let mut variables = self.environment.variables().into_iter();
            variables.find_map(is_named).map(PathBuf::from)
        })
    }
}

/// A path that says the same wherever it is read. Without a current directory it stays as it is.
fn full(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn names_in(place: &Path) -> impl Iterator<Item = PathBuf> {
    FILE_NAMES.iter().map(|name| place.join(name))
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
    /// What was added on the pages, which is part of the values too.
    pub added: AddedUpstreams,
}

/// The file of upstreams that were added on the pages.
#[derive(Clone, Debug, Default)]
pub struct AddedUpstreams {
    /// Its full path, whether it is there or not.
    pub path: PathBuf,
    /// Its entries.
    pub entries: Added,
    /// It is another user's, so that its entries are missing here.
    pub denied: bool,
}

/// Reads and checks everything; on failure, reports all mistakes at once.
pub fn load(sources: &Sources) -> Result<Loaded, Mistakes> {
    load_with(sources, None)
}

/// The same with another text for the file of added upstreams than the one that is there.
pub fn load_with(sources: &Sources, added: Option<&str>) -> Result<Loaded, Mistakes> {
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
    let tree = tree.flatten();
    let mut upstreams = AddedUpstreams::default();
    if let Some(data) = data_directory(sources, &layers, tree.as_ref()) {
        upstreams.path = path_in(&data);
        let read = match added {
            Some(text) => Added::parse(text, &upstreams.path, &mut mistakes)
                .map_or(AddedFile::Wrong, AddedFile::Read),
            None => AddedFile::read(&upstreams.path, &mut mistakes),
        };
        match read {
            AddedFile::Read(entries) => upstreams.entries = entries,
            AddedFile::Denied => upstreams.denied = true,
            AddedFile::Wrong => {}
        }
    }
    for kind in Kind::ALL {
        layers.append(&kind.list(), upstreams.entries.entries(kind).to_vec());
    }
    let (
        config,
        Report {
            mistakes: found,
            resolved,
        },
    ) = read::<Config>(tree, &layers);
    mistakes.append(found);
    mistakes.or(Loaded {
        config,
        resolved,
        file,
        added: upstreams,
    })
}

/// The data directory; `None` if what is written for it is none, which is reported with the rest.
fn data_directory(sources: &Sources, layers: &Layers, tree: Option<&Node>) -> Option<PathBuf> {
    if let Some(data) = &sources.data {
        return Some(data.clone());
    }
    let written = match tree.map(|tree| &tree.value) {
        Some(Value::Map(entries)) => entries.iter().find(|entry| entry.key == "data"),
        _ => None,
    };
    match layers.value("data").or(written.map(|entry| &entry.node)) {
        Some(node) => PathBuf::read(node).ok(),
        None => Some(Config::default().data),
    }
}

fn choose(sources: &Sources, mistakes: &mut Mistakes) -> Option<PathBuf> {
    let mut places = sources.places.iter();
    sources
        .named()
        .or_else(|| places.find_map(|place| find_in(place, mistakes)))
}

fn find_in(place: &Path, mistakes: &mut Mistakes) -> Option<PathBuf> {
    let mut there: Vec<PathBuf> = names_in(place).filter(|path| path.is_file()).collect();
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
