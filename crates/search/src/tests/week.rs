//! A week of a household, in virtual time: programs ask as they do, indexers fail and recover, quotas run out, Weir is
//! restarted and its configuration changed, an operator switches indexers off and ends cooldowns. Whoever was skipped, put off, turned away or answered by another's call asks
//! *why*, through the API and on the indexer's page, and gets an answer that is true.
//!
//! What is true is known here without asking Weir: what each indexer saw and when, and how it was told to behave
//! (`truth`).

mod truth;
mod why;

use weir_engine::OwnKind;
use weir_engine::dispatch::{Moment, Window};
use weir_testkit::zoo::indexer::Files;

use super::agree::Book;
use super::*;
use crate::config::limit::WindowLimit;
use truth::{Mood, Truth};

/// Downloads that `d` allows in a month.
const GRABS: usize = 25;

/// Downloads that an address may make in a minute.
const DOWNLOADS: usize = 3;

/// What happens at a time.
#[derive(Clone, Debug)]
enum Event {
    /// A program asks one question after the other, with so much time between.
    Ask(Program, Vec<String>, Duration),
    /// Two programs ask the same at once.
    Both(Program, Program, String),
    /// A program downloads the so manieth release of `d`.
    Download(Program, usize),
    Behave(usize, Mood),
    Restart(Duration),
    /// So many calls in five minutes for `c`.
    Reload(u32),
    /// An operator switches an indexer off, and says why; or on again.
    Off(usize, &'static str),
    On(usize),
    /// An operator ends a cooldown.
    Clear(usize),
    /// A program asks `a` more at once than there is room for.
    Flood(Program),
    /// Our own network goes away, or is back.
    Network(bool),
    /// A program downloads the so manieth release of `d` more often than an address may in a minute.
    Hoard(Program, usize),
    /// A program asks `a` twice, and the second time waits no longer than a second.
    Hurry(Program, u32),
    /// Programs of each class ask `c`, of which the window is used up.
    Crowd(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Sonarr,
    Radarr,
    CrossSeed,
    FlexGet,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Self::Sonarr => "Sonarr",
            Self::Radarr => "Radarr",
            Self::CrossSeed => "cross-seed",
            Self::FlexGet => "FlexGet",
        }
    }

    fn user_agent(self) -> &'static str {
        match self {
            Self::Sonarr => "Sonarr/4.0.1 (linux)",
            Self::Radarr => "Radarr/5.11 (linux)",
            Self::CrossSeed => "CrossSeed/6.8",
            Self::FlexGet => "FlexGet/3.11",
        }
    }
}

/// What was asked for why.
#[derive(Debug, Default)]
struct Asked {
    cooling: usize,
    full: usize,
    spacing: usize,
    waited: usize,
    shared: usize,
    late: usize,
    failed: usize,
    downloads: usize,
    off: usize,
    dropped: usize,
    refused: usize,
    hurried: usize,
    classes: usize,
    caps: usize,
    outage: usize,
}

struct Week {
    network: Network,
    config: Config,
    indexers: Vec<Indexer>,
    world: World,
    truth: Vec<Truth>,
    links: Vec<String>,
    /// Our own network is away.
    is_cut_off: bool,
    book: Book,
    asked: Asked,
}

