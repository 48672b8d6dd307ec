//! The connections to the store. Each is made anew when it broke, never silently: whoever calls in between hears at once that
//! the store does not answer. On every new connection the server is asked who it is, since one that was restarted may have
//! lost something.
//!
//! One server of a cluster is *home*: it has everything but the swarm streams. The others fail on their own ([`Lost::Part`]).

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisConnectionInfo, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::address::{Host, RedisAddress};
use super::guard::Guard;
use super::scripts::{SCRIPTS, Script};
use super::trouble::Trouble;
use super::wire::Args;
use crate::shared::Lost;

/// The wait before the second attempt to connect, and the longest one.
const WAITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// How often it is asked at most which server of a cluster has which part.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How often a server is asked whether it may drop rows.
pub(super) const CHECK_EVERY: Duration = Duration::from_secs(60);

/// Servers of a cluster that are talked to.
const MOST_SERVERS: usize = 64;

/// Calls that wait to be written to one connection; further ones wait for them, within their time-out.
const WAITING: usize = 256;

/// The oldest server that has all we use.
const OLDEST: (u32, u32) = (6, 2);

/// What all keys but those of swarm streams have in common, so that they lie on one server of a cluster.
pub(super) const HOME: &str = "weir";

type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A server that answers.
pub(super) struct Connection {
    wire: MultiplexedConnection,
    /// Which life of the server this is.
    run: String,
    /// The names by which it knows our scripts.
    names: Vec<String>,
    broken: CancellationToken,
}

type State = Result<Arc<Connection>, Lost>;

/// All connections to one store.
pub(super) struct Links {
    address: RedisAddress,
    tls: Option<TlsConnector>,
    timeout: Duration,
    check_every: Duration,
    home: watch::Sender<State>,
    cluster: Mutex<Cluster>,
    /// Another server may have a part of the cluster now.
    look_again: Arc<Notify>,
    tasks: Mutex<JoinSet<()>>,
}

type Slots = Vec<(u16, u16, Host)>;

/// Which server of a cluster has which part; empty for a single server.
#[derive(Default)]
struct Cluster {
    slots: Slots,
    home: Option<Host>,
    /// All but home.
    servers: BTreeMap<Host, Server>,
}

/// A server of a cluster that has streams alone. Dropped, the connection ends, and the task that keeps it.
struct Server {
    state: watch::Sender<State>,
    _stop: DropGuard,
}

/// Who is asked.
enum Way {
    /// The server that has nearly everything.
    Home,
    /// Another one of a cluster.
    Part,
}

impl Links {
    /// Begins to connect.
    pub(super) fn open(
        address: RedisAddress,
        tls: Option<Arc<ClientConfig>>,
        timeout: Duration,
        check_every: Duration,
    ) -> Arc<Self> {
        let links = Arc::new(Self {
            address,
            tls: tls.map(TlsConnector::from),
            timeout,
            check_every,
            home: watch::Sender::new(Err(Lost::NotYet)),
            cluster: Mutex::default(),
            look_again: Arc::default(),
            tasks: Mutex::default(),
        });
        // The tasks hold no strong reference for longer than an attempt takes, so that the store ends when it is dropped.
        let home = keep_home(Arc::downgrade(&links));
        let map = keep_map(Arc::downgrade(&links), links.look_again.clone());
        let mut tasks = links.tasks.lock();
        tasks.spawn(home);
        tasks.spawn(map);
        drop(tasks);
        links
    }

    fn check(&self) -> (Duration, Duration) {
        (self.check_every, self.timeout)
    }

    /// Waits until all connections stand, or one attempt has failed.
    ///
    /// # Errors
    /// Why it failed.
    pub(super) async fn ready(&self) -> Result<(), Lost> {
        let mut home = self.home.subscribe();
        let mut states = vec![settled(&mut home).await];
        let servers: Vec<_> = {
            let cluster = self.cluster.lock();
            let servers = cluster.servers.values();
            servers.map(|server| server.state.subscribe()).collect()
        };
        for mut server in servers {
            states.push(settled(&mut server).await);
        }
        states.into_iter().collect()
    }

    /// In which part of a cluster a key lies; a single server has one part. Keys of different parts need calls of their own.
    pub(super) fn part_of(&self, key: &str) -> u16 {
        match self.cluster.lock().slots.is_empty() {
            true => 0,
            false => slot(key),
        }
    }

