//! The web part as a whole, opened with its settings and the fronts' contributions: a router to serve, which can make
//! sign-in links and take new settings.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    Router,
    http::StatusCode,
    middleware::from_fn_with_state,
    routing::{get, post},
};
use jiff::{Timestamp, tz::TimeZone};
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;
use weir_config::Secret;
use weir_engine::{Engine, Node};
use weir_store::{shared::Lost, sqlite::File};

use crate::{
    Access, Announcer, Clock, Config, Contribution, Error, Failure, Icon, NavEntry, NavGroup,
    Porter, Requests, Right, Stats, Throttle, Upstreams,
    access::{self, AccessRule},
    assets::{self, Assets},
    auth::Doorkeeper,
    contribution::{Contributed, Guests, Missing},
    guard,
    heard::Heard,
    live::{self, Live, LivePart},
    metrics::{self, CacheFigures, Connections, DemoMark},
    nodes::{self, Replica, metrics::NodeMetrics},
    openapi::{
        self, ApiDocument, ApiRoutes, Described, Operation,
        schema::{any, map, text},
    },
    pages::{self, first_run::FirstRun},
    ready::{self, TriedFiles},
    rules::{self, ListenerRules},
    seats::{self, Seating, Seats},
    series,
    server::GUESTS,
    shell::{Furniture, Shell},
    stats, status,
    streams::Streams,
    upstreams,
};

/// The topic of the page of all upstreams, which no front contributes.
const UPSTREAMS: &str = "upstreams";

/// A handle on the web part; clones share it.
#[derive(Clone)]
pub struct App(Arc<Inner>);

/// The same for a task that must not keep it alive.
#[derive(Clone)]
pub(crate) struct WeakApp(Weak<Inner>);

