//! Brings what is known of newsgroups up to date: whom to ask what, and in which order.
//!
//! A page waits for the first server that answers; the others are merged in on the low class. All of it runs as errands,
//! so equal wishes share one, and every call passes the engine.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;
use weir_engine::Got;
use weir_engine::dispatch::{Asker, Class};
use weir_news_proto::Newsgroup;

use crate::call::{AskDescriptions, AskNewsgroups, AskNumbers, AskWindow};
use crate::federation::{NoAnswer, Unheard, patience};
use crate::judge::NewsFault;
use crate::model::Model;
use crate::newsgroup::{OpenNewsgroup, WindowSize};
use crate::numbers::{Carried, ServerId};
use crate::policy::LOW;
use crate::server::Server;
use crate::silence::{busy, silent};

/// Windows that one errand fetches to go back in time. Whoever wants more asks for the next page.
const DEEPEN: usize = 40;

/// Windows that are asked for at once: as many as a connection or two take ahead of their answers.
const AT_ONCE: usize = 10;

/// Windows of another server that are merged in at a time.
const MERGE: usize = 4;

/// Numbers before an article that are fetched with those after it.
const BEFORE: u64 = 50;

/// What an errand is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wish {
    /// The list of newsgroups, by everybody.
    Newsgroups,
    /// What is new in a newsgroup, by the first server that says so.
    New(Newsgroup),
    /// The same by all others.
    Others(Newsgroup),
    /// At least so many threads of a newsgroup, if there are so many.
    Threads(Newsgroup, usize),
    /// When the newest article of a newsgroup was written.
    Newest(Newsgroup),
    /// What follows an article far back, by its number at the server that sent it.
    After(Newsgroup, u64),
}

impl Model {
    /// Asks all servers for their newsgroups.
    pub(crate) async fn list_newsgroups(&self, class: Class, asker: Asker) {
        let servers = self.federation.in_order();
        let asked = servers.iter().map(|server| async move {
            let id = self.server_id(server);
            let asked = self.federation.ask(server, AskNewsgroups, (class, asker));
            match asked.await {
                Ok(list) => {
                    self.keep_list(id, &list);
                    self.catalogue
                        .listed(id, list.as_ref().clone(), Some(self.now()));
                    // What is known so far can be read while others are still being asked.
                    self.merge_newsgroups().await;
                }
                Err(Unheard { why, owed }) => {
                    let silent = silent(&self.engine, server, &why);
                    self.catalogue.silent(id, silent);
                    let listed = self.catalogue.listed_at(id);
                    owed.got(self.known_since(listed));
                }
            }
        });
        join_all(asked).await;
        self.merge_newsgroups().await;
        for server in servers {
            let id = self.server_id(&server);
            if self.catalogue.is_described(id) {
                continue;
            }
            let asked = self.federation.ask(&server, AskDescriptions, (LOW, asker));
            if let Ok(block) = asked.await {
                self.keep_descriptions(id, &block);
                self.catalogue.described(id, block.as_ref().clone());
                self.merge_newsgroups().await;
            }
        }
    }

    /// Asks one server after the other what is new in a newsgroup, until one has said it.
    pub(crate) async fn bring_new(&self, open: &OpenNewsgroup, class: Class, asker: Asker) {
        let (mut full, mut owed) = (None, self.federation.owed());
        let mut carriers = self.carriers(&open.name).into_iter().peekable();
        while let Some(server) = carriers.next() {
            let until = patience(class, carriers.peek().is_none());
            match self.check(open, &server, (class, asker), until).await {
                Ok(()) => {
                    owed.got(Got::Elsewhere);
                    let (now, told) = (self.now(), self.told(&open.name));
                    open.with(|state| {
                        state.checked = Some(now);
                        state.busy = None;
                    });
                    self.raise_high(open, told.high).await;
                    self.keep_check(open, self.server_id(&server));
                    self.pass_over(open, carriers);
                    let newest = open.with(|state| {
                        let thread = state.table.threads(0).next();
                        thread.map(|thread| thread.last().date())
                    });
                    self.note_newest(&open.name, newest);
                    return;
                }
                Err(unheard) => {
                    owed.add(unheard.owed);
                    let why = unheard.why;
                    // Where nobody waits, nobody is told that there was no place.
                    full = full.or(busy(&why).filter(|_| class != LOW));
                }
            }
        }
        open.with(|state| state.busy = full);
        owed.got(self.instead(open));
    }

    /// What readers get of a newsgroup of which nobody says what is new.
    fn instead(&self, open: &OpenNewsgroup) -> Got {
        let checked = open.with(|state| state.checked);
        self.known_since(checked.map(|(_, at)| at))
    }

    /// What somebody gets whom no server answers: what was known then, in Unix seconds, if anything was.
    pub(crate) fn known_since(&self, at: Option<i64>) -> Got {
        at.map_or(Got::Nothing, |at| {
            let age = u64::try_from(self.now().1 - at).unwrap_or_default();
            Got::Cached {
                age: Duration::from_secs(age),
            }
        })
    }

