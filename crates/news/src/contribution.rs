//! What the news front brings to the web listener.

use std::net::SocketAddr;
use std::sync::Arc;

use weir_web::kit::PasteAddress;
use weir_web::{Access, ConnectPanel, Contribution, Icon};

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
        .router_for(Access::Api, api::own_router(reader))
        .router(pages::compose::router(reader))
        .router_for(Access::KeptForm, pages::compose::form_router(reader));
    let contribution = pages::nav()
        .into_iter()
        .fold(contribution, Contribution::nav);
    let contribution = match nntp.listening() {
        [] => contribution,
        listening => contribution.connect(newsreaders(listening.to_vec())),
    };
    let (pages, api) = (pages::router(reader), api::router(reader));
    match public {
        true => contribution
            .public("/news")
            .router_for(Access::Reading, pages)
            .router_for(Access::ReadingApi, api),
        false => contribution.router(pages).router_for(Access::Api, api),
    }
}

/// What to type into a newsreader.
fn newsreaders(listening: Vec<(&'static str, SocketAddr)>) -> ConnectPanel {
    ConnectPanel {
        title: "Newsreaders",
        anchor: "newsreaders",
        text: "Add a news server with this address. Where a newsreader asks for a user name and a password, type any name, and an API key as the password.",
        addresses: Box::new(move |origin| addresses(&listening, origin)),
    }
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
