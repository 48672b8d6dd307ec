//! Lists of newsgroups and of articles.

use std::sync::Arc;

use super::answer::{Reply, Talk};
use super::article::Article;
use super::behaviour::{EmptyRange, Rows};
use super::{State, reading};

/// What `LIST` can do.
const VARIANTS: [&str; 5] = [
    "ACTIVE",
    "NEWSGROUPS",
    "COUNTS",
    "ACTIVE.TIMES",
    "OVERVIEW.FMT",
];

/// What an overview holds after the number.
const FIELDS: [&str; 7] = [
    "Subject",
    "From",
    "Date",
    "Message-ID",
    "References",
    ":bytes",
    ":lines",
];

/// The capability `LIST`, without what is unknown.
pub(super) fn variants(unknown: impl Fn(&str) -> bool) -> String {
    let known = VARIANTS
        .iter()
        .filter(|name| !unknown(&format!("LIST {name}")));
    known.fold("LIST".to_owned(), |line, name| format!("{line} {name}"))
}

/// `LIST` in all its variants.
pub(super) fn list(state: &State, words: &[&str]) -> Reply {
    let variant = words.first().map(|word| word.to_ascii_uppercase());
    let variant = variant.unwrap_or_else(|| "ACTIVE".to_owned());
    let pattern = words.get(1).copied().unwrap_or("*");
    let newsgroups = state.shelf.newsgroups();
    let newsgroups = newsgroups.filter(|newsgroup| wildmat(pattern, &newsgroup.name));
    let row = |newsgroup: &super::Newsgroup| {
        let (count, low, high) = reading::counts(&state.nature, newsgroup);
        let (name, flag) = (&newsgroup.name, &newsgroup.flag);
        match variant.as_str() {
            "ACTIVE" => Some(format!("{name} {high:010} {low:010} {flag}\r\n")),
            "COUNTS" => Some(format!("{name} {high} {low} {count} {flag}\r\n")),
            "NEWSGROUPS" => Some(format!("{name}\t{}\r\n", newsgroup.description)),
            "ACTIVE.TIMES" => Some(format!("{name} 1700000000 zoo@example.com\r\n")),
            _ => None,
        }
    };
    if variant == "OVERVIEW.FMT" {
        let fields = FIELDS.map(|field| match field.strip_prefix(':') {
            Some(_) => format!("{field}\r\n"),
            None => format!("{field}:\r\n"),
        });
        let lines = fields.concat() + "Xref:full\r\n";
        return Reply::block("215 Fields", lines.into_bytes());
    }
    if !VARIANTS.contains(&variant.as_str()) {
        return Reply::line("503 No such list");
    }
    let rows: String = newsgroups.filter_map(row).collect();
    Reply::block("215 List", rows.into_bytes())
}

/// `OVER`, `XOVER`, `HDR` and `XHDR`.
pub(super) fn rows(state: &State, talk: &Talk, verb: &str, words: &[&str]) -> Reply {
    let (field, words) = match (verb, words) {
        ("OVER" | "XOVER", words) => (None, words),
        (_, [field, words @ ..]) => (Some(*field), words),
        _ => return Reply::line("501 Which field?"),
    };
    let found = match words.first() {
        Some(id) if id.starts_with('<') => reading::by_id(state, talk, id).map(|one| vec![one]),
        Some(range) => in_range(state, talk, range),
        None => reading::current(state, talk).map(|one| vec![one]),
    };
    let mut found = match found {
        Ok(found) => found,
        Err(line) => return Reply::line(line),
    };
    if found.is_empty() && state.nature.empty_range == EmptyRange::NoArticles {
        return Reply::line("423 Nothing in that range");
    }
    let Some(field) = field else {
        return Reply::block("224 Overview", overview(state, &mut found));
    };
    let (line, none) = if verb == "HDR" {
        ("225 Headers", "")
    } else {
        ("221 Headers", "(none)")
    };
    let mut block = Vec::new();
    for (number, article) in &found {
        let mut value = article.field(field);
        if value.is_empty() {
            value.extend_from_slice(none.as_bytes());
        }
        block.extend_from_slice(format!("{number} ").as_bytes());
        block.extend_from_slice(&value);
        block.extend_from_slice(b"\r\n");
    }
    Reply::block(line, block)
}

