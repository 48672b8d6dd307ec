//! Pages that everybody may read: who gets in, who may change something, and what caches may keep.

use std::time::Duration;

use axum::{
    Json, Router,
    http::{HeaderMap, Method, StatusCode},
    routing::get,
};
use weir_web::openapi::schema::{object, text};
use weir_web::openapi::{ApiRoutes, Operation};
use weir_web::{
    Access, Auth, Config, Contribution, Icon, Identity, NavEntry, NavGroup, Right, Visitor as Asked,
};

use crate::support::{FAR, KEY, Reply, Rig, Visitor, config, rig, rig_of};

const BODY: &str = "<h1>Newsgroups</h1>";

fn identity(asked: &Asked) -> &'static str {
    match asked.identity {
        Identity::Nobody => "nobody",
        Identity::Anyone => "anyone",
        Identity::Key => "key",
        Identity::Session(_) => "session",
    }
}

fn public() -> Contribution {
    let page = async |asked: Asked, headers: HeaderMap| asked.tagged(&headers, "News", BODY, 7);
    let other = async |asked: Asked, headers: HeaderMap| asked.tagged(&headers, "News", BODY, 8);
    let who = async |asked: Asked| identity(&asked);
    let api = async |asked: Asked| Json(serde_json::json!({ "who": identity(&asked) }));
    let costly = async |asked: Asked| asked.pay(9).map(|()| "all of it");
    let pages = Router::new()
        .route("/news", get(page).post(who))
        .route("/news/costly", get(costly))
        .route("/news/other", get(other))
        .route("/news/who", get(who));
    Contribution::new("news", "News", Icon::News)
        .router_for(Access::Reading, Right::Read, pages)
        .api(
            ApiRoutes::new()
                .route(
                    Operation::get("/api/v1/news", "Who reads")
                        .needs(Right::Read)
                        .answers("It.", object([("who", text())])),
                    api,
                )
                .route(
                    Operation::post("/api/v1/news", "Who writes").answers_text(StatusCode::OK, ""),
                    who,
                )
                .for_readers(),
        )
        .router(
            Right::Read,
            Router::new().route("/private", get(async || "private")),
        )
        .public("/news")
        .nav(NavEntry {
            label: "News",
            href: "/news",
            icon: Icon::News,
            key: 'n',
            group: NavGroup::Read,
            place: 1,
            phone: true,
            needs: Right::Read,
        })
}

fn readers() -> Rig {
    rig_of(config(), vec![public()])
}

async fn keyed(visitor: &mut Visitor<'_>, method: Method, path: &str, key: &str) -> Reply {
    visitor.ask(method, path, &[("x-api-key", key)], None).await
}

#[tokio::test]
async fn everybody_reads_and_whoever_is_known_is_known() {
    let rig = readers();
    let mut stranger = rig.visitor();
    assert_eq!(stranger.get("/news/who").await.body, "nobody");
    assert_eq!(
        stranger.get("/api/v1/news").await.body,
        r#"{"who":"nobody"}"#
    );
    assert_eq!(stranger.get("/private").await.status, 303);
    let key = keyed(&mut stranger, Method::GET, "/news/who", KEY).await;
    assert_eq!(key.body, "key");
    let wrong = keyed(&mut stranger, Method::GET, "/news/who", "wrong").await;
    assert_eq!(wrong.status, 401, "a wrong key is not overlooked");
    let mut signed_in = rig.visitor();
    signed_in.sign_in(KEY).await;
    assert_eq!(signed_in.get("/news/who").await.body, "session");
    assert_eq!(
        signed_in.get("/api/v1/news").await.body,
        r#"{"who":"session"}"#
    );
}

#[tokio::test]
async fn strangers_change_nothing_and_others_only_from_a_page_of_ours() {
    let rig = readers();
    let mut stranger = rig.visitor();
    let reply = stranger.post("/news", "csrf=").await;
    assert_eq!(
        (reply.status.as_u16(), reply.header("location")),
        (303, "/sign-in")
    );
    assert_eq!(stranger.post("/api/v1/news", "").await.status, 401);
    let key = keyed(&mut stranger, Method::POST, "/news", KEY).await;
    assert_eq!(key.body, "key");
    let mut signed_in = rig.visitor();
    signed_in.sign_in(KEY).await;
    assert_eq!(signed_in.post("/news", "").await.status, 403);
    assert_eq!(signed_in.post("/api/v1/news", "").await.status, 403);
    let token = signed_in.get("/news").await.token();
    let form = format!("csrf={token}");
    assert_eq!(signed_in.post("/news", &form).await.body, "session");
}

