//! Categories: the standard table, and how an indexer's own numbers relate to it.

mod mapping;

pub use mapping::Mapping;

/// Where everything goes that fits nowhere else.
pub const OTHER: u32 = 8_000;

/// From here on ids belong to a single indexer.
pub const SITE: u32 = 100_000;

/// A standard category: its id, its name, and its subcategories with theirs.
pub type Standard = (u32, &'static str, &'static [(u32, &'static str)]);

/// The standard categories. 0 and 8000 mean the same.
pub const TABLE: [Standard; 9] = [
    (0, "Other", &[(10, "Misc"), (20, "Hashed")]),
    (
        1_000,
        "Console",
        &[
            (1_010, "NDS"),
            (1_020, "PSP"),
            (1_030, "Wii"),
            (1_040, "XBox"),
            (1_050, "XBox 360"),
            (1_060, "Wiiware"),
            (1_070, "XBox 360 DLC"),
            (1_080, "PS3"),
            (1_090, "Other"),
            (1_110, "3DS"),
            (1_120, "PS Vita"),
            (1_130, "WiiU"),
            (1_140, "XBox One"),
            (1_180, "PS4"),
        ],
    ),
    (
        2_000,
        "Movies",
        &[
            (2_010, "Foreign"),
            (2_020, "Other"),
            (2_030, "SD"),
            (2_040, "HD"),
            (2_045, "UHD"),
            (2_050, "BluRay"),
            (2_060, "3D"),
            (2_070, "DVD"),
            (2_080, "WEB-DL"),
            (2_090, "x265"),
        ],
    ),
    (
        3_000,
        "Audio",
        &[
            (3_010, "MP3"),
            (3_020, "Video"),
            (3_030, "Audiobook"),
            (3_040, "Lossless"),
            (3_050, "Other"),
            (3_060, "Foreign"),
        ],
    ),
    (
        4_000,
        "PC",
        &[
            (4_010, "0day"),
            (4_020, "ISO"),
            (4_030, "Mac"),
            (4_040, "Mobile-Other"),
            (4_050, "Games"),
            (4_060, "Mobile-iOS"),
            (4_070, "Mobile-Android"),
        ],
    ),
    (
        5_000,
        "TV",
        &[
            (5_010, "WEB-DL"),
            (5_020, "Foreign"),
            (5_030, "SD"),
            (5_040, "HD"),
            (5_045, "UHD"),
            (5_050, "Other"),
            (5_060, "Sport"),
            (5_070, "Anime"),
            (5_080, "Documentary"),
            (5_090, "x265"),
        ],
    ),
    (
        6_000,
        "XXX",
        &[
            (6_010, "DVD"),
            (6_020, "WMV"),
            (6_030, "XviD"),
            (6_040, "x264"),
            (6_045, "UHD"),
            (6_050, "Pack"),
            (6_060, "ImageSet"),
            (6_070, "Other"),
            (6_080, "SD"),
            (6_090, "WEB-DL"),
        ],
    ),
    (
        7_000,
        "Books",
        &[
            (7_010, "Mags"),
            (7_020, "EBook"),
            (7_030, "Comics"),
            (7_040, "Technical"),
            (7_050, "Other"),
            (7_060, "Foreign"),
        ],
    ),
    (OTHER, "Other", &[(8_010, "Misc"), (8_020, "Hashed")]),
];

/// The full name of a standard category, such as `TV/HD`.
pub fn name(id: u32) -> Option<String> {
    let (_, parent, children) = top(parent(id))?;
    if id == self::parent(id) {
        return Some((*parent).to_owned());
    }
    let child = children.iter().find(|(child, _)| *child == id);
    child.map(|(_, name)| format!("{parent}/{name}"))
}

/// The category that this one is part of; a site's own and a parent are their own.
pub fn parent(id: u32) -> u32 {
    match id {
        SITE.. => id,
        _ => id / 1_000 * 1_000,
    }
}

/// Whether the table has this id.
pub fn is_standard(id: u32) -> bool {
    name(id).is_some()
}

/// The id that is used of the two that the Others have.
fn usual(id: u32) -> u32 {
    match id {
        0..1_000 => id + OTHER,
        _ => id,
    }
}

/// The entry of a parent.
fn top(id: u32) -> Option<&'static Standard> {
    TABLE.iter().find(|(parent, ..)| *parent == id)
}

/// Where releases of a standard parent go that fit none of its children.
fn other_of(parent: u32) -> u32 {
    let children = top(parent).map_or(&[][..], |(_, _, children)| *children);
    let other = children.iter().find(|(_, name)| *name == "Other");
    match other {
        Some((id, _)) => *id,
        None if top(parent).is_none() => OTHER,
        None => usual(parent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_table() {
        assert_eq!(name(5_000).as_deref(), Some("TV"));
        assert_eq!(name(5_040).as_deref(), Some("TV/HD"));
        assert_eq!(name(0).as_deref(), Some("Other"));
        assert_eq!(name(8_010).as_deref(), Some("Other/Misc"));
        for id in [5_041, 9_000, 23, 100_000, 105_040] {
            assert_eq!(name(id), None, "{id}");
            assert!(!is_standard(id));
        }
    }

    #[test]
    fn table_is_sorted_and_children_are_of_their_parents() {
        assert!(TABLE.is_sorted_by_key(|(id, ..)| *id));
        for (id, _, children) in TABLE {
            assert!(children.is_sorted());
            assert!(
                children
                    .iter()
                    .all(|(child, _)| parent(*child) == id && *child != id)
            );
        }
    }

    #[test]
    fn parents_are_thousands_except_for_a_sites_own() {
        assert_eq!(parent(5_045), 5_000);
        assert_eq!(parent(5_000), 5_000);
        assert_eq!(parent(20), 0);
        assert_eq!(parent(105_045), 105_045);
    }
}
