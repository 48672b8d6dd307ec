//! One indexer, and what is known of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use weir_config::SecretUrl;
use weir_engine::dispatch::policy::{Usage, Window};
use weir_engine::dispatch::{Budget, Moment, UpstreamId};
use weir_engine::{Engine, Joining};
use weir_search_proto::{ApiLimits, Caps, Function, Mapping, Protocol, Term};

use crate::config::indexer::{IndexerEntry, IndexerKind};
use crate::nodes::IndexerNumber;
use crate::outbound::IndexerAddress;
use crate::policy;
use crate::rules::{EntryRules, IndexerTerms, split_entry};

/// Starts of calls that are remembered to learn a limit from: a bound on memory, above what accounts allow a day.
const STARTS: usize = 10_000;
/// From so few calls nothing is learned: who refuses them refuses bursts.
const LEAST: usize = 10;

/// An upstream of this front. Replaced by another when its entry in the configuration changes.
pub(crate) struct Indexer {
    /// The number that programs know it by which know Prowlarr; it stays with the name.
    pub(crate) number: IndexerNumber,
    pub(crate) upstream: UpstreamId,
    /// As it is configured, for the roster.
    pub(crate) entry: IndexerEntry,
    pub(crate) terms: IndexerTerms,
    pub(crate) address: IndexerAddress,
    /// Tells its address from others without showing it: what was kept from another is not its answer.
    pub(crate) source: Arc<str>,
    /// What it said it can do; written when it has said so.
    pub(crate) known: Arc<ArcSwapOption<Abilities>>,
    /// What is known of its calls. Shared with the indexer that takes its place when its entry changes, because calls under
    /// way still write here.
    pub(crate) calls: Arc<Mutex<CallLog>>,
    /// When it was last asked again what it can do, in seconds since 1970.
    pub(crate) introduced: AtomicI64,
}

/// The calls of the last day, as far as they were counted.
#[derive(Debug, Default)]
pub(crate) struct CallLog {
    /// Since when all are counted.
    since: Moment,
    starts: VecDeque<Moment>,
    /// It gives no files before then: it said so, or the host that has them.
    no_files_before: Moment,
}

/// What an indexer can do.
#[derive(Debug)]
pub(crate) struct Abilities {
    pub(crate) caps: Caps,
    pub(crate) mapping: Mapping,
    /// When it said so, in seconds since 1970.
    pub(crate) at: i64,
    /// It did not say anything that can be read, so this is what any indexer can do.
    pub(crate) assumed: bool,
}

/// Releases that are asked for at once where an indexer names no number.
const PAGE: u32 = 100;
/// More are not asked for, whatever an indexer offers: all of it is read and merged before a reply.
const PAGE_MOST: u32 = 1000;

impl Abilities {
    /// Releases to ask for at once.
    pub(crate) fn page(&self) -> u32 {
        match self.caps.max_limit.max(self.caps.default_limit) {
            0 => PAGE,
            most => most.min(PAGE_MOST),
        }
    }

    pub(crate) fn new(caps: Caps, at: i64) -> Self {
        Self {
            mapping: Mapping::of(&caps),
            caps,
            at,
            assumed: false,
        }
    }

    /// What is asked of an indexer whose caps nobody can read.
    pub(crate) fn assumed(at: i64) -> Self {
        let text = [Function::Search, Function::Tv, Function::Movie];
        let tv = [Term::Season, Term::Episode].into();
        let functions = [
            (Function::Search, [].into()),
            (Function::Tv, tv),
            (Function::Movie, [].into()),
        ];
        let caps = Caps {
            title: String::new(),
            default_limit: 100,
            max_limit: 100,
            functions: functions.into(),
            text: text.into(),
            categories: Vec::new(),
            tags: Vec::new(),
        };
        Self {
            assumed: true,
            ..Self::new(caps, at)
        }
    }
}

impl Indexer {
    pub(crate) fn new(
        entry: IndexerEntry,
        number: impl Into<IndexerNumber>,
        upstream: UpstreamId,
        known: Option<Arc<Abilities>>,
    ) -> Self {
        // The engine has the limits.
        let EntryRules { terms, way, .. } = split_entry(&entry);
        Self {
            number: number.into(),
            upstream,
            source: source(&way.url),
            address: IndexerAddress::new(way),
            terms,
            entry,
            known: Arc::new(known.into()),
            calls: Arc::default(),
            introduced: AtomicI64::default(),
        }
    }

