//! The connections to one server: opened when there is work for them, closed when there is none, replaced when they break.
//!
//! An order goes to a connection that has nothing to do, else to one that can take more, in the same newsgroup first. If none
//! can, it waits for whichever is the first to have room. Opening a connection costs a server far more than most answers do,
//! so a further one is opened when an order has waited for as long as opening the last one took: then it pays, and nobody
//! waits for more than twice what was needed. An order whose connection breaks goes once to a fresh one; whoever asked does not
//! notice.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::connection::{Connection, Delivered, Depths, Order, Times};
use super::dial::{Dialer, Ready, Worked};
use super::lease::{ASK_AGAIN, Allowance, ELSEWHERE, RENEW, Tenant};
use super::method::Method;
use crate::judge::NewsFault;

/// How long a server is not asked for more connections than it had when it refused one.
const ENOUGH: Duration = Duration::from_secs(10 * 60);

/// An order waits no longer than this before another connection is opened beside those that are busy.
const PATIENCE: Duration = Duration::from_millis(100);

/// After a connection beside others could not be opened, none is tried for this time.
const AGAIN: Duration = Duration::from_secs(5);

/// The connections to one server. A cheap handle: clones share everything.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Shared>);

struct Shared {
    dialer: Dialer,
    depths: Depths,
    idle: Duration,
    worked: Worked,
    method: Method,
    tasks: TaskTracker,
    state: Mutex<State>,
    /// Told when a connection has room again, has opened or could not be opened.
    moved: Arc<Notify>,
    opened: AtomicUsize,
    /// Connections whose tasks have not ended, those that are just saying goodbye among them.
    live: Arc<AtomicUsize>,
    /// Where other nodes use the same account.
    tenant: Option<Tenant>,
    /// Wakes whoever renews the lease.
    renew: Notify,
}

#[derive(Default)]
struct State {
    connections: Vec<Arc<Connection>>,
    /// Being opened in the background.
    opening: usize,
    /// How long opening the last one took.
    opening_took: Duration,
    /// None is opened beside others before this.
    not_before: Option<Instant>,
    /// The server refused one more than this.
    enough: Option<(usize, Instant)>,
    /// Whether the newest connection is encrypted.
    encrypted: Option<bool>,
    closed: bool,
    /// What the other nodes leave.
    allowance: Option<Allowance>,
    /// Somebody wants a connection that this node may not open.
    wanting: bool,
}

/// Where an order goes.
enum Choice {
    /// To this connection.
    Use(Arc<Connection>),
    /// To one that is opened for it.
    Open,
    /// Nowhere yet. Another connection may be opened after this time, if there may be one.
    Wait(Option<Duration>),
    /// Nowhere yet: other nodes have all connections that there may be.
    Elsewhere,
    /// Nowhere any more.
    Closed,
}

impl Pool {
    pub(super) fn new(
        dialer: Dialer,
        depths: Depths,
        idle: Duration,
        method: Method,
        tasks: TaskTracker,
        tenant: Option<Tenant>,
    ) -> Self {
        let limit = dialer.entry.connections.get();
        let allowance = tenant
            .as_ref()
            .map(|_| Allowance::new(limit, Instant::now()));
        let shared = Arc::new(Shared {
            dialer,
            depths,
            idle,
            worked: Worked::default(),
            method,
            tasks,
            state: Mutex::new(State {
                allowance,
                ..State::default()
            }),
            moved: Arc::default(),
            opened: AtomicUsize::new(0),
            live: Arc::default(),
            tenant,
            renew: Notify::new(),
        });
        if let Some(tenant) = shared.tenant.clone() {
            shared
                .tasks
                .spawn(keep_lease(Arc::downgrade(&shared), tenant));
        }
        Self(shared)
    }

    /// How overviews are fetched from this server.
    pub(super) fn method(&self) -> &Method {
        &self.0.method
    }

    /// Connections that are open now.
    pub(crate) fn open(&self) -> usize {
        let mut state = self.0.state.lock();
        state.forget_closed();
        state.connections.len()
    }

    /// Whether the newest connection is encrypted; `None` before the first.
    pub(super) fn is_encrypted(&self) -> Option<bool> {
        self.0.state.lock().encrypted
    }

