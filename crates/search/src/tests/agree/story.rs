//! Plays a history: one world after another before the same indexers.

use std::collections::BTreeSet;

use tokio::task::JoinSet;
use tokio::time::Instant;
use weir_engine::Kind;
use weir_engine::dispatch::Moment;
use weir_testkit::memory::Fault;
use weir_testkit::zoo::indexer::Files;

use super::book::Book;
use super::grabs::Fetched;
use super::promises::Promises;
use super::searches::{BROWSER, Browsed};
use super::*;

/// How long calls pause while our own network is down.
const PAUSE: Duration = Duration::from_secs(30);

/// Calls of this run that our own network has failed.
fn lost_by_us(world: &World) -> u64 {
    let all = world.engine.upstreams(0, usize::MAX).into_iter();
    all.map(|one| one.requests[Kind::OurNetwork as usize]).sum()
}

/// Everything there is.
pub(super) struct Story {
    network: Network,
    pub(super) indexers: Vec<Indexer>,
    /// What is in force.
    config: Config,
    /// What is in the file, with everybody.
    all: Config,
    pub(super) world: Arc<World>,
    began: Instant,
    pub(super) asks: JoinSet<Heard>,
    /// What programs got, in the order in which they asked.
    pub(super) heard: Vec<Option<Heard>>,
    links: Vec<String>,
    /// What programs got for links.
    pub(super) fetched: Vec<Fetched>,
    /// What was searched for on the page.
    pub(super) browsed: Vec<Browsed>,
    /// When Weir began to stop.
    pub(super) stops: Vec<Moment>,
    /// When it was killed.
    pub(super) kills: Vec<Moment>,
    /// When an indexer was removed, or became another account.
    pub(super) removals: Vec<Moment>,
    /// How many calls `b` has been allowed in five minutes, and since when.
    pub(super) limits: Vec<(Instant, u32)>,
    keys: u32,
    pub(super) book: Book,
    promises: Promises,
}

/// What a program got for a search.
#[derive(Debug)]
pub(super) struct Heard {
    number: usize,
    pub(super) ask: Ask,
    pub(super) began: Moment,
    pub(super) ended: Moment,
    pub(super) reply: Reply,
}

/// What a step has done, for whoever looks whether a promise was kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Happened {
    /// Requests came, or were under way.
    pub(super) asked: bool,
    /// The one who was asked alone, with nothing else under way.
    pub(super) alone: Option<(usize, Class)>,
    pub(super) operated: BTreeSet<&'static str>,
    /// These lead elsewhere now, or have other limits.
    pub(super) changed: BTreeSet<&'static str>,
    pub(super) restarted: bool,
    pub(super) killed: bool,
    /// Our own network failed calls that ended in it.
    pub(super) lost_by_us: bool,
}

/// `b` has few calls in five minutes, `c` few downloads in a month, and an address two downloads in a minute.
fn limited(mut config: Config) -> Config {
    config.downloads_per_minute = 2;
    let limit = |text: &str| {
        let (calls, seconds) = text.split_once('/').expect("a limit");
        let calls = calls.parse().expect("a number");
        let seconds = seconds.parse().expect("a number");
        crate::config::limit::WindowLimit {
            calls,
            window: weir_engine::dispatch::Window::of_seconds(seconds),
        }
    };
    config.indexers[1].limits = vec![limit("6/300")];
    config.indexers[2].grab_limits = vec![limit("2/2592000")];
    config.indexers[2].per_hour = std::num::NonZeroU32::new(30);
    config
}

impl Story {
    pub(super) async fn begin() -> Self {
        let network = Network::new();
        let indexers = crowd(&network, 3).await;
        let config = limited(plain(&indexers));
        let world = World::new(network.ground(), &config);
        let mut story = Self {
            network,
            indexers,
            all: config.clone(),
            config,
            began: world.began,
            world: Arc::new(world),
            asks: JoinSet::new(),
            heard: Vec::new(),
            links: Vec::new(),
            fetched: Vec::new(),
            browsed: Vec::new(),
            stops: Vec::new(),
            kills: Vec::new(),
            removals: Vec::new(),
            limits: vec![(Instant::now(), 6)],
            keys: 0,
            book: Book::default(),
            promises: Promises::default(),
        };
        story.look_at_records(&Happened::default());
        story
    }

