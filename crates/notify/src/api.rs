//! `POST /api/v1/notify/test`.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use weir_web::Failure;
use weir_web::openapi::schema::{flag, list, object, text};
use weir_web::openapi::{ApiRoutes, Operation};

use crate::test_message::Desk;

/// The routes of the API that belong to this front.
pub(crate) fn routes(desk: &Desk) -> ApiRoutes {
    let results = list(object([
        ("hook", text()),
        ("arrived", flag()),
        ("sentence", text().about("What the hook answered.")),
    ]));
    let test = Operation::post("/api/v1/notify/test", "Send a test notification")
        .optional_body(object([(
            "hook",
            text().optional().about("Its name; all hooks without it."),
        )]))
        .answers("What each hook answered.", object([("results", results)]))
        .fails(
            StatusCode::NOT_FOUND,
            "There is no such hook, or none at all.",
        );
    ApiRoutes::new()
        .route(test, self::test)
        .with_state(desk.clone())
}

/// What is sent to have a test; nothing for all hooks.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TestBody {
    hook: Option<String>,
}

async fn test(State(desk): State<Desk>, body: Bytes) -> Result<Json<Value>, Failure> {
    let body: TestBody = match body.is_empty() {
        true => TestBody::default(),
        false => serde_json::from_slice(&body).map_err(|error| {
            Failure::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                format!("The body cannot be read: {error}."),
                "Send JSON such as {\"hook\": \"phone\"}, or nothing to test all hooks.",
            )
        })?,
    };
    let tested = desk.test(body.hook.as_deref()).await?;
    let results: Vec<Value> = tested
        .iter()
        .map(|one| json!({ "hook": one.hook, "arrived": one.arrived, "sentence": one.sentence }))
        .collect();
    Ok(Json(json!({ "results": results })))
}
