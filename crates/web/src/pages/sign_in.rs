//! `/sign-in`, by key or by link; and `/sign-out`.
//!
//! The link signs in by a plain GET: it is printed on a terminal and opened once, and a page with one more button
//! would help nobody. A browser that fetches it ahead of its user must not use it up, so prefetches are turned away.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::{
    extract::{Query, Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Deserialize;

use crate::{
    App, Failure, Identity, Visitor,
    access::seconds_until,
    auth::{Followed, NotTaken, Sought, cookie, site::Site},
    forms::{field, form_token, stale_form, too_large},
    pages::{local, time::Shown},
    visitor::SessionId,
};

/// What must be encoded in a query value.
const VALUE: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'+')
    .add(b'<')
    .add(b'>')
    .add(b'=')
    .add(b'?');
/// Maximum size of the form: a key is one line.
const FORM: usize = 16 * 1024;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    token: &'a str,
    next: &'a str,
    mistake: Option<Cow<'a, str>>,
    until: Option<Shown>,
}

/// What the address can hold.
#[derive(Debug, Deserialize)]
pub(crate) struct SignInQuery {
    link: Option<String>,
    #[serde(default)]
    next: String,
}

/// Why the page is shown again.
enum WhyAgain {
    WrongKey,
    WrongLink,
    Expired,
    Unsure(Option<Arc<str>>),
    Throttled(jiff::Timestamp),
}

/// Where a stranger who opened a page is sent. After signing in they come back to the page, unless the request was not a
/// GET or its address holds a key.
pub(crate) fn path_back_to(request: &Request) -> String {
    let target = request
        .uri()
        .path_and_query()
        .map_or("/", |target| target.as_str());
    let holds_key = request
        .uri()
        .query()
        .map(str::to_ascii_lowercase)
        .is_some_and(|query| query.contains("apikey") || query.contains("passkey"));
    let plain = request.method() == Method::GET && target != "/" && !holds_key;
    path_back(if plain { target } else { "" })
}

/// Where to sign in and come back to this path of ours; to the overview if it is none.
pub(crate) fn path_back(target: &str) -> String {
    match local(target) {
        Some(target) => format!("/sign-in?next={}", utf8_percent_encode(target, VALUE)),
        None => "/sign-in".to_owned(),
    }
}

/// `GET /sign-in`.
pub(crate) async fn show(
    State(app): State<App>,
    visitor: Visitor,
    Query(asked): Query<SignInQuery>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let next = local(&asked.next).unwrap_or("/");
    if visitor.identity.signed_in() {
        return Ok(Redirect::to(next).into_response());
    }
    let Some(link) = asked.link else {
        return Ok(page(&app, &visitor, next, None));
    };
    if method == Method::HEAD || ahead_of_its_user(&headers) {
        return Ok(StatusCode::SERVICE_UNAVAILABLE.into_response());
    }
    let site = Site::of(&headers, &visitor.client);
    let followed = app
        .keeper()
        .use_link(&link, agent(&headers), &visitor.client, site)
        .await?;
    let again = match followed {
        Followed::In(token) => {
            tracing::info!(client = %visitor.client.address, "signed in by link");
            return Ok(signed_in(&app, &visitor, &token, next));
        }
        Followed::Expired => WhyAgain::Expired,
        Followed::Unsure(maker) => WhyAgain::Unsure(maker),
        Followed::Not(NotTaken::Wrong) => WhyAgain::WrongLink,
        Followed::Not(NotTaken::Throttled { until }) => WhyAgain::Throttled(until),
    };
    Ok(page(&app, &visitor, next, Some(again)))
}

