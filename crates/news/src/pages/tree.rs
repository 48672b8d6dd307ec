//! Newsgroups by the dots in their names. A level is opened by its address; small levels within it are there at once,
//! folded, as long as the page stays short.

use std::collections::BTreeMap;

use crate::reading::NewsgroupRow;

/// Levels and newsgroups that are written on one page.
pub(crate) const ROWS: usize = 200;

/// A level of the tree, or a newsgroup, or both.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Branch<'a> {
    /// The part of the name that the level above does not have.
    pub(crate) label: &'a str,
    /// The whole name, or the beginning of those below.
    pub(crate) name: &'a str,
    /// The newsgroup of just this name.
    pub(crate) newsgroup: Option<&'a NewsgroupRow>,
    /// How many newsgroups have longer names.
    pub(crate) count: usize,
    /// The levels below, if they are on the page.
    pub(crate) below: Vec<Self>,
}

/// The rows of a sorted list whose names begin with this level.
pub(crate) fn within<'a>(rows: &'a [NewsgroupRow], under: &str) -> &'a [NewsgroupRow] {
    if under.is_empty() {
        return rows;
    }
    let prefix = format!("{under}.");
    let start = rows.partition_point(|row| row.name.as_str() < prefix.as_str());
    let rest = &rows[start..];
    let end = rest.partition_point(|row| row.name.as_str().starts_with(&prefix));
    &rest[..end]
}

/// The branches right below a level, of all pages; `rows` are those within it.
pub(crate) fn branches<'a>(rows: &'a [NewsgroupRow], under: &str) -> Vec<Branch<'a>> {
    let skipped = match under {
        "" => 0,
        under => under.len() + 1,
    };
    // Names with the same next word are not always neighbours: `c`, `c++`, `c.moderated`.
    let mut found: BTreeMap<&str, Branch<'a>> = BTreeMap::new();
    for row in rows {
        let name = row.name.as_str();
        let Some(rest) = name.get(skipped..) else {
            continue;
        };
        let label = rest.split('.').next().unwrap_or(rest);
        let branch = found.entry(label).or_insert_with(|| Branch {
            label,
            name: &name[..skipped + label.len()],
            newsgroup: None,
            count: 0,
            below: Vec::new(),
        });
        match label.len() == rest.len() {
            true => branch.newsgroup = Some(row),
            false => branch.count += 1,
        }
    }
    found.into_values().collect()
}

/// Puts the levels below these on the page, the smallest first, as long as there is room.
pub(crate) fn grow<'a>(branches: &mut [Branch<'a>], all: &'a [NewsgroupRow]) {
    let mut room = ROWS.saturating_sub(branches.len());
    let mut order: Vec<usize> = (0..branches.len()).collect();
    order.sort_by_key(|index| branches[*index].count);
    for index in order {
        let branch = &mut branches[index];
        if branch.count == 0 || branch.count > room {
            continue;
        }
        branch.below = whole(all, branch.name);
        room -= branch.count;
    }
}

/// All of a level, with chains of levels that hold one thing each drawn together.
fn whole<'a>(all: &'a [NewsgroupRow], under: &str) -> Vec<Branch<'a>> {
    let mut found = branches(within(all, under), under);
    for branch in &mut found {
        if branch.count > 0 {
            // Names are at most 497 octets, so this ends soon.
            branch.below = whole(all, branch.name);
        }
        join_chain(branch, under);
    }
    found
}

/// `a.b.c` in place of `a`, in it `b`, in it `c`.
pub(crate) fn join_chain(branch: &mut Branch<'_>, under: &str) {
    while branch.newsgroup.is_none() && branch.below.len() == 1 {
        let Some(mut only) = branch.below.pop() else {
            return;
        };
        let skipped = if under.is_empty() { 0 } else { under.len() + 1 };
        only.label = only.name.get(skipped..).unwrap_or(only.label);
        *branch = only;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::samples::newsgroup;

    fn rows(names: &[&str]) -> Vec<NewsgroupRow> {
        let mut names = names.to_vec();
        names.sort_unstable();
        names.into_iter().map(newsgroup).collect()
    }

    fn written(branches: &[Branch<'_>]) -> String {
        let each = branches.iter().map(|branch| {
            let mark = if branch.newsgroup.is_some() { "!" } else { "" };
            match (branch.below.is_empty(), branch.count) {
                (true, 0) => format!("{}{mark}", branch.label),
                (true, count) => format!("{}{mark}+{count}", branch.label),
                (false, _) => format!("{}{mark}({})", branch.label, written(&branch.below)),
            }
        });
        each.collect::<Vec<_>>().join(" ")
    }

    fn tree(rows: &[NewsgroupRow], under: &str) -> String {
        let mut branches = branches(within(rows, under), under);
        grow(&mut branches, rows);
        written(&branches)
    }

    #[test]
    fn names_become_levels_by_their_dots() {
        let rows = rows(&[
            "comp.lang.c",
            "comp.lang.c++",
            "comp.lang.c.moderated",
            "comp.lang.rust",
            "news.one",
        ]);
        assert_eq!(
            tree(&rows, ""),
            "comp(lang(c!(moderated!) c++! rust!)) news(one!)"
        );
        assert_eq!(tree(&rows, "comp.lang"), "c!(moderated!) c++! rust!");
        assert_eq!(tree(&rows, "comp.lan"), "", "a level ends at a dot");
        assert_eq!(tree(&rows, "none"), "");
    }

    #[test]
    fn large_levels_are_left_to_their_own_pages() {
        let names: Vec<String> = (0..50_000)
            .map(|number| format!("big.g{number:05}"))
            .collect();
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        names.extend(["small.a", "small.b"]);
        let rows = rows(&names);
        assert_eq!(tree(&rows, ""), "big+50000 small(a! b!)");
    }

    #[test]
    fn a_chain_is_one_level() {
        let rows = rows(&["a.b.c.d", "a.b.c.e", "x.y.z"]);
        let mut found = branches(&rows, "");
        grow(&mut found, &rows);
        for branch in &mut found {
            join_chain(branch, "");
        }
        assert_eq!(written(&found), "a.b.c(d! e!) x.y.z!");
    }
}
