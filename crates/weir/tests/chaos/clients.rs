//! Clients that search at all nodes all the time, and remember every reply that is an error.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{pass, secs};

/// When a client that was told to come later comes back: too soon, so that there is always somebody who wants something.
const TOO_SOON: Duration = Duration::from_millis(400);

pub(crate) const KEY: &str = "k3y-of-all-the-nodes";

/// How long a client waits; a node that is stopped for a minute answers later.
const CLIENT_PATIENCE: Duration = Duration::from_secs(180);

/// Where a node is found, for those who ask it while it comes and goes.
pub(crate) struct Door {
    web: Mutex<Option<SocketAddr>>,
    /// How often it has opened and closed: whoever was cut off by that had no error.
    turns: AtomicUsize,
}

impl Door {
    pub(crate) fn new(web: SocketAddr) -> Arc<Self> {
        Arc::new(Self {
            web: Mutex::new(Some(web)),
            turns: AtomicUsize::new(0),
        })
    }

    /// Opens it at an address, or closes it.
    pub(crate) fn set(&self, web: Option<SocketAddr>) {
        *self.web.lock() = web;
        self.turns.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn web(&self) -> Option<SocketAddr> {
        *self.web.lock()
    }

    fn turns(&self) -> usize {
        self.turns.load(Ordering::SeqCst)
    }
}

/// What a node said.
pub(crate) struct Answer(String);

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        let status = self.0.split(' ').nth(1);
        status.and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    /// A field of the head.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let head = self.0.split("\r\n\r\n").next()?;
        let mut fields = head.lines().filter_map(|line| line.split_once(':'));
        let found = fields.find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether a program can go on with it: an answer, or a time at which to come back.
    fn is_no_error(&self) -> bool {
        let seconds = self.field("retry-after").and_then(|text| text.parse().ok());
        match self.status() {
            200 => true,
            429 => seconds.is_some_and(|seconds: u64| seconds >= 1),
            _ => false,
        }
    }
}

/// Asks a node for something.
pub(crate) fn ask(web: SocketAddr, target: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(web)?;
    stream.set_read_timeout(Some(CLIENT_PATIENCE))?;
    let head = format!(
        "GET {target} HTTP/1.1\r\nHost: weir\r\nX-Api-Key: {KEY}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(Answer(answer))
}

pub(crate) fn search(web: SocketAddr, words: &str) -> io::Result<Answer> {
    let words = words.replace(' ', "+");
    ask(web, &format!("/torznab/api?t=search&q={words}"))
}

/// What the clients of all nodes saw.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    pub(crate) answered: usize,
    /// 429 with a time.
    pub(crate) later: usize,
    /// Requests that were under way when their node was killed.
    pub(crate) cut_off: usize,
    pub(crate) slowest: Duration,
    pub(crate) errors: Vec<String>,
}

impl Replies {
    fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.later += other.later;
        self.cut_off += other.cut_off;
        self.slowest = self.slowest.max(other.slowest);
        self.errors.extend(other.errors);
    }
}

/// Clients at work.
pub(crate) struct Clients {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Replies>>,
}

impl Clients {
    /// So many clients search at each node, each of them one thing after the other.
    pub(crate) fn start(doors: &[Arc<Door>], each: usize, began: Instant) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let mut threads = Vec::new();
        for (node, door) in doors.iter().enumerate() {
            for number in 0..each {
                let client = Client {
                    name: format!("n{node} c{number}"),
                    door: door.clone(),
                    stop: stop.clone(),
                    began,
                };
                threads.push(thread::spawn(move || client.run()));
            }
        }
        Self { stop, threads }
    }

    /// Ends them, and says what they saw.
    pub(crate) fn end(self) -> Replies {
        self.stop.store(true, Ordering::SeqCst);
        let mut all = Replies::default();
        for thread in self.threads {
            all.add(thread.join().unwrap());
        }
        println!(
            "clients: {} answered, {} told to come later, {} cut off with their node, slowest {:?}",
            all.answered, all.later, all.cut_off, all.slowest
        );
        assert!(all.errors.is_empty(), "clients saw {:#?}", all.errors);
        assert!(all.answered > 0, "nobody was answered");
        all
    }
}

struct Client {
    name: String,
    door: Arc<Door>,
    stop: Arc<AtomicBool>,
    began: Instant,
}

impl Client {
    fn run(&self) -> Replies {
        let mut replies = Replies::default();
        for number in 0_usize.. {
            if self.stop.load(Ordering::SeqCst) {
                break;
            }
            let turns = self.door.turns();
            let Some(web) = self.door.web() else {
                pass(Duration::from_millis(100));
                continue;
            };
            // Now and then all clients of all nodes ask the same.
            let words = match number % 8 {
                7 => format!("common {}", self.began.elapsed().as_secs() / 10),
                _ => format!("{} {number}", self.name),
            };
            let asked = Instant::now();
            match search(web, &words) {
                Ok(answer) if answer.is_no_error() => {
                    replies.slowest = replies.slowest.max(asked.elapsed());
                    if answer.status() == 200 {
                        replies.answered += 1;
                    } else {
                        replies.later += 1;
                        pass(TOO_SOON);
                    }
                }
                _ if self.door.turns() != turns => replies.cut_off += 1,
                Ok(answer) => self.note(&mut replies, &words, asked, answer.text()),
                Err(error) => self.note(&mut replies, &words, asked, &error.to_string()),
            }
            pass(Duration::from_millis(50));
        }
        replies
    }

    fn note(&self, replies: &mut Replies, words: &str, asked: Instant, what: &str) {
        let at = asked.saturating_duration_since(self.began);
        let took = asked.elapsed();
        let what: String = what.chars().take(600).collect();
        println!("error at {at:?} after {took:?} for {words:?}: {what}");
        if replies.errors.len() < 10 {
            replies.errors.push(format!("{at:?} {words:?}: {what}"));
        }
        pass(secs(1));
    }
}
