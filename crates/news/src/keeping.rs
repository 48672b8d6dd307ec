//! What is written down as it becomes known, and read again after a restart or when it has left the memory.

use std::time::Duration;

use bytes::Bytes;
use weir_engine::dispatch::Moment;
use weir_news_proto::{Newsgroup, OverviewLine};

use crate::call::ListBlock;
use crate::lines::{Dates, SentLine};
use crate::model::Model;
use crate::newsgroup::{HeldNewsgroup, OpenNewsgroup, ServerProgress, TakenIn};
use crate::numbers::{ArticleNumbers, NumberLog, ServerId};
use crate::store::{Kept, KeptLine, KeptList, KeptNewsgroup, ListKind, Reached};

/// How often the file is brought under its limit.
const SWEEP: Duration = Duration::from_secs(5 * 60);

impl Model {
    /// Reads the lists of newsgroups that were kept.
    pub(crate) fn recall_lists(&self) {
        for list in self.file.lists() {
            let KeptList {
                server,
                kind,
                at,
                block,
            } = list;
            match kind {
                ListKind::Descriptions => self.catalogue.described(server, block),
                ListKind::Counts | ListKind::Active => {
                    let counts = kind == ListKind::Counts;
                    let checked = (self.then(at), at);
                    self.catalogue
                        .listed(server, ListBlock { counts, block }, Some(checked));
                }
            }
        }
        self.catalogue.merge(&self.ranked());
    }

    /// Keeps the file under its limit as long as Weir runs.
    pub(crate) fn keep_sweeping(&self) {
        let vital = self.engine.vitals().add("news", "sweeper");
        let (me, lifetime) = (self.me.clone(), self.lifetime.clone());
        let sweep = vital.drive((me, lifetime.clone()), |(me, lifetime)| {
            Box::pin(async move {
                loop {
                    tokio::select! {
                        () = tokio::time::sleep(SWEEP) => {}
                        () = lifetime.closing() => return,
                    }
                    let Some(model) = me.upgrade() else { return };
                    model.file.sweep(model.now().1).await;
                }
            })
        });
        lifetime.spawn(sweep);
    }

    /// The moment of a wall time that is over.
    fn then(&self, at: i64) -> Moment {
        let (now, wall) = self.now();
        now - Duration::from_secs(wall.saturating_sub(at).max(0).unsigned_abs())
    }

    pub(crate) fn keep_list(&self, server: ServerId, list: &ListBlock) {
        let kind = match list.counts {
            true => ListKind::Counts,
            false => ListKind::Active,
        };
        self.keep_block(server, kind, &list.block);
    }

    pub(crate) fn keep_descriptions(&self, server: ServerId, block: &Bytes) {
        self.keep_block(server, ListKind::Descriptions, block);
    }

    fn keep_block(&self, server: ServerId, kind: ListKind, block: &Bytes) {
        self.file.keep_list(KeptList {
            server,
            kind,
            at: self.now().1,
            block: block.clone(),
        });
    }

    /// Keeps lines that were taken in.
    pub(crate) fn keep_lines(&self, open: &OpenNewsgroup, server: ServerId, taken: TakenIn) {
        if self.file.has_lost(&open.name)
            && let Some(rows) = open.with(|state| {
                // Whose articles the numbers are, only the file knew of all that have left the memory.
                if state.beyond {
                    state.uncover();
                }
                state.numbers.as_ref().map(ArticleNumbers::rows)
            })
        {
            self.file.keep_rows(&open.name, rows);
        }
        self.note_marks(open);
        // Older lines say nothing about what is new: the time of the last check stays what it was.
        let reached = Reached {
            at: self.checked_at(open),
            covered: taken.covered,
        };
        self.file.keep(
            &open.name,
            Kept {
                lines: taken.lines,
                changes: taken.changes,
                checked: vec![(server, reached)],
                arrived: Some(self.now().1),
                ..Kept::default()
            },
        );
        self.weigh(open);
    }

    /// Keeps what changed in the numbers of a newsgroup.
    pub(crate) fn keep_numbers(&self, open: &OpenNewsgroup) {
        let marks = |state: &mut HeldNewsgroup| Some(state.numbers.as_mut()?.take_changes());
        if let Some(changes) = open.with(marks) {
            let kept = Kept {
                changes,
                ..Kept::default()
            };
            self.file.keep(&open.name, kept);
        }
    }