    /// One that takes its place in the roster. What was known of it stays with it where only its entry has changed.
    pub(crate) fn join(
        entry: IndexerEntry,
        number: impl Into<IndexerNumber>,
        joining: Joining<'_, Self>,
        now: Moment,
    ) -> Self {
        let mut indexer = Self::new(entry, number, joining.upstream, None);
        match joining.before {
            // Shared, because calls under way still know the old one and write there.
            Some(same) => {
                indexer.calls = same.calls.clone();
                indexer.known = same.known.clone();
            }
            // It was called before, nobody knows how often.
            None if joining.known => indexer.calls.lock().since = now,
            None => {}
        }
        indexer
    }

    pub(crate) fn name(&self) -> &str {
        &self.terms.name
    }

    pub(crate) fn protocol(&self) -> Protocol {
        match self.terms.kind {
            IndexerKind::Torznab => Protocol::Torrent,
            IndexerKind::Newznab => Protocol::Nzb,
        }
    }

    /// Where it is, without secrets.
    pub(crate) fn place(&self) -> String {
        self.address.place()
    }

    /// How long the next download has to wait, if it does.
    pub(crate) fn wait_for_files(&self, engine: &Engine) -> Option<Duration> {
        let (wait, why) = engine.next_wait(self.upstream, policy::INTERACTIVE, Budget::Grab);
        let allowed = self.no_files_for(engine.timeline().now());
        let wait = why.map_or(allowed, |_| wait.max(allowed));
        (!wait.is_zero()).then_some(wait)
    }

    /// For how long it gives no files, because it or the host that has them said so.
    pub(crate) fn no_files_for(&self, now: Moment) -> Duration {
        now.until(self.calls.lock().no_files_before)
    }

    /// It gives no files for so long, or longer if it said so before.
    pub(crate) fn note_no_files(&self, wait: Duration, now: Moment) {
        let before = &mut self.calls.lock().no_files_before;
        *before = (*before).max(now + wait);
    }

    /// Remembers that it is called now.
    pub(crate) fn note_start(&self, now: Moment) {
        let starts = &mut self.calls.lock().starts;
        let day_ago = now - Window::DAY.length();
        while starts.front().is_some_and(|start| *start < day_ago) || starts.len() >= STARTS {
            starts.pop_front();
        }
        starts.push_back(now);
    }

    /// What it seems to allow, given that it refuses us now and for so long: as many calls as were made before the
    /// refused one. Short waits say nothing, they are about bursts; nor does a time that was not counted whole.
    pub(crate) fn learn(&self, retry_after: Duration, now: Moment) -> Option<Usage> {
        let window = if retry_after < Window::MINUTE.length() * 10 {
            return None;
        } else if retry_after <= Window::HOUR.length() {
            Window::HOUR
        } else {
            Window::DAY
        };
        let begins = now - window.length();
        let calls = self.calls.lock();
        if calls.since > begins {
            return None;
        }
        let made = calls.starts.iter().filter(|start| **start > begins).count();
        // The last of them is the one that was refused.
        let made = made.saturating_sub(1);
        let limit = u32::try_from(made).ok().filter(|_| made >= LEAST)?;
        Some(Usage {
            budget: Budget::Query,
            window,
            limit,
            used: Some(limit),
        })
    }
}

fn source(url: &SecretUrl) -> Arc<str> {
    let hash = blake3::hash(url.expose().as_bytes());
    hash.to_hex()[..16].into()
}

/// What an indexer said of its limits.
pub(crate) fn told(limits: &ApiLimits) -> impl Iterator<Item = Usage> {
    let usage = |budget, limit: Option<u32>, used| {
        Some(Usage {
            budget,
            window: Window::DAY,
            limit: limit.filter(|limit| *limit > 0)?,
            used,
        })
    };
    let query = usage(Budget::Query, limits.calls_allowed, limits.calls_made);
    let grab = usage(Budget::Grab, limits.grabs_allowed, limits.grabs_made);
    query.into_iter().chain(grab)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_call_under_way_learns_is_known_after_a_reload() {
        let url = SecretUrl::parse("http://indexer.example/api").expect("a URL");
        let entry = IndexerEntry::new("one", url);
        let old = Indexer::new(entry.clone(), 1, UpstreamId(0), None);
        let joining = Joining {
            upstream: old.upstream,
            before: Some(&old),
            known: true,
            own: &[],
        };
        let new = Indexer::join(entry, 1, joining, Moment(0));
        old.known.store(Some(Arc::new(Abilities::assumed(7))));
        let known = new.known.load_full();
        assert_eq!(known.map(|abilities| abilities.at), Some(7));
    }
}
