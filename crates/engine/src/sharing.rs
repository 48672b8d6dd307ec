//! Upstreams that several nodes share: asks the store before a call is made, and tells it what became known.
//!
//! What may be done is decided by `ledger`, under the engine's lock; here the questions go out and the answers come in,
//! each in a task of its own that no client and no other upstream waits for.

mod part;
mod rows;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use weir_dispatch::{
    Asker, Availability, Budget, Finish, FullWindow, Job, JobId, Moment, Refused, UpstreamId,
    Usage, Wait, What, Window, WindowUse,
};
use weir_store::shared::{
    Answer, Ask, AskId, LONGEST_ANSWER, Lost, Question, Refusal, Told, ToldLimit, ToldOff,
    UpstreamKey,
};

use crate::call::{Call, SharedQuestion};
use crate::keeper::Off;
use crate::ledger::{self, Ledger, Made, Wanted};
use crate::node::Node;
use crate::record::Got;
use crate::shared::{Effects, Shared};
use crate::state::State;

pub(crate) use part::EnginePart;

/// Things that the store has yet to hear of, at most; the oldest are forgotten first.
const UNTOLD: usize = 10_000;

/// So many are told at once.
const TOLD_AT_ONCE: usize = 100;

/// How often a job looks whether another node has the answer by now.
const LOOK: Duration = Duration::from_millis(200);

/// What one front shares with other nodes.
pub(crate) struct Sharing {
    pub(crate) node: Node,
    pub(crate) ledger: Ledger,
    alone: bool,
    /// The node's count of returns that this front has seen.
    returns: u64,
    /// What the store has yet to hear, oldest first.
    untold: VecDeque<(UpstreamKey, Untold)>,
    /// A task is telling it.
    telling: bool,
    /// Questions on their way, and whether they were handed in: if the store loses something before the answer arrives, a
    /// grant would count nowhere.
    open: HashMap<AskId, OpenAsk>,
    /// Looks around since what all nodes know of upstreams was last read.
    looks: u32,
    /// What all nodes know of each, as last read.
    seen: HashMap<UpstreamId, SharedUse>,
}

/// What all nodes together used of an upstream, as last read from the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedUse {
    /// When it was read.
    pub at: Moment,
    /// Starts in each window, of all nodes.
    pub windows: Vec<(Budget, Window, u32)>,
    /// An operator of another node has switched it off: which node.
    pub off_at: Option<Arc<str>>,
    /// It told another node to wait: which node.
    pub throttled_at: Option<Arc<str>>,
}

/// Something that the store has yet to hear. Times are this node's until they are told.
#[derive(Clone, Debug)]
enum Untold {
    Unused(AskId),
    Started {
        id: AskId,
        budget: Budget,
        at: Moment,
    },
    Throttled {
        until: Moment,
        reason: Arc<str>,
    },
    Limit(Usage),
    Off(Option<Off>),
    Cleared,
}

/// What must be handed in of a question on its way.
struct OpenAsk {
    upstream: UpstreamId,
    budget: Budget,
    handed_in: bool,
}

/// A question to the store on its way.
pub(crate) struct Asking {
    job: JobId,
    upstream: UpstreamId,
    budget: Budget,
    gap: Option<Duration>,
    ask: Ask,
}

/// With what right a call is made at an upstream that is shared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    id: AskId,
    alone: bool,
    /// What others may ask too, if it is claimed for this call.
    pub(crate) question: Option<Question>,
}

impl Sharing {
    pub(crate) fn new(node: Node) -> Self {
        Self {
            alone: node.is_alone(),
            node,
            ledger: Ledger::default(),
            returns: 0,
            untold: VecDeque::new(),
            telling: false,
            open: HashMap::new(),
            looks: 0,
            seen: HashMap::new(),
        }
    }

    fn note(&mut self, upstream: UpstreamId, untold: Untold) {
        let Some(key) = self.ledger.key(upstream) else {
            return;
        };
        if self.untold.len() >= UNTOLD {
            self.untold.pop_front();
        }
        self.untold.push_back((key, untold));
    }
}

impl Untold {
    fn told(self, node: &Node, now: Moment) -> Told {
        match self {
            Self::Unused(id) => Told::Unused(id),
            Self::Started { id, budget, at } => Told::Started {
                id,
                ledger: ledger::ledger(budget),
                age: at.until(now),
                spaced: budget == Budget::Query,
            },
            Self::Throttled { until, reason } => Told::Throttled {
                span: now.until(until),
                by: node.id(),
                reason: reason.to_string(),
            },
            Self::Limit(usage) => Told::Limit(ToldLimit {
                ledger: ledger::ledger(usage.budget),
                window: ledger::stored(usage.window),
                limit: usage.limit,
                used: usage.used,
            }),
            Self::Off(off) => Told::Off(off.map(|off| ToldOff {
                node: node.id(),
                by: off.who,
                reason: off.reason,
                at: Default::default(),
            })),
            Self::Cleared => Told::Cleared,
        }
    }
}

