//! The configuration of the whole program: the sections put together, and how they are loaded.
//!
//! A reload calls [`load()`] again with the same [`Sources`]; a mistake leaves what is running as it is.

pub mod engine;
mod load;
pub mod log;
pub mod news;
pub mod server;
pub mod store;

use std::path::PathBuf;
use std::time::Duration;

use weir_config::section;

pub use load::{Flag, Loaded, Sources, load};

impl AsRef<weir_web::Config> for Config {
    fn as_ref(&self) -> &weir_web::Config {
        &self.web
    }
}

impl AsRef<weir_tracker::config::Config> for Config {
    fn as_ref(&self) -> &weir_tracker::config::Config {
        &self.tracker
    }
}

impl AsRef<weir_search::config::Config> for Config {
    fn as_ref(&self) -> &weir_search::config::Config {
        &self.search
    }
}

section! {
    /// Weir's configuration. Every key stands here with its default; remove the # before a key to
    /// change it. null switches off or sets no limit; in TOML and in the environment write the word null.
    /// Durations are written as 30m, 90s, 1h30m, 500ms or plain seconds. Paths are relative
    /// to the directory that Weir is started in. Each key can also be set in the environment by WEIR_
    /// and its path with two underscores between the steps, as in WEIR_TRACKER__AGE=180m, and some by a
    /// flag. Flags win over the environment, the environment over this file. An empty variable counts as
    /// not set. Where a key has a second variable, the one with WEIR_ and the path wins. A reload takes over
    /// every key that is not read at start.
    pub struct Config in "" {
        /// Directory of all state.
        data: PathBuf = "./weir-data", at start;
        /// On a stop, what is queued already may take this long.
        drain: Duration = "10s", at start;
    }
    sections {
        /// What is logged.
        log: log::Config;
        /// The pages and the API.
        web: weir_web::config::Config;
        /// The tracker front.
        tracker: weir_tracker::config::Config;
        /// The search front.
        search: weir_search::config::Config;
        /// The news front.
        news: news::Config;
        /// How upstreams are called.
        engine: engine::Config;
        /// How state is kept.
        store: store::Config;
    }
    then |config, fields| {
        let (deadline, limit) = (config.search.deadline, config.web.limits.request_timeout);
        if deadline >= limit {
            let text = format!("make this shorter than web.limits.request_timeout, {}, which ends every request", weir_engine::span(limit));
            fields.refuse("search.deadline", text);
        }
    }
}
