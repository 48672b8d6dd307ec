//! Writing in a browser: the form, its mistakes, previews, sending, drafts that are never lost, taking back. The servers are
//! in memory; time is real, since the drafts are in a file.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{Method, Request};
use tower::ServiceExt;
use weir_config::Secret;
use weir_engine::{Engine, Options, Outward, Timeline, Weather};
use weir_net::Roots;
use weir_store::sqlite::File;
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{self, Behaviour, News};
use weir_web::{Access, App, Contribution, Icon, Right};

use crate::config::Config;
use crate::marks::Marks;
use crate::model::Model;
use crate::posting::outbox::Outbox;
use crate::reader::Reader;
use crate::tests::world::{SECOND, entry, general};
use crate::{api, pages, policy};

const KEY: &str = "0123456789abcdef0123456789abcdef";

struct Desk {
    router: Router,
    server: News,
    model: Arc<Model>,
    state: File,
    _directory: tempfile::TempDir,
}

struct Sheet {
    status: u16,
    location: String,
    cookies: Vec<String>,
    body: String,
}

impl Desk {
    async fn new() -> Self {
        let network = Network::new();
        let place = Place::Memory(&network, ([192, 0, 2, 1], 119).into());
        let mut shelf = vec![news::Newsgroup::new("misc.test").with(1..=3)];
        for (name, flag) in [
            ("misc.closed", "n"),
            ("misc.modded", "m"),
            ("misc.other", "y"),
        ] {
            let mut newsgroup = news::Newsgroup::new(name);
            newsgroup.flag = flag.to_owned();
            shelf.push(newsgroup);
        }
        let server = News::start(place, shelf).await.expect("a server");
        let config = Config {
            servers: vec![entry("one", 1)],
            ..Config::default()
        };
        let timeline = Timeline::starting_at(std::time::UNIX_EPOCH + 86_400 * 20_000 * SECOND);
        let options = Options::new(timeline, Weather::default());
        let engine = Engine::new("news", policy::policy(general(), &config), options);
        let outward = Outward::without_rows(engine, network.ground());
        let directory = tempfile::tempdir().expect("a directory");
        let state = File::open(directory.path().join("state.db")).expect("a file");
        let outbox = Outbox::open(Some(state.clone())).expect("an outbox");
        let model = Model::start_with(&config, outward, &Roots::default(), None, outbox);
        let model = model.expect("a model");
        let marks = Marks::open(state.clone()).expect("marks");
        let reader = Reader::with_desk(model.clone(), marks, Arc::new(weir_web::System));
        let contribution = Contribution::new("news", "News", Icon::News)
            .router(Right::Read, pages::router(&reader))
            .router(Right::Post, pages::compose::router(&reader))
            .router_for(
                Access::KeptForm,
                Right::Post,
                pages::compose::form_router(&reader),
            )
            .api(api::router(&reader))
            .api(api::own_router(&reader));
        let config = weir_web::Config {
            api_key: Some(Secret::new(KEY)),
            ..weir_web::Config::default()
        };
        let app = App::open(
            config,
            &state,
            Arc::new(weir_web::System),
            weir_web::Requests::default(),
            vec![contribution],
        );
        Self {
            router: app.expect("a web part").router(),
            server,
            model,
            state,
            _directory: directory,
        }
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Sheet {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "weir.example:7070");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::from(body)).expect("a request");
        let peer = SocketAddr::from(([127, 0, 0, 1], 4000));
        request.extensions_mut().insert(ConnectInfo(peer));
        let answer = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer");
        let header = |name: &str| {
            let all = answer.headers().get_all(name).iter();
            all.map(|value| value.to_str().expect("text").to_owned())
                .collect::<Vec<_>>()
        };
        let (status, location, cookies) = (
            answer.status().as_u16(),
            header("location").concat(),
            header("set-cookie"),
        );
        let bytes = to_bytes(answer.into_body(), usize::MAX)
            .await
            .unwrap_or_default();
        Sheet {
            status,
            location,
            cookies,
            body: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    async fn get(&self, path: &str) -> Sheet {
        self.ask(Method::GET, path, &[("x-api-key", KEY)], String::new())
            .await
    }

    /// Sends a form with the key.
    async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Sheet {
        let kind = ("content-type", "application/x-www-form-urlencoded");
        self.ask(
            Method::POST,
            path,
            &[("x-api-key", KEY), kind],
            form(fields),
        )
        .await
    }

    async fn json(&self, method: Method, path: &str, body: &str) -> (u16, serde_json::Value) {
        let kind = ("content-type", "application/json");
        let sheet = self
            .ask(method, path, &[("x-api-key", KEY), kind], body.to_owned())
            .await;
        (
            sheet.status,
            serde_json::from_str(&sheet.body).unwrap_or_default(),
        )
    }
}

fn form(fields: &[(&str, &str)]) -> String {
    let encoded = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    pairs.join("&")
}

/// The value of a field of a form.
fn value(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\"");
    let from = page
        .find(&start)
        .unwrap_or_else(|| panic!("no {name} in {page}"));
    let rest = &page[from..];
    let value = rest.split("value=\"").nth(1).expect("a value");
    value.split('"').next().expect("its end").to_owned()
}

