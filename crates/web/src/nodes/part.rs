//! The nodes on the overview.

use askama::Template;

use super::view::{NodeSeen, NodesView, SeenState};
use crate::{App, LivePart, Shown, kit};

/// The id of the element.
const ID: &str = "nodes";

/// The panel, on the page and live.
#[derive(Template)]
#[template(path = "parts/nodes.html")]
pub(crate) struct NodesPart {
    sentence: String,
    /// Something is wrong with the store.
    warns: bool,
    nodes: Vec<NodeLine>,
}

struct NodeLine {
    name: String,
    version: String,
    is_this: bool,
    look: &'static str,
    state: &'static str,
    /// When it was last heard of, unless it is there.
    heard: Option<Shown>,
    lag: String,
}

impl NodesPart {
    /// `None` where there is only one node.
    pub(crate) fn of(app: &App) -> Option<Self> {
        let view = NodesView::of(app)?;
        let line = |one: &NodeSeen| NodeLine {
            name: one.name.clone(),
            version: one.version.clone(),
            is_this: one.is_this,
            look: one.state.chip(),
            state: match one.state {
                SeenState::Here => "Here",
                SeenState::Silent => "Silent",
                SeenState::Unknown => "Not known",
            },
            heard: match one.state {
                SeenState::Here => None,
                SeenState::Silent | SeenState::Unknown => one.heard.map(|at| view.shown(at)),
            },
            lag: lag(one),
        };
        Some(Self {
            sentence: view.sentence(),
            warns: view.trouble_sentence().is_some(),
            nodes: view.nodes.iter().map(line).collect(),
        })
    }

    /// The same as a live part.
    pub(crate) fn live(app: &App) -> Option<LivePart> {
        kit::part(ID, &Self::of(app)?)
    }
}

fn lag(one: &NodeSeen) -> String {
    match (one.state, one.lag.as_millis()) {
        (SeenState::Silent | SeenState::Unknown, _) => "–".to_owned(),
        // Streams are read each 200 ms: less than a second is as close as it gets.
        (_, ..1000) => "under 1 s".to_owned(),
        _ => weir_engine::span(one.lag),
    }
}
