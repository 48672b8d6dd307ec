//! Whether an upstream may be called now.

use super::*;

impl Rows {
    /// How many starts count in a window now; in the day that began then, where it is no sliding one.
    pub(super) fn used(
        &self,
        now: u64,
        upstream: UpstreamKey,
        ledger: Ledger,
        window: Window,
        day: Option<u64>,
    ) -> u64 {
        let row = self.upstreams.get(&upstream);
        let Some(row) = row.and_then(|row| row.ledgers.get(&ledger)) else {
            return 0;
        };
        row.events(now, window, day).map(|(_, count)| count).sum()
    }

    /// What the members have of a window. Of a member that may know more than the store, the most that it can have.
    pub(super) fn reserved(
        &self,
        now: u64,
        upstream: UpstreamKey,
        ledger: Ledger,
        window: Window,
        limit: u32,
    ) -> u64 {
        let row = self.upstreams.get(&upstream);
        let nodes = row.and_then(|row| row.shares.get(&(ledger, window)));
        let recorded: u64 = nodes
            .into_iter()
            .flat_map(|nodes| nodes.values().map(|starts| u64::from(*starts)))
            .sum();
        let Some(epoch) = &self.epoch else {
            return recorded;
        };
        let unknown = epoch.known.iter().filter(|node| {
            nodes.is_none_or(|nodes| !nodes.contains_key(*node))
                && now < self.last_seen(**node) + millis(SILENT) + counts(window)
        });
        let unknown = unknown.count() as u64 * u64::from(nominal_share(limit));
        (recorded + unknown).min(recorded.max(u64::from(limit) / 2))
    }

    /// Whether the starts that the store knows are all that count in a window of this length.
    pub(super) fn certain(&self, now: u64, window: Window) -> bool {
        let Some(epoch) = &self.epoch else {
            return false;
        };
        epoch.is_settled(now)
            && (self.missing(now).is_empty() || now >= epoch.began + counts(window))
    }

    pub(in super::super) fn ask(&mut self, now: u64, run: u64, ask: &Ask) -> Answer {
        let time = StoreTime(now);
        let row = self.upstreams.entry(ask.upstream).or_default();
        let known = row.ledgers.get(&ask.ledger);
        if let Some(at) = known.and_then(|ledger| ledger.starts.get(&ask.id)) {
            return Answer::Granted(Grant { at: StoreTime(*at) });
        }
        if time > ask.wanted_until {
            return Answer::Late { now: time };
        }
        if let Some(question) = &ask.question
            && let Some(answer) = self.question(now, question, ask.id.node)
        {
            return answer;
        }
        if let Some((wait, reason)) = self.refusal(now, run, ask) {
            return Answer::Refused {
                wait: span(wait),
                reason,
                now: time,
            };
        }
        let row = self.upstreams.entry(ask.upstream).or_default();
        let ledger = row.ledgers.entry(ask.ledger).or_default();
        for (window, _) in &ask.windows {
            ledger.longest = ledger.longest.max(length(*window));
        }
        ledger.trim(now);
        ledger.starts.insert(ask.id, now);
        if ask.gap.is_some() {
            row.space(now, ask.id);
        }
        if let Some(question) = &ask.question {
            let claim = QuestionRow {
                claim: ask.id,
                until: now + millis(question.claim),
                answer: None,
            };
            self.questions.insert(question.key, claim);
        }
        Answer::Granted(Grant { at: time })
    }

