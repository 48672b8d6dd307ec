//! Newsgroups on servers that are called by numbers: 1 is the first.

use std::collections::{BTreeMap, HashMap};

use weir_news_proto::MessageId;

use super::*;

mod discovery;
mod histories;
mod log;
mod renumbering;
mod rows;
mod sight;
mod windows;
mod world;

const ONE: ServerId = ServerId(1);
const TWO: ServerId = ServerId(2);
const THREE: ServerId = ServerId(3);

/// A shelf that forgets nothing.
#[derive(Clone, Debug, Default)]
struct Kept {
    ids: BTreeMap<u64, MessageId>,
    numbers: HashMap<MessageId, u64>,
}

impl Shelf for Kept {
    fn number_of(&self, id: &MessageId) -> Option<u64> {
        self.numbers.get(id).copied()
    }

    fn id_of(&self, number: u64) -> Option<MessageId> {
        self.ids.get(&number).cloned()
    }
}

impl Kept {
    /// Notes lines and keeps what comes of it, which must not contradict what was kept before.
    fn note(
        &mut self,
        numbers: &mut ArticleNumbers,
        server: ServerId,
        lines: &[(u64, MessageId)],
    ) -> Noted {
        let theirs = lines.iter().map(|line| line.0);
        let window = theirs.clone().min().unwrap_or(1)..=theirs.max().unwrap_or(0);
        let noted = numbers.note(server, window, lines, self);
        assert_eq!(noted.numbers.len(), lines.len());
        for ((_, id), number) in lines.iter().zip(&noted.numbers) {
            let Some(number) = *number else { continue };
            assert!((numbers.low()..=numbers.high()).contains(&number));
            let before = self.ids.insert(number, id.clone());
            assert!(
                before.is_none_or(|before| before == *id),
                "{number} was another article"
            );
            let before = self.numbers.insert(id.clone(), number);
            assert!(
                before.is_none_or(|before| before == number),
                "{id} had another number"
            );
        }
        noted
    }
}

fn carried(low: u64, high: u64) -> Carried {
    let count = (high + 1).saturating_sub(low);
    Carried { low, high, count }
}

fn id(name: &str) -> MessageId {
    MessageId::from_bare(&format!("{name}@x")).expect("a name makes an ID")
}

/// Lines from a number on, one for each name.
fn lines(first: u64, names: &str) -> Vec<(u64, MessageId)> {
    (first..).zip(names.split_whitespace().map(id)).collect()
}
