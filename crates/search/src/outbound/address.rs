//! One indexer as it is called: its address, its key, and what of both must not be shown.

use std::fmt::Write;
use std::sync::Arc;

use percent_encoding::utf8_percent_encode;
use weir_config::{ENCODED, Secret, SecretUrl, Secrets};
use weir_net::Home;
use weir_search_proto::{Release, Unreadable};

use crate::judge::IndexerFault;
use crate::rules::IndexerWay;

/// Parts of a path that are shorter are words and not keys, and taking words out of what is shown would spoil it.
const SECRET_IN_PATH: usize = 16;

/// Where an indexer is and who we are there.
#[derive(Debug)]
pub(crate) struct IndexerAddress {
    pub(super) url: SecretUrl,
    pub(super) home: Home,
    key: Option<Secret>,
    pub(super) proxy: Option<SecretUrl>,
    /// What only it and we should know, in all forms that it may be written in.
    pub(super) secrets: Arc<Secrets>,
}

impl IndexerAddress {
    pub(crate) fn new(way: IndexerWay) -> Self {
        let IndexerWay { url, key, proxy } = way;
        Self {
            home: Home::new(&url),
            secrets: Arc::new(Secrets::of(&url, key.as_ref(), |part| {
                part.len() >= SECRET_IN_PATH
            })),
            url,
            key,
            proxy,
        }
    }

    /// Where it is, without secrets.
    pub(crate) fn place(&self) -> String {
        self.url.place()
    }

    /// The query of one call.
    pub(super) fn query(&self, parameters: &[(&str, String)]) -> String {
        let mut query = String::new();
        let key = self.key.as_ref().map(|key| ("apikey", key.expose()));
        let parameters = parameters
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        for (name, value) in parameters.chain(key) {
            let and = if query.is_empty() { "" } else { "&" };
            let value = utf8_percent_encode(value, ENCODED);
            write!(query, "{and}{name}={value}").expect("memory takes everything");
        }
        query
    }

    /// Whether an address is the indexer's own: the same scheme, host and port.
    pub(crate) fn is_at(&self, url: &SecretUrl) -> bool {
        self.home.is_at(url)
    }

    /// What a document of it says that is not what was asked for.
    pub(super) fn fault(&self, unreadable: Unreadable) -> IndexerFault {
        IndexerFault::of_document(&self.secrets, unreadable)
    }

    /// The configuration was read again: its name may lead elsewhere now.
    pub(crate) fn look_up_anew(&self) {
        self.home.forget();
    }

    /// What takes secrets out of a release, for whoever reads its answers, on any thread.
    pub(crate) fn scrub(&self) -> impl Fn(&mut Release) + Send + use<> {
        let secrets = self.secrets.clone();
        move |release| scrub(&secrets, release)
    }
}

/// Takes away what tells a secret and is shown to clients. The address of the file stays: they never see it.
fn scrub(secrets: &Secrets, release: &mut Release) {
    let tells = |text: &str| secrets.tells(text);
    release.details.take_if(|details| tells(details));
    release.attributes.retain(|(_, value)| !tells(value));
}
