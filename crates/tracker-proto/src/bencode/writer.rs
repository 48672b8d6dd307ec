//! Writing: values appended to a buffer, in the order the caller gives them.

/// Appends bencode to a buffer.
///
/// Keys must be written in sorted order, which is the caller's part; every value of ours has fixed
/// keys, so the order is seen in the source.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Appends to what the buffer holds.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Begins a list.
    pub fn begin_list(&mut self) {
        self.out.push(b'l');
    }

    /// Begins a dictionary.
    #[inline]
    pub fn begin_dict(&mut self) {
        self.out.push(b'd');
    }

    /// Ends the innermost list or dictionary.
    #[inline]
    pub fn end(&mut self) {
        self.out.push(b'e');
    }

    /// Writes an integer.
    #[inline]
    pub fn integer(&mut self, value: i64) {
        self.out.push(b'i');
        if value < 0 {
            self.out.push(b'-');
        }
        push_decimal(self.out, value.unsigned_abs());
        self.out.push(b'e');
    }

    /// Writes a string of any bytes, or a key.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.out.extend_from_slice(bytes);
    }

    /// Writes a key with an integer.
    #[inline]
    pub fn integer_at(&mut self, key: &str, value: i64) {
        self.bytes(key.as_bytes());
        self.integer(value);
    }

    /// Writes a key with a string.
    #[inline]
    pub fn bytes_at(&mut self, key: &str, value: &[u8]) {
        self.bytes(key.as_bytes());
        self.bytes(value);
    }

    /// Writes what the caller knows to be bencode: keys and the beginnings of their values, for replies that are written
    /// by the hundred thousand.
    #[inline]
    pub(crate) fn verbatim(&mut self, bencode: &[u8]) {
        self.out.extend_from_slice(bencode);
    }

    /// Writes an integer behind a beginning that is bencode up to its `i`.
    #[inline(always)]
    pub(crate) fn number(&mut self, begin: &[u8], value: u32) {
        self.verbatim(begin);
        push_decimal(self.out, value.into());
        self.out.push(b'e');
    }

    /// Writes the length of a string, before its bytes.
    #[inline]
    fn length(&mut self, length: usize) {
        push_decimal(self.out, length as u64);
        self.out.push(b':');
    }
}

/// Appends a number in decimal; the formatting machinery would take longer than all the rest.
#[inline]
pub fn push_decimal(out: &mut Vec<u8>, number: u64) {
    // Most counts are small, and so are the lengths of all keys, which are known beforehand.
    match number {
        0..10 => out.push(b'0' + number as u8),
        10..100 => out.extend_from_slice(&digits::<2>(number as u32)),
        _ => push_many(out, number),
    }
}

fn push_many(out: &mut Vec<u8>, mut number: u64) {
    // Intervals and lengths of replies have such lengths; known ones are copied without a call.
    match number {
        ..1_000 => return out.extend_from_slice(&digits::<3>(number as u32)),
        1_000..10_000 => return out.extend_from_slice(&digits::<4>(number as u32)),
        _ => {}
    }
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// The lowest digits of a number.
#[inline]
fn digits<const N: usize>(mut number: u32) -> [u8; N] {
    let mut digits = [0; N];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    digits
}
