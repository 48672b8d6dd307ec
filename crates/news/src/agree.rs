//! Article numbers where several nodes share them: none is given before it stands in the log that all nodes append to
//! ([`crate::numbers::NumberLog`]), so that a number means the same article on all of them.
//!
//! A change of a newsgroup's numbers is tried on a copy, written to the log if nobody was faster, and only then made. While
//! the store does not answer, numbers that were given before are told, and what is found is kept without; it is fetched again
//! for its number when the store is back. Each node keeps a copy of each log. A store that has lost something gets it back
//! from the copies, and no number is given until all members have handed in theirs, or ten seconds are over.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use weir_engine::dispatch::Asker;
use weir_engine::{Node, NodePart, NodeView};
use weir_news_proto::{MessageId, Newsgroup};
use weir_store::shared::{
    Epoch, HAND_IN, HandIn, Leave, LogAnswer, LogKey, Lost, NodeId, NodeState, ShareWish,
    UpstreamKey,
};

use crate::coverage::Coverage;
use crate::lines::SentLine;
use crate::model::Model;
use crate::newsgroup::{HeldNewsgroup, OpenNewsgroup, TakenIn, WindowSize, believed, named};
use crate::numbers::{
    ArticleNumbers, LogEntry, MOST_ARTICLES, Noted, NumberLog, Numbering, ServerId,
};
use crate::outbound::SelectedNumbers;
use crate::policy::LOW;
use crate::store::{Kept, hash};

/// How often a change is tried anew because another node was faster.
const TRIES: usize = 8;

/// How long the first sight of a newsgroup waits for others to hand in what they know.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often it is looked whether all have handed in.
const LOOK: Duration = Duration::from_millis(250);

/// The same while nothing is to be handed in; a change of the surroundings is heard at once.
const REST: Duration = Duration::from_secs(5);

/// Entries that are written at a time.
const AT_ONCE: usize = 100;

/// Entries of one log that are read; no newsgroup has so many.
const MOST_ENTRIES: usize = 200_000;

/// No newsgroup: its log says which nodes have handed in their logs, in which epoch.
const HANDED: &str = "";

/// The servers that are configured here, as all nodes know them.
type Keys = Vec<(UpstreamKey, ServerId)>;

/// This node among others that give numbers.
pub(crate) struct Agreement {
    node: Node,
    handing: Arc<Handing>,
    /// What the node calls; let go with this.
    _part: Arc<dyn NodePart>,
}

/// Whether all that is known has been handed in to a store that has lost something.
#[derive(Default)]
struct Handing {
    state: Mutex<HandingState>,
    done: Notify,
}

#[derive(Clone, Copy, Default)]
struct HandingState {
    /// In which epoch, since when; `None` if there is nothing to be handed in.
    open: Option<(Epoch, Instant)>,
    /// Whether this node has.
    ours: bool,
}

impl Handing {
    fn is_done(&self) -> bool {
        self.state.lock().open.is_none()
    }
}

impl NodePart for Handing {
    fn wishes(&self) -> Vec<ShareWish> {
        Vec::new()
    }

    fn hand_in(&self, to: &mut HandIn) {
        *self.state.lock() = HandingState {
            open: Some((to.epoch, Instant::now())),
            ours: false,
        };
    }

    fn leave(&self, _to: &mut Leave) {}

    fn look(&self, _view: &NodeView) {}
}

impl Agreement {
    pub(crate) fn new(node: Node) -> Self {
        let handing = Arc::<Handing>::default();
        let part: Arc<dyn NodePart> = handing.clone();
        node.add_part(&part);
        Self {
            node,
            handing,
            _part: part,
        }
    }

    /// Whether all have handed in what the store may have lost.
    #[cfg(test)]
    pub(crate) fn is_done(&self) -> bool {
        self.handing.is_done()
    }

    async fn extend(
        &self,
        log: &str,
        known: usize,
        entries: Vec<Vec<u8>>,
    ) -> Result<LogAnswer, Lost> {
        let key = LogKey::Numbers(log.to_owned());
        let call = self
            .node
            .call(|store| store.extend(key, known as u64, entries));
        call.await
    }

