//! The configuration of the whole program: all sections together, and how they are loaded.
//!
//! A reload calls [`load()`] again with the same [`Sources`]; after a mistake, the old configuration stays in use.

pub mod engine;
mod load;
pub mod log;
pub mod node;
pub mod store;

use std::path::PathBuf;
use std::time::Duration;

use weir_config::section;

pub use load::{AddedUpstreams, Flag, Loaded, Sources, load, load_with};

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

impl AsRef<weir_news::Config> for Config {
    fn as_ref(&self) -> &weir_news::Config {
        &self.news
    }
}

impl AsRef<weir_notify::config::Config> for Config {
    fn as_ref(&self) -> &weir_notify::config::Config {
        &self.notify
    }
}

section! {
    /// Weir's configuration. Every key is listed with its default; remove the # before a key to
    /// change it. null switches a feature off or removes a limit; in TOML and in the environment, write the word null.
    /// Durations are written as 30m, 90s, 1h30m, 500ms or plain seconds. Paths are relative
    /// to the directory that Weir is started in. Every key can also be set by an environment variable: WEIR_ and the
    /// key's path with two underscores for each dot, as in WEIR_TRACKER__AGE=180m. Some can be set by a flag.
    /// Flags override the environment, and the environment overrides this file. An empty variable counts as
    /// not set. Where a key has a second variable, the one made from its path wins. A reload applies
    /// all keys except those that are read at start.
    pub struct Config in "" {
        /// Directory that holds all state.
        data: PathBuf = "./weir-data", at start;
        /// How long queued work may still take when Weir stops.
        drain: Duration = "10s", at start;
    }
    sections {
        /// What Weir writes to standard error.
        log: log::Config;
        /// The pages and the API.
        web: weir_web::config::Config;
        /// The tracker front.
        tracker: weir_tracker::config::Config;
        /// The search front.
        search: weir_search::config::Config;
        /// The news front.
        news: weir_news::Config;
        /// Messages about what goes wrong.
        notify: weir_notify::config::Config;
        /// How upstreams are called.
        engine: engine::Config;
        /// How state is kept, and what several nodes share.
        store: store::Config;
        /// This node among others.
        node: node::Config;
    }
    then |config, fields| {
        let limit = config.web.limits.request_timeout;
        for (key, deadline) in [("search.deadline", config.search.deadline), ("news.deadline", config.news.deadline)] {
            if deadline >= limit {
                let text = format!("make this shorter than web.limits.request_timeout ({}), which cuts off every request", weir_engine::span(limit));
                fields.refuse(key, text);
            }
        }
        if config.store.redis.is_some() && config.store.secret.is_none() {
            let text = "set this to the same long random text on all nodes that share store.redis, such as the output of: openssl rand -hex 24";
            fields.refuse("store.secret", text);
        }
    }
}
