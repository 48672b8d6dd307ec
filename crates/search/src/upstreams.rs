//! Who the upstreams of this front are: the entries of its roster, and what is shown of them.

use std::sync::Arc;

use weir_engine::dispatch::UpstreamId;
use weir_engine::words::counted;
use weir_engine::{Call, Engine, Listed};
use weir_web::Upstreams;

use crate::call::ProbeCall;
use crate::config::indexer::{Download, IndexerEntry, IndexerKind};
use crate::indexer::Indexer;
use crate::model::Model;
use crate::policy::CLASSES;

const WEEK: i64 = 7 * 24 * 60 * 60;

impl Listed for Indexer {
    type Entry = IndexerEntry;

    fn entry(&self) -> &IndexerEntry {
        &self.entry
    }

    fn upstream(&self) -> UpstreamId {
        self.upstream
    }

    fn name(entry: &IndexerEntry) -> &str {
        &entry.name
    }

    fn leads_elsewhere(before: &IndexerEntry, now: &IndexerEntry) -> bool {
        !before.leads_where(now)
    }

    fn identity(entry: &IndexerEntry) -> (String, String) {
        let key = entry.api_key.as_ref();
        let account = key.map_or_else(String::new, |key| key.expose().to_owned());
        (entry.url.expose().to_owned(), account)
    }

    fn look_up_anew(&self) {
        self.address.look_up_anew();
    }
}

/// The indexers as pages, API and metrics see them.
pub(crate) struct IndexerViews(pub(crate) Arc<Model>);

impl Upstreams for IndexerViews {
    fn engine(&self) -> &Engine {
        &self.0.engine
    }

    fn kind(&self) -> &'static str {
        "indexer"
    }

    fn has_form(&self) -> bool {
        true
    }

    fn serves_switched_off(&self) -> bool {
        false
    }

    fn place(&self, upstream: UpstreamId) -> String {
        let indexer = self.0.indexers.find(upstream);
        indexer.map_or_else(String::new, |indexer| indexer.place())
    }

    fn probe(&self, upstream: UpstreamId) -> Option<Arc<dyn Call>> {
        let model = self.0.clone();
        self.0
            .indexers
            .probe(upstream, |indexer| ProbeCall { model, indexer })
    }

    fn classes(&self) -> &'static [&'static str] {
        &CLASSES
    }

    fn facts(&self, upstream: UpstreamId) -> Vec<(String, String)> {
        let model = &*self.0;
        let Some(indexer) = model.indexers.find(upstream) else {
            return Vec::new();
        };
        let terms = &indexer.terms;
        let kind = match terms.kind {
            IndexerKind::Torznab => "Torznab, torrents",
            IndexerKind::Newznab => "Newznab, Usenet",
        };
        let download = match terms.download {
            Download::Proxy => "through Weir",
            Download::Redirect => "from the indexer itself",
            Download::Magnet => "by magnet link where there is one",
        };
        let mut facts = vec![
            ("Speaks".to_owned(), kind.to_owned()),
            ("Priority".to_owned(), terms.priority.to_string()),
            ("Files come".to_owned(), download.to_owned()),
        ];
        if !terms.tags.is_empty() {
            facts.push(("Tags".to_owned(), terms.tags.join(", ")));
        }
        let no_files = indexer.no_files_for(model.now());
        if !no_files.is_zero() {
            let left = weir_engine::span(no_files);
            let text =
                format!("no downloads for {left}: the indexer or its file host asked us to wait");
            facts.push(("Files".to_owned(), text));
        }
        let since = model.wall() - WEEK;
        if let Ok(found) = model.history.yield_of(indexer.name(), since) {
            let found = format!(
                "{} in {}, {} of them nowhere else; {}",
                counted(found.releases.unsigned_abs(), "release", "releases"),
                counted(found.searches.unsigned_abs(), "search", "searches"),
                found.alone,
                counted(found.grabs.unsigned_abs(), "download", "downloads"),
            );
            facts.push(("In seven days".to_owned(), found));
        }
        facts.push(("What it can do".to_owned(), abilities(&indexer)));
        facts
    }
}

fn abilities(indexer: &Indexer) -> String {
    let Some(known) = indexer.known.load_full() else {
        return "not known yet".to_owned();
    };
    if known.assumed {
        return "its capabilities are unreadable; Weir tries text searches".to_owned();
    }
    let functions = known.caps.functions.iter();
    let functions: Vec<String> = functions
        .map(|(function, terms)| {
            let text = known.caps.text.contains(function).then_some("q");
            let terms = text.into_iter().chain(terms.iter().map(|term| term.name()));
            let terms: Vec<&str> = terms.collect();
            format!("{} ({})", function.name(), terms.join(", "))
        })
        .collect();
    functions.join("; ")
}
