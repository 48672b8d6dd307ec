//! This node among the others: who else is there, whether the store answers, and what follows from either.
//!
//! One task beats every two seconds. A call that gets no answer, of whatever part, means that this node is *alone* from
//! then on; only a beat that is answered, and after a change of epoch only one after everything was handed in, ends that. So
//! while the store is away no part waits for it more than once.

mod figures;
mod trouble;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_dispatch::Moment;
use weir_store::shared::{
    AskId, Beat, Epoch, HandIn, Leave, Lost, MOST_MEMBERS, Member, NodeId, Pulse, Reply,
    SHARE_LASTS, SILENT, Seal, Share, ShareWish, SharedStore, StoreTime, UpstreamKey,
};

use crate::timeline::{Timeline, Waking};

pub use figures::StoreFigures;
pub use trouble::StoreTrouble;

/// How often a node says that it is there.
pub const BEAT: Duration = Duration::from_secs(2);

/// How often it tries while the store does not answer.
const BEAT_ALONE: Duration = Duration::from_millis(500);

/// Why a node is alone that has just started.
const NOT_YET: &str = "the store has not answered yet";

/// Rows that need a newer Weir and are asked about with each beat; where there are more, one of these is enough.
const MOST_NEWER: usize = 100;

/// Bits of a question's number that count: enough for a thousand a second over two years.
const NUMBERS: u32 = 36;

/// Bits of it that are random. A copy of the data directory is a node with the same id and as many runs, and the same name for
/// two questions would be one start for both.
const CHANCE: u32 = 20;

/// The store's clock may seem to be ahead of ours by so much without having jumped: clocks differ in how fast they go.
const JUMP: Duration = Duration::from_secs(1);

/// A store that says the same time for so long has a clock that was set back.
const STANDS: Duration = Duration::from_secs(3);

/// This node. A cheap handle: clones share everything.
#[derive(Clone)]
pub struct Node(Arc<NodeInner>);

struct NodeInner {
    id: NodeId,
    name: String,
    version: String,
    store: Arc<dyn SharedStore>,
    seal: Seal,
    timeline: Timeline,
    keeper: Box<dyn NodeKeeper>,
    /// The number of the next question; the run and chance stand in its upper bits.
    next_ask: AtomicU64,
    /// What only the beat changes.
    kept: Mutex<KeptNode>,
    /// What time the store said it is, and when it was asked at the latest.
    said: Mutex<Option<(StoreTime, Waking)>>,
    /// When the beat was sent that the store last answered; before that, when this run began.
    beaten: Mutex<Waking>,
    /// Its clock stands still.
    stands: AtomicBool,
    /// The epoch in which the store's clock jumped.
    distrusts: Mutex<Epoch>,
    /// Rows that need a newer Weir: this node is alone until none of them does.
    newer: Mutex<BTreeSet<UpstreamKey>>,
    about: Mutex<About>,
    parts: Mutex<Parts>,
    view: watch::Sender<Arc<NodeView>>,
    /// Wakes the beat.
    hurry: Notify,
    figures: StoreFigures,
}

/// What shares something here.
#[derive(Default)]
struct Parts {
    all: Vec<Weak<dyn NodePart>>,
    /// The beat has begun: who comes now is late.
    complete: bool,
}

/// What this node tells the others about itself.
#[derive(Default)]
struct About {
    addresses: BTreeSet<IpAddr>,
    lag: Duration,
}

/// What a node is built from.
pub struct NodeOptions {
    /// Its name on pages and in metrics.
    pub name: String,
    /// Its version of Weir.
    pub version: String,
    /// What nodes share.
    pub store: Arc<dyn SharedStore>,
    /// Seals what goes there.
    pub seal: Seal,
    /// The clock of the whole process.
    pub timeline: Timeline,
    /// What was kept from an earlier run.
    pub kept: KeptNode,
    /// Keeps what must survive a restart.
    pub keeper: Box<dyn NodeKeeper>,
}

