//! Each access rule with each way to identify oneself.

use axum::http::{Method, StatusCode};
use weir_web::{Auth, Config};

use crate::support::{FAR, KEY, Rig, config, rig, rig_with};

const OK: u16 = 200;

async fn status(
    rig: &Rig,
    address: &str,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
) -> u16 {
    rig.visitor_from(address)
        .ask(method, path, headers, None)
        .await
        .status
        .as_u16()
}

#[tokio::test]
async fn each_rule_opens_to_whom_it_should() {
    let rig = rig();
    let mut signed_in = rig.visitor();
    signed_in.sign_in(KEY).await;
    let bearer = format!("Bearer {KEY}");
    let with_bearer = [("authorization", bearer.as_str())];
    // path, without key, header key, wrong header key, ?apikey=
    let rules = [
        ("/page", 303, OK, 401, 303),
        ("/", 303, OK, 401, 303),
        ("/more", 303, OK, 401, 303),
        ("/api/v1/sample", 401, OK, 401, 401),
        ("/feed", 401, OK, 401, OK),
        ("/stats", 401, OK, 401, OK),
        ("/metrics", 401, OK, 401, OK),
        ("/open", OK, OK, OK, OK),
        ("/healthz", OK, OK, OK, OK),
        ("/readyz", OK, OK, OK, OK),
    ];
    for (number, (path, nothing, key, wrong, query)) in rules.into_iter().enumerate() {
        let address = format!("203.0.113.{number}");
        let get = |headers| status(&rig, &address, Method::GET, path, headers);
        assert_eq!(get(&[]).await, nothing, "{path} without key");
        assert_eq!(get(&with_bearer).await, key, "{path} with Bearer");
        assert_eq!(
            get(&[("x-api-key", KEY)]).await,
            key,
            "{path} with X-Api-Key"
        );
        assert_eq!(
            get(&[("x-api-key", "wrong")]).await,
            wrong,
            "{path} with a wrong key"
        );
        assert_eq!(
            get(&[("cookie", "weir_session=wrong")]).await,
            nothing,
            "{path} with a wrong cookie"
        );
        let with_query = format!("{path}?apikey={KEY}");
        assert_eq!(
            status(&rig, &address, Method::GET, &with_query, &[]).await,
            query,
            "{path} with ?apikey"
        );
        assert_eq!(
            signed_in.get(path).await.status.as_u16(),
            OK,
            "{path} signed in"
        );
    }
}

#[tokio::test]
async fn a_key_in_the_address_changes_nothing_and_travels_no_further() {
    let rig = rig();
    let path = format!("/feed?apikey={KEY}");
    assert_eq!(status(&rig, FAR, Method::POST, &path, &[]).await, 401);
    let path = format!("/feed?apikey=&passkey={KEY}");
    assert_eq!(status(&rig, FAR, Method::GET, &path, &[]).await, 200);
    let reply = rig.visitor().get(&format!("/page?passkey={KEY}")).await;
    assert_eq!(reply.header("location"), "/sign-in");
    let reply = rig.visitor().get(&format!("/page?apikey={KEY}")).await;
    assert_eq!(reply.header("location"), "/sign-in");
}

#[tokio::test]
async fn programs_are_told_in_their_own_words() {
    let rig = rig();
    let mut visitor = rig.visitor();
    let api = visitor.get("/api/v1/sample").await;
    let json: serde_json::Value = serde_json::from_str(&api.body).unwrap();
    assert_eq!(json["error"], "This needs a key.");
    assert_eq!(json["request_id"], api.header("x-request-id"));
    assert_eq!(api.header("www-authenticate"), "Bearer realm=\"Weir\"");
    assert!(visitor.get("/feed").await.body.contains("code=\"100\""));
    let metrics = visitor.get("/metrics").await;
    assert!(
        metrics.body.contains("Add the address to web.trusted"),
        "{}",
        metrics.body
    );
    assert_eq!(
        visitor
            .ask(Method::POST, "/page", &[], None)
            .await
            .header("location"),
        "/sign-in"
    );
}

