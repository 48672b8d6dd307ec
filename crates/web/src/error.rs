//! Why the web part cannot start or reload. What clients are told is in `failure`.

/// Why the web part cannot start or take new settings.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Keys and sessions cannot be stored.
    #[error("cannot store keys and sessions: {0}")]
    Store(#[from] weir_store::Error),
    /// The operating system provides no random numbers, so no key can be made.
    #[error("the operating system provides no random numbers: {0}")]
    Random(getrandom::Error),
}
