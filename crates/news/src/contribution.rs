//! What the news front brings to the web listener.

use std::net::SocketAddr;
use std::sync::Arc;

use weir_web::kit::PasteAddress;
use weir_web::{Access, ConnectPanel, ConnectProgram, Contribution, Icon, Right};

use crate::card::NewsCard;
use crate::inbound::nntp::NntpServer;
use crate::model::Model;
use crate::reader::Reader;
use crate::stats::NewsStats;
use crate::upstreams::ServerViews;
use crate::{api, metrics, pages};

/// Pages, API, card, figures, upstreams and metrics.
pub(crate) fn contribution(
    model: &Arc<Model>,
    reader: &Arc<Reader>,
    public: bool,
    nntp: &NntpServer,
) -> Contribution {
    let (counted, cached) = (model.clone(), model.clone());
    let (figures, seats) = (nntp.figures().clone(), nntp.seats().clone());
    let contribution = Contribution::new("news", "News", Icon::News)
        .card(Arc::new(NewsCard(
            model.federation.engine.clone(),
            nntp.figures().clone(),
        )))
        .stats(Arc::new(NewsStats(model.clone(), nntp.figures().clone())))
        .upstreams(Arc::new(ServerViews(model.clone())))
        .announcements(model.announcer.clone())
        .cached(move || cached.cache_counts())
        .metrics(move |registry| {
            metrics::register(counted, registry);
            figures.register(registry);
            weir_web::seats::register(registry, "nntp_connections_ended", [("nntp", seats)]);
        })
        .api(api::own_router(reader))
        .router(Right::Post, pages::compose::router(reader))
        .router_for(
            Access::KeptForm,
            Right::Post,
            pages::compose::form_router(reader),
        );
    let contribution = pages::nav()
        .into_iter()
        .fold(contribution, Contribution::nav);
    let contribution = contribution.connect(newsreaders(nntp));
    let (pages, api) = (pages::router(reader), api::router(reader));
    match public {
        true => contribution
            .public("/news")
            .router_for(Access::Reading, Right::Read, pages)
            .api(api.for_readers()),
        false => contribution.router(Right::Read, pages).api(api),
    }
}

/// What to type into a newsreader.
fn newsreaders(nntp: &NntpServer) -> ConnectPanel {
    let listening = nntp.listening().to_vec();
    let program = |name, anchor, place, lines| ConnectProgram {
        name,
        anchor,
        place,
        lines,
        note: "User name: any. Password: a key with the right to read, or to post if you want to write.",
        // Newsreaders do not say who they are: a key of their own does.
        heard: Box::new(|| None),
        needs: Some(Right::Post),
    };
    let heard = nntp.last_success();
    let mut any = program(
        "Newsreaders",
        "newsreaders",
        "Add a news server",
        host_and_port,
    );
    any.heard = Box::new(heard);
    ConnectPanel {
        title: "Newsreader addresses",
        users: "Newsreaders",
        anchor: "nntp",
        text: "Add a news server with this address. Where a newsreader asks for a user name and a password, type any name, and an API key as the password.",
        addresses: Box::new(move |origin| addresses(&listening, origin)),
        server: "The news server",
        keys: &["news.nntp_listen"],
        programs: vec![
            any,
            program(
                "Thunderbird",
                "thunderbird",
                "Account Settings, Account Actions, Add Newsgroup Account; then Server Settings for the port",
                host_and_port,
            ),
            program("Pan", "pan", "Edit, Edit News Servers, Add", host_and_port),
            program("tin", "tin", "In a terminal", tin),
            program("slrn", "slrn", "In a terminal", slrn),
        ],
    }
}

/// Host and port of an address.
fn parts(address: &PasteAddress) -> (&str, &str) {
    let rest = address.url.split_once("://").map_or("", |(_, rest)| rest);
    let (host, port) = rest.rsplit_once(':').unwrap_or((rest, ""));
    (host.trim_matches(['[', ']']), port)
}

fn is_secure(address: &PasteAddress) -> bool {
    address.url.starts_with("nntps:")
}

fn host_and_port(addresses: &[PasteAddress]) -> Vec<(&'static str, String)> {
    let mut lines: Vec<(&str, String)> = Vec::new();
    for address in addresses {
        let (host, port) = parts(address);
        let (server_label, port_label) = match is_secure(address) {
            true => ("Server, TLS", "Port, TLS"),
            false => ("Server", "Port"),
        };
        // Most often both are at the same place.
        match lines.first() {
            None => lines.push(("Server", host.to_owned())),
            Some((_, first)) if first == host => (),
            Some(_) => lines.push((server_label, host.to_owned())),
        }
        lines.push((port_label, port.to_owned()));
    }
    lines
}

fn tin(addresses: &[PasteAddress]) -> Vec<(&'static str, String)> {
    let line = addresses.first().map(|first| {
        let (host, port) = parts(first);
        let secure = if is_secure(first) { " -T" } else { "" };
        let command = format!("tin -r -A{secure} -g {host} -p {port}");
        ("Command", command)
    });
    line.into_iter().collect()
}

