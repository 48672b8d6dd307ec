//! Upstreams that are added, changed, removed, tried and imported in the running program.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_testkit::inn::{Certificate, Inn, Options};
use weir_testkit::zoo::Place;
use weir_testkit::zoo::http::RetryAfter;
use weir_testkit::zoo::indexer::{Behaviour, Indexer, Setup};
use weir_testkit::zoo::news::{News, Newsgroup};

use super::tracker::{KEY, Rig};
use super::{PATIENCE, Weir, ask, config};

/// The status and the JSON of an answer to a request with a body.
fn send(address: SocketAddr, line: &str, body: &Value) -> (u16, Value) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: weir\r\nX-Api-Key: {KEY}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    read(&answer)
}

fn read(answer: &str) -> (u16, Value) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

fn get(address: SocketAddr, line: &str) -> (u16, Value) {
    read(&ask(address, line, KEY))
}

fn add(rig: &Rig, front: &str, entry: &Value) -> (u16, Value) {
    let body = json!({ "front": front, "entry": entry });
    send(rig.web, "POST /api/v1/upstreams", &body)
}

fn try_out(rig: &Rig, front: &str, entry: &Value) -> (u16, Value) {
    let body = json!({ "front": front, "entry": entry });
    send(rig.web, "POST /api/v1/upstreams/try", &body)
}

fn names(rig: &Rig) -> Vec<String> {
    let (_, list) = get(rig.web, "GET /api/v1/upstreams");
    let all = list["upstreams"].as_array().unwrap().iter();
    all.map(|one| one["name"].as_str().unwrap().to_owned())
        .collect()
}

fn file(rig: &Rig) -> String {
    std::fs::read_to_string(rig.dir.path().join("data/upstreams.yaml")).unwrap_or_default()
}

/// What is wrong with which field.
fn fields(problem: &Value) -> Vec<(&str, &str)> {
    let all = problem["errors"].as_array().unwrap().iter();
    all.map(|one| {
        (
            one["field"].as_str().unwrap(),
            one["detail"].as_str().unwrap(),
        )
    })
    .collect()
}

#[test]
fn one_is_added_changed_and_removed_and_the_operators_file_is_not_touched() {
    let rig = Rig::start("");
    let own = rig.dir.path().join("weir.yaml");
    let before = std::fs::read(&own).unwrap();
    let entry = json!({ "name": "harbor", "url": "http://127.0.0.1:9/api", "api_key": "the-k3y", "limits": ["300/5m"], "priority": 7 });
    let (status, added) = add(&rig, "search", &entry);
    assert_eq!((status, &added["name"]), (201, &json!("harbor")), "{added}");
    assert_eq!(names(&rig), ["harbor"], "in use at once");
    let text = file(&rig);
    assert!(text.starts_with("# Upstreams that were added"), "{text}");
    assert!(text.contains("    - name: harbor\n      url: http://127.0.0.1:9/api\n      api_key: the-k3y\n      priority: 7\n      limits: [300/5m]\n"), "{text}");
    let mode = std::fs::metadata(rig.dir.path().join("data/upstreams.yaml")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);

    let (_, shown) = get(rig.web, "GET /api/v1/upstreams/search/harbor/entry");
    assert_eq!(shown["editable"], true);
    assert_eq!(shown["secrets"], json!(["api_key"]));
    assert_eq!(shown["values"]["limits"], "300/5m");
    assert!(!shown.to_string().contains("the-k3y"), "{shown}");

    let path = "PUT /api/v1/upstreams/search/harbor";
    let entry = json!({ "name": "haven", "url": "http://127.0.0.1:9/api", "priority": 9 });
    let seen = added["revision"].clone();
    let (status, changed) = send(rig.web, path, &json!({ "entry": entry, "revision": seen }));
    assert_eq!(
        (status, &changed["name"]),
        (200, &json!("haven")),
        "{changed}"
    );
    assert_eq!(names(&rig), ["haven"]);
    assert!(
        file(&rig).contains("api_key: the-k3y\n      priority: 9\n"),
        "the secret is kept: {}",
        file(&rig)
    );

    let (status, _) = get(rig.web, "DELETE /api/v1/upstreams/search/haven");
    assert_eq!(status, 200);
    assert_eq!(names(&rig), [""; 0]);
    assert!(!file(&rig).contains("the-k3y"));
    assert_eq!(std::fs::read(&own).unwrap(), before);
}

#[test]
fn what_was_added_is_there_after_a_restart_and_in_settings() {
    let rig = Rig::start("");
    assert_eq!(
        add(
            &rig,
            "tracker",
            &json!({ "uri": "udp://127.0.0.1:9/announce" })
        )
        .0,
        201
    );
    assert_eq!(
        add(
            &rig,
            "news",
            &json!({ "name": "n", "host": "127.0.0.1", "port": 9, "tls": "off" })
        )
        .0,
        201
    );
    let settings = ask(rig.web, "GET /settings?filter=forwarders", KEY);
    assert!(settings.contains("data/upstreams.yaml:"), "{settings}");
    let Rig { weir, dir, .. } = rig;
    weir.signal("TERM");
    assert!(weir.end().0.success());
    let rig = Rig::run(dir);
    let mut all = names(&rig);
    all.sort();
    assert_eq!(all, ["127.0.0.1:9", "n"]);
}

#[test]
fn whoever_comes_second_is_told() {
    let rig = Rig::start("");
    let entry = |priority: u32| json!({ "name": "a", "url": "http://127.0.0.1:9/api", "priority": priority });
    let (_, added) = add(&rig, "search", &entry(1));
    let seen = added["revision"].as_str().unwrap().to_owned();
    let path = "PUT /api/v1/upstreams/search/a";
    let change = |priority, seen: &str| {
        send(
            rig.web,
            path,
            &json!({ "entry": entry(priority), "revision": seen }),
        )
    };
    let (status, changed) = change(2, &seen);
    assert_eq!(status, 200);
    let (status, problem) = change(3, &seen);
    assert_eq!(status, 409, "{problem}");
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("Somebody has changed this entry")
    );
    assert!(file(&rig).contains("priority: 2"), "{}", file(&rig));
    let gone = format!("DELETE /api/v1/upstreams/search/a?revision={seen}");
    assert_eq!(get(rig.web, &gone).0, 409);
    assert_eq!(change(3, changed["revision"].as_str().unwrap()).0, 200);
    // Two who add the same at once: one of them is told that the name is taken, and by which line.
    let (status, problem) = add(&rig, "search", &entry(4));
    assert_eq!(status, 422);
    let (field, detail) = fields(&problem)[0];
    assert_eq!(field, "entry.name");
    assert!(
        detail.contains("a is taken by") && detail.contains("data/upstreams.yaml:6:"),
        "{detail}"
    );
}

#[test]
fn an_entry_of_the_operators_own_file_is_left_to_them() {
    let rig = Rig::start("search: { indexers: [{ name: own, url: 'http://127.0.0.1:9/api' }] }");
    let (_, shown) = get(rig.web, "GET /api/v1/upstreams/search/own/entry");
    assert_eq!(shown["editable"], false);
    let sentence = shown["sentence"].as_str().unwrap();
    let path = rig.dir.path().canonicalize().unwrap().join("weir.yaml");
    let line = std::fs::read_to_string(&path).unwrap();
    let line = line.lines().position(|line| line.contains("own")).unwrap() + 1;
    assert_eq!(
        sentence,
        format!(
            "This entry is in {}, line {line}. Edit it there.",
            path.display()
        )
    );
    let entry = json!({ "name": "own", "url": "http://127.0.0.1:9/api" });
    let (status, problem) = send(
        rig.web,
        "PUT /api/v1/upstreams/search/own",
        &json!({ "entry": entry }),
    );
    assert_eq!((status, problem["detail"].as_str()), (409, Some(sentence)));
    assert_eq!(get(rig.web, "DELETE /api/v1/upstreams/search/own").0, 409);
    let page = ask(rig.web, "GET /upstreams/search/own/edit", KEY);
    assert!(page.contains(sentence), "{page}");
    let (status, problem) = add(&rig, "search", &entry);
    assert_eq!(status, 422, "the same name in both: {problem}");
    assert!(fields(&problem)[0].1.contains("weir.yaml:"), "{problem}");
    assert_eq!(file(&rig), "", "nothing was written");
}

