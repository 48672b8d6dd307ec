//! Who sent a request (a session, a key or a stranger), and which cookies go back with the answer.

use axum::{
    extract::Request,
    http::{Method, header},
    response::Response,
};

use super::{Access, AccessRule};
use crate::{
    Auth, Client, Failure, Identity, RequestId, Right, Visitor,
    auth::{self, NotTaken, Sought, cookie, keys::Bearer, secrets::Hash, site::Site},
    forms::field,
    pages,
    visitor::SessionId,
};

/// A visitor together with what must be done about their cookies.
pub(super) struct ArrivedVisitor {
    pub(super) visitor: Visitor,
    pub(super) refused: Option<NotTaken>,
    pub(super) bound_to: Vec<u8>,
    new_form: Option<String>,
    /// A session whose use was not recorded for a while, and what its cookie holds.
    pub(super) renewed: Option<(Hash, String)>,
}

impl AccessRule {
    pub(super) fn arrive(
        &self,
        request: &Request,
        client: Client,
        id: RequestId,
    ) -> Result<ArrivedVisitor, Failure> {
        let keeper = self.app.keeper();
        let headers = request.headers();
        let session = keeper.session(headers);
        let stale = session.as_ref().filter(|(session, _)| session.stale);
        let renewed = stale.and_then(|(session, _)| {
            let token = cookie::read(headers, cookie::SESSION)?;
            Some((session.id, token.to_owned()))
        });
        let (identity, bearer, refused) = match (self.identify(request, &client), session) {
            (Ok(Some(bearer)), _) => (Identity::Key, Some(bearer), None),
            (Ok(None), Some((session, bearer))) => {
                let id = SessionId(session.id);
                (Identity::Session(id), Some(bearer), None)
            }
            (Ok(None), None) => (self.stranger(&client), None, None),
            (Err(refused), _) => (Identity::Nobody, None, Some(refused)),
        };
        // Where nobody needs a key, one that allows less takes nothing away.
        let right = match self.stranger(&client) {
            Identity::Anyone => Some(Right::Everything),
            _ => bearer.as_ref().map(|bearer| bearer.right),
        };
        let right = right.filter(|_| identity.signed_in());
        let mut new_form = None;
        // Strangers who only read get no form, so no cookie either: their pages may be kept by caches for everybody.
        let reads_only = self.access.is_for_readers() && identity == Identity::Nobody;
        let bound_to = match identity {
            _ if reads_only => Vec::new(),
            Identity::Session(SessionId(id)) => id.to_vec(),
            _ => match cookie::read(headers, cookie::FORM) {
                Some(form) => form.as_bytes().to_vec(),
                None => new_form.insert(auth::secrets::token()?).as_bytes().to_vec(),
            },
        };
        // Whoever is near is not counted.
        let counted = self.access.is_for_readers() && !identity.signed_in() && !client.near();
        let visitor = Visitor {
            client,
            counted: counted.then(|| self.app.clone()),
            identity,
            id,
            form_token: match reads_only {
                true => String::new(),
                false => keeper.form_token(&bound_to),
            },
            key: (right == Some(Right::Everything)).then(|| keeper.settings().key().clone()),
            right,
            bearer,
            keys: keeper.all_keys().clone(),
            path: request.uri().path().to_owned(),
            theme: pages::theme::chosen(headers),
            shell: self.app.shell(),
        };
        Ok(ArrivedVisitor {
            visitor,
            refused,
            bound_to,
            new_form,
            renewed,
        })
    }

    /// What another node may have made a moment ago.
    pub(super) fn sought(&self, request: &Request, client: &Client) -> Option<Sought> {
        self.app.keeper().people.as_ref()?;
        let headers = request.headers();
        let sought = Sought {
            session: cookie::read(headers, cookie::SESSION).map(ToOwned::to_owned),
            key: self.given_key(request, client),
            site: Site::of(headers, client),
        };
        (sought.session.is_some() || sought.key.is_some()).then_some(sought)
    }

    /// The key in the request, where one makes a difference.
    fn given_key(&self, request: &Request, client: &Client) -> Option<String> {
        let near = matches!(self.access, Access::Trusted) && client.near();
        if matches!(self.access, Access::Open) || near {
            return None;
        }
        let header = auth::header_key(request.headers());
        let safe = matches!(*request.method(), Method::GET | Method::HEAD);
        let query = (self.access.takes_query_key() && safe)
            .then(|| query_key(request))
            .flatten();
        header.map(ToOwned::to_owned).or(query)
    }

    /// Whose the key in the request is; `None` without a key.
    fn identify(&self, request: &Request, client: &Client) -> Result<Option<Bearer>, NotTaken> {
        let Some(given) = self.given_key(request, client) else {
            return Ok(None);
        };
        let keeper = self.app.keeper();
        if keeper.settings().rules.auth == Auth::None {
            return Ok(keeper.known(&given));
        }
        let site = Site::of(request.headers(), client);
        keeper.key(&given, client, site).map(Some)
    }

    fn stranger(&self, client: &Client) -> Identity {
        match self.app.keeper().settings().rules.auth {
            Auth::None if !client.strange_name => Identity::Anyone,
            Auth::None | Auth::Required => Identity::Nobody,
        }
    }
}

impl ArrivedVisitor {
    /// Adds the cookies that the visit requires.
    pub(super) fn leave(self, gate: &AccessRule, mut response: Response) -> Response {
        let lifetime = gate.app.keeper().settings().rules.session_lifetime;
        let https = self.visitor.client.https;
        let html = response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        let set_already = response.headers().contains_key(header::SET_COOKIE);
        let form = self
            .new_form
            .filter(|_| html)
            .and_then(|form| cookie::set(cookie::FORM, &form, lifetime, https));
        let session = self
            .renewed
            .filter(|_| !set_already)
            .and_then(|(_, token)| cookie::set(cookie::SESSION, &token, lifetime, https));
        for value in [form, session].into_iter().flatten() {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
        response
    }
}

fn query_key(request: &Request) -> Option<String> {
    let query = request.uri().query()?.as_bytes();
    // Some programs call the key `passkey`.
    let key = field(query, "apikey").filter(|key| !key.is_empty());
    key.or_else(|| field(query, "passkey"))
}
