//! Addresses of pages, written and read. What is no name and no Message-ID never gets past here.

use axum::http::StatusCode;
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use weir_config::ENCODED;
use weir_news_proto::{MessageId, Newsgroup};
use weir_web::Failure;

use crate::model::ThreadPlace;

/// The list of newsgroups.
pub(crate) const NEWS: &str = "/news";

/// Where stored articles are searched. A newsgroup of just this name cannot be opened.
pub(crate) const SEARCH: &str = "/news/search";

/// Pages beyond this are nobody's wish; the number is multiplied later.
pub(crate) const MOST_PAGES: usize = 1_000_000;

/// The threads of a newsgroup.
pub(crate) fn newsgroup(name: &str) -> String {
    format!("/news/{}", utf8_percent_encode(name, ENCODED))
}

/// A thread as it is read in a newsgroup.
pub(crate) fn thread(newsgroup: &Newsgroup, root: &MessageId) -> String {
    format!("{}/{}", self::newsgroup(newsgroup.as_str()), encoded(root))
}

/// A thread, opened at one of its articles.
pub(crate) fn thread_at(newsgroup: &Newsgroup, root: &MessageId, article: &MessageId) -> String {
    let mut address = self::thread(newsgroup, root);
    if article != root {
        address.push_str("?article=");
        address.extend(utf8_percent_encode(article.bare(), ENCODED));
    }
    address.push('#');
    address.push_str(&anchor(article));
    address
}

/// An article by itself, whatever newsgroup it is in.
pub(crate) fn article(id: &MessageId) -> String {
    format!("/news/article/{}", encoded(id))
}

/// The place of an article on the page of its thread. Script knows read articles by it, so it must never change.
pub(crate) fn anchor(id: &MessageId) -> String {
    // FNV-1a, of which forty bits are kept.
    let hash = id.bare().bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("m{:010x}", hash & 0xff_ffff_ffff)
}

/// An address with another page; the first one has no number.
pub(crate) fn page(address: &str, page: usize) -> String {
    match page {
        0 => address.to_owned(),
        page => format!("{address}?page={}", page + 1),
    }
}

/// The number of a page as a form sends it; empty for the first.
pub(crate) fn page_number(page: usize) -> String {
    match page {
        0 => String::new(),
        page => (page + 1).to_string(),
    }
}

fn encoded(id: &MessageId) -> percent_encoding::PercentEncode<'_> {
    utf8_percent_encode(id.bare(), ENCODED)
}

/// What an address may ask for beside its path. All of it is text, so that every mistake gets a page of ours.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NewsView {
    page: String,
    /// Open the page of a thread on which this article is.
    article: String,
    /// `plain` is the text alone.
    pub(crate) view: String,
    pub(crate) rot13: String,
    /// Words that newsgroups must have.
    pub(crate) q: String,
    /// Newsgroups whose names begin like this.
    pub(crate) under: String,
}

impl NewsView {
    /// Which page, counted from 0.
    pub(crate) fn page(&self) -> Result<usize, Failure> {
        read_page(&self.page)
    }

    /// Which page of a thread.
    pub(crate) fn place(&self) -> Result<ThreadPlace, Failure> {
        match self.article.as_str() {
            "" => self.page().map(ThreadPlace::Page),
            id => read_id(id).map(ThreadPlace::Article),
        }
    }
}

/// The page that an address asks for, counted from 0.
pub(crate) fn read_page(text: &str) -> Result<usize, Failure> {
    match text {
        "" => Ok(0),
        text => match text.parse::<usize>() {
            Ok(page @ 1..=MOST_PAGES) => Ok(page - 1),
            _ => Err(wrong(
                "A page is a number from 1.",
                "Leave out page to see the first one.",
            )),
        },
    }
}

/// The newsgroup that a path names.
pub(crate) fn read_newsgroup(text: &str) -> Result<Newsgroup, Failure> {
    text.parse().map_err(|_| {
        Failure::unknown(
            "This is not the name of a newsgroup.",
            "Names look like comp.lang.rust; the list of newsgroups is at /news.",
        )
    })
}

/// The Message-ID that a path names, without its brackets; with them is understood too.
pub(crate) fn read_id(text: &str) -> Result<MessageId, Failure> {
    let bare = text.strip_prefix('<').unwrap_or(text);
    let bare = bare.strip_suffix('>').unwrap_or(bare);
    MessageId::from_bare(bare).map_err(|_| {
        Failure::unknown(
            "This is not a Message-ID.",
            "One looks like 20261110.4711@news.example and has no spaces.",
        )
    })
}

fn wrong(sentence: &str, advice: &str) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, sentence, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_odd_in_an_id_is_escaped_and_read_back() {
        let id: MessageId = "<a/b?c#d%e&'\"@x.example>".parse().unwrap();
        let address = article(&id);
        assert_eq!(
            address,
            "/news/article/a%2Fb%3Fc%23d%25e%26%27%22%40x.example"
        );
        assert_eq!(read_id("a/b?c#d%e&'\"@x.example").unwrap(), id);
        assert_eq!(read_id(id.as_str()).unwrap(), id);
        let group: Newsgroup = "comp.lang.c++".parse().unwrap();
        assert_eq!(
            thread_at(&group, &id, &"<2@x>".parse().unwrap()),
            format!(
                "/news/comp.lang.c%2B%2B/a%2Fb%3Fc%23d%25e%26%27%22%40x.example?article=2%40x#{}",
                anchor(&"<2@x>".parse().unwrap())
            )
        );
    }

    #[test]
    fn what_is_no_name_and_no_id_is_refused() {
        let long = "x".repeat(251);
        for text in ["", "a b", "a\r\nQUIT", "a>b", "é@x", &long] {
            assert!(read_id(text).is_err(), "{text:?}");
        }
        for text in ["", "a b", "a\nb", "a*", "<script>"] {
            assert!(read_newsgroup(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn pages_are_counted_from_one_in_addresses() {
        let view = |page: &str| NewsView {
            page: page.to_owned(),
            ..NewsView::default()
        };
        assert_eq!(view("").page().unwrap(), 0);
        assert_eq!(view("2").page().unwrap(), 1);
        for odd in ["0", "-1", "x", "99999999999999999999", "1000001"] {
            assert!(view(odd).page().is_err(), "{odd}");
        }
        assert_eq!(page("/news/a", 0), "/news/a");
        assert_eq!(page("/news/a", 1), "/news/a?page=2");
    }

    #[test]
    fn anchors_never_change() {
        let id = "<1@news.example>".parse().unwrap();
        assert_eq!(anchor(&id), "m0f7cc5970f");
    }
}
