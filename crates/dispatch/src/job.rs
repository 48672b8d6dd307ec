//! The words in which jobs come in and decisions go out.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::time::Duration;

use crate::moment::Moment;
use crate::policy::{Budget, Class};
use crate::quota::FullWindow;
use crate::record::Asker;

/// One upstream of this dispatcher. Ids are given in the order 0, 1, 2, … and never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpstreamId(pub u32);

/// One job of this dispatcher, from its submission until it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// What makes two jobs the same. Fronts make it with a keyed hash whose collisions cannot be made from outside: the
/// dispatcher's tables take it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobKey(pub NonZeroU64);

/// One call to one upstream, as it is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Who is called. One that is gone, or was never there, ends the job at once.
    pub upstream: UpstreamId,
    /// How urgent it is; beyond the policy's last class counts as the last.
    pub class: Class,
    /// Which of its upstream's allowances it uses.
    pub budget: Budget,
    /// It does not start before this; a later time than now puts it on the agenda.
    pub not_before: Moment,
    /// The longest next wait that it accepts, in place of its class's. `None` accepts what the class does.
    pub max_wait: Option<Duration>,
    /// While a job with this key is pending (scheduled, queued or under way), another is a duplicate.
    pub pending: Option<JobKey>,
    /// While a job with this key is on the agenda, another is not put there: neither a new one nor one that
    /// would have a further attempt.
    pub scheduled: Option<JobKey>,
    /// Calls with the same key never overlap: a job whose turn comes while such a call is under way
    /// stands aside, lets later jobs pass, and takes its place again (by submit number) when it ends.
    /// Meant for jobs of one upstream: at another one a job notices only when its own turn comes.
    pub order: Option<JobKey>,
    /// An operator's probe: starts although the upstream cools down or is off, waits for neither spacing nor
    /// windows, and is the first of its upstream; only the in-flight limit holds it.
    pub probe: bool,
    /// A try of Weir's own, made because nobody asks this upstream for anything. It waits like any other job and has no
    /// second attempt.
    pub trial: bool,
    /// It has a question that other nodes may be asking too: at a shared upstream it asks before it starts, although
    /// nothing there is limited.
    pub claims: bool,
    /// Who asked, for the decision records; decides nothing.
    pub asker: Asker,
    /// Attempts made before this submission; more than 0 only for a job restored from the store.
    pub attempts_made: u8,
}

impl Job {
    /// An ordinary job for now: a query without keys that nobody in particular asked for.
    pub fn new(upstream: UpstreamId, class: Class) -> Self {
        Self {
            upstream,
            class,
            budget: Budget::Query,
            not_before: Moment(0),
            max_wait: None,
            pending: None,
            scheduled: None,
            order: None,
            probe: false,
            trial: false,
            claims: false,
            asker: Asker::default(),
            attempts_made: 0,
        }
    }
}

/// What became of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is queued, and the next question to the dispatcher may start it.
    Queued(JobId),
    /// It is on the agenda: for its own time, or because there was no room.
    Scheduled(JobId),
    /// The same is pending already, as this job; nothing was added.
    Duplicate(JobId),
    /// It was refused. This is told here alone, not among those of `take_ended`.
    Ended(End),
}

/// How a job ended without, or after, its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its call (the last of its attempts) ended like this.
    Finished(Finish),
    /// Its turn would have come too late, or its upstream is left alone.
    Skipped(Skip),
    /// There was no room for it.
    Dropped(DropReason),
    /// Whoever wanted it took it back before it started.
    Cancelled,
    /// Another node had the answer: no call was made.
    Answered,
    /// The dispatcher was shut down before it started, or before it had another attempt.
    Shutdown,
}

/// Why a job was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// What holds its upstream longest.
    pub reason: Wait,
    /// How long that still takes; `None` while an operator has switched it off.
    pub wait: Option<Duration>,
    /// What the job would have accepted: its max-wait, or `None` where its class ends with a cooldown.
    pub limit: Option<Duration>,
}

/// What an upstream's next wait comes from. Where several hold at once, the longest counts; of equal
/// ones the first of this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Wait {
    /// An operator has switched it off.
    Off,
    /// It cools down, or is disabled.
    Cooldown,
    /// A window is used up.
    Window,
    /// The spacing since its last start, times the share of the class.
    Gap,
    /// The nodes that share it have yet to agree on what was used; nobody knows when they have.
    Agreeing,
    /// The nodes' store does not answer, and this node has used what it may alone.
    Share,
    /// Another node is asking the same.
    Claimed,
    /// Our own network is down, so nothing starts. No part of the next wait that jobs are judged by (rule 23): it is told to
    /// those who ask when the next call is possible, and to those whose call was held by it.
    Network,
}

