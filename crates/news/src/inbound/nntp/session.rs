//! One conversation: a command is read, answered, and then the next one, however many were sent at once.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_engine::dispatch::Asker;
use weir_net::Stream;
use weir_news_proto::command::Listing;
use weir_news_proto::reply::{self, code};
use weir_news_proto::{Command, Newsgroup};
use weir_web::seats::Seat;

use super::NntpService;
use super::figures::{CommandKind, OpenKind};
use super::ranges::Age;
use super::share::ClientShare;
use super::standing::Standing;
use super::wire::{Gone, Heard, Patience, Wire};

/// Nobody in particular reads.
pub(super) const READER: Asker = Asker::NOBODY;

/// Time for the last words of a conversation.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How a conversation goes on after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// With the next command.
    Goes,
    /// Not at all.
    Ends,
}

/// One newsreader.
pub(super) struct Session {
    pub(super) service: NntpService,
    pub(super) wire: Wire,
    pub(super) standing: Standing,
    pub(super) share: Arc<ClientShare>,
    /// The newsgroup it is in.
    pub(super) place: Option<Place>,
    /// Tells that a key has been revoked, which may be this one's.
    key_ends: watch::Receiver<()>,
}

/// Where a newsreader is.
pub(super) struct Place {
    pub(super) newsgroup: Newsgroup,
    /// The article it is at.
    pub(super) current: Option<u64>,
}

impl Session {
    pub(super) fn new(
        service: NntpService,
        stream: Box<dyn Stream>,
        address: IpAddr,
        place: (Seat, Instant),
    ) -> Self {
        let rules = service.parts.rules.load();
        let patience = Patience::new(rules.stall, rules.rate);
        let client = service.porter.client(address);
        Self {
            share: service.parts.shares.of(&client),
            wire: Wire::new(stream, patience, place),
            standing: Standing::new(address),
            place: None,
            key_ends: service.porter.key_ends(),
            service,
        }
    }

    /// Talks until one side has enough.
    pub(super) async fn run(mut self, encrypted: bool) {
        let figures = self.service.parts.figures.clone();
        let _counted = figures.open(OpenKind::All);
        let address = self.standing.address;
        tracing::debug!(front = "news", client = %address, encrypted, "a newsreader has connected");
        let ended = match encrypted {
            true => Box::pin(self.secure_at_once()).await,
            false => Ok(()),
        };
        let ended = match ended {
            Ok(()) => self.talk().await,
            refused => refused,
        };
        if let Err(Gone::Slow) = ended {
            figures.slow();
        }
        // After half an answer nothing more may be said, or it would be taken for the rest of it.
        if ended.is_ok() {
            self.wire.close(LAST_WORDS).await;
        }
        tracing::debug!(front = "news", client = %address, ?ended, "a newsreader is gone");
    }

    /// TLS from the first byte.
    async fn secure_at_once(&mut self) -> Result<(), Gone> {
        let tls = self.service.parts.tls.load_full().ok_or(Gone::Closed)?;
        let within = self.service.parts.rules.load().command;
        self.wire.secure(&tls, within).await?;
        self.standing.encrypted = Some(self.service.parts.figures.open(OpenKind::Encrypted));
        Ok(())
    }

    async fn talk(&mut self) -> Result<(), Gone> {
        self.greet();
        let mut first = true;
        loop {
            if let Some(goodbye) = self.next_line(first).await? {
                self.say(code::UNAVAILABLE, goodbye);
                return self.wire.flush().await;
            }
            first = false;
            // On the heap while it is answered, so that a connection at rest is small.
            let flow = Box::pin(self.command()).await?;
            if flow == Flow::Ends {
                return self.wire.flush().await;
            }
            self.wire.flush_if_full().await?;
        }
    }