    /// Runs a script where its keys are, which lie together.
    pub(super) async fn call<K: AsRef<str>>(
        self: &Arc<Self>,
        script: Script,
        keys: &[K],
        args: impl FnOnce(&str) -> Args,
    ) -> Result<Value, Lost> {
        let first = keys.first().map_or("", AsRef::as_ref);
        let (way, state) = if script.at_home(first) {
            (Way::Home, Some(self.home.subscribe()))
        } else {
            self.server_of(first)
        };
        let nobody = || {
            Err(Lost::Silent(
                "no server of the cluster has that part".into(),
            ))
        };
        let state = match state {
            Some(state) => self.first_answer(state).await,
            None => nobody(),
        };
        if state.is_err() && matches!(way, Way::Part) {
            // A replica may have taken its place.
            self.look_again.notify_one();
        }
        let answer = match state {
            Ok(connection) => self.ask(&connection, &way, (script, keys), args).await,
            Err(lost) => Err(lost),
        };
        // What the other servers of a cluster have is not worth being alone for.
        answer.map_err(|lost| match (way, lost) {
            (Way::Home, lost) => lost,
            (Way::Part, Lost::Silent(why) | Lost::Refused(why)) => Lost::Part(why),
            (Way::Part, lost) => Lost::Part(lost.to_string()),
        })
    }

