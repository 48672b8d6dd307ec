//! Schemathesis reads `/api/openapi.json` and asks a real Weir what the document allows, and what it does not: nothing may
//! fail inside, every answer must have a status, a kind and a shape that the document names, and what is wrong must be refused.

use std::fs;

use serde_json::Value;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{News, Newsgroup};

use super::{KEY, Town, printed, python};

/// Questions of one operation in each phase; a quiet machine asks all of them within a minute.
const EXAMPLES: &str = "8";
/// As it is, it fails or not: chance is no part of it.
const SEED: &str = "20261117";

/// All that hold for every answer. Whether a value that fits the document is also accepted is not among them: it may name
/// an indexer that there is none of.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance,negative_data_rejection,\
                      unsupported_method,allow_header_conformance";

/// Names that exist, so that not all answers are 404.
fn names(search: &str) -> String {
    let operation = |path: &str, parameters: &str| {
        format!("[[operations]]\ninclude-path = \"{path}\"\nparameters = {{ {parameters} }}\n\n")
    };
    let upstream = "\"path.front\" = \"search\", \"path.name\" = \"one\"";
    let search = format!("\"path.id\" = \"{search}\"");
    let newsgroup = "\"path.newsgroup\" = \"misc.test\"";
    [
        operation("/api/v1/upstreams/{front}/{name}", upstream),
        operation("/api/v1/upstreams/{front}/{name}/{action}", upstream),
        operation("/api/v1/searches/{id}", &search),
        operation("/api/v1/news/groups/{newsgroup}", newsgroup),
        operation(
            "/api/v1/news/groups/{newsgroup}/threads/{root}",
            &format!("{newsgroup}, \"path.root\" = \"7@zoo.example\""),
        ),
        operation(
            "/api/v1/news/articles/{id}",
            "\"path.id\" = \"7@zoo.example\"",
        ),
    ]
    .concat()
}

#[test]
fn the_api_keeps_what_its_document_promises() {
    let mut town = Town::new();
    let shelf = vec![Newsgroup::new("misc.test").with(1..=9)];
    let news = town
        .runtime
        .block_on(News::start(Place::Loopback, shelf))
        .unwrap();
    let (host, port) = (news.address().ip(), news.address().port());
    town.restart_with(&format!(
        "news: {{ servers: [{{ name: main, host: {host}, port: {port}, tls: off }}] }}\n\
         tracker: {{ forwarders: [{{ uri: \"udp://127.0.0.1:9/announce\", name: silent }}] }}\n"
    ));
    let begun = town
        .weir
        .post("/api/v1/searches", "{\"query\": \"some show\"}");
    let begun: Value = serde_json::from_str(&begun).unwrap();
    let config = town.file("schemathesis.toml");
    fs::write(&config, names(begun["id"].as_str().unwrap())).unwrap();
    let url = format!("http://{}/api/openapi.json", town.weir.address);
    let output = python("schemathesis")
        .arg("--config-file")
        .arg(&config)
        .args(["run", &url, "--no-color"])
        .args(["--header", &format!("X-Api-Key: {KEY}")])
        .args(["--checks", CHECKS, "--phases", "coverage,fuzzing"])
        .args(["--max-examples", EXAMPLES, "--seed", SEED, "--no-shrink"])
        .args(["--suppress-health-check", "all", "--warnings", "off"])
        // It never ends.
        .args(["--exclude-path", "/api/v1/events"])
        .args(["--exclude-path", "/api/v1/searches/{id}/events"])
        .current_dir(town.directory.path())
        .env("HOME", town.directory.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", printed(&output));
    // It ran, and met most of the operations.
    let said = printed(&output);
    let tested = said.lines().find(|line| line.contains("Tested:"));
    let tested = tested.and_then(|line| line.split_whitespace().last()?.parse().ok());
    assert!(tested.is_some_and(|count: u32| count >= 25), "{said}");
    let (status, _, _) = town.weir.get("/readyz", "");
    assert_eq!(status, 200);
}
