//! Which indexers an address stands for.

use std::sync::Arc;

use weir_search_proto::error::code;
use weir_search_proto::{ErrorDocument, Protocol};

use crate::desk::Desk;
use crate::indexer::Indexer;

/// Some indexers of one protocol, under one address.
pub(crate) struct Scope {
    pub(crate) indexers: Vec<Arc<Indexer>>,
    pub(crate) protocol: Protocol,
    /// As it is called in titles and in the history.
    pub(crate) name: String,
}

impl Scope {
    pub(crate) fn all(desk: &Desk, protocol: Protocol) -> Self {
        let name = match protocol {
            Protocol::Torrent => "all torrent indexers",
            Protocol::Nzb => "all Usenet indexers",
        };
        Self {
            indexers: desk.all_of(protocol),
            protocol,
            name: name.to_owned(),
        }
    }

    pub(crate) fn of(indexer: Arc<Indexer>) -> Self {
        Self {
            protocol: indexer.protocol(),
            name: indexer.name().to_owned(),
            indexers: vec![indexer],
        }
    }

    pub(crate) fn tagged(
        desk: &Desk,
        protocol: Protocol,
        tag: &str,
    ) -> Result<Self, ErrorDocument> {
        let mut indexers = desk.all_of(protocol);
        indexers.retain(|indexer| indexer.config.tags.iter().any(|other| other == tag));
        if indexers.is_empty() {
            let text =
                format!("No indexer here has the tag {tag:?}; see `tags` in the configuration.");
            return Err(ErrorDocument::new(code::INCORRECT_PARAMETER, text));
        }
        Ok(Self {
            indexers,
            protocol,
            name: format!("indexers tagged {tag}"),
        })
    }

    /// `all` says that the asker may know who is there.
    pub(crate) fn named(
        desk: &Desk,
        protocol: Protocol,
        name: &str,
        all: bool,
    ) -> Result<Self, ErrorDocument> {
        let roster = desk.roster.load();
        let refused = |text| Err(ErrorDocument::new(code::INCORRECT_PARAMETER, text));
        let Some(indexer) = roster.named(name) else {
            let names: Vec<&str> = roster.all.iter().map(|indexer| indexer.name()).collect();
            return refused(match names.is_empty() {
                _ if !all => format!("There is no indexer {name:?}."),
                true => format!("There is no indexer {name:?}: none is configured."),
                false => format!(
                    "There is no indexer {name:?}. There are: {}.",
                    names.join(", ")
                ),
            });
        };
        if indexer.protocol() != protocol {
            let path = path(indexer.protocol());
            return refused(format!("{name} is asked at /{path}/{name}/api."));
        }
        Ok(Self::of(indexer.clone()))
    }
}

/// The path word of a protocol.
pub(crate) fn path(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Torrent => "torznab",
        Protocol::Nzb => "newznab",
    }
}
