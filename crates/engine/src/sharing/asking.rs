//! The questions: one before each call that counts, and what its answer comes to.

use super::*;

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
        state.ask((asked.job, asked.since), &wanted, now, effects);
    }

    /// Sends a question to the store.
    pub(crate) fn send(self: &Arc<Self>, asking: Asking) {
        let shared = self.clone();
        self.tasks.spawn_on(ask(shared, asking), &self.runtime);
    }

    /// This became of a claimed question.
    pub(crate) fn publish(
        self: &Arc<Self>,
        (question, claim): (Question, AskId),
        published: Published,
    ) {
        let shared = self.clone();
        let publish = async move {
            let Some(node) = shared.node() else { return };
            let (text, keep) = match published {
                Published::Answer(call) => {
                    let keep = call.question().map(|question| question.keep);
                    let packed = shared.vital.guard(|| call.pack()).flatten();
                    // With its question: a store that takes one answer for another makes nobody believe it.
                    let text = packed.map(|packed| [&question.key, &*packed].concat());
                    (text, keep.unwrap_or_default())
                }
                Published::Failure(failed) => (Some(failed.write(&question)), failing::KEEP),
                Published::Nothing => (None, Duration::ZERO),
            };
            let sealed = text.map(|text| node.seal().seal(&text));
            let body = sealed.filter(|body| body.len() <= LONGEST_ANSWER);
            // If it is lost, the claim ends by itself.
            let _ = node
                .call(|store| store.answer(question, claim, body, keep))
                .await;
        };
        self.tasks.spawn_on(publish, &self.runtime);
    }
}

/// What became of a claimed question.
pub(crate) enum Published {
    /// The answer that this call holds.
    Answer(Arc<dyn Call>),
    /// Its call came to nothing, and with it whatever waits for it.
    Failure(Failed),
    /// Others may ask it themselves.
    Nothing,
}

/// What another node's answer is to a job here.
enum Taken {
    /// It has it.
    Answer,
    /// There is none.
    Failure(Failed),
    /// It is of no use.
    Nothing,
}

/// What time the store says it is. A grant may be one that it repeats, of a while ago.
fn time_of(answer: &Answer) -> Option<StoreTime> {
    match answer {
        Answer::Granted(_) => None,
        Answer::Refused { now, .. }
        | Answer::Claimed { now, .. }
        | Answer::Answered { now, .. }
        | Answer::Late { now } => Some(*now),
    }
}

/// What the answer to a question comes to.
pub(super) enum Heard {
    /// This may be made now.
    Granted(Granted),
    /// It was granted, and is of no use any more.
    Void,
    /// It was not granted.
    Not(Answer),
    /// Nobody answered: this node is alone.
    Nothing,
}

/// Asks the store, and does what it says. Whatever becomes of what asked, the answer is heard here: what was granted counts
/// until it is used or given back.
async fn ask(shared: Arc<Shared>, asking: Asking) {
    let Some(node) = shared.node() else { return };
    let question = asking.ask.clone();
    let mut answer = node.call(|store| store.ask(question)).await;
    if let Some(time) = answer.as_ref().ok().and_then(time_of)
        && node.hear_time(time, asking.sent)
    {
        answer = Err(Lost::Silent("its clock has jumped ahead".to_owned()));
    }
    let taken = match (&answer, &asking.whose) {
        (Ok(Answer::Answered { body, .. }), Whose::Job(job, _)) => {
            let call = shared.state.lock().call_of(*job);
            let opened = node.seal().open(body);
            let question = asking.ask.question.map(|question| question.key);
            let said = opened.as_deref().zip(question);
            let packed = said.and_then(|(opened, key)| opened.strip_prefix(&key));
            // Unpacked outside the lock: it is the front's code, and an answer may be long.
            let taken = call.zip(packed).is_some_and(|(call, packed)| {
                let taken = shared.vital.guard(|| call.take(packed));
                taken.unwrap_or(false)
            });
            match said.and_then(|(opened, key)| Failed::read(opened, &key)) {
                Some(failed) => Taken::Failure(failed),
                None if taken => Taken::Answer,
                None => Taken::Nothing,
            }
        }
        _ => Taken::Nothing,
    };
    let name: Option<Arc<str>> = match &answer {
        Ok(Answer::Answered { by, .. } | Answer::Claimed { by, .. }) => Some(node.name_of(*by)),
        Ok(Answer::Refused {
            reason: Refusal::Off(off),
            ..
        }) => Some(off.by.as_str().into()),
        _ => None,
    };
    let by = name.map(|name| (shared.askers.number(&name), name));
    shared.with(|state, now, effects| {
        let heard = state.hear_answer(&asking, answer, now, effects);
        match asking.whose {
            Whose::Job(job, since) => {
                let heard = (heard, taken, by);
                state.heed((job, since), &asking, heard, now, effects);
            }
            Whose::Request(_) => state.heed_more(asking, heard, now, effects),
        }
    });
}