    /// Those that cannot be asked now are named with the page, not only once their turn to be merged in has come.
    fn pass_over(&self, open: &OpenNewsgroup, servers: impl Iterator<Item = Arc<Server>>) {
        for server in servers {
            if let Some(why) = self.federation.passed_over(&server) {
                self.hear(open, &server, Some(&why));
            }
        }
    }

    /// Merges in what the servers have that were not asked first, about as far back as the first was read.
    pub(crate) async fn bring_others(&self, open: &OpenNewsgroup, asker: Asker) {
        let carriers = self.carriers(&open.name);
        let first = carriers.iter().map(|server| self.server_id(server));
        let Some(first) = open.with(|state| {
            let answers = |id: &ServerId| {
                let progress = state.servers.get(id);
                progress.is_some_and(|progress| progress.seen && progress.silent.is_none())
            };
            first.clone().find(answers)
        }) else {
            return;
        };
        for server in &carriers {
            let id = self.server_id(server);
            if id == first {
                continue;
            }
            let checked = self.check(open, server, (LOW, asker), None).await;
            if !self.settle(open, checked) {
                continue;
            }
            for _ in 0..MERGE {
                let behind = open.with(|state| {
                    let depth = |id| {
                        state
                            .servers
                            .get(&id)
                            .map(|progress| (progress.depth, progress.is_whole()))
                    };
                    let (reach, whole) = depth(first).unwrap_or((None, true));
                    match depth(id) {
                        Some((_, true)) => false,
                        Some((Some(depth), _)) => whole || reach.is_some_and(|reach| depth > reach),
                        _ => true,
                    }
                });
                if !behind
                    || !self
                        .bring_older(open, std::slice::from_ref(server), 1, LOW, asker)
                        .await
                {
                    break;
                }
            }
        }
    }

    /// Goes back in time until so many threads are known, or nothing older is left.
    pub(crate) async fn bring_threads(
        &self,
        open: &OpenNewsgroup,
        wanted: usize,
        class: Class,
        asker: Asker,
    ) {
        let mut carriers = self.carriers(&open.name);
        let mut fetched = 0;
        while fetched < DEEPEN && !carriers.is_empty() {
            let missing = open.with(|state| {
                let threads = state.table.thread_count();
                let missing = wanted.saturating_sub(threads);
                // So far a thread had so many articles.
                let articles = missing * state.table.articles().max(1) / threads.max(1);
                if state.trimmed { 0 } else { articles }
            });
            if missing == 0 {
                return;
            }
            let lines = self.rules.load().window_lines as usize;
            let windows = missing
                .div_ceil(lines)
                .clamp(1, AT_ONCE.min(DEEPEN - fetched));
            fetched += windows;
            if !self
                .bring_older(open, &carriers, windows, class, asker)
                .await
            {
                // It has no more, or does not answer any more.
                carriers.retain(|server| {
                    let id = self.server_id(server);
                    open.with(|state| {
                        let progress = state.servers.get(&id);
                        progress.is_some_and(|progress| {
                            !progress.is_whole() && progress.silent.is_none()
                        })
                    })
                });
            }
        }
    }

    /// Fetches the next older windows of the first of these servers that has any; whether there were some.
    async fn bring_older(
        &self,
        open: &OpenNewsgroup,
        servers: &[Arc<Server>],
        windows: usize,
        class: Class,
        asker: Asker,
    ) -> bool {
        let sizes: Vec<(ServerId, WindowSize)> = servers
            .iter()
            .map(|server| (self.server_id(server), self.window_size(server)))
            .collect();
        let Some((id, windows)) = open.older(&sizes, windows) else {
            return false;
        };
        let Some(server) = servers.iter().find(|server| self.server_id(server) == id) else {
            return false;
        };
        let fetched = self.fetch(open, server, windows, (class, asker), None);
        self.settle(open, fetched.await)
    }

    /// Whether something was fetched. If it was not, there is what was known before.
    fn settle(&self, open: &OpenNewsgroup, fetched: Result<(), Unheard>) -> bool {
        match fetched {
            Ok(()) => true,
            Err(unheard) => {
                unheard.owed.got(self.instead(open));
                false
            }
        }
    }

    /// Fetches what stands in a newsgroup around a number of a server, unless it is known; or what follows that, so many
    /// windows further on.
    pub(crate) async fn bring_near(
        &self,
        open: &OpenNewsgroup,
        server: &Arc<Server>,
        (number, further): (u64, u64),
        class: Class,
        asker: Asker,
    ) {
        let lines = u64::from(self.rules.load().window_lines);
        let id = self.server_id(server);
        let gap = open.with(|state| {
            let progress = state.servers.get(&id)?;
            let first = number.saturating_sub(BEFORE).max(1);
            let first = first.saturating_add(lines * further);
            // What came after the last check, the next one brings.
            let last = first.saturating_add(lines - 1).min(progress.carried.high);
            let gap = progress.fetched().highest_gap(&(first..=last), lines);
            gap.filter(|_| first <= last)
        });
        if let Some(gap) = gap {
            let fetched = self.fetch(open, server, vec![gap], (class, asker), None);
            // What is said of a failure is in the newsgroup's state.
            self.settle(open, fetched.await);
        }
    }

