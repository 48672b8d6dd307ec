//! What is wrong at the moment, for those who tell people of it when no page is open; in the words of the pages.

use std::time::Duration;

use weir_engine::{UpstreamCondition, dispatch::Moment};

use super::{outage::outage, path, reason, sight::Sight, times::Times};
use crate::{App, pages::overview};

/// A view of all fronts that is cheap to take often, and the sentences of their pages.
#[derive(Clone)]
pub struct Lookout(App);

impl Lookout {
    pub(crate) fn new(app: App) -> Self {
        Self(app)
    }

    /// Every upstream of every front, with the front's name.
    pub fn upstreams(&self) -> Vec<(&'static str, UpstreamCondition)> {
        let fronts = self.0.with_upstreams();
        fronts
            .flat_map(|(front, upstreams)| {
                let all = upstreams.engine().conditions().into_iter();
                all.map(move |condition| (front.name, condition))
            })
            .collect()
    }

    /// The fronts by name, and for how long those are overloaded that are.
    pub fn fronts(&self) -> Vec<(&'static str, Option<Duration>)> {
        let fronts = self.0.fronts().iter();
        fronts
            .filter_map(|front| {
                let overload = front.card.as_ref()?.overload();
                Some((front.name, overload.map(|overload| overload.since)))
            })
            .collect()
    }

    /// How people call a front.
    pub fn title(&self, front: &str) -> Option<&'static str> {
        let mut fronts = self.0.fronts().iter();
        fronts.find(|one| one.name == front).map(|one| one.title)
    }

    /// The sentence of an upstream's own page: who, why, until when.
    pub fn upstream(&self, front: &str, name: &str) -> Option<String> {
        let sight = Sight::find(&self.0, front, name).ok()?;
        Some(sight.times.plain(&reason::full(&sight)))
    }

    /// The path of an upstream's own page.
    pub fn path(front: &str, name: &str) -> String {
        path(front, name)
    }

    /// That an upstream works again, and when it did not.
    pub fn back(&self, name: &str, since: Moment, until: Moment) -> String {
        let times = self.times();
        times.map_or_else(String::new, |times| {
            times.plain(&reason::back(name, since, until))
        })
    }

    /// The overview's sentence about an overloaded front.
    pub fn overload(&self, front: &str) -> Option<String> {
        let mut fronts = self.0.fronts().iter();
        let front = fronts.find(|one| one.name == front)?;
        let overload = front.card.as_ref()?.overload()?;
        Some(overview::overloaded(front.title, &overload))
    }

    /// The sentence of the page Upstreams about our own network, while that is down.
    pub fn network(&self) -> Option<String> {
        let (words, times) = outage(&self.0)?;
        Some(times.plain(&words))
    }

    /// That our own network works again, and when it did not.
    pub fn network_back(&self, since: Moment, until: Moment) -> String {
        let times = self.times();
        times.map_or_else(String::new, |times| {
            times.plain(&reason::network_back(since, until))
        })
    }

    fn times(&self) -> Option<Times> {
        let (_, upstreams) = self.0.with_upstreams().next()?;
        let zone = self.0.shell().zone.clone();
        Some(Times::new(upstreams.engine(), self.0.now(), zone))
    }
}
