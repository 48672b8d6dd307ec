//! What has to be written down so that numbers survive a restart: plain rows, out and in.

use super::runs::Run;
use super::{ArticleNumbers, Carried, LARGEST, Server, ServerId};

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberRun {
    /// The first own number. With the server it names the row.
    pub our_start: u64,
    /// How many numbers.
    pub length: u64,
    /// Whose numbers they stand for.
    pub server: ServerId,
    /// The server's first number.
    pub their_start: u64,
}

/// The marks of a newsgroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberMarks {
    /// The low mark.
    pub low: u64,
    /// The high mark.
    pub high: u64,
    /// Where the room above the low mark ends.
    pub room_end: u64,
    /// Whose numbers it took.
    pub lead: Option<ServerId>,
}

/// What is known of a server in this newsgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerMarks {
    /// Which server.
    pub server: ServerId,
    /// What it last said.
    pub carried: Carried,
    /// Up to here its numbers have been dealt with.
    pub mark: u64,
    /// Up to here its articles are from before it was seen.
    pub earlier: u64,
    /// How far its numbers went when it last began again.
    pub renewed: u64,
}

/// Everything about a newsgroup's numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumberRows {
    /// One row.
    pub marks: NumberMarks,
    /// A row per server.
    pub servers: Vec<ServerMarks>,
    /// In any order.
    pub runs: Vec<NumberRun>,
}

/// What to write so that what was written before is right again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumberChanges {
    /// The row of the newsgroup.
    pub marks: NumberMarks,
    /// All rows of servers; those of others go.
    pub servers: Vec<ServerMarks>,
    /// Runs that are no more, by server and our start; to be deleted before others are written.
    pub gone: Vec<(ServerId, u64)>,
    /// Runs that are new or have another length or place.
    pub runs: Vec<NumberRun>,
}

impl ArticleNumbers {
    /// All rows.
    pub fn rows(&self) -> NumberRows {
        let runs = self.servers.iter().flat_map(|(&server, known)| {
            let runs = known.runs.iter();
            runs.map(move |(our_start, run)| row(server, our_start, run))
        });
        NumberRows {
            marks: self.marks(),
            servers: self.server_marks(),
            runs: runs.collect(),
        }
    }

    /// What changed since this was last asked. A newsgroup read from rows has not changed.
    pub fn take_changes(&mut self) -> NumberChanges {
        let mut changes = NumberChanges {
            marks: self.marks(),
            servers: self.server_marks(),
            gone: std::mem::take(&mut self.gone),
            runs: Vec::new(),
        };
        for (&server, known) in &mut self.servers {
            for (our_start, run) in known.runs.take_changed() {
                match run {
                    Some(run) => changes.runs.push(row(server, our_start, run)),
                    None => changes.gone.push((server, our_start)),
                }
            }
        }
        changes
    }

    /// A newsgroup as its rows say. Rows that contradict others are left out, and no number that is in a
    /// row is ever given again.
    pub fn from_rows(rows: &NumberRows) -> Self {
        let marks = rows.marks;
        let mut numbers = Self {
            low: marks.low.clamp(1, LARGEST),
            high: marks.high.min(LARGEST),
            room_end: marks.room_end,
            lead: marks.lead,
            ..Self::default()
        };
        let servers = rows
            .servers
            .iter()
            .map(|row| (row.server, Server::from(row)));
        numbers.servers.extend(servers);
        for row in &rows.runs {
            let end = |start: u64| start.checked_add(row.length).filter(|&end| end <= LARGEST);
            let (Some(our_end), Some(_)) = (end(row.our_start), end(row.their_start)) else {
                continue;
            };
            if let Some(known) = numbers.servers.get_mut(&row.server)
                && known.runs.add(row.our_start, row.their_start, row.length)
            {
                numbers.high = numbers.high.max(our_end - 1);
                numbers.room_end = numbers.room_end.min(row.our_start);
            }
        }
        for known in numbers.servers.values_mut() {
            known.runs.take_changed();
        }
        numbers.room_end = numbers.room_end.min(numbers.high + 1);
        numbers
    }

    fn marks(&self) -> NumberMarks {
        NumberMarks {
            low: self.low,
            high: self.high,
            room_end: self.room_end,
            lead: self.lead,
        }
    }

    fn server_marks(&self) -> Vec<ServerMarks> {
        let servers = self.servers.iter();
        let marks = servers.map(|(&server, known)| ServerMarks {
            server,
            carried: known.carried,
            mark: known.mark,
            earlier: known.earlier,
            renewed: known.renewed,
        });
        marks.collect()
    }
}

impl From<&ServerMarks> for Server {
    fn from(row: &ServerMarks) -> Self {
        Self {
            carried: row.carried.checked().unwrap_or(Carried::NOTHING),
            mark: row.mark.min(LARGEST),
            earlier: row.earlier.min(LARGEST),
            renewed: row.renewed.min(LARGEST),
            ..Self::default()
        }
    }
}

fn row(server: ServerId, our_start: u64, run: Run) -> NumberRun {
    NumberRun {
        our_start,
        length: run.length,
        server,
        their_start: run.theirs,
    }
}
