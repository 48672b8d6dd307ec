//! Opens listeners; errors say what to do.

use std::future::ready;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, anyhow};
use futures_util::FutureExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_web::Standby;

/// Listens on `address`, which was set by `key` or `flag`.
pub(super) async fn tcp(address: SocketAddr, key: &str, flag: &str) -> anyhow::Result<TcpListener> {
    let bound = any_family(address, key, TcpListener::bind).await;
    bound.map_err(|error| refused(address, key, flag, &error))
}

/// The same for a listener that is served later; set by `key` or an environment variable.
pub(super) fn socket(
    address: SocketAddr,
    key: &str,
    variable: &str,
) -> anyhow::Result<std::net::TcpListener> {
    let bind = |address: SocketAddr| ready(std::net::TcpListener::bind(address));
    let bound = any_family(address, key, bind).now_or_never();
    let bound = bound.unwrap_or_else(|| Err(ErrorKind::WouldBlock.into()));
    bound.map_err(|error| refused(address, key, variable, &error))
}

/// Two listeners of one port: one to serve, and one for when that is closed.
pub(super) fn twice(listener: TcpListener) -> io::Result<(TcpListener, std::net::TcpListener)> {
    let one = listener.into_std()?;
    let other = one.try_clone()?;
    Ok((TcpListener::from_std(one)?, other))
}

/// A listener that only says why Weir does not serve; ends when dropped.
pub(super) struct Standing {
    task: JoinSet<TcpListener>,
    end: CancellationToken,
}

impl Standing {
    pub(super) fn by(listener: TcpListener, why: Standby) -> Self {
        let end = CancellationToken::new();
        let mut task = JoinSet::new();
        task.spawn(weir_web::stand_by(listener, why, end.clone()));
        Self { task, end }
    }

    /// Gives the listener back.
    pub(super) async fn end(mut self) -> anyhow::Result<TcpListener> {
        self.end.cancel();
        let ended = self.task.join_next().await;
        ended
            .context("nobody listened")?
            .context("the web listener was lost")
    }
}

/// Explains why a port cannot be opened, and what to do.
pub(super) fn refused(
    address: SocketAddr,
    key: &str,
    flag: &str,
    error: &io::Error,
) -> anyhow::Error {
    let advice = match error.kind() {
        ErrorKind::AddrInUse => format!(
            "port {} is taken by another program. Stop that program, or choose another port with {flag} or `{key}`",
            address.port()
        ),
        ErrorKind::AddrNotAvailable => format!(
            "this machine has no address {}. Choose one it has, or [::] for all, with {flag} or `{key}`",
            address.ip()
        ),
        ErrorKind::PermissionDenied => format!(
            "Weir has no permission to use ports below 1024. Choose a higher port with {flag} or `{key}`"
        ),
        _ => format!("{error}. Choose another address with {flag} or `{key}`"),
    };
    anyhow!("cannot listen on {address}: {advice}")
}

/// Binds; on a machine without IPv6, `[::]` means all IPv4 addresses.
async fn any_family<L, F>(
    address: SocketAddr,
    key: &str,
    bind: impl Fn(SocketAddr) -> F,
) -> io::Result<L>
where
    F: Future<Output = io::Result<L>>,
{
    let error = match bind(address).await {
        Ok(listener) => return Ok(listener),
        Err(error) => error,
    };
    let for_all = address.is_ipv6() && address.ip().is_unspecified();
    let theirs = matches!(
        error.kind(),
        ErrorKind::AddrInUse | ErrorKind::PermissionDenied
    );
    if !for_all || theirs {
        return Err(error);
    }
    let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
    let Ok(listener) = bind(v4).await else {
        return Err(error);
    };
    tracing::warn!(key, %error, "this machine has no IPv6: listening on {v4} only");
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_addresses_of_a_machine_without_ipv6_are_those_of_ipv4() {
        // As the system answers there: "address family not supported".
        let without = async |address: SocketAddr| match address {
            SocketAddr::V6(_) => Err(io::Error::from_raw_os_error(97)),
            SocketAddr::V4(_) => Ok(address),
        };
        let bind =
            async |text: &str| any_family(text.parse().unwrap(), "web.listen", without).await;
        assert_eq!(bind("[::]:80").await.unwrap().to_string(), "0.0.0.0:80");
        assert!(bind("[::1]:80").await.is_err(), "one address is meant");
        let taken = async |_| Err::<(), _>(io::Error::from(ErrorKind::AddrInUse));
        let error = any_family("[::]:80".parse().unwrap(), "web.listen", taken).await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::AddrInUse);
    }

    #[tokio::test]
    async fn a_taken_port_says_what_to_do() {
        let first = tcp(([127, 0, 0, 1], 0).into(), "web.listen", "--web")
            .await
            .unwrap();
        let address = first.local_addr().unwrap();
        let error = tcp(address, "web.listen", "--web")
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!("port {} is taken", address.port())),
            "{error}"
        );
        assert!(
            error.contains("--web") && error.contains("`web.listen`"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn an_address_that_is_not_ours_says_what_to_do() {
        // TEST-NET-1 belongs to no machine.
        let error = tcp(([192, 0, 2, 1], 0).into(), "web.listen", "--web")
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains("no address 192.0.2.1"), "{error}");
    }
}
