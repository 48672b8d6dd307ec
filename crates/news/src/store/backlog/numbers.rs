//! The numbers of a newsgroup's articles that wait to be written.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use weir_news_proto::MessageId;

use super::super::kept::{NumberedRow, ReadLine};
use super::work::Keep;

/// Each with the order of the entry that last said so.
#[derive(Default)]
pub(super) struct WaitingNumbers {
    by_id: HashMap<MessageId, (u64, Option<u64>)>,
    by_number: HashMap<u64, (u64, MessageId)>,
    /// The order of an entry that takes all numbers away which the file has.
    forgotten: Option<u64>,
}

/// What waits to be written of the articles with numbers in a range.
pub(in crate::store) struct WaitingRows {
    numbers: RangeInclusive<u64>,
    /// The numbers that the file has are about to be taken away, all of them.
    forgotten: bool,
    /// The number that each article is about to have, if any.
    given: HashMap<MessageId, Option<u64>>,
    lines: HashMap<MessageId, Vec<u8>>,
}

impl WaitingNumbers {
    /// After an entry that takes all numbers away, if there is one.
    pub(super) fn after(forgotten: Option<u64>) -> Self {
        Self {
            forgotten,
            ..Self::default()
        }
    }

    pub(super) fn note(&mut self, keep: &Keep, order: u64) {
        for (id, number) in given(keep) {
            self.by_id.insert(id.clone(), (order, number));
            if let Some(number) = number {
                self.by_number.insert(number, (order, id.clone()));
            }
        }
    }

    /// Forgets what is written. Says whether nothing is left.
    pub(super) fn forget(&mut self, keep: &Keep, order: u64) -> bool {
        for (id, number) in given(keep) {
            if self.by_id.get(id).is_some_and(|known| known.0 == order) {
                self.by_id.remove(id);
            }
            if let Some(number) = number
                && self
                    .by_number
                    .get(&number)
                    .is_some_and(|known| known.0 == order)
            {
                self.by_number.remove(&number);
            }
        }
        self.is_empty()
    }

    /// The same for all numbers being taken away.
    pub(super) fn took_away(&mut self, order: u64) -> bool {
        self.forgotten = self.forgotten.filter(|forgotten| *forgotten != order);
        self.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty() && self.by_number.is_empty() && self.forgotten.is_none()
    }

    /// The number that an article is about to have, if that changes.
    pub(super) fn number_of(&self, id: &MessageId) -> Option<Option<u64>> {
        let given = self.by_id.get(id).map(|known| known.1);
        given.or(self.forgotten.map(|_| None))
    }

    /// The article that is about to have a number.
    pub(super) fn id_of(&self, number: u64) -> Option<MessageId> {
        let (_, id) = self.by_number.get(&number)?;
        (self.by_id.get(id)?.1 == Some(number)).then(|| id.clone())
    }
}

impl WaitingRows {
    pub(super) fn new(numbers: &RangeInclusive<u64>, forgotten: bool) -> Self {
        Self {
            numbers: numbers.clone(),
            forgotten,
            given: HashMap::new(),
            lines: HashMap::new(),
        }
    }

    pub(super) fn note(&mut self, keep: &Keep) {
        let renumbered = keep.renumbered.iter().cloned();
        self.given.extend(renumbered);
        for ReadLine {
            number, id, line, ..
        } in &keep.lines
        {
            // An article gets another number only after the one before was taken away.
            if number.is_some_and(|number| self.numbers.contains(&number)) {
                self.given.insert(id.clone(), *number);
                self.lines.insert(id.clone(), line.to_vec());
            }
        }
    }

    /// What the file will have, when it has these now. Some of what waits may have been written before they were read.
    pub(in crate::store) fn over(mut self, rows: Vec<NumberedRow>) -> Vec<NumberedRow> {
        let stays = |row: &NumberedRow| match self.given.get(&row.id) {
            Some(number) => *number == Some(row.number),
            None => !self.forgotten,
        };
        let stay = rows.into_iter().filter(stays);
        let mut all: BTreeMap<u64, NumberedRow> = stay.map(|row| (row.number, row)).collect();
        for (id, number) in self.given {
            let Some(number) = number.filter(|number| self.numbers.contains(number)) else {
                continue;
            };
            let line = self.lines.remove(&id);
            let there = all.entry(number).or_insert_with(|| NumberedRow {
                number,
                id: id.clone(),
                line: None,
            });
            // What waits may be the line that the file has lost. A number that is another's is not given again.
            if there.line.is_none() && there.id == id {
                there.line = line;
            }
        }
        all.into_values().collect()
    }
}

/// Numbers that are given or taken; a line without a number leaves the article's as it is.
fn given(keep: &Keep) -> impl Iterator<Item = (&MessageId, Option<u64>)> {
    let lines = keep.lines.iter().filter(|line| line.number.is_some());
    let lines = lines.map(|line| (&line.id, line.number));
    let renumbered = keep.renumbered.iter();
    renumbered.map(|(id, number)| (id, *number)).chain(lines)
}
