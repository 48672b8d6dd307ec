//! `weir backup` in trouble: full disks, no key, killed in the middle, and against a Weir that lies.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::backup::{ask_json, backup, json, names, printed};
use super::status::command;
use super::tracker::Rig;
use super::{PATIENCE, Weir, ask, config};

/// A file system that takes no more: files of 8 KiB at most.
fn on_a_full_disk(dir: &Path, args: &str) -> Output {
    let weir = env!("CARGO_BIN_EXE_weir");
    let script = format!("trap '' XFSZ; ulimit -f 16; exec {weir} backup --data data {args}");
    let mut sh = Command::new("sh");
    sh.args(["-c", &script]).current_dir(dir).env_clear();
    sh.output().unwrap()
}

#[test]
fn a_full_disk_leaves_nothing_and_harms_no_weir() {
    let rig = Rig::start("");
    let dir = rig.dir.path();
    let output = on_a_full_disk(dir, "copy");
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(
        printed(&output).contains("cannot write state.db"),
        "{}",
        printed(&output)
    );
    assert_eq!(names(dir), ["data", "weir.yaml"]);
    assert!(super::tracker::announce(rig.tracker, 1).contains("8:interval"));
    // The next one works at once: the copies of the first are gone.
    let output = backup(dir, &["copy"]);
    assert!(output.status.success(), "{}", printed(&output));
    drop(rig.weir);
    let output = on_a_full_disk(dir, "another");
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(
        printed(&output).contains("cannot copy state.db"),
        "{}",
        printed(&output)
    );
    assert_eq!(names(dir), ["copy", "data", "weir.yaml"]);
}

/// The data directory is on a file system with no room for copies; Weir says so before it fills it.
#[test]
fn where_weir_has_no_room_for_copies_it_says_so_and_goes_on() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &super::tracker::text(""));
    fs::create_dir(dir.path().join("data")).unwrap();
    let inner = Weir::command(dir.path(), &[]);
    let mut command = Command::new("unshare");
    command
        .args(["--map-root-user", "--mount", "--", "sh", "-c"])
        .arg("mount -t tmpfs -o size=48m,mode=700 small data && exec \"$@\"")
        .arg("sh")
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(dir.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0");
    let mut weir = Weir::run(&mut command).unwrap();
    let url = weir.line("http://");
    let web: SocketAddr = url
        .split("http://")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let url = format!("http://{web}");
    let output = backup(
        dir.path(),
        &["copy", "--url", &url, "--key", super::tracker::KEY],
    );
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(
        printed(&output).contains("answered 507: The disk with the data directory has"),
        "{}",
        printed(&output)
    );
    assert_eq!(names(dir.path()), ["data", "weir.yaml"]);
    assert!(ask(web, "GET /readyz", "").starts_with("HTTP/1.1 200"));
}

