//! One operation of the API, described: what may be asked, what is answered, and what can go wrong.

use axum::http::{Method, StatusCode};

use super::schema::Schema;
use crate::Right;

/// Method and path of the API, with all that clients may send and get there.
#[derive(Clone, Debug)]
pub struct Operation {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) about: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<SentBody>,
    pub(super) answers: Vec<Answer>,
    /// What can go wrong here beside what can go wrong everywhere.
    pub(super) failures: Vec<(StatusCode, &'static str)>,
    /// Whether unknown parameters are ignored.
    pub(super) lenient: bool,
    /// What a key must allow.
    pub(super) needs: Right,
}

#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) place: ParameterPlace,
    pub(super) schema: Schema,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterPlace {
    Path,
    Query,
    Header,
}

#[derive(Clone, Debug)]
pub(super) struct SentBody {
    pub(super) schema: Schema,
    pub(super) required: bool,
    /// Whether an HTML form with the same fields is taken too.
    pub(super) form: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) about: &'static str,
    pub(super) content: Vec<AnswerContent>,
    pub(super) headers: Vec<(&'static str, &'static str)>,
}

#[derive(Clone, Debug)]
pub(super) enum AnswerContent {
    Json(Schema),
    Text,
    OpenMetrics,
    Events,
    Bytes,
}

impl AnswerContent {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Json(_) => "application/json",
            Self::Text => "text/plain",
            Self::OpenMetrics => "application/openmetrics-text",
            Self::Events => "text/event-stream",
            Self::Bytes => "application/octet-stream",
        }
    }
}

impl Operation {
    fn new(method: Method, path: &'static str, summary: &'static str) -> Self {
        Self {
            method,
            path,
            summary,
            about: "",
            parameters: Vec::new(),
            body: None,
            answers: Vec::new(),
            failures: Vec::new(),
            lenient: false,
            needs: Right::Everything,
        }
    }

    /// A question; `summary` is a heading of a few words.
    pub fn get(path: &'static str, summary: &'static str) -> Self {
        Self::new(Method::GET, path, summary)
    }

    /// A request to do something.
    pub fn post(path: &'static str, summary: &'static str) -> Self {
        Self::new(Method::POST, path, summary)
    }

    /// A request to replace something.
    pub fn put(path: &'static str, summary: &'static str) -> Self {
        Self::new(Method::PUT, path, summary)
    }

    /// A request to end or take back something.
    pub fn delete(path: &'static str, summary: &'static str) -> Self {
        Self::new(Method::DELETE, path, summary)
    }

    /// Says more, in Markdown.
    #[must_use]
    pub fn about(mut self, text: &'static str) -> Self {
        self.about = text;
        self
    }

    /// Says which right of a key suffices. Without it, a key must allow everything.
    #[must_use]
    pub fn needs(mut self, right: Right) -> Self {
        self.needs = right;
        self
    }

    /// A part of the path, which has the same name there in braces.
    #[must_use]
    pub fn path(self, name: &'static str, schema: Schema) -> Self {
        self.parameter(name, ParameterPlace::Path, schema)
    }

    /// A parameter that may be in the query; what does not fit its schema never reaches the handler.
    #[must_use]
    pub fn query(self, name: &'static str, schema: Schema) -> Self {
        self.parameter(name, ParameterPlace::Query, schema.optional())
    }

    /// A header that is read here.
    #[must_use]
    pub fn header(self, name: &'static str, schema: Schema) -> Self {
        self.parameter(name, ParameterPlace::Header, schema.optional())
    }

    fn parameter(mut self, name: &'static str, place: ParameterPlace, schema: Schema) -> Self {
        self.parameters.push(Parameter {
            name,
            place,
            schema,
        });
        self
    }

    /// The JSON that must be sent; what does not fit never reaches the handler.
    #[must_use]
    pub fn body(mut self, schema: Schema) -> Self {
        self.body = Some(SentBody {
            schema,
            required: true,
            form: false,
        });
        self
    }

    /// JSON that may be sent; what does not fit never reaches the handler.
    #[must_use]
    pub fn optional_body(mut self, schema: Schema) -> Self {
        self.body = Some(SentBody {
            schema,
            required: false,
            form: false,
        });
        self
    }

    /// JSON that may be sent, or an HTML form with the same fields.
    #[must_use]
    pub fn optional_body_or_form(mut self, schema: Schema) -> Self {
        self.body = Some(SentBody {
            schema,
            required: false,
            form: true,
        });
        self
    }

    /// A JSON answer with status 200.
    #[must_use]
    pub fn answers(self, about: &'static str, schema: Schema) -> Self {
        self.answers_as(StatusCode::OK, about, schema)
    }

