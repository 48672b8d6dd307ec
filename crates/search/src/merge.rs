//! Many answers become one list: what is the same is one release with all its sources, newest first.
//!
//! Same info hash is the same release. Two different info hashes never are. Where one of two has none, the same title
//! (but for its punctuation) of exactly the same size is. One indexer's own releases are never taken for one another
//! by title: it lists them apart.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use smallvec::SmallVec;
use weir_engine::dispatch::UpstreamId;
use weir_search_proto::{InfoHash, Release};

use crate::answer::IndexerAnswer;
use crate::indexer::Indexer;

/// One indexer's answer, as it goes into the list.
#[derive(Clone)]
pub(crate) struct MergeInput {
    pub(crate) indexer: Arc<Indexer>,
    pub(crate) answer: Arc<IndexerAnswer>,
    /// Not an answer of now.
    pub(crate) cached: bool,
    /// Whether it could be asked for the file now.
    pub(crate) healthy: bool,
}

/// Where a release is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReleaseSource {
    /// Position of its contribution.
    pub(crate) of: u16,
    /// Position in its part.
    pub(crate) at: u32,
}

/// One release with all its sources, the preferred one first.
#[derive(Clone, Debug)]
pub(crate) struct Merged {
    pub(crate) sources: SmallVec<[ReleaseSource; 2]>,
    /// The oldest time that a source gives: when it was really published. Seconds since 1970.
    pub(crate) published: i64,
    /// Its position in the whole list, from which nothing was taken out.
    pub(crate) place: u32,
}

/// An indexer of which nothing is listed although it answered: nobody could download it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotOffered {
    pub(crate) upstream: UpstreamId,
    pub(crate) name: String,
    /// As it is told to whoever asks.
    pub(crate) reason: String,
}

/// The whole list. It keeps the answers that it points into.
pub(crate) struct ReleaseList {
    pub(crate) contributions: Vec<MergeInput>,
    pub(crate) releases: Vec<Merged>,
    /// How many there are with those that were taken out: programs turn pages of the whole list.
    pub(crate) places: usize,
    /// Those who were switched off or removed since they answered.
    pub(crate) off: Vec<NotOffered>,
    /// How many releases of each contribution are in the list, and how many it alone has.
    counts: Vec<(usize, usize)>,
}

impl ReleaseList {
    pub(crate) fn of(
        contributions: Vec<MergeInput>,
        mut wanted: impl FnMut(&MergeInput, &Release) -> bool,
    ) -> Self {
        let mut groups = Groups::default();
        for (of, contribution) in contributions.iter().enumerate() {
            let Ok(of) = u16::try_from(of) else { break };
            for (at, release) in contribution.answer.releases.iter().enumerate() {
                let Ok(at) = u32::try_from(at) else { break };
                if wanted(contribution, release) {
                    groups.add(ReleaseSource { of, at }, release);
                }
            }
        }
        let at = |source: ReleaseSource| {
            &contributions[usize::from(source.of)].answer.releases[source.at as usize]
        };
        let releases = groups.close(at);
        let mut list = Self {
            counts: vec![(0, 0); contributions.len()],
            contributions,
            releases: Vec::new(),
            places: 0,
            off: Vec::new(),
        };
        let mut releases: Vec<Merged> = releases
            .into_iter()
            .map(|sources| list.merged(sources))
            .collect();
        // Ties are broken by what does not change from one answer to the next.
        releases.sort_by(|one, other| {
            let guid = |merged: &Merged| &list.at(merged.sources[0]).guid;
            let newer = other.published.cmp(&one.published);
            newer.then_with(|| guid(one).cmp(guid(other)))
        });
        for (place, merged) in (0..).zip(&mut releases) {
            merged.place = place;
        }
        list.places = releases.len();
        list.take(releases);
        list
    }

    /// The list without what these have: a release that another indexer has too keeps that source.
    pub(crate) fn without(&self, off: Vec<NotOffered>) -> Self {
        let is_off = |source: &ReleaseSource| {
            let upstream = self.indexer(*source).upstream;
            off.iter().any(|off| off.upstream == upstream)
        };
        let left = self.releases.iter().filter_map(|merged| {
            let mut left = merged.clone();
            left.sources.retain(|source| !is_off(source));
            (!left.sources.is_empty()).then_some(left)
        });
        let left = left.collect();
        let mut list = Self {
            contributions: self.contributions.clone(),
            releases: Vec::new(),
            places: self.places,
            counts: vec![(0, 0); self.counts.len()],
            off,
        };
        list.take(left);
        list
    }

    fn take(&mut self, releases: Vec<Merged>) {
        for merged in &releases {
            for source in &merged.sources {
                self.counts[usize::from(source.of)].0 += 1;
            }
            let of = merged.sources[0].of;
            if merged.sources.iter().all(|source| source.of == of) {
                self.counts[usize::from(of)].1 += 1;
            }
        }
        self.releases = releases;
    }

    /// The releases at so many places from `offset` on. What was taken out leaves its place empty, so that nothing moves to a
    /// page that was read already.
    pub(crate) fn page(&self, offset: u32, limit: u32) -> impl Iterator<Item = &Merged> {
        let end = offset.saturating_add(limit);
        let first = self
            .releases
            .partition_point(|merged| merged.place < offset);
        let rest = self.releases[first..].iter();
        rest.take_while(move |merged| merged.place < end)
    }

