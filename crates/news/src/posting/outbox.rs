//! What was posted here: remembered in `state.db` from before the first try on, with its bytes until a server lists it.
//!
//! At most [`MOST`] posts are kept; the oldest go first. All of them are in memory too, so that a look costs nothing; the file
//! is written before anything is sent.

mod rows;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use weir_news_proto::{MessageId, Newsgroup};
use weir_store::Error;
use weir_store::sqlite::File;

use super::draft::Drafts;
use super::lock::LockSecret;
use super::{Outgoing, Poster, Taken};

/// Posts that are kept.
pub(crate) const MOST: u32 = 5_000;

/// Bytes of all that no server has listed yet. Beyond that the oldest are known by their IDs alone.
pub(crate) const BYTES: usize = 32 << 20;

/// How far an article has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostState {
    /// It is being handed over.
    Sending,
    /// A server was lost while it took it; Weir finds out.
    Unsure,
    /// A server has taken it, and none has listed it yet.
    Sent,
    /// A server lists it.
    Seen,
    /// It turned out later that no server wants it.
    Refused,
    /// It never turned out whether a server has it.
    Lost,
}

/// What is known of an article that was posted here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostNote {
    /// How far it has come.
    pub state: PostState,
    /// When it was posted.
    pub at: i64,
    /// When that was known.
    pub changed: i64,
    /// Who was handed it.
    pub server: Option<Arc<str>>,
    /// What the server said, if it refused it.
    pub words: String,
    /// Newsgroups that the server does not have: it is not there.
    pub left_out: Vec<Newsgroup>,
    /// Whether its author took it back.
    pub taken_back: Option<TakenBack>,
}

/// An article was taken back by its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBack {
    /// When.
    pub at: i64,
    /// By an article in its place; else it was cancelled.
    pub by: Option<MessageId>,
}

impl PostNote {
    /// What readers are told; nothing of an article that servers list and nobody took back.
    pub fn sentence(&self) -> Option<String> {
        let server = self.server.as_deref().unwrap_or("a server");
        if let Some(back) = &self.taken_back {
            return Some(match back.by {
                Some(_) => "Replaced by its author. Servers may still show it.".to_owned(),
                None => "Cancelled by its author. Servers may still show it.".to_owned(),
            });
        }
        let mut says = match self.state {
            PostState::Sending => "Being sent.".to_owned(),
            PostState::Unsure => format!(
                "The connection to {server} was lost while it took this. Weir is finding out whether it arrived."
            ),
            PostState::Sent => format!("Sent through {server}. No server lists it yet."),
            PostState::Seen => String::new(),
            PostState::Refused => format!("Not posted: {}", self.words),
            PostState::Lost => format!(
                "{server} did not say for a day whether it took this, and no server lists it."
            ),
        };
        if !self.left_out.is_empty() {
            let names = super::listed(&self.left_out);
            let left = format!("It is not in {names}: {server} does not take articles for it.");
            says = format!("{says} {left}").trim().to_owned();
        }
        (!says.is_empty()).then_some(says)
    }
}

/// An article that was posted here.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    pub(crate) id: MessageId,
    pub(crate) poster: Poster,
    pub(crate) newsgroups: Vec<Newsgroup>,
    pub(crate) subject: String,
    pub(crate) takes_back: Option<Taken>,
    pub(crate) note: PostNote,
    /// Until a server lists it.
    pub(crate) raw: Option<Bytes>,
}

impl Post {
    pub(crate) fn new(ready: Outgoing, poster: Poster, now: i64) -> Self {
        Self {
            id: ready.id,
            poster,
            newsgroups: ready.newsgroups,
            subject: ready.subject,
            takes_back: ready.takes_back,
            note: PostNote {
                state: PostState::Sending,
                at: now,
                changed: now,
                server: None,
                words: String::new(),
                left_out: Vec::new(),
                taken_back: None,
            },
            raw: Some(ready.raw),
        }
    }

    pub(crate) fn note(&self) -> PostNote {
        self.note.clone()
    }

    /// Whether it is with a server, or may be.
    pub(crate) fn is_out(&self) -> bool {
        matches!(
            self.note.state,
            PostState::Unsure | PostState::Sent | PostState::Seen
        )
    }