struct Inner {
    keeper: Doorkeeper,
    key_made: Option<Secret>,
    shell: Arc<Shell>,
    fronts: Vec<Contributed>,
    requests: Requests,
    registry: Arc<Registry>,
    connections: Connections,
    seats: Seats,
    /// For connections that a front's listener accepted.
    guest_seats: Seats,
    streams: Streams,
    live: Live,
    listener: Arc<ListenerRules>,
    started: Timestamp,
    next_id: AtomicU64,
    missing: Vec<Missing>,
    /// What strangers read.
    readers: Throttle,
    /// By front; taken when the listener starts to serve.
    guests: Mutex<Vec<(&'static str, Guests)>>,
    /// Each with the front it came from.
    routers: Vec<(&'static str, Access, Right, Router)>,
    document: ApiDocument,
    /// Paths of the API that are in the document.
    described: Vec<&'static str>,
    tried: TriedFiles,
    /// `state.db`.
    state: File,
    first_run: FirstRun,
    heard: Heard,
    demo: DemoMark,
}

impl App {
    /// Opens the tables in `state`, makes the key if there is none, and takes in the fronts' contributions.
    ///
    /// # Errors
    /// When keys and sessions cannot be stored.
    pub fn open(
        config: Config,
        state: &File,
        clock: Arc<dyn Clock>,
        requests: Requests,
        contributions: Vec<Contribution>,
    ) -> Result<Self, Error> {
        Self::open_at(None, config, state, clock, requests, contributions)
    }

    /// The same for one of several nodes. [`App::share`] keeps what they hold together in step.
    ///
    /// # Errors
    /// As [`App::open`].
    pub fn open_at(
        node: Option<Node>,
        config: Config,
        state: &File,
        clock: Arc<dyn Clock>,
        requests: Requests,
        contributions: Vec<Contribution>,
    ) -> Result<Self, Error> {
        let started = clock.now();
        let (rules, listener) = rules::split(config);
        let seating = Seating::new(listener.connections, listener.connections_per_address);
        let seats = Seats::new(seating);
        let guest_seats = Seats::new(Seating::new(GUESTS, None));
        let (keeper, key_made) = Doorkeeper::open(rules, state.clone(), Arc::clone(&clock), node)?;
        let held = keeper.held();
        let shared = keeper.people.as_ref().map(|people| people.node.clone());
        let connections = Connections::default();
        let mut registry = metrics::registry(
            &requests,
            &connections,
            started.as_millisecond() as f64 / 1000.0,
        );
        let demo = metrics::demo_mark(&mut registry);
        let listeners = [("web", seats.clone()), ("guests", guest_seats.clone())];
        seats::register(
            metrics::weir(&mut registry),
            "web_connections_ended",
            listeners,
        );
        if let Some(node) = shared.clone() {
            let figures = Box::new(NodeMetrics::new(node, held));
            metrics::weir(&mut registry).register_collector(figures);
        }
        let (mut fronts, mut nav, mut routers) = (Vec::new(), Vec::new(), Vec::new());
        let (mut missing, mut guests, mut connect) = (Vec::new(), Vec::new(), Vec::new());
        let (mut cached, mut public) = (Vec::new(), Vec::new());
        let mut key_lines = Vec::new();
        let (mut operations, mut files) = (Self::own_operations(), Vec::new());
        for contribution in contributions {
            let name = contribution.front.name;
            if let Some(register) = contribution.metrics {
                register(metrics::weir(&mut registry));
            }
            nav.extend(contribution.nav);
            missing.extend(contribution.missing);
            connect.extend(contribution.connect);
            key_lines.extend(contribution.key_lines);
            cached.extend(contribution.cached.map(|read| (name, read)));
            public.extend(contribution.public);
            guests.extend(contribution.guests.map(|waiting| (name, waiting)));
            routers.extend(
                contribution
                    .routers
                    .into_iter()
                    .map(|(access, needs, router)| (name, access, needs, router)),
            );
            for routes in contribution.api {
                let (access, router) = of_api(&routes);
                let described = routes.operations.into_iter();
                operations.extend(described.map(|one| (one, access)));
                // Each operation states its own right.
                routers.push((name, access, Right::Read, router));
            }
            files.extend(contribution.files);
            fronts.push(contribution.front);
        }
        let heard = Heard::open(state.clone(), clock, &mut connect)?;
        let caches = Box::new(CacheFigures(cached));
        metrics::weir(&mut registry).register_collector(caches);
        let engines: Vec<Engine> = fronts
            .iter()
            .filter_map(|front| Some(front.upstreams.as_ref()?.engine().clone()))
            .collect();
        // Where everything else is watched that must not end.
        let vitals = engines.first().map(|engine| engine.vitals().clone());
        let live = Live::new(vitals.unwrap_or_default().add("web", "live"), started);
        if !engines.is_empty() {
            let all = weir_engine::Metrics::new(engines);
            metrics::weir(&mut registry).register_collector(Box::new(all));
            nav.push(NavEntry {
                label: "Upstreams",
                href: "/upstreams",
                icon: Icon::Upstreams,
                key: 'u',
                group: NavGroup::Watch,
                place: 1,
                phone: true,
                needs: Right::Read,
            });
        }
        Ok(Self(Arc::new(Inner {
            keeper,
            key_made,
            shell: Arc::new(Shell::new(Furniture {
                nav,
                connect,
                key_lines,
                public,
                assets: Assets::load(),
                zone: TimeZone::system(),
                node: shared,
            })),
            fronts,
            requests,
            registry: Arc::new(registry),
            connections,
            seats,
            guest_seats,
            streams: Streams::new(listener.connections.div_ceil(2)),
            live,
            listener: Arc::new(listener),
            next_id: AtomicU64::new(started.as_millisecond().unsigned_abs() << 12),
            started,
            missing,
            readers: Throttle::default(),
            guests: Mutex::new(guests),
            routers,
            document: ApiDocument::new(operations.iter().map(|(one, access)| (&**one, *access))),
            described: operations.iter().map(|(one, _)| one.address()).collect(),
            tried: TriedFiles::new(files),
            first_run: FirstRun::open(state.clone())?,
            state: state.clone(),
            heard,
            demo,
        })))
    }

    /// The key, if this start made it; print it then, and only then.
    pub fn key_was_made(&self) -> Option<&Secret> {
        self.0.key_made.as_ref()
    }

    /// Whether nothing was stored before this start.
    pub fn is_first_start(&self) -> bool {
        self.0.keeper.first_start()
    }

    /// What judges clients of other listeners by the rules of this one.
    pub fn porter(&self) -> Porter {
        Porter::new(self.clone())
    }

    /// Notes where Weir listens, for [`crate::sign_in_link`].
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn note_address(&self, address: SocketAddr) -> Result<(), Error> {
        self.0.keeper.note_address(address)
    }

    /// How Weir is doing, as the overview's first sentence says it.
    pub fn sentence(&self) -> String {
        pages::overview::opening(self)
    }

    /// The sizes of what is kept in the data directory, by name.
    pub fn stores(&self) -> Vec<(String, u64)> {
        status::files(self)
    }

    /// Says which file the operator edits, by its full path, for pages that tell them to.
    pub fn set_config_file(&self, path: String) {
        // A demo's goes with it: nobody is sent there.
        *self.0.shell.config_file.write() = match self.is_demo() {
            true => String::new(),
            false => path,
        };
    }

    /// Says in which file upstreams are kept that are added on the pages, by its full path.
    pub fn set_upstreams_file(&self, path: String) {
        *self.0.shell.upstreams_file.write() = path;
    }

    /// Says on every page, and to programs, that upstreams and clients are made up.
    pub fn mark_as_demo(&self) {
        self.0.shell.demo.store(true, Ordering::Relaxed);
        self.0.demo.set(1);
    }

    /// Whether upstreams and clients are made up.
    pub fn is_demo(&self) -> bool {
        self.0.shell.is_demo()
    }

    /// When programs were last heard, over restarts.
    pub(crate) fn heard(&self) -> &Heard {
        &self.0.heard
    }

    /// A short mark of a text, the same after a restart. Keyed, so that nobody can guess the text from it.
    pub fn mark_of(&self, text: &str) -> String {
        self.0.keeper.mark_of(text)
    }

    /// Makes a new sign-in link, which replaces the previous one; returns its path and query.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn sign_in_link(&self) -> Result<String, Error> {
        self.0.keeper.link()
    }

    /// First half of a reload: prepares new settings for everything that is not read at start only. If there is no key
    /// to fall back to, one is made and stored here. The second half puts the settings in force, which ends sessions
    /// made under another key, and returns the key if one was made; print it then, and only then.
    ///
    /// # Errors
    /// When the key cannot be stored.
    pub fn stage(&self, config: Config) -> Result<impl FnOnce() -> Option<Secret> + use<>, Error> {
        let (settings, made) = self.0.keeper.stage(rules::split(config).0)?;
        let app = self.clone();
        Ok(move || {
            app.0.keeper.set(settings);
            made
        })
    }

    /// This node, if there are several.
    pub(crate) fn node(&self) -> Option<&Node> {
        Some(&self.0.keeper.people.as_ref()?.node)
    }

    /// The tables that this part holds together with other nodes, by name.
    pub(crate) fn held(&self) -> Vec<(&'static str, Replica)> {
        self.0.keeper.held()
    }

    /// Keeps what nodes hold together in step until told to stop; the listener ([`crate::run`]) does.
    pub async fn share(&self, stop: CancellationToken) {
        let held = self.held();
        let all = held.iter().map(|(_, held)| held.run(stop.clone()));
        let all = futures_util::future::join_all(all);
        tokio::join!(all, self.0.keeper.watch_link(stop.clone()));
    }

    /// Tells other nodes what has changed here, and hears what has changed there, now.
    ///
    /// # Errors
    /// If the store does not answer.
    pub async fn exchange(&self) -> Result<(), Lost> {
        if let Err(error) = self.0.keeper.note_link().await {
            tracing::debug!(%error, "cannot look for a new sign-in link");
        }
        for (_, held) in self.held() {
            held.exchange().await?;
        }
        Ok(())
    }

    /// All routes, each behind its access rule.
    pub fn router(&self) -> Router {
        let mut router = self.own();
        for (front, access, needs, contributed) in &self.0.routers {
            let rule = self.rule(*access, *needs, front, access.kind());
            router = router.merge(behind(rule, contributed.clone()));
        }
        router.layer(from_fn_with_state(self.clone(), guard::guard))
    }

    /// `/stats` and `/metrics` under the same rules, for a front's own port; `rest` answers everything else there.
    pub fn figures(&self, front: &'static str, rest: Router) -> Router {
        self.stats(front)
            .fallback_service(rest)
            .layer(from_fn_with_state(self.clone(), guard::guard))
    }

    fn stats(&self, front: &'static str) -> Router {
        let (_, figures) = stats::routes().with_state(self.clone()).router();
        let kind = Access::Trusted.kind();
        behind(
            self.rule(Access::Trusted, Right::Read, front, kind),
            figures,
        )
    }

    /// The API of the web part itself.
    fn own_api() -> ApiRoutes<Self> {
        let tag = "The same tag as before: nothing has changed.";
        let document = Operation::get("/api/openapi.json", "This document")
            .needs(Right::Read)
            .header(
                "If-None-Match",
                text().about("The `ETag` of an earlier answer."),
            )
            .answers("OpenAPI 3.1.", map(any()))
            .with_header("ETag", "Changes with the document.")
            .answers_nothing(StatusCode::NOT_MODIFIED, tag)
            .with_header("ETag", "Changes with the document.");
        upstreams::api()
            .merge(status::routes())
            .merge(pages::keys::api())
            .merge(live::routes())
            .merge(nodes::api::routes())
            .route(document, openapi::show)
            .route(series::operation(), series::show)
    }

    fn own_operations() -> Vec<(Arc<Operation>, Access)> {
        let own = Self::own_api();
        let groups = [
            (own.operations, Access::Api(Described::own())),
            (stats::routes().operations, Access::Trusted),
            (ready::routes().operations, Access::Open),
        ];
        let groups = groups.into_iter();
        groups
            .flat_map(|(all, access)| all.into_iter().map(move |one| (one, access)))
            .collect()
    }

    fn own(&self) -> Router {
        let routes = || Router::<Self>::new();
        let own = |access, needs, kind, router: Router<Self>| {
            let rule = self.rule(access, needs, "web", kind);
            behind(rule, router.with_state(self.clone()))
        };
        let (_, health) = ready::routes().with_state(self.clone()).router();
        let robots = routes().route("/robots.txt", get(pages::robots::show));
        let files = routes()
            .route("/assets/{name}", get(assets::asset))
            .route("/favicon.ico", get(assets::favicon));
        let sign_in = routes().route(
            "/sign-in",
            get(pages::sign_in::show).post(pages::sign_in::submit),
        );
        let pages = routes()
            .route("/", get(pages::overview::show))
            .route("/more", get(pages::more))
            .route("/theme", post(pages::theme::choose))
            .route("/sign-out", post(pages::sign_in::sign_out))
            .merge(upstreams::reading());
        let operator = upstreams::pages()
            .merge(pages::keys::pages())
            .route("/first-run/close", post(pages::first_run::close));
        let (api, api_routes) = of_api(&Self::own_api().with_state(self.clone()));
        let unknown = self.rule(Access::Open, Right::Read, "web", "none");
        let open = |kind, router| own(Access::Open, Right::Read, kind, router);
        let health_rule = self.rule(Access::Open, Right::Read, "web", "health");
        let api_rule = self.rule(api, Right::Read, "web", "api");
        behind(health_rule, health)
            .merge(open("health", robots))
            .merge(open("asset", files))
            .merge(open("sign-in", sign_in))
            .merge(self.stats("web"))
            .merge(own(Access::Page, Right::Read, "page", pages))
            .merge(own(Access::Page, Right::Everything, "page", operator))
            .merge(behind(api_rule, api_routes))
            .fallback_service(
                Router::new()
                    .fallback(async || Failure::not_found())
                    .layer(from_fn_with_state(unknown, access::enforce)),
            )
    }

    fn rule(
        &self,
        access: Access,
        needs: Right,
        front: &'static str,
        kind: &'static str,
    ) -> AccessRule {
        let app = self.clone();
        AccessRule {
            app,
            access,
            needs,
            front,
            kind,
        }
    }

    pub(crate) fn keeper(&self) -> &Doorkeeper {
        &self.0.keeper
    }

    pub(crate) fn shell(&self) -> Arc<Shell> {
        Arc::clone(&self.0.shell)
    }

    pub(crate) fn fronts(&self) -> &[Contributed] {
        &self.0.fronts
    }

    /// Fronts that have upstreams.
    pub(crate) fn with_upstreams(
        &self,
    ) -> impl Iterator<Item = (&Contributed, &Arc<dyn Upstreams>)> {
        let fronts = self.0.fronts.iter();
        fronts.filter_map(|front| Some((front, front.upstreams.as_ref()?)))
    }

    pub(crate) fn sections(&self) -> impl Iterator<Item = (&'static str, &Arc<dyn Stats>)> {
        self.0
            .fronts
            .iter()
            .filter_map(|front| Some((front.name, front.stats.as_ref()?)))
    }

    /// The connections that fronts hand over. Returned once, to the listener that serves them.
    pub(crate) fn take_guests(&self) -> Vec<(&'static str, Guests)> {
        std::mem::take(&mut self.0.guests.lock())
    }

    pub(crate) fn requests(&self) -> &Requests {
        &self.0.requests
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.0.registry
    }

    pub(crate) fn connections(&self) -> &Connections {
        &self.0.connections
    }

    pub(crate) fn seats(&self) -> &Seats {
        &self.0.seats
    }

    pub(crate) fn guest_seats(&self) -> &Seats {
        &self.0.guest_seats
    }

    pub(crate) fn listener_rules(&self) -> Arc<ListenerRules> {
        Arc::clone(&self.0.listener)
    }

    pub(crate) fn streams(&self) -> &Streams {
        &self.0.streams
    }

    pub(crate) fn live(&self) -> &Live {
        &self.0.live
    }

    pub(crate) fn downgrade(&self) -> WeakApp {
        WeakApp(Arc::downgrade(&self.0))
    }

    /// The names under which fronts contribute live parts of their pages.
    pub(crate) fn contributed_topics(&self) -> Vec<&'static str> {
        let live = self.0.fronts.iter().flat_map(|front| &front.live);
        live.map(|(name, _)| *name).chain([UPSTREAMS]).collect()
    }