const FIELDS: [(&str, &str); 6] = [
    ("name", "Jörg <b>"),
    ("address", "j@b.example"),
    ("newsgroups", "misc.test"),
    ("subject", "Grüße & <i>more</i>"),
    ("text", "First line\r\n.\r\n<script>x</script>"),
    ("keep", "group:misc.test"),
];

fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut all: Vec<(&str, &str)> = FIELDS
        .iter()
        .copied()
        .filter(|(name, _)| !more.iter().any(|(other, _)| other == name))
        .collect();
    all.extend(more);
    all
}

#[tokio::test]
async fn an_article_is_previewed_sent_and_found_among_the_posts() {
    let desk = Desk::new().await;
    let page = desk.get("/news/compose?group=misc.test").await;
    assert_eq!(page.status, 200);
    assert_eq!(value(&page.body, "newsgroups"), "misc.test");
    let draft = value(&page.body, "draft");

    let preview = desk
        .send(
            "/news/drafts",
            &with(&[("draft", &draft), ("act", "preview")]),
        )
        .await;
    assert_eq!(preview.status, 200, "{}", preview.body);
    assert!(
        preview.body.contains("id=\"preview\">Preview<")
            && preview.body.contains("Grüße &#38; &#60;i&#62;more")
    );
    assert!(!preview.body.contains("<script>x"));
    assert!(desk.server.posted().is_empty());
    assert_eq!(
        value(&preview.body, "address"),
        "j@b.example",
        "the form is filled in"
    );

    let sent = desk
        .send("/news/drafts", &with(&[("draft", &draft), ("act", "send")]))
        .await;
    assert_eq!(sent.status, 303, "{}", sent.body);
    assert!(
        sent.location.starts_with("/news/posts/")
            && sent.location.ends_with("?keep=group%3Amisc.test"),
        "{}",
        sent.location
    );
    let posted = desk.server.posted();
    let raw = String::from_utf8_lossy(&posted[0].bytes).into_owned();
    assert!(
        raw.contains("\r\n\r\nFirst line\r\n.\r\n<script>x</script>\r\n"),
        "{raw}"
    );
    let result = desk.get(&sent.location).await;
    assert!(
        result.body.contains("Sent through one")
            && result.body.contains("data-sent=\"group:misc.test\""),
        "{}",
        result.body
    );
    let all = desk.get("/news/posts").await;
    assert!(
        all.body.contains("Grüße") && !all.body.contains("id=\"drafts\""),
        "the draft is gone: {}",
        all.body
    );
    let next = desk.get("/news/compose?group=misc.test").await;
    assert_eq!(
        value(&next.body, "address"),
        "j@b.example",
        "it is remembered who writes"
    );

    let again = desk
        .send("/news/drafts", &with(&[("draft", &draft), ("act", "send")]))
        .await;
    assert_eq!(
        again.location, sent.location,
        "the same form sent twice is one article"
    );
    assert_eq!(desk.server.posted().len(), 1);
    let other = with(&[("draft", &draft), ("act", "send"), ("text", "Other words")]);
    assert_ne!(
        desk.send("/news/drafts", &other).await.location,
        sent.location
    );
    assert_eq!(desk.server.posted().len(), 2);
}

