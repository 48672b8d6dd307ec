//! The API as a whole: its description, its errors, and that what is described is what is checked.

use std::time::Duration;

use axum::Json;
use axum::extract::Query;
use axum::http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use weir_web::openapi::schema::{choice, count, integer, list, object, text};
use weir_web::openapi::{ApiRoutes, Operation};
use weir_web::{Config, Contribution, Failure, Icon, WebLimits};

use crate::support::{KEY, Reply, Rig, config, rig, rig_of, rig_with};

const WITH_KEY: (&str, &str) = ("x-api-key", KEY);
const AS_JSON: (&str, &str) = ("content-type", "application/json");

/// Routes of every kind that can go wrong.
fn things() -> Contribution {
    let get = |path| Operation::get(path, "A sample");
    let thing = || object([("name", text()), ("size", count().or_null())]);
    let routes = ApiRoutes::new()
        .route(
            get("/api/v1/things")
                .query("limit", integer().least(1).most(500))
                .query("state", choice(["open", "off"]))
                .query("q", text().most(10))
                .answers("Them.", object([("things", list(thing()))])),
            async |Query(_): Query<Map<String, Value>>| {
                Json(json!({ "things": [{ "name": "one", "size": null }] }))
            },
        )
        .route(
            Operation::post("/api/v1/things", "A sample")
                .body(object([
                    ("name", text().least(1)),
                    ("tags", list(text()).optional()),
                ]))
                .answers_as(StatusCode::CREATED, "It.", thing()),
            async |Json(new): Json<Value>| {
                (
                    StatusCode::CREATED,
                    Json(json!({ "name": new["name"], "size": 1 })),
                )
            },
        )
        .route(
            Operation::post("/api/v1/things/{name}", "A sample")
                .path("name", text())
                .optional_body_or_form(object([("reason", text().optional())]))
                .answers_nothing(StatusCode::NO_CONTENT, "Done."),
            async || StatusCode::NO_CONTENT,
        )
        .route(
            get("/api/v1/panics").answers_text(StatusCode::OK, ""),
            async || -> &'static str { panic!("on purpose") },
        )
        .route(
            get("/api/v1/slow").answers_text(StatusCode::OK, ""),
            async || std::future::pending::<&'static str>().await,
        )
        .route(
            get("/api/v1/bare").fails(StatusCode::CONFLICT, "It does not go together."),
            async || (StatusCode::CONFLICT, "bare words"),
        )
        .route(
            get("/api/v1/undescribed").answers("Nothing.", object([])),
            async || Json(json!({ "more": 1 })),
        )
        .route(
            get("/api/v1/unforeseen").answers("Nothing.", object([])),
            async || Failure::new(StatusCode::GONE, "It is gone.", ""),
        );
    Contribution::new("things", "Things", Icon::Search).api(routes)
}

fn with_things() -> Rig {
    rig_of(config(), vec![things()])
}

async fn ask(rig: &Rig, method: Method, path: &str, body: Option<&str>) -> Reply {
    let headers = [WITH_KEY, AS_JSON];
    rig.visitor().ask(method, path, &headers, body).await
}

/// The error of an answer, which must be as RFC 9457 has it.
fn problem(reply: &Reply, status: u16) -> Value {
    assert_eq!(reply.status, status, "{}", reply.body);
    assert_eq!(reply.header("content-type"), "application/problem+json");
    let body: Value = serde_json::from_str(&reply.body).expect("JSON");
    assert_eq!(body["type"], "about:blank");
    assert_eq!(body["title"], reply.status.canonical_reason().unwrap());
    assert_eq!(body["status"], status);
    assert_eq!(body["instance"], reply.header("x-request-id"));
    assert_eq!(body["request_id"], body["instance"], "as before");
    assert_eq!(body["error"], body["detail"], "as before");
    let detail = body["detail"].as_str().unwrap();
    assert!(detail.ends_with(['.', '?']), "{body}");
    assert!(body["advice"].is_string());
    body
}

