//! `weir sign-in`: makes a new sign-in link directly in the data directory, whether Weir is running or not. Whoever can
//! write there can do everything anyway, so no key is needed.

use std::io::Write;

use anyhow::Context;
use weir_store::Error as Store;
use weir_web::{Error, SignInLink};

use crate::cli::Place;
use crate::config::load;
use crate::remote::reachable;

/// Prints only the link to `out`, for scripts, and an explanation to `notes`.
///
/// # Errors
/// If the configuration has mistakes, or the data directory cannot be used.
pub fn run(place: Place, out: &mut dyn Write, notes: &mut dyn Write) -> anyhow::Result<()> {
    let config = load(&place.sources())?.config;
    let state = config.data.join("state.db");
    let made = match state.exists() {
        true => weir_web::sign_in_link(&state).map_err(in_words)?,
        false => None,
    };
    let SignInLink { path, address } = made.with_context(|| {
        format!(
            "Weir has never been started with {}. Start it: the first start prints a link. Or give the right directory with --data DIR or -c FILE",
            state.display()
        )
    })?;
    // We do not know the flags of the running Weir, but it has noted its address in the file.
    let address = reachable(address.unwrap_or(config.web.listen));
    writeln!(out, "http://{address}{path}")?;
    writeln!(
        notes,
        "weir: this link works once, within an hour, and replaces the one before it. From another machine, replace {address} with the address where you reach Weir"
    )?;
    Ok(())
}

fn in_words(error: Error) -> anyhow::Error {
    match error {
        Error::Store(error @ Store::Refused { .. }) => anyhow::Error::from(error)
            .context("cannot make a link; run this as the same user as Weir"),
        Error::Store(error) => anyhow::Error::from(error).context("cannot make a link"),
        other => other.into(),
    }
}
