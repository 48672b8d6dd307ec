//! Calls to one indexer, as the engine runs them: a search, its caps, a file.

use std::sync::Arc;

use weir_config::SecretUrl;
use weir_engine::dispatch::{Moment, UpstreamId};
use weir_engine::{Call, Landing, Outcome, Permit};
use weir_net::BoxFuture;

use crate::answer::{AnswerKey, Digest, IndexerAnswer, SearchAnswer};
use crate::bill::Bill;
use crate::cache::RawAnswer;
use crate::indexer::{Abilities, Indexer, told};
use crate::judge::IndexerFault;
use crate::model::Model;
use crate::outbound::Fetched;

/// What came of asking for caps.
pub(crate) type CapsAnswer = Result<Arc<Abilities>, IndexerFault>;
/// What came of a link.
pub(crate) type FileAnswer = Result<Fetched, IndexerFault>;

/// Asks an indexer a question.
pub(crate) struct SearchCall {
    pub(crate) model: Arc<Model>,
    pub(crate) indexer: Arc<Indexer>,
    /// Releases wanted at most.
    pub(crate) limit: u32,
    /// Of the search that leads it, however late it is made.
    pub(crate) bill: Bill,
    pub(crate) landing: Landing<AnswerKey, SearchAnswer>,
}

/// Asks an indexer what it can do.
pub(crate) struct CapsCall {
    pub(crate) model: Arc<Model>,
    pub(crate) indexer: Arc<Indexer>,
    pub(crate) landing: Landing<UpstreamId, CapsAnswer>,
}

/// The same for an operator, who waits for nothing but the outcome.
pub(crate) struct ProbeCall {
    pub(crate) model: Arc<Model>,
    pub(crate) indexer: Arc<Indexer>,
}

/// Gets the file behind a link.
pub(crate) struct FileCall {
    pub(crate) model: Arc<Model>,
    pub(crate) indexer: Arc<Indexer>,
    pub(crate) url: SecretUrl,
    pub(crate) landing: Landing<(UpstreamId, Digest), FileAnswer>,
}

/// What a fault means; told to the engine, which may learn a limit from it.
fn explain(fault: &IndexerFault, indexer: &Indexer, permit: &Permit, now: Moment) -> Outcome {
    permit.explain(fault.to_string());
    let learn = |wait| indexer.learn(wait, now);
    if let Some(usage) = fault.refuses_for().and_then(learn) {
        permit.observe(usage);
    }
    fault.outcome(permit)
}

/// Asks for caps, and keeps them.
async fn caps(model: &Model, indexer: &Indexer) -> CapsAnswer {
    indexer.note_start(model.now());
    let caps = model.outbound.caps(&indexer.address).await?;
    let at = model.wall();
    model
        .cache
        .put_caps(indexer.name(), &indexer.source, at, &caps);
    let known = Arc::new(Abilities::new(caps, at));
    indexer.known.store(Some(known.clone()));
    Ok(known)
}

impl SearchCall {
    async fn call(&self, permit: Permit) -> Outcome {
        let (model, indexer) = (&*self.model, &*self.indexer);
        self.bill.called();
        indexer.note_start(model.now());
        let query = &self.landing.key().query;
        let found = model.outbound.search(&indexer.address, query, self.limit);
        let found = match found.await {
            Ok(found) => found,
            Err(fault) => {
                let outcome = explain(&fault, indexer, &permit, model.now());
                self.landing.tell(Err(fault));
                return outcome;
            }
        };
        for usage in found.feed.limits.iter().flat_map(told) {
            permit.observe(usage);
        }
        // Kept and told before the engine hears of it: whoever is woken by either finds the answer.
        let at = model.wall();
        let answer = Arc::new(IndexerAnswer::new(found.feed.releases, at));
        let sent = RawAnswer {
            indexer: self.landing.key().indexer.clone(),
            at,
            charset: found.charset,
            body: found.body,
        };
        model.cache.put(self.landing.key().digest(), &answer, sent);
        self.landing.tell(Ok(answer));
        Outcome::Done
    }
}

impl Call for SearchCall {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(self.call(permit))
    }
}

impl Call for CapsCall {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let answer = caps(&self.model, &self.indexer).await;
            let outcome = match &answer {
                Ok(_) => Outcome::Done,
                Err(fault) if fault.is_no_caps() => Outcome::No,
                Err(fault) => explain(fault, &self.indexer, &permit, self.model.now()),
            };
            self.landing.tell(answer);
            outcome
        })
    }
}

impl Call for ProbeCall {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            match caps(&self.model, &self.indexer).await {
                Ok(_) => Outcome::Done,
                Err(fault) => explain(&fault, &self.indexer, &permit, self.model.now()),
            }
        })
    }
}

impl Call for FileCall {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let model = &*self.model;
            let fetched = model.outbound.fetch(&self.indexer.address, &self.url);
            let answer = fetched.await;
            if let Ok(Fetched::Bytes(bytes)) = &answer {
                let (_, key) = self.landing.key();
                model.cache.put_file(*key, model.wall(), bytes.clone());
            }
            let outcome = match &answer {
                Ok(_) => Outcome::Done,
                Err(fault) => {
                    permit.explain(fault.to_string());
                    let own_host = self.indexer.address.is_at(&self.url);
                    if let Some(wait) = fault.gives_no_files_for(own_host) {
                        self.indexer.note_no_files(wait, model.now());
                    }
                    fault.outcome_of_file(own_host, &permit)
                }
            };
            self.landing.tell(answer);
            outcome
        })
    }
}