fn fields(problem: &Value) -> Vec<&str> {
    let errors = problem["errors"].as_array().expect("errors").iter();
    errors.map(|one| one["field"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn unknown_addresses_and_methods_are_problems_too() {
    let rig = with_things();
    for path in [
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/nothing",
        "/api/v2/things",
    ] {
        problem(&rig.visitor().get(path).await, 404);
    }
    let page = rig.visitor().get("/apiary").await;
    assert!(page.header("content-type").starts_with("text/html"));
    let wrong = ask(&rig, Method::PUT, "/api/v1/things", None).await;
    problem(&wrong, 405);
    assert_eq!(wrong.header("allow"), "GET,HEAD,POST");
}

#[tokio::test]
async fn whoever_may_not_ask_is_told_in_the_same_form() {
    let rig = with_things();
    let none = rig.visitor().get("/api/v1/things").await;
    assert_eq!(problem(&none, 401)["detail"], "This needs a key.");
    assert_eq!(none.header("www-authenticate"), "Bearer realm=\"Weir\"");
    let wrong = [("authorization", "Bearer not-the-right-key")];
    let mut visitor = rig.visitor();
    for _ in 0..5 {
        let path = "/api/v1/things";
        problem(&visitor.ask(Method::GET, path, &wrong, None).await, 401);
    }
    let many = visitor
        .ask(Method::GET, "/api/v1/things", &wrong, None)
        .await;
    problem(&many, 429);
    assert!(many.header("retry-after").parse::<u64>().unwrap() > 0);
    let mut known = rig.visitor_from("203.0.113.9");
    known.sign_in(KEY).await;
    let stale = known
        .ask(Method::POST, "/api/v1/things", &[AS_JSON], Some("{}"))
        .await;
    problem(&stale, 403);
}

#[tokio::test]
async fn each_wrong_parameter_is_named_and_unknown_ones_are_refused() {
    let rig = with_things();
    let get =
        async |query: &str| ask(&rig, Method::GET, &format!("/api/v1/things?{query}"), None).await;
    for fine in ["", "limit=1&state=off&q=a+b", "q=", "q=%C3%A9", "&"] {
        assert_eq!(get(fine).await.status, StatusCode::OK, "{fine}");
    }
    let told = problem(&get("limit=0&state=opne&q=12345678901").await, 422);
    assert_eq!(fields(&told), ["limit", "state", "q"]);
    assert_eq!(
        told["errors"][0]["detail"],
        "Send a whole number from 1 to 500."
    );
    assert_eq!(
        told["errors"][1]["detail"],
        "Did you mean open? Send one of: open, off."
    );
    for (query, field) in [
        ("limt=3", "limt"),
        ("limit=1&limit=2", "limit"),
        ("apikey=x", "apikey"),
    ] {
        let told = problem(&get(query).await, 400);
        assert_eq!(fields(&told), [field], "{query}");
    }
    let told = problem(&get("limt=3").await, 400);
    assert_eq!(
        told["errors"][0]["detail"],
        "There is no such name here. Did you mean limit?"
    );
    problem(&get("q=%ff").await, 400);
    let head = ask(&rig, Method::HEAD, "/api/v1/things", None).await;
    assert_eq!((head.status, head.body.len()), (StatusCode::OK, 0));
}

#[tokio::test]
async fn each_wrong_field_of_a_body_is_named() {
    let rig = rig_of(
        Config {
            limits: WebLimits {
                body_bytes: 100.into(),
                ..WebLimits::default()
            },
            ..config()
        },
        vec![things()],
    );
    let post = async |kind, body: &str| {
        let headers = [WITH_KEY, ("content-type", kind)];
        let path = "/api/v1/things";
        rig.visitor()
            .ask(Method::POST, path, &headers, Some(body))
            .await
    };
    let json = "application/json";
    assert_eq!(
        post(json, "{\"name\": \"one\"}").await.status,
        StatusCode::CREATED
    );
    let odd = "Application/JSON; charset=utf-8";
    assert_eq!(
        post(odd, "{\"name\": \"one\"}").await.status,
        StatusCode::CREATED
    );
    problem(&post(json, "{\"name\": ").await, 400);
    problem(&post(json, "").await, 400);
    let told = problem(
        &post(json, "{\"name\": 7, \"tags\": [\"a\", 1], \"nam\": 1}").await,
        422,
    );
    assert_eq!(fields(&told), ["nam", "name", "tags[1]"]);
    assert_eq!(fields(&problem(&post(json, "{}").await, 422)), ["name"]);
    assert_eq!(fields(&problem(&post(json, "[]").await, 422)), [""]);
    problem(
        &post("application/x-www-form-urlencoded", "name=one").await,
        415,
    );
    problem(&post("text/xml", "<a/>").await, 415);
    let long = format!("{{\"name\": \"{}\"}}", "x".repeat(100));
    problem(&post(json, &long).await, 413);
    let length = [WITH_KEY, AS_JSON, ("content-length", "101")];
    let declared = rig
        .visitor()
        .ask(Method::POST, "/api/v1/things", &length, Some(&long))
        .await;
    problem(&declared, 413);

    let act = async |kind: &'static str, body: Option<&str>| {
        let headers = [WITH_KEY, ("content-type", kind)];
        let path = "/api/v1/things/one";
        rig.visitor().ask(Method::POST, path, &headers, body).await
    };
    let form = "application/x-www-form-urlencoded";
    for (kind, body) in [
        (json, None),
        (json, Some("{}")),
        (form, Some("reason=a+b")),
        (form, Some("csrf=x")),
    ] {
        assert_eq!(
            act(kind, body).await.status,
            StatusCode::NO_CONTENT,
            "{body:?}"
        );
    }
    assert_eq!(
        fields(&problem(&act(form, Some("raeson=a")).await, 422)),
        ["raeson"]
    );
    assert_eq!(
        fields(&problem(&act(json, Some("{\"reason\": 1}")).await, 422)),
        ["reason"]
    );
}

#[tokio::test]
async fn whatever_breaks_answers_with_a_problem() {
    let rig = rig_of(
        Config {
            limits: WebLimits {
                request_timeout: Duration::from_millis(20),
                ..WebLimits::default()
            },
            ..config()
        },
        vec![things()],
    );
    let get = async |path: &str| ask(&rig, Method::GET, path, None).await;
    let panicked = get("/api/v1/panics").await;
    assert!(!problem(&panicked, 500).to_string().contains("on purpose"));
    let slow = get("/api/v1/slow").await;
    problem(&slow, 503);
    assert_eq!(slow.header("retry-after"), "1");
    assert_eq!(
        problem(&get("/api/v1/bare").await, 409)["detail"],
        "bare words."
    );
    let bad_path = get("/api/v1/upstreams/%ff/x").await;
    problem(&bad_path, 400);
}

/// In tests and other debug builds alone: releases do not look at answers.
#[tokio::test]
async fn an_answer_that_is_not_described_fails_here() {
    let rig = with_things();
    for path in ["/api/v1/undescribed", "/api/v1/unforeseen"] {
        problem(&ask(&rig, Method::GET, path, None).await, 500);
    }
}

#[tokio::test]
#[should_panic(expected = "is not in /api/openapi.json")]
async fn a_route_below_api_that_is_not_described_fails_here() {
    let router = axum::Router::new().route("/api/v1/secret", axum::routing::get(async || "x"));
    let front =
        Contribution::new("secret", "Secret", Icon::Search).router(weir_web::Right::Read, router);
    rig_of(config(), vec![front])
        .visitor()
        .get("/api/v1/secret")
        .await;
}

#[tokio::test]
async fn the_document_has_every_route_with_its_rules() {
    let rig = with_things();
    let reply = ask(&rig, Method::GET, "/api/openapi.json", None).await;
    assert_eq!(reply.status, StatusCode::OK);
    let document: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    for path in [
        "/api/openapi.json",
        "/api/v1/decisions",
        "/api/v1/status",
        "/api/v1/things",
        "/api/v1/things/{name}",
        "/api/v1/upstreams",
        "/api/v1/upstreams/{front}/{name}",
        "/api/v1/upstreams/{front}/{name}/{action}",
        "/healthz",
        "/metrics",
        "/readyz",
        "/stats",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
    let mut ids = Vec::new();
    for (path, methods) in paths {
        for (method, one) in methods.as_object().unwrap() {
            let told = format!("{method} {path}");
            ids.push(one["operationId"].as_str().unwrap());
            assert!(one["summary"].is_string(), "{told}");
            let named = one["parameters"].as_array().into_iter().flatten();
            let named = named.filter(|one| one["in"] == "path");
            let mut named: Vec<&str> = named.map(|one| one["name"].as_str().unwrap()).collect();
            let mut wanted: Vec<&str> = path.split(['{', '}']).skip(1).step_by(2).collect();
            named.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(named, wanted, "{told}");
            if path.starts_with("/api/") {
                let keys = one["security"].as_array().unwrap();
                assert_eq!(keys.len(), 3, "{told}");
                let with_token = keys[2].get("csrf").is_some();
                assert_eq!(with_token, method != "get", "{told}");
                let kinds = &one["responses"]["401"]["content"];
                assert!(kinds.get("application/problem+json").is_some(), "{told}");
            }
        }
    }
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "each has a name of its own");
    let limit = &document["paths"]["/api/v1/things"]["get"]["parameters"][0];
    assert_eq!(
        limit["schema"],
        json!({ "type": "integer", "minimum": 1, "maximum": 500 })
    );
    let tag = reply.header("etag");
    let headers = [WITH_KEY, ("if-none-match", tag)];
    let path = "/api/openapi.json";
    let again = rig.visitor().ask(Method::GET, path, &headers, None).await;
    assert_eq!(
        (again.status, again.body.len()),
        (StatusCode::NOT_MODIFIED, 0)
    );
    problem(&rig.visitor().get("/api/openapi.json").await, 401);
}

#[tokio::test]
async fn the_status_says_what_the_overview_says() {
    let rig = rig();
    let status: Value =
        serde_json::from_str(&ask(&rig, Method::GET, "/api/v1/status", None).await.body).unwrap();
    assert_eq!(status["ready"], true);
    assert_eq!(status["upstreams"]["total"], 0);
    assert_eq!(status["attention"], json!([]));
    assert_eq!(
        status["sentence"],
        "Weir is running. No front is set up yet."
    );
    let down = Contribution::new("tracker", "Tracker", Icon::Tracker)
        .missing(|| vec!["tracker: udp is gone".to_owned()]);
    let rig = rig_of(config(), vec![down]);
    let status: Value =
        serde_json::from_str(&ask(&rig, Method::GET, "/api/v1/status", None).await.body).unwrap();
    assert_eq!(status["ready"], false);
    assert_eq!(status["missing"], json!(["tracker: udp is gone"]));
}

#[tokio::test]
async fn readiness_is_told_as_json_where_asked() {
    let front = Contribution::new("tracker", "Tracker", Icon::Tracker)
        .missing(|| vec!["tracker: udp is gone".to_owned()]);
    for (rig, ready) in [
        (rig_with(config()), true),
        (rig_of(config(), vec![front]), false),
    ] {
        let headers = [("accept", "text/html, application/json;q=0.9")];
        let reply = rig
            .visitor()
            .ask(Method::GET, "/readyz", &headers, None)
            .await;
        assert_eq!(reply.status.is_success(), ready);
        let body: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(body["ready"], ready);
        assert_eq!(body["missing"].as_array().unwrap().is_empty(), ready);
    }
}

#[tokio::test]
async fn a_file_that_is_not_written_keeps_weir_from_being_ready() {
    let directory = tempfile::tempdir().unwrap();
    let file = weir_store::sqlite::File::open(directory.path().join("some.db")).unwrap();
    let front = Contribution::new("some", "Some", Icon::Search).files([file.clone()]);
    let rig = rig_of(config(), vec![front]);
    assert_eq!(rig.visitor().get("/readyz").await.body, "ready\n");
    let status = ask(&rig, Method::GET, "/api/v1/status", None).await.body;
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["files"][0]["name"], "some.db");
    assert!(status["files"][0]["bytes"].as_u64().unwrap() > 0);
    file.close();
    // What was found holds for a moment, so another one looks.
    let front = Contribution::new("some", "Some", Icon::Search).files([file]);
    let rig = rig_of(config(), vec![front]);
    let reply = rig.visitor().get("/readyz").await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        reply.body,
        "not ready\nsome.db is no longer written: restart Weir\n"
    );
}
