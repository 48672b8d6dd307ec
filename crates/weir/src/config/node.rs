//! The section `node`: this node among others.

use weir_config::section;

section! {
    /// This node among others that share a store.
    pub struct Config in "node", at start {
        /// Its name on pages and in metrics; without one, what the machine is called.
        name: Option<String> = "null", check |name| fits(name);
    }
}

/// Characters of a name: it is a label of metrics and a word in sentences.
const LONGEST: usize = 64;

fn fits(name: &Option<String>) -> Result<(), &'static str> {
    let fits = |name: &String| {
        let length = name.chars().count();
        (1..=LONGEST).contains(&length) && !name.chars().any(char::is_control)
    };
    match name.as_ref().is_none_or(fits) {
        true => Ok(()),
        false => Err("a name of 1 to 64 characters"),
    }
}
