//! Tries an indexer that is not saved yet: what it can do, and its recent releases. Nothing of it is kept.

use std::sync::Arc;

use parking_lot::Mutex;
use weir_engine::dispatch::{Budget, UpstreamId};
use weir_engine::words::{counted, grouped};
use weir_engine::{
    About, Call, Fault, Outcome, Permit, TryoutFault, TryoutFound, TryoutKeys, TryoutResult,
};
use weir_net::{BoxFuture, Error};
use weir_search_proto::{ApiLimits, Function, Query};

use crate::call::about_caps;
use crate::config::indexer::IndexerEntry;
use crate::indexer::{Abilities, Indexer, told};
use crate::judge::IndexerFault;
use crate::model::Model;
use crate::plan::{Plan, plan};
use crate::policy::{IndexerRules, quota};

const KEYS: TryoutKeys = TryoutKeys {
    address: "url",
    secret: "api_key",
    encryption: "url",
    proxy: Some("proxy"),
};

/// Asks an indexer, through the engine.
pub(crate) async fn try_out(
    model: Arc<Model>,
    rules: IndexerRules,
    entry: IndexerEntry,
) -> TryoutResult {
    let known = model.indexers.find_by(|one| one.entry.leads_where(&entry));
    let quota = quota(&rules, &entry, model.now());
    let time_out = entry.timeout;
    let upstream = known.as_ref().map(|known| known.upstream);
    let mut indexer = Indexer::new(entry, 0, upstream.unwrap_or(UpstreamId(0)), None);
    if let Some(known) = known {
        indexer.calls = known.calls.clone();
    }
    let call = Arc::new(TryoutCall {
        model: model.clone(),
        indexer,
        said: Mutex::default(),
    });
    let ended = model
        .engine
        .try_out(upstream, quota, time_out, call.clone());
    let ended = ended.await;
    let said = call.said.lock().take();
    match said {
        Some(Ok(found)) => Ok(found),
        Some(Err(fault)) => Err(explain(&fault)),
        None => Err(TryoutFault::unanswered(&ended, time_out, KEYS)),
    }
}

struct TryoutCall {
    model: Arc<Model>,
    indexer: Indexer,
    /// What came of it.
    said: Mutex<Option<Result<TryoutFound, IndexerFault>>>,
}

impl Call for TryoutCall {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let said = self.ask(&permit).await;
            let outcome = match &said {
                Ok(_) => Outcome::Done,
                Err(fault) => {
                    permit.explain(fault.to_string());
                    fault.outcome(&permit)
                }
            };
            *self.said.lock() = Some(said);
            outcome
        })
    }

    fn about(&self) -> About {
        about_caps()
    }
}

impl TryoutCall {
    async fn ask(&self, permit: &Permit) -> Result<TryoutFound, IndexerFault> {
        let (model, indexer) = (&*self.model, &self.indexer);
        indexer.note_start(model.now());
        let mut found = TryoutFound::default();
        let known = match model.outbound.caps(&indexer.address).await {
            Ok(caps) => Abilities::new(caps, model.wall()),
            // A page that is not there has no feed either; one that only keeps quiet about itself may have.
            Err(fault @ IndexerFault::Fault(Fault::Status(404))) => return Err(fault),
            Err(fault) if fault.is_no_caps() => Abilities::assumed(model.wall()),
            Err(fault) => return Err(fault),
        };
        found.facts.extend(match known.assumed {
            true => {
                vec!["its capabilities cannot be read, so Weir would try text searches".to_owned()]
            }
            false => {
                let (categories, kinds) = (known.caps.categories.len(), known.caps.functions.len());
                vec![
                    counted(categories as u64, "category", "categories"),
                    counted(kinds as u64, "kind of search", "kinds of search"),
                ]
            }
        });
        let only = &indexer.terms.categories;
        // Caps alone prove little: many answer them to everybody, whatever the key.
        if let Plan::Ask(query) = plan(&known, &Query::new(Function::Search), only) {
            permit.count(Budget::Side);
            indexer.note_start(model.now());
            let limit = known.page();
            let search = model.outbound.search(&indexer.address, &query, limit);
            let feed = search.await?.feed;
            let releases = feed.releases.len() as u64;
            found
                .facts
                .push(counted(releases, "recent release", "recent releases"));
            if let Some(limits) = &feed.limits {
                tell(&mut found, limits);
            }
        }
        Ok(found)
    }
}

/// Adds what an indexer told about its limits.
fn tell(found: &mut TryoutFound, limits: &ApiLimits) {
    for usage in told(limits) {
        let (key, what) = match usage.budget {
            Budget::Grab => ("grab_limits", "downloads"),
            Budget::Query | Budget::Side => ("limits", "calls"),
        };
        let limit = grouped(usage.limit);
        found.facts.push(format!("{limit} {what} a day (it says)"));
        found.told.push((key, format!("{}/1d", usage.limit)));
    }
}

/// What is wrong, and at which field.
fn explain(fault: &IndexerFault) -> TryoutFault {
    let what = fault.to_string();
    match fault {
        IndexerFault::Fault(Fault::Net(Error::NotTls)) => TryoutFault::new(
            KEYS.address,
            what,
            "Write http instead of https, or another port.",
        ),
        IndexerFault::Fault(fault) => TryoutFault::of(fault, KEYS),
        IndexerFault::Key(_) => TryoutFault::new(KEYS.secret, what, "Check the key."),
        IndexerFault::Limit(_) | IndexerFault::Downloads(_) => TryoutFault::elsewhere(
            what,
            "You can save it now; Weir will call it once it allows calls.",
        ),
        IndexerFault::Unreadable(_) => TryoutFault::new(
            KEYS.address,
            what,
            "Check that the address is that of its Torznab or Newznab API.",
        ),
        IndexerFault::Question(_)
        | IndexerFault::Missing
        | IndexerFault::Said(_)
        | IndexerFault::NotAFile(_) => {
            TryoutFault::elsewhere(what, "Check its account there, then try again.")
        }
    }
}