type Numbered = (u64, Arc<Article>);

fn in_range(state: &State, talk: &Talk, text: &str) -> Result<Vec<Numbered>, &'static str> {
    let newsgroup = reading::selected(state, talk).ok_or(reading::NO_NEWSGROUP)?;
    let range = reading::range(text).ok_or("501 Not a range")?;
    let articles = newsgroup.range(range);
    Ok(articles
        .map(|(number, one)| (number, one.clone()))
        .collect())
}

fn overview(state: &State, found: &mut Vec<Numbered>) -> Vec<u8> {
    match state.nature.rows {
        Rows::Reversed => found.reverse(),
        Rows::Holes => {
            let mut keep = false;
            found.retain(|_| {
                keep = !keep;
                keep
            });
        }
        _ => {}
    }
    let mut block = Vec::new();
    for (number, article) in found {
        let row = row(state, *number, article);
        block.extend_from_slice(&row);
        match state.nature.rows {
            Rows::Twice => block.extend_from_slice(&row),
            Rows::Garbage => {
                block
                    .extend_from_slice(b"\r\n\x00\x00\t\xff\xfe\t\x80\r\n\t\t\t\n7 bare\nlf\t\r\n");
            }
            _ => {}
        }
    }
    block
}

fn row(state: &State, number: u64, article: &Article) -> Vec<u8> {
    let mut fields = FIELDS.map(|field| article.field(field)).to_vec();
    let places = state.shelf.places(&article.id).iter();
    let xref = places.map(|(name, number)| format!(" {name}:{number}"));
    let xref = format!("Xref: zoo.example{}", xref.collect::<String>());
    fields.push(xref.into_bytes());
    let mut first = number.to_string();
    match state.nature.rows {
        Rows::Fields(most) => fields.truncate(most),
        Rows::ExtraTabs => fields[0].extend_from_slice(b"\twith a tab"),
        Rows::Shifted(by) => first = number.saturating_add(by).to_string(),
        Rows::NoNumbers => first = "one".to_owned(),
        _ => {}
    }
    let mut row = first.into_bytes();
    for field in fields {
        row.push(b'\t');
        row.extend_from_slice(&field);
    }
    row.extend_from_slice(b"\r\n");
    row
}

/// Whether a name is meant by a pattern such as `comp.*,!comp.sys.*`: the last part that fits decides.
fn wildmat(pattern: &str, name: &str) -> bool {
    let mut meant = false;
    for part in pattern.split(',') {
        let negated = part.starts_with('!');
        if fits(part.trim_start_matches('!').as_bytes(), name.as_bytes()) {
            meant = !negated;
        }
    }
    meant
}

/// One part of a pattern; the last star is tried again one byte further when something does not fit.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut star) = ((0, 0), None);
    while at.1 < name.len() {
        match pattern.get(at.0) {
            Some(b'*') => {
                star = Some(at);
                at.0 += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[at.1] => at = (at.0 + 1, at.1 + 1),
            _ => {
                let Some((pattern, name)) = star else {
                    return false;
                };
                star = Some((pattern, name + 1));
                at = (pattern + 1, name + 1);
            }
        }
    }
    pattern[at.0..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_say() {
        for (pattern, name, meant) in [
            ("*", "misc.test", true),
            ("misc.*", "misc.test", true),
            ("misc.*,!*.test", "misc.test", false),
            ("!*.test,misc.*", "misc.test", true),
            ("m?sc.*t", "misc.test", true),
            ("misc", "misc.test", false),
            ("misc.test.*", "misc.test", false),
            ("*a*b*c", "xaxbxbc", true),
        ] {
            assert_eq!(wildmat(pattern, name), meant, "{pattern} {name}");
        }
    }
}