fn slrn(addresses: &[PasteAddress]) -> Vec<(&'static str, String)> {
    let line = addresses.first().map(|first| {
        let (host, port) = parts(first);
        let server = match is_secure(first) {
            true => format!("snews://{host}:{port}"),
            false => format!("{host} -p {port}"),
        };
        let command = format!("slrn -h {server} -f ~/.jnewsrc-weir --create");
        ("Command", command)
    });
    line.into_iter().collect()
}

/// Where newsreaders connect, as seen by somebody who reaches us at an origin such as `http://weir.example:7070`.
fn addresses(listening: &[(&'static str, SocketAddr)], origin: &str) -> Vec<PasteAddress> {
    let host = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    // A port follows the last colon, unless that is part of an address in brackets.
    let host = match host.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => host,
    };
    let one = |(protocol, address): &(&'static str, SocketAddr)| {
        let reached = match address.ip() {
            ip if ip.is_unspecified() => host.to_owned(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
            ip => ip.to_string(),
        };
        let (label, key) = match *protocol {
            "nntps" => ("With TLS", "news.nntps_listen"),
            _ => ("NNTP", "news.nntp_listen"),
        };
        PasteAddress {
            label,
            url: format!("{protocol}://{reached}:{}", address.port()),
            key,
            is_bound_here: address.ip().is_loopback(),
        }
    };
    listening.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_at_which_we_are_reached() {
        let listening = [
            ("nntp", "127.0.0.1:1119".parse().unwrap()),
            ("nntps", "[::]:563".parse().unwrap()),
        ];
        let urls = |origin| {
            let all = addresses(&listening, origin).into_iter();
            all.map(|one| one.url).collect::<Vec<_>>()
        };
        let both = |host: &str| {
            vec![
                "nntp://127.0.0.1:1119".to_owned(),
                format!("nntps://{host}:563"),
            ]
        };
        assert_eq!(urls("http://weir.example:7070"), both("weir.example"));
        assert_eq!(urls("https://weir.example"), both("weir.example"));
        assert_eq!(urls("http://[2001:db8::1]:7070"), both("[2001:db8::1]"));
        assert_eq!(urls("http://[2001:db8::1]"), both("[2001:db8::1]"));
    }

    #[test]
    fn a_listener_for_this_machine_alone_is_known_as_one() {
        let listening = [
            ("nntp", "127.0.0.1:1119".parse().unwrap()),
            ("nntps", "[::]:563".parse().unwrap()),
        ];
        // At 127.0.0.1 both look the same.
        for origin in ["http://weir.example:7070", "http://127.0.0.1:7070"] {
            let found = addresses(&listening, origin);
            let found: Vec<_> = found
                .iter()
                .map(|one| (one.key, one.is_bound_here))
                .collect();
            let all = [("news.nntp_listen", true), ("news.nntps_listen", false)];
            assert_eq!(found, all);
        }
    }

    #[test]
    fn a_port_with_tls_is_called_one() {
        let lines = |write: fn(&[PasteAddress]) -> Vec<(&'static str, String)>, all: &[&str]| {
            let listening: Vec<_> = all
                .iter()
                .map(|one| one.split_once(' ').unwrap())
                .map(|(protocol, address)| match protocol {
                    "nntps" => ("nntps", address.parse().unwrap()),
                    _ => ("nntp", address.parse().unwrap()),
                })
                .collect();
            let lines = write(&addresses(&listening, "http://weir.example:7070"));
            let lines = lines.iter().map(|(label, line)| format!("{label}: {line}"));
            lines.collect::<Vec<_>>().join("; ")
        };
        let (plain, secure) = ("nntp 0.0.0.0:1119", "nntps 0.0.0.0:563");
        for (write, all, expected) in [
            (
                host_and_port as fn(&[PasteAddress]) -> Vec<(&'static str, String)>,
                &[plain, secure][..],
                "Server: weir.example; Port: 1119; Port, TLS: 563",
            ),
            (
                host_and_port,
                &[secure],
                "Server: weir.example; Port, TLS: 563",
            ),
            (
                host_and_port,
                &["nntp 127.0.0.1:1119", secure],
                "Server: 127.0.0.1; Port: 1119; Server, TLS: weir.example; Port, TLS: 563",
            ),
            (
                tin,
                &[plain, secure],
                "Command: tin -r -A -g weir.example -p 1119",
            ),
            (
                tin,
                &[secure],
                "Command: tin -r -A -T -g weir.example -p 563",
            ),
            (
                slrn,
                &[plain],
                "Command: slrn -h weir.example -p 1119 -f ~/.jnewsrc-weir --create",
            ),
            (
                slrn,
                &[secure],
                "Command: slrn -h snews://weir.example:563 -f ~/.jnewsrc-weir --create",
            ),
        ] {
            assert_eq!(lines(write, all), expected);
        }
    }
}