impl State {
    /// What a job asks, as all nodes know it.
    fn question(&mut self, job: JobId, upstream: UpstreamId) -> Option<Question> {
        let time_out = self.sides[upstream.0 as usize].time_out;
        let sharing = self.sharing.as_ref()?;
        let key = sharing.ledger.key(upstream)?;
        let payload = self.payloads.find(job)?;
        // Its answer came from another node once and was of no use.
        if payload.elsewhere == Elsewhere::Distrusts {
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
    fn ask(
        &mut self,
        (job, since): (JobId, Moment),
        wanted: &Wanted,
        now: Moment,
        effects: &mut Effects,
    ) {
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
            let Some(sharing) = &mut self.sharing else {
                return;
            };
            sharing.open(id, wanted.upstream, wanted.budget);
            let sent = sharing.node.timeline().waking();
            effects.asks.push(Asking {
                whose: Whose::Job(job, since),
                upstream: wanted.upstream,
                budget: wanted.budget,
                gap: wanted.gap,
                sent,
                ask,
            });
            return;
        }
        let windows = self.windows(wanted.upstream, wanted.budget, now);
        let sharing = self.sharing.as_ref();
        let may = sharing.map_or(Ok(()), |sharing| sharing.alone(wanted, &windows, now));
        match may {
            Ok(()) => {
                let granted = Granted {
                    id,
                    alone: true,
                    late: false,
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

    /// Starts a job that may start, or gives the right to it back.
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
        // Nobody wants it any more, or not now.
        self.give_back(upstream, granted, effects);
    }

    /// Others may have what was granted, and ask what was claimed.
    pub(super) fn give_back(
        &mut self,
        upstream: UpstreamId,
        granted: Granted,
        effects: &mut Effects,
    ) {
        if let Some(sharing) = self.sharing.as_mut().filter(|_| !granted.alone) {
            sharing.note(upstream, Untold::Unused(granted.id));
            effects.unclaimed.extend(granted.claimed());
            self.tell_if_untold(effects);
        }
    }

    /// What the store said, whoever asked.
    fn hear_answer(
        &mut self,
        asking: &Asking,
        answer: Result<Answer, Lost>,
        now: Moment,
        effects: &mut Effects,
    ) -> Heard {
        let (id, upstream) = (asking.ask.id, asking.upstream);
        let Some(sharing) = &mut self.sharing else {
            return Heard::Void;
        };
        let open = sharing.open.remove(&id);
        let handed_in = open.is_some_and(|open| open.handed_in);
        if let Some(time) = answer.as_ref().ok().and_then(time_of) {
            sharing.ledger.hear(time, now);
        }
        match answer {
            Ok(Answer::Granted(_)) => {
                let after = sharing.node.since(asking.sent);
                let granted = Granted {
                    id,
                    alone: false,
                    late: asking.gap.is_some_and(|gap| after > gap / ledger::CLOSE),
                    question: asking.ask.question,
                };
                // Handed in, it may have been granted for that alone, by a store that looked at no window. After too long,
                // this node was stopped, or had no time: others may have used the window since.
                if handed_in || after > ledger::FRESH {
                    self.give_back(upstream, granted, effects);
                    return Heard::Void;
                }
                Heard::Granted(granted)
            }
            Ok(answer) => {
                if handed_in {
                    sharing.note(upstream, Untold::Unused(id));
                    self.tell_if_untold(effects);
                }
                Heard::Not(answer)
            }
            Err(_) => {
                // Whether it was granted is not known. If it was, it counts until it is given back.
                sharing.note(upstream, Untold::Unused(id));
                sharing.alone = true;
                Heard::Nothing
            }
        }
    }

    /// What the store said about a job that asked.
    fn heed(
        &mut self,
        (job, since): (JobId, Moment),
        asking: &Asking,
        (heard, taken, by): (Heard, Taken, Option<(Asker, Arc<str>)>),
        now: Moment,
        effects: &mut Effects,
    ) {
        let upstream = asking.upstream;
        let answer = match heard {
            Heard::Granted(granted) => {
                return self.start_granted(job, upstream, granted, now, effects);
            }
            Heard::Void => {
                self.dispatcher.put_back(now, job);
                return;
            }
            Heard::Nothing => {
                let wanted = Wanted {
                    upstream,
                    budget: asking.budget,
                    gap: asking.gap,
                    question: None,
                };
                return self.ask((job, since), &wanted, now, effects);
            }
            Heard::Not(answer) => answer,
        };
        match answer {
            Answer::Refused { wait, reason, .. } => {
                let by = by.map(|(by, _)| by);
                self.refused(job, asking, now + wait, (reason, by), now, effects);
            }
            Answer::Claimed { left, .. } => {
                if let Some(payload) = self.payloads.find(job) {
                    payload.elsewhere = Elsewhere::Joins;
                }
                let side = upstream.0 as usize;
                self.sides[side].latest = by.map(|(_, name)| name);
                self.dispatcher.defer(now, job, now + left.min(LOOK));
                self.take_decisions(None);
                self.sides[side].latest = None;
            }
            Answer::Answered { age, .. } => match (taken, by) {
                (Taken::Answer, Some((with, _))) => self.answered(job, upstream, with, age, now),
                // Only who wanted it before it failed: whoever came later wants to know how it is now.
                (Taken::Failure(failed), Some((with, _))) if since.until(now) >= age => {
                    self.failed_elsewhere(job, upstream, (with, age), failed, now, effects);
                }
                _ => {
                    if let Some(payload) = self.payloads.find(job) {
                        payload.elsewhere = Elsewhere::Distrusts;
                    }
                    self.dispatcher.put_back(now, job);
                }
            },
            Answer::Granted(_) | Answer::Late { .. } => {
                self.dispatcher.put_back(now, job);
            }
        }
    }

    fn refused(
        &mut self,
        job: JobId,
        asking: &Asking,
        until: Moment,
        (reason, by): (Refusal, Option<Asker>),
        now: Moment,
        effects: &mut Effects,
    ) {
        let upstream = asking.upstream;
        let own = self.windows(upstream, asking.budget, now);
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
                // The store says what it may grant. What pages call the limit is this node's own, of which the rest is kept.
                let own = own.iter().find(|own| own.window == window);
                let own = own.map_or(limit, |own| own.limit.max(limit));
                let full = FullWindow {
                    window,
                    used,
                    limit: own,
                    kept: own - limit,
                };
                (Wait::Window, Some(full))
            }
            Refusal::HandingIn => (Wait::Agreeing, None),
            Refusal::Gap => (Wait::Gap, None),
            Refusal::Throttled { by, reason } => {
                let words = format!("{reason} (told to {})", node.name_of(by));
                side.latest = Some(words.into());
                (Wait::Cooldown, None)
            }
            Refusal::Off(off) => {
                // Switching it off puts the job back first. It is still asking where this node knows better, which the
                // store has yet to hear.
                self.hear_switched(upstream, &off, by.unwrap_or_default(), now, effects);
                let refused = Refused {
                    until: now + LOOK,
                    reason: Wait::Agreeing,
                    full: None,
                };
                self.dispatcher.refuse(now, job, refused);
                return self.move_turn(upstream, effects);
            }
        };
        let refused = Refused {
            until,
            reason,
            full,
        };
        self.dispatcher.refuse(now, job, refused);
        // What follows from it has its reason now.
        self.take_decisions(None);
        self.sides[upstream.0 as usize].latest = None;
        self.note_state(upstream, now);
        self.move_turn(upstream, effects);
    }

    /// The call that the job waits for came to nothing: so does the job, without a call.
    fn failed_elsewhere(
        &mut self,
        job: JobId,
        upstream: UpstreamId,
        (with, after): (Asker, Duration),
        failed: Failed,
        now: Moment,
        effects: &mut Effects,
    ) {
        let about = self.payloads.find(job).map(|payload| {
            payload.elsewhere = Elsewhere::Fails;
            payload.call.about()
        });
        let asked = self.dispatcher.asked_by(job);
        if !self.dispatcher.answered(now, job) {
            return;
        }
        self.reap(Some((job, failed.ended)), effects);
        let (Some(about), Some((class, asker))) = (about, asked) else {
            return;
        };
        let noted = Job {
            asker,
            ..Job::new(upstream, class)
        };
        let what = What::Shared { with, after };
        self.dispatcher.note_other(now, &noted, what);
        let record = self.take_noted(&about, Some(Got::Nothing));
        if let Some((record, words)) = record.zip(failed.words) {
            self.explain_noted(upstream, record.number, words);
        }
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
        let payload = self.payloads.find(job);
        let joins = |payload: &Payload| payload.elsewhere == Elsewhere::Joins;
        let known = payload.map(|payload| (payload.call.about(), joins(payload)));
        let asked = self.dispatcher.asked_by(job);
        if !self.dispatcher.answered(now, job) {
            return;
        }
        let (Some((about, joined)), Some((class, asker))) = (known, asked) else {
            return;
        };
        let noted = Job {
            asker,
            ..Job::new(upstream, class)
        };
        // An answer to a call that was under way is new; any other is one that was kept, and is as old as it is.
        let (what, got) = match joined {
            true => (What::Shared { with, after }, Got::Fresh),
            false => (What::Kept { by: with }, Got::Cached { age: after }),
        };
        if let Some(payload) = self.payloads.find(job).filter(|_| !joined) {
            payload.elsewhere = Elsewhere::Kept;
        }
        self.dispatcher.note_other(now, &noted, what);
        self.take_noted(&about, Some(got));
    }
}
