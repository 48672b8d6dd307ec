//! That our own network is down, which explains everything else: one sentence for all pages, and for those who are told.

use weir_engine::our_network;

use super::{sight::no_scene, times::Times};
use crate::App;

/// The sentence, with marks in place of times, and the clock that those are read by; `None` while nothing is known to be
/// wrong with our network. It holds until somebody answers, whether calls pause at the moment or not.
pub(crate) fn outage(app: &App) -> Option<(String, Times)> {
    let fronts = app.with_upstreams().map(|(_, upstreams)| {
        let engine = upstreams.engine();
        (engine, engine.status())
    });
    // A front without upstreams makes no calls.
    let down = fronts.filter(|(_, figures)| figures.network_down && figures.upstreams > 0);
    let down: Vec<_> = down.collect();
    let (engine, _) = down.first()?;
    let failed = down.iter().map(|(_, figures)| figures.troubled).max();
    // Each front pauses by itself; none of them makes a call before the first goes on.
    let paused = down.iter().map(|(_, figures)| figures.counts.paused_until);
    let paused = paused.min().flatten();
    let words = our_network(failed.unwrap_or_default(), paused, &no_scene());
    Some((
        words,
        Times::new(engine, app.now(), app.shell().zone.clone()),
    ))
}
