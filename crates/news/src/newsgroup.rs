//! One newsgroup as it is held in memory: its threads, its numbers, and how far each server has been read.
//!
//! Plain state behind a lock; whoever asks servers is [`crate::bring`], and what readers see of it is made in
//! [`crate::threads`].

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use bytes::BytesMut;
use parking_lot::Mutex;
use weir_engine::dispatch::Moment;
use weir_news_proto::{MessageId, Newsgroup};

use crate::coverage::Coverage;
use crate::lines::{Dates, SentLine};
use crate::numbers::{
    ArticleNumbers, Carried, Marks, Noted, NumberChanges, NumberLog, Numbering, ServerId, Shelf,
};
use crate::outbound::SelectedNumbers;
use crate::reading::{Currency, SilentServer, ThreadPage};
use crate::store::{NewsFile, ReadLine, hash};
use crate::thread::{Inserted, ThreadTable};

/// Windows that are fetched from the oldest on when a newsgroup is brought up to date. If there is more, the newest is
/// fetched first, and the rest as readers go back.
const CATCH_UP: u64 = 4;

/// Of how many numbers a window may be, for each line that it is to have: in newsgroups with large holes most numbers stand
/// for nothing. If none of them is a hole, so many lines still fit into what an answer may have.
const SPARSE: u64 = 16;

/// A highest number that falls by less is that of another machine behind the same name; one that falls by more may belong to
/// a new numbering.
const FALL: u64 = 50;

/// A newsgroup that somebody reads.
pub(crate) struct OpenNewsgroup {
    pub(crate) name: Newsgroup,
    state: Mutex<HeldNewsgroup>,
    /// Held while nodes agree on a change of its numbers.
    pub(crate) agreeing: tokio::sync::Mutex<()>,
}

/// What is held of it.
#[derive(Default)]
pub(crate) struct HeldNewsgroup {
    pub(crate) table: ThreadTable,
    /// `None` until a server has been seen.
    pub(crate) numbers: Option<ArticleNumbers>,
    /// What several nodes have agreed on; `None` on one node.
    pub(crate) log: Option<NumberLog>,
    pub(crate) servers: BTreeMap<ServerId, ServerProgress>,
    /// When a server last said what is new.
    pub(crate) checked: Option<(Moment, i64)>,
    /// The queue was full when it was last to be checked: seconds until another try makes sense.
    pub(crate) busy: Option<u64>,
    /// Older threads were let go of for want of memory.
    pub(crate) trimmed: bool,
    /// The store has lines that are not here.
    pub(crate) beyond: bool,
    /// Pages as they were made, until something changes.
    pub(crate) pages: HashMap<usize, Arc<ThreadPage>>,
}

/// How far a server has been read.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerProgress {
    pub(crate) carried: Carried,
    pub(crate) coverage: Coverage,
    /// Fetched while no number could be given: fetched again when that can be done.
    pub(crate) unnumbered: Coverage,
    /// About how far back in time that goes: the middle date of its lowest window.
    pub(crate) depth: Option<i64>,
    /// It was to be asked and did not answer.
    pub(crate) silent: Option<SilentServer>,
    /// It has been asked since the start.
    pub(crate) seen: bool,
    /// Somebody waits for its answer.
    pub(crate) asked: bool,
}

/// What there is to be written down after lines were taken in.
pub(crate) struct TakenIn {
    /// Lines that are new, or have another number.
    pub(crate) lines: Vec<ReadLine>,
    /// How many articles were not known before.
    pub(crate) new: usize,
    /// The number of each line that was sent, in their order.
    pub(crate) numbers: Vec<Option<u64>>,
    /// Whether the lines show that the server has begun again.
    pub(crate) numbering: Numbering,
    pub(crate) changes: NumberChanges,
    /// What of the server's numbers has been fetched.
    pub(crate) covered: Vec<(u64, u64)>,
}

fn progress_of(state: &mut HeldNewsgroup, server: ServerId) -> &mut ServerProgress {
    state.servers.entry(server).or_default()
}

impl ServerProgress {
    fn range(&self) -> RangeInclusive<u64> {
        self.carried.low.max(1)..=self.carried.high
    }

