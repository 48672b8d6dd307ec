//! Why there is nothing to read: what is so, and what to do. The same words for pages and the API.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use weir_engine::words::counted;
use weir_web::{Failure, Visitor};

use super::address;
use super::currency::{SilentLine, listed, silent};
use super::when::{Times, When};
use crate::reading::{SilentServer, Unread};

/// Seconds after which a client should try again when nobody could be asked and nothing says when they can.
const LATER: u64 = 60;

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    /// The list of newsgroups.
    Newsgroups,
    /// A newsgroup's threads.
    Newsgroup(&'a str),
    /// A thread in a newsgroup.
    Thread(&'a str),
    /// An article.
    Article,
}

#[derive(Template)]
#[template(path = "news_trouble.html")]
struct TroublePage {
    /// The way back.
    up: (String, String),
    heading: &'static str,
    sentence: String,
    advice: String,
    near: Vec<(String, String)>,
    silent: Vec<SilentLine>,
    /// When everybody was asked in vain.
    asked: Option<When>,
    /// The lines to add, and the file to add them to.
    lines: Option<(String, String)>,
    /// The last page that there is.
    last: Option<String>,
}

impl Unread {
    /// The status that says the same.
    pub(crate) fn status(&self, wanted: Wanted<'_>) -> StatusCode {
        match (self, wanted) {
            // There is a list, and it is empty.
            (Self::NoServers, Wanted::Newsgroups) => StatusCode::OK,
            (Self::Busy { .. } | Self::Unreachable(_), _) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::NOT_FOUND,
        }
    }

    /// Seconds after which another try makes sense.
    pub(crate) fn retry_after(&self, now: i64) -> Option<u64> {
        match self {
            Self::Busy { retry_after } => Some((*retry_after).max(1)),
            Self::Unreachable(servers) => Some(next_try(servers, now)),
            _ => None,
        }
    }

    /// The same for a program.
    pub(crate) fn failure(&self, wanted: Wanted<'_>, now: i64) -> Failure {
        let (_, sentence, advice) = self.words(wanted);
        let status = match self {
            Self::NoServers => StatusCode::NOT_FOUND,
            _ => self.status(wanted),
        };
        let failure = Failure::new(status, sentence, advice);
        match self.retry_after(now) {
            Some(seconds) => failure.retry_after(seconds),
            None => failure,
        }
    }

    /// Heading, sentence and advice.
    fn words(&self, wanted: Wanted<'_>) -> (&'static str, String, String) {
        let owned = |heading, sentence: &str, advice: &str| {
            (heading, sentence.to_owned(), advice.to_owned())
        };
        match self {
            Self::NoServers => owned(
                "No news server yet",
                "No news server is configured, so there is nothing to read.",
                "Add one under news.servers in the configuration file; It takes effect at the next reload.",
            ),
            Self::NoNewsgroup { near } => {
                let sentence = match wanted {
                    Wanted::Newsgroup(name) | Wanted::Thread(name) => format!("No server carries {name}."),
                    _ => "No server carries this newsgroup.".to_owned(),
                };
                let advice = match near.is_empty() {
                    true => "Look for it in the list of newsgroups.".to_owned(),
                    false => format!("Did you mean {}?", listed(near)),
                };
                ("Unknown newsgroup", sentence, advice)
            }
            Self::NoArticle(absence) => (
                "Article not found",
                match absence.servers.as_slice() {
                    [] => "No server has this article.".to_owned(),
                    [one] => format!("{one} does not have this article."),
                    servers => format!("Neither of these has this article: {}.", listed(servers)),
                },
                "Servers remove articles after a while, and authors can withdraw them. Check the Message-ID, or try again later."
                    .to_owned(),
            ),
            Self::NoPage { pages } => (
                "No such page",
                match pages {
                    0 => "There is nothing here yet.".to_owned(),
                    pages => format!("There are only {}.", counted(*pages as u64, "page", "pages")),
                },
                "Older articles may have been removed since the link was made.".to_owned(),
            ),
            Self::Busy { retry_after } => (
                "Busy",
                "Too much is being fetched at once, and this is not stored yet.".to_owned(),
                format!("Try again in {}.", counted((*retry_after).max(1), "second", "seconds")),
            ),
            Self::Unreachable(servers) => (
                "No server answers",
                match servers.len() {
                    1 => "The news server did not answer, and this is not stored yet.".to_owned(),
                    _ => "No news server answered, and this is not stored yet.".to_owned(),
                },
                "What has been read before stays readable. Weir asks the servers again by itself.".to_owned(),
            ),
        }
    }
}

/// The page about it.
pub(crate) fn show(visitor: &Visitor, unread: &Unread, wanted: Wanted<'_>, now: i64) -> Response {
    let times = Times::new(Some(now));
    let (heading, sentence, advice) = unread.words(wanted);
    let page = TroublePage {
        up: up(wanted, unread),
        heading,
        sentence,
        advice,
        near: match unread {
            Unread::NoNewsgroup { near } => near
                .iter()
                .map(|name| (name.clone(), address::newsgroup(name)))
                .collect(),
            _ => Vec::new(),
        },
        silent: match unread {
            Unread::Unreachable(servers) => silent(servers, &times),
            _ => Vec::new(),
        },
        asked: match unread {
            Unread::NoArticle(absence) => Some(times.full(absence.at)),
            _ => None,
        },
        lines: match unread {
            Unread::NoServers => Some((visitor.config_file(), visitor.upstreams_file())),
            _ => None,
        },
        last: match (unread, wanted) {
            (Unread::NoPage { pages }, Wanted::Newsgroup(name)) if *pages > 0 => {
                Some(address::page(&address::newsgroup(name), pages - 1))
            }
            _ => None,
        },
    };
    let title = format!("{heading} · News");
    let mut response = (unread.status(wanted), visitor.show(&title, &page)).into_response();
    if let Some(seconds) = unread.retry_after(now) {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn up(wanted: Wanted<'_>, unread: &Unread) -> (String, String) {
    match (wanted, unread) {
        (_, Unread::NoNewsgroup { .. } | Unread::NoServers) => {}
        (Wanted::Newsgroup(name) | Wanted::Thread(name), _) => {
            return (name.to_owned(), address::newsgroup(name));
        }
        _ => {}
    }
    ("News".to_owned(), address::NEWS.to_owned())
}

/// Seconds until the first of them may be asked again.
fn next_try(servers: &[SilentServer], now: i64) -> u64 {
    let first = servers.iter().filter_map(|server| server.retry_at).min();
    let wait = first.and_then(|at| u64::try_from(at.saturating_sub(now)).ok());
    wait.unwrap_or(LATER).clamp(1, 3600)
}
