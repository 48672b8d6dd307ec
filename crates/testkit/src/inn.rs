//! Real news servers: private instances of Debian's INN, each in a temporary directory on a free port.
//!
//! `cargo xtask setup` installs it. An instance answers readers on 127.0.0.1 in the clear, with `STARTTLS` if it has a
//! certificate, and always with `COMPRESS`. It keeps no record of what it was asked: put a [`crate::tap::Tap`] before
//! it. Everything here has a bound in time, and the processes end with their [`Inn`].

mod feed;
mod files;
mod options;

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use files::{Account, program};

pub use options::{Certificate, Newsgroup, Options};

/// Far longer than any step here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// How often something is looked at that nothing tells of.
const LOOK: Duration = Duration::from_millis(5);

/// How often a start is tried: another program may take a free port first.
const TRIES: usize = 3;

/// A running server; it ends when dropped.
pub struct Inn {
    /// In its greeting and in `Xref`.
    name: String,
    account: Account,
    ports: Ports,
    /// `innd`, and the `nnrpd` of the TLS port. Each leads a group with the readers' processes.
    leaders: Vec<Child>,
    /// Goes last, when nobody writes into it any more.
    directory: TempDir,
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    plain: u16,
    tls: Option<u16>,
}

impl Inn {
    /// Starts a server; it is ready when this returns.
    pub async fn start(options: Options) -> io::Result<Self> {
        if !program("innd").is_file() {
            return Err(invalid("INN is not installed: run `cargo xtask setup`"));
        }
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("inn{number}-{}.example.test", std::process::id());
        let account = Account::find()?;
        let directory = TempDir::with_prefix("inn-")?;
        files::write(directory.path(), &name, &options, &account)?;
        let tls = options.tls.map(|_| 0);
        let mut inn = Self {
            name,
            account,
            ports: Ports { plain: 0, tls },
            leaders: Vec::new(),
            directory,
        };
        let history = inn.directory.path().join("db/history");
        let mut makedbz = inn.command("makedbz");
        inn.run(
            makedbz
                .args(["-i", "-o", "-s", "200000", "-f"])
                .arg(history),
        )
        .await?;
        let mut last = None;
        for _ in 0..TRIES {
            inn.ports.plain = free_port()?;
            inn.ports.tls = inn.ports.tls.map(|_| free_port()).transpose()?;
            match inn.restart().await {
                Ok(()) => return Ok(inn),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| invalid("INN was not started")))
    }

