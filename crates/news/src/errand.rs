//! Work that several wait for, and that goes on when they leave.
//!
//! The second level of sharing, above the flights of single calls: bringing a newsgroup up to date takes several calls to
//! several servers, and whoever wants the same meanwhile waits for the same. The work has a task of its own, so a
//! client that hangs up strands nobody.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use weir_engine::Lifetime;

/// Errands under way, by what they are for.
pub(crate) struct Errands<K, T> {
    running: Arc<Mutex<HashMap<K, Running<T>>>>,
    lifetime: Lifetime,
    /// One that is older is not joined any more: something it waits for is lost.
    max_age: Duration,
}

struct Running<T> {
    since: Instant,
    result: watch::Receiver<Option<T>>,
}

/// Whoever waits for an errand.
pub(crate) struct Errand<T>(watch::Receiver<Option<T>>);

/// Takes an errand off the list when its task ends, however that happens.
struct Listed<K: Hash + Eq, T> {
    running: Arc<Mutex<HashMap<K, Running<T>>>>,
    key: K,
    since: Instant,
}

impl<K: Hash + Eq, T> Drop for Listed<K, T> {
    fn drop(&mut self) {
        let mut running = self.running.lock();
        // A younger one may have taken its place.
        if running
            .get(&self.key)
            .is_some_and(|one| one.since == self.since)
        {
            running.remove(&self.key);
        }
    }
}

impl<K, T> Errands<K, T>
where
    K: Hash + Eq + Clone + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    pub(crate) fn new(lifetime: Lifetime, max_age: Duration) -> Self {
        Self {
            running: Arc::default(),
            lifetime,
            max_age,
        }
    }

    /// How many are under way.
    pub(crate) fn running(&self) -> usize {
        self.running.lock().len()
    }

    /// Joins the errand with this key, or sends somebody.
    pub(crate) fn join<F>(&self, key: K, send: impl FnOnce() -> F) -> Errand<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut running = self.running.lock();
        let now = Instant::now();
        let joined = running
            .get(&key)
            .filter(|one| now - one.since < self.max_age)
            .map(|one| one.result.clone());
        let result = joined.unwrap_or_else(|| {
            let (tell, result) = watch::channel(None);
            let since = now;
            running.insert(
                key.clone(),
                Running {
                    since,
                    result: result.clone(),
                },
            );
            let listed = Listed {
                running: self.running.clone(),
                key,
                since,
            };
            let lifetime = self.lifetime.clone();
            let work = send();
            self.lifetime.spawn(async move {
                let _listed = listed;
                tokio::select! {
                    done = work => { tell.send_replace(Some(done)); }
                    () = lifetime.closing() => {}
                }
            });
            result
        });
        Errand(result)
    }
}

impl<T: Clone> Errand<T> {
    /// Waits for the result; nothing if the errand ended without one. Dropped, it changes nothing.
    pub(crate) async fn done(mut self) -> Option<T> {
        let done = self.0.wait_for(Option::is_some).await.ok()?;
        done.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Notify;

    use super::*;

    fn errands() -> Errands<&'static str, usize> {
        Errands::new(Lifetime::default(), Duration::from_secs(30))
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_leaves_strands_nobody() {
        let errands = errands();
        let sent = AtomicUsize::new(0);
        let go = Arc::new(Notify::new());
        let send = || {
            sent.fetch_add(1, Ordering::Relaxed);
            let go = go.clone();
            async move {
                go.notified().await;
                7
            }
        };
        let first = errands.join("a", send);
        let second = errands.join("a", send);
        drop(first);
        tokio::task::yield_now().await;
        go.notify_one();
        assert_eq!(second.done().await, Some(7));
        assert_eq!(sent.load(Ordering::Relaxed), 1);
        let again = errands.join("a", || async { 8 });
        assert_eq!(again.done().await, Some(8));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_panics_or_is_too_old_is_not_waited_for() {
        let errands = errands();
        let lost = errands.join("a", || async { panic!("as it is meant to") });
        assert_eq!(lost.done().await, None);
        let hangs = errands.join("a", std::future::pending);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(errands.join("a", || async { 3 }).done().await, Some(3));
        drop(hangs);
        assert_eq!(errands.running.lock().len(), 0, "the old one was replaced");
    }
}
