//! The section `engine`: numbers that hold for the calls of all fronts.

use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{Percent, check, section};

section! {
    /// How upstreams are called; holds for all fronts.
    pub struct Config in "engine", at start {
        /// How long an upstream that failed is left alone: one step further with each failed try, back to none on success.
        ladder: Vec<Duration> = "[1m, 5m, 15m, 30m, 1h, 3h, 6h, 12h, 24h]", check |ladder| rising(ladder);
        /// The longest Retry-After of an upstream that is believed.
        retry_after_max: Duration = "24h", check check::some_time;
        /// Scheduled jobs at most, as a multiple of the queue's size.
        agenda_factor: NonZeroU32 = "10";
        /// A scheduled job that finds the queue full is put off by this much.
        agenda_delay: Duration = "10s", check check::some_time;
        /// Queued jobs that one upstream may hold in any case; more depends on the queue's size.
        upstream_backlog: NonZeroU32 = "32";
        /// Queue fill in percent from which workers are added (the tracker has its own key).
        scale_up_pct: Percent = "60";
        /// Queue fill in percent below which workers leave.
        scale_down_pct: Percent = "40";
        /// One worker is added or leaves in this time.
        scale_every: Duration = "1s", check check::some_time;
        /// A call that takes longer gives its worker back and counts as waiting.
        slow_call: Duration = "1s", check check::some_time;
        /// Waiting calls at most, per front.
        waiting_calls: NonZeroU32 = "1000";
        /// Upstreams that must be out of reach before our own network is suspected.
        weather_upstreams: NonZeroU32 = "2";
        /// Time without any success before our own network is suspected.
        weather_quiet: Duration = "30s", check check::some_time;
        /// Calls pause this long while our own network is down.
        weather_pause: Duration = "30s", check check::some_time;
        /// Decisions kept per upstream, to explain what happened.
        decisions: NonZeroU32 = "200";
        /// How far back the states of an upstream are kept.
        history: Duration = "24h", check check::some_time;
    }
    gone {
        series_points: "remove this key: how many points a chart has follows from the time it covers";
    }
    then |config, fields| {
        if config.scale_down_pct >= config.scale_up_pct {
            fields.refuse("scale_down_pct", "make this smaller than scale_up_pct, or workers come and go");
        }
    }
}

fn rising(ladder: &[Duration]) -> Result<(), &'static str> {
    check::not_empty(ladder)?;
    if ladder[0].is_zero() || !ladder.is_sorted_by(|a, b| a < b) {
        return Err("durations that grow from step to step");
    }
    Ok(())
}
