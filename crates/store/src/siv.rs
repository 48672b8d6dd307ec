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
        let iv = self.iv(plain);
        let mut sealed = Vec::with_capacity(IV + plain.len());
        sealed.extend_from_slice(&iv);
        sealed.extend_from_slice(plain);
        self.mask(&iv, &mut sealed[IV..]);
        sealed
    }

    /// What was sealed with the same keys; `None` for everything else.
    pub fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (iv, hidden) = sealed.split_first_chunk::<IV>()?;
        let mut plain = hidden.to_vec();
        // Unmasked before it is proved, as a synthetic IV must be; nothing is done with it until the proof holds.
        self.mask(iv, &mut plain);
        let proof = blake3::Hash::from_bytes(padded(&self.iv(&plain)));
        // Compared in constant time.
        (proof == blake3::Hash::from_bytes(padded(iv))).then_some(plain)
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
        let mut block = [0; 64];
        for piece in bytes.chunks_mut(64) {
            stream.fill(&mut block);
            for (byte, mask) in piece.iter_mut().zip(block) {
                *byte ^= mask;
            }
        }
    }
}

fn padded(iv: &[u8; IV]) -> [u8; 32] {
    let mut padded = [0; 32];
    padded[..IV].copy_from_slice(iv);
    padded
}
