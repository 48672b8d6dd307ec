//! Calls to one indexer, as the engine runs them: a search, its caps, a file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use weir_config::SecretUrl;
use weir_engine::dispatch::{Budget, Moment, UpstreamId};
use weir_engine::{About, Call, Landing, Outcome, Permit, SharedQuestion};
use weir_net::BoxFuture;
use weir_search_proto::{Caps, Function, Query, read_feed};

use crate::answer::{AnswerKey, Digest, IndexerAnswer, SearchAnswer};
use crate::bill::Bill;
use crate::cache::RawAnswer;
use crate::indexer::{Abilities, Indexer, told};
use crate::judge::IndexerFault;
use crate::model::Model;
use crate::outbound::{FeedAnswer, Fetched};
use crate::packed::{Packed, packed, unpacked};
use crate::plan::{Plan, plan};

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
    /// What is asked, for the records.
    pub(crate) about: About,
    /// Whoever asks wants no answer from before.
    pub(crate) no_cache: bool,
    /// Set when the answer came from another node.
    pub(crate) taken: Arc<AtomicBool>,
    /// The answer, for other nodes, once there is one.
    pub(crate) packed: Mutex<Option<Packed>>,
    pub(crate) landing: Landing<AnswerKey, SearchAnswer>,
}

/// Asks an indexer what it can do.
pub(crate) struct CapsCall {
    pub(crate) model: Arc<Model>,
    pub(crate) indexer: Arc<Indexer>,
    pub(crate) landing: Landing<UpstreamId, CapsAnswer>,
}

/// Tries an indexer, for an operator or because nobody asks it: what it can do, if that is not known, and its recent
/// releases. Nobody waits for more than the outcome, but what it answers is kept for whoever asks next.
pub(crate) struct ProbeCall {
    pub(crate) model: Arc<Model>,
    pub(crate) indexer: Arc<Indexer>,
}

/// Gets the file behind a link.
pub(crate) struct FileCall {
    pub(crate) model: Arc<Model>,
    pub(crate) indexer: Arc<Indexer>,
    pub(crate) url: SecretUrl,
    /// Since when it is waited for, if whoever has the files had asked for a pause.
    pub(crate) held: Option<Moment>,
    pub(crate) landing: Landing<(UpstreamId, Digest), FileAnswer>,
}

/// A turn in which a client gets the file itself.
pub(crate) struct TurnCall {
    pub(crate) landing: Landing<u64, ()>,
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
    Ok(known(model, indexer, caps, model.wall()))
}

/// Keeps what an indexer can do.
fn known(model: &Model, indexer: &Indexer, caps: Caps, at: i64) -> Arc<Abilities> {
    model
        .cache
        .put_caps(indexer.name(), &indexer.source, at, &caps);
    let known = Arc::new(Abilities::new(caps, at));
    indexer.known.store(Some(known.clone()));
    known
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
        let at = model.wall();
        if model.is_shared {
            let body = packed(at, found.charset.as_deref(), &found.body);
            let nothing =
                || IndexerAnswer::new(Vec::new(), at).life(query, &model.rules.load().lives);
            let life = match found.feed.releases.is_empty() {
                true => nothing(),
                false => self.life(),
            };
            *self.packed.lock() = Some(Packed { body, life });
        }
        // Kept and told before the engine hears of it: whoever is woken by either finds the answer.
        let answer = keep(model, self.landing.key(), found, at);
        self.landing.tell(Ok(answer));
        Outcome::Done
    }
}

impl SearchCall {
    /// How long an answer with releases is served without asking again, in seconds.
    fn life(&self) -> i64 {
        let lives = &self.model.rules.load().lives;
        match self.landing.key().query.recent() {
            true => lives.rss,
            false => lives.search,
        }
    }

    /// Takes what another node was answered, if it can be read.
    fn read(&self, packed: &[u8]) -> Option<()> {
        let (model, indexer) = (&*self.model, &*self.indexer);
        let (at, charset, body) = unpacked(packed, model.cache.answer_limit())?;
        let mut feed = read_feed(&body, charset.as_deref()).ok()?;
        feed.releases.iter_mut().for_each(indexer.address.scrub());
        let body = body.into();
        let found = FeedAnswer {
            feed,
            body,
            charset,
        };
        // Clocks of nodes differ: an answer of the future is one of now.
        let answer = keep(model, self.landing.key(), found, at.min(model.wall()));
        self.taken.store(true, Ordering::Relaxed);
        self.landing.tell(Ok(answer));
        Some(())
    }
}

/// What a search is about, in the records.
pub(crate) fn about_query(query: &Query) -> About {
    About::Text(query.words().into())
}

/// What a call for caps is about.
pub(crate) fn about_caps() -> About {
    About::Text("caps".into())
}

