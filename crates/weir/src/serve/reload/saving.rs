//! Saves upstreams that are added, changed or removed on the pages: everything is checked as a reload checks it, then the
//! file is written, then all of it is in use. Whatever is refused on the way changes nothing.

use weir_config::{Mistake, Mistakes, Node, Origin, Resolved, Secret, show_text};
use weir_engine::words::capital;
use weir_web::{FieldMistake, Reload};

use super::{Inner, Running};
use crate::added::{Added, AddedFile, Draft, Kind, Prepared, destination, host_name};
use crate::config::{Config, Loaded, load, load_with};

/// What somebody wants to have changed.
#[derive(Clone)]
pub(in crate::serve) enum Edit {
    Add(Draft),
    AddAll(Vec<Draft>),
    Replace {
        name: String,
        /// The entry that they saw; `None` replaces whatever is there.
        revision: Option<String>,
        draft: Draft,
    },
    Remove {
        kind: Kind,
        name: String,
        revision: Option<String>,
    },
}

/// Why nothing was saved.
#[derive(Debug)]
pub(in crate::serve) enum NotSaved {
    /// What is wrong with which key.
    Fields(Vec<FieldMistake>),
    /// Somebody else has changed the entry since it was shown.
    Changed,
    /// There is no such entry.
    Gone,
    /// It is in a file of the operator's, at this place.
    Own(Origin),
    /// Files have mistakes that have nothing to do with the entry.
    Mistakes(Vec<String>),
    /// The disk, or a front, refuses it.
    Failed(String),
}

/// Where an upstream's entry is.
pub(in crate::serve) enum EntryPlace {
    /// In the file that Weir writes.
    Added { entry: Node, revision: String },
    /// In a file of the operator's.
    Own(Origin),
}

/// A change that was checked.
pub(in crate::serve) struct Planned {
    pub(in crate::serve) loaded: Loaded,
    text: String,
    /// The names of the entries that it adds or changes.
    pub(in crate::serve) names: Vec<String>,
}

impl Running {
    /// What a change would make of the configuration; nothing is changed.
    pub(in crate::serve) fn plan(&self, edit: &Edit) -> Result<Planned, NotSaved> {
        self.0.lock().plan(edit)
    }

    /// Saves a change and takes it over. Returns the names of the entries that it added or changed.
    pub(in crate::serve) fn save(&self, edit: &Edit) -> Result<Vec<String>, NotSaved> {
        // Held to the end: two people who save at once must not mix.
        let mut inner = self.0.lock();
        let planned = inner.plan(edit)?;
        inner.refuse_twins(&planned, edit)?;
        let _told = inner.manager.reloading();
        let failed = |why: Vec<String>| {
            tracing::error!(why = why.join("; "), "an upstream was not saved");
            NotSaved::Failed(why.join("; "))
        };
        let path = inner.loaded.added.path.clone();
        let prepared = Prepared::write(&path, &planned.text);
        let prepared = prepared.map_err(|why| failed(vec![why.to_string()]))?;
        let taken = inner.take_over(planned.loaded, || prepared.commit());
        taken.map_err(failed)?;
        Ok(planned.names)
    }

    /// Where the entry of an upstream is; `None` if there is none. A file that cannot be read has not lost what runs from it.
    pub(in crate::serve) fn entry(
        &self,
        kind: Kind,
        name: &str,
    ) -> Result<Option<EntryPlace>, NotSaved> {
        let inner = self.0.lock();
        let added = match inner.added() {
            Ok(added) => added,
            Err(why) if inner.loaded.added.entries.position(kind, name).is_some() => {
                return Err(why);
            }
            Err(_) => Added::default(),
        };
        if let Some(at) = added.position(kind, name) {
            let entry = added.entries(kind)[at].clone();
            let revision = inner.revision(kind, &entry);
            return Ok(Some(EntryPlace::Added { entry, revision }));
        }
        Ok(inner.own(kind, name).map(EntryPlace::Own))
    }

    /// The names and addresses of all upstreams of a kind, whichever file they are in.
    pub(in crate::serve) fn addresses(&self, kind: Kind) -> Vec<(String, String)> {
        let inner = self.0.lock();
        let config = &inner.loaded.config;
        match kind {
            Kind::Tracker => (config.tracker.forwarders.iter())
                .map(|one| (one.name.clone(), one.uri.expose().to_owned()))
                .collect(),
            Kind::Indexer => (config.search.indexers.iter())
                .map(|one| (one.name.clone(), one.url.expose().to_owned()))
                .collect(),
            Kind::NewsServer => (config.news.servers.iter())
                .map(|one| (one.name.clone(), one.host.clone()))
                .collect(),
        }
    }

    /// Whether indexers may have private addresses.
    pub(in crate::serve) fn allows_private_indexers(&self) -> bool {
        self.0.lock().loaded.config.search.allow_private_upstreams
    }