    /// Does what a step says, and looks whether all that was recorded agrees with all before.
    pub(super) async fn go_on(&mut self, step: &Step) {
        let mut happened = Happened {
            asked: !self.asks.is_empty(),
            ..Happened::default()
        };
        let lost = lost_by_us(&self.world);
        match step {
            Step::Ask(asks, waits) => {
                if let ([ask], false) = (asks.as_slice(), happened.asked) {
                    happened.alone = ask.whom.map(|whom| (whom, ask.class()));
                }
                happened.asked = true;
                self.ask(asks);
                if *waits {
                    self.hear_all().await;
                }
            }
            Step::ComeBack(ask) => {
                happened.asked = true;
                self.come_back(ask).await;
            }
            Step::Browse(words, whom) => {
                happened.asked = true;
                self.browse(words, *whom).await;
            }
            Step::Download(program, link, comes_back) => {
                happened.asked = true;
                self.download(*program, *link, *comes_back).await;
            }
            Step::Behave(whom, mood) => self.behave(*whom, *mood),
            Step::Network(works) => self.network.set_down(!works),
            Step::Operate(whom, act) => {
                happened.operated.insert(NAMES[*whom]);
                self.operate(*whom, *act).await;
            }
            Step::Reload(change) => {
                happened.changed.insert(self.reload(*change));
            }
            Step::Restart(seconds) => {
                self.restart(Duration::from_secs(*seconds)).await;
                happened.restarted = true;
            }
            Step::Kill(seconds) => {
                self.kill(Duration::from_secs(*seconds)).await;
                (happened.restarted, happened.killed) = (true, true);
            }
            Step::Pass(seconds) => {
                tokio::time::sleep(Duration::from_secs(*seconds)).await;
            }
            Step::Look => self.look().await,
        }
        turn().await;
        self.hear();
        happened.lost_by_us = lost_by_us(&self.world) != lost;
        self.look_at_records(&happened);
    }

    /// Everybody gets an answer, and everything is looked at, before and after a restart.
    pub(super) async fn end(mut self) {
        self.network.set_down(false);
        for restart in [false, true] {
            if restart {
                self.restart(SECOND).await;
                let happened = Happened {
                    restarted: true,
                    ..Happened::default()
                };
                self.look_at_records(&happened);
            }
            self.hear_all().await;
            let asked = Happened {
                asked: true,
                ..Happened::default()
            };
            self.look_at_records(&asked);
            self.look().await;
        }
        killed::no_window_was_exceeded(&self);
        self.world.front.stop(SECOND).await;
    }

    /// Whoever was turned away while calls pause was told to come back when they do not.
    fn hold_to_what_was_told(&self) {
        let Some(until) = self.world.engine.status().counts.paused_until else {
            return;
        };
        let heard = self.heard.iter().flatten();
        let turned_away = heard.filter(|one| one.began > until - PAUSE && one.reply.status == 429);
        for one in turned_away {
            let told = one.reply.retry_after.as_deref().expect("a time");
            let told = Duration::from_secs(told.parse().expect("seconds"));
            assert!(told >= one.ended.until(until), "{until:?}: {one:?}");
        }
    }

    fn look_at_records(&mut self, happened: &Happened) {
        let new = self.book.look(&self.world);
        self.hold_to_what_was_told();
        let (world, indexers) = (&self.world, &self.indexers);
        self.promises.look(world, indexers, happened, &new);
    }

    async fn look(&mut self) {
        turn().await;
        self.hear();
        self.book.look(&self.world);
        agree_now(&self.world, &self.book).await;
        if self.asks.is_empty() {
            parts::agree(self).await;
            grabs::agree(self).await;
            searches::agree(self).await;
        }
    }

    fn ask(&mut self, asks: &[Ask]) {
        for ask in asks {
            let (world, ask, number) = (self.world.clone(), ask.clone(), self.heard.len());
            if let Some(whom) = ask.whom
                && !self.is_configured(whom)
            {
                continue;
            }
            self.heard.push(None);
            self.asks.spawn(async move {
                let began = world.timeline.now();
                let wait = ask.max_wait.map(|seconds| seconds.to_string());
                let mut headers = vec![("user-agent", ask.program.user_agent())];
                if ask.hurried {
                    headers.push(("x-weir-class", "interactive"));
                }
                if let Some(wait) = &wait {
                    headers.push(("x-weir-max-wait", wait));
                }
                let reply = world.ask(&ask.target(), &headers).await;
                let ended = world.timeline.now();
                Heard {
                    number,
                    ask,
                    began,
                    ended,
                    reply,
                }
            });
        }
    }