    /// The live parts of that name.
    pub(crate) fn contributed_parts(&self, name: &str) -> Vec<LivePart> {
        if name == UPSTREAMS {
            return upstreams::summary_parts(self);
        }
        let mut live = self.0.fronts.iter().flat_map(|front| &front.live);
        let parts = live.find(|(known, _)| *known == name);
        parts.map_or_else(Vec::new, |(_, parts)| parts())
    }

    /// Fronts that announce something.
    pub(crate) fn announcers(&self) -> impl Iterator<Item = &Announcer> {
        let fronts = self.0.fronts.iter();
        fronts.filter_map(|front| front.announcer.as_ref())
    }

    pub(crate) fn not_ready(&self) -> Vec<String> {
        self.0
            .missing
            .iter()
            .flat_map(|missing| missing())
            .collect()
    }

    pub(crate) fn tried_files(&self) -> &TriedFiles {
        &self.0.tried
    }

    /// Whether `state.db` takes writes now.
    pub(crate) async fn can_write(&self) -> bool {
        let (state, runtime) = (self.0.state.clone(), tokio::runtime::Handle::current());
        // On a thread of its own, because tokio's paused clock would run on while the file's thread writes.
        let mut task = tokio::task::JoinSet::new();
        task.spawn_blocking(move || runtime.block_on(state.try_write()).is_ok());
        matches!(task.join_next().await, Some(Ok(true)))
    }