#[tokio::test]
async fn figures_are_open_to_this_machine_and_to_the_trusted() {
    let rig = rig_with(Config {
        trusted: vec!["192.0.2.0/24".parse().unwrap()],
        trusted_proxies: vec!["10.0.0.1/32".parse().unwrap()],
        ..config()
    });
    let get = |address, headers| status(&rig, address, Method::GET, "/stats", headers);
    assert_eq!(get("127.0.0.1", &[]).await, OK);
    assert_eq!(get("::1", &[]).await, OK);
    assert_eq!(get("192.0.2.9", &[]).await, OK);
    assert_eq!(get(FAR, &[]).await, 401);
    assert_eq!(
        get("127.0.0.1", &[("x-forwarded-for", "127.0.0.1")]).await,
        401,
        "an unknown proxy on this machine"
    );
    assert_eq!(
        get("10.0.0.1", &[("x-forwarded-for", "192.0.2.9")]).await,
        OK
    );
    assert_eq!(
        get(
            "10.0.0.1",
            &[("x-forwarded-for", "192.0.2.9, 198.51.100.1")]
        )
        .await,
        401
    );
    assert_eq!(get(FAR, &[("x-forwarded-for", "127.0.0.1")]).await, 401);
    assert_eq!(
        status(&rig, "127.0.0.1", Method::GET, "/page", &[]).await,
        303,
        "but pages are not"
    );
    rig.app.stage(config()).unwrap()();
    assert_eq!(
        get("192.0.2.9", &[]).await,
        401,
        "a reload takes trust away"
    );
}

#[tokio::test]
async fn tries_are_counted_by_the_address_behind_a_trusted_proxy() {
    let rig = rig_with(Config {
        trusted_proxies: vec!["10.0.0.1/32".parse().unwrap()],
        ..config()
    });
    let from = |client| [("x-forwarded-for", client), ("x-api-key", "wrong")];
    for _ in 0..5 {
        assert_eq!(
            status(&rig, "10.0.0.1", Method::GET, "/feed", &from("203.0.113.1")).await,
            401
        );
    }
    assert_eq!(
        status(&rig, "10.0.0.1", Method::GET, "/feed", &from("203.0.113.1")).await,
        429
    );
    assert_eq!(
        status(&rig, "10.0.0.1", Method::GET, "/feed", &from("203.0.113.2")).await,
        401
    );
}

#[tokio::test]
async fn a_session_by_https_stays_on_https() {
    let rig = rig_with(Config {
        trusted_proxies: vec!["10.0.0.1/32".parse().unwrap()],
        ..config()
    });
    let link = rig.app.sign_in_link().unwrap();
    let https = [("x-forwarded-for", FAR), ("x-forwarded-proto", "https")];
    let reply = rig
        .visitor_from("10.0.0.1")
        .ask(Method::GET, &link, &https, None)
        .await;
    assert!(
        reply.header("set-cookie").ends_with("; Secure"),
        "{reply:?}"
    );
}

#[tokio::test]
async fn without_sign_in_everything_opens() {
    let rig = rig_with(Config {
        auth: Auth::None,
        ..config()
    });
    for path in [
        "/",
        "/page",
        "/api/v1/sample",
        "/feed",
        "/stats",
        "/metrics",
    ] {
        assert_eq!(
            status(&rig, FAR, Method::GET, path, &[]).await,
            OK,
            "{path}"
        );
        assert_eq!(
            status(&rig, FAR, Method::GET, path, &[("x-api-key", "wrong")]).await,
            OK,
            "{path}"
        );
    }
    let page = rig.visitor().get("/").await;
    assert!(page.body.contains("No sign-in") && !page.body.contains("Sign out"));
}

#[tokio::test]
async fn a_site_that_leads_a_browser_here_by_its_own_name_gets_nothing() {
    let evil = [("host", "evil.example:7070")];
    let closed = rig();
    for path in ["/stats", "/metrics"] {
        let status = status(&closed, "127.0.0.1", Method::GET, path, &evil).await;
        assert_eq!(status, 401, "{path}");
    }
    let open = |hosts| {
        rig_with(Config {
            auth: Auth::None,
            hosts,
            ..config()
        })
    };
    let rig = open(Vec::new());
    for path in ["/", "/page", "/api/v1/sample"] {
        assert_eq!(
            status(&rig, FAR, Method::GET, path, &evil).await,
            403,
            "{path}"
        );
        let key = [evil[0], ("x-api-key", KEY)];
        assert_eq!(
            status(&rig, FAR, Method::GET, path, &key).await,
            OK,
            "{path}"
        );
    }
    let reply = rig
        .visitor()
        .ask(Method::POST, "/api/v1/sample", &evil, None)
        .await;
    assert!(reply.body.contains("web.hosts"), "{}", reply.body);
    let rig = open(vec!["evil.example".into()]);
    assert_eq!(status(&rig, FAR, Method::GET, "/", &evil).await, OK);
}

#[tokio::test]
async fn unknown_addresses_show_strangers_nothing_of_the_shell() {
    let rig = rig();
    let reply = rig.visitor().get("/nothing/here").await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    assert!(reply.body.contains(reply.header("x-request-id")));
    assert!(!reply.body.contains("aria-label=\"Pages\"") && !reply.body.contains("Weir 0."));
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    assert!(
        visitor
            .get("/nothing/here")
            .await
            .body
            .contains("aria-label=\"Pages\"")
    );
}
