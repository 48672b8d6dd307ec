//! Announces over UDP: several sockets, each with a window of announces under way.

use std::error::Error;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use weir_tracker_proto::Announce;
use weir_tracker_proto::udp::{ConnectionId, Family, Reply, TransactionId, request};

use crate::Measured;
use crate::plan::Plan;

/// Connection ids are good for two minutes; this is well within.
const RECONNECT: Duration = Duration::from_secs(50);
/// A reply that has not come by then does not come.
const PATIENCE: Duration = Duration::from_millis(500);

struct Client {
    socket: UdpSocket,
    family: Family,
    connection: (ConnectionId, Instant),
    /// When each place of the window was asked, and under which number.
    asked: Vec<(u32, Instant)>,
    /// Places that nothing is under way in.
    free: Vec<u32>,
    round: u32,
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
pub(crate) fn run(plan: &Plan, thread: u32) -> Result<Measured, Box<dyn Error + Send + Sync>> {
    let clients = (0..plan.connections).map(|_| Client::new(plan));
    let mut clients = clients.collect::<Result<Vec<_>, _>>()?;
    let mut announces = plan.announces(thread);
    let mut measured = Measured::default();
    let end = Instant::now() + plan.time;
    let mut out_of_work = false;
    loop {
        let over = out_of_work || !plan.once && Instant::now() >= end;
        for client in &mut clients {
            while !over && !client.free.is_empty() {
                let Some(announce) = announces.next() else {
                    out_of_work = true;
                    break;
                };
                client.ask(&announce)?;
            }
            client.listen(plan, &mut measured)?;
        }
        if over || out_of_work {
            for client in &mut clients {
                while client.free.len() < plan.window as usize {
                    client.listen(plan, &mut measured)?;
                }
            }
            return Ok(measured);
        }
    }
}

impl Client {
    #[expect(clippy::disallowed_methods, reason = "it measures")]
    fn new(plan: &Plan) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let (here, family) = match plan.tracker.is_ipv4() {
            true => ("0.0.0.0:0", Family::V4),
            false => ("[::]:0", Family::V6),
        };
        let socket = UdpSocket::bind(here)?;
        socket.connect(plan.tracker)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let now = Instant::now();
        let mut client = Self {
            socket,
            family,
            connection: (ConnectionId(0), now),
            asked: vec![(0, now); plan.window as usize],
            free: (0..plan.window).collect(),
            round: 0,
        };
        client.connect()?;
        Ok(client)
    }

    #[expect(clippy::disallowed_methods, reason = "it measures")]
    fn connect(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut packet = [0; 64];
        self.socket
            .send(&request::connect(TransactionId(u32::MAX)))?;
        let length = self.socket.recv(&mut packet)?;
        match Reply::parse(&packet[..length], self.family) {
            Ok(Reply::Connect { connection, .. }) => {
                self.connection = (connection, Instant::now());
                Ok(())
            }
            other => Err(format!("no connection id: {other:?}").into()),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "it measures")]
    fn ask(&mut self, announce: &Announce) -> Result<(), Box<dyn Error + Send + Sync>> {
        let all_free = self.free.len() == self.asked.len();
        if all_free && self.connection.1.elapsed() > RECONNECT {
            self.connect()?;
        }
        let Some(place) = self.free.pop() else {
            return Ok(());
        };
        self.round = self.round.wrapping_add(1);
        let number = (self.round << 16) | place;
        self.asked[place as usize] = (number, Instant::now());
        let packet = request::announce(self.connection.0, TransactionId(number), announce);
        self.socket.send(&packet)?;
        Ok(())
    }

    /// Takes one reply, or gives up on all that is under way.
    fn listen(
        &mut self,
        plan: &Plan,
        measured: &mut Measured,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        if self.free.len() == self.asked.len() {
            return Ok(());
        }
        let mut packet = [0; 4096];
        let length = match self.socket.recv(&mut packet) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                measured.lost += (self.asked.len() - self.free.len()) as u64;
                self.free = (0..self.asked.len() as u32).collect();
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let Ok(Reply::Announce {
            transaction, peers, ..
        }) = Reply::parse(&packet[..length], self.family)
        else {
            measured.wrong += 1;
            return Ok(());
        };
        let place = transaction.0 & 0xffff;
        let Some((number, asked)) = self.asked.get(place as usize) else {
            measured.wrong += 1;
            return Ok(());
        };
        let under_way = *number == transaction.0 && !self.free.contains(&place);
        if under_way && peers.addresses().count() <= plan.numwant as usize {
            measured.right += 1;
            measured.latency.note(asked.elapsed());
            self.free.push(place);
        } else {
            measured.wrong += 1;
        }
        Ok(())
    }
}
