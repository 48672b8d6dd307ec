//! Sign-in links: one at a time, for one use within an hour. Only the hash of a link is stored, with the time it was made.
//! Where there are several nodes, [`super::links`] tells the others.
//!
//! Any process that may write to the data directory can make one: `weir sign-in` does so next to a running Weir, which
//! finds it in the file.

use std::{ops::Range, path::Path};

use weir_store::{
    rusqlite::{self, Connection, OptionalExtension, Transaction},
    sqlite::File,
};

use super::secrets::{self, Hash};
use crate::{Clock, Error, System};

/// Ages in seconds at which a link signs in. If the clock was set back a little, a link may come from the future.
const VALID: Range<i64> = -60..3600;

/// A new link: its secret is in the path, and nowhere else.
pub(super) struct NewLink {
    pub(super) path: String,
    hash: Hash,
}

impl NewLink {
    pub(super) fn make() -> Result<Self, Error> {
        let token = secrets::token()?;
        Ok(Self {
            path: format!("/sign-in?link={token}"),
            hash: secrets::hash(&token),
        })
    }

    /// Stores it in place of the previous one.
    pub(super) fn put(&self, tx: &Transaction<'_>, now: i64) -> rusqlite::Result<()> {
        secrets::put(tx, "link", &self.hash, now)
    }
}

/// When this link was made, if it is the one in force.
pub(super) fn made(connection: &Connection, link: &Hash) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT made FROM web_secret WHERE name = 'link' AND value = ?1")?
        .query_row([&link[..]], |row| row.get(0))
        .optional()
}

/// The link in this file, and when it was made.
pub(super) fn found(connection: &Connection) -> rusqlite::Result<Option<(Hash, i64)>> {
    connection
        .prepare_cached("SELECT value, made FROM web_secret WHERE name = 'link'")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// Whether a link made at this time still signs in.
pub(super) fn is_valid(made: i64, now: i64) -> bool {
    VALID.contains(&now.saturating_sub(made))
}

/// Uses up a link; false if somebody else was faster.
pub(super) fn take(tx: &Transaction<'_>, link: &Hash) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM web_secret WHERE name = 'link' AND value = ?1";
    Ok(tx.execute(sql, [&link[..]])? == 1)
}

/// A sign-in link made by another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInLink {
    /// Path and query of the link.
    pub path: String,
    /// Where Weir listened when it was last started.
    pub address: Option<std::net::SocketAddr>,
}

/// Makes a sign-in link for the Weir with this `state.db`, whether it is running or not. The previous link ends. Returns
/// `None` if Weir was never started with this file.
///
/// # Errors
/// When there is no such file, or it cannot be written.
pub fn sign_in_link(state: &Path) -> Result<Option<SignInLink>, Error> {
    let new = NewLink::make()?;
    let now = System.now().as_second();
    let amended = File::amend(state, |tx| {
        // Only the running Weir creates tables: it may be a different version.
        if !tx.table_exists(None, "web_secret")? {
            return Ok(None);
        }
        new.put(tx, now)?;
        secrets::read(tx, secrets::ADDRESS).map(Some)
    })?;
    Ok(amended.map(|address| SignInLink {
        path: new.path,
        address: address.and_then(|text| str::from_utf8(&text).ok()?.parse().ok()),
    }))
}

/// Where the Weir with this `state.db` listened when it was last started.
pub fn noted_address(state: &Path) -> Option<std::net::SocketAddr> {
    let noted = File::peek(state, |connection| {
        secrets::read(connection, secrets::ADDRESS)
    });
    let text = noted.ok().flatten()?;
    str::from_utf8(&text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_good_for_an_hour() {
        for (age, good) in [(0, true), (3599, true), (3600, false), (i64::MAX, false)] {
            assert_eq!(is_valid(0, age), good, "{age}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_link_for_ever() {
        assert!(is_valid(1000, 970));
        assert!(!is_valid(1000, 0));
    }
}
