//! Where an upstream's address leads, however it is written. Only for telling whether two entries are of one upstream: what is
//! called, saved and known to other nodes is the address as it was written.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};
use weir_config::SecretUrl;

/// This machine, under one of its names.
const HERE: &str = "127.0.0.1";

/// The address in one form for all ways to write it: this machine by one name, no slash at the end of the path, and no `api`
/// after `torznab`, because Jackett answers at both. It holds the secrets of the address.
pub(crate) fn destination(url: &SecretUrl) -> Url {
    let mut url = url.expose_url().clone();
    let host = match url.host() {
        Some(Host::Domain(name)) => Some(host_name(name)),
        Some(Host::Ipv4(Ipv4Addr::LOCALHOST)) | Some(Host::Ipv6(Ipv6Addr::LOCALHOST)) => {
            Some(HERE.to_owned())
        }
        _ => None,
    };
    if let Some(host) = host {
        // A host that cannot be written differently stays as it is.
        let _ = url.set_host(Some(&host));
    }
    let path = url.path().trim_end_matches('/');
    let path = match path.strip_suffix("/torznab/api") {
        Some(before) => format!("{before}/torznab"),
        None => path.to_owned(),
    };
    url.set_path(&path);
    url.set_fragment(None);
    url
}

/// A host in one form for all ways to write it.
pub(crate) fn host_name(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    match host.as_str() {
        "localhost" | "::1" | "[::1]" => HERE.to_owned(),
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        destination(&SecretUrl::parse(text).unwrap()).to_string()
    }

    #[test]
    fn one_place_has_one_form() {
        for same in [
            ["http://HOST:80/1/api/", "http://host/1/api"],
            ["http://localhost:9696/1/api", "http://127.0.0.1:9696/1/api"],
            ["http://[::1]:9696/1/api", "http://127.0.0.1:9696/1/api"],
            [
                "udp://LocalHost:6969/announce",
                "udp://127.0.0.1:6969/announce/",
            ],
            ["udp://T.example:1/announce", "udp://t.example:1/announce"],
            [
                "http://j.example/api/v2.0/indexers/a/results/torznab/",
                "http://j.example/api/v2.0/indexers/a/results/torznab/api",
            ],
        ] {
            assert_eq!(of(same[0]), of(same[1]));
        }
    }

    #[test]
    fn different_places_stay_apart() {
        for [one, other] in [
            ["http://host/1/api", "http://host/2/api"],
            ["http://host/api", "https://host/api"],
            ["http://host/api", "http://host/"],
            ["http://host:1/api", "http://host:2/api"],
            ["http://127.0.0.1/api", "http://127.0.0.2/api"],
            ["http://host/api?key=a", "http://host/api?key=b"],
            ["http://me@host/api", "http://host/api"],
            ["http://host/Announce", "http://host/announce"],
        ] {
            assert_ne!(of(one), of(other));
        }
    }
}
