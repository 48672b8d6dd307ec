//! What a front contributes to the web listener: routes, navigation, a section of `/stats`, metrics, upstreams and a
//! card on the overview. Everything here is plain values and small traits, so that `web` never knows a front.

use std::sync::Arc;

use axum::Router;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc;
use weir_engine::Counters;
use weir_store::sqlite::File;

use crate::{
    Access, Announcer, Guest, LivePart, Right, Upstreams, kit::PasteAddress, openapi::ApiRoutes,
};

/// Puts a front's metrics into the registry.
type Register = Box<dyn FnOnce(&mut Registry) + Send>;

/// Says what is missing for a front to serve.
pub(crate) type Missing = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// Returns hits and misses of a front's cache.
pub(crate) type CacheCounts = Box<dyn Fn() -> (u64, u64) + Send + Sync>;

/// Writes the live parts of a front's page.
pub(crate) type WriteParts = Box<dyn Fn() -> Vec<LivePart> + Send + Sync>;

/// Writes what a program takes with a key in it.
pub(crate) type KeyLines =
    Box<dyn Fn(&str, &str, &str) -> Vec<(&'static str, String)> + Send + Sync>;

/// Connections from another listener, and the router that serves them.
pub(crate) type Guests = (mpsc::Receiver<Guest>, Router);

/// One front's part of the web listener.
pub struct Contribution {
    pub(crate) front: Contributed,
    pub(crate) routers: Vec<(Access, Right, Router)>,
    pub(crate) api: Vec<ApiRoutes>,
    pub(crate) files: Vec<File>,
    pub(crate) nav: Vec<NavEntry>,
    pub(crate) metrics: Option<Register>,
    pub(crate) missing: Option<Missing>,
    pub(crate) guests: Option<Guests>,
    pub(crate) connect: Option<ConnectPanel>,
    pub(crate) key_lines: Option<KeyLines>,
    pub(crate) cached: Option<CacheCounts>,
    pub(crate) public: Option<&'static str>,
}

/// The part of a contribution that pages and figures use as long as the front runs.
pub(crate) struct Contributed {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) icon: Icon,
    pub(crate) card: Option<Arc<dyn Card>>,
    pub(crate) stats: Option<Arc<dyn Stats>>,
    pub(crate) upstreams: Option<Arc<dyn Upstreams>>,
    /// By the name of their topic.
    pub(crate) live: Vec<(&'static str, WriteParts)>,
    pub(crate) announcer: Option<Announcer>,
}

impl Contribution {
    /// Starts a contribution: `name` as in metrics and `/stats`, `title` as people read it.
    pub fn new(name: &'static str, title: &'static str, icon: Icon) -> Self {
        let front = Contributed {
            name,
            title,
            icon,
            card: None,
            stats: None,
            upstreams: None,
            live: Vec::new(),
            announcer: None,
        };
        Self {
            front,
            routers: Vec::new(),
            api: Vec::new(),
            files: Vec::new(),
            nav: Vec::new(),
            metrics: None,
            missing: None,
            guests: None,
            connect: None,
            key_lines: None,
            cached: None,
            public: None,
        }
    }

    /// Adds pages, which only visitors who are signed in with this right may open. The router must not have a fallback of
    /// its own.
    #[must_use]
    pub fn router(self, needs: Right, router: Router) -> Self {
        self.router_for(Access::Page, needs, router)
    }

    /// Adds routes with another access rule; whoever is signed in needs the right. The router must not have a fallback of its
    /// own.
    #[must_use]
    pub fn router_for(mut self, access: Access, needs: Right, router: Router) -> Self {
        self.routers.push((access, needs, router));
        self
    }

    /// Adds routes of the API.
    #[must_use]
    pub fn api(mut self, routes: ApiRoutes) -> Self {
        self.api.push(routes);
        self
    }

    /// Makes `/readyz` say no while one of these files cannot be written, and `/api/v1/status` tell their sizes.
    #[must_use]
    pub fn files(mut self, files: impl IntoIterator<Item = File>) -> Self {
        self.files.extend(files);
        self
    }

    /// Adds an entry to the navigation.
    #[must_use]
    pub fn nav(mut self, entry: NavEntry) -> Self {
        self.nav.push(entry);
        self
    }

    /// Sets the section of `/stats`.
    #[must_use]
    pub fn stats(mut self, stats: Arc<dyn Stats>) -> Self {
        self.front.stats = Some(stats);
        self
    }

    /// Registers metrics; the registry already carries the prefix `weir`.
    #[must_use]
    pub fn metrics(mut self, register: impl FnOnce(&mut Registry) + Send + 'static) -> Self {
        self.metrics = Some(Box::new(register));
        self
    }

    /// Makes `/readyz` say no while something is missing: `read` returns a sentence for each, and is called each time.
    #[must_use]
    pub fn missing(mut self, read: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Self {
        self.missing = Some(Box::new(read));
        self
    }

    /// Takes over connections that a listener of the front accepted and that do not speak its protocol. They are served
    /// `/stats` and `/metrics` under the same rules as here, and everything else by `router`.
    #[must_use]
    pub fn guests(mut self, waiting: mpsc::Receiver<Guest>, router: Router) -> Self {
        self.guests = Some((waiting, router));
        self
    }

    /// Adds a panel with addresses to the page Connect, whichever front shows that page.
    #[must_use]
    pub fn connect(mut self, panel: ConnectPanel) -> Self {
        self.connect = Some(panel);
        self
    }

    /// Fills in a key that was just made: `write` gets its name, our origin and the key, and returns what the program that it
    /// is called after takes, labels and lines.
    #[must_use]
    pub fn key_lines(
        mut self,
        write: impl Fn(&str, &str, &str) -> Vec<(&'static str, String)> + Send + Sync + 'static,
    ) -> Self {
        self.key_lines = Some(Box::new(write));
        self
    }

    /// Counts questions that were answered from the front's cache, and those that were not; `read` returns both.
    #[must_use]
    pub fn cached(mut self, read: impl Fn() -> (u64, u64) + Send + Sync + 'static) -> Self {
        self.cached = Some(Box::new(read));
        self
    }

    /// Invites everybody to what is below this path: strangers see its entry of the navigation, and `robots.txt` allows
    /// it. The routes themselves have [`Access::Reading`].
    #[must_use]
    pub fn public(mut self, path: &'static str) -> Self {
        self.public = Some(path);
        self
    }

    /// Keeps parts of a page live: whoever listens to the topic `page:{name}` gets what `write` returns, once a second if it
    /// has changed. The page itself must be written by the same templates, and nothing in a part may be for one visitor alone.
    #[must_use]
    pub fn live(
        mut self,
        name: &'static str,
        write: impl Fn() -> Vec<LivePart> + Send + Sync + 'static,
    ) -> Self {
        self.front.live.push((name, Box::new(write)));
        self
    }

    /// Lets whoever listens hear what the front announces.
    #[must_use]
    pub fn announcements(mut self, announcer: Announcer) -> Self {
        self.front.announcer = Some(announcer);
        self
    }

    /// Sets the card on the overview.
    #[must_use]
    pub fn card(mut self, card: Arc<dyn Card>) -> Self {
        self.front.card = Some(card);
        self
    }

    /// Puts the front's upstreams on `/upstreams`, into the API and into the metrics, and lets those be tried that nobody
    /// asks.
    #[must_use]
    pub fn upstreams(mut self, upstreams: Arc<dyn Upstreams>) -> Self {
        if upstreams.is_tried_unasked() {
            // Weak, or the engine would keep itself alive through its front.
            let prober = Arc::downgrade(&upstreams);
            upstreams
                .engine()
                .set_prober(move |upstream| prober.upgrade()?.probe(upstream));
        }
        self.front.upstreams = Some(upstreams);
        self
    }
}

/// Addresses of a front that are pasted into programs.
pub struct ConnectPanel {
    /// Its heading.
    pub title: &'static str,
    /// Who uses the addresses: *Newsreaders*.
    pub users: &'static str,
    /// Marks it in the page's address; a word.
    pub anchor: &'static str,
    /// What to do with the addresses.
    pub text: &'static str,
    /// Returns them for somebody who reaches us at an origin such as `http://weir.example:7070`.
    pub addresses: ConnectAddresses,
    /// Who listens there: *The news server*.
    pub server: &'static str,
    /// The keys that say where.
    pub keys: &'static [&'static str],
    /// Programs that use them, each with its own steps.
    pub programs: Vec<ConnectProgram>,
}

/// A program, and what to type into it.
pub struct ConnectProgram {
    /// As its makers write it.
    pub name: &'static str,
    /// Marks it in the page's address; a word.
    pub anchor: &'static str,
    /// Where in the program.
    pub place: &'static str,
    /// What to paste there: labels and values, for these addresses.
    pub lines: fn(&[PasteAddress]) -> Vec<(&'static str, String)>,
    /// What else to know; may be empty.
    pub note: &'static str,
    /// How long ago it was last heard.
    pub heard: ConnectHeard,
    /// What a key of its own must allow, if it needs one.
    pub needs: Option<Right>,
}

/// Returns how long ago a program was heard.
pub type ConnectHeard = Box<dyn Fn() -> Option<std::time::Duration> + Send + Sync>;

/// Returns addresses as they look from an origin.
pub type ConnectAddresses = Box<dyn Fn(&str) -> Vec<PasteAddress> + Send + Sync>;

/// An entry of the navigation.
#[derive(Debug, Clone)]
pub struct NavEntry {
    /// Its name.
    pub label: &'static str,
    /// Where it leads; it is also marked as current on pages below that.
    pub href: &'static str,
    /// Its picture on a phone.
    pub icon: Icon,
    /// The key that opens it after `g`.
    pub key: char,
    /// Which of the three groups it belongs to.
    pub group: NavGroup,
    /// Its place within the group.
    pub place: u8,
    /// Whether a phone shows it in its bar rather than on the page *More*.
    pub phone: bool,
    /// What a visitor must be allowed to see it; the right of the route itself.
    pub needs: Right,
}

/// The groups of the navigation, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NavGroup {
    /// Pages that show what is going on.
    Watch,
    /// Pages to search and read.
    Read,
    /// Pages to set things up.
    SetUp,
}

/// Pictures of the sprite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the picture of its name")]
pub enum Icon {
    Overview,
    Upstreams,
    Tracker,
    Search,
    News,
    Notify,
    History,
    Connect,
    Settings,
    More,
}

impl Icon {
    /// The name of the symbol in the sprite.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Upstreams => "upstreams",
            Self::Tracker => "tracker",
            Self::Search => "search",
            Self::News => "news",
            Self::Notify => "notify",
            Self::History => "history",
            Self::Connect => "connect",
            Self::Settings => "settings",
            Self::More => "more",
        }
    }
}

