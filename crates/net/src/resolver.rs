//! Resolves names with the machine's name servers and its hosts file.
//!
//! Both families are looked up at once, and answers are cached for their time to live. The machine's configuration is
//! read again when a file changes, because a daemon often outlives the network it was started in.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use futures_util::future::{self, Either};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::RecordType;
use hickory_resolver::system_conf::read_system_conf;
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::Error;

/// Time for one name, all servers and retries included.
const WITHIN: Duration = Duration::from_secs(5);

/// Time for one question to one server; short enough for a second try within [`WITHIN`].
const TRY: Duration = Duration::from_secs(2);

/// How long the addresses of one family wait for those of the other.
const OTHER_FAMILY: Duration = Duration::from_millis(250);

const FILES: [&str; 2] = ["/etc/resolv.conf", "/etc/hosts"];

/// Looks up names; cached answers are lost when the machine's configuration changes.
pub(crate) struct Resolver {
    servers: Servers,
}

enum Servers {
    /// As the machine is configured now.
    Machine(Mutex<(Stamp, Option<TokioResolver>)>),
    Given(Option<TokioResolver>),
}

/// Time, size and inode of each file: something here changes when a file is edited or replaced.
type Stamp = [Option<(SystemTime, u64, u64)>; 2];

impl Resolver {
    pub(crate) fn machine() -> Self {
        let stamp = stamp();
        let servers = Servers::Machine(Mutex::new((stamp, from_machine())));
        Self { servers }
    }

    pub(crate) fn given(servers: &[SocketAddr]) -> Self {
        let config = ResolverConfig::from_name_servers(servers.iter().map(name_server).collect());
        let servers = Servers::Given(build(config, ResolverOpts::default()));
        Self { servers }
    }

    /// All addresses of a name, v4 first: broken v6 is common, and then nothing has to wait for it.
    pub(crate) async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, Error> {
        let resolver = self.current().ok_or(Error::SilentDns)?;
        let both = both_families(&resolver, name);
        timeout(WITHIN, both).await.unwrap_or(Err(Error::SilentDns))
    }

    fn current(&self) -> Option<TokioResolver> {
        match &self.servers {
            Servers::Given(resolver) => resolver.clone(),
            Servers::Machine(state) => {
                let stamp = stamp();
                let mut state = state.lock();
                if state.0 != stamp {
                    tracing::info!("/etc/resolv.conf or /etc/hosts changed and was read again");
                    *state = (stamp, from_machine());
                }
                state.1.clone()
            }
        }
    }
}

async fn both_families(resolver: &TokioResolver, name: &str) -> Result<Vec<IpAddr>, Error> {
    let v4 = Box::pin(resolver.lookup(name, RecordType::A));
    let v6 = Box::pin(resolver.lookup(name, RecordType::AAAA));
    // A server that never answers one kind of question must not hide the answer to the other.
    let (v4, v6) = match future::select(v4, v6).await {
        Either::Left((v4, v6)) if is_found(&v4) => (Some(v4), timeout(OTHER_FAMILY, v6).await.ok()),
        Either::Left((v4, v6)) => (Some(v4), Some(v6.await)),
        Either::Right((v6, v4)) if is_found(&v6) => {
            (timeout(OTHER_FAMILY, v4).await.ok(), Some(v6))
        }
        Either::Right((v6, v4)) => (Some(v4.await), Some(v6)),
    };
    let answers: Vec<_> = [v4, v6].into_iter().flatten().collect();
    let found: Vec<IpAddr> = answers.iter().flatten().flat_map(addresses).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let missing = answers.iter().all(|answer| match answer {
        Ok(_) => true,
        Err(error) => is_missing(error),
    });
    Err(if missing {
        Error::NoSuchHost
    } else {
        Error::SilentDns
    })
}

fn addresses(lookup: &Lookup) -> Vec<IpAddr> {
    let answers = lookup.answers().iter();
    answers.filter_map(|record| record.data.ip_addr()).collect()
}

fn is_found(answer: &Result<Lookup, NetError>) -> bool {
    answer
        .as_ref()
        .is_ok_and(|lookup| !addresses(lookup).is_empty())
}

/// Whether a server said that the name has no addresses. A server that could not find out (SERVFAIL or REFUSED,
/// which home routers send while their line is down) has said nothing about the name.
fn is_missing(error: &NetError) -> bool {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(no)) => {
            matches!(
                no.response_code,
                ResponseCode::NXDomain | ResponseCode::NoError
            )
        }
        // The text is not a domain name.
        NetError::Proto(_) => true,
        _ => false,
    }
}

fn from_machine() -> Option<TokioResolver> {
    match read_system_conf() {
        Ok((config, options)) => build(config, options),
        Err(error) => {
            tracing::warn!(%error, "cannot use /etc/resolv.conf; host names cannot be resolved");
            None
        }
    }
}

fn build(config: ResolverConfig, mut options: ResolverOpts) -> Option<TokioResolver> {
    options.timeout = options.timeout.min(TRY);
    options.attempts = options.attempts.max(1);
    options.use_hosts_file = ResolveHosts::Always;
    let provider = TokioRuntimeProvider::default();
    let builder = TokioResolver::builder_with_config(config, provider).with_options(options);
    builder.build().ok()
}

fn name_server(address: &SocketAddr) -> NameServerConfig {
    let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
    for connection in &mut connections {
        connection.port = address.port();
    }
    NameServerConfig::new(address.ip(), true, connections)
}

fn stamp() -> Stamp {
    FILES.map(|file| {
        let found = std::fs::metadata(file).ok()?;
        Some((found.modified().ok()?, found.len(), found.ino()))
    })
}