    /// All entries of a log.
    async fn whole(&self, log: &str) -> Result<Vec<Arc<[u8]>>, Lost> {
        let mut entries: Vec<Arc<[u8]>> = Vec::new();
        loop {
            let answer = self.extend(log, entries.len(), Vec::new()).await?;
            let some = !answer.entries.is_empty();
            entries.extend(answer.entries.into_iter().map(Arc::from));
            if !some || entries.len() as u64 >= answer.length {
                return Ok(entries);
            }
            if entries.len() > MOST_ENTRIES {
                let why = format!("the log of article numbers of {log:?} is too long");
                return Err(Lost::Refused(why));
            }
        }
    }
}

/// A change that was tried.
struct Trial<T> {
    numbers: Option<ArticleNumbers>,
    /// What the log has to say before it is made.
    entries: Vec<LogEntry>,
    told: T,
}

impl Model {
    /// The servers that are configured, as all nodes know them.
    fn keys(&self, node: &Node) -> Keys {
        let servers = self.federation.in_order().into_iter();
        let keys = servers.map(|server| {
            let key = server.entry().key(node.seal());
            (key, self.server_id(&server))
        });
        keys.collect()
    }

    /// Takes in what a server says of its numbers, and tells which windows are to be fetched to be up to date with it.
    pub(crate) async fn see(
        &self,
        open: &OpenNewsgroup,
        server: ServerId,
        said: SelectedNumbers,
        size: WindowSize,
    ) -> Vec<RangeInclusive<u64>> {
        let others = self.carried(&open.name);
        let told = self.told(&open.name);
        let Some(agreement) = &self.agreement else {
            return open.seen(server, said, (&others, told), size);
        };
        let carried = believed(said);
        let turn = open.agreeing.lock().await;
        let numbering = self.agree(agreement, open, |state, keys, give| {
            let none = NumberLog::default();
            let log = state.log.as_ref().unwrap_or(&none);
            let numbers = match &state.numbers {
                Some(numbers) => Some(numbers.clone()),
                None if log.is_open() => Some(ArticleNumbers::from_log(log, keys)),
                None if give => {
                    let first = std::iter::once((server, carried));
                    let rest = others.iter().copied().filter(|(other, _)| *other != server);
                    let servers: Vec<_> = first.chain(rest).collect();
                    Some(ArticleNumbers::first_sight_above(&servers, told))
                }
                None => None,
            };
            let Some(mut numbers) = numbers else {
                return Trial {
                    numbers: None,
                    entries: Vec::new(),
                    told: Numbering::Same,
                };
            };
            let known = numbers.has_seen(server);
            let first = !log.is_open() && numbers.is_unseen();
            let mut numbering = numbers.seen_with(server, carried, first, give);
            let key = keys.iter().find(|(_, id)| *id == server);
            if let Some((key, _)) = key.filter(|_| !known && log.is_open()) {
                numbers.take_runs(server, *key, log);
                numbering = numbers.seen_with(server, carried, first, give);
            }
            // Numbers of servers that this node has not seen, or does not have, are not its to give up; nor those of one
            // that it has just seen for the first time: its lines will show whether they mean what the log says.
            let seen = keys.iter().filter(|(_, id)| numbers.has_seen(*id));
            let seen: Keys = seen.copied().collect();
            if (known || !log.is_open()) && !log.has_others(&seen) {
                numbers.raise_low(None);
            }
            let mut entries = renewal(log, key_of(keys, server), numbering);
            entries.extend(match log.is_open() {
                false => numbers.opening(|id| key_of(keys, id)),
                true => numbers.promises_above(log.high(), |id| key_of(keys, id)),
            });
            Trial {
                numbers: Some(numbers),
                entries,
                told: numbering,
            }
        });
        let numbering = numbering.await;
        drop(turn);
        open.with(|state| state.note_seen(server, carried, numbering, size))
    }