/// What happens in the week, in order.
fn events() -> Vec<(Duration, Event)> {
    let mut events = Vec::new();
    let at = |day: u32, hour: u32, minute: u32| DAY * day + HOUR * hour + MINUTE * minute;
    let search = |words: String| format!("t=search&q={words}");
    for day in 0..7 {
        for hour in (0..24).step_by(2) {
            let time = at(day, hour, 0) + SECOND;
            events.push((
                time,
                Event::Ask(Program::Sonarr, vec!["t=search".into()], SECOND),
            ));
        }
        for hour in [7, 19] {
            let season = (1..=8).map(|episode| search(format!("some+show+s0{day}e{episode}")));
            let season = Event::Ask(Program::Sonarr, season.collect(), SECOND);
            events.push((at(day, hour, 10), season));
        }
        let films = (1..=8)
            .map(|film| search(format!("film+{day}+{film}")))
            .collect();
        events.push((
            at(day, 20, 3),
            Event::Ask(Program::Radarr, films, 2 * SECOND),
        ));
        let seeds = (1..=9)
            .map(|seed| search(format!("seed+{day}+{seed}")))
            .collect();
        events.push((
            at(day, 8, 40),
            Event::Ask(Program::CrossSeed, seeds, 7 * SECOND),
        ));
        let same = search(format!("premiere+{day}"));
        events.push((
            at(day, 21, 17),
            Event::Both(Program::Sonarr, Program::Radarr, same),
        ));
        for hour in 0..5 {
            let time = at(day, 10 + hour, 20);
            let number = (day * 5 + hour) as usize;
            events.push((
                time,
                Event::Ask(Program::FlexGet, vec![search("some".into())], SECOND),
            ));
            events.push((time + MINUTE, Event::Download(Program::FlexGet, number)));
        }
        events.push((at(day, 12, 0), Event::Reload(8 + day % 2)));
        events.push((at(day, 15, 0), Event::Hurry(Program::FlexGet, day)));
        events.push((at(day, 16, 0), Event::Crowd(day)));
    }
    let troubles = [
        (0, at(1, 9, 55), at(1, 12, 5), Mood::Busy(600)),
        (0, at(3, 6, 50), at(3, 9, 0), Mood::Hangs),
        (1, at(2, 6, 40), at(2, 8, 30), Mood::Throttles),
        (1, at(4, 11, 45), at(4, 18, 0), Mood::WrongKey),
        (2, at(1, 18, 59), at(1, 23, 0), Mood::Fails),
        (2, at(5, 7, 5), at(5, 9, 30), Mood::Garbage),
        (3, at(0, 8, 20), at(0, 9, 40), Mood::Fails),
        (3, at(6, 18, 30), at(6, 22, 0), Mood::Slow(20)),
    ];
    for (whom, from, to, reason) in [
        (1, at(5, 9, 50), at(5, 12, 30), "account renewal"),
        (3, at(3, 18, 0), at(3, 19, 30), "moving house"),
    ] {
        events.push((from, Event::Off(whom, reason)));
        events.push((to, Event::On(whom)));
    }
    // While it fails, so that the next failure is the first again; and where there is nothing to end.
    for (whom, time) in [(2, at(1, 19, 40)), (0, at(1, 10, 40)), (1, at(2, 2, 30))] {
        events.push((time, Event::Clear(whom)));
    }
    // Of what was fetched two minutes before there is a copy.
    for day in 2..5 {
        let number = day as usize * 5;
        events.push((at(day, 10, 23), Event::Hoard(Program::FlexGet, number)));
    }
    for day in [2, 6] {
        events.push((at(day, 17, 10), Event::Network(false)));
        let asks = (1..=3).map(|number| search(format!("alone+{day}+{number}")));
        let asks = Event::Ask(Program::Sonarr, asks.collect(), 10 * SECOND);
        events.push((at(day, 17, 11), asks));
        events.push((at(day, 17, 25), Event::Network(true)));
    }
    for day in [0, 4] {
        events.push((at(day, 3, 30), Event::Flood(Program::CrossSeed)));
    }
    for (whom, from, to, mood) in troubles {
        events.push((from, Event::Behave(whom, mood)));
        events.push((to, Event::Behave(whom, Mood::Good)));
    }
    for (time, pause) in [
        (at(1, 10, 31), 40 * SECOND),
        (at(3, 7, 43), 10 * MINUTE),
        (at(4, 13, 7), SECOND),
        (at(5, 22, 59), HOUR),
    ] {
        events.push((time + 17 * SECOND, Event::Restart(pause)));
    }
    events.sort_by_key(|(time, _)| *time);
    events
}

fn limit(calls: u32, window: u32) -> WindowLimit {
    WindowLimit {
        calls: std::num::NonZeroU32::new(calls).expect("some"),
        window: Window::of_seconds(window),
    }
}