/// `POST /sign-in`.
pub(crate) async fn submit(
    State(app): State<App>,
    visitor: Visitor,
    request: Request,
) -> Result<Response, Response> {
    let headers = request.headers().clone();
    let bound_to = cookie::read(&headers, cookie::FORM)
        .unwrap_or_default()
        .as_bytes()
        .to_vec();
    let (given, request) = form_token(request, FORM)
        .await
        .map_err(|response| *response)?;
    let keeper = app.keeper();
    let known = matches!(visitor.identity, Identity::Session(_));
    if !known && !given.is_some_and(|given| keeper.form_token_is_right(&bound_to, &given)) {
        return Err(stale_form().into_response());
    }
    let form = axum::body::to_bytes(request.into_body(), FORM)
        .await
        .map_err(|_| too_large(FORM).into_response())?;
    let asked = field(&form, "next").unwrap_or_default();
    let next = local(&asked).unwrap_or("/");
    let key = field(&form, "key").unwrap_or_default();
    let sought = Sought {
        session: None,
        key: Some(key.trim().to_owned()),
        site: Site::Ours,
    };
    keeper.look_for(&sought, &visitor.client).await;
    // The form's token proves that the page was ours.
    match keeper.key(key.trim(), &visitor.client, Site::Ours) {
        Ok(bearer) => {
            let token = keeper
                .sign_in(&bearer, agent(&headers), &visitor.client)
                .await
                .map_err(|error| Failure::from(error).into_response())?;
            let name = bearer.name.as_deref().unwrap_or("the first one");
            tracing::info!(client = %visitor.client.address, key = name, "signed in by key");
            Ok(signed_in(&app, &visitor, &token, next))
        }
        Err(NotTaken::Wrong) => Ok(page(&app, &visitor, next, Some(WhyAgain::WrongKey))),
        Err(NotTaken::Throttled { until }) => {
            Ok(page(&app, &visitor, next, Some(WhyAgain::Throttled(until))))
        }
    }
}

/// `POST /sign-out`.
pub(crate) async fn sign_out(
    State(app): State<App>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    if let Identity::Session(SessionId(id)) = visitor.identity {
        app.keeper().sign_out(id).await?;
    }
    let mut response = Redirect::to("/sign-in").into_response();
    add_cookie(&mut response, "", Duration::ZERO, visitor.client.https);
    Ok(response)
}

fn signed_in(app: &App, visitor: &Visitor, token: &str, next: &str) -> Response {
    let mut response = Redirect::to(next).into_response();
    let lifetime = app.keeper().settings().rules.session_lifetime;
    add_cookie(&mut response, token, lifetime, visitor.client.https);
    response
}

fn add_cookie(response: &mut Response, token: &str, lifetime: Duration, https: bool) {
    if let Some(value) = cookie::set(cookie::SESSION, token, lifetime, https) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
}

fn page(app: &App, visitor: &Visitor, next: &str, again: Option<WhyAgain>) -> Response {
    let (status, mistake, until) = match again {
        None => (StatusCode::OK, None, None),
        Some(WhyAgain::WrongKey) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            Some("That is not the key.".into()),
            None,
        ),
        Some(WhyAgain::WrongLink) => (
            StatusCode::FORBIDDEN,
            Some(
                "That link has already been used or replaced by a newer one. Run `weir sign-in` for a new one."
                    .into(),
            ),
            None,
        ),
        Some(WhyAgain::Expired) => (
            StatusCode::FORBIDDEN,
            Some(
                "That link has expired: links are valid for an hour. Run `weir sign-in` for a new one."
                    .into(),
            ),
            None,
        ),
        Some(WhyAgain::Unsure(maker)) => {
            let maker = maker.as_deref().unwrap_or("the node that made it");
            let mistake = format!(
                "The store of the nodes does not answer, so this node cannot tell whether that link is still good. Open it at {maker}, or sign in with a key."
            );
            (StatusCode::SERVICE_UNAVAILABLE, Some(mistake.into()), None)
        }
        Some(WhyAgain::Throttled(until)) => (StatusCode::TOO_MANY_REQUESTS, None, Some(until)),
    };
    let shown = until.map(|until| Shown::exactly(until, &app.shell().zone));
    let page = SignInPage {
        token: &visitor.form_token,
        next,
        mistake,
        until: shown,
    };
    let mut response = (status, visitor.show("Sign in", &page)).into_response();
    if let Some(until) = until {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, seconds_until(until, app.now()).into());
    }
    response
}

fn ahead_of_its_user(headers: &HeaderMap) -> bool {
    ["sec-purpose", "purpose", "x-moz", "x-purpose"]
        .iter()
        .any(|name| {
            headers.get(*name).is_some_and(|value| {
                let value = value.as_bytes().to_ascii_lowercase();
                value
                    .windows(5)
                    .any(|part| part == b"fetch" || part == b"previ" || part == b"prere")
            })
        })
}

fn agent(headers: &HeaderMap) -> &str {
    headers
        .get(header::USER_AGENT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("")
}