    /// Takes in lines that a server sent for a window.
    pub(crate) async fn take_in(
        &self,
        open: &OpenNewsgroup,
        server: ServerId,
        window: &RangeInclusive<u64>,
        lines: &[SentLine],
        now: i64,
    ) -> TakenIn {
        let Some(agreement) = &self.agreement else {
            return open.take_in(server, window, lines, (&self.file, now));
        };
        let named = named(lines);
        let turn = open.agreeing.lock().await;
        let key = key_of(&self.keys(&agreement.node), server);
        let renewals = || {
            let of = |log: &NumberLog| key.map(|key| log.renewals(key));
            open.with(|state| state.log.as_ref().and_then(of))
        };
        let before = renewals();
        let noted = self.agree(agreement, open, |state, keys, give| {
            let Some(mut numbers) = state.numbers.clone() else {
                let told = Noted {
                    numbering: Numbering::Same,
                    numbers: vec![None; named.len()],
                    withheld: !named.is_empty(),
                };
                return Trial {
                    numbers: None,
                    entries: Vec::new(),
                    told,
                };
            };
            let what = (server, window, &named[..]);
            let noted = open.note_agreed(state, &mut numbers, what, (&self.file, give));
            let mut entries = Vec::new();
            if let (Some(log), Some(key)) = (&state.log, key_of(keys, server)) {
                let renews = noted.numbering == Numbering::New;
                let numbered = named.iter().zip(&noted.numbers);
                let articles = numbered.filter_map(|((theirs, id), number)| {
                    let (number, id) = ((*number)?, hash(id).cast_unsigned());
                    let new = log.id_of(number).is_none() && log.number_of(id).is_none();
                    let found = log.id_of(number) == Some(id) && (renews || log.lacks(key, number));
                    (new || found).then_some((number, *theirs, id))
                });
                entries = renewal(log, Some(key), noted.numbering);
                entries.extend(bindings(key, articles.collect()));
            }
            Trial {
                numbers: Some(numbers),
                entries,
                told: noted,
            }
        });
        let mut noted = noted.await;
        if renewals() != before {
            // Another node may have noticed it first.
            noted.numbering = Numbering::New;
        }
        let taken = open.with(|state| state.note_lines(server, window, lines, noted, now));
        drop(turn);
        taken
    }

    /// No number up to this one is given any more: newsreaders were told that there might be articles.
    pub(crate) async fn raise_high(&self, open: &OpenNewsgroup, told: u64) {
        let Some(agreement) = &self.agreement else {
            return open.with(|state| {
                if let Some(numbers) = &mut state.numbers {
                    numbers.raise_high(told);
                }
            });
        };
        let high = open.with(|state| state.numbers.as_ref().map(ArticleNumbers::high));
        if high.is_none_or(|high| told <= high) {
            return;
        }
        let _turn = open.agreeing.lock().await;
        let raised = self.agree(agreement, open, |state, _, give| {
            let mut numbers = state.numbers.clone();
            let mut entries = Vec::new();
            if let Some(numbers) = numbers.as_mut().filter(|_| give) {
                numbers.raise_high(told);
                let high = numbers.high();
                if state.log.as_ref().is_some_and(|log| log.high() < high) {
                    entries.push(LogEntry::Raise { high });
                }
            }
            Trial {
                numbers,
                entries,
                told: (),
            }
        });
        raised.await;
    }

    /// Makes a change once the log has it. If that cannot be, it is made without giving numbers.
    async fn agree<T>(
        &self,
        agreement: &Agreement,
        open: &OpenNewsgroup,
        change: impl Fn(&HeldNewsgroup, &Keys, bool) -> Trial<T>,
    ) -> T {
        let keys = self.keys(&agreement.node);
        let mut give = self.may_give(agreement, open, &keys).await;
        for _ in 0..TRIES {
            let trial = open.with(|state| change(state, &keys, give));
            if give && !trial.entries.is_empty() {
                match self.append(agreement, open, &trial.entries).await {
                    Ok(true) => {}
                    Ok(false) => {
                        give = self.may_give(agreement, open, &keys).await;
                        continue;
                    }
                    Err(_) => {
                        give = false;
                        continue;
                    }
                }
            }
            open.with(|state| {
                state.numbers = trial.numbers;
                if give {
                    state.number_again();
                }
            });
            return trial.told;
        }
        let trial = open.with(|state| change(state, &keys, false));
        open.with(|state| state.numbers = trial.numbers);
        trial.told
    }

