//! Several servers asked as one: which is asked first, and who is asked instead when it does not have or does not answer.
//!
//! Equal questions to a server share one call, whoever asks. A server that says no is asked no further; the next one is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use weir_engine::dispatch::{Asker, Availability, Class, Job, Skip, UpstreamId, Wait};
use weir_engine::{
    Ended, Engine, Flights, Follower, Got, Outward, Receipt, Roster, Skipped, Standing,
};
use weir_net::Roots;

use crate::call::{
    AskArticle, AskDescriptions, AskNewsgroups, AskNumbers, AskPost, AskPresence, AskWindow,
    Question, ServerCall, Told,
};
use crate::config::Config;
use crate::error::Error;
use crate::judge::NewsFault;
use crate::outbound::Outbound;
use crate::policy::{self, LOW};
use crate::rules::{FederationRules, split};
use crate::server::{ServedEntry, Server};

/// Time that connections have to close when no call is left.
const GOODBYE: Duration = Duration::from_secs(1);

/// Somebody who waits does not wait longer than this for one server while there is another one to ask.
pub(crate) const MOVE_ON: Duration = Duration::from_secs(4);

/// All servers, and the calls to them that are under way.
pub struct Federation {
    pub(crate) engine: Engine,
    pub(crate) outbound: Outbound,
    pub(crate) servers: Roster<Server>,
    /// Calls to all servers at the same time; written by [`Self::apply`].
    workers: AtomicU32,
    articles: Asking<AskArticle>,
    windows: Asking<AskWindow>,
    numbers: Asking<AskNumbers>,
    newsgroups: Asking<AskNewsgroups>,
    descriptions: Asking<AskDescriptions>,
    posts: Asking<AskPost>,
    presences: Asking<AskPresence>,
}

type Asking<Q> = Flights<(UpstreamId, Q), Told<Q>>;

/// Why a server gave no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum NoAnswer {
    /// It said why.
    Fault(NewsFault),
    /// It was not asked, or did not end its answer.
    Ended(Ended),
    /// Whoever asked moved on before it answered; it may still do so.
    Late,
}

/// No answer, and the record of it.
#[derive(Debug)]
pub(crate) struct Unheard {
    pub(crate) why: NoAnswer,
    pub(crate) owed: Owed,
}

/// Records that are still to say what whoever asked got: nothing, if this is dropped before anything else was said.
pub(crate) struct Owed {
    engine: Engine,
    receipts: Vec<Receipt>,
}

impl Owed {
    /// These as well, once it is known what whoever asked got.
    pub(crate) fn add(&mut self, mut other: Self) {
        self.receipts.append(&mut other.receipts);
    }

    /// Whoever asked got this.
    pub(crate) fn got(mut self, got: Got) {
        self.note(got);
    }

    /// They were asked again in another way, and that is what tells.
    pub(crate) fn asked_again(mut self) {
        self.receipts.clear();
    }

    fn note(&mut self, got: Got) {
        for receipt in self.receipts.drain(..) {
            self.engine.note_given(&receipt, got);
        }
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        self.note(Got::Nothing);
    }
}

impl std::fmt::Debug for Owed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Owed").field(&self.receipts.len()).finish()
    }
}

/// Somebody who waits for a server. Whoever leaves before they are told anything got nothing.
struct Waiting<'a, Q: Asked> {
    engine: &'a Engine,
    follower: Follower<(UpstreamId, Q), Told<Q>>,
    asker: Asker,
    is_told: bool,
}

impl<Q: Asked> Drop for Waiting<'_, Q> {
    fn drop(&mut self) {
        let owed = !self.is_told && self.asker != Asker::WEIR;
        if let Some(receipt) = owed.then(|| self.follower.receipt()).flatten() {
            self.engine.note_given(&receipt, Got::Nothing);
        }
    }
}

/// What several servers together came to.
#[derive(Debug)]
pub enum Sought<T> {
    /// One had it.
    Found {
        /// Its answer.
        answer: Arc<T>,
        /// Which one.
        server: Arc<Server>,
    },
    /// All were asked, and none has it.
    Nowhere,
    /// None had it, and these could not say.
    Unknown(Vec<(Arc<Server>, NoAnswer)>),
}

/// A question whose flights the federation keeps.
pub trait Asked: Question {
    /// Where they are.
    #[doc(hidden)]
    fn flights(federation: &Federation) -> &Flights<(UpstreamId, Self), Told<Self>>
    where
        Self: Sized;
}

macro_rules! asked {
    ($($question:ty => $flights:ident,)+) => {
        $(impl Asked for $question {
            fn flights(federation: &Federation) -> &Asking<Self> {
                &federation.$flights
            }
        })+
    };
}

