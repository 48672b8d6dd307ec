//! Signals from the operating system.

use anyhow::Context;
use tokio::signal::unix::{self, SignalKind};

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// Read the configuration again.
    Reload,
    /// Stop.
    Stop {
        /// The signal's name.
        name: &'static str,
        /// The exit code if Weir stops at once: 128 plus the signal's number, as in shells.
        code: u8,
    },
}

/// The signals we listen to. After [`Signals::catch`], none of them ends the process by itself.
pub(super) struct Signals {
    hangup: unix::Signal,
    interrupt: unix::Signal,
    terminate: unix::Signal,
}

impl Signals {
    pub(super) fn catch() -> anyhow::Result<Self> {
        let catch = |kind| unix::signal(kind).context("cannot listen to signals");
        Ok(Self {
            hangup: catch(SignalKind::hangup())?,
            interrupt: catch(SignalKind::interrupt())?,
            terminate: catch(SignalKind::terminate())?,
        })
    }

    /// The next signal.
    ///
    /// # Cancel safety
    /// Dropping the future loses no signal.
    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.hangup.recv() => Signal::Reload,
            _ = self.interrupt.recv() => Signal::Stop { name: "SIGINT", code: 130 },
            _ = self.terminate.recv() => Signal::Stop { name: "SIGTERM", code: 143 },
        }
    }

    /// Waits for a signal to stop; returns its name and exit code.
    pub(super) async fn stop(&mut self) -> (&'static str, u8) {
        loop {
            if let Signal::Stop { name, code } = self.next().await {
                return (name, code);
            }
        }
    }
}