/// Provides one front's section of `/stats`.
pub trait Stats: Send + Sync + 'static {
    /// A snapshot; text and JSON are made from the same one.
    fn section(&self) -> Section;
}

/// One front's section of `/stats`.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Fields in JSON, under `fronts.{name}`.
    pub json: serde_json::Map<String, serde_json::Value>,
    /// Lines of the text form, without line ends.
    pub text: Vec<String>,
    /// Whether the fields are also at the top level of the JSON, as the tracker's are.
    pub top_level: bool,
}

/// Provides one front's card on the overview.
pub trait Card: Send + Sync + 'static {
    /// What the card shows now.
    fn view(&self) -> CardView;

    /// What the front does not do while it has more to do than it can; `None` while it copes. The opening sentence of
    /// the overview tells it.
    fn overload(&self) -> Option<CardOverload> {
        None
    }

    /// How full the queue must be, in percent, for the front to do less than it is asked to, and what that is called on the
    /// chart: `80, "tokens"`.
    fn thresholds(&self) -> Vec<(u32, &'static str)> {
        Vec::new()
    }
}

/// An overloaded front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardOverload {
    /// How long it has been so.
    pub since: std::time::Duration,
    /// In words, to follow a colon: `1,204 first announces refused in the last minute`.
    pub clause: String,
    /// The same for programs: what, and how often in the last minute.
    pub counts: Vec<(&'static str, u64)>,
}