    /// Whether numbers may be given now, with the log as it stands in the store.
    async fn may_give(&self, agreement: &Agreement, open: &OpenNewsgroup, keys: &Keys) -> bool {
        let first = |state: &mut HeldNewsgroup| {
            let log = state.log.as_ref();
            state.numbers.is_none() && log.is_some_and(|log| !log.is_open())
        };
        if !agreement.handing.is_done() && open.with(first) {
            let _ = tokio::time::timeout(PATIENCE, agreement.handing.done.notified()).await;
        }
        if agreement.node.is_alone() || self.catch_up(agreement, open, keys).await.is_err() {
            return false;
        }
        let writable = |state: &mut HeldNewsgroup| {
            let log = state.log.as_ref();
            log.is_some_and(NumberLog::is_writable)
        };
        agreement.handing.is_done() && open.with(writable)
    }

    /// Appends entries to a newsgroup's log, if nobody else has.
    async fn append(
        &self,
        agreement: &Agreement,
        open: &OpenNewsgroup,
        entries: &[LogEntry],
    ) -> Result<bool, Lost> {
        for entries in entries.chunks(AT_ONCE) {
            let known = open.with(|state| state.log.as_ref().map_or(0, NumberLog::len));
            let bytes: Vec<Vec<u8>> = entries.iter().map(LogEntry::write).collect();
            let name = open.name.as_str();
            let answer = agreement.extend(name, known, bytes.clone()).await?;
            if !answer.appended {
                return Ok(false);
            }
            let new: Vec<Arc<[u8]>> = bytes.into_iter().map(Arc::from).collect();
            open.with(|state| {
                if let Some(log) = &mut state.log {
                    new.iter().for_each(|entry| drop(log.append(entry.clone())));
                }
            });
            self.file.keep_log(&open.name, known as u64, new);
        }
        Ok(true)
    }

    /// Reads what others have appended to a newsgroup's log; hands in what the store does not have.
    async fn catch_up(
        &self,
        agreement: &Agreement,
        open: &OpenNewsgroup,
        keys: &Keys,
    ) -> Result<(), Lost> {
        for _ in 0..TRIES {
            let (length, last) = open.with(|state| {
                let entries = state.log.as_ref().map_or(&[][..], NumberLog::entries);
                (entries.len(), entries.last().cloned())
            });
            // The last one is read again: if it is another, the store has lost something.
            let from = length.saturating_sub(1);
            let answer = agreement.extend(open.name.as_str(), from, Vec::new());
            let answer = answer.await?;
            let mut entries = answer.entries.into_iter();
            if let Some(last) = last
                && entries.next().as_deref() != Some(&last[..])
            {
                self.restore(agreement, open, keys).await?;
                continue;
            }
            let fresh: Vec<Arc<[u8]>> = entries.map(Arc::from).collect();
            let read = length + fresh.len();
            self.follow(open, length, fresh, keys);
            if read as u64 >= answer.length {
                return self.join(agreement, open, keys).await;
            }
        }
        let why = "the log of article numbers keeps changing";
        Err(Lost::Silent(why.to_owned()))
    }

    /// Takes over what others have appended.
    fn follow(&self, open: &OpenNewsgroup, from: usize, fresh: Vec<Arc<[u8]>>, keys: &Keys) {
        if fresh.is_empty() {
            return;
        }
        let (foreign, renumbered) = open.with(|state| {
            // It had numbers before it knew of any log.
            let foreign = from == 0 && state.numbers.is_some();
            let mut renumbered = Vec::new();
            for bytes in &fresh {
                let Some(log) = &mut state.log else { continue };
                let entry = log.append(bytes.clone());
                let (Some(entry), false) = (entry, foreign) else {
                    continue;
                };
                if let (Some(numbers), Some(log)) = (&mut state.numbers, &state.log) {
                    numbers.adopt(&entry, keys, log);
                }
                match &entry {
                    LogEntry::Bind { server, articles } => {
                        let what = (*server, &articles[..]);
                        self.look_again(&open.name, state, keys, what, &mut renumbered);
                    }
                    LogEntry::Renew { server, .. } => {
                        // All of it is fetched again, to find the articles that are known.
                        let id = keys.iter().find(|(key, _)| key == server);
                        if let Some(progress) = id.and_then(|(_, id)| state.servers.get_mut(id)) {
                            progress.coverage = Coverage::default();
                            progress.unnumbered = Coverage::default();
                        }
                    }
                    _ => {}
                }
            }
            if let (Some(numbers), Some(log)) = (&mut state.numbers, &state.log) {
                numbers.follow(log);
            }
            (foreign, renumbered)
        });
        self.file.keep_log(&open.name, from as u64, fresh);
        if !renumbered.is_empty() {
            self.keep_renumbered(&open.name, renumbered);
        }
        if foreign {
            self.take_over(open, keys);
        }
    }

