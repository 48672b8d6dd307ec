//! One connection to a news server: a task that writes commands ahead of the answers and hands answers out in order.
//!
//! The selected newsgroup is the connection's, and a server that does not have a newsgroup keeps the one before selected.
//! So each order is checked, when its answers arrive, against the newsgroup that really was selected then: no order ever
//! gets the numbers of another newsgroup.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;
use weir_news_proto::reply::code;
use weir_news_proto::{Command, Listing, Newsgroup, Verb};

use super::answer::{Answer, AnswerReader};
use super::wire::Wire;
use crate::judge::NewsFault;

/// Commands that belong together, sent one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// The newsgroup that must be selected for them.
    pub(super) newsgroup: Option<Newsgroup>,
    /// It is selected even if it is already, to hear what there is in it now.
    pub(super) anew: bool,
    pub(super) commands: Vec<Command>,
    /// Bytes that the block of each answer may have.
    pub(super) limit: usize,
    /// An article to post. Nothing else goes over the connection from `POST` until the last word about it.
    pub(super) article: Option<Posting>,
}

/// An article to post.
#[derive(Clone, Debug)]
pub(super) struct Posting {
    /// As a block.
    pub(super) block: Bytes,
    /// Set before it goes out: from then on nobody knows without an answer what became of it.
    pub(super) given: Arc<AtomicBool>,
}

/// More places than any depth has.
const WHOLE: usize = 1 << 20;

/// What came of an order: what the server said of the newsgroup, if it was selected for this order, and an answer for
/// each command.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    pub(super) selected: Option<Answer>,
    pub(super) answers: Vec<Answer>,
}

/// What becomes of an order.
pub(super) type Delivered = Result<Delivery, NewsFault>;

/// How many commands may be unanswered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depths {
    pub(super) usual: usize,
    /// While all of them ask for articles by their IDs: answers that a server looks up one by one.
    pub(super) articles: usize,
}

impl Order {
    pub(super) fn depth(&self, depths: Depths) -> usize {
        if self.article.is_some() {
            return 1;
        }
        let articles = self.newsgroup.is_none()
            && self
                .commands
                .iter()
                .all(|command| command.verb() == Verb::Article);
        match articles {
            true => depths.articles,
            false => depths.usual,
        }
    }

    /// How much of a connection it takes up. A list may be as long as a hundred windows, so nothing is to wait behind one as
    /// long as there is another connection, or may be.
    fn places(&self) -> usize {
        let list = |command: &Command| matches!(command, Command::List(listing) if *listing != Listing::OverviewFmt);
        match self.article.is_some() || self.commands.iter().any(list) {
            true => WHOLE,
            false => 1,
        }
    }
}

/// What the pool knows of a connection.
#[derive(Debug, Default)]
pub(super) struct Load {
    /// Orders that were handed over and have not ended, in places.
    open: AtomicUsize,
    closed: AtomicBool,
    /// The newsgroup that is selected once everything so far is answered.
    newsgroup: Mutex<Option<Newsgroup>>,
}

impl Load {
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn is_in(&self, newsgroup: Option<&Newsgroup>) -> bool {
        newsgroup.is_some_and(|wanted| self.newsgroup.lock().as_ref() == Some(wanted))
    }
}

/// The pool's end of a connection.
pub(super) struct Connection {
    orders: mpsc::Sender<Handed>,
    pub(super) load: Arc<Load>,
}

/// An order on its way. Its end is noted when it is dropped, however that comes about.
struct Handed {
    order: Order,
    depth: usize,
    tell: oneshot::Sender<Delivered>,
    _open: Open,
}

/// Counts an order while it lives.
struct Open {
    places: usize,
    load: Arc<Load>,
    moved: Arc<Notify>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.load.open.fetch_sub(self.places, Ordering::AcqRel);
        self.moved.notify_waiters();
    }
}

impl Connection {
    /// A connection and the task that runs it; at most `most` orders can be handed over at once.
    pub(super) fn new(wire: Wire, times: Times, most: usize) -> (Self, impl Future<Output = ()>) {
        let (orders, handed) = mpsc::channel(most.max(1));
        let load = Arc::<Load>::default();
        let talk = Talk {
            wire,
            times,
            load: load.clone(),
            unsent: VecDeque::new(),
            waiting: VecDeque::new(),
            orders: VecDeque::new(),
            selected: None,
            since: Instant::now(),
            line: Vec::new(),
            wanted: None,
        };
        (Self { orders, load }, talk.run(handed))
    }

    /// Hands an order over; gives it back if that cannot be done at once. `moved` hears of its end.
    pub(super) fn hand(
        &self,
        order: Order,
        depth: usize,
        moved: &Arc<Notify>,
    ) -> Result<oneshot::Receiver<Delivered>, Order> {
        let (tell, told) = oneshot::channel();
        let places = order.places();
        self.load.open.fetch_add(places, Ordering::AcqRel);
        if let Some(newsgroup) = &order.newsgroup {
            *self.load.newsgroup.lock() = Some(newsgroup.clone());
        }
        let handed = Handed {
            order,
            depth,
            tell,
            _open: Open {
                places,
                load: self.load.clone(),
                moved: moved.clone(),
            },
        };
        match self.orders.try_send(handed) {
            Ok(()) => Ok(told),
            Err(
                mpsc::error::TrySendError::Full(handed) | mpsc::error::TrySendError::Closed(handed),
            ) => Err(handed.order),
        }
    }
}

