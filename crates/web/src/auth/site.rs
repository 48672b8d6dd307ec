//! Whether another site may have made a browser send a request.
//!
//! Any page can make its reader's browser send us a wrong key (`<img src="http://weir/…?apikey=x">`), from the same
//! address as the reader's own programs. Wrong keys of such requests are counted separately, so they lock out only one
//! another. They are still counted: whoever guesses keys can write any header.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::Client;

/// Where a request may originate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Site {
    /// A page of ours, or a program.
    Ours,
    /// A page of another site, as far as can be told.
    Other,
}

impl Site {
    /// Judges a request by what only the browser itself can write.
    pub(crate) fn of(headers: &HeaderMap, client: &Client) -> Self {
        let mut told = headers.get_all("sec-fetch-site").iter().peekable();
        if told.peek().is_some() {
            // `none` means that a person typed the address or opened a bookmark.
            return Self::ours_if(
                told.all(|site| matches!(site.as_bytes(), b"same-origin" | b"none")),
            );
        }
        let own = client.origin(headers);
        let origins = headers.get_all(header::ORIGIN).iter();
        let mut from = origins.chain(headers.get_all(header::REFERER)).peekable();
        if from.peek().is_some() {
            return Self::ours_if(from.all(|from| same_authority(from, &own)));
        }
        // Browsers send `Sec-Fetch-Site` only over https and to this machine, and a page can keep them from saying where
        // they come from. But it cannot make them pose as anything other than a browser.
        let agent = headers.get(header::USER_AGENT);
        Self::ours_if(!agent.is_some_and(|agent| agent.as_bytes().starts_with(b"Mozilla/")))
    }

    fn ours_if(ours: bool) -> Self {
        if ours { Self::Ours } else { Self::Other }
    }
}

/// Whether two addresses have the same host and port. The scheme is ignored: a proxy need not tell us the client's.
fn same_authority(from: &HeaderValue, own: &str) -> bool {
    let Ok(from) = from.to_str() else {
        return false;
    };
    match (authority(from), authority(own)) {
        (Some(from), Some(own)) => from.eq_ignore_ascii_case(own),
        _ => false,
    }
}

/// Host and port of an address, without the scheme's default port.
fn authority(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let usual = if scheme == "https" { ":443" } else { ":80" };
    Some(authority.strip_suffix(usual).unwrap_or(authority))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::{Config, rules};

    const BROWSER: (&str, &str) = (
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
    );

    fn site(headers: &[(&'static str, &'static str)]) -> Site {
        let mut map = HeaderMap::new();
        map.insert("host", HeaderValue::from_static("192.168.1.5:7070"));
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        let (rules, _) = rules::split(Config::default());
        let client = Client::judge(IpAddr::from([192, 168, 1, 9]), &map, &rules);
        Site::of(&map, &client)
    }

    #[test]
    fn programs_and_our_own_pages_are_ours() {
        for headers in [
            &[][..],
            &[("user-agent", "Sonarr/4.0.9 (linux)")],
            &[BROWSER, ("sec-fetch-site", "same-origin")],
            &[BROWSER, ("sec-fetch-site", "none")],
            &[BROWSER, ("origin", "http://192.168.1.5:7070")],
            &[BROWSER, ("referer", "http://192.168.1.5:7070/search?q=a")],
        ] {
            assert_eq!(site(headers), Site::Ours, "{headers:?}");
        }
    }

    #[test]
    fn pages_of_others_are_not() {
        for headers in [
            &[("sec-fetch-site", "cross-site")][..],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")],
            &[
                BROWSER,
                ("sec-fetch-site", "cross-site"),
                ("origin", "http://192.168.1.5:7070"),
            ],
            &[BROWSER, ("origin", "http://evil.example")],
            &[BROWSER, ("origin", "null")],
            // Another program at the same machine.
            &[BROWSER, ("referer", "http://192.168.1.5:8989/")],
            &[
                BROWSER,
                ("referer", "http://evil.example/http://192.168.1.5:7070/"),
            ],
            &[
                BROWSER,
                ("referer", "http://192.168.1.5:7070@evil.example/"),
            ],
            &[BROWSER, ("referer", "")],
            // Plain http, and a page with `referrerpolicy="no-referrer"`.
            &[BROWSER],
        ] {
            assert_eq!(site(headers), Site::Other, "{headers:?}");
        }
    }

    #[test]
    fn the_usual_port_may_be_left_out() {
        let own = "http://weir.example";
        for from in [
            "https://weir.example",
            "https://Weir.example:443/x",
            "http://weir.example:80",
        ] {
            assert!(
                same_authority(&HeaderValue::from_static(from), own),
                "{from}"
            );
        }
        for from in [
            "https://weir.example:80",
            "https://weir.example:8443",
            "weir.example",
        ] {
            assert!(
                !same_authority(&HeaderValue::from_static(from), own),
                "{from}"
            );
        }
    }
}
