//! One Torznab or Newznab request: parsed once, asked of its indexers, answered within the deadline.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::Response;
use weir_search_proto::error::code;
use weir_search_proto::{
    ErrorDocument, Format, Parsed, Protocol, Request, SearchRequest, Skipped, parse_request,
};
use weir_web::{Failure, Visitor};

use super::text;
use crate::program::{self, Program};
use crate::reply::{self, FeedPage};
use crate::scope::{self, Scope};
use crate::search::{PartState, Search, SearchQuestion};
use crate::session::{Frozen, SessionKey};
use crate::views::Views;
use crate::words::unix;

/// Time that caps wait for indexers which have not said yet what they can do. Sonarr tests a new indexer with
/// them and a feed, and is to be done within ten seconds.
const CAPS_WAIT: Duration = Duration::from_secs(5);

/// A request and what belongs to it.
pub(super) struct FeedRequest {
    pub(super) views: Arc<Views>,
    pub(super) visitor: Visitor,
    pub(super) headers: HeaderMap,
    path: String,
    query: String,
}

impl FromRequestParts<Arc<Views>> for FeedRequest {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, views: &Arc<Views>) -> Result<Self, Failure> {
        Ok(Self {
            views: views.clone(),
            visitor: Visitor::from_request_parts(parts, views).await?,
            headers: parts.headers.clone(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
        })
    }
}

pub(super) async fn all(arrival: FeedRequest, protocol: Protocol) -> Response {
    let protocol = Some(protocol);
    let scope = Scope::all(&arrival.views.model, protocol);
    arrival.answer(protocol, Ok(scope)).await
}

pub(super) async fn one(arrival: FeedRequest, protocol: Protocol, name: &str) -> Response {
    let scope = Scope::named(&arrival.views.model, protocol, name);
    arrival.answer(Some(protocol), scope).await
}

pub(super) async fn tagged(arrival: FeedRequest, protocol: Protocol, tag: &str) -> Response {
    let scope = Scope::tagged(&arrival.views.model, protocol, tag);
    arrival.answer(Some(protocol), scope).await
}

impl FeedRequest {
    /// Answers the request for these indexers. `protocol` is what the address itself says. Those without a key, who get
    /// here with a question for caps, are told the same whatever the address stands for.
    pub(super) async fn answer(
        self,
        protocol: Option<Protocol>,
        scope: Result<Scope, ErrorDocument>,
    ) -> Response {
        let Parsed {
            request, format, ..
        } = parse_request(&self.query);
        let scope = match self.visitor.identity.signed_in() {
            true => scope,
            false => Ok(Scope::open(&self.views.model, protocol)),
        };
        let is_demo = self.visitor.is_demo();
        let scope = match scope {
            Ok(scope) => Scope { is_demo, ..scope },
            Err(error) => return reply::not_there(&error, format),
        };
        let user_agent = text(&self.headers, "user-agent");
        let now = self.views.model.now();
        let name = program::name(user_agent);
        let program = self.views.model.programs.of(&self.visitor, &name, now);
        match request {
            Err(refusal) => reply::error(&refusal, format),
            Ok(Request::Caps) => {
                self.introduced_to(&scope, &program).await;
                reply::caps(&scope, &self.views.model.rules.load(), format)
            }
            Ok(Request::Search(asked)) => self.search(&scope, program, asked, format).await,
            Ok(Request::Get { id }) => super::download::get(&self, &id).await,
            // All that there are here are configured.
            Ok(Request::Indexers {
                configured: Some(false),
            }) => reply::indexers(&[], is_demo),
            Ok(Request::Indexers { .. }) => {
                self.introduced_to(&scope, &program).await;
                reply::indexers(&scope.indexers, is_demo)
            }
        }
    }

    async fn introduced_to(&self, scope: &Scope, program: &Program) {
        let introductions = &self.views.fanout.introductions;
        let all = introductions.with_all(&scope.indexers, program.asker, CAPS_WAIT);
        all.await;
    }

