//! Announces and scrapes over HTTP and HTTPS.

use weir_engine::Fault;
use weir_net::http::{Client, Request};
use weir_tracker_proto::http::{
    Answer, read_announce_reply, read_scrape_reply, scrape_url, write_announce_query,
    write_scrape_query,
};
use weir_tracker_proto::{Announce, InfoHash};

use super::{CallOptions, GivenAnswer, NoUsableAnswer, Said, TrackerTarget, endpoints, said_no};

pub(super) async fn announce(
    client: &Client,
    options: &CallOptions,
    target: &TrackerTarget,
    announce: &Announce,
    tracker_id: Option<&[u8]>,
) -> Result<Said, NoUsableAnswer> {
    let mut query = String::new();
    write_announce_query(announce, tracker_id, &mut query);
    let query = query.trim_start_matches('?');
    let response = Fault::check(client.get(&request(target, options, query)).await?)?;
    match read_announce_reply(&response.body).map_err(NoUsableAnswer::Unreadable)? {
        Answer::Refused(failure) => Ok(said_no(&failure, target)),
        Answer::Given(answer) => Ok(Said::Given(GivenAnswer {
            interval: answer.interval,
            min_interval: answer.min_interval,
            peers: endpoints(answer.peers.addresses()),
            tracker_id: answer.tracker_id.map(Into::into),
            external: answer.external_ip,
            from: response.from.or_else(|| target.literal()),
        })),
    }
}

/// Any readable answer will do.
pub(super) async fn scrape(
    client: &Client,
    options: &CallOptions,
    target: &TrackerTarget,
    hash: InfoHash,
) -> Result<(), NoUsableAnswer> {
    let url = scrape_url(target.url.expose()).and_then(|url| weir_config::SecretUrl::parse(&url));
    if let Some(url) = url {
        let mut query = String::new();
        write_scrape_query([hash], &mut query);
        let request = Request {
            url: &url,
            ..request(target, options, query.trim_start_matches('?'))
        };
        match Fault::check(client.get(&request).await?) {
            Ok(response) => return readable(read_scrape_reply(&response.body).map(drop)),
            // It may be that it knows no scrapes.
            Err(Fault::Status(400..500)) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    let response = Fault::check(client.get(&request(target, options, "")).await?)?;
    readable(read_announce_reply(&response.body).map(drop))
}

fn readable(read: Result<(), weir_tracker_proto::ReplyError>) -> Result<(), NoUsableAnswer> {
    read.map_err(NoUsableAnswer::Unreadable)
}

fn request<'a>(target: &'a TrackerTarget, options: &CallOptions, query: &'a str) -> Request<'a> {
    Request {
        query,
        host: target.host.as_deref(),
        proxy: target.proxy.as_ref(),
        family: target.family,
        body_limit: options.body_limit,
        redirects: options.redirects,
        reach: options.reach(target),
        ..Request::new(&target.url)
    }
}
