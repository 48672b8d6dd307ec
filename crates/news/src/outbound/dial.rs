//! Opens a connection to a news server and makes it ready: encryption, greeting, capabilities, sign-in, compression.
//!
//! The order is TLS, sign-in, compression: afterwards a server refuses the earlier ones. Capabilities are asked for anew
//! after each step that may change them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use weir_config::Secrets;
use weir_engine::Fault;
use weir_net::{Error, Family, Goal, Ground, Home, Reach, Tls, connect};
use weir_news_proto::reply::code;
use weir_news_proto::{Capabilities, Command, Password};

use super::answer::{Answer, AnswerReader};
use super::wire::Wire;
use crate::config::server::{ServerEntry, TlsMode};
use crate::judge::NewsFault;

/// The port of NNTP, and the one where TLS begins with the first byte.
const PLAIN_PORT: u16 = 119;
const TLS_PORT: u16 = 563;
/// No greeting, list of capabilities or other part of the overture is longer.
const OVERTURE: usize = 64 * 1024;
/// What worked is tried first for this long.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);

/// All it takes to open a connection to one server.
pub(super) struct Dialer {
    pub(super) ground: Arc<dyn Ground>,
    pub(super) tls: Tls,
    pub(super) entry: ServerEntry,
    pub(super) home: Arc<Home>,
    /// Whether it may have a private address.
    pub(super) private: bool,
    /// Taken out of what the server says.
    pub(super) secrets: Secrets,
}

/// A way to reach a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    port: u16,
    security: Security,
}

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Security {
    /// With TLS.
    Tls,
    /// With a command for TLS, without which there is no connection.
    StartTls,
    /// As it is; with TLS if the server offers it.
    Plain,
    /// As it is.
    Off,
}

/// The way that worked last.
#[derive(Debug, Default)]
pub(super) struct Worked(parking_lot::Mutex<Option<(Way, Instant)>>);

/// A connection that takes commands.
pub(super) struct Ready {
    pub(super) wire: Wire,
    pub(super) capabilities: Capabilities,
    pub(super) secured: bool,
    pub(super) compressed: bool,
}

impl Dialer {
    /// Opens a connection by the first way that works, the one that worked last before others.
    ///
    /// A certificate that cannot be trusted ends the search: whoever sits in between must not be able to choose the
    /// unencrypted way for us.
    pub(super) async fn dial(&self, worked: &Worked) -> Result<Ready, NewsFault> {
        let mut ways = self.ways();
        let last = *worked.0.lock();
        if let Some((way, at)) = last
            && at.elapsed() < REMEMBERED
            && let Some(place) = ways.iter().position(|one| *one == way)
        {
            ways[..=place].rotate_right(1);
        }
        let mut first = None;
        for way in ways {
            match self.open(way).await {
                Ok(ready) => {
                    *worked.0.lock() = Some((way, Instant::now()));
                    return Ok(ready);
                }
                Err(fault) if !may_be_better(&fault) => return Err(fault),
                Err(fault) => {
                    tracing::debug!(upstream = self.entry.name, port = way.port, why = %fault, "another way is tried");
                    first.get_or_insert(fault);
                }
            }
        }
        Err(first.unwrap_or(NewsFault::NoEncryption))
    }

    /// All ways that the configuration allows, best first.
    fn ways(&self) -> Vec<Way> {
        let given = self
            .entry
            .port
            .and_then(|port| u16::try_from(port.get()).ok());
        let way = |usual: u16, security| Way {
            port: given.unwrap_or(usual),
            security,
        };
        let signs_in = self.entry.username.is_some();
        match self.entry.tls {
            TlsMode::Tls => vec![way(TLS_PORT, Security::Tls)],
            TlsMode::Starttls => vec![way(PLAIN_PORT, Security::StartTls)],
            TlsMode::Off => vec![way(PLAIN_PORT, Security::Off)],
            // Passwords are never sent unencrypted.
            TlsMode::Auto if signs_in => vec![
                way(TLS_PORT, Security::Tls),
                way(PLAIN_PORT, Security::StartTls),
            ],
            TlsMode::Auto => vec![
                way(TLS_PORT, Security::Tls),
                way(PLAIN_PORT, Security::Plain),
            ],
        }
    }

    async fn open(&self, way: Way) -> Result<Ready, NewsFault> {
        let goal = Goal {
            host: &self.entry.host,
            port: way.port,
            family: Family::Any,
            reach: match self.private {
                true => Reach::Home(&self.home),
                false => Reach::Public,
            },
        };
        // Each way has its share of the time, or the second would never be tried.
        let within = self.entry.timeout / 3;
        let (mut stream, address) = connect(&*self.ground, goal, within).await?;
        if way.security == Security::Tls {
            let secured = self.tls.secure(stream, &self.entry.host);
            let secured = tokio::time::timeout(within, secured).await;
            stream = secured.map_err(|_| Error::TimedOut)??;
        }
        let mut overture = Overture {
            wire: Wire::new(stream),
            capabilities: Capabilities::default(),
            within,
        };
        overture.greeting().await?;
        overture.introduce().await?;
        let mut secured = way.security == Security::Tls;
        let offered = overture.capabilities.has("STARTTLS");
        match way.security {
            Security::StartTls if !offered => return Err(NewsFault::NoEncryption),
            Security::StartTls | Security::Plain if offered => {
                overture.start_tls(&self.tls, &self.entry.host).await?;
                secured = true;
            }
            _ => {}
        }
        self.sign_in(&mut overture).await?;
        // On one machine nothing is saved by it: INN takes five times as long for an overview.
        let near = address.ip().to_canonical().is_loopback();
        let compressed = !near && overture.compress().await?;
        Ok(Ready {
            wire: overture.wire,
            capabilities: overture.capabilities,
            secured,
            compressed,
        })
    }