    /// Why nothing is listed of an indexer that answered.
    pub(crate) fn why_off(&self, indexer: &Indexer) -> Option<&str> {
        let mut off = self.off.iter();
        let off = off.find(|off| off.upstream == indexer.upstream)?;
        Some(&off.reason)
    }

    pub(crate) fn at(&self, source: ReleaseSource) -> &Release {
        &self.contributions[source.of as usize].answer.releases[source.at as usize]
    }

    pub(crate) fn indexer(&self, source: ReleaseSource) -> &Arc<Indexer> {
        &self.contributions[source.of as usize].indexer
    }

    /// Bytes that its answers hold in memory, about; some of them may be in the cache as well.
    pub(crate) fn weight(&self) -> usize {
        self.contributions.iter().map(|one| one.answer.weight).sum()
    }

    /// How many releases of this indexer are in the list, and how many it alone has.
    pub(crate) fn counts_of(&self, indexer: &Indexer) -> (usize, usize) {
        let mut all = self.contributions.iter();
        let of = all.position(|other| other.indexer.upstream == indexer.upstream);
        of.map_or((0, 0), |of| self.counts[of])
    }

    fn merged(&self, mut sources: SmallVec<[ReleaseSource; 2]>) -> Merged {
        let rank = |source: &ReleaseSource| {
            let contribution = &self.contributions[source.of as usize];
            let release = self.at(*source);
            (
                !contribution.healthy,
                contribution.indexer.terms.priority,
                contribution.cached,
                Reverse(release.seeders),
                source.of,
                source.at,
            )
        };
        // The first of them is whose file a client gets.
        sources.sort_by_key(rank);
        let dates = sources
            .iter()
            .filter_map(|source| self.at(*source).published);
        let published = dates.min().unwrap_or(0);
        Merged {
            sources,
            published,
            place: 0,
        }
    }
}

/// Releases that are the same, while they are gathered.
#[derive(Default)]
struct Groups {
    groups: Vec<SmallVec<[ReleaseSource; 2]>>,
    by_hash: HashMap<InfoHash, u32>,
    /// Groups by title and size; several may have the same.
    titles: HashMap<Like, SmallVec<[u32; 1]>>,
    /// Those without an info hash, for when all others are there.
    bare: Vec<ReleaseSource>,
    /// Of this merge alone: indexers choose titles, and must not find two that are taken for one.
    secret: RandomState,
}

/// What releases without an info hash are known by: title and size.
type Like = (u64, u64);

impl Groups {
    fn add(&mut self, source: ReleaseSource, release: &Release) {
        // Left for later: whether a title is unmistakable is known only when all info hashes are there.
        let Some(hash) = release.info_hash else {
            self.bare.push(source);
            return;
        };
        if let Some(group) = self.by_hash.get(&hash) {
            self.groups[*group as usize].push(source);
            return;
        }
        let group = self.open(source);
        self.by_hash.insert(hash, group);
    }

    fn close<'a>(
        mut self,
        at: impl Fn(ReleaseSource) -> &'a Release,
    ) -> Vec<SmallVec<[ReleaseSource; 2]>> {
        let bare = std::mem::take(&mut self.bare);
        if !bare.is_empty() {
            // Titles cost time, and only these ask for them.
            for (group, sources) in (0..).zip(&self.groups) {
                if let Some(like) = like(&self.secret, at(sources[0])) {
                    self.titles.entry(like).or_default().push(group);
                }
            }
        }
        for source in bare {
            let Some(like) = like(&self.secret, at(source)) else {
                self.open(source);
                continue;
            };
            let same = self.titles.get(&like).map(SmallVec::as_slice);
            // Of several with different info hashes nobody knows which it is.
            let same = match same {
                Some([group]) => Some(*group),
                _ => None,
            };
            // An indexer that lists two releases means two, however alike they look.
            let apart = |group: &u32| {
                let mut sources = self.groups[*group as usize].iter();
                sources.all(|other| other.of != source.of)
            };
            match same.filter(apart) {
                Some(group) => self.groups[group as usize].push(source),
                None => {
                    let group = self.open(source);
                    self.titles.entry(like).or_default().push(group);
                }
            }
        }
        self.groups
    }

    fn open(&mut self, source: ReleaseSource) -> u32 {
        self.groups.push(SmallVec::from_slice(&[source]));
        u32::try_from(self.groups.len() - 1).unwrap_or(u32::MAX)
    }
}

/// `None` where no size is told: many things have the same title.
fn like(secret: &RandomState, release: &Release) -> Option<Like> {
    let size = release.size.filter(|size| *size > 0)?;
    Some((title_key(secret, &release.title), size))
}

/// A title without what indexers write differently: case, spaces, dots and the like.
fn title_key(secret: &RandomState, title: &str) -> u64 {
    let mut plain: SmallVec<[u8; 128]> = SmallVec::new();
    let mut word = [0; 4];
    for letter in title.chars() {
        if letter.is_ascii() {
            if letter.is_ascii_alphanumeric() {
                plain.push(letter.to_ascii_lowercase() as u8);
            }
        } else if letter.is_alphanumeric() {
            for letter in letter.to_lowercase() {
                plain.extend_from_slice(letter.encode_utf8(&mut word).as_bytes());
            }
        }
    }
    secret.hash_one(plain.as_slice())
}

#[cfg(test)]
pub(crate) mod tests;
