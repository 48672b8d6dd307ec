//! Announces and scrapes over HTTP and HTTPS.

use weir_config::SecretUrl;
use weir_engine::Fault;
use weir_net::http::{Request, Response};
use weir_tracker_proto::http::{
    Answer, Failure, read_announce_reply, read_scrape_reply, scrape_url, write_announce_query,
    write_scrape_query,
};
use weir_tracker_proto::{Announce, InfoHash, ReplyError};

use super::{GivenAnswer, NoUsableAnswer, Outbound, Said, TrackerTarget, endpoints, said_no};

/// Bytes of an answer: room for more peers than are taken of one, also as dictionaries.
const BODY_LIMIT: usize = 256 << 10;
/// Redirects that are followed: to HTTPS, to another host, to another path. More are a loop.
const REDIRECTS: u8 = 3;

impl Outbound {
    pub(super) async fn announce_http(
        &self,
        target: &TrackerTarget,
        announce: &Announce,
        tracker_id: Option<&[u8]>,
    ) -> Result<Said, NoUsableAnswer> {
        let mut query = String::new();
        write_announce_query(announce, tracker_id, &mut query);
        let response = self.get(&self.request(target, &query)).await?;
        match read_announce_reply(&response.body).map_err(NoUsableAnswer::Unreadable)? {
            Answer::Refused(failure) => Ok(said_no(&failure, target)),
            Answer::Given(answer) => Ok(Said::Given(GivenAnswer {
                interval: answer.interval,
                min_interval: answer.min_interval,
                seeders: answer.complete,
                leechers: answer.incomplete,
                peers: endpoints(answer.peers.addresses()),
                tracker_id: answer.tracker_id.map(Into::into),
                external: answer.external_ip,
                from: response.from.or_else(|| target.literal()),
            })),
        }
    }

    /// Any readable answer will do.
    pub(super) async fn scrape_http(
        &self,
        target: &TrackerTarget,
        hash: InfoHash,
    ) -> Result<(), NoUsableAnswer> {
        let url = scrape_url(target.url.expose()).and_then(|url| SecretUrl::parse(&url));
        if let Some(url) = url {
            let mut query = String::new();
            write_scrape_query([hash], &mut query);
            let request = Request {
                url: &url,
                ..self.request(target, &query)
            };
            match self.get(&request).await {
                Ok(response) => {
                    let reply = read_scrape_reply(&response.body);
                    return match reply.map_err(NoUsableAnswer::Unreadable)? {
                        Answer::Given(_) => Ok(()),
                        Answer::Refused(failure) => Err(refused(&failure, target)),
                    };
                }
                // It may be that it knows no scrapes.
                Err(Fault::Status(400..500)) => {}
                Err(fault) => return Err(fault.into()),
            }
        }
        let response = self.get(&self.request(target, "")).await?;
        readable(read_announce_reply(&response.body).map(drop))
    }

    async fn get(&self, request: &Request<'_>) -> Result<Response, Fault> {
        Fault::check(self.http.get(request).await?)
    }

    fn request<'a>(&self, target: &'a TrackerTarget, query: &'a str) -> Request<'a> {
        Request {
            query: query.trim_start_matches('?'),
            host: target.host.as_deref(),
            proxy: target.proxy.as_ref(),
            family: target.family,
            body_limit: BODY_LIMIT,
            redirects: REDIRECTS,
            reach: self.reach(target),
            ..Request::new(&target.url)
        }
    }
}

/// A refusal of a scrape, which says nothing against the tracker.
fn refused(failure: &Failure<'_>, target: &TrackerTarget) -> NoUsableAnswer {
    match said_no(failure, target) {
        Said::Refused { reason, .. } => NoUsableAnswer::No(reason),
        Said::Given(_) => NoUsableAnswer::No(String::new()),
    }
}

fn readable(read: Result<(), ReplyError>) -> Result<(), NoUsableAnswer> {
    read.map_err(NoUsableAnswer::Unreadable)
}