#[test]
fn mistakes_name_their_fields_and_change_nothing() {
    let rig = Rig::start("");
    let (status, problem) = add(
        &rig,
        "search",
        &json!({ "name": "a b", "url": "gopher://x", "priority": "high", "colour": "red" }),
    );
    assert_eq!(status, 422);
    assert_eq!(fields(&problem)[0].0, "entry.colour");
    let (_, problem) = add(
        &rig,
        "search",
        &json!({ "name": "a b", "url": "gopher://x", "priority": "high", "limits": "0/1d" }),
    );
    let wrong: Vec<&str> = fields(&problem).iter().map(|(field, _)| *field).collect();
    assert_eq!(
        wrong,
        ["entry.name", "entry.url", "entry.priority", "entry.limits"]
    );
    let (_, problem) = add(
        &rig,
        "news",
        &json!({ "host": "n.example", "username": "me" }),
    );
    let wrong: Vec<&str> = fields(&problem).iter().map(|(field, _)| *field).collect();
    assert_eq!(wrong, ["entry.name", "entry.username"]);
    for hostile in ["a\nb", "\u{0}", "x: y\n- z", &"x".repeat(100_000)] {
        let (status, _) = add(
            &rig,
            "tracker",
            &json!({ "uri": "udp://127.0.0.1:9", "name": hostile }),
        );
        assert_eq!(status, 422, "{hostile:?}");
    }
    assert_eq!(names(&rig), [""; 0]);
    assert_eq!(file(&rig), "");
    // What looks like YAML is text.
    let odd = "\"'{}[]#&*!|>%@`: - <b>é\u{202e}";
    let entry = json!({ "uri": "udp://127.0.0.1:9", "name": odd, "host": "# no" });
    let (status, added) = add(&rig, "tracker", &entry);
    assert_eq!(
        (status, added["name"].as_str()),
        (201, Some(odd)),
        "{added}"
    );
    let page = ask(rig.web, "GET /upstreams", KEY);
    assert!(!page.contains("<b>é"), "escaped");
    assert_eq!(names(&rig), [odd]);
}

#[test]
fn a_saved_secret_is_sent_to_no_other_server() {
    let rig = Rig::start("");
    let entry = json!({ "name": "a", "url": "http://127.0.0.1:9/api", "api_key": "the-k3y" });
    assert_eq!(add(&rig, "search", &entry).0, 201);
    let elsewhere = json!({ "name": "a", "url": "http://127.0.0.1:8/api" });
    let path = "PUT /api/v1/upstreams/search/a";
    let (status, problem) = send(rig.web, path, &json!({ "entry": elsewhere }));
    assert_eq!((status, fields(&problem)[0].0), (422, "entry.api_key"));
    let tried = json!({ "front": "search", "entry": elsewhere, "name": "a" });
    let (status, problem) = send(rig.web, "POST /api/v1/upstreams/try", &tried);
    assert_eq!(
        (status, fields(&problem)[0].0),
        (422, "entry.api_key"),
        "nor to try it"
    );
    let without = json!({ "name": "a", "url": "http://127.0.0.1:8/api", "api_key": null });
    assert_eq!(send(rig.web, path, &json!({ "entry": without })).0, 200);
    assert!(!file(&rig).contains("the-k3y"));
}

#[test]
fn a_file_that_was_edited_by_hand_and_cannot_be_read_is_not_overwritten() {
    let rig = Rig::start("");
    let entry = json!({ "name": "a", "url": "http://127.0.0.1:9/api" });
    assert_eq!(add(&rig, "search", &entry).0, 201);
    let path = rig.dir.path().join("data/upstreams.yaml");
    let broken = file(&rig) + "    - [oops\n";
    std::fs::write(&path, &broken).unwrap();
    let (status, problem) = add(
        &rig,
        "search",
        &json!({ "name": "b", "url": "http://127.0.0.1:9/b" }),
    );
    assert_eq!(status, 422, "{problem}");
    let told = problem["mistakes"][0].as_str().unwrap();
    assert!(told.contains("data/upstreams.yaml:8:"), "{told}");
    assert_eq!(file(&rig), broken);
    assert_eq!(names(&rig), ["a"]);
}

#[test]
fn one_that_runs_is_not_said_to_be_gone_while_the_file_has_mistakes() {
    let rig = Rig::start("");
    let url = "http://127.0.0.1:9/api";
    let entry = json!({ "name": "a", "url": url, "api_key": "the-k3y" });
    assert_eq!(add(&rig, "search", &entry).0, 201);
    let form = ask(rig.web, "GET /upstreams/search/a/edit", KEY);
    let seen = hidden(&form, "_revision").to_owned();
    let path = rig.dir.path().join("data/upstreams.yaml");
    let good = file(&rig);
    std::fs::write(&path, good.clone() + "    - [oops\n").unwrap();

    let place = "data/upstreams.yaml:";
    for page in ["edit", "remove"] {
        let page = ask(rig.web, &format!("GET /upstreams/search/a/{page}"), KEY);
        assert!(page.contains(place), "{page}");
        assert!(page.starts_with("HTTP/1.1 422"), "{page}");
        // A form that shows nothing of the entry would erase it when the file is right again.
        assert!(!page.contains("_revision"), "{page}");
    }
    let (status, problem) = get(rig.web, "GET /api/v1/upstreams/search/a/entry");
    assert_eq!(status, 422, "{problem}");
    let told = problem["mistakes"][0].as_str().unwrap();
    assert!(told.contains(place), "{told}");
    assert_eq!(get(rig.web, "GET /api/v1/upstreams/search/b/entry").0, 404);

    let change = [
        ("name", "a"),
        ("url", url),
        ("priority", "7"),
        ("_revision", seen.as_str()),
        ("_do", "save"),
    ];
    let refused = submit(&rig, "/upstreams/search/a/edit", &change);
    assert!(refused.starts_with("HTTP/1.1 422"), "{refused}");
    assert!(
        refused.contains("the configuration has mistakes") && refused.contains(place),
        "{refused}"
    );
    assert!(!refused.contains("was removed"), "{refused}");
    assert!(refused.contains("value=\"7\""), "{refused}");
    assert_eq!(hidden(&refused, "_revision"), seen);

    // The same form again when the file is right. One that has shown no entry replaces none.
    std::fs::write(&path, good.clone()).unwrap();
    let empty = [("name", "a"), ("url", url), ("_revision", "")];
    let refused = submit(&rig, "/upstreams/search/a/edit", &empty);
    assert!(refused.starts_with("HTTP/1.1 409"), "{refused}");
    assert_eq!(file(&rig), good);
    let saved = submit(&rig, "/upstreams/search/a/edit", &change);
    assert!(saved.starts_with("HTTP/1.1 303"), "{saved}");
    assert!(file(&rig).contains("api_key: the-k3y\n      priority: 7"));
}