#[tokio::test]
async fn mistakes_stand_beside_their_fields_and_nothing_typed_is_lost() {
    let desk = Desk::new().await;
    let fields = with(&[
        ("address", "no address"),
        ("subject", " "),
        ("followup", "a*b"),
        ("act", "send"),
    ]);
    let page = desk.send("/news/drafts", &fields).await;
    assert_eq!(page.status, 422);
    for (name, says) in [
        ("address", "This is not an address"),
        ("subject", "Write a subject"),
        ("followup", "is not the name"),
    ] {
        assert!(
            page.body
                .contains(&format!("aria-describedby=\"{name}-wrong\"")),
            "{name}"
        );
        assert!(page.body.contains(says), "{says}");
    }
    assert!(page.body.contains("First line") && page.body.contains("no address"));
    assert!(desk.server.posted().is_empty());
}

/// A disk that is too full for one kind of change, for as long as the trigger is there.
async fn fill(desk: &Desk, change: &'static str) {
    let trigger = format!(
        "CREATE TRIGGER full BEFORE {change} ON news_post_draft BEGIN SELECT RAISE(ABORT, 'full'); END"
    );
    let made = desk.state.write(move |tx| tx.execute_batch(&trigger)).await;
    made.expect("a trigger");
}

#[tokio::test]
async fn on_a_full_disk_what_was_typed_comes_back_with_the_reason() {
    let desk = Desk::new().await;
    let page = desk.get("/news/compose?group=misc.test").await;
    let draft = value(&page.body, "draft");
    fill(&desk, "INSERT").await;
    for act in ["preview", "keep", "send"] {
        let fields = with(&[("draft", &draft), ("act", act)]);
        let page = desk.send("/news/drafts", &fields).await;
        assert_eq!(page.status, 503, "{act}: {}", page.body);
        assert!(
            page.body
                .contains("Not kept: state.db cannot be written. Is the disk full?"),
            "{act}: {}",
            page.body
        );
        assert!(
            page.body.contains("First line") && value(&page.body, "draft") == draft,
            "{act}: {}",
            page.body
        );
        assert!(!page.body.contains("is kept as a"), "{act}: it is not");
    }
    assert!(desk.server.posted().is_empty());
}

#[tokio::test]
async fn an_article_that_is_out_is_not_said_to_have_failed_on_a_full_disk() {
    let desk = Desk::new().await;
    fill(&desk, "DELETE").await;
    let sent = desk.send("/news/drafts", &with(&[("act", "send")])).await;
    assert_eq!(sent.status, 303, "{}", sent.body);
    assert_eq!(desk.server.posted().len(), 1);
    let all = desk.get("/news/posts").await;
    assert!(
        all.status == 200 && !all.body.contains("id=\"drafts\""),
        "it is no draft any more: {}",
        all.body
    );
    let kept = desk.model.outbox.drafts.all().expect("a look");
    let discard = [("draft", kept[0].name.as_str())];
    let refused = desk.send("/news/posts/discard", &discard).await;
    assert_eq!(refused.status, 503);
    assert!(
        refused
            .body
            .contains("Nothing was changed: state.db cannot be written"),
        "{}",
        refused.body
    );
}

