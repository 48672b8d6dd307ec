//! Why the tracker does not start, or a reload is refused.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::lists::ListError;

/// Why the tracker cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A port is not to be had.
    #[error("cannot listen on {address}")]
    Listen {
        /// Which address.
        address: SocketAddr,
        /// The key that it came from.
        key: &'static str,
        /// The flag that changes it.
        flag: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A list of info hashes cannot be used.
    #[error(transparent)]
    List(#[from] ListError),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(#[from] getrandom::Error),
    /// The files of the swarms are not to be had.
    #[error("cannot use {}: {source}. Weir must be able to read and write there", path.display())]
    Files {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is no way out to other trackers.
    #[error("cannot call other trackers: {0}")]
    Net(#[from] weir_net::Error),
    /// The system starts no threads.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}
