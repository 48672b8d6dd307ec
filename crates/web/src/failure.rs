//! What a client is told when something did not work: a status, a sentence, what to do. Handlers return it; the
//! access layer and the guard write it in the route's own format.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::RequestId;

/// Why a request was refused or failed, in words for whoever sent it.
#[derive(Debug, Clone)]
pub struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) sentence: String,
    pub(crate) advice: String,
    pub(crate) retry_after: Option<u64>,
}

impl Failure {
    /// What happened, and what can be done about it.
    pub fn new(status: StatusCode, sentence: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            status,
            sentence: sentence.into(),
            advice: advice.into(),
            retry_after: None,
        }
    }

    /// What the address names does not exist, or no longer does.
    pub fn unknown(sentence: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, sentence, advice)
    }

    /// There is nothing at this address.
    pub fn not_found() -> Self {
        Self::unknown(
            "There is nothing at this address.",
            "Check the address, or start again at the overview.",
        )
    }

    /// Something of ours broke; the cause is in the log under the same request ID.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Weir could not do this.",
            "Try again. If it keeps failing, look up the request ID below in the log.",
        )
    }

    /// Says after how many seconds another try makes sense.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub(crate) fn json(&self, id: &RequestId) -> Response {
        let body = serde_json::json!({ "error": self.sentence, "advice": self.advice, "request_id": id.as_str() });
        self.finish((self.status, axum::Json(body)).into_response())
    }

    pub(crate) fn text(&self, id: &RequestId) -> Response {
        let body = format!(
            "{}\n{}\nRequest ID: {}\n",
            self.sentence,
            self.advice,
            id.as_str()
        );
        self.finish((self.status, body).into_response())
    }

    /// Adds the headers that belong to the status.
    pub(crate) fn finish(&self, mut response: Response) -> Response {
        *response.status_mut() = self.status;
        if let Some(seconds) = self.retry_after {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"Weir\""),
            );
        }
        response
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<crate::Error> for Failure {
    fn from(error: crate::Error) -> Self {
        tracing::error!(%error, "cannot answer a request");
        Self::internal()
    }
}
