//! The numbers of a newsgroup's articles that wait to be written.

use std::collections::HashMap;

use weir_news_proto::MessageId;

use super::work::Keep;

/// Each with the order of the entry that last said so.
#[derive(Default)]
pub(super) struct WaitingNumbers {
    by_id: HashMap<MessageId, (u64, Option<u64>)>,
    by_number: HashMap<u64, (u64, MessageId)>,
}

impl WaitingNumbers {
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

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty() && self.by_number.is_empty()
    }

    /// The number that an article is about to have, if that changes.
    pub(super) fn number_of(&self, id: &MessageId) -> Option<Option<u64>> {
        Some(self.by_id.get(id)?.1)
    }

    /// The article that is about to have a number.
    pub(super) fn id_of(&self, number: u64) -> Option<MessageId> {
        let (_, id) = self.by_number.get(&number)?;
        (self.by_id.get(id)?.1 == Some(number)).then(|| id.clone())
    }
}

/// Numbers that are given or taken; a line without a number leaves the article's as it is.
fn given(keep: &Keep) -> impl Iterator<Item = (&MessageId, Option<u64>)> {
    let lines = keep.lines.iter().filter(|line| line.number.is_some());
    let lines = lines.map(|line| (&line.id, line.number));
    let renumbered = keep.renumbered.iter();
    renumbered.map(|(id, number)| (id, *number)).chain(lines)
}