/// What a node must not forget when it is restarted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptNode {
    /// Who it is; 0 before the first start.
    pub id: NodeId,
    /// How often it was started. Questions of different runs have different numbers.
    pub runs: u32,
    /// The store's epoch to which it has handed in.
    pub epoch: Epoch,
    /// Other members that it knows, those that have left included, and when each was last heard of.
    pub known: Vec<(NodeId, Moment)>,
    /// What it may spend when it is alone.
    pub shares: Vec<Share>,
    /// When the store last answered a beat.
    pub heard: Option<Moment>,
}

/// Keeps what must survive a restart. Must not block.
pub trait NodeKeeper: Send + Sync + 'static {
    /// This is what is to be kept.
    fn keep(&self, kept: &KeptNode);

    /// The same; says when it is kept whatever happens to this machine from then on, or that it is not.
    fn keep_safe(&self, kept: &KeptNode) -> BoxFuture<'static, bool> {
        self.keep(kept);
        std::future::ready(true).boxed()
    }
}

impl<F: Fn(&KeptNode) + Send + Sync + 'static> NodeKeeper for F {
    fn keep(&self, kept: &KeptNode) {
        self(kept);
    }
}

/// A part of this node that shares something: an engine.
pub trait NodePart: Send + Sync + 'static {
    /// The windows of which it wants a share, to spend when it is alone.
    fn wishes(&self) -> Vec<ShareWish>;

    /// Adds what it knows, for a store that has lost something.
    fn hand_in(&self, to: &mut HandIn);

    /// Adds the starts that it made alone, for a clean stop.
    fn leave(&self, to: &mut Leave);

    /// The surroundings have changed: together or alone, other shares, other members.
    fn look(&self, view: &NodeView);
}

/// What a node knows about the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// Whether the store answers.
    pub standing: NodeStanding,
    /// All members as the store last told, this one among them; those that are alone have themselves at least.
    pub members: Vec<Member>,
    /// Other members that it knows, also from an earlier run, and those that have left in the last day.
    pub known: usize,
    /// What this node may spend when it is alone.
    pub shares: Vec<Share>,
    /// Members that have yet to hand in what they know, in a new epoch.
    pub missing: Vec<NodeId>,
    /// How often this node was alone and is back: whoever did something alone knows by this that it is to be told.
    pub returns: u64,
    /// When the store last answered a beat.
    pub heard: Option<Moment>,
    /// What time it said it was then.
    pub now: Option<StoreTime>,
}

impl NodeView {
    /// Among how many nodes what is shared is divided, this one among them. Never fewer than this node knows: to one that was
    /// just started the store has named nobody, and one that has lost something names those who came back first.
    pub fn count(&self) -> usize {
        self.members.len().max(self.known + 1)
    }
}

/// Whether the store answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeStanding {
    /// It does.
    Together,
    /// It does not.
    Alone {
        /// Since when.
        since: Moment,
        /// Why, in a sentence for people.
        why: Arc<str>,
    },
}

impl Node {
    /// A node that has not beaten yet: it is alone until the store has answered.
    pub fn new(options: NodeOptions) -> Self {
        let NodeOptions {
            name,
            version,
            store,
            seal,
            timeline,
            mut kept,
            keeper,
        } = options;
        kept.runs = kept.runs.wrapping_add(1);
        if kept.id == NodeId::default() {
            kept.id = NodeId(fastrand::u64(1..));
        }
        keeper.keep(&kept);
        let since = timeline.now();
        let view = NodeView {
            standing: NodeStanding::Alone {
                since,
                why: NOT_YET.into(),
            },
            members: Vec::new(),
            known: known(&kept, since).count(),
            shares: kept.shares.clone(),
            missing: Vec::new(),
            returns: 0,
            heard: kept.heard,
            now: None,
        };
        Self(Arc::new(NodeInner {
            id: kept.id,
            name,
            version,
            store,
            seal,
            timeline,
            keeper,
            next_ask: AtomicU64::new(first_number(kept.runs)),
            kept: Mutex::new(kept),
            said: Mutex::default(),
            stands: AtomicBool::new(false),
            beaten: Mutex::new(timeline.waking()),
            distrusts: Mutex::default(),
            newer: Mutex::default(),
            about: Mutex::default(),
            parts: Mutex::default(),
            view: watch::Sender::new(Arc::new(view)),
            hurry: Notify::new(),
            figures: StoreFigures::default(),
        }))
    }

