//! One node: a dispatcher, and what it does about its questions.

use std::time::Duration;

use weir_dispatch::policy::{ClassPolicy, CrewPolicy, FailurePolicy, OnCooldown, Overflow};
use weir_dispatch::{
    Class, Dispatcher, Finish, FullWindow, Job, JobId, MAX_CLASSES, Moment, Next, Policy, Quota,
    Refused, UpstreamId, Wait, Window, Windows,
};

use crate::ledger::{AskId, Millis, Reply, Request, share};
use crate::{WINDOWS, windows};

/// How long an answer is waited for.
const ANSWER: Millis = 1_000;

/// The time between two beats.
const BEAT: Millis = 2_000;

/// What a node did.
pub(crate) enum Sent {
    Request(Request),
    Started { alone: bool },
}

pub(crate) struct Member {
    number: usize,
    /// How far its clock is ahead.
    offset: Millis,
    pub(crate) run: u32,
    dispatcher: Dispatcher,
    upstream: UpstreamId,
    jobs: Vec<JobId>,
    running: Vec<JobId>,
    asked: u64,
    /// Questions without an answer so far, and when they were put.
    open: Vec<(AskId, JobId, Millis)>,
    /// Its calls, with their names; whether each was made alone.
    starts: Vec<(AskId, Millis, bool)>,
    /// What the ledger must yet hear of, as often as it takes.
    untold: Vec<(AskId, Millis)>,
    alone: bool,
    epoch: u32,
    next_beat: Millis,
    /// What the ledger's clock shows, less what its own does; learnt from each reply.
    skew: Option<i64>,
    out: Vec<Sent>,
}

impl Member {
    pub(crate) fn new(number: usize, offset: Millis) -> Self {
        let (dispatcher, upstream) = dispatcher(Moment(0));
        Self {
            number,
            offset,
            run: 0,
            dispatcher,
            upstream,
            jobs: Vec::new(),
            running: Vec::new(),
            asked: 0,
            open: Vec::new(),
            starts: Vec::new(),
            untold: Vec::new(),
            alone: true,
            epoch: 1,
            next_beat: 0,
            skew: None,
            out: Vec::new(),
        }
    }

    /// Killed and started again: it keeps its rows and its name, and knows of none of its calls whether it was granted.
    pub(crate) fn restart(&mut self, now: Millis) {
        let row = self.dispatcher.row(self.upstream).expect("it is there");
        let at = self.moment(now);
        let (dispatcher, upstream) = dispatcher(at);
        let old = std::mem::replace(
            self,
            Self {
                dispatcher,
                upstream,
                ..Self::new(self.number, self.offset)
            },
        );
        self.dispatcher.restore(at, upstream, &row);
        self.run = old.run + 1;
        self.epoch = old.epoch;
        let starts = old.starts.into_iter();
        self.starts = starts.map(|(id, at, _)| (id, at, true)).collect();
    }

    /// Something that has nothing to do with the others.
    pub(crate) fn act(&mut self, now: Millis, what: u64, at: usize, more: u64) {
        let moment = self.moment(now);
        let dispatcher = &mut self.dispatcher;
        let pick = |all: &[JobId]| (!all.is_empty()).then(|| all[at % all.len()]);
        match what {
            0..200 => {
                for number in 0..more % 4 {
                    let job = Job {
                        claims: more.is_multiple_of(5),
                        max_wait: more
                            .is_multiple_of(7)
                            .then(|| Duration::from_millis(more * 20)),
                        ..Job::new(self.upstream, Class((number % 4) as u8))
                    };
                    if let weir_dispatch::Admission::Queued(id) = dispatcher.submit(moment, job) {
                        self.jobs.push(id);
                    }
                }
            }
            200..320 => {
                if !self.running.is_empty() {
                    let job = self.running.remove(at % self.running.len());
                    let finish = match more {
                        0..20 => Finish::Throttled {
                            retry_after: Some(Duration::from_millis(100 * more)),
                        },
                        20..60 => Finish::Unavailable,
                        _ => Finish::Done,
                    };
                    dispatcher.finish(moment, job, finish, 0);
                }
            }
            320..350 => {
                if let Some(job) = pick(&self.jobs) {
                    dispatcher.cancel(moment, job);
                }
            }
            350..370 => {
                if let Some(job) = pick(&self.jobs) {
                    dispatcher.raise(moment, job, Class((more % 4) as u8));
                }
            }
            370..378 => dispatcher.hold(moment, more.is_multiple_of(3)),
            378..386 => dispatcher.clear(moment, self.upstream),
            386..390 => dispatcher.switch_off(moment, self.upstream),
            390..396 => dispatcher.switch_on(moment, self.upstream),
            _ => {
                let until = moment + Duration::from_millis(more * 10);
                dispatcher.throttle(moment, self.upstream, until);
            }
        }
    }