    async fn ask<K: AsRef<str>>(
        &self,
        connection: &Connection,
        way: &Way,
        (script, keys): (Script, &[K]),
        args: impl FnOnce(&str) -> Args,
    ) -> Result<Value, Lost> {
        let args = args(&connection.run);
        let work = connection.run(script, keys, &args);
        let trouble = match timeout(self.timeout, work).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(trouble)) => trouble,
            Err(_) => Trouble::silent(format!("no answer within {:?}", self.timeout)),
        };
        // Who has moved is found on the way home; a part that has moved leaves the others where they are.
        if trouble.ends && !(trouble.moved && matches!(way, Way::Part)) {
            connection.broken.cancel();
        }
        if matches!(way, Way::Part) {
            self.look_again.notify_one();
        }
        Err(trouble.lost)
    }

    /// What is known of a server; of one that nobody has heard of yet, once the first attempt has ended, if that is soon.
    async fn first_answer(&self, mut state: watch::Receiver<State>) -> State {
        let _ = timeout(self.timeout, settled(&mut state)).await;
        state.borrow().clone()
    }

    fn server_of(&self, key: &str) -> (Way, Option<watch::Receiver<State>>) {
        let cluster = self.cluster.lock();
        let host = host_of(&cluster.slots, slot(key));
        if cluster.slots.is_empty() || host.is_some() && host == cluster.home.as_ref() {
            return (Way::Home, Some(self.home.subscribe()));
        }
        let server = host.and_then(|host| cluster.servers.get(host));
        (Way::Part, server.map(|server| server.state.subscribe()))
    }

    /// Finds the server that has everything but streams, and those that have them.
    async fn connect_home(self: &Arc<Self>) -> Result<(Connection, Driver), Lost> {
        let mut last = Lost::NotYet;
        for host in &self.address.hosts {
            match self.connect_by(host).await {
                Ok(connected) => return Ok(connected),
                Err(lost) => last = lost,
            }
        }
        Err(last)
    }

    async fn connect_by(self: &Arc<Self>, host: &Host) -> Result<(Connection, Driver), Lost> {
        let (mut wire, mut driver) = self.dial(host).await?;
        let look = async {
            let about = about(&mut wire, "server").await?;
            if !is_cluster(&about) {
                return Ok(None);
            }
            map(&mut wire, host).await.map(Some)
        };
        // One that is stopped or half-open takes connections and says nothing; the next may.
        let slots = tokio::select! {
            slots = timeout(self.timeout * 2, look) => slots.map_err(|_| mute(host))??,
            () = &mut driver => return Err(broke()),
        };
        let Some(slots) = slots else {
            if self.address.hosts.len() > 1 {
                return Err(Lost::Refused(
                    "several addresses are those of a cluster, and this server is none: name \
                     one server in store.redis, or set cluster-enabled yes there"
                        .into(),
                ));
            }
            return self.greet(wire, driver).await;
        };
        let Some(home) = host_of(&slots, slot(HOME)).cloned() else {
            return Err(Lost::Refused(
                "the store's cluster has parts that no server has: see CLUSTER INFO there".into(),
            ));
        };
        drop(driver);
        self.learn(slots, &home);
        let (wire, driver) = self.dial(&home).await?;
        self.greet(wire, driver).await
    }

    /// Notes who has which part, and keeps a connection to each of them.
    fn learn(self: &Arc<Self>, slots: Slots, home: &Host) {
        let mut cluster = self.cluster.lock();
        cluster.slots = slots;
        cluster.home = Some(home.clone());
        let hosts = cluster.slots.iter().map(|(.., host)| host.clone());
        let hosts: BTreeSet<_> = hosts.filter(|host| host != home).collect();
        cluster.servers.retain(|host, _| hosts.contains(host));
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        for host in hosts {
            if cluster.servers.len() >= MOST_SERVERS || cluster.servers.contains_key(&host) {
                continue;
            }
            let state = watch::Sender::new(Err(Lost::NotYet));
            let stop = CancellationToken::new();
            let keep = keep_server(Arc::downgrade(self), host.clone(), state.clone());
            tasks.spawn(stop.clone().run_until_cancelled_owned(keep).map(drop));
            let server = Server {
                state,
                _stop: stop.drop_guard(),
            };
            cluster.servers.insert(host, server);
        }
    }

    /// Asks at home who has which part now.
    async fn look_again(self: &Arc<Self>) {
        let Ok(connection) = self.home.borrow().clone() else {
            return; // it is asked on the way home
        };
        let Some(host) = self.cluster.lock().home.clone() else {
            return;
        };
        let mut wire = connection.wire.clone();
        let Ok(Ok(slots)) = timeout(self.timeout, map(&mut wire, &host)).await else {
            return; // whoever needs home next finds out why
        };
        match host_of(&slots, slot(HOME)) {
            Some(home) if *home == host => self.learn(slots, &host),
            _ => connection.broken.cancel(),
        }
    }

    async fn dial(&self, host: &Host) -> Result<(MultiplexedConnection, Driver), Lost> {
        let (name, port) = host;
        let cannot = |error: std::io::Error| {
            Lost::Silent(format!("cannot connect to {name}:{port} ({error})"))
        };
        let connect = TcpStream::connect((name.as_str(), *port));
        let stream = timeout(self.timeout, connect).await;
        let stream = stream
            .map_err(|_| Lost::Silent(format!("cannot connect to {name}:{port} (no answer)")))?
            .map_err(cannot)?;
        let _ = stream.set_nodelay(true);
        let plain = !self.address.tls;
        if plain {
            return self.begin(stream).await;
        }
        let Some(tls) = &self.tls else {
            return Err(Lost::Refused(
                "store.redis begins with rediss://, and there is no TLS here".into(),
            ));
        };
        let server = ServerName::try_from(name.clone())
            .map_err(|_| Lost::Refused(format!("{name} is no name for TLS")))?;
        let stream = timeout(self.timeout, tls.connect(server, stream)).await;
        let stream = stream
            .map_err(|_| Lost::Silent(format!("no TLS with {name}:{port} (no answer)")))?
            .map_err(|error| Lost::Silent(format!("no TLS with {name}:{port} ({error})")))?;
        self.begin(stream).await
    }

    /// Signs in.
    async fn begin(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(MultiplexedConnection, Driver), Lost> {
        let info = RedisConnectionInfo::default().set_skip_set_lib_name();
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_pipeline_buffer_size(WAITING);
        let connection = MultiplexedConnection::new_with_config(&info, Guard::new(stream), config);
        let (mut wire, driver) = connection.await.map_err(|error| Trouble::of(&error).lost)?;
        let mut driver: Driver = driver.boxed();
        let sign_in = async {
            if let Some(password) = &self.address.password {
                let mut auth = Cmd::new();
                auth.arg("AUTH");
                if let Some(user) = &self.address.user {
                    auth.arg(user);
                }
                send(&mut wire, auth.arg(password)).await?;
            }
            if self.address.db > 0 {
                let mut select = Cmd::new();
                send(&mut wire, select.arg("SELECT").arg(self.address.db)).await?;
            }
            Ok(())
        };
        let answer = tokio::select! {
            answer = timeout(self.timeout, sign_in) => answer,
            () = &mut driver => return Err(broke()),
        };
        answer.map_err(|_| broke())??;
        Ok((wire, driver))
    }

    /// Asks a server who it is and whether it will do, and gives it our scripts.
    async fn greet(
        &self,
        mut wire: MultiplexedConnection,
        mut driver: Driver,
    ) -> Result<(Connection, Driver), Lost> {
        let greet = async {
            let server = about(&mut wire, "server").await?;
            let run = field(&server, "run_id").unwrap_or_default().to_owned();
            suits(&server, &about(&mut wire, "replication").await?)?;
            check_policy(&mut wire).await?;
            let mut names = Vec::with_capacity(SCRIPTS.len());
            for (_, text) in SCRIPTS.iter() {
                let mut load = Cmd::new();
                load.arg("SCRIPT").arg("LOAD").arg(text.as_str());
                match send(&mut wire, &load).await? {
                    Value::BulkString(name) => {
                        names.push(String::from_utf8_lossy(&name).into_owned());
                    }
                    _ => return Err(broke()),
                }
            }
            Ok((run, names))
        };
        let (run, names) = tokio::select! {
            answer = timeout(self.timeout * 2, greet) => answer.map_err(|_| broke())??,
            () = &mut driver => return Err(broke()),
        };
        let broken = CancellationToken::new();
        let connection = Connection {
            wire,
            run,
            names,
            broken,
        };
        Ok((connection, driver))
    }
}

