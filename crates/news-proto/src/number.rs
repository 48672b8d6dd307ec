//! Article numbers and counts as text.

/// Reads digits only, with any number of zeros before them: servers pad, but never sign.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// Appends a number in decimal.
pub(crate) fn write(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_within_64_bits_are_a_number() {
        assert_eq!(number(b"0000003000"), Some(3_000));
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        let padded = [[b'0'; 1_000].as_slice(), b"7"].concat();
        assert_eq!(number(&padded), Some(7));
        for odd in ["", "-1", "+1", "1 ", "1a", "18446744073709551616"] {
            assert_eq!(number(odd.as_bytes()), None, "{odd}");
        }
    }

    #[test]
    fn numbers_are_written_without_padding() {
        for value in [0, 9, 10, 2_147_483_647, u64::MAX] {
            let mut out = Vec::new();
            write(value, &mut out);
            assert_eq!(out, value.to_string().into_bytes());
        }
    }
}
