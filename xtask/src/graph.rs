//! The dependency graph as `cargo metadata` tells it: packages and who needs whom.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::shell::{self, Project};

/// What `cargo metadata` prints, as far as we read it.
#[derive(Deserialize)]
pub(crate) struct Graph {
    packages: Vec<Package>,
    resolve: Resolve,
    workspace_members: Vec<String>,
}

/// One version of one crate.
#[derive(Deserialize)]
pub(crate) struct Package {
    id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// Where it comes from; nothing for a crate that lies in a directory.
    pub(crate) source: Option<String>,
    /// Its `Cargo.toml`, beside which its licence is.
    #[serde(default)]
    pub(crate) manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `dev`, `build`, or nothing for an ordinary dependency.
    kind: Option<String>,
}

/// Where cargo puts what it builds.
pub(crate) fn target_directory(project: &Project) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    // Without dependencies it needs no network and no time.
    let arguments = ["metadata", "--format-version", "1", "--no-deps"];
    let metadata: Metadata = serde_json::from_str(&shell::read(&mut project.cargo(&arguments))?)?;
    Ok(metadata.target_directory)
}

/// The version of one of the workspace's packages.
pub(crate) fn version_of(project: &Project, name: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let arguments = ["metadata", "--format-version", "1", "--no-deps"];
    let metadata: Metadata = serde_json::from_str(&shell::read(&mut project.cargo(&arguments))?)?;
    let mut packages = metadata.packages.into_iter();
    let package = packages.find(|package| package.name == name);
    Ok(package.context("no such package here")?.version)
}

impl Graph {
    /// Reads what `cargo metadata --format-version 1` printed.
    pub(crate) fn parse(json: &str) -> Result<Self> {
        serde_json::from_str(json).context("cannot understand what `cargo metadata` printed")
    }

    /// Forgets the packages that are not in what `cargo tree --prefix none --format {p}` printed.
    /// `cargo metadata` also names what only a feature that nobody enables would bring.
    pub(crate) fn keep(&mut self, tree: &str) {
        let mut built = BTreeSet::new();
        for line in tree.lines() {
            let mut words = line.split(' ');
            if let (Some(name), Some(version)) = (words.next(), words.next()) {
                built.insert((name, version.trim_start_matches('v')));
            }
        }
        let is_built = |package: &Package| built.contains(&(&*package.name, &*package.version));
        self.packages.retain(is_built);
        let left: BTreeSet<&str> = self.packages.iter().map(|package| &*package.id).collect();
        self.resolve.nodes.retain(|node| left.contains(&*node.id));
    }

    /// All packages that the workspace needs for anything, tests included, its own among them.
    pub(crate) fn needed(&self) -> Vec<&Package> {
        let members: Vec<&str> = self.workspace_members.iter().map(String::as_str).collect();
        self.reach(&members, |_| true)
    }

