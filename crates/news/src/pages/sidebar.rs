//! Newsgroups beside a list of threads: the levels that its newsgroup is in, and their neighbours. A window of the list, so
//! that the page costs the same however many newsgroups there are.

use std::collections::BTreeMap;

use askama::Template;
use weir_engine::words::grouped;
use weir_news_proto::Newsgroup;
use weir_web::Failure;
use weir_web::kit;

use super::address::{self, NEWS};
use super::tree::within;
use crate::reading::{NewsgroupList, NewsgroupRow};

/// Levels of a name that are drawn, the last ones.
const LEVELS: usize = 4;
/// Neighbours on each side, at the newsgroup's own level and at those above it.
const NEAR: usize = 12;
const FAR: usize = 6;
/// Octets of the longest name that is drawn; longer ones are in the list.
const LONGEST: usize = 150;

#[derive(Template)]
#[template(path = "news_side.html")]
struct Sidebar {
    tree: String,
}

/// A level; those within it are written with the same template.
#[derive(Template)]
#[template(path = "news_side_level.html")]
struct Level {
    lines: Vec<SideLine>,
    /// How many newsgroups there are, and where, if some are left out.
    rest: Option<(String, String)>,
}

struct SideLine {
    label: String,
    /// The address of the newsgroup of just this name, and how many articles it has.
    newsgroup: Option<(String, u64)>,
    is_current: bool,
    /// How many newsgroups are below, and where.
    more: Option<(String, String)>,
    /// What is below, where the current newsgroup is.
    below: Option<String>,
}

/// A name at a level, with the row of just this name.
struct Neighbour<'a> {
    label: &'a str,
    name: &'a str,
    newsgroup: Option<&'a NewsgroupRow>,
    count: usize,
}

/// Writes the newsgroups around one.
pub(crate) fn write(list: &NewsgroupList, current: &Newsgroup) -> Result<String, Failure> {
    let rows = &list.newsgroups;
    let name = current.as_str();
    let mut ends: Vec<usize> = name.match_indices('.').map(|(at, _)| at).collect();
    ends.push(name.len());
    let first = ends.len().saturating_sub(LEVELS);
    // From the inside out: what is below a level is written before it.
    let mut below = match level(rows, name, None, NEAR) {
        (found, _) if found.is_empty() => None,
        (found, is_all) => Some(drawn(rows, name, found, is_all, name, None)?),
    };
    for place in (first..ends.len()).rev() {
        let under = match place {
            0 => "",
            place => &name[..ends[place - 1]],
        };
        let here = &name[..ends[place]];
        let reach = if here == name { NEAR } else { FAR };
        let (found, is_all) = level(rows, under, Some(here), reach);
        below = Some(drawn(
            rows,
            under,
            found,
            is_all,
            name,
            below.map(|text| (here, text)),
        )?);
    }
    let tree = below.unwrap_or_default();
    kit::render(&Sidebar { tree })
}

/// Names right below a level: around one of them, or the first ones. And whether that is all.
fn level<'a>(
    rows: &'a [NewsgroupRow],
    under: &str,
    around: Option<&str>,
    reach: usize,
) -> (Vec<Neighbour<'a>>, bool) {
    let rows = within(rows, under);
    let skipped = match under {
        "" => 0,
        under => under.len() + 1,
    };
    // Sorted, and each once: `c`, `c++` and `c.moderated` stand in this order.
    let mut found: BTreeMap<&str, &str> = BTreeMap::new();
    let split = |row: &'a NewsgroupRow| {
        let rest = row.name.as_str().get(skipped..).unwrap_or_default();
        let label = rest.split('.').next().unwrap_or(rest);
        (label, &row.name.as_str()[..skipped + label.len()])
    };
    let start = match around {
        Some(name) => rows.partition_point(|row| row.name.as_str() < name),
        None => 0,
    };
    let (mut after, mut before) = (start, start);
    // Any number of names may stand between the one in the middle and those below it.
    if let Some(name) = around
        && let Some(row) = exact(rows, name).or_else(|| within(rows, name).first())
    {
        let (label, name) = split(row);
        found.insert(label, name);
    }
    while after < rows.len() && found.len() <= reach {
        let (label, name) = split(&rows[after]);
        found.insert(label, name);
        after += match rows[after].name.as_str() == name {
            true => 1,
            false => {
                let prefix = format!("{name}.");
                rows[after..].partition_point(|row| row.name.as_str().starts_with(&prefix))
            }
        };
    }
    let most = found.len() + reach;
    while before > 0 && found.len() < most {
        let (label, name) = split(&rows[before - 1]);
        found.insert(label, name);
        before = match rows[before - 1].name.as_str() == name {
            true => before - 1,
            false => {
                let prefix = format!("{name}.");
                rows[..before].partition_point(|row| row.name.as_str() < prefix.as_str())
            }
        };
    }
    let is_all = before == 0 && after == rows.len();
    let known = found.len();
    let found: Vec<Neighbour<'a>> = found
        .into_iter()
        .filter(|(_, name)| name.len() <= LONGEST || around == Some(name))
        .map(|(label, name)| Neighbour {
            label,
            name,
            newsgroup: exact(rows, name),
            count: within(rows, name).len(),
        })
        .collect();
    let is_all = is_all && found.len() == known;
    (found, is_all)
}