impl Shared {
    /// A job's turn has come at an upstream that is shared.
    pub(crate) fn asked(
        &self,
        state: &mut State,
        asked: &weir_dispatch::Ask,
        now: Moment,
        effects: &mut Effects,
    ) {
        let wanted = Wanted {
            upstream: asked.upstream,
            budget: asked.budget,
            gap: asked.gap,
            question: state.question(asked.job, asked.upstream),
        };
        state.ask(asked.job, &wanted, now, effects);
    }

    /// Sends a question to the store.
    pub(crate) fn send(self: &Arc<Self>, asking: Asking) {
        let shared = self.clone();
        self.tasks.spawn_on(ask(shared, asking), &self.runtime);
    }

    /// Tells the store what it has yet to hear, unless somebody does already.
    pub(crate) fn tell_store(self: &Arc<Self>) {
        let shared = self.clone();
        self.tasks.spawn_on(tell(shared), &self.runtime);
    }

    /// A claimed question has the answer that `call` holds, or (`None`) none.
    pub(crate) fn publish(self: &Arc<Self>, question: Question, call: Option<Arc<dyn Call>>) {
        let shared = self.clone();
        let publish = async move {
            let Some(node) = shared.node() else { return };
            let keep = call.as_ref().and_then(|call| call.question());
            let keep = keep.map_or(Duration::ZERO, |question| question.keep);
            let packed = call.and_then(|call| shared.vital.guard(|| call.pack()).flatten());
            let sealed = packed.map(|packed| node.seal().seal(&packed));
            let body = sealed.filter(|body| body.len() <= LONGEST_ANSWER);
            let by = node.id();
            // If it is lost, the claim ends by itself.
            let _ = node
                .call(|store| store.answer(question, by, body, keep))
                .await;
        };
        self.tasks.spawn_on(publish, &self.runtime);
    }

    fn node(&self) -> Option<Node> {
        let state = self.state.lock();
        state.sharing.as_ref().map(|sharing| sharing.node.clone())
    }
}

/// Asks the store, and does what it says.
async fn ask(shared: Arc<Shared>, asking: Asking) {
    let Some(node) = shared.node() else { return };
    let question = asking.ask.clone();
    let answer = node.call(|store| store.ask(question)).await;
    let taken = match &answer {
        Ok(Answer::Answered { body, by, .. }) => {
            let call = shared.state.lock().call_of(asking.job);
            let opened = node.seal().open(body);
            // Unpacked outside the lock: it is the front's code, and an answer may be long.
            let taken = call.zip(opened).is_some_and(|(call, opened)| {
                let taken = shared.vital.guard(|| call.take(&opened));
                taken.unwrap_or(false)
            });
            taken.then(|| shared.askers.number(&node.name_of(*by)))
        }
        _ => None,
    };
    shared.with(|state, now, effects| state.heed(&asking, answer, taken, now, effects));
}

/// Tells the store what it has yet to hear. What does not get through is told when the store is back.
async fn tell(shared: Arc<Shared>) {
    let Some(node) = shared.node() else { return };
    loop {
        let now = shared.timeline.now();
        let Some((upstream, batch)) = shared.state.lock().next_untold() else {
            return;
        };
        let told = batch.iter().cloned();
        let told = told.map(|one| one.told(&node, now)).collect();
        let heard = node.call(|store| store.tell(upstream, told)).await;
        let mut state = shared.state.lock();
        let Some(sharing) = &mut state.sharing else {
            return;
        };
        match heard {
            Ok(time) => sharing.ledger.hear(time, shared.timeline.now()),
            Err(_) => {
                for one in batch.into_iter().rev() {
                    sharing.untold.push_front((upstream, one));
                }
                sharing.untold.truncate(UNTOLD);
                sharing.telling = false;
                return;
            }
        }
    }
}