    /// Articles that another node gave numbers are looked at again, unless they have these here; another article that has
    /// one of them loses it.
    fn look_again(
        &self,
        name: &Newsgroup,
        state: &mut HeldNewsgroup,
        keys: &Keys,
        (server, articles): (UpstreamKey, &[(u64, u64, u64)]),
        renumbered: &mut Vec<(MessageId, Option<u64>)>,
    ) {
        let server = keys.iter().find(|(key, _)| *key == server);
        for &(ours, theirs, id) in articles {
            if state.log.as_ref().and_then(|log| log.id_of(ours)) != Some(id) {
                continue;
            }
            let held = state.table.numbered(ours);
            let held = held.and_then(|article| article.id().parse::<MessageId>().ok());
            let beyond = state.beyond;
            let has = held.or_else(|| {
                let file = beyond.then_some(&self.file)?;
                file.id_of(name, ours)
            });
            match has {
                Some(has) if hash(&has).cast_unsigned() == id => continue,
                Some(other) => {
                    state.table.set_number(&other, None);
                    renumbered.push((other, None));
                }
                None => {}
            }
            if let Some((_, server)) = server
                && let Some(progress) = state.servers.get_mut(server)
            {
                progress.coverage.remove(theirs);
            }
        }
    }

    fn keep_renumbered(&self, name: &Newsgroup, renumbered: Vec<(MessageId, Option<u64>)>) {
        for renumbered in renumbered.chunks(MOST_ARTICLES) {
            let kept = Kept {
                renumbered: renumbered.to_vec(),
                ..Kept::default()
            };
            self.file.keep(name, kept);
        }
    }

    /// Gives up this node's own numbers for those of the log.
    fn take_over(&self, open: &OpenNewsgroup, keys: &Keys) {
        let taken = open.with(|state| {
            let log = state.log.as_ref()?;
            if !log.is_open() {
                return None;
            }
            let before = state.numbers.take();
            let numbers = match &before {
                Some(before) => before.begin_with(log, keys),
                None => ArticleNumbers::from_log(log, keys),
            };
            let rows = numbers.rows();
            let mut changed = 0_usize;
            let mut renumbered = Vec::new();
            for id in state.ids() {
                let number = state.table.article(&id).and_then(|known| known.number());
                let agreed = log.number_of(hash(&id).cast_unsigned());
                changed += usize::from(number.is_some() && number != agreed);
                renumbered.push((id, agreed));
            }
            for (id, _) in &renumbered {
                state.table.set_number(id, None);
            }
            for (id, agreed) in renumbered.iter().filter(|(_, agreed)| agreed.is_some()) {
                state.table.set_number(id, *agreed);
            }
            renumbered.retain(|(_, agreed)| agreed.is_some());
            state.numbers = Some(numbers);
            state.uncover();
            state.pages.clear();
            Some((rows, renumbered, changed))
        });
        let Some((rows, renumbered, changed)) = taken else {
            return;
        };
        self.file.forget_numbers(&open.name);
        self.file.keep_rows(&open.name, rows);
        self.keep_renumbered(&open.name, renumbered);
        self.note_marks(open);
        tracing::info!(
            front = "news",
            newsgroup = %open.name,
            changed,
            "its article numbers are those of the other nodes from now on; this node's own are given up"
        );
    }