#[test]
fn a_key_that_was_typed_before_it_was_tried_can_be_dropped_again() {
    let rig = Rig::start("");
    let add = |more: &[(&str, &str)]| {
        let url = ("url", "http://127.0.0.1:9/api");
        let fields = [&[("name", "a"), url], more].concat();
        submit(&rig, "/upstreams/add?front=search", &fields)
    };
    let tried = add(&[("api_key", "the-k3y"), ("_do", "try")]);
    let drop = "name=\"forget-api_key\" value=\"1\"> Drop what you typed";
    assert!(tried.contains(drop), "{tried}");
    let kept = ("_kept", hidden(&tried, "_kept"));
    let saved = add(&[kept, ("forget-api_key", "1"), ("_do", "save")]);
    assert!(saved.starts_with("HTTP/1.1 303"), "{saved}");
    let text = file(&rig);
    assert!(
        text.contains("name: a") && !text.contains("api_key"),
        "{text}"
    );
}

#[test]
fn nobody_replaces_a_change_that_no_form_has_shown() {
    let rig = Rig::start("");
    let url = "http://127.0.0.1:9/api";
    let entry = json!({ "name": "a", "url": url });
    assert_eq!(add(&rig, "search", &entry).0, 201);
    let form = ask(rig.web, "GET /upstreams/search/a/edit", KEY);
    let seen = hidden(&form, "_revision").to_owned();
    let other = json!({ "entry": { "name": "a", "url": url, "priority": 3 } });
    let changed = send(rig.web, "PUT /api/v1/upstreams/search/a", &other);
    assert_eq!(changed.0, 200, "{changed:?}");

    // A restart has forgotten the secret that was typed.
    let change = |revision: &str, secret: (&str, &str)| {
        let fields = [
            ("name", "a"),
            ("url", url),
            ("_revision", revision),
            secret,
            ("_do", "save"),
        ];
        submit(&rig, "/upstreams/search/a/edit", &fields)
    };
    let refused = change(&seen, ("_kept", "0123456789abcdef"));
    assert!(
        refused.contains("is not remembered any more. Enter it again."),
        "{refused}"
    );
    let again = change(hidden(&refused, "_revision"), ("api_key", "the-k3y"));
    assert!(again.starts_with("HTTP/1.1 409"), "{again}");
    assert!(again.contains("Now saved: 3."), "{again}");
    assert!(file(&rig).contains("priority: 3"), "{}", file(&rig));

    // Nor is it removed by whoever mistyped its name.
    let remove = |revision: &str, name: &str| {
        let fields = [("confirm", name), ("_revision", revision)];
        submit(&rig, "/upstreams/search/a/remove", &fields)
    };
    let refused = remove(&seen, "b");
    let again = remove(hidden(&refused, "_revision"), "a");
    assert!(again.starts_with("HTTP/1.1 409"), "{again}");
    assert_eq!(names(&rig), ["a"]);
    let removed = remove(hidden(&again, "_revision"), "a");
    assert!(removed.starts_with("HTTP/1.1 303"), "{removed}");

    // Whoever has seen it replaces it.
    assert_eq!(names(&rig), [""; 0]);
}

#[test]
fn with_a_full_disk_nothing_is_lost_and_it_says_so() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let (weir, web) = Weir::start_on_full_disk(dir.path());
    let rig = Rig::of(weir, web, dir);
    let entry =
        |name: &str| json!({ "name": name, "url": format!("http://127.0.0.1:9/{name}/api") });
    assert_eq!(add(&rig, "search", &entry("first")).0, 201);
    let before = file(&rig);
    rig.weir.limit_files("64");
    let (status, problem) = add(&rig, "search", &entry("second"));
    assert_eq!(status, 503, "{problem}");
    let told = problem["detail"].as_str().unwrap();
    assert!(
        told.contains("upstreams.yaml cannot be written. Is the disk full?"),
        "{told}"
    );
    assert_eq!(get(rig.web, "DELETE /api/v1/upstreams/search/first").0, 503);
    assert_eq!(file(&rig), before);
    assert_eq!(names(&rig), ["first"], "and nothing else is in use");
    let left = std::fs::read_dir(rig.dir.path().join("data")).unwrap();
    let left = left.map(|one| one.unwrap().file_name().into_string().unwrap());
    assert!(!left.into_iter().any(|name| name.ends_with(".new")));
    rig.weir.limit_files("unlimited");
    assert_eq!(add(&rig, "search", &entry("second")).0, 201);
    assert!(file(&rig).contains("second") && file(&rig).contains("first"));
}

#[test]
fn an_indexer_is_tried_for_real_and_leaves_no_trace() {
    let runtime = Runtime::new().unwrap();
    let indexer = Indexer::start(Place::Loopback, Setup::with(1..=3));
    let indexer = runtime.block_on(indexer).unwrap();
    indexer.set(Behaviour::Limits {
        calls: (1, 1000),
        grabs: (0, 50),
    });
    let rig = Rig::start("");
    let entry = json!({ "name": "new", "url": indexer.url(), "api_key": "k" });
    let (status, tried) = try_out(&rig, "search", &entry);
    assert_eq!((status, &tried["answered"]), (200, &json!(true)), "{tried}");
    let sentence = tried["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("It answered in ")
            && sentence.contains(
                "3 recent releases, 1,000 calls a day (it says), 50 downloads a day (it says)."
            ),
        "{sentence}"
    );
    assert_eq!(
        tried["told"],
        json!({ "limits": "1000/1d", "grab_limits": "50/1d" })
    );
    assert_eq!(
        (indexer.introductions(), indexer.searches().len()),
        (1, 1),
        "one call"
    );
    assert_eq!(names(&rig), [""; 0]);
    assert_eq!(file(&rig), "");
    let metrics = ask(rig.web, "GET /metrics", KEY);
    assert!(
        !metrics.contains("upstream=\"new\"") && !metrics.contains("upstream=\"\""),
        "{metrics}"
    );
    let (_, decisions) = get(rig.web, "GET /api/v1/decisions");
    assert_eq!(decisions["decisions"], json!([]), "{decisions}");
    // Once it is saved, a tryout is a call of that upstream and counts.
    let limited = json!({ "name": "new", "url": indexer.url(), "api_key": "k", "per_day": 100 });
    assert_eq!(add(&rig, "search", &limited).0, 201);
    let body = json!({ "front": "search", "entry": { "name": "new", "url": indexer.url(), "per_day": 100 }, "name": "new" });
    let (_, tried) = send(rig.web, "POST /api/v1/upstreams/try", &body);
    assert_eq!(
        tried["answered"], true,
        "with the key that is saved: {tried}"
    );
    let (_, one) = get(rig.web, "GET /api/v1/upstreams/search/new");
    assert!(
        one.to_string().contains("2 of 100") || one.to_string().contains("\"used\":2"),
        "{one}"
    );
}