    /// Calls something on each front.
    pub(in crate::serve) fn on_fronts<T>(
        &self,
        call: impl Fn(&dyn Reload<Config>) -> Option<T>,
    ) -> Option<T> {
        let fronts = self
            .0
            .lock()
            .parts
            .as_ref()
            .map(|(_, fronts)| fronts.clone());
        fronts?.0.iter().find_map(|front| call(&**front))
    }

    /// The full path of the file that upstreams are saved in.
    pub(in crate::serve) fn added_file(&self) -> String {
        self.0.lock().loaded.added.path.display().to_string()
    }
}

impl Inner {
    /// What is in the file now.
    fn added(&self) -> Result<Added, NotSaved> {
        let mut mistakes = Mistakes::default();
        let path = &self.loaded.added.path;
        match AddedFile::read(path, &mut mistakes) {
            AddedFile::Read(added) => Ok(added),
            AddedFile::Denied => Err(NotSaved::Failed(format!(
                "{} cannot be read. Give Weir permission to read and write it",
                path.display()
            ))),
            AddedFile::Wrong => Err(NotSaved::Mistakes(told(&mistakes))),
        }
    }

    fn plan(&self, edit: &Edit) -> Result<Planned, NotSaved> {
        let mut added = self.added()?;
        let names = self.edit(&mut added, edit)?;
        let text = added.text();
        let loaded = load_with(&self.sources, Some(&text)).map_err(|all| self.sort(&all))?;
        if loaded.added.entries.text() != text {
            let why = "the entry would not be read as it was written";
            return Err(NotSaved::Failed(why.to_owned()));
        }
        Ok(Planned {
            loaded,
            text,
            names,
        })
    }

    /// Makes the change in the list, and returns the names of what it adds or changes.
    fn edit(&self, added: &mut Added, edit: &Edit) -> Result<Vec<String>, NotSaved> {
        match edit {
            Edit::Add(draft) => Ok(vec![put(added, draft, None)?]),
            Edit::AddAll(drafts) => {
                let (mut names, mut wrong) = (Vec::new(), Vec::new());
                for draft in drafts {
                    match put(added, draft, None) {
                        Ok(name) => names.push(name),
                        Err(NotSaved::Fields(mistakes)) => {
                            let of = draft.value("name");
                            wrong.extend(mistakes.into_iter().map(|one| at_row(of, one)));
                        }
                        Err(other) => return Err(other),
                    }
                }
                match wrong.is_empty() {
                    true => Ok(names),
                    false => Err(NotSaved::Fields(wrong)),
                }
            }
            Edit::Replace {
                name,
                revision,
                draft,
            } => {
                let at = self.seen(added, draft.kind, name, revision.as_deref())?;
                Ok(vec![put(added, draft, Some(at))?])
            }
            Edit::Remove {
                kind,
                name,
                revision,
            } => {
                let at = self.seen(added, *kind, name, revision.as_deref())?;
                added.entries_mut(*kind).remove(at);
                Ok(Vec::new())
            }
        }
    }

    /// The place of the entry that somebody saw.
    fn seen(
        &self,
        added: &Added,
        kind: Kind,
        name: &str,
        seen: Option<&str>,
    ) -> Result<usize, NotSaved> {
        let Some(at) = added.position(kind, name) else {
            return Err(self.own(kind, name).map_or(NotSaved::Gone, NotSaved::Own));
        };
        let now = self.revision(kind, &added.entries(kind)[at]);
        match seen.is_none_or(|seen| seen == now) {
            true => Ok(at),
            false => Err(NotSaved::Changed),
        }
    }

    /// Tells an entry from what it was before, also after a restart. Keyed, because an entry holds secrets that somebody
    /// could otherwise guess from it.
    fn revision(&self, kind: Kind, entry: &Node) -> String {
        let web = self.parts.as_ref().map(|(web, _)| web);
        web.map_or_else(String::new, |web| web.mark_of(&whole(kind, entry)))
    }

    /// One upstream has one budget, whoever asks: what has the address and account of another is not added, and no other is
    /// changed into it. What was there before may stay.
    fn refuse_twins(&self, planned: &Planned, edit: &Edit) -> Result<(), NotSaved> {
        let (kind, was, many) = match edit {
            Edit::Add(draft) => (draft.kind, None, false),
            Edit::AddAll(drafts) => match drafts.first() {
                Some(first) => (first.kind, None, true),
                None => return Ok(()),
            },
            Edit::Replace { name, draft, .. } => (draft.kind, Some(name), false),
            Edit::Remove { .. } => return Ok(()),
        };
        let before = accounts(kind, &self.loaded.config);
        let before = was.and_then(|was| before.into_iter().find(|(name, _)| name == was));
        let before = before.map(|(_, account)| account);
        let all = accounts(kind, &planned.loaded.config);
        let mut twins = Vec::new();
        for (at, name) in planned.names.iter().enumerate() {
            let Some((_, account)) = all.iter().find(|(one, _)| one == name) else {
                continue;
            };
            let later = &planned.names[at..];
            let mut others = all.iter();
            let other = others.find(|(other, same)| same == account && !later.contains(other));
            if let Some((other, _)) = other.filter(|_| before.as_ref() != Some(account)) {
                let twin = FieldMistake {
                    field: kind.address().to_owned(),
                    detail: format!(
                        "{other} has this address and account already, and together they would be called more often than its limits allow. Edit {other} instead."
                    ),
                };
                twins.push(if many { at_row(name, twin) } else { twin });
            }
        }
        match twins.is_empty() {
            true => Ok(()),
            false => Err(NotSaved::Fields(twins)),
        }
    }

