//! What the operator sees first: where the pages are, and what to do next.

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;

use weir_config::Secret;
use weir_web::App;
use weir_web::config::Auth;

use crate::config::Loaded;
use crate::remote::reachable;

/// Prints the URL of the pages, the key if this start made one, where to announce, and the next step; `file` is the full
/// path of the file to edit.
///
/// The URL is a sign-in link if somebody will read it: on a terminal, and at the very first start, when there is no other
/// way in yet. Otherwise each start would only leave another link in a log.
pub(super) fn print(
    web: &App,
    address: SocketAddr,
    fronts: &str,
    loaded: &Loaded,
    file: &str,
) -> anyhow::Result<()> {
    web.note_address(address)?;
    let origin = format!("http://{}", reachable(address));
    let is_read = io::stdout().is_terminal() || web.is_first_start();
    let mut text = match loaded.config.web.auth {
        _ if web.is_demo() => format!(
            "{}\nThis link signs you in; it works once, within an hour:\n  {origin}{}\n",
            weir_web::DEMO,
            web.sign_in_link()?
        ),
        Auth::Required if is_read => format!(
            "Weir is running. This link signs you in; it works once, within an hour (`weir sign-in` prints another):\n  {origin}{}\n",
            web.sign_in_link()?
        ),
        Auth::Required => format!(
            "Weir is running. Sign in with the key, or with a link from `weir sign-in`:\n  {origin}/\n"
        ),
        Auth::None => {
            format!("Weir is running, and nobody has to sign in (`web.auth: none`):\n  {origin}/\n")
        }
    };
    if let Some(key) = web.key_was_made() {
        text += &about_key(key);
    }
    text += fronts;
    text += &match web.is_demo() {
        true => "Ctrl+C ends the demo.\n".to_owned(),
        false => next_step(loaded, file),
    };
    write(&text);
    Ok(())
}

/// Prints a key that was made after the start.
pub(super) fn print_key(key: &Secret) {
    write(&about_key(key));
}

fn about_key(key: &Secret) -> String {
    format!(
        "This is your key, for the pages and for programs. You can also find it under Connect.\n  key: {}\n",
        key.expose()
    )
}

/// Errors are ignored: whoever started us may have closed the pipe, and the log has the address too.
fn write(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn next_step(loaded: &Loaded, file: &str) -> String {
    match &loaded.file {
        Some(_) => format!("Configuration: {file}. Send SIGHUP to reload it.\n"),
        None => format!(
            "No configuration file, so the defaults are used. To change them:\n  \
             weir check --sample > {file}\n  \
             weir check    # reports mistakes, if any\n"
        ),
    }
}
