//! Keys beside the first one, what each may do, and sessions: on the page and in the API.

use std::{net::SocketAddr, time::Duration};

use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{Method, Request, StatusCode},
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tower::ServiceExt;
use weir_web::{Auth, Config, Refusal, Right};

use crate::support::{FAR, KEY, Reply, Rig, Visitor, config, rig, rig_with};

const RIGHTS: [&str; 4] = ["read", "search", "post", "everything"];

async fn with(rig: &Rig, method: Method, path: &str, key: &str, body: Option<&Value>) -> Reply {
    let headers = [("x-api-key", key), ("content-type", "application/json")];
    let body = body.map(ToString::to_string);
    rig.visitor()
        .ask(method, path, &headers, body.as_deref())
        .await
}

/// Makes a key by the API: its ID and itself.
async fn make(rig: &Rig, name: &str, right: &str) -> (i64, String) {
    let body = json!({ "name": name, "right": right });
    let made = with(rig, Method::POST, "/api/v1/keys", KEY, Some(&body)).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.body);
    let made: Value = serde_json::from_str(&made.body).unwrap();
    let key = made["key"].as_str().unwrap().to_owned();
    (made["id"].as_i64().unwrap(), key)
}

async fn listed(rig: &Rig) -> Vec<Value> {
    let all = with(rig, Method::GET, "/api/v1/keys", KEY, None).await;
    let all: Value = serde_json::from_str(&all.body).unwrap();
    all["keys"].as_array().unwrap().clone()
}

async fn sessions(rig: &Rig) -> Vec<Value> {
    let all = with(rig, Method::GET, "/api/v1/sessions", KEY, None).await;
    let all: Value = serde_json::from_str(&all.body).unwrap();
    all["sessions"].as_array().unwrap().clone()
}

/// Somebody who has signed in with the first key, and a form token of theirs.
async fn operator(rig: &Rig) -> (Visitor<'_>, String) {
    let mut operator = rig.visitor();
    operator.sign_in(KEY).await;
    let token = operator.get("/settings/access").await.token();
    (operator, token)
}

#[tokio::test]
async fn each_right_opens_what_it_includes_and_nothing_else() {
    let rig = rig();
    let get = |path| (Method::GET, path);
    // What is asked, and which rights suffice.
    let table = [
        (get("/page"), &RIGHTS[..]),
        (get("/upstreams"), &RIGHTS),
        (get("/decisions"), &RIGHTS),
        (get("/stats"), &RIGHTS),
        (get("/api/v1/status"), &RIGHTS),
        (get("/api/openapi.json"), &RIGHTS),
        (get("/feed"), &["search", "everything"]),
        (get("/writes"), &["post", "everything"]),
        (get("/api/v1/sample"), &RIGHTS),
        ((Method::POST, "/api/v1/sample"), &["everything"]),
        (get("/settings/access"), &["everything"]),
        (get("/api/v1/keys"), &["everything"]),
        (get("/api/v1/sessions"), &["everything"]),
        ((Method::POST, "/upstreams/probe"), &["everything"]),
    ];
    for right in RIGHTS {
        let (_, key) = make(&rig, right, right).await;
        for ((method, path), suffice) in &table {
            let reply = with(&rig, method.clone(), path, &key, None).await;
            let is_open = reply.status != StatusCode::FORBIDDEN;
            assert_eq!(
                is_open,
                suffice.contains(&right),
                "{right} {path}: {reply:?}"
            );
        }
    }
    let (_, read) = make(&rig, "reader", "read").await;
    let refused = with(&rig, Method::POST, "/api/v1/sample", &read, None).await;
    let problem: Value = serde_json::from_str(&refused.body).unwrap();
    assert_eq!(
        problem["detail"],
        "This needs a key with the right “everything”; yours has “read”."
    );
    let feed = with(&rig, Method::GET, "/feed", &read, None).await;
    assert_eq!(feed.body, "needs search and download, has read");
}

