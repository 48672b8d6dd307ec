//! One connection: what is read of it, what is kept between reads, and until when.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use weir_web::Guest;
use weir_web::seats::Seat;

use super::{AfterAnswer, Http, RequestBuffers};
use crate::clock::Now;
use crate::forwarding::HeldReply;
use crate::inbound::proxy::{self, Preamble};
use crate::tracker::ClientTerms;

/// Seconds for which a client that was refused may go on sending.
const LINGER: u32 = 2;
/// And how much of it.
const LINGER_BYTES: usize = 256 << 10;

/// What came of reading once.
pub(super) struct Answered {
    next: AfterAnswer,
    /// What the system did not take at once.
    unsent: Vec<u8>,
}

/// A socket that does not wait: what would block says so.
trait Io {
    fn read_now(&mut self, into: &mut [u8]) -> io::Result<usize>;
    fn write_now(&mut self, from: &[u8]) -> io::Result<usize>;
}

/// One that the runtime does not know yet.
impl Io for &std::net::TcpStream {
    fn read_now(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.read(into)
    }

    fn write_now(&mut self, from: &[u8]) -> io::Result<usize> {
        self.write(from)
    }
}

/// One that the runtime watches. Reading by its own way tells it that a socket is empty when less came than asked for,
/// which saves the read that would find out.
struct RuntimeStream<'a, 'b> {
    stream: &'a mut TcpStream,
    context: &'a mut Context<'b>,
}

impl Io for RuntimeStream<'_, '_> {
    fn read_now(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut into = ReadBuf::new(into);
        match Pin::new(&mut *self.stream).poll_read(self.context, &mut into) {
            Poll::Ready(Ok(())) => Ok(into.filled().len()),
            Poll::Ready(Err(error)) => Err(error),
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn write_now(&mut self, from: &[u8]) -> io::Result<usize> {
        self.stream.try_write(from)
    }
}

#[cfg(any(test, feature = "bench"))]
impl<'a, P: Iterator<Item = &'a [u8]>> Io for crate::conversation::Wire<'a, P> {
    fn read_now(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.read(into)
    }

    fn write_now(&mut self, from: &[u8]) -> io::Result<usize> {
        self.write(from)
    }
}

/// One connection, without its socket.
pub(super) struct HttpConnection {
    http: Arc<Http>,
    peer: SocketAddr,
    /// Who asks, if a proxy we trust said so at the beginning.
    client: IpAddr,
    /// The second after which it is ended.
    deadline: u32,
    /// The same, where the loop that accepts reads it each second.
    shared: Option<Arc<AtomicU32>>,
    /// Its place, once it stays.
    seat: Option<Seat>,
    /// The beginning of a request that is not whole yet.
    unread: Vec<u8>,
    /// What a proxy says at the beginning has been read.
    begun: bool,
    /// `unread` may hold whole requests.
    goes_on: bool,
    /// The first of them was counted before its reply was held.
    counted: bool,
}

impl HttpConnection {
    pub(super) fn new(http: Arc<Http>, peer: SocketAddr) -> Self {
        Self {
            http,
            peer,
            client: peer.ip(),
            deadline: 0,
            shared: None,
            seat: None,
            unread: Vec::new(),
            begun: false,
            goes_on: false,
            counted: false,
        }
    }

    /// Answers what came with the connection. It is over if nothing is left to do.
    pub(super) fn begin(mut self, mut stream: &std::net::TcpStream) -> Option<(Self, Answered)> {
        match self.answer(&mut stream) {
            Ok(Answered {
                next: AfterAnswer::Close,
                unsent,
            }) if unsent.is_empty() => None,
            Ok(answered) => Some((self, answered)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.set_deadline(self.http.seconds(), self.http.limits.request);
                let nothing = Answered {
                    next: AfterAnswer::Wait,
                    unsent: Vec::new(),
                };
                Some((self, nothing))
            }
            Err(_) => None,
        }
    }

