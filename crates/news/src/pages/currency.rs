//! How current a page is, in words: when it was fetched, and which servers did not confirm it.

use askama::Template;

use super::when::{Times, When};
use crate::reading::{Currency, SilentServer};

/// What a page says about servers that did not answer; writes nothing if all did.
#[derive(Template)]
#[template(path = "news_currency.html")]
pub(crate) struct StaleNotice {
    silent: Vec<SilentLine>,
    checked: Option<When>,
    busy: bool,
}

/// A server that did not answer.
pub(crate) struct SilentLine {
    pub(crate) name: String,
    /// Without a full stop at its end.
    pub(crate) reason: String,
    pub(crate) retry: Option<When>,
}

impl StaleNotice {
    pub(crate) fn new(currency: &Currency, times: &Times) -> Self {
        Self {
            silent: silent(&currency.silent, times),
            checked: currency.checked.map(|seconds| times.full(seconds)),
            busy: currency.busy.is_some(),
        }
    }
}

/// Servers that did not answer, and why.
pub(crate) fn silent(servers: &[SilentServer], times: &Times) -> Vec<SilentLine> {
    let line = |server: &SilentServer| SilentLine {
        name: server.name.to_string(),
        reason: server.reason.trim_end_matches('.').to_owned(),
        retry: server.retry_at.map(|seconds| times.full(seconds)),
    };
    servers.iter().map(line).collect()
}

/// Names in a sentence: `news-one and news-two`.
pub(crate) fn listed(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => "no server".to_owned(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_as_people_do() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b"]), "a and b");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }

    #[test]
    fn nothing_is_said_while_all_answer() {
        let times = Times::new(None);
        let notice = StaleNotice::new(&Currency::default(), &times);
        assert_eq!(notice.render().unwrap().trim(), "");
    }

    #[test]
    fn a_silent_server_is_named_with_reason_and_time() {
        let silent = SilentServer {
            name: "news-two".into(),
            reason: "it <timed> out.".to_owned(),
            retry_at: Some(1_794_301_920),
        };
        let currency = Currency {
            checked: Some(1_794_301_000),
            silent: vec![silent],
            busy: None,
        };
        let text = StaleNotice::new(&currency, &Times::new(None))
            .render()
            .unwrap();
        for wanted in [
            "<b>news-two</b>",
            "it &#60;timed&#62; out.",
            "Next try",
            "2026-11-10T09:12:00Z",
        ] {
            assert!(text.contains(wanted), "{wanted} in {text}");
        }
    }
}