#[test]
fn a_tryout_that_fails_says_what_to_change_at_which_field() {
    let runtime = Runtime::new().unwrap();
    let indexer = Indexer::start(Place::Loopback, Setup::with(1..=3));
    let indexer = runtime.block_on(indexer).unwrap();
    let rig = Rig::start("");
    let tried = |front: &str, entry: &Value| {
        let (status, tried) = try_out(&rig, front, entry);
        assert_eq!(
            (status, &tried["answered"]),
            (200, &json!(false)),
            "{tried}"
        );
        let field = tried["field"].as_str().unwrap_or_default().to_owned();
        (field, tried["sentence"].as_str().unwrap().to_owned())
    };
    let at = |behaviour: Behaviour| {
        indexer.set_all(behaviour);
        tried(
            "search",
            &json!({ "name": "a", "url": indexer.url(), "api_key": "s3cr3t-key" }),
        )
    };
    let (field, sentence) = at(Behaviour::Error(
        100,
        "Incorrect user credentials for s3cr3t-key".into(),
    ));
    assert_eq!(field, "api_key");
    assert_eq!(
        sentence,
        "It rejected our API key: Incorrect user credentials for …. Check the key."
    );
    assert_eq!(
        at(Behaviour::Status(404, RetryAfter::None)),
        (
            "url".into(),
            "It answered 404. Check the path of the address.".into()
        )
    );
    assert_eq!(at(Behaviour::Status(500, RetryAfter::None)).0, "");
    assert_eq!(at(Behaviour::Html).0, "url");
    let (field, sentence) = tried(
        "search",
        &json!({ "name": "a", "url": "http://127.0.0.1:1/api" }),
    );
    assert_eq!(field, "url");
    assert!(
        sentence.contains("connection refused. Check host and port"),
        "{sentence}"
    );
    let (field, sentence) = tried(
        "search",
        &json!({ "name": "a", "url": format!("https://{}/api", indexer.address()) }),
    );
    assert_eq!(field, "url", "{sentence}");
    indexer.set_all(Behaviour::Hang);
    let (field, sentence) = tried(
        "search",
        &json!({ "name": "a", "url": indexer.url(), "timeout": "1s" }),
    );
    assert_eq!(
        (
            field.as_str(),
            sentence.starts_with("It did not answer within 1")
        ),
        ("url", true),
        "{sentence}"
    );
    let (field, _) = tried("tracker", &json!({ "uri": "http://127.0.0.1:1/announce" }));
    assert_eq!(field, "uri");
    let (field, _) = tried(
        "news",
        &json!({ "name": "n", "host": "127.0.0.1", "port": indexer.address().port(), "tls": "off", "timeout": "3s" }),
    );
    assert_eq!(field, "host");
    let closed = Rig::start("search: { allow_private_upstreams: false }");
    let (_, tried) = try_out(
        &closed,
        "search",
        &json!({ "name": "a", "url": "http://127.0.0.1:1/api" }),
    );
    assert!(
        tried["sentence"].as_str().unwrap().contains("private"),
        "{tried}"
    );
}

#[test]
fn trackers_and_news_servers_are_tried_too() {
    let runtime = Runtime::new().unwrap();
    let news = News::start(
        Place::Loopback,
        vec![Newsgroup::new("misc.test").with(1..=3)],
    );
    let news = runtime.block_on(news).unwrap();
    let rig = Rig::start("");
    // Another Weir is as good a tracker as any.
    let other = Rig::start("");
    let uri = format!("http://{}/announce", other.tracker);
    let (_, tried) = try_out(&rig, "tracker", &json!({ "uri": uri }));
    assert_eq!(
        (&tried["answered"], &tried["facts"]),
        (&json!(true), &json!(["a tracker over HTTP"])),
        "{tried}"
    );
    let (host, port) = (news.address().ip().to_string(), news.address().port());
    let (_, tried) = try_out(
        &rig,
        "news",
        &json!({ "name": "n", "host": host, "port": port, "tls": "off" }),
    );
    assert_eq!(
        (&tried["answered"], &tried["facts"]),
        (&json!(true), &json!(["not encrypted", "no sign-in needed"])),
        "{tried}"
    );
    assert_eq!(names(&rig), [""; 0]);
}

#[test]
fn a_news_server_is_tried_with_encryption_and_sign_in() {
    let runtime = Runtime::new().unwrap();
    let certificate = Certificate::new(&["localhost"]).unwrap();
    let options = Options {
        account: Some(("reader".to_owned(), "hunter2".to_owned())),
        tls: Some(certificate.clone()),
        ..Options::with(&["misc.test"])
    };
    let inn = runtime.block_on(Inn::start(options)).unwrap();
    let (whole, plain) = (inn.tls_address().unwrap().port(), inn.address().port());
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let roots = dir.path().join("roots.pem");
    std::fs::write(&roots, &certificate.certificate).unwrap();
    let mut command = Weir::command(dir.path(), &[]);
    let mut weir = Weir::run(command.env("SSL_CERT_FILE", &roots)).unwrap();
    let web = weir.address();
    let rig = Rig::of(weir, web, dir);
    let tried = |port: u16, tls: &str, password: Option<&str>| {
        let mut entry = json!({ "name": "n", "host": "localhost", "port": port, "tls": tls });
        if let Some(password) = password {
            entry["username"] = json!("reader");
            entry["password"] = json!(password);
        }
        let (status, tried) = try_out(&rig, "news", &entry);
        assert_eq!(status, 200, "{tried}");
        assert!(!tried.to_string().contains("hunter"), "{tried}");
        tried
    };
    for (port, tls) in [(whole, "tls"), (plain, "starttls"), (whole, "auto")] {
        let right = tried(port, tls, Some("hunter2"));
        assert_eq!(
            (&right["answered"], &right["facts"]),
            (&json!(true), &json!(["encrypted with TLS", "signed in"])),
            "{tls}: {right}"
        );
        let wrong = tried(port, tls, Some("hunter3"));
        assert_eq!(
            (&wrong["answered"], &wrong["field"]),
            (&json!(false), &json!("password")),
            "{tls}: {wrong}"
        );
        let sentence = wrong["sentence"].as_str().unwrap();
        assert!(
            sentence.ends_with("Check the user name and the password."),
            "{sentence}"
        );
        let nobody = tried(port, tls, None);
        assert_eq!(
            (&nobody["answered"], &nobody["field"]),
            (&json!(false), &json!("username")),
            "{tls}: {nobody}"
        );
    }
    let other = tried(plain, "tls", Some("hunter2"));
    assert_eq!(
        (&other["answered"], &other["field"]),
        (&json!(false), &json!("tls")),
        "{other}"
    );
    // Signed in before it is saved, and nothing of it stays.
    assert_eq!(names(&rig), [""; 0]);
    assert_eq!(file(&rig), "");
}

/// Sends a form, as a browser without script does.
fn submit(rig: &Rig, path: &str, fields: &[(&str, &str)]) -> String {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    let mut stream = TcpStream::connect(rig.web).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: weir\r\nX-Api-Key: {KEY}\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The value of a hidden field of a page.
fn hidden<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page
        .split_once(&format!("name=\"{name}\" value=\""))
        .unwrap_or_else(|| panic!("no {name} in {page}"));
    rest.split_once('"').unwrap().0
}

