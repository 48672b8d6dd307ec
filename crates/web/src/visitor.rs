//! The visitor of one request, as handlers see it: who it is, from where, and how to show a page to them.

use std::{fmt, sync::Arc};

use askama::Template;
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, StatusCode, request::Parts},
    response::{IntoResponse, Response},
};

use weir_config::Secret;

use crate::{
    App, Client, ConnectPanel, Failure, Right,
    access::{seconds_until, too_little},
    auth::{
        keys::{Bearer, Keys},
        secrets::Hash,
    },
    kit,
    shell::Shell,
};

/// Whoever makes the request. Extract it in a handler.
#[derive(Clone)]
pub struct Visitor {
    /// Where the request came from.
    pub client: Client,
    /// Who is asking.
    pub identity: Identity,
    /// The request's ID, as in the log.
    pub id: RequestId,
    /// What every form on a page must carry in the field `csrf`.
    pub form_token: String,
    /// What they may do; `None` for strangers.
    pub(crate) right: Option<Right>,
    /// Whose key it is, if there is one.
    pub(crate) bearer: Option<Bearer>,
    /// All keys but the first, for pages that tell of them.
    pub(crate) keys: Keys,
    /// The first key, for pages that show it to whoever may do everything.
    pub(crate) key: Option<Secret>,
    /// Where it is counted how much strangers read; `None` for whoever may read as much as they like.
    pub(crate) counted: Option<App>,
    pub(crate) path: String,
    pub(crate) theme: Option<&'static str>,
    pub(crate) shell: Arc<Shell>,
}

/// A key that is called after a program.
#[derive(Debug, Clone)]
pub struct ProgramKey {
    /// Its name.
    pub name: String,
    /// When it was last sent, to the minute.
    pub used: Option<jiff::Timestamp>,
}

/// Whether a key of this name is a program's: `Sonarr` or `Sonarr, attic`.
pub fn is_called_after(key: &str, program: &str) -> bool {
    let (key, program) = (key.to_lowercase(), program.to_lowercase());
    let rest = key.strip_prefix(&program);
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Who is asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// Nobody we know.
    Nobody,
    /// Anybody, because `web.auth` is `none`.
    Anyone,
    /// A program that sent a key.
    Key,
    /// A browser that signed in.
    Session(SessionId),
}

/// Which session; opaque outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionId(pub(crate) Hash);

impl Identity {
    /// Whether it may open what needs signing in.
    pub fn signed_in(self) -> bool {
        self != Self::Nobody
    }
}

impl Visitor {
    /// Whether they may do what needs this right.
    pub fn may(&self, needed: Right) -> bool {
        self.right.is_some_and(|right| right.covers(needed))
    }

    /// The name of the key they came with; `None` for the first one, and where no key is needed.
    pub fn key_name(&self) -> Option<&str> {
        self.bearer.as_ref()?.name.as_deref()
    }

    /// The name of the node that answers, if there are several.
    pub fn node_name(&self) -> Option<&str> {
        self.shell.node_name()
    }

    /// Who they are, for their own eyes.
    pub(crate) fn account(&self) -> String {
        match (self.identity, self.key_name(), self.right) {
            (Identity::Anyone, ..) => "No sign-in".to_owned(),
            (_, Some(name), Some(right)) => format!("{name} ({})", right.words()),
            _ => "operator".to_owned(),
        }
    }

    /// What to answer to somebody whose key does not allow this.
    pub fn too_little(&self, needed: Right) -> Failure {
        too_little(needed, self.right.unwrap_or(Right::Read))
    }

    /// The key that is called after a program: `Sonarr` or `Sonarr, attic`. Of several, the one used last.
    pub fn key_for(&self, program: &str) -> Option<ProgramKey> {
        let all = self.keys.all();
        let named = all.iter().filter(|key| is_called_after(&key.name, program));
        let last = named.max_by_key(|key| key.used())?;
        Some(ProgramKey {
            name: last.name.to_string(),
            used: last.used(),
        })
    }

    /// Whether there is a key of this name.
    pub fn has_key(&self, name: &str) -> bool {
        self.keys.all().iter().any(|key| *key.name == *name)
    }

    /// The first key, if this visitor may see it.
    pub fn key(&self) -> Option<&Secret> {
        self.key.as_ref()
    }

    /// Counts this request as several more, for an answer that costs as much as so many pages. Only strangers who read
    /// what is open to everybody are counted.
    ///
    /// # Errors
    /// What to answer instead: the visitor's household has not so many left, or never may have so many.
    pub fn pay(&self, pages: u32) -> Result<(), Failure> {
        let Some(app) = &self.counted else {
            return Ok(());
        };
        let (pace, now) = (app.keeper().settings().rules.readers, app.now());
        let address = self.client.address;
        let Err(until) = app.readers().take_several(address, pages, now, pace) else {
            return Ok(());
        };
        let status = StatusCode::TOO_MANY_REQUESTS;
        let Some(until) = until else {
            let (most, within) = (pace.times, weir_engine::span(pace.window));
            return Err(Failure::new(
                status,
                format!(
                    "This counts as {pages} more pages, and your address may open {most} in {within}."
                ),
                "Sign in, or open its pages one by one.",
            ));
        };
        let seconds = seconds_until(until, now);
        let failure = Failure::new(
            status,
            "Your address has opened too many pages in a short time.",
            format!("Wait {seconds} s, then try again; or sign in."),
        );
        Err(failure.retry_after(seconds))
    }

    /// Whether all that there is here is made up.
    pub fn is_demo(&self) -> bool {
        self.shell.is_demo()
    }

    /// The full path of the file to edit, for pages that tell the operator to; empty in a demo, which has none.
    pub fn config_file(&self) -> String {
        self.shell.config_file.read().clone()
    }

    /// The full path of the file with the upstreams that are added on the pages.
    pub fn upstreams_file(&self) -> String {
        self.shell.upstreams_file.read().clone()
    }

    /// The panels that fronts contribute to the page Connect.
    pub fn connect_panels(&self) -> &[ConnectPanel] {
        &self.shell.connect
    }

    /// Shows a page: the template within the shell.
    pub fn show(&self, title: &str, template: &impl Template) -> Response {
        match kit::render(template) {
            Ok(body) => self.page(title, &body),
            Err(failure) => failure.into_response(),
        }
    }

    /// Shows a page whose body is already rendered; it is inserted as it is.
    pub fn page(&self, title: &str, body: &str) -> Response {
        self.shell.page(self, title, body)
    }

    /// The same for a body that changes only with `tag`: whoever has the page already is told so, and strangers' caches may
    /// keep it for a minute. Costs no look at the body.
    pub fn tagged(&self, headers: &HeaderMap, title: &str, body: &str, tag: u64) -> Response {
        self.shell.tagged(self, headers, title, body, tag)
    }
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(Failure::internal)
    }
}

/// The ID of a request: in the log, on error pages and in the header `X-Request-Id`.
#[derive(Debug, Clone)]
pub struct RequestId(Arc<str>);

impl RequestId {
    pub(crate) fn new(number: u64) -> Self {
        Self(format!("{number:012x}").into())
    }

    /// The ID as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
