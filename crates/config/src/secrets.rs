//! Our secrets at an upstream, which must not be shown even where the upstream repeats them in its answers.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::{Secret, SecretUrl};

/// Shorter secrets are not hidden: they would match ordinary words.
const SHORTEST: usize = 6;
/// Characters kept of an upstream's message.
const WORDS: usize = 200;

/// What is percent-encoded in a part of a URL: all but the unreserved characters of RFC 3986.
pub const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The secrets of one upstream, in every form in which it may repeat them.
#[derive(Clone, Debug)]
pub struct Secrets(Vec<Secret>);

impl Secrets {
    /// The secrets in a URL, and its API key. `in_path` says which parts of the path may be secret.
    pub fn of(url: &SecretUrl, key: Option<&Secret>, in_path: impl Fn(&str) -> bool) -> Self {
        let url = url.expose_url();
        let raw = url.query().unwrap_or_default().split('&');
        let raw = raw.map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
        let path = url.path().split('/').filter(|part| in_path(part));
        let plain = raw.chain(path).chain(url.password());
        let plain = plain.chain(key.map(Secret::expose)).map(str::to_owned);
        let values = url.query_pairs().map(|(_, value)| value.into_owned());
        let mut all: Vec<String> = plain.chain(values).collect();
        let decode = |secret: &String| percent_decode_str(secret).decode_utf8_lossy().into_owned();
        all.extend(all.iter().map(decode).collect::<Vec<_>>());
        let encode = |secret: &String| utf8_percent_encode(secret, ENCODED).to_string();
        all.extend(all.iter().map(encode).collect::<Vec<_>>());
        all.extend(all.iter().map(|secret| lower(secret)).collect::<Vec<_>>());
        all.retain(|secret| secret.len() >= SHORTEST);
        // The longest first: replacing one that is part of another would leave the rest of it readable.
        all.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        all.dedup();
        Self(all.into_iter().map(Secret::new).collect())
    }

    /// An upstream's message without the secrets, on one line and short enough for a page.
    pub fn words(&self, text: &str) -> String {
        let mut words: String = text.chars().filter(|letter| !letter.is_control()).collect();
        for secret in &self.0 {
            words = words.replace(secret.expose(), "…");
        }
        words.chars().take(WORDS).collect()
    }

    /// Whether a text contains one of them.
    pub fn tells(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(secret.expose()))
    }
}

/// The same text with escapes in lower case, as some programs write them: `%2f` for `%2F`.
fn lower(text: &str) -> String {
    let mut rest = 0_u8;
    let low = text.chars().map(|letter| {
        rest = if letter == '%' { 3 } else { rest };
        let escape = rest > 0;
        rest = rest.saturating_sub(1);
        if escape {
            letter.to_ascii_lowercase()
        } else {
            letter
        }
    });
    low.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        let url =
            "http://me:p4ss%2Fword@indexer.example/k3yInTheP%61th/announce?token=k%33y%20word&t=1";
        let url = SecretUrl::parse(url).expect("a URL");
        let key = Secret::new("the/api/key");
        Secrets::of(&url, Some(&key), |part| part != "announce")
    }

    #[test]
    fn every_form_is_hidden() {
        let said = "p4ss/word, p4ss%2Fword, p4ss%2fword, k3yInThePath, k3yInTheP%61th, k%33y%20word, k3y word, \
                    k3y%20word, the/api/key, the%2Fapi%2Fkey, the%2fapi%2fkey";
        let told = said
            .split(", ")
            .map(|secret| (secret, secrets().tells(secret)));
        assert!(
            told.clone().all(|(_, tells)| tells),
            "{:?}",
            told.collect::<Vec<_>>()
        );
        assert_eq!(secrets().words(said), ["…"; 11].join(", "));
        let other = "announce 1 to indexer.example, me";
        assert!(!secrets().tells(other));
        assert_eq!(secrets().words(other), other);
    }

    #[test]
    fn words_are_cut_when_nothing_is_left_to_hide() {
        let said = format!("{}\n\tk3yInThePath", "x".repeat(195));
        assert_eq!(secrets().words(&said), format!("{}…", "x".repeat(195)));
        let long = "é".repeat(300);
        assert_eq!(secrets().words(&long), "é".repeat(200));
    }
}
