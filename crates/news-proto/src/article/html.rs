//! HTML of strangers made harmless, and made text.
//!
//! Two steps. First our own: markup is read in one pass and written anew, with nothing but the tags
//! of a short list, nested properly and not deeply, and nothing but text and the addresses of links
//! taken from the original. Then ammonia, with the same list, has the last word: it reads HTML as
//! browsers do, so that what we overlook does not get through.
//!
//! Ammonia alone will not do: its tree builder (html5ever) looks through all open elements for
//! many tags, and 64 KiB of `<b a=1><b a=2>…` take it two seconds, 256 KiB half a minute. Of what the
//! first step writes, 128 KiB take at most 0.1 s.
//!
//! Nothing in the result loads anything: there are no images, styles or scripts.

mod plain;
mod tidy;
mod token;

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};

use super::damage::{Damage, Report};
use super::limits;

/// HTML that a page may contain as it is. Only the sanitiser makes it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SafeHtml(String);

impl SafeHtml {
    /// The markup.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What links may lead to.
const SCHEMES: [&str; 6] = ["http", "https", "ftp", "mailto", "news", "nntp"];

static SANITISER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::empty();
    builder
        .tags(tidy::TAGS.into_iter().collect())
        .tag_attributes(HashMap::from([("a", HashSet::from(["href"]))]))
        .url_schemes(SCHEMES.into_iter().collect())
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("nofollow noopener noreferrer"))
        .strip_comments(true);
    builder
});

/// Makes HTML harmless.
pub(super) fn sanitise(html: &str, report: &mut Report) -> SafeHtml {
    let (tidy, is_whole) = tidy::tidy(html, limits::HTML_BYTES);
    if !is_whole {
        report.add(Damage::LongHtml);
    }
    SafeHtml(SANITISER.clean(&tidy).to_string())
}

/// What HTML says, as lines of plain text.
pub(super) fn to_text(html: &str) -> String {
    plain::plain(html)
}

/// The character set that an HTML document names in itself.
pub(super) fn charset(html: &[u8]) -> Option<String> {
    let start = String::from_utf8_lossy(&html[..html.len().min(1_024)]).to_ascii_lowercase();
    let (_, after) = start.split_once("charset=")?;
    let after = after.trim_start_matches(['"', '\'', ' ']);
    let end = after.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'));
    Some(after[..end.unwrap_or(after.len())].to_owned()).filter(|name| !name.is_empty())
}

/// Whether a link may lead there. White space and control characters are gone already.
fn is_allowed(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        SCHEMES
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(scheme))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(html: &str) -> String {
        sanitise(html, &mut Report::default()).0
    }

    #[test]
    fn text_and_simple_markup_stay() {
        for html in [
            "<p>one <b>two</b> <i>three</i></p>",
            "<ul><li>a</li><li>b</li></ul>",
            "<blockquote><pre>x\n  y</pre></blockquote>",
            "<table><tbody><tr><td>1</td><td>2</td></tr></tbody></table>",
            "a &amp; b &lt; c",
        ] {
            assert_eq!(clean(html), html);
        }
    }

    #[test]
    fn links_lead_only_where_they_may() {
        let rel = " rel=\"nofollow noopener noreferrer\"";
        assert_eq!(
            clean("<a href='http://a.example/?a=1&amp;b=2' onclick=x>x</a>"),
            format!("<a href=\"http://a.example/?a=1&amp;b=2\"{rel}>x</a>")
        );
        assert_eq!(
            clean("<a href=news:a.b>x</a>"),
            format!("<a href=\"news:a.b\"{rel}>x</a>")
        );
        for address in [
            "javascript:alert(1)",
            " java\tscript:alert(1)",
            "&#106;avascript:alert(1)",
            "javascript&colon;alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "//a.example/",
            "/local",
            "x",
            "\u{1}javascript:x",
            "blob:x",
            "",
        ] {
            assert_eq!(
                clean(&format!("<a href=\"{address}\">x</a>")),
                "x",
                "{address}"
            );
        }
    }

    #[test]
    fn everything_that_runs_or_loads_is_gone() {
        for html in [
            "<script>alert(1)</script>x",
            "<style>@import 'x'</style>x",
            "<svg><script>a</script></svg>x",
            "<math><mi>a</mi></math>x",
            "<iframe src=x>a</iframe>x",
            "<img src=http://a.example/t.gif>x",
            "<object data=x>a</object>x",
            "<link rel=stylesheet href=x>x",
            "<base href=x>x",
            "<!-- a -->x",
            "<meta http-equiv=refresh content=0>x",
            "<template>a</template>x",
            "<input autofocus onfocus=a>x",
            "<div style='background:url(x)' id=a class=b onclick=c></div>x",
            "<video src=x>a</video>x",
            "<noscript><p title=\"</noscript><img src=x onerror=a>\"></noscript>x",
        ] {
            let cleaned = clean(html);
            let text = cleaned.replace("<div></div>", "").replace("\"&gt;", "");
            assert_eq!(text, "x", "{html}");
        }
    }

    #[test]
    fn a_description_stands_for_an_image() {
        assert_eq!(clean("<img src=x alt='a &lt;b&gt;'>"), "[a &lt;b&gt;]");
    }

    #[test]
    fn what_is_too_long_is_cut_and_reported() {
        let mut report = Report::default();
        let html = sanitise(&"<p>x</p>".repeat(40_000), &mut report);
        assert!(html.as_str().len() <= limits::HTML_BYTES + 100);
        assert_eq!(report.into_list(), [Damage::LongHtml]);
    }

    #[test]
    fn documents_name_their_character_set() {
        assert_eq!(
            charset(b"<meta charset=\"KOI8-R\">").as_deref(),
            Some("koi8-r")
        );
        assert_eq!(
            charset(b"<META content='text/html; charset=gb2312'>").as_deref(),
            Some("gb2312")
        );
        assert_eq!(charset(b"<p>charset="), None);
    }
}
