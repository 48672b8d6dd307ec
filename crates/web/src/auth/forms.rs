//! The secrets that bind forms to their visitors: this node's own, and those of the others.
//!
//! New tokens are made with the oldest one, which is the same on all nodes as soon as they know of each other; tokens of all of
//! them are right, so that a page that was shown before still works.

use std::sync::Arc;

use arc_swap::ArcSwap;
use subtle::ConstantTimeEq;
use weir_store::rusqlite::{self, Connection, Transaction};

use super::secrets::Hash;

/// Secrets that are held; more are not taken over. Each costs a hash for every form that is not right.
const FORMS: usize = 64;

/// One secret, with the second at which it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FormSecret {
    pub(crate) made: i64,
    pub(crate) secret: Hash,
}

/// All of them, the oldest first; clones are the same ones. Memory is changed on the writer's thread.
#[derive(Clone)]
pub(crate) struct FormSecrets(Arc<ArcSwap<Vec<FormSecret>>>);

impl FormSecrets {
    /// As the table has them, with this node's own.
    pub(crate) fn load(connection: &Connection, own: FormSecret) -> rusqlite::Result<Self> {
        let mut rows = connection.prepare("SELECT made, secret FROM web_form")?;
        let rows = rows.query_map([], |row| {
            Ok(FormSecret {
                made: row.get(0)?,
                secret: row.get(1)?,
            })
        })?;
        let rows: rusqlite::Result<Vec<FormSecret>> = rows.collect();
        let mut all = rows?;
        all.push(own);
        all.sort_unstable();
        all.dedup_by_key(|one| one.secret);
        Ok(Self(Arc::new(ArcSwap::from_pointee(all))))
    }

    pub(crate) fn all(&self) -> Arc<Vec<FormSecret>> {
        self.0.load_full()
    }

    /// Takes over the secret of another node.
    pub(crate) fn merge(&self, tx: &Transaction<'_>, form: FormSecret) -> rusqlite::Result<()> {
        let mut all = (*self.0.load_full()).clone();
        if all.len() >= FORMS || all.iter().any(|one| one.secret == form.secret) {
            return Ok(());
        }
        tx.execute(
            "INSERT OR IGNORE INTO web_form (secret, made) VALUES (?1, ?2)",
            (form.secret, form.made),
        )?;
        let place = all.partition_point(|one| *one < form);
        all.insert(place, form);
        self.0.store(Arc::new(all));
        Ok(())
    }

    /// The token of a form that is bound to this.
    pub(crate) fn token(&self, bound_to: &[u8]) -> String {
        let all = self.0.load();
        all.first()
            .map_or_else(String::new, |form| token(&form.secret, bound_to))
    }

    /// Whether a token was made with one of them.
    pub(crate) fn is_right(&self, bound_to: &[u8], given: &str) -> bool {
        let all = self.0.load();
        all.iter().any(|form| {
            let right = token(&form.secret, bound_to);
            right.as_bytes().ct_eq(given.as_bytes()).into()
        })
    }
}

fn token(secret: &Hash, bound_to: &[u8]) -> String {
    let hash = blake3::keyed_hash(secret, bound_to);
    data_encoding::BASE32_NOPAD
        .encode(&hash.as_bytes()[..20])
        .to_ascii_lowercase()
}
