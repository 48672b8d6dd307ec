//! The built binary: what it prints where, and its exit codes.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

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
fn a_file_may_be_named_before_the_command_or_after_it() {
    let dir = TempDir::new().expect("a temporary directory");
    // Nobody listens on port 1, so the address in the message shows which file was read.
    let text = "data: elsewhere\nweb: { listen: '127.0.0.1:1', api_key: k3y-of-16-letters }\n";
    std::fs::write(dir.path().join("other.yaml"), text).expect("a file");
    for (command, said) in [
        ("check", "(other.yaml)"),
        ("search", "http://127.0.0.1:1 cannot be reached"),
        ("sign-in", "never been started with elsewhere/state.db"),
    ] {
        for args in [["-c", "other.yaml", command], [command, "-c", "other.yaml"]] {
            let output = weir(dir.path(), &args);
            assert!(
                notes(&output).contains(said),
                "{args:?}: {}",
                notes(&output)
            );
        }
    }
    let output = weir(dir.path(), &["--data", "there", "sign-in"]);
    assert!(
        notes(&output).contains("there/state.db"),
        "{}",
        notes(&output)
    );
}

#[test]
fn a_flag_that_a_command_does_not_know_is_refused_before_it_too() {
    let dir = TempDir::new().expect("a temporary directory");
    for (args, said) in [
        (
            &["--web", "127.0.0.1:0", "search", "x"][..],
            "this command does not take --web",
        ),
        (&["-Q", "7", "sign-in"], "this command does not take -Q"),
        (&["-c", "weir.yaml", "man"], "this command does not take -c"),
        (&["-Q", "7", "check"], "write -Q after the command"),
    ] {
        let output = weir(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(notes(&output), format!("weir: {said}\n"));
    }
}

#[test]
fn commands_list_the_flags_that_concern_them() {
    let dir = TempDir::new().expect("a temporary directory");
    for command in ["search", "sign-in"] {
        let help = out(&weir(dir.path(), &[command, "--help"]));
        assert!(
            help.contains("--config") && help.contains("--data"),
            "{help}"
        );
        for flag in ["--web", "--queue-size", "--forwarders", "--log-level"] {
            assert!(!help.contains(flag), "{flag} in\n{help}");
        }
    }
    let help = out(&weir(dir.path(), &["serve", "--help"]));
    assert!(
        help.contains("--web") && help.contains("--queue-size"),
        "{help}"
    );
}

/// Answers each request with this status and page, whatever is asked. It ends with the test.
fn page(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines();
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn an_import_from_a_wrong_address_says_so_and_prints_no_page() {
    let dir = TempDir::new().expect("a temporary directory");
    let html = "<!DOCTYPE html><html><body>Not here</body></html>";
    for (status, prowlarr, jackett) in [
        (
            "200 OK",
            "answered, but not with JSON",
            "answered, but not as Jackett does",
        ),
        ("404 Not Found", "has no such API", "has no such API"),
        ("502 Bad Gateway", "answered 502", "answered 502"),
        ("302 Found", "redirects elsewhere", "redirects elsewhere"),
    ] {
        let url = page(status, html);
        for (from, said) in [("prowlarr", prowlarr), ("jackett", jackett)] {
            let output = weir(dir.path(), &["import", from, &url, "key"]);
            assert_eq!(output.status.code(), Some(1));
            assert_eq!(out(&output), "");
            let notes = notes(&output);
            assert!(
                notes.contains(said) && notes.contains(&url),
                "{status}: {notes}"
            );
            assert!(!notes.contains(['<', '>']), "{notes}");
            assert_eq!(notes.lines().count(), 1, "{notes}");
        }
    }
    let output = weir(dir.path(), &["import", "prowlarr", "nowhere", "key"]);
    assert!(
        notes(&output).contains("nowhere is not an http or https address"),
        "{}",
        notes(&output)
    );
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

#[test]
fn every_command_has_a_manual_page_of_its_own() {
    let dir = TempDir::new().expect("a temporary directory");
    let output = weir(dir.path(), &["man", "--dir", "."]);
    assert!(output.status.success(), "{}", notes(&output));
    let help = out(&weir(dir.path(), &["--help"]));
    let commands = help
        .split("Commands:\n")
        .nth(1)
        .expect("a list of commands");
    let commands = commands.lines().take_while(|line| line.starts_with("  "));
    let mut expected = vec!["weir.1".to_owned()];
    for line in commands.filter(|line| !line.starts_with("   ")) {
        let name = line.split_whitespace().next().expect("a name");
        if name != "help" {
            expected.push(format!("weir-{name}.1"));
        }
    }
    assert!(expected.len() > 8, "{help}");
    for name in &expected {
        let page = std::fs::read_to_string(dir.path().join(name));
        let page = page.unwrap_or_else(|error| panic!("{name}: {error}"));
        for heading in [".SH NAME", ".SH SYNOPSIS"] {
            assert!(page.contains(heading), "{name}: {page}");
        }
    }
    let written = std::fs::read_dir(dir.path()).expect("a directory").count();
    assert_eq!(written, expected.len());
    let output = weir(dir.path(), &["man", "--dir", "no-such-directory"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        notes(&output).contains("cannot write manual pages into no-such-directory"),
        "{}",
        notes(&output)
    );
}