    fn is_configured(&self, whom: usize) -> bool {
        let mut all = self.config.indexers.iter();
        all.any(|entry| entry.name == NAMES[whom])
    }

    /// Takes in what has arrived.
    pub(super) fn hear(&mut self) {
        while let Some(heard) = self.asks.try_join_next() {
            self.take(heard.expect("a reply"));
        }
    }

    async fn hear_all(&mut self) {
        while let Some(heard) = self.asks.join_next().await {
            self.take(heard.expect("a reply"));
        }
        turn().await;
    }

    fn take(&mut self, heard: Heard) {
        let links = heard.reply.links().into_iter();
        let links = links.map(|link| link.replace("http://weir:7070", ""));
        self.links.extend(links);
        let number = heard.number;
        self.heard[number] = Some(heard);
    }

    /// Calls that were made. Not all of them reach an indexer: it may refuse to be connected to.
    fn calls(&self) -> u64 {
        self.world.engine.status().counters.sent
    }

    /// Who comes back when they were told to finds that there is a slot: they are answered, or somebody was called by then.
    async fn come_back(&mut self, ask: &Ask) {
        self.hear_all().await;
        let asked = self.heard.len();
        self.ask(std::slice::from_ref(ask));
        self.hear_all().await;
        let Some(Some(first)) = self.heard.get(asked) else {
            return;
        };
        if first.reply.status != 429 {
            return;
        }
        let seconds = first.reply.retry_after.as_deref().expect("a time");
        let seconds = seconds.parse().expect("seconds");
        let told = first.reply.body.clone();
        // Its own call goes on, and what comes of it is the answer.
        let goes_on = told.contains("it has not answered yet");
        let before = self.calls();
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        self.ask(std::slice::from_ref(ask));
        self.hear_all().await;
        let heard = self.heard.last().expect("one more").as_ref();
        let reply = &heard.expect("heard").reply;
        assert!(
            reply.status == 200 || self.calls() > before || goes_on,
            "told {told}: to come back in {seconds} s, and then {reply:?}"
        );
    }

    /// Searches as the page does, and looks at the page while it goes on and when it is over.
    async fn browse(&mut self, words: &str, whom: Option<usize>) {
        if whom.is_some_and(|whom| !self.is_configured(whom)) {
            return;
        }
        let indexers: Vec<&str> = whom.into_iter().map(|whom| NAMES[whom]).collect();
        let body = serde_json::json!({ "query": words, "indexers": indexers }).to_string();
        let headers = [
            ("x-api-key", KEY),
            ("user-agent", BROWSER),
            ("content-type", "application/json"),
        ];
        let method = axum::http::Method::POST;
        let target = "/api/v1/searches";
        let reply = self.world.submit(method, target, &headers, &body).await;
        assert_eq!(reply.status, 202, "{reply:?}");
        let begun: serde_json::Value = serde_json::from_str(&reply.body).expect("JSON");
        let id = begun["id"].as_str().expect("an ID").to_owned();
        searches::look(&self.world, &id).await;
        let deadline = self.world.front.views.model.rules.load().deadline;
        tokio::time::sleep(deadline + SECOND).await;
        self.browsed.push(Browsed { id, is_kept: true });
    }

    async fn download(&mut self, program: Program, link: usize, comes_back: bool) {
        if self.links.is_empty() {
            return;
        }
        let link = self.links[link % self.links.len()].clone();
        self.fetch(program, &link).await;
        let first = self.fetched.last().expect("just now");
        // A day is the longest that anybody is told, however long a window is.
        let told = first.reply.retry_after.as_deref().unwrap_or("86400");
        let seconds: u64 = told.parse().expect("seconds");
        if !comes_back || first.reply.status != 429 || seconds >= 86_400 {
            return;
        }
        let was_too_many = first.is_too_many();
        let before = self.calls();
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        self.fetch(program, &link).await;
        let second = self.fetched.last().expect("just now");
        let is_kept = match (was_too_many, second.is_too_many()) {
            (true, too_many) => !too_many,
            // It is the address that is too fast now.
            (false, true) => true,
            (false, false) => second.reply.status == 200 || self.calls() > before,
        };
        assert!(
            is_kept,
            "told to come back in {seconds} s, and then {second:?}"
        );
    }

