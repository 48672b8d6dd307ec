//! The tracker's own threads, which run as long as it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use weir_engine::{Vital, Vitals};

use crate::error::Error;

/// The name of this front, for those who are told of a thread that fails.
const FRONT: &str = "tracker";

/// Threads whose work is done again should it panic or fail. Stopping is in two steps, so that all of them stop at the
/// same time and not one after the other.
pub(crate) struct Threads {
    vitals: Vitals,
    /// For those that wait in a runtime.
    stop: CancellationToken,
    /// The same for those that look between two waits: the token has a lock, and they look with every batch of packets.
    stopped: Arc<AtomicBool>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    pub(crate) fn new(vitals: Vitals) -> Self {
        Self {
            vitals,
            stop: CancellationToken::new(),
            stopped: Arc::default(),
            running: Mutex::default(),
        }
    }

    /// Cancelled when the tracker stops.
    pub(crate) fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Set when the tracker stops.
    pub(crate) fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stopped)
    }

    /// A place where a part of the tracker is watched.
    pub(crate) fn watch(&self, part: &'static str) -> Vital {
        self.vitals.add(FRONT, part)
    }

    /// Starts a thread that returns `Ok` when the tracker stops.
    pub(crate) fn start(
        &self,
        part: &'static str,
        run: impl FnMut() -> Result<(), String> + Send + 'static,
    ) -> Result<(), Error> {
        self.start_watched(self.watch(part), run)
    }

    /// The same for one that is watched already.
    pub(crate) fn start_watched(
        &self,
        vital: Vital,
        run: impl FnMut() -> Result<(), String> + Send + 'static,
    ) -> Result<(), Error> {
        let thread = self.start_apart(vital, run)?;
        self.running.lock().push(thread);
        Ok(())
    }

    /// The same for one that outlives the others, and that its owner waits for.
    pub(crate) fn start_apart(
        &self,
        vital: Vital,
        run: impl FnMut() -> Result<(), String> + Send + 'static,
    ) -> Result<JoinHandle<()>, Error> {
        let thread = std::thread::Builder::new().name(format!("weir-{}", vital.name()));
        let stopped = self.stop_flag();
        let stopped = move || stopped.load(Ordering::Acquire);
        let thread = thread.spawn(move || vital.run(stopped, run));
        thread.map_err(Error::Thread)
    }

    /// Tells all of them to stop; [`Threads::join`] follows.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
        self.stopped.store(true, Ordering::Release);
    }

    /// Waits until all have stopped.
    pub(crate) fn join(&self) {
        let running = std::mem::take(&mut *self.running.lock());
        running.into_iter().for_each(join);
    }
}

/// Waits until a thread has ended.
pub(crate) fn join(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        tracing::error!("a tracker thread had panicked");
    }
}
