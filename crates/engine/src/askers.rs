//! The programs that ask, by number: decisions hold numbers, and whoever tells them wants names.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use weir_dispatch::Asker;

use crate::engine::Engine;

/// More are not remembered: names come from clients, which may send as many as they like.
const MOST: usize = 4096;
/// Characters of a name that are remembered.
const LONGEST: usize = 200;

/// Names of programs.
#[derive(Debug, Default)]
pub(crate) struct Askers(RwLock<Names>);

#[derive(Debug, Default)]
struct Names {
    /// The number of each is its place here, counted from 1.
    all: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Askers {
    pub(crate) fn number(&self, name: &str) -> Asker {
        let end = name.char_indices().nth(LONGEST);
        let name = &name[..end.map_or(name.len(), |(end, _)| end)];
        if let Some(&number) = self.0.read().numbers.get(name) {
            return Asker(number);
        }
        let mut names = self.0.write();
        if let Some(&number) = names.numbers.get(name) {
            return Asker(number);
        }
        if names.all.len() >= MOST {
            return Asker::NOBODY;
        }
        let name: Arc<str> = name.into();
        names.all.push(name.clone());
        let number = u32::try_from(names.all.len()).expect("there are few");
        names.numbers.insert(name, number);
        Asker(number)
    }

    pub(crate) fn name(&self, asker: Asker) -> Option<Arc<str>> {
        let place = usize::try_from(asker.0).ok()?.checked_sub(1)?;
        self.0.read().all.get(place).cloned()
    }
}

impl Engine {
    /// The number of a program, the same whenever it is asked for in this run. Beyond the first 4,096 names there are no
    /// more numbers: [`Asker::NOBODY`].
    pub fn asker(&self, name: &str) -> Asker {
        self.shared.askers.number(name)
    }

    /// The program with this number; `None` for nobody, the operator and Weir itself, who are told in other words.
    pub fn asker_name(&self, asker: Asker) -> Option<Arc<str>> {
        self.shared.askers.name(asker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number_and_numbers_run_out() {
        let askers = Askers::default();
        let sonarr = askers.number("Sonarr");
        assert_ne!(askers.number("Radarr"), sonarr);
        assert_eq!(askers.number("Sonarr"), sonarr);
        assert_eq!(askers.name(sonarr).as_deref(), Some("Sonarr"));
        for asker in [Asker::NOBODY, Asker::OPERATOR, Asker::WEIR] {
            assert_eq!(askers.name(asker), None);
        }
        for index in 0..MOST {
            askers.number(&format!("program {index}"));
        }
        assert_eq!(askers.number("one more"), Asker::NOBODY);
        assert_eq!(askers.number("Sonarr"), sonarr);
    }

    #[test]
    fn names_are_remembered_by_their_beginning() {
        let askers = Askers::default();
        let long = askers.number(&"é".repeat(10_000));
        let kept = askers.name(long).expect("it has a name");
        assert_eq!(&*kept, "é".repeat(200));
        assert_eq!(askers.number(&kept), long);
    }
}