/// What a card shows.
#[derive(Debug, Clone)]
pub struct CardView {
    /// How the front is doing.
    pub state: CardState,
    /// The same in a sentence: who, why, until when.
    pub sentence: String,
    /// Figures below it.
    pub figures: Vec<Figure>,
    /// Lines to add to the configuration, while there is nothing to show.
    pub lines: Option<String>,
}

impl CardView {
    /// A front that has no upstream yet: what to do, and the lines that do it.
    pub fn unconfigured(sentence: &str, lines: String) -> Self {
        Self {
            state: CardState::Unconfigured,
            sentence: sentence.to_owned(),
            figures: Vec::new(),
            lines: Some(lines),
        }
    }
}

/// A figure with its label.
#[derive(Debug, Clone)]
pub struct Figure {
    /// What it counts.
    pub label: String,
    /// The number as people read it; `–` if unknown.
    pub value: String,
    /// It counts requests since the start. The overview shows those of a window, all in one bar.
    pub flow: bool,
}

impl Figure {
    /// A number, as people read it.
    pub fn count(label: impl Into<String>, count: u64) -> Self {
        Self {
            label: label.into(),
            value: weir_engine::words::grouped(count),
            flow: false,
        }
    }

    /// A number of requests since the start, by what became of them.
    pub fn flow(label: impl Into<String>, count: u64) -> Self {
        Self {
            flow: true,
            ..Self::count(label, count)
        }
    }

