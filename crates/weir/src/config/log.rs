//! The section `log`: how much is logged, and in which form.

use tracing_subscriber::EnvFilter;
use weir_config::{choices, section};

section! {
    /// What Weir writes to standard error.
    pub struct Config in "log" {
        /// error, warn, info, debug or trace; parts of Weir may have their own, as in info,weir_tracker=debug.
        level: String = "info", check |text| level(text), variable "WEIR_LOG";
        /// text for people, json for programs.
        format: LogFormat = "text", at start, variable "WEIR_LOG_FORMAT";
    }
}

choices! {
    /// The form of a log line.
    pub enum LogFormat {
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
    // `EnvFilter` alone would take a mistyped level for the name of a crate.
    if text.split(',').all(known) && EnvFilter::try_new(text).is_ok() {
        return Ok(());
    }
    Err("a level (error, warn, info, debug, trace) or several such as info,weir_tracker=debug")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_log_would_refuse_is_a_mistake() {
        for text in ["info", "info,weir_tracker=debug", "off"] {
            assert!(level(text).is_ok(), "{text}");
        }
        for text in ["", "loud", "info,", "weir_web[{=debug"] {
            assert!(level(text).is_err(), "{text}");
        }
    }
}
