//! The things that are written to `news.db`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use weir_news_proto::{MessageId, Newsgroup};

use super::super::kept::{Kept, KeptArticle, ListKind, Reached, ReadLine};
use super::super::pack::{ArticleKey, key};
use crate::numbers::{NumberChanges, NumberRows, ServerId};

#[derive(Debug)]
pub(in crate::store) enum Work {
    Keep(Newsgroup, Keep),
    Rows(Newsgroup, NumberRows),
    Article(MessageId, KeptArticle),
    List(ListPart),
    Reads(Reads),
    /// Newsgroups that were first seen at a time.
    Seen(Vec<Newsgroup>, i64),
    /// Entries of the log of a newsgroup's numbers, from a place on; what stood there goes.
    Log(Newsgroup, u64, Vec<Arc<[u8]>>),
    /// The numbers of a newsgroup mean nothing any more.
    Forget(Newsgroup),
}

/// [`Kept`] as it waits.
#[derive(Clone, Debug)]
pub(in crate::store) struct Keep {
    pub(in crate::store) lines: Vec<ReadLine>,
    pub(in crate::store) renumbered: Vec<(MessageId, Option<u64>)>,
    pub(in crate::store) changes: Option<NumberChanges>,
    pub(in crate::store) checked: Vec<(ServerId, Reached)>,
    pub(in crate::store) arrived: Option<i64>,
}

/// Lists are long, so that each is written in parts.
#[derive(Debug)]
pub(in crate::store) struct ListPart {
    pub(in crate::store) server: ServerId,
    pub(in crate::store) kind: ListKind,
    pub(in crate::store) at: i64,
    pub(in crate::store) version: i64,
    pub(in crate::store) part: usize,
    pub(in crate::store) last: bool,
    pub(in crate::store) block: Bytes,
}

/// When articles and newsgroups were last read.
#[derive(Debug, Default)]
pub(in crate::store) struct Reads {
    pub(in crate::store) articles: HashMap<ArticleKey, i64>,
    pub(in crate::store) newsgroups: HashMap<Newsgroup, i64>,
}

impl From<Kept> for Keep {
    fn from(kept: Kept) -> Self {
        let mut lines = kept.lines;
        for line in &mut lines {
            line.number = line.number.filter(|number| *number > 0);
        }
        Self {
            lines,
            renumbered: kept.renumbered,
            changes: Some(kept.changes).filter(|changes| changes.marks.low > 0),
            checked: kept.checked,
            arrived: kept.arrived,
        }
    }
}

impl Work {
    pub(super) fn newsgroup(&self) -> Option<&Newsgroup> {
        match self {
            Self::Keep(name, _)
            | Self::Rows(name, _)
            | Self::Log(name, ..)
            | Self::Forget(name) => Some(name),
            _ => None,
        }
    }

    /// Lines and bytes that are written for it.
    pub(super) fn weight(&self) -> (usize, usize) {
        match self {
            Self::Keep(_, keep) => {
                let bytes = keep.lines.iter().map(|line| line.line.len() + 100);
                (keep.lines.len() + keep.renumbered.len(), bytes.sum())
            }
            Self::Article(_, article) => (1, article.raw.len()),
            Self::List(part) => (1, part.block.len()),
            Self::Rows(_, rows) => (rows.runs.len(), 0),
            Self::Reads(reads) => (reads.articles.len(), 0),
            Self::Seen(names, _) => (names.len(), 0),
            Self::Log(_, _, entries) => (entries.len(), 0),
            Self::Forget(_) => (1, 0),
        }
    }

    /// Bytes that count as held; a list replaces the one before it, which bounds lists.
    pub(super) fn held(&self) -> usize {
        match self {
            Self::List(_) => 0,
            _ => self.weight().1,
        }
    }
}

impl Keep {
    /// Says nothing of what has been fetched, so that it is fetched again.
    pub(super) fn uncover(&mut self) {
        for (_, reached) in &mut self.checked {
            reached.covered.clear();
        }
    }

    /// Takes in what changed after this in numbers and checks.
    pub(super) fn absorb(&mut self, later: Self) {
        let new = &later.checked;
        self.checked
            .retain(|(server, _)| !new.iter().any(|other| other.0 == *server));
        self.checked.extend(later.checked);
        let Some(mut later) = later.changes else {
            return;
        };
        if let Some(before) = self.changes.take() {
            let replaced: HashSet<_> = later
                .runs
                .iter()
                .map(|run| (run.server, run.our_start))
                .collect();
            let gone: HashSet<_> = later.gone.iter().copied().collect();
            let stays = before.runs.into_iter().filter(|run| {
                let key = (run.server, run.our_start);
                !replaced.contains(&key) && !gone.contains(&key)
            });
            later.runs.extend(stays);
            // Deleted before anything is written, so that a run which came back stays.
            later
                .gone
                .extend(before.gone.into_iter().filter(|key| !gone.contains(key)));
        }
        self.changes = Some(later);
    }
}

impl Reads {
    pub(in crate::store) fn article(&mut self, id: &MessageId, now: i64) {
        self.articles.insert(key(id), now);
    }

    pub(in crate::store) fn newsgroup(&mut self, name: &Newsgroup, now: i64) {
        self.newsgroups.insert(name.clone(), now);
    }
}
