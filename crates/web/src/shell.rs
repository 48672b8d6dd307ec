//! The frame around every page: top bar, navigation, footer. It is built once, from what the fronts contribute.

mod kept;
mod tag;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use jiff::{Timestamp, tz::TimeZone};
use parking_lot::{Mutex, RwLock};
use weir_engine::{Node, Recent};

use self::kept::{KEPT, KeptPages};
use crate::{
    ConnectPanel, Failure, Icon, Identity, NavEntry, NavGroup, Right, Visitor, assets::Assets,
    contribution::KeyLines, kit, nodes::view::NodesView,
};

/// What all pages share.
pub(crate) struct Shell {
    pub(crate) assets: Assets,
    pub(crate) zone: TimeZone,
    nav: Vec<NavEntry>,
    /// Paths that everybody may read below.
    pub(crate) public: Vec<&'static str>,
    /// Changes with everything that is the same on all pages.
    build: u64,
    /// Bytes around the body of the largest page so far, so that a page is written into one piece of memory.
    around: AtomicUsize,
    /// Pages that change with a tag, whole.
    kept: KeptPages,
    /// Panels of fronts for the page Connect.
    pub(crate) connect: Vec<ConnectPanel>,
    /// What fronts fill a new key into.
    pub(crate) key_lines: Vec<KeyLines>,
    /// The full path of the configuration file; a reload may find another one.
    pub(crate) config_file: RwLock<String>,
    /// The full path of the file with the upstreams that were added on the pages.
    pub(crate) upstreams_file: RwLock<String>,
    /// Upstreams and clients are made up; set before anybody is served.
    pub(crate) demo: AtomicBool,
    /// This node, if there are several.
    node: Option<Node>,
}

/// What every page of a demo says.
pub const DEMO: &str =
    "Demo: upstreams and clients are made up. Nothing leaves this machine, and nothing is kept.";

/// What a shell is built from.
pub(crate) struct Furniture {
    pub(crate) nav: Vec<NavEntry>,
    pub(crate) connect: Vec<ConnectPanel>,
    pub(crate) key_lines: Vec<KeyLines>,
    pub(crate) public: Vec<&'static str>,
    pub(crate) assets: Assets,
    pub(crate) zone: TimeZone,
    pub(crate) node: Option<Node>,
}

#[derive(Template)]
#[template(path = "shell.html")]
struct Frame<'a> {
    shell: &'a Shell,
    title: &'a str,
    body: &'a str,
    /// `None` on pages for strangers, who see only the mark.
    visitor: Option<&'a Visitor>,
    theme: Option<&'a str>,
    path: &'a str,
    version: &'a str,
}

impl Frame<'_> {
    /// Whether a visitor who is known may not do everything. Live parts are the same for all, so what they cannot use is
    /// hidden by the style.
    fn is_lesser(&self) -> bool {
        let known = self.visitor.filter(|known| known.identity.signed_in());
        known.is_some_and(|known| !known.may(Right::Everything))
    }

    /// The rights that such a visitor does not have.
    fn missing(&self) -> Vec<Right> {
        let may = |right| self.visitor.is_some_and(|known| known.may(right));
        let rights = [Right::Search, Right::Post].into_iter();
        rights.filter(|right| !may(*right)).collect()
    }
}

#[derive(Template)]
#[template(path = "more.html")]
struct MorePage<'a> {
    entries: Vec<&'a NavEntry>,
    visitor: &'a Visitor,
    account: bool,
}

impl Shell {
    pub(crate) fn new(furniture: Furniture) -> Self {
        let Furniture {
            mut nav,
            connect,
            key_lines,
            public,
            assets,
            zone,
            node,
        } = furniture;
        nav.push(NavEntry {
            label: "Overview",
            href: "/",
            icon: Icon::Overview,
            key: 'o',
            group: NavGroup::Watch,
            place: 0,
            phone: true,
            needs: Right::Read,
        });
        nav.sort_by_key(|entry| (entry.group, entry.place));
        let build = tag::of_build(&nav, &public, &assets, &zone);
        Self {
            assets,
            zone,
            nav,
            public,
            build,
            around: AtomicUsize::new(0),
            kept: Mutex::new(Recent::new(KEPT)),
            connect,
            key_lines,
            config_file: RwLock::new("weir.yaml".to_owned()),
            upstreams_file: RwLock::new("upstreams.yaml".to_owned()),
            demo: AtomicBool::new(false),
            node,
        }
    }

