//! Who may depend on whom among our own crates: downwards only, never sideways.
//!
//! The compiler keeps the promise that `dispatch` and the protocol crates do no I/O as long as
//! nothing that does I/O is within their reach; this is where that is watched.

use crate::graph::{Graph, Package};

/// Our crates by height; a crate may name only lower ones.
const HEIGHTS: &[(&str, u8)] = &[
    ("weir-config", 0),
    ("weir-tracker-proto", 0),
    ("weir-search-proto", 0),
    ("weir-news-proto", 0),
    ("weir-dispatch", 1),
    ("weir-store", 1),
    ("weir-net", 1),
    ("weir-testkit", 2),
    ("weir-engine", 2),
    ("weir-web", 3),
    ("weir-tracker", 4),
    ("weir-search", 4),
    ("weir-news", 4),
    ("weir-notify", 4),
    ("weir", 5),
    ("xtask", 6),
];

/// Crates that decide or parse and touch nothing.
const PURE: &[&str] = &[
    "weir-dispatch",
    "weir-tracker-proto",
    "weir-search-proto",
    "weir-news-proto",
];

/// What a pure crate must not reach: runtimes, sockets, stores, clocks.
const IMPURE: &[&str] = &["tokio", "mio", "socket2", "hyper", "rusqlite", "jiff"];

/// Everything in the graph that breaks these rules, one sentence each.
pub(crate) fn findings(graph: &Graph) -> Vec<String> {
    let members = graph.members();
    members
        .into_iter()
        .flat_map(|package| of(graph, package))
        .collect()
}

fn of(graph: &Graph, package: &Package) -> Vec<String> {
    let name = &package.name;
    let Some(height) = height(name) else {
        return vec![format!("{name} has no height in xtask's table of layers")];
    };
    let mut findings = Vec::new();
    for other in graph.names(package) {
        let lower = self::height(&other.name).is_none_or(|other| other < height);
        if !lower || !may_speak(name, &other.name) {
            findings.push(format!("{name} must not depend on {}", other.name));
        }
    }
    if PURE.contains(&name.as_str()) {
        let reached = graph.runs_with(package).into_iter();
        let reached = reached.filter(|other| IMPURE.contains(&other.name.as_str()));
        findings.extend(reached.map(|other| format!("{name} must not reach {}", other.name)));
    }
    findings
}

fn height(name: &str) -> Option<u8> {
    let found = HEIGHTS.iter().find(|(known, _)| *known == name);
    found.map(|(_, height)| *height)
}

/// A protocol crate is for its own front, the binary and scripted upstreams.
fn may_speak(name: &str, other: &str) -> bool {
    match other.strip_suffix("-proto") {
        Some(front) if height(other).is_some() => [front, "weir", "weir-testkit"].contains(&name),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::samples::graph;

    #[test]
    fn downwards_is_fine() {
        let graph = graph(&[
            "weir-engine 0.1.0 MIT - : weir-dispatch weir-store tokio",
            "weir-dispatch 0.1.0 MIT - : tokio=dev",
            "weir-store 0.1.0 MIT - :",
            "tokio 1.0.0 MIT registry :",
        ]);
        assert_eq!(findings(&graph), [""; 0]);
    }

    #[test]
    fn upwards_and_sideways_are_refused() {
        let graph = graph(&[
            "weir-dispatch 0.1.0 MIT - : weir-store",
            "weir-store 0.1.0 MIT - :",
            "weir-web 0.1.0 MIT - : weir-news weir-news-proto",
            "weir-news 0.1.0 MIT - : weir-news-proto",
            "weir-news-proto 0.1.0 MIT - :",
        ]);
        assert_eq!(
            findings(&graph),
            [
                "weir-dispatch must not depend on weir-store",
                "weir-web must not depend on weir-news",
                "weir-web must not depend on weir-news-proto",
            ]
        );
    }

    #[test]
    fn pure_crates_reach_no_runtime_however_far() {
        let graph = graph(&[
            "weir-dispatch 0.1.0 MIT - : innocent",
            "innocent 1.0.0 MIT registry : tokio",
            "tokio 1.0.0 MIT registry :",
        ]);
        assert_eq!(findings(&graph), ["weir-dispatch must not reach tokio"]);
    }

    #[test]
    fn a_new_crate_must_be_given_its_height() {
        let graph = graph(&["weir-utils 0.1.0 MIT - :"]);
        assert_eq!(
            findings(&graph),
            ["weir-utils has no height in xtask's table of layers"]
        );
    }
}
