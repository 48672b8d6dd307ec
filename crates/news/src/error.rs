//! Why the news front cannot start.

use std::io;
use std::path::PathBuf;

/// Why it cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The way out is not to be had.
    #[error(transparent)]
    Net(#[from] weir_net::Error),
    /// What people have read and written cannot be kept.
    #[error(transparent)]
    Store(#[from] weir_store::Error),
    /// The certificate for newsreaders cannot be used.
    #[error("`{key}` cannot be used: {}: {why}", path.display())]
    Certificate {
        /// The setting that names the file.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A socket for newsreaders was opened and cannot be used.
    #[error("a socket for newsreaders cannot be used: {0}")]
    Socket(io::Error),
    /// The system has no random numbers for secrets.
    #[error("no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}
