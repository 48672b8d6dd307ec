//! Tells the service manager how Weir is doing, as `sd_notify(3)` describes it: a few lines in one datagram. Without a
//! manager nothing is sent.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use weir_config::Environment;

/// How often the manager is told the opening sentence, where it does not ask for a sign of life more often.
const STATUS: Duration = Duration::from_secs(10);
/// A sign of life is given this many times in the time after which the manager gives up on us.
const BEATS: u32 = 3;
/// Bytes of a status at most: a datagram is small, and one line is read.
const LINE: usize = 400;

/// Whoever started us and wants to know; clones are the same one.
#[derive(Clone, Default)]
pub(super) struct Manager(Option<Arc<Wanted>>);

struct Wanted {
    socket: UnixDatagram,
    address: SocketAddr,
    /// How long it waits for a sign of life.
    watchdog: Option<Duration>,
}

impl Manager {
    /// The one that the environment names, if it names one.
    pub(super) fn of_environment(environment: &dyn Environment) -> Self {
        let variables = environment.variables();
        let variable = |name: &str| {
            let found = variables.iter().find(|(other, _)| other == name);
            found.and_then(|(_, value)| value.as_deref())
        };
        let Some(name) = variable("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Self::default();
        };
        let ours = |pid: &str| pid.parse() == Ok(std::process::id());
        let watchdog =
            variable("WATCHDOG_USEC").filter(|_| variable("WATCHDOG_PID").is_none_or(ours));
        let watchdog = watchdog.and_then(|time| time.parse().ok());
        let address = match name.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name),
            None => SocketAddr::from_pathname(name),
        };
        let socket = UnixDatagram::unbound().and_then(|socket| {
            // A manager that does not read must not hold us up.
            socket.set_nonblocking(true)?;
            Ok((socket, address?))
        });
        match socket {
            Ok((socket, address)) => Self(Some(Arc::new(Wanted {
                socket,
                address,
                watchdog: watchdog.filter(|time| *time > 0).map(Duration::from_micros),
            }))),
            Err(error) => {
                tracing::warn!(%error, "the service manager cannot be told anything: NOTIFY_SOCKET is not usable");
                Self::default()
            }
        }
    }

    /// Weir serves.
    pub(super) fn ready(&self, sentence: &str) {
        self.tell(&format!("READY=1\nSTATUS={}", one_line(sentence)));
    }

    /// Weir reads its configuration; it has done so when what this returns is dropped.
    pub(super) fn reloading(&self) -> Reloading {
        let now = clock_gettime(ClockId::Monotonic);
        let micros = now.tv_sec.saturating_mul(1_000_000) + now.tv_nsec / 1000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
        Reloading(self.clone())
    }

    /// Weir is about to end.
    pub(super) fn stopping(&self, drain: Duration) {
        let seconds = drain.as_secs();
        self.tell(&format!(
            "STOPPING=1\nSTATUS=Stopping: calls under way have {seconds} s to end."
        ));
    }

    fn tell(&self, lines: &str) {
        let Some(wanted) = &self.0 else { return };
        let sent = wanted
            .socket
            .send_to_addr(lines.as_bytes(), &wanted.address);
        if let Err(error) = sent {
            tracing::debug!(%error, "the service manager was not told");
        }
    }

    fn watchdog(&self) -> Option<Duration> {
        self.0.as_ref()?.watchdog
    }
}

/// A reload under way.
pub(super) struct Reloading(Manager);

impl Drop for Reloading {
    fn drop(&mut self) {
        self.0.tell("READY=1");
    }
}

/// Signs of life, and the opening sentence when it has changed.
///
/// A sign is only given after a look at Weir: a task of the runtime's workers, not of the thread that gives the sign, asks every
/// front how it is. If they do not answer, or a part that must run does not, there is no sign, and the manager restarts us.
pub(super) struct Heartbeat<L> {
    manager: Manager,
    look: L,
    next: tokio::time::Interval,
    /// How long a look may take.
    patience: Duration,
    /// The look under way. One that hangs holds a worker, so there is no second one.
    looking: JoinSet<(bool, String)>,
    told: String,
}

impl<L> Heartbeat<L>
where
    L: Fn() -> (bool, String) + Clone + Send + 'static,
{
    /// `look` says whether everything that must run does, and the opening sentence.
    pub(super) fn new(manager: Manager, look: L) -> Self {
        let every = rhythm(manager.watchdog());
        let mut next = interval_at(Instant::now() + every, every);
        next.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            manager,
            look,
            next,
            patience: every,
            looking: JoinSet::new(),
            told: String::new(),
        }
    }

    /// Waits for the next moment and gives the sign. Never ends where nobody wants one.
    ///
    /// # Cancel safety
    /// Dropping the future may lose a sign, and the next one follows.
    pub(super) async fn beat(&mut self) {
        if self.manager.0.is_none() {
            return std::future::pending().await;
        }
        self.next.tick().await;
        if self.looking.is_empty() {
            let look = self.look.clone();
            self.looking.spawn(async move { look() });
        }
        let looked = timeout(self.patience, self.looking.join_next()).await;
        let Ok(Some(Ok((alive, sentence)))) = looked else {
            tracing::error!(
                "Weir does not answer itself; the service manager gets no sign of life"
            );
            return;
        };
        let mut lines = Vec::new();
        if alive && self.manager.watchdog().is_some() {
            lines.push("WATCHDOG=1".to_owned());
        }
        if sentence != self.told {
            lines.push(format!("STATUS={}", one_line(&sentence)));
            self.told = sentence;
        }
        if !lines.is_empty() {
            self.manager.tell(&lines.join("\n"));
        }
    }
}