impl State {
    /// What a job asks, as all nodes know it.
    fn question(&mut self, job: JobId, upstream: UpstreamId) -> Option<Question> {
        let time_out = self.sides[upstream.0 as usize].time_out;
        let sharing = self.sharing.as_ref()?;
        let key = sharing.ledger.key(upstream)?;
        let payload = self.payloads.find(job)?;
        // Its answer came from another node once and was of no use.
        if payload.distrusts {
            return None;
        }
        let SharedQuestion { text, fresh, .. } = payload.call.question()?;
        Some(Question {
            key: sharing.node.seal().name(&[b"question", &key.0, &text]),
            claim: time_out,
            fresh,
        })
    }

    fn call_of(&mut self, job: JobId) -> Option<Arc<dyn Call>> {
        self.payloads.find(job).map(|payload| payload.call.clone())
    }

    /// Asks the store whether a job may start; while this node is alone, decides by itself.
    fn ask(&mut self, job: JobId, wanted: &Wanted, now: Moment, effects: &mut Effects) {
        let Some(sharing) = &self.sharing else {
            return;
        };
        let id = sharing.node.ask_id();
        let quota = self.dispatcher.quota(wanted.upstream);
        let together = !sharing.alone;
        let ask = quota
            .filter(|_| together)
            .and_then(|quota| sharing.ledger.ask(id, wanted, quota, now));
        if let Some(ask) = ask {
            let open = OpenAsk {
                upstream: wanted.upstream,
                budget: wanted.budget,
                handed_in: false,
            };
            if let Some(sharing) = &mut self.sharing {
                sharing.open.insert(id, open);
            }
            effects.asks.push(Asking {
                job,
                upstream: wanted.upstream,
                budget: wanted.budget,
                gap: wanted.gap,
                ask,
            });
            return;
        }
        let windows = self.windows(wanted.upstream, wanted.budget, now);
        let ledger = self.sharing.as_ref().map(|sharing| &sharing.ledger);
        let may = ledger.map_or(Ok(()), |ledger| ledger.alone(wanted, &windows, now));
        match may {
            Ok(()) => {
                let granted = Granted {
                    id,
                    alone: true,
                    question: None,
                };
                self.start_granted(job, wanted.upstream, granted, now, effects);
            }
            Err(no) => {
                let refused = Refused {
                    until: no.until,
                    reason: no.reason,
                    full: no.full,
                };
                self.dispatcher.refuse(now, job, refused);
                self.move_turn(wanted.upstream, effects);
            }
        }
    }

    fn windows(&mut self, upstream: UpstreamId, budget: Budget, now: Moment) -> Vec<WindowUse> {
        let status = self.dispatcher.upstream(now, upstream);
        status.map_or_else(Vec::new, |status| match budget {
            Budget::Query | Budget::Side => status.query,
            Budget::Grab => status.grab,
        })
    }

    fn start_granted(
        &mut self,
        job: JobId,
        upstream: UpstreamId,
        granted: Granted,
        now: Moment,
        effects: &mut Effects,
    ) {
        if let Some(start) = self.dispatcher.grant(now, job) {
            return self.begin(start, Some(granted), now, effects);
        }
        // Nobody wants it any more, or not now: others may have what was granted, and ask what was claimed.
        if let Some(sharing) = self.sharing.as_mut().filter(|_| !granted.alone) {
            sharing.note(upstream, Untold::Unused(granted.id));
            effects.unclaimed.extend(granted.question);
            self.tell_if_untold(effects);
        }
    }

    /// What the store said about a job that asked.
    fn heed(
        &mut self,
        asking: &Asking,
        answer: Result<Answer, Lost>,
        taken: Option<Asker>,
        now: Moment,
        effects: &mut Effects,
    ) {
        let &Asking { job, upstream, .. } = asking;
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        let open = sharing.open.remove(&asking.ask.id);
        if open.is_some_and(|open| open.handed_in) && !matches!(answer, Ok(Answer::Granted(_))) {
            sharing.note(upstream, Untold::Unused(asking.ask.id));
            effects.tells |= !sharing.alone && !std::mem::replace(&mut sharing.telling, true);
        }
        match &answer {
            Ok(Answer::Granted(grant)) => sharing.ledger.hear(grant.at, now),
            Ok(
                Answer::Refused { now: time, .. }
                | Answer::Claimed { now: time, .. }
                | Answer::Answered { now: time, .. }
                | Answer::Late { now: time },
            ) => sharing.ledger.hear(*time, now),
            Err(_) => {}
        }
        match answer {
            Ok(Answer::Granted(_)) => {
                let granted = Granted {
                    id: asking.ask.id,
                    alone: false,
                    question: asking.ask.question,
                };
                self.start_granted(job, upstream, granted, now, effects);
            }
            Ok(Answer::Refused { wait, reason, .. }) => {
                self.refused(asking, now + wait, reason, now, effects);
            }
            Ok(Answer::Claimed { left, .. }) => {
                self.dispatcher.defer(now, job, now + left.min(LOOK));
            }
            Ok(Answer::Answered { age, .. }) => match taken {
                Some(with) => self.answered(job, upstream, with, age, now),
                None => {
                    if let Some(payload) = self.payloads.find(job) {
                        payload.distrusts = true;
                    }
                    self.put_back(job, now);
                }
            },
            Ok(Answer::Late { .. }) => self.put_back(job, now),
            Err(_) => {
                // Whether it was granted is not known. If it was, it counts until it is given back.
                if let Some(sharing) = &mut self.sharing {
                    sharing.note(upstream, Untold::Unused(asking.ask.id));
                    sharing.alone = true;
                }
                let wanted = Wanted {
                    upstream,
                    budget: asking.budget,
                    gap: asking.gap,
                    question: None,
                };
                self.ask(job, &wanted, now, effects);
            }
        }
    }

