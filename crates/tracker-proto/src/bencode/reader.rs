//! Reading: one check of the whole, then borrowed values.

/// How deep lists and dictionaries may nest; a tracker needs four levels.
pub const MAX_DEPTH: u32 = 32;

/// How many values, keys included, one reading takes: more than 30,000 dictionary peers.
pub const MAX_ITEMS: u32 = 1 << 18;

/// Why bytes are no bencode that we read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes end before the value does.
    #[error("it ends too early")]
    Cut,
    /// A byte that cannot stand where it does.
    #[error("unexpected byte")]
    Syntax,
    /// An integer or a length that is not written the one way it may be.
    #[error("malformed number")]
    Number,
    /// A dictionary key that is not a string.
    #[error("a key is not a string")]
    Key,
    /// More than [`MAX_DEPTH`] levels.
    #[error("nested too deep")]
    Deep,
    /// More than [`MAX_ITEMS`] values.
    #[error("too many values")]
    Many,
    /// Bytes after the value, where none are allowed.
    #[error("more bytes follow the value")]
    Trailing,
}

/// A value inside bytes that have been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// An integer; one beyond 64 bits is the nearest that fits.
    Integer(i64),
    /// A string, which is any bytes.
    Bytes(&'a [u8]),
    /// A list.
    List(List<'a>),
    /// A dictionary.
    Dict(Dict<'a>),
}

/// The values of a list, as an iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List<'a> {
    rest: &'a [u8],
}

/// The entries of a dictionary in the order they came, as an iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dict<'a> {
    rest: &'a [u8],
}

/// Reads one value that is all there is.
pub fn read(bytes: &[u8]) -> Result<Value<'_>, Error> {
    match read_prefix(bytes)? {
        (value, []) => Ok(value),
        _ => Err(Error::Trailing),
    }
}

/// Reads one value and gives back what follows it.
pub fn read_prefix(bytes: &[u8]) -> Result<(Value<'_>, &[u8]), Error> {
    let end = end_of_value(bytes)?;
    let (value, rest) = bytes.split_at(end);
    Ok((checked(value)?, rest))
}

impl<'a> Value<'a> {
    /// The integer, if it is one.
    pub fn integer(self) -> Option<i64> {
        match self {
            Self::Integer(integer) => Some(integer),
            _ => None,
        }
    }

    /// The string, if it is one.
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The dictionary, if it is one.
    pub fn dict(self) -> Option<Dict<'a>> {
        match self {
            Self::Dict(dict) => Some(dict),
            _ => None,
        }
    }
}

impl<'a> Dict<'a> {
    /// The value of a key, found by walking from the first.
    pub fn get(mut self, key: &[u8]) -> Option<Value<'a>> {
        self.find(|(found, _)| *found == key)
            .map(|(_, value)| value)
    }
}

impl<'a> Iterator for List<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let (value, rest) = read_prefix(self.rest).ok()?;
        self.rest = rest;
        Some(value)
    }
}

impl<'a> Iterator for Dict<'a> {
    type Item = (&'a [u8], Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, at) = string(self.rest, 0).ok()?;
        let (value, rest) = read_prefix(&self.rest[at..]).ok()?;
        self.rest = rest;
        Some((key, value))
    }
}

/// Where the first value ends, if it is one all the way down.
fn end_of_value(bytes: &[u8]) -> Result<usize, Error> {
    let mut at = 0;
    let mut depth = 0;
    // One bit per level, the innermost lowest: is it a dictionary?
    let mut dicts = 0_u64;
    let mut wants_key = false;
    for _ in 0..MAX_ITEMS {
        match *bytes.get(at).ok_or(Error::Cut)? {
            b'e' if depth > 0 && (wants_key || dicts & 1 == 0) => {
                at += 1;
                depth -= 1;
                dicts >>= 1;
            }
            b'0'..=b'9' => {
                at = string(bytes, at)?.1;
                if wants_key {
                    wants_key = false;
                    continue;
                }
            }
            _ if wants_key => return Err(Error::Key),
            b'i' => at = integer(bytes, at)?.1,
            open @ (b'l' | b'd') => {
                if depth == MAX_DEPTH {
                    return Err(Error::Deep);
                }
                at += 1;
                depth += 1;
                wants_key = open == b'd';
                dicts = dicts << 1 | u64::from(wants_key);
                continue;
            }
            _ => return Err(Error::Syntax),
        }
        if depth == 0 {
            return Ok(at);
        }
        wants_key = dicts & 1 == 1;
    }
    Err(Error::Many)
}

/// The one value that these bytes are.
fn checked(bytes: &[u8]) -> Result<Value<'_>, Error> {
    match bytes {
        [b'i', ..] => Ok(Value::Integer(integer(bytes, 0)?.0)),
        [b'l', rest @ .., b'e'] => Ok(Value::List(List { rest })),
        [b'd', rest @ .., b'e'] => Ok(Value::Dict(Dict { rest })),
        _ => Ok(Value::Bytes(string(bytes, 0)?.0)),
    }
}

/// The integer at a place, and where it ends.
fn integer(bytes: &[u8], at: usize) -> Result<(i64, usize), Error> {
    let negative = bytes.get(at + 1) == Some(&b'-');
    let start = at + 1 + usize::from(negative);
    let (size, end) = digits(bytes, start, b'e')?;
    if negative && size == 0 {
        return Err(Error::Number);
    }
    let value = match i64::try_from(size) {
        Ok(value) if negative => -value,
        Ok(value) => value,
        Err(_) if negative => i64::MIN,
        Err(_) => i64::MAX,
    };
    Ok((value, end))
}

/// The string at a place, and where it ends.
fn string(bytes: &[u8], at: usize) -> Result<(&[u8], usize), Error> {
    let (length, start) = digits(bytes, at, b':')?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let end = start.checked_add(length).ok_or(Error::Cut)?;
    let string = bytes.get(start..end).ok_or(Error::Cut)?;
    Ok((string, end))
}

/// A number without leading zeros up to `stop`, and the place after that; too large is the largest.
fn digits(bytes: &[u8], start: usize, stop: u8) -> Result<(u64, usize), Error> {
    let mut number = 0_u64;
    let mut at = start;
    loop {
        match *bytes.get(at).ok_or(Error::Cut)? {
            digit @ b'0'..=b'9' => {
                let digit = u64::from(digit - b'0');
                number = number.saturating_mul(10).saturating_add(digit);
            }
            byte if byte == stop && at > start => break,
            _ => return Err(Error::Number),
        }
        at += 1;
    }
    if bytes[start] == b'0' && at > start + 1 {
        return Err(Error::Number);
    }
    Ok((number, at + 1))
}
