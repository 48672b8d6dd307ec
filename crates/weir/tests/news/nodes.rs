//! Several built Weirs on one Redis, in front of the same two INNs: a number means the same article on all of them whatever
//! becomes of the store or of a node, an account's connections are shared out, and newsreaders' keys hold everywhere.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_testkit::inn::Options;
use weir_testkit::redis::Redis;

use super::articles::{Posted, id, series};
use super::talk::Talk;
use super::weir::{self, Weir};
use super::{ALWAYS_CHECK, Shop, articles_of, wait, wait_or};

const NAME: &str = "misc.test";
const SECRET: &str = "a secret that all nodes of this test share";

/// Two servers, a store, and nodes that share both. Dropped in this order.
struct Site {
    nodes: Vec<One>,
    shops: [Shop; 2],
    redis: Redis,
    runtime: Runtime,
    /// Everything that any node has ever said of numbers.
    said: Ledger,
    /// More of each server's entry.
    entry: &'static str,
}

struct One {
    weir: Weir,
    directory: TempDir,
}

/// Who has which number. A number means one article, and an article has one number, for ever and on all nodes.
#[derive(Default)]
struct Ledger {
    ids: BTreeMap<u64, String>,
    numbers: BTreeMap<String, u64>,
}

impl Ledger {
    fn hear(&mut self, who: usize, number: u64, id: &str) {
        let known = self.ids.entry(number).or_insert_with(|| id.to_owned());
        assert_eq!(known, id, "node {who}: number {number}");
        let known = self.numbers.entry(id.to_owned()).or_insert(number);
        assert_eq!(*known, number, "node {who}: {id}");
    }
}

impl Site {
    fn new(stocks: [&[Posted]; 2], entry: &'static str) -> Self {
        let runtime = Runtime::new().unwrap();
        let [one, two] = stocks.map(|stock| Shop::open(Options::with(&[NAME]), stock));
        let (one, two, redis) = runtime.block_on(async { tokio::join!(one, two, Redis::start()) });
        Self {
            nodes: Vec::new(),
            shops: [one, two],
            redis: redis.unwrap(),
            runtime,
            said: Ledger::default(),
            entry,
        }
    }

    /// A new node, which asks these servers, the first one first.
    fn join(&mut self, servers: &[usize]) {
        let number = self.nodes.len();
        let directory = TempDir::new().unwrap();
        let entries = servers.iter().zip(1..).map(|(which, priority)| {
            let port = self.shops[*which].tap.address().port();
            let entry = self.entry;
            // The names differ from node to node: what counts is whom they call.
            format!(
                "{{ name: s{number}-{which}, host: 127.0.0.1, port: {port}, tls: off, priority: {priority}{entry} }}"
            )
        });
        let entries: Vec<String> = entries.collect();
        weir::configure(directory.path(), &entries, ALWAYS_CHECK);
        let file = directory.path().join("weir.yaml");
        let mut file = OpenOptions::new().append(true).open(file).unwrap();
        let url = self.redis.url();
        writeln!(
            file,
            "store: {{ redis: '{url}', secret: '{SECRET}' }}\nnode: {{ name: node-{number} }}"
        )
        .unwrap();
        let weir = Weir::start(directory.path(), &[]);
        self.nodes.push(One { weir, directory });
        self.together(number);
    }

    fn restart(&mut self, number: usize) {
        let one = &mut self.nodes[number];
        one.weir = Weir::start(one.directory.path(), &[]);
    }

    fn together(&self, number: usize) {
        wait("the node is together with the others", || {
            self.is_together(number).then_some(())
        });
    }

    fn is_together(&self, number: usize) -> bool {
        let nodes = self.nodes[number].weir.json("/api/v1/nodes");
        nodes["standing"]["state"] == "together"
    }

    fn post(&self, servers: &[usize], name: &str, minute: u32) {
        for server in servers {
            let posted = Posted::plain(name, NAME, minute, &[]);
            let fed = self.shops[*server].inn.feed([posted.bytes]);
            self.runtime.block_on(fed).unwrap();
        }
    }

