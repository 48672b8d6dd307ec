//! Hands an article to one server: which one, what its answer means, and what is done when there is none.
//!
//! An article that may have arrived is not sent again, to anybody, before the server that may have it was asked for it; and
//! always under the same Message-ID, so that it appears once even if two servers have it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use weir_engine::dispatch::{Asker, Class};
use weir_engine::{Ended, Got, Own, OwnKind, OwnReason, about};
use weir_net::{LONG, aside};
use weir_news_proto::article::Article;
use weir_news_proto::{MessageId, Newsgroup};

use super::outbox::{Post, PostState, TakenBack};
use super::{NotPosted, Outgoing, Poster, Taken, listed};
use crate::call::{AskPost, AskPresence};
use crate::federation::{NoAnswer, Owed, Unheard};
use crate::judge::NewsFault;
use crate::lines::{Dates, SentLine};
use crate::model::Model;
use crate::policy::{HIGH, LOW};
use crate::reading::{Posting, ReadArticle, Rendered, Unread};
use crate::server::Server;
use crate::silence::silent;

/// When a server is asked again whether an article arrived, as time since the last try; the last one from then on.
const CHECKS: [Duration; 5] = [
    Duration::from_secs(30),
    Duration::from_secs(60),
    Duration::from_secs(5 * 60),
    Duration::from_secs(10 * 60),
    Duration::from_secs(30 * 60),
];

/// After this time nobody is asked any more.
const GIVE_UP: i64 = 86_400;

/// Who can be handed an article, best first, and what they do not take of it.
struct Takers(Vec<(Arc<Server>, Vec<Newsgroup>)>);

/// What came of handing an article to a server.
enum Handed {
    Taken,
    /// Not sent: it does not let us.
    Closed(String, Owed),
    /// Not sent: it could not be asked.
    Away(String, Owed),
    /// It does not want it.
    Unwanted(String),
    /// It may have it.
    Unsure(String),
}

impl Model {
    /// Delivers an article that was never tried before.
    pub(super) async fn deliver_first(
        &self,
        ready: Outgoing,
        poster: Poster,
        asker: Asker,
    ) -> Result<(), NotPosted> {
        let takers = self.takers(&ready.newsgroups, asker).await?;
        let post = Arc::new(Post::new(ready, poster, self.now().1));
        let per_hour = self.rules.load().posting.per_hour;
        if let Err(seconds) = self.outbox.admit(&post, per_hour) {
            let minutes = seconds.div_ceil(60);
            let poster = post.poster.key_name().unwrap_or("an operator");
            self.engine.note_refused(Own {
                asker: Some(poster.into()),
                limit: u32::try_from(per_hour).ok(),
                retry: Some(Duration::from_secs(seconds)),
                ..Own::new(OwnKind::Refused, OwnReason::TooMany, about::POST)
            });
            return Err(NotPosted::TooMany {
                says: format!(
                    "{per_hour} articles were posted in the last hour, which is what news.posts_per_hour allows. \
                     There is room for another one in {minutes} min."
                ),
                retry_after: seconds,
            });
        }
        if let Err(error) = self.outbox.write(&post).await {
            // Or it might be sent again after a restart, or never be known as ours.
            tracing::error!(front = "news", %error, "a post cannot be kept");
            self.forget_post(&post.id).await;
            let says = "Weir cannot save posts now, so it was not sent.";
            return Err(NotPosted::Unkept(says.to_owned()));
        }
        let delivered = self.deliver(&post, takers, HIGH, asker).await;
        if delivered.is_err() {
            self.forget_post(&post.id).await;
        }
        delivered
    }

