//! The built binary: what it prints where, and its exit codes.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

fn weir(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command
        .args(args)
        .current_dir(dir)
        .env_clear()
        .output()
        .expect("the binary runs")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn notes(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn with_file(text: &str) -> TempDir {
    let dir = TempDir::new().expect("a temporary directory");
    std::fs::write(dir.path().join("weir.yaml"), text).expect("a file");
    dir
}

#[test]
fn check_prints_the_configuration_and_a_verdict() {
    let dir = with_file("web: { listen: '127.0.0.1:0', api_key: k3y-of-16-letters }\n");
    let output = weir(dir.path(), &["check"]);
    assert!(output.status.success());
    assert!(
        out(&output).contains("  listen: 127.0.0.1:0\n  #api_key: (secret)\n"),
        "{}",
        out(&output)
    );
    assert_eq!(
        notes(&output),
        "weir: the configuration is correct (weir.yaml)\n"
    );
}

#[test]
fn explain_names_the_source_of_each_value() {
    let dir = with_file("web: { listen: '127.0.0.1:0' }\n");
    let text = out(&weir(dir.path(), &["check", "--explain", "-Q", "7"]));
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(words).collect();
    for line in [
        "web.listen 127.0.0.1:0 weir.yaml:1:16 (read at start)",
        "tracker.forwarder_queue_size 7 flag -Q (read at start)",
        "tracker.age 3h default (read at start)",
        "tracker.numwant 50 default",
    ] {
        assert!(lines.iter().any(|l| l == line), "{line} in\n{text}");
    }
}

#[test]
fn mistakes_end_with_code_2() {
    let dir = with_file("tracker:\n  agee: 1m\n  age: x\n");
    for args in [
        &["check"][..],
        &["serve"],
        &[],
        &["-c", "weir.yaml"],
        &["serve", "-c", "weir.yaml"],
    ] {
        let output = weir(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(out(&output), "");
        insta::assert_snapshot!("mistakes_on_standard_error", notes(&output));
    }
}

#[test]
fn usage_ends_with_code_2() {
    let dir = TempDir::new().expect("a temporary directory");
    for args in [
        &["--colour"][..],
        &["fly"],
        &["check", "--explain", "--sample"],
        &["-c"],
    ] {
        assert_eq!(weir(dir.path(), args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn no_configuration_is_good() {
    let dir = TempDir::new().expect("a temporary directory");
    let output = weir(dir.path(), &["check"]);
    assert!(output.status.success());
    assert_eq!(
        notes(&output),
        "weir: the configuration is correct (no file; defaults)\n"
    );
}

#[test]
fn sample_is_printed() {
    let dir = with_file("this file is not looked at");
    let output = weir(dir.path(), &["check", "--sample"]);
    assert!(output.status.success());
    assert_eq!(out(&output), include_str!("../../../docs/weir.sample.yaml"));
}

#[test]
fn completions_and_manual_page() {
    let dir = TempDir::new().expect("a temporary directory");
    for shell in ["bash", "zsh", "fish"] {
        let output = weir(dir.path(), &["completions", shell]);
        assert!(
            output.status.success() && out(&output).contains("queue-throttle-top"),
            "{shell}"
        );
    }
    insta::assert_snapshot!(
        "completions_bash",
        out(&weir(dir.path(), &["completions", "bash"]))
    );
    insta::assert_snapshot!("man", out(&weir(dir.path(), &["man"])));
    insta::assert_snapshot!("help", out(&weir(dir.path(), &["--help"])));
}
