//! `/api/v1/nodes`: who is there, whether this node is alone, and what is wrong with the store.

use axum::{Json, extract::State};
use serde_json::{Value, json};
use weir_store::shared::NodeId;

use super::view::{NodesView, SeenState};
use crate::{
    App, Right,
    openapi::{
        ApiRoutes, Operation, Schema,
        schema::{choice, count, flag, list, number, object, text, time},
    },
};

/// The route.
pub(crate) fn routes() -> ApiRoutes<App> {
    let node = object([
        ("id", text().about("Made by the node once; it stays.")),
        ("name", text()),
        ("this", flag().about("The node that answers.")),
        (
            "state",
            choice(SeenState::ALL.map(SeenState::name))
                .about("`unknown` while this node is alone."),
        ),
        (
            "last_heard",
            time().or_null().about("Null for the node that answers."),
        ),
        (
            "lag_seconds",
            number().about("How far it is behind in reading what others write."),
        ),
        ("version", text()),
    ]);
    let rows = object([
        (
            "ignored",
            count().about("Rows in the store that cannot be read, such as those of nodes with another secret."),
        ),
        ("untold", count().about("Changes that the others have yet to be told.")),
    ]);
    let nodes = Operation::get("/api/v1/nodes", "Nodes that share a store")
        .needs(Right::Read)
        .about("Without `store.redis` there is one node, which shares nothing: `shared` is false, and nothing is listed.")
        .answers(
            "All nodes that this one knows.",
            object([
                ("shared", flag()),
                ("standing", standing_schema()),
                ("nodes", list(node)),
                (
                    "missing",
                    list(text()).about("Nodes that have yet to tell a store that lost something what they know."),
                ),
                ("rows", rows),
            ]),
        );
    ApiRoutes::new().route(nodes, show)
}

/// What the status says of this node.
pub(crate) fn standing_schema() -> Schema {
    object([
        ("node", text().about("The name of the node that answers.")),
        ("state", choice(["together", "alone"])),
        (
            "alone_since",
            time()
                .or_null()
                .about("Since when the store does not answer."),
        ),
        (
            "why",
            text()
                .or_null()
                .about("Why this node is alone; while it is not, what else is wrong with the store, such as a clock that was set back."),
        ),
        ("sentence", text()),
        ("nodes", count()),
        (
            "here",
            count().about("Nodes that are there, this one among them."),
        ),
    ])
    .or_null()
    .about("Null without `store.redis`.")
}

/// What the status says of this node; null where there is only one.
pub(crate) fn standing(app: &App) -> Value {
    NodesView::of(app).map_or(Value::Null, |view| standing_of(&view))
}

fn standing_of(view: &NodesView) -> Value {
    let alone = view.alone.as_ref();
    json!({
        "node": view.name,
        "state": if alone.is_some() { "alone" } else { "together" },
        "alone_since": alone.map(|alone| alone.since.to_string()),
        "why": view.why(),
        "sentence": view.sentence(),
        "nodes": view.nodes.len(),
        "here": view.count(SeenState::Here),
    })
}

/// `GET /api/v1/nodes`.
async fn show(State(app): State<App>) -> Json<Value> {
    let rows = app.held();
    let of_upstreams = app.node().map_or(0, |node| node.figures().ignored());
    let of_tables: u64 = rows.iter().map(|(_, held)| held.ignored()).sum();
    let rows = json!({
        "ignored": of_tables + of_upstreams,
        "untold": rows.iter().map(|(_, held)| held.untold()).sum::<usize>(),
    });
    let Some(view) = NodesView::of(&app) else {
        return Json(json!({
            "shared": false, "standing": null, "nodes": [], "missing": [], "rows": rows,
        }));
    };
    let nodes = view.nodes.iter().map(|one| {
        json!({
            "id": id(one.id),
            "name": one.name,
            "this": one.is_this,
            "state": one.state.name(),
            "last_heard": one.heard.map(|at| at.to_string()),
            "lag_seconds": one.lag.as_secs_f64(),
            "version": one.version,
        })
    });
    Json(json!({
        "shared": true,
        "standing": standing_of(&view),
        "nodes": nodes.collect::<Vec<_>>(),
        "missing": view.missing.iter().map(|name| &**name).collect::<Vec<_>>(),
        "rows": rows,
    }))
}

/// A node's number as text: programs read numbers of JSON exactly only up to 53 bits.
fn id(node: NodeId) -> String {
    format!("{:016x}", node.0)
}