    /// Hands an article to the first server that takes it.
    async fn deliver(
        &self,
        post: &Post,
        takers: Takers,
        class: Class,
        asker: Asker,
    ) -> Result<(), NotPosted> {
        let Some(raw) = &post.raw else {
            return Ok(());
        };
        let (mut closed, mut away) = (Vec::new(), Vec::new());
        let mut owed = self.federation.owed();
        for (server, left_out) in takers.0 {
            let name: Arc<str> = Arc::from(server.name());
            // Before it is sent: whoever finds this after a crash knows whom to ask.
            let noted = self.outbox.change(&post.id, |post| {
                post.note.server = Some(name.clone());
                post.note.left_out = left_out;
            });
            if let Err(error) = noted.await {
                tracing::error!(front = "news", %error, "a post cannot be kept");
                let says = "Weir cannot save posts now, so it was not sent.";
                return Err(NotPosted::Unkept(says.to_owned()));
            }
            match self.hand(&server, &post.id, raw, (class, asker)).await {
                Handed::Taken => {
                    owed.got(Got::Elsewhere);
                    self.note_state(&post.id, PostState::Sent, String::new())
                        .await;
                    self.look_for_it(post, asker);
                    return Ok(());
                }
                Handed::Unsure(words) => {
                    self.note_state(&post.id, PostState::Unsure, words).await;
                    self.keep_asking(&post.id);
                    return Ok(());
                }
                Handed::Unwanted(words) => {
                    return Err(NotPosted::Refused(format!("{name} refused it: {words}")));
                }
                Handed::Closed(words, records) => {
                    owed.add(records);
                    closed.push(format!("{name}: {words}"));
                }
                Handed::Away(words, records) => {
                    owed.add(records);
                    away.push(format!("{name}: {words}"));
                }
            }
        }
        match away.is_empty() {
            true => Err(NotPosted::Forbidden(format!(
                "No server lets us post there. {}.",
                closed.join("; ")
            ))),
            false => {
                away.append(&mut closed);
                Err(NotPosted::Unreachable(format!(
                    "No server could take it now, so it was not sent. {}.",
                    away.join("; ")
                )))
            }
        }
    }

    async fn hand(
        &self,
        server: &Arc<Server>,
        id: &MessageId,
        raw: &Bytes,
        turn: (Class, Asker),
    ) -> Handed {
        let given = Arc::<AtomicBool>::default();
        let question = AskPost {
            id: id.clone(),
            raw: raw.clone(),
            given: given.clone(),
        };
        let told = self.federation.ask(server, question, turn).await;
        let Err(Unheard { why, owed }) = told else {
            return Handed::Taken;
        };
        let words = silent(&self.engine, server, &why).reason;
        match why {
            NoAnswer::Fault(NewsFault::NotTaken(words)) => Handed::Unwanted(words),
            NoAnswer::Fault(NewsFault::Unfinished(words)) => Handed::Unsure(words),
            NoAnswer::Fault(NewsFault::NoPosting(_) | NewsFault::Unsupported(_)) => {
                Handed::Closed(words, owed)
            }
            // The call was ended in the middle; the flag alone knows how far it had come.
            NoAnswer::Ended(Ended::Skipped(_) | Ended::Dropped(_)) => Handed::Away(words, owed),
            NoAnswer::Ended(_) if given.load(Ordering::SeqCst) => Handed::Unsure(words),
            NoAnswer::Fault(_) | NoAnswer::Ended(_) | NoAnswer::Late => Handed::Away(words, owed),
        }
    }