impl Connection {
    async fn run<K: AsRef<str>>(
        &self,
        script: Script,
        keys: &[K],
        args: &Args,
    ) -> Result<Value, Trouble> {
        let mut wire = self.wire.clone();
        let known = Cmd::new();
        let name = &self.names[script as usize];
        let answer = answer(&mut wire, known, ("EVALSHA", name), keys, args).await;
        match answer {
            // Somebody told the server to forget all scripts.
            Err(trouble) if trouble.no_script => {
                let text = SCRIPTS[script as usize].1.as_str();
                self::answer(&mut wire, Cmd::new(), ("EVAL", text), keys, args).await
            }
            answer => answer,
        }
    }
}

async fn answer<K: AsRef<str>>(
    wire: &mut MultiplexedConnection,
    mut command: Cmd,
    (verb, script): (&str, &str),
    keys: &[K],
    args: &Args,
) -> Result<Value, Trouble> {
    command.arg(verb).arg(script).arg(keys.len());
    for key in keys {
        command.arg(key.as_ref());
    }
    for arg in &args.0 {
        command.arg(arg.as_slice());
    }
    sent(wire, &command).await
}

async fn sent(wire: &mut MultiplexedConnection, command: &Cmd) -> Result<Value, Trouble> {
    match wire.send_packed_command(command).await {
        Ok(Value::ServerError(error)) => Err(Trouble::of_server(&error)),
        Ok(value) => Ok(value),
        Err(error) => Err(Trouble::of(&error)),
    }
}

async fn send(wire: &mut MultiplexedConnection, command: &Cmd) -> Result<Value, Lost> {
    sent(wire, command).await.map_err(|trouble| trouble.lost)
}

/// A section of what a server says about itself.
async fn about(wire: &mut MultiplexedConnection, section: &str) -> Result<String, Lost> {
    let mut info = Cmd::new();
    match send(wire, info.arg("INFO").arg(section)).await? {
        Value::BulkString(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
        _ => Err(Lost::Refused(
            "the store does not say who it is: is it a Valkey or Redis?".into(),
        )),
    }
}

/// Which server of a cluster has which part, as this one tells it.
async fn map(wire: &mut MultiplexedConnection, host: &Host) -> Result<Slots, Lost> {
    let mut slots = Cmd::new();
    slots.arg("CLUSTER").arg("SLOTS");
    read_slots(send(wire, &slots).await?, host)
}

fn host_of(slots: &Slots, slot: u16) -> Option<&Host> {
    let mut slots = slots.iter();
    let found = slots.find(|(first, last, _)| (*first..=*last).contains(&slot));
    found.map(|(.., host)| host)
}

fn field<'a>(about: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = about.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(field, _)| *field == name);
    found.map(|(_, value)| value.trim())
}

/// Whether a server is part of a cluster. Valkey has said so under a name of its own since version 8.
fn is_cluster(about: &str) -> bool {
    let mode = field(about, "redis_mode").or_else(|| field(about, "server_mode"));
    mode == Some("cluster")
}