/// How long a connection waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// For one answer, from the moment on when it is the next.
    pub(super) answer: Duration,
    /// For something to do.
    pub(super) idle: Duration,
}

/// A command that was not sent yet.
struct Unsent {
    command: Command,
    depth: usize,
    limit: usize,
    article: Option<Posting>,
}

/// A command that waits for its answer. A selection belongs to the order behind it.
struct Waiting {
    selects: Option<Newsgroup>,
    reader: AnswerReader,
    posts: bool,
    /// Sent when the server asks for it.
    article: Option<Posting>,
}

/// An order whose answers are coming.
struct Coming {
    newsgroup: Option<Newsgroup>,
    /// Answers that are still to come.
    left: usize,
    delivery: Delivered,
    /// Its article has gone out, or is just about to.
    given: bool,
    tell: oneshot::Sender<Delivered>,
    _open: Open,
}

/// The task's state.
struct Talk {
    wire: Wire,
    times: Times,
    load: Arc<Load>,
    unsent: VecDeque<Unsent>,
    waiting: VecDeque<Waiting>,
    /// In the order of their answers.
    orders: VecDeque<Coming>,
    /// The newsgroup that is selected by now.
    selected: Option<Newsgroup>,
    /// Since when the next answer is waited for, or nothing is to be done.
    since: Instant,
    /// For commands, so that many go out at once.
    line: Vec<u8>,
    /// The article that the server has asked for.
    wanted: Option<Bytes>,
}

impl Talk {
    async fn run(mut self, mut handed: mpsc::Receiver<Handed>) {
        let end = self.talk(&mut handed).await;
        self.load.closed.store(true, Ordering::Release);
        // Whoever has handed something over meanwhile hears of it as well.
        handed.close();
        while let Ok(late) = handed.try_recv() {
            self.accept(late);
        }
        let fault = match end {
            Ok(()) => NewsFault::from(weir_net::Error::Cut),
            Err(fault) => fault,
        };
        tracing::debug!(unanswered = self.orders.len(), why = %fault, "connection closed");
        for order in self.orders {
            let fault = match order.given {
                true => NewsFault::Unfinished(fault.to_string()),
                false => fault.clone(),
            };
            // Nobody may be there to hear it.
            let _ = order.tell.send(Err(fault));
        }
    }

    /// Ends well when nobody needs it any more.
    async fn talk(&mut self, handed: &mut mpsc::Receiver<Handed>) -> Result<(), NewsFault> {
        loop {
            self.read()?;
            self.write().await?;
            let idle = self.orders.is_empty();
            let time = if idle {
                self.times.idle
            } else {
                self.times.answer
            };
            tokio::select! {
                biased;
                // First, or it would not be looked at while bytes keep coming.
                () = tokio::time::sleep_until(self.since + time) => {
                    if !idle {
                        return Err(NewsFault::Silent);
                    }
                    self.say_goodbye().await;
                    return Ok(());
                }
                order = handed.recv() => match order {
                    Some(order) => self.accept(order),
                    None if idle => {
                        self.say_goodbye().await;
                        return Ok(());
                    }
                    None => return self.finish().await,
                },
                filled = self.wire.fill() => filled?,
            }
        }
    }

    /// Takes no more orders, and waits for the answers to those that are here.
    async fn finish(&mut self) -> Result<(), NewsFault> {
        while !self.orders.is_empty() {
            let filled = tokio::time::timeout_at(self.since + self.times.answer, self.wire.fill());
            filled.await.map_err(|_| NewsFault::Silent)??;
            self.read()?;
            self.write().await?;
        }
        self.say_goodbye().await;
        Ok(())
    }

    async fn say_goodbye(&mut self) {
        // A server that does not take it is told by the closed connection.
        let goodbye = self.wire.send(b"QUIT\r\n");
        let _ = tokio::time::timeout(Duration::from_secs(1), goodbye).await;
    }

    fn accept(&mut self, handed: Handed) {
        if self.orders.is_empty() {
            self.since = Instant::now();
        }
        let Handed {
            order,
            depth,
            tell,
            _open,
        } = handed;
        let Order {
            newsgroup,
            anew,
            commands,
            limit,
            article,
        } = order;
        let mut left = commands.len() + usize::from(article.is_some());
        // What is selected when everything before is answered; if that turns out otherwise, the answers are not used.
        let before = self
            .orders
            .iter()
            .rev()
            .find_map(|one| one.newsgroup.as_ref());
        let selected = before.or(self.selected.as_ref());
        let entering = newsgroup
            .as_ref()
            .filter(|wanted| anew || selected != Some(wanted));
        if let Some(newsgroup) = entering {
            left += 1;
            self.unsent.push_back(Unsent {
                command: Command::Group(newsgroup.clone()),
                depth,
                limit: 0,
                article: None,
            });
        }
        self.unsent
            .extend(commands.into_iter().map(|command| Unsent {
                command,
                depth,
                limit,
                article: None,
            }));
        if article.is_some() {
            self.unsent.push_back(Unsent {
                command: Command::Post,
                depth,
                limit: 0,
                article,
            });
        }
        self.orders.push_back(Coming {
            newsgroup,
            left,
            delivery: Ok(Delivery::default()),
            given: false,
            tell,
            _open,
        });
    }