    /// The servers that take articles for most of these newsgroups.
    async fn takers(&self, names: &[Newsgroup], asker: Asker) -> Result<Takers, NotPosted> {
        let merged = self.listed(asker).await.map_err(|unread| match unread {
            Unread::NoServers => NotPosted::Forbidden("No news server is configured.".to_owned()),
            _ => NotPosted::Unreachable(
                "No server has sent its list of newsgroups, so it is not known who takes the article. It was not sent."
                    .to_owned(),
            ),
        })?;
        for name in names {
            match merged.find(name).map(|(row, _)| row.posting) {
                None => return Err(NotPosted::Refused(format!("No server carries {name}."))),
                Some(Posting::Closed) => {
                    return Err(NotPosted::Refused(format!(
                        "{name} is closed: no server takes articles for it."
                    )));
                }
                Some(Posting::Moderated | Posting::Open) => {}
            }
        }
        let mut takers = Vec::new();
        for server in self.federation.in_order() {
            let id = self.server_id(&server);
            let flags = match self.catalogue.bytes() {
                ..LONG => self.catalogue.takes(id, names),
                _ => {
                    let Some(model) = self.me.upgrade() else {
                        break;
                    };
                    let names = names.to_vec();
                    aside(move || model.catalogue.takes(id, &names)).await
                }
            };
            let left: Vec<Newsgroup> = names
                .iter()
                .zip(flags)
                .filter(|(_, flag)| *flag == Posting::Closed)
                .map(|(name, _)| name.clone())
                .collect();
            takers.push((server, left));
        }
        // The first server that takes it for all, else for most; not one that takes it for fewer, only because that one is
        // down at the moment.
        takers.sort_by_key(|(_, left)| left.len());
        let least = takers.first().map_or(0, |(_, left)| left.len());
        takers.retain(|(_, left)| left.len() == least && left.len() < names.len());
        match takers.is_empty() {
            true => Err(NotPosted::Refused(format!(
                "No server takes articles for {}.",
                listed(names)
            ))),
            false => Ok(Takers(takers)),
        }
    }

    /// Notes how far a post has come, and shows it.
    pub(super) async fn note_state(&self, id: &MessageId, state: PostState, words: String) {
        let now = self.now().1;
        let noted = self.outbox.change(id, |post| {
            post.note.state = state;
            post.note.changed = now;
            post.note.words = words;
            if state == PostState::Seen {
                post.raw = None;
            }
        });
        let post = match noted.await {
            Ok(Some(post)) => post,
            Ok(None) => return,
            Err(error) => {
                // What is in memory holds until the restart; then it is asked for again.
                tracing::error!(front = "news", %error, "what became of a post cannot be kept");
                match self.outbox.find(id) {
                    Some(post) => post,
                    None => return,
                }
            }
        };
        if let Some(taken) = post.takes_back.as_ref().filter(|_| post.is_out()) {
            let back = TakenBack {
                at: post.note.at,
                by: match taken {
                    Taken::Cancelled(_) => None,
                    Taken::Superseded(_) => Some(post.id.clone()),
                },
            };
            let noted = self
                .outbox
                .change(taken.id(), |own| own.note.taken_back = Some(back));
            if let Ok(Some(own)) = noted.await {
                self.show_anew(&own);
            }
        }
        self.show_anew(&post);
    }

    /// Puts a post into the newsgroups that are open, and has everything written anew in which it is.
    fn show_anew(&self, post: &Post) {
        self.forget_article(&post.id);
        for name in &post.newsgroups {
            if let Some(open) = self.alive(name) {
                self.show_own(post, &open);
            }
        }
        let mut views = self.thread_views.lock();
        views.retain(|key, _| !post.newsgroups.contains(&key.newsgroup));
    }

    /// Puts a post into an open newsgroup, unless a server has listed it.
    pub(crate) fn show_own(&self, post: &Post, open: &crate::newsgroup::OpenNewsgroup) {
        let Some(raw) = post.raw.as_ref().filter(|_| post.is_shown()) else {
            return;
        };
        let article = Article::parse(raw);
        let now = self.now().1;
        let line = SentLine::of_article(&post.id, &article.head, raw.len());
        if let Some(line) = line {
            let date = Dates::after(post.note.at, now).next(&line);
            open.with(|state| {
                state.table.insert(&line.headline(None, date));
                state.pages.clear();
            });
        }
    }

    /// Forgets a post that is nowhere.
    async fn forget_post(&self, id: &MessageId) {
        if let Err(error) = self.outbox.remove(id).await {
            tracing::warn!(front = "news", %error, "a post that was not sent cannot be forgotten");
        }
    }

