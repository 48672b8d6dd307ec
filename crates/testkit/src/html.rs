//! What people and programs read: pages without their marks, and `/metrics` as a table. For tests that compare what is
//! told in several places.

use std::collections::BTreeMap;

/// HTML without its tags, as a browser shows it.
pub fn text(html: &str) -> String {
    let pieces = html.split('<');
    let pieces = pieces.enumerate().map(|(index, piece)| match index {
        0 => piece,
        _ => piece.split_once('>').map_or("", |(_, text)| text),
    });
    let mut text: String = pieces.collect();
    for (code, sign) in [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#38;", "&"),
    ] {
        text = text.replace(code, sign);
    }
    text.trim().to_owned()
}

/// What is between two marks; nothing if they are not there.
pub fn between<'a>(html: &'a str, from: &str, to: &str) -> &'a str {
    let rest = html.split_once(from).map_or("", |(_, rest)| rest);
    rest.split_once(to).map_or("", |(inside, _)| inside)
}

/// The parts of a page that begin with a mark.
pub fn parts<'a>(html: &'a str, from: &'a str) -> impl Iterator<Item = &'a str> {
    html.split(from).skip(1)
}

/// The times of a piece of HTML, exactly.
pub fn times(html: &str) -> Vec<&str> {
    parts(html, "datetime=\"")
        .filter_map(|rest| Some(rest.split_once('"')?.0))
        .collect()
}

/// `/metrics`, by name with labels as they are written.
pub fn metrics(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        })
        .collect()
}