/// What a download is about.
pub(crate) fn about_file() -> About {
    About::File
}

impl Call for SearchCall {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(self.call(permit))
    }

    fn question(&self) -> Option<SharedQuestion> {
        let life = match &*self.packed.lock() {
            Some(packed) => packed.life,
            None => self.life(),
        };
        let life = Duration::from_secs(u64::try_from(life).unwrap_or_default());
        Some(SharedQuestion {
            text: self.landing.key().text(self.limit),
            fresh: if self.no_cache { Duration::ZERO } else { life },
            keep: life,
        })
    }

    fn pack(&self) -> Option<Vec<u8>> {
        self.packed.lock().take().map(|packed| packed.body)
    }

    fn take(&self, packed: &[u8]) -> bool {
        self.read(packed).is_some()
    }

    fn about(&self) -> About {
        self.about.clone()
    }
}

impl Call for CapsCall {
    fn question(&self) -> Option<SharedQuestion> {
        let life = self.model.rules.load().lives.caps;
        let life = Duration::from_secs(u64::try_from(life).unwrap_or_default());
        Some(SharedQuestion {
            text: b"caps".to_vec(),
            fresh: life,
            keep: life,
        })
    }

    fn pack(&self) -> Option<Vec<u8>> {
        let known = self.indexer.known.load_full()?;
        let caps = (!known.assumed).then(|| known.caps.xml())?;
        Some(packed(known.at, None, caps.as_bytes()))
    }

    fn take(&self, packed: &[u8]) -> bool {
        let (model, indexer) = (&*self.model, &*self.indexer);
        let read = unpacked(packed, model.cache.answer_limit());
        let caps = read.and_then(|(at, _, body)| Some((at, Caps::read(&body, None).ok()?)));
        let Some((at, caps)) = caps else {
            return false;
        };
        self.landing
            .tell(Ok(known(model, indexer, caps, at.min(model.wall()))));
        true
    }

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

    fn about(&self) -> About {
        about_caps()
    }
}

impl Call for ProbeCall {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            match self.call(&permit).await {
                Ok(()) => Outcome::Done,
                Err(fault) => explain(&fault, &self.indexer, &permit, self.model.now()),
            }
        })
    }

    fn about(&self) -> About {
        about_query(&Query::new(Function::Search))
    }
}

impl ProbeCall {
    async fn call(&self, permit: &Permit) -> Result<(), IndexerFault> {
        let (model, indexer) = (&*self.model, &*self.indexer);
        let known = match indexer.known.load_full() {
            Some(known) => known,
            // Room for one request: that is the one that proves most.
            None if !permit.has_room(Budget::Side) => Arc::new(Abilities::assumed(model.wall())),
            None => {
                let read = caps(model, indexer).await;
                // It answers, so it can be searched; whether it has a feed shows when that is asked for.
                let known = match &read {
                    Ok(known) => known.clone(),
                    Err(fault) if fault.is_no_caps() => Arc::new(Abilities::assumed(model.wall())),
                    Err(fault) => return Err(fault.clone()),
                };
                // The engine has counted one request, and the next one counts as well.
                if !permit.another(Budget::Side).await {
                    return read.map(drop);
                }
                known
            }
        };
        let only = &indexer.terms.categories;
        // Caps alone prove little: many answer them to everybody, whatever the key.
        let Plan::Ask(query) = plan(&known, &Query::new(Function::Search), only) else {
            return Ok(());
        };
        indexer.note_start(model.now());
        let limit = known.page();
        let found = model
            .outbound
            .search(&indexer.address, &query, limit)
            .await?;
        for usage in found.feed.limits.iter().flat_map(told) {
            permit.observe(usage);
        }
        let key = AnswerKey::new(indexer, Arc::new(query));
        keep(model, &key, found, model.wall());
        Ok(())
    }
}

/// Keeps what an indexer answered, and gives it back.
fn keep(model: &Model, key: &AnswerKey, found: FeedAnswer, at: i64) -> Arc<IndexerAnswer> {
    let answer = Arc::new(IndexerAnswer::new(found.feed.releases, at));
    let sent = RawAnswer {
        indexer: key.indexer.clone(),
        at,
        charset: found.charset,
        body: found.body,
    };
    model.cache.put(key.digest(), &answer, sent);
    answer
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

    fn held_since(&self) -> Option<Moment> {
        self.held
    }

    fn about(&self) -> About {
        about_file()
    }
}

impl Call for TurnCall {
    fn attempt(&self, _: Permit) -> BoxFuture<'_, Outcome> {
        self.landing.put(Arc::new(()));
        Box::pin(std::future::ready(Outcome::Elsewhere))
    }

    fn about(&self) -> About {
        about_file()
    }
}
