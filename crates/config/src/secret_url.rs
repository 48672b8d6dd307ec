//! A URL that may contain a passkey: it prints its scheme and host, never the rest.

use std::fmt;

use url::{Host, Url};

use crate::check::is_host;
use crate::{Node, Setting, Wrong, from_text};

/// An upstream's URL. The text is kept as written, because a passkey must reach the upstream byte for byte.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl {
    text: Box<str>,
    url: Url,
}

impl SecretUrl {
    /// Parses a URL; `None` if it is not one or has no host.
    pub fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        url.host_str().filter(|host| !host.is_empty())?;
        let text = text.into();
        Some(Self { text, url })
    }

    /// Whether host and port can be those of a server: a name that can be looked up, and not port 0.
    fn can_be_called(&self) -> bool {
        let host = match self.url.host() {
            Some(Host::Domain(name)) => is_host(name),
            other => other.is_some(),
        };
        host && self.url.port() != Some(0)
    }

    /// The URL as written. A review looks at every caller.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The parsed URL, with all its secrets.
    pub fn expose_url(&self) -> &Url {
        &self.url
    }

    /// The scheme in lower case.
    pub fn scheme(&self) -> &str {
        self.url.scheme()
    }

    /// The host; [`parse`](Self::parse) makes sure that there is one.
    pub fn host(&self) -> Option<Host<&str>> {
        self.url.host()
    }

    /// The port, or the scheme's default.
    pub fn port(&self) -> Option<u16> {
        self.url.port_or_known_default()
    }

    /// Scheme, host and port: where it leads, fit to be shown.
    pub fn place(&self) -> String {
        format!("{}://{}", self.scheme(), self.authority())
    }

    /// Host and, if written, port: fit for a name.
    pub fn authority(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/…", self.scheme(), self.authority())
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretUrl({self})")
    }
}

impl Setting for SecretUrl {
    // `show` masks a URL, but a text that is not a URL may still contain a passkey.
    const SECRET: bool = true;

    fn wanted() -> String {
        "a URL such as \"http://host/path\"".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
        from_text(node, |text| Self::parse(text).filter(Self::can_be_called))
    }

    fn show(&self) -> String {
        format!("\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_shows_scheme_and_host_only() {
        let url = SecretUrl::parse("https://me:word@tracker.example:8443/k3y/announce?passkey=k3y")
            .expect("a URL");
        assert_eq!(url.to_string(), "https://tracker.example:8443/…");
        assert_eq!(
            format!("{url:?}"),
            "SecretUrl(https://tracker.example:8443/…)"
        );
        assert_eq!(url.port(), Some(8443));
    }

    #[test]
    fn what_was_written_is_kept() {
        let text = "http://tracker.example/announce?passkey=%7e~{}";
        assert_eq!(SecretUrl::parse(text).expect("a URL").expose(), text);
        assert_eq!(SecretUrl::parse("mailto:a@b"), None);
        assert_eq!(SecretUrl::parse("tracker.example"), None);
        assert_eq!(SecretUrl::parse("udp:///announce"), None);
    }
}
