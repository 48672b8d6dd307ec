//! The field table: each key is defined once, for the reader, the sample file and messages.

use std::marker::PhantomData;

use crate::Setting;

/// One key of a section: its name, type, default and documentation. A `const` next to the section's struct.
pub struct Field<T> {
    about: About,
    check: Option<Condition<T>>,
    kind: PhantomData<fn() -> T>,
}

/// Refuses a value of the right type that makes no sense; the text follows the word "write".
pub type Condition<T> = fn(&T) -> Result<(), &'static str>;

/// A key's row in the table, without its type.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The key.
    pub key: &'static str,
    /// The default in YAML; `None` if the key is required.
    pub default: Option<&'static str>,
    /// The documentation, one or more sentences.
    pub doc: &'static str,
    /// A second environment variable; the one made from the path overrides it.
    pub variable: Option<&'static str>,
    /// Whether it is read only at start; a reload then only logs that it changed.
    pub at_start: bool,
    /// What to write, as the type says it.
    pub wanted: fn() -> String,
    /// Whether messages must not quote what was written.
    pub secret: bool,
    /// The words to choose from, if there are no others.
    pub words: &'static [&'static str],
}

impl<T: Setting> Field<T> {
    /// A key with a default; `default` is written as in a YAML file.
    pub const fn new(key: &'static str, default: &'static str, doc: &'static str) -> Self {
        Self::with(key, Some(default), doc)
    }

    /// A required key.
    pub const fn needed(key: &'static str, doc: &'static str) -> Self {
        Self::with(key, None, doc)
    }

    const fn with(key: &'static str, default: Option<&'static str>, doc: &'static str) -> Self {
        Self {
            about: About {
                key,
                default,
                doc,
                variable: None,
                at_start: false,
                wanted: T::wanted,
                secret: T::SECRET,
                words: T::WORDS,
            },
            check: None,
            kind: PhantomData,
        }
    }

    /// Adds a condition that values must meet.
    pub const fn check(mut self, check: Condition<T>) -> Self {
        self.check = Some(check);
        self
    }

    /// Adds a second environment variable.
    pub const fn variable(mut self, name: &'static str) -> Self {
        self.about.variable = Some(name);
        self
    }

    /// Says whether the key is read only at start, or by a reload too.
    pub const fn at_start(mut self, at_start: bool) -> Self {
        self.about.at_start = at_start;
        self
    }

    /// This key as a row of a table.
    pub const fn row(&self) -> Row {
        Row::Field(self.about)
    }

    /// The key's name.
    pub const fn key(&self) -> &'static str {
        self.about.key
    }

    pub(crate) fn about(&self) -> &About {
        &self.about
    }

    pub(crate) fn condition(&self) -> Option<Condition<T>> {
        self.check
    }
}

/// A section, or the shape of a list's entries.
#[derive(Debug)]
pub struct Table {
    /// Its key in the section around it; empty for the whole file.
    pub key: &'static str,
    /// The documentation.
    pub doc: &'static str,
    /// Whether all of it is read only at start.
    pub at_start: bool,
    /// Its keys, in the order of the sample file.
    pub rows: &'static [Row],
    /// An entry in YAML, for the sample file; empty for a section.
    pub example: &'static str,
    /// Keys of earlier versions, each with what to do about it.
    pub gone: &'static [(&'static str, &'static str)],
}

/// One row of a table.
#[derive(Clone, Copy, Debug)]
pub enum Row {
    /// A value.
    Field(About),
    /// A section inside this one.
    Section(&'static Table),
    /// A list: its documentation, and the table with the keys of its entries.
    List(&'static str, &'static Table),
}

impl Row {
    /// The key of this row.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Field(about) => about.key,
            Self::Section(table) | Self::List(_, table) => table.key,
        }
    }
}

impl Table {
    /// Calls `visit` with the path of each row of this table and of the sections in it; entries of lists are left out.
    pub fn walk(&self, visit: &mut dyn FnMut(&str, &Row)) {
        self.walk_below("", visit);
    }

    fn walk_below(&self, above: &str, visit: &mut dyn FnMut(&str, &Row)) {
        for row in self.rows {
            let path = join(above, row.key());
            visit(&path, row);
            if let Row::Section(table) = row {
                table.walk_below(&path, visit);
            }
        }
    }
}

pub(crate) fn join(above: &str, key: &str) -> String {
    if above.is_empty() {
        return key.to_owned();
    }
    format!("{above}.{key}")
}

/// Conditions that several sections share.
pub mod check {
    use std::time::Duration;

    use crate::SecretUrl;

    /// A proxy must speak HTTP or SOCKS 5.
    pub fn proxy(url: &Option<SecretUrl>) -> Result<(), &'static str> {
        match url.as_ref().map(SecretUrl::scheme) {
            None | Some("http" | "socks5" | "socks5h") => Ok(()),
            Some(_) => Err("a URL that begins with http or socks5"),
        }
    }

    /// A condition: it `fits`, or else the operator reads what is `wanted`.
    pub fn that(fits: bool, wanted: &'static str) -> Result<(), &'static str> {
        if fits { Ok(()) } else { Err(wanted) }
    }

    /// More than zero: a loop that waits for no time would spin.
    pub fn some_time(duration: &Duration) -> Result<(), &'static str> {
        that(!duration.is_zero(), "more than 0s")
    }

    /// Whole seconds, for protocols that would cut off the fraction.
    pub fn whole_seconds(duration: &Duration) -> Result<(), &'static str> {
        let whole = duration.as_secs() > 0 && duration.subsec_nanos() == 0;
        that(whole, "whole seconds, 1s or more")
    }

    /// A word that fits into a path and a metric's label as it is.
    pub fn path_word(word: &str) -> Result<(), &'static str> {
        let fits = |c: char| c.is_alphanumeric() || "._-".contains(c);
        that(
            word.chars().all(fits) && word.chars().count() <= 64,
            "a word of at most 64 letters, digits, dots, dashes and underscores",
        )
    }

    /// A host name or an address, as they can be looked up: an address of version 6 may stand in brackets.
    pub fn is_host(text: &str) -> bool {
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(bare) = bare {
            return bare.parse::<std::net::Ipv6Addr>().is_ok();
        }
        if text.parse::<std::net::IpAddr>().is_ok() {
            return true;
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let fits = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let is_label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label.chars().all(fits)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        // What ends with a number would be an address.
        let last = name.rsplit('.').next().unwrap_or_default();
        let number = last.bytes().all(|byte| byte.is_ascii_digit());
        name.len() <= 253 && !number && name.split('.').all(is_label)
    }

    /// An http or https URL.
    pub fn web_url(url: &SecretUrl) -> Result<(), &'static str> {
        let web = matches!(url.scheme(), "http" | "https");
        that(web, "a URL that begins with http or https")
    }

    /// A list with at least one entry.
    pub fn not_empty<T>(list: &[T]) -> Result<(), &'static str> {
        that(!list.is_empty(), "at least one entry")
    }
}
