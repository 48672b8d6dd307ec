//! Why there is no notify front.

/// What keeps the front from starting.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is not to be had.
    #[error("the notify front cannot use its file: {0}")]
    Store(#[from] weir_store::Error),
    /// There is no way out to hooks.
    #[error("cannot call hooks: {0}")]
    Net(#[from] weir_net::Error),
}
