//! Upstreams that were added on the pages: `upstreams.yaml` in the data directory, read after the operator's file.

use super::Setup;

/// A configuration with this text of its own, and this one for what was added.
fn setup(own: &str, added: &str) -> Setup {
    let setup = Setup::yaml(&format!("data: {{dir}}/data\n{own}"));
    let data = setup.dir.path().join("data");
    std::fs::create_dir(&data).expect("a new directory");
    std::fs::write(data.join("upstreams.yaml"), added).expect("a file there");
    setup
}

#[test]
fn what_was_added_comes_after_what_was_written_and_has_its_place() {
    let setup = setup(
        "search: { indexers: [{ name: own, url: 'http://a.example/api' }] }\n",
        "search:\n  indexers:\n    - name: added\n      url: http://b.example/api\nnews:\n  servers:\n    - { name: n, host: n.example }\n",
    );
    let config = setup.load().config;
    let names: Vec<&str> = config
        .search
        .indexers
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["own", "added"]);
    assert_eq!(config.news.servers[0].host, "n.example");
    assert_eq!(
        setup.explain("search.indexers[1].name"),
        "added from data/upstreams.yaml:3:13"
    );
    let none = Setup::yaml("data: {dir}/nothing-there\n");
    assert!(none.load().config.search.indexers.is_empty());
}

#[test]
fn mistakes_in_it_name_its_lines() {
    let setup = setup(
        "",
        "search:\n  indexers:\n    - { name: a b, url: nowhere }\n  deadline: 3s\nweb: { api_key: x }\ntracker: 5\n",
    );
    let mistakes = setup.mistakes();
    for wanted in [
        "data/upstreams.yaml:4:3: search.deadline: move this to your own configuration file",
        "data/upstreams.yaml:5:1: web: move this to your own configuration file",
        "data/upstreams.yaml:6:10: tracker: move this to your own configuration file",
    ] {
        assert!(mistakes.contains(wanted), "{mistakes}");
    }
    let setup = self::setup(
        "",
        "search:\n  indexers:\n    - { name: a b, url: nowhere }\n",
    );
    let mistakes = setup.mistakes();
    for wanted in [
        "data/upstreams.yaml:3:15: search.indexers[0].name: write a word",
        "data/upstreams.yaml:3:25: search.indexers[0].url: write a URL",
    ] {
        assert!(mistakes.contains(wanted), "{mistakes}");
    }
    assert!(
        self::setup("", "search: [")
            .mistakes()
            .contains("data/upstreams.yaml:1:")
    );
}

#[test]
fn the_same_name_in_both_names_both_lines() {
    let setup = setup(
        "news:\n  servers:\n    - { name: same, host: a.example }\n",
        "news:\n  servers:\n    - { name: same, host: b.example }\n",
    );
    assert_eq!(
        setup.mistakes(),
        "data/upstreams.yaml:3:15: news.servers[1].name: choose another name; same is taken by weir.yaml:4:15"
    );
}

#[test]
fn trackers_are_added_to_those_of_a_file_of_their_own_too() {
    let setup = setup(
        "tracker: { forwarders_file: '{dir}/trackers.yaml' }\n",
        "tracker:\n  forwarders:\n    - { uri: 'udp://b.example:1' }\n",
    );
    let list = setup.dir.path().join("trackers.yaml");
    std::fs::write(list, "- { uri: 'udp://a.example:1', name: a }\n").unwrap();
    let forwarders = setup.load().config.tracker.forwarders;
    let names: Vec<&str> = forwarders.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a", "b.example:1"]);
}
