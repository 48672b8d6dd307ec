//! Opens listeners; a refusal says what to do.

use std::io::ErrorKind;
use std::net::SocketAddr;

use anyhow::anyhow;
use tokio::net::TcpListener;

/// Listens on `address`, which came from `key` (or `flag`).
pub(super) async fn tcp(address: SocketAddr, key: &str, flag: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::AddrInUse => format!(
                "port {} is taken by another program. Stop that one, or choose another port with {flag} or `{key}`",
                address.port()
            ),
            ErrorKind::AddrNotAvailable => format!(
                "this machine has no address {}. Choose one it has, or [::] for all, with {flag} or `{key}`",
                address.ip()
            ),
            ErrorKind::PermissionDenied => format!(
                "ports below 1024 need a right that Weir does not have. Choose a higher port with {flag} or `{key}`"
            ),
            _ => format!("{error}. Choose another address with {flag} or `{key}`"),
        };
        anyhow!("cannot listen on {address}: {advice}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
