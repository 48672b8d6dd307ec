//! When the programs of the page *Connect* were last heard, over restarts. Fronts know it for as long as the process runs; what
//! they say is looked at once a minute and at the end, and written behind. There is one row, with a line for each program that
//! a front has steps for, so it cannot grow.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use parking_lot::Mutex;
use weir_store::sqlite::File;

use crate::{Clock, Error, auth::secrets, contribution::ConnectHeard, contribution::ConnectPanel};

/// The row: a line for each program, its anchor and the seconds since 1970.
const ROW: &str = "heard";

/// How often it is looked who was heard. Nobody reads it more exactly after a restart.
pub(crate) const LOOK: Duration = Duration::from_secs(60);

/// When each was heard, now and before.
#[derive(Clone)]
pub(crate) struct Heard(Arc<HeardInner>);

struct HeardInner {
    file: File,
    clock: Arc<dyn Clock>,
    /// What the fronts say, by anchor.
    live: Vec<(&'static str, ConnectHeard)>,
    /// Seconds since 1970, as they are written.
    kept: Mutex<BTreeMap<&'static str, i64>>,
}

impl Heard {
    /// Reads what an earlier run has noted; from now on the panels tell it, too. The tables must be there.
    pub(crate) fn open(
        file: File,
        clock: Arc<dyn Clock>,
        panels: &mut [ConnectPanel],
    ) -> Result<Self, Error> {
        let row = file.read(|connection| secrets::read(connection, ROW))?;
        let before = read(&row.unwrap_or_default());
        let (mut live, mut kept) = (Vec::new(), BTreeMap::new());
        for program in panels.iter_mut().flat_map(|panel| &mut panel.programs) {
            let said = std::mem::replace(&mut program.heard, Box::new(|| None));
            live.push((program.anchor, said));
            if let Some(at) = before.get(program.anchor) {
                kept.insert(program.anchor, *at);
            }
        }
        let heard = Self(Arc::new(HeardInner {
            file,
            clock,
            live,
            kept: Mutex::new(kept),
        }));
        for program in panels.iter_mut().flat_map(|panel| &mut panel.programs) {
            let (heard, anchor) = (heard.clone(), program.anchor);
            program.heard = Box::new(move || heard.ago(anchor));
        }
        Ok(heard)
    }

    /// How long ago a program was heard, by this run or an earlier one.
    fn ago(&self, anchor: &str) -> Option<Duration> {
        let live = self.0.live.iter().filter(|(of, _)| *of == anchor);
        let live = live.filter_map(|(_, heard)| heard()).min();
        let before = self.0.kept.lock().get(anchor).copied().map(|at| {
            let ago = self.0.clock.now().as_second().saturating_sub(at);
            // The clock may have been set back.
            Duration::from_secs(u64::try_from(ago).unwrap_or(0))
        });
        live.into_iter().chain(before).min()
    }

    /// Looks who was heard since the last look; what is new is written soon.
    pub(crate) fn note(&self) {
        let now = self.0.clock.now();
        let mut kept = self.0.kept.lock();
        let mut changed = false;
        for (anchor, heard) in &self.0.live {
            let Some(at) = heard().and_then(|ago| before(now, ago)) else {
                continue;
            };
            if kept.get(anchor).is_none_or(|noted| *noted < at) {
                kept.insert(anchor, at);
                changed = true;
            }
        }
        if !changed {
            return;
        }
        let row = written(&kept);
        drop(kept);
        let put = move |tx: &weir_store::rusqlite::Transaction<'_>| {
            secrets::put(tx, ROW, row.as_bytes(), now.as_second())
        };
        if let Err(error) = self.0.file.write_later(put) {
            tracing::debug!(%error, "when programs were heard is not kept");
        }
    }
}

fn before(now: Timestamp, ago: Duration) -> Option<i64> {
    let ago = i64::try_from(ago.as_secs()).ok()?;
    now.as_second().checked_sub(ago)
}

fn written(kept: &BTreeMap<&'static str, i64>) -> String {
    let lines = kept.iter().map(|(anchor, at)| format!("{anchor} {at}\n"));
    lines.collect()
}

fn read(row: &[u8]) -> BTreeMap<String, i64> {
    let text = String::from_utf8_lossy(row);
    let lines = text.lines().filter_map(|line| {
        let (anchor, at) = line.split_once(' ')?;
        Some((anchor.to_owned(), at.parse().ok()?))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::contribution::ConnectProgram;

    struct At(i64);

    impl Clock for At {
        fn now(&self) -> Timestamp {
            Timestamp::from_second(self.0).expect("a time")
        }
    }

    /// A panel with one program that was heard so many seconds ago; never is the largest number.
    fn panel(ago: &Arc<AtomicU64>) -> ConnectPanel {
        let ago = Arc::clone(ago);
        ConnectPanel {
            title: "",
            users: "",
            anchor: "panel",
            text: "",
            addresses: Box::new(|_| Vec::new()),
            server: "",
            keys: &[],
            programs: vec![ConnectProgram {
                name: "Some",
                anchor: "some",
                place: "",
                lines: |_| Vec::new(),
                note: "",
                heard: Box::new(move || match ago.load(Ordering::Relaxed) {
                    u64::MAX => None,
                    ago => Some(Duration::from_secs(ago)),
                }),
                needs: None,
            }],
        }
    }

    #[test]
    fn what_one_run_has_heard_the_next_one_knows() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state.db");
        let run = |now: i64, ago: &Arc<AtomicU64>, note: bool| {
            let file = File::open(&path).expect("a file");
            file.migrate(secrets::MIGRATIONS).expect("tables");
            let mut panels = [panel(ago)];
            let heard = Heard::open(file.clone(), Arc::new(At(now)), &mut panels).expect("a row");
            if note {
                heard.note();
            }
            let said = (panels[0].programs[0].heard)();
            file.close();
            said.map(|ago| ago.as_secs())
        };
        let never = Arc::new(AtomicU64::new(u64::MAX));
        let lately = Arc::new(AtomicU64::new(5));
        assert_eq!(run(1000, &never, true), None);
        assert_eq!(run(1000, &lately, true), Some(5));
        assert_eq!(run(1100, &never, true), Some(105), "by the run before");
        assert_eq!(run(1200, &lately, false), Some(5), "what is later counts");
        assert_eq!(run(1300, &never, false), Some(305), "it was not noted");
        assert_eq!(run(900, &never, false), Some(0), "the clock was set back");
    }

    #[test]
    fn a_damaged_row_is_read_as_far_as_it_can_be() {
        let row = b"some 5\nsome more\n\xff 7\nother x\nlast 9";
        let all = read(row);
        assert_eq!((all.get("some"), all.get("last")), (Some(&5), Some(&9)));
    }
}
