//! How many connections and files the process may have open: as many as the system lets it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Config;

/// Raises the limit to the highest that is allowed; says what it is then, `None` if there is none.
fn raise() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if limit.current != limit.maximum && setrlimit(Resource::Nofile, most).is_err() {
        return limit.current;
    }
    limit.maximum
}

/// Raises the limit, and warns if it stays below what the configuration promises.
pub(super) fn raise_for(config: &Config) {
    let tracker = u64::from(config.tracker.http_connections.get());
    let connections = tracker + config.web.limits.connections as u64;
    if let Some(limit) = raise()
        && limit < connections
    {
        tracing::warn!(
            limit,
            connections,
            "fewer files may be open than connections are configured; raise the limit (LimitNOFILE= in systemd, ulimit -n) or lower tracker.http_connections"
        );
    }
}
