//! Running Weirs, alone or on one store, and what they and the store have used.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::time::Instant;
use weir_testkit::redis::Redis;

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Pages are asked for with it.
const KEY: &str = "the-key-of-a-measurement";

/// One Weir in an empty directory; killed when dropped.
pub(crate) struct Node {
    child: Child,
    pub(crate) tracker: SocketAddr,
    pub(crate) web: SocketAddr,
    _dir: TempDir,
}

impl Node {
    fn start(weir: &Path, number: usize, config: &str) -> Self {
        let dir = TempDir::with_prefix("weir-nodes-").unwrap();
        let (tracker, web) = (free_address(), free_address());
        let config = format!(
            "log: {{ level: warn }}\nweb: {{ api_key: {KEY} }}\nnode: {{ name: node-{number} }}\n{config}\n"
        );
        fs::write(dir.path().join("weir.yaml"), config).unwrap();
        let mut command = Command::new(weir);
        command
            .args(["serve", "--data", "data", "--web", &web.to_string()])
            .args(["-l", &tracker.to_string(), "-u", &tracker.to_string()])
            .current_dir(dir.path())
            .env_clear()
            .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let node = Self {
            child: command.spawn().unwrap(),
            tracker,
            web,
            _dir: dir,
        };
        until("Weir is ready", || {
            let answer = TcpStream::connect(web).map(|_| node.ask("/readyz"));
            answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
        });
        node
    }

    /// What a page says, without its head.
    pub(crate) fn get(&self, path: &str) -> String {
        let answer = self.ask(path);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        body.to_owned()
    }

    fn ask(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.web).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: {KEY}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// A number of `/stats`.
    pub(crate) fn stat(&self, pointer: &str) -> u64 {
        let stats: Value = serde_json::from_str(&self.get("/stats?format=json")).unwrap();
        let found = stats.pointer(pointer).and_then(Value::as_u64);
        found.unwrap_or_else(|| panic!("no {pointer} in {stats}"))
    }

    fn metric(&self, name: &str) -> Option<f64> {
        let text = self.get("/metrics");
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.parse().ok()
    }

    /// Processor time so far, in seconds.
    pub(crate) fn processor(&self) -> f64 {
        processor(self.child.id())
    }

    /// Resident memory in MiB.
    pub(crate) fn memory(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes: f64 = line
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .parse()
            .unwrap();
        kilobytes / 1024.0
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Several Weirs; with a store, or each by itself.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    pub(crate) redis: Option<Redis>,
}

impl Cluster {
    /// Starts `count` of them; with a store, they are together when this returns.
    pub(crate) fn start(weir: &Path, count: usize, shared: bool, config: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let redis = shared.then(|| runtime.block_on(Redis::start()).unwrap());
        let store = redis.as_ref().map_or_else(String::new, |redis| {
            let url = redis.url();
            format!("store: {{ redis: '{url}', secret: 'a secret of this measurement' }}\n")
        });
        let config = format!("{store}{config}");
        let nodes: Vec<Node> = (0..count)
            .map(|number| Node::start(weir, number, &config))
            .collect();
        for node in nodes.iter().filter(|_| shared) {
            until("all are together", || {
                let standing: Value = serde_json::from_str(&node.get("/api/v1/nodes")).unwrap();
                let others = standing["nodes"].as_array().map_or(0, Vec::len);
                node.metric("weir_store_up") == Some(1.0) && others == count
            });
        }
        Self { nodes, redis }
    }

    /// Processor time of all nodes so far, in seconds.
    pub(crate) fn processor(&self) -> f64 {
        self.nodes.iter().map(Node::processor).sum()
    }

    /// Waits until each node has taken in what the others had told.
    pub(crate) fn settle(&self) {
        until("everything was read", || self.is_settled());
    }

    /// Whether each node has taken in what the others had told. The pages that say so cost the nodes some processor time.
    pub(crate) fn is_settled(&self) -> bool {
        if self.redis.is_none() {
            return true;
        }
        let count = |what: &str| -> Vec<u64> {
            let nodes = self.nodes.iter();
            let what = format!("/swarm_events/{what}");
            nodes.map(|node| node.stat(&what)).collect()
        };
        let written = count("written");
        let all: u64 = written.iter().sum();
        let read = count("read");
        let ignored = count("ignored");
        let mut each = written.iter().zip(&read).zip(&ignored);
        each.all(|((own, read), ignored)| read + ignored + own >= all)
    }

    /// What the store has done so far.
    pub(crate) fn store(&self) -> StoreUse {
        let Some(redis) = &self.redis else {
            return StoreUse::default();
        };
        let info = redis.ask(&["INFO", "everything"]).unwrap();
        let number = |name: &str| {
            let mut lines = info.lines();
            let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|line| line.trim().parse::<f64>().ok())
                .unwrap()
        };
        let scripts = info.lines().filter_map(|line| {
            let rest = line.strip_prefix("cmdstat_evalsha:")?;
            rest.split(',').find_map(|part| part.strip_prefix("calls="))
        });
        StoreUse {
            scripts: scripts.map(|calls| calls.parse::<f64>().unwrap()).sum(),
            commands: number("total_commands_processed"),
            bytes_in: number("total_net_input_bytes"),
            bytes_out: number("total_net_output_bytes"),
            processor: number("used_cpu_sys") + number("used_cpu_user"),
            memory: number("used_memory"),
            resident: number("used_memory_rss"),
        }
    }
}

/// What a store has used: counts since its start, and its memory now in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoreUse {
    /// Scripts that were called: Weir's questions.
    pub(crate) scripts: f64,
    /// All commands, those within scripts too.
    pub(crate) commands: f64,
    pub(crate) bytes_in: f64,
    pub(crate) bytes_out: f64,
    /// Seconds.
    pub(crate) processor: f64,
    pub(crate) memory: f64,
    pub(crate) resident: f64,
}

impl StoreUse {
    /// What was used since, in words, for each of so many.
    pub(crate) fn since(&self, before: &Self, each: f64) -> String {
        let per = |now: f64, before: f64| (now - before) / each;
        format!(
            "scripts {:.5} commands {:.5} bytes_in {:.1} bytes_out {:.1} store_cpu_us {:.3}",
            per(self.scripts, before.scripts),
            per(self.commands, before.commands),
            per(self.bytes_in, before.bytes_in),
            per(self.bytes_out, before.bytes_out),
            1e6 * per(self.processor, before.processor),
        )
    }
}

fn processor(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // Behind the name, which may have spaces: the 12th and 13th, in hundredths of a second.
    let (_, fields) = text.rsplit_once(')').unwrap();
    let fields = fields.split_whitespace().skip(11).take(2);
    fields
        .map(|field| field.parse::<f64>().unwrap() / 100.0)
        .sum()
}

/// Waits for something that other programs do.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < PATIENCE,
            "it never came to pass that {what}"
        );
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

/// An address that nobody listens at, as far as that can be known.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}

/// The load average of the last minute.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap();
    text.split(' ').next().unwrap().to_owned()
}