    /// Whether it is to be shown although no server lists it: not so for cancels, which are nobody's to read.
    pub(crate) fn is_shown(&self) -> bool {
        let cancels = matches!(self.takes_back, Some(Taken::Cancelled(_)));
        self.raw.is_some() && !cancels && self.note.state != PostState::Sending
    }
}

/// All of them.
pub(crate) struct Outbox {
    /// Without one they are in memory alone.
    file: Option<File>,
    lock: LockSecret,
    posts: Mutex<HashMap<MessageId, Arc<Post>>>,
    /// How many have not been listed by a server, so that reading costs nothing while there is none.
    unseen: AtomicUsize,
    pub(crate) drafts: Drafts,
}

impl Outbox {
    /// Opens the tables; they are made if there are none.
    pub(crate) fn open(file: Option<File>) -> Result<Self, crate::Error> {
        let (lock, posts) = match &file {
            None => (LockSecret::random()?, Vec::new()),
            Some(file) => {
                file.migrate(rows::MIGRATIONS)?;
                let made = LockSecret::random()?;
                let secret = file.write_blocking(move |tx| rows::secret(tx, &made))?;
                (secret, file.read(rows::all)?)
            }
        };
        let posts: HashMap<_, _> = posts
            .into_iter()
            .map(|post| (post.id.clone(), Arc::new(post)))
            .collect();
        let outbox = Self {
            drafts: Drafts::open(file.clone(), &lock)?,
            file,
            lock,
            posts: Mutex::new(posts),
            unseen: AtomicUsize::new(0),
        };
        outbox.count(&outbox.posts.lock());
        Ok(outbox)
    }

    pub(super) fn lock(&self) -> &LockSecret {
        &self.lock
    }

    pub(crate) fn find(&self, id: &MessageId) -> Option<Arc<Post>> {
        self.posts.lock().get(id).cloned()
    }

    /// All posts, newest first.
    pub(crate) fn all(&self) -> Vec<Arc<Post>> {
        let mut all: Vec<_> = self.posts.lock().values().cloned().collect();
        all.sort_by(|one, other| (other.note.at, &other.id).cmp(&(one.note.at, &one.id)));
        all
    }

    /// Posts of which it is not known whether a server has them.
    pub(super) fn unsure(&self) -> Vec<Arc<Post>> {
        let posts = self.posts.lock();
        let open =
            |post: &&Arc<Post>| matches!(post.note.state, PostState::Sending | PostState::Unsure);
        posts.values().filter(open).cloned().collect()
    }

    /// Whether any post waits to be listed by a server.
    pub(crate) fn is_waiting(&self) -> bool {
        self.unseen.load(Ordering::Acquire) > 0
    }

    /// Posts in a newsgroup that are shown although no server lists them.
    pub(crate) fn shown_in(&self, newsgroup: &Newsgroup) -> Vec<Arc<Post>> {
        if !self.is_waiting() {
            return Vec::new();
        }
        let posts = self.posts.lock();
        let there = posts
            .values()
            .filter(|post| post.is_shown() && post.newsgroups.contains(newsgroup));
        there.cloned().collect()
    }

    /// Takes a new post in, unless its poster has had enough: then, seconds until there is room again.
    pub(super) fn admit(&self, post: &Arc<Post>, per_hour: usize) -> Result<(), u64> {
        let hour = super::HOUR.as_secs().cast_signed();
        let now = post.note.at;
        let mut posts = self.posts.lock();
        let mut times: Vec<i64> = posts
            .values()
            .filter(|one| one.poster == post.poster && one.id != post.id)
            .map(|one| one.note.at)
            .filter(|at| *at > now - hour)
            .collect();
        if times.len() >= per_hour {
            times.sort_unstable();
            // When so many have become too old that one more fits.
            let free = times[times.len() - per_hour] + hour - now;
            return Err(free.max(1).unsigned_abs());
        }
        posts.insert(post.id.clone(), post.clone());
        while posts.len() > MOST as usize
            && let Some(oldest) = posts
                .values()
                .min_by_key(|one| one.note.at)
                .map(|one| one.id.clone())
        {
            posts.remove(&oldest);
        }
        let_go(&mut posts);
        self.count(&posts);
        Ok(())
    }