#[test]
fn with_a_full_disk_the_forms_keep_what_was_typed() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let (weir, web) = Weir::start_on_full_disk(dir.path());
    let rig = Rig::of(weir, web, dir);
    let url = "http://127.0.0.1:9/api";
    let first = json!({ "name": "first", "url": url, "api_key": "the-f1rst" });
    assert_eq!(add(&rig, "search", &first).0, 201);
    let before = file(&rig);
    let full = "upstreams.yaml cannot be written. Is the disk full?";
    rig.weir.limit_files("64");

    // A new one.
    let new = "/upstreams/add?front=search";
    let fields = [
        ("name", "second"),
        ("url", url),
        ("api_key", "the-s3cret"),
        ("priority", "7"),
        ("_do", "save"),
    ];
    let refused = submit(&rig, new, &fields);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(
        refused.contains("Nothing was changed: ") && refused.contains(full),
        "{refused}"
    );
    for kept in [
        "value=\"second\"",
        "value=\"http://127.0.0.1:9/api\"",
        "value=\"7\"",
    ] {
        assert!(refused.contains(kept), "{kept} is typed already: {refused}");
    }
    assert!(!refused.contains("the-s3cret"), "{refused}");
    let kept = hidden(&refused, "_kept").to_owned();

    // A change.
    let form = ask(rig.web, "GET /upstreams/search/first/edit", KEY);
    let seen = hidden(&form, "_revision").to_owned();
    let edit = "/upstreams/search/first/edit";
    let change = |revision: &str| {
        let fields = [
            ("name", "first"),
            ("url", url),
            ("priority", "9"),
            ("_revision", revision),
            ("_do", "save"),
        ];
        submit(&rig, edit, &fields)
    };
    let refused = change(&seen);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(
        refused.contains(full) && refused.contains("value=\"9\""),
        "{refused}"
    );
    assert_eq!(hidden(&refused, "_revision"), seen);

    // A removal.
    let remove = "/upstreams/search/first/remove";
    let confirm = [("confirm", "first"), ("_revision", seen.as_str())];
    let refused = submit(&rig, remove, &confirm);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(
        refused.contains(full) && refused.contains("value=\"first\""),
        "{refused}"
    );

    assert_eq!(file(&rig), before, "nothing is lost");
    assert_eq!(names(&rig), ["first"], "and nothing else is in use");
    rig.weir.limit_files("unlimited");

    // The same forms again, as the pages have them now: the secret was typed once.
    let again = [
        ("name", "second"),
        ("url", url),
        ("priority", "7"),
        ("_kept", kept.as_str()),
        ("_do", "save"),
    ];
    let saved = submit(&rig, new, &again);
    assert!(saved.starts_with("HTTP/1.1 303"), "{saved}");
    assert!(
        file(&rig).contains("api_key: the-s3cret\n      priority: 7"),
        "{}",
        file(&rig)
    );
    let saved = change(&seen);
    assert!(saved.starts_with("HTTP/1.1 303"), "{saved}");
    assert!(
        file(&rig).contains("api_key: the-f1rst\n      priority: 9"),
        "{}",
        file(&rig)
    );
}

#[test]
fn a_form_that_was_open_over_a_restart_is_as_good_as_before() {
    let rig = Rig::start("");
    let url = "http://127.0.0.1:9/api";
    let entry = json!({ "name": "a", "url": url, "api_key": "the-k3y" });
    assert_eq!(add(&rig, "search", &entry).0, 201);
    let form = ask(rig.web, "GET /upstreams/search/a/edit", KEY);
    let seen = hidden(&form, "_revision").to_owned();
    // Somebody types a key into another form, and tries it.
    let new = [
        ("name", "b"),
        ("url", url),
        ("api_key", "typed-k3y"),
        ("_do", "try"),
    ];
    let tried = submit(&rig, "/upstreams/add?front=search", &new);
    let kept = hidden(&tried, "_kept").to_owned();
    assert_ne!(kept, "");

    let Rig { weir, dir, .. } = rig;
    weir.signal("TERM");
    assert!(weir.end().0.success());
    let rig = Rig::run(dir);
    let change = |revision: &str, priority: &str| {
        let fields = [
            ("name", "a"),
            ("url", url),
            ("priority", priority),
            ("_revision", revision),
            ("_do", "save"),
        ];
        submit(&rig, "/upstreams/search/a/edit", &fields)
    };
    let saved = change(&seen, "7");
    assert!(saved.starts_with("HTTP/1.1 303"), "{saved}");
    assert!(
        file(&rig).contains("api_key: the-k3y\n      priority: 7"),
        "{}",
        file(&rig)
    );
    let refused = change(&seen, "8");
    assert!(
        refused.starts_with("HTTP/1.1 409"),
        "it has changed now: {refused}"
    );

    // What was typed there is gone; it is not saved without.
    let new = [
        ("name", "b"),
        ("url", url),
        ("_kept", kept.as_str()),
        ("_do", "save"),
    ];
    let refused = submit(&rig, "/upstreams/add?front=search", &new);
    assert!(refused.starts_with("HTTP/1.1 409"), "{refused}");
    assert!(
        refused.contains("is not remembered any more. Enter it again."),
        "{refused}"
    );
    assert!(refused.contains("value=\"b\""), "{refused}");
    assert_eq!(hidden(&refused, "_kept"), "");
    assert_eq!(names(&rig), ["a"]);
}

#[test]
fn what_cannot_be_an_address_is_refused_by_both_with_the_same_words() {
    let rig = Rig::start("");
    let long = format!("http://{}.example/api", "a".repeat(64));
    for (front, key, wrong) in [
        ("search", "url", "http://a..b/api"),
        ("search", "url", "http://127.0.0.1:0/api"),
        ("search", "url", "http://-a-/api"),
        ("search", "url", &long),
        ("tracker", "uri", "udp://a..b:5/announce"),
        ("tracker", "uri", "http://127.0.0.1:0/announce"),
        ("news", "host", "news.example:119"),
        ("news", "host", "a..b"),
        ("news", "host", "news.example?x"),
        ("news", "host", "256.1.1.1"),
        ("news", "host", "["),
    ] {
        let mut entry = json!({ "name": "a" });
        entry[key] = json!(wrong);
        let (status, saved) = add(&rig, front, &entry);
        assert_eq!(status, 422, "{wrong}: {saved}");
        assert_eq!(fields(&saved)[0].0, format!("entry.{key}"), "{saved}");
        let (status, tried) = try_out(&rig, front, &entry);
        assert_eq!((status, fields(&tried)), (422, fields(&saved)), "{wrong}");
    }
    for (front, key, right) in [
        ("search", "url", "http://münchen.example/api"),
        ("search", "url", "http://[::1]:9/api"),
        ("tracker", "uri", "udp://127.0.0.1:9/announce"),
        ("tracker", "uri", "udp://[::1]:19/announce"),
        ("news", "host", "::1"),
        ("news", "host", "news_1.example."),
    ] {
        let mut entry = json!({ "name": right.replace(|c: char| !c.is_alphanumeric(), "-") });
        entry[key] = json!(right);
        let (status, saved) = add(&rig, front, &entry);
        assert_eq!(status, 201, "{right}: {saved}");
    }
}

/// Answers every request with these bytes, as a tracker does.
fn tracker_that_says(body: &'static str) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    address
}

#[test]
fn a_tracker_that_refuses_a_scrape_is_told_by_its_own_words() {
    let rig = Rig::start("");
    let tried = |body: &'static str| {
        let uri = format!("http://{}/announce", tracker_that_says(body));
        let (status, tried) = try_out(&rig, "tracker", &json!({ "uri": uri }));
        assert_eq!(status, 200, "{tried}");
        tried
    };
    let good = tried("d5:filesdee");
    assert_eq!(good["facts"], json!(["a tracker over HTTP"]), "{good}");
    let no = tried("d14:failure reason20:Torrent not allowed.e");
    assert_eq!(no["answered"], true, "{no}");
    assert_eq!(
        no["facts"],
        json!(["it said: Torrent not allowed."]),
        "{no}"
    );
    let passkey = tried("d14:failure reason15:Unknown passkeye");
    assert_eq!(
        (
            &passkey["answered"],
            &passkey["field"],
            &passkey["sentence"]
        ),
        (
            &json!(false),
            &json!("uri"),
            &json!("It said: Unknown passkey. Check the passkey in the address.")
        ),
        "{passkey}"
    );
}

/// The state of an upstream, and what it has used of its first window.
fn standing(rig: &Rig, front: &str, name: &str) -> (String, Value) {
    let line = format!("GET /api/v1/upstreams/{front}/{name}");
    let (status, one) = get(rig.web, &line);
    assert_eq!(status, 200, "{line}: {one}");
    let all = one.to_string();
    let used = all.split("\"used\":").nth(1).map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        json!(digits.parse::<u32>().unwrap())
    });
    let state = one["state"].as_str().unwrap_or_default().to_owned();
    (state, used.unwrap_or_default())
}