#[tokio::test]
async fn a_page_that_is_kept_for_the_next_reader_has_nobody_elses_forms() {
    let rig = readers();
    let [mut one, mut other] = [rig.visitor(), rig.visitor()];
    one.sign_in(KEY).await;
    other.sign_in(KEY).await;
    let first = one.get("/news").await;
    assert_eq!(one.get("/news").await.body, first.body);
    assert_ne!(other.get("/news").await.token(), first.token());
    let mut stranger = rig.visitor();
    let public = stranger.get("/news").await.body;
    assert!(!public.contains("csrf"), "{public}");
    assert_ne!(stranger.get("/news/other").await.body, public);
    assert_eq!(stranger.get("/news").await.body, public);
}

#[tokio::test]
async fn strangers_read_at_a_limited_pace_each_household_its_own() {
    let rig = readers();
    let mut robot = rig.visitor();
    for _ in 0..240 {
        assert_eq!(robot.get("/news").await.status, 200);
    }
    let refused = robot.get("/news").await;
    assert_eq!(refused.status, 429);
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert!(refused.body.contains("too many pages"), "{}", refused.body);
    let api = robot.get("/api/v1/news").await;
    assert_eq!(api.status, 429, "pages and API count together");
    assert_eq!(api.header("content-type"), "application/problem+json");

    let mut other = rig.visitor_from("203.0.113.9");
    assert_eq!(other.get("/news").await.status, 200);
    let mut signed_in = rig.visitor();
    signed_in.sign_in(KEY).await;
    assert_eq!(signed_in.get("/news").await.status, 200);
    assert_eq!(
        keyed(&mut robot, Method::GET, "/news", KEY).await.status,
        200
    );
    rig.clock.advance(Duration::from_secs(wait + 5));
    assert_eq!(robot.get("/news").await.status, 200);
}

fn with_pace(pages: u32, seconds: u64) -> Config {
    Config {
        reading_pages: pages.try_into().unwrap(),
        reading_window: Duration::from_secs(seconds),
        ..config()
    }
}

#[tokio::test]
async fn the_pace_is_as_configured_and_a_reload_changes_it() {
    let rig = rig_of(with_pace(3, 10), vec![public()]);
    let mut robot = rig.visitor();
    for _ in 0..3 {
        assert_eq!(robot.get("/news").await.status, 200);
    }
    let refused = robot.get("/news").await;
    assert_eq!(
        (refused.status.as_u16(), refused.header("retry-after")),
        (429, "10")
    );
    rig.app.stage(with_pace(4, 20)).unwrap()();
    assert_eq!(robot.get("/news").await.status, 200);
    let refused = robot.get("/news").await;
    assert_eq!(
        (refused.status.as_u16(), refused.header("retry-after")),
        (429, "20")
    );
    let robots = robot.get("/robots.txt").await.body;
    assert!(robots.contains("Crawl-delay: 10\n"), "{robots}");
}

#[tokio::test]
async fn what_costs_as_much_as_many_pages_counts_as_many() {
    let rig = rig_of(with_pace(20, 60), vec![public()]);
    let mut stranger = rig.visitor();
    // Ten each: the request itself, and nine more.
    for _ in 0..2 {
        assert_eq!(stranger.get("/news/costly").await.body, "all of it");
    }
    assert_eq!(stranger.get("/news").await.status, 429);
    let mut other = rig.visitor_from("203.0.113.9");
    for _ in 0..12 {
        assert_eq!(other.get("/news").await.status, 200);
    }
    let refused = other.get("/news/costly").await;
    assert_eq!(refused.status, 429, "only seven are left");
    assert!(refused.header("retry-after").parse::<u64>().is_ok());
    let mut signed_in = rig.visitor();
    signed_in.sign_in(KEY).await;
    for _ in 0..9 {
        assert_eq!(signed_in.get("/news/costly").await.status, 200);
    }
    rig.app.stage(with_pace(8, 60)).unwrap()();
    let never = rig.visitor_from("203.0.113.77").get("/news/costly").await;
    assert_eq!(
        (never.status.as_u16(), never.header("retry-after")),
        (429, "")
    );
    assert!(
        never.body.contains("counts as 9 more pages"),
        "{}",
        never.body
    );
}

#[tokio::test]
async fn this_machine_is_not_slowed_down() {
    let rig = readers();
    let mut near = rig.visitor_from("127.0.0.1");
    for _ in 0..300 {
        assert_eq!(near.get("/news").await.status, 200);
    }
}

