//! Lines of a newsgroup's overview by own numbers, from the store or from whichever servers have them.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesOrdered;
use weir_engine::Got;
use weir_engine::dispatch::Asker;
use weir_net::{BoxFuture, aside};
use weir_news_proto::{MessageId, Newsgroup};

use super::xref;
use crate::call::AskWindow;
use crate::coverage::Coverage;
use crate::federation::{NoAnswer, Owed, Unheard, patience};
use crate::judge::NewsFault;
use crate::model::Model;
use crate::newsgroup::{HeldNewsgroup, OpenNewsgroup};
use crate::numbers::{ArticleNumbers, MAX_LINES, Numbering, ServerId, joined};
use crate::policy::NORMAL;
use crate::reading::{SilentServer, Unread};
use crate::server::Server;
use crate::silence::{busy, silent};

/// Stretches that are looked up while the first of them is written to the reader.
const AHEAD: usize = 4;

/// How often servers are asked for the lines of a stretch before it is given up. Once is enough, unless one is down or
/// begins to count again.
const ROUNDS: usize = 12;

/// Of how many numbers a stretch may be, for each line that it is to have, where few numbers stand for articles.
const SPARSE: u64 = 16;

/// Numbers of a server that are asked for together with a single one: readers go from one to the next.
const NEIGHBOURS: u64 = 32;

/// Other newsgroups are looked up on the spot for so many lines.
const FEW: usize = 100;

/// A line of an overview under its own number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedLine {
    /// Its number.
    pub number: u64,
    /// The article's ID.
    pub id: MessageId,
    /// What follows the number and its tab, without the end of the line; the last field is our own `Xref`, with its name.
    pub fields: Bytes,
}

/// The lines of a range, batch by batch. Dropped, it leaves the rest unread.
pub struct NumberedLines {
    model: Option<Arc<Model>>,
    name: Newsgroup,
    asker: Asker,
    open: Option<Arc<OpenNewsgroup>>,
    /// What has not been looked at.
    rest: RangeInclusive<u64>,
    ahead: FuturesOrdered<BoxFuture<'static, Result<Vec<NumberedLine>, Unread>>>,
    ready: VecDeque<Vec<NumberedLine>>,
    failed: Option<Unread>,
}

/// A stretch of numbers while its lines are gathered.
struct Sheet {
    numbers: RangeInclusive<u64>,
    lines: BTreeMap<u64, (MessageId, Vec<u8>)>,
    /// Numbers whose articles are known to the store, which does not have their lines.
    bare: HashSet<u64>,
    /// Whether it is sure that the store has been looked at.
    sure: bool,
    /// What servers were asked for this stretch, by their own numbers.
    asked: HashMap<ServerId, Coverage>,
    failed: Vec<ServerId>,
    silents: Vec<SilentServer>,
    /// The records of those that gave nothing.
    owed: Owed,
    busy: Option<u64>,
    /// Numbers that a window may have.
    width: u64,
}

/// What has to be asked for a stretch.
#[derive(Default)]
struct Plan {
    windows: Vec<(ServerId, RangeInclusive<u64>)>,
    /// Servers that nobody else can stand in for.
    sole: HashSet<ServerId>,
    /// Nobody is left who can be asked for one of the numbers.
    stuck: bool,
}

/// What a server said to a window.
struct Heard {
    server: Arc<Server>,
    window: RangeInclusive<u64>,
    told: Result<(Vec<TakenLine>, Numbering), Unheard>,
}

/// A line that a server sent: its own number there, whose it is, and what is kept of it.
type TakenLine = (u64, MessageId, Vec<u8>);

impl Model {
    /// The lines of the articles with these numbers, ascending. Nothing is looked up before the first batch is asked for.
    pub fn numbered_lines(
        &self,
        name: &Newsgroup,
        range: RangeInclusive<u64>,
        asker: Asker,
    ) -> NumberedLines {
        NumberedLines {
            model: self.me.upgrade(),
            name: name.clone(),
            asker,
            open: None,
            rest: range,
            ahead: FuturesOrdered::new(),
            ready: VecDeque::new(),
            failed: None,
        }
    }

