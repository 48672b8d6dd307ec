//! The tree of parts: boundaries, missing ends, limits.

use super::*;

/// The tree as text: `mixed(plain:one html:two)`.
fn tree(raw: &str) -> (String, Vec<Damage>) {
    let mut report = Report::default();
    let section = Section::read(raw.as_bytes(), 0, 20, |_| false, &mut report);
    let media = Media::of(&section, &mut report);
    let root = read(raw.as_bytes(), section.body, media, &mut report);
    (show(&root, raw), report.into_list())
}

fn show(entity: &Entity, raw: &str) -> String {
    match entity {
        Entity::Leaf(leaf) => format!(
            "{}:{}",
            leaf.media.subtype,
            raw[leaf.body.clone()].trim_end()
        ),
        Entity::Multipart { subtype, children } => {
            let children: Vec<String> = children.iter().map(|child| show(child, raw)).collect();
            format!("{subtype}({})", children.join(" "))
        }
    }
}

#[test]
fn parts_are_between_boundaries_at_the_start_of_a_line() {
    let raw = "Content-Type: multipart/mixed; boundary=x\n\npreamble\n--x\n\none --x\n--xy\n--x \r\n\
               Content-Type: text/html\r\n\r\ntwo\r\n--x--\r\nepilogue";
    assert_eq!(
        tree(raw),
        ("mixed(plain:one --x\n--xy html:two)".into(), vec![])
    );
}

#[test]
fn an_outer_boundary_ends_inner_parts() {
    let raw = "Content-Type: multipart/mixed; boundary=x\n\n--x\n\
               Content-Type: multipart/alternative; boundary=y\n\n--y\n\none\n--x\n\ntwo\n--x--";
    assert_eq!(
        tree(raw),
        (
            "mixed(alternative(plain:one) plain:two)".into(),
            vec![Damage::MissingEnd]
        )
    );
}

#[test]
fn a_missing_end_is_reported_and_nothing_is_lost() {
    let raw = "Content-Type: multipart/mixed; boundary=x\n\n--x\n\none";
    assert_eq!(
        tree(raw),
        ("mixed(plain:one)".into(), vec![Damage::MissingEnd])
    );
}

#[test]
fn without_boundaries_all_is_text() {
    for raw in [
        "Content-Type: multipart/mixed; boundary=x\n\nall",
        "Content-Type: multipart/mixed\n\nall",
        "Content-Type: multipart/mixed; boundary=\"\"\n\nall",
    ] {
        assert_eq!(
            tree(raw),
            ("plain:all".into(), vec![Damage::NoBoundary]),
            "{raw}"
        );
    }
}

#[test]
fn a_boundary_ends_the_headers_of_a_part() {
    let raw = "Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html\n--x\n\ntwo\n--x--";
    assert_eq!(tree(raw).0, "mixed(html: plain:two)");
}

#[test]
fn nesting_and_number_of_parts_are_limited() {
    let mut deep = String::new();
    for level in 0..1_000 {
        deep.push_str(&format!(
            "Content-Type: multipart/mixed; boundary=b{level}\n\n--b{level}\n"
        ));
    }
    let (shown, damage) = tree(&deep);
    assert_eq!(shown.matches("mixed(").count(), limits::DEPTH);
    assert_eq!(damage, [Damage::TooDeep, Damage::MissingEnd]);
    let many = format!(
        "Content-Type: multipart/mixed; boundary=x\n\n{}",
        "--x\n\na\n".repeat(10_000)
    );
    let (shown, damage) = tree(&many);
    assert_eq!(shown.matches("plain:a").count(), limits::PARTS - 1);
    assert_eq!(damage, [Damage::TooManyParts]);
}
