//! OVERVIEW.FMT: what a server puts into its overview lines after the seven fields that all have.

use super::{FIXED, OverviewLine};
use crate::error::Error;
use crate::field::FieldName;
use crate::head;
use crate::number;
use crate::text::clean;

/// Fields beyond the seven that are read from one server's list.
const MAX_EXTRA: usize = 32;

/// The seven in their order, as RFC 3977 spells them.
const NAMES: [&str; FIXED] = [
    "Subject:",
    "From:",
    "Date:",
    "Message-ID:",
    "References:",
    ":bytes",
    ":lines",
];

/// The fields of a server's overview lines. The first seven are the same everywhere, so only those
/// after them are kept; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverviewFormat {
    extra: Vec<Extra>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Extra {
    name: FieldName,
    /// The value has the field's name before it, as all but metadata have (RFC 3977 §8.4).
    full: bool,
}

impl OverviewFormat {
    /// The seven and Xref, as nearly every server has it.
    pub fn with_xref() -> Self {
        Self::with(["Xref".parse().expect("it is a header's name")])
    }

    /// The seven and these, with their names in front of header values.
    pub fn with(extra: impl IntoIterator<Item = FieldName>) -> Self {
        let extra = extra.into_iter().map(|name| Extra {
            full: !name.is_metadata(),
            name,
        });
        Self {
            extra: extra.take(MAX_EXTRA).collect(),
        }
    }

    /// Reads the lines of LIST OVERVIEW.FMT. The first seven must be the usual ones, in their order
    /// and in either spelling: a server with others would be read wrongly by everyone.
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, Error> {
        let mut lines = lines.into_iter();
        for name in NAMES {
            let line = lines.next().ok_or(Error::ListLine)?;
            if !same_name(line.trim_ascii(), name.as_bytes()) {
                return Err(Error::ListLine);
            }
        }
        let extra = lines.take(MAX_EXTRA).map(Extra::parse);
        Ok(Self {
            extra: extra.collect::<Result<_, Error>>()?,
        })
    }

    /// Appends the lines of LIST OVERVIEW.FMT, each with its end.
    pub fn write(&self, out: &mut Vec<u8>) {
        for name in NAMES {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        for extra in &self.extra {
            out.extend_from_slice(extra.name.as_str().as_bytes());
            let ending: &[u8] = match (extra.full, extra.name.is_metadata()) {
                (true, _) => b":full\r\n",
                (false, true) => b"\r\n",
                (false, false) => b":\r\n",
            };
            out.extend_from_slice(ending);
        }
    }

    /// The names of the fields after the seven.
    pub fn extra(&self) -> impl Iterator<Item = &FieldName> {
        self.extra.iter().map(|extra| &extra.name)
    }

    /// The value of a field after the seven, without its name; nothing if the server does not list
    /// it, or if this article does not have it.
    pub fn value<'a>(&self, line: &OverviewLine<'a>, name: &str) -> Option<&'a [u8]> {
        let position = self.extra.iter().position(|extra| extra.name.is(name))?;
        let value = line.extra.split(|byte| *byte == b'\t').nth(position)?;
        // Some servers leave the name out although they say `full`, and the other way round.
        let value = match value.split_at_checked(name.len()) {
            Some((start, rest)) if start.eq_ignore_ascii_case(name.as_bytes()) => {
                rest.strip_prefix(b":").unwrap_or(value)
            }
            _ => value,
        };
        let value = value.trim_ascii();
        (!value.is_empty()).then_some(value)
    }

    /// Appends the fields after the seven, for [`OverviewLine::extra`]; `value` finds the value of a
    /// field, if the article has it.
    pub fn write_extra<'v>(
        &self,
        mut value: impl FnMut(&FieldName) -> Option<&'v [u8]>,
        out: &mut Vec<u8>,
    ) {
        for (position, extra) in self.extra.iter().enumerate() {
            if position > 0 {
                out.push(b'\t');
            }
            if let Some(value) = value(&extra.name) {
                extra.write_name(out);
                clean(value, out);
            }
        }
    }

    /// Appends the overview line of an article, without its end, from its head. The first field of a
    /// name counts. Lines are taken from the header if the caller does not know them.
    pub fn write_from_head(
        &self,
        number: u64,
        head: &[u8],
        (bytes, lines): (Option<u64>, Option<u64>),
        out: &mut Vec<u8>,
    ) {
        let mut fixed = [&[][..]; FIXED];
        let mut extra = vec![&[][..]; self.extra.len()];
        for (name, value) in head::fields(head) {
            let at = NAMES
                .iter()
                .position(|fixed| same_name(fixed.as_bytes(), name));
            let slot = match at {
                Some(at) => Some(&mut fixed[at]),
                None => self
                    .extra
                    .iter()
                    .position(|extra| extra.name.is(name))
                    .map(|at| &mut extra[at]),
            };
            if let Some(slot) = slot
                && slot.is_empty()
            {
                *slot = value;
            }
        }
        number::write(number, out);
        for value in &fixed[..5] {
            out.push(b'\t');
            head::unfold(value, out);
        }
        let lines = lines.or_else(|| number::number(fixed[6]));
        for value in [bytes, lines] {
            out.push(b'\t');
            if let Some(value) = value {
                number::write(value, out);
            }
        }
        for (extra, value) in self.extra.iter().zip(extra) {
            out.push(b'\t');
            if !value.is_empty() {
                extra.write_name(out);
                head::unfold(value, out);
            }
        }
    }
}

impl Extra {
    /// `Xref:full`, `Xref:` or `:metadata`.
    fn parse(line: &[u8]) -> Result<Self, Error> {
        let line = std::str::from_utf8(line).map_err(|_| Error::Text)?.trim();
        let (name, ending) = match line.rfind(':') {
            Some(colon) if colon > 0 => line.split_at(colon),
            _ => (line, ""),
        };
        Ok(Self {
            name: name.parse()?,
            full: ending.eq_ignore_ascii_case(":full"),
        })
    }

    fn write_name(&self, out: &mut Vec<u8>) {
        if self.full {
            out.extend_from_slice(self.name.as_str().as_bytes());
            out.extend_from_slice(b": ");
        }
    }
}

/// Whether two spellings name the same one of the seven: colons before (`:bytes`), behind (`Bytes:`)
/// or nowhere, in any case.
fn same_name(a: &[u8], b: &[u8]) -> bool {
    let bare = |name: &[u8]| -> (usize, usize) {
        let start = usize::from(name.starts_with(b":"));
        let end = name.len() - usize::from(name.len() > 1 && name.ends_with(b":"));
        (start, end)
    };
    let ((a_start, a_end), (b_start, b_end)) = (bare(a), bare(b));
    a[a_start..a_end].eq_ignore_ascii_case(&b[b_start..b_end])
}