    pub(crate) fn hear(&mut self, now: Millis, reply: Reply) {
        let (id, at) = match reply {
            Reply::Granted(id, at) | Reply::Late(id, at) => (Some(id), at),
            Reply::Refused { id, now, .. } => (Some(id), now),
            Reply::Pulse { now, .. } => (None, now),
        };
        self.skew = Some(at as i64 - (now + self.offset) as i64);
        let open = id.and_then(|id| self.open.iter().position(|(other, _, _)| *other == id));
        let asked = open.map(|index| self.open.remove(index));
        let moment = self.moment(now);
        match (reply, asked) {
            (Reply::Granted(id, _), Some((_, job, _))) => self.grant(now, id, job, false),
            (Reply::Granted(id, _), None) => {
                // The same once more, or too late. What was used is not given back.
                if !self.starts.iter().any(|(used, _, _)| *used == id) {
                    self.out.push(Sent::Request(Request::Unused(id)));
                }
            }
            (Reply::Refused { wait, full, .. }, Some((_, job, _))) => {
                let full = full.map(|window| FullWindow {
                    window: Window::of_seconds((window / 1_000) as u32),
                    used: 1,
                    limit: 1,
                    kept: 0,
                });
                let refused = Refused {
                    until: moment + Duration::from_millis(wait),
                    reason: Wait::Window,
                    full,
                };
                self.dispatcher.refuse(moment, job, refused);
            }
            (Reply::Late(..), Some((_, job, _))) => {
                self.dispatcher.put_back(moment, job);
            }
            (Reply::Pulse { epoch, .. }, _) => {
                if epoch == self.epoch {
                    self.alone = false;
                } else {
                    // Hands in, and is together with the others at the next beat, when that was heard.
                    let starts = self.starts.iter();
                    let starts = starts.map(|(id, at, _)| (*id, now - at));
                    // What it has asked may have been granted by the ledger that is gone, and start a call yet.
                    let open = self.open.iter().map(|(id, _, _)| (*id, 0));
                    let starts = starts.chain(open).collect();
                    self.out.push(Sent::Request(Request::HandIn(epoch, starts)));
                    self.epoch = epoch;
                    self.alone = true;
                }
            }
            (Reply::Refused { .. } | Reply::Late(..), None) => {}
        }
    }

    /// Does what is to be done now.
    pub(crate) fn follow(&mut self, now: Millis) -> Vec<Sent> {
        if now >= self.next_beat {
            self.next_beat = now + BEAT;
            self.out.push(Sent::Request(Request::Beat));
            if !self.untold.is_empty() {
                let untold = self.untold.iter();
                let told = untold.map(|(id, at)| (*id, now - at)).collect();
                self.out.push(Sent::Request(Request::Started(told)));
                self.untold
                    .retain(|(_, at)| at + WINDOWS[1].0 + 10_000 > now);
            }
        }
        let silent: Vec<_> = self
            .open
            .extract_if(.., |(_, _, since)| *since + ANSWER <= now)
            .collect();
        for (id, job, _) in silent {
            self.alone = true;
            self.out.push(Sent::Request(Request::Unused(id)));
            self.decide_alone(now, job);
        }
        loop {
            let moment = self.moment(now);
            match self.dispatcher.next(moment) {
                Next::Start(start) => panic!("{start:?} started unasked"),
                Next::Ask(ask) => self.ask(now, ask.job),
                Next::Wait(_) | Next::Idle => break,
            }
        }
        let ended = self.dispatcher.take_ended();
        self.jobs
            .retain(|job| !ended.iter().any(|(id, _)| id == job));
        drop(self.dispatcher.take_changed());
        std::mem::take(&mut self.out)
    }