#[test]
fn only_who_has_the_key_gets_a_backup_and_only_what_belongs_to_it() {
    let rig = Rig::start("");
    let key = super::tracker::KEY;
    let begin = |key: &str, body: &str| ask_json(rig.web, "POST /api/v1/backups", key, body);
    assert!(begin("", "").starts_with("HTTP/1.1 401"));
    assert!(begin("wrong-wrong-wrong", "").starts_with("HTTP/1.1 401"));
    for (body, status) in [
        (r#"{"path":"/etc"}"#, "422"),
        ("[", "400"),
        (r#"{"text_index":3}"#, "422"),
    ] {
        let answer = begin(key, body);
        let wanted = format!("HTTP/1.1 {status}");
        assert!(answer.starts_with(&wanted), "{body}: {answer}");
    }
    let begun = json(&begin(key, ""));
    let path = format!("/api/v1/backups/{}", begun["id"].as_str().unwrap());
    let get = |rest: &str| ask(rig.web, &format!("GET {path}{rest}"), key);
    super::forwarder::until("it is ready", || json(&get(""))["state"] == "ready");
    let manifest = json(&get(""))["manifest"].take();
    assert!(ask(rig.web, &format!("GET {path}"), "").starts_with("HTTP/1.1 401"));
    assert!(
        ask(rig.web, &format!("GET {path}/file?name=state.db"), "").starts_with("HTTP/1.1 401")
    );
    for name in [
        "state.db-wal",
        "../state.db",
        "..%2Fweir.lock",
        "%2Fetc%2Fpasswd",
        "weir.lock",
        "",
    ] {
        let answer = get(&format!("/file?name={name}"));
        assert!(answer.starts_with("HTTP/1.1 404"), "{name}: {answer}");
    }
    assert!(get("/file?name=swarm/key&from=x").starts_with("HTTP/1.1 4"));
    let beyond = get("/file?name=swarm/key&from=99999999999");
    assert!(
        beyond.starts_with("HTTP/1.1 200") && beyond.ends_with("\r\n\r\n"),
        "{beyond}"
    );
    let other = ask(rig.web, "GET /api/v1/backups/1-1", key);
    assert!(other.starts_with("HTTP/1.1 404"), "{other}");
    // Somebody is fetching it, so there is no second one.
    let busy = begin(key, "");
    assert!(
        busy.starts_with("HTTP/1.1 409") && busy.to_lowercase().contains("retry-after"),
        "{busy}"
    );
    let output = backup(rig.dir.path(), &["copy"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        printed(&output).contains("Another backup is being taken"),
        "{}",
        printed(&output)
    );
    assert!(!rig.dir.path().join("copy").exists());
    // Nobody but us may read the copies meanwhile.
    let place = rig.dir.path().join("data/backup.part");
    let mode = fs::metadata(&place).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    assert!(
        manifest["files"].as_array().unwrap().len() >= 3,
        "{manifest}"
    );
    // What a kill leaves behind is gone after the next start.
    rig.weir.signal("KILL");
    let Rig { mut weir, dir, .. } = rig;
    weir.child.wait().unwrap();
    assert_eq!(names(&place).len(), 1);
    let (weir, ..) = Rig::at(dir.path());
    assert!(!place.exists());
    drop(weir);
}

/// Stands for a Weir: answers each path as `answer` says.
fn impostor(answer: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            let mut length = 0;
            for line in lines.by_ref().take_while(|line| !line.is_empty()) {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            drop(lines);
            // The body, if there is one, came with the head; nobody looks at it.
            let _ = length;
            let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
            let Some(body) = answer(&path) else { continue };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = (&stream).write_all(&[head.as_bytes(), &body].concat());
        }
    });
    format!("http://{address}")
}

fn manifest(name: &str) -> Value {
    let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let file = |name: &str| json!({ "name": name, "size": 3, "sha256": sum });
    json!({ "version": "1", "made": "now", "files": [file("state.db"), file(name)] })
}

#[test]
fn what_is_not_as_it_was_said_is_no_backup() {
    let dir = TempDir::new().unwrap();
    let take = |name: &'static str, bytes: &'static str| {
        let url = impostor(move |path| {
            let told = match path.rsplit('/').next().unwrap() {
                "backups" => json!({ "id": "1-1", "state": "making" }),
                "1-1" => json!({ "state": "ready", "manifest": manifest(name) }),
                "done" => json!({}),
                _ => return Some(bytes.into()),
            };
            Some(told.to_string().into_bytes())
        });
        let output = backup(dir.path(), &["copy", "--url", &url, "--key", "k"]);
        (output.status.code(), printed(&output))
    };
    for (name, bytes, said) in [
        ("../evil", "abc", "cannot be part of a backup"),
        ("/tmp/evil", "abc", "cannot be part of a backup"),
        ("state.db", "abc", "twice"),
        ("search.db", "abd", "arrived damaged"),
        ("search.db", "abcdef", "another number of bytes"),
        ("search.db", "", "another number of bytes"),
    ] {
        let (code, text) = take(name, bytes);
        assert_eq!(code, Some(1), "{name}: {text}");
        assert!(text.contains(said), "{name}: {text}");
        assert!(
            names(dir.path()).is_empty(),
            "{name}: {:?}",
            names(dir.path())
        );
    }
    let (code, text) = take("search.db", "abc");
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(
        names(&dir.path().join("copy")),
        ["backup.json", "search.db", "state.db"]
    );
}

#[test]
fn a_client_that_is_killed_leaves_nothing_that_looks_whole() {
    for (signal, code) in [("INT", Some(130)), ("TERM", Some(143)), ("KILL", None)] {
        let dir = TempDir::new().unwrap();
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let url = impostor(move |path| {
            let answer = match path.rsplit('/').next().unwrap() {
                "backups" => json!({ "id": "1-1" }),
                "1-1" => json!({ "state": "ready", "manifest": manifest("search.db") }),
                "state.db?from=0" => return Some(b"abc".to_vec()),
                // The second file never arrives.
                _ => {
                    let _ = tell.try_send(());
                    thread::park();
                    return None;
                }
            };
            Some(answer.to_string().into_bytes())
        });
        let args = ["backup", "copy", "--url", &url, "--key", "k"];
        let mut child = command(dir.path(), &args).spawn().unwrap();
        told.recv_timeout(PATIENCE).unwrap();
        let kill = format!("kill -{signal} {}", child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
        let status = child.wait().unwrap();
        assert_eq!(status.code(), code, "{:?}", status.signal());
        let left = names(dir.path());
        match signal {
            "INT" | "TERM" => assert!(left.is_empty(), "{left:?}"),
            _ => {
                assert_eq!(left, [format!(".copy.part-{}", child.id())]);
                assert!(!dir.path().join(&left[0]).join("backup.json").exists());
            }
        }
    }
}
