//! Calls to indexers: one search, one caps document or one file, and what came back as a plain value.
//!
//! The time of an attempt is bounded by the engine, which drops the call; when there is another is not decided here.

mod address;

use std::sync::Arc;

use bytes::Bytes;
use weir_config::{SecretUrl, Secrets};
use weir_engine::Fault;
use weir_net::http::{Client, Request};
use weir_net::{Error, Ground, LONG, Reach, aside};
use weir_search_proto::{Caps, Feed, Query, Unreadable, read_feed};

use crate::judge::IndexerFault;

pub(crate) use self::address::IndexerAddress;

/// Redirects that are followed; a loop ends here.
const REDIRECTS: u8 = 5;

/// The way out for all indexers.
pub(crate) struct Outbound {
    http: Client,
    bounds: Bounds,
}

/// How far and how much indexers are called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Whether indexers may have private addresses.
    pub(crate) private: bool,
    /// Whether links may lead to private addresses that are not the indexer's own.
    pub(crate) private_links: bool,
    /// Bytes of an answer at most.
    pub(crate) answer_limit: usize,
    /// Bytes of a file at most.
    pub(crate) file_limit: usize,
}

/// A good answer to a search, and the bytes it was read from.
pub(crate) struct FeedAnswer {
    pub(crate) feed: Feed,
    pub(crate) body: Bytes,
    pub(crate) charset: Option<String>,
}

/// What a link led to.
#[derive(Clone, Debug)]
pub(crate) enum Fetched {
    /// Torrent or NZB.
    Bytes(Bytes),
    /// A magnet link instead of one.
    Magnet(String),
}

/// Reads an answer: here if it is short, else where it keeps nobody waiting.
async fn read<T: Send + 'static>(
    body: &Bytes,
    read: impl FnOnce(&[u8]) -> T + Send + 'static,
) -> T {
    if body.len() <= LONG {
        return read(body);
    }
    let body = body.clone();
    aside(move || read(&body)).await
}

impl Bounds {
    /// Which private addresses an indexer's answers, redirects and links may lead to.
    fn reach(self, address: &IndexerAddress) -> Reach<'_> {
        match self.private {
            true => Reach::Home(&address.home),
            false => Reach::Public,
        }
    }
}

impl Outbound {
    pub(crate) fn new(ground: Arc<dyn Ground>, bounds: Bounds) -> Result<Self, Error> {
        let limits = weir_net::http::Limits::default();
        let http = Client::new(ground, weir_net::Roots::System, limits)?;
        Ok(Self { http, bounds })
    }

    /// Asks an indexer a question; `limit` is how many releases we want at most.
    pub(crate) async fn search(
        &self,
        address: &IndexerAddress,
        query: &Query,
        limit: u32,
    ) -> Result<FeedAnswer, IndexerFault> {
        let mut parameters = query.parameters();
        parameters.push(("extended", "1".into()));
        parameters.push(("limit", limit.to_string()));
        parameters.push(("offset", "0".into()));
        let (body, charset) = self.document(address, &parameters).await?;
        let (said, scrub) = (charset.clone(), address.scrub());
        let feed = read(&body, move |body| {
            let feed = read_feed(body, said.as_deref());
            feed.map(|mut feed| {
                feed.releases.iter_mut().for_each(scrub);
                feed
            })
        });
        let feed = feed.await.map_err(|unreadable| address.fault(unreadable))?;
        Ok(FeedAnswer {
            feed,
            body,
            charset,
        })
    }

    /// Asks an indexer what it can do.
    pub(crate) async fn caps(&self, address: &IndexerAddress) -> Result<Caps, IndexerFault> {
        let (body, charset) = self.document(address, &[("t", "caps".to_owned())]).await?;
        let caps = read(&body, move |body| Caps::read(body, charset.as_deref()));
        caps.await.map_err(|unreadable| address.fault(unreadable))
    }