    /// Connections that were ever opened.
    pub(crate) fn opened(&self) -> usize {
        self.0.opened.load(Ordering::Relaxed)
    }

    /// Sends an order and waits for what comes of it.
    pub(super) async fn ask(&self, order: Order) -> Delivered {
        let first = self.send(order.clone(), false).await;
        match first {
            // Not so if the connection was opened for this order: then another one would fare no better.
            Err((fault, false)) if fault.is_broken() || matches!(fault, NewsFault::Busy(_)) => {
                let second = self.send(order, true).await;
                second.map_err(|(fault, _)| fault)
            }
            first => first.map_err(|(fault, _)| fault),
        }
    }

    /// Sends an order over some connection, or over a `fresh` one. A fault comes with whether it was a fresh one.
    async fn send(
        &self,
        mut order: Order,
        mut fresh: bool,
    ) -> Result<super::connection::Delivery, (NewsFault, bool)> {
        let shared = &self.0;
        let depth = order.depth(shared.depths);
        let waiting = Instant::now();
        loop {
            // Subscribe before looking, or a change in between would be missed.
            let moved = shared.moved.notified();
            let choice = shared.state.lock().choose(&order, depth, shared, fresh);
            let (connection, was_fresh) = match choice {
                Choice::Use(connection) => (connection, false),
                Choice::Open => match self.open_one().await {
                    Ok(opened) => (opened, true),
                    Err(fault) if self.is_one_too_many(&fault) => continue,
                    Err(fault) => return Err((fault, true)),
                },
                Choice::Wait(None) => {
                    moved.await;
                    continue;
                }
                Choice::Elsewhere => {
                    shared.renew.notify_one();
                    let turn = tokio::time::timeout_at(waiting + ELSEWHERE, moved);
                    if turn.await.is_err() {
                        let most = shared.dialer.entry.connections.get();
                        return Err((NewsFault::Elsewhere(most), true));
                    }
                    continue;
                }
                Choice::Wait(Some(patience)) => {
                    if tokio::time::timeout_at(waiting + patience, moved)
                        .await
                        .is_err()
                    {
                        self.open_beside();
                    }
                    continue;
                }
                Choice::Closed => return Err((weir_net::Error::Cut.into(), true)),
            };
            match connection.hand(order, depth, &shared.moved) {
                Ok(told) => {
                    let told = told.await;
                    // The task is gone without a word only when the runtime ends.
                    let told = told.unwrap_or_else(|_| Err(weir_net::Error::Cut.into()));
                    return told.map_err(|fault| (fault, was_fresh));
                }
                // Somebody else was faster, or it has just closed.
                Err(back) => {
                    order = back;
                    fresh = false;
                }
            }
        }
    }

    /// Opens a connection for an order that waits for it. Its place was taken by [`State::choose`].
    async fn open_one(&self) -> Result<Arc<Connection>, NewsFault> {
        // Given back however this ends, also when whoever waits leaves.
        let place = Opening(&self.0);
        let start = Instant::now();
        let time = self.0.dialer.entry.timeout;
        let dialled = tokio::time::timeout(time, self.0.dialer.dial(&self.0.worked)).await;
        let ready = dialled.unwrap_or(Err(NewsFault::Silent))?;
        self.0.state.lock().opening_took = start.elapsed();
        Ok(self.take_in(ready, place))
    }

    /// Opens a connection for whoever is the first to need it, unless somebody does so already.
    fn open_beside(&self) {
        if !self.0.state.lock().begin_beside(&self.0) {
            return;
        }
        let pool = self.clone();
        self.0.tasks.spawn(async move {
            if let Err(fault) = pool.open_one().await
                && !pool.is_one_too_many(&fault)
            {
                let name = &pool.0.dialer.entry.name;
                tracing::debug!(upstream = name, why = %fault, "no further connection");
                pool.0.state.lock().not_before = Some(Instant::now() + AGAIN);
            }
        });
    }

    /// Whether a connection was refused by a server that serves us on others. Then those must do for a while.
    fn is_one_too_many(&self, fault: &NewsFault) -> bool {
        let (NewsFault::Closed(words) | NewsFault::Busy(words)) = fault else {
            return false;
        };
        let mut state = self.0.state.lock();
        state.forget_closed();
        let open = state.connections.len() + state.opening;
        if open > 0 {
            let name = &self.0.dialer.entry.name;
            tracing::info!(upstream = name, open, words, "it takes no more connections");
            state.enough = Some((open, Instant::now()));
        }
        open > 0
    }