    /// When it is to be ended; kept up to date from now on.
    pub(super) fn share_deadline(&mut self) -> Arc<AtomicU32> {
        let shared = Arc::new(AtomicU32::new(self.deadline));
        self.shared = Some(Arc::clone(&shared));
        shared
    }

    /// Goes on after the beginning, to the end.
    pub(super) async fn serve(mut self, stream: std::net::TcpStream, begun: Answered, seat: Seat) {
        self.seat = Some(seat);
        let Ok(mut stream) = TcpStream::from_std(stream) else {
            return;
        };
        let mut answered = begun;
        loop {
            let Answered { next, unsent } = answered;
            if !unsent.is_empty() && self.send(&stream, &unsent).await.is_err() {
                return;
            }
            if self.unread.is_empty() && !unsent.is_empty() {
                self.idle(self.http.seconds());
            }
            self.goes_on = matches!(next, AfterAnswer::GoOn);
            match next {
                AfterAnswer::Wait | AfterAnswer::GoOn => {}
                AfterAnswer::Close => return,
                AfterAnswer::Linger => return self.linger(stream).await,
                AfterAnswer::Leave => return self.leave(stream),
                AfterAnswer::Hold(held) => {
                    if !self.hold(held).await {
                        return;
                    }
                }
            }
            match std::future::poll_fn(|context| self.poll_answer(context, &mut stream)).await {
                Ok(next) => answered = next,
                Err(_) => return,
            }
        }
    }

    /// The same over a wire that never waits. Without forwarders no reply is held.
    #[cfg(any(test, feature = "bench"))]
    pub(super) fn converse<'a>(
        mut self,
        wire: &mut crate::conversation::Wire<'a, impl Iterator<Item = &'a [u8]>>,
    ) -> crate::conversation::ConversationEnd {
        use crate::conversation::ConversationEnd;
        loop {
            let Ok(Answered { next, unsent }) = self.answer(wire) else {
                return ConversationEnd::Waits(self.unread);
            };
            wire.write_all(&unsent);
            self.goes_on = matches!(next, AfterAnswer::GoOn);
            match next {
                AfterAnswer::Wait | AfterAnswer::GoOn => {}
                AfterAnswer::Close | AfterAnswer::Linger | AfterAnswer::Hold(_) => {
                    return ConversationEnd::Closed;
                }
                AfterAnswer::Leave => return ConversationEnd::Left(self.unread),
            }
        }
    }

    /// Waits for what a request waits for; it is answered again then, unless its peer has left.
    async fn hold(&mut self, held: HeldReply) -> bool {
        let wait = self.http.tracker.terms().forwarding.first_wait;
        let seconds = u32::try_from(wait.as_secs() + 1).unwrap_or(u32::MAX / 4);
        self.set_deadline(
            self.http.seconds(),
            seconds.saturating_add(self.http.limits.request),
        );
        self.goes_on = true;
        self.counted = true;
        // It has asked, and is to be answered: it stays.
        if let Some(seat) = &self.seat {
            seat.works();
        }
        let stays = self.http.tracker.wait_for(held).await;
        if let Some(seat) = &self.seat {
            seat.waits(self.http.clock.now().moment.0);
        }
        stays
    }