    fn ask(&mut self, now: Millis, job: JobId) {
        let Some(skew) = self.skew.filter(|_| !self.alone) else {
            return self.decide_alone(now, job);
        };
        let id = self.next_id();
        let there = (now + self.offset) as i64 + skew;
        let wanted_until = there as Millis + ANSWER;
        self.open.push((id, job, now));
        let ask = Request::Ask { id, wanted_until };
        self.out.push(Sent::Request(ask));
    }

    fn next_id(&mut self) -> AskId {
        self.asked += 1;
        (self.number, self.run, self.asked)
    }

    /// Spends its share, or waits.
    fn decide_alone(&mut self, now: Millis, job: JobId) {
        for (window, limit) in WINDOWS {
            let alone = self.starts.iter().filter(|(_, _, alone)| *alone);
            let mut spent: Vec<Millis> = alone.map(|(_, at, _)| *at).collect();
            spent.retain(|at| at + window > now);
            spent.sort();
            if let Some(over) = spent.len().checked_sub(share(limit)) {
                let moment = self.moment(now);
                let wait = spent[over] + window - now;
                let refused = Refused {
                    until: moment + Duration::from_millis(wait.min(3_000)),
                    reason: Wait::Share,
                    full: None,
                };
                self.dispatcher.refuse(moment, job, refused);
                return;
            }
        }
        let id = self.next_id();
        self.grant(now, id, job, true);
    }

    fn grant(&mut self, now: Millis, id: AskId, job: JobId, alone: bool) {
        let moment = self.moment(now);
        match self.dispatcher.grant(moment, job) {
            Some(start) => {
                self.running.push(start.job);
                self.starts.push((id, now, alone));
                if alone {
                    self.untold.push((id, now));
                }
                self.out.push(Sent::Started { alone });
            }
            None if alone => {}
            None => self.out.push(Sent::Request(Request::Unused(id))),
        }
    }

    fn moment(&self, now: Millis) -> Moment {
        Moment((now + self.offset) * 1_000_000)
    }
}

fn dispatcher(now: Moment) -> (Dispatcher, UpstreamId) {
    let class = ClassPolicy {
        max_wait: None,
        on_cooldown: OnCooldown::Hold,
        overflow: Overflow::Drop,
    };
    let policy = Policy {
        classes: vec![class; 4],
        capacity: 40,
        agenda_capacity: 40,
        backlog_floor: 5,
        aging: Duration::from_secs(10),
        put_off: Duration::from_secs(10),
        crew: CrewPolicy {
            base: 3,
            max: 3,
            grow_at: 60,
            shrink_below: 40,
            step: Duration::from_secs(1),
            slot_time: Duration::from_secs(1),
            waiting_max: 10,
        },
        failure: FailurePolicy {
            ladder: vec![Duration::from_secs(5)],
            threshold: 2,
            threshold_disables: false,
            throttled: None,
            longest: Duration::from_secs(60),
        },
        again_class: None,
        attempts: 2,
        retry_base: Duration::from_millis(500),
        records: 0,
    };
    let limits = windows().map(|(window, limit)| {
        let seconds = u32::try_from(window.as_secs()).expect("short");
        (Window::of_seconds(seconds), limit as u32)
    });
    let query: Windows = limits.collect();
    let mut dispatcher = Dispatcher::new(policy, now);
    let quota = Quota {
        gaps: [Duration::ZERO; MAX_CLASSES],
        in_flight: 3,
        query,
        grab: Windows::default(),
    };
    let upstream = dispatcher.add_upstream(now, quota);
    dispatcher.share(now, upstream, true);
    (dispatcher, upstream)
}
