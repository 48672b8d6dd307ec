//! LIST HEADERS: which fields HDR can be asked for.

use crate::error::Error;
use crate::field::FieldName;

/// Names that are read from one server's list.
const MAX: usize = 1_000;

/// What LIST HEADERS answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedHeaders {
    /// A lone `:` was listed: any header field can be asked for.
    pub any: bool,
    /// Those listed by name, metadata included.
    pub names: Vec<FieldName>,
}

impl ListedHeaders {
    /// Reads the lines; names that no field can have are skipped.
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut listed = Self::default();
        for line in lines.into_iter().take(MAX) {
            match std::str::from_utf8(line.trim_ascii()) {
                Ok(":") => listed.any = true,
                Ok(name) => listed.names.extend(listed_name(name)),
                Err(_) => {}
            }
        }
        listed
    }

    /// Whether HDR can be asked for this field.
    pub fn has(&self, name: &FieldName) -> bool {
        self.any && !name.is_metadata() || self.names.contains(name)
    }

    /// Appends the lines, each with its end.
    pub fn write(&self, out: &mut Vec<u8>) {
        if self.any {
            out.extend_from_slice(b":\r\n");
        }
        for name in &self.names {
            out.extend_from_slice(name.as_str().as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Some servers put a colon behind header names, as in OVERVIEW.FMT.
fn listed_name(name: &str) -> Result<FieldName, Error> {
    name.strip_suffix(':').unwrap_or(name).parse()
}