    /// What became of requests, for a front that answers from a cache and shares calls.
    pub fn of_calls(counters: &Counters) -> Vec<Self> {
        vec![
            Self::flow("Requests", counters.asked),
            Self::flow("Calls made", counters.sent),
            Self::flow("From cache", counters.from_memory),
            Self::flow("Joined", counters.shared),
        ]
    }
}

/// How a front is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardState {
    /// It answers its clients.
    Answering,
    /// It will answer in a moment.
    Starting,
    /// It answers less well than usual.
    Limited,
    /// It has more to do than it can; see [`Card::overload`].
    Overloaded,
    /// It does not answer.
    Down,
    /// It has nothing to do yet.
    Unconfigured,
    /// It is switched off, or not part of this build.
    Off,
}

impl CardState {
    pub(crate) const ALL: [Self; 7] = [
        Self::Answering,
        Self::Starting,
        Self::Limited,
        Self::Overloaded,
        Self::Down,
        Self::Unconfigured,
        Self::Off,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Answering => "Answering",
            Self::Starting => "Starting",
            Self::Limited => "Limited",
            Self::Overloaded => "Overloaded",
            Self::Down => "Not answering",
            Self::Unconfigured => "Not set up",
            Self::Off => "Off",
        }
    }

    /// Its name in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Answering => "answering",
            Self::Starting => "starting",
            Self::Limited => "limited",
            Self::Overloaded => "overloaded",
            Self::Down => "not_answering",
            Self::Unconfigured => "not_set_up",
            Self::Off => "off",
        }
    }

    /// The look of its chip, one of the states of an upstream.
    pub(crate) fn chip(self) -> &'static str {
        match self {
            Self::Answering => "open",
            Self::Starting => "probing",
            Self::Limited | Self::Overloaded => "cooldown",
            Self::Down => "disabled",
            Self::Unconfigured | Self::Off => "manual",
        }
    }
}
