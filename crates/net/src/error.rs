//! Why a call got no answer, in words that contain no secret.

use std::io;
use std::net::IpAddr;

/// Why a call got no answer. Pages and logs show the text, so it never contains a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The name servers know no such name, or no address for it.
    #[error("no such host")]
    NoSuchHost,
    /// No name server answered, or none could look up the name.
    #[error("the name servers do not answer")]
    SilentDns,
    /// The host has addresses, but none of the wanted family.
    #[error("the host has no address of the configured family")]
    NoAddress,
    /// A private address that nobody configured.
    #[error("the address {0} is private and was not configured")]
    Forbidden(IpAddr),
    /// A private address that the upstream's name did not have when it was first looked up.
    #[error(
        "its name now resolves to the private address {0}, which is new; reload the configuration if that is \
         correct"
    )]
    Moved(IpAddr),
    /// A name in the local network that nobody configured and that a proxy would look up.
    #[error("the host name is local and was not configured")]
    LocalName,
    /// Nobody listens there.
    #[error("connection refused")]
    Refused,
    /// The host cannot be reached.
    #[error("no route to the host")]
    NoRoute,
    /// The network cannot be reached.
    #[error("network unreachable")]
    Unreachable,
    /// No connection could be opened in time.
    #[error("timed out")]
    TimedOut,
    /// Closed or reset before the answer was complete.
    #[error("the connection was closed before the answer was complete")]
    Cut,
    /// More than the caller accepts, compressed or not.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// What was allowed.
        limit: usize,
    },
    /// In more parts than any honest answer has, whatever their size.
    #[error("the answer consists of too many {0}")]
    TooMany(&'static str),
    /// Not HTTP, or a compressed body that cannot be decompressed.
    #[error("the answer is not readable as HTTP")]
    Unreadable,
    /// The certificate is not trusted, or TLS could not be set up.
    #[error("no secure connection: {0}")]
    Untrusted(String),
    /// What answered does not speak TLS.
    #[error("it does not speak TLS")]
    NotTls,
    /// Redirected too often, or from https to http.
    #[error("redirected too often or to an insecure address")]
    Redirects,
    /// The proxy is the problem, not the upstream.
    #[error("proxy: {0}")]
    Proxy(String),
    /// A part of the request that cannot be written as HTTP.
    #[error("cannot be sent in a request: {0}")]
    Unsendable(&'static str),
    /// The given root certificates cannot be used.
    #[error("unusable certificates: {0}")]
    Roots(String),
    /// Any other error of the operating system.
    #[error("{0}")]
    Other(io::ErrorKind),
}

impl Error {
    /// Whether our own network may be the cause; it is if several upstreams fail like this at once.
    pub fn may_be_ours(&self) -> bool {
        matches!(self, Self::SilentDns | Self::NoRoute | Self::Unreachable)
    }

    /// What the operating system says about a connection or a packet.
    pub(crate) fn of_system(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::ConnectionRefused => Self::Refused,
            Kind::HostUnreachable => Self::NoRoute,
            // `AddrNotAvailable` is how `bind` says that this machine has no address of that family.
            Kind::NetworkUnreachable | Kind::NetworkDown | Kind::AddrNotAvailable => {
                Self::Unreachable
            }
            Kind::TimedOut => Self::TimedOut,
            Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::NotConnected
            | Kind::UnexpectedEof => Self::Cut,
            kind => Self::Other(kind),
        }
    }

    /// Which of several failures tells most: a host that refused was reached, an unreachable network was not.
    pub(crate) fn weight(&self) -> u8 {
        match self {
            Self::Refused => 5,
            Self::Cut => 4,
            Self::TimedOut => 3,
            Self::NoRoute => 2,
            Self::Unreachable => 1,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_have_names() {
        for (code, expected) in [
            (111, Error::Refused),
            (113, Error::NoRoute),
            (101, Error::Unreachable),
            (100, Error::Unreachable),
            (99, Error::Unreachable),
            (110, Error::TimedOut),
            (104, Error::Cut),
            (32, Error::Cut),
            (1, Error::Other(io::ErrorKind::PermissionDenied)),
        ] {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(Error::of_system(&error), expected, "{error}");
        }
    }

    #[test]
    fn only_missing_networks_may_be_ours() {
        assert!(Error::SilentDns.may_be_ours());
        assert!(Error::NoRoute.may_be_ours());
        assert!(Error::Unreachable.may_be_ours());
        assert!(!Error::Refused.may_be_ours());
        assert!(!Error::NoSuchHost.may_be_ours());
        assert!(!Error::TimedOut.may_be_ours());
    }
}