    /// A JSON answer with another status.
    #[must_use]
    pub fn answers_as(self, status: StatusCode, about: &'static str, schema: Schema) -> Self {
        self.answer(status, about, Some(AnswerContent::Json(schema)))
    }

    /// An answer without a body.
    #[must_use]
    pub fn answers_nothing(self, status: StatusCode, about: &'static str) -> Self {
        self.answer(status, about, None)
    }

    /// A stream of server-sent events.
    #[must_use]
    pub fn answers_events(self, about: &'static str) -> Self {
        self.answer(StatusCode::OK, about, Some(AnswerContent::Events))
    }

    /// Bytes of a file.
    #[must_use]
    pub fn answers_bytes(self, about: &'static str) -> Self {
        self.answer(StatusCode::OK, about, Some(AnswerContent::Bytes))
    }

    /// Plain text, perhaps beside JSON of the same status.
    #[must_use]
    pub fn answers_text(self, status: StatusCode, about: &'static str) -> Self {
        self.answer(status, about, Some(AnswerContent::Text))
    }

    /// OpenMetrics beside plain text.
    #[must_use]
    pub(crate) fn answers_openmetrics(self) -> Self {
        self.answer(StatusCode::OK, "", Some(AnswerContent::OpenMetrics))
    }

    fn answer(
        mut self,
        status: StatusCode,
        about: &'static str,
        content: Option<AnswerContent>,
    ) -> Self {
        match self.answers.iter_mut().find(|one| one.status == status) {
            Some(known) => known.content.extend(content),
            None => self.answers.push(Answer {
                status,
                about,
                content: content.into_iter().collect(),
                headers: Vec::new(),
            }),
        }
        self
    }

    /// A header of the answer that was described last.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, about: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers.push((name, about));
        }
        self
    }

    /// Something that can go wrong here and not everywhere.
    #[must_use]
    pub fn fails(mut self, status: StatusCode, about: &'static str) -> Self {
        self.failures.push((status, about));
        self
    }

    /// Ignores parameters that it does not know, unlike the rest of the API.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// Its path, with parameters in braces.
    pub(crate) fn address(&self) -> &'static str {
        self.path
    }

    pub(super) fn queries(&self) -> impl Iterator<Item = &Parameter> {
        let all = self.parameters.iter();
        all.filter(|one| one.place == ParameterPlace::Query)
    }

    /// All that can go wrong, each status once.
    pub(super) fn all_failures(&self) -> Vec<(StatusCode, &'static str)> {
        let mut all = self.failures.clone();
        let body = self.body.is_some();
        let changes = self.method != Method::GET;
        let named = self
            .parameters
            .iter()
            .any(|one| one.place == ParameterPlace::Path);
        let checked = body || self.queries().next().is_some();
        let general: [(StatusCode, bool, &str); 10] = [
            (
                StatusCode::BAD_REQUEST,
                true,
                "The request cannot be read, or a parameter is unknown.",
            ),
            (
                StatusCode::UNAUTHORIZED,
                true,
                "There is no key, or it is not a key of this Weir.",
            ),
            (
                StatusCode::FORBIDDEN,
                true,
                match changes {
                    true => {
                        "The key does not allow this, a session comes without its `X-Csrf-Token`, or the host name is unrecognised."
                    }
                    false => "The key does not allow this, or the host name is unrecognised.",
                },
            ),
            (
                StatusCode::NOT_FOUND,
                named,
                "What the path names does not exist.",
            ),
            (
                StatusCode::PAYLOAD_TOO_LARGE,
                true,
                "The body is larger than `web.limits.body_bytes`.",
            ),
            (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                body,
                "The body is neither JSON nor anything else that is understood here.",
            ),
            (
                StatusCode::UNPROCESSABLE_ENTITY,
                checked,
                "A value is wrong; `errors` says which, and why.",
            ),
            (
                StatusCode::TOO_MANY_REQUESTS,
                true,
                "Too many wrong keys, or too many requests; `Retry-After` says when to try again.",
            ),
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                true,
                "Weir could not do this; the log has the cause under the same request ID.",
            ),
            (
                StatusCode::SERVICE_UNAVAILABLE,
                true,
                "It took too long, or what it needs is not available right now.",
            ),
        ];
        for (status, applies, about) in general {
            if applies && !all.iter().any(|(known, _)| *known == status) {
                all.push((status, about));
            }
        }
        all.retain(|(status, _)| !self.answers.iter().any(|one| one.status == *status));
        all.sort_by_key(|(status, _)| *status);
        all
    }
}
