//! Reads an indexer's caps.

use super::{Caps, Category, LIMIT};
use crate::error::Unreadable;
use crate::query::{Function, Term};
use crate::text::{clean, cut};
use crate::xml::{self, Node, Nodes, Tag};

/// Categories and tags that are read.
const ENTRIES: usize = 10_000;

/// Characters of a name that are kept.
const NAME: usize = 200;

pub(super) fn read(body: &[u8], charset: Option<&str>) -> Result<Caps, Unreadable> {
    let text = xml::decode(body, charset)?;
    let mut nodes = xml::open(&text, "caps")?;
    let mut caps = Caps::default();
    let mut searching = false;
    let mut entries = 0;
    while nodes.depth() > 0 {
        let Node::Open(tag) = nodes.next()? else {
            continue;
        };
        match tag.name() {
            "server" => caps.title = text_of(&tag, "title")?,
            "limits" => limits(&mut caps, &tag)?,
            "searching" => {
                searching = true;
                read_searching(&mut caps, &mut nodes)?;
            }
            "categories" => read_categories(&mut caps, &mut nodes, &mut entries)?,
            "tags" => read_tags(&mut caps, &mut nodes, &mut entries)?,
            "error" => return Err(xml::error(&mut nodes, &tag)),
            _ => {}
        }
    }
    if !searching {
        // An indexer that does not say what it can do is an old one that can do this.
        for function in [Function::Search, Function::Tv] {
            let terms = usual_terms(function).iter().copied().collect();
            caps.functions.insert(function, terms);
            caps.text.insert(function);
        }
    }
    Ok(caps)
}

fn limits(caps: &mut Caps, tag: &Tag<'_>) -> Result<(), Unreadable> {
    let number = |name| {
        let value = tag.attribute(name)?;
        let number = value.and_then(|value| value.trim().parse().ok());
        Ok(number.filter(|number| *number > 0))
    };
    let (default, max): (Option<u32>, Option<u32>) = (number("default")?, number("max")?);
    caps.max_limit = max.or(default).unwrap_or(LIMIT);
    caps.default_limit = default.unwrap_or(LIMIT).min(caps.max_limit);
    Ok(())
}

fn read_searching(caps: &mut Caps, nodes: &mut Nodes<'_>) -> Result<(), Unreadable> {
    each_child(nodes, |tag, _| {
        let Some(function) = Function::parse(tag.name()) else {
            return Ok(());
        };
        let available = tag.attribute("available")?;
        let yes = |value: &str| {
            ["yes", "true", "1"]
                .iter()
                .any(|yes| yes.eq_ignore_ascii_case(value))
        };
        if !available.is_some_and(|value| yes(value.trim())) {
            return Ok(());
        }
        // Music comes twice: as music-search and as audio-search.
        let terms = caps.functions.entry(function).or_default();
        match tag.attribute("supportedParams")? {
            Some(list) => {
                let names = || list.split([',', ' ']).map(str::trim);
                terms.extend(names().filter_map(Term::parse));
                if names().any(|name| name.eq_ignore_ascii_case("q")) {
                    caps.text.insert(function);
                }
            }
            None => {
                terms.extend(usual_terms(function));
                caps.text.insert(function);
            }
        }
        Ok(())
    })
}

/// What indexers take that do not say what they take.
fn usual_terms(function: Function) -> &'static [Term] {
    match function {
        Function::Tv => &[Term::Season, Term::Episode, Term::RageId],
        Function::Movie => &[Term::ImdbId],
        Function::Search | Function::Music | Function::Book => &[],
    }
}

fn read_categories(
    caps: &mut Caps,
    nodes: &mut Nodes<'_>,
    entries: &mut usize,
) -> Result<(), Unreadable> {
    each_child(nodes, |tag, nodes| {
        let Some(mut top) = category(tag, entries)? else {
            return Ok(());
        };
        each_child(nodes, |tag, _| {
            let child = category(tag, entries)?;
            top.subcategories.extend(child);
            Ok(())
        })?;
        caps.categories.push(top);
        Ok(())
    })
}

/// A category; one whose id is no number cannot be asked for.
fn category(tag: &Tag<'_>, entries: &mut usize) -> Result<Option<Category>, Unreadable> {
    if !["category", "subcat"].contains(&tag.name()) {
        return Ok(None);
    }
    let id = tag.attribute("id")?;
    let Some(id) = id.and_then(|id| id.trim().parse().ok()) else {
        return Ok(None);
    };
    another(entries)?;
    Ok(Some(Category::leaf(id, &text_of(tag, "name")?)))
}

fn read_tags(
    caps: &mut Caps,
    nodes: &mut Nodes<'_>,
    entries: &mut usize,
) -> Result<(), Unreadable> {
    each_child(nodes, |tag, _| {
        let (name, description) = (text_of(tag, "name")?, text_of(tag, "description")?);
        if !name.is_empty() {
            another(entries)?;
            caps.tags.push((name, description));
        }
        Ok(())
    })
}

fn another(entries: &mut usize) -> Result<(), Unreadable> {
    *entries += 1;
    match *entries {
        ..=ENTRIES => Ok(()),
        _ => Err(Unreadable::TooMany),
    }
}

fn text_of(tag: &Tag<'_>, name: &str) -> Result<String, Unreadable> {
    let value = tag.attribute(name)?.unwrap_or_default();
    Ok(clean(cut(value.trim(), NAME)))
}

/// Calls `each` for every child of the innermost element, which is read to its end.
fn each_child<'a>(
    nodes: &mut Nodes<'a>,
    mut each: impl FnMut(&Tag<'a>, &mut Nodes<'a>) -> Result<(), Unreadable>,
) -> Result<(), Unreadable> {
    let outside = nodes.depth() - 1;
    while nodes.depth() > outside {
        let Node::Open(tag) = nodes.next()? else {
            continue;
        };
        let inside = nodes.depth();
        each(&tag, nodes)?;
        if nodes.depth() == inside {
            nodes.skip()?;
        }
    }
    Ok(())
}