/// The row of just this name.
fn exact<'a>(rows: &'a [NewsgroupRow], name: &str) -> Option<&'a NewsgroupRow> {
    let place = rows.binary_search_by(|row| row.name.as_str().cmp(name));
    place.ok().map(|place| &rows[place])
}

/// Writes a level. `below` is what is within one of its names.
fn drawn(
    rows: &[NewsgroupRow],
    under: &str,
    found: Vec<Neighbour<'_>>,
    is_all: bool,
    current: &str,
    mut below: Option<(&str, String)>,
) -> Result<String, Failure> {
    let at = |level: &str| match level {
        "" => NEWS.to_owned(),
        level => kit::address(NEWS, &[("under", level)], &[]),
    };
    let mut lines = Vec::new();
    for one in found {
        let within = below.take_if(|(name, _)| *name == one.name);
        lines.push(SideLine {
            label: one.label.to_owned(),
            newsgroup: one
                .newsgroup
                .map(|row| (address::newsgroup(one.name), row.articles)),
            is_current: one.name == current,
            more: (one.count > 0).then(|| (grouped(one.count as u64), at(one.name))),
            below: within.map(|(_, text)| text),
        });
    }
    let rest = (!is_all).then(|| (grouped(within(rows, under).len() as u64), at(under)));
    kit::render(&Level { lines, rest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::samples::{list, newsgroup};

    fn listed(names: &[String]) -> NewsgroupList {
        let mut names = names.to_vec();
        names.sort_unstable();
        list(names.iter().map(|name| newsgroup(name)).collect())
    }

    fn beside(list: &NewsgroupList, current: &str) -> String {
        write(list, &current.parse().expect("a name")).expect("a page part")
    }

    /// What is written, as lists in brackets; the current newsgroup with an exclamation mark, levels with what is below.
    fn outline(list: &NewsgroupList, current: &str) -> String {
        let text = beside(list, current);
        let text = text.split_once("<ul>").expect("a list").1;
        let mut short = String::new();
        for piece in format!("<ul>{text}").split('<').skip(1) {
            let (tag, words) = piece.split_once('>').expect("a tag");
            match tag {
                "ul" => short.push('('),
                "/ul" => short.push(')'),
                _ if tag.contains("aria-current") => short.push('!'),
                _ => {}
            }
            match tag {
                "bdi" => short.push_str(&format!(" {words}")),
                tag if tag.contains("class=\"sub\"") => short.push_str(&format!("+{words}")),
                _ => {}
            }
        }
        short.replace("( ", "(")
    }

    #[test]
    fn the_levels_of_a_newsgroup_are_open_and_their_neighbours_are_not() {
        let names = [
            "comp.lang.c",
            "comp.lang.c++",
            "comp.lang.c.moderated",
            "comp.lang.rust",
            "comp.misc",
            "news.one",
            "news.two",
        ];
        let list = listed(&names.map(str::to_owned));
        assert_eq!(
            outline(&list, "comp.lang.rust"),
            "(comp(lang(c c.*+1 c++! rust) misc) news.*+2)"
        );
        assert_eq!(
            outline(&list, "comp.lang.c"),
            "(comp(lang(! c c.*(moderated) c++ rust) misc) news.*+2)"
        );
    }

    #[test]
    fn neighbours_on_both_sides_are_drawn_and_the_rest_is_led_to() {
        let names: Vec<String> = (0..50_000)
            .map(|number| format!("big.g{number:05}"))
            .collect();
        let list = listed(&names);
        let text = beside(&list, "big.g25000");
        for (name, is_there) in [
            ("g24987", false),
            ("g24988", true),
            ("g25012", true),
            ("g25013", false),
        ] {
            assert_eq!(
                text.contains(&format!("<bdi>{name}</bdi>")),
                is_there,
                "{name}"
            );
        }
        assert!(text.contains("href=\"/news?under=big\""), "{text}");
        assert!(text.contains("All 50,000"), "{text}");
        for end in ["big.g00000", "big.g49999"] {
            assert!(beside(&list, end).contains("aria-current"), "{end}");
        }
    }

    #[test]
    fn it_stays_small_whatever_the_names_are() {
        let word = |number: usize| format!("{number:02}{}", "ä".repeat(20));
        let mut names = Vec::new();
        for (a, b, c) in (0..8_000).map(|number| (number % 20, number / 20 % 20, number / 400)) {
            names.push([word(a), word(b), word(c)].join("."));
        }
        names.push(["x"; 200].join("."));
        names.push(format!("{}.{}", word(3), "y".repeat(400)));
        let list = listed(&names);
        for name in [&names[4_210], &names[8_000], &names[8_001]] {
            let text = beside(&list, name);
            assert!(text.contains("aria-current"), "{name}");
            assert!(text.len() < 40_000, "{}", text.len());
        }
    }

    #[test]
    fn a_newsgroup_that_is_not_listed_has_its_neighbours() {
        let list = listed(&["a.b".to_owned(), "a.d".to_owned()]);
        assert_eq!(outline(&list, "a.c"), "(a(b d))");
        assert!(!beside(&list, "z").contains("aria-current"));
    }
}
