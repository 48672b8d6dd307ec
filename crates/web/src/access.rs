//! Who may open a route. The rule is attached when the route is added and checked before its handler runs, so a
//! front cannot forget it; form tokens of state changes are checked here too.

mod arrival;

use std::time::Duration;

use axum::{
    extract::{Request, State},
    http::{Method, StatusCode, Uri},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use jiff::Timestamp;

use self::arrival::ArrivedVisitor;
use crate::{
    App, Auth, Client, Failure, Identity, Pace, RequestId, Visitor,
    auth::NotTaken,
    forms::{form_token, stale_form},
    pages,
    server::Patience,
};

/// What one household of strangers may read: more than a person does, and little enough that a robot costs nothing.
pub(crate) const READERS: Pace = Pace {
    times: 240,
    window: Duration::from_secs(60),
};

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
    /// The API, for clients that are signed in; others get 401 in JSON.
    Api,
    /// A page that everybody may read: strangers come in as [`Identity::Nobody`], each household at a limited pace. Whoever
    /// is signed in is known, and only they may change something.
    Reading,
    /// The same for the API.
    ReadingApi,
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
}

impl Access {
    /// Whether strangers may read it.
    fn is_for_readers(self) -> bool {
        matches!(self, Self::Reading | Self::ReadingApi)
    }

    fn takes_query_key(self) -> bool {
        matches!(self, Self::Trusted | Self::Feed(_) | Self::OpenFeed { .. })
    }

    /// The label under which requests to such routes are counted.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Trusted => "stats",
            Self::Page | Self::Reading => "page",
            Self::Api | Self::ReadingApi => "api",
            Self::Feed(_) | Self::OpenFeed { .. } => "feed",
        }
    }
}

/// A rule with the front it belongs to.
#[derive(Clone)]
pub(crate) struct AccessRule {
    pub(crate) app: App,
    pub(crate) access: Access,
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
    let arrival = match gate.arrive(&request, client, id.clone()) {
        Ok(arrival) => arrival,
        Err(failure) => return failure.text(&id),
    };
    if let Some((session, _)) = &arrival.renewed
        && let Err(error) = gate.app.keeper().seen(*session).await
    {
        tracing::warn!(%error, "cannot renew a session");
    }
    let visitor = arrival.visitor.clone();
    if let Some(patience) = request.extensions().get::<Patience>()
        && visitor.identity.signed_in()
    {
        patience.grant();
    }
    let mut response = match gate.admit(request, &arrival).await {
        Ok(mut request) => {
            request.extensions_mut().insert(visitor.clone());
            next.run(request).await
        }
        Err(response) => *response,
    };
    if let Some(failure) = failure_of(&mut response) {
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
            Access::Open => true,
            Access::Reading | Access::ReadingApi => {
                identity.signed_in() || is_safe(request.method())
            }
            Access::Trusted => client.near() || identity.signed_in(),
            Access::Page | Access::Api | Access::Feed(_) => identity.signed_in(),
            Access::OpenFeed { open, .. } => identity.signed_in() || open(request.uri()),
        };
        if !open {
            return Err(Box::new(self.refuse(&request, Refusal::NoKey)));
        }
        if let Some(until) = self.is_too_fast(&arrival.visitor) {
            return Err(Box::new(self.too_fast(until).into_response()));
        }
        self.check_form(request, arrival).await
    }

    /// Counts what a stranger reads; gives the time from which its household may read on, if it was too fast. Whoever is
    /// near is not counted.
    fn is_too_fast(&self, visitor: &Visitor) -> Option<Timestamp> {
        let Visitor {
            client, identity, ..
        } = visitor;
        if !self.access.is_for_readers() || identity.signed_in() || client.near() {
            return None;
        }
        let (readers, now) = (self.app.readers(), self.app.now());
        readers.take(client.address, now, READERS).err()
    }

    fn too_fast(&self, until: Timestamp) -> Failure {
        let seconds = seconds_until(until, self.app.now());
        Failure::new(
            StatusCode::TOO_MANY_REQUESTS,
            "Your address has opened too many pages in the last minute.",
            format!("Wait {seconds} s, then try again; or sign in."),
        )
        .retry_after(seconds)
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
            Identity::Nobody => matches!(self.access, Access::Open),
            Identity::Anyone => plain_program || matches!(self.access, Access::Open),
            Identity::Session(_) => false,
        };
        if safe || exempt {
            return Ok(request);
        }
        let keeper = self.app.keeper();
        let (given, request) = form_token(request, keeper.settings().rules.body_bytes).await?;
        match given.filter(|given| keeper.form_token_is_right(&arrival.bound_to, given)) {
            Some(_) => Ok(request),
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
                Access::Api | Access::ReadingApi | Access::Feed(_) | Access::OpenFeed { .. }
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
                "That is not the key.",
                "`weir sign-in` prints a link to the pages; Connect shows the key.",
            )
            .into_response(),
            (_, Refusal::Throttled { until, seconds }) => {
                self.app.throttled(until, seconds).into_response()
            }
        }
    }

    /// Writes a failure in the route's own format.
    fn write(&self, visitor: &Visitor, failure: &Failure) -> Response {
        match self.access {
            Access::Page | Access::Reading | Access::Open => pages::failure::show(visitor, failure),
            Access::Api | Access::ReadingApi => failure.json(&visitor.id),
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
        StatusCode::METHOD_NOT_ALLOWED => Some(Failure::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "This address does not accept this kind of request.",
            "Open the page and use its buttons.",
        )),
        StatusCode::PAYLOAD_TOO_LARGE => Some(Failure::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "The request is larger than Weir accepts.",
            "Send less, or raise web.limits.body_bytes.",
        )),
        _ => None,
    }
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