    /// The numbers that a node tells a newsreader now.
    fn numbers(&mut self, node: usize) -> BTreeMap<u64, String> {
        let numbers = numbers(&self.nodes[node].weir);
        for (number, id) in &numbers {
            self.said.hear(node, *number, id);
        }
        numbers
    }

    /// Looks at a node until it numbers these articles.
    fn until(&mut self, node: usize, names: &[&str]) -> BTreeMap<u64, String> {
        let mut last = BTreeMap::new();
        let found = wait_or(|| {
            last = self.numbers(node);
            lists(&last, names).then(|| last.clone())
        });
        found.unwrap_or_else(|| {
            let log = self.nodes[node].weir.log();
            panic!("node {node} never numbers {names:?}, only {last:?}\n{log}")
        })
    }

    /// Looks at all nodes until they number these articles, and all of them the same.
    fn agree(&mut self, names: &[&str]) -> BTreeMap<u64, String> {
        let count = self.nodes.len();
        let mut last = Vec::new();
        let found = wait_or(|| {
            last = (0..count).map(|node| self.numbers(node)).collect();
            let first = last[0].clone();
            let same = last.iter().all(|numbers| *numbers == first);
            (same && lists(&first, names)).then_some(first)
        });
        found.unwrap_or_else(|| {
            let logs: Vec<String> = self.nodes.iter().map(|one| one.weir.log()).collect();
            let logs = logs.join("\n\n");
            panic!("they never agree on {names:?}: {last:?}\n{logs}")
        })
    }
}

fn lists(numbers: &BTreeMap<u64, String>, names: &[&str]) -> bool {
    names.iter().all(|name| {
        let id = format!("<{}>", id(name));
        numbers.values().any(|listed| *listed == id)
    })
}

/// What a newsreader sees that selects the newsgroup and asks for everything in it.
fn numbers(weir: &Weir) -> BTreeMap<u64, String> {
    let mut talk = Talk::with(weir.nntp());
    let group = talk.say(&format!("GROUP {NAME}"));
    assert_eq!(group.code(), "211", "{group:?}");
    let marks: Vec<u64> = group
        .line
        .split(' ')
        .skip(1)
        .take(3)
        .map(|word| word.parse().unwrap())
        .collect();
    let over = talk.say(&format!("OVER {}-", marks[1]));
    if over.code() == "423" {
        return BTreeMap::new();
    }
    assert_eq!(over.code(), "224", "{over:?}");
    let mut numbers = BTreeMap::new();
    for line in over.block.unwrap() {
        let mut fields = line.split('\t');
        let number: u64 = fields.next().unwrap().parse().unwrap();
        let id = fields.nth(3).unwrap().to_owned();
        // The same by the article itself.
        if number.is_multiple_of(7) {
            let stat = talk.say(&format!("STAT {number}"));
            assert_eq!(stat.line, format!("223 {number} {id}"));
        }
        assert!(numbers.insert(number, id).is_none(), "{line}");
    }
    numbers
}

/// Whether a node shows an article on its pages.
fn shows(weir: &Weir, count: u64) -> bool {
    articles_of(&weir.json(&format!("/api/v1/news/groups/{NAME}"))) == count
}

#[test]
fn an_article_has_the_same_number_on_all_nodes_whoever_reads_what_first() {
    let one = series(NAME, 20);
    // Some of them, and others, under numbers of its own.
    let mut two: Vec<Posted> = one.iter().step_by(3).cloned().collect();
    two.extend((0..6).map(|number| {
        let name = format!("hill{number}");
        Posted::plain(&name, NAME, 100 + number, &[])
    }));
    let mut site = Site::new([&one, &two], "");
    site.join(&[0, 1]);
    site.join(&[1, 0]);
    // Neither has seen it, and both are asked at once.
    thread::scope(|scope| {
        for node in &site.nodes {
            scope.spawn(|| numbers(&node.weir));
        }
    });
    let first = site.agree(&[]);
    assert!(first.len() >= 20, "{first:?}");
    let mut new: Vec<String> = Vec::new();
    for round in 0..4 {
        for (place, servers) in [&[0][..], &[1], &[0, 1], &[1, 0]].iter().enumerate() {
            let name = format!("r{round}-{place}");
            site.post(servers, &name, 200 + round);
            new.push(name);
            // While they arrive, now at one node and now at the other.
            if place % 2 == round as usize % 2 {
                site.numbers(round as usize % 2);
            }
        }
        thread::scope(|scope| {
            for node in &site.nodes {
                scope.spawn(|| numbers(&node.weir));
            }
        });
    }
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    let agreed = site.agree(&new);
    assert_eq!(agreed.len(), first.len() + new.len());
    // One that comes now reads the same, as far as its only server has it.
    site.join(&[1]);
    let there = new.iter().copied().filter(|name| !name.ends_with("-0"));
    let there: Vec<&str> = there.collect();
    let late = site.until(2, &there);
    let is_same = |(number, id): (&u64, &String)| agreed.get(number) == Some(id);
    assert!(late.iter().all(is_same), "{late:?}, not {agreed:?}");
}

