//! Which indexers an address stands for.

use std::sync::Arc;

use weir_search_proto::error::code;
use weir_search_proto::{ErrorDocument, Protocol};

use crate::form::no_such_indexer;
use crate::indexer::Indexer;
use crate::model::Model;

/// Some indexers of one protocol, under one address.
pub(crate) struct Scope {
    pub(crate) indexers: Vec<Arc<Indexer>>,
    pub(crate) protocol: Protocol,
    /// As it is called in titles and in the history.
    pub(crate) name: String,
    /// The asker may know what a single indexer has of its own.
    pub(crate) in_detail: bool,
    /// All of them are made up.
    pub(crate) is_demo: bool,
}

impl Scope {
    /// What programs show of it.
    pub(crate) fn title(&self) -> String {
        let demo = if self.is_demo { " (demo)" } else { "" };
        format!("Weir{demo}: {}", self.name)
    }

    /// All indexers, of one protocol or of both.
    pub(crate) fn all(model: &Model, protocol: Option<Protocol>) -> Self {
        let (name, indexers) = match protocol {
            Some(Protocol::Torrent) => ("all torrent indexers", model.all_of(Protocol::Torrent)),
            Some(Protocol::Nzb) => ("all Usenet indexers", model.all_of(Protocol::Nzb)),
            None => ("all indexers", model.indexers.all().to_vec()),
        };
        Self {
            indexers,
            protocol: protocol.unwrap_or(Protocol::Torrent),
            name: name.to_owned(),
            in_detail: true,
            is_demo: false,
        }
    }

    /// What everybody may know without a key: what all indexers can do together. It is the same for every address, so
    /// that nobody learns from it which indexers and tags there are.
    pub(crate) fn open(model: &Model, protocol: Option<Protocol>) -> Self {
        Self {
            in_detail: false,
            ..Self::all(model, protocol)
        }
    }

    pub(crate) fn of(indexer: Arc<Indexer>) -> Self {
        Self {
            protocol: indexer.protocol(),
            name: indexer.name().to_owned(),
            indexers: vec![indexer],
            in_detail: true,
            is_demo: false,
        }
    }

    pub(crate) fn tagged(
        model: &Model,
        protocol: Protocol,
        tag: &str,
    ) -> Result<Self, ErrorDocument> {
        let mut indexers = model.all_of(protocol);
        indexers.retain(|indexer| indexer.terms.tags.iter().any(|other| other == tag));
        if indexers.is_empty() {
            let text =
                format!("No indexer here has the tag {tag:?}; see `tags` in the configuration.");
            return Err(ErrorDocument::new(code::INCORRECT_PARAMETER, text));
        }
        Ok(Self {
            indexers,
            protocol,
            name: format!("indexers tagged {tag}"),
            in_detail: true,
            is_demo: false,
        })
    }

    /// One by its name. What it says of a wrong one is for those who may know who is there.
    pub(crate) fn named(
        model: &Model,
        protocol: Protocol,
        name: &str,
    ) -> Result<Self, ErrorDocument> {
        let refused = |text| Err(ErrorDocument::new(code::INCORRECT_PARAMETER, text));
        let Some(indexer) = model.indexers.named(name) else {
            return refused(no_such_indexer(name, &model.indexers.all()));
        };
        if indexer.protocol() != protocol {
            let path = path(indexer.protocol());
            return refused(format!("{name} is asked at /{path}/{name}/api."));
        }
        Ok(Self::of(indexer))
    }
}

/// The path word of a protocol.
pub(crate) fn path(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Torrent => "torznab",
        Protocol::Nzb => "newznab",
    }
}
