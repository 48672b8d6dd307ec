//! Runs long computations away from the threads that serve all connections.

use std::panic::resume_unwind;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Maximum simultaneous computations. Answers that need one are rare; if many come at once, they wait, within the
/// time of their calls, rather than take all processors.
static PLACES: Semaphore = Semaphore::const_new(2);

/// Work on fewer bytes is done on the spot: it takes about a millisecond, and changing threads is not free.
/// Tests in paused time use smaller answers, so they never leave their thread.
pub const LONG: usize = 256 << 10;

/// Runs long work on a thread of its own once there is room.
///
/// # Cancel safety
/// Work that has not started is dropped with the future. Otherwise it runs to its end, its result is lost, and it
/// keeps its place until then.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let place = PLACES.acquire().await.expect("it is never closed");
    let mut task = JoinSet::new();
    task.spawn_blocking(move || {
        let _place = place;
        work()
    });
    match task.join_next().await.expect("one was spawned") {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is ending, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn work_leaves_its_thread_and_only_two_run_at_once() {
        let here = thread::current().id();
        let running = Arc::new(AtomicUsize::new(0));
        let one = || {
            let running = running.clone();
            aside(move || {
                let others = running.fetch_add(1, Ordering::SeqCst);
                thread::yield_now();
                running.fetch_sub(1, Ordering::SeqCst);
                (others, thread::current().id())
            })
        };
        for (others, there) in join_all((0..200).map(|_| one())).await {
            assert!(others < 2, "{others} others");
            assert_ne!(there, here);
        }
    }

    #[tokio::test]
    async fn a_panic_is_the_callers() {
        let work = aside(|| panic!("as the test wished"));
        assert!(
            std::panic::AssertUnwindSafe(work)
                .catch_unwind()
                .await
                .is_err()
        );
        assert_eq!(aside(|| 7).await, 7);
    }
}
