//! The numbers that hold for all fronts by default, for engines in tests.

use std::time::Duration;

use weir_dispatch::Policy;
use weir_dispatch::policy::{CrewPolicy, FailurePolicy};

/// A front adds its classes, its capacity and its crew.
pub fn general() -> Policy {
    let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
    Policy {
        classes: Vec::new(),
        capacity: 1,
        agenda_capacity: 10,
        backlog_floor: 32,
        aging: 10 * second,
        put_off: 10 * second,
        crew: CrewPolicy {
            base: 1,
            max: 1,
            grow_at: 60,
            shrink_below: 40,
            step: second,
            slot_time: second,
            waiting_max: 1000,
        },
        failure: FailurePolicy {
            ladder: [1, 5, 15, 30, 60, 180, 360, 720, 1440]
                .map(|rest| rest * minute)
                .to_vec(),
            threshold: 1,
            threshold_disables: false,
            throttled: None,
            longest: 1440 * minute,
        },
        again_class: None,
        attempts: 1,
        retry_base: second / 2,
        records: 200,
    }
}
