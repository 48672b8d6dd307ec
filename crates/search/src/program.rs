//! The programs that ask: by which name they go, how urgent they are, when they were last heard.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use weir_engine::dispatch::{Asker, Class, Moment};
use weir_search_proto::Query;
use weir_web::Visitor;

use crate::config::UserAgents;
use crate::policy::{BACKGROUND, COMPLETION, INTERACTIVE, RSS};
use crate::rules::SearchRules;

/// Programs that are told apart. Their names come from clients, so there is a bound; of more, the one that was heard longest ago is forgotten.
pub(crate) const PROGRAMS: usize = 200;
/// Characters of a name, which stands in tables and in every row of the history.
const NAME: usize = 40;

/// One that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) name: Arc<str>,
    pub(crate) asker: Asker,
}

/// All that have asked.
pub(crate) struct Programs {
    heard: Mutex<HeardPrograms>,
    /// Gives a name its number.
    number: Box<dyn Fn(&str) -> Asker + Send + Sync>,
}

#[derive(Default)]
struct HeardPrograms {
    by_name: HashMap<Arc<str>, HeardProgram>,
}

struct HeardProgram {
    asker: Asker,
    heard: Moment,
    key: HeardKey,
}

/// With which key a program came last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeardKey {
    /// An earlier run heard it; which key it sent was not written down.
    Unknown,
    First,
    /// One with this name.
    Named(Arc<str>),
}

impl Programs {
    /// Those that an earlier run has heard, with the seconds since 1970 at which it last did. `number` gives a name the
    /// number that decisions know it by.
    pub(crate) fn heard_before(
        heard: Vec<(String, i64)>,
        number: impl Fn(&str) -> Asker + Send + Sync + 'static,
    ) -> Self {
        let programs = Self {
            heard: Mutex::default(),
            number: Box::new(number),
        };
        for (name, at) in heard {
            let at = Duration::from_secs(u64::try_from(at).unwrap_or(0));
            programs.heard(&name, Moment(0) + at);
        }
        programs
    }

    /// The program with this name, which is heard now. Only for who has shown a key or a session: whoever is let in
    /// without has names without end.
    pub(crate) fn heard(&self, name: &str, now: Moment) -> Program {
        let mut known = self.heard.lock();
        if !known.by_name.contains_key(name) {
            known.make_room();
            known.enter(name, (self.number)(name), now);
        }
        let entry = known.by_name.get_mut(name).expect("it was put there");
        entry.heard = entry.heard.max(now);
        Program {
            name: name.into(),
            asker: entry.asker,
        }
    }

    /// The program with this name, which may be anybody's: nothing is remembered of it.
    pub(crate) fn stranger(&self, name: &str) -> Program {
        let known = self.heard.lock();
        let asker = known.by_name.get(name).map(|entry| entry.asker);
        Program {
            name: name.into(),
            asker: asker.unwrap_or_default(),
        }
    }

    /// The program that a visitor goes by.
    pub(crate) fn of(&self, visitor: &Visitor, name: &str, now: Moment) -> Program {
        match visitor.identity.signed_in() {
            true => {
                let program = self.heard(name, now);
                if let Some(entry) = self.heard.lock().by_name.get_mut(name) {
                    entry.key = match visitor.key_name() {
                        Some(name) => HeardKey::Named(name.into()),
                        None => HeardKey::First,
                    };
                }
                program
            }
            false => self.stranger(name),
        }
    }

    /// The key that a program sent last.
    pub(crate) fn key_of(&self, name: &str) -> HeardKey {
        let known = self.heard.lock();
        let entry = known.by_name.get(name);
        entry.map_or(HeardKey::Unknown, |entry| entry.key.clone())
    }

    /// Who was heard when, latest first.
    pub(crate) fn all(&self) -> Vec<(Arc<str>, Moment)> {
        let known = self.heard.lock();
        let mut all: Vec<_> = known
            .by_name
            .iter()
            .map(|(name, entry)| (name.clone(), entry.heard))
            .collect();
        all.sort_by_key(|(_, heard)| std::cmp::Reverse(*heard));
        all
    }
}

