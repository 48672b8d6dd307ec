//! The target of one request in a chain of redirects, and how it is written.

use data_encoding::BASE64;
use hyper::header::HeaderValue;
use percent_encoding::percent_decode_str;
use url::Url;
use weir_config::SecretUrl;

use super::Request;
use crate::reach::origin;
use crate::{Error, Reach};

/// One URL of the chain.
pub(super) struct Target<'a> {
    url: SecretUrl,
    /// Path and query as they are sent.
    path: String,
    /// Which private addresses the host may have.
    pub(super) reach: Reach<'a>,
    /// Whether this is the configured origin, to which the configured `Host` applies.
    pub(super) configured: bool,
}

impl<'a> Target<'a> {
    /// The configured URL with the query appended.
    pub(super) fn first(request: &Request<'a>) -> Result<Self, Error> {
        let mut path = path_of(request.url);
        if !request.query.is_empty() {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(&sendable(request.query));
        }
        Self::new(request.url.clone(), path, request.reach, true)
    }

    fn new(
        url: SecretUrl,
        path: String,
        reach: Reach<'a>,
        configured: bool,
    ) -> Result<Self, Error> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Error::Unsendable("a URL that is neither http nor https"));
        }
        Ok(Self {
            reach: reach.at(&url),
            url,
            path,
            configured,
        })
    }

    /// Where a redirect leads; `None` if it leaves HTTP.
    pub(super) fn redirected(
        &self,
        location: &str,
        request: &Request<'a>,
    ) -> Option<Result<Self, Error>> {
        let joined = self.url.expose_url().join(location).ok()?;
        if !matches!(joined.scheme(), "http" | "https") {
            return None;
        }
        if self.is_secure() && joined.scheme() == "http" {
            // The request, and any passkey in it, would be repeated unencrypted.
            return Some(Err(Error::Redirects));
        }
        // An absolute location is kept as written; a relative one has to be built from the URL.
        let url = match SecretUrl::parse(location) {
            Some(url) if url.expose_url() == &joined => url,
            _ => SecretUrl::parse(joined.as_str())?,
        };
        let path = path_of(&url);
        let configured = origin(&url) == origin(request.url);
        Some(Self::new(url, path, request.reach, configured))
    }

    pub(super) fn is_secure(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The host as URLs write it: IPv6 addresses in brackets.
    pub(super) fn host(&self) -> &str {
        self.url.expose_url().host_str().unwrap_or_default()
    }

    pub(super) fn port(&self) -> u16 {
        self.url.port().unwrap_or(80)
    }

    /// The value of the `Host` header.
    pub(super) fn authority(&self) -> String {
        self.url.authority()
    }

    /// The target in the request line; proxies get the `whole` URL.
    pub(super) fn line(&self, whole: bool) -> String {
        if whole {
            format!("http://{}{}", self.authority(), self.path)
        } else {
            self.path.clone()
        }
    }

    /// The URL's user name and password as an `Authorization` header.
    pub(super) fn credentials(&self) -> Option<HeaderValue> {
        basic(self.url.expose_url())
    }
}

/// `Basic …` for a URL's user name and password, marked as sensitive.
pub(super) fn basic(url: &Url) -> Option<HeaderValue> {
    let (user, password) = user_and_password(url)?;
    let text = [&user[..], b":", &password[..]].concat();
    let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64.encode(&text))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

pub(super) fn user_and_password(url: &Url) -> Option<(Vec<u8>, Vec<u8>)> {
    let password = url.password().unwrap_or_default();
    if url.username().is_empty() && password.is_empty() {
        return None;
    }
    let decode = |text| percent_decode_str(text).collect();
    Some((decode(url.username()), decode(password)))
}

/// Path and query as written, because a passkey must arrive byte for byte. If the text is so unusual that it is not
/// clear where the path begins, they are taken from the parsed URL.
fn path_of(url: &SecretUrl) -> String {
    let written = as_written(url.expose(), url.scheme());
    let path = match written {
        Some(path) => path.to_owned(),
        None => {
            let url = url.expose_url();
            let query = url.query().map(|query| format!("?{query}"));
            format!("{}{}", url.path(), query.unwrap_or_default())
        }
    };
    let path = sendable(&path);
    if path.starts_with('/') {
        path
    } else {
        format!("/{path}")
    }
}