    /// Whether all that it has is here.
    pub(crate) fn is_whole(&self) -> bool {
        self.fetched().covers(&self.range())
    }

    /// All that has been fetched, with numbers or without.
    pub(crate) fn fetched(&self) -> Cow<'_, Coverage> {
        if self.unnumbered.stretches().is_empty() {
            return Cow::Borrowed(&self.coverage);
        }
        let mut all = self.coverage.clone();
        for &(first, last) in self.unnumbered.stretches() {
            all.add(&(first..=last));
        }
        Cow::Owned(all)
    }

    /// Numbers that a window is made of: as many as lines are wanted, or more where few of them stand for articles.
    fn step(&self, lines: u64, single: bool) -> u64 {
        let span = (self.carried.high + 1).saturating_sub(self.carried.low);
        let holes = span.checked_div(self.carried.count).unwrap_or(1);
        match single {
            // Each number costs a command.
            true => lines,
            false => lines * holes.clamp(1, SPARSE),
        }
    }
}

/// Whose lines are asked for: how many in a window, and whether each number costs a command of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowSize {
    pub(crate) lines: u64,
    pub(crate) single: bool,
}

/// Numbers as the table knows them, and the store where that has more.
struct TableShelf<'a> {
    table: &'a ThreadTable,
    stored: Option<(&'a NewsFile, &'a Newsgroup)>,
}

impl Shelf for TableShelf<'_> {
    fn number_of(&self, id: &MessageId) -> Option<u64> {
        let held = self.table.article(id).and_then(|article| article.number());
        // One that was found by its ID came without its number.
        held.or_else(|| {
            let (file, name) = self.stored?;
            file.number_of(name, id)
        })
    }

    fn id_of(&self, number: u64) -> Option<MessageId> {
        match (self.table.numbered(number), self.stored) {
            (Some(article), _) => article.id().parse().ok(),
            (None, Some((file, name))) => file.id_of(name, number),
            (None, None) => None,
        }
    }
}

/// The same where nodes have agreed on numbers: what they wrote counts first.
struct AgreedShelf<'a> {
    shelf: TableShelf<'a>,
    log: &'a NumberLog,
}

impl Shelf for AgreedShelf<'_> {
    fn number_of(&self, id: &MessageId) -> Option<u64> {
        let agreed = self.log.number_of(hash(id).cast_unsigned());
        let own = || self.shelf.number_of(id);
        agreed.or_else(|| own().filter(|&number| self.log.id_of(number).is_none()))
    }

    fn id_of(&self, number: u64) -> Option<MessageId> {
        self.shelf.id_of(number)
    }

    fn means(&self, number: u64, id: &MessageId) -> Option<bool> {
        match self.log.id_of(number) {
            Some(agreed) => Some(agreed == hash(id).cast_unsigned()),
            None => self.shelf.means(number, id),
        }
    }
}

impl OpenNewsgroup {
    pub(crate) fn new(name: Newsgroup, state: HeldNewsgroup) -> Self {
        Self {
            name,
            state: Mutex::new(state),
            agreeing: tokio::sync::Mutex::default(),
        }
    }