#[test]
fn numbers_hold_over_restarts_while_the_store_is_away_and_after_it_was_emptied() {
    let stock = series(NAME, 12);
    let mut site = Site::new([&stock, &[]], "");
    site.join(&[0, 1]);
    site.join(&[1, 0]);
    assert_eq!(site.agree(&["t1", "t12"]).len(), 12);

    // A node is killed, and hears of what came meanwhile.
    site.nodes[1].weir.kill();
    site.post(&[1], "while-one-was-away", 100);
    site.until(0, &["while-one-was-away"]);
    site.restart(1);
    let before = site.agree(&["while-one-was-away"]);

    site.redis.freeze();
    for number in 0..2 {
        wait("the node is alone", || {
            (!site.is_together(number)).then_some(())
        });
    }
    site.post(&[0], "alone0", 110);
    site.post(&[1], "alone1", 111);
    for node in 0..2 {
        wait("they are on the page", || {
            shows(&site.nodes[node].weir, 15).then_some(())
        });
        assert_eq!(site.numbers(node), before, "those are told, and no others");
        let mut talk = Talk::with(site.nodes[node].weir.nntp());
        let article = talk.say(&format!("ARTICLE <{}>", id("alone0")));
        assert_eq!(article.code(), "220", "by its ID: {article:?}");
    }
    // One is started while there is no store.
    site.nodes[1].weir.stop();
    site.restart(1);
    assert_eq!(site.numbers(1), before);
    wait("they are on the page", || {
        shows(&site.nodes[1].weir, 15).then_some(())
    });
    assert_eq!(site.numbers(1), before);
    site.redis.thaw();
    let before = site.agree(&["alone0", "alone1"]);

    // The store loses everything, and the node that asks first knows less than the other.
    site.post(&[0], "before-the-loss", 120);
    site.until(0, &["before-the-loss"]);
    site.redis.kill();
    site.redis.forget().unwrap();
    site.post(&[1], "during-the-loss", 121);
    site.runtime.block_on(site.redis.run()).unwrap();
    let after = site.agree(&["before-the-loss", "during-the-loss"]);
    assert_eq!(after.len(), 17);
    assert!(
        before
            .iter()
            .all(|(number, id)| after.get(number) == Some(id))
    );
    site.join(&[0, 1]);
    // The second server may answer it before the first.
    assert_eq!(site.agree(&["before-the-loss", "during-the-loss"]), after);
}

