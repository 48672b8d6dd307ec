//! The news front's section of `/stats`.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use weir_web::{Section, Stats};

use crate::inbound::nntp::{NntpFigures, OpenKind};
use crate::model::Model;
use crate::server::Server;
use crate::upstreams::ServerViews;

/// The front's figures.
pub(crate) struct NewsStats(pub(crate) Arc<Model>, pub(crate) NntpFigures);

impl Stats for NewsStats {
    fn section(&self) -> Section {
        let model = &self.0;
        let federation = &model.federation;
        let (hits, misses) = model.cache_counts();
        let sizes = model.file.sizes();
        let fields = [
            ("stored_articles_bytes", json!(sizes.articles)),
            ("stored_lines_bytes", json!(sizes.lines)),
            ("stored_file_bytes", json!(sizes.file)),
            ("newsreaders", json!(self.1.count(OpenKind::All))),
            ("servers", json!(federation.servers.all().len())),
            ("cache_hits", json!(hits)),
            ("cache_misses", json!(misses)),
        ];
        let engine = Section::of_engine(&ServerViews(model.clone()), federation.workers());
        let section = engine.and(Section::of_fields(fields));
        section.and(connections(&federation.servers.all()))
    }
}

/// Each server's connections, by its name.
fn connections(servers: &[Arc<Server>]) -> Section {
    let mut section = Section::default();
    let mut all = Map::new();
    for server in servers {
        let (open, opened) = server.link.connections();
        let (name, most) = (server.name(), server.entry().connections);
        let method = server.link.fetches_by();
        section.text.push(format!(
            "connections {name}: {open} of {most} open, {opened} opened, overview by {method}"
        ));
        let one = json!({
            "open": open,
            "most": most,
            "opened": opened,
            "tls": server.link.is_encrypted(),
            "overview": method,
        });
        all.insert(name.to_owned(), one);
    }
    section
        .json
        .insert("connections".into(), Value::Object(all));
    section
}
