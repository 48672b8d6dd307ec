//! What the engine knows about an upstream besides the dispatcher: its name, its figures, its history.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use tokio::sync::Notify;
use weir_dispatch::{Asker, Availability, JobId, Moment, UpstreamId};

use crate::call::{Ended, Outcome};
use crate::errors::PastErrors;
use crate::keeper::Off;
use crate::new_calls::NewOf;
use crate::record::Records;
use crate::series::Series;
use crate::state;
use crate::tally::{Kind, Latency, Requests};

/// One upstream.
#[derive(Debug)]
pub(crate) struct Side {
    /// Empty if it was removed and another has been renamed to what it was called.
    pub(crate) name: Arc<str>,
    pub(crate) time_out: Duration,
    /// It was removed.
    pub(crate) gone: bool,
    /// It came back under this number.
    pub(crate) heir: Option<UpstreamId>,
    /// Why an operator switched it off, while it is off.
    pub(crate) off: Option<Off>,
    /// When an operator last switched it on.
    pub(crate) on: Option<Moment>,
    /// Who last switched it on in this run, as other nodes read it.
    pub(crate) on_by: Option<String>,
    /// The operator, here or of another node, whose act is being recorded.
    pub(crate) acted_by: Option<Asker>,
    /// How a call last explained what went wrong.
    pub(crate) last_error: Option<(Moment, Arc<str>)>,
    /// The same of the last few.
    pub(crate) errors: PastErrors,
    /// What calls under way have explained so far, by job.
    said: SmallVec<[(JobId, Arc<str>); 1]>,
    /// What the attempt explained whose end is being judged.
    pub(crate) latest: Option<Arc<str>>,
    /// Why it is cooling down or disabled, and since when. A failed probe brings another reason, not another beginning.
    pub(crate) trouble: Option<UpstreamTrouble>,
    /// What its front wants kept of it.
    pub(crate) own: Arc<[u8]>,
    pub(crate) records: Records,
    /// When it was last called, and calls on their way there.
    pub(crate) new: NewOf,
    /// When it is tried if nobody has asked it for anything by then.
    pub(crate) probe_at: Moment,
    /// Tries of our own since it last answered.
    pub(crate) trials: u8,
    pub(crate) requests: Requests,
    pub(crate) latency: Latency,
    pub(crate) series: Series,
    /// Notified when its next slot has moved; made when somebody first waits for that.
    pub(crate) moved: Option<Arc<Notify>>,
    /// Its states over a day, oldest first; never empty while it is there. The first may have begun earlier.
    pub(crate) history: VecDeque<(Moment, Standing)>,
}

/// A cooldown as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamTrouble {
    /// When the upstream stopped being called: the beginning of the first of several cooldowns of the same kind.
    pub since: Moment,
    /// When the latest of them began.
    pub began: Moment,
    /// Whether it shows as disabled.
    pub disables: bool,
    /// What it said, or what happened.
    pub reason: Arc<str>,
}

/// An upstream's state without its times, as a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of `Availability`")]
pub enum Standing {
    Untried,
    Open,
    Cooldown,
    Probing,
    Disabled,
    Manual,
}

impl Standing {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Untried,
        Self::Open,
        Self::Cooldown,
        Self::Probing,
        Self::Disabled,
        Self::Manual,
    ];

    /// The label in metrics and on pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Untried => "untried",
            Self::Open => "open",
            Self::Cooldown => "cooldown",
            Self::Probing => "probing",
            Self::Disabled => "disabled",
            Self::Manual => "manual",
        }
    }

    /// Whether it is not called as usual because something went wrong.
    pub fn is_down(self) -> bool {
        match self {
            Self::Cooldown | Self::Probing | Self::Disabled => true,
            Self::Untried | Self::Open | Self::Manual => false,
        }
    }
}

impl From<Availability> for Standing {
    fn from(state: Availability) -> Self {
        match state {
            Availability::Untried => Self::Untried,
            Availability::Open => Self::Open,
            Availability::Cooldown { .. } => Self::Cooldown,
            Availability::Probing => Self::Probing,
            Availability::Disabled { .. } => Self::Disabled,
            Availability::Off => Self::Manual,
        }
    }
}

/// Maximum states kept: an upstream that changes its state all the time has a shorter history.
const HISTORY: usize = 512;

impl Side {
    pub(crate) fn new(name: Arc<str>, time_out: Duration, now: Moment) -> Self {
        Self {
            name,
            time_out,
            gone: false,
            heir: None,
            off: None,
            on: None,
            on_by: None,
            acted_by: None,
            last_error: None,
            errors: PastErrors::default(),
            said: SmallVec::new(),
            latest: None,
            trouble: None,
            own: Arc::default(),
            records: Records::default(),
            new: NewOf::default(),
            probe_at: Moment::NEVER,
            trials: 0,
            requests: [0; Kind::ALL.len()],
            latency: Latency::default(),
            series: Series::default(),
            moved: None,
            history: VecDeque::from([(now, Standing::Untried)]),
        }
    }

    /// A call under way explains what went wrong.
    pub(crate) fn say(&mut self, job: JobId, words: Arc<str>) {
        self.said.retain(|(of, _)| *of != job);
        self.said.push((job, words));
    }