impl Week {
    async fn begin() -> Self {
        let network = Network::new();
        let mut indexers = Vec::new();
        for number in 0..4_u8 {
            let first = u32::from(number) * 100 + 1;
            // A download a time: of what was fetched before there is a copy.
            indexers.push(indexer(&network, number + 1, Setup::with(first..first + 40)).await);
        }
        let mut config = plain(&indexers);
        // Of which each of four has its share: 32.
        config.queue_size = std::num::NonZeroU32::new(64).expect("some");
        config.indexers[1].limits = vec![limit(300, 300)];
        config.indexers[2].limits = vec![limit(8, 300)];
        config.indexers[3].grab_limits = vec![limit(25, 30 * 86_400)];
        config.indexers[3].timeout = 30 * SECOND;
        config.downloads_per_minute = DOWNLOADS as u32;
        let world = World::new(network.ground(), &config);
        let truth = [None, Some((300, 300)), Some((8, 300)), None];
        let mut book = Book::default();
        book.look(&world);
        Self {
            network,
            truth: truth.map(|limit| Truth::new(&world, limit)).into(),
            config,
            indexers,
            world,
            links: Vec::new(),
            is_cut_off: false,
            book,
            asked: Asked::default(),
        }
    }

    async fn play(&mut self, event: Event) {
        match event {
            Event::Ask(program, questions, pause) => {
                for question in questions {
                    let began = self.world.timeline.now();
                    let reply = self.search(program, &question).await;
                    self.why(program, &question, began, &reply).await;
                    tokio::time::sleep(pause).await;
                }
            }
            Event::Both(one, other, question) => {
                for indexer in &self.indexers[..2] {
                    indexer.set(Behaviour::Slow(3 * SECOND));
                }
                let began = self.world.timeline.now();
                let (first, second) =
                    tokio::join!(self.search(one, &question), self.search(other, &question));
                for (program, reply) in [(one, first), (other, second)] {
                    self.why(program, &question, began, &reply).await;
                }
                self.why_shared(one, other, began).await;
                for indexer in &self.indexers[..2] {
                    indexer.set(Behaviour::Good);
                }
            }
            Event::Download(program, number) => self.download(program, number).await,
            Event::Behave(whom, mood) => {
                let now = self.world.timeline.now();
                self.truth[whom].behave(now, mood);
                self.indexers[whom].set(mood.behaviour());
                self.indexers[whom].set_files(Files::Good);
            }
            Event::Restart(pause) => self.restart(pause).await,
            Event::Reload(calls) => {
                self.config.indexers[2].limits = vec![limit(calls, 300)];
                self.truth[2].limit = Some((calls as usize, 300));
                self.world.reload(&self.config);
            }
            Event::Off(whom, reason) => {
                self.truth[whom].off = Some(reason);
                self.world
                    .engine
                    .switch_off(self.upstream(whom), reason, "me");
            }
            Event::On(whom) => {
                self.truth[whom].off = None;
                self.world.engine.switch_on(self.upstream(whom), "me");
            }
            Event::Clear(whom) => {
                self.truth[whom].clear(self.world.timeline.now());
                self.world.engine.clear(self.upstream(whom), "me");
            }
            Event::Flood(program) => self.flood(program).await,
            Event::Network(works) => {
                self.is_cut_off = !works;
                self.network.set_down(!works);
            }
            Event::Hoard(program, number) => self.hoard(program, number).await,
            Event::Hurry(program, day) => self.hurry(program, day).await,
            Event::Crowd(day) => self.crowd(day).await,
        }
    }

    fn upstream(&self, whom: usize) -> weir_engine::dispatch::UpstreamId {
        self.world.view(NAMES[whom]).figures.upstream
    }

    /// While nothing is called, one indexer is asked more than it may have in the queue.
    async fn flood(&mut self, program: Program) {
        let began = self.world.timeline.now();
        self.world.engine.hold();
        let agent = [("user-agent", program.user_agent())];
        let asks = (0..35).map(|number| {
            let target = format!("/torznab/a/api?t=search&q=flood+{number}");
            let (world, agent) = (&self.world, &agent);
            async move { world.ask(&target, agent).await }
        });
        let replies = futures_util::future::join_all(asks).await;
        self.world.engine.release();
        self.why_dropped(program, began, &replies).await;
    }

