//! What a page says after an operator did something.

use weir_engine::Standing;

use super::{
    act::{Action, Effect},
    numbers::counted,
    sight::Sight,
    times::at,
};
use crate::App;

/// One sentence, shown after the form was sent.
pub(super) struct Notice {
    pub(super) html: String,
    pub(super) bad: bool,
}

impl Notice {
    /// Reads it from the address. It holds no text of its own, so that nobody can put words into our mouth.
    pub(super) fn read(app: &App, did: &str, whom: &str, how: &str) -> Option<Self> {
        if did == "probe-all" {
            let count: u64 = how.parse().ok()?;
            let (one, more) = ("upstream is being probed.", "upstreams are being probed.");
            let html = counted(count, one, more);
            return Some(Self { html, bad: false });
        }
        let how = Effect::ALL.into_iter().find(|known| known.name() == how)?;
        let action = Action::read(did)?;
        let (front, name) = whom.split_once('/')?;
        let sight = Sight::find(app, front, name).ok()?;
        let words = sentence(&sight, action, how);
        Some(Self {
            html: sight.times.html(&words),
            bad: matches!(how, Effect::Failed | Effect::Nothing | Effect::NoProbe),
        })
    }
}

/// What was done and what came of it.
pub(super) fn sentence(sight: &Sight<'_>, action: Action, how: Effect) -> String {
    let (name, standing) = (sight.name(), sight.standing());
    match (action, how) {
        (Action::Probe, Effect::Answered) if standing == Standing::Open => {
            format!("{name} answered the probe and is open.")
        }
        (Action::Probe, Effect::Answered) => format!("{name} answered the probe."),
        (Action::Probe, Effect::Failed) => match &sight.view.last_error {
            Some((_, words)) => format!("{name} did not pass the probe: {words}."),
            None => format!("{name} did not pass the probe."),
        },
        (Action::Probe, Effect::UnderWay) => {
            format!("{name} is being probed. Load the page again to see how it went.")
        }
        (Action::Probe, _) => {
            format!("There is no probe for {name}: the next call tries it out.")
        }
        (Action::Clear, Effect::Done) if standing == Standing::Manual => {
            format!("The rest of {name} was ended. It stays off until switched on.")
        }
        (Action::Clear, Effect::Done) => format!("{name} is open: its rest was ended."),
        (Action::Clear, _) => format!("{name} does not rest, so nothing was changed."),
        (Action::Disable, _) => format!("{name} is off until it is switched on."),
        (Action::Enable, Effect::Done) => match sight.until() {
            Some(until) => format!(
                "{name} is switched on. Its rest goes on until {}.",
                at(until)
            ),
            None => format!("{name} is switched on."),
        },
        (Action::Enable, _) => format!("{name} was not off, so nothing was changed."),
    }
}