    pub(crate) fn first_run(&self) -> &FirstRun {
        &self.0.first_run
    }

    pub(crate) fn document(&self) -> &ApiDocument {
        &self.0.document
    }

    /// Whether a path of the API is in the document.
    pub(crate) fn is_described(&self, path: &str) -> bool {
        self.0.described.contains(&path)
    }

    pub(crate) fn readers(&self) -> &Throttle {
        &self.0.readers
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.0.keeper.clock.now()
    }

    pub(crate) fn started(&self) -> Timestamp {
        self.0.started
    }

    pub(crate) fn uptime(&self) -> i64 {
        self.now().duration_since(self.0.started).as_secs().max(0)
    }

    pub(crate) fn next_id(&self) -> crate::RequestId {
        crate::RequestId::new(self.0.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// The answer to an address that sent too many wrong keys.
    pub(crate) fn throttled(&self, until: Timestamp, seconds: u64) -> Failure {
        let when = pages::time::clock(until, &self.0.shell.zone);
        Failure::new(
            StatusCode::TOO_MANY_REQUESTS,
            format!("Too many tries. Next one at {when}."),
            format!("Wait {seconds} s, then send the right key."),
        )
        .retry_after(seconds)
    }
}

/// Routes behind their rule.
fn behind(rule: AccessRule, router: Router) -> Router {
    // axum does not allow a layer on a router without routes.
    if router.has_routes() {
        router.route_layer(from_fn_with_state(rule, access::enforce))
    } else {
        router
    }
}

/// Routes of the API with their rule.
fn of_api(routes: &ApiRoutes) -> (Access, Router) {
    let (described, router) = routes.router();
    match routes.for_readers {
        true => (Access::ReadingApi(described), router),
        false => (Access::Api(described), router),
    }
}

impl WeakApp {
    /// The app, if it is still there.
    pub(crate) fn upgrade(&self) -> Option<App> {
        self.0.upgrade().map(App)
    }
}