#[tokio::test]
async fn a_session_has_the_right_of_its_key_and_sees_pages_it_may_open() {
    let rig = rig();
    let (_, key) = make(&rig, "Anna <b>", "read").await;
    let mut anna = rig.visitor();
    anna.sign_in(&key).await;
    let page = anna.get("/more").await;
    assert!(
        page.body.contains("Anna &#60;b&#62; (read)"),
        "{}",
        page.body
    );
    let token = page.token();
    let refused = anna
        .post("/upstreams/probe", &format!("csrf={token}"))
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(
        refused
            .body
            .contains("right “everything”; yours has “read”")
    );
    assert_eq!(
        anna.get("/settings/access").await.status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        anna.post("/theme", &format!("csrf={token}&theme=dark"))
            .await
            .status,
        StatusCode::SEE_OTHER
    );
}

#[tokio::test]
async fn a_key_is_made_on_the_page_shown_once_and_kept_as_a_hash() {
    let rig = rig();
    let (mut operator, token) = operator(&rig).await;
    let form = format!("csrf={token}&name=Sonarr&right=search&next=/connect");
    let made = operator.post("/settings/access/keys", &form).await;
    assert_eq!(made.status, StatusCode::OK);
    let (_, rest) = made.body.split_once("id=\"made-key\"").unwrap();
    let (_, rest) = rest.split_once("value=\"").unwrap();
    let key = rest.split_once('"').unwrap().0.to_owned();
    assert_eq!(key.len(), 32, "{key}");
    assert!(made.body.contains("href=\"/connect\""), "the way back");
    assert_eq!(made.header("cache-control"), "no-store");
    let page = operator.get("/settings/access").await;
    assert!(page.body.contains("Sonarr") && !page.body.contains(&key));
    assert_eq!(
        with(&rig, Method::GET, "/feed", &key, None).await.body,
        "feed"
    );
    // Neither the database nor its log has the key.
    rig.state.write(|_| Ok(())).await.unwrap();
    for name in ["state.db", "state.db-wal"] {
        let bytes = std::fs::read(rig.directory.path().join(name)).unwrap();
        let found = bytes.windows(key.len()).any(|part| part == key.as_bytes());
        assert!(!found, "{name} has the key");
    }
    // A second form of the same kind, as from a page that was loaded again, makes no second key.
    let again = operator.post("/settings/access/keys", &form).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    assert_eq!(listed(&rig).await.len(), 1);
}

#[tokio::test]
async fn wrong_input_is_named_beside_its_field_kept_and_changes_nothing() {
    let rig = rig();
    make(&rig, "Taken", "read").await;
    let (mut operator, token) = operator(&rig).await;
    let long = "x".repeat(5000);
    for (name, right, field, says, status) in [
        ("", "read", "name", "Give it a name", 422),
        ("%20%0a%e2%80%8b", "read", "name", "Give it a name", 422),
        (&long, "read", "name", "at most 40 characters", 422),
        ("tAKEN", "read", "name", "The name “tAKEN” is taken", 409),
        (
            "%22%3E%3Cscript%3E",
            "root",
            "right",
            "Choose one of the four",
            422,
        ),
        ("x", "", "right", "Choose one of the four", 422),
    ] {
        let form = format!("csrf={token}&name={name}&right={right}");
        let reply = operator.post("/settings/access/keys", &form).await;
        assert_eq!(reply.status.as_u16(), status, "{name} {right}");
        let beside = format!("<p class=\"mistake\" id=\"{field}-mistake\">");
        let (_, beside) = reply.body.split_once(&beside).expect("beside its field");
        assert!(beside.split('<').next().unwrap().contains(says), "{beside}");
        assert!(!reply.body.contains("<script>"), "it is escaped");
        assert!(reply.body.len() < 60_000, "bounded");
        if name == "%22%3E%3Cscript%3E" {
            assert!(
                reply.body.contains("value=\"&#34;&#62;&#60;script&#62;\""),
                "kept"
            );
        }
        let body = json!({ "name": "\u{200b}", "right": "read" });
        let reply = with(&rig, Method::POST, "/api/v1/keys", KEY, Some(&body)).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
        let problem: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(problem["errors"][0]["field"], "name");
    }
    assert_eq!(listed(&rig).await.len(), 1);
    let without = operator
        .post("/settings/access/keys", "name=x&right=read")
        .await;
    assert_eq!(without.status, StatusCode::FORBIDDEN, "no token");
    assert_eq!(listed(&rig).await.len(), 1);
}

