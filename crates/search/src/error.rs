//! Why there is no search front.

/// What keeps the front from starting, or from taking a configuration over.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file is not to be had.
    #[error("the search front cannot use its file: {0}")]
    Store(#[from] weir_store::Error),
    /// There is no way out to indexers.
    #[error("cannot call indexers: {0}")]
    Net(#[from] weir_net::Error),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}
