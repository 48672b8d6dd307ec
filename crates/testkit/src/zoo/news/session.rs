//! One connection: commands are read while answers are written, so that a client may send many at once.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, split};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until};

use super::answer::{self, Reply, Talk, Then};
use super::behaviour::{Behaviour, Greeting};
use super::wire::{Inlet, Outlet};
use super::{Guest, Shared};

/// Commands that wait for their answers; a client that sends more has to wait.
const QUEUE: usize = 10_000;

/// What comes from a client.
enum Input {
    Command {
        at: Instant,
        line: String,
        /// For those who may not send more before they have the answer: what they will send.
        next: Option<oneshot::Sender<Next>>,
    },
    Article(Vec<u8>),
}

/// What a client sends after an answer, if not simply the next command.
enum Next {
    Article,
    Packed,
}

/// How a connection ends.
pub(super) enum Ending {
    Close,
    Reset,
}

/// Serves a connection until one side has enough.
pub(super) async fn serve(guest: Box<dyn Guest>, shared: Arc<Shared>, number: usize) {
    let (mut read, mut write) = split(guest);
    let (inputs, queue) = mpsc::channel(QUEUE);
    let mut cut = shared.cut.subscribe();
    let ending = {
        let listen = listen(Inlet::new(&mut read), inputs, &shared, number);
        // A client that has nothing more to say may still be waiting for answers.
        let listen = async {
            listen.await;
            std::future::pending::<()>().await;
        };
        let speaker = Speaker {
            outlet: Outlet::new(&mut write, shared.written.clone()),
            queue,
            shared: &shared,
            number,
        };
        tokio::select! {
            ending = speaker.run() => ending.unwrap_or(Ending::Close),
            () = listen => Ending::Close,
            _ = cut.changed() => Ending::Reset,
        }
    };
    match ending {
        Ending::Close => Outlet::new(write, shared.written.clone()).close().await,
        Ending::Reset => read.unsplit(write).reset(),
    }
    shared.closed(number);
}

async fn listen<R: AsyncRead + Unpin>(
    mut inlet: Inlet<R>,
    inputs: mpsc::Sender<Input>,
    shared: &Shared,
    number: usize,
) {
    while let Some(line) = inlet.line().await {
        let line = String::from_utf8_lossy(&line).into_owned();
        let at = shared.asked(number, &line);
        let verb = line.split(' ').next().unwrap_or_default();
        let verb = verb.to_ascii_uppercase();
        let last = ["COMPRESS", "POST", "IHAVE"].contains(&verb.as_str());
        let (next, told) = oneshot::channel();
        let next = last.then_some(next);
        if inputs
            .send(Input::Command { at, line, next })
            .await
            .is_err()
        {
            return;
        }
        match told.await {
            Ok(Next::Packed) => inlet.unpack(),
            Ok(Next::Article) => {
                let Some(article) = inlet.block().await else {
                    return;
                };
                if inputs.send(Input::Article(article)).await.is_err() {
                    return;
                }
            }
            Err(_) => {}
        }
    }
}

struct Speaker<'a, W> {
    outlet: Outlet<W>,
    queue: mpsc::Receiver<Input>,
    shared: &'a Shared,
    number: usize,
}

/// Nothing while the conversation goes on.
type Step = io::Result<Option<Ending>>;

