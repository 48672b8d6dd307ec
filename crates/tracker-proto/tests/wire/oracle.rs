//! Another crate's opinion on bencode.

use bendy::decoding::{Decoder, Error, FromBencode};
use bendy::encoding::Encoder;
use bendy::value::Value;

/// Reads bencode by the book: it refuses keys that are out of order or repeated, and bytes after the end.
pub(crate) fn read(bytes: &[u8]) -> Result<Value<'static>, Error> {
    let mut decoder = Decoder::new(bytes).with_max_depth(40);
    let object = decoder
        .next_object()?
        .ok_or(Error::missing_field("value"))?;
    let value = Value::decode_bencode_object(object)?;
    if decoder.next_object()?.is_some() {
        return Err(Error::unexpected_field("more"));
    }
    Ok(value)
}

/// Writes a value of any depth we test with.
pub(crate) fn write(value: &Value<'_>) -> Vec<u8> {
    let mut encoder = Encoder::new().with_max_depth(40);
    encoder.emit(value).expect("a value");
    encoder.get_output().expect("all of it")
}
