//! Streams through a proxy.

use hyper::header::HeaderValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_config::{SecretUrl, is_local_name};

use super::socks;
use super::target::{Target, basic, user_and_password};
use crate::dial::{self, Goal};
use crate::names::{Literal, literal};
use crate::{Error, Family, Ground, Reach, Stream};

/// Maximum bytes of a proxy's answer before the tunnel begins.
const HEAD: usize = 16 << 10;

/// A proxy as configured.
#[derive(Clone, Copy)]
pub(super) struct Proxy<'a> {
    url: &'a SecretUrl,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Http,
    Socks5,
}

/// What the proxy should connect to.
pub(super) struct Ask<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    /// User name and password for the proxy.
    pub(super) login: Option<(Vec<u8>, Vec<u8>)>,
}

impl<'a> Proxy<'a> {
    pub(super) fn new(url: &'a SecretUrl) -> Result<Self, Error> {
        let kind = match url.scheme() {
            "http" => Kind::Http,
            "socks5" | "socks5h" => Kind::Socks5,
            _ => return Err(fault("only http:// and socks5:// are supported")),
        };
        Ok(Self { url, kind })
    }

    /// Whether the proxy gets the request itself, with the whole URL, instead of opening a tunnel.
    pub(super) fn takes(&self, target: &Target<'_>) -> bool {
        self.kind == Kind::Http && !target.is_secure()
    }

    /// `Proxy-Authorization` for requests that the proxy gets itself.
    pub(super) fn credentials(&self) -> Option<HeaderValue> {
        basic(self.url.expose_url())
    }

    /// Opens a stream to the proxy.
    pub(super) async fn open(
        &self,
        ground: &dyn Ground,
        family: Family,
        within: std::time::Duration,
    ) -> Result<Box<dyn Stream>, Error> {
        let goal = Goal {
            host: self.url.expose_url().host_str().unwrap_or_default(),
            port: self.url.port().unwrap_or(1080),
            family,
            reach: Reach::Everywhere,
        };
        let opened = dial::connect(ground, goal, within).await;
        opened.map(|(stream, _)| stream).map_err(ours)
    }

    /// Makes the proxy connect to the target, unless it gets the request itself.
    pub(super) async fn lead(
        &self,
        stream: &mut Box<dyn Stream>,
        target: &Target<'_>,
    ) -> Result<(), Error> {
        let ask = Ask {
            host: target.host(),
            port: target.port(),
            login: user_and_password(self.url.expose_url()),
        };
        match self.kind {
            Kind::Socks5 => socks::connect(stream, &ask).await,
            Kind::Http if target.is_secure() => tunnel(stream, &ask, self.credentials()).await,
            Kind::Http => Ok(()),
        }
    }
}

/// Refuses targets that are visibly private. The proxy resolves names, so only it can check the addresses behind
/// them, and its network is its own to protect.
pub(super) fn judge(target: &Target<'_>) -> Result<(), Error> {
    match (target.reach, literal(target.host())?) {
        (Reach::Public, Literal::Name(name)) if is_local_name(&name) => Err(Error::LocalName),
        (_, Literal::Name(_)) => Ok(()),
        (reach, Literal::Address(address)) => reach.admit(vec![address]).map(drop),
    }
}

/// An unreachable proxy must not count as an unreachable upstream; but if our own network is down, that is the
/// cause for both.
fn ours(error: Error) -> Error {
    if error.may_be_ours() {
        error
    } else {
        fault(&error.to_string())
    }
}

/// CONNECT (RFC 9110 §9.3.6).
async fn tunnel(
    stream: &mut Box<dyn Stream>,
    ask: &Ask<'_>,
    credentials: Option<HeaderValue>,
) -> Result<(), Error> {
    let Ask { host, port, .. } = ask;
    let mut head =
        format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n").into_bytes();
    if let Some(credentials) = credentials {
        head.extend_from_slice(b"Proxy-Authorization: ");
        head.extend_from_slice(credentials.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    let closed = |_| fault("it closed the connection");
    stream.write_all(&head).await.map_err(closed)?;
    stream.flush().await.map_err(closed)?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        // Byte by byte, because what follows the head belongs to the host behind the proxy.
        answer.push(stream.read_u8().await.map_err(closed)?);
        if answer.len() > HEAD {
            return Err(fault("its answer is too long"));
        }
    }
    match status(&answer) {
        Some(200..=299) => Ok(()),
        Some(407) => Err(wants_login()),
        Some(status) => Err(fault(&format!("it answered {status}"))),
        None => Err(fault("it does not speak HTTP")),
    }
}

fn status(head: &[u8]) -> Option<u16> {
    let rest = head.strip_prefix(b"HTTP/1.")?;
    let code = rest.get(2..5).filter(|_| rest.get(1) == Some(&b' '))?;
    std::str::from_utf8(code).ok()?.parse().ok()
}

pub(super) fn wants_login() -> Error {
    fault("it requires a different user name or password")
}

pub(super) fn fault(what: &str) -> Error {
    Error::Proxy(what.to_owned())
}
