//! A query string as names and values.

use std::collections::HashMap;

use percent_encoding::percent_decode;

use super::{digits, wrong};
use crate::error::Refusal;

/// Names that are longer are none of the protocol's.
const NAME: usize = 32;

/// The parameters of a request that have a value, by their names in lower case.
pub(super) struct Parameters {
    values: HashMap<String, String>,
}

impl Parameters {
    /// Decodes a query string; of a repeated name the first value counts.
    pub(super) fn read(raw: &str) -> Self {
        let raw = raw.strip_prefix('?').unwrap_or(raw);
        let mut values = HashMap::new();
        for pair in raw.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name).to_ascii_lowercase(), decode(value));
            let value = value.trim();
            if name.len() <= NAME && !value.is_empty() {
                values.entry(name).or_insert_with(|| value.to_owned());
            }
        }
        Self { values }
    }

    /// The value of a parameter, never empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// A number; zero is none, as programs send it for "no limit".
    pub(super) fn number(&self, name: &str, of: &str) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let value = digits(value).ok_or_else(|| wrong(name, &format!("a number of {of}")))?;
        // More digits than fit are as many as there can be.
        let number = value.parse().unwrap_or(u64::MAX);
        Ok((number > 0).then_some(number))
    }

    /// Yes or no; anything else is neither.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)?.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" => Some(true),
            "0" | "false" | "no" => Some(false),
            _ => None,
        }
    }
}

/// Percent-decoding with `+` as a space; what is no UTF-8 becomes replacement characters.
fn decode(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_decode(spaced.as_bytes())
        .decode_utf8_lossy()
        .into_owned()
}