    async fn sign_in(&self, overture: &mut Overture) -> Result<(), NewsFault> {
        let (Some(username), Some(password)) = (&self.entry.username, &self.entry.password) else {
            return Ok(());
        };
        let answer = overture
            .ask(Command::AuthUser(username.as_str().into()))
            .await?;
        let answer = match answer.code {
            code::PASSWORD_NEEDED => {
                let password = Password::new(password.expose());
                overture.ask(Command::AuthPass(password)).await?
            }
            _ => answer,
        };
        match answer.code {
            code::AUTHENTICATED => overture.introduce().await,
            _ => {
                let words = self.secrets.words(&answer.reply().message());
                Err(match NewsFault::of_code(answer.code, words.clone()) {
                    // Some say 502 to a wrong password.
                    NewsFault::Closed(words) => NewsFault::Login(words),
                    NewsFault::Garbled(_) => NewsFault::Login(words),
                    fault => fault,
                })
            }
        }
    }
}

/// Whether another way may help after this.
fn may_be_better(fault: &NewsFault) -> bool {
    matches!(
        fault,
        NewsFault::Fault(Fault::Net(
            Error::NotTls | Error::Refused | Error::TimedOut | Error::Cut | Error::Other(_),
        )) | NewsFault::Garbled(_)
            | NewsFault::Silent
    )
}

/// The part of a conversation in which one thing is said after the other.
struct Overture {
    wire: Wire,
    capabilities: Capabilities,
    within: Duration,
}

impl Overture {
    async fn greeting(&mut self) -> Result<(), NewsFault> {
        // A greeting has the form of an answer without a block.
        let answer = self
            .answer(AnswerReader::new(Command::Date.verb(), OVERTURE))
            .await?;
        match answer.reply().posting() {
            Ok(_) => Ok(()),
            Err(_) => Err(answer.fault()),
        }
    }

    /// Asks for capabilities, and becomes a newsreader where that has to be said.
    async fn introduce(&mut self) -> Result<(), NewsFault> {
        self.look().await?;
        // Servers from before CAPABILITIES may be transit servers until they hear this.
        if self.capabilities.needs_mode_reader() || !self.capabilities.has("VERSION") {
            let answer = self.ask(Command::ModeReader).await?;
            match answer.fault() {
                // One that does not know it has no other mode.
                _ if answer.reply().posting().is_ok() => self.look().await?,
                NewsFault::Unsupported(_) => {}
                fault => return Err(fault),
            }
        }
        Ok(())
    }

    async fn look(&mut self) -> Result<(), NewsFault> {
        let answer = self.ask(Command::Capabilities(None)).await?;
        self.capabilities = match answer.code {
            code::CAPABILITIES => Capabilities::parse(answer.lines()),
            code::UNAVAILABLE | code::REFUSED => return Err(answer.fault()),
            // Old servers do not know the command, some not before the sign-in.
            _ => Capabilities::default(),
        };
        Ok(())
    }

    async fn start_tls(&mut self, tls: &Tls, host: &str) -> Result<(), NewsFault> {
        let answer = self.ask(Command::StartTls).await?;
        if answer.code != code::TLS_STARTS {
            return Err(answer.fault());
        }
        // A wire with nothing to read, in place of the one that is being secured.
        let bare = std::mem::replace(&mut self.wire, Wire::new(Box::new(tokio::io::empty())));
        let secured = tls.secure(bare.into_stream(), host);
        let secured = tokio::time::timeout(self.within, secured).await;
        self.wire = Wire::new(secured.map_err(|_| Error::TimedOut)??);
        self.introduce().await
    }

    /// Compresses both directions if the server offers to. Says whether it did.
    async fn compress(&mut self) -> Result<bool, NewsFault> {
        if !self.capabilities.offers("COMPRESS", "DEFLATE") {
            return Ok(false);
        }
        let answer = self.ask(Command::CompressDeflate).await?;
        let agreed = answer.code == code::COMPRESSION_STARTS;
        if agreed {
            self.wire.compress();
        }
        Ok(agreed)
    }

    async fn ask(&mut self, command: Command) -> Result<Answer, NewsFault> {
        let mut line = Vec::new();
        let written = command.write(&mut line);
        written.map_err(|error| NewsFault::Unsupported(error.to_string()))?;
        self.wire.send(&line).await?;
        self.answer(AnswerReader::new(command.verb(), OVERTURE))
            .await
    }

    async fn answer(&mut self, mut reader: AnswerReader) -> Result<Answer, NewsFault> {
        let arrives = async {
            loop {
                if let Some(answer) = reader.take(self.wire.arrived())? {
                    return answer;
                }
                self.wire.fill().await?;
            }
        };
        let answer = tokio::time::timeout(self.within, arrives).await;
        answer.unwrap_or(Err(NewsFault::Silent))
    }
}