    /// Where an upstream is in a file of the operator's, which may have changed since it was read.
    fn own(&self, kind: Kind, name: &str) -> Option<Origin> {
        let read = self.own_in(&self.loaded.resolved, kind, name);
        read.or_else(|| self.own_in(&load(&self.sources).ok()?.resolved, kind, name))
    }

    fn own_in(&self, rows: &[Resolved], kind: Kind, name: &str) -> Option<Origin> {
        let (list, shown) = (format!("{}[", kind.list()), show_text(name));
        let ours = self.loaded.added.path.to_string_lossy();
        let is_own = |origin: &Origin| match origin {
            Origin::File { file, .. } => **file != *ours,
            _ => true,
        };
        let named = rows.iter().find(|row| {
            row.path.starts_with(&list) && row.path.ends_with("].name") && row.shown == shown
        })?;
        let entry = named.path.strip_suffix("name")?;
        let mut written = rows
            .iter()
            .filter(|row| row.path.starts_with(entry) && row.origin != Origin::Default);
        let first = written.next()?.origin.clone();
        is_own(&first).then_some(first)
    }

    /// Mistakes about a name that is taken belong to the form; others to whoever wrote the files.
    fn sort(&self, mistakes: &Mistakes) -> NotSaved {
        let ours = self.loaded.added.path.to_string_lossy();
        let about_name = |mistake: &&Mistake| match &mistake.origin {
            Origin::File { file, .. } => **file == *ours && mistake.path.ends_with("].name"),
            _ => false,
        };
        if mistakes.iter().all(|mistake| about_name(&mistake)) {
            let fields = mistakes.iter().map(|mistake| FieldMistake {
                field: "name".to_owned(),
                detail: sentence(&mistake.text),
            });
            return NotSaved::Fields(fields.collect());
        }
        NotSaved::Mistakes(told(mistakes))
    }
}

/// Puts an entry into its list, in the place of another or at the end, and returns its name.
fn put(added: &mut Added, draft: &Draft, at: Option<usize>) -> Result<String, NotSaved> {
    let list = added.entries_mut(draft.kind);
    let entry = draft.entry(at.map(|at| &list[at]));
    let entry = entry.map_err(NotSaved::Fields)?;
    let checked = draft.kind.read(entry.clone());
    let mistakes: Vec<FieldMistake> = checked.report.mistakes.iter().map(at_field).collect();
    let Some(name) = checked.name.filter(|_| mistakes.is_empty()) else {
        return Err(NotSaved::Fields(mistakes));
    };
    match at {
        Some(at) => list[at] = entry,
        None => list.push(entry),
    }
    Ok(name)
}

/// The upstreams of a kind by name, each with what its server knows us by. It holds secrets.
fn accounts(kind: Kind, config: &Config) -> Vec<(String, String)> {
    match kind {
        Kind::Tracker => (config.tracker.forwarders.iter())
            .map(|one| (one.name.clone(), destination(&one.uri).into()))
            .collect(),
        Kind::Indexer => (config.search.indexers.iter())
            .map(|one| {
                let key = one.api_key.as_ref().map_or("", Secret::expose);
                (one.name.clone(), format!("{} {key}", destination(&one.url)))
            })
            .collect(),
        Kind::NewsServer => (config.news.servers.iter())
            .map(|one| {
                let host = host_name(&one.host);
                let account = format!("{host} {:?} {:?}", one.port, one.username);
                (one.name.clone(), account)
            })
            .collect(),
    }
}

/// A mistake in one of several entries that are saved together.
fn at_row(name: &str, mistake: FieldMistake) -> FieldMistake {
    FieldMistake {
        detail: format!("{name}, {}: {}", mistake.field, mistake.detail),
        ..mistake
    }
}

fn told(mistakes: &Mistakes) -> Vec<String> {
    mistakes.iter().map(ToString::to_string).collect()
}

fn at_field(mistake: &Mistake) -> FieldMistake {
    // What to write stands beside the field.
    let detail = match mistake.text.starts_with("this key is required") {
        true => "Fill this in.".to_owned(),
        false => sentence(&mistake.text),
    };
    FieldMistake {
        field: mistake.path.clone(),
        detail,
    }
}

/// What the configuration says of a value, as a sentence.
fn sentence(text: &str) -> String {
    let end = if text.ends_with(['.', '?']) { "" } else { "." };
    format!("{}{end}", capital(text))
}

/// What tells an entry from what it was before, as text. It holds secrets.
fn whole(kind: Kind, entry: &Node) -> String {
    let mut one = Added::default();
    one.entries_mut(kind).push(entry.clone());
    one.text()
}
