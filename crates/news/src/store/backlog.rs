//! What waits to be written to `news.db`, in order, and the numbers in it, which are true before they are on disk.
//!
//! Entries stay here until their transaction has ended well, so that a full disk loses none. Beyond [`MOST`] bytes, lines and
//! articles are let go; numbers are not, since each change of them builds on the one before.

mod numbers;
mod work;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use weir_news_proto::{MessageId, Newsgroup};

use self::numbers::{WaitingNumbers, WaitingRows};
pub(super) use self::work::{Keep, ListPart, Reads, Work};
use super::arrivals;
use super::kept::{KeptArticle, Reached, ReadLine};
use crate::numbers::{NumberRows, ServerId};

/// Bytes of lines and articles that may wait.
const MOST: usize = 32 << 20;
/// One transaction takes entries up to so many lines and bytes, which keeps the writer busy for some 20 ms.
const BATCH_LINES: usize = 1000;
const BATCH_BYTES: usize = 1 << 20;
/// Articles and newsgroups that were read, before that is written down.
const READS: usize = 256;

#[derive(Default)]
pub(super) struct Backlog {
    entries: VecDeque<Arc<Entry>>,
    /// How many of them, from the front, are being written.
    writing: usize,
    /// Which batch that is; the answer to one that was given up counts for nothing.
    turn: u64,
    next: u64,
    bytes: usize,
    /// Of newsgroups that somebody has asked about while something of them waits.
    numbers: HashMap<Newsgroup, WaitingNumbers>,
    articles: HashMap<MessageId, (u64, KeptArticle)>,
    reads: Reads,
    /// Newsgroups of which the file has, or had, everything up to now. One that is no longer there was lost, and what
    /// changes in it means nothing without the rest.
    based: HashSet<Newsgroup>,
    lost: HashSet<Newsgroup>,
    /// Newsgroups of which lines were let go: what has been fetched of them is not all in the file.
    thin: HashSet<Newsgroup>,
    /// Writes that failed since one succeeded.
    pub(super) failures: u32,
    /// Something could not be held since all was written.
    crowded: bool,
    /// Nothing more will come: what waits is written at once.
    pub(super) closing: bool,
}

/// One thing to write.
#[derive(Debug)]
pub(super) struct Entry {
    order: u64,
    pub(super) work: Work,
}

/// Entries for one transaction; of each newsgroup, whether the file should have it.
pub(super) type Batch = Vec<(Arc<Entry>, bool)>;

impl Backlog {
    /// Takes in what became known of a newsgroup. Lines that cannot be held are let go.
    pub(super) fn keep(&mut self, name: &Newsgroup, mut keep: Keep) {
        if self.thin.contains(name) {
            keep.uncover();
        }
        let bytes: usize = keep.lines.iter().map(|line| line.line.len() + 100).sum();
        if !self.holds(bytes) {
            self.thin.insert(name.clone());
            keep.lines.clear();
            keep.renumbered.clear();
            keep.uncover();
            if let Some(before) = self.last_of(name) {
                before.absorb(keep);
                return;
            }
        }
        self.note_numbers(name, &keep);
        self.push(Work::Keep(name.clone(), keep));
    }

    /// Takes in an article, if it can be held.
    pub(super) fn keep_article(&mut self, id: &MessageId, article: KeptArticle) {
        if !self.holds(article.raw.len()) {
            return;
        }
        self.articles
            .insert(id.clone(), (self.next, article.clone()));
        self.push(Work::Article(id.clone(), article));
    }

    /// Takes in the parts of a list, in place of those of an earlier one.
    pub(super) fn keep_list(&mut self, parts: impl Iterator<Item = ListPart>) {
        let mut parts = parts.peekable();
        let Some(ListPart { server, kind, .. }) = parts.peek() else {
            return;
        };
        let (server, kind, mut place) = (*server, *kind, 0);
        let writing = self.writing;
        self.entries.retain(|entry| {
            place += 1;
            let same = matches!(&entry.work, Work::List(part) if (part.server, part.kind) == (server, kind));
            place <= writing || !same
        });
        parts.for_each(|part| self.push(Work::List(part)));
    }

