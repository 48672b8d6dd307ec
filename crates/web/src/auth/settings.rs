//! What a reload replaces of who someone is: rules, and the first key.

use subtle::ConstantTimeEq;
use weir_config::Secret;
use weir_store::{rusqlite, sqlite::File};

use super::{
    keys::Bearer,
    secrets::{self, Hash},
};
use crate::{Auth, Error, Right, rules::RequestRules};

/// Rules and the first key.
pub(crate) struct SignInSettings {
    pub(crate) rules: RequestRules,
    key: Secret,
    /// Weir made the key itself, from 160 random bits.
    pub(super) strong: bool,
    /// Hash of the key, by which sessions remember the key they were made under.
    pub(super) print: Hash,
}

impl SignInSettings {
    /// Whether Weir made the first key itself; else it is `web.api_key`.
    pub(crate) fn is_made_by_weir(&self) -> bool {
        self.strong
    }

    /// The first key.
    pub(crate) fn key(&self) -> &Secret {
        &self.key
    }

    /// Who has the first key, if this is its hash. Compares in a time that reveals neither where two keys differ nor how
    /// long the right one is.
    pub(super) fn bearer(&self, print: &Hash) -> Option<Bearer> {
        let is_first: bool = print.ct_eq(&self.print).into();
        is_first.then_some(Bearer {
            print: self.print,
            name: None,
            right: Right::Everything,
            strong: self.strong,
        })
    }

    pub(super) fn new(
        rules: RequestRules,
        file: &File,
        now: i64,
    ) -> Result<(Self, Option<Secret>), Error> {
        if rules.auth == Auth::None {
            tracing::warn!(
                "web.auth is none: anyone who can reach the web listener can do everything"
            );
        }
        let (key, made) = match &rules.api_key {
            Some(key) => (key.clone(), false),
            None => {
                let (key, made) = secrets::kept(file, "key", secrets::token()?.into_bytes(), now)?;
                let key = String::from_utf8(key).map_err(|_| unreadable())?;
                (Secret::new(key), made)
            }
        };
        let print = secrets::hash(key.expose());
        let fresh = made.then(|| key.clone());
        let settings = Self {
            strong: rules.api_key.is_none(),
            rules,
            key,
            print,
        };
        Ok((settings, fresh))
    }
}

/// The key that a running Weir with this `state.db` made for itself; `None` before its first start.
///
/// # Errors
/// When the file cannot be read.
pub fn kept_key(state: &std::path::Path) -> Result<Option<Secret>, weir_store::Error> {
    let key = File::peek(state, |connection| secrets::read(connection, "key"))?;
    Ok(key
        .and_then(|key| String::from_utf8(key).ok())
        .map(Secret::new))
}

fn unreadable() -> weir_store::Error {
    rusqlite::Error::InvalidQuery.into()
}
