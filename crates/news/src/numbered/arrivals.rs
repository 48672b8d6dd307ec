//! What is new: newsgroups, and articles.

use std::sync::Arc;

use weir_engine::dispatch::Asker;
use weir_net::aside;
use weir_news_proto::{MessageId, Newsgroup};

use super::NumberedNewsgroup;
use crate::catalogue::MergedList;
use crate::model::Model;
use crate::reading::Unread;

/// Articles that became known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArticles {
    /// Each once, whatever newsgroups it is in.
    pub ids: Vec<MessageId>,
    /// Whether these are all.
    pub whole: bool,
}

impl Model {
    /// Newsgroups that were first seen at this time or later, by name, each with that time.
    ///
    /// # Errors
    /// Why there is no list of newsgroups.
    pub async fn newsgroups_since(
        &self,
        since: i64,
        asker: Asker,
    ) -> Result<Vec<(NumberedNewsgroup, i64)>, Unread> {
        let list = self.numbered_list(asker).await?;
        let seen = self.told.first_seen.lock();
        let new = list.rows().filter_map(|(row, _)| {
            let at = *seen.get(&row.name)?;
            (at >= since).then(|| (row.clone(), at))
        });
        Ok(new.collect())
    }

    /// Articles that became known at this time or up to a minute before, or later, in newsgroups that somebody has opened and
    /// that are wanted; at most so many. Those that were written weeks before are not new.
    ///
    /// # Errors
    /// If nothing is kept by which that could be said.
    pub async fn articles_since(
        &self,
        since: i64,
        wanted: impl Fn(&str) -> bool + Send + 'static,
        most: usize,
    ) -> Result<NewArticles, Unread> {
        let file = self.file.clone();
        let arrived = aside(move || file.arrived(since, &wanted, most)).await;
        let (ids, whole) = arrived.ok_or(Unread::Unreachable(Vec::new()))?;
        Ok(NewArticles { ids, whole })
    }

    /// Notes newsgroups that were not there before.
    pub(crate) fn note_first_seen(&self, merged: &Arc<MergedList>) {
        let at = self.now().1;
        let mut seen = self.told.first_seen.lock();
        let rows = merged.list.newsgroups.iter().map(|row| &row.name);
        let new: Vec<Newsgroup> = rows
            .filter(|name| !seen.contains_key(*name))
            .cloned()
            .collect();
        seen.extend(new.iter().map(|name| (name.clone(), at)));
        drop(seen);
        if !new.is_empty() {
            self.file.keep_seen(&new, at);
        }
    }
}