    /// Why it may not be called, and when it is worth asking again.
    pub(super) fn refusal(&self, now: u64, run: u64, ask: &Ask) -> Option<(u64, Refusal)> {
        let row = self.upstreams.get(&ask.upstream)?;
        if let Some(off) = row.switched.as_ref().filter(|switched| switched.off) {
            return Some((millis(OFF_WAIT), Refusal::Off(off.clone())));
        }
        let mut longest: Option<(u64, Refusal)> = None;
        if let Some((until, by, reason)) = &row.throttled {
            let (by, reason) = (*by, reason.clone());
            later(
                &mut longest,
                until.saturating_sub(now),
                Refusal::Throttled { by, reason },
            );
        }
        let windows = row.windows(ask);
        let is_spaced = ask.gap.is_some_and(|gap| !gap.is_zero());
        if !windows.is_empty() || is_spaced {
            let unmet = !windows.is_empty() && !self.met(now, ask.id.node);
            // Spacing alone waits for those who are there: they know the last start, and who wants to be left alone.
            let handing_in = match self.epoch(run) {
                None => true,
                Some(epoch) if windows.is_empty() => !epoch.is_settled(now),
                Some(_) => self.handing_in(now) || unmet,
            };
            if handing_in && longest.is_none() {
                let began = self.epoch(run).map_or(now, |epoch| epoch.began);
                let until = match windows.is_empty() || self.missing(now).is_empty() {
                    true => SETTLE,
                    false => HAND_IN,
                };
                let left = (began + millis(until)).saturating_sub(now);
                let wait = if unmet { 1000 } else { left.clamp(1, 1000) };
                return Some((wait, Refusal::HandingIn));
            } else if handing_in {
                return longest;
            }
        }
        for (window, limit) in windows {
            let day = ask.day_begins.filter(|_| length(window) == DAY);
            let day = day.map(|second| day_began(now, second));
            let reserved = self.reserved(now, ask.upstream, ask.ledger, window, limit);
            let left = u64::from(limit).saturating_sub(reserved);
            let used = self.used(now, ask.upstream, ask.ledger, window, day);
            let full = |used: u64| Refusal::Window {
                window,
                used: u32::try_from(used).unwrap_or(u32::MAX),
                limit: u32::try_from(left).unwrap_or(u32::MAX),
            };
            if !self.certain(now, window) {
                let began = self.epoch.as_ref().map_or(now, |epoch| epoch.began);
                let wait = (began + counts(window)).saturating_sub(now);
                // How full it is nobody knows until then, or until all have said what they know.
                later(
                    &mut longest,
                    wait.min(millis(UNCERTAIN_WAIT)),
                    Refusal::HandingIn,
                );
            } else if used >= left {
                let wait = match day {
                    Some(began) => (began + DAY).saturating_sub(now),
                    None => row.next_fit(now, ask.ledger, window, used, left),
                };
                later(&mut longest, wait.max(1), full(used));
            }
        }
        if let (Some(gap), Some((last, ..))) = (ask.gap, row.last) {
            later(
                &mut longest,
                (last + millis(gap)).saturating_sub(now),
                Refusal::Gap,
            );
        }
        longest
    }

    /// What is known of a question; for `asker` its own claim is none.
    pub(super) fn question(&self, now: u64, question: &Question, asker: NodeId) -> Option<Answer> {
        let row = self.questions.get(&question.key)?;
        if now >= row.until {
            return None;
        }
        let time = StoreTime(now);
        match &row.answer {
            Some((at, body)) => {
                let age = now.saturating_sub(*at);
                (age <= millis(question.fresh)).then(|| Answer::Answered {
                    by: row.claim.node,
                    age: span(age),
                    body: body.clone(),
                    now: time,
                })
            }
            None => (row.claim.node != asker).then(|| Answer::Claimed {
                by: row.claim.node,
                left: span(row.until - now),
                now: time,
            }),
        }
    }

    pub(in super::super) fn tell(
        &mut self,
        now: u64,
        upstream: UpstreamKey,
        told: Vec<Told>,
    ) -> StoreTime {
        let row = self.upstreams.entry(upstream).or_default();
        let is_member = |node: &NodeId| self.members.contains_key(node);
        for told in told {
            match told {
                Told::Unused(id) => row.unused(id),
                Told::Started {
                    id,
                    ledger,
                    age,
                    spaced,
                } => row.started(now, id, ledger, age, spaced),
                Told::Throttled {
                    span,
                    by,
                    reason,
                    at,
                } => row.throttle(now, span, by, &reason, at.0),
                Told::Limit(limit) => row.limit(now, limit, true),
                Told::Switched(switched) => row.switch(now, switched, true),
                Told::Configured(node, limits) => row.configure(node, limits, is_member),
                Told::Cleared(at) => row.clear(now, at.0),
            }
        }
        StoreTime(now)
    }

    pub(in super::super) fn rows(&self, now: u64, upstreams: &[UpstreamKey]) -> Vec<SharedRow> {
        let row = |key| self.upstreams.get(key).map(|row| row.shared(now));
        upstreams
            .iter()
            .map(|key| row(key).unwrap_or_default())
            .collect()
    }

    pub(in super::super) fn answer(
        &mut self,
        now: u64,
        key: [u8; 16],
        claim: AskId,
        body: Option<Vec<u8>>,
        keep: Duration,
    ) {
        let Some(row) = self.questions.get_mut(&key) else {
            return;
        };
        if row.claim != claim || row.answer.is_some() || now >= row.until {
            return;
        }
        match body {
            Some(body) => {
                row.answer = Some((now, body.into()));
                row.until = now + millis(keep);
            }
            None => {
                self.questions.remove(&key);
            }
        }
    }
}

/// Keeps the refusal that lasts longest, the first of several.
fn later(longest: &mut Option<(u64, Refusal)>, wait: u64, reason: Refusal) {
    if wait > longest.as_ref().map_or(0, |(longest, _)| *longest) {
        *longest = Some((wait, reason));
    }
}

/// When the day began that empties at this second of it.
fn day_began(now: u64, second: u32) -> u64 {
    let second = u64::from(second) * 1000 % DAY;
    let into = (now % DAY + DAY - second) % DAY;
    now.saturating_sub(into)
}
