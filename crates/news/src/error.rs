//! Why the news front cannot start.

/// Why it cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The way out is not to be had.
    #[error(transparent)]
    Net(#[from] weir_net::Error),
    /// What people have read and written cannot be kept.
    #[error(transparent)]
    Store(#[from] weir_store::Error),
    /// The system has no random numbers for secrets.
    #[error("no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}
