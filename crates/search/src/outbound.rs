//! Calls to indexers: one search, one caps document or one file, and what came back as a plain value.
//!
//! The time of an attempt is bounded by the engine, which drops the call; when there is another is not decided here.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use percent_encoding::utf8_percent_encode;
use weir_config::{ENCODED, Secret, SecretUrl, Secrets};
use weir_engine::{Outcome, Permit, Reason, Trouble as Weather};
use weir_net::http::{Client, Request, Response};
use weir_net::{Error, Ground, Home, LONG, Reach, aside};
use weir_search_proto::error::code;
use weir_search_proto::{Caps, Feed, Query, Release, Unreadable};

use crate::config::indexer::Indexer;

/// Redirects that are followed.
const REDIRECTS: u8 = 5;
/// Parts of a path that are shorter are words.
const SECRET_IN_PATH: usize = 16;

/// The way out for all indexers.
pub(crate) struct Outbound {
    http: Client,
    options: Options,
}

/// How indexers are called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Whether indexers may have private addresses.
    pub(crate) private: bool,
    /// Whether links may lead to private addresses that are not the indexer's own.
    pub(crate) private_links: bool,
    /// Bytes of an answer at most.
    pub(crate) answer_limit: usize,
    /// Bytes of a file at most.
    pub(crate) file_limit: usize,
}

/// An indexer to call.
#[derive(Debug)]
pub(crate) struct Target {
    url: SecretUrl,
    home: Home,
    key: Option<Secret>,
    proxy: Option<SecretUrl>,
    /// What only it and we should know, in all forms that it may be written in.
    secrets: Arc<Secrets>,
}

/// A good answer to a search, and the bytes it was read from.
pub(crate) struct Found {
    pub(crate) feed: Feed,
    pub(crate) body: Bytes,
    pub(crate) charset: Option<String>,
}

/// What a link led to.
#[derive(Clone, Debug)]
pub(crate) enum File {
    /// Torrent or NZB.
    Bytes(Bytes),
    /// A magnet link instead of one.
    Magnet(String),
}

