//! The log of a newsgroup's article numbers on its way between this node and the store: appended to, read, taken over, and
//! handed in where the store does not have it.

use std::collections::HashSet;
use std::sync::Arc;

use weir_news_proto::{MessageId, Newsgroup};
use weir_store::shared::{Lost, UpstreamKey};

use super::{Agreement, Keys, TRIES, bindings, key_of};
use crate::coverage::Coverage;
use crate::model::Model;
use crate::newsgroup::{HeldNewsgroup, OpenNewsgroup};
use crate::numbers::{ArticleNumbers, LogEntry, MOST_ARTICLES, NumberLog};
use crate::store::{Kept, hash};

/// Entries that are written at a time.
const AT_ONCE: usize = 100;

impl Model {
    /// Appends entries to a newsgroup's log, if nobody else has.
    pub(super) async fn append(
        &self,
        agreement: &Agreement,
        open: &OpenNewsgroup,
        entries: &[LogEntry],
    ) -> Result<bool, Lost> {
        for entries in entries.chunks(AT_ONCE) {
            let known = open.with(|state| state.log.as_ref().map_or(0, NumberLog::len));
            let bytes: Vec<Vec<u8>> = entries.iter().map(LogEntry::write).collect();
            let name = open.name.as_str();
            if !agreement.give(name, known, bytes.clone()).await? {
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
    pub(super) async fn catch_up(
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
}
