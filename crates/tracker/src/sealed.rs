//! Files of `swarm/`: eight bytes that say what it is, the content, and a checksum over both.

const CHECKSUM: usize = blake3::OUT_LEN;

/// Why a file cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadFile {
    #[error("it is not a file of swarms")]
    Foreign,
    #[error("its checksum is wrong: it was cut off or changed")]
    Checksum,
    #[error("it cannot be read to its end")]
    Content,
}

/// Ends a file that began with its kind.
pub(crate) fn seal(mut file: Vec<u8>) -> Vec<u8> {
    let checksum = blake3::hash(&file);
    file.extend_from_slice(checksum.as_bytes());
    file
}

/// The content of a whole file of this kind.
pub(crate) fn open<'a>(file: &'a [u8], kind: &[u8; 8]) -> Result<Bytes<'a>, BadFile> {
    let (sealed, checksum) = file
        .split_last_chunk::<CHECKSUM>()
        .ok_or(BadFile::Foreign)?;
    let mut content = Bytes(sealed);
    if content.take::<8>() != Some(*kind) {
        return Err(BadFile::Foreign);
    }
    if blake3::hash(sealed).as_bytes() != checksum {
        return Err(BadFile::Checksum);
    }
    Ok(content)
}

/// Content that is read from its front.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn some(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}