/// Why a job was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DropReason {
    /// The front's queue is full.
    QueueFull,
    /// Its upstream holds its share of the queue, so that one slow upstream cannot fill it (rule 17).
    Backlog,
    /// The agenda is full.
    AgendaFull,
    /// A job with its [`Job::scheduled`] key is on the agenda already.
    Scheduled,
    /// Its upstream is no longer there.
    Gone,
}

/// How one attempt went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Answered.
    Done,
    /// A healthy, final no: not found, or a question that it does not take.
    No,
    /// The upstream wishes to be asked again after this time: healthy, the job goes to the agenda
    /// (it does not use up an attempt).
    Again {
        /// How long to wait before; no jitter is added, since the upstream chose it.
        after: Duration,
    },
    /// The upstream wishes to be left alone; final for the job.
    Throttled {
        /// For how long, if it said so.
        retry_after: Option<Duration>,
    },
    /// A fault that may pass: the job has another attempt if any is left. Time-outs are this.
    Unavailable,
    /// An answer that nobody can use: final for the job, and one failure.
    Broken,
    /// A fault that trying again does not mend: final, the upstream is disabled.
    Rejected {
        /// It is disabled for at least so long, if it said so.
        at_least: Option<Duration>,
    },
    /// Our own network is down: nobody's fault, the front pauses. Another attempt if any is left,
    /// not before the pause is over.
    OurNetwork {
        /// How long all starts of this front pause.
        pause: Duration,
    },
    /// The call panicked: final, and no fault of the upstream.
    Panicked,
}

/// What `Dispatcher::finish` made of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The job ended; the end is also among those of `take_ended`.
    Ended,
    /// Another attempt is on the agenda for this moment.
    Scheduled(Moment),
}

/// A job to start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// What [`Dispatcher::finish`](crate::Dispatcher::finish) is to be told about.
    pub job: JobId,
    /// Who is called.
    pub upstream: UpstreamId,
    /// The class it starts in: not the one it was submitted with where it was raised or tried again.
    pub class: Class,
    /// Which of its upstream's allowances it uses.
    pub budget: Budget,
    /// 1 for the first attempt; one that the upstream wished for has the number of the one before.
    pub attempt: u8,
    /// Who asked for the job.
    pub asker: Asker,
    /// Since when the job was queued; time on the agenda is not in it.
    pub since: Moment,
    /// What the upstream last waited for, if it did since its last start.
    pub reason: Option<Wait>,
    /// How many of the decisions that nobody has taken yet were made before this one.
    pub decided: usize,
}

/// A job whose turn it is, at an upstream that other nodes call too: may it start now? Until the answer it holds a worker
/// and a place among its upstream's calls in flight. The answer is told by [`Dispatcher::grant`], [`Dispatcher::refuse`],
/// [`Dispatcher::defer`] or [`Dispatcher::answered`]; one that comes too late changes nothing.
///
/// [`Dispatcher::grant`]: crate::Dispatcher::grant
/// [`Dispatcher::refuse`]: crate::Dispatcher::refuse
/// [`Dispatcher::defer`]: crate::Dispatcher::defer
/// [`Dispatcher::answered`]: crate::Dispatcher::answered
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// What the answer is to be told about.
    pub job: JobId,
    /// Who is to be called.
    pub upstream: UpstreamId,
    /// The class it asks in.
    pub class: Class,
    /// Which of its upstream's allowances it would use.
    pub budget: Budget,
    /// The time that must have passed since the last query of any node; `None` where it neither waits for the spacing clock
    /// nor starts it. Its class's own, or that of the class whose slot it takes because it is aged.
    pub gap: Option<Duration>,
    /// The number that its attempt would have.
    pub attempt: u8,
    /// Who asked for the job.
    pub asker: Asker,
    /// Since when the job was queued.
    pub since: Moment,
}

/// Why, and until when, a job that asked may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// When it is worth asking again.
    pub until: Moment,
    /// What keeps it: the gap that it asked for, or a cooldown. For any other reason all windows of its budget are taken for
    /// full, and the wait has this reason.
    pub reason: Wait,
    /// The window that is full, as all nodes together see it.
    pub full: Option<FullWindow>,
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Start this, then ask again.
    Start(Start),
    /// Find out whether this may start, then ask again without waiting for the answer.
    Ask(Ask),
    /// Nothing before this moment, unless something else happens first.
    Wait(Moment),
    /// Nothing until something happens.
    Idle,
}

/// Whether an upstream is called at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It is called, and has not answered since it was added.
    Untried,
    /// It is called.
    Open,
    /// It is left alone for a while, as it asked or because it failed.
    Cooldown {
        /// When it may be called again.
        until: Moment,
    },
    /// Its cooldown is over; one call at a time until one succeeds.
    Probing,
    /// It is left alone for a reason that trying again does not mend, and probed then.
    Disabled {
        /// When it is probed.
        until: Moment,
    },
    /// An operator has switched it off, until an operator switches it on.
    Off,
}
