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
    let heard = nntp.last_connection();
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
        off: "The news server listens nowhere. Set news.nntp_listen, then restart Weir.",
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

fn host_and_port(addresses: &[PasteAddress]) -> Vec<(&'static str, String)> {
    let Some(first) = addresses.first() else {
        return Vec::new();
    };
    let (host, port) = parts(first);
    let mut lines = vec![("Server", host.to_owned()), ("Port", port.to_owned())];
    let secure = addresses.iter().find(|one| one.url.starts_with("nntps:"));
    if let Some(secure) = secure.filter(|secure| *secure != first) {
        lines.push(("Port, TLS", parts(secure).1.to_owned()));
    }
    lines
}

fn tin(addresses: &[PasteAddress]) -> Vec<(&'static str, String)> {
    let plain = addresses.first().map(parts);
    let line = plain.map(|(host, port)| ("Command", format!("tin -r -A -g {host} -p {port}")));
    line.into_iter().collect()
}

fn slrn(addresses: &[PasteAddress]) -> Vec<(&'static str, String)> {
    let plain = addresses.first().map(parts);
    let line = plain.map(|(host, port)| {
        (
            "Command",
            format!("slrn -h {host} -p {port} -f ~/.jnewsrc-weir --create"),
        )
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
        PasteAddress {
            label: match *protocol {
                "nntps" => "With TLS",
                _ => "NNTP",
            },
            url: format!("{protocol}://{reached}:{}", address.port()),
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
}
