//! `figures`: what each front counts and how it is doing, each second.

use serde_json::{Value, json};

use crate::{App, pages, status};

/// The fields of `/api/v1/status`. Nothing here changes by itself, so that a Weir at rest is silent.
pub(super) fn figures(app: &App) -> Value {
    json!({
        "sentence": pages::overview::opening(app),
        "fronts": status::fronts(app),
    })
}
