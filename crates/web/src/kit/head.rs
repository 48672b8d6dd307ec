//! Heads of columns, and by which of them rows are ordered.

use askama::Template;

/// The head of a column; `{{ head|safe }}` in a template writes its cell.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/head.html")]
pub struct ColumnHead {
    label: &'static str,
    /// Where the rows are ordered by this column, or turned round.
    href: Option<String>,
    sorted: Option<Sorted>,
    number: bool,
}

/// How rows are ordered by a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sorted {
    /// The least first.
    Ascending,
    /// The most first.
    Descending,
}

#[derive(Template)]
#[template(path = "kit/choice.html")]
struct ColumnChoice<'a> {
    head: &'a ColumnHead,
}

impl ColumnHead {
    /// A column that rows are not ordered by.
    pub fn new(label: &'static str) -> Self {
        Self {
            label,
            href: None,
            sorted: None,
            number: false,
        }
    }

    /// The same for a column of numbers, if it is one.
    #[must_use]
    pub fn number(mut self, number: bool) -> Self {
        self.number = number;
        self
    }

    /// The same with the address at which rows are ordered by it.
    #[must_use]
    pub fn leads_to(mut self, href: String) -> Self {
        self.href = Some(href);
        self
    }

    /// The same where rows are ordered by it.
    #[must_use]
    pub fn sorted(mut self, sorted: Option<Sorted>) -> Self {
        self.sorted = sorted;
        self
    }

    /// The same as a link among others, for where a table has no heads.
    pub fn choice(&self) -> String {
        let choice = ColumnChoice { head: self };
        choice.render().unwrap_or_default()
    }
}

impl Sorted {
    /// For `aria-sort`.
    fn word(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Descending => "descending",
        }
    }

    /// It points to where the most is.
    fn arrow(self) -> char {
        match self {
            Self::Ascending => '↑',
            Self::Descending => '↓',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arrow_and_aria_sort_say_the_same() {
        let head = |sorted| ColumnHead::new("Size").number(true).sorted(sorted);
        assert_eq!(
            head(None).to_string(),
            r#"<th scope="col" class="num">Size</th>"#
        );
        let ascending = head(Some(Sorted::Ascending)).leads_to("/x?sort=-size&p=1".into());
        assert_eq!(
            ascending.to_string(),
            r##"<th scope="col" class="num" aria-sort="ascending"><a href="/x?sort=-size&#38;p=1">Size</a> <span aria-hidden="true">↑</span></th>"##
        );
        let descending = head(Some(Sorted::Descending)).leads_to("/x".into());
        assert_eq!(
            descending.choice(),
            r#"<a href="/x" aria-current="true">Size <span aria-hidden="true">↓</span></a>"#
        );
    }
}