    /// Has the newsgroups looked at in which a post is to appear.
    fn look_for_it(&self, post: &Post, asker: Asker) {
        for name in &post.newsgroups {
            if let Some(open) = self.held(name) {
                self.look_for_new_soon(&open, asker);
            }
        }
    }

    /// These articles were listed by a server.
    pub(crate) async fn note_listed(&self, ids: impl Iterator<Item = &MessageId>) {
        if !self.outbox.is_waiting() {
            return;
        }
        let waits = |id: &&MessageId| {
            let post = self.outbox.find(id);
            post.is_some_and(|post| post.raw.is_some())
        };
        let seen: Vec<MessageId> = ids.filter(waits).cloned().collect();
        for id in seen {
            self.note_state(&id, PostState::Seen, String::new()).await;
        }
    }

    /// A post that no server lists yet, as it is read.
    pub(crate) fn own_article(&self, id: &MessageId) -> Option<Arc<ReadArticle>> {
        if !self.outbox.is_waiting() {
            return None;
        }
        let post = self.outbox.find(id)?;
        let raw = post.raw.clone().filter(|_| post.is_shown())?;
        let server = post.note.server.clone();
        Some(Arc::new(ReadArticle {
            id: id.clone(),
            article: Article::parse(&raw),
            raw,
            server: server.unwrap_or_else(|| Arc::from("Weir")),
            fetched: post.note.at,
            post: Some(post.note()),
            rendered: Rendered::default(),
        }))
    }

    /// Takes up what was under way when Weir stopped.
    pub(crate) fn resume_posts(&self) {
        for post in self.outbox.unsure() {
            self.keep_asking(&post.id);
        }
    }

    /// Finds out whether an article arrived, for as long as it takes.
    fn keep_asking(&self, id: &MessageId) {
        let (me, lifetime, id) = (self.me.clone(), self.lifetime.clone(), id.clone());
        self.lifetime.spawn(async move {
            let last = CHECKS[CHECKS.len() - 1];
            let waits = CHECKS.into_iter().chain(std::iter::repeat(last));
            for wait in waits {
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = lifetime.closing() => return,
                }
                let Some(model) = me.upgrade() else { return };
                tokio::select! {
                    known = model.find_out(&id) => if known { return },
                    () = lifetime.closing() => return,
                }
            }
        });
    }

    /// Asks the server that may have an article whether it has it; sends it again if not. Whether that is settled now.
    async fn find_out(&self, id: &MessageId) -> bool {
        let open = self
            .outbox
            .find(id)
            .filter(|post| matches!(post.note.state, PostState::Sending | PostState::Unsure));
        let Some(post) = open else {
            return true;
        };
        let name = post.note.server.as_deref();
        let server = name.and_then(|name| self.federation.servers.named(name));
        // The poster has gone.
        let asker = Asker::WEIR;
        if let Some(server) = server {
            let asked = AskPresence(id.clone());
            match self
                .federation
                .ask(&server, asked, (LOW, asker))
                .await
                .as_deref()
            {
                Ok(true) => {
                    self.note_state(id, PostState::Sent, String::new()).await;
                    return true;
                }
                Ok(false) => {}
                Err(_) if self.now().1 - post.note.at < GIVE_UP => return false,
                Err(_) => {
                    self.note_state(id, PostState::Lost, String::new()).await;
                    return true;
                }
            }
        }
        let again = match self.takers(&post.newsgroups, asker).await {
            Ok(takers) => self.deliver(&post, takers, LOW, asker).await,
            Err(not) => Err(not),
        };
        match again {
            // If it is unsure again, another task has it.
            Ok(()) => true,
            Err(NotPosted::Unreachable(_) | NotPosted::Unkept(_))
                if self.now().1 - post.note.at < GIVE_UP =>
            {
                false
            }
            Err(not) => {
                self.note_state(id, PostState::Refused, not.to_string())
                    .await;
                true
            }
        }
    }
}