    /// Keeps that a server has confirmed what is known of a newsgroup.
    pub(crate) fn keep_check(&self, open: &OpenNewsgroup, server: ServerId) {
        let at = self.checked_at(open);
        let kept = open.with(|state| {
            let changes = state.numbers.as_mut().map(ArticleNumbers::take_changes);
            let covered = state
                .servers
                .get(&server)
                .map(|progress| progress.coverage.stretches().to_vec());
            Kept {
                changes: changes.unwrap_or_default(),
                checked: vec![(
                    server,
                    Reached {
                        at,
                        covered: covered.unwrap_or_default(),
                    },
                )],
                ..Kept::default()
            }
        });
        self.note_marks(open);
        self.file.keep(&open.name, kept);
        self.file.read_newsgroup(&open.name, at);
    }

    /// When a newsgroup was last checked; now, if this is its first check.
    fn checked_at(&self, open: &OpenNewsgroup) -> i64 {
        let checked = open.with(|state| state.checked.map(|(_, at)| at));
        checked.unwrap_or_else(|| self.now().1)
    }

    /// A newsgroup as it was kept, with its newest lines.
    pub(crate) async fn recall(&self, name: &Newsgroup) -> OpenNewsgroup {
        let log = match &self.agreement {
            Some(_) => Some(self.file.log(name).await),
            None => None,
        };
        let bytes = log.iter().flatten().map(|entry| entry.len()).sum();
        let log = by_size(bytes, move || log.map(NumberLog::of)).await;
        let Some(kept) = self.file.newsgroup(name).await else {
            let state = HeldNewsgroup {
                log,
                ..HeldNewsgroup::default()
            };
            return OpenNewsgroup::new(name.clone(), state);
        };
        let lines = self.file.lines(name, self.most_lines()).await;
        let (now, bytes) = (self.now().1, lines.iter().map(|kept| kept.line.len()).sum());
        let work = move || shelve(&kept, &lines, now);
        let mut state = by_size(bytes, work).await;
        let checked = state.checked.map(|(_, at)| (self.then(at), at));
        state.checked = checked;
        if let (Some(log), Some(numbers)) = (&log, &mut state.numbers) {
            numbers.follow(log);
        }
        state.log = log;
        OpenNewsgroup::new(name.clone(), state)
    }
}

/// Works through so many bytes; aside if they are many, so that a small newsgroup does not wait for a place there.
async fn by_size<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    match bytes < weir_net::LONG {
        true => work(),
        false => weir_net::aside(work).await,
    }
}

/// Puts together what was kept of a newsgroup.
fn shelve(kept: &KeptNewsgroup, lines: &[KeptLine], now: i64) -> HeldNewsgroup {
    let mut state = HeldNewsgroup {
        numbers: Some(ArticleNumbers::from_rows(&kept.rows)),
        beyond: (lines.len() as u64) < kept.articles,
        trimmed: (lines.len() as u64) < kept.lines,
        ..HeldNewsgroup::default()
    };
    let mut dates = Dates::after(now, now);
    for kept in lines {
        // As a server sends it, so that one function reads both.
        let text = [b"0\t", kept.line.as_ref()].concat();
        if let Ok(line) = OverviewLine::parse(&text)
            && let Some(line) = SentLine::of(&line)
        {
            let date = dates.next(&line);
            state.table.insert(&line.headline(kept.number, date));
        }
    }
    for marks in &kept.rows.servers {
        let progress = ServerProgress {
            carried: marks.carried,
            ..ServerProgress::default()
        };
        state.servers.insert(marks.server, progress);
    }
    // What was thrown away is fetched again when somebody wants it.
    let thin = kept.lines < kept.articles;
    for (server, reached) in &kept.checked {
        let progress = state.servers.entry(*server).or_default();
        if !thin {
            progress.coverage = reached.covered.iter().copied().collect();
        }
        let last = state.checked.map_or(i64::MIN, |(_, at)| at);
        state.checked = Some((Moment(0), last.max(reached.at)));
    }
    state
}