    /// The lines of a stretch, by the deadline.
    async fn stretch(
        &self,
        open: &OpenNewsgroup,
        numbers: RangeInclusive<u64>,
        asker: Asker,
    ) -> Result<Vec<NumberedLine>, Unread> {
        let until = self.deadline();
        let gathered = self.in_time(self.gather(open, numbers, asker), until).await;
        let lines = gathered.unwrap_or(Err(Unread::Unreachable(Vec::new())))?;
        Ok(self.finish(&open.name, lines).await)
    }

    async fn gather(
        &self,
        open: &OpenNewsgroup,
        numbers: RangeInclusive<u64>,
        asker: Asker,
    ) -> Result<BTreeMap<u64, (MessageId, Vec<u8>)>, Unread> {
        let mut sheet = self.stored(open, numbers).await;
        let mut misses = false;
        for _ in 0..ROUNDS {
            let servers = self.reading_order();
            let plan = open.with(|state| sheet.plan(state, &servers));
            if plan.stuck {
                break;
            }
            if plan.windows.is_empty() {
                sheet.owed.got(Got::Elsewhere);
                if !misses {
                    self.count_hit();
                }
                return Ok(sheet.lines);
            }
            if !std::mem::replace(&mut misses, true) {
                self.count_miss();
            }
            let asked = plan.windows.into_iter().map(|(server, window)| {
                let sole = plan.sole.contains(&server);
                self.ask_window(open, server, window, sole, asker)
            });
            for heard in join_all(asked).await.into_iter().flatten() {
                self.hear_window(open, &mut sheet, heard);
            }
        }
        Err(sheet.failure())
    }

    /// What the store has of a stretch.
    async fn stored(&self, open: &OpenNewsgroup, numbers: RangeInclusive<u64>) -> Sheet {
        let rows = self.file.numbered(&open.name, numbers.clone()).await;
        let mut sheet = Sheet {
            width: self.width(open),
            sure: rows.is_some(),
            numbers,
            lines: BTreeMap::new(),
            bare: HashSet::new(),
            asked: HashMap::new(),
            failed: Vec::new(),
            silents: Vec::new(),
            owed: self.federation.owed(),
            busy: None,
        };
        for row in rows.unwrap_or_default() {
            match row.line {
                Some(line) => drop(sheet.lines.insert(row.number, (row.id, line))),
                None => drop(sheet.bare.insert(row.number)),
            }
        }
        sheet
    }

    /// Numbers that a stretch has: as many as lines are asked for at once, or more where few stand for articles.
    fn width(&self, open: &OpenNewsgroup) -> u64 {
        let lines = u64::from(self.rules.load().window_lines).clamp(1, MAX_LINES);
        let servers = self.federation.in_order();
        // Each number costs a command.
        if servers.iter().any(|server| server.link.asks_one_by_one()) {
            return lines;
        }
        let holes = open.with(|state| {
            let numbers = state.numbers.as_ref()?;
            let span = (numbers.high() + 1).saturating_sub(numbers.low());
            span.checked_div(numbers.count())
        });
        lines * holes.unwrap_or(1).clamp(1, SPARSE)
    }

    /// Asks a server for a window and takes its lines in; nothing if it is no longer configured.
    async fn ask_window(
        &self,
        open: &OpenNewsgroup,
        id: ServerId,
        window: RangeInclusive<u64>,
        sole: bool,
        asker: Asker,
    ) -> Option<Heard> {
        let mut servers = self.federation.in_order().into_iter();
        let server = servers.find(|server| self.server_id(server) == id)?;
        let question = AskWindow {
            newsgroup: open.name.clone(),
            low: *window.start(),
            high: *window.end(),
        };
        let (turn, until) = ((NORMAL, asker), patience(NORMAL, sole));
        let asked = self.federation.ask_until(&server, question, turn, until);
        let told = match asked.await {
            Ok(told) => {
                let (lines, now) = (&told.lines, self.now().1);
                let mut taken = self.take_in(open, id, &window, lines, now).await;
                let numbers = std::mem::take(&mut taken.numbers);
                let numbering = taken.numbering;
                self.keep_lines(open, id, taken);
                let numbered = lines.iter().zip(numbers);
                let numbered = numbered.filter_map(|(line, number)| {
                    Some((number?, line.id.clone(), line.kept.clone()))
                });
                Ok((numbered.collect(), numbering))
            }
            Err(why) => Err(why),
        };
        Some(Heard {
            server,
            window,
            told,
        })
    }

