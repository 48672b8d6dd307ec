//! Own article numbers.
