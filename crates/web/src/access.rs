//! Who may open a route. The rule is attached when the route is added and checked before its handler runs, so a
//! front cannot forget it; form tokens of state changes are checked here too.

mod arrival;

use axum::{
    extract::{Request, State},
    http::{Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use jiff::Timestamp;

use self::arrival::ArrivedVisitor;
use crate::{
    App, Auth, Client, Failure, Identity, RequestId, Right, Visitor,
    auth::NotTaken,
    forms::{form_token, stale_form},
    openapi::Described,
    pages::{self, failure::is_api},
    server::Patience,
};

/// The longest text of another failure that is passed on.
const REWRITTEN: usize = 1024;

/// Who may open a route, and how others are turned away.
#[derive(Debug, Clone, Copy, Default)]
pub enum Access {
    /// Everyone. Keys are not looked at.
    Open,
    /// This machine, `web.trusted`, and whoever is signed in or sends the key (also as `?apikey=` in a GET).
    Trusted,
    /// A page, for visitors who are signed in; others are sent to sign in.
    #[default]
    Page,
    /// A form in which people write at length. It is never turned away: whoever is not signed in any more, or sends it from
    /// a page of an earlier session, comes in as [`Identity::Nobody`]. For them a handler must only keep what they wrote, and
    /// only if it proves by itself that it was given to somebody who was signed in.
    KeptForm,
    /// The API, for clients that are signed in; others get 401 in JSON. [`crate::openapi::ApiRoutes`] makes such routes.
    Api(Described),
    /// A page that everybody may read: strangers come in as [`Identity::Nobody`], each household at a limited pace. Whoever
    /// is signed in is known, and only they may change something.
    Reading,
    /// The same for the API.
    ReadingApi(Described),
    /// A feed or search API for programs: like [`Access::Api`], but also with `?apikey=` in a GET. The front itself
    /// writes the refusal, in terms of its protocol.
    Feed(fn(&Refusal) -> Response),
    /// The same, but parts of it are open to clients that send no key.
    OpenFeed {
        /// How the others are turned away.
        refuse: fn(&Refusal) -> Response,
        /// Which requests need no key.
        open: fn(&Uri) -> bool,
    },
}

/// Why a program was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It sent no key.
    NoKey,
    /// It sent a wrong one.
    WrongKey,
    /// Its address sent too many wrong ones.
    Throttled {
        /// When the next key will be checked.
        until: Timestamp,
        /// The same in whole seconds from now, for `Retry-After`.
        seconds: u64,
    },
    /// Its key is right, but does not allow this.
    TooLittle {
        /// What it would have to allow.
        needs: Right,
        /// What it allows.
        has: Right,
    },
}

impl Access {
    /// Whether strangers may read it.
    fn is_for_readers(self) -> bool {
        matches!(self, Self::Reading | Self::ReadingApi(_))
    }

    fn takes_query_key(self) -> bool {
        matches!(self, Self::Trusted | Self::Feed(_) | Self::OpenFeed { .. })
    }

    /// The label under which requests to such routes are counted.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Trusted => "stats",
            Self::Page | Self::KeptForm | Self::Reading => "page",
            Self::Api(_) | Self::ReadingApi(_) => "api",
            Self::Feed(_) | Self::OpenFeed { .. } => "feed",
        }
    }
}

/// Marks a request to [`Access::KeptForm`] whose form is not from this session.
#[derive(Clone, Copy)]
struct StaleForm;

/// A rule with the front it belongs to.
#[derive(Clone)]
pub(crate) struct AccessRule {
    pub(crate) app: App,
    pub(crate) access: Access,
    /// What whoever is signed in must be allowed.
    pub(crate) needs: Right,
    pub(crate) front: &'static str,
    pub(crate) kind: &'static str,
}

/// The layer around every route.
pub(crate) async fn enforce(
    State(gate): State<AccessRule>,
    request: Request,
    next: Next,
) -> Response {
    gate.app.requests().count(gate.front, gate.kind);
    let client = request
        .extensions()
        .get()
        .copied()
        .unwrap_or_else(Client::unknown);
    let id = request
        .extensions()
        .get()
        .cloned()
        .unwrap_or_else(|| RequestId::new(0));
    if let Some(sought) = gate.sought(&request, &client) {
        gate.app.keeper().look_for(&sought, &client).await;
    }
    let arrival = match gate.arrive(&request, client, id.clone()) {
        Ok(arrival) => arrival,
        Err(failure) if is_api(request.uri().path()) => return failure.json(&id),
        Err(failure) => return failure.text(&id),
    };
    if let Some((session, _)) = &arrival.renewed
        && let Err(error) = gate.app.keeper().seen(*session)
    {
        tracing::warn!(%error, "cannot renew a session");
    }
    let mut visitor = arrival.visitor.clone();
    if let Some(patience) = request.extensions().get::<Patience>()
        && visitor.identity.signed_in()
    {
        patience.grant();
    }
    let mut response = match gate.admit(request, &arrival).await {
        Ok(mut request) => {
            if request.extensions_mut().remove::<StaleForm>().is_some() {
                visitor.identity = Identity::Nobody;
            }
            request.extensions_mut().insert(visitor.clone());
            next.run(request).await
        }
        Err(response) => *response,
    };
    if let Some(failure) = failure_of(&mut response) {
        response = gate.write(&visitor, &failure);
    } else if is_api(&visitor.path) && is_failure(response.status()) {
        let failure = rewritten(response).await;
        response = gate.write(&visitor, &failure);
    }
    arrival.leave(&gate, response)
}

