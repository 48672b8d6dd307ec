//! The section `engine`: settings for the calls of all fronts.

use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{Percent, check, section};

section! {
    /// How upstreams are called, in all fronts.
    pub struct Config in "engine", at start {
        /// Cooldowns after failures: one step further with each failed try, reset on success.
        ladder: Vec<Duration> = "[1m, 5m, 15m, 30m, 1h, 3h, 6h, 12h, 24h]", check |ladder| rising(ladder);
        /// The longest Retry-After accepted from an upstream, at most 24h; a longer one counts as this.
        retry_after_max: Duration = "24h", check up_to_a_day;
        /// Maximum scheduled jobs, as a multiple of the queue size.
        agenda_factor: NonZeroU32 = "10";
        /// How long a scheduled job is put off if the queue is full.
        agenda_delay: Duration = "10s", check check::some_time;
        /// Queued jobs that each upstream may always have; how many more depends on the queue size.
        upstream_backlog: NonZeroU32 = "32";
        /// Queue fill in percent at which workers are added (the tracker has its own key, queue_scale_threshold_pct).
        scale_up_pct: Percent = "60";
        /// Queue fill in percent below which workers are removed.
        scale_down_pct: Percent = "40";
        /// At most one worker is added or removed in this time.
        scale_every: Duration = "1s", check check::some_time;
        /// A call that takes longer than this frees its worker and becomes a waiting call.
        slow_call: Duration = "1s", check check::some_time;
        /// Maximum waiting calls per front.
        waiting_calls: NonZeroU32 = "1000";
        /// Upstreams that must be unreachable before Weir suspects its own network.
        weather_upstreams: NonZeroU32 = "2";
        /// Time without a successful call before Weir suspects its own network.
        weather_quiet: Duration = "30s", check check::some_time;
        /// How long calls pause while Weir's own network is down.
        weather_pause: Duration = "30s", check check::some_time;
        /// Decisions kept per upstream, to explain what happened.
        decisions: NonZeroU32 = "200";
        /// How long the past states and decisions of an upstream are kept.
        history: Duration = "24h", check check::some_time;
        /// How long after the end of a cooldown Weir tries an upstream by itself if nobody has asked it for anything.
        probe_after: Duration = "30s", check check::some_time;
        /// Within this time Weir tries an upstream by itself that has never answered.
        try_within: Duration = "5m", check check::some_time;
    }
    gone {
        series_points: "remove this key: the number of points in a chart follows from the time it covers";
    }
    then |config, fields| {
        if config.scale_down_pct >= config.scale_up_pct {
            fields.refuse("scale_down_pct", "make this smaller than scale_up_pct, or workers would come and go all the time");
        }
    }
}

fn rising(ladder: &[Duration]) -> Result<(), &'static str> {
    check::not_empty(ladder)?;
    let rises = !ladder[0].is_zero() && ladder.is_sorted_by(|a, b| a < b);
    check::that(rises, "durations that increase with each step")
}

/// No Retry-After is read as more than a day, so a larger value would have no effect.
fn up_to_a_day(longest: &Duration) -> Result<(), &'static str> {
    let fits = !longest.is_zero() && *longest <= Duration::from_secs(24 * 60 * 60);
    check::that(fits, "more than 0s and at most 24h")
}