/// Ends it at once and starts it again with the same files.
fn restart(rig: Rig) -> Rig {
    let Rig { weir, dir, .. } = rig;
    weir.signal("KILL");
    weir.end();
    Rig::run(dir)
}

#[test]
fn one_that_is_renamed_is_called_no_more_than_before_and_stays_off() {
    let runtime = Runtime::new().unwrap();
    let indexer = Indexer::start(Place::Loopback, Setup::with(1..=3));
    let indexer = runtime.block_on(indexer).unwrap();
    let rig = Rig::start("");
    let entry =
        |name: &str| json!({ "name": name, "url": indexer.url(), "api_key": "k", "per_day": 2 });
    assert_eq!(add(&rig, "search", &entry("harbor")).0, 201);
    let body = json!({ "front": "search", "entry": entry("harbor"), "name": "harbor" });
    let (_, tried) = send(rig.web, "POST /api/v1/upstreams/try", &body);
    assert_eq!(tried["answered"], true, "{tried}");
    assert_eq!(standing(&rig, "search", "harbor").1, 2, "all of them");
    let off = [
        (
            "tracker",
            json!({ "name": "old", "uri": "udp://127.0.0.1:9/announce" }),
        ),
        (
            "search",
            json!({ "name": "old", "url": "http://127.0.0.1:9/api" }),
        ),
        (
            "news",
            json!({ "name": "old", "host": "127.0.0.1", "port": 9, "tls": "off" }),
        ),
    ];
    for (front, entry) in &off {
        assert_eq!(add(&rig, front, entry).0, 201);
        let line = format!("POST /api/v1/upstreams/{front}/old/disable");
        let (status, _) = send(rig.web, &line, &json!({ "reason": "account renewal" }));
        assert_eq!(status, 200, "{front}");
    }
    let rename = |front: &str, from: &str, entry: &Value| {
        let line = format!("PUT /api/v1/upstreams/{front}/{from}");
        let (status, changed) = send(rig.web, &line, &json!({ "entry": entry }));
        assert_eq!(status, 200, "{front}: {changed}");
    };
    rename("search", "harbor", &entry("haven"));
    for (front, entry) in &off {
        let mut entry = entry.clone();
        entry["name"] = json!("new");
        rename(front, "old", &entry);
    }
    let asked = (indexer.introductions(), indexer.searches().len());
    let is_so = |rig: &Rig| {
        for (front, _) in &off {
            assert_eq!(standing(rig, front, "new").0, "manual", "{front}");
            let (_, one) = get(rig.web, &format!("GET /api/v1/upstreams/{front}/new"));
            assert!(one.to_string().contains("account renewal"), "{one}");
            let old = format!("GET /api/v1/upstreams/{front}/old");
            assert_eq!(get(rig.web, &old).0, 404, "{front}");
        }
        assert_eq!(standing(rig, "search", "haven").1, 2);
        ask(rig.web, "GET /torznab/api?t=search&q=anything", KEY);
        let now = (indexer.introductions(), indexer.searches().len());
        assert_eq!(now, asked, "it is not called beyond its limit");
    };
    is_so(&rig);
    let rig = restart(rig);
    is_so(&rig);
    // Whoever has the old name now is another one.
    let other = json!({ "name": "old", "url": "http://127.0.0.1:9/other/api" });
    assert_eq!(add(&rig, "search", &other).0, 201);
    assert_ne!(standing(&rig, "search", "old").0, "manual");
}

#[test]
fn one_that_is_renamed_in_the_operators_own_file_stays_off_too() {
    let text = |name: &str| {
        let entry = format!("{{ name: {name}, url: 'http://127.0.0.1:9/api' }}");
        super::tracker::text(&format!("search: {{ indexers: [{entry}] }}"))
    };
    let dir = TempDir::new().unwrap();
    config(dir.path(), &text("old"));
    let rig = Rig::run(dir);
    let (status, _) = send(
        rig.web,
        "POST /api/v1/upstreams/search/old/disable",
        &json!({ "reason": "account renewal" }),
    );
    assert_eq!(status, 200);
    config(rig.dir.path(), &text("new"));
    let (status, reloaded) = get(rig.web, "POST /api/v1/reload");
    assert_eq!(status, 200, "{reloaded}");
    assert_eq!(names(&rig), ["new"]);
    assert_eq!(standing(&rig, "search", "new").0, "manual");
    let rig = restart(rig);
    assert_eq!(standing(&rig, "search", "new").0, "manual");
}

#[test]
fn an_entry_that_was_moved_to_the_operators_own_file_is_edited_there() {
    let rig = Rig::start("");
    let entry = json!({ "name": "a", "url": "http://127.0.0.1:9/api", "api_key": "the-k3y" });
    assert_eq!(add(&rig, "search", &entry).0, 201);
    let form = ask(rig.web, "GET /upstreams/search/a/edit", KEY);
    let seen = hidden(&form, "_revision").to_owned();
    // Somebody moves it by hand.
    let own =
        "search:\n  indexers:\n    - { name: a, url: 'http://127.0.0.1:9/api', api_key: the-k3y }";
    config(rig.dir.path(), &super::tracker::text(own));
    std::fs::remove_file(rig.dir.path().join("data/upstreams.yaml")).unwrap();
    let path = rig.dir.path().canonicalize().unwrap().join("weir.yaml");
    let sentence = format!(
        "This entry is in {}, line 4. Edit it there.",
        path.display()
    );
    let fields = [
        ("name", "a"),
        ("url", "http://127.0.0.1:9/api"),
        ("priority", "7"),
        ("_revision", seen.as_str()),
        ("_do", "save"),
    ];
    for reloaded in [false, true] {
        if reloaded {
            assert_eq!(get(rig.web, "POST /api/v1/reload").0, 200);
        }
        let refused = submit(&rig, "/upstreams/search/a/edit", &fields);
        assert!(refused.starts_with("HTTP/1.1 409"), "{refused}");
        assert!(refused.contains(&sentence), "{sentence}: {refused}");
        assert!(!refused.contains("Saving adds it again"), "{refused}");
        assert!(
            refused.contains("value=\"7\""),
            "what was typed stays: {refused}"
        );
        let (status, problem) = send(
            rig.web,
            "PUT /api/v1/upstreams/search/a",
            &json!({ "entry": entry }),
        );
        assert_eq!(
            (status, problem["detail"].as_str()),
            (409, Some(&*sentence)),
            "{problem}"
        );
    }
    assert_eq!(file(&rig), "");
}