    async fn search(
        &self,
        scope: &Scope,
        program: Program,
        asked: SearchRequest,
        format: Format,
    ) -> Response {
        let (views, rules) = (&self.views, self.views.model.rules.load_full());
        let page = FeedPage {
            offset: asked.offset,
            limit: asked
                .limit
                .unwrap_or(rules.page_default)
                .min(rules.page_max),
        };
        if scope.indexers.is_empty() {
            let kind = scope::path(scope.protocol);
            let text = format!(
                "No {kind} indexer is configured. Add one under search.indexers, or import yours with `weir import`."
            );
            return reply::error(&ErrorDocument::new(code::UNKNOWN, text), format);
        }
        let key = SessionKey {
            program: program.name.clone(),
            address: self.visitor.client.address.to_string(),
            scope: self.path.clone(),
            query: asked.query.clone(),
        };
        let origin = self.visitor.client.origin(&self.headers);
        let link = |frozen: &Frozen| {
            reply::feed(
                &views.model.links,
                scope,
                frozen,
                page,
                &origin,
                &self.path,
                format,
            )
        };
        if asked.offset > 0
            && let Some(frozen) = views.sessions.find(&key, rules.session)
        {
            return link(&still_offered(views, &frozen));
        }
        let user_agent = text(&self.headers, "user-agent");
        let class = program::class(
            &rules,
            &asked.query,
            text(&self.headers, "x-weir-class"),
            user_agent,
        );
        let question = SearchQuestion {
            query: asked.query,
            scope: scope.indexers.clone(),
            class,
            max_wait: text(&self.headers, "x-weir-max-wait").and_then(wait),
            no_cache: asked.no_cache,
            program,
            address: key.address.clone(),
            deadline: rules.deadline,
        };
        let search = views.fanout.begin(question);
        views.fanout.remember(&search, scope.name.clone());
        views.fanout.told_by(&search).await;
        let tally = search.told_tally();
        // With what the history says of it. Whoever is switched off in these seconds is missing from the next page on.
        let list = views.fanout.list(&search);
        let nobody = tally.answered == 0 && tally.stale == 0;
        if nobody && tally.nothing < tally.asked {
            let Some(seconds) = views.earliest(&search.wanted(), class) else {
                return reply::switched_off(&skipped(&search), format);
            };
            let after = Duration::from_secs(seconds);
            search.told_to_retry(&views.model.engine, after);
            return reply::busy(seconds, &skipped(&search), format);
        }
        let frozen = Arc::new(Frozen {
            list,
            skipped: skipped(&search),
        });
        let (life, most) = (rules.session, views.model.memory);
        views.sessions.keep(key, frozen.clone(), life, most);
        link(&frozen)
    }
}

/// What the header says, in seconds.
fn wait(text: &str) -> Option<Duration> {
    let text = text.trim();
    let seconds = text.strip_suffix('s').unwrap_or(text);
    let seconds: f64 = seconds.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// A kept answer as it can be offered now: whoever was switched off since is named, and nothing of theirs is listed.
fn still_offered(views: &Views, frozen: &Frozen) -> Frozen {
    let list = views.offered(&frozen.list);
    let mut skipped = frozen.skipped.clone();
    for off in &list.off {
        skipped.retain(|skipped| skipped.indexer != off.name);
        skipped.push(Skipped {
            indexer: off.name.clone(),
            reason: off.reason.clone(),
            until: None,
        });
    }
    Frozen { list, skipped }
}

/// Who has no part of an answer, or only an old one, and why.
pub(crate) fn skipped(search: &Search) -> Vec<Skipped> {
    let parts = search.told().iter();
    parts
        .filter_map(|part| {
            if matches!(
                part.state,
                PartState::Answered { .. } | PartState::Nothing(_)
            ) {
                return None;
            }
            Some(Skipped {
                indexer: part.indexer.name().to_owned(),
                reason: part.reason().unwrap_or_default(),
                until: part.state.until().map(unix),
            })
        })
        .collect()
}