    fn take_in(&self, ready: Ready, place: Opening<'_>) -> Arc<Connection> {
        let shared = &self.0;
        shared.method.learn(&ready.capabilities);
        tracing::info!(
            upstream = shared.dialer.entry.name,
            encryption = if ready.secured { "TLS" } else { "none" },
            compressed = ready.compressed,
            overview = shared.method.name(),
            "connected"
        );
        let times = Times {
            answer: shared.dialer.entry.timeout,
            idle: shared.idle,
        };
        let most = shared.depths.articles.max(shared.depths.usual);
        let (connection, task) = Connection::new(ready.wire, times, most);
        let connection = Arc::new(connection);
        let moved = shared.moved.clone();
        let live = Living(shared.live.clone());
        live.0.fetch_add(1, Ordering::AcqRel);
        shared.tasks.spawn(async move {
            task.await;
            drop(live);
            moved.notify_waiters();
        });
        shared.opened.fetch_add(1, Ordering::Relaxed);
        let mut state = shared.state.lock();
        state.encrypted = Some(ready.secured);
        if !state.closed {
            state.connections.push(connection.clone());
        }
        drop(state);
        drop(place);
        connection
    }

    /// Lets go of all connections: each ends when its orders have.
    pub(crate) fn close(&self) {
        let mut state = self.0.state.lock();
        state.closed = true;
        state.connections.clear();
        drop(state);
        self.0.moved.notify_waiters();
        self.0.renew.notify_one();
    }
}

/// Counts a connection until its task ends, however that comes about.
struct Living(Arc<AtomicUsize>);

impl Drop for Living {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Tells the store what is open and wanted, and hears what the others leave, as long as there is a pool; then gives
/// everything back.
async fn keep_lease(pool: Weak<Shared>, tenant: Tenant) {
    let Some((live, limit)) = pool.upgrade().map(|shared| {
        let limit = shared.dialer.entry.connections.get();
        (shared.live.clone(), limit)
    }) else {
        return;
    };
    let mut closing = None;
    while let Some(shared) = pool.upgrade() {
        let (closed, wanting) = shared.renew_lease(&tenant).await;
        if closed {
            // Given back once they are closed; a server that does not say goodbye is not waited for.
            let since = *closing.get_or_insert_with(Instant::now);
            if shared.live.load(Ordering::Acquire) == 0 || since.elapsed() >= RENEW {
                break;
            }
        }
        if wanting || closed {
            // Whoever waits asks for it each time it is told to look again, which must not become a circle.
            drop(shared);
            tokio::time::sleep(ASK_AGAIN).await;
            continue;
        }
        tokio::select! {
            () = tokio::time::sleep(RENEW) => {}
            () = shared.renew.notified() => {}
        }
    }
    let left = u32::try_from(live.load(Ordering::Acquire)).unwrap_or(u32::MAX);
    let (account, by) = (tenant.account, tenant.node.id());
    // If nobody hears it, the store forgets the lease by itself.
    let back = tenant
        .node
        .call(|store| store.lease(account, by, left, limit));
    let _ = back.await;
}

impl Shared {
    /// One round with the store. Says whether the pool is closed, and whether somebody still waits.
    async fn renew_lease(&self, tenant: &Tenant) -> (bool, bool) {
        let limit = self.dialer.entry.connections.get();
        let (closed, wanted) = {
            let mut state = self.state.lock();
            state.forget_closed();
            let open = u32::try_from(self.taken(&state)).unwrap_or(u32::MAX);
            let wanting = state.wanting && !state.closed;
            let allowance = state.allowance.as_ref();
            let wanted = allowance.map_or(open, |allowance| {
                allowance.wanted(Instant::now(), tenant.surroundings(), open, wanting)
            });
            (state.closed, wanted)
        };
        let (account, by) = (tenant.account, tenant.node.id());
        let asked = tenant
            .node
            .call(|store| store.lease(account, by, wanted, limit));
        let told = asked.await.ok();
        let around = tenant.surroundings();
        let mut state = self.state.lock();
        if let (Some(lease), Some(allowance)) = (&told, &mut state.allowance) {
            allowance.hear(Instant::now(), lease, around);
            let keep = allowance.keep() as usize;
            state.close_idle(keep);
        }
        // Whoever still waits says so again.
        let wanting = std::mem::take(&mut state.wanting);
        drop(state);
        if wanting {
            self.moved.notify_waiters();
        }
        (closed, wanting)
    }