    async fn fetch(&mut self, program: Program, link: &str) {
        let agent = [("user-agent", program.user_agent())];
        let began = self.world.timeline.now();
        let reply = self.world.ask(link, &agent).await;
        let fetched = Fetched {
            program,
            began,
            ended: self.world.timeline.now(),
            reply,
        };
        if fetched.is_too_many() {
            let own = self.world.engine.own_decisions().remove(0).own;
            let told = own.retry.map(|retry| retry.as_secs().to_string());
            assert_eq!(told, fetched.reply.retry_after, "{own:?}");
        }
        self.fetched.push(fetched);
    }

    fn behave(&self, whom: usize, mood: Mood) {
        let indexer = &self.indexers[whom];
        let named = |seconds: Option<u64>| match seconds {
            Some(seconds) => RetryAfter::Seconds(seconds),
            None => RetryAfter::None,
        };
        self.network.set_fault(indexer.address(), None);
        indexer.set_files(Files::Good);
        match mood {
            Mood::Good => indexer.set(Behaviour::Good),
            Mood::Slow(seconds) => indexer.set(Behaviour::Slow(Duration::from_secs(seconds))),
            Mood::Throttles(time) => indexer.set(Behaviour::Status(429, named(time))),
            Mood::Busy(time) => indexer.set(Behaviour::Status(503, named(time))),
            Mood::Fails => indexer.set(Behaviour::Status(500, RetryAfter::None)),
            Mood::Hangs => indexer.set(Behaviour::Hang),
            Mood::Refuses => {
                indexer.set(Behaviour::CloseAfterRequest);
                self.network.set_fault(indexer.address(), Fault::Refused);
            }
            Mood::WrongKey => indexer.set(Behaviour::Error(100, "Incorrect key".into())),
            Mood::Garbage => indexer.set(Behaviour::Html),
            Mood::Down => indexer.set_all(Behaviour::Status(500, RetryAfter::None)),
            Mood::NoFiles => {
                indexer.set(Behaviour::Good);
                indexer.set_files(Files::Error(501, "Download limit reached".into()));
            }
        }
    }

    async fn operate(&self, whom: usize, act: Act) {
        let name = NAMES[whom];
        let (action, body) = match act {
            Act::Probe => ("probe", ""),
            Act::Clear => ("clear", ""),
            Act::Off => ("disable", "reason=too+slow"),
            Act::On => ("enable", ""),
        };
        let target = format!("/api/v1/upstreams/search/{name}/{action}");
        let form = ("content-type", "application/x-www-form-urlencoded");
        let headers = [("x-api-key", KEY), form];
        let reply = self
            .world
            .submit(axum::http::Method::POST, &target, &headers, body)
            .await;
        let is_there = self.is_configured(whom);
        assert_eq!(reply.status, if is_there { 200 } else { 404 }, "{reply:?}");
    }

    /// Says whom it concerns.
    fn reload(&mut self, change: Change) -> &'static str {
        let whom = match change {
            Change::Toggle => {
                match self.is_configured(2) {
                    true => {
                        self.removals.push(self.world.timeline.now());
                        self.config.indexers.retain(|entry| entry.name != NAMES[2]);
                    }
                    false => self.config.indexers.push(self.all.indexers[2].clone()),
                }
                NAMES[2]
            }
            Change::Limits(calls) => {
                self.limits.push((Instant::now(), calls));
                let calls = std::num::NonZeroU32::new(calls).expect("some");
                self.config.indexers[1].limits[0].calls = calls;
                NAMES[1]
            }
            Change::Key => {
                // Whoever is asked now is the account of before.
                self.removals.push(self.world.timeline.now());
                self.keys += 1;
                let key = format!("another key {}", self.keys);
                self.config.indexers[0].api_key = Some(weir_config::Secret::new(key));
                NAMES[0]
            }
        };
        self.world.reload(&self.config);
        self.book.begin_run(&self.world);
        whom
    }

    async fn restart(&mut self, pause: Duration) {
        self.stops.push(self.world.timeline.now());
        self.world.front.stop(SECOND).await;
        self.hear_all().await;
        self.book.look(&self.world);
        self.world.front.close();
        self.world.state.close();
        self.start_again(pause).await;
        self.book.restart(&self.world);
    }

    pub(super) async fn start_again(&mut self, pause: Duration) {
        tokio::time::sleep(pause).await;
        let later = self.began.elapsed();
        let directory = self.world.directory.clone();
        let world = World::after(self.network.ground(), &self.config, directory, later);
        self.world = Arc::new(world);
        for browsed in &mut self.browsed {
            browsed.is_kept = false;
        }
    }
}