    /// A job goes back to its queue and asks again at once.
    fn put_back(&mut self, job: JobId, now: Moment) {
        let refused = Refused {
            until: now,
            reason: Wait::Window,
            full: None,
        };
        self.dispatcher.refuse(now, job, refused);
    }

    fn refused(
        &mut self,
        asking: &Asking,
        until: Moment,
        reason: Refusal,
        now: Moment,
        effects: &mut Effects,
    ) {
        let upstream = asking.upstream;
        let Some(sharing) = &self.sharing else { return };
        let node = sharing.node.clone();
        let side = &mut self.sides[upstream.0 as usize];
        let (reason, full) = match reason {
            Refusal::Window {
                window,
                used,
                limit,
            } => {
                let window = weir_dispatch::Window::of_seconds(window.0);
                let full = FullWindow {
                    window,
                    used,
                    limit,
                };
                (Wait::Window, Some(full))
            }
            Refusal::HandingIn => (Wait::Window, None),
            Refusal::Gap => (Wait::Gap, None),
            Refusal::Throttled { by, reason } => {
                let words = format!("{reason} (told to {})", node.name_of(by));
                side.latest = Some(words.into());
                (Wait::Cooldown, None)
            }
            Refusal::Off(off) => {
                let who = format!("{} at {}", off.by, node.name_of(off.node));
                let reason = off.reason;
                self.dispatcher.refuse(
                    now,
                    asking.job,
                    Refused {
                        until,
                        reason: Wait::Window,
                        full: None,
                    },
                );
                return self.hear_off(upstream, Some((reason, who)), now, effects);
            }
        };
        let refused = Refused {
            until,
            reason,
            full,
        };
        self.dispatcher.refuse(now, asking.job, refused);
        // What follows from it has its reason now.
        self.take_decisions(None);
        self.sides[upstream.0 as usize].latest = None;
        self.note_state(upstream, now);
        self.move_turn(upstream, effects);
    }

    /// Another node has the answer: the job ends without a call.
    fn answered(
        &mut self,
        job: JobId,
        upstream: UpstreamId,
        with: Asker,
        after: Duration,
        now: Moment,
    ) {
        let about = self.payloads.find(job).map(|payload| payload.call.about());
        let asked = self.dispatcher.asked_by(job);
        if !self.dispatcher.answered(now, job) {
            return;
        }
        if let (Some(about), Some((class, asker))) = (about, asked) {
            let shared = What::Shared { with, after };
            let job = Job {
                asker,
                ..Job::new(upstream, class)
            };
            self.dispatcher.note_other(now, &job, shared);
            self.take_noted(&about, Some(Got::Fresh));
        }
    }

    /// Another node's operator switched an upstream off, or on again (`None`).
    pub(crate) fn hear_off(
        &mut self,
        upstream: UpstreamId,
        off: Option<(String, String)>,
        now: Moment,
        effects: &mut Effects,
    ) {
        let Some(side) = self.sides.get_mut(upstream.0 as usize) else {
            return;
        };
        match (off, side.off.is_some()) {
            (Some((reason, who)), false) => {
                side.off = Some(Off {
                    reason,
                    who,
                    at: now,
                });
                self.dispatcher.switch_off(now, upstream);
                self.take_decisions(None);
            }
            (None, true) => {
                side.off = None;
                self.dispatcher.switch_on(now, upstream);
            }
            _ => return,
        }
        self.note_state(upstream, now);
        self.plan_probe(upstream, now, effects);
    }