#[tokio::test]
async fn when_there_are_too_many_keys_the_name_is_not_at_fault() {
    let rig = rig();
    for number in 0..100 {
        make(&rig, &format!("key {number}"), "read").await;
    }
    let (mut operator, token) = operator(&rig).await;
    let form = format!("csrf={token}&name=more&right=read");
    let reply = operator.post("/settings/access/keys", &form).await;
    assert_eq!(reply.status, StatusCode::CONFLICT);
    let (_, top) = reply.body.split_once("id=\"mistakes\"").expect("on top");
    let said = top.split("</p>").next().unwrap();
    assert!(
        said.contains("You have reached the limit of 100 keys."),
        "{said}"
    );
    assert!(said.contains("autofocus"), "{said}");
    assert!(!reply.body.contains("aria-invalid"), "not beside a field");
    assert!(reply.body.contains("value=\"more\""), "it is kept");
}

#[tokio::test]
async fn a_revoked_key_opens_nothing_and_its_sessions_end_at_once() {
    let rig = rig();
    let (id, key) = make(&rig, "Anna", "everything").await;
    let mut anna = rig.visitor();
    anna.sign_in(&key).await;
    assert_eq!(anna.get("/page").await.body, "page");
    // Two operators open the question; both say yes.
    let (mut one, token) = operator(&rig).await;
    let (mut two, other) = operator(&rig).await;
    let path = format!("/settings/access/keys/{id}/revoke");
    let asked = one.get(&path).await;
    assert!(asked.body.contains("Revoke <bdi>Anna</bdi>?"));
    assert!(
        asked
            .body
            .contains("the browser that signed in with it will be signed out")
    );
    let done = one.post(&path, &format!("csrf={token}")).await;
    assert_eq!(
        done.header("location"),
        "/settings/access?did=revoked&ended=1"
    );
    let late = two.post(&path, &format!("csrf={other}")).await;
    assert_eq!(late.header("location"), "/settings/access?did=gone");
    let notice = two.get("/settings/access?did=gone").await;
    assert!(
        notice
            .body
            .contains("Somebody else has already revoked that key.")
    );
    assert_eq!(two.get(&path).await.status, StatusCode::NOT_FOUND);
    assert_eq!(anna.get("/page").await.status, StatusCode::SEE_OTHER);
    let refused = with(&rig, Method::GET, "/api/v1/status", &key, None).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    // The first key is not among those that can be revoked.
    let none = with(&rig, Method::DELETE, "/api/v1/keys/0", KEY, None).await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
    let rig = rig.restarted(config());
    let refused = with(&rig, Method::GET, "/api/v1/status", &key, None).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "after a restart");
}

#[tokio::test]
async fn a_revoked_key_ends_its_event_streams_and_nobody_elses() {
    let rig = rig();
    let (id, key) = make(&rig, "dashboard", "read").await;
    let listen = async |key: &str| {
        let request = Request::builder()
            .uri("/api/v1/events")
            .header("x-api-key", key);
        let mut request = request.body(Body::empty()).unwrap();
        let peer = SocketAddr::new(FAR.parse().unwrap(), 4000);
        request.extensions_mut().insert(ConnectInfo(peer));
        let response = rig.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        response.into_body().into_data_stream()
    };
    // The file keeps its own time, so the clock stands still only while nothing is written.
    tokio::time::pause();
    let (mut theirs, mut ours) = (listen(&key).await, listen(KEY).await);
    assert!(theirs.next().await.is_some() && ours.next().await.is_some());
    tokio::time::resume();
    with(
        &rig,
        Method::DELETE,
        &format!("/api/v1/keys/{id}"),
        KEY,
        None,
    )
    .await;
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    while theirs.next().await.is_some() {}
    assert!(began.elapsed() <= Duration::from_secs(2));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(ours.next().await.is_some());
}