    /// The store's log is not the one that this node knows. What the store has lost is handed in; if others went on
    /// meanwhile, theirs counts, and what only this node knows follows it.
    async fn restore(
        &self,
        agreement: &Agreement,
        open: &OpenNewsgroup,
        keys: &Keys,
    ) -> Result<(), Lost> {
        let name = open.name.as_str();
        let theirs = agreement.whole(name).await?;
        let ours = open.with(|state| {
            let entries = state.log.as_ref().map(NumberLog::entries);
            entries.map(<[_]>::to_vec).unwrap_or_default()
        });
        let pairs = theirs.iter().zip(&ours);
        let same = pairs.take_while(|(theirs, ours)| theirs == ours).count();
        let there: HashSet<&[u8]> = theirs.iter().map(AsRef::as_ref).collect();
        let missing = ours[same..].iter();
        let missing: Vec<_> = missing
            .filter(|entry| !there.contains(&entry[..]))
            .collect();
        let mut written = theirs.len();
        for entries in missing.chunks(AT_ONCE) {
            let bytes = entries.iter().map(|entry| entry.to_vec()).collect();
            let answer = agreement.extend(name, written, bytes).await?;
            if !answer.appended {
                // Another node hands in as well; what it wrote is looked at first.
                return Ok(());
            }
            written += entries.len();
        }
        if same == theirs.len() {
            return Ok(());
        }
        let mut all = theirs.clone();
        all.extend(missing.into_iter().cloned());
        let log = NumberLog::of(all.iter().cloned());
        open.with(|state| state.log = Some(log));
        self.file.keep_log(&open.name, 0, all);
        self.take_over(open, keys);
        Ok(())
    }

    /// Hands in the numbers that this node gave before there was a log.
    async fn join(
        &self,
        agreement: &Agreement,
        open: &OpenNewsgroup,
        keys: &Keys,
    ) -> Result<(), Lost> {
        let entries = open.with(|state| {
            let log = state.log.as_ref().filter(|log| !log.is_open())?;
            let numbers = state.numbers.as_ref()?;
            let mut entries = numbers.opening(|id| key_of(keys, id));
            let mut articles = Vec::new();
            for id in state.ids() {
                let number = state.table.article(&id).and_then(|known| known.number());
                let Some(number) = number.filter(|number| log.id_of(*number).is_none()) else {
                    continue;
                };
                articles.push((number, 0, hash(&id).cast_unsigned()));
            }
            articles.sort_unstable();
            // Whose they are stands in the promises.
            let nobody = keys.first().map_or(UpstreamKey([0; 16]), |(key, _)| *key);
            entries.extend(bindings(nobody, articles));
            Some(entries)
        });
        let Some(entries) = entries else {
            return Ok(());
        };
        if !agreement.handing.is_done() {
            return Ok(());
        }
        match self.append(agreement, open, &entries).await? {
            true => Ok(()),
            // Whoever was faster counts; asked again, it is taken over.
            false => Err(Lost::Silent("another node was faster".to_owned())),
        }
    }

    /// Hands in logs when the store has lost something, as long as Weir runs; gives articles their numbers that were found
    /// while it was away.
    pub(crate) fn keep_agreeing(&self) {
        let Some(agreement) = &self.agreement else {
            return;
        };
        let vital = self.engine.vitals().add("news", "numbers");
        let parts = (
            self.me.clone(),
            self.lifetime.clone(),
            agreement.node.clone(),
        );
        let work = vital.drive(parts, |(me, lifetime, node)| {
            Box::pin(async move {
                let mut watch = node.watch();
                let mut returns = watch.borrow_and_update().returns;
                let mut pause = LOOK;
                loop {
                    tokio::select! {
                        changed = watch.changed() => if changed.is_err() { return },
                        () = tokio::time::sleep(pause) => {}
                        () = lifetime.closing() => return,
                    }
                    let Some(model) = me.upgrade() else { return };
                    let handed = tokio::select! {
                        handed = model.hand_in() => handed,
                        () = lifetime.closing() => return,
                    };
                    pause = if handed { REST } else { LOOK };
                    let now = watch.borrow().returns;
                    if handed && now != returns && !node.is_alone() {
                        returns = now;
                        model.number_found().await;
                    }
                }
            })
        });
        self.lifetime.spawn(work);
    }

