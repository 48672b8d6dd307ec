//! Between an indexer's categories and ours, both ways.

use std::collections::BTreeMap;

use super::{OTHER, SITE, TABLE, is_standard, other_of, parent, top, usual};
use crate::caps::{Caps, Category};

/// Maps between an indexer's categories and ours, both ways.
///
/// Names decide before numbers, since indexers agree more on those: a parent by its name, else by
/// its id, else it is Other; a child by `Parent/Name`, else by its id, else its parent's Other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    known: BTreeMap<u32, Known>,
}

/// What is known of one of the indexer's categories.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    /// The indexer's own parent of it.
    under: Option<u32>,
    /// The standard category it is, if it is any.
    standard: Option<u32>,
}

impl Mapping {
    /// The mapping for an indexer with these caps.
    pub fn of(caps: &Caps) -> Self {
        let mut known = BTreeMap::new();
        for top in &caps.categories {
            let standard = standard_top(top);
            let entry = Known {
                under: None,
                standard,
            };
            known.insert(top.id, entry);
            for child in &top.subcategories {
                let standard = standard_child(child, standard);
                let under = Some(top.id);
                known.entry(child.id).or_insert(Known { under, standard });
            }
        }
        Self { known }
    }

    /// What one of the indexer's ids means to us: a standard id where there is one, and the site's
    /// own, which is 100,000 or more, where the indexer's is no standard id.
    pub fn ours(&self, theirs: u32) -> Vec<u32> {
        let mut ours = Vec::with_capacity(2);
        match self.known.get(&theirs) {
            Some(known) => ours.extend(known.standard),
            None if is_standard(theirs) => ours.push(usual(theirs)),
            None if theirs < SITE => ours.push(other_of(parent(theirs))),
            None => {}
        }
        if !is_standard(theirs) {
            ours.push(site_id(theirs));
        }
        ours
    }

    /// What to ask the indexer for when we are asked for these; none asked is none to ask.
    ///
    /// Where the indexer has a parent that is asked for, its id stands for all below it.
    pub fn theirs(&self, ours: &[u32]) -> Vec<u32> {
        if self.known.is_empty() {
            return ours.to_vec();
        }
        let mut theirs: Vec<u32> = ours
            .iter()
            .flat_map(|asked| self.theirs_of(*asked))
            .collect();
        theirs.sort_unstable();
        theirs.dedup();
        theirs
    }

    /// Whether a release of these categories answers a request for those asked; both by our ids.
    ///
    /// A parent that is asked for includes its children. A release that is in a parent and in none
    /// of its children may be any of them.
    pub fn wants(asked: &[u32], release_categories: &[u32]) -> bool {
        let categories = || release_categories.iter().map(|id| usual(*id));
        let alone = |id| !categories().any(|other| other != id && parent(other) == id);
        let one = |asked: u32| {
            let family = parent(asked);
            let vague = || categories().any(|id| id == family) && alone(family);
            categories().any(|id| id == asked || parent(id) == asked) || vague()
        };
        asked.is_empty() || asked.iter().any(|asked| one(usual(*asked)))
    }

    fn theirs_of(&self, asked: u32) -> Vec<u32> {
        if !is_standard(asked) {
            let ids = [Some(asked), asked.checked_sub(SITE)];
            let mut ids = ids.into_iter().flatten();
            let listed = ids.find(|id| self.known.contains_key(id));
            return listed.into_iter().collect();
        }
        let asked = usual(asked);
        if parent(asked) == asked {
            return self.below(asked);
        }
        let exact = self.ids(|known| known.standard == Some(asked));
        if !exact.is_empty() {
            return exact;
        }
        // An indexer that has the parent and nothing below it may have it there.
        let family = parent(asked);
        let child =
            |known: &Known| known.parent() == Some(family) && known.standard != Some(family);
        match self.ids(child).is_empty() {
            true => self.below(family),
            false => Vec::new(),
        }
    }

    /// The ids that stand for everything in a standard parent; children whose parent is named as
    /// well need not be.
    fn below(&self, family: u32) -> Vec<u32> {
        let inside = |known: &Known| known.parent() == Some(family);
        let covered = |known: &Known| {
            let above = known.under.and_then(|above| self.known.get(&above));
            above.is_some_and(inside)
        };
        self.ids(|known| inside(known) && !covered(known))
    }

    /// The indexer's ids of which this is true.
    fn ids(&self, of: impl Fn(&Known) -> bool) -> Vec<u32> {
        let found = self.known.iter().filter(|(_, known)| of(known));
        found.map(|(id, _)| *id).collect()
    }
}

impl Known {
    /// The standard parent it belongs to.
    fn parent(&self) -> Option<u32> {
        self.standard.map(parent)
    }
}

/// The id under which an indexer's own category is known here.
fn site_id(theirs: u32) -> u32 {
    match theirs {
        SITE.. => theirs,
        _ => theirs + SITE,
    }
}

fn standard_top(category: &Category) -> Option<u32> {
    let by_name = by_full_name(&category.name);
    if by_name.is_some() || category.id >= SITE {
        return by_name;
    }
    let by_id = Some(usual(category.id)).filter(|id| is_standard(*id));
    by_id.or(Some(OTHER))
}

fn standard_child(category: &Category, above: Option<u32>) -> Option<u32> {
    let above = above.map(parent);
    let by_name = above.and_then(|above| {
        let (_, _, children) = top(above)?;
        let mut children = children.iter();
        children
            .find(|(_, name)| same(name, &category.name))
            .map(|(id, _)| *id)
    });
    let by_name =
        by_name.or_else(|| by_full_name(&category.name).filter(|_| category.name.contains('/')));
    if by_name.is_some() || category.id >= SITE {
        return by_name;
    }
    let by_id = Some(usual(category.id)).filter(|id| is_standard(*id));
    by_id.or(Some(above.map_or(OTHER, other_of)))
}

/// A standard category by `Parent` or `Parent/Name`.
fn by_full_name(name: &str) -> Option<u32> {
    let (parent, child) = match name.split_once('/') {
        Some((parent, child)) => (parent, Some(child)),
        None => (name, None),
    };
    // The later one of the two Others is the one in use.
    let (id, _, children) = TABLE.iter().rev().find(|(_, name, _)| same(name, parent))?;
    match child {
        None => Some(*id),
        Some(child) => {
            let mut children = children.iter();
            children
                .find(|(_, name)| same(name, child))
                .map(|(id, _)| *id)
        }
    }
}

/// Whether two names are the same but for case, spaces and punctuation.
fn same(ours: &str, theirs: &str) -> bool {
    fn letters(name: &str) -> impl Iterator<Item = char> {
        let letters = name.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase)
    }
    letters(ours).eq(letters(theirs))
}

#[cfg(test)]
mod tests;