impl<W: AsyncWrite + Unpin> Speaker<'_, W> {
    async fn run(mut self) -> io::Result<Ending> {
        if let Some(ending) = self.greet().await? {
            return Ok(ending);
        }
        let mut talk = Talk::default();
        let mut commands = 0;
        while let Some(input) = self.queue.recv().await {
            let Input::Command { at, line, next } = input else {
                continue;
            };
            commands += 1;
            let behaviour = self.shared.behaviour(&line, commands);
            let answered = self.answer(&mut talk, &line, at, next, behaviour).await?;
            if let Some(ending) = answered {
                return Ok(ending);
            }
            self.shared.answered(self.number);
        }
        Ok(Ending::Close)
    }

    async fn greet(&mut self) -> Step {
        let (greeting, line) = self.shared.greeting();
        let line = format!("{line}\r\n");
        match greeting {
            Greeting::Good => self.outlet.write(line.as_bytes()).await?,
            Greeting::Late(time) => {
                sleep(time).await;
                self.outlet.write(line.as_bytes()).await?;
            }
            Greeting::Never => return self.hang().await,
            Greeting::Bytes(bytes) => self.outlet.write(&bytes).await?,
            Greeting::Goodbye(line) => {
                self.say(&line).await?;
                return Ok(Some(Ending::Close));
            }
            Greeting::Close => return Ok(Some(Ending::Close)),
        }
        Ok(None)
    }

    async fn answer(
        &mut self,
        talk: &mut Talk,
        line: &str,
        at: Instant,
        next: Option<oneshot::Sender<Next>>,
        behaviour: Behaviour,
    ) -> Step {
        match &behaviour {
            Behaviour::Slow(time) => sleep(*time).await,
            Behaviour::Far(time) => sleep_until(at + *time).await,
            Behaviour::Line(line) => return self.say(line).await.map(|()| None),
            Behaviour::Goodbye(line) => {
                self.say(line).await?;
                return Ok(Some(Ending::Close));
            }
            Behaviour::Bytes(bytes) => return self.outlet.write_as_is(bytes).await.map(|()| None),
            Behaviour::Hang => {
                drop(next);
                return self.hang().await;
            }
            Behaviour::Close => return Ok(Some(Ending::Close)),
            Behaviour::Reset => return Ok(Some(Ending::Reset)),
            Behaviour::EndlessLine(bytes) => {
                self.outlet.flood(b"x", *bytes).await?;
                return Ok(Some(Ending::Close));
            }
            _ => {}
        }
        let reply = answer::of(&mut self.shared.state.lock(), talk, line);
        if let Some(ending) = self.write(&reply, &behaviour).await? {
            return Ok(Some(ending));
        }
        match reply.then {
            Then::Nothing => Ok(None),
            Then::Close => Ok(Some(Ending::Close)),
            Then::Pack => {
                self.outlet.pack();
                self.tell(next, Next::Packed);
                Ok(None)
            }
            Then::Article(offered) => {
                self.tell(next, Next::Article);
                self.take(offered.as_deref(), &behaviour).await
            }
        }
    }

    /// Writes an answer, or what the behaviour makes of it.
    async fn write(&mut self, reply: &Reply, behaviour: &Behaviour) -> Step {
        let bytes = reply.bytes();
        let part = match behaviour {
            Behaviour::Drip(pause) => {
                self.outlet.drip(&bytes, *pause).await?;
                return Ok(None);
            }
            Behaviour::EndlessBlock(most) => {
                self.say(&reply.line).await?;
                let refrain = reply.block.as_deref().filter(|block| !block.is_empty());
                self.outlet
                    .flood(refrain.unwrap_or(b"x\r\n"), *most)
                    .await?;
                return Ok(Some(Ending::Close));
            }
            Behaviour::Cut(most) | Behaviour::Stall(most) => *most,
            Behaviour::Half => bytes.len() / 2,
            _ => bytes.len(),
        };
        self.outlet.write(&bytes[..part.min(bytes.len())]).await?;
        match behaviour {
            Behaviour::Cut(_) | Behaviour::Half => Ok(Some(Ending::Close)),
            Behaviour::Stall(_) => self.hang().await,
            _ => Ok(None),
        }
    }

    /// Takes an article that it asked for.
    async fn take(&mut self, offered: Option<&str>, behaviour: &Behaviour) -> Step {
        if *behaviour == Behaviour::DieBeforeArticle {
            return Ok(Some(Ending::Close));
        }
        let Some(Input::Article(bytes)) = self.queue.recv().await else {
            return Ok(Some(Ending::Close));
        };
        if let Behaviour::Verdict(line) = behaviour {
            return self.say(line).await.map(|()| None);
        }
        let line = answer::receive(&mut self.shared.state.lock(), offered, bytes);
        if *behaviour == Behaviour::DieAfterArticle {
            return Ok(Some(Ending::Close));
        }
        self.say(&line).await.map(|()| None)
    }

    async fn say(&mut self, line: &str) -> io::Result<()> {
        self.outlet.write(format!("{line}\r\n").as_bytes()).await
    }

    /// Takes what comes and says nothing until the client leaves.
    async fn hang(&mut self) -> Step {
        while self.queue.recv().await.is_some() {}
        Ok(Some(Ending::Close))
    }

    fn tell(&self, next: Option<oneshot::Sender<Next>>, what: Next) {
        if let Some(next) = next {
            let _ = next.send(what);
        }
    }
}