    fn hear_window(&self, open: &OpenNewsgroup, sheet: &mut Sheet, heard: Heard) {
        let Heard {
            server,
            window,
            told,
        } = heard;
        let id = self.server_id(&server);
        match told {
            Ok((lines, numbering)) => {
                let asked = sheet.asked.entry(id).or_default();
                if numbering == Numbering::New {
                    *asked = Coverage::default();
                }
                asked.add(&window);
                for (number, id, line) in lines {
                    if sheet.numbers.contains(&number) {
                        sheet.lines.entry(number).or_insert((id, line));
                    }
                }
                self.hear(open, &server, None);
            }
            // Fewer numbers stand for nothing here than elsewhere in the newsgroup.
            Err(Unheard {
                why: NoAnswer::Fault(NewsFault::TooLong(_)),
                owed,
            }) if window.start() < window.end() => {
                owed.asked_again();
                let numbers = window.end() - window.start() + 1;
                sheet.width = sheet.width.min(numbers / 2).max(1);
            }
            Err(Unheard { why, owed }) => {
                sheet.owed.add(owed);
                self.hear(open, &server, Some(&why));
                sheet.failed.push(id);
                sheet.silents.push(silent(&self.engine, &server, &why));
                sheet.busy = sheet.busy.or(busy(&why));
            }
        }
    }

    /// Writes lines as newsreaders get them.
    async fn finish(
        &self,
        name: &Newsgroup,
        lines: BTreeMap<u64, (MessageId, Vec<u8>)>,
    ) -> Vec<NumberedLine> {
        let others = lines.values().filter(|(_, line)| xref::has_others(line));
        let Some(model) = self.me.upgrade().filter(|_| others.count() > FEW) else {
            return self.write_all(name, lines);
        };
        let name = name.clone();
        aside(move || model.write_all(&name, lines)).await
    }

    fn write_all(
        &self,
        name: &Newsgroup,
        lines: BTreeMap<u64, (MessageId, Vec<u8>)>,
    ) -> Vec<NumberedLine> {
        let host = self.host();
        let lines = lines.into_iter().map(|(number, (id, line))| {
            let fields = self.with_xref(&host, (name, number), &id, line);
            NumberedLine {
                number,
                id,
                fields: fields.into(),
            }
        });
        lines.collect()
    }
}

impl Sheet {
    /// What to ask next.
    fn plan(&self, state: &HeldNewsgroup, servers: &[ServerId]) -> Plan {
        let mut plan = Plan::default();
        let Some(numbers) = &state.numbers else {
            return plan;
        };
        let mut wanted: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
        let mut next = *self.numbers.start();
        while let Some(number) = numbers.next(next, servers)
            && number <= *self.numbers.end()
        {
            next = number + 1;
            if self.lines.contains_key(&number) {
                continue;
            }
            let mut able = self.able(state, numbers, servers, number);
            let mut others = able
                .clone()
                .filter(|(rank, _)| !self.failed.contains(&servers[*rank]));
            match others.next() {
                Some((rank, theirs)) => {
                    wanted.entry(rank).or_default().push((theirs, theirs));
                    if others.next().is_none() {
                        plan.sole.insert(servers[rank]);
                    }
                }
                None => plan.stuck |= able.next().is_some(),
            }
        }
        for (rank, pieces) in wanted {
            let server = servers[rank];
            let reach = numbers.reach(server);
            for (first, last) in joined(pieces, self.width) {
                // None of them is new to us, so no other gets its number early.
                let end = first
                    .saturating_add(NEIGHBOURS.min(self.width) - 1)
                    .min(reach);
                plan.windows.push((server, first..=last.max(end)));
            }
        }
        plan
    }

