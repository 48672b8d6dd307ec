//! Why something cannot be read, as replies say it.

use std::time::Duration;

use weir_engine::{Own, OwnKind, OwnReason, about};
use weir_news_proto::reply::code;

use super::session::Session;
use crate::reading::{SilentServer, Unread};

/// Servers that are named; a reply has one line.
const NAMED: usize = 3;

/// Seconds after which another try makes sense when there is no room for an answer.
const LATER: u64 = 1;

impl Session {
    /// There is no room for what would have to be sent: the same client, or all together, take their answers too slowly.
    pub(super) fn no_room(&self) -> Unread {
        self.service.parts.model.engine.note_refused(Own {
            example: Some(self.standing.address.to_string().into()),
            retry: Some(Duration::from_secs(LATER)),
            ..Own::new(OwnKind::Refused, OwnReason::TooMany, about::COMMAND)
        });
        Unread::Busy { retry_after: LATER }
    }

    /// Answers that something cannot be read; `missing` is the reply if it does not exist.
    pub(super) fn cannot(&mut self, why: &Unread, missing: (u16, &str)) {
        match why {
            Unread::NoNewsgroup { .. } => {
                self.say(code::NO_SUCH_GROUP, "No news server carries this newsgroup");
            }
            Unread::NoArticle(_) | Unread::NoPage { .. } => self.say(missing.0, missing.1),
            Unread::NoServers => self.say(code::FAULT, "No news server is configured"),
            Unread::Busy { retry_after } => {
                let text = format!("Too much is being fetched: try again in {retry_after} s");
                self.say(code::FAULT, &text);
            }
            Unread::Unreachable(silent) => self.say(code::FAULT, &unreachable(silent)),
        }
    }
}

fn unreachable(silent: &[SilentServer]) -> String {
    let reasons: Vec<String> = silent
        .iter()
        .take(NAMED)
        .map(|server| format!("{}: {}", server.name, server.reason))
        .collect();
    match reasons.is_empty() {
        true => "No news server has answered in time: try again".to_owned(),
        false => format!("No news server could answer: {}", reasons.join("; ")),
    }
}
