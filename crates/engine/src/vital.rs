//! Parts that must not end: threads and tasks that run as long as the process does.
//!
//! Each is run again when it panics, after a pause that grows with each panic, and is counted. A part that is down, or
//! ends again and again, is named by [`Vitals::missing`], which makes `/readyz` say no. Nothing here repairs what a
//! panic left half done: locks are not poisoned, so code that runs a part under a lock must say why it may carry on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::Instant;

/// The pause after the first panic; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// How often it doubles at most.
const DOUBLINGS: u32 = 6;
/// A part that has run for this long is well again.
const SETTLED: Duration = Duration::from_secs(10);
/// A part that ended this often in a row is as good as down.
const IN_A_ROW: u32 = 3;
/// Time between two log lines about the same part: whoever can make us panic must not fill the disk.
const QUIET: Duration = Duration::from_secs(1);

/// What strangers are told about a panic: its message may hold anything, so only the log has it.
const PANICKED: &str = "it panicked; the log has the message";

/// All such parts of a process; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Vitals(Arc<Mutex<Vec<Vital>>>);

/// One part that must not end; clones are the same one.
#[derive(Clone, Debug)]
pub struct Vital(Arc<Part>);

#[derive(Debug)]
struct Part {
    front: &'static str,
    name: &'static str,
    /// Panics, and ends that nobody asked for.
    failures: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Ends in a row, each soon after the one before.
    row: u32,
    started: Instant,
    running: bool,
    /// Why it last ended, fit for strangers.
    why: String,
    /// When it may be logged again.
    quiet_until: Instant,
}

impl Vitals {
    /// Adds a part. Several may have the same name, such as the threads of a listener.
    pub fn add(&self, front: &'static str, name: &'static str) -> Vital {
        let now = Instant::now();
        let vital = Vital(Arc::new(Part {
            front,
            name,
            failures: AtomicU64::new(0),
            state: Mutex::new(State {
                row: 0,
                started: now,
                running: true,
                why: String::new(),
                quiet_until: now,
            }),
        }));
        self.0.lock().push(vital.clone());
        vital
    }

    /// What does not work at the moment, one sentence per part.
    pub fn missing(&self) -> Vec<String> {
        let now = Instant::now();
        let parts = self.0.lock();
        parts.iter().filter_map(|part| part.missing(now)).collect()
    }

    /// How often each part failed, by front and name.
    pub fn failures(&self) -> Vec<(&'static str, &'static str, u64)> {
        let mut all: Vec<(&str, &str, u64)> = Vec::new();
        for Vital(part) in self.0.lock().iter() {
            let count = part.failures.load(Ordering::Relaxed);
            let mut before = all.iter_mut();
            match before.find(|(front, name, _)| (*front, *name) == (part.front, part.name)) {
                Some(same) => same.2 += count,
                None => all.push((part.front, part.name, count)),
            }
        }
        all
    }
}

