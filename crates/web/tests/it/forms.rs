//! State changes: a key in a header, or a form of a page shown to the same visitor.

use axum::http::{Method, StatusCode};
use weir_web::{Auth, Config};

use crate::support::{KEY, config, rig, rig_with};

#[tokio::test]
async fn a_form_needs_the_token_of_its_own_session() {
    let rig = rig();
    let (mut one, mut other) = (rig.visitor(), rig.visitor());
    one.sign_in(KEY).await;
    other.sign_in(KEY).await;
    let (own, foreign) = (one.get("/").await.token(), other.get("/").await.token());
    assert_ne!(own, foreign);
    for form in [
        String::new(),
        "csrf=".into(),
        "csrf=wrong".into(),
        format!("csrf={foreign}"),
    ] {
        let refused = one.post("/page", &form).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{form}");
        assert!(
            refused.body.contains("nothing was changed"),
            "{}",
            refused.body
        );
    }
    assert_eq!(
        one.post("/page", &format!("x=1&csrf={own}")).await.body,
        "page"
    );
    let by_header = one
        .ask(
            Method::POST,
            "/api/v1/sample",
            &[("x-csrf-token", &own)],
            Some("{}"),
        )
        .await;
    assert_eq!(by_header.body, "api");
    let json = [("content-type", "application/json")];
    assert_eq!(
        one.ask(Method::POST, "/api/v1/sample", &json, Some("{}"))
            .await
            .status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        one.post("/sign-out", "csrf=wrong").await.status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(one.get("/page").await.body, "page", "still signed in");
}

#[tokio::test]
async fn the_handler_still_sees_the_whole_form() {
    let rig = rig();
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let token = visitor.get("/").await.token();
    let form = format!("a=1&csrf={token}&b=2");
    assert_eq!(visitor.post("/takes", &form).await.body, form);
}

#[tokio::test]
async fn a_key_in_a_header_needs_no_token() {
    let rig = rig();
    let mut program = rig.visitor();
    assert_eq!(
        program
            .ask(Method::POST, "/page", &[("x-api-key", KEY)], None)
            .await
            .body,
        "page"
    );
    let bearer = format!("bearer {KEY}");
    assert_eq!(
        program
            .ask(
                Method::POST,
                "/api/v1/sample",
                &[("authorization", &bearer)],
                None
            )
            .await
            .body,
        "api"
    );
}

#[tokio::test]
async fn the_sign_in_form_must_be_ours_too() {
    let rig = rig();
    let mut visitor = rig.visitor();
    assert_eq!(
        visitor.post("/sign-in", &format!("key={KEY}")).await.status,
        StatusCode::FORBIDDEN
    );
    let token = rig.visitor().get("/sign-in").await.token();
    let foreign = visitor
        .post("/sign-in", &format!("key={KEY}&csrf={token}"))
        .await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
    assert!(!visitor.signed_in());
}

#[tokio::test]
async fn without_sign_in_forms_still_need_their_token() {
    let rig = rig_with(Config {
        auth: Auth::None,
        ..config()
    });
    let mut visitor = rig.visitor();
    let token = visitor.get("/").await.token();
    assert_eq!(
        visitor.post("/page", "csrf=wrong").await.status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        rig.visitor()
            .post("/page", &format!("csrf={token}"))
            .await
            .status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        visitor.post("/page", &format!("csrf={token}")).await.body,
        "page"
    );
    let mut program = rig.visitor();
    assert_eq!(
        program
            .ask(Method::POST, "/api/v1/sample", &[], Some("{}"))
            .await
            .body,
        "api"
    );
    assert_eq!(
        program.ask(Method::POST, "/open", &[], None).await.body,
        "open"
    );
    let site = [("origin", "https://evil.example")];
    assert_eq!(
        program
            .ask(Method::POST, "/api/v1/sample", &site, Some("{}"))
            .await
            .status,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn the_theme_is_a_cookie_and_an_attribute() {
    let rig = rig();
    let mut visitor = rig.visitor();
    visitor.sign_in(KEY).await;
    let page = visitor.get("/").await;
    assert!(page.body.contains("<html lang=\"en\">"));
    let token = page.token();
    let reply = visitor
        .post("/theme", &format!("csrf={token}&theme=dark&next=%2Fmore"))
        .await;
    assert_eq!(
        (reply.status, reply.header("location")),
        (StatusCode::SEE_OTHER, "/more")
    );
    assert!(
        visitor
            .get("/")
            .await
            .body
            .contains("<html lang=\"en\" data-theme=\"dark\">")
    );
    visitor
        .post(
            "/theme",
            &format!("csrf={token}&theme=system&next=//evil.example"),
        )
        .await;
    assert!(visitor.get("/").await.body.contains("<html lang=\"en\">"));
    visitor
        .cookies
        .push(("weir_theme".into(), "\"><script>".into()));
    assert!(!visitor.get("/").await.body.contains("<script>"));
}