    pub(super) fn keep_rows(&mut self, name: &Newsgroup, rows: NumberRows) {
        self.push(Work::Rows(name.clone(), rows));
    }

    /// Entries of the log of a newsgroup's numbers, from a place on.
    pub(super) fn keep_log(&mut self, name: &Newsgroup, from: u64, entries: Vec<Arc<[u8]>>) {
        self.push(Work::Log(name.clone(), from, entries));
    }

    /// The numbers of a newsgroup mean nothing any more.
    pub(super) fn forget_all(&mut self, name: &Newsgroup) {
        self.numbers.remove(name);
        self.push(Work::Forget(name.clone()));
    }

    pub(super) fn keep_seen(&mut self, names: Vec<Newsgroup>, at: i64) {
        self.push(Work::Seen(names, at));
    }

    /// Articles that became known since a time and wait, with their newsgroups.
    pub(super) fn arriving(&self, since: i64) -> impl Iterator<Item = (&Newsgroup, &MessageId)> {
        let kept = self.entries.iter().filter_map(move |entry| {
            let Work::Keep(name, keep) = &entry.work else {
                return None;
            };
            keep.arrived
                .is_some_and(|at| at / 60 >= since / 60)
                .then_some((name, keep))
        });
        kept.flat_map(move |(name, keep)| {
            let new = keep
                .lines
                .iter()
                .filter(move |line| arrivals::is_new(line.date, since));
            new.map(move |line| (name, &line.id))
        })
    }

    /// Notes that something was read. Says whether that should be written now.
    pub(super) fn read(&mut self, note: impl FnOnce(&mut Reads)) -> bool {
        note(&mut self.reads);
        self.reads.articles.len() + self.reads.newsgroups.len() >= READS && self.take_reads()
    }

    /// Puts what was read in line. Says whether there was something.
    pub(super) fn take_reads(&mut self) -> bool {
        let reads = std::mem::take(&mut self.reads);
        let some = !reads.articles.is_empty() || !reads.newsgroups.is_empty();
        if some {
            self.push(Work::Reads(reads));
        }
        some
    }

    /// What is to be written next, unless something is being written.
    pub(super) fn begin(&mut self) -> Option<(Batch, u64)> {
        if self.writing > 0 {
            return None;
        }
        let (mut lines, mut bytes) = (0, 0);
        let fits = |entry: &&Arc<Entry>| {
            let first = (lines, bytes) == (0, 0);
            let more = entry.work.weight();
            (lines, bytes) = (lines + more.0, bytes + more.1);
            first || self.closing || (lines <= BATCH_LINES && bytes <= BATCH_BYTES)
        };
        let taken = self.entries.iter().take_while(fits);
        let based = |entry: &Arc<Entry>| {
            let name = entry.work.newsgroup();
            name.is_some_and(|name| self.based.contains(name))
        };
        let batch: Batch = taken.map(|entry| (entry.clone(), based(entry))).collect();
        self.writing = batch.len();
        self.turn += 1;
        (!batch.is_empty()).then_some((batch, self.turn))
    }

    /// What was being written is written; of these newsgroups, the file has lost what was there.
    pub(super) fn written(&mut self, lost: Vec<Newsgroup>) {
        self.failures = 0;
        let done = self.end();
        self.crowded &= !self.entries.is_empty();
        for entry in done {
            match &entry.work {
                Work::Keep(name, _) => drop(self.based.insert(name.clone())),
                Work::Rows(name, _) => {
                    self.based.insert(name.clone());
                    self.lost.remove(name);
                }
                _ => {}
            }
        }
        self.lost.extend(lost);
    }

    /// What was being written is not. It waits on, unless the entry itself seems to be the reason.
    pub(super) fn failed(&mut self, hopeless: bool) {
        self.failures += 1;
        if !hopeless {
            self.writing = 0;
            return;
        }
        for entry in self.end() {
            if let Some(name) = entry.work.newsgroup() {
                self.lose(name);
            }
        }
    }

