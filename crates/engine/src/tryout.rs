//! Tries an upstream for somebody who is about to add or change it.
//!
//! One that is already called by the same way is called as itself, so that the call counts in its windows. Any other gets
//! an engine of its own for the moment: the same bounds hold, and nothing of it is kept, counted or shown anywhere.

mod said;

use std::sync::Arc;
use std::time::Duration;

use weir_dispatch::policy::{ClassPolicy, CrewPolicy, FailurePolicy, OnCooldown, Overflow};
use weir_dispatch::{Asker, Policy, Quota, UpstreamId};

use crate::call::{Call, Ended};
use crate::engine::{Engine, Options};

pub use self::said::{Tryout, TryoutFault, TryoutFound, TryoutKeys, TryoutResult};

impl Engine {
    /// Makes one call to an upstream that somebody tries. `known` is its number if it has one here; otherwise `quota` and
    /// `time_out` bound the call.
    ///
    /// # Cancel safety
    /// A call to an upstream that is not known ends with the future.
    pub async fn try_out(
        &self,
        known: Option<UpstreamId>,
        quota: Quota,
        time_out: Duration,
        call: Arc<dyn Call>,
    ) -> Ended {
        if let Some(upstream) = known {
            return self.probe(upstream, call, Asker::OPERATOR).await;
        }
        let weather = self.shared.weather.apart();
        let options = Options::new(self.shared.timeline, weather);
        let alone = Alone(Self::new(self.front(), policy(), options));
        let upstream = alone.0.add_upstream("", quota, time_out);
        alone.0.probe(upstream, call, Asker::OPERATOR).await
    }
}

/// An engine for one call. Nothing of it is left when this is dropped.
struct Alone(Engine);

impl Drop for Alone {
    fn drop(&mut self) {
        self.0.shared.closing.cancel();
        self.0.shared.cut.cancel();
    }
}

/// One call, one attempt, no records.
fn policy() -> Policy {
    let minute = Duration::from_secs(60);
    Policy {
        classes: vec![ClassPolicy {
            max_wait: None,
            on_cooldown: OnCooldown::End,
            overflow: Overflow::Drop,
        }],
        capacity: 1,
        agenda_capacity: 1,
        backlog_floor: 1,
        aging: minute,
        put_off: minute,
        crew: CrewPolicy {
            base: 1,
            max: 1,
            grow_at: 60,
            shrink_below: 40,
            step: minute,
            slot_time: minute,
            waiting_max: 1,
        },
        failure: FailurePolicy {
            ladder: vec![minute],
            threshold: 1,
            threshold_disables: false,
            throttled: None,
            longest: minute,
        },
        again_class: None,
        attempts: 1,
        retry_base: minute,
        records: 0,
    }
}
