//! The tracker as the program runs it: started, reloaded, stopped.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use weir_engine::{Outward, Tryout};
use weir_net::BoxFuture;
use weir_web::{Contribution, Refused, Reload, Requests, Staged};

use crate::clock::TrackerClock;
use crate::config::Config;
use crate::error::Error;
use crate::exchange::ForwarderRules;
use crate::files::{Directory, FilesThread};
use crate::forwarder::Forwarders;
use crate::forwarding::Forwarding;
use crate::inbound::start::{Answering, RunningListeners, Sockets};
use crate::ledger::Ledger;
use crate::lists::Lists;
use crate::outbound::Outbound;
use crate::pages::announce_urls;
use crate::rules::{ReloadRules, split};
use crate::sharing::{RunningSharing, Sharing};
use crate::swarm::{Swarms, Totals};
use crate::tally::Tallies;
use crate::threads::Threads;
use crate::tracker::{ClientTerms, Tracker};
use crate::trust::Trust;
use crate::tryout::try_out;

/// The running tracker.
pub struct Front {
    pub(crate) answering: Answering,
    pub(crate) forwarders: Arc<Forwarders>,
    pub(crate) listeners: RunningListeners,
    pub(crate) threads: Threads,
    /// The other nodes, if there are any.
    pub(crate) sharing: Option<RunningSharing>,
    /// Outlives the other threads; gone once it has written everything.
    pub(crate) files: Mutex<Option<FilesThread>>,
}

impl Front {
    /// Opens the listeners and answers from then on; files are in `directory`. Called within a runtime, which does the
    /// work that is not urgent.
    ///
    /// # Errors
    /// When a port, a list, a file or a thread is not to be had.
    pub fn start(
        config: &Config,
        web: &weir_web::Config,
        directory: &Path,
        outward: Outward,
    ) -> Result<Self, Error> {
        let (start, reload) = split(config);
        let (terms, rules) = terms(reload, web)?;
        let sockets = Sockets::open(&start.listening)?;
        let clock = TrackerClock::on(outward.engine.timeline());
        let files = |source| Error::Files {
            path: directory.into(),
            source,
        };
        let directory = Directory::open(directory).map_err(files)?;
        let sharing = match outward.node.clone() {
            Some(node) => {
                let noted = directory.read_places().map_err(files)?;
                Some(Sharing::new(node, start.sharing, terms.interval, noted))
            }
            None => None,
        };
        let (sharing, shared_rings) = sharing.unzip();
        let outlet = sharing.as_ref().map(|sharing| Arc::clone(&sharing.outlet));
        let swarms = Swarms::new(start.swarms, directory.key()).shared(outlet);
        let swarms = Arc::new(swarms);
        let ledger = Ledger::new(start.ledger, directory.key());
        directory
            .restore_all(&swarms, &ledger, clock)
            .map_err(files)?;
        let gate = outward.engine.gate();
        let (tokens, events) = (start.engine.first_announces, rules.events_per_minute);
        let (forwarding, rings) =
            Forwarding::new(gate, ledger, tokens.per_second, events, start.held_replies);
        let threads = Threads::new(outward.engine.vitals().clone());
        let model = (Arc::clone(&swarms), Arc::clone(&forwarding));
        let tallies = Tallies::default();
        let counted = tallies.clone();
        outward
            .engine
            .count_listeners(move || counted.by_themselves());
        let (ground, life) = (Arc::clone(&outward.ground), start.udp_connection_life);
        let outbound = Outbound::new(ground, life, start.allow_private_upstreams)?;
        let places = sharing.as_ref().map(|sharing| Arc::clone(&sharing.places));
        let outward = (outward, sharing.clone());
        let forwarders = Forwarders::start(&rules, outbound, model, clock, outward, rings);
        let exchange = forwarders.shared_exchange();
        let sharing = sharing.zip(shared_rings);
        let sharing =
            sharing.map(|(sharing, rings)| RunningSharing::start(sharing, exchange, rings));
        let answering = Answering {
            tracker: Arc::new(Tracker::new(swarms, forwarding, terms)),
            clock,
            tallies,
        };
        let every = (start.snapshot_every, places);
        let files = FilesThread::start(&answering.tracker, directory, clock, every, &threads)?;
        let listeners = RunningListeners::start(sockets, start.listening, &answering, &threads)?;
        Ok(Self {
            answering,
            forwarders,
            listeners,
            threads,
            sharing,
            files: Mutex::new(Some(files)),
        })
    }