impl HeardPrograms {
    fn make_room(&mut self) {
        while self.by_name.len() >= PROGRAMS {
            let oldest = self.by_name.iter().min_by_key(|(_, entry)| entry.heard);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
                return;
            };
            self.by_name.remove(&oldest);
        }
    }

    fn enter(&mut self, name: &str, asker: Asker, now: Moment) {
        let entry = HeardProgram {
            asker,
            heard: now,
            key: HeardKey::Unknown,
        };
        self.by_name.insert(name.into(), entry);
    }
}

/// The name in a user agent: `Sonarr/4.0.1 (linux)` is Sonarr.
pub(crate) fn name(user_agent: Option<&str>) -> String {
    let text = user_agent.unwrap_or_default().trim();
    if text.starts_with("Mozilla/") {
        return "a browser".to_owned();
    }
    let product = text.split(['/', ' ', ';', '(']).next().unwrap_or_default();
    let name: String = product
        .chars()
        .filter(|letter| !letter.is_control())
        .take(NAME)
        .collect();
    match name.as_str() {
        "" => "unnamed".to_owned(),
        "CrossSeed" => "cross-seed".to_owned(),
        "weir-search" => "weir search".to_owned(),
        _ => name,
    }
}

/// How urgent a request is: what it asks for, what it says, who sends it.
pub(crate) fn class(
    rules: &SearchRules,
    query: &Query,
    said: Option<&str>,
    user_agent: Option<&str>,
) -> Class {
    match said.map(|word| word.trim().to_ascii_lowercase()).as_deref() {
        Some("interactive") => return INTERACTIVE,
        Some("rss") => return RSS,
        Some("completion") => return COMPLETION,
        Some("background") => return BACKGROUND,
        _ => {}
    }
    if query.recent() {
        return RSS;
    }
    let UserAgents {
        interactive,
        completion,
        background,
    } = &rules.user_agents;
    let agent = user_agent.unwrap_or_default().to_lowercase();
    let has = |words: &[String]| {
        words
            .iter()
            .any(|word| !word.is_empty() && agent.contains(&word.to_lowercase()))
    };
    if has(interactive) {
        INTERACTIVE
    } else if has(completion) {
        COMPLETION
    } else if has(background) {
        BACKGROUND
    } else {
        rules.default_class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs() -> Programs {
        let number = |name: &str| Asker(u32::try_from(name.len()).expect("it is short"));
        Programs::heard_before(Vec::new(), number)
    }

    #[test]
    fn programs_go_by_their_product() {
        for (agent, expected) in [
            (Some("Sonarr/4.0.1.929 (ubuntu 22.04)"), "Sonarr"),
            (Some("CrossSeed/7.0.0"), "cross-seed"),
            (Some("FlexGet/3.20.14 (www.flexget.com)"), "FlexGet"),
            (Some("Mozilla/5.0 (X11)"), "a browser"),
            (Some("curl/8.5.0"), "curl"),
            (Some("weir-search/0.1.0"), "weir search"),
            (Some(""), "unnamed"),
            (None, "unnamed"),
        ] {
            assert_eq!(name(agent), expected);
        }
        assert_eq!(name(Some(&"x".repeat(500))).len(), NAME);
    }

    #[test]
    fn of_too_many_programs_the_one_heard_longest_ago_is_forgotten() {
        let programs = programs();
        let name = |number: usize| format!("program{number}");
        for number in 0..PROGRAMS {
            programs.heard(&name(number), Moment(number as u64));
        }
        let first = programs.heard(&name(0), Moment(1000));
        let more = programs.heard("one more", Moment(1001));
        let second = programs.stranger(&name(1));
        assert_eq!(programs.all().len(), PROGRAMS);
        assert_eq!(first.asker, Asker(8));
        assert_eq!(second.asker, Asker::NOBODY, "it is forgotten");
        assert_eq!(&*more.name, "one more");
    }

    #[test]
    fn strangers_leave_no_trace() {
        let programs = programs();
        let sonarr = programs.heard("Sonarr", Moment(1));
        assert_eq!(programs.stranger("Sonarr"), sonarr);
        assert_eq!(programs.stranger("another").asker, Asker::default());
        assert_eq!(programs.all(), [("Sonarr".into(), Moment(1))]);
    }
}
