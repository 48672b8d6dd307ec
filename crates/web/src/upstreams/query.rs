//! Which upstreams a reader wants to see, and in which order: all of it is in the address.

use std::cmp::Reverse;

use serde::Deserialize;
use weir_engine::Standing;

use super::sight::Sight;
use crate::kit::{self, Sorted};

/// Rows on a page.
pub(super) const PAGE: usize = 50;
pub(super) const MOST: usize = 500;

/// What the address holds. Values that cannot be read are ignored.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct UpstreamsQuery {
    /// Part of a name or place.
    pub(super) q: String,
    /// A state, or `attention`.
    pub(super) state: String,
    pub(super) front: String,
    /// A column, with `-` before it for descending order.
    pub(super) sort: String,
    page: String,
    limit: String,
    /// Seconds after which the page reloads.
    pub(super) refresh: String,
    /// What was just done, to which upstream, and with what result.
    pub(super) did: String,
    pub(super) whom: String,
    pub(super) how: String,
}

/// A column that rows can be ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpstreamColumn {
    State,
    Name,
    Latency,
    Success,
}

impl UpstreamColumn {
    const ALL: [Self; 4] = [Self::State, Self::Name, Self::Latency, Self::Success];

    /// All orders, each way, as they are written in an address.
    pub(super) fn orders() -> Vec<String> {
        let all = Self::ALL.iter();
        all.flat_map(|column| [column.name().to_owned(), format!("-{}", column.name())])
            .collect()
    }

    fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Name => "name",
            Self::Latency => "latency",
            Self::Success => "success",
        }
    }

    /// The order in words, as shown under the table.
    fn words(self, back: bool) -> &'static str {
        match (self, back) {
            (Self::State, false) => "those needing attention first",
            (Self::State, true) => "open ones first",
            (Self::Name, false) => "by name",
            (Self::Name, true) => "by name, Z to A",
            (Self::Latency, false) => "fastest first",
            (Self::Latency, true) => "slowest first",
            (Self::Success, false) => "lowest success first",
            (Self::Success, true) => "highest success first",
        }
    }
}

pub(super) struct UpstreamsSlice<'a> {
    pub(super) rows: Vec<Sight<'a>>,
    /// How many match.
    pub(super) matching: usize,
    /// How many come before the first row.
    pub(super) before: usize,
    pub(super) number: usize,
    pub(super) pages: usize,
}

impl UpstreamsQuery {
    /// The order, and whether it is reversed.
    pub(super) fn order(&self) -> (UpstreamColumn, bool) {
        let (name, back) = match self.sort.strip_prefix('-') {
            Some(name) => (name, true),
            None => (self.sort.as_str(), false),
        };
        let mut columns = UpstreamColumn::ALL.into_iter();
        match columns.find(|column| column.name() == name) {
            Some(column) => (column, back),
            None => (UpstreamColumn::State, false),
        }
    }

