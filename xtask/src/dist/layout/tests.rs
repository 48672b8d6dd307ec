//! Tests of what is packed where.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

#[test]
fn the_packaged_configuration_names_where_the_state_is() {
    let sample = include_str!("../../../../docs/weir.sample.yaml");
    let packaged = packaged(sample).unwrap();
    assert!(packaged.contains("\ndata: /var/lib/weir\n"), "{packaged}");
    assert!(!packaged.contains("#data:"), "{packaged}");
    packaged_refuses("data: elsewhere\n");
}

fn packaged_refuses(sample: &str) {
    assert!(packaged(sample).is_err());
}

#[test]
fn what_is_packed_twice_is_the_same() {
    assert_eq!(gzip(b"some text").unwrap(), gzip(b"some text").unwrap());
}

#[test]
fn a_link_in_the_archive_leads_to_a_packed_file() {
    let project = Project::find().unwrap();
    assert_links_lead_somewhere(&project, &copied_into_archive(&project).unwrap());
}

#[test]
fn a_link_in_the_debian_package_leads_to_a_packed_file() {
    let project = Project::find().unwrap();
    assert_links_lead_somewhere(&project, &copied_into_debian(&project).unwrap());
}

/// Looks up every relative link of the packed texts among the packed files, and its fragment among the headings.
fn assert_links_lead_somewhere(project: &Project, files: &[(String, String)]) {
    let texts: BTreeMap<&str, String> = files
        .iter()
        .filter(|(from, _)| from.ends_with(".md"))
        .map(|(from, to)| (to.as_str(), fs::read_to_string(project.path(from)).unwrap()))
        .collect();
    let places: BTreeSet<&str> = files.iter().map(|(_, to)| to.as_str()).collect();
    let mut followed = 0;
    for (place, text) in &texts {
        for link in links(text) {
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = resolve(place, file);
            assert!(
                places.contains(target.as_str()),
                "{place} links {link}, and there is no {target}"
            );
            assert!(
                fragment.is_empty() || headings(&texts[target.as_str()]).contains(fragment),
                "{place} links {link}, and {target} has no such heading"
            );
            followed += 1;
        }
    }
    assert!(followed > 20, "only {followed} links were found");
}

/// The links of a text that lead to files beside it.
fn links(text: &str) -> Vec<&str> {
    let pieces = text.split("](").skip(1);
    let targets = pieces.filter_map(|piece| Some(piece.split_once(')')?.0));
    targets.filter(|link| !link.contains("://")).collect()
}

/// What a link in the file at `place` means.
fn resolve(place: &str, link: &str) -> String {
    if link.is_empty() {
        return place.to_owned();
    }
    let mut parts: Vec<&str> = place.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The headings of a text, as links name them.
fn headings(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        if is_code || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let title = title.trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        found.insert(kept.collect::<String>().replace(' ', "-"));
    }
    found
}

#[test]
fn links_and_headings_are_found() {
    let text = "# One\n[a](b.md#two) ![c](../d.png)\n```sh\n# no heading\n```\n## `Two`, and 3\n[e](https://f.example)";
    assert_eq!(links(text), ["b.md#two", "../d.png"]);
    assert_eq!(resolve("docs/a.md", "../d.png"), "d.png");
    assert_eq!(resolve("docs/a.md", "b.md"), "docs/b.md");
    assert_eq!(resolve("docs/a.md", ""), "docs/a.md");
    let expected = ["one", "two-and-3"].map(str::to_owned);
    assert_eq!(headings(text), BTreeSet::from(expected));
}
