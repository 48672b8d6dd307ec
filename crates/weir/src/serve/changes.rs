//! What a reload changes: which values are in use at once, and which wait for the next start.

use std::path::PathBuf;

use weir_config::Resolved;

/// What a reload changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// The keys whose values differ from what was read before.
    pub(super) changed: Vec<String>,
    /// Those of them that are in use now.
    pub(super) now: Vec<String>,
    /// Those of them that are read only at start and have their running value again.
    pub(super) back: Vec<String>,
    /// All keys whose values wait for the next start, whenever they were changed.
    pub(super) at_next_start: Vec<String>,
    /// If there is no file: where one was looked for.
    pub(super) looked_for: Vec<PathBuf>,
}

/// One value on the settings page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SettingRow {
    /// The value in use; `None` for a key that comes with the next start.
    pub(super) running: Option<Resolved>,
    /// The value that waits for the next start, if it is another one.
    pub(super) next: Option<Next>,
}

/// What the next start brings for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// This value.
    Value(Resolved),
    /// It is no longer there.
    Gone,
}

impl SettingRow {
    /// The row to name it by.
    pub(super) fn row(&self) -> Option<&Resolved> {
        match (&self.running, &self.next) {
            (Some(row), _) | (None, Some(Next::Value(row))) => Some(row),
            (None, _) => None,
        }
    }
}

/// Keys as a list in a sentence; those of a list's entries are summed up as the list, or each entry would add a dozen.
pub(super) fn brief(keys: &[String]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for key in keys {
        let name = key.split('[').next().unwrap_or(key);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// Paths as a list in a sentence.
pub(super) fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(", ")
}

/// The row of a key.
fn find<'a>(rows: &'a [Resolved], path: &str) -> Option<&'a Resolved> {
    rows.iter().find(|row| row.path == path)
}

/// The rows of `new` that are others in `old`, then those of `old` that are gone.
fn differing<'a>(old: &'a [Resolved], new: &'a [Resolved]) -> impl Iterator<Item = &'a Resolved> {
    let is_new = |row: &&Resolved| find(old, &row.path).is_none_or(|old| !old.same_value(row));
    let gone = |row: &&Resolved| find(new, &row.path).is_none();
    new.iter().filter(is_new).chain(old.iter().filter(gone))
}

/// What a reload from `old` to `new` changes in a Weir that was `started` with other values still, in the order of the
/// new configuration.
pub(super) fn changes(started: &[Resolved], old: &[Resolved], new: &[Resolved]) -> Changes {
    let path = |row: &Resolved| row.path.clone();
    let waiting = differing(started, new).filter(|row| row.at_start);
    let at_next_start: Vec<String> = waiting.map(path).collect();
    let mut changes = Changes::default();
    for row in differing(old, new) {
        changes.changed.push(path(row));
        if !row.at_start {
            changes.now.push(path(row));
        } else if !at_next_start.contains(&row.path) {
            changes.back.push(path(row));
        }
    }
    changes.at_next_start = at_next_start;
    changes
}

/// One value that a reload would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) key: String,
    /// What was read before; `None` for a new key.
    pub(super) before: Option<String>,
    /// What would be read now; `None` if the key goes.
    pub(super) after: Option<String>,
    /// Where the new value comes from.
    pub(super) source: Option<String>,
    /// When it would take effect.
    pub(super) when: &'static str,
}

/// What a reload from `old` to `new` would change, in the order of [`changes`].
pub(super) fn differences(
    started: &[Resolved],
    old: &[Resolved],
    new: &[Resolved],
) -> Vec<Difference> {
    let told = changes(started, old, new);
    let one = |row: &Resolved| {
        let (before, after) = (find(old, &row.path), find(new, &row.path));
        // Behind the mask both look alike.
        let masked = before.zip(after).is_some_and(|(a, b)| a.shown == b.shown);
        Difference {
            key: row.path.clone(),
            before: before.map(|row| row.shown.clone()),
            after: after.map(|row| match masked {
                true => format!("{} (changed)", row.shown),
                false => row.shown.clone(),
            }),
            source: after.map(|row| row.origin.to_string()),
            when: match () {
                () if told.now.contains(&row.path) => "at once",
                () if told.back.contains(&row.path) => "in use already",
                () => "at the next start",
            },
        }
    };
    differing(old, new).map(one).collect()
}