    /// An attempt ended. Returns what it explained; if it explained nothing itself, it is explained here.
    pub(crate) fn explain(&mut self, job: JobId, ended: &Ended, now: Moment) -> Option<Arc<str>> {
        let own = self.said.iter().position(|(of, _)| *of == job);
        let own = own.map(|place| self.said.swap_remove(place).1);
        let words = own.or_else(|| match ended {
            Ended::TimedOut => {
                Some(format!("it did not answer within {} s", self.time_out.as_secs()).into())
            }
            Ended::Finished(Outcome::Rejected { reason }) => Some(reason.words().into()),
            _ => None,
        })?;
        self.last_error = Some((now, words.clone()));
        self.errors.push(now, &words);
        Some(words)
    }

    /// An attempt ended.
    pub(crate) fn count(&mut self, kind: Kind, took: Duration) {
        self.requests[kind as usize] += 1;
        self.latency.count(took);
        self.series.count(kind, took);
    }

    pub(crate) fn standing(&self) -> Standing {
        self.history
            .back()
            .map_or(Standing::Untried, |&(_, standing)| standing)
    }

    /// Takes in the states of an earlier run. The time in which nothing ran counts as the last of them: what is shown
    /// then is what was known.
    pub(crate) fn restore_history(&mut self, states: Vec<(Moment, Standing)>, now: Moment) {
        let past = states.into_iter().filter(|&(at, _)| at <= now);
        let past: VecDeque<_> = past.collect();
        if !past.is_empty() {
            self.history = past;
        }
    }

    /// Notes a state, and keeps those of the last `history`. Returns the previous state if it was a different one.
    fn note(&mut self, now: Moment, standing: Standing, history: Duration) -> Option<Standing> {
        let before = self.standing();
        if before == standing {
            return None;
        }
        self.history.push_back((now, standing));
        let over = |states: &VecDeque<(Moment, Standing)>| {
            let second = states.get(1);
            states.len() > HISTORY || second.is_some_and(|&(at, _)| at + history <= now)
        };
        while over(&self.history) {
            self.history.pop_front();
        }
        Some(before)
    }
}

/// The number of an upstream by now, among these.
pub(crate) fn heir(sides: &[Side], upstream: UpstreamId) -> UpstreamId {
    let mut upstream = upstream;
    while let Some(heir) = sides[upstream.0 as usize].heir {
        upstream = heir;
    }
    upstream
}

impl Side {
    /// Whether what happened to it is kept under its name.
    pub(crate) fn owns_its_name(&self) -> bool {
        self.heir.is_none() && !self.name.is_empty()
    }
}

impl state::State {
    /// Adds what is kept of an upstream. One that was there before under this name has the past and the figures that it
    /// had: they are counted since the start.
    pub(crate) fn add_side(&mut self, mut side: Side) {
        let new = UpstreamId(u32::try_from(self.sides.len()).expect("ids are u32"));
        let is_before = |one: &Side| one.gone && one.heir.is_none() && one.name == side.name;
        if let Some(before) = self.sides.iter().rposition(is_before) {
            self.settle_calls(UpstreamId(before as u32));
            let before = &mut self.sides[before];
            before.heir = Some(new);
            (side.requests, side.latency) = (before.requests, before.latency);
            side.records = std::mem::take(&mut before.records);
            side.series = std::mem::take(&mut before.series);
            side.history = std::mem::take(&mut before.history);
            side.errors = std::mem::take(&mut before.errors);
        }
        self.sides.push(side);
    }

    /// The number of an upstream by now: it may have been removed and have come back.
    pub(crate) fn heir(&self, upstream: UpstreamId) -> UpstreamId {
        heir(&self.sides, upstream)
    }

    /// Looks at an upstream's state, and notes and logs it if it changed.
    pub(crate) fn note_state(&mut self, upstream: UpstreamId, now: Moment) {
        let Some(state) = self.dispatcher.state(now, upstream) else {
            return;
        };
        if self.sides[upstream.0 as usize].standing() == state.into() {
            return;
        }
        // A cooldown ends by itself, and nobody may look at that moment.
        let at = match state {
            Availability::Probing => {
                let status = self.dispatcher.upstream(now, upstream);
                let cooldown = status.and_then(|status| status.cooldown);
                cooldown.map_or(now, |cooldown| cooldown.until.min(now))
            }
            _ => now,
        };
        let side = &mut self.sides[upstream.0 as usize];
        if let Some(before) = side.note(at, state.into(), self.history) {
            let (name, standing) = (&*side.name, Standing::from(state));
            let cooldown = match state {
                Availability::Cooldown { until } | Availability::Disabled { until } => {
                    Some(now.until(until))
                }
                Availability::Untried
                | Availability::Open
                | Availability::Probing
                | Availability::Off => None,
            };
            let seconds = cooldown.map(|cooldown| cooldown.as_secs());
            let why = side.trouble.as_ref().filter(|_| cooldown.is_some());
            let why = why.map(|trouble| &*trouble.reason);
            tracing::info!(upstream = name, seconds, why, "{before:?} => {standing:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_covers_its_time_and_no_more() {
        let hour = |hours: u32| Moment(0) + Duration::from_secs(3600) * hours;
        let kept = |history: u64| {
            let history = Duration::from_secs(3600 * history);
            let mut side = Side::new("one".into(), Duration::ZERO, hour(0));
            side.note(hour(1), Standing::Cooldown, history);
            side.note(hour(2), Standing::Cooldown, history);
            side.note(hour(3), Standing::Open, history);
            side.note(hour(30), Standing::Disabled, history);
            side.history
        };
        let last = [(hour(3), Standing::Open), (hour(30), Standing::Disabled)];
        assert_eq!(kept(24), last);
        assert_eq!(kept(28)[0], (hour(1), Standing::Cooldown));
    }
}