asked! {
    AskArticle => articles,
    AskWindow => windows,
    AskNumbers => numbers,
    AskNewsgroups => newsgroups,
    AskDescriptions => descriptions,
    AskPost => posts,
    AskPresence => presences,
}

impl Federation {
    /// Begins with the configured servers.
    ///
    /// # Errors
    /// When the certificates cannot be used.
    pub fn start(config: &Config, mut outward: Outward, roots: &Roots) -> Result<Arc<Self>, Error> {
        let servers = Roster::new(&mut outward);
        let engine = outward.engine;
        let federation = Arc::new(Self {
            outbound: Outbound::new(outward.ground, roots)?.among(outward.node),
            servers,
            workers: AtomicU32::new(0),
            articles: Flights::new(engine.clone()),
            windows: Flights::new(engine.clone()),
            numbers: Flights::new(engine.clone()),
            newsgroups: Flights::new(engine.clone()),
            descriptions: Flights::new(engine.clone()),
            posts: Flights::new(engine.clone()),
            presences: Flights::new(engine.clone()),
            engine,
        });
        federation.apply(&split(config).1);
        Ok(federation)
    }

    /// Takes other settings over. Servers that stay keep their state and, if nothing about the way to them has changed,
    /// their connections.
    pub fn apply(&self, rules: &FederationRules) {
        let link = rules.link;
        let entries = rules.entries.iter().cloned();
        let entries: Vec<ServedEntry> = entries.map(|entry| ServedEntry { entry, link }).collect();
        let gone = self.servers.reconcile(
            &entries,
            |served| (policy::quota(&link, &served.entry), served.entry.timeout),
            |served, joining| Server::join(served, &joining, &self.outbound),
        );
        for server in gone.gone {
            server.link.close();
        }
        self.servers.settle();
        let workers = policy::workers(rules);
        self.workers.store(workers, Ordering::Relaxed);
        self.engine.set_crew(workers, workers);
    }

    /// How many calls may be under way.
    pub(crate) fn workers(&self) -> u32 {
        self.workers.load(Ordering::Relaxed)
    }

    /// Asks one server, or joins whoever is asking it the same.
    ///
    /// # Errors
    /// Why it gave no answer.
    pub(crate) async fn ask<Q: Asked>(
        &self,
        server: &Arc<Server>,
        question: Q,
        turn: (Class, Asker),
    ) -> Result<Arc<Q::Answer>, Unheard> {
        self.ask_until(server, question, turn, None).await
    }

    /// The same for somebody who moves on then: a call under way goes on without them, and its time-out is what tells the
    /// engine that the server is in trouble.
    pub(crate) async fn ask_until<Q: Asked>(
        &self,
        server: &Arc<Server>,
        question: Q,
        (class, asker): (Class, Asker),
        until: Option<Instant>,
    ) -> Result<Arc<Q::Answer>, Unheard> {
        let job = Job {
            asker,
            ..Job::new(server.upstream, class)
        };
        let key = (server.upstream, question);
        let follower = Q::flights(self).join(key, job, |landing| {
            let server = server.clone();
            Some(Arc::new(ServerCall { server, landing }))
        });
        let mut waiting = Waiting {
            engine: &self.engine,
            follower,
            asker,
            is_told: false,
        };
        let follower = &mut waiting.follower;
        let told = match until {
            None => Ok(follower.await),
            Some(until) => tokio::time::timeout_at(until, follower).await,
        };
        waiting.is_told = true;
        let follower = &mut waiting.follower;
        let why = match told {
            Ok(Ok(told)) => match &*told {
                Ok(answer) => return Ok(answer.clone()),
                Err(fault) => NoAnswer::Fault(fault.clone()),
            },
            Ok(Err(ended)) => NoAnswer::Ended(ended),
            Err(_) => self.move_on(follower, &job),
        };
        let mut owed = self.owed();
        // Weir itself has nobody to tell.
        let receipt = follower.receipt().filter(|_| asker != Asker::WEIR);
        owed.receipts.extend(receipt);
        Err(Unheard { why, owed })
    }

    /// Nothing so far.
    pub(crate) fn owed(&self) -> Owed {
        Owed {
            engine: self.engine.clone(),
            receipts: Vec::new(),
        }
    }