/// Each value in use and what waits for the next start, in the order of the configuration that was read last.
pub(super) fn settings(started: &[Resolved], read: &[Resolved]) -> Vec<SettingRow> {
    let mut all: Vec<SettingRow> = read
        .iter()
        .map(|row| {
            let running = match find(started, &row.path) {
                _ if !row.at_start => Some(row),
                // The same value: its source may have moved within the file.
                Some(running) if running.same_value(row) => Some(row),
                running => running,
            };
            let waits = running != Some(row);
            SettingRow {
                running: running.cloned(),
                next: waits.then(|| Next::Value(row.clone())),
            }
        })
        .collect();
    for (at, row) in started.iter().enumerate() {
        if !row.at_start || find(read, &row.path).is_some() {
            continue;
        }
        // Behind the nearest key before it that is still there.
        let before = started[..at].iter().rev();
        let place = before.filter_map(|before| {
            let named = |other: &SettingRow| other.row().is_some_and(|row| row.path == before.path);
            all.iter().position(named)
        });
        let place = place.map(|place| place + 1).next().unwrap_or(0);
        let gone = SettingRow {
            running: Some(row.clone()),
            next: Some(Next::Gone),
        };
        all.insert(place, gone);
    }
    all
}

#[cfg(test)]
mod tests {
    use weir_config::Origin;

    use super::*;

    fn row(path: &str, shown: &str) -> Resolved {
        Resolved {
            path: path.into(),
            shown: shown.into(),
            secret: None,
            origin: Origin::Default,
            aside: false,
            at_start: path.starts_with("start"),
        }
    }

    #[test]
    fn keys_that_changed_came_or_went_are_named() {
        let old = [row("a", "1"), row("start.b", "2"), row("start.c", "3")];
        let new = [row("a", "1"), row("start.b", "9"), row("d", "4")];
        let changes = changes(&old, &old, &new);
        assert_eq!(changes.changed, ["start.b", "d", "start.c"]);
        assert_eq!(changes.now, ["d"]);
        assert_eq!(changes.at_next_start, ["start.b", "start.c"]);
    }

    #[test]
    fn each_difference_is_told_before_it_is_applied() {
        let started = [row("a", "1"), row("start.b", "2"), row("c", "3")];
        let new = [row("a", "9"), row("start.b", "5"), row("d", "4")];
        let told = differences(&started, &started, &new);
        let told: Vec<_> = told
            .iter()
            .map(|one| {
                (
                    &*one.key,
                    one.before.as_deref(),
                    one.after.as_deref(),
                    one.when,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("a", Some("1"), Some("9"), "at once"),
                ("start.b", Some("2"), Some("5"), "at the next start"),
                ("d", None, Some("4"), "at once"),
                ("c", Some("3"), None, "at once"),
            ]
        );
        // A secret that changes looks the same.
        let secret = |text: &str| Resolved {
            secret: Some(weir_config::Secret::new(text)),
            ..row("key", "(secret)")
        };
        let told = differences(&[secret("x")], &[secret("x")], &[secret("y")]);
        assert_eq!(told[0].after.as_deref(), Some("(secret) (changed)"));
    }

    #[test]
    fn keys_of_entries_are_summed_up() {
        let keys = [
            "a",
            "b.list[0].x",
            "b.list[0].y",
            "b.list[1].x",
            "b.list",
            "c",
        ];
        assert_eq!(brief(&keys.map(str::to_owned)), "a, b.list, c");
    }

    #[test]
    fn what_waits_is_told_from_what_runs() {
        let started = [row("a", "1"), row("start.b", "2"), row("start.c", "3")];
        let first = [row("a", "5"), row("start.b", "9"), row("start.c", "3")];
        // One goes back to its running value, another one waits now.
        let second = [row("a", "5"), row("start.b", "2"), row("start.c", "7")];
        let told = changes(&started, &first, &second);
        assert_eq!(told.changed, ["start.b", "start.c"]);
        assert_eq!(told.back, ["start.b"]);
        assert_eq!(told.at_next_start, ["start.c"]);
        // What waits is named until it is the running value again.
        let told = changes(&started, &second, &second);
        assert_eq!(told.changed, [""; 0]);
        assert_eq!(told.at_next_start, ["start.c"]);
    }

    #[test]
    fn each_value_in_use_is_shown_with_what_waits() {
        let started = [
            row("a", "1"),
            row("start.b", "2"),
            row("start.c", "3"),
            row("start.e", "5"),
        ];
        let read = [
            row("a", "9"),
            row("start.b", "8"),
            row("start.d", "4"),
            row("start.e", "5"),
        ];
        let shown: Vec<(Option<String>, Option<Option<String>>)> = settings(&started, &read)
            .into_iter()
            .map(|setting| {
                let next = setting.next.map(|next| match next {
                    Next::Value(row) => Some(row.shown),
                    Next::Gone => None,
                });
                (setting.running.map(|row| row.shown), next)
            })
            .collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            shown,
            [
                (text("9"), None),
                (text("2"), Some(text("8"))),
                (text("3"), Some(None)),
                (None, Some(text("4"))),
                (text("5"), None),
            ]
        );
    }
}
