//! Bytes to and from one newsreader: lines and blocks in, replies out, packed or not.
//!
//! Nothing is held while a newsreader is silent: buffers are made when something comes and dropped when all of it was
//! answered. How long a client may take over an answer is bounded here as well ([`Patience`]).

use std::io;
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};
use weir_net::{ServerTls, Stream};
use weir_news_proto::command::MAX_LINE;
use weir_news_proto::{BlockReader, Error, LineReader};
use weir_web::seats::Seat;

use super::packing::Packing;

/// Bytes that are read at once while a command is waited for; a longer line comes in several pieces.
const PIECE: usize = 512;

/// Bytes that are read at once while an article is sent to us.
const BLOCK_PIECE: usize = 16 * 1024;

/// Bytes of replies that are gathered before they are sent.
const GATHERED: usize = 16 * 1024;

/// Bytes of one line that are skipped, and of an article beyond its limit; then nobody means it.
const SKIPPED: usize = 64 * 1024;

/// Why a conversation cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// The client closed it, or the network did.
    Closed,
    /// The client takes or sends too little.
    Slow,
    /// It sends a line or an article without end.
    Endless,
    /// What it sends cannot be unpacked.
    Damaged,
    /// We could not finish an answer: whoever got a part must not take it for the whole.
    Broken,
}

/// What came of waiting for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A line is there.
    Line,
    /// Nothing came in time.
    Silence,
}

/// One connection.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    packing: Option<Box<Packing>>,
    /// What arrived and was not used.
    arrived: BytesMut,
    line: LineReader,
    /// Bytes of the line that is being read.
    length: usize,
    whole: bool,
    out: Vec<u8>,
    pub(super) patience: Patience,
    seat: Seat,
    /// The zero of the seats' clock.
    began: Instant,
}

/// How slowly a client may take an answer, or send an article: some time, and so much more for each byte that it took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    stall: Duration,
    rate: u64,
    spent: Duration,
    moved: u64,
}

impl Patience {
    pub(super) fn new(stall: Duration, rate: u64) -> Self {
        Self {
            stall,
            rate: rate.max(1),
            spent: Duration::ZERO,
            moved: 0,
        }
    }

    /// How long the next step may take.
    fn left(&self) -> Result<Duration, Gone> {
        let earned = Duration::from_millis(self.moved.saturating_mul(1000) / self.rate);
        let left = (self.stall + earned).saturating_sub(self.spent);
        match left.min(self.stall) {
            Duration::ZERO => Err(Gone::Slow),
            left => Ok(left),
        }
    }

    fn spend(&mut self, time: Duration, bytes: usize) {
        self.spent += time;
        self.moved += bytes as u64;
    }
}

impl Wire {
    pub(super) fn new(
        stream: Box<dyn Stream>,
        patience: Patience,
        (seat, began): (Seat, Instant),
    ) -> Self {
        Self {
            stream,
            packing: None,
            arrived: BytesMut::new(),
            line: LineReader::new(MAX_LINE),
            length: 0,
            whole: false,
            out: Vec::new(),
            patience,
            seat,
            began,
        }
    }

    /// Whether a whole line has arrived.
    ///
    /// # Errors
    /// When a line is far longer than any command.
    pub(super) fn has_line(&mut self) -> Result<bool, Gone> {
        if !self.whole && !self.arrived.is_empty() {
            let fed = self.line.feed(&self.arrived);
            self.arrived.advance(fed.used);
            self.length += fed.used;
            self.whole = fed.done;
        }
        if self.length > SKIPPED {
            return Err(Gone::Endless);
        }
        Ok(self.whole)
    }

    /// Waits for a whole line: `first` for its first byte, and `rest` for the rest.
    ///
    /// # Errors
    /// Why there is none.
    ///
    /// # Cancel safety
    /// What arrived is kept.
    pub(super) async fn wait_for_line(
        &mut self,
        first: Duration,
        rest: Duration,
    ) -> Result<Heard, Gone> {
        let mut until = Instant::now() + if self.length > 0 { rest } else { first };
        while !self.has_line()? {
            let waiting = Waiting::new(&self.seat, self.began);
            let read = tokio::time::timeout_at(
                until,
                fill(&mut self.stream, &mut self.packing, &mut self.arrived),
            );
            // A byte now and then is always ready before the time is up, so the time is looked at as well.
            let late = Instant::now() >= until;
            match read.await {
                Ok(Ok(true)) if !late => {}
                Ok(Ok(false)) => return Err(Gone::Closed),
                Ok(Err(gone)) => return Err(gone),
                Ok(Ok(true)) | Err(_) => return Ok(Heard::Silence),
            }
            drop(waiting);
            if self.length == 0 {
                until = Instant::now() + rest;
            }
        }
        Ok(Heard::Line)
    }

    /// The line that has arrived.
    pub(super) fn line(&self) -> Result<&[u8], Error> {
        self.line.line()
    }

    /// Goes on to the next line.
    pub(super) fn next_line(&mut self) {
        self.line.clear();
        (self.length, self.whole) = (0, false);
    }

