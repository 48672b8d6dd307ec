//! The news servers as pages, API and metrics see them.

use std::sync::Arc;

use weir_engine::dispatch::UpstreamId;
use weir_engine::words::{counted, grouped};
use weir_engine::{Call, Engine};
use weir_web::Upstreams;

use crate::call::ProbeCall;
use crate::config::server::TlsMode;
use crate::model::Model;
use crate::outbound::bracketed;
use crate::policy::CLASSES;
use crate::server::Server;

/// All servers, and what is known of them.
pub(crate) struct ServerViews(pub(crate) Arc<Model>);

impl Upstreams for ServerViews {
    fn engine(&self) -> &Engine {
        &self.0.federation.engine
    }

    fn kind(&self) -> &'static str {
        "news server"
    }

    fn has_form(&self) -> bool {
        true
    }

    fn place(&self, upstream: UpstreamId) -> String {
        let server = self.0.federation.servers.find(upstream);
        server.map_or_else(String::new, |server| place(&server))
    }

    fn probe(&self, upstream: UpstreamId) -> Option<Arc<dyn Call>> {
        self.0.federation.servers.probe(upstream, ProbeCall)
    }

    fn classes(&self) -> &'static [&'static str] {
        &CLASSES
    }

    fn facts(&self, upstream: UpstreamId) -> Vec<(String, String)> {
        let Some(server) = self.0.federation.servers.find(upstream) else {
            return Vec::new();
        };
        let carried = self.0.carries(upstream);
        let facts = [
            ("Priority", server.entry().priority.to_string()),
            ("Connections", connections(&server)),
            ("Encryption", encryption(&server)),
            ("Overviews", format!("by {}", server.link.fetches_by())),
            (
                "Newsgroups carried",
                carried.map_or_else(|| "–".to_owned(), grouped),
            ),
        ];
        facts.map(|(label, value)| (label.to_owned(), value)).into()
    }
}

/// Where it is, in the form of a URL. Whether it is reached with TLS after all is told beside it.
fn place(server: &Server) -> String {
    let entry = server.entry();
    let scheme = match entry.tls {
        TlsMode::Tls => "nntps",
        TlsMode::Auto | TlsMode::Starttls | TlsMode::Off => "nntp",
    };
    let host = bracketed(&entry.host);
    match entry.port {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}

fn connections(server: &Server) -> String {
    let (open, opened) = server.link.connections();
    let most = server.entry().connections;
    format!(
        "{open} of {most} in use; {} since it was configured",
        counted(opened as u64, "connection opened", "connections opened")
    )
}

fn encryption(server: &Server) -> String {
    let told = match (server.link.is_encrypted(), server.entry().tls) {
        (Some(true), _) => "TLS",
        (Some(false), TlsMode::Off) => "none, as configured",
        (Some(false), _) => "none: it does not offer TLS",
        (None, TlsMode::Off) => "none, as configured; no connection yet",
        (None, _) => "no connection yet",
    };
    told.to_owned()
}
