//! A front's own tasks, and how they end: first nobody is kept waiting any more, then nothing runs any more.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Time that a request under way still has when Weir stops: most upstreams answer within it.
const LEAVE: Duration = Duration::from_secs(2);

/// The tasks of one front, and who waits for them. A cheap handle: clones share everything.
#[derive(Clone, Default)]
pub struct Lifetime {
    tasks: TaskTracker,
    leaving: CancellationToken,
    closing: CancellationToken,
}

impl Lifetime {
    /// Runs a task that ends by itself when the front closes.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Keeps an interest in a flight for some time, whoever else leaves it: its answer is for the next asker.
    pub fn keep<F>(&self, follower: F, time: Duration)
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                _ = follower => {}
                () = closing.cancelled() => {}
                () = tokio::time::sleep(time) => {}
            }
        });
    }

    /// Lets those who wait for something go soon, with what there is by then.
    pub fn leave(&self) {
        self.leaving.cancel();
    }

    /// Waits until Weir is to stop.
    pub async fn leaving(&self) {
        self.leaving.cancelled().await;
    }

    /// Waits until nobody is to be kept waiting any more.
    pub async fn left(&self) {
        let leave = async {
            self.leaving.cancelled().await;
            tokio::time::sleep(LEAVE).await;
        };
        tokio::select! {
            () = leave => {}
            () = self.closing.cancelled() => {}
        }
    }

    /// Waits until nothing is to run any more.
    pub async fn closing(&self) {
        self.closing.cancelled().await;
    }

    /// Ends all tasks, and waits so long for them at most.
    pub async fn close(&self, most: Duration) {
        self.closing.cancel();
        self.tasks.close();
        let _ = tokio::time::timeout(most, self.tasks.wait()).await;
    }
}