    /// Where it answers in the clear.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports.plain))
    }

    /// Where it speaks TLS from the beginning, if it has a certificate.
    pub fn tls_address(&self) -> Option<SocketAddr> {
        let port = self.ports.tls?;
        Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }

    /// Takes articles as from another server, in this order: all of them, or it is an error. They need `From`,
    /// `Newsgroups`, `Subject`, `Date` and `Message-ID`, and lines that end in CRLF.
    pub async fn feed(&self, articles: impl IntoIterator<Item = Vec<u8>>) -> io::Result<usize> {
        let articles = articles.into_iter();
        // A hundred thousand take seconds on a free machine.
        let fed = timeout(10 * PATIENCE, feed::feed(self.address(), articles));
        fed.await
            .map_err(|_| late("INN took too long to take articles"))?
    }

    /// Takes an article away. It is not listed any more, but counts stay as they are until [`Inn::tidy`].
    pub async fn cancel(&self, id: &str) -> io::Result<()> {
        self.order(&["cancel", id]).await
    }

    /// Corrects counts and low numbers after cancels, as the nightly expiry does.
    pub async fn tidy(&self) -> io::Result<()> {
        let marks = self.directory.path().join("tmp/lowmarks");
        let mut expireover = self.command("expireover");
        self.run(expireover.arg("-Z").arg(&marks)).await?;
        let marks = marks.to_string_lossy().into_owned();
        self.order(&["lowmark", &marks]).await
    }

    /// Stops it in order and waits until it is gone; readers are cut off.
    pub async fn stop(&mut self) -> io::Result<()> {
        // After a signal it would wait for the next event.
        self.order(&["shutdown", "the end"]).await?;
        self.signal(Signal::TERM);
        let start = Instant::now();
        while !self.leaders.iter().all(has_ended) {
            if start.elapsed() > PATIENCE {
                return Err(late("INN took too long to stop"));
            }
            sleep(LOOK).await;
        }
        self.kill();
        Ok(())
    }

    /// Ends it at once, as a crash does.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        for mut leader in self.leaders.drain(..) {
            let _ = leader.wait();
        }
    }

    /// Leaves everything open and does nothing any more; whoever connects gets no greeting.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Goes on after [`Inn::freeze`].
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Ends it if it runs, and starts it on the same ports with all its articles.
    pub async fn restart(&mut self) -> io::Result<()> {
        self.kill();
        let port = self.ports.plain.to_string();
        let mut innd = self.command("innd");
        self.lead(innd.args(["-f", "-P", &port]))?;
        if let Some(port) = self.ports.tls {
            let mut nnrpd = self.command("nnrpd");
            nnrpd.args(["-D", "-f", "-S", "-b", "127.0.0.1"]);
            self.lead(nnrpd.args(["-p", &port.to_string()]))?;
        }
        let ready = timeout(PATIENCE, self.ready()).await;
        let ready = ready.map_err(|_| late("INN did not greet")).flatten();
        ready.map_err(|error| io::Error::new(error.kind(), format!("{error}\n{}", self.log())))
    }

    /// What it has written to its logs.
    pub fn log(&self) -> String {
        let files = ["log/output", "log/errlog", "log/news"];
        let texts = files.map(|name| fs::read(self.directory.path().join(name)));
        let texts =
            texts.map(|bytes| String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned());
        texts.join("\n")
    }

    /// Waits for its greeting; on the TLS port for a connection.
    async fn ready(&mut self) -> io::Result<()> {
        loop {
            if self.leaders.iter().any(has_ended) {
                return Err(invalid("INN ended"));
            }
            if self.greets().await? && self.accepts_tls().await {
                return Ok(());
            }
            sleep(LOOK).await;
        }
    }

    async fn greets(&self) -> io::Result<bool> {
        let Ok(stream) = TcpStream::connect(self.address()).await else {
            return Ok(false);
        };
        let line = BufReader::new(stream).lines().next_line().await;
        match line.unwrap_or_default() {
            // The port may be that of somebody else.
            Some(line) if line.contains(&self.name) => Ok(true),
            Some(line) => Err(invalid(&format!("not our INN, or not ready: {line:?}"))),
            None => Ok(false),
        }
    }

    async fn accepts_tls(&self) -> bool {
        match self.tls_address() {
            Some(address) => TcpStream::connect(address).await.is_ok(),
            None => true,
        }
    }

    fn command(&self, name: &str) -> Command {
        let root = self.directory.path();
        let mut command = Command::new(program(name));
        command
            .env_clear()
            .env("INNCONF", root.join("etc/inn.conf"))
            .env("PATH", "/usr/bin:/bin")
            .current_dir(root)
            .stdin(Stdio::null());
        if self.account.foreign {
            let (user, group) = self.account.ids;
            command.uid(user).gid(group);
        }
        command
    }

    /// Starts a process that lasts, as the leader of a group.
    fn lead(&mut self, command: &mut Command) -> io::Result<()> {
        let log = self.directory.path().join("log/output");
        let log = fs::File::options().create(true).append(true).open(log)?;
        let command = command.stdout(log.try_clone()?).stderr(log);
        self.leaders.push(command.process_group(0).spawn()?);
        Ok(())
    }

    /// Tells `innd` to do something and waits until it has.
    async fn order(&self, words: &[&str]) -> io::Result<()> {
        let mut command = self.command("ctlinnd");
        self.run(command.args(["-t", "30"]).args(words)).await
    }

    /// Runs a program that ends soon.
    async fn run(&self, command: &mut Command) -> io::Result<()> {
        let log = self.directory.path().join("log/last");
        let output = fs::File::create(&log)?;
        let command = command.stdout(output.try_clone()?).stderr(output);
        let mut child = command.spawn()?;
        if exited(&mut child).await? {
            return Ok(());
        }
        let name = Path::new(command.get_program()).display().to_string();
        let said = fs::read_to_string(log).unwrap_or_default();
        Err(invalid(&format!("{name} failed: {}", said.trim())))
    }

    /// Sends a signal to all its processes. The leaders are waited for only afterwards: until then nobody else can
    /// have their numbers.
    fn signal(&self, signal: Signal) {
        for id in self.leaders.iter().filter_map(id) {
            let _ = kill_process_group(id, signal);
        }
    }
}

impl Drop for Inn {
    fn drop(&mut self) {
        self.kill();
    }
}

fn id(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// Whether a process has ended; it stays there to be waited for.
fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let ended = id(child).map(|id| waitid(WaitId::Pid(id), options));
    !matches!(ended, Some(Ok(None)))
}

/// Waits for the end of a process and tells whether it was a good one; it is killed if that takes too long.
async fn exited(child: &mut Child) -> io::Result<bool> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Err(late("a program of INN took too long"));
        }
        sleep(LOOK).await;
    }
}

fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

fn invalid(text: &str) -> io::Error {
    io::Error::other(text.to_owned())
}

fn late(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, text.to_owned())
}