    /// Its number.
    pub fn id(&self) -> NodeId {
        self.0.id
    }

    /// Its name on pages and in metrics.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The name of a member, as far as it is known.
    pub fn name_of(&self, node: NodeId) -> Arc<str> {
        if node == self.0.id {
            return self.0.name.as_str().into();
        }
        let view = self.view();
        let member = view.members.iter().find(|member| member.node == node);
        member.map_or_else(
            || "another node".into(),
            |member| member.name.as_str().into(),
        )
    }

    /// Seals what goes into the store.
    pub fn seal(&self) -> &Seal {
        &self.0.seal
    }

    /// The clock of the whole process.
    pub fn timeline(&self) -> Timeline {
        self.0.timeline
    }

    /// What it knows about the others now.
    pub fn view(&self) -> Arc<NodeView> {
        self.0.view.borrow().clone()
    }

    /// The same, for those who wait for changes.
    pub fn watch(&self) -> watch::Receiver<Arc<NodeView>> {
        self.0.view.subscribe()
    }

    /// The store's epoch to which it has handed in.
    pub fn epoch(&self) -> Epoch {
        self.0.kept.lock().epoch
    }

    /// Whether the store does not answer.
    pub fn is_alone(&self) -> bool {
        matches!(self.0.view.borrow().standing, NodeStanding::Alone { .. })
    }

    /// How often the store was called, how often it gave no answer, and how long it took.
    pub fn figures(&self) -> &StoreFigures {
        &self.0.figures
    }

