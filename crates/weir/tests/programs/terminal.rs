//! `weir search`, `weir import`, a Weir in front of another, and a quota that outlives the process.

use std::fs;

use serde_json::Value;
use weir_testkit::zoo::indexer::{Behaviour, RetryAfter, Setup};

use super::weir::{Weir, command};
use super::{KEY, Town, printed};

#[test]
fn a_search_prints_a_table_and_who_was_skipped() {
    let town = Town::new();
    town.indexers[1].set(Behaviour::Status(429, RetryAfter::Seconds(600)));
    let url = format!("http://{}", town.weir.address);
    let search = |args: &[&str]| {
        let mut command = command(town.directory.path());
        command
            .args(["search", "--url", &url, "--key", KEY])
            .args(args);
        command.output().unwrap()
    };
    let output = search(&["some show", "--cat", "5000"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let table = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(table.starts_with("TITLE"), "{table}");
    assert!(table.contains("Some.Show.S01E04.1080p"), "{table}");
    let notes = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(
        notes.contains("one: ") && notes.contains("two: "),
        "{notes}"
    );
    assert!(notes.contains("we ask too often"), "{notes}");
    assert!(
        !printed(&output).contains("passkey"),
        "{}",
        printed(&output)
    );

    let output = search(&["some show", "--json", "--indexer", "one"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["finished"], true);
    assert_eq!(json["indexers"].as_array().unwrap().len(), 1);
    assert_eq!(json["releases"].as_array().unwrap().len(), 4);

    // If no indexer can be asked, the exit code says so.
    let output = search(&["other words", "--indexer", "two"]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    // A name that does not exist is a mistake in the command.
    let output = search(&["x", "--indexer", "oen"]);
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    let said = "There is no indexer \"oen\"; did you mean one? There are: one, two, three.";
    assert!(printed(&output).contains(said), "{}", printed(&output));
    let output = search(&["--no-such-flag"]);
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
}

#[test]
fn a_search_finds_weir_by_its_configuration_or_says_how() {
    let town = Town::new();
    let search = |settings: &[&str]| {
        let mut command = command(town.directory.path());
        command.args(["search", "some"]).args(settings);
        command.output().unwrap()
    };
    let web = town.weir.address.to_string();
    let url = format!("http://{web}");
    let output = search(&["--url", &url, "--data", "data"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let listen = format!("data: data\nweb: {{ listen: \"{web}\", api_key: {KEY} }}\n");
    fs::write(town.file("other.yaml"), listen).unwrap();
    let output = search(&["-c", "other.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let mut before = command(town.directory.path());
    let output = before.args(["-c", "other.yaml", "search", "some"]);
    let output = output.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let output = search(&["--url", &url, "--key", "wrong"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(printed(&output).contains("--key"), "{}", printed(&output));
    let output = search(&["--url", "http://127.0.0.1:1", "--key", "x"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        printed(&output).contains("cannot be reached"),
        "{}",
        printed(&output)
    );
}

#[test]
fn a_search_without_indexers_is_no_mistake_of_the_command() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("weir.yaml"),
        format!("web: {{ api_key: {KEY} }}\n"),
    )
    .unwrap();
    let weir = Weir::start(directory.path());
    let url = format!("http://{}", weir.address);
    let output = command(directory.path())
        .args(["search", "some", "--url", &url])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    let said = "No indexer is configured";
    assert!(printed(&output).contains(said), "{}", printed(&output));
}

/// Our own aliases imitate both programs.
#[test]
fn indexers_are_imported_as_good_configuration() {
    let town = Town::new();
    let base = format!("http://{}", town.weir.address);
    for (from, path, count) in [("prowlarr", "/prowlarr", 3), ("jackett", "/jackett", 2)] {
        let output = command(town.directory.path())
            .args(["import", from, &format!("{base}{path}"), KEY])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", printed(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.matches("- {").count(), count, "{text}");
        // The next Weir searches with it.
        let second = tempfile::tempdir().unwrap();
        let config = format!("web: {{ api_key: {KEY} }}\n{text}  min_request_interval: 0s\n");
        fs::write(second.path().join("weir.yaml"), &config).unwrap();
        let weir = Weir::start(second.path());
        let feed = weir.text("/torznab/api?t=search&q=S01E03");
        assert!(feed.contains("S01E03"), "{config}\n{feed}");
        assert!(feed.contains("total=\"1\""), "{feed}");
    }
    for (from, path, where_it_is) in [
        ("prowlarr", "/prowlarr", "in Prowlarr, Settings, General"),
        ("jackett", "/jackett", "in Jackett, at the top"),
    ] {
        let output = command(town.directory.path())
            .args(["import", from, &format!("{base}{path}"), "wrong"])
            .output()
            .unwrap();
        let said = printed(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("rejected the key"), "{said}");
        assert!(said.contains(where_it_is), "{said}");
        assert!(
            !said.contains("--key") && !said.contains("WEIR_KEY"),
            "{said}"
        );
    }
}

#[test]
fn a_daily_quota_outlives_the_process() {
    let town = Town::with([Setup::with(1..=3)], "min_request_interval: 0s");
    let config = fs::read_to_string(town.file("weir.yaml")).unwrap();
    let config = config.replace("tags:", "per_day: 4, tags:");
    fs::write(town.file("weir.yaml"), config).unwrap();
    let Town {
        weir,
        indexers,
        directory,
        runtime: _runtime,
    } = town;
    weir.stop();
    // Asking for capabilities counts too, and has only happened if Weir needed them.
    let mut weir = Weir::start(directory.path());
    for words in ["a", "b"] {
        weir.text(&format!("/torznab/api?t=search&q={words}"));
    }
    let before = indexers[0].asked().len();
    weir.stop();
    weir = Weir::start(directory.path());
    let mut refused = None;
    for words in ["c", "d", "e", "f"] {
        let (status, head, _) = weir.get(&format!("/torznab/api?t=search&q={words}"), "");
        if status == 429 {
            refused = Some(head);
            break;
        }
    }
    let head = refused.expect("the quota is used up");
    assert_eq!(indexers[0].asked().len(), 4, "{before} before the restart");
    let after = head.split("retry-after: ").nth(1).unwrap();
    let after: u64 = after.lines().next().unwrap().trim().parse().unwrap();
    assert!(after > 80_000 && after <= 86_400, "{after}");
    // What is cached is still served.
    weir.text("/torznab/api?t=search&q=a");
}
