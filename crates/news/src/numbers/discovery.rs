//! Lines that a server sent: who has a number already, and who gets one now.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use weir_news_proto::MessageId;

use super::{ArticleNumbers, LARGEST, Numbering, ServerId, Shelf};

/// What became of the lines of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Whether these lines show that the server has begun again.
    pub numbering: Numbering,
    /// The own number of each line, in the order in which they were given. An article without one can be
    /// read on the web only. Whoever keeps the shelf has to write them down.
    pub numbers: Vec<Option<u64>>,
    /// Whether some would have got a number if one could have been given.
    pub withheld: bool,
}

/// The lines of one window while they are looked at.
struct Sheet<'a> {
    lines: &'a [(u64, MessageId)],
    numbers: Vec<Option<u64>>,
    /// Numbers of articles in this window; the shelf does not know those just given.
    fresh: HashMap<&'a MessageId, u64>,
    /// Lines of articles from earlier that have no number, ascending.
    earlier: Vec<usize>,
    /// Whether numbers are given.
    give: bool,
    withheld: bool,
}

impl ArticleNumbers {
    /// Takes in what a server sent when it was asked for a window: its number and the ID of each line, in
    /// any order. A server that was never seen has no numbers.
    pub fn note(
        &mut self,
        server: ServerId,
        window: RangeInclusive<u64>,
        lines: &[(u64, MessageId)],
        shelf: &impl Shelf,
    ) -> Noted {
        self.note_with(server, window, lines, shelf, true)
    }

    /// The same; unless it may `give`, only numbers that were given or promised before are told.
    pub fn note_with(
        &mut self,
        server: ServerId,
        window: RangeInclusive<u64>,
        lines: &[(u64, MessageId)],
        shelf: &impl Shelf,
        give: bool,
    ) -> Noted {
        let mut noted = Noted {
            numbering: Numbering::Same,
            numbers: vec![None; lines.len()],
            withheld: false,
        };
        let Some(known) = self.servers.get_mut(&server) else {
            return noted;
        };
        let differs = |(theirs, id): &(u64, MessageId)| {
            let own = known.runs.own_of(*theirs);
            let same = own.and_then(|own| shelf.means(own, id));
            same == Some(false)
        };
        if lines.iter().any(differs) {
            known.begin_again();
            noted.numbering = Numbering::New;
        }
        let mut sheet = Sheet {
            lines,
            numbers: noted.numbers,
            fresh: HashMap::with_capacity(lines.len()),
            earlier: Vec::new(),
            give,
            withheld: false,
        };
        // By its ID alone, an article has no number on the server (RFC 3977 §6.2.1: 0).
        let numbered = |&line: &usize| (1..=LARGEST).contains(&lines[line].0);
        let mut order: Vec<usize> = (0..lines.len()).filter(numbered).collect();
        order.sort_by_key(|&line| lines[line].0);
        for line in order {
            self.note_line(server, line, &mut sheet, shelf);
        }
        self.fill_room(server, &mut sheet);
        noted.withheld = sheet.withheld;
        if let Some(known) = self.servers.get_mut(&server)
            && !sheet.withheld
        {
            known.pass(&window);
        }
        noted.numbers = sheet.numbers;
        noted
    }

    fn note_line(
        &mut self,
        server: ServerId,
        line: usize,
        sheet: &mut Sheet<'_>,
        shelf: &impl Shelf,
    ) {
        let (theirs, id) = &sheet.lines[line];
        let theirs = *theirs;
        let Some(known) = self.servers.get_mut(&server) else {
            return;
        };
        known.carried.high = known.carried.high.max(theirs);
        let has = sheet.fresh.get(id).copied().or_else(|| shelf.number_of(id));
        let number = match (known.runs.own_of(theirs), has) {
            (Some(promised), None) => promised,
            (Some(promised), Some(has)) if promised == has => has,
            (promised, Some(has)) => {
                // Another server, or another line, brought it before.
                if let Some(promised) = promised {
                    known.runs.remove(promised);
                }
                if has >= self.low {
                    known.add(has, theirs);
                }
                has
            }
            (None, None) if theirs <= known.earlier => {
                sheet.earlier.push(line);
                return;
            }
            (None, None) if self.high >= LARGEST => return,
            (None, None) if !sheet.give => {
                sheet.withheld = true;
                return;
            }
            (None, None) => {
                self.high += 1;
                known.add(self.high, theirs);
                self.high
            }
        };
        sheet.fresh.insert(id, number);
        sheet.numbers[line] = Some(number).filter(|&number| number >= self.low);
    }

    /// Gives articles from earlier the room below, from its top down and to the newest first: windows
    /// are fetched that way round, so the numbers ascend as the server's do.
    fn fill_room(&mut self, server: ServerId, sheet: &mut Sheet<'_>) {
        let lines = sheet.lines;
        while let Some(line) = sheet.earlier.pop() {
            let (theirs, id) = &lines[line];
            let number = match sheet.fresh.get(id) {
                Some(&number) => number,
                None if self.room() == 0 => continue,
                None if !sheet.give => {
                    sheet.withheld = true;
                    continue;
                }
                None => {
                    self.room_end -= 1;
                    self.room_end
                }
            };
            if let Some(known) = self.servers.get_mut(&server) {
                known.add(number, *theirs);
            }
            sheet.fresh.insert(id, number);
            sheet.numbers[line] = Some(number).filter(|&number| number >= self.low);
        }
    }
}
