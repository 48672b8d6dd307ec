//! `weir sign-in`: a new sign-in link, made in the data directory itself, whether Weir runs or not. Whoever may write there
//! may do everything anyway, so nothing else is asked for.

use std::io::Write;

use anyhow::Context;
use weir_store::Error as Store;
use weir_web::{Error, SignInLink};

use crate::cli::Settings;
use crate::config::load;
use crate::remote::reachable;

/// Prints the link alone to `out`, for scripts, and what is to be known about it to `notes`.
///
/// # Errors
/// When the configuration has mistakes, or the data directory cannot be used.
pub fn run(settings: Settings, out: &mut dyn Write, notes: &mut dyn Write) -> anyhow::Result<()> {
    let config = load(&settings.sources())?.config;
    let state = config.data.join("state.db");
    let made = match state.exists() {
        true => weir_web::sign_in_link(&state).map_err(in_words)?,
        false => None,
    };
    let SignInLink { path, address } = made.with_context(|| {
        format!(
            "no Weir was started with {} yet. Start it, its first start prints a link; or give the right directory with --data DIR or -c FILE",
            state.display()
        )
    })?;
    // Flags of the running Weir are not in our configuration, but where it listens is in its file.
    let address = reachable(address.unwrap_or(config.web.listen));
    writeln!(out, "http://{address}{path}")?;
    writeln!(
        notes,
        "weir: this link signs in once, within an hour, and replaces the one before. From another machine, put the address by which you reach Weir in place of {address}"
    )?;
    Ok(())
}

fn in_words(error: Error) -> anyhow::Error {
    match error {
        Error::Store(error @ Store::Refused { .. }) => anyhow::Error::from(error)
            .context("cannot make a link; run this as the user that Weir runs as"),
        Error::Store(error) => anyhow::Error::from(error).context("cannot make a link"),
        other => other.into(),
    }
}