#[tokio::test]
async fn the_last_use_is_told_to_the_minute_and_outlives_a_restart() {
    let rig = rig();
    let (_, key) = make(&rig, "Radarr", "search").await;
    assert_eq!(listed(&rig).await[0]["last_used"], Value::Null);
    let used = async |rig: &Rig| {
        with(rig, Method::GET, "/feed", &key, None).await;
        listed(rig).await[0]["last_used"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let first = used(&rig).await;
    rig.clock.advance(Duration::from_secs(59));
    assert_eq!(used(&rig).await, first, "within a minute");
    rig.clock.advance(Duration::from_secs(1));
    let second = used(&rig).await;
    assert_ne!(second, first);
    let rig = rig.restarted(config());
    assert_eq!(listed(&rig).await[0]["last_used"], second);
}

#[tokio::test]
async fn sessions_are_listed_and_ended() {
    let rig = rig();
    let (_, key) = make(&rig, "Anna", "read").await;
    let mut anna = rig.visitor_from("203.0.113.50");
    let firefox = (
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0",
    );
    let token = anna.get("/sign-in").await.token();
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let form = format!("csrf={token}&key={key}");
    anna.ask(Method::POST, "/sign-in", &[firefox, kind], Some(&form))
        .await;
    rig.clock.advance(Duration::from_secs(90));
    let (mut one, token) = operator(&rig).await;
    let (mut two, _) = operator(&rig).await;
    let all = sessions(&rig).await;
    assert_eq!(all.len(), 3);
    let hers = all.iter().find(|one| one["key"] == "Anna").unwrap();
    assert_eq!(hers["address"], "203.0.113.50");
    assert_eq!(hers["browser"], "Firefox on Linux");
    assert_eq!(hers["since"], hers["last_used"]);
    let page = one.get("/settings/access").await.body;
    assert!(page.contains("203.0.113.50") && page.contains("Firefox on Linux"));
    assert_eq!(page.matches("This one").count(), 1);
    let id = hers["id"].as_str().unwrap();
    let path = format!("/settings/access/sessions/{id}/end");
    let ended = one.post(&path, &format!("csrf={token}")).await;
    assert_eq!(
        ended.header("location"),
        "/settings/access?did=ended&ended=1"
    );
    assert_eq!(anna.get("/page").await.status, StatusCode::SEE_OTHER);
    let again = one.post(&path, &format!("csrf={token}")).await;
    assert_eq!(
        again.header("location"),
        "/settings/access?did=ended&ended=0"
    );
    let form = format!("csrf={token}&keep=this");
    let others = one.post("/settings/access/sessions/end", &form).await;
    assert_eq!(
        others.header("location"),
        "/settings/access?did=ended&ended=1"
    );
    assert_eq!(two.get("/page").await.status, StatusCode::SEE_OTHER);
    assert_eq!(one.get("/page").await.body, "page");
    let all = with(&rig, Method::DELETE, "/api/v1/sessions", KEY, None).await;
    assert_eq!(all.body, "{\"ended\":1}");
    assert_eq!(one.get("/page").await.status, StatusCode::SEE_OTHER);
    let gone = with(
        &rig,
        Method::DELETE,
        &format!("/api/v1/sessions/{id}"),
        KEY,
        None,
    )
    .await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
    let rig = rig.restarted(config());
    assert!(sessions(&rig).await.is_empty());
}

#[tokio::test]
async fn what_cannot_be_stored_changes_nothing_and_says_so() {
    let rig = rig();
    let (id, key) = make(&rig, "Anna", "read").await;
    let mut anna = rig.visitor();
    anna.sign_in(&key).await;
    let (mut operator, token) = operator(&rig).await;
    rig.state.close();
    let form = format!("csrf={token}&name=New+one&right=post");
    let reply = operator.post("/settings/access/keys", &form).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        reply
            .body
            .contains("Nothing was changed: state.db cannot be written.")
    );
    assert!(
        reply.body.contains("value=\"New one\""),
        "what was typed is kept"
    );
    let path = format!("/settings/access/keys/{id}/revoke");
    let reply = operator.post(&path, &format!("csrf={token}")).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(reply.body.contains("Nothing was changed"));
    assert_eq!(anna.get("/page").await.body, "page", "nothing has changed");
}

#[tokio::test]
async fn guessing_locks_no_named_key_out() {
    let rig = rig();
    let (_, key) = make(&rig, "Sonarr", "search").await;
    for _ in 0..7 {
        with(&rig, Method::GET, "/feed", "wrong", None).await;
    }
    let chosen = with(&rig, Method::GET, "/feed", KEY, None).await;
    assert_eq!(chosen.status, StatusCode::TOO_MANY_REQUESTS);
    let named = with(&rig, Method::GET, "/feed", &key, None).await;
    assert_eq!((named.status, &*named.body), (StatusCode::OK, "feed"));
}

#[tokio::test]
async fn where_nobody_needs_a_key_a_lesser_one_takes_nothing_away() {
    let rig = rig_with(Config {
        auth: Auth::None,
        ..config()
    });
    let (_, key) = make(&rig, "Sonarr", "read").await;
    let reply = with(&rig, Method::POST, "/api/v1/sample", &key, None).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
}

#[tokio::test]
async fn another_listener_judges_keys_by_their_rights() {
    let rig = rig();
    let (id, key) = make(&rig, "tin", "post").await;
    let porter = rig.app.porter();
    let client = porter.client(FAR.parse().unwrap());
    let mark = porter.key(&key, &client).ok().unwrap();
    assert_eq!(porter.right(&mark), Some(Right::Post));
    assert_eq!(porter.key_name(&mark).as_deref(), Some("tin"));
    let mut ends = porter.key_ends();
    with(
        &rig,
        Method::DELETE,
        &format!("/api/v1/keys/{id}"),
        KEY,
        None,
    )
    .await;
    ends.changed().await.unwrap();
    assert!(!porter.holds(&mark) && porter.right(&mark).is_none());
    assert_eq!(porter.key(&key, &client).err(), Some(Refusal::WrongKey));
}

#[tokio::test]
async fn a_revocation_that_cannot_be_written_leaves_key_and_sessions_as_they_were() {
    let rig = rig();
    let (id, key) = make(&rig, "Anna", "read").await;
    let mut anna = rig.visitor();
    anna.sign_in(&key).await;
    let others = sessions(&rig).await.len();
    // The last part of what is written fails, when the rest has been done already.
    let refuse =
        "CREATE TRIGGER full BEFORE DELETE ON web_session BEGIN SELECT RAISE(ABORT, 'full'); END";
    rig.state
        .write(move |tx| tx.execute_batch(refuse))
        .await
        .unwrap();
    let path = format!("/api/v1/keys/{id}");
    let refused = with(&rig, Method::DELETE, &path, KEY, None).await;
    assert!(refused.status.is_server_error(), "{refused:?}");
    assert_eq!(anna.get("/page").await.status, StatusCode::OK);
    let by_key = with(&rig, Method::GET, "/page", &key, None).await;
    assert_eq!(by_key.status, StatusCode::OK, "the key holds: {by_key:?}");
    let names: Vec<Value> = listed(&rig)
        .await
        .iter()
        .map(|key| key["name"].clone())
        .collect();
    assert!(names.contains(&json!("Anna")), "{names:?}");
    assert_eq!(sessions(&rig).await.len(), others);

    rig.state
        .write(|tx| tx.execute_batch("DROP TRIGGER full"))
        .await
        .unwrap();
    let revoked = with(&rig, Method::DELETE, &path, KEY, None).await;
    assert_eq!(revoked.status, StatusCode::OK, "{revoked:?}");
    let by_key = with(&rig, Method::GET, "/page", &key, None).await;
    assert_eq!(by_key.status, StatusCode::UNAUTHORIZED);
    assert_ne!(anna.get("/page").await.status, StatusCode::OK);
}
