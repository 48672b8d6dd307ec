//! The section `log`: how much is said, and in which form.

use weir_config::{choices, section};

section! {
    /// What Weir writes to standard error.
    pub struct Config in "log" {
        /// error, warn, info, debug or trace; parts may differ, as in info,weir_tracker=debug.
        level: String = "info", check |text| level(text), variable "WEIR_LOG";
        /// text for people, json for programs.
        format: Format = "text", variable "WEIR_LOG_FORMAT";
    }
}

choices! {
    /// The form of a log line.
    pub enum Format {
        /// One line for people.
        Text = "text",
        /// One JSON object.
        Json = "json",
    }
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

fn level(text: &str) -> Result<(), &'static str> {
    let known = |part: &str| {
        let level = part.rsplit_once('=').map_or(part, |(_, level)| level);
        LEVELS.contains(&level.trim())
    };
    if text.split(',').all(known) {
        return Ok(());
    }
    Err("a level (error, warn, info, debug, trace) or several such as info,weir_tracker=debug")
}