#[tokio::test]
async fn a_refusal_keeps_the_text_and_the_next_try_is_another_article() {
    let desk = Desk::new().await;
    desk.server
        .set_for("POST", Behaviour::Verdict("441 Not <today>".to_owned()));
    let page = desk.send("/news/drafts", &with(&[("act", "send")])).await;
    assert_eq!(page.status, 422);
    assert!(
        page.body.contains("one refused it: Not &#60;today&#62;")
            && page.body.contains("First line"),
        "{}",
        page.body
    );
    let draft = value(&page.body, "draft");
    let all = desk.get("/news/posts").await;
    assert!(all.body.contains(&draft), "it is kept");
    desk.server.set_for("POST", Behaviour::Good);
    let sent = desk
        .send("/news/drafts", &with(&[("draft", &draft), ("act", "send")]))
        .await;
    assert_eq!(sent.status, 303);
    assert_eq!(desk.server.posted().len(), 1);
}

#[tokio::test]
async fn a_form_from_a_session_that_has_ended_is_kept_and_comes_back_after_signing_in() {
    let desk = Desk::new().await;
    let page = desk.get("/news/compose?group=misc.test").await;
    let draft = value(&page.body, "draft");
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let fields = form(&with(&[
        ("draft", &draft),
        ("act", "send"),
        ("csrf", "stale"),
    ]));
    let away = desk
        .ask(Method::POST, "/news/drafts", &[kind], fields.clone())
        .await;
    assert_eq!(away.status, 303);
    assert_eq!(
        away.location,
        format!(
            "/sign-in?next=%2Fnews%2Fcompose%3Fdraft%3D{}",
            draft.replace('-', "%2D")
        )
        .replace("%2D", "-")
    );
    assert!(desk.server.posted().is_empty(), "nobody sent it");

    // Whoever was not given a form makes us keep nothing.
    for odd in ["", "aaaaaaaaaaaaaaaaaaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaa"] {
        let fields = form(&with(&[("draft", odd), ("act", "send")]));
        let away = desk
            .ask(Method::POST, "/news/drafts", &[kind], fields)
            .await;
        assert_eq!((away.status, away.location.as_str()), (303, "/sign-in"));
    }
    assert_eq!(desk.model.outbox.drafts.all().expect("a look").len(), 1);
    let stranger = desk
        .ask(
            Method::GET,
            &format!("/news/compose?draft={draft}"),
            &[],
            String::new(),
        )
        .await;
    assert_eq!(stranger.status, 303, "only who is signed in reads it");
    let back = desk.get(&format!("/news/compose?draft={draft}")).await;
    assert!(
        back.status == 200 && back.body.contains("First line"),
        "{}",
        back.body
    );

    // In a session, the token of another one sends nothing either, and loses nothing.
    let shown = desk.ask(Method::GET, "/sign-in", &[], String::new()).await;
    let (token, bound) = (value(&shown.body, "csrf"), shown.cookies.join("; "));
    let signed = form(&[("csrf", &token), ("key", KEY)]);
    let bound = bound.split(';').next().expect("a cookie").to_owned();
    let signed = desk
        .ask(
            Method::POST,
            "/sign-in",
            &[kind, ("cookie", &bound)],
            signed,
        )
        .await;
    let session = signed.cookies[0]
        .split(';')
        .next()
        .expect("a cookie")
        .to_owned();
    let stale = desk
        .ask(
            Method::POST,
            "/news/drafts",
            &[kind, ("cookie", &session)],
            fields,
        )
        .await;
    assert_eq!(stale.status, 303);
    assert!(stale.location.contains("draft"), "{}", stale.location);
    assert!(desk.server.posted().is_empty());
    let page = desk
        .ask(
            Method::GET,
            &format!("/news/compose?draft={draft}"),
            &[("cookie", &session)],
            String::new(),
        )
        .await;
    let token = value(&page.body, "csrf");
    let fields = form(&with(&[
        ("draft", &draft),
        ("act", "send"),
        ("csrf", &token),
    ]));
    let sent = desk
        .ask(
            Method::POST,
            "/news/drafts",
            &[kind, ("cookie", &session)],
            fields,
        )
        .await;
    assert!(
        sent.location.starts_with("/news/posts/"),
        "{} {}",
        sent.status,
        sent.location
    );
    assert_eq!(desk.server.posted().len(), 1);
}