impl AccessRule {
    /// Lets the request through or says why not.
    async fn admit(
        &self,
        request: Request,
        arrival: &ArrivedVisitor,
    ) -> Result<Request, Box<Response>> {
        let Visitor {
            client, identity, ..
        } = arrival.visitor;
        if let Some(refused) = arrival.refused {
            return Err(Box::new(
                self.refuse(&request, refused_as(refused, self.app.now())),
            ));
        }
        let open = match self.access {
            Access::Open | Access::KeptForm => true,
            Access::Reading | Access::ReadingApi(_) => {
                identity.signed_in() || is_safe(request.method())
            }
            Access::Trusted => client.near() || identity.signed_in(),
            Access::Page | Access::Api(_) | Access::Feed(_) => identity.signed_in(),
            Access::OpenFeed { open, .. } => identity.signed_in() || open(request.uri()),
        };
        if !open {
            return Err(Box::new(self.refuse(&request, Refusal::NoKey)));
        }
        if let Some(has) = arrival.visitor.right
            && !has.covers(self.needs)
            && !self.is_open_to_all(&request, &client)
        {
            let needs = self.needs;
            let refusal = Refusal::TooLittle { needs, has };
            return Err(Box::new(self.refuse(&request, refusal)));
        }
        if let Err(failure) = arrival.visitor.pay(1) {
            return Err(Box::new(failure.into_response()));
        }
        self.check_form(request, arrival).await
    }

    /// Whether a stranger would be let in too, so that no right is needed. A kept form is looked at by its handler.
    fn is_open_to_all(&self, request: &Request, client: &Client) -> bool {
        match self.access {
            Access::Open | Access::KeptForm => true,
            Access::Trusted => client.near(),
            Access::OpenFeed { open, .. } => open(request.uri()),
            Access::Reading | Access::ReadingApi(_) => is_safe(request.method()),
            Access::Page | Access::Api(_) | Access::Feed(_) => false,
        }
    }

    /// A state change needs a key in a header, or the form token of a page of ours. On open routes a stranger has no
    /// privileges that another site could abuse.
    async fn check_form(
        &self,
        request: Request,
        arrival: &ArrivedVisitor,
    ) -> Result<Request, Box<Response>> {
        let safe = is_safe(request.method());
        let plain_program = self.is_a_plain_program(&request, arrival.visitor.identity);
        let exempt = match arrival.visitor.identity {
            Identity::Key => true,
            Identity::Nobody => matches!(self.access, Access::Open | Access::KeptForm),
            Identity::Anyone => plain_program || matches!(self.access, Access::Open),
            Identity::Session(_) => false,
        };
        if safe || exempt {
            return Ok(request);
        }
        let keeper = self.app.keeper();
        let (given, mut request) = form_token(request, keeper.settings().rules.body_bytes).await?;
        match given.filter(|given| keeper.form_token_is_right(&arrival.bound_to, given)) {
            Some(_) => Ok(request),
            None if matches!(self.access, Access::KeptForm) => {
                request.extensions_mut().insert(StaleForm);
                Ok(request)
            }
            None => Err(Box::new(stale_form().into_response())),
        }
    }

    /// With `web.auth: none`, programs need no key for the API either. A browser that another site leads here always
    /// says where it comes from.
    fn is_a_plain_program(&self, request: &Request, identity: Identity) -> bool {
        let browser = ["origin", "sec-fetch-site", "referer", "cookie"];
        identity == Identity::Anyone
            && matches!(
                self.access,
                Access::Api(_) | Access::ReadingApi(_) | Access::Feed(_) | Access::OpenFeed { .. }
            )
            && !browser
                .iter()
                .any(|name| request.headers().contains_key(*name))
    }