/// Whether a server has all we use, and takes what we write.
fn suits(server: &str, replication: &str) -> Result<(), Lost> {
    let version = field(server, "redis_version").unwrap_or_default();
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let mut part = || parts.next().flatten().unwrap_or(0);
    let found = (part(), part());
    if found < OLDEST {
        return Err(Lost::Refused(format!(
            "the store is version {version:.20}: Valkey, or Redis {}.{} or newer, is needed",
            OLDEST.0, OLDEST.1
        )));
    }
    if field(server, "run_id").is_none_or(str::is_empty) {
        return Err(Lost::Refused(
            "the store does not say when it was restarted (run_id of INFO), without which \
             nobody knows whether it lost something"
                .into(),
        ));
    }
    if field(replication, "role") != Some("master") {
        return Err(Lost::Refused(
            "the store is a read-only replica: name its primary in store.redis".into(),
        ));
    }
    Ok(())
}

/// Asks a server whether it may drop rows.
async fn check_policy(wire: &mut MultiplexedConnection) -> Result<(), Lost> {
    let mut policy = Cmd::new();
    policy.arg("CONFIG").arg("GET").arg("maxmemory-policy");
    match send(wire, &policy).await {
        Ok(Value::Array(found)) => keeps_everything(&found),
        // Not everybody may ask that; then the operator's word has to do.
        _ => Ok(()),
    }
}

/// Whether a server never drops rows to make room.
fn keeps_everything(policy: &[Value]) -> Result<(), Lost> {
    let Some(Value::BulkString(policy)) = policy.get(1) else {
        return Ok(());
    };
    if policy == b"noeviction" {
        return Ok(());
    }
    let policy = String::from_utf8_lossy(policy);
    Err(Lost::Refused(format!(
        "the store drops rows when it is full (maxmemory-policy {policy:.40}), so that limits \
         would not hold: set maxmemory-policy noeviction there"
    )))
}

/// Which server has which part, as one of them tells it.
fn read_slots(value: Value, asked: &Host) -> Result<Slots, Lost> {
    use super::wire::Fields;
    Fields::of(value)?.each(|slots| {
        let mut range = slots.fields()?;
        let (first, last) = (range.small()?, range.small()?);
        let mut primary = range.fields()?;
        let name = primary.text().unwrap_or_default();
        let port = u16::try_from(primary.small()?).or_else(|_| Fields::unknown())?;
        // One that does not know its own name is the one that was asked.
        let name = if name.is_empty() || name == "?" {
            asked.0.clone()
        } else {
            name
        };
        let number = |slot: u32| u16::try_from(slot).or_else(|_| Fields::unknown());
        Ok((number(first)?, number(last)?, (name, port)))
    })
}

/// The part of a cluster that a key belongs to: the CRC-16 (XMODEM) of what stands in braces, or of all.
pub(super) fn slot(key: &str) -> u16 {
    let tag = key
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'))
        .map(|(tag, _)| tag)
        .filter(|tag| !tag.is_empty());
    let mut crc = 0_u16;
    for byte in tag.unwrap_or(key).bytes() {
        crc ^= u16::from(byte) << 8;
        for _ in 0..8 {
            let carry = crc & 0x8000 != 0;
            crc <<= 1;
            if carry {
                crc ^= 0x1021;
            }
        }
    }
    crc % 16384
}

fn broke() -> Lost {
    Lost::Silent("the connection broke before the store had said who it is".into())
}

fn mute((name, port): &Host) -> Lost {
    Lost::Silent(format!(
        "{name}:{port} accepts connections but does not answer"
    ))
}

async fn settled(state: &mut watch::Receiver<State>) -> Result<(), Lost> {
    let done = |state: &State| !matches!(state, Err(Lost::NotYet));
    let Ok(state) = state.wait_for(done).await else {
        return Err(Lost::NotYet);
    };
    state.as_ref().map(|_| ()).map_err(Clone::clone)
}

/// Keeps the connection to the server that has everything but streams.
async fn keep_home(links: std::sync::Weak<Links>) {
    let mut pause = Pause::default();
    while let Some(strong) = links.upgrade() {
        let began = Instant::now();
        let attempt = strong.connect_home().await;
        let (told, check) = (strong.home.clone(), strong.check());
        drop(strong);
        hold(attempt, &told, check).await;
        pause.after(began).await;
    }
}

/// Finds out who has which part of a cluster, when somebody asks for it and not too often.
async fn keep_map(links: std::sync::Weak<Links>, look_again: Arc<Notify>) {
    loop {
        look_again.notified().await;
        let Some(strong) = links.upgrade() else {
            return;
        };
        strong.look_again().await;
        drop(strong);
        sleep(LOOK_AGAIN).await;
    }
}