#[test]
fn the_same_account_is_not_added_under_a_second_name() {
    let own = "search: { indexers: [{ name: own, url: 'http://127.0.0.1:9/own/api' }] }";
    let rig = Rig::start(own);
    let twins = [
        (
            "search",
            "url",
            json!({ "name": "a", "url": "http://LOCALHOST:80/api", "api_key": "k" }),
            json!({ "name": "b", "url": "http://localhost/api/", "api_key": "k" }),
        ),
        (
            "tracker",
            "uri",
            json!({ "name": "a", "uri": "udp://127.0.0.1:9/announce" }),
            json!({ "name": "b", "uri": "udp://127.0.0.1:9/announce", "host": "x.example" }),
        ),
        (
            "news",
            "host",
            json!({ "name": "a", "host": "News.Example" }),
            json!({ "name": "b", "host": "news.example", "priority": 2 }),
        ),
    ];
    for (front, key, first, second) in &twins {
        let (status, added) = add(&rig, front, first);
        assert_eq!(status, 201, "{added}");
        let (status, problem) = add(&rig, front, second);
        assert_eq!(status, 422, "{front}: {problem}");
        let (field, detail) = fields(&problem)[0];
        assert_eq!(field, format!("entry.{key}"));
        assert!(
            detail.starts_with("a has this address and account already"),
            "{detail}"
        );
        // The one that is there can be changed as before.
        let path = format!("PUT /api/v1/upstreams/{front}/a");
        let mut renamed = first.clone();
        renamed["name"] = json!("c");
        let (status, changed) = send(rig.web, &path, &json!({ "entry": renamed }));
        assert_eq!(status, 200, "{changed}");
    }
    let twin = json!({ "name": "b", "url": "http://127.0.0.1:9/own/api" });
    let (status, problem) = add(&rig, "search", &twin);
    assert_eq!(status, 422, "also of the operator's own: {problem}");
    // Jackett answers at both, and this machine has several names.
    let at = |name: &str, url: &str| json!({ "name": name, "url": url, "api_key": "j" });
    let copied = at("j", "http://localhost:9117/indexers/a/results/torznab/");
    assert_eq!(add(&rig, "search", &copied).0, 201);
    for url in [
        "http://localhost:9117/indexers/a/results/torznab/api",
        "http://127.0.0.1:9117/indexers/a/results/torznab",
        "http://[::1]:9117/indexers/a/results/torznab/api/",
    ] {
        let (status, problem) = add(&rig, "search", &at("k", url));
        assert_eq!((status, fields(&problem)[0].0), (422, "entry.url"), "{url}");
    }
    assert!(file(&rig).contains("url: http://localhost:9117/indexers/a/results/torznab/\n"));
    // Another account is another upstream, until it is changed into this one.
    let other = json!({ "name": "b", "url": "http://localhost/api", "api_key": "other" });
    assert_eq!(add(&rig, "search", &other).0, 201);
    let same = json!({ "name": "b", "url": "http://localhost/api", "api_key": "k" });
    let path = "PUT /api/v1/upstreams/search/b";
    let (status, problem) = send(rig.web, path, &json!({ "entry": same }));
    assert_eq!((status, fields(&problem)[0].0), (422, "entry.url"));
    // The form says so beside the field.
    let sent = [
        ("name", "d"),
        ("url", "http://localhost/api"),
        ("api_key", "k"),
        ("_do", "save"),
    ];
    let refused = submit(&rig, "/upstreams/add?front=search", &sent);
    assert!(refused.starts_with("HTTP/1.1 422"), "{refused}");
    let beside = "id=\"mistake-url\">c has this address and account already";
    assert!(refused.contains(beside), "{refused}");
}

/// A Prowlarr with these indexers.
fn prowlarr(indexers: &Value) -> String {
    let body = indexers.to_string().leak();
    format!("http://{}", tracker_that_says(body))
}

/// The list of a program's indexers, as the page shows it.
fn listed(rig: &Rig, url: &str) -> String {
    let sent = [("program", "prowlarr"), ("url", url), ("key", "k")];
    let page = submit(rig, "/upstreams/import", &sent);
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    page
}

/// The part of the list about the row of this number.
fn row(page: &str, number: u32) -> &str {
    let (_, rest) = page
        .split_once(&format!("name=\"pick\" value=\"{number}\""))
        .unwrap_or_else(|| panic!("no row {number} in {page}"));
    rest.split_once("</li>").unwrap().0
}

#[test]
fn an_import_names_the_rows_that_are_refused_and_ticks_none_that_is_disabled_there() {
    let rig = Rig::start("");
    let limit = json!([{ "name": "baseSettings.queryLimit", "value": 99_999_999_999_u64 }]);
    let url = prowlarr(&json!([
        { "id": 1, "name": "Good", "protocol": "torrent" },
        { "id": 2, "name": "Too Much", "protocol": "torrent", "fields": limit },
        { "id": 3, "name": "Off There", "protocol": "usenet", "enable": false },
    ]));
    let page = listed(&rig, &url);
    assert!(row(&page, 0).starts_with(" checked"), "{page}");
    let off = row(&page, 2);
    assert!(
        !off.starts_with(" checked") && off.contains("Disabled in Prowlarr."),
        "{off}"
    );
    let kept = hidden(&page, "_kept").to_owned();
    let add = |picks: &[&str]| {
        let picks = picks.iter().map(|number| ("pick", *number));
        let sent: Vec<(&str, &str)> = picks.chain([("_kept", kept.as_str())]).collect();
        submit(&rig, "/upstreams/import/add", &sent)
    };
    let refused = add(&["0", "1"]);
    assert!(refused.starts_with("HTTP/1.1 422"), "{refused}");
    let told = "Nothing was changed: Too-Much, per_day: ";
    assert!(refused.contains(told), "{refused}");
    assert_eq!(file(&rig), "", "nor was the good one added");
    assert!(row(&refused, 1).starts_with(" checked"), "still ticked");
    // One that is disabled there is added if somebody wants it.
    let added = add(&["0", "2"]);
    assert!(added.starts_with("HTTP/1.1 303"), "{added}");
    let text = file(&rig);
    assert!(
        text.contains("name: Good") && text.contains("name: Off-There"),
        "{text}"
    );
    // One that is here already is named too, where it is ticked all the same.
    let page = listed(&rig, &url);
    assert!(row(&page, 0).contains("Already here as Good."), "{page}");
    let kept = hidden(&page, "_kept").to_owned();
    let sent = [("pick", "0"), ("_kept", kept.as_str())];
    let refused = submit(&rig, "/upstreams/import/add", &sent);
    let told = "Good-2, url: Good has this address and account already";
    assert!(refused.contains(told), "{refused}");
}

#[test]
fn an_import_keeps_the_key_that_was_typed_when_the_address_is_wrong() {
    let rig = Rig::start("");
    let right = prowlarr(&json!([{ "id": 1, "name": "Good", "protocol": "torrent" }]));
    let first = [("program", "prowlarr"), ("url", "nonsense"), ("key", "k3y")];
    let refused = submit(&rig, "/upstreams/import", &first);
    assert!(refused.starts_with("HTTP/1.1 422"), "{refused}");
    assert!(!refused.contains("k3y"), "it is not sent back: {refused}");
    let kept = hidden(&refused, "_kept").to_owned();
    let again = |token: &str| {
        let fields = [
            ("program", "prowlarr"),
            ("url", &right),
            ("key", ""),
            ("_kept", token),
        ];
        submit(&rig, "/upstreams/import", &fields)
    };
    let page = again(&kept);
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(row(&page, 0).contains("Good"), "{page}");
    let unknown = again("0123456789abcdef");
    assert!(
        unknown.contains("Enter the API key of the program."),
        "{unknown}"
    );
}

#[test]
fn an_indexer_that_was_added_by_the_address_jackett_copies_is_not_imported_again() {
    let rig = Rig::start("");
    let jackett = format!(
        "http://{}",
        tracker_that_says(
            "<indexers><indexer id=\"a\" configured=\"true\"><title>A</title></indexer>\
             <indexer id=\"b\" configured=\"true\"><title>B</title></indexer></indexers>"
        )
    );
    let copied = format!("{jackett}/api/v2.0/indexers/a/results/torznab/");
    let copied = copied.replace("127.0.0.1", "localhost");
    let entry = json!({ "name": "mine", "url": copied, "api_key": "k" });
    assert_eq!(add(&rig, "search", &entry).0, 201);
    let sent = [("program", "jackett"), ("url", &*jackett), ("key", "k")];
    let page = submit(&rig, "/upstreams/import", &sent);
    assert!(page.contains("<h2>2 indexers in Jackett at "), "{page}");
    let known = row(&page, 0);
    assert!(known.contains("Already here as mine."), "{known}");
    assert!(!known.starts_with(" checked"), "{known}");
    assert!(row(&page, 1).starts_with(" checked"), "{page}");
}

