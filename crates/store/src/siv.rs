//! Hides bytes and proves on opening that they are ours: a synthetic IV.
//!
//! A keyed hash of the content starts the stream that hides it, and is the proof. The same content sealed twice looks the same,
//! which tells who has both that it is the same and nothing else.

/// Bytes of the IV, which is also the proof.
const IV: usize = 16;

/// Seals and opens with one pair of keys.
#[derive(Clone)]
pub struct Siv {
    hide: [u8; 32],
    prove: [u8; 32],
}

impl std::fmt::Debug for Siv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Siv")
    }
}

impl Siv {
    /// With these keys, which are used for nothing else.
    pub fn new(hide: [u8; 32], prove: [u8; 32]) -> Self {
        Self { hide, prove }
    }

    /// `plain`, hidden and proved; 16 bytes longer.
    pub fn seal(&self, plain: &[u8]) -> Vec<u8> {
        self.seal_parts(&[plain])
    }

    /// The same of several parts, one behind the other.
    pub fn seal_parts(&self, parts: &[&[u8]]) -> Vec<u8> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let mut sealed = Vec::with_capacity(IV + length);
        sealed.extend_from_slice(&[0; IV]);
        parts.iter().for_each(|part| sealed.extend_from_slice(part));
        let iv = self.iv(&sealed[IV..]);
        sealed[..IV].copy_from_slice(&iv);
        self.mask(&iv, &mut sealed[IV..]);
        sealed
    }

    /// What was sealed with the same keys; `None` for everything else.
    pub fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (iv, hidden) = sealed.split_first_chunk::<IV>()?;
        let mut plain = hidden.to_vec();
        self.unmask(iv, &mut plain).then_some(plain)
    }

    /// The same where it is; what does not open means nothing afterwards.
    pub fn open_in_place<'a>(&self, sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        let (iv, hidden) = sealed.split_first_chunk_mut::<IV>()?;
        self.unmask(iv, hidden).then_some(hidden)
    }

    /// Shows what is hidden; `false` if it is not ours.
    fn unmask(&self, iv: &[u8; IV], hidden: &mut [u8]) -> bool {
        // Unmasked before it is proved, as a synthetic IV must be; nothing is done with it until the proof holds.
        self.mask(iv, hidden);
        let proof = blake3::Hash::from_bytes(padded(&self.iv(hidden)));
        // Compared in constant time.
        proof == blake3::Hash::from_bytes(padded(iv))
    }

    fn iv(&self, plain: &[u8]) -> [u8; IV] {
        let hash = blake3::keyed_hash(&self.prove, plain);
        let mut iv = [0; IV];
        iv.copy_from_slice(&hash.as_bytes()[..IV]);
        iv
    }

    fn mask(&self, iv: &[u8; IV], bytes: &mut [u8]) {
        let mut stream = blake3::Hasher::new_keyed(&self.hide);
        let mut stream = stream.update(iv).finalize_xof();
        // As many blocks at once as the widest registers take.
        let mut mask = [0; 1024];
        for piece in bytes.chunks_mut(mask.len()) {
            let mask = &mut mask[..piece.len()];
            stream.fill(mask);
            for (byte, mask) in piece.iter_mut().zip(mask) {
                *byte ^= *mask;
            }
        }
    }
}

fn padded(iv: &[u8; IV]) -> [u8; 32] {
    let mut padded = [0; 32];
    padded[..IV].copy_from_slice(iv);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in stores that were written before stays readable: the stream is the keyed hash's own, without a gap.
    #[test]
    fn every_length_is_hidden_by_one_stream_and_opens_again() {
        let siv = Siv::new([1; 32], [2; 32]);
        for len in [0, 1, 63, 64, 65, 1023, 1024, 1025, 5000] {
            let plain: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            let sealed = siv.seal(&plain);
            let (iv, hidden) = sealed.split_at(IV);
            let mut stream = vec![0; len];
            let mut hasher = blake3::Hasher::new_keyed(&[1; 32]);
            hasher.update(iv).finalize_xof().fill(&mut stream);
            let expected: Vec<u8> = plain.iter().zip(stream).map(|(a, b)| a ^ b).collect();
            assert_eq!(hidden, expected, "{len} bytes");
            let (front, back) = plain.split_at(len / 3);
            assert_eq!(siv.seal_parts(&[front, back]), sealed, "{len} bytes");
            let mut copy = sealed.clone();
            let opened = siv.open_in_place(&mut copy);
            assert_eq!(opened, Some(&plain[..]), "{len} bytes");
            assert_eq!(siv.open(&sealed), Some(plain), "{len} bytes");
        }
    }

    #[test]
    fn what_was_changed_or_sealed_by_another_does_not_open() {
        let siv = Siv::new([1; 32], [2; 32]);
        let sealed = siv.seal(b"told by a node");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(siv.open(&changed), None, "byte {at}");
            assert_eq!(siv.open_in_place(&mut changed), None, "byte {at}");
        }
        assert_eq!(siv.open(&sealed[..IV - 1]), None);
        assert_eq!(Siv::new([1; 32], [3; 32]).open(&sealed), None);
    }
}
