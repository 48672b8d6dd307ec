//! The article numbers of one newsgroup as several nodes agree on them: a log that all of them append to.
//!
//! Whoever gives numbers writes down which article of which server got which; nobody appends without knowing all that stands
//! there. Entries say who an article is by a hash of its Message-ID, so that a number means the same article on every node
//! whichever server a node finds it on. Whatever is in an entry, all nodes make the same of it: a number or an article that
//! stands in an earlier entry is not given again. Entries that cannot be read are kept and mean nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use weir_store::shared::UpstreamKey;

use super::runs::{Run, Runs};
use super::{ArticleNumbers, LARGEST, NumberRun, Server, ServerId};

/// How entries are written.
const VERSION: u8 = 1;

/// Articles that one entry names at most.
pub const MOST_ARTICLES: usize = 500;

/// Bytes of an entry: more than any has.
const LONGEST: usize = 32 * 1024;

/// Articles that one newsgroup's log may name; what comes after them gets no number.
const MOST_BOUND: usize = 4_000_000;

/// Runs of one newsgroup that are known without their articles.
const MOST_RUNS: usize = 200_000;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEntry {
    /// How the numbers begin. Only the first counts.
    Open {
        /// The low mark.
        low: u64,
        /// The high mark.
        high: u64,
        /// Where the room above the low mark ends.
        room_end: u64,
        /// Whose numbers it took.
        lead: Option<UpstreamKey>,
    },
    /// Newsreaders were told that there may be articles up to here.
    Raise {
        /// The high mark.
        high: u64,
    },
    /// Numbers for articles of a server, before these are known.
    Promise {
        /// Whose articles.
        server: UpstreamKey,
        /// The first own number.
        ours: u64,
        /// The server's number for it.
        theirs: u64,
        /// How many.
        length: u64,
    },
    /// Articles that have these numbers.
    Bind {
        /// Who has them.
        server: UpstreamKey,
        /// Own number, the server's number, and the hash of the Message-ID of each.
        articles: Vec<(u64, u64, u64)>,
    },
    /// A server has begun to count again: what stands above says nothing of its numbers any more. Articles keep theirs.
    Renew {
        /// Which server.
        server: UpstreamKey,
        /// How often it has; an entry that does not follow the one before means nothing.
        times: u64,
    },
}

impl LogEntry {
    /// As bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        match self {
            Self::Open {
                low,
                high,
                room_end,
                lead,
            } => {
                bytes.push(1);
                for number in [low, high, room_end] {
                    write_number(&mut bytes, *number);
                }
                bytes.extend(lead.iter().flat_map(|lead| lead.0));
            }
            Self::Raise { high } => {
                bytes.push(2);
                write_number(&mut bytes, *high);
            }
            Self::Promise {
                server,
                ours,
                theirs,
                length,
            } => {
                bytes.push(3);
                bytes.extend(server.0);
                for number in [ours, theirs, length] {
                    write_number(&mut bytes, *number);
                }
            }
            Self::Bind { server, articles } => {
                bytes.push(4);
                bytes.extend(server.0);
                // Most follow each other on both sides.
                let (mut own, mut their) = (0_u64, 0_u64);
                for (ours, theirs, id) in articles {
                    write_number(&mut bytes, zigzag(ours.wrapping_sub(own)));
                    write_number(&mut bytes, zigzag(theirs.wrapping_sub(their)));
                    bytes.extend(id.to_le_bytes());
                    (own, their) = (*ours, *theirs);
                }
            }
            Self::Renew { server, times } => {
                bytes.push(5);
                bytes.extend(server.0);
                write_number(&mut bytes, *times);
            }
        }
        bytes
    }

    /// Reads what [`Self::write`] wrote; `None` if these are other bytes.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        if bytes.len() > LONGEST || take(&mut rest)? != VERSION {
            return None;
        }
        let entry = match take(&mut rest)? {
            1 => Self::Open {
                low: read_number(&mut rest)?,
                high: read_number(&mut rest)?,
                room_end: read_number(&mut rest)?,
                lead: match rest.is_empty() {
                    true => None,
                    false => Some(read_key(&mut rest)?),
                },
            },
            2 => Self::Raise {
                high: read_number(&mut rest)?,
            },
            3 => Self::Promise {
                server: read_key(&mut rest)?,
                ours: read_number(&mut rest)?,
                theirs: read_number(&mut rest)?,
                length: read_number(&mut rest)?,
            },
            4 => {
                let server = read_key(&mut rest)?;
                let (mut own, mut their) = (0_u64, 0_u64);
                let mut articles = Vec::new();
                while !rest.is_empty() {
                    own = own.wrapping_add(unzigzag(read_number(&mut rest)?));
                    their = their.wrapping_add(unzigzag(read_number(&mut rest)?));
                    let (id, after) = rest.split_first_chunk()?;
                    rest = after;
                    if articles.len() == MOST_ARTICLES {
                        return None;
                    }
                    articles.push((own, their, u64::from_le_bytes(*id)));
                }
                Self::Bind { server, articles }
            }
            5 => Self::Renew {
                server: read_key(&mut rest)?,
                times: read_number(&mut rest)?,
            },
            _ => return None,
        };
        rest.is_empty().then_some(entry)
    }
}