fn as_written<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    if text.bytes().any(|byte| byte < b' ' || byte == b'\\') || text.trim() != text {
        return None;
    }
    let (written_scheme, rest) = text.split_once("://")?;
    if !written_scheme.eq_ignore_ascii_case(scheme) || rest.starts_with('/') {
        return None;
    }
    let path = rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]);
    Some(path.split('#').next().unwrap_or_default())
}

/// Encodes what a request line cannot contain and leaves everything else alone.
fn sendable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'!' | b'$'..=b';' | b'=' | b'?'..=b'_' | b'a'..=b'~' => out.push(char::from(byte)),
            other => out.push_str(percent_encoding::percent_encode_byte(other)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Home;

    fn url(text: &str) -> SecretUrl {
        SecretUrl::parse(text).expect("a URL")
    }

    fn line(text: &str, query: &str) -> String {
        let url = url(text);
        let request = Request {
            query,
            ..Request::new(&url)
        };
        Target::first(&request).expect("a target").line(false)
    }

    #[test]
    fn what_was_written_is_sent_byte_by_byte() {
        for (text, query, expected) in [
            ("http://a.example", "", "/"),
            ("http://a.example", "x=1", "/?x=1"),
            ("http://a.example?k=1", "x=1", "/?k=1&x=1"),
            (
                "HTTP://A.example:80/x/../%7e~{}|/ann?k=%2f&",
                "x=%00",
                "/x/../%7e~{}|/ann?k=%2f&&x=%00",
            ),
            ("http://me:word@a.example/p#part", "x=1", "/p?x=1"),
            ("http://a.example/a b\"<>`é", "", "/a%20b%22%3C%3E%60%C3%A9"),
            ("http:\\\\a.example\\p", "", "/p"),
            ("http:/a.example/p", "", "/p"),
            (" http://a.example/p?q ", "", "/p?q"),
            ("http://a.example/p", "a=b c#d", "/p?a=b%20c%23d"),
        ] {
            assert_eq!(line(text, query), expected, "{text}");
        }
    }

    #[test]
    fn redirects_know_whether_they_stay() {
        let configured = url("http://10.0.0.1:80/announce?passkey=k");
        let home = Home::new(&configured);
        let request = Request {
            reach: Reach::Home(&home),
            query: "x=1",
            ..Request::new(&configured)
        };
        let first = Target::first(&request).expect("a target");
        for (location, host, path, private) in [
            ("/other?%7e", "10.0.0.1", "/other?%7e", true),
            ("http://10.0.0.1/a/%7E/./b", "10.0.0.1", "/a/%7E/./b", true),
            ("http://10.0.0.1:81/a", "10.0.0.1", "/a", false),
            ("http://10.0.0.2/a", "10.0.0.2", "/a", false),
            ("https://10.0.0.1/a", "10.0.0.1", "/a", false),
            ("https://10.0.0.1:80/a", "10.0.0.1", "/a", false),
            ("//b.example/a", "b.example", "/a", false),
        ] {
            let target = first.redirected(location, &request).expect("HTTP");
            let target = target.expect("a target");
            assert_eq!(target.host(), host, "{location}");
            assert_eq!(target.line(false), path, "{location}");
            assert_eq!(
                (matches!(target.reach, Reach::Home(_)), target.configured),
                (private, private),
                "{location}"
            );
        }
        assert!(
            first
                .redirected("magnet:?xt=urn:btih:00", &request)
                .is_none()
        );
        assert!(first.redirected("ftp://a.example/", &request).is_none());
    }

    #[test]
    fn secrets_do_not_move_into_the_open() {
        let configured = url("https://a.example/announce");
        let request = Request::new(&configured);
        let first = Target::first(&request).expect("a target");
        let down = first.redirected("http://a.example/announce", &request);
        assert!(matches!(down, Some(Err(Error::Redirects))));
        let aside = first.redirected("https://b.example/announce", &request);
        assert!(matches!(aside, Some(Ok(_))));
    }

    #[test]
    fn user_and_password_are_decoded() {
        let url = url("http://us%65r:p%40ss@a.example/");
        let value = basic(url.expose_url()).expect("credentials");
        assert_eq!(value.to_str().expect("text"), "Basic dXNlcjpwQHNz");
        assert!(value.is_sensitive());
        let without = SecretUrl::parse("http://a.example/").expect("a URL");
        assert_eq!(basic(without.expose_url()), None);
    }
}