    fn refuse(&self, request: &Request, refusal: Refusal) -> Response {
        match (self.access, refusal) {
            (Access::Feed(write) | Access::OpenFeed { refuse: write, .. }, _) => write(&refusal),
            // With `none` nobody needs a key, so the host name is what was refused.
            (_, Refusal::NoKey) if self.app.keeper().settings().rules.auth == Auth::None => {
                Failure::new(
                    StatusCode::FORBIDDEN,
                    "Unrecognised host name (possible DNS rebinding).",
                    "If the name is yours, add it to web.hosts; or sign in with a key.",
                )
                .into_response()
            }
            (Access::Page | Access::Reading, Refusal::NoKey) => {
                Redirect::to(&pages::sign_in::path_back_to(request)).into_response()
            }
            (Access::Trusted, Refusal::NoKey) => Failure::new(
                StatusCode::UNAUTHORIZED,
                "Only this machine and web.trusted may open this without a key.",
                "Add the address to web.trusted (and a name of your own to web.hosts) or send a key.",
            )
            .into_response(),
            (_, Refusal::NoKey) => Failure::new(
                StatusCode::UNAUTHORIZED,
                "This needs a key.",
                "Send it as Authorization: Bearer KEY or X-Api-Key: KEY.",
            )
            .into_response(),
            (_, Refusal::WrongKey) => Failure::new(
                StatusCode::UNAUTHORIZED,
                "That is not a key of this Weir.",
                "`weir sign-in` prints a link to the pages; Settings has the keys.",
            )
            .into_response(),
            (_, Refusal::Throttled { until, seconds }) => {
                self.app.throttled(until, seconds).into_response()
            }
            (_, Refusal::TooLittle { needs, has }) => too_little(needs, has).into_response(),
        }
    }

    /// Writes a failure in the route's own format.
    fn write(&self, visitor: &Visitor, failure: &Failure) -> Response {
        match self.access {
            _ if is_api(&visitor.path) => failure.json(&visitor.id),
            Access::Page | Access::KeptForm | Access::Reading | Access::Open => {
                pages::failure::show(visitor, failure)
            }
            Access::Api(_) | Access::ReadingApi(_) => failure.json(&visitor.id),
            Access::Trusted | Access::Feed(_) | Access::OpenFeed { .. } => {
                failure.text(&visitor.id)
            }
        }
    }
}

/// Whether a method changes nothing.
fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// A failure that a handler returned, or that axum wrote as bare text.
fn failure_of(response: &mut Response) -> Option<Failure> {
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        return Some(failure);
    }
    match response.status() {
        // axum adds `Allow` to whatever is answered.
        StatusCode::METHOD_NOT_ALLOWED => Some(Failure::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "This address does not accept this kind of request.",
            "The header Allow names what it accepts. On pages, use the buttons.",
        )),
        StatusCode::PAYLOAD_TOO_LARGE => Some(Failure::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "The request is larger than Weir accepts.",
            "Send less, or raise web.limits.body_bytes.",
        )),
        _ => None,
    }
}

fn is_failure(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

/// A failure of the API that something else wrote, as axum's extractors do: its status, and its text as far as it is short.
async fn rewritten(response: Response) -> Failure {
    let status = response.status();
    let after = response.headers().get(header::RETRY_AFTER);
    let after = after.and_then(|value| value.to_str().ok()?.parse().ok());
    let said = axum::body::to_bytes(response.into_body(), REWRITTEN).await;
    let said = said.unwrap_or_default();
    let said = std::str::from_utf8(&said).map_or("", str::trim);
    let sentence = match said.is_empty() || said.starts_with(['<', '{']) {
        true => status.canonical_reason().unwrap_or("It failed"),
        false => said,
    };
    let stop = if sentence.ends_with('.') { "" } else { "." };
    let advice = "See /api/openapi.json for what is understood here.";
    let failure = Failure::new(status, format!("{sentence}{stop}"), advice);
    match after {
        Some(seconds) => failure.retry_after(seconds),
        None => failure,
    }
}

/// The answer to whoever has a key that does not allow this.
pub(crate) fn too_little(needs: Right, has: Right) -> Failure {
    Failure::new(
        StatusCode::FORBIDDEN,
        format!(
            "This needs a key with the right “{}”; yours has “{}”.",
            needs.words(),
            has.words()
        ),
        "Sign in with another key. Settings, Keys and sessions is where keys are made.",
    )
}

pub(crate) fn refused_as(refused: NotTaken, now: Timestamp) -> Refusal {
    match refused {
        NotTaken::Wrong => Refusal::WrongKey,
        NotTaken::Throttled { until } => Refusal::Throttled {
            until,
            seconds: seconds_until(until, now),
        },
    }
}

/// Whole seconds, rounded up, at least one: a client that waits this long is not too early.
pub(crate) fn seconds_until(until: Timestamp, now: Timestamp) -> u64 {
    let wait = until.duration_since(now);
    let up = wait.as_secs() + i64::from(wait.subsec_nanos() > 0);
    u64::try_from(up).unwrap_or(0).max(1)
}