impl Vital {
    /// What the part is called.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// Does something that may panic without ending the part. Returns `None` if it panicked, which is counted and logged.
    #[inline]
    pub fn guard<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(done) => Some(done),
            Err(panic) => {
                self.panicked(&*panic);
                None
            }
        }
    }

    /// Counts and logs a panic that was caught elsewhere and did not end the part.
    #[cold]
    pub fn panicked(&self, panic: &(dyn Any + Send)) {
        self.note(words(panic));
    }

    /// Runs a thread's work until it returns `Ok`, which it does when it is told to stop. After a panic or an error it is
    /// run again; once `stopped`, only one more time, so that it can finish up.
    pub fn run(&self, stopped: impl Fn() -> bool, mut work: impl FnMut() -> Result<(), String>) {
        loop {
            let is_last = stopped();
            self.starts();
            let pause = match catch_unwind(AssertUnwindSafe(&mut work)) {
                Ok(Ok(())) => return,
                Ok(Err(why)) => {
                    self.note(&why);
                    self.ended(why)
                }
                Err(panic) => {
                    self.panicked(&*panic);
                    self.ended(PANICKED.to_owned())
                }
            };
            if is_last {
                return;
            }
            if !stopped() {
                std::thread::park_timeout(pause);
            }
        }
    }

    /// Runs a task's work on `state` until it ends without a panic, which it does when it is told to stop.
    pub async fn drive<S: Send>(
        self,
        mut state: S,
        mut work: impl for<'a> FnMut(&'a mut S) -> BoxFuture<'a, ()> + Send,
    ) {
        loop {
            self.starts();
            // Making the future may panic too.
            let run = AssertUnwindSafe(async { work(&mut state).await });
            let Err(panic) = run.catch_unwind().await else {
                return;
            };
            self.panicked(&*panic);
            let pause = self.ended(PANICKED.to_owned());
            tokio::time::sleep(pause).await;
        }
    }

    fn starts(&self) {
        let mut state = self.0.state.lock();
        state.started = Instant::now();
        state.running = true;
    }

    /// It ended although nobody told it to; returns how long to wait before the next run.
    fn ended(&self, why: String) -> Duration {
        let mut state = self.0.state.lock();
        if state.started.elapsed() >= SETTLED {
            state.row = 0;
        }
        let pause = FIRST_PAUSE * (1 << state.row.min(DOUBLINGS));
        state.row = state.row.saturating_add(1);
        state.running = false;
        state.why = why;
        pause
    }

    fn note(&self, why: &str) {
        let part = &*self.0;
        let all = part.failures.fetch_add(1, Ordering::Relaxed) + 1;
        let now = Instant::now();
        let mut state = part.state.lock();
        if now < state.quiet_until {
            return;
        }
        state.quiet_until = now + QUIET;
        drop(state);
        tracing::error!(
            front = part.front,
            part = part.name,
            why,
            all,
            "a part of Weir failed but keeps running; report this as a bug"
        );
    }

    fn missing(&self, now: Instant) -> Option<String> {
        let Part { front, name, .. } = &*self.0;
        let state = self.0.state.lock();
        let settled = state.running && now >= state.started + SETTLED;
        (state.row >= IN_A_ROW && !settled).then(|| {
            let State { row, why, .. } = &*state;
            format!("{front}: {name} failed {row} times in a row: {why}")
        })
    }
}

/// The message of a panic.
pub(crate) fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn a_thread_that_panics_or_fails_is_run_again_until_it_ends_by_itself() {
        let vitals = Vitals::default();
        let vital = vitals.add("tracker", "udp");
        let mut runs = 0;
        vital.run(
            || false,
            || {
                runs += 1;
                match runs {
                    1 => panic!("as if the code were wrong"),
                    2 => Err("no socket".to_owned()),
                    _ => Ok(()),
                }
            },
        );
        assert_eq!(runs, 3);
        assert_eq!(vitals.failures(), [("tracker", "udp", 2)]);
        assert_eq!(vitals.missing(), [""; 0], "twice is not yet down");
    }

    #[test]
    fn a_thread_that_was_told_to_stop_is_run_once_more_and_not_for_ever() {
        let vital = Vitals::default().add("tracker", "keeper");
        let mut runs = 0;
        vital.run(
            || true,
            || {
                runs += 1;
                panic!("always")
            },
        );
        assert_eq!(runs, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_goes_on_with_its_state_and_is_missing_while_it_fails_time_and_again() {
        let vitals = Vitals::default();
        let vital = vitals.add("tracker", "forwarder");
        let fails = Arc::new(AtomicU32::new(4));
        let failing = fails.clone();
        let task = vital.drive(0, move |runs| {
            let failing = failing.clone();
            Box::pin(async move {
                *runs += 1;
                let left = failing.load(Ordering::Relaxed);
                assert!(*runs > left, "run {runs}");
                std::future::pending::<()>().await;
            })
        });
        let mut task = std::pin::pin!(task);
        let mut after = async |time| {
            let _ = tokio::time::timeout(Duration::from_millis(time), &mut task).await;
            vitals.missing()
        };
        assert_eq!(after(150).await, [""; 0], "it failed twice");
        let third = after(200).await;
        assert_eq!(
            third,
            [format!(
                "tracker: forwarder failed 3 times in a row: {PANICKED}"
            )]
        );
        assert_eq!(after(1000).await.len(), 1, "four times, and it waits");
        assert_eq!(vitals.failures(), [("tracker", "forwarder", 4)]);
        assert_eq!(after(12_000).await, [""; 0], "it has run for long");
    }

    #[test]
    fn a_guarded_panic_is_counted_and_ends_nothing() {
        let vitals = Vitals::default();
        let one = vitals.add("tracker", "udp");
        let other = vitals.add("tracker", "udp");
        assert_eq!(one.guard(|| 7), Some(7));
        for _ in 0..10 {
            assert_eq!(other.guard(|| -> u32 { panic!("a packet") }), None);
        }
        assert_eq!(vitals.failures(), [("tracker", "udp", 10)]);
        assert_eq!(vitals.missing(), [""; 0]);
    }
}
