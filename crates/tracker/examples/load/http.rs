//! Announces over HTTP: connections that ask one announce after the other.

use std::cell::RefCell;
use std::error::Error;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_tracker_proto::Announce;
use weir_tracker_proto::http::{Answer, read_announce_reply, write_announce_query};

use crate::Measured;
use crate::plan::Plan;

pub(crate) fn run(plan: &Plan, thread: u32) -> Result<Measured, Box<dyn Error + Send + Sync>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let measured = Rc::new(RefCell::new(Measured::default()));
    let announces = Rc::new(RefCell::new(plan.announces(thread)));
    let tasks = tokio::task::LocalSet::new();
    for _ in 0..plan.connections {
        let (measured, announces, plan) =
            (Rc::clone(&measured), Rc::clone(&announces), plan.clone());
        tasks.spawn_local(async move {
            if connection(&plan, &announces, &measured).await.is_err() {
                measured.borrow_mut().lost += 1;
            }
        });
    }
    runtime.block_on(tasks);
    Ok(measured.take())
}

#[expect(clippy::disallowed_methods, reason = "it measures")]
async fn connection(
    plan: &Plan,
    announces: &RefCell<impl Iterator<Item = Announce>>,
    measured: &RefCell<Measured>,
) -> Result<(), Box<dyn Error>> {
    let end = Instant::now() + plan.time;
    let mut stream = None;
    let mut read = Vec::with_capacity(8192);
    while plan.once || Instant::now() < end {
        let Some(announce) = announces.borrow_mut().next() else {
            return Ok(());
        };
        let request = request(&announce, plan);
        let asked = Instant::now();
        let mut open: TcpStream = match stream.take() {
            Some(open) => open,
            None => connect(plan.tracker).await?,
        };
        open.write_all(&request).await?;
        let right = is_right(&mut open, &mut read, plan).await?;
        let mut measured = measured.borrow_mut();
        measured.latency.note(asked.elapsed());
        if right {
            measured.right += 1;
        } else {
            measured.wrong += 1;
        }
        stream = (!plan.close).then_some(open);
    }
    Ok(())
}

async fn connect(tracker: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(tracker).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn request(announce: &Announce, plan: &Plan) -> Vec<u8> {
    let mut target = String::from("/announce");
    write_announce_query(announce, None, &mut target);
    let connection = if plan.close {
        "Connection: close\r\n"
    } else {
        ""
    };
    format!(
        "GET {target} HTTP/1.1\r\nHost: {}\r\n{connection}\r\n",
        plan.tracker
    )
    .into_bytes()
}

/// Reads one reply; whether it is what was asked for.
async fn is_right(
    stream: &mut TcpStream,
    read: &mut Vec<u8>,
    plan: &Plan,
) -> Result<bool, Box<dyn Error>> {
    read.clear();
    let (start, end) = loop {
        if stream.read_buf(read).await? == 0 {
            return Err("closed before a reply".into());
        }
        if let Some(body) = body(read) {
            break body;
        }
    };
    while read.len() < end {
        if stream.read_buf(read).await? == 0 {
            return Err("closed within a reply".into());
        }
    }
    let right = match read_announce_reply(&read[start..end]) {
        Ok(Answer::Given(answer)) => {
            answer.interval.is_some() && answer.peers.addresses().count() <= plan.numwant as usize
        }
        _ => false,
    };
    Ok(right && read.starts_with(b"HTTP/1.1 200 ") && read.len() == end)
}

/// Where the body begins and ends, once the head is there.
fn body(read: &[u8]) -> Option<(usize, usize)> {
    let head = read.windows(4).position(|four| four == b"\r\n\r\n")?;
    let text = str::from_utf8(&read[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then_some(value)
    })?;
    let length: usize = length.trim().parse().ok()?;
    Some((head + 4, head + 4 + length))
}
