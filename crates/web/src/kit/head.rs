//! Column heads, and which of them the rows are ordered by.

use askama::Template;

/// The head of a column; `{{ head|safe }}` in a template writes its cell.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/head.html")]
pub struct ColumnHead {
    label: &'static str,
    /// The page with the rows ordered by this column, or in reverse.
    href: Option<String>,
    sorted: Option<Sorted>,
    number: bool,
}

/// How rows are ordered by a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sorted {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

#[derive(Template)]
#[template(path = "kit/choice.html")]
struct ColumnChoice<'a> {
    head: &'a ColumnHead,
}

impl ColumnHead {
    /// A column by which rows are not ordered.
    pub fn new(label: &'static str) -> Self {
        Self {
            label,
            href: None,
            sorted: None,
            number: false,
        }
    }

    /// Says whether it is a column of numbers.
    #[must_use]
    pub fn number(mut self, number: bool) -> Self {
        self.number = number;
        self
    }

    /// Sets the address at which rows are ordered by it.
    #[must_use]
    pub fn leads_to(mut self, href: String) -> Self {
        self.href = Some(href);
        self
    }

    /// Says how rows are ordered by it, if they are.
    #[must_use]
    pub fn sorted(mut self, sorted: Option<Sorted>) -> Self {
        self.sorted = sorted;
        self
    }

    /// The head as one link among others, for lists without table heads.
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

    /// Points towards the larger values.
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
