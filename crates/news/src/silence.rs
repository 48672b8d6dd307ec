//! Why a server gave no answer, as readers are told it.

use std::sync::Arc;
use std::time::Duration;

use weir_engine::dispatch::{Moment, job};
use weir_engine::{Ended, Engine, drop_reason, is_queued, slot_of, span, wait_reason};

use crate::federation::{MOVE_ON, NoAnswer};
use crate::reading::SilentServer;
use crate::server::Server;

/// A reader whose question found no place in the queue is told to come back after this time.
pub(crate) const COME_BACK: Duration = Duration::from_secs(10);

/// What is said of a server that gave no answer.
pub(crate) fn silent(engine: &Engine, server: &Server, why: &NoAnswer) -> SilentServer {
    let until = match why {
        NoAnswer::Ended(Ended::Skipped(told)) => slot_of(&told.skip, told.at),
        _ => {
            let ends = engine.rests([server.upstream]);
            let mut ends = ends.into_iter().flatten();
            ends.find(|until| *until != Moment::NEVER)
        }
    };
    SilentServer {
        name: Arc::from(server.name()),
        reason: reason(server, why),
        retry_at: until.map(|until| seconds(engine, until)),
    }
}

/// What is said of a server whose answer somebody waited for in vain; it may still come.
pub(crate) fn late(server: &Server, waited: Duration) -> SilentServer {
    SilentServer {
        name: Arc::from(server.name()),
        reason: not_within(waited),
        retry_at: None,
    }
}

/// Seconds until another try makes sense, if the queue was full.
pub(crate) fn busy(why: &NoAnswer) -> Option<u64> {
    use job::DropReason::{AgendaFull, Backlog, QueueFull};
    let full = matches!(
        why,
        NoAnswer::Ended(Ended::Dropped(QueueFull | Backlog | AgendaFull))
    );
    full.then_some(COME_BACK.as_secs())
}

/// A moment in Unix seconds.
pub(crate) fn seconds(engine: &Engine, moment: Moment) -> i64 {
    let wall = engine.timeline().wall(moment);
    let since = wall
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    since.as_secs().cast_signed()
}

fn not_within(time: Duration) -> String {
    format!("it did not answer within {}", span(time))
}

fn reason(server: &Server, why: &NoAnswer) -> String {
    let ended = match why {
        NoAnswer::Fault(fault) => return fault.to_string(),
        NoAnswer::Late => return not_within(MOVE_ON),
        NoAnswer::Ended(ended) => ended,
    };
    match ended {
        Ended::Skipped(told) if is_queued(&told.skip) => {
            let time = span(told.skip.limit.unwrap_or(MOVE_ON));
            format!("it was not asked: the request was still queued after {time}")
        }
        Ended::Skipped(told) => wait_reason(told.skip.reason, told.cause.as_deref()),
        Ended::TimedOut => not_within(server.entry().timeout),
        Ended::Dropped(reason) => format!("it was not asked: {}", drop_reason(*reason, None)),
        Ended::Shutdown => "it was not asked: Weir is stopping".to_owned(),
        Ended::Cancelled => "it was not asked in time".to_owned(),
        Ended::Panicked => "an error in Weir ended the call; see the log".to_owned(),
        Ended::Finished(_) | Ended::Answered => "it sent no usable answer".to_owned(),
    }
}