#[tokio::test]
async fn strangers_see_what_they_may_read_and_where_to_sign_in() {
    let rig = readers();
    let page = rig.visitor().get("/news").await.body;
    assert!(page.contains(BODY));
    assert!(page.contains(r#"<a href="/news" data-key="n" aria-current="page">News</a>"#));
    assert!(page.contains(r#"<a href="/sign-in?next=/news">Sign in</a>"#));
    assert!(!page.contains("/more") && !page.contains("csrf"), "{page}");
    let missing = rig.visitor().get("/news/no-such-page").await;
    assert_eq!(missing.status, 404);
    assert!(missing.body.contains(r#"href="/news""#));
    let sign_in = rig.visitor().get("/sign-in").await.body;
    assert!(!sign_in.contains(r#"href="/news""#));
    let closed = crate::support::rig();
    let page = closed.visitor().get("/no-such-page").await.body;
    assert!(!page.contains("Sign in"), "nothing is public there");
}

#[tokio::test]
async fn a_page_that_has_not_changed_is_not_sent_again() {
    let rig = readers();
    let mut stranger = rig.visitor();
    let first = stranger.get("/news").await;
    assert_eq!(first.header("cache-control"), "public, max-age=60");
    assert_eq!(first.header("vary"), "cookie");
    assert!(stranger.cookies.is_empty(), "caches keep it for everybody");
    let tag = first.header("etag").to_owned();
    let ask = async |visitor: &mut Visitor<'_>, path, tag: &str| {
        let tags = format!("\"other\", W/{tag}");
        let headers = [("if-none-match", tags.as_str())];
        visitor.ask(Method::GET, path, &headers, None).await
    };
    let same = ask(&mut stranger, "/news", &tag).await;
    assert_eq!((same.status.as_u16(), same.body.as_str()), (304, ""));
    assert_eq!(same.header("etag"), tag);
    assert_eq!(same.header("cache-control"), "public, max-age=60");
    let other = ask(&mut stranger, "/news/other", &tag).await;
    assert_eq!(other.status, 200, "another body");

    stranger.cookies.push(("weir_theme".into(), "dark".into()));
    let dark = ask(&mut stranger, "/news", &tag).await;
    assert_eq!(dark.status, 200);
    assert!(dark.body.contains("data-theme=\"dark\""));

    let mut tags = vec![tag, dark.header("etag").to_owned()];
    for _ in 0..2 {
        let mut signed_in = rig.visitor();
        signed_in.sign_in(KEY).await;
        let page = signed_in.get("/news").await;
        assert_eq!(page.header("cache-control"), "private, no-cache");
        let tag = page.header("etag").to_owned();
        assert_eq!(ask(&mut signed_in, "/news", &tag).await.status, 304);
        tags.push(tag);
    }
    let key = keyed(&mut rig.visitor(), Method::GET, "/news", KEY).await;
    let again = keyed(&mut rig.visitor(), Method::GET, "/news", KEY).await;
    assert_eq!(key.header("etag"), again.header("etag"));
    tags.push(key.header("etag").to_owned());
    tags.sort();
    let all = tags.len();
    tags.dedup();
    assert_eq!(tags.len(), all, "each visitor has its own: {tags:?}");
}

#[tokio::test]
async fn a_restart_leaves_pages_in_browsers_valid() {
    let tag = async |rig: Rig| rig.visitor().get("/news").await.header("etag").to_owned();
    assert_eq!(tag(readers()).await, tag(readers()).await);
}

#[tokio::test]
async fn without_sign_in_everybody_is_let_in_but_not_by_a_strange_name() {
    let open = Config {
        auth: Auth::None,
        ..config()
    };
    let rig = rig_of(open, vec![public()]);
    let mut anyone = rig.visitor();
    assert_eq!(anyone.get("/news/who").await.body, "anyone");
    let token = anyone.get("/news").await.token();
    let form = format!("csrf={token}");
    assert_eq!(anyone.post("/news", &form).await.body, "anyone");
    assert_eq!(anyone.post("/news", "").await.status, 403);
    let host = [("host", "evil.example")];
    let led = rig.visitor_from(FAR);
    let mut led = led;
    let page = led.ask(Method::GET, "/news/who", &host, None).await;
    assert_eq!(page.body, "nobody", "it is public");
    let page = led.ask(Method::POST, "/news", &host, None).await;
    assert_eq!(page.status, 403);
}

#[tokio::test]
async fn robots_are_told_what_they_may_read() {
    let robots = readers().visitor().get("/robots.txt").await;
    assert!(robots.header("content-type").starts_with("text/plain"));
    assert!(robots.body.contains("Allow: /news\n"), "{}", robots.body);
    assert!(robots.body.ends_with("Disallow: /\n"));
    let closed = rig().visitor().get("/robots.txt").await.body;
    assert_eq!(closed, "User-agent: *\nDisallow: /\n");
}