    /// There is no file: nothing waits any more.
    pub(super) fn clear(&mut self) {
        for entry in std::mem::take(&mut self.entries) {
            if let Some(name) = entry.work.newsgroup() {
                self.lose(name);
            }
        }
        self.reads = Reads::default();
        self.numbers.clear();
        self.articles.clear();
        (self.writing, self.bytes) = (0, 0);
        self.turn += 1;
    }

    /// What became known of a newsgroup is not kept.
    pub(super) fn lose(&mut self, name: &Newsgroup) {
        self.based.insert(name.clone());
        self.lost.insert(name.clone());
        self.thin.insert(name.clone());
    }

    pub(super) fn is_turn(&self, turn: u64) -> bool {
        self.turn == turn
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn is_writing(&self) -> bool {
        self.writing > 0
    }

    /// Whether something of a newsgroup waits.
    pub(super) fn has(&self, name: &Newsgroup) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.work.newsgroup() == Some(name))
    }

    /// Whether the file has a newsgroup. If not, whoever asked begins anew, and what comes next is all there is.
    pub(super) fn found(&mut self, name: &Newsgroup, is_there: bool) {
        // Whoever asked has what the file has, and no more.
        self.thin.remove(name);
        if is_there {
            self.based.insert(name.clone());
        } else if !self.has(name) {
            self.based.remove(name);
            self.lost.remove(name);
        }
    }

    pub(super) fn has_lost(&self, name: &Newsgroup) -> bool {
        self.lost.contains(name)
    }

    pub(super) fn article(&self, id: &MessageId) -> Option<KeptArticle> {
        Some(self.articles.get(id)?.1.clone())
    }

    /// The number that an article is about to have, if that changes.
    pub(super) fn number_of(&mut self, name: &Newsgroup, id: &MessageId) -> Option<Option<u64>> {
        self.numbers_of(name)?.number_of(id)
    }

    /// The article that is about to have a number.
    pub(super) fn id_of(&mut self, name: &Newsgroup, number: u64) -> Option<MessageId> {
        self.numbers_of(name)?.id_of(number)
    }

    /// The numbers of a newsgroup that wait. They are looked up seldom, and most are written before anybody does, so they are
    /// put in order when they are first asked for; from then on they follow until nothing of the newsgroup waits.
    fn numbers_of(&mut self, name: &Newsgroup) -> Option<&WaitingNumbers> {
        if !self.numbers.contains_key(name) {
            let first = self.forgets(name);
            let forgotten = first.map(|first| self.entries[first].order);
            let mut numbers = WaitingNumbers::after(forgotten);
            for entry in self.entries.iter().skip(first.unwrap_or(0)) {
                if let Work::Keep(other, keep) = &entry.work
                    && other == name
                {
                    numbers.note(keep, entry.order);
                }
            }
            if numbers.is_empty() {
                return None;
            }
            self.numbers.insert(name.clone(), numbers);
        }
        self.numbers.get(name)
    }

    /// Where the last entry stands that takes all numbers of a newsgroup away.
    fn forgets(&self, name: &Newsgroup) -> Option<usize> {
        let forgets =
            |entry: &Arc<Entry>| matches!(&entry.work, Work::Forget(other) if other == name);
        self.entries.iter().rposition(forgets)
    }

    /// What waits of the articles with numbers in a range.
    pub(super) fn rows(&self, name: &Newsgroup, numbers: &RangeInclusive<u64>) -> WaitingRows {
        let first = self.forgets(name);
        let mut rows = WaitingRows::new(numbers, first.is_some());
        for entry in self.entries.iter().skip(first.unwrap_or(0)) {
            if let Work::Keep(other, keep) = &entry.work
                && other == name
            {
                rows.note(keep);
            }
        }
        rows
    }

    /// Lines with numbers in a range that wait.
    pub(super) fn numbered(
        &self,
        name: &Newsgroup,
        numbers: &RangeInclusive<u64>,
    ) -> impl Iterator<Item = (u64, &ReadLine)> {
        let kept = self
            .entries
            .iter()
            .filter_map(move |entry| match &entry.work {
                Work::Keep(other, keep) if other == name => Some(keep),
                _ => None,
            });
        let lines = kept.flat_map(|keep| &keep.lines);
        let numbered = lines.filter_map(|line| Some((line.number?, line)));
        numbered.filter(move |(number, _)| numbers.contains(number))
    }

    /// Applies what waits to what the file says of a newsgroup.
    pub(super) fn apply(
        &self,
        name: &Newsgroup,
        rows: &mut NumberRows,
        checked: &mut Vec<(ServerId, Reached)>,
    ) {
        let mut runs: BTreeMap<_, _> = std::mem::take(&mut rows.runs)
            .into_iter()
            .map(|run| ((run.server, run.our_start), run))
            .collect();
        for entry in &self.entries {
            match &entry.work {
                Work::Keep(other, keep) if other == name => {
                    checked.retain(|(server, _)| !keep.checked.iter().any(|new| new.0 == *server));
                    checked.extend(keep.checked.iter().cloned());
                    let Some(changes) = &keep.changes else {
                        continue;
                    };
                    rows.marks = changes.marks;
                    rows.servers.clone_from(&changes.servers);
                    for gone in &changes.gone {
                        runs.remove(gone);
                    }
                    runs.extend(
                        changes
                            .runs
                            .iter()
                            .map(|run| ((run.server, run.our_start), *run)),
                    );
                }
                Work::Forget(other) if other == name => {
                    runs.clear();
                    checked.clear();
                }
                Work::Rows(other, new) if other == name => {
                    rows.marks = new.marks;
                    rows.servers.clone_from(&new.servers);
                    let new = new.runs.iter();
                    runs = new.map(|run| ((run.server, run.our_start), *run)).collect();
                }
                _ => {}
            }
        }
        rows.runs = runs.into_values().collect();
    }

    /// Whether so many bytes more can be held. If not, that is logged once until all is written.
    fn holds(&mut self, bytes: usize) -> bool {
        let holds = self.bytes + bytes <= MOST;
        if !holds && !std::mem::replace(&mut self.crowded, true) {
            tracing::warn!(
                front = "news",
                "the disk is too slow or full: some articles and overviews are not kept"
            );
        }
        holds
    }

    fn push(&mut self, work: Work) {
        self.bytes += work.held();
        let order = self.next;
        self.next += 1;
        self.entries.push_back(Arc::new(Entry { order, work }));
    }

    /// The last entry of a newsgroup that can still be changed.
    fn last_of(&mut self, name: &Newsgroup) -> Option<&mut Keep> {
        let waiting = self.entries.iter_mut().skip(self.writing).rev();
        let mut same = waiting.filter(|entry| entry.work.newsgroup() == Some(name));
        match &mut Arc::get_mut(same.next()?)?.work {
            Work::Keep(_, keep) => Some(keep),
            _ => None,
        }
    }

    fn note_numbers(&mut self, name: &Newsgroup, keep: &Keep) {
        if let Some(numbers) = self.numbers.get_mut(name) {
            numbers.note(keep, self.next);
        }
    }

    /// Takes out what was being written.
    fn end(&mut self) -> Vec<Arc<Entry>> {
        let done: Vec<_> = self.entries.drain(..self.writing).collect();
        self.writing = 0;
        for entry in &done {
            self.bytes = self.bytes.saturating_sub(entry.work.held());
            match &entry.work {
                Work::Keep(name, keep) => {
                    self.forget_numbers(name, |numbers| numbers.forget(keep, entry.order));
                }
                Work::Forget(name) => {
                    self.forget_numbers(name, |numbers| numbers.took_away(entry.order));
                }
                Work::Article(id, _) if self.is_latest(id, entry.order) => {
                    self.articles.remove(id);
                }
                _ => {}
            }
        }
        done
    }

    fn is_latest(&self, id: &MessageId, order: u64) -> bool {
        self.articles.get(id).is_some_and(|known| known.0 == order)
    }

    fn forget_numbers(
        &mut self,
        name: &Newsgroup,
        forget: impl FnOnce(&mut WaitingNumbers) -> bool,
    ) {
        if let Some(numbers) = self.numbers.get_mut(name)
            && forget(numbers)
        {
            self.numbers.remove(name);
        }
    }
}