    /// A name for a question that was never used before.
    pub fn ask_id(&self) -> AskId {
        AskId {
            node: self.0.id,
            number: self.0.next_ask.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// How long ago that was for the others.
    pub(crate) fn since(&self, then: Waking) -> Duration {
        self.0.timeline.since(then)
    }

    /// Whether a share that the store confirmed then may still be spent: others count on it that it is not, a day later. What
    /// this machine slept through before this run is in the wall time with which it began.
    pub(crate) fn share_lasts(&self, heard: Moment) -> bool {
        let beaten = *self.0.beaten.lock();
        heard.until(beaten.at) + self.since(beaten) < SHARE_LASTS
    }

    /// Calls the store. While this node is alone it is not called at all: the answer is [`Lost`] at once. Without an answer
    /// this node is alone from then on, unless only a part of the store is out of reach.
    ///
    /// # Errors
    /// If the store does not answer; whether it did what it was asked is not known then.
    pub async fn call<T>(
        &self,
        ask: impl for<'a> FnOnce(&'a dyn SharedStore) -> Reply<'a, T>,
    ) -> Result<T, Lost> {
        if let NodeStanding::Alone { why, .. } = &self.0.view.borrow().standing {
            return Err(Lost::Silent(why.to_string()));
        }
        let answer = self.timed(ask).await;
        if let Err(lost) = &answer
            && lost.is_whole()
        {
            self.lost(lost);
        }
        answer
    }

    /// The addresses at which its clients are seen from outside.
    pub fn set_addresses(&self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.0.about.lock().addresses = addresses.into_iter().collect();
    }

    /// How far it is behind in reading what others write.
    pub fn set_lag(&self, lag: Duration) {
        self.0.about.lock().lag = lag;
    }

    /// A part that shares something from now on. It is let go with its owner.
    ///
    /// All parts come before the beat begins, with what they know from earlier runs: the first beat hands in what the store
    /// has lost and names the shares to keep, once and for all of them.
    pub fn add_part(&self, part: &Arc<dyn NodePart>) {
        part.look(&self.view());
        let mut parts = self.0.parts.lock();
        debug_assert!(!parts.complete, "a part that comes after the first beat");
        parts.all.push(Arc::downgrade(part));
    }

    /// Beats now, and not only when it is time: something that others should know has changed.
    pub fn hurry(&self) {
        self.0.hurry.notify_one();
    }

    /// Beats until it is told to stop, then leaves. All parts are there by now.
    pub async fn run(&self, stop: CancellationToken) {
        self.0.parts.lock().complete = true;
        while !stop.is_cancelled() {
            // Not cut off by a stop: what the store does of it after this node has left would make it a member again.
            self.beat().await;
            let pause = if self.is_alone() { BEAT_ALONE } else { BEAT };
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = self.0.hurry.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        if !self.is_alone() {
            // If it cannot be kept that this node has no share, it has one, and gives none back.
            if let Some(leave) = self.goodbye().await {
                // If nobody hears it, the others count this node as silent, which is safe.
                let _ = self.timed(|store| store.leave(leave)).await;
            }
        }
    }

    /// Gives its shares up; what it says when it leaves.
    async fn goodbye(&self) -> Option<Leave> {
        let mut leave = Leave {
            node: self.0.id,
            ..Leave::default()
        };
        for part in self.parts() {
            part.leave(&mut leave);
        }
        // Before the others can hear of it: the next run spends what is kept, whoever has it then.
        let kept = {
            let mut kept = self.0.kept.lock();
            kept.shares.clear();
            self.0.keeper.keep_safe(&kept)
        };
        if !kept.await {
            return None;
        }
        self.0.view.send_modify(|view| {
            Arc::make_mut(view).shares.clear();
        });
        self.tell_parts();
        Some(leave)
    }

    /// The store said this in answer to what it was asked at `sent`, or later. Says whether its clock has jumped ahead: then what
    /// it takes for long ago may be so not. This node is alone then, until everybody has said how long ago it was.
    pub(crate) fn hear_time(&self, time: StoreTime, sent: Waking) -> bool {
        let mut said = self.0.said.lock();
        let before = *said;
        // What it says again says nothing: it is measured from when it was said first.
        let again = before.filter(|(before, _)| *before == time);
        if again.is_none() {
            *said = Some((time, sent));
        }
        // No more time can have passed between the two than between sending the first and hearing the second.
        let jumped =
            before.is_some_and(|(before, asked)| before.until(time) > self.since(asked) + JUMP);
        drop(said);
        self.note_standing(again.is_some_and(|(_, asked)| self.since(asked) >= STANDS));
        if jumped {
            *self.0.distrusts.lock() = self.0.kept.lock().epoch;
            self.lost(&Lost::Silent("its clock has jumped ahead".to_owned()));
            self.hurry();
        }
        jumped
    }

    async fn beat(&self) {
        let sent = self.0.timeline.waking();
        let beat = self.next_beat();
        let looked = beat.newer.clone();
        let pulse = match self.timed(|store| store.beat(beat)).await {
            Ok(pulse) => pulse,
            Err(lost) => return self.lost(&lost),
        };
        if self.hear_time(pulse.now, sent) {
            return;
        }
        if !self.knows_all_after(&looked) {
            // Another one was met meanwhile, which the next beat asks about.
            return self.hurry();
        }
        let known = self.0.kept.lock().epoch;
        if known == pulse.epoch {
            return self.heard(pulse, sent);
        }
        match self.hand_in(pulse.epoch).await {
            // It has lost something once more in between: then nothing was taken.
            Ok(merged) if merged.epoch != pulse.epoch => {
                self.lost(&Lost::Silent(
                    "it changes its epoch again and again".to_owned(),
                ));
            }
            Ok(merged) => self.heard(merged, sent),
            Err(lost) => self.lost(&lost),
        }
    }

    /// Whether no row needs a newer Weir, now that these do not.
    fn knows_all_after(&self, looked: &[UpstreamKey]) -> bool {
        let mut newer = self.0.newer.lock();
        newer.retain(|row| !looked.contains(row));
        newer.is_empty()
    }

    fn next_beat(&self) -> Beat {
        let about = self.0.about.lock();
        let (addresses, lag) = (about.addresses.iter().copied().collect(), about.lag);
        drop(about);
        let parts = self.parts();
        Beat {
            node: self.0.id,
            name: self.0.name.clone(),
            version: self.0.version.clone(),
            addresses,
            lag,
            shares: parts.iter().flat_map(|part| part.wishes()).collect(),
            newer: self.0.newer.lock().iter().copied().collect(),
            new_epoch: Epoch(fastrand::u64(1..)),
            distrusts: *self.0.distrusts.lock(),
        }
    }

    /// The store has lost something, or does not know this node yet: it is told all that this node knows.
    async fn hand_in(&self, epoch: Epoch) -> Result<Pulse, Lost> {
        let now = self.0.timeline.now();
        let mut kept = self.0.kept.lock().clone();
        // One that has not been heard of for so long spends none any more, and others may have what it had.
        if kept.heard.is_none_or(|heard| !self.share_lasts(heard)) {
            kept.shares.clear();
        }
        let mut hand_in = HandIn {
            node: self.0.id,
            epoch,
            known: known(&kept, now).map(|(node, _)| node).collect(),
            shares: kept.shares,
            ..HandIn::default()
        };
        for part in self.parts() {
            part.hand_in(&mut hand_in);
        }
        let starts = hand_in.starts.len();
        let pulse = self.timed(|store| store.hand_in(hand_in)).await?;
        tracing::info!(
            epoch = epoch.0,
            starts,
            "the shared store is new or has lost something; this node has told it what it knows"
        );
        Ok(pulse)
    }

    /// The store answered a beat that was sent then. A share lasts from there: how long the answer was under way, and whether
    /// this node stood still meanwhile, nobody knows.
    fn heard(&self, pulse: Pulse, sent: Waking) {
        *self.0.beaten.lock() = sent;
        let now = sent.at;
        let mut kept = self.0.kept.lock();
        let before = kept.clone();
        kept.epoch = pulse.epoch;
        kept.known = known_now(&kept, self.0.id, &pulse.members, now);
        kept.shares.clone_from(&pulse.shares);
        kept.heard = Some(now);
        // Times alone are not worth a write each two seconds: a minute's accuracy is enough for a day's silence.
        let minute = Duration::from_secs(60);
        let old = before.heard.is_none_or(|heard| heard.until(now) > minute);
        let members =
            |kept: &KeptNode| kept.known.iter().map(|(node, _)| *node).collect::<Vec<_>>();
        if old
            || before.epoch != kept.epoch
            || before.shares != kept.shares
            || members(&before) != members(&kept)
        {
            self.0.keeper.keep(&kept);
        } else {
            kept.heard = before.heard;
        }
        let known = kept.known.len();
        drop(kept);
        let was_alone = self.is_alone();
        self.0.view.send_modify(|view| {
            *view = Arc::new(NodeView {
                standing: NodeStanding::Together,
                members: pulse.members,
                known,
                shares: pulse.shares,
                missing: pulse.missing,
                returns: view.returns + u64::from(was_alone),
                heard: Some(now),
                now: Some(pulse.now),
            });
        });
        if was_alone {
            tracing::info!(node = self.0.name, "together with the other nodes");
        }
        self.tell_parts();
    }

    /// A call got no answer.
    fn lost(&self, lost: &Lost) {
        if *lost == Lost::NotYet && self.is_alone() {
            return; // why it does not answer is soon known
        }
        if let Lost::Newer { row: Some(row), .. } = lost {
            let mut newer = self.0.newer.lock();
            if newer.len() < MOST_NEWER {
                newer.insert(*row);
            }
        }
        let now = self.0.timeline.now();
        let why: Arc<str> = lost.to_string().into();
        let (mut changed, mut news) = (false, false);
        self.0.view.send_if_modified(|view| {
            let since = match &view.standing {
                NodeStanding::Alone { why: old, .. } if *old == why => return false,
                NodeStanding::Alone { since, why: old } => {
                    // How a store is silent changes from one try to the next; that it refuses is something to act on.
                    news = &**old == NOT_YET || !matches!(lost, Lost::Silent(_));
                    *since
                }
                NodeStanding::Together => {
                    news = true;
                    now
                }
            };
            changed = true;
            let standing = NodeStanding::Alone {
                since,
                why: why.clone(),
            };
            *view = Arc::new(NodeView {
                standing,
                ..(**view).clone()
            });
            true
        });
        if news {
            tracing::warn!(
                node = self.0.name,
                %why,
                "alone: of shared limits only this node's share is used until the store answers"
            );
        }
        if changed {
            self.tell_parts();
        }
    }

    fn tell_parts(&self) {
        let view = self.view();
        for part in self.parts() {
            part.look(&view);
        }
    }

    fn parts(&self) -> Vec<Arc<dyn NodePart>> {
        let mut parts = self.0.parts.lock();
        parts.all.retain(|part| part.strong_count() > 0);
        parts.all.iter().filter_map(Weak::upgrade).collect()
    }

    async fn timed<T>(
        &self,
        ask: impl for<'a> FnOnce(&'a dyn SharedStore) -> Reply<'a, T>,
    ) -> Result<T, Lost> {
        let before = Instant::now();
        let answer = ask(&*self.0.store).await;
        self.0.figures.note(before.elapsed(), answer.is_ok());
        answer
    }
}

/// Where the numbers of a run's questions begin. Different for each of 256 runs in a row, and most likely for a copy.
fn first_number(runs: u32) -> u64 {
    (u64::from(runs) << CHANCE | fastrand::u64(..1 << CHANCE)) << NUMBERS
}

/// The other members that are still waited for: one that was silent for a day is none.
fn known(kept: &KeptNode, now: Moment) -> impl Iterator<Item = (NodeId, Moment)> + '_ {
    let all = kept.known.iter().copied();
    all.filter(move |(_, heard)| heard.until(now) < SILENT)
}

