//! What is used of an upstream's limits, as pages, API and `/stats` tell it.

use serde_json::{Value, json};
use weir_engine::{
    SharedUse, UpstreamView,
    dispatch::{Budget, Window, WindowUse},
    window_name, within,
};

use super::{numbers::grouped, times::Times};

/// One limit of an upstream and what is used of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct UpstreamLimit {
    pub(super) grabs: bool,
    pub(super) window: WindowUse,
}

impl UpstreamLimit {
    /// All limits of an upstream: those on queries first, shortest first.
    pub(super) fn all(view: &UpstreamView) -> Vec<Self> {
        let of = |grabs| {
            move |window: &WindowUse| Self {
                grabs,
                window: *window,
            }
        };
        let queries = view.status.query.iter().map(of(false));
        queries
            .chain(view.status.grab.iter().map(of(true)))
            .collect()
    }

    /// What all nodes together used of the same limits.
    pub(super) fn shared(view: &UpstreamView, seen: &SharedUse) -> Vec<Self> {
        let own = Self::all(view).into_iter();
        own.filter_map(|limit| {
            let budget = match limit.grabs {
                true => Budget::Grab,
                false => Budget::Query,
            };
            let mut all = seen.windows.iter();
            let (.., used) =
                all.find(|(of, window, _)| (*of, *window) == (budget, limit.window.window))?;
            let window = WindowUse {
                used: *used,
                ..limit.window
            };
            Some(Self { window, ..limit })
        })
        .collect()
    }

    /// `hour`, `5 min`; `files` or `files 30 d` for limits on downloads, which are mostly per day. No word is longer than
    /// the place before a meter.
    pub(super) fn label(self) -> String {
        let name = match self.window.window {
            Window::MINUTE => "min".to_owned(),
            window => window_name(window).replace(" days", " d"),
        };
        match (self.grabs, self.window.window) {
            (true, Window::DAY) => "files".to_owned(),
            (true, _) => format!("files {name}"),
            (false, _) => name,
        }
    }

    /// `41 of 300`.
    pub(super) fn used(self) -> String {
        let WindowUse { used, limit, .. } = self.window;
        format!("{} of {}", grouped(used), grouped(limit))
    }

    /// `41 of 300 calls in the last 5 min`.
    pub(super) fn said(self) -> String {
        let what = if self.grabs { "downloads" } else { "calls" };
        format!("{} {what} {}", self.used(), within(self.window.window))
    }

    /// The same for programs.
    pub(super) fn json(self, times: &Times) -> Value {
        let window = self.window;
        json!({
            "budget": if self.grabs { "grab" } else { "query" },
            "window": window_name(window.window),
            "window_seconds": window.window.seconds(),
            "used": window.used,
            "limit": window.limit,
            "learned": window.learned,
            "next": (window.next > times.moment).then(|| times.exact(window.next)),
        })
    }
}
