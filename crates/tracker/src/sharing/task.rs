//! The task that tells the others what happened here, and takes in what happened there.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use weir_engine::dispatch::Moment;
use weir_engine::{Vital, Vitals};
use weir_store::shared::{Lost, Place, Stream};
use weir_tracker_proto::nodes::{self, Batch, Head, LONGEST_ANSWER, PeerEvent, ToldAnswer};

use super::following::{Following, MOST};
use super::lately::Lately;
use super::losses::Losses;
use super::outlet::{BUFFER, TakenEvents};
use super::{LAST_WORDS, Sharing, SharingCount, SharingFigures, name_of};
use crate::exchange::Exchange;
use crate::swarm::{PeerEndpoint, ToldHere, ToldUpTo};

/// How old what happened may become before it is written.
const EVERY: Duration = Duration::from_millis(200);
/// Bytes that wait to be written while the store is away; what comes then is dropped, and counted.
const BACKLOG: usize = 8 << 20;
/// How far from its place in a stream a batch may have been written, in milliseconds: calls to the store end long before, and
/// servers of one cluster do not differ as much. What is farther was put there again.
const FAR: u64 = 60_000;
/// Bytes of answers in one entry.
const ANSWERS: usize = 60 << 10;
/// How long answers of other trackers are kept for the others.
const KEEP_ANSWERS: Duration = Duration::from_secs(60);
/// So often a node that is behind reads before it writes again.
const AT_ONCE: usize = 64;
/// Entries that are written in one turn where everything is told again: forty thousand peers a second, which take the others a
/// twentieth of a processor.
const AGAIN_AT_ONCE: usize = 4;
/// Something is written this often, if only to hear what time it is.
const AT_LEAST: Duration = Duration::from_secs(60);

/// What the task works with.
pub(super) struct SharingTask {
    sharing: Arc<Sharing>,
    exchange: Arc<Exchange>,
    vital: Vital,
}

/// What it keeps from one turn to the next, also if one panics.
struct Progress {
    answers: mpsc::Receiver<ToldAnswer>,
    following: Following,
    lately: Lately,
    backlog: VecDeque<Outgoing>,
    /// Milliseconds that the store's clock is ahead of ours, and when that was heard.
    ahead: Option<(i128, Moment)>,
    /// Our own stream was read: what an earlier run of this node told and had not written to its files.
    own_read: bool,
    losses: Losses,
    /// How far everything was told again, if it is, and since when.
    again: Option<(ToldUpTo, Moment)>,
    /// Why some streams could not be written or read in this turn, and whether that was so before.
    part: Option<Lost>,
    part_away: bool,
}

/// A batch without its head.
struct Outgoing {
    stream: Stream,
    body: Vec<u8>,
    events: u32,
    /// When it was gathered.
    at: Moment,
    /// It was written with a time that was not the store's.
    misdated: bool,
}

impl Outgoing {
    /// Whether that is of the same turn, and there is room for it.
    fn takes(&self, next: &Self) -> bool {
        let room = self.body.len() + next.body.len() <= BUFFER;
        room && self.stream == next.stream && self.at.until(next.at) < EVERY
    }

    fn append(&mut self, next: Self) {
        self.body.extend_from_slice(&next.body);
        self.events += next.events;
        self.at = next.at;
    }
}

impl SharingTask {
    pub(super) fn new(sharing: Arc<Sharing>, exchange: Arc<Exchange>, vitals: &Vitals) -> Self {
        Self {
            sharing,
            exchange,
            vital: vitals.add("tracker", "sharing"),
        }
    }

    pub(super) async fn run(self, answers: mpsc::Receiver<ToldAnswer>, stop: CancellationToken) {
        let (node, places) = (&self.sharing.node, &self.sharing.places);
        let progress = Progress {
            answers,
            losses: Losses::new(node.id(), places.epoch()),
            again: None,
            following: Following::default(),
            lately: Lately::new(self.exchange.swarms.seed()),
            backlog: VecDeque::new(),
            ahead: None,
            own_read: false,
            part: None,
            part_away: false,
        };
        let vital = self.vital.clone();
        let task = Arc::new(self);
        let turns = vital.drive(progress, move |progress| {
            let (task, stop) = (Arc::clone(&task), stop.clone());
            Box::pin(async move { task.turns(progress, stop).await })
        });
        turns.await;
    }