    /// One question after the other to an indexer, the second without patience.
    async fn hurry(&mut self, program: Program, day: u32) {
        let agent = ("user-agent", program.user_agent());
        let first = format!("/torznab/a/api?t=search&q=calm+{day}");
        let second = format!("/torznab/a/api?t=search&q=hurry+{day}");
        let reply = self.world.ask(&first, &[agent]).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let began = self.world.timeline.now();
        let headers = [agent, ("x-weir-max-wait", "1")];
        let reply = self.world.ask(&second, &headers).await;
        self.why_impatient(program, 0, began, &reply, ("completion", "1 s"))
            .await;
        self.asked.hurried += 1;
    }

    /// Programs ask until the window of `c` is used up, then one of each class that does not wait for ever.
    async fn crowd(&mut self, day: u32) {
        let (limit, _) = self.truth[2].limit.expect("a limit");
        for number in 0..limit {
            let target = format!("/torznab/c/api?t=search&q=crowd+{day}+{number}");
            let agent = [("user-agent", Program::Radarr.user_agent())];
            let reply = self.world.ask(&target, &agent).await;
            assert_eq!(reply.status, 200, "{number}: {}", reply.body);
        }
        for (program, question, words) in [
            (Program::Sonarr, "", ("RSS", "15 s")),
            (Program::CrossSeed, "&q=crowd+seed", ("background", "60 s")),
        ] {
            let began = self.world.timeline.now();
            let target = format!("/torznab/c/api?t=search&nocache=1{question}");
            let agent = [("user-agent", program.user_agent())];
            let reply = self.world.ask(&target, &agent).await;
            self.why_impatient(program, 2, began, &reply, words).await;
            self.asked.classes += 1;
        }
    }

    async fn search(&self, program: Program, question: &str) -> Reply {
        let agent = [("user-agent", program.user_agent())];
        self.world
            .ask(&format!("/torznab/api?{question}"), &agent)
            .await
    }

    async fn restart(&mut self, pause: Duration) {
        self.book.look(&self.world);
        self.world.front.stop(SECOND).await;
        self.book.look(&self.world);
        self.world.front.close();
        self.world.state.close();
        tokio::time::sleep(pause).await;
        let later = Moment(BEGINS * 1_000_000_000).until(self.world.timeline.now());
        let directory = self.world.directory.clone();
        self.world = World::after(self.network.ground(), &self.config, directory, later);
        self.book.restart(&self.world);
        self.book.look(&self.world);
    }
}

#[tokio::test(start_paused = true)]
async fn in_a_week_every_question_why_has_a_true_answer() {
    let mut week = Week::begin().await;
    let began = Moment(BEGINS * 1_000_000_000);
    let mut day = 0;
    for (number, (time, event)) in events().into_iter().enumerate() {
        let wait = week.world.timeline.now().until(began + time);
        tokio::time::sleep(wait).await;
        turn().await;
        week.play(event).await;
        let is_new_day = time.as_secs() / 86_400 > day;
        if is_new_day || number % 5 == 0 {
            week.book.look(&week.world);
        }
        // Once a day everything that is told is compared.
        if is_new_day {
            day += 1;
            super::agree::agree_now(&week.world, &week.book).await;
        }
    }
    let asked = &week.asked;
    for (kind, count) in [
        ("cooling", asked.cooling),
        ("full", asked.full),
        ("spacing", asked.spacing),
        ("waited", asked.waited),
        ("shared", asked.shared),
        ("late", asked.late),
        ("failed", asked.failed),
        ("downloads", asked.downloads),
        ("off", asked.off),
        ("dropped", asked.dropped),
        ("refused", asked.refused),
        ("hurried", asked.hurried),
        ("classes", asked.classes),
        ("caps", asked.caps),
        ("outage", asked.outage),
    ] {
        assert!(count >= 3, "nobody had to ask about {kind}: {asked:?}");
    }
    // Of each outage there is one record; a restart has let go of the first, which was days old by then.
    let own = week.world.engine.own_decisions().into_iter();
    let outages: Vec<_> = own
        .filter(|one| one.own.kind == OwnKind::OurNetwork)
        .collect();
    let told: Vec<_> = outages
        .iter()
        .map(|one| (began.until(one.at).as_secs() / 3600, one.own.concerned))
        .collect();
    assert_eq!(told, [(6 * 24 + 17, 4)], "{outages:?}");
    week.world.front.stop(SECOND).await;
}