    /// Where it listens, by protocol.
    pub fn listening(&self) -> &[(&'static str, SocketAddr)] {
        &self.listeners.addresses
    }

    /// How many swarms and peers there are.
    pub fn totals(&self) -> Totals {
        self.answering.tracker.swarms.totals()
    }

    /// Stops listening and ends the threads that serve clients; the second time nothing is left to do.
    fn stop_listening(&self) {
        self.threads.stop();
        self.listeners.close();
        self.threads.join();
    }
}

impl weir_web::Front for Front {
    fn contribution(&self, requests: &Requests) -> Result<Contribution, Refused> {
        Ok(self.contribute(requests)?)
    }

    fn greeting(&self) -> String {
        let urls = announce_urls(self.listening(), "127.0.0.1");
        if urls.is_empty() {
            return "The tracker is off: neither `tracker.http_listen` nor `tracker.udp_listen` is set.\n".to_owned();
        }
        let lines: String = urls.iter().map(|(_, url)| format!("  {url}\n")).collect();
        let mut addresses = self.listening().iter().map(|(_, address)| address.ip());
        let place = match addresses.all(|ip| ip.is_loopback()) {
            true => "from this machine",
            false => "at this machine's name or address",
        };
        format!("The tracker answers; announce to it {place}, here:\n{lines}")
    }

    fn look_up_anew(&self) {
        self.forwarders.look_up_anew();
    }

    fn save(&self) -> Result<(), Refused> {
        weir_web::Upstreams::engine(&*self.forwarders).hand_over();
        let files = self.files.lock().as_ref().map(FilesThread::saver);
        // Not under the lock: a stop need not wait for this.
        Ok(files.map_or(Ok(()), |files| files.save())?)
    }

    /// Other trackers are told within `drain` whose peers stopped.
    fn stop(&self, drain: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.stop_listening();
            if let Some(sharing) = &self.sharing {
                sharing.stop().await;
            }
            self.forwarders.stop(drain).await;
        })
    }

    fn close(&self) {
        self.stop_listening();
        let files = self.files.lock().take();
        if let Some(files) = files {
            // Now that nobody changes anything, the rest is written.
            files.stop();
        }
    }
}

impl<C: AsRef<Config> + AsRef<weir_web::Config>> Reload<C> for Front {
    /// Ports, threads and caps stay as they were at the start.
    fn stage(&self, config: &C) -> Result<Staged, Refused> {
        let (config, web): (&Config, &weir_web::Config) = (config.as_ref(), config.as_ref());
        let (terms, rules) = terms(split(config).1, web)?;
        let tracker = Arc::clone(&self.answering.tracker);
        let forwarders = Arc::clone(&self.forwarders);
        let sharing = self.sharing.as_ref();
        let sharing = sharing.map(|running| Arc::clone(&running.sharing));
        Ok(Box::new(move || {
            if let Some(sharing) = sharing {
                sharing.set_interval(terms.interval);
            }
            tracker.set_terms(terms);
            forwarders.reload(&rules);
        }))
    }

    fn try_out(&self, config: &C, name: &str) -> Option<Tryout> {
        let config: &Config = config.as_ref();
        let rules = split(config).1.forwarders;
        let entry = rules.entries.iter().find(|entry| entry.name == name);
        let entry = entry?.clone();
        let exchange = self.forwarders.shared_exchange();
        let time_out = entry.timeout.unwrap_or(rules.timeout);
        Some(Box::pin(try_out(exchange, entry, rules.calls, time_out)))
    }
}

/// What clients are told and allowed, and how forwarders are asked; reads the lists.
fn terms(
    rules: ReloadRules,
    web: &weir_web::Config,
) -> Result<(ClientTerms, ForwarderRules), Error> {
    let terms = ClientTerms {
        trust: Trust::new(web),
        lists: Lists::read(rules.allow_file.as_deref(), rules.deny_file.as_deref())?,
        ..rules.terms
    };
    Ok((terms, rules.forwarders))
}

#[cfg(test)]
mod tests;