    /// Looks at it or changes it; never across an await.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut HeldNewsgroup) -> T) -> T {
        look(&mut self.state.lock())
    }

    /// Takes in what a server says of its numbers, and tells which windows are to be fetched to be up to date with it.
    /// For its first sight, `others` are the servers that carry the newsgroup, with what they last said, and `told` the marks
    /// that newsreaders have been told of it.
    pub(crate) fn seen(
        &self,
        server: ServerId,
        said: SelectedNumbers,
        (others, told): (&[(ServerId, Carried)], Marks),
        size: WindowSize,
    ) -> Vec<RangeInclusive<u64>> {
        let carried = believed(said);
        self.with(|state| {
            let numbers = state.numbers.get_or_insert_with(|| {
                let first = std::iter::once((server, carried));
                let rest = others.iter().copied().filter(|(other, _)| *other != server);
                let servers: Vec<_> = first.chain(rest).collect();
                ArticleNumbers::first_sight_above(&servers, told)
            });
            let numbering = numbers.seen(server, carried);
            numbers.raise_low(None);
            state.note_seen(server, carried, numbering, size)
        })
    }

    /// Takes in lines that a server sent for a window.
    pub(crate) fn take_in(
        &self,
        server: ServerId,
        window: &RangeInclusive<u64>,
        lines: &[SentLine],
        (file, now): (&NewsFile, i64),
    ) -> TakenIn {
        let named = named(lines);
        self.with(|state| {
            let mut numbers = state.numbers.take().unwrap_or_default();
            let noted = numbers.note(server, window.clone(), &named, &self.shelf(state, file));
            state.numbers = Some(numbers);
            state.note_lines(server, window, lines, noted, now)
        })
    }

    fn shelf<'a>(&'a self, state: &'a HeldNewsgroup, file: &'a NewsFile) -> TableShelf<'a> {
        TableShelf {
            table: &state.table,
            stored: state.beyond.then_some((file, &self.name)),
        }
    }

    /// What lines of a window would come to, where nodes agree on numbers: `numbers` are changed, what is held is not.
    pub(crate) fn note_agreed(
        &self,
        state: &HeldNewsgroup,
        numbers: &mut ArticleNumbers,
        (server, window, named): (ServerId, &RangeInclusive<u64>, &[(u64, MessageId)]),
        (file, give): (&NewsFile, bool),
    ) -> Noted {
        let shelf = self.shelf(state, file);
        match &state.log {
            Some(log) => {
                let shelf = AgreedShelf { shelf, log };
                numbers.note_with(server, window.clone(), named, &shelf, give)
            }
            None => numbers.note_with(server, window.clone(), named, &shelf, give),
        }
    }

    /// The next windows to fetch from the first of these servers that has more, as many as are wanted; newest first.
    pub(crate) fn older(
        &self,
        servers: &[(ServerId, WindowSize)],
        windows: usize,
    ) -> Option<(ServerId, Vec<RangeInclusive<u64>>)> {
        self.with(|state| {
            servers.iter().find_map(|&(server, size)| {
                let progress = state.servers.get(&server)?;
                let mut coverage = progress.fetched().into_owned();
                let mut wanted = Vec::new();
                while wanted.len() < windows
                    && let Some(gap) = coverage
                        .highest_gap(&progress.range(), progress.step(size.lines, size.single))
                {
                    coverage.add(&gap);
                    wanted.push(gap);
                }
                (!wanted.is_empty()).then_some((server, wanted))
            })
        })
    }

    /// A server is asked something that somebody waits for.
    pub(crate) fn ask(&self, server: ServerId) {
        self.with(|state| progress_of(state, server).asked = true);
    }

    /// Whether a server is asked and has not answered yet.
    pub(crate) fn is_asked(&self, server: ServerId) -> bool {
        let asked = |progress: &ServerProgress| progress.asked;
        self.with(|state| state.servers.get(&server).is_some_and(asked))
    }

    /// A server was asked, and did or did not answer.
    pub(crate) fn hear(&self, server: ServerId, silent: Option<SilentServer>) {
        self.with(|state| {
            let progress = state.servers.entry(server).or_default();
            let same = |one: &Option<SilentServer>, other: &Option<SilentServer>| {
                one.as_ref().map(|one| &one.reason) == other.as_ref().map(|other| &other.reason)
            };
            if !same(&progress.silent, &silent) {
                state.pages.clear();
            }
            progress.silent = silent;
            progress.asked = false;
        });
    }
}

impl ServerProgress {
    /// Windows above what has been fetched: all of them, oldest first, if they are few, so that numbers are given in
    /// order; else the newest.
    fn newest(&self, size: WindowSize) -> Vec<RangeInclusive<u64>> {
        let range = self.range();
        let step = self.step(size.lines, size.single);
        let fetched = self.fetched();
        let above = fetched.top().map(|top| top + 1);
        let Some(first) = above
            .filter(|&first| first > range.end().saturating_sub(step.saturating_mul(CATCH_UP)))
        else {
            return fetched.highest_gap(&range, step).into_iter().collect();
        };
        let mut windows = Vec::new();
        let mut first = first.max(*range.start());
        while first <= *range.end() {
            let last = range.end().min(&(first + step - 1)).to_owned();
            windows.push(first..=last);
            first = last + 1;
        }
        windows
    }
}

