//! The field table: each key is defined once, and reader, sample file and explanations use it.

use std::marker::PhantomData;

use crate::Setting;

/// One key of a section: its name, type, default and manual. Kept as a `const` beside the section's struct.
pub struct Field<T> {
    about: About,
    check: Option<Check<T>>,
    kind: PhantomData<fn() -> T>,
}

/// Refuses a value that has the right type but cannot be; the text follows "write".
pub type Check<T> = fn(&T) -> Result<(), &'static str>;

/// What the table knows of a key without its type.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The key.
    pub key: &'static str,
    /// The default in YAML; `None` means that the key must be written.
    pub default: Option<&'static str>,
    /// The manual, one or more sentences.
    pub doc: &'static str,
    /// A second environment name besides `WEIR_` and the path, which has precedence over it.
    pub variable: Option<&'static str>,
    /// Whether it is read once, at the start, so that a reload only notes that it changed.
    pub at_start: bool,
    /// What to write, from the type.
    pub wanted: fn() -> String,
}

impl<T: Setting> Field<T> {
    /// A key with a default, written as in a YAML file.
    pub const fn new(key: &'static str, default: &'static str, doc: &'static str) -> Self {
        Self::with(key, Some(default), doc)
    }

    /// A key that must be written.
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
            },
            check: None,
            kind: PhantomData,
        }
    }

    /// The same key with a condition.
    pub const fn check(mut self, check: Check<T>) -> Self {
        self.check = Some(check);
        self
    }

    /// The same key with a second environment name.
    pub const fn variable(mut self, name: &'static str) -> Self {
        self.about.variable = Some(name);
        self
    }

    /// The same key, read once at the start or also by a reload.
    pub const fn at_start(mut self, at_start: bool) -> Self {
        self.about.at_start = at_start;
        self
    }

    /// This key as a line of a table.
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

    pub(crate) fn condition(&self) -> Option<Check<T>> {
        self.check
    }
}

/// A section, or the shape of a list's entries.
#[derive(Debug)]
pub struct Table {
    /// The key under which it stands; empty for the whole file.
    pub key: &'static str,
    /// The manual.
    pub doc: &'static str,
    /// Whether all of it is read once, at the start.
    pub at_start: bool,
    /// Its keys, in the order of the sample file.
    pub rows: &'static [Row],
    /// Keys that an earlier version had, each with what to do about it.
    pub gone: &'static [(&'static str, &'static str)],
}

/// One line of a table.
#[derive(Clone, Copy, Debug)]
pub enum Row {
    /// A value.
    Field(About),
    /// A section inside this one.
    Section(&'static Table),
    /// A list of entries that look like the table.
    List(&'static Table),
}

impl Row {
    /// The key of this line.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Field(about) => about.key,
            Self::Section(table) | Self::List(table) => table.key,
        }
    }
}

impl Table {
    /// Calls `visit` with the path of each line in this table and the sections inside, not inside lists.
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

    /// Proxies are spoken to by HTTP or SOCKS.
    pub fn proxy(url: &Option<SecretUrl>) -> Result<(), &'static str> {
        match url.as_ref().map(SecretUrl::scheme) {
            None | Some("http" | "socks5" | "socks5h") => Ok(()),
            Some(_) => Err("a URL that begins with http or socks5"),
        }
    }

    /// A wait of nothing would spin.
    pub fn some_time(duration: &Duration) -> Result<(), &'static str> {
        if duration.is_zero() {
            Err("more than 0s")
        } else {
            Ok(())
        }
    }

    /// Protocols that count in seconds lose the rest.
    pub fn whole_seconds(duration: &Duration) -> Result<(), &'static str> {
        match (duration.as_secs(), duration.subsec_nanos()) {
            (1.., 0) => Ok(()),
            _ => Err("whole seconds, 1s or more"),
        }
    }

    /// A word that can stand in a path and as a metric's label.
    pub fn path_word(word: &str) -> Result<(), &'static str> {
        let fits = |c: char| c.is_alphanumeric() || "._-".contains(c);
        if word.chars().all(fits) && word.chars().count() <= 64 {
            return Ok(());
        }
        Err("a word of at most 64 letters, digits, dots, dashes and underscores")
    }

    /// What a browser could open.
    pub fn web_url(url: &SecretUrl) -> Result<(), &'static str> {
        match url.scheme() {
            "http" | "https" => Ok(()),
            _ => Err("a URL that begins with http or https"),
        }
    }

    /// A list that must say something.
    pub fn not_empty<T>(list: &[T]) -> Result<(), &'static str> {
        if list.is_empty() {
            Err("at least one entry")
        } else {
            Ok(())
        }
    }
}
