//! `cargo xtask deny`: licences, sources, banned and duplicate crates, and our own layers.
//!
//! The rules stand in `deny.toml`, which cargo-deny understands as well. We read it ourselves
//! because building cargo-deny costs three and a half minutes on two cores in every clean
//! checkout, more than most of the check, and the rules that need no network are a page of code.
//! A key of those sections that is not understood here is refused, so that no rule is passed over
//! in silence. Advisories are cargo-deny's: it is asked when their database is at hand.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::graph::{Graph, Package};
use crate::shell::{self, Project};
use crate::{layers, licence};

/// The public registry by the name that cargo writes into lock files.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The parts of `deny.toml` that are checked here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    graph: Targets,
    licenses: Licences,
    bans: Bans,
    #[serde(rename = "sources")]
    _sources: Sources,
    /// Left to cargo-deny.
    #[serde(rename = "advisories")]
    _advisories: Option<toml::Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Targets {
    targets: Vec<String>,
    all_features: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Licences {
    allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<Exception>,
    #[serde(rename = "unused-allowed-license")]
    _unused: Option<Allow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    #[serde(rename = "crate")]
    spec: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bans {
    #[serde(rename = "multiple-versions")]
    _multiple_versions: Deny,
    deny: Vec<Banned>,
    skip: Vec<Named>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Banned {
    #[serde(rename = "crate")]
    spec: String,
    reason: String,
    /// Crates that may need it all the same.
    #[serde(default)]
    wrappers: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    #[serde(rename = "crate")]
    spec: String,
    /// For whoever reads the file.
    #[serde(rename = "reason")]
    _reason: String,
}

/// Only the public registry, said in cargo-deny's words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    #[serde(rename = "unknown-registry")]
    _registry: Deny,
    #[serde(rename = "unknown-git")]
    _git: Deny,
}

/// A level that can only be this one, so that a softer one is refused and not ignored.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Deny {
    Deny,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Allow {
    Allow,
}

/// Checks the whole dependency graph and names everything that breaks a rule.
pub(crate) fn run(project: &Project) -> Result<()> {
    let text = fs::read_to_string(project.path("deny.toml")).context("cannot read deny.toml")?;
    let policy: Policy = toml::from_str(&text).context("cannot understand deny.toml")?;
    let graph = read_graph(project, &policy.graph)?;
    let mut findings = policy.findings(&graph);
    findings.extend(layers::findings(&graph));
    for finding in &findings {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} findings against the dependency policy", findings.len());
    }
    println!("{} crates keep to the policy", graph.needed().len());
    advisories(project)
}

fn read_graph(project: &Project, targets: &Targets) -> Result<Graph> {
    let mut metadata = project.cargo(&["metadata", "--locked", "--format-version", "1"]);
    let mut tree = project.cargo(&["tree", "--locked", "--workspace"]);
    tree.args(["--edges", "normal,build,dev"]);
    tree.args(["--prefix", "none", "--format", "{p}"]);
    if targets.all_features {
        metadata.arg("--all-features");
        tree.arg("--all-features");
    }
    for target in &targets.targets {
        metadata.args(["--filter-platform", target]);
        tree.args(["--target", target]);
    }
    let mut graph = Graph::parse(&shell::read(&mut metadata)?)?;
    graph.keep(&shell::read(&mut tree)?);
    Ok(graph)
}

impl Policy {
    /// Everything in the graph that breaks a rule, one sentence each.
    fn findings(&self, graph: &Graph) -> Vec<String> {
        let needed = graph.needed();
        let mut findings = Vec::new();
        for package in &needed {
            let findings_of = [
                self.licence(package),
                self.source(package),
                self.ban(graph, package),
            ];
            for what in findings_of.into_iter().flatten() {
                let users = graph.users(package).join(", ");
                findings.push(format!(
                    "{} {} {what} (used by: {users})",
                    package.name, package.version
                ));
            }
        }
        findings.extend(self.duplicates(graph, &needed));
        findings
    }

    fn licence(&self, package: &Package) -> Option<String> {
        let Some(expression) = &package.license else {
            return Some("names no licence".to_owned());
        };
        let excepted = |name: &str| {
            let mut exceptions = self.licenses.exceptions.iter();
            exceptions.any(|exception| {
                matches(&exception.spec, package)
                    && exception.allow.iter().any(|allowed| allowed == name)
            })
        };
        let allowed = |name: &str| {
            self.licenses.allow.iter().any(|allowed| allowed == name) || excepted(name)
        };
        match licence::is_satisfied(expression, allowed) {
            Ok(true) => None,
            Ok(false) => Some(format!("is under `{expression}`, which is not allowed")),
            Err(error) => Some(format!("is under `{expression}`: {error}")),
        }
    }

    fn source(&self, package: &Package) -> Option<String> {
        let source = package.source.as_deref()?;
        (source != REGISTRY).then(|| format!("comes from {source}, not from the registry"))
    }

    fn ban(&self, graph: &Graph, package: &Package) -> Option<String> {
        let ban = self
            .bans
            .deny
            .iter()
            .find(|ban| matches(&ban.spec, package))?;
        let mut users = graph.users(package).into_iter();
        let excused = |user: &str| ban.wrappers.iter().any(|wrapper| wrapper == user);
        if !ban.wrappers.is_empty() && users.all(excused) {
            return None;
        }
        Some(format!("is banned: {}", ban.reason))
    }

    fn duplicates(&self, graph: &Graph, needed: &[&Package]) -> Vec<String> {
        let mut versions: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
        for package in needed {
            if !self
                .bans
                .skip
                .iter()
                .any(|skip| matches(&skip.spec, package))
            {
                versions.entry(&package.name).or_default().push(package);
            }
        }
        versions.retain(|_, versions| versions.len() > 1);
        let sentence = |(name, versions): (&str, Vec<&Package>)| {
            let each = versions.iter().map(|package| {
                format!(
                    "{} (used by: {})",
                    package.version,
                    graph.users(package).join(", ")
                )
            });
            let each: Vec<String> = each.collect();
            format!("{name} is there {} times: {}", each.len(), each.join("; "))
        };
        versions.into_iter().map(sentence).collect()
    }
}

/// Whether `name` or `name@version` means this package; `1` means 1.x.y, `1.2` means 1.2.x.
fn matches(spec: &str, package: &Package) -> bool {
    let (name, version) = spec.split_once('@').unwrap_or((spec, ""));
    let rest = package.version.strip_prefix(version);
    name == package.name
        && rest.is_some_and(|rest| version.is_empty() || rest.is_empty() || rest.starts_with('.'))
}

/// Asks cargo-deny about known faults when there is a database to ask.
fn advisories(project: &Project) -> Result<()> {
    let databases = cargo_home().map(|home| home.join("advisory-dbs"));
    if !databases.is_some_and(|databases| databases.is_dir()) {
        println!("advisories: no database at hand, so nothing to compare with");
        return Ok(());
    }
    ensure!(
        shell::on_path("cargo-deny"),
        "there is an advisory database, but nothing to read it: cargo install --locked cargo-deny"
    );
    let arguments = ["deny", "--offline", "check", "advisories"];
    shell::run(&mut project.cargo(&arguments))
}

fn cargo_home() -> Option<PathBuf> {
    let home = || env::home_dir().map(|home| home.join(".cargo"));
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::samples::graph;

    fn policy() -> Policy {
        let text = include_str!("../../deny.toml");
        toml::from_str(text).unwrap()
    }

    const FROM: &str = REGISTRY;

    #[test]
    fn a_clean_graph_has_no_finding() {
        let graph = graph(&[
            "weir 0.1.0 MIT - : serde syn@2.0.1",
            &format!("serde 1.0.0 MIT/Apache-2.0 {FROM} : syn@3.0.0"),
            &format!("syn 2.0.1 MIT {FROM} :"),
            &format!("syn 3.0.0 MIT {FROM} :"),
        ]);
        assert_eq!(policy().findings(&graph), [""; 0]);
    }

    #[test]
    fn a_licence_not_allowed_is_named_with_its_user() {
        let graph = graph(&[
            "weir 0.1.0 MIT - : grim none",
            &format!("grim 1.0.0 AGPL-3.0-only {FROM} :"),
            &format!("none 1.0.0 - {FROM} :"),
        ]);
        assert_eq!(
            policy().findings(&graph),
            [
                "grim 1.0.0 is under `AGPL-3.0-only`, which is not allowed (used by: weir)",
                "none 1.0.0 names no licence (used by: weir)",
            ]
        );
    }

    #[test]
    fn a_banned_crate_is_found_however_deep() {
        let graph = graph(&[
            "weir 0.1.0 MIT - : middle",
            &format!("middle 1.0.0 MIT {FROM} : ring=build"),
            &format!("ring 0.17.0 ISC {FROM} :"),
        ]);
        assert_eq!(
            policy().findings(&graph),
            ["ring 0.17.0 is banned: one cryptography library: aws-lc-rs (used by: middle)"]
        );
    }

    #[test]
    fn a_banned_crate_is_excused_for_those_named() {
        let lines = |user: &str| {
            [
                format!("weir 0.1.0 MIT - : {user}=dev"),
                format!("{user} 1.0.0 MIT {FROM} : time"),
                format!("time 0.3.0 MIT {FROM} :"),
            ]
        };
        for (user, findings) in [("rcgen", 0), ("other", 1)] {
            let lines = lines(user);
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let found = policy().findings(&graph(&lines));
            assert_eq!(found.len(), findings, "{found:?}");
        }
    }

    #[test]
    fn a_second_version_is_a_finding() {
        let graph = graph(&[
            "weir 0.1.0 MIT - : twin@1.0.0 middle",
            &format!("middle 1.0.0 MIT {FROM} : twin@2.0.0"),
            &format!("twin 1.0.0 MIT {FROM} :"),
            &format!("twin 2.0.0 MIT {FROM} :"),
        ]);
        assert_eq!(
            policy().findings(&graph),
            ["twin is there 2 times: 1.0.0 (used by: weir); 2.0.0 (used by: middle)"]
        );
    }

    #[test]
    fn what_comes_from_elsewhere_is_refused() {
        let graph = graph(&[
            "weir 0.1.0 MIT - : odd",
            "odd 1.0.0 MIT git+https://forge.example/odd :",
        ]);
        let findings = policy().findings(&graph);
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0].contains("not from the registry"),
            "{findings:?}"
        );
    }

    #[test]
    fn what_the_workspace_does_not_need_does_not_count() {
        let graph = graph(&["weir 0.1.0 MIT - :", &format!("ring 0.17.0 ISC {FROM} :")]);
        assert_eq!(policy().findings(&graph), [""; 0]);
    }

    #[test]
    fn a_rule_not_understood_is_refused() {
        let text = include_str!("../../deny.toml");
        for (old, new) in [
            ("[sources]", "[sources]\nallow-git = []"),
            ("unknown-git = \"deny\"", "unknown-git = \"warn\""),
        ] {
            assert!(text.contains(old));
            assert!(
                toml::from_str::<Policy>(&text.replace(old, new)).is_err(),
                "{new}"
            );
        }
    }

    #[test]
    fn a_version_in_a_rule_means_that_line_of_versions() {
        let graph = graph(&["syn 2.0.1 MIT - :"]);
        let syn = graph.needed()[0];
        for (spec, expected) in [("syn", true), ("syn@2", true), ("syn@2.0.1", true)] {
            assert_eq!(matches(spec, syn), expected, "{spec}");
        }
        for spec in ["syn@3", "sy", "syn@2.0.11", "syn@20", "syn@2.0.1.1"] {
            assert!(!matches(spec, syn), "{spec}");
        }
    }
}