/// Time between two signs of life.
fn rhythm(watchdog: Option<Duration>) -> Duration {
    let every = watchdog.map_or(STATUS, |time| (time / BEATS).min(STATUS));
    every.max(Duration::from_millis(1))
}

/// A text that fits into a line of a datagram.
fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    line.truncate(line.floor_char_boundary(LINE));
    line
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn manager(watchdog: &[(&str, &str)]) -> (Manager, UnixDatagram, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut environment: BTreeMap<String, String> = watchdog
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        environment.insert("NOTIFY_SOCKET".into(), path.to_str().unwrap().into());
        (Manager::of_environment(&environment), socket, directory)
    }

    fn heard(socket: &UnixDatagram) -> Option<String> {
        let mut bytes = [0; 1000];
        let length = socket.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    #[test]
    fn without_a_manager_nothing_is_sent() {
        let nobody = Manager::of_environment(&BTreeMap::<String, String>::new());
        assert!(nobody.0.is_none());
        nobody.ready("x");
    }

    #[test]
    fn the_watchdog_of_another_process_is_not_ours() {
        let own = std::process::id().to_string();
        for (pid, wanted) in [(own.as_str(), true), ("1", false), ("x", false)] {
            let (manager, ..) = manager(&[("WATCHDOG_USEC", "3000000"), ("WATCHDOG_PID", pid)]);
            assert_eq!(manager.watchdog().is_some(), wanted, "{pid}");
        }
        for time in ["0", "-1", "soon", ""] {
            assert_eq!(manager(&[("WATCHDOG_USEC", time)]).0.watchdog(), None);
        }
    }

    #[test]
    fn a_status_is_one_short_line() {
        let (manager, socket, _directory) = manager(&[]);
        manager.ready(&format!("one\nREADY=0\n{}", "ä".repeat(1000)));
        let text = heard(&socket).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.len() < 2 * LINE, "{text}");
        let told = manager.reloading();
        assert!(
            heard(&socket)
                .unwrap()
                .starts_with("RELOADING=1\nMONOTONIC_USEC=")
        );
        drop(told);
        assert_eq!(heard(&socket).as_deref(), Some("READY=1"));
    }

    #[test]
    fn there_are_several_signs_in_the_time_that_the_manager_waits() {
        let seconds = Duration::from_secs;
        assert_eq!(rhythm(None), STATUS);
        assert_eq!(rhythm(Some(seconds(3))), seconds(1));
        assert_eq!(rhythm(Some(seconds(600))), STATUS);
        assert!(rhythm(Some(Duration::from_nanos(1))) > Duration::ZERO);
    }

    #[tokio::test]
    async fn a_sign_of_life_is_given_only_while_everything_runs() {
        let (manager, socket, _directory) = manager(&[("WATCHDOG_USEC", "3000")]);
        let alive = Arc::new(AtomicBool::new(true));
        let seen = alive.clone();
        let look = move || (seen.load(Ordering::Relaxed), "Fine.".to_owned());
        let mut heartbeat = Heartbeat::new(manager, look);
        heartbeat.patience = Duration::from_secs(60);
        heartbeat.beat().await;
        assert_eq!(heard(&socket).as_deref(), Some("WATCHDOG=1\nSTATUS=Fine."));
        heartbeat.beat().await;
        assert_eq!(heard(&socket).as_deref(), Some("WATCHDOG=1"));
        alive.store(false, Ordering::Relaxed);
        heartbeat.beat().await;
        assert_eq!(heard(&socket), None);
        alive.store(true, Ordering::Relaxed);
        heartbeat.beat().await;
        assert_eq!(heard(&socket).as_deref(), Some("WATCHDOG=1"));
    }

    #[tokio::test]
    async fn a_look_that_panics_or_hangs_is_no_sign_of_life() {
        let (manager, socket, _directory) = manager(&[("WATCHDOG_USEC", "3000")]);
        let panics = || -> (bool, String) { panic!("for the test") };
        Heartbeat::new(manager.clone(), panics).beat().await;
        assert_eq!(heard(&socket), None);
        let mut heartbeat = Heartbeat::new(manager, || (true, String::new()));
        // A look under way that does not end.
        heartbeat.looking.spawn(std::future::pending());
        heartbeat.beat().await;
        heartbeat.beat().await;
        assert_eq!(heard(&socket), None);
        assert_eq!(heartbeat.looking.len(), 1, "no second one holds a worker");
    }
}
