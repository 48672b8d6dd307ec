//! Upstreams for whoever watches a page: the same parts as on its first paint, written anew when something happens.

use weir_engine::{Brief, StateCounts};

use super::{
    chart::UpstreamCharts, list, parts::UpstreamParts, row::UpstreamLine, runs, sight::Sight,
};
use crate::{
    App, LivePart,
    live::{NewRows, Whom},
};

/// The list of decisions on the page of one upstream.
pub(super) const ROWS: &str = "decision-rows";

/// What the list of upstreams says of all of them.
pub(crate) fn summary_parts(app: &App) -> Vec<LivePart> {
    let fronts = app.with_upstreams();
    let briefs: Vec<Brief> = fronts
        .flat_map(|(_, upstreams)| upstreams.engine().briefs())
        .collect();
    vec![list::summary_part(&StateCounts::of(&briefs))]
}

/// The live parts of one row of the list.
pub(crate) fn row_parts(app: &App, whom: &Whom) -> Vec<LivePart> {
    let sight = Sight::watched(app, (&whom.front, &whom.name), false);
    sight.map_or_else(Vec::new, |sight| UpstreamLine::new(&sight).parts(&sight))
}

/// The live parts of the page of one upstream. Charts are those of the last hour.
pub(crate) fn one_parts(app: &App, whom: &Whom) -> Vec<LivePart> {
    let Some(sight) = Sight::watched(app, (&whom.front, &whom.name), true) else {
        return Vec::new();
    };
    let mut parts = UpstreamParts::of(&sight).list();
    parts.extend(UpstreamCharts::of(&sight, "").charts);
    parts.extend(runs::endings(&sight));
    parts
}

/// The decisions about one upstream after this number, as rows of its page; without a number the newest.
pub(crate) fn one_rows(app: &App, whom: &Whom, after: Option<u64>) -> NewRows {
    let Some(sight) = Sight::watched(app, (&whom.front, &whom.name), true) else {
        return NewRows::default();
    };
    let (rows, more, newest) = runs::new_rows(&sight, after);
    NewRows {
        list: ROWS,
        rows,
        more,
        newest,
    }
}