/// Keeps the connection to one more server of a cluster.
async fn keep_server(links: std::sync::Weak<Links>, host: Host, told: watch::Sender<State>) {
    let mut pause = Pause::default();
    while let Some(strong) = links.upgrade() {
        let began = Instant::now();
        let attempt = match strong.dial(&host).await {
            Ok((wire, driver)) => strong.greet(wire, driver).await,
            Err(lost) => Err(lost),
        };
        let check = strong.check();
        drop(strong);
        hold(attempt, &told, check).await;
        pause.after(began).await;
    }
}

/// Tells how an attempt ended, and drives the connection until it breaks or its server will not do any more: how that is set may
/// change at any time, so it is asked so often, and waited for so long.
async fn hold(
    attempt: Result<(Connection, Driver), Lost>,
    told: &watch::Sender<State>,
    (every, patience): (Duration, Duration),
) {
    let (connection, driver) = match attempt {
        Ok(connected) => connected,
        Err(lost) => {
            let _ = told.send_replace(Err(lost));
            return;
        }
    };
    let broken = connection.broken.clone();
    let mut wire = connection.wire.clone();
    let _ = told.send_replace(Ok(Arc::new(connection)));
    let refused = async {
        loop {
            sleep(every).await;
            if let Ok(Err(lost)) = timeout(patience, check_policy(&mut wire)).await {
                return lost;
            }
        }
    };
    let lost = tokio::select! {
        () = driver => Lost::Silent("the connection broke".into()),
        () = broken.cancelled() => Lost::Silent("the connection broke".into()),
        lost = refused => lost,
    };
    let _ = told.send_replace(Err(lost));
}

/// The wait before the next attempt: longer after each one that came to nothing soon.
#[derive(Default)]
struct Pause(Option<Duration>);

impl Pause {
    async fn after(&mut self, began: Instant) {
        let (shortest, longest) = WAITS;
        let wait = match self.0 {
            Some(last) if began.elapsed() < longest => (last * 2).min(longest),
            _ => shortest,
        };
        self.0 = Some(wait);
        sleep(wait.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_leaves_and_returns_has_one_task() {
        let address = RedisAddress::parse("redis://127.0.0.1:1,127.0.0.1:2").unwrap();
        let links = Links::open(address, None, Duration::from_millis(10), CHECK_EVERY);
        let host = |port| ("127.0.0.1".to_owned(), port);
        let home = host(1);
        for _ in 0..20 {
            links.learn(vec![(0, 9, home.clone()), (10, 16_383, host(2))], &home);
            tokio::task::yield_now().await;
            links.learn(vec![(0, 16_383, home.clone())], &home);
            tokio::task::yield_now().await;
        }
        // Those for home and for the map, and one that has yet to notice.
        let tasks = links.tasks.lock().len();
        assert!(tasks <= 3, "{tasks}");
        assert!(links.cluster.lock().servers.is_empty());
    }

    #[test]
    fn keys_have_their_place() {
        // From the cluster's specification, and asked of a server.
        assert_eq!(slot("123456789"), 12739);
        assert_eq!(slot("{user1000}.following"), slot("user1000"));
        assert_eq!(slot("foo{}{bar}"), slot("foo{}{bar}"));
        assert_ne!(slot("foo{}{bar}"), slot("bar"));
        assert_eq!(slot("{weir}:meta"), slot(HOME));
    }

    #[test]
    fn a_server_that_will_not_do_is_refused_with_what_to_do() {
        let server =
            |version: &str| format!("# Server\r\nredis_version:{version}\r\nrun_id:abc\r\n");
        let primary = "# Replication\r\nrole:master\r\n";
        for version in ["6.2.0", "7.0.15", "7.2.4", "8.0.0", "10.1"] {
            suits(&server(version), primary).unwrap();
        }
        for version in ["6.0.16", "5.0", "", "nonsense"] {
            let lost = suits(&server(version), primary).unwrap_err().to_string();
            assert!(lost.contains("6.2 or newer"), "{lost}");
        }
        let lost = suits(&server("7.0"), "role:slave\r\n").unwrap_err();
        assert!(lost.to_string().contains("read-only replica"), "{lost}");
        suits("redis_version:7.0\r\n", primary).unwrap_err();
        let policy = |name: &str| {
            let words = ["maxmemory-policy", name].map(|word| Value::BulkString(word.into()));
            keeps_everything(&words)
        };
        policy("noeviction").unwrap();
        for name in ["allkeys-lru", "volatile-ttl"] {
            let lost = policy(name).unwrap_err().to_string();
            assert!(lost.ends_with("set maxmemory-policy noeviction there"));
        }
    }
}
