//! Where a value came from; every node of a tree and every resolved value has one.

use std::fmt;
use std::sync::Arc;

/// The place where a value was written. The variants are in the order of reports: file lines first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A place in a file, counted from 1.
    File {
        /// The file as the operator named it.
        file: Arc<str>,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
    },
    /// An environment variable.
    Environment(Arc<str>),
    /// A flag of the command line, with its dashes.
    Flag(Arc<str>),
    /// Not written anywhere: the default of the field table.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Default => f.write_str("default"),
        }
    }
}