#[test]
fn the_connections_of_an_account_are_never_more_than_it_has_over_all_nodes() {
    let stock = series(NAME, 240);
    let mut site = Site::new([&stock, &[]], ", connections: 4");
    for _ in 0..3 {
        site.join(&[0]);
    }
    // Far enough that one connection is not enough.
    site.shops[0].tap.round_trip(Duration::from_millis(20));
    let most = |site: &Site| site.shops[0].tap.most_open();
    let read = |site: &Site, nodes: &[usize], from: u32| {
        let count = AtomicBool::new(false);
        thread::scope(|scope| {
            for node in nodes {
                for reader in 0..8_u32 {
                    let ask = site.nodes[*node].weir.asker();
                    let count = &count;
                    scope.spawn(move || {
                        for number in 0..5 {
                            let name = format!("t{}", from + reader * 5 + number);
                            let (status, _) = ask(&format!("/api/v1/news/articles/{}", id(&name)));
                            // 503: all of them were in use elsewhere, which is true.
                            assert!(matches!(status, 200 | 503), "{status}");
                            count.fetch_or(status == 200, Ordering::Relaxed);
                        }
                    });
                }
            }
        });
        assert!(count.into_inner(), "articles were read");
    };
    read(&site, &[0, 1, 2], 1);
    let in_peace = most(&site);
    assert!((2..=4).contains(&in_peace), "{in_peace}");

    site.redis.freeze();
    for number in 0..3 {
        wait("the node is alone", || {
            (!site.is_together(number)).then_some(())
        });
    }
    read(&site, &[0, 1, 2], 41);
    assert!(most(&site) <= 4, "{}", most(&site));
    site.redis.thaw();
    (0..3).for_each(|number| site.together(number));
    read(&site, &[0, 1, 2], 81);
    assert!(most(&site) <= 4, "{}", most(&site));

    // Those of a node that was killed are free again, and used.
    site.nodes[0].weir.kill();
    read(&site, &[1, 2], 121);
    read(&site, &[1], 161);
    assert!(most(&site) <= 4, "{}", most(&site));
}

#[test]
fn a_newsreaders_key_made_on_one_node_opens_another_and_a_revoked_one_does_not() {
    let mut site = Site::new([&series(NAME, 3), &[]], "");
    site.join(&[0]);
    site.join(&[0]);
    let [one, two] = [&site.nodes[0].weir, &site.nodes[1].weir];
    let (number, key) = make_key(one, "tin", "post");
    // At once: the other node looks before it refuses.
    let mut reader = Talk::with(two.nntp());
    assert_eq!(reader.say("POST").code(), "480");
    sign_in(&mut reader, &key, "281");
    assert_eq!(reader.say(&format!("GROUP {NAME}")).code(), "211");
    // One that may only read does that.
    let (_, reading) = make_key(two, "slrn", "read");
    let mut other = Talk::with(one.nntp());
    sign_in(&mut other, &reading, "281");
    assert_eq!(other.say("POST").code(), "440");

    let (status, ..) = one.ask(&format!("DELETE /api/v1/keys/{number}"), "");
    assert_eq!(status, 200);
    let refused = wait("the other node hears of it", || {
        let mut reader = Talk::with(two.nntp());
        assert_eq!(reader.say("AUTHINFO USER me").code(), "381");
        let said = reader.say(&format!("AUTHINFO PASS {key}"));
        (said.code() != "281").then_some(said)
    });
    assert_eq!(refused.code(), "481", "{refused:?}");
    // And who is connected with it is told so.
    let bye = reader.line();
    assert!(bye.starts_with("400 "), "{bye}");
    assert_eq!(other.say("DATE").code(), "111", "the other key holds");

    // Known keys hold while the store is away, revoked ones stay revoked.
    site.redis.freeze();
    for node in 0..2 {
        wait("the node is alone", || {
            (!site.is_together(node)).then_some(())
        });
    }
    for one in &site.nodes {
        let mut talk = Talk::with(one.weir.nntp());
        sign_in(&mut talk, &reading, "281");
        let mut talk = Talk::with(one.weir.nntp());
        sign_in(&mut talk, &key, "481");
    }
}

fn sign_in(talk: &mut Talk, key: &str, code: &str) {
    assert_eq!(talk.say("AUTHINFO USER me").code(), "381");
    let said = talk.say(&format!("AUTHINFO PASS {key}"));
    assert_eq!(said.code(), code, "{said:?}");
}

/// Makes a key by the API: its number and itself.
fn make_key(weir: &Weir, name: &str, right: &str) -> (i64, String) {
    let body = format!("{{\"name\":\"{name}\",\"right\":\"{right}\"}}");
    let length = body.len();
    let headers =
        format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}");
    let (status, _, answer) = weir.ask("POST /api/v1/keys", &headers);
    assert_eq!(status, 201);
    let made: serde_json::Value = serde_json::from_slice(&answer).unwrap();
    (made["id"].as_i64().unwrap(), super::text(&made["key"]))
}
