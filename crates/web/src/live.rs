//! Pages and programs that follow what happens: `GET /api/v1/events?topics=…`, one stream of events for everything.
//!
//! One task takes one snapshot a second, asks each topic that has a listener for its event, writes it once and hands the
//! same bytes to all who listen. While nobody listens it sleeps and costs nothing. `hub` knows who listens and what they
//! have; `desk` makes the events; pages write their own parts with the templates of their first paint.

mod announcer;
mod desk;
mod events;
mod frame;
mod hub;
mod mailbox;
mod ring;
mod topic;

use std::{sync::Arc, time::Duration};

use tokio::time::MissedTickBehavior;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use weir_engine::Vital;

pub use self::announcer::Announcer;
use self::{desk::Desk, hub::Hub};
pub(crate) use self::{
    events::events,
    topic::{Topic, Whom},
};
use crate::{App, app::WeakApp};

/// One part of a page: the `id` of an element, and the whole element as HTML.
pub type LivePart = (String, String);

/// New rows for a list on a page.
#[derive(Debug, Default)]
pub(crate) struct NewRows {
    /// The `id` of the list.
    pub(crate) list: &'static str,
    /// The newest last.
    pub(crate) rows: Vec<LivePart>,
    /// How many there was no room for.
    pub(crate) more: u64,
    /// The number of the newest one, if they have any.
    pub(crate) newest: Option<u64>,
}

/// Time between two snapshots.
const TICK: Duration = Duration::from_secs(1);

/// Everybody who follows, and the task that tells them.
pub(crate) struct Live {
    hub: Arc<Hub>,
    tasks: TaskTracker,
    vital: Vital,
    closing: CancellationToken,
}

impl Live {
    pub(crate) fn new(vital: Vital, started: jiff::Timestamp) -> Self {
        Self {
            hub: Arc::new(Hub::new(started)),
            tasks: TaskTracker::new(),
            vital,
            closing: CancellationToken::new(),
        }
    }

    /// Ends all streams; later ones end at once.
    pub(crate) fn close(&self) {
        self.closing.cancel();
        self.hub.close();
    }

    /// Sees to it that the task runs; called by whoever listens.
    fn run(&self, app: &App) {
        if self.hub.is_run() || self.closing.is_cancelled() {
            return;
        }
        let (app, hub, vital) = (app.downgrade(), Arc::clone(&self.hub), self.vital.clone());
        let task = self.vital.clone().drive(false, move |is_again| {
            // After a panic nobody knows who heard what.
            if std::mem::replace(is_again, true) {
                hub.lose_track();
            }
            Box::pin(follow(app.clone(), Arc::clone(&hub), vital.clone()))
        });
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            closing.run_until_cancelled(task).await;
        });
    }
}

/// Tells listeners what happens, once a second while there are any.
async fn follow(app: WeakApp, hub: Arc<Hub>, vital: Vital) {
    loop {
        hub.somebody().await;
        let mut desk = Desk::default();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let Some(app) = app.upgrade() else { return };
            let Some(wanted) = hub.wanted(|pass| app.keeper().lets_pass(pass)) else {
                app.announcers().for_each(|one| one.set_heard(false));
                break;
            };
            let made = desk.make(&app, &wanted, &vital);
            hub.deliver(made, app.now());
        }
    }
}
