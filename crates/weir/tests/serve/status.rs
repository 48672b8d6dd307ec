//! `weir status`, against the running program.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::ask;
use super::tracker::{KEY, Rig};

/// Upstreams that nobody listens for.
const UPSTREAMS: &str = r#"
tracker: { forwarders: [{ uri: "http://127.0.0.1:9/announce", name: harbor }] }
search: { indexers: [{ name: meadow, url: "http://127.0.0.1:9/api" }] }"#;

pub(super) fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(args).current_dir(dir).env_clear();
    command
}

fn weir(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn notes(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn status_is_a_page_for_people_and_json_for_programs() {
    let rig = Rig::start(UPSTREAMS);
    let dir = rig.dir.path();
    let searched = ask(rig.web, "GET /torznab/api?t=search&q=some", KEY);
    assert!(searched.starts_with("HTTP/1.1 "), "{searched}");
    // It listens where no configuration says so, and has noted that.
    let output = weir(dir, &["status", "--data", "data"]);
    let text = out(&output);
    assert!(output.status.success(), "{}", notes(&output));
    let status = ask(rig.web, "GET /api/v1/status", KEY);
    let (_, body) = status.split_once("\r\n\r\n").unwrap();
    let told: Value = serde_json::from_str(body).unwrap();
    // Its end counts down, and long ones are wrapped.
    let sentence = told["sentence"].as_str().unwrap();
    let begins = sentence.split_inclusive(['.', ':']).next().unwrap();
    assert!(text.starts_with(begins), "{sentence} in {text}");
    for word in [
        "Tracker",
        "Search",
        "→",
        "1 of 2 upstreams needs attention",
        "Search: meadow ",
    ] {
        assert!(text.contains(word), "{word} in\n{text}");
    }
    assert!(text.contains(&format!("http://{}", rig.web)), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let output = weir(dir, &["status", "--json", "--data", "data"]);
    let json: Value = serde_json::from_str(&out(&output)).unwrap();
    assert!(json["sentence"].as_str().unwrap().starts_with(begins));
    assert_eq!(json["fronts"][1]["name"], told["fronts"][1]["name"]);
    let url = format!("http://{}", rig.web);
    let mut elsewhere = command(Path::new("/"), &["status", "--url", &url]);
    let output = elsewhere.env("WEIR_KEY", KEY).output().unwrap();
    assert!(output.status.success(), "{}", notes(&output));
    let output = weir(dir, &["status", "--url", &url, "--key", "another"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(notes(&output).contains("rejected the key"));
    assert_eq!(weir(dir, &["status", "--colour"]).status.code(), Some(2));
    drop(rig.weir);
    let output = weir(dir, &["status", "--data", "data", "--key", KEY]);
    assert_eq!(output.status.code(), Some(1));
    let said = notes(&output);
    assert!(said.contains("No Weir is running with data"), "{said}");
    assert!(
        said.contains("weir serve") && said.contains("--url"),
        "{said}"
    );
    assert_eq!(out(&output), "");
}