    /// Reads a block: what a client posts. Beyond its limit nothing is kept, and some time later nothing more is read.
    ///
    /// # Errors
    /// When it does not come to an end.
    pub(super) async fn block(&mut self, limit: usize) -> Result<Result<Vec<u8>, Error>, Gone> {
        let mut reader = BlockReader::new(limit);
        let mut beyond = 0;
        loop {
            let fed = reader.feed(&self.arrived);
            self.arrived.advance(fed.used);
            if fed.done {
                return Ok(reader.into_bytes());
            }
            if reader.is_over() {
                beyond += fed.used;
            }
            if beyond > SKIPPED.max(limit) {
                return Err(Gone::Endless);
            }
            let (began, left) = (Instant::now(), self.patience.left()?);
            let _waiting = Waiting::new(&self.seat, self.began);
            if self.packing.is_none() {
                self.arrived.reserve(BLOCK_PIECE);
            }
            let read = timeout(
                left,
                fill_more(&mut self.stream, &mut self.packing, &mut self.arrived),
            );
            match read.await {
                Ok(Ok(true)) => self.patience.spend(began.elapsed(), self.arrived.len()),
                Ok(Ok(false)) => return Err(Gone::Closed),
                Ok(Err(gone)) => return Err(gone),
                Err(_) => return Err(Gone::Slow),
            }
        }
    }

    /// Where replies are written to; they are sent by [`Self::flush`], or when there are enough of them.
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Sends what was gathered, if that is much.
    pub(super) async fn flush_if_full(&mut self) -> Result<(), Gone> {
        match self.out.len() < GATHERED {
            true => Ok(()),
            false => self.flush().await,
        }
    }

    /// Sends what was gathered.
    pub(super) async fn flush(&mut self) -> Result<(), Gone> {
        if self.out.is_empty() {
            return Ok(());
        }
        let mut bytes = std::mem::take(&mut self.out);
        match &mut self.packing {
            None => self.write(&bytes).await?,
            Some(packing) => {
                let packed = packing.pack(&bytes)?;
                self.write(&packed).await?;
            }
        }
        bytes.clear();
        self.out = bytes;
        Ok(())
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (began, left) = (Instant::now(), self.patience.left()?);
            let mut write = std::pin::pin!(self.stream.write(rest));
            let written = match futures_util::poll!(&mut write) {
                Poll::Ready(written) => written,
                Poll::Pending => {
                    let _waiting = Waiting::new(&self.seat, self.began);
                    timeout(left, write).await.map_err(|_| Gone::Slow)?
                }
            };
            let written = written.map_err(|_| Gone::Closed)?;
            if written == 0 {
                return Err(Gone::Closed);
            }
            self.patience.spend(began.elapsed(), written);
            rest = &rest[written..];
        }
        let left = self.patience.left()?;
        let flushed = timeout(left, self.stream.flush()).await;
        flushed.map_err(|_| Gone::Slow)?.map_err(|_| Gone::Closed)
    }

    /// Nothing is to be said for a while: the buffers go.
    pub(super) fn rest(&mut self) {
        self.out = Vec::new();
        if self.arrived.is_empty() {
            self.arrived = BytesMut::new();
        }
        if let Some(packing) = &mut self.packing {
            packing.rest();
        }
    }

    /// From now on both directions are compressed. What arrived before is thrown away: whoever sent it did not wait for our
    /// consent.
    pub(super) fn compress(&mut self) {
        self.arrived = BytesMut::new();
        self.packing = Some(Box::default());
    }

    /// From now on the connection is encrypted. What arrived before is thrown away: it was not, so anybody on the way may
    /// have put it there, and it must not be taken for the client's (RFC 4642, section 2.2.2).
    ///
    /// # Errors
    /// When the client does not manage.
    pub(super) async fn secure(&mut self, tls: &ServerTls, within: Duration) -> Result<(), Gone> {
        self.arrived = BytesMut::new();
        let plain = std::mem::replace(&mut self.stream, Box::new(tokio::io::empty()));
        let _waiting = Waiting::new(&self.seat, self.began);
        let secured = timeout(within, tls.accept(plain)).await;
        self.stream = secured.map_err(|_| Gone::Slow)?.map_err(|_| Gone::Closed)?;
        Ok(())
    }

    /// Says that nothing more comes.
    pub(super) async fn close(&mut self, within: Duration) {
        let _ = timeout(within, self.stream.shutdown()).await;
    }
}

/// Reads some bytes; false at the end of the stream.
///
/// # Cancel safety
/// Nothing is lost when the future is dropped before it is ready.
async fn fill(
    stream: &mut Box<dyn Stream>,
    packing: &mut Option<Box<Packing>>,
    arrived: &mut BytesMut,
) -> Result<bool, Gone> {
    loop {
        if let Some(packing) = packing
            && packing.unpack(arrived)?
        {
            return Ok(true);
        }
        let mut piece = [0; PIECE];
        let read = stream.read(&mut piece).await.map_err(closed)?;
        let piece = &piece[..read];
        match packing {
            Some(packing) if read > 0 => packing.add(piece),
            _ => {
                arrived.extend_from_slice(piece);
                return Ok(read > 0);
            }
        }
    }
}

/// The same into the room that `arrived` has.
async fn fill_more(
    stream: &mut Box<dyn Stream>,
    packing: &mut Option<Box<Packing>>,
    arrived: &mut BytesMut,
) -> Result<bool, Gone> {
    match packing {
        Some(_) => fill(stream, packing, arrived).await,
        None => {
            let read = stream.read_buf(arrived).await.map_err(closed)?;
            Ok(read > 0)
        }
    }
}

fn closed(_: io::Error) -> Gone {
    Gone::Closed
}

/// The next move is the client's for as long as this lives: its place may go to somebody else.
struct Waiting<'a>(&'a Seat);

impl<'a> Waiting<'a> {
    fn new(seat: &'a Seat, began: Instant) -> Self {
        let now = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        seat.waits(now);
        Self(seat)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.works();
    }
}
