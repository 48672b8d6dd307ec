//! The line under a list with several pages: which part of it this is, and links to the others.

use askama::Template;
use weir_engine::words::grouped;

/// The line under a list; `{{ pager|safe }}` in a template writes it.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/pager.html")]
pub struct Pager {
    /// What is listed, for screen readers.
    of: &'static str,
    says: String,
    steps: [PageStep; 2],
}

#[derive(Clone, Debug)]
struct PageStep {
    label: &'static str,
    /// `None` if there is nothing more in this direction.
    href: Option<String>,
    rel: Option<&'static str>,
}

impl Pager {
    /// A list that can be paged in both directions.
    pub fn new(
        of: &'static str,
        says: String,
        previous: Option<String>,
        next: Option<String>,
    ) -> Self {
        let steps = [
            PageStep::new("Previous", previous, Some("prev")),
            PageStep::new("Next", next, Some("next")),
        ];
        Self { of, says, steps }
    }

    /// A list that grows at its head, so a link to the previous page would not stay right.
    pub fn newest_first(of: &'static str, newest: Option<String>, older: Option<String>) -> Self {
        let steps = [
            PageStep::new("Newest", newest, Some("first")),
            PageStep::new("Older", older, Some("next")),
        ];
        let says = "Newest first".to_owned();
        Self { of, says, steps }
    }
}

impl PageStep {
    fn new(label: &'static str, href: Option<String>, rel: Option<&'static str>) -> Self {
        Self { label, href, rel }
    }
}

/// Which rows these are: `51–100 of 1,204`.
pub fn range(before: usize, shown: usize, all: usize) -> String {
    let [first, last, all] = [before + 1, before + shown, all].map(|number| grouped(number as u64));
    format!("{first}–{last} of {all}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leads_on_where_there_is_more() {
        let pager = Pager::new(
            "swarms",
            range(50, 50, 1204),
            Some("/a?x=1&y=2".into()),
            None,
        );
        assert_eq!(
            pager.to_string(),
            r##"<div class="pager"><span>51–100 of 1,204</span><nav aria-label="Pages of swarms"><a href="/a?x=1&#38;y=2" rel="prev">Previous</a><span>Next</span></nav></div>"##
        );
        let pager = Pager::newest_first("history", None, Some("/b".into()));
        assert_eq!(
            pager.to_string(),
            r##"<div class="pager"><span>Newest first</span><nav aria-label="Pages of history"><span>Newest</span><a href="/b" rel="next">Older</a></nav></div>"##
        );
    }
}