    /// Servers that may have the line of a number, by their places in the order, each with its own number for it.
    fn able<'a>(
        &'a self,
        state: &'a HeldNewsgroup,
        numbers: &'a ArticleNumbers,
        servers: &'a [ServerId],
        number: u64,
    ) -> impl Iterator<Item = (usize, u64)> + Clone + 'a {
        // What has been fetched and is not known is not there, as long as nothing known was lost.
        let lost = !self.sure && state.beyond;
        let known = lost || self.bare.contains(&number) || state.table.numbered(number).is_some();
        servers.iter().enumerate().filter_map(move |(rank, id)| {
            let theirs = numbers.theirs(*id, number)?;
            let asked = self.asked.get(id);
            let fetched = state.servers.get(id).map(|progress| &progress.coverage);
            let is_hole = asked.is_some_and(|asked| asked.has(theirs))
                || (!known && fetched.is_some_and(|fetched| fetched.has(theirs)));
            (!is_hole).then_some((rank, theirs))
        })
    }

    fn failure(self) -> Unread {
        match self.busy {
            Some(retry_after) => Unread::Busy { retry_after },
            None => Unread::Unreachable(self.silents),
        }
    }
}

impl NumberedLines {
    /// The next lines, at most 500, ascending and above all before; `None` after the last.
    ///
    /// # Errors
    /// Why the next ones are not to be had, now and whenever it is asked again. What came before is right.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub async fn next(&mut self) -> Result<Option<Vec<NumberedLine>>, Unread> {
        let next = self.advance().await;
        if let Err(why) = &next {
            self.failed = Some(why.clone());
            self.ahead.clear();
        }
        next
    }

    async fn advance(&mut self) -> Result<Option<Vec<NumberedLine>>, Unread> {
        if let Some(why) = &self.failed {
            return Err(why.clone());
        }
        let Some(model) = self.model.clone() else {
            return Err(Unread::Unreachable(Vec::new()));
        };
        let open = match &self.open {
            Some(open) => open.clone(),
            None => {
                let open = model.readable(&self.name, self.asker).await?;
                self.open.insert(open).clone()
            }
        };
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            while self.ahead.len() < AHEAD
                && let Some(numbers) = self.plan(&model, &open)
            {
                let (model, open, asker) = (model.clone(), open.clone(), self.asker);
                self.ahead.push_back(Box::pin(async move {
                    model.stretch(&open, numbers, asker).await
                }));
            }
            let Some(lines) = self.ahead.next().await else {
                return Ok(None);
            };
            let mut lines = lines?.into_iter();
            while let batch = lines.by_ref().take(MAX_LINES as usize).collect::<Vec<_>>()
                && !batch.is_empty()
            {
                self.ready.push_back(batch);
            }
        }
    }

    /// The next stretch that may have lines.
    fn plan(&mut self, model: &Model, open: &OpenNewsgroup) -> Option<RangeInclusive<u64>> {
        if self.rest.is_empty() {
            return None;
        }
        let (first, last) = (*self.rest.start(), *self.rest.end());
        let servers = model.reading_order();
        let (mut start, low, high) = open.with(|state| {
            let numbers = state.numbers.as_ref()?;
            Some((numbers.next(first, &servers), numbers.low(), numbers.high()))
        })?;
        let first = first.max(low);
        if start != Some(first) {
            let stored = model.file.nearest(&self.name, first, true);
            start = start.into_iter().chain(stored).min();
        }
        let last = last.min(high);
        let Some(start) = start.filter(|&start| start <= last) else {
            self.rest = RangeInclusive::new(1, 0);
            return None;
        };
        let end = last.min(start.saturating_add(model.width(open) - 1));
        self.rest = end.saturating_add(1)..=*self.rest.end();
        if end == u64::MAX {
            self.rest = RangeInclusive::new(1, 0);
        }
        Some(start..=end)
    }
}
