//! What a page says after an operator has done something.

use weir_engine::Standing;

use super::{
    act::{Action, Effect},
    numbers::{counted, escape},
    sight::Sight,
    times::at,
};
use crate::{App, UNWRITTEN};

/// What was done, shown after the form was sent.
pub(crate) struct Notice {
    pub(crate) html: String,
    pub(crate) bad: bool,
}

impl Notice {
    /// Reads it from the address. The address holds no text of its own, so that nobody can put words into our mouth.
    pub(crate) fn read(app: &App, did: &str, whom: &str, how: &str) -> Option<Self> {
        if did == "probe-all" {
            let count: u64 = how.parse().ok()?;
            let (one, more) = ("upstream is being probed.", "upstreams are being probed.");
            let html = counted(count, one, more);
            return Some(Self { html, bad: false });
        }
        if let Some(html) = saved(app, did, whom, how) {
            return Some(Self { html, bad: false });
        }
        let how = Effect::ALL.into_iter().find(|known| known.name() == how)?;
        let action = Action::read(did)?;
        let (front, name) = whom.split_once('/')?;
        let sight = Sight::find(app, front, name).ok()?;
        let words = sentence(&sight, action, how);
        Some(Self {
            html: sight.times.html(&words),
            bad: matches!(
                how,
                Effect::Failed | Effect::Nothing | Effect::NoProbe | Effect::Unwritten
            ),
        })
    }
}

/// What was saved in the file of added upstreams.
fn saved(app: &App, did: &str, whom: &str, how: &str) -> Option<String> {
    let file = escape(&app.shell().upstreams_file.read());
    let there = || {
        let (front, name) = whom.split_once('/')?;
        let sight = Sight::find(app, front, name).ok()?;
        Some(escape(sight.name()))
    };
    match did {
        "added" => Some(format!("{} was added to {file} and is in use.", there()?)),
        "changed" => Some(format!(
            "{} was changed in {file}. The change is in use.",
            there()?
        )),
        "removed" => Some(format!(
            "The upstream was removed from {file} and is no longer called."
        )),
        "imported" => {
            let count: u64 = how.parse().ok()?;
            let (one, more) = ("indexer was added", "indexers were added");
            Some(format!("{} to {file}.", counted(count, one, more)))
        }
        _ => None,
    }
}

/// What was done and what came of it.
pub(super) fn sentence(sight: &Sight<'_>, action: Action, how: Effect) -> String {
    let (name, standing) = (sight.name(), sight.standing());
    if how == Effect::Unwritten {
        let done = sentence(sight, action, Effect::Done);
        return format!(
            "{done} This is not on disk yet, and a restart would undo it: {UNWRITTEN} Weir keeps trying."
        );
    }
    match (action, how) {
        (Action::Probe, Effect::Answered) if standing == Standing::Open => {
            format!("{name} answered the probe and is open.")
        }
        (Action::Probe, Effect::Answered) => format!("{name} answered the probe."),
        (Action::Probe, Effect::Failed) => match &sight.view.last_error {
            Some((_, words)) => format!("{name}: the probe failed: {words}."),
            None => format!("{name}: the probe failed."),
        },
        (Action::Probe, Effect::UnderWay) => {
            format!("{name} is being probed. Reload the page to see the result.")
        }
        (Action::Probe, _) => {
            format!("{name} has no separate probe: the next request will test it.")
        }
        (Action::Clear, Effect::Done) if standing == Standing::Manual => {
            format!("{name}: cooldown cleared. It stays off until switched on.")
        }
        (Action::Clear, Effect::Done) if standing == Standing::Open => {
            format!("{name}: cooldown cleared. It is open.")
        }
        (Action::Clear, Effect::Done) => {
            format!("{name}: cooldown cleared. It is called again, but has not answered yet.")
        }
        (Action::Clear, _) => format!("{name} is not cooling down. Nothing was changed."),
        (Action::Disable, Effect::Nothing) => {
            format!("{name} was off already. Nothing was changed.")
        }
        (Action::Disable, _) => format!("{name} is off until it is switched on."),
        (Action::Enable, Effect::Done) => match sight.until() {
            Some(until) => format!(
                "{name} is switched on. It is cooling down until {}.",
                at(until)
            ),
            None => format!("{name} is switched on."),
        },
        (Action::Enable, _) => format!("{name} was not off. Nothing was changed."),
    }
}
