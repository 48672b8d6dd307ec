//! The form *Send a test*, which is on the settings page.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::post;
use percent_encoding::utf8_percent_encode;
use weir_config::ENCODED;
use weir_web::{Failure, field};

use crate::test_message::Desk;

/// The routes for people.
pub(crate) fn router(desk: &Desk) -> Router {
    Router::new()
        .route("/settings/notify/test", post(test))
        .with_state(desk.clone())
}

/// The page shows each hook's last test, so it only has to be opened again.
async fn test(State(desk): State<Desk>, body: Bytes) -> Result<Redirect, Failure> {
    let hook = field(&body, "hook").unwrap_or_default();
    desk.test(Some(&hook)).await?;
    let hook = utf8_percent_encode(&hook, ENCODED);
    Ok(Redirect::to(&format!("/settings?tested={hook}")))
}