/// The same after a pulse. Also those that have left since: in a store that has lost something, what they did is missing. Of too
/// many, those that were heard of last.
fn known_now(
    kept: &KeptNode,
    me: NodeId,
    members: &[Member],
    now: Moment,
) -> Vec<(NodeId, Moment)> {
    let mut others: BTreeMap<NodeId, Moment> = known(kept, now).collect();
    let heard = members
        .iter()
        .map(|member| (member.node, now - member.silent));
    others.extend(heard.filter(|(node, _)| *node != me));
    let mut others: Vec<_> = others.into_iter().collect();
    if others.len() > MOST_MEMBERS {
        others.sort_by_key(|(node, heard)| (Reverse(*heard), *node));
        others.truncate(MOST_MEMBERS);
        others.sort_unstable_by_key(|(node, _)| *node);
    }
    others
}

/// The store's clock as seen from here: what it said last, and when that arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoreClock {
    said: Option<(StoreTime, Moment)>,
}

impl StoreClock {
    /// It said this, in an answer that arrived now.
    pub(crate) fn hear(&mut self, time: StoreTime, now: Moment) {
        self.said = Some((time, now));
    }

    /// What it would say now at the least: an answer takes time to arrive.
    pub(crate) fn now(&self, now: Moment) -> Option<StoreTime> {
        self.said.map(|(time, at)| time.after(at.until(now)))
    }
}

#[cfg(test)]
mod tests {
    use weir_store::shared::NodeState;

    use super::*;

    #[test]
    fn a_store_that_makes_up_nodes_is_not_believed_for_ever() {
        let mut kept = KeptNode::default();
        let (second, me) = (Duration::from_secs(1), NodeId(7));
        for round in 0..20_u64 {
            let now = Moment(1_000_000_000_000) + second * u32::try_from(round).unwrap();
            let member = |number| Member {
                node: NodeId(round * 1000 + number),
                name: String::new(),
                version: String::new(),
                addresses: Vec::new(),
                silent: Duration::ZERO,
                lag: Duration::ZERO,
                state: NodeState::Here,
            };
            let members: Vec<_> = (0..600).map(member).collect();
            kept.known = known_now(&kept, me, &members, now);
            assert!(kept.known.len() <= MOST_MEMBERS);
            let there = |member: &Member| kept.known.iter().any(|(node, _)| *node == member.node);
            let believed = members.iter().filter(|member| member.node != me);
            assert!(believed.clone().all(there), "those that are there now");
            assert!(kept.known.iter().all(|(node, _)| *node != me));
        }
    }
}