#[tokio::test]
async fn closed_and_moderated_newsgroups_say_so_before_anybody_writes() {
    let desk = Desk::new().await;
    let closed = desk.get("/news/compose?group=misc.closed").await;
    assert!(
        closed.body.contains("misc.closed is closed") && !closed.body.contains("<textarea"),
        "{}",
        closed.body
    );
    let modded = desk.get("/news/compose?group=misc.modded").await;
    assert!(modded.body.contains("is moderated") && modded.body.contains("<textarea"));
    let nowhere = desk.get("/news/compose?group=misc.nowhere").await;
    assert!(nowhere.body.contains("No server carries misc.nowhere"));
    let list = desk.get("/news/misc.closed").await;
    assert!(!list.body.contains("/news/compose"), "{}", list.body);
    let list = desk.get("/news/misc.test").await;
    assert!(list.body.contains("/news/compose?group=misc.test"));
}

#[tokio::test]
async fn an_answer_is_quoted_and_appears_in_its_thread() {
    let desk = Desk::new().await;
    let id = news::id(3);
    let bare = id.trim_matches(['<', '>']).replace('@', "%40");
    let page = desk.get(&format!("/news/compose?reply={bare}")).await;
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(value(&page.body, "subject").starts_with("Re: "));
    assert!(page.body.contains("wrote:\n&#62; "), "{}", page.body);
    assert_eq!(
        value(&page.body, "references"),
        id.replace('<', "&#60;").replace('>', "&#62;")
    );
    let references = id.as_str();
    let sent = desk
        .send(
            "/news/drafts",
            &with(&[("references", references), ("act", "send")]),
        )
        .await;
    assert_eq!(sent.status, 303, "{}", sent.body);
    let thread = desk.get(&format!("/news/misc.test/{bare}")).await;
    assert!(
        thread.body.contains("Jörg") && thread.body.contains("First line"),
        "{}",
        thread.body
    );
    assert!(thread.body.contains(&format!("/news/compose?reply={bare}")));
}

#[tokio::test]
async fn one_takes_back_only_what_one_posted() {
    let desk = Desk::new().await;
    let sent = desk.send("/news/drafts", &with(&[("act", "send")])).await;
    let id = sent
        .location
        .trim_start_matches("/news/posts/")
        .split('?')
        .next()
        .expect("an ID")
        .to_owned();
    let article = desk.get(&format!("/news/article/{id}")).await;
    assert!(
        article.body.contains(&format!("/news/article/{id}/cancel")),
        "{}",
        article.body
    );
    let foreign = news::id(1).trim_matches(['<', '>']).replace('@', "%40");
    let other = desk.get(&format!("/news/article/{foreign}")).await;
    assert!(!other.body.contains("/cancel"));
    for path in [
        format!("/news/article/{foreign}/cancel"),
        format!("/news/compose?replace={foreign}"),
    ] {
        assert_eq!(desk.get(&path).await.status, 404, "{path}");
    }
    assert_eq!(
        desk.send(&format!("/news/article/{foreign}/cancel"), &[])
            .await
            .status,
        404
    );

    let replace = desk.get(&format!("/news/compose?replace={id}")).await;
    assert!(replace.body.contains("First line"), "{}", replace.body);
    let replaces = value(&replace.body, "replaces")
        .replace("&#60;", "<")
        .replace("&#62;", ">");
    let sent = desk
        .send(
            "/news/drafts",
            &with(&[("replaces", &replaces), ("text", "Better"), ("act", "send")]),
        )
        .await;
    assert_eq!(sent.status, 303, "{}", sent.body);
    let old = desk.get(&format!("/news/posts/{id}")).await;
    assert!(
        old.body.contains("Replaced") && !old.body.contains("/cancel"),
        "{}",
        old.body
    );
    let new = sent
        .location
        .trim_start_matches("/news/posts/")
        .split('?')
        .next()
        .expect("an ID")
        .to_owned();
    let sure = desk.get(&format!("/news/article/{new}/cancel")).await;
    assert!(sure.status == 200 && sure.body.contains("Keep article"));
    let gone = desk.send(&format!("/news/article/{new}/cancel"), &[]).await;
    assert_eq!(gone.status, 303, "{}", gone.body);
    let posted = desk.server.posted();
    let raw = String::from_utf8_lossy(&posted[2].bytes).into_owned();
    assert!(
        raw.contains("Control: cancel <")
            && raw.contains("Cancel-Key: sha256:")
            && raw.contains("From: j@b.example"),
        "{raw}"
    );
    let after = desk.get(&format!("/news/posts/{new}")).await;
    assert!(
        after.body.contains("Cancelled by its author"),
        "{}",
        after.body
    );
}

