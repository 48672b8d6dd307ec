//! The news front: several news servers read as one.