    /// Gets the file behind a link of a release.
    pub(crate) async fn fetch(
        &self,
        address: &IndexerAddress,
        url: &SecretUrl,
    ) -> Result<Fetched, IndexerFault> {
        let request = Request {
            proxy: address.proxy.as_ref(),
            body_limit: self.bounds.file_limit,
            redirects: REDIRECTS,
            reach: match self.bounds.private_links {
                true => Reach::Everywhere,
                false => self.bounds.reach(address),
            },
            ..Request::new(url)
        };
        let response = self.http.get(&request).await.map_err(Fault::from)?;
        if let Some(magnet) = response.header("location").filter(|to| is_magnet(to)) {
            return Ok(Fetched::Magnet(magnet.to_owned()));
        }
        let response = Fault::check(response)?;
        if response.body.starts_with(b"magnet:?") {
            let text = String::from_utf8_lossy(&response.body);
            return Ok(Fetched::Magnet(text.trim().to_owned()));
        }
        let secrets = address.secrets.clone();
        read(&response.body, move |body| check_file(&secrets, body)).await?;
        Ok(Fetched::Bytes(response.body))
    }

    async fn document(
        &self,
        address: &IndexerAddress,
        parameters: &[(&str, String)],
    ) -> Result<(Bytes, Option<String>), IndexerFault> {
        let query = address.query(parameters);
        let request = Request {
            query: &query,
            proxy: address.proxy.as_ref(),
            body_limit: self.bounds.answer_limit,
            redirects: REDIRECTS,
            reach: self.bounds.reach(address),
            accept: "application/rss+xml, application/xml, text/xml, */*;q=0.1",
            ..Request::new(&address.url)
        };
        let response = self.http.get(&request).await.map_err(Fault::from)?;
        // Some say with an error's status what they say as an error document, which is never long. A status that asks
        // us to be patient does so whatever the document says.
        let fault = Fault::of_status(response.status, response.retry_after);
        if matches!(fault, Some(Fault::Status(400..)))
            && response.body.len() <= LONG
            && let Err(error @ Unreadable::Error(_)) = read_feed(&response.body, None)
        {
            return Err(address.fault(error));
        }
        let response = Fault::check(response)?;
        let charset = response.content_type.as_deref().and_then(charset);
        Ok((response.body, charset))
    }
}

/// The charset that a content type names.
fn charset(content_type: &str) -> Option<String> {
    let mut parts = content_type.split(';').skip(1);
    parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches('"');
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then(|| value.to_owned())
    })
}

fn is_magnet(url: &str) -> bool {
    url.get(..8)
        .is_some_and(|start| start.eq_ignore_ascii_case("magnet:?"))
}

/// Whether these bytes are a torrent or an NZB: an indexer's page or error must not become a file.
fn check_file(secrets: &Secrets, body: &[u8]) -> Result<(), IndexerFault> {
    if body.first() == Some(&b'd') {
        let info = body.windows(6).any(|part| part == b"4:info");
        return match info && body.ends_with(b"e") {
            true => Ok(()),
            false => Err(IndexerFault::NotAFile("it sent an incomplete torrent")),
        };
    }
    let start = String::from_utf8_lossy(&body[..body.len().min(4096)]).to_lowercase();
    if start.contains("<nzb") {
        return Ok(());
    }
    Err(match read_feed(body, None) {
        Err(error @ Unreadable::Error(_)) => IndexerFault::of_document(secrets, error),
        Err(Unreadable::Html) => IndexerFault::NotAFile("it sent a web page instead of a file"),
        _ => IndexerFault::NotAFile("it sent neither a torrent nor an NZB"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn long_answers_are_read_on_a_thread_of_their_own() {
        let thread = |length| async move {
            let body = Bytes::from(vec![b' '; length]);
            let read = read(&body, |body| (body.len(), std::thread::current().id()));
            read.await
        };
        let here = std::thread::current().id();
        assert_eq!(thread(LONG).await, (LONG, here));
        let (length, there) = thread(LONG + 1).await;
        assert_eq!(length, LONG + 1);
        assert_ne!(there, here);
    }
}