    /// Changes what is known of a post. What is written is durable when this returns, if `durably`.
    pub(super) async fn change(
        &self,
        id: &MessageId,
        change: impl FnOnce(&mut Post),
    ) -> Result<Option<Arc<Post>>, Error> {
        let changed = {
            let mut posts = self.posts.lock();
            let Some(kept) = posts.get_mut(id) else {
                return Ok(None);
            };
            let mut post = Post::clone(kept);
            change(&mut post);
            *kept = Arc::new(post);
            let kept = kept.clone();
            self.count(&posts);
            kept
        };
        self.write(&changed).await?;
        Ok(Some(changed))
    }

    /// Writes a post down.
    pub(super) async fn write(&self, post: &Arc<Post>) -> Result<(), Error> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let post = post.clone();
        file.write_durable(move |tx| {
            rows::put(tx, &post)?;
            rows::bound(tx, MOST, BYTES)
        })
        .await
    }

    /// Forgets a post that is nowhere.
    pub(super) async fn remove(&self, id: &MessageId) -> Result<(), Error> {
        {
            let mut posts = self.posts.lock();
            posts.remove(id);
            self.count(&posts);
        }
        let Some(file) = &self.file else {
            return Ok(());
        };
        let id = id.clone();
        file.write(move |tx| rows::remove(tx, &id)).await
    }

    fn count(&self, posts: &HashMap<MessageId, Arc<Post>>) {
        let waits = |post: &&Arc<Post>| post.raw.is_some();
        let unseen = posts.values().filter(waits).count();
        self.unseen.store(unseen, Ordering::Release);
    }
}

/// Lets go of the bytes of the oldest posts, if there are too many. Those that may have to be sent again stay.
fn let_go(posts: &mut HashMap<MessageId, Arc<Post>>) {
    let length = |post: &Post| post.raw.as_ref().map_or(0, Bytes::len);
    let mut total: usize = posts.values().map(|post| length(post)).sum();
    if total <= BYTES {
        return;
    }
    let is_settled =
        |post: &Post| !matches!(post.note.state, PostState::Sending | PostState::Unsure);
    let mut settled: Vec<&mut Arc<Post>> = posts
        .values_mut()
        .filter(|post| post.raw.is_some() && is_settled(post))
        .collect();
    settled.sort_by_key(|post| post.note.at);
    for post in settled {
        if total <= BYTES {
            break;
        }
        total -= length(post);
        Arc::make_mut(post).raw = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(number: i64, bytes: usize) -> Arc<Post> {
        let ready = Outgoing {
            id: format!("<{number}@x>").parse().expect("an ID"),
            newsgroups: vec!["misc.test".parse().expect("a name")],
            subject: "x".to_owned(),
            takes_back: None,
            raw: vec![b'x'; bytes].into(),
        };
        let mut post = Post::new(ready, Poster::keyholder(), number);
        post.note.state = if number == 1 {
            PostState::Unsure
        } else {
            PostState::Sent
        };
        Arc::new(post)
    }

    #[tokio::test]
    async fn the_oldest_bytes_go_first_in_memory_and_in_the_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = File::open(directory.path().join("state.db")).expect("a file");
        let outbox = Outbox::open(Some(file.clone())).expect("an outbox");
        for number in 1..=5 {
            let post = post(number, BYTES / 4);
            outbox.admit(&post, 100).expect("there is room");
            outbox.write(&post).await.expect("it is written");
        }
        let held = |outbox: &Outbox| {
            let mut held: Vec<(String, bool)> = outbox
                .all()
                .iter()
                .map(|post| (post.id.to_string(), post.raw.is_some()))
                .collect();
            held.sort();
            held.into_iter().map(|(_, held)| held).collect::<Vec<_>>()
        };
        // The first may have to be sent again.
        assert_eq!(held(&outbox), [true, false, true, true, true]);
        let again = Outbox::open(Some(file)).expect("an outbox");
        assert_eq!(held(&again), held(&outbox));
    }
}