/// What a server says of its numbers, as far as that is believed.
pub(crate) fn believed(said: SelectedNumbers) -> Carried {
    let (low, high) = said.numbers.unwrap_or((1, 0));
    let carried = Carried {
        low,
        high,
        count: said.count,
    };
    // Numbers that nobody believes are as good as none.
    carried.checked().unwrap_or(Carried::NOTHING)
}

/// The server's number and the ID of each line.
pub(crate) fn named(lines: &[SentLine]) -> Vec<(u64, MessageId)> {
    let named = lines.iter().map(|line| (line.theirs, line.id.clone()));
    named.collect()
}

impl HeldNewsgroup {
    /// Takes in what a server says, after its numbers; gives the windows that are to be fetched.
    pub(crate) fn note_seen(
        &mut self,
        server: ServerId,
        carried: Carried,
        numbering: Numbering,
        size: WindowSize,
    ) -> Vec<RangeInclusive<u64>> {
        let progress = progress_of(self, server);
        if numbering == Numbering::New {
            progress.coverage = Coverage::default();
        }
        if carried.count > 0 && carried.high + FALL < progress.carried.high {
            // What came since may have numbers that others had before: the newest window is looked at again.
            let sure = carried.high.saturating_sub(size.lines);
            progress.coverage.cut_above(sure);
        }
        progress.carried = carried;
        progress.seen = true;
        progress.newest(size)
    }

    /// Takes in lines of a window with the numbers that they have.
    pub(crate) fn note_lines(
        &mut self,
        server: ServerId,
        window: &RangeInclusive<u64>,
        lines: &[SentLine],
        noted: Noted,
        now: i64,
    ) -> TakenIn {
        let dates = Dates::of(lines, now);
        let mut taken = TakenIn {
            lines: Vec::new(),
            new: 0,
            numbers: Vec::new(),
            numbering: Numbering::Same,
            changes: NumberChanges::default(),
            covered: Vec::new(),
        };
        if let Some(numbers) = &mut self.numbers {
            taken.changes = numbers.take_changes();
        }
        let progress = progress_of(self, server);
        if noted.numbering == Numbering::New {
            progress.coverage = Coverage::default();
        }
        // Numbers above the highest stand for nothing yet.
        let end = progress.carried.high.min(*window.end());
        let fetched = *window.start()..=end;
        match noted.withheld {
            true => progress.unnumbered.add(&fetched),
            false => progress.coverage.add(&fetched),
        }
        if let Some(date) = middle(&dates) {
            progress.depth = Some(progress.depth.map_or(date, |depth| depth.min(date)));
        }
        let mut new = NewLines::default();
        for ((line, &date), &number) in lines.iter().zip(&dates).zip(&noted.numbers) {
            match self.table.insert(&line.headline(number, date)) {
                Inserted::New => {
                    taken.new += 1;
                    new.add(line, number);
                }
                Inserted::Known => {
                    let known = self.table.article(&line.id);
                    let before = known.and_then(|known| known.number());
                    if number.is_some() && before != number {
                        self.table.set_number(&line.id, number);
                        new.add(line, number);
                    }
                }
                // The store has to know whom the number belongs to.
                Inserted::Full => {
                    (self.trimmed, self.beyond) = (true, true);
                    new.add(line, number);
                }
            }
        }
        taken.lines = new.finish();
        taken.covered = progress_of(self, server).coverage.stretches().to_vec();
        if !taken.lines.is_empty() {
            self.pages.clear();
        }
        (taken.numbers, taken.numbering) = (noted.numbers, noted.numbering);
        taken
    }

