//! Light or dark: as the system is set unless a cookie says otherwise.

use std::time::Duration;

use axum::{
    extract::{Form, State},
    http::{HeaderMap, header},
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;

use crate::{App, Visitor, auth::cookie, pages::local};

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// What the form sends.
#[derive(Debug, Deserialize)]
pub(crate) struct ThemeForm {
    theme: String,
    #[serde(default)]
    next: String,
}

/// The theme the visitor chose, if any; any other value of the cookie is ignored.
pub(crate) fn chosen(headers: &HeaderMap) -> Option<&'static str> {
    match cookie::read(headers, cookie::THEME)? {
        "light" => Some("light"),
        "dark" => Some("dark"),
        _ => None,
    }
}

/// `POST /theme`.
pub(crate) async fn choose(
    State(_): State<App>,
    visitor: Visitor,
    Form(choice): Form<ThemeForm>,
) -> Response {
    let (theme, lifetime) = match choice.theme.as_str() {
        "light" => ("light", YEAR),
        "dark" => ("dark", YEAR),
        _ => ("system", Duration::ZERO),
    };
    let mut response = Redirect::to(local(&choice.next).unwrap_or("/")).into_response();
    if let Some(value) = cookie::set(cookie::THEME, theme, lifetime, visitor.client.https) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    response
}