    /// All packages that were not forgotten.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter()
    }

    /// The workspace's own packages.
    pub(crate) fn members(&self) -> Vec<&Package> {
        let is_member = |package: &&Package| self.workspace_members.contains(&package.id);
        self.packages.iter().filter(is_member).collect()
    }

    /// What a package needs to run (tests and build scripts do not count), near and far.
    pub(crate) fn runs_with(&self, package: &Package) -> Vec<&Package> {
        let mut needed = self.reach(&[&package.id], |kind| kind.kind.is_none());
        needed.retain(|other| other.id != package.id);
        needed
    }

    /// What a package names itself as an ordinary dependency.
    pub(crate) fn names(&self, package: &Package) -> Vec<&Package> {
        let edges = self.edges();
        let named = edges
            .get(package.id.as_str())
            .map_or(&[][..], |edges| edges);
        let ids: BTreeSet<&str> = named
            .iter()
            .filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()))
            .map(|edge| edge.pkg.as_str())
            .collect();
        self.of(&ids)
    }

    /// Names of the packages that need this one directly.
    pub(crate) fn users(&self, package: &Package) -> Vec<&str> {
        let needs = |node: &&Node| node.deps.iter().any(|edge| edge.pkg == package.id);
        let ids = self.resolve.nodes.iter().filter(needs);
        let ids: BTreeSet<&str> = ids.map(|node| node.id.as_str()).collect();
        self.of(&ids)
            .iter()
            .map(|user| user.name.as_str())
            .collect()
    }

    fn edges(&self) -> BTreeMap<&str, &[Edge]> {
        let nodes = self.resolve.nodes.iter();
        nodes
            .map(|node| (node.id.as_str(), &node.deps[..]))
            .collect()
    }

    fn reach(&self, from: &[&str], follow: impl Fn(&Kind) -> bool) -> Vec<&Package> {
        let edges = self.edges();
        let mut seen = BTreeSet::new();
        let mut open: Vec<&str> = from
            .iter()
            .filter_map(|id| edges.get_key_value(id).map(|(id, _)| *id))
            .collect();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                let next = edges.get(id).map_or(&[][..], |edges| edges).iter();
                let next = next.filter(|edge| edge.dep_kinds.iter().any(&follow));
                open.extend(next.map(|edge| edge.pkg.as_str()));
            }
        }
        self.of(&seen)
    }

    fn of(&self, ids: &BTreeSet<&str>) -> Vec<&Package> {
        let chosen = |package: &&Package| ids.contains(package.id.as_str());
        self.packages.iter().filter(chosen).collect()
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use super::Graph;

    /// A graph from lines `name version licence|- source|- : dependency…`, each dependency a
    /// `name` or `name=kind`; packages without a source are members.
    pub(crate) fn graph(lines: &[&str]) -> Graph {
        let mut packages = Vec::new();
        let mut nodes = Vec::new();
        let mut members = Vec::new();
        let id_of = |name: &str| {
            let line = lines
                .iter()
                .find(|line| line.starts_with(&format!("{name} ")));
            let mut words = line.expect("a known package").split(' ');
            format!("{}@{}", words.next().unwrap(), words.next().unwrap())
        };
        for line in lines {
            let (head, needs) = line.split_once(" :").expect("a colon");
            let head: Vec<&str> = head.split_whitespace().collect();
            let id = format!("{}@{}", head[0], head[1]);
            let some = |word: &str| (word != "-").then(|| word.replace('_', " "));
            if head[3] == "-" {
                members.push(id.clone());
            }
            let deps = needs.split_whitespace().map(|need| {
                let (name, kind) = need.split_once('=').unwrap_or((need, ""));
                let kind = (!kind.is_empty()).then_some(kind);
                let pkg = if name.contains('@') {
                    name.to_owned()
                } else {
                    id_of(name)
                };
                serde_json::json!({ "pkg": pkg, "dep_kinds": [{ "kind": kind }] })
            });
            let deps: Vec<_> = deps.collect();
            packages.push(serde_json::json!({
                "id": id, "name": head[0], "version": head[1],
                "license": some(head[2]), "source": some(head[3]),
            }));
            nodes.push(serde_json::json!({ "id": id, "deps": deps }));
        }
        let json = serde_json::json!({
            "packages": packages, "workspace_members": members,
            "resolve": { "nodes": nodes },
        });
        Graph::parse(&json.to_string()).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::samples::graph;

    #[test]
    fn what_is_never_built_is_forgotten() {
        let mut graph = graph(&[
            "weir 0.1.0 MIT - : a b",
            "a 1.0.0 MIT registry : b",
            "b 2.0.0 MIT registry : c",
            "c 3.0.0 MIT registry :",
        ]);
        let names = |graph: &super::Graph| {
            let needed = graph.needed().into_iter();
            needed
                .map(|package| package.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&graph), ["weir", "a", "b", "c"]);
        graph.keep("weir v0.1.0 (/a/b)\na v1.0.0 (proc-macro) (*)\n\nb v1.0.0\nc v3.0.0\n");
        assert_eq!(names(&graph), ["weir", "a"]);
    }
}