/// Whether an entry was written by a newer Weir.
fn is_newer(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|&version| version > VERSION)
}

/// A difference as a number that is small if it is, up or down.
fn zigzag(difference: u64) -> u64 {
    let signed = difference.cast_signed();
    (signed.wrapping_shl(1) ^ (signed >> 63)).cast_unsigned()
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ 0_u64.wrapping_sub(number & 1)
}

fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7F) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(rest: &mut &[u8]) -> Option<u8> {
    let (&first, after) = rest.split_first()?;
    *rest = after;
    Some(first)
}

fn read_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = take(rest)?;
        let part = u64::from(byte & 0x7F);
        if shift == 63 && part > 1 {
            return None;
        }
        number |= part << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn read_key(rest: &mut &[u8]) -> Option<UpstreamKey> {
    let (key, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(UpstreamKey(*key))
}

/// The log as this node knows it, and what it says.
#[derive(Clone, Debug, Default)]
pub struct NumberLog {
    entries: Vec<Arc<[u8]>>,
    opened: bool,
    low: u64,
    high: u64,
    room_end: u64,
    lead: Option<UpstreamKey>,
    runs: BTreeMap<UpstreamKey, Runs>,
    run_count: usize,
    /// How often servers have begun again.
    renewed: BTreeMap<UpstreamKey, u64>,
    ids: HashMap<u64, u64>,
    numbers: HashMap<u64, u64>,
    newer: bool,
}

impl NumberLog {
    /// A log of these entries.
    pub fn of(entries: impl IntoIterator<Item = Arc<[u8]>>) -> Self {
        let mut log = Self::default();
        for entry in entries {
            log.append(entry);
        }
        log
    }

    /// Takes an entry in; gives it if it can be read and means something.
    pub fn append(&mut self, bytes: Arc<[u8]>) -> Option<LogEntry> {
        let entry = LogEntry::read(&bytes);
        self.newer |= is_newer(&bytes);
        self.entries.push(bytes);
        match entry.as_ref()? {
            LogEntry::Open {
                low,
                high,
                room_end,
                lead,
            } => {
                if !self.opened && *low >= 1 && *low <= LARGEST && *high < LARGEST {
                    self.opened = true;
                    self.low = *low;
                    self.high = self.high.max(*high).max(low - 1);
                    self.room_end = (*room_end).clamp(*low, self.high + 1);
                    self.lead = *lead;
                }
            }
            LogEntry::Raise { high } => self.raise(*high),
            LogEntry::Promise {
                server,
                ours,
                theirs,
                length,
            } => {
                let end = |start: u64| start.checked_add(*length).filter(|&end| end <= LARGEST);
                if let (Some(end), Some(_)) = (end(*ours), end(*theirs))
                    && *ours > 0
                    && *length > 0
                {
                    self.run(*server, *ours, *theirs, *length);
                    self.raise(end - 1);
                    self.room_end = self.room_end.min(*ours);
                }
            }
            LogEntry::Bind { server, articles } => {
                for &(ours, theirs, id) in articles {
                    if (1..LARGEST).contains(&ours) && theirs < LARGEST {
                        self.bind(*server, ours, theirs, id);
                    }
                }
            }
            LogEntry::Renew { server, times } => {
                if self.renewals(*server).checked_add(1) != Some(*times) {
                    return None;
                }
                self.renewed.insert(*server, *times);
                self.runs.remove(server);
            }
        }
        entry
    }

    fn bind(&mut self, server: UpstreamKey, ours: u64, theirs: u64, id: u64) {
        let known = self.ids.get(&ours).copied();
        let free = known.is_none() && !self.numbers.contains_key(&id);
        if free && self.ids.len() < MOST_BOUND {
            self.ids.insert(ours, id);
            self.numbers.insert(id, ours);
            self.raise(ours);
            self.room_end = self.room_end.min(ours);
        } else if known != Some(id) {
            return;
        }
        if theirs > 0 {
            self.run(server, ours, theirs, 1);
        }
    }

    fn run(&mut self, server: UpstreamKey, ours: u64, theirs: u64, length: u64) {
        if self.run_count < MOST_RUNS {
            let added = self
                .runs
                .entry(server)
                .or_default()
                .add(ours, theirs, length);
            self.run_count += usize::from(added);
        }
    }

    fn raise(&mut self, high: u64) {
        if high < LARGEST {
            self.high = self.high.max(high);
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries.
    pub fn entries(&self) -> &[Arc<[u8]>] {
        &self.entries
    }

    /// Whether it says how the numbers begin.
    pub fn is_open(&self) -> bool {
        self.opened
    }

    /// Whether more numbers may be given: not if a newer Weir has written what is not understood here, or there are too many.
    pub fn is_writable(&self) -> bool {
        !self.newer && self.ids.len() + MOST_ARTICLES < MOST_BOUND
    }

    /// The highest number that was given or promised.
    pub fn high(&self) -> u64 {
        self.high
    }

    /// The number of an article, by the hash of its ID.
    pub fn number_of(&self, id: u64) -> Option<u64> {
        self.numbers.get(&id).copied()
    }

    /// The article that has a number.
    pub fn id_of(&self, number: u64) -> Option<u64> {
        self.ids.get(&number).copied()
    }

    /// How often a server has begun to count again.
    pub fn renewals(&self, server: UpstreamKey) -> u64 {
        self.renewed.get(&server).copied().unwrap_or(0)
    }

    /// Whether it does not say where a server that has begun again has the article of a number.
    pub fn lacks(&self, server: UpstreamKey, number: u64) -> bool {
        let runs = self.runs.get(&server);
        let has = runs.is_some_and(|runs| runs.their_of(number).is_some());
        !has && self.renewals(server) > 0
    }

    /// Whether a server that is not among these has numbers.
    pub fn has_others(&self, servers: &[(UpstreamKey, ServerId)]) -> bool {
        let known = |key: &UpstreamKey| servers.iter().any(|(other, _)| other == key);
        self.runs.keys().any(|key| !known(key))
    }

    /// Memory that it takes, about.
    pub fn bytes(&self) -> usize {
        let entries: usize = self.entries.iter().map(|entry| entry.len() + 32).sum();
        entries + self.ids.len() * 64 + (self.run_count + self.renewed.len()) * 96
    }
}

impl ArticleNumbers {
    /// The numbers that a log speaks of, before any server was seen.
    pub fn from_log(log: &NumberLog, servers: &[(UpstreamKey, ServerId)]) -> Self {
        let lead = servers.iter().find(|(key, _)| log.lead == Some(*key));
        Self {
            low: log.low.max(1),
            high: log.high,
            room_end: log.room_end,
            lead: lead.map(|(_, server)| *server),
            ..Self::default()
        }
    }

    /// Follows what others wrote: no number that stands there is given again.
    pub fn follow(&mut self, log: &NumberLog) {
        self.high = self.high.max(log.high);
        self.room_end = self.room_end.min(log.room_end);
    }

    /// Takes over the runs of a server that is just seen for the first time here. What it has above them is new.
    pub fn take_runs(&mut self, server: ServerId, key: UpstreamKey, log: &NumberLog) {
        let Some(known) = self.servers.get_mut(&server) else {
            return;
        };
        if known.renewed > 0 || known.runs.numbers() > 0 {
            return;
        }
        if log.renewals(key) > 0 {
            // Not all that it has may be found again yet.
            known.begin_again();
        }
        let Some(runs) = log.runs.get(&key) else {
            return;
        };
        for (ours, Run { theirs, length }) in runs.iter() {
            known.runs.add(ours, theirs, length);
        }
        known.runs.forget_below(known.carried.low);
        let highest = known.runs.highest_theirs();
        if highest > 0 {
            known.mark = known.mark.min(highest);
            known.earlier = known.earlier.min(highest);
        }
    }

    /// Takes over one entry of another node.
    pub fn adopt(
        &mut self,
        entry: &LogEntry,
        servers: &[(UpstreamKey, ServerId)],
        log: &NumberLog,
    ) {
        let id = |key: &UpstreamKey| {
            let found = servers.iter().find(|(other, _)| other == key);
            found.map(|(_, server)| *server)
        };
        match entry {
            LogEntry::Open { .. } | LogEntry::Raise { .. } => {}
            LogEntry::Promise {
                server,
                ours,
                theirs,
                length,
            } => {
                let known = id(server).and_then(|server| self.servers.get_mut(&server));
                let fits =
                    |start: u64| start.checked_add(*length).is_some_and(|end| end <= LARGEST);
                if let Some(known) = known.filter(|_| fits(*ours) && fits(*theirs)) {
                    known.runs.add(*ours, *theirs, *length);
                }
            }
            LogEntry::Bind { server, articles } => {
                let known = id(server).and_then(|server| self.servers.get_mut(&server));
                let Some(known) = known else { return };
                for &(ours, theirs, id) in articles {
                    if log.id_of(ours) == Some(id) && (1..LARGEST).contains(&theirs) {
                        known.runs.add(ours, theirs, 1);
                    }
                }
            }
            LogEntry::Renew { server, .. } => {
                let known = id(server).and_then(|server| self.servers.get_mut(&server));
                if let Some(known) = known {
                    known.begin_again();
                }
            }
        }
    }

    /// The entries with which a newsgroup's numbers begin in a log, the articles left out.
    pub fn opening(&self, key_of: impl Fn(ServerId) -> Option<UpstreamKey>) -> Vec<LogEntry> {
        let open = LogEntry::Open {
            low: self.low.max(1),
            high: self.high,
            room_end: self.room_end,
            lead: self.lead.and_then(&key_of),
        };
        let mut entries = vec![open];
        entries.extend(self.promises_above(0, key_of));
        entries
    }

    /// Runs of numbers above this one, as promises.
    pub fn promises_above(
        &self,
        high: u64,
        key_of: impl Fn(ServerId) -> Option<UpstreamKey>,
    ) -> Vec<LogEntry> {
        let mut promises = Vec::new();
        for NumberRun {
            our_start,
            length,
            server,
            their_start,
        } in self.rows().runs
        {
            let below = (high + 1).saturating_sub(our_start).min(length);
            if let Some(key) = key_of(server)
                && below < length
            {
                promises.push(LogEntry::Promise {
                    server: key,
                    ours: our_start + below,
                    theirs: their_start + below,
                    length: length - below,
                });
            }
        }
        promises
    }

    /// What is known of its servers without their numbers, to begin again with the numbers of a log.
    pub fn begin_with(&self, log: &NumberLog, servers: &[(UpstreamKey, ServerId)]) -> Self {
        let mut numbers = Self::from_log(log, servers);
        for (&server, known) in &self.servers {
            numbers.servers.insert(server, Server::new(known.carried));
        }
        for &(key, server) in servers {
            numbers.take_runs(server, key, log);
        }
        numbers
    }
}
