//! `Xref` as our own server writes it: own numbers, in every newsgroup where an article has one.

use std::sync::Arc;

use weir_news_proto::{MessageId, Newsgroup};

use crate::lines::CROSSPOSTED;
use crate::model::Model;
use crate::reading::ReadArticle;

/// Newsgroups of one article that are looked up.
const MOST: usize = 32;

impl Model {
    /// What our server calls itself in `Xref`.
    pub fn set_host(&self, host: &str) {
        self.host.store(Arc::new(host.to_owned()));
    }

    pub(crate) fn host(&self) -> Arc<String> {
        self.host.load_full()
    }

    /// The value of an article's `Xref` as our own server writes it. An article that has no number in any of its
    /// newsgroups has none: the host stands alone, and the header is better left out.
    pub fn own_xref(&self, read: &ReadArticle, host: &str) -> String {
        let named = read.article.head.header("Newsgroups").unwrap_or_default();
        let names = named.split(',').take(MOST);
        let mut value = host.to_owned();
        let mut seen: Vec<Newsgroup> = Vec::new();
        for name in names.filter_map(|name| name.trim().parse::<Newsgroup>().ok()) {
            if !seen.contains(&name)
                && let Some(number) = self.known_number(&name, &read.id)
            {
                value.push_str(&format!(" {name}:{number}"));
                seen.push(name);
            }
        }
        value
    }

    /// A line as it was kept, with our own `Xref` at its end.
    pub(super) fn with_xref(
        &self,
        host: &str,
        (name, number): (&Newsgroup, u64),
        id: &MessageId,
        mut line: Vec<u8>,
    ) -> Vec<u8> {
        let others = split_others(&mut line);
        let own = format!("{name}:{number}");
        line.reserve_exact(8 + host.len() + own.len());
        line.extend_from_slice(b"\tXref: ");
        line.extend_from_slice(host.as_bytes());
        line.push(b' ');
        line.extend_from_slice(own.as_bytes());
        for other in others {
            if other != *name
                && self.told.has_opened(&other)
                && let Some(number) = self.known_number(&other, id)
            {
                line.extend_from_slice(format!(" {other}:{number}").as_bytes());
            }
        }
        line
    }
}

/// Where the fields begin that a line has after its seven.
fn extra(line: &[u8]) -> Option<usize> {
    let mut tabs = (0..line.len()).filter(|&at| line[at] == b'\t');
    tabs.nth(6)
}

/// Whether a line was kept with the names of other newsgroups.
pub(super) fn has_others(line: &[u8]) -> bool {
    extra(line).is_some()
}

/// Takes the newsgroups out of a kept line.
fn split_others(line: &mut Vec<u8>) -> Vec<Newsgroup> {
    let Some(at) = extra(line) else {
        return Vec::new();
    };
    let names = line[at + 1..].strip_prefix(CROSSPOSTED);
    let names = names.and_then(|names| std::str::from_utf8(names).ok());
    let names = names.map(|names| {
        names
            .split(',')
            .filter_map(|name| name.parse().ok())
            .collect()
    });
    line.truncate(at);
    names.unwrap_or_default()
}
