//! What the store in memory holds, and what each call makes of it. Plain values and the time as an argument: the scripts
//! of [`RedisStore`](crate::shared::RedisStore) say the same in Lua, and a test compares the two.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::shared::words::millis;
use crate::shared::{
    Answer, Ask, AskId, Beat, Claim, Counted, Entry, Epoch, Grant, HAND_IN, HERE, HandIn,
    HandedStart, Lease, Leave, LogAnswer, LogKey, Lost, MOST_COUNTED, MOST_ENTRIES, MOST_LIMITS,
    MOST_MEMBERS, MOST_STARTS, Member, NodeId, NodeState, OFF_WAIT, Place, Pulse, Question,
    Refusal, SILENT, Share, ShareWish, SharedRow, StoreTime, Stream, StreamEnd, Table,
    TableChanges, Told, ToldLimit, ToldOff, UNCERTAIN_WAIT, USE_WITHIN, UpstreamKey, Version,
    nominal_share, shortened,
};
use crate::state::{Ledger, Window};

/// A whole day in milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// How old a start may be before it is taken to count in a window of a day at least.
const LOOSE: u64 = 60_000;

/// Everything in the store.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// The newest time that was handed out.
    newest: u64,
    epoch: Option<EpochRow>,
    members: BTreeMap<NodeId, MemberRow>,
    upstreams: BTreeMap<UpstreamKey, UpstreamRow>,
    questions: BTreeMap<[u8; 16], QuestionRow>,
    claims: BTreeMap<[u8; 16], (NodeId, u64)>,
    streams: BTreeMap<Stream, StreamRow>,
    tables: BTreeMap<Table, TableRow>,
    logs: BTreeMap<LogKey, Vec<Vec<u8>>>,
    leases: BTreeMap<UpstreamKey, BTreeMap<NodeId, LeaseRow>>,
}

#[derive(Clone, Debug)]
struct EpochRow {
    id: Epoch,
    /// The life of the server that it belongs to.
    run: u64,
    began: u64,
    /// Who was a member before, and has not handed in yet.
    known: BTreeSet<NodeId>,
    /// Who has, and when.
    handed: BTreeMap<NodeId, u64>,
}

#[derive(Clone, Debug, Default)]
struct MemberRow {
    name: String,
    version: String,
    addresses: Vec<std::net::IpAddr>,
    lag: Duration,
    seen: u64,
    joined: u64,
    /// Whether all who are there have heard of it.
    met: bool,
}

#[derive(Clone, Debug, Default)]
struct UpstreamRow {
    /// When the last spaced start was, its name, and when the one before it was.
    last: Option<(u64, AskId, Option<u64>)>,
    throttled: Option<(u64, NodeId, String)>,
    off: Option<ToldOff>,
    limits: BTreeMap<(Ledger, Window), ToldLimit>,
    ledgers: BTreeMap<Ledger, LedgerRow>,
    shares: BTreeMap<(Ledger, Window), BTreeMap<NodeId, u32>>,
}

#[derive(Clone, Debug, Default)]
struct LedgerRow {
    starts: BTreeMap<AskId, u64>,
    /// Starts of which only the number is known.
    counted: Vec<Lump>,
    /// The longest window that was seen, in milliseconds.
    longest: u64,
}

#[derive(Clone, Copy, Debug)]
struct Lump {
    at: u64,
    window: Window,
    count: u32,
}

#[derive(Clone, Debug)]
struct QuestionRow {
    by: NodeId,
    /// When the claim ends, or the answer is forgotten.
    until: u64,
    answer: Option<(u64, Arc<[u8]>)>,
}

#[derive(Clone, Debug, Default)]
struct StreamRow {
    last: Place,
    entries: BTreeMap<Place, Vec<u8>>,
}

/// Which change a row came with, until when it is kept, and its value unless it was taken out.
type Kept = (u64, u64, Option<Vec<u8>>);