    /// Somebody leaves who has waited for a while.
    fn move_on<Q: Asked>(
        &self,
        follower: &mut Follower<(UpstreamId, Q), Told<Q>>,
        job: &Job,
    ) -> NoAnswer {
        let (wait, reason) = self.engine.next_wait(job.upstream, job.class, job.budget);
        let skip = Skip {
            reason: reason.unwrap_or(Wait::Gap),
            wait: Some(wait),
            limit: Some(MOVE_ON),
        };
        let is_called = follower.is_called();
        match follower.miss(skip, None).filter(|_| !is_called) {
            // Nobody else may want it, and then it is never asked.
            Some(skipped) => NoAnswer::Ended(Ended::Skipped(Arc::new(skipped))),
            None => NoAnswer::Late,
        }
    }

    /// Asks one server after the other until one has it. Where one could not say, `instead` tells what whoever asked has got.
    pub(crate) async fn seek<Q: Asked>(
        &self,
        question: &Q,
        (class, asker): (Class, Asker),
        instead: impl FnOnce() -> Got,
    ) -> Sought<Q::Answer> {
        let (mut silent, mut owed) = (Vec::new(), self.owed());
        let mut servers = self.in_order().into_iter().peekable();
        while let Some(server) = servers.next() {
            let until = patience(class, servers.peek().is_none());
            let asked = self.ask_until(&server, question.clone(), (class, asker), until);
            match asked.await {
                Ok(answer) => {
                    owed.got(Got::Elsewhere);
                    return Sought::Found { answer, server };
                }
                Err(unheard) => {
                    owed.add(unheard.owed);
                    if !unheard.why.is_absent() {
                        silent.push((server, unheard.why));
                    }
                }
            }
        }
        if silent.is_empty() {
            return Sought::Nowhere;
        }
        owed.got(instead());
        Sought::Unknown(silent)
    }

    /// The servers that are being asked this now.
    pub(crate) fn under_way<Q: Asked>(&self, question: &Q) -> Vec<Arc<Server>> {
        let mut servers = self.in_order();
        servers.retain(|server| {
            let key = (server.upstream, question.clone());
            Q::flights(self).is_under_way(&key)
        });
        servers
    }

    /// All servers in the order in which they are asked: those that can be called by their priority, then the others,
    /// which say at once that they cannot.
    pub(crate) fn in_order(&self) -> Vec<Arc<Server>> {
        let mut all: Vec<Arc<Server>> = self.servers.all().iter().cloned().collect();
        let rows = self.engine.upstreams(0, usize::MAX);
        all.sort_by_key(|server| {
            let row = rows.iter().find(|row| row.upstream == server.upstream);
            let away = row.is_some_and(|row| left_alone(row.standing).is_some());
            (away, server.entry().priority)
        });
        all
    }

    /// What somebody who asked this server now would be told, if it cannot be called.
    pub(crate) fn passed_over(&self, server: &Server) -> Option<NoAnswer> {
        let view = self.engine.upstream(server.upstream)?;
        let reason = left_alone(view.figures.standing)?;
        let (until, cause) = match view.status.state {
            Availability::Cooldown { until } | Availability::Disabled { until } => {
                (Some(until), view.trouble.map(|trouble| trouble.reason))
            }
            _ => (None, view.off.map(|off| off.reason.into())),
        };
        let skip = Skip {
            reason,
            wait: until.map(|until| view.at.until(until)),
            limit: None,
        };
        Some(NoAnswer::Ended(Ended::Skipped(Arc::new(Skipped {
            skip,
            class: None,
            at: view.at,
            cause,
            number: None,
        }))))
    }

    /// Ends all calls and closes all connections. A server that does not say goodbye is not waited for.
    pub async fn stop(&self, drain: Duration) {
        self.engine.shutdown(drain).await;
        for server in self.servers.all().iter() {
            server.link.close();
        }
        let _ = tokio::time::timeout(GOODBYE, self.outbound.closed()).await;
    }
}

/// Why an upstream is not called.
fn left_alone(standing: Standing) -> Option<Wait> {
    match standing {
        Standing::Cooldown | Standing::Disabled => Some(Wait::Cooldown),
        Standing::Manual => Some(Wait::Off),
        _ => None,
    }
}

/// Until when a server's answer is waited for: as long as it takes, unless somebody waits and there is another server to ask.
pub(crate) fn patience(class: Class, is_last: bool) -> Option<Instant> {
    (!is_last && class != LOW).then(|| Instant::now() + MOVE_ON)
}

impl NoAnswer {
    /// Whether the server does not have it, which is an answer.
    fn is_absent(&self) -> bool {
        matches!(
            self,
            Self::Fault(NewsFault::NoArticle | NewsFault::NoNewsgroup)
        )
    }
}

#[cfg(test)]
pub(crate) mod tests;
