//! What a client is told when something did not work: a status, a sentence, what to do. Handlers return it; the
//! access layer and the guard write it in the route's own format.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::RequestId;

/// What keeps everything in `state.db` from being changed.
pub const UNWRITTEN: &str = "state.db cannot be written. Is the disk full?";

/// What to do about it.
pub const MAKE_ROOM: &str = "Free some space on the disk with the data directory, then try again.";

/// Why a request was refused or failed, in words for whoever sent it.
#[derive(Debug, Clone)]
pub struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) sentence: String,
    pub(crate) advice: String,
    pub(crate) retry_after: Option<u64>,
    /// Boxed: most have none of it.
    more: Option<Box<FailureDetails>>,
}

/// What only some failures tell.
#[derive(Debug, Clone, Default)]
struct FailureDetails {
    fields: Vec<FieldMistake>,
    mistakes: Vec<String>,
}

/// What is wrong with one field of what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldMistake {
    /// The parameter, or the field of the body.
    pub field: String,
    /// What is wrong with it, as a sentence.
    pub detail: String,
}

impl Failure {
    /// What happened, and what can be done about it.
    pub fn new(status: StatusCode, sentence: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            status,
            sentence: sentence.into(),
            advice: advice.into(),
            retry_after: None,
            more: None,
        }
    }

    /// Several fields are wrong.
    pub fn at_fields(
        status: StatusCode,
        sentence: impl Into<String>,
        fields: Vec<FieldMistake>,
    ) -> Self {
        let advice = "Correct what `errors` names, then send it again. Nothing was changed.";
        let mut failure = Self::new(status, sentence, advice);
        failure.details().fields = fields;
        failure
    }

    /// Values that do not fit.
    pub(crate) fn wrong_fields(fields: Vec<FieldMistake>) -> Self {
        let sentence = match &fields[..] {
            [FieldMistake { field, detail }] if field.is_empty() => {
                format!("The body is wrong. {detail}")
            }
            [FieldMistake { field, detail }] => format!("`{field}` is wrong. {detail}"),
            several => {
                let names: Vec<&str> = several.iter().map(|one| one.field.as_str()).collect();
                format!("These fields are wrong: {}.", names.join(", "))
            }
        };
        Self::at_fields(StatusCode::UNPROCESSABLE_ENTITY, sentence, fields)
    }

    /// Says which field the sentence is about.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        let detail = self.sentence.clone();
        let field = field.into();
        self.details().fields.push(FieldMistake { field, detail });
        self
    }

    /// Adds mistakes of the configuration, each with its place.
    #[must_use]
    pub fn with_mistakes(mut self, mistakes: Vec<String>) -> Self {
        self.details().mistakes = mistakes;
        self
    }

    /// Mistakes of the configuration.
    pub(crate) fn mistakes(&self) -> &[String] {
        self.more.as_ref().map_or(&[], |more| &more.mistakes)
    }

    fn details(&mut self) -> &mut FailureDetails {
        self.more.get_or_insert_default()
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

    /// Nothing could be written to `state.db`, and so nothing was changed.
    pub fn unwritten(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "state.db cannot be written");
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("Nothing was changed: {UNWRITTEN}"),
            MAKE_ROOM,
        )
    }

    /// Says more about what can be done.
    pub fn add_advice(&mut self, sentence: &str) {
        self.advice = format!("{sentence} {}", self.advice);
    }

    /// Says after how many seconds another try makes sense.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// As RFC 9457 has it, with the fields of earlier versions beside.
    pub(crate) fn json(&self, id: &RequestId) -> Response {
        let mut body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.sentence,
            "instance": id.as_str(),
            "advice": self.advice,
            "error": self.sentence,
            "request_id": id.as_str(),
        });
        if let Some(more) = &self.more {
            if !more.fields.is_empty() {
                let fields = more.fields.iter();
                body["errors"] = fields
                    .map(|one| json!({ "field": one.field, "detail": one.detail }))
                    .collect();
            }
            if !more.mistakes.is_empty() {
                body["mistakes"] = more.mistakes.clone().into();
            }
        }
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        self.finish((kind, body.to_string()).into_response())
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
        match error {
            crate::Error::Store(error) => Self::unwritten(&error),
            crate::Error::Random(_) => {
                tracing::error!(%error, "cannot answer a request");
                Self::internal()
            }
        }
    }
}