    /// Sends as many commands as may be unanswered.
    async fn write(&mut self) -> Result<(), NewsFault> {
        if let Some(article) = self.wanted.take() {
            // Unlike a command it may be long, and a server that stops taking it would hold us for good.
            let sent = tokio::time::timeout(self.times.answer, self.wire.send(&article));
            sent.await.map_err(|_| NewsFault::Silent)??;
            self.since = Instant::now();
        }
        while let Some(next) = self.unsent.front()
            && self.waiting.len() < next.depth
            && !self.waiting.back().is_some_and(|last| last.posts)
        {
            let Some(unsent) = self.unsent.pop_front() else {
                break;
            };
            let Unsent {
                command,
                limit,
                article,
                ..
            } = unsent;
            if let Err(error) = command.write(&mut self.line) {
                // Every part of a command has a type that can be sent, so this is a line that is too long.
                return Err(NewsFault::Unsupported(error.to_string()));
            }
            if self.waiting.is_empty() {
                self.since = Instant::now();
            }
            let reader = AnswerReader::new(command.verb(), limit);
            let selects = match command {
                Command::Group(newsgroup) => Some(newsgroup),
                _ => None,
            };
            self.waiting.push_back(Waiting {
                selects,
                reader,
                posts: article.is_some(),
                article,
            });
        }
        if !self.line.is_empty() {
            let sent = self.wire.send(&self.line).await;
            self.line.clear();
            sent?;
        }
        Ok(())
    }

    /// Takes all answers that have arrived.
    fn read(&mut self) -> Result<(), NewsFault> {
        while let Some(waiting) = self.waiting.front_mut() {
            let Some(answer) = waiting.reader.take(self.wire.arrived())? else {
                return Ok(());
            };
            if let Ok(Answer {
                code: code::SEND_ARTICLE,
                ..
            }) = answer
                && let Some(article) = waiting.article.take()
            {
                waiting.reader = AnswerReader::new(Verb::Post, 0);
                self.give(article)?;
                return match self.wire.arrived().is_empty() {
                    true => Ok(()),
                    false => Err(NewsFault::Garbled(
                        "it spoke before it had the article".to_owned(),
                    )),
                };
            }
            let selects = self.waiting.pop_front().and_then(|waiting| waiting.selects);
            self.since = Instant::now();
            if let Ok(answer) = &answer
                && answer.code == code::UNAVAILABLE
            {
                // It closes the connection after this.
                return Err(answer.fault());
            }
            self.take(answer, selects);
        }
        match self.wire.arrived().is_empty() {
            true => Ok(()),
            // Some say that they close an idle connection; nothing else may come unasked.
            false => Err(NewsFault::from(weir_net::Error::Cut)),
        }
    }

    /// The server has asked for the article of the first order: it goes out with the next write.
    ///
    /// # Errors
    /// Nobody waits for what becomes of it any more, so it may have been given to another server meanwhile. The one who left
    /// looks at the flag after leaving, and we look for him after setting it: one of the two always sees the other.
    fn give(&mut self, article: Posting) -> Result<(), NewsFault> {
        article.given.store(true, Ordering::SeqCst);
        let Some(order) = self.orders.front_mut() else {
            return Err(NewsFault::from(weir_net::Error::Cut));
        };
        if order.tell.is_closed() {
            return Err(NewsFault::from(weir_net::Error::Cut));
        }
        order.given = true;
        self.since = Instant::now();
        self.wanted = Some(article.block);
        Ok(())
    }

    /// Gives an answer to the order it belongs to.
    fn take(&mut self, answer: Result<Answer, NewsFault>, selects: Option<Newsgroup>) {
        let Some(order) = self.orders.front_mut() else {
            return;
        };
        order.left -= 1;
        match (answer, selects, &mut order.delivery) {
            (_, _, Err(_)) => {}
            (Err(fault), _, delivery) => *delivery = Err(fault),
            (Ok(answer), Some(newsgroup), Ok(delivery)) => match answer.reply().selected() {
                Ok(_) => {
                    self.selected = Some(newsgroup);
                    delivery.selected = Some(answer);
                }
                Err(_) => order.delivery = Err(answer.fault()),
            },
            (Ok(_), None, delivery)
                if order.newsgroup.is_some() && order.newsgroup != self.selected =>
            {
                *delivery = Err(NewsFault::NoNewsgroup);
            }
            (Ok(answer), None, Ok(delivery)) => delivery.answers.push(answer),
        }
        if order.left == 0
            && let Some(order) = self.orders.pop_front()
        {
            // Whoever asked may have left.
            let _ = order.tell.send(order.delivery);
        }
    }
}
