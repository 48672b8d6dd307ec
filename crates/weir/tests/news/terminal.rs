//! A program in a terminal, typed at and looked at as a person would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::wait;

/// A terminal with a home of its own; it ends when dropped, and the program with it.
pub(crate) struct Terminal {
    socket: PathBuf,
    _home: TempDir,
}

/// A home with these files. In it is also an editor, which adds a line to whatever it is given.
pub(crate) fn home(files: &[(&str, &str)]) -> TempDir {
    let home = TempDir::new().unwrap();
    let editor =
        "#!/bin/sh\nfor file; do :; done\nprintf 'Written in an editor.\\n' >> \"$file\"\n";
    for (name, text) in files.iter().copied().chain([("editor", editor)]) {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    home
}

/// A program that knows nothing but that home.
pub(crate) fn program(name: &str, home: &Path) -> Command {
    let mut command = Command::new(name);
    command.env_clear().current_dir(home);
    for (key, value) in [
        ("PATH", "/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
        ("TERM", "screen"),
    ] {
        command.env(key, value);
    }
    for key in ["HOME", "TMPDIR"] {
        command.env(key, home);
    }
    let editor = format!("sh {}", home.join("editor").display());
    command
        .env("EDITOR", &editor)
        .env("VISUAL", &editor)
        .env("NNTPSERVER", "127.0.0.1");
    command
}

impl Terminal {
    /// Runs a line of the shell in a new terminal.
    pub(crate) fn run(home: TempDir, line: &str) -> Self {
        let terminal = Self {
            socket: home.path().join("terminal"),
            _home: home,
        };
        let home = terminal._home.path();
        let mut tmux = program("tmux", home);
        tmux.args(["-f", "/dev/null", "-S"]).arg(&terminal.socket);
        // What it says last is still to be seen after it has ended.
        let line = format!("{line}; echo ended; exec sleep 60");
        tmux.args(["new-session", "-d", "-x", "110", "-y", "40", &line]);
        let told = tmux.output().expect("tmux runs");
        assert!(told.status.success(), "{told:?}");
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let mut tmux = Command::new("tmux");
        let told = tmux.arg("-S").arg(&self.socket).args(arguments).output();
        told.expect("tmux runs")
    }

    /// Presses keys, by the names that tmux has for them.
    pub(crate) fn press(&self, keys: &[&str]) {
        let told = self.tmux(&[&["send-keys"], keys].concat());
        assert!(told.status.success(), "{told:?}");
    }

    /// Types a text as it is.
    pub(crate) fn write(&self, text: &str) {
        self.press(&["-l", text]);
    }

    /// What is to be seen.
    fn screen(&self) -> String {
        let told = self.tmux(&["capture-pane", "-p"]);
        String::from_utf8_lossy(&told.stdout).trim_end().to_owned()
    }

    /// Waits until all of this is to be seen at once.
    pub(crate) fn shows(&self, texts: &[&str]) -> String {
        let mut last = String::new();
        let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait("it is shown", || {
                last = self.screen();
                texts
                    .iter()
                    .all(|text| last.contains(text))
                    .then(|| last.clone())
            })
        }));
        seen.unwrap_or_else(|_| panic!("{texts:?} is not shown:\n{last}"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A newsreader that has lost its terminal may go on for ever, and take a processor for it.
        let shell = self.tmux(&["list-panes", "-F", "#{pane_pid}"]);
        let shell = String::from_utf8_lossy(&shell.stdout).trim().to_owned();
        if !shell.is_empty() {
            let group = format!("-{shell}");
            let _ = Command::new("kill").args(["-KILL", "--", &group]).output();
        }
        self.tmux(&["kill-server"]);
    }
}