#[derive(Clone, Debug, Default)]
struct TableRow {
    count: u64,
    /// Up to here, a row that was taken out may be missing.
    forgotten: u64,
    rows: BTreeMap<Vec<u8>, Kept>,
}

#[derive(Clone, Copy, Debug)]
struct LeaseRow {
    granted: u32,
    seen: u64,
}

fn span(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn length(window: Window) -> u64 {
    u64::from(window.0) * 1000
}

/// How long a start counts in a window of this length.
fn counts(window: Window) -> u64 {
    length(window) + millis(USE_WITHIN)
}

impl Rows {
    /// The time, given what the clock says.
    pub(super) fn now(&mut self, clock: u64) -> u64 {
        self.newest = self.newest.max(clock);
        self.newest
    }

    #[cfg(test)]
    pub(super) fn noted_epoch(&self) -> Epoch {
        self.epoch.as_ref().map_or(Epoch(0), |epoch| epoch.id)
    }

    fn epoch(&self, run: u64) -> Option<&EpochRow> {
        self.epoch.as_ref().filter(|epoch| epoch.run == run)
    }

    /// When a member was last known to be there. It may have been later than the row says where the row is older data.
    fn last_seen(&self, node: NodeId) -> u64 {
        let seen = self.members.get(&node).map_or(0, |member| member.seen);
        let began = self.epoch.as_ref().map_or(0, |epoch| epoch.began);
        let known = |epoch: &&EpochRow| epoch.known.contains(&node);
        seen.max(self.epoch.as_ref().filter(known).map_or(0, |_| began))
    }

    fn missing(&self, now: u64) -> Vec<NodeId> {
        let Some(epoch) = &self.epoch else {
            return Vec::new();
        };
        let waited = |node: &&NodeId| now < self.last_seen(**node) + millis(SILENT);
        epoch.known.iter().filter(waited).copied().collect()
    }

    fn pulse(&self, now: u64, node: NodeId) -> Pulse {
        let members = self.members.iter().map(|(node, row)| {
            let silent = now.saturating_sub(row.seen);
            Member {
                node: *node,
                name: row.name.clone(),
                version: row.version.clone(),
                addresses: row.addresses.clone(),
                silent: span(silent),
                lag: row.lag,
                state: if silent <= millis(HERE) {
                    NodeState::Here
                } else {
                    NodeState::Silent
                },
            }
        });
        Pulse {
            now: StoreTime(now),
            epoch: self.epoch.as_ref().map_or(Epoch(0), |epoch| epoch.id),
            members: members.collect(),
            shares: self.shares_of(node),
            missing: self.missing(now),
        }
    }

    fn shares_of(&self, node: NodeId) -> Vec<Share> {
        let mut shares = Vec::new();
        for (upstream, row) in &self.upstreams {
            for ((ledger, window), nodes) in &row.shares {
                if let Some(starts) = nodes.get(&node) {
                    shares.push(Share {
                        upstream: *upstream,
                        ledger: *ledger,
                        window: *window,
                        starts: *starts,
                    });
                }
            }
        }
        shares
    }

    /// `heard` is the time of the newest pulse that the node's handle had heard of.
    pub(super) fn beat(
        &mut self,
        now: u64,
        run: u64,
        heard: u64,
        beat: Beat,
    ) -> Result<Pulse, Lost> {
        let node = beat.node;
        // One that was under way for long may wish for less than the node has got since.
        let old = heard > 0 && heard < self.members.get(&node).map_or(0, |member| member.seen);
        if !self.members.contains_key(&node) && self.members.len() >= MOST_MEMBERS {
            return Err(Lost::Refused(crate::shared::too_many_members()));
        }
        let begins = self.epoch(run).is_none();
        if begins {
            self.epoch = Some(EpochRow {
                id: beat.new_epoch,
                run,
                began: now,
                known: self.members.keys().copied().collect(),
                handed: BTreeMap::new(),
            });
        }
        let open = self.handing_in(now);
        let (members, known) = (&self.members, node);
        if let Some(epoch) = &mut self.epoch {
            // Whoever comes while others are waited for may know something as well.
            if (open || begins) && !epoch.handed.contains_key(&known) {
                epoch.known.insert(known);
            }
            epoch
                .handed
                .retain(|node, at| members.contains_key(node) || now < *at + millis(SILENT));
            let began = epoch.began;
            epoch.known.retain(|node| {
                members.contains_key(node) || now < began + millis(SILENT) + 2 * DAY
            });
        }
        self.end_silent(now, node);
        let (joined, met) = match self.members.get(&node) {
            Some(member) => (member.joined, member.met),
            None => (now, false),
        };
        self.members.insert(
            node,
            MemberRow {
                name: shortened(&beat.name).to_owned(),
                version: shortened(&beat.version).to_owned(),
                addresses: beat.addresses,
                lag: beat.lag,
                seen: now,
                joined,
                met,
            },
        );
        let met = self.met(now, node);
        if let Some(member) = self.members.get_mut(&node) {
            member.met = met;
        }
        // Who has yet to hand in keeps what it has: its shares are not all known here.
        let known = |epoch: &EpochRow| epoch.known.contains(&node);
        if !self.epoch.as_ref().is_some_and(known) {
            self.share_out(now, node, &beat.shares, old);
        }
        Ok(self.pulse(now, node))
    }

    /// Whether all who are there have heard of a member. Before that it is granted nothing and has no share: if the store
    /// lost it now, nobody could name it.
    fn met(&self, now: u64, node: NodeId) -> bool {
        let Some(member) = self.members.get(&node) else {
            return true;
        };
        let knows = |(other, row): (&NodeId, &MemberRow)| {
            *other == node || row.seen >= member.joined || now > row.seen + millis(HERE)
        };
        member.met || self.members.iter().all(knows)
    }

    fn handing_in(&self, now: u64) -> bool {
        let Some(epoch) = &self.epoch else {
            return true;
        };
        now < epoch.began + millis(HAND_IN) && !self.missing(now).is_empty()
    }

    /// Members that were silent for too long are none any more; what they might have spent counts as spent now.
    fn end_silent(&mut self, now: u64, but: NodeId) {
        let silent = |node: &NodeId| now >= self.last_seen(*node) + millis(SILENT);
        let gone: Vec<_> = self.members.keys().copied().filter(silent).collect();
        for node in gone {
            for share in self.shares_of(node) {
                self.set_share(now, node, &share, 0);
            }
            if node != but {
                self.members.remove(&node);
            }
        }
    }

    fn share_out(&mut self, now: u64, node: NodeId, wishes: &[ShareWish], old: bool) {
        for share in self.shares_of(node).into_iter().filter(|_| !old) {
            let wished = |wish: &ShareWish| {
                (wish.upstream, wish.ledger, wish.window)
                    == (share.upstream, share.ledger, share.window)
            };
            if !wishes.iter().any(wished) {
                self.set_share(now, node, &share, 0);
            }
        }
        for wish in wishes {
            let (ledger, window) = (wish.ledger, wish.window);
            let row = self.upstreams.entry(wish.upstream).or_default();
            row.see(ledger, length(window));
            let key = (ledger, window);
            let has = row.shares.get(&key).and_then(|nodes| nodes.get(&node));
            let has = has.copied().unwrap_or(0);
            let wants = nominal_share(wish.limit);
            let mut share = Share {
                upstream: wish.upstream,
                ledger,
                window,
                starts: has,
            };
            if wants < has && !old {
                // What it had may be spent, so the difference counts.
                self.set_share(now, node, &share, wants);
            } else if wants > has {
                let used = self.used(now, wish.upstream, ledger, window, None);
                let reserved =
                    self.reserved(now, wish.upstream, ledger, window, wish.limit) - u64::from(has);
                let (wanted, limit) = (u64::from(wants), u64::from(wish.limit));
                let fits = reserved + wanted <= limit / 2 && used + reserved + wanted <= limit;
                if fits && self.certain(now, window) && self.met(now, node) {
                    share.starts = wants;
                    self.set_share(now, node, &share, wants);
                }
            }
        }
    }

    /// Gives a member this share; what it had more before counts as started now.
    fn set_share(&mut self, now: u64, node: NodeId, share: &Share, starts: u32) {
        let row = self.upstreams.entry(share.upstream).or_default();
        let key = (share.ledger, share.window);
        let nodes = row.shares.entry(key).or_default();
        let had = nodes.insert(node, starts).unwrap_or(0);
        if starts == 0 {
            nodes.remove(&node);
        }
        if nodes.is_empty() {
            row.shares.remove(&key);
        }
        if had > starts {
            row.count(share.ledger, share.window, now, had - starts);
        }
    }

    pub(super) fn hand_in(&mut self, now: u64, run: u64, hand_in: HandIn) -> Pulse {
        let node = hand_in.node;
        if self
            .epoch(run)
            .is_none_or(|epoch| epoch.id != hand_in.epoch)
        {
            return self.pulse(now, node);
        }
        for start in &hand_in.starts {
            self.start(now, start);
        }
        for share in &hand_in.shares {
            // Never less than is recorded: this may be a repeat of what was true a while ago.
            let row = self.upstreams.entry(share.upstream).or_default();
            row.see(share.ledger, length(share.window));
            if share.starts > 0 {
                let nodes = row.shares.entry((share.ledger, share.window)).or_default();
                let has = nodes.entry(node).or_default();
                *has = (*has).max(share.starts);
            }
        }
        for (upstream, span, reason) in hand_in.throttled {
            let row = self.upstreams.entry(upstream).or_default();
            row.throttle(now, span, node, &reason);
        }
        for (upstream, limit) in hand_in.limits {
            self.upstreams
                .entry(upstream)
                .or_default()
                .limit(now, limit);
        }
        for (upstream, off) in hand_in.off {
            let row = self.upstreams.entry(upstream).or_default();
            row.off.get_or_insert_with(|| bounded(off));
        }
        if let Some(epoch) = &mut self.epoch {
            epoch.handed.insert(node, now);
            epoch.known.extend(hand_in.known.iter().take(MOST_MEMBERS));
            let handed = &epoch.handed;
            epoch.known.retain(|node| !handed.contains_key(node));
        }
        self.pulse(now, node)
    }

    pub(super) fn leave(&mut self, now: u64, heard: u64, leave: &Leave) {
        for start in &leave.starts {
            self.start(now, start);
        }
        // The node is back already: this was under way for long.
        let seen = self
            .members
            .get(&leave.node)
            .map_or(0, |member| member.seen);
        if heard < seen {
            return;
        }
        self.members.remove(&leave.node);
        for row in self.upstreams.values_mut() {
            row.shares.retain(|_, nodes| {
                nodes.remove(&leave.node);
                !nodes.is_empty()
            });
        }
        for nodes in self.leases.values_mut() {
            nodes.remove(&leave.node);
        }
    }

    fn start(&mut self, now: u64, start: &HandedStart) {
        let row = self.upstreams.entry(start.upstream).or_default();
        // It counts in a window; in which one, the store may not have seen yet.
        row.see(start.ledger, DAY);
        row.started(now, start.id, start.ledger, start.age, start.spaced);
    }

    /// How many starts count in a window now; in the day that began then, where it is no sliding one.
    fn used(
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
    fn reserved(
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
    fn certain(&self, now: u64, window: Window) -> bool {
        let Some(epoch) = &self.epoch else {
            return false;
        };
        self.missing(now).is_empty() || now >= epoch.began + counts(window)
    }

    pub(super) fn ask(&mut self, now: u64, run: u64, ask: &Ask) -> Answer {
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
            && let Some(answer) = self.question(now, question, Some(ask.id.node))
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
                by: ask.id.node,
                until: now + millis(question.claim),
                answer: None,
            };
            self.questions.insert(question.key, claim);
        }
        Answer::Granted(Grant { at: time })
    }

    /// Why it may not be called, and when it is worth asking again.
    fn refusal(&self, now: u64, run: u64, ask: &Ask) -> Option<(u64, Refusal)> {
        let row = self.upstreams.get(&ask.upstream)?;
        if let Some(off) = &row.off {
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
        if !windows.is_empty() {
            let unmet = !self.met(now, ask.id.node);
            let handing_in = self.epoch(run).is_none() || self.handing_in(now) || unmet;
            if handing_in && longest.is_none() {
                let began = self.epoch(run).map_or(now, |epoch| epoch.began);
                let left = (began + millis(HAND_IN)).saturating_sub(now);
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
                later(
                    &mut longest,
                    wait.min(millis(UNCERTAIN_WAIT)),
                    full(used.max(left)),
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
    fn question(&self, now: u64, question: &Question, asker: Option<NodeId>) -> Option<Answer> {
        let row = self.questions.get(&question.key)?;
        if now >= row.until {
            return None;
        }
        let time = StoreTime(now);
        match &row.answer {
            Some((at, body)) => {
                let age = now.saturating_sub(*at);
                (age <= millis(question.fresh)).then(|| Answer::Answered {
                    by: row.by,
                    age: span(age),
                    body: body.clone(),
                    now: time,
                })
            }
            None => (Some(row.by) != asker).then(|| Answer::Claimed {
                by: row.by,
                left: span(row.until - now),
                now: time,
            }),
        }
    }

    pub(super) fn tell(&mut self, now: u64, upstream: UpstreamKey, told: Vec<Told>) -> StoreTime {
        let row = self.upstreams.entry(upstream).or_default();
        for told in told {
            match told {
                Told::Unused(id) => row.unused(id),
                Told::Started {
                    id,
                    ledger,
                    age,
                    spaced,
                } => row.started(now, id, ledger, age, spaced),
                Told::Throttled { span, by, reason } => row.throttle(now, span, by, &reason),
                Told::Limit(limit) => row.limit(now, limit),
                Told::Off(off) => row.off = off.map(bounded),
                Told::Cleared => {
                    row.throttled = None;
                    row.limits.clear();
                }
            }
        }
        StoreTime(now)
    }

    pub(super) fn rows(&self, now: u64, upstreams: &[UpstreamKey]) -> Vec<SharedRow> {
        let row = |key| self.upstreams.get(key).map(|row| row.shared(now));
        upstreams
            .iter()
            .map(|key| row(key).unwrap_or_default())
            .collect()
    }

    pub(super) fn answer(
        &mut self,
        now: u64,
        key: [u8; 16],
        by: NodeId,
        body: Option<Vec<u8>>,
        keep: Duration,
    ) {
        let Some(row) = self.questions.get_mut(&key) else {
            return;
        };
        if row.by != by || row.answer.is_some() || now >= row.until {
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

    pub(super) fn answers(&self, now: u64, questions: &[Question]) -> Vec<Option<Answer>> {
        let answer = |question| self.question(now, question, None);
        questions.iter().map(answer).collect()
    }

    pub(super) fn claim(
        &mut self,
        now: u64,
        keys: &[[u8; 16]],
        by: NodeId,
        span: Duration,
    ) -> Vec<Claim> {
        let mut claim = |key: &[u8; 16]| match self.claims.get(key) {
            Some((other, until)) if *other != by && now < *until => Claim::Theirs {
                by: *other,
                left: Duration::from_millis(until - now),
            },
            _ => {
                self.claims.insert(*key, (by, now + millis(span)));
                Claim::Ours
            }
        };
        keys.iter().map(&mut claim).collect()
    }

    pub(super) fn release(&mut self, keys: &[[u8; 16]], by: NodeId) {
        for key in keys {
            if self.claims.get(key).is_some_and(|(node, _)| *node == by) {
                self.claims.remove(key);
            }
        }
    }

    pub(super) fn append(
        &mut self,
        now: u64,
        stream: Stream,
        body: Vec<u8>,
        keep: Duration,
    ) -> Place {
        let row = self.streams.entry(stream).or_default();
        let place = if now > row.last.millis {
            Place {
                millis: now,
                number: 0,
            }
        } else {
            Place {
                number: row.last.number + 1,
                ..row.last
            }
        };
        row.last = place;
        row.entries.insert(place, body);
        // The newest of those that are too old stays: who has read it knows that nothing was forgotten since.
        let oldest = Place {
            millis: now.saturating_sub(millis(keep)),
            number: 0,
        };
        let marker = row.entries.range(..oldest).next_back();
        if let Some(marker) = marker.map(|(place, _)| *place) {
            row.entries = row.entries.split_off(&marker);
        }
        place
    }

    pub(super) fn read(&self, after: &[(Stream, Place)], most: usize) -> Vec<StreamEnd> {
        let end = |(stream, place): &(Stream, Place)| {
            let entries = self.streams.get(stream).map(|row| &row.entries);
            let ends = entries.and_then(|entries| {
                Some((*entries.first_key_value()?.0, *entries.last_key_value()?.0))
            });
            let after = (
                std::ops::Bound::Excluded(*place),
                std::ops::Bound::Unbounded,
            );
            let entries = entries.into_iter().flat_map(|entries| entries.range(after));
            StreamEnd {
                stream: *stream,
                first: ends.map(|(first, _)| first),
                last: ends.map(|(_, last)| last),
                entries: entries
                    .take(most)
                    .map(|(place, body)| (*place, body.clone()))
                    .collect(),
            }
        };
        after.iter().map(end).collect()
    }

    pub(super) fn put(
        &mut self,
        now: u64,
        run: u64,
        table: Table,
        entries: Vec<Entry>,
        keep: Duration,
    ) -> Version {
        let epoch = self.epoch(run).map_or(Epoch(0), |epoch| epoch.id);
        let row = self.tables.entry(table).or_default();
        row.forget(now);
        for (key, value) in entries {
            row.count += 1;
            let entry = (row.count, now + millis(keep), value);
            row.rows.insert(key, entry);
        }
        Version::of(epoch, row.count)
    }

    pub(super) fn changes(
        &mut self,
        now: u64,
        run: u64,
        table: Table,
        since: Version,
    ) -> TableChanges {
        let epoch = self.epoch(run).map_or(Epoch(0), |epoch| epoch.id);
        let row = self.tables.entry(table).or_default();
        row.forget(now);
        let version = Version::of(epoch, row.count);
        let seen = since.count();
        let whole = since == Version::NONE
            || !since.is_of(epoch)
            || seen > row.count
            || seen < row.forgotten;
        let mut changed: Vec<_> = row.rows.iter().collect();
        changed.retain(|(_, (count, _, value))| {
            if whole {
                value.is_some()
            } else {
                *count > seen
            }
        });
        changed.sort_by_key(|(_, (count, ..))| *count);
        let entry = |(key, (.., value)): (&Vec<u8>, &Kept)| (key.clone(), value.clone());
        TableChanges {
            version,
            whole,
            entries: changed.into_iter().map(entry).collect(),
        }
    }

    pub(super) fn extend(&mut self, log: LogKey, known: u64, entries: Vec<Vec<u8>>) -> LogAnswer {
        let log = self.logs.entry(log).or_default();
        let appended = log.len() as u64 == known;
        if appended {
            log.extend(entries);
        }
        let from = usize::try_from(known).unwrap_or(usize::MAX);
        let entries = log.get(from..).unwrap_or_default();
        LogAnswer {
            appended,
            length: log.len() as u64,
            entries: entries.iter().take(MOST_ENTRIES).cloned().collect(),
        }
    }

    pub(super) fn lease(
        &mut self,
        now: u64,
        account: UpstreamKey,
        by: NodeId,
        open: u32,
        limit: u32,
    ) -> Lease {
        let nodes = self.leases.entry(account).or_default();
        let members = &self.members;
        nodes.retain(|node, lease| {
            let beat = members.get(node).map_or(0, |member| member.seen);
            now <= lease.seen.max(beat) + millis(HERE)
        });
        nodes.remove(&by);
        let others: u32 = nodes.values().map(|lease| lease.granted).sum();
        let granted = open.min(limit.saturating_sub(others));
        if open > 0 {
            nodes.insert(by, LeaseRow { granted, seen: now });
        }
        Lease {
            granted,
            others,
            nodes: u32::try_from(nodes.len()).unwrap_or(u32::MAX),
            now: StoreTime(now),
        }
    }
}

fn bounded(off: ToldOff) -> ToldOff {
    ToldOff {
        by: shortened(&off.by).to_owned(),
        reason: shortened(&off.reason).to_owned(),
        ..off
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

impl UpstreamRow {
    fn see(&mut self, ledger: Ledger, length: u64) {
        let row = self.ledgers.entry(ledger).or_default();
        row.longest = row.longest.max(length);
    }

    fn space(&mut self, at: u64, id: AskId) {
        match self.last {
            Some((last, ..)) if last > at => {}
            last => self.last = Some((at, id, last.map(|(last, ..)| last))),
        }
    }

    fn started(&mut self, now: u64, id: AskId, ledger: Ledger, age: Duration, spaced: bool) {
        let age = millis(age);
        let row = self.ledgers.entry(ledger).or_default();
        if row.starts.contains_key(&id) {
            return;
        }
        // It counts in a window that this store has not seen yet.
        if age > LOOSE && age > row.longest {
            row.longest = age.max(DAY);
        }
        let at = now.saturating_sub(age);
        row.starts.insert(id, at);
        if spaced {
            self.space(at, id);
        }
    }

    fn unused(&mut self, id: AskId) {
        for row in self.ledgers.values_mut() {
            row.starts.remove(&id);
        }
        if let Some((_, last, before)) = self.last
            && last == id
        {
            self.last = before.map(|at| (at, NOBODYS, None));
        }
    }

    fn throttle(&mut self, now: u64, span: Duration, by: NodeId, reason: &str) {
        let until = now + millis(span);
        if self.throttled.as_ref().is_none_or(|(old, ..)| *old < until) {
            self.throttled = Some((until, by, shortened(reason).to_owned()));
        }
    }

    fn limit(&mut self, now: u64, mut told: ToldLimit) {
        told.limit = told.limit.max(1);
        let key = (told.ledger, told.window);
        if self.limits.len() >= MOST_LIMITS && !self.limits.contains_key(&key) {
            return;
        }
        self.limits.insert(key, told);
        self.see(told.ledger, length(told.window));
        let Some(used) = told.used else { return };
        let row = self.ledgers.entry(told.ledger).or_default();
        let known: u64 = row
            .events(now, told.window, None)
            .map(|(_, count)| count)
            .sum();
        let more = u64::from(used.min(told.limit)).saturating_sub(known);
        if more > 0 {
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            self.count(told.ledger, told.window, now, more);
        }
    }

    /// Counts starts of which only the number is known.
    fn count(&mut self, ledger: Ledger, window: Window, at: u64, count: u32) {
        let row = self.ledgers.entry(ledger).or_default();
        row.longest = row.longest.max(length(window));
        row.counted
            .retain(|lump| at < lump.at + counts(lump.window));
        row.counted.push(Lump { at, window, count });
        let of_window = |lump: &&Lump| lump.window == window;
        if row.counted.iter().filter(of_window).count() > MOST_COUNTED {
            // The two oldest become one, which counts until the later of them would end.
            let mut older = row.counted.iter().enumerate();
            let oldest = older.find(|(_, lump)| lump.window == window);
            if let Some((place, oldest)) = oldest.map(|(place, lump)| (place, *lump)) {
                row.counted.remove(place);
                let next = row.counted.iter_mut().find(|lump| lump.window == window);
                if let Some(next) = next {
                    next.count = next.count.saturating_add(oldest.count);
                }
            }
        }
    }

    /// The limits to keep to: the node's own, and those that were told for other lengths.
    fn windows(&self, ask: &Ask) -> BTreeMap<Window, u32> {
        let told = self.limits.values();
        let told = told.filter(|told| told.ledger == ask.ledger);
        let mut windows: BTreeMap<_, _> = told.map(|told| (told.window, told.limit)).collect();
        windows.extend(ask.windows.iter().copied());
        windows
    }

    /// How long until another start fits into a full sliding window.
    fn next_fit(&self, now: u64, ledger: Ledger, window: Window, used: u64, left: u64) -> u64 {
        let never = counts(window);
        let Some(row) = self.ledgers.get(&ledger).filter(|_| left > 0) else {
            return never;
        };
        let mut events: Vec<_> = row.events(now, window, None).collect();
        events.sort_unstable();
        let mut to_end = used + 1 - left;
        for (at, count) in events {
            if count >= to_end {
                return (at + counts(window)).saturating_sub(now);
            }
            to_end -= count;
        }
        never
    }

    fn shared(&self, now: u64) -> SharedRow {
        let mut row = SharedRow {
            last_start: self.last.map(|(at, ..)| StoreTime(at)),
            off: self.off.clone(),
            limits: self.limits.values().copied().collect(),
            ..SharedRow::default()
        };
        if let Some((until, by, reason)) = &self.throttled
            && now < *until
        {
            row.throttled = Some((StoreTime(*until), *by, reason.clone()));
        }
        for (ledger, ledger_row) in &self.ledgers {
            let keep = ledger_row.keep();
            let counting = ledger_row.starts.iter().filter(|(_, at)| now < *at + keep);
            let mut starts: Vec<_> = counting
                .map(|(id, at)| (*id, StoreTime(*at), *ledger))
                .collect();
            starts.sort_by_key(|(id, at, _)| (*at, *id));
            let too_many = starts.len().saturating_sub(MOST_STARTS);
            row.starts.extend(starts.drain(too_many..));
            for lump in &ledger_row.counted {
                if now < lump.at + counts(lump.window) {
                    row.counted.push(Counted {
                        ledger: *ledger,
                        window: lump.window,
                        starts: lump.count,
                        at: StoreTime(lump.at),
                    });
                }
            }
        }
        row.starts
            .sort_by_key(|(id, at, ledger)| (*at, *ledger, *id));
        row.counted
            .sort_by_key(|lump| (lump.ledger, lump.window, lump.at, lump.starts));
        for ((ledger, window), nodes) in &self.shares {
            for (node, starts) in nodes {
                row.shares.push((*node, *ledger, *window, *starts));
            }
        }
        row
    }
}

/// Names a start that no node made.
const NOBODYS: AskId = AskId {
    node: NodeId(0),
    number: 0,
};

impl LedgerRow {
    /// How long a start may count.
    fn keep(&self) -> u64 {
        self.longest.max(LOOSE) + millis(USE_WITHIN)
    }

    fn trim(&mut self, now: u64) {
        let keep = self.keep();
        self.starts.retain(|_, at| now < *at + keep);
    }

    /// The starts that count in a window, with how many each stands for.
    fn events(
        &self,
        now: u64,
        window: Window,
        day: Option<u64>,
    ) -> impl Iterator<Item = (u64, u64)> {
        let counting = move |at: u64| match day {
            // One that was granted just before may be used just after.
            Some(began) => at + millis(USE_WITHIN) >= began,
            None => now < at + counts(window),
        };
        let starts = self.starts.values().map(|at| (*at, 1));
        let lumps = self
            .counted
            .iter()
            .filter(move |lump| lump.window == window);
        let lumps = lumps.map(|lump| (lump.at, u64::from(lump.count)));
        starts.chain(lumps).filter(move |(at, _)| counting(*at))
    }
}

impl TableRow {
    fn forget(&mut self, now: u64) {
        let forgotten = &mut self.forgotten;
        self.rows.retain(|_, (count, until, value)| {
            let keep = now < *until;
            if !keep && value.is_none() {
                *forgotten = (*forgotten).max(*count);
            }
            keep
        });
    }
}