/// Why an indexer gave nothing that can be used. Displays without secrets.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("it answered that it is asked too often")]
    Overload { retry_after: Option<Duration> },
    #[error("its limit is reached: {0}")]
    Limit(String),
    #[error("its limit is reached: {0}")]
    Downloads(String),
    #[error("it does not accept our key: {0}")]
    Key(String),
    #[error("it does not take this question: {0}")]
    Question(String),
    #[error("it has no such file")]
    Missing,
    #[error("it said: {0}")]
    Said(String),
    #[error("it answered {0}")]
    Status(u16),
    #[error("its answer cannot be read: {0}")]
    Unreadable(Arc<Unreadable>),
    #[error("{0}")]
    NotAFile(&'static str),
    #[error(transparent)]
    Net(#[from] Error),
}

impl Trouble {
    /// Whether it is there, but does not say what it can do. That is found out by asking.
    pub(crate) fn is_no_caps(&self) -> bool {
        matches!(
            self,
            Self::Unreadable(_) | Self::Question(_) | Self::Missing | Self::Status(404)
        )
    }
}

impl Target {
    pub(crate) fn new(config: &Indexer) -> Self {
        Self {
            url: config.url.clone(),
            home: Home::new(&config.url),
            key: config.api_key.clone(),
            proxy: config.proxy.clone(),
            secrets: Arc::new(Secrets::of(&config.url, config.api_key.as_ref(), |part| {
                part.len() >= SECRET_IN_PATH
            })),
        }
    }

    /// The query of one call.
    fn query(&self, parameters: &[(&str, String)]) -> String {
        let mut query = String::new();
        let key = self.key.as_ref().map(|key| ("apikey", key.expose()));
        let parameters = parameters
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        for (name, value) in parameters.chain(key) {
            let and = if query.is_empty() { "" } else { "&" };
            let value = utf8_percent_encode(value, ENCODED);
            write!(query, "{and}{name}={value}").expect("memory takes everything");
        }
        query
    }

    /// Whether an address is the indexer's own: the same scheme, host and port.
    pub(crate) fn is_at(&self, url: &SecretUrl) -> bool {
        self.home.is_at(url)
    }

    /// The configuration was read again: its name may lead elsewhere now.
    pub(crate) fn look_up_anew(&self) {
        self.home.forget();
    }

    /// What takes secrets out of a release, for whoever reads its answers, on any thread.
    pub(crate) fn scrub(&self) -> impl Fn(&mut Release) + Send + use<> {
        let secrets = self.secrets.clone();
        move |release| scrub(&secrets, release)
    }
}

/// Takes away what tells a secret and is shown to clients. The address of the file stays: they never see it.
fn scrub(secrets: &Secrets, release: &mut Release) {
    let tells = |text: &str| secrets.tells(text);
    release.details.take_if(|details| tells(details));
    release.attributes.retain(|(_, value)| !tells(value));
}

fn trouble(secrets: &Secrets, unreadable: Unreadable) -> Trouble {
    let Unreadable::Error(error) = unreadable else {
        return Trouble::Unreadable(Arc::new(unreadable));
    };
    let words = secrets.words(&error.description);
    let limit = words.to_lowercase().contains("limit reached");
    match error.code {
        100..200 => Trouble::Key(words),
        code::NO_SUCH_ITEM => Trouble::Missing,
        code::REQUEST_LIMIT => Trouble::Limit(words),
        code::DOWNLOAD_LIMIT => Trouble::Downloads(words),
        _ if limit => Trouble::Limit(words),
        200..300 => Trouble::Question(words),
        429 => Trouble::Overload { retry_after: None },
        other => Trouble::Said(format!("{words} (error {other})")),
    }
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

impl Options {
    /// Which private addresses an indexer's answers, redirects and links may lead to.
    fn reach(self, target: &Target) -> Reach<'_> {
        match self.private {
            true => Reach::Home(&target.home),
            false => Reach::Public,
        }
    }
}

impl Outbound {
    pub(crate) fn new(ground: Arc<dyn Ground>, options: Options) -> Result<Self, Error> {
        let limits = weir_net::http::Limits::default();
        let http = Client::new(ground, weir_net::Roots::System, limits)?;
        Ok(Self { http, options })
    }

    /// Asks an indexer a question; `limit` is how many releases we want at most.
    pub(crate) async fn search(
        &self,
        target: &Target,
        query: &Query,
        limit: u32,
    ) -> Result<Found, Trouble> {
        let mut parameters = query.parameters();
        parameters.push(("extended", "1".into()));
        parameters.push(("limit", limit.to_string()));
        parameters.push(("offset", "0".into()));
        let (body, charset) = self.document(target, &parameters).await?;
        let (said, scrub) = (charset.clone(), target.scrub());
        let feed = read(&body, move |body| {
            let feed = weir_search_proto::read_feed(body, said.as_deref());
            feed.map(|mut feed| {
                feed.releases.iter_mut().for_each(scrub);
                feed
            })
        });
        let feed = feed
            .await
            .map_err(|unreadable| trouble(&target.secrets, unreadable))?;
        Ok(Found {
            feed,
            body,
            charset,
        })
    }

    /// Asks an indexer what it can do.
    pub(crate) async fn caps(&self, target: &Target) -> Result<Caps, Trouble> {
        let (body, charset) = self.document(target, &[("t", "caps".to_owned())]).await?;
        let caps = read(&body, move |body| Caps::read(body, charset.as_deref()));
        caps.await
            .map_err(|unreadable| trouble(&target.secrets, unreadable))
    }

    /// Gets the file behind a link of a release.
    pub(crate) async fn fetch(&self, target: &Target, url: &SecretUrl) -> Result<File, Trouble> {
        let request = Request {
            proxy: target.proxy.as_ref(),
            body_limit: self.options.file_limit,
            redirects: REDIRECTS,
            reach: match self.options.private_links {
                true => Reach::Everywhere,
                false => self.options.reach(target),
            },
            ..Request::new(url)
        };
        let response = self.http.get(&request).await?;
        if let Some(magnet) = response.header("location").filter(|to| is_magnet(to)) {
            return Ok(File::Magnet(magnet.to_owned()));
        }
        let response = judged(response)?;
        if response.body.starts_with(b"magnet:?") {
            let text = String::from_utf8_lossy(&response.body);
            return Ok(File::Magnet(text.trim().to_owned()));
        }
        let secrets = target.secrets.clone();
        read(&response.body, move |body| check_file(&secrets, body)).await?;
        Ok(File::Bytes(response.body))
    }

    async fn document(
        &self,
        target: &Target,
        parameters: &[(&str, String)],
    ) -> Result<(Bytes, Option<String>), Trouble> {
        let query = target.query(parameters);
        let request = Request {
            query: &query,
            proxy: target.proxy.as_ref(),
            body_limit: self.options.answer_limit,
            redirects: REDIRECTS,
            reach: self.options.reach(target),
            accept: "application/rss+xml, application/xml, text/xml, */*;q=0.1",
            ..Request::new(&target.url)
        };
        let response = self.http.get(&request).await?;
        // Some say with an error's status what they say as an error document, which is never long.
        if response.status >= 400
            && response.body.len() <= LONG
            && let Err(Unreadable::Error(error)) =
                weir_search_proto::read_feed(&response.body, None)
            && response.overload().is_none()
        {
            return Err(trouble(&target.secrets, Unreadable::Error(error)));
        }
        let response = judged(response)?;
        let charset = response.content_type.as_deref().and_then(charset);
        Ok((response.body, charset))
    }
}

fn judged(response: Response) -> Result<Response, Trouble> {
    if let Some(overload) = response.overload() {
        let retry_after = overload.retry_after;
        return Err(Trouble::Overload { retry_after });
    }
    match response.status {
        200..300 => Ok(response),
        status => Err(Trouble::Status(status)),
    }
}

fn is_magnet(url: &str) -> bool {
    url.get(..8)
        .is_some_and(|start| start.eq_ignore_ascii_case("magnet:?"))
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

/// Whether these bytes are a torrent or an NZB: an indexer's page or error must not become a file.
fn check_file(secrets: &Secrets, body: &[u8]) -> Result<(), Trouble> {
    if body.first() == Some(&b'd') {
        let info = body.windows(6).any(|part| part == b"4:info");
        return match info && body.ends_with(b"e") {
            true => Ok(()),
            false => Err(Trouble::NotAFile("what it gave is not a whole torrent")),
        };
    }
    let start = String::from_utf8_lossy(&body[..body.len().min(4096)]).to_lowercase();
    if start.contains("<nzb") {
        return Ok(());
    }
    match weir_search_proto::read_feed(body, None) {
        Err(error @ Unreadable::Error(_)) => Err(trouble(secrets, error)),
        Err(Unreadable::Html) => Err(Trouble::NotAFile("it gave a page instead of a file")),
        _ => Err(Trouble::NotAFile("what it gave is neither torrent nor NZB")),
    }
}

/// What trouble means for the engine.
pub(crate) fn outcome(trouble: &Trouble, permit: &Permit) -> Outcome {
    let rejected = |reason| Outcome::Rejected { reason };
    match trouble {
        Trouble::Overload { retry_after } => Outcome::Throttled {
            retry_after: *retry_after,
        },
        Trouble::Limit(_) | Trouble::Downloads(_) => Outcome::Throttled { retry_after: None },
        Trouble::Key(_) => rejected(Reason::NotAllowed),
        Trouble::Question(_) | Trouble::Missing => Outcome::No,
        Trouble::Status(401) => rejected(Reason::NotAllowed),
        Trouble::Status(status @ 400..500) => rejected(Reason::Status(*status)),
        Trouble::Status(500..) => Outcome::Unavailable,
        Trouble::Status(_) | Trouble::Said(_) | Trouble::Unreadable(_) | Trouble::NotAFile(_) => {
            Outcome::Broken
        }
        Trouble::Net(error) => match error {
            Error::NoSuchHost | Error::NoAddress => rejected(Reason::NoSuchHost),
            Error::Refused => Outcome::Unavailable,
            Error::NoRoute | Error::Unreachable => {
                permit.blame(Weather::NoRoute, rejected(Reason::NoRoute))
            }
            Error::SilentDns => permit.blame(Weather::SilentDns, Outcome::Unavailable),
            Error::Untrusted(_) | Error::Forbidden(_) | Error::Moved(_) | Error::LocalName => {
                rejected(Reason::Untrusted)
            }
            Error::TooLarge { .. } | Error::TooMany(_) | Error::Unreadable | Error::Redirects => {
                Outcome::Broken
            }
            _ => Outcome::Unavailable,
        },
    }
}

/// The same for a file: that one link is dead says nothing of the indexer, nor does a host that is not its own.
pub(crate) fn outcome_of_file(trouble: &Trouble, own_host: bool, permit: &Permit) -> Outcome {
    match trouble {
        Trouble::Overload { .. } | Trouble::Limit(_) | Trouble::Key(_) if own_host => {
            outcome(trouble, permit)
        }
        Trouble::Net(
            Error::Forbidden(_)
            | Error::LocalName
            | Error::TooLarge { .. }
            | Error::TooMany(_)
            | Error::NoSuchHost
            | Error::Redirects
            | Error::Unreadable,
        ) => Outcome::No,
        Trouble::Net(_) if own_host => outcome(trouble, permit),
        // One whose downloads are used up still answers questions.
        _ => Outcome::No,
    }
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