#[tokio::test]
async fn drafts_can_be_kept_and_discarded() {
    let desk = Desk::new().await;
    let kept = desk
        .send("/news/drafts", &with(&[("act", "keep"), ("subject", "")]))
        .await;
    assert_eq!((kept.status, kept.location.as_str()), (303, "/news/posts"));
    let all = desk.get("/news/posts").await;
    let draft = value(&all.body, "draft");
    let page = desk.get(&format!("/news/compose?draft={draft}")).await;
    assert!(page.body.contains("First line"));
    assert_eq!(
        desk.send("/news/posts/discard", &[("draft", &draft)])
            .await
            .status,
        303
    );
    assert_eq!(
        desk.get(&format!("/news/compose?draft={draft}"))
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn programs_post_with_a_key_and_hear_what_became_of_it() {
    let desk = Desk::new().await;
    let body = r#"{"name": "Prog", "address": "p@b.example", "groups": ["misc.test"], "subject": "By program", "text": "Hello"}"#;
    let (status, answer) = desk.json(Method::POST, "/api/v1/news/articles", body).await;
    assert_eq!(status, 201, "{answer}");
    let id = answer["id"].as_str().expect("an ID").to_owned();
    assert_eq!(
        (answer["server"].as_str(), answer["groups"][0].as_str()),
        (Some("one"), Some("misc.test"))
    );
    let path = format!("/api/v1/news/articles/{}", id.replace('@', "%40"));
    let (_, article) = desk.json(Method::GET, &path, "").await;
    assert_eq!(article["subject"], "By program");
    assert!(article["post"]["state"].is_string(), "{article}");
    let reply = format!(r#"{{"address": "p@b.example", "reply_to": "{id}", "text": "Me too"}}"#);
    let (status, answer) = desk
        .json(Method::POST, "/api/v1/news/articles", &reply)
        .await;
    assert_eq!(
        (status, answer["subject"].as_str()),
        (201, Some("Re: By program"))
    );
    let bad = r#"{"address": "x", "groups": ["misc.closed"], "text": "x", "subject": "a\r\nApproved: me"}"#;
    let (status, answer) = desk.json(Method::POST, "/api/v1/news/articles", bad).await;
    assert_eq!(status, 422, "{answer}");
    let closed = bad.replace("\"x\", \"groups", "\"x@y.example\", \"groups");
    let (status, answer) = desk
        .json(Method::POST, "/api/v1/news/articles", &closed)
        .await;
    assert_eq!(status, 422);
    assert!(
        answer.to_string().contains("misc.closed is closed"),
        "{answer}"
    );
    let path = format!("/api/v1/news/posts/{}", id.replace('@', "%40"));
    let (status, answer) = desk.json(Method::DELETE, &path, "").await;
    assert_eq!(status, 202, "{answer}");
    assert!(answer["taken_back_at"].is_string());
    let kind = ("content-type", "application/json");
    let stranger = desk
        .ask(
            Method::POST,
            "/api/v1/news/articles",
            &[kind],
            body.to_owned(),
        )
        .await;
    assert_eq!(stranger.status, 401);
}