    /// Memory that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.table.bytes() + self.log.as_ref().map_or(0, NumberLog::bytes)
    }

    /// The IDs of all articles that are held.
    pub(crate) fn ids(&self) -> Vec<MessageId> {
        let mut ids = Vec::with_capacity(self.table.articles());
        for thread in self.table.threads(0) {
            let root = thread.root().parse().ok();
            let tree = root.and_then(|root| self.table.tree(&root));
            let rows = tree
                .iter()
                .flat_map(|tree| (0..tree.len()).filter_map(|row| tree.row(row)));
            let held = rows.filter(|row| row.article.is_some());
            ids.extend(held.filter_map(|row| row.id.parse::<MessageId>().ok()));
        }
        ids
    }

    /// Lets go of the threads that nobody has written in for longest, if there are more lines than these. They stay in the
    /// store.
    pub(crate) fn trim(&mut self, most: usize) {
        if self.table.articles() <= most {
            return;
        }
        // A tenth more than needed, so that this is seldom done.
        let mut surplus = self.table.articles() - most / 10 * 9;
        let threads = self.table.thread_count();
        let mut gone: Vec<MessageId> = Vec::new();
        for place in (0..threads).rev() {
            let Some(thread) = self.table.threads(place).next().filter(|_| surplus > 0) else {
                break;
            };
            surplus = surplus.saturating_sub(thread.articles());
            let root = thread.root().parse().ok();
            let tree = root.and_then(|root| self.table.tree(&root));
            let rows = tree
                .iter()
                .flat_map(|tree| (0..tree.len()).filter_map(|row| tree.row(row)));
            let ids = rows
                .filter(|row| row.article.is_some())
                .filter_map(|row| row.id.parse().ok());
            gone.extend(ids);
        }
        self.table.remove(&gone);
        self.trimmed = true;
        self.beyond = true;
        self.pages.clear();
    }

    /// Forgets what has been fetched, so that it is fetched again.
    pub(crate) fn uncover(&mut self) {
        for server in self.servers.values_mut() {
            server.coverage = Coverage::default();
            server.unnumbered = Coverage::default();
        }
    }

    /// Lets what was fetched without numbers be fetched again. Says whether there is some.
    pub(crate) fn number_again(&mut self) -> bool {
        let mut some = false;
        for server in self.servers.values_mut() {
            some |= !server.unnumbered.stretches().is_empty();
            server.unnumbered = Coverage::default();
        }
        some
    }

    /// How current it is.
    pub(crate) fn currency(&self) -> Currency {
        let silent = self
            .servers
            .values()
            .filter_map(|server| server.silent.clone());
        Currency {
            checked: self.checked.map(|(_, at)| at),
            silent: silent.collect(),
            busy: self.busy,
        }
    }

    /// Whether every server has been read to its end.
    pub(crate) fn is_complete(&self) -> bool {
        !self.trimmed && self.servers.values().all(ServerProgress::is_whole)
    }

    /// Whether somebody who answers has older articles than these.
    pub(crate) fn has_more(&self) -> bool {
        let mut servers = self.servers.values();
        !self.trimmed && servers.any(|server| server.silent.is_none() && !server.is_whole())
    }
}

/// Lines for the store: their bytes stand in one piece, which lives as long as any of them waits to be written, so nothing
/// else is in it.
#[derive(Default)]
struct NewLines<'a> {
    lines: Vec<(&'a SentLine, Option<u64>)>,
    bytes: usize,
}

impl<'a> NewLines<'a> {
    fn add(&mut self, line: &'a SentLine, number: Option<u64>) {
        self.bytes += line.kept.len();
        self.lines.push((line, number));
    }

    fn finish(self) -> Vec<ReadLine> {
        let mut bytes = BytesMut::with_capacity(self.bytes);
        let lines = self.lines.into_iter().map(|(line, number)| {
            bytes.extend_from_slice(&line.kept);
            ReadLine {
                id: line.id.clone(),
                number,
                date: line.written.unwrap_or(0),
                line: bytes.split().freeze(),
            }
        });
        lines.collect()
    }
}

/// A date that most lines of a window are near to; single ones may be far off.
fn middle(dates: &[i64]) -> Option<i64> {
    let mut dates = dates.to_vec();
    dates.sort_unstable();
    dates.get(dates.len() / 2).copied()
}