    async fn turns(&self, progress: &mut Progress, stop: CancellationToken) {
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                _ = tick.tick() => {}
            }
            tokio::select! {
                biased;
                () = self.turn(progress) => {}
                () = stop.cancelled() => break,
            }
        }
        self.gather(progress);
        let _ = tokio::time::timeout(LAST_WORDS, self.write(progress)).await;
    }

    /// Writes what has gathered, then reads what the others wrote.
    async fn turn(&self, progress: &mut Progress) {
        self.gather(progress);
        if !self.sharing.node.is_alone() {
            progress.part = None;
            if !progress.own_read && progress.ahead.is_none() {
                self.hear_time(progress).await;
            }
            self.write(progress).await;
            self.read(progress).await;
            self.tell_again(progress).await;
            self.note_part(progress);
        }
        let lags = progress.following.lags(self.now());
        let worst = lags.iter().map(|(_, lag)| *lag).max();
        self.sharing.node.set_lag(worst.unwrap_or_default());
        self.sharing.figures.set_lags(lags);
    }

    /// What an earlier run told is read before anything is added to it; for that the time has to be known.
    async fn hear_time(&self, progress: &mut Progress) {
        let empty = self.outgoing(TakenEvents::default());
        let stream = empty.stream;
        progress.backlog.push_front(empty);
        if self.write_first(progress, stream).await {
            return;
        }
        progress.backlog.pop_front();
        // The server of this stream is away; the one that is beaten to has a clock as well.
        let view = self.sharing.node.view();
        if let (Some(_), Some(time), Some(heard)) = (&progress.part, view.now, view.heard) {
            progress.ahead = Some((i128::from(time.0) - millis(heard), self.now()));
        }
    }

    /// One server of a cluster more or less is worth a word, and no more: everything else goes on.
    fn note_part(&self, progress: &mut Progress) {
        let away = progress.part.is_some();
        if away == progress.part_away || self.sharing.node.is_alone() {
            return;
        }
        progress.part_away = away;
        match &progress.part {
            Some(why) => tracing::warn!(
                front = "tracker",
                %why,
                "peers of some nodes arrive late until it answers"
            ),
            None => tracing::info!(
                front = "tracker",
                "all servers of the store's cluster answer again"
            ),
        }
    }

    fn now(&self) -> Moment {
        self.exchange.engine.timeline().now()
    }

    /// The time of the store in milliseconds, as far as it is known.
    fn store_now(&self, progress: &Progress) -> Option<u64> {
        let (ahead, _) = progress.ahead?;
        u64::try_from(millis(self.now()) + ahead).ok()
    }

    fn outgoing(&self, taken: TakenEvents) -> Outgoing {
        Outgoing {
            stream: Stream::Swarm(self.sharing.node.id()),
            body: taken.bytes,
            events: taken.events,
            at: self.now(),
            misdated: false,
        }
    }

    /// Takes from the buffers what peers did since that was last done.
    fn gather_own(&self, progress: &mut Progress) {
        let mut room =
            BACKLOG.saturating_sub(progress.backlog.iter().map(|one| one.body.len()).sum());
        let store_now = self.store_now(progress);
        self.sharing.outlet.take(|taken| {
            if taken.bytes.len() > room {
                self.sharing.outlet.drop_events(taken.events);
                return;
            }
            room -= taken.bytes.len();
            let outgoing = self.outgoing(taken);
            if let Some(now) = store_now {
                // What others wrote earlier and is read later is not true any more.
                progress.lately.note_own(&outgoing.body, now);
            }
            match progress.backlog.back_mut() {
                Some(last) if last.takes(&outgoing) => last.append(outgoing),
                _ => progress.backlog.push_back(outgoing),
            }
        });
    }

    /// Takes from the buffers what happened since the last turn.
    fn gather(&self, progress: &mut Progress) {
        self.gather_own(progress);
        let waiting = progress.backlog.iter().map(|one| one.body.len()).sum();
        let room = BACKLOG.saturating_sub(waiting);
        let mut body = Vec::new();
        let mut events = 0;
        while body.len() + LONGEST_ANSWER <= ANSWERS.min(room) {
            let Ok(answer) = progress.answers.try_recv() else {
                break;
            };
            answer.write(&mut body);
            events += 1;
        }
        if events > 0 {
            progress.backlog.push_back(Outgoing {
                stream: Stream::Forwarded(self.sharing.node.id()),
                body,
                events,
                at: self.now(),
                misdated: false,
            });
        }
        let now = self.now();
        let heard = progress
            .ahead
            .is_none_or(|(_, at)| at.until(now) < AT_LEAST);
        if progress.backlog.is_empty() && !heard {
            progress
                .backlog
                .push_back(self.outgoing(TakenEvents::default()));
        }
    }

    /// Writes everything, as long as the store answers; each stream by itself, as they may be on different servers.
    async fn write(&self, progress: &mut Progress) {
        let me = self.sharing.node.id();
        for stream in [Stream::Swarm(me), Stream::Forwarded(me)] {
            if progress.own_read || stream != Stream::Swarm(me) {
                while self.write_first(progress, stream).await {}
            }
        }
    }

    /// Writes the first batch for a stream; `false` if there is none or the store does not answer. It is written again then:
    /// who reads it twice has not learned anything else.
    async fn write_first(&self, progress: &mut Progress, stream: Stream) -> bool {
        let mut backlog = progress.backlog.iter();
        let Some(place) = backlog.position(|one| one.stream == stream) else {
            return false;
        };
        let first = &progress.backlog[place];
        let age = first.at.until(self.now());
        let keep = match stream {
            Stream::Swarm(_) => self.sharing.keep(),
            Stream::Forwarded(_) if age >= KEEP_ANSWERS => {
                progress.backlog.remove(place);
                return true;
            }
            Stream::Forwarded(_) => KEEP_ANSWERS,
        };
        let head = Head {
            stream: name_of(stream),
            written: self.store_now(progress).unwrap_or_default(),
            age: u32::try_from(age.as_millis()).unwrap_or(u32::MAX),
        };
        let mut begins = Vec::with_capacity(nodes::HEAD);
        head.write(&mut begins);
        let seal = self.sharing.node.seal();
        let sealed = seal.seal_parts(&[&begins, &first.body]);
        let events = first.events;
        let written = self
            .sharing
            .node
            .call(|store| store.append(stream, sealed, keep));
        let at = match written.await {
            Ok(at) => at,
            Err(Lost::TooLong(_)) => {
                // It would never be written, and everything behind it neither.
                progress.backlog.remove(place);
                self.sharing.outlet.drop_events(events);
                return true;
            }
            Err(lost) => {
                progress.part = (!lost.is_whole()).then_some(lost);
                return false;
            }
        };
        let now = self.now();
        progress.ahead = Some((i128::from(at.millis) - millis(now), now));
        let first = &mut progress.backlog[place];
        if events > 0 && is_far(&head, at) && !first.misdated {
            // Nobody will believe it. The time is known now, so it is written again, once.
            first.misdated = true;
            return true;
        }
        progress.backlog.remove(place);
        if let Stream::Swarm(_) = stream {
            self.sharing
                .figures
                .count(SharingCount::Written, events.into());
            if progress.own_read {
                self.sharing.places.set(stream, at);
            }
        }
        true
    }

    /// Reads what the others wrote, until there is no more or it is time to write again.
    async fn read(&self, progress: &mut Progress) {
        let sharing = &*self.sharing;
        if progress.ahead.is_none() {
            return; // how old things are cannot be told yet
        }
        let (view, me) = (sharing.node.view(), sharing.node.id());
        let others = view.members.iter().map(|member| member.node);
        let others = others.filter(|node| *node != me);
        let streams = others.flat_map(|node| [Stream::Swarm(node), Stream::Forwarded(node)]);
        let own = (!progress.own_read).then_some(Stream::Swarm(me));
        if progress.own_read {
            progress.following.forget(Stream::Swarm(me));
        }
        let begin = |stream| sharing.places.get(stream);
        progress
            .following
            .follow(streams.chain(own), begin, self.now());
        for _ in 0..AT_ONCE {
            let wanted = progress.following.wanted();
            if !wanted.is_empty() {
                let streams: Vec<_> = wanted.iter().map(|(stream, _)| *stream).collect();
                let read = sharing.node.call(|store| store.read(wanted, MOST));
                let Ok(read) = read.await else {
                    return;
                };
                if let Some(lost) = read.lost {
                    let there = read.ends.iter().map(|end| end.stream).collect();
                    progress.following.miss(&streams, &there);
                    progress.part = Some(lost);
                }
                for stream in progress.following.take(read.ends, self.now()) {
                    sharing.places.set(stream, Place::START);
                }
                // What our own peers did while that was under way is later than what was read.
                self.gather_own(progress);
            }
            while let Some((stream, place, mut body)) = progress.following.next(self.now()) {
                let took = self
                    .vital
                    .guard(|| self.take_in(progress, stream, place, &mut body));
                if took != Some(true) {
                    sharing.figures.count(SharingCount::Unreadable, 1);
                }
                sharing.places.set(stream, place);
                // Announces have the runtime's threads in between.
                tokio::task::yield_now().await;
            }
            if !progress.following.is_behind() {
                progress.own_read |= !progress.following.is_away(Stream::Swarm(me));
                // A node that left and comes back goes on in its stream. Who read that from its beginning again would take in who
                // came there and has left elsewhere since.
                let (now, age) = (self.store_now(progress), sharing.age().as_millis());
                let recent = |place: Place| {
                    now.is_none_or(|now| u128::from(now.saturating_sub(place.millis)) < age)
                };
                let following = &progress.following;
                sharing.places.retain(|stream, place| {
                    stream == Stream::Swarm(me) || following.has(stream) || recent(place)
                });
                return;
            }
        }
    }

    /// Tells the next part of everything again if somebody needs it, and as fast as the store takes it.
    async fn tell_again(&self, progress: &mut Progress) {
        let (sharing, swarms) = (&*self.sharing, &*self.exchange.swarms);
        if sharing.node.is_alone() {
            return;
        }
        let (epoch, view, now) = (sharing.node.epoch(), sharing.node.view(), self.now());
        let wanted = (progress.losses).look(&view.members, epoch, sharing.keep(), now);
        sharing.places.set_epoch(epoch);
        if wanted && progress.again.is_none() {
            tracing::info!(
                front = "tracker",
                "a node joined that cannot learn of all peers from the store; sending them all again"
            );
            progress.again = Some((ToldUpTo::default(), now));
        }
        for _ in 0..AGAIN_AT_ONCE {
            let behind = !progress.own_read || progress.following.is_behind();
            if behind || !progress.backlog.is_empty() {
                return; // it knows less than what it could tell, or the store takes no more
            }
            let Some((up_to, began)) = &mut progress.again else {
                return;
            };
            let mut told = TakenEvents::default();
            let limits = (self.exchange.clock.now().minute, BUFFER);
            if !swarms.tell_again(up_to, &sharing.outlet, limits, &mut told) {
                progress.losses.told(*began);
                progress.again = None;
            }
            if told.events > 0 {
                progress.backlog.push_back(self.outgoing(told));
                self.write(progress).await;
            }
        }
    }

    /// Takes in one entry; `false` if it cannot be read.
    fn take_in(
        &self,
        progress: &mut Progress,
        stream: Stream,
        place: Place,
        body: &mut [u8],
    ) -> bool {
        let Some(batch) = self.sharing.node.seal().open_in_place(body) else {
            return false;
        };
        let Ok(batch) = Batch::open(batch) else {
            return false;
        };
        if batch.is_empty() {
            return true;
        }
        if batch.head.stream != name_of(stream) || is_far(&batch.head, place) {
            return false;
        }
        let now = self.store_now(progress).unwrap_or(place.millis);
        let then = place.millis.saturating_sub(batch.head.age.into());
        let age = Duration::from_millis(now.saturating_sub(then));
        match stream {
            Stream::Swarm(_) => {
                let silent = u32::try_from(age.as_secs() / 60).unwrap_or(u32::MAX);
                let minutes = (silent, self.exchange.clock.now().minute);
                let mut counts = HeardCounts::default();
                let mut all = true;
                let events = batch.events().filter_map(|event| {
                    all &= event.is_ok();
                    event.ok()
                });
                let of = (&*self.sharing.outlet, &*self.exchange.swarms);
                let heard = |event: &PeerEvent, told| counts.add(self.heard(event, told));
                (progress.lately).hear(of, events, (then, now), minutes, heard);
                counts.tell(&self.sharing.figures);
                return all;
            }
            Stream::Forwarded(_) => {
                for answer in batch.answers() {
                    let Ok(answer) = answer else { return false };
                    self.sharing.figures.count(SharingCount::Answers, 1);
                    self.exchange.hear_answer(&answer, age);
                }
            }
        }
        true
    }

    /// A peer that left another node is taken leave of where this one told of it.
    fn heard(&self, event: &PeerEvent, told: Option<(PeerEndpoint, ToldHere)>) -> Option<ToldHere> {
        let (at, told) = told?;
        if let ToldHere::Left { last, forwarded } = told
            && forwarded
        {
            let forwarding = &self.exchange.forwarding;
            forwarding.send_left(&event.hash.0, at, last);
        }
        Some(told)
    }
}

/// What came of the events of one entry, to be counted at once.
#[derive(Debug, Default)]
struct HeardCounts {
    read: u64,
    came: u64,
    ignored: u64,
}

impl HeardCounts {
    fn add(&mut self, told: Option<ToldHere>) {
        self.read += u64::from(told.is_some());
        self.came += u64::from(told == Some(ToldHere::Came));
        self.ignored += u64::from(matches!(told, None | Some(ToldHere::Ignored)));
    }

    fn tell(&self, figures: &SharingFigures) {
        figures.count(SharingCount::Read, self.read);
        figures.count(SharingCount::Came, self.came);
        figures.count(SharingCount::Ignored, self.ignored);
    }
}

/// Whether a batch stands where it was not written.
fn is_far(head: &Head, at: Place) -> bool {
    at.millis.abs_diff(head.written) > FAR
}

fn millis(moment: Moment) -> i128 {
    i128::from(moment.0 / 1_000_000)
}