    /// Connections that count: open, being opened, and ending.
    fn taken(&self, state: &State) -> usize {
        self.live.load(Ordering::Acquire) + state.opening
    }
}

/// A connection that is being opened.
struct Opening<'a>(&'a Shared);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.state.lock().opening -= 1;
        self.0.moved.notify_waiters();
    }
}

impl State {
    fn forget_closed(&mut self) {
        self.connections.retain(|one| !one.load.is_closed());
    }

    fn choose(&mut self, order: &Order, depth: usize, shared: &Shared, fresh: bool) -> Choice {
        if self.closed {
            return Choice::Closed;
        }
        self.forget_closed();
        let newsgroup = order.newsgroup.as_ref();
        let best = self.connections.iter().min_by_key(|one| {
            let (open, elsewhere) = (one.load.open(), !one.load.is_in(newsgroup));
            // Nothing to do comes first, then the same newsgroup, then the shorter queue.
            (open > 0, elsewhere, open)
        });
        let best = best.filter(|one| one.load.open() < depth).cloned();
        let may_open = self.may_open(shared);
        // One that wants a connection for itself would never find one without orders while there are many.
        let alone = fresh || depth == 1 || self.connections.is_empty();
        match best {
            Some(best) if !fresh => Choice::Use(best),
            _ if may_open && alone => {
                self.opening = 1;
                Choice::Open
            }
            // All are open, so a fresh one is not to be had.
            Some(best) => Choice::Use(best),
            None if self.is_short(shared) => {
                let none = self.connections.is_empty() && self.opening == 0;
                // Woken at once where nobody else will.
                if !std::mem::replace(&mut self.wanting, true) {
                    shared.renew.notify_one();
                }
                if none {
                    Choice::Elsewhere
                } else {
                    Choice::Wait(None)
                }
            }
            None => {
                let may_open = may_open && self.may_open_beside();
                Choice::Wait(may_open.then(|| self.opening_took.min(PATIENCE)))
            }
        }
    }

    /// One after the other: whoever comes while one is being opened waits for that, since it takes many orders.
    fn may_open(&self, shared: &Shared) -> bool {
        self.opening == 0 && self.connections.len() < self.most(shared) && !self.is_short(shared)
    }

    /// Whether other nodes leave no more than what is open.
    fn is_short(&self, shared: &Shared) -> bool {
        let (Some(allowance), Some(tenant)) = (&self.allowance, &shared.tenant) else {
            return false;
        };
        let most = allowance.most(Instant::now(), tenant.surroundings());
        shared.taken(self) >= most as usize && self.connections.len() < self.most(shared)
    }

    /// Lets go of connections that have nothing to do, as long as there are more than these.
    fn close_idle(&mut self, keep: usize) {
        self.forget_closed();
        let mut surplus = self.connections.len().saturating_sub(keep);
        self.connections.retain(|one| {
            let goes = surplus > 0 && one.load.open() == 0 && Arc::strong_count(one) == 1;
            surplus -= usize::from(goes);
            !goes
        });
    }

    fn may_open_beside(&self) -> bool {
        self.not_before.is_none_or(|time| Instant::now() >= time)
    }

    /// Takes the place of a connection that is to be opened beside others, if there is one.
    fn begin_beside(&mut self, shared: &Shared) -> bool {
        self.forget_closed();
        let may = !self.closed && self.may_open(shared) && self.may_open_beside();
        self.opening += usize::from(may);
        may
    }

    /// How many connections there may be.
    fn most(&self, shared: &Shared) -> usize {
        let configured = shared.dialer.entry.connections.get() as usize;
        match self.enough {
            Some((enough, at)) if at.elapsed() < ENOUGH => configured.min(enough),
            _ => configured,
        }
    }
}