    /// A call starts at an upstream that may be shared.
    pub(crate) fn start_shared(
        &mut self,
        upstream: UpstreamId,
        budget: Budget,
        granted: Option<Granted>,
        now: Moment,
        effects: &mut Effects,
    ) {
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        if sharing.ledger.key(upstream).is_none() {
            return;
        }
        let Some(quota) = self.dispatcher.quota(upstream) else {
            return;
        };
        let gap = quota.gaps.iter().copied().max().unwrap_or_default();
        let spaced = budget == Budget::Query && !gap.is_zero();
        if granted.is_none() && !spaced && !self.dispatcher.is_limited(upstream, budget) {
            return;
        }
        let windows = self.windows(upstream, budget, now);
        let longest = windows.iter().map(|one| one.window.length()).max();
        let most = windows.iter().map(|one| one.limit as usize).max();
        let Some(sharing) = &mut self.sharing else {
            return;
        };
        // What is made without asking, an operator's probe, counts like any other. While this node is alone, against its
        // share.
        let (id, alone) = match granted {
            Some(granted) => (granted.id, granted.alone),
            None => (sharing.node.ask_id(), sharing.alone),
        };
        let made = Made {
            budget,
            at: now,
            alone,
            longest: longest.unwrap_or_default().max(gap),
            most: most.unwrap_or_default(),
        };
        sharing.ledger.start(id, upstream, &made);
        if alone || granted.is_none() {
            let at = now;
            sharing.note(upstream, Untold::Started { id, budget, at });
            self.tell_if_untold(effects);
        }
    }

    /// One more request of a call under way.
    pub(crate) fn count_shared(
        &mut self,
        upstream: UpstreamId,
        budget: Budget,
        now: Moment,
        effects: &mut Effects,
    ) {
        self.start_shared(upstream, budget, None, now, effects);
    }

    /// A call ended: if its upstream wants to be left alone, the others must know.
    pub(crate) fn finish_shared(
        &mut self,
        upstream: UpstreamId,
        finish: Finish,
        now: Moment,
        effects: &mut Effects,
    ) {
        if self.sharing.is_none() || !matches!(finish, Finish::Throttled { .. }) {
            return;
        }
        let state = self.dispatcher.state(now, upstream);
        let Some(Availability::Cooldown { until }) = state else {
            return;
        };
        let side = &self.sides[upstream.0 as usize];
        let reason = side.trouble.as_ref().map(|trouble| trouble.reason.clone());
        let reason = reason.unwrap_or_else(|| "it asked us to wait".into());
        if let Some(sharing) = &mut self.sharing {
            sharing.note(upstream, Untold::Throttled { until, reason });
            self.tell_if_untold(effects);
        }
    }

    /// An upstream told a limit of its own.
    pub(crate) fn observe_shared(
        &mut self,
        upstream: UpstreamId,
        usage: Usage,
        effects: &mut Effects,
    ) {
        if let Some(sharing) = &mut self.sharing {
            sharing.note(upstream, Untold::Limit(usage));
            self.tell_if_untold(effects);
        }
    }

    /// An operator acted on an upstream: `None` cleared it, `Some` switched it off or on.
    pub(crate) fn operate_shared(
        &mut self,
        upstream: UpstreamId,
        off: Option<Option<Off>>,
        effects: &mut Effects,
    ) {
        if let Some(sharing) = &mut self.sharing {
            let untold = off.map_or(Untold::Cleared, Untold::Off);
            sharing.note(upstream, untold);
            self.tell_if_untold(effects);
        }
    }

    /// Has the store told what it has yet to hear, if it can hear it.
    pub(crate) fn tell_if_untold(&mut self, effects: &mut Effects) {
        if let Some(sharing) = &mut self.sharing
            && !sharing.alone
            && !sharing.untold.is_empty()
            && !std::mem::replace(&mut sharing.telling, true)
        {
            effects.tells = true;
        }
    }

    /// The next things to tell, all about one upstream. With nothing left, or while this node is alone, nobody tells.
    fn next_untold(&mut self) -> Option<(UpstreamKey, Vec<Untold>)> {
        let sharing = self.sharing.as_mut()?;
        let first = sharing.untold.front().filter(|_| !sharing.alone);
        let Some(&(upstream, _)) = first else {
            sharing.telling = false;
            return None;
        };
        let mut batch = Vec::new();
        while batch.len() < TOLD_AT_ONCE
            && let Some((key, _)) = sharing.untold.front()
            && *key == upstream
        {
            batch.extend(sharing.untold.pop_front().map(|(_, untold)| untold));
        }
        Some((upstream, batch))
    }
}