#[test]
fn an_import_says_where_the_right_key_is() {
    let rig = Rig::start("");
    for (program, sentence) in [
        (
            "prowlarr",
            "Prowlarr rejected this key. Copy it from Settings, General.",
        ),
        (
            "jackett",
            "Jackett rejected this key. Copy it from the top of its dashboard.",
        ),
    ] {
        // A Weir answers as both do.
        let url = format!("http://{}/{program}", rig.web);
        let sent = [("program", program), ("url", &url), ("key", "wrong")];
        let page = submit(&rig, "/upstreams/import", &sent);
        assert!(page.starts_with("HTTP/1.1 422"), "{page}");
        let beside = format!("<p class=\"mistake\" id=\"mistake\">{sentence}</p>");
        assert!(page.contains(&beside), "{page}");
        let above = format!("<a href=\"#key\">{sentence}</a>");
        assert!(page.contains(&above), "{page}");
    }
}

#[test]
fn a_list_that_has_expired_leaves_program_and_address() {
    let rig = Rig::start("");
    let page = listed(&rig, &prowlarr(&json!([{ "id": 1, "name": "A" }])));
    let place = hidden(&page, "url").to_owned();
    assert_eq!(hidden(&page, "program"), "prowlarr");
    for (program, chosen) in [("prowlarr", false), ("jackett", true)] {
        let sent = [
            ("pick", "0"),
            ("_kept", "0123456789abcdef"),
            ("program", program),
            ("url", &place),
        ];
        let page = submit(&rig, "/upstreams/import/add", &sent);
        assert!(page.starts_with("HTTP/1.1 409"), "{page}");
        assert!(
            page.contains("This list has expired. List the indexers again."),
            "{page}"
        );
        assert!(
            page.contains(&format!("name=\"url\" type=\"text\" value=\"{place}\"")),
            "{page}"
        );
        assert_eq!(
            page.contains("value=\"jackett\" selected"),
            chosen,
            "{page}"
        );
    }
}

#[test]
fn what_is_set_below_more_settings_is_seen_when_it_is_edited() {
    let rig = Rig::start("");
    let form = |entry: Value| {
        assert_eq!(add(&rig, "search", &entry).0, 201);
        let path = format!(
            "GET /upstreams/search/{}/edit",
            entry["name"].as_str().unwrap()
        );
        ask(rig.web, &path, KEY)
    };
    let plain = json!({ "name": "plain", "url": "http://127.0.0.1:9/plain", "limits": ["3/1m"] });
    assert!(
        form(plain).contains("<details><summary>More"),
        "nothing is there"
    );
    for (name, key, value) in [
        ("limited", "per_day", json!(100)),
        ("secret", "proxy", json!("http://me:s3cret@127.0.0.1:9")),
        ("chosen", "download", json!("magnet")),
    ] {
        let url = format!("http://127.0.0.1:9/{name}");
        let page = form(json!({ "name": name, "url": url, key: value }));
        assert!(
            page.contains("<details open><summary>More"),
            "{name}: {page}"
        );
    }
    // Nor does what was typed, when it was tried.
    let tried = submit(
        &rig,
        "/upstreams/add?front=search",
        &[
            ("name", "x"),
            ("url", "http://127.0.0.1:1/x"),
            ("timeout", "3s"),
            ("_do", "try"),
        ],
    );
    assert!(tried.contains("<details open><summary>More"), "{tried}");
}

#[test]
fn with_a_full_disk_an_import_adds_nothing_and_stays_ticked() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let (weir, web) = Weir::start_on_full_disk(dir.path());
    let rig = Rig::of(weir, web, dir);
    let url = prowlarr(&json!([
        { "id": 1, "name": "One", "protocol": "torrent" },
        { "id": 2, "name": "Two", "protocol": "usenet" },
    ]));
    let page = listed(&rig, &url);
    let add = |page: &str| {
        let kept = hidden(page, "_kept");
        submit(
            &rig,
            "/upstreams/import/add",
            &[("pick", "1"), ("_kept", kept)],
        )
    };
    rig.weir.limit_files("64");
    let refused = add(&page);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(
        refused.contains("upstreams.yaml cannot be written. Is the disk full?"),
        "{refused}"
    );
    assert!(!row(&refused, 0).starts_with(" checked"), "{refused}");
    assert!(row(&refused, 1).starts_with(" checked"), "{refused}");
    assert_eq!((file(&rig).as_str(), names(&rig).len()), ("", 0));
    rig.weir.limit_files("unlimited");
    let added = add(&refused);
    assert!(added.starts_with("HTTP/1.1 303"), "{added}");
    assert_eq!(names(&rig), ["Two"]);
}

#[test]
fn with_a_full_disk_a_switch_says_that_a_restart_would_undo_it() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let (weir, web) = Weir::start_on_full_disk(dir.path());
    let rig = Rig::of(weir, web, dir);
    let entry = json!({ "name": "a", "url": "http://127.0.0.1:9/api" });
    assert_eq!(add(&rig, "search", &entry).0, 201);
    let act = |action: &str| {
        let line = format!("POST /api/v1/upstreams/search/a/{action}");
        send(rig.web, &line, &json!({ "reason": "account renewal" })).1
    };
    rig.weir.limit_files("64");
    let off = act("disable");
    let said = off["sentence"].as_str().unwrap();
    assert!(
        said.contains("not on disk yet") && said.contains("state.db cannot be written"),
        "{said}"
    );
    assert_eq!(off["upstream"]["state"], "manual", "{off}");
    rig.weir.limit_files("unlimited");
    let on = act("enable");
    assert_eq!(on["result"], "done", "{on}");
    // A form leads to a page that says the same.
    rig.weir.limit_files("64");
    let moved = submit(&rig, "/upstreams/search/a/disable", &[("reason", "x")]);
    let (_, to) = moved.split_once("location: ").unwrap();
    let page = ask(rig.web, &format!("GET {}", to.lines().next().unwrap()), KEY);
    assert!(page.contains("This is not on disk yet"), "{page}");
}

#[test]
fn an_import_says_how_many_are_not_listed() {
    let rig = Rig::start("");
    let indexers = |count: u32| {
        let all = 1..=count;
        let all = all.map(|id| json!({ "id": id, "name": format!("i{id}") }));
        Value::Array(all.collect())
    };
    let page = listed(&rig, &prowlarr(&indexers(500)));
    assert!(!page.contains("not shown"), "{page}");
    let page = listed(&rig, &prowlarr(&indexers(503)));
    assert!(page.contains("<h2>500 indexers in Prowlarr"), "{page}");
    assert!(
        page.contains("3 more are not shown: this page lists at most 500."),
        "{page}"
    );
}

#[test]
fn nobody_changes_anything_without_the_key() {
    let rig = Rig::start("");
    let answer = ask(rig.web, "DELETE /api/v1/upstreams/search/a", "not-the-key");
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    for line in [
        "POST /upstreams/add?front=search",
        "POST /upstreams/import",
        "GET /upstreams/add",
    ] {
        let answer = ask(rig.web, line, "not-the-key");
        let refused = ["HTTP/1.1 303", "HTTP/1.1 401", "HTTP/1.1 403"];
        assert!(
            refused.iter().any(|status| answer.starts_with(status)),
            "{line}: {answer}"
        );
        assert!(
            !answer.contains("<form class=\"panel entry\""),
            "{line}: {answer}"
        );
    }
    assert_eq!(file(&rig), "");
}