    /// Hands in all logs, if there is need. Says whether all nodes have.
    async fn hand_in(&self) -> bool {
        let Some(agreement) = &self.agreement else {
            return true;
        };
        let HandingState { open, ours } = *agreement.handing.state.lock();
        let Some((epoch, since)) = open else {
            return true;
        };
        if agreement.node.is_alone() {
            return false;
        }
        if !ours {
            if self.hand_in_logs(agreement, epoch).await.is_err() {
                return false;
            }
            let mut state = agreement.handing.state.lock();
            state.ours |= state.open.is_some_and(|(now, _)| now == epoch);
            return false;
        }
        let Ok(entries) = agreement.whole(HANDED).await else {
            return false;
        };
        let has = |node: NodeId| {
            let word = handed(epoch, node);
            entries.iter().any(|entry| entry[..] == word)
        };
        let view = agreement.node.view();
        let here = view
            .members
            .iter()
            .filter(|member| member.state == NodeState::Here);
        let all = view.missing.is_empty() && here.clone().all(|member| has(member.node));
        if !all && since.elapsed() < HAND_IN {
            return false;
        }
        let mut state = agreement.handing.state.lock();
        if state.open == open {
            state.open = None;
            agreement.handing.done.notify_waiters();
        }
        state.open.is_none()
    }

    async fn hand_in_logs(&self, agreement: &Agreement, epoch: Epoch) -> Result<(), Lost> {
        let mut names = self.file.logged().await;
        names.extend(self.alive_names());
        names.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        names.dedup();
        for name in names {
            if self.alive(&name).is_none() {
                let copy = self.file.log(&name).await;
                let from = copy.len().saturating_sub(1);
                let answer = agreement.extend(name.as_str(), from, Vec::new());
                let there = answer.await?.entries.into_iter().next();
                if there.as_deref() == copy.last().map(AsRef::as_ref) {
                    continue;
                }
            }
            let open = self.open(&name).await;
            let _turn = open.agreeing.lock().await;
            let keys = self.keys(&agreement.node);
            self.catch_up(agreement, &open, &keys).await?;
        }
        let word = handed(epoch, agreement.node.id());
        for _ in 0..TRIES {
            let entries = agreement.whole(HANDED).await?;
            if entries.iter().any(|entry| entry[..] == word) {
                return Ok(());
            }
            let answer = agreement.extend(HANDED, entries.len(), vec![word.to_vec()]);
            if answer.await?.appended {
                return Ok(());
            }
        }
        Err(Lost::Silent("others keep handing in".to_owned()))
    }

    /// Articles that were found without the store get their numbers.
    async fn number_found(&self) {
        for name in self.alive_names() {
            if let Some(open) = self.alive(&name)
                && open.with(HeldNewsgroup::number_again)
            {
                self.bring_new(&open, LOW, Asker::NOBODY).await;
                self.bring_others(&open, Asker::NOBODY).await;
            }
        }
    }
}

/// What a node says when it has handed in its logs.
fn handed(epoch: Epoch, node: NodeId) -> [u8; 17] {
    let mut word = [1; 17];
    word[1..9].copy_from_slice(&epoch.0.to_le_bytes());
    word[9..].copy_from_slice(&node.0.to_le_bytes());
    word
}

fn key_of(keys: &Keys, server: ServerId) -> Option<UpstreamKey> {
    let found = keys.iter().find(|(_, id)| *id == server);
    found.map(|(key, _)| *key)
}

/// What the log has to hear if a server has begun to count again.
fn renewal(log: &NumberLog, server: Option<UpstreamKey>, numbering: Numbering) -> Vec<LogEntry> {
    let renewed = server.filter(|_| numbering == Numbering::New && log.is_open());
    let entry = renewed.map(|server| LogEntry::Renew {
        server,
        times: log.renewals(server).saturating_add(1),
    });
    entry.into_iter().collect()
}

/// Entries that say whose numbers these are.
fn bindings(server: UpstreamKey, articles: Vec<(u64, u64, u64)>) -> Vec<LogEntry> {
    let parts = articles.chunks(MOST_ARTICLES);
    let entries = parts.map(|part| LogEntry::Bind {
        server,
        articles: part.to_vec(),
    });
    entries.collect()
}