    /// Asks a server what is new in a newsgroup.
    async fn check(
        &self,
        open: &OpenNewsgroup,
        server: &Arc<Server>,
        turn: (Class, Asker),
        until: Option<Instant>,
    ) -> Result<(), Unheard> {
        let id = self.server_id(server);
        if turn.0 != LOW {
            open.ask(id);
        }
        let question = AskNumbers(open.name.clone());
        let asked = self.federation.ask_until(server, question, turn, until);
        let said = match asked.await {
            Ok(said) => said,
            Err(unheard) => {
                self.hear(open, server, Some(&unheard.why));
                return Err(unheard);
            }
        };
        let windows = self.see(open, id, *said, self.window_size(server)).await;
        self.note_marks(open);
        let fetched = self.fetch(open, server, windows, turn, until).await;
        // Numbers may have been promised, whether or not their lines came.
        self.keep_numbers(open);
        fetched
    }

    /// Fetches windows of a server at once, and takes their lines in one after the other, each while the next ones are
    /// still on their way.
    async fn fetch(
        &self,
        open: &OpenNewsgroup,
        server: &Arc<Server>,
        windows: Vec<RangeInclusive<u64>>,
        turn: (Class, Asker),
        until: Option<Instant>,
    ) -> Result<(), Unheard> {
        if turn.0 != LOW {
            open.ask(self.server_id(server));
        }
        let asked = windows.into_iter().map(|window| async move {
            let question = AskWindow {
                newsgroup: open.name.clone(),
                low: *window.start(),
                high: *window.end(),
            };
            let ask = |question| self.federation.ask_until(server, question, turn, until);
            let told = ask(question.clone()).await;
            let lines = u64::from(self.rules.load().window_lines);
            let narrow =
                window.end().saturating_sub(lines - 1).max(*window.start())..=*window.end();
            match told {
                // Fewer numbers stand for nothing here than elsewhere in the newsgroup.
                Err(Unheard {
                    why: NoAnswer::Fault(NewsFault::TooLong(_)),
                    owed,
                }) if narrow != window => {
                    owed.asked_again();
                    let low = *narrow.start();
                    let told = ask(AskWindow { low, ..question }).await;
                    (narrow, told)
                }
                told => (window, told),
            }
        });
        let mut asked: FuturesOrdered<_> = asked.collect();
        while let Some((window, told)) = asked.next().await {
            match told {
                Ok(told) => {
                    let (lines, now) = (&told.lines, self.now().1);
                    let id = self.server_id(server);
                    let taken = self.take_in(open, id, &window, lines, now).await;
                    self.announce_new(open, taken.new);
                    self.keep_lines(open, id, taken);
                    self.note_listed(lines.iter().map(|line| &line.id)).await;
                }
                Err(mut unheard) => {
                    self.hear(open, server, Some(&unheard.why));
                    // Whoever moves on leaves all of them at the same time.
                    while let Some(Some((_, told))) = asked.next().now_or_never() {
                        told.err()
                            .into_iter()
                            .for_each(|one| unheard.owed.add(one.owed));
                    }
                    return Err(unheard);
                }
            }
        }
        self.hear(open, server, None);
        Ok(())
    }

    /// Tells those who listen of articles that were not known before.
    fn announce_new(&self, open: &OpenNewsgroup, new: usize) {
        if new > 0 {
            let name = open.name.as_str();
            self.announcer
                .announce(|| serde_json::json!({ "newsgroup": name, "new": new }));
        }
    }

    /// Notes whether a server answered. One that does not carry the newsgroup is not silent.
    pub(crate) fn hear(&self, open: &OpenNewsgroup, server: &Server, why: Option<&NoAnswer>) {
        let no = matches!(why, Some(NoAnswer::Fault(NewsFault::NoNewsgroup)));
        let silent = why
            .filter(|_| !no)
            .map(|why| silent(&self.engine, server, why));
        open.hear(self.server_id(server), silent);
    }

    fn window_size(&self, server: &Server) -> WindowSize {
        WindowSize {
            lines: u64::from(self.rules.load().window_lines),
            single: server.link.asks_one_by_one(),
        }
    }

    /// The servers that carry a newsgroup, in the order in which they are asked; all if that is not known.
    pub(crate) fn carriers(&self, newsgroup: &Newsgroup) -> Vec<Arc<Server>> {
        let mut servers = self.federation.in_order();
        let carried = self.carried(newsgroup);
        if !carried.is_empty() {
            servers.retain(|server| {
                let id = self.server_id(server);
                carried.iter().any(|(carrier, _)| *carrier == id)
            });
        }
        servers
    }

    /// What servers list of a newsgroup.
    pub(crate) fn carried(&self, newsgroup: &Newsgroup) -> Vec<(ServerId, Carried)> {
        let Some((merged, _)) = self.catalogue.merged() else {
            return Vec::new();
        };
        let found = merged.find(newsgroup);
        found.map_or_else(Vec::new, |(_, carried)| carried.to_vec())
    }
}