    pub(crate) fn page(&self, visitor: &Visitor, title: &str, body: &str) -> Response {
        let known = visitor.identity.signed_in().then_some(visitor);
        self.frame(known, visitor.theme, &visitor.path, title, body)
    }

    /// A page for a visitor about whom nothing is known.
    pub(crate) fn bare(&self, theme: Option<&str>, title: &str, body: &str) -> Response {
        self.frame(None, theme, "", title, body)
    }

    fn frame(
        &self,
        visitor: Option<&Visitor>,
        theme: Option<&str>,
        path: &str,
        title: &str,
        body: &str,
    ) -> Response {
        let page = self.write(visitor, theme, path, title, body);
        page.map(Html).into_response()
    }

    fn write(
        &self,
        visitor: Option<&Visitor>,
        theme: Option<&str>,
        path: &str,
        title: &str,
        body: &str,
    ) -> Result<String, Failure> {
        let version = env!("CARGO_PKG_VERSION");
        let frame = Frame {
            shell: self,
            title,
            body,
            visitor,
            theme,
            path,
            version,
        };
        let room = body.len() + self.around.load(Ordering::Relaxed);
        kit::render_within(&frame, room).inspect(|page| {
            let around = page.len().saturating_sub(body.len());
            self.around.fetch_max(around, Ordering::Relaxed);
        })
    }

    /// Where the mark leads.
    fn home(&self, path: &str) -> &'static str {
        match self.is_read(path) {
            true => self.public[0],
            false => "/",
        }
    }

    /// Whether a stranger there is a reader rather than somebody about to sign in.
    fn is_read(&self, path: &str) -> bool {
        !self.public.is_empty() && path.starts_with('/') && path != "/sign-in"
    }

    /// The pages that strangers may read.
    fn for_readers(&self) -> impl Iterator<Item = &NavEntry> {
        let entries = self.nav.iter();
        entries.filter(|entry| self.public.contains(&entry.href))
    }

    /// The pages that this visitor may open.
    fn listed(&self, visitor: &Option<&Visitor>) -> Vec<&NavEntry> {
        match visitor {
            Some(visitor) => self.open_to(visitor).collect(),
            None => self.for_readers().collect(),
        }
    }

    fn open_to(&self, visitor: &Visitor) -> impl Iterator<Item = &NavEntry> {
        let entries = self.nav.iter();
        entries.filter(|entry| visitor.may(entry.needs))
    }

    /// The same with whether a group begins with it.
    fn bar(&self, visitor: &Visitor) -> Vec<(&NavEntry, bool)> {
        let mut before = None;
        let entries = self.open_to(visitor);
        entries
            .map(|entry| {
                let group = before.replace(entry.group);
                (entry, group.is_some_and(|group| group != entry.group))
            })
            .collect()
    }

    /// The page with what does not fit into the bar on a phone.
    pub(crate) fn more(&self, visitor: &Visitor) -> Response {
        let entries = self.open_to(visitor).filter(|entry| !entry.phone).collect();
        let account = matches!(visitor.identity, Identity::Session(_));
        visitor.show(
            "More",
            &MorePage {
                entries,
                visitor,
                account,
            },
        )
    }

    /// On pages of settings: what is wrong with the nodes' store, for it is set there.
    fn store_trouble(&self, path: &str) -> Option<String> {
        let node = self
            .node
            .as_ref()
            .filter(|_| path.starts_with("/settings"))?;
        let timeline = node.timeline();
        let now = Timestamp::try_from(timeline.wall(timeline.now())).ok()?;
        NodesView::at(node, now, self.zone.clone()).trouble_sentence()
    }

    /// The name of this node, if there are several.
    pub(crate) fn node_name(&self) -> Option<&str> {
        self.node.as_ref().map(Node::name)
    }

    pub(crate) fn is_demo(&self) -> bool {
        self.demo.load(Ordering::Relaxed)
    }

    /// The name of the time zone in which times are shown.
    pub(crate) fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    fn phone(&self, visitor: &Visitor) -> Vec<&NavEntry> {
        self.open_to(visitor).filter(|entry| entry.phone).collect()
    }
}

impl NavEntry {
    /// Whether a path is this page or one below it.
    fn holds(&self, path: &str) -> bool {
        path == self.href
            || (self.href != "/"
                && path
                    .strip_prefix(self.href)
                    .is_some_and(|rest| rest.starts_with('/')))
    }
}
