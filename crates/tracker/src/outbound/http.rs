//! Announces and scrapes over HTTP and HTTPS.

use weir_net::http::{Client, Request, Response};
use weir_tracker_proto::http::{
    Answer, read_announce_reply, read_scrape_reply, scrape_url, write_announce_query,
    write_scrape_query,
};
use weir_tracker_proto::{Announce, InfoHash};

use super::{Given, Options, Said, Target, Trouble, endpoints, said_no};

pub(super) async fn announce(
    client: &Client,
    options: &Options,
    target: &Target,
    announce: &Announce,
    tracker_id: Option<&[u8]>,
) -> Result<Said, Trouble> {
    let mut query = String::new();
    write_announce_query(announce, tracker_id, &mut query);
    let query = query.trim_start_matches('?');
    let response = client.get(&request(target, options, query)).await?;
    let body = body(&response)?;
    match read_announce_reply(body).map_err(Trouble::Unreadable)? {
        Answer::Refused(failure) => Ok(said_no(&failure, target)),
        Answer::Given(answer) => Ok(Said::Given(Given {
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
    options: &Options,
    target: &Target,
    hash: InfoHash,
) -> Result<(), Trouble> {
    let url = scrape_url(target.url.expose()).and_then(|url| weir_config::SecretUrl::parse(&url));
    if let Some(url) = url {
        let mut query = String::new();
        write_scrape_query([hash], &mut query);
        let request = Request {
            url: &url,
            ..request(target, options, query.trim_start_matches('?'))
        };
        let response = client.get(&request).await?;
        match body(&response) {
            Ok(body) => return readable(read_scrape_reply(body).map(drop)),
            // It may be that it knows no scrapes.
            Err(Trouble::Status(400..500)) => {}
            Err(trouble) => return Err(trouble),
        }
    }
    let response = client.get(&request(target, options, "")).await?;
    readable(read_announce_reply(body(&response)?).map(drop))
}

fn readable(read: Result<(), weir_tracker_proto::ReplyError>) -> Result<(), Trouble> {
    read.map_err(Trouble::Unreadable)
}

fn request<'a>(target: &'a Target, options: &Options, query: &'a str) -> Request<'a> {
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

fn body(response: &Response) -> Result<&[u8], Trouble> {
    if let Some(overload) = response.overload() {
        let retry_after = overload.retry_after;
        return Err(Trouble::Overload { retry_after });
    }
    match response.status {
        200..300 => Ok(&response.body),
        status => Err(Trouble::Status(status)),
    }
}
