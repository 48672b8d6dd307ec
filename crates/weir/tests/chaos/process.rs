//! One running Weir: what it logs is kept, and it ends when dropped.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::{fs, thread};

use parking_lot::Mutex;

use crate::wait_until;

pub(crate) struct Process {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Starts one in `dir`, with a clock that is off by `clock`, such as `+300`.
    pub(crate) fn start(dir: &Path, clock: Option<&str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command
            .args(["--web", "127.0.0.1:0", "--data", "data"])
            .args(["-l", "127.0.0.1:0", "-u", "127.0.0.1:0"])
            .current_dir(dir)
            .env_clear()
            .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0");
        if let Some(clock) = clock {
            command
                .env("LD_PRELOAD", faketime())
                .env("FAKETIME", clock)
                // Only what time it is differs from machine to machine, not how fast it passes.
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let log = Arc::<Mutex<Vec<String>>>::default();
        let streams: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().unwrap()),
            Box::new(child.stderr.take().unwrap()),
        ];
        for stream in streams {
            let log = log.clone();
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    log.lock().push(line);
                }
            });
        }
        Self { child, log }
    }

    /// The address of its pages.
    pub(crate) fn web(&self) -> SocketAddr {
        let url = self.line(0, "http://");
        let rest = url.split("http://").nth(1).unwrap();
        rest.split('/').next().unwrap().parse().unwrap()
    }

    /// How many lines it has logged.
    pub(crate) fn lines(&self) -> usize {
        self.log.lock().len()
    }

    /// The first line with this text from a place on.
    pub(crate) fn line(&self, from: usize, text: &str) -> String {
        let find = || {
            let log = self.log.lock();
            let mut lines = log.iter().skip(from);
            lines.find(|line| line.contains(text)).cloned()
        };
        let mut found = None;
        wait_until(&format!("a line with {text:?}"), || {
            found = find();
            found.is_some()
        });
        found.unwrap()
    }

    /// Everything that it has logged.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().clone()
    }

    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(sent.success(), "{kill}");
    }

    /// Ends it at once, as a power cut does.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The library that makes a program's clock wrong; Debian has a directory for each kind of machine.
fn faketime() -> PathBuf {
    let places = fs::read_dir("/usr/lib").unwrap().map_while(Result::ok);
    let mut places = places.map(|place| place.path().join("faketime/libfaketimeMT.so.1"));
    let found = places.find(|path| path.is_file());
    found.expect("libfaketime is installed: `cargo xtask setup`")
}