    /// Answers as soon as something has come.
    fn poll_answer(
        &mut self,
        context: &mut Context<'_>,
        stream: &mut TcpStream,
    ) -> Poll<io::Result<Answered>> {
        match self.answer(&mut RuntimeStream { stream, context }) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            answered => Poll::Ready(answered),
        }
    }

    /// Reads what is there and answers all that is whole; says what could not be sent at once.
    fn answer(&mut self, stream: &mut impl Io) -> io::Result<Answered> {
        let http = Arc::clone(&self.http);
        let mut buffers = http.buffers.lock();
        let buffers = &mut *buffers;
        let had = self.unread.len();
        buffers.input[..had].copy_from_slice(&self.unread);
        let mut count = 0;
        if !self.goes_on {
            count = stream.read_now(&mut buffers.input[had..])?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        buffers.output.clear();
        buffers.now = http.clock.now();
        buffers.counted = std::mem::take(&mut self.counted);
        let terms = http.tracker.terms();
        let (next, used) = self.answer_input(buffers, had + count, &terms);
        self.keep_unread(&buffers.input[used..had + count], used > 0, buffers.now);
        let sent = match buffers.output.is_empty() {
            true => 0,
            false => match stream.write_now(&buffers.output) {
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => return Err(error),
            },
        };
        let unsent = buffers.output[sent..].to_vec();
        Ok(Answered { next, unsent })
    }

    /// Keeps the beginning of a request, and the time until which it must be whole.
    fn keep_unread(&mut self, rest: &[u8], answered: bool, now: Now) {
        let begins = self.unread.is_empty();
        if let Some(seat) = &self.seat
            && answered
        {
            seat.asked(now.moment.0);
        }
        if rest.is_empty() {
            self.idle(now.seconds);
            if !begins {
                self.unread = Vec::new();
            }
            return;
        }
        // Further pieces of the same request buy no time.
        if begins || answered {
            self.set_deadline(now.seconds, self.http.limits.request);
        }
        self.unread.clear();
        self.unread.extend_from_slice(rest);
    }

    /// Answers what is whole in the first `length` bytes of the input; says how many bytes that was.
    fn answer_input(
        &mut self,
        buffers: &mut RequestBuffers,
        length: usize,
        terms: &ClientTerms,
    ) -> (AfterAnswer, usize) {
        let mut used = 0;
        if !self.begun {
            match self.read_preamble(&buffers.input[..length], terms) {
                Some(preamble) => used = preamble,
                None => return (AfterAnswer::Close, length),
            }
        }
        if !self.begun {
            return (AfterAnswer::Wait, used);
        }
        self.http
            .answer_requests(buffers, used..length, self.client, terms)
    }

    /// How long the words of a proxy at the beginning are; `None` if they cannot be read.
    fn read_preamble(&mut self, input: &[u8], terms: &ClientTerms) -> Option<usize> {
        self.begun = true;
        if !terms.trust.is_proxy(self.peer.ip()) {
            return Some(0);
        }
        match proxy::read(input) {
            Preamble::Says(length, client) => {
                self.client = client.unwrap_or(self.client);
                Some(length)
            }
            Preamble::Absent => Some(0),
            Preamble::Partial => {
                self.begun = false;
                Some(0)
            }
            Preamble::Malformed => None,
        }
    }

    async fn send(&mut self, stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
        self.set_deadline(self.http.seconds(), self.http.limits.request);
        while !bytes.is_empty() {
            stream.writable().await?;
            match stream.try_write(bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Says that nothing more comes, and reads on for a little while.
    async fn linger(mut self, mut stream: TcpStream) {
        self.set_deadline(self.http.seconds(), LINGER);
        let mut rest = [0; 512];
        let mut read = 0;
        if stream.shutdown().await.is_err() {
            return;
        }
        while let Ok(count) = stream.read(&mut rest).await
            && count > 0
            && read < LINGER_BYTES
        {
            read += count;
        }
    }

    fn leave(self, stream: TcpStream) {
        let Ok(stream) = stream.into_std() else {
            return;
        };
        let guest = Guest {
            stream,
            read: self.unread,
            // The word of a proxy at the beginning was cut off, and would be forgotten with it.
            peer: SocketAddr::new(self.client, self.peer.port()),
        };
        // If the router has its hands full, the connection is closed.
        drop(self.http.guests.try_send(guest));
    }

    /// It has nothing to do until the next request.
    fn idle(&mut self, now: u32) {
        self.set_deadline(now, self.http.limits.idle);
    }

    fn set_deadline(&mut self, now: u32, seconds: u32) {
        self.deadline = now.saturating_add(seconds);
        if let Some(shared) = &self.shared {
            shared.store(self.deadline, Ordering::Relaxed);
        }
    }
}