    pub(super) fn order_in_words(&self) -> &'static str {
        let (column, back) = self.order();
        column.words(back)
    }

    pub(super) fn limit(&self) -> usize {
        let limit = self.limit.parse().unwrap_or(PAGE);
        limit.clamp(1, MOST)
    }

    /// Whether any filter is set.
    pub(super) fn filters(&self) -> bool {
        !(self.q.trim().is_empty() && self.state.is_empty() && self.front.is_empty())
    }

    /// The wanted page of the wanted rows.
    pub(super) fn page<'a>(&self, all: Vec<Sight<'a>>) -> UpstreamsSlice<'a> {
        let q = self.q.trim().to_lowercase();
        let mut rows: Vec<Sight<'a>> = all
            .into_iter()
            .filter(|sight| self.wants(sight, &q))
            .collect();
        self.sort(&mut rows);
        let (matching, limit) = (rows.len(), self.limit());
        let pages = matching.div_ceil(limit).max(1);
        let number = self.page.parse().unwrap_or(1).clamp(1, pages);
        let before = (number - 1) * limit;
        UpstreamsSlice {
            rows: rows.into_iter().skip(before).take(limit).collect(),
            matching,
            before,
            number,
            pages,
        }
    }

    fn wants(&self, sight: &Sight<'_>, q: &str) -> bool {
        let text = q.is_empty()
            || sight.name().to_lowercase().contains(q)
            || sight.place.to_lowercase().contains(q);
        let front = self.front.is_empty() || self.front == sight.front.name;
        text && front && self.wants_state(sight)
    }

    fn wants_state(&self, sight: &Sight<'_>) -> bool {
        match self.state.as_str() {
            "attention" => sight.needs_attention(),
            name if is_state(name) => sight.standing().name() == name,
            _ => true,
        }
    }

    fn sort(&self, rows: &mut [Sight<'_>]) {
        rows.sort_by(|one, other| one.name().cmp(other.name()));
        let (column, back) = self.order();
        // Unknown values come last in either direction.
        match (column, back) {
            (UpstreamColumn::State, false) => rows.sort_by_key(Sight::rank),
            (UpstreamColumn::State, true) => rows.sort_by_key(|sight| Reverse(sight.rank())),
            (UpstreamColumn::Name, false) => {}
            (UpstreamColumn::Name, true) => rows.reverse(),
            (UpstreamColumn::Latency, back) => rows.sort_by_cached_key(|sight| {
                let p50 = sight.day.p50.map(|time| time.as_nanos());
                ordered(p50, back)
            }),
            (UpstreamColumn::Success, back) => {
                rows.sort_by_cached_key(|sight| ordered(sight.day.success().map(u128::from), back))
            }
        }
    }

    /// The address of this view with other values; a page number stays only if it is given.
    pub(super) fn link(&self, changes: &[(&str, &str)]) -> String {
        let kept = [
            ("q", self.q.trim()),
            ("state", &self.state),
            ("front", &self.front),
            ("sort", &self.sort),
            ("refresh", &self.refresh),
            ("page", ""),
        ];
        kit::address("/upstreams", &kept, changes)
    }

    /// The address that orders by a column, or reverses the order.
    pub(super) fn sorted_by(&self, column: UpstreamColumn) -> String {
        let back = self.order() == (column, false);
        let name = match (column, back) {
            (UpstreamColumn::State, false) => String::new(),
            (column, false) => column.name().to_owned(),
            (column, true) => format!("-{}", column.name()),
        };
        self.link(&[("sort", &name)])
    }

    /// How the rows are ordered by this column, if they are.
    pub(super) fn sorted(&self, column: UpstreamColumn) -> Option<Sorted> {
        match self.order() {
            (ordered, false) if ordered == column => Some(Sorted::Ascending),
            (ordered, true) if ordered == column => Some(Sorted::Descending),
            _ => None,
        }
    }
}

fn ordered(value: Option<u128>, back: bool) -> u128 {
    match value {
        None => u128::MAX,
        Some(value) if back => u128::MAX - 1 - value,
        Some(value) => value,
    }
}

pub(super) fn is_state(name: &str) -> bool {
    Standing::ALL.iter().any(|state| state.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_an_address() {
        let view = UpstreamsQuery {
            q: " a&b ".into(),
            sort: "-name".into(),
            page: "3".into(),
            ..UpstreamsQuery::default()
        };
        assert_eq!(view.link(&[]), "/upstreams?q=a%26b&sort=-name");
        assert_eq!(
            view.link(&[("page", "2"), ("q", "")]),
            "/upstreams?sort=-name&page=2"
        );
        assert_eq!(view.sorted_by(UpstreamColumn::State), "/upstreams?q=a%26b");
        assert_eq!(
            view.sorted_by(UpstreamColumn::Name),
            "/upstreams?q=a%26b&sort=name"
        );
        assert_eq!(view.sorted(UpstreamColumn::Name), Some(Sorted::Descending));
        assert_eq!(UpstreamsQuery::default().link(&[]), "/upstreams");
        let odd = UpstreamsQuery {
            sort: "nonsense".into(),
            ..UpstreamsQuery::default()
        };
        assert_eq!(odd.order(), (UpstreamColumn::State, false));
        assert_eq!(
            odd.sorted_by(UpstreamColumn::State),
            "/upstreams?sort=-state"
        );
    }

    #[test]
    fn the_unknown_stands_last_either_way() {
        assert!(ordered(None, false) > ordered(Some(9), false));
        assert!(ordered(None, true) > ordered(Some(0), true));
        assert!(ordered(Some(9), true) < ordered(Some(1), true));
    }
}