    /// Waits for a line. Says why there will be none, if that is so.
    async fn next_line(&mut self, first: bool) -> Result<Option<&'static str>, Gone> {
        const STOPPING: &str = "This server is stopping; connect again soon";
        const REVOKED: &str = "The key that you signed in with is no longer valid";
        let leaving = self.service.parts.leaving.clone();
        let there = match self.wire.has_line() {
            Err(Gone::Endless) => return Ok(Some("No command is as long as that line")),
            there => there?,
        };
        if leaving.is_cancelled() {
            return Ok(Some(STOPPING));
        }
        if self.standing.has_lost_its_key(&self.service.porter) {
            return Ok(Some(REVOKED));
        }
        if there {
            return Ok(None);
        }
        self.wire.flush().await?;
        self.wire.rest();
        let (silence, rest) = {
            let rules = self.service.parts.rules.load();
            match first {
                true => (rules.command, rules.command),
                false => (rules.idle, rules.command),
            }
        };
        let (standing, porter) = (&self.standing, &self.service.porter);
        let key_ends = &mut self.key_ends;
        let revoked = async {
            while !standing.has_lost_its_key(porter) {
                if key_ends.changed().await.is_err() {
                    // Nobody can revoke keys any more.
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::select! {
            heard = self.wire.wait_for_line(silence, rest) => match heard {
                Ok(Heard::Line) => Ok(None),
                Ok(Heard::Silence) => Ok(Some("No command has come for too long")),
                Err(Gone::Endless) => Ok(Some("No command is as long as that line")),
                Err(gone) => Err(gone),
            },
            () = leaving.cancelled() => Ok(Some(STOPPING)),
            () = revoked => Ok(Some(REVOKED)),
        }
    }

    /// Answers the line that has arrived.
    async fn command(&mut self) -> Result<Flow, Gone> {
        let command = self.wire.line().and_then(Command::parse);
        self.wire.next_line();
        let per_second = {
            let rules = self.service.parts.rules.load();
            self.wire.patience = Patience::new(rules.stall, rules.rate);
            rules.per_second
        };
        let now = Instant::now();
        let turn = self.share.turn(now, per_second);
        if turn > now {
            // What was answered before must not wait for this one's turn.
            self.wire.flush().await?;
            tokio::time::sleep_until(turn).await;
        }
        let figures = &self.service.parts.figures;
        match command {
            Ok(command) => {
                figures.command(CommandKind::of(command.verb()));
                self.answer(command).await
            }
            Err(error) => {
                figures.command(CommandKind::Unknown);
                self.say(error.code(), &sentence(&error.to_string()));
                Ok(Flow::Goes)
            }
        }
    }

    async fn answer(&mut self, command: Command) -> Result<Flow, Gone> {
        use super::articles::Part;
        if reads(&command) {
            if !self.may_read() {
                self.say(code::AUTHENTICATION_NEEDED, "Sign in to read here");
                return Ok(Flow::Goes);
            }
            self.note_success();
        }
        match command {
            Command::Article(which) => self.article(Part::Whole, which).await?,
            Command::Head(which) => self.article(Part::Head, which).await?,
            Command::Body(which) => self.article(Part::Body, which).await?,
            Command::Stat(which) => self.article(Part::Nothing, which).await?,
            Command::Group(name) => self.group(name).await,
            Command::ListGroup(which) => self.list_group(which).await?,
            Command::Next => self.step(true).await,
            Command::Last => self.step(false).await,
            Command::Over(which) => self.over(which, Age::Today).await?,
            Command::Xover(which) => self.over(which, Age::Old).await?,
            Command::Hdr(field, which) => self.hdr(field, which).await?,
            Command::Xhdr(field, which) => self.xhdr(field, which).await?,
            Command::Xpat(field, which, pattern) => self.xpat(field, which, &pattern).await?,
            Command::List(listing) => match listing {
                Listing::Active(_)
                | Listing::ActiveTimes(_)
                | Listing::Counts(_)
                | Listing::Newsgroups(_) => self.list_newsgroups(&listing).await?,
                about_us => self.list_about_us(&about_us),
            },
            Command::NewGroups(since) => self.new_groups(since).await?,
            Command::NewNews(wildmat, since) => self.new_news(&wildmat, since).await?,
            Command::Date => self.date(),
            Command::Help => self.help(),
            Command::Capabilities(_) => self.capabilities(),
            Command::ModeReader => self.greet(),
            Command::AuthUser(_) => self.user(),
            Command::AuthPass(given) => self.password(given.reveal()).await,
            Command::AuthSasl(..) => self.sasl(),
            Command::StartTls => return self.start_tls().await,
            Command::CompressDeflate => return self.compress().await,
            Command::Post => self.post().await?,
            Command::Ihave(_) => {
                let text = "This server takes articles by POST only";
                self.say(code::UNKNOWN_COMMAND, text);
            }
            Command::Quit => {
                self.say(code::CLOSING, "Goodbye");
                return Ok(Flow::Ends);
            }
        }
        Ok(Flow::Goes)
    }

    /// Notes that this newsreader is set up well: who only connects may have a wrong key.
    pub(super) fn note_success(&self) {
        let parts = &self.service.parts;
        let now = u64::try_from(parts.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        parts.figures.note_success(now);
    }

    fn may_read(&self) -> bool {
        let service = &self.service;
        self.standing
            .may_read(&service.porter, service.parts.public)
    }

    /// Writes a reply of one line.
    pub(super) fn say(&mut self, code: u16, text: &str) {
        reply::write(code, text, self.wire.out());
    }

    /// The newsgroup it is in; says so if there is none.
    pub(super) fn newsgroup(&mut self) -> Option<Newsgroup> {
        let name = self.place.as_ref().map(|place| place.newsgroup.clone());
        if name.is_none() {
            let text = "No newsgroup is selected: send GROUP first";
            self.say(code::NO_GROUP_SELECTED, text);
        }
        name
    }

    /// The newsgroup and the article it is at; says so if there is none.
    pub(super) fn current(&mut self) -> Option<(Newsgroup, u64)> {
        let newsgroup = self.newsgroup()?;
        let current = self.place.as_ref().and_then(|place| place.current);
        if current.is_none() {
            self.say(code::NO_CURRENT_ARTICLE, "There is no current article");
        }
        Some((newsgroup, current?))
    }

    /// It is at another article of its newsgroup now.
    pub(super) fn move_to(&mut self, number: u64) {
        if let Some(place) = &mut self.place {
            place.current = Some(number);
        }
    }
}

/// Whether a command is only for those who may read.
fn reads(command: &Command) -> bool {
    match command {
        Command::Article(_)
        | Command::Head(_)
        | Command::Body(_)
        | Command::Stat(_)
        | Command::Group(_)
        | Command::ListGroup(_)
        | Command::Next
        | Command::Last
        | Command::Over(_)
        | Command::Xover(_)
        | Command::Hdr(..)
        | Command::Xhdr(..)
        | Command::Xpat(..)
        | Command::List(_)
        | Command::NewGroups(_)
        | Command::NewNews(..) => true,
        Command::Date
        | Command::Help
        | Command::Capabilities(_)
        | Command::ModeReader
        | Command::AuthUser(_)
        | Command::AuthPass(_)
        | Command::AuthSasl(..)
        | Command::StartTls
        | Command::CompressDeflate
        | Command::Post
        | Command::Ihave(_)
        | Command::Quit => false,
    }
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut chars = clause.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}
