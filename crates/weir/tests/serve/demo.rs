//! `weir demo`: within a moment a live page, a search that works and newsgroups to read, and nothing left behind.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::{PATIENCE, Weir, ask};

pub(super) struct Demo {
    weir: Weir,
    pub(super) web: SocketAddr,
    link: String,
    pub(super) key: String,
    /// Where it was started.
    home: TempDir,
}

impl Demo {
    pub(super) fn start() -> Self {
        Self::start_by(&mut Command::new(env!("CARGO_BIN_EXE_weir")))
    }

    /// The same, by a command that runs the program with its arguments.
    fn start_by(command: &mut Command) -> Self {
        let home = TempDir::new().unwrap();
        command.arg("demo").current_dir(home.path()).env_clear();
        // Programs that prepare the ground for it are found; what is set for a real one is not for this one.
        command.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
        command.env("WEIR_WEB__LISTEN", "nonsense");
        let mut weir = Weir::run(command).unwrap();
        weir.line("Demo: upstreams and clients are made up.");
        let url = weir.line("http://");
        let (_, url) = url.split_once("http://").unwrap();
        let (address, link) = url.split_at(url.find('/').unwrap());
        let key = weir.line("key: ").trim_start_matches("  key: ").to_owned();
        Self {
            web: address.parse().unwrap(),
            link: link.to_owned(),
            key,
            weir,
            home,
        }
    }

    /// A page, as a browser gets it.
    fn page(&self, path: &str, cookie: &str) -> String {
        let mut stream = TcpStream::connect(self.web).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n",
            self.web
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    }

    fn json(&self, path: &str) -> Value {
        let answer = ask(self.web, &format!("GET {path}"), &self.key);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(body).unwrap()
    }

    /// Waits until the answer is as it should be.
    #[expect(clippy::disallowed_methods, reason = "the demo keeps its own time")]
    pub(super) fn until(&self, what: &str, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let answer = self.json(path);
            if is_so(&answer) {
                return answer;
            }
            assert!(start.elapsed() < PATIENCE, "never {what}: {answer:#}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Where demos of a process keep their state.
fn places(pid: u32) -> [PathBuf; 2] {
    let name = format!("weir-demo-{pid}");
    [
        Path::new("/dev/shm").join(&name),
        std::env::temp_dir().join(name),
    ]
}

/// Follows links to each kind of page: none of them sends anybody to the file of the demo, which goes with it.
fn crawl(demo: &Demo) {
    let (mut seen, mut next) = (BTreeSet::new(), vec!["/".to_owned()]);
    while let Some(path) = next.pop() {
        if !seen.insert(path.clone()) || seen.len() > 200 {
            continue;
        }
        let page = ask(demo.web, &format!("GET {path}"), &demo.key);
        if !page.contains("content-type: text/html") {
            continue;
        }
        // What differs from a file is no advice, nor is where a value came from.
        if path == "/settings/reload" {
            continue;
        }
        for advice in ["weir.yaml</code>", "weir.yaml.", "<code></code>"] {
            assert!(!page.contains(advice), "{path} names {advice}: {page}");
        }
        let links = page.split("<a ").skip(1).filter_map(|tag| {
            let (_, rest) = tag.split('>').next()?.split_once("href=\"/")?;
            let path = rest.split(['"', '#', '?']).next()?;
            Some(format!("/{path}"))
        });
        next.extend(links);
    }
    for path in ["/connect", "/settings", "/settings/access", "/upstreams"] {
        assert!(seen.contains(path), "{path} is not among {seen:?}");
    }
}

#[test]
fn a_demo_shows_live_and_true_pages_and_leaves_nothing_behind() {
    let demo = Demo::start();
    let pid = demo.weir.child.id();
    assert!(places(pid).iter().any(|place| place.join("data").exists()));

    // The page says what it is, before and after signing in.
    let answer = ask(demo.web, &format!("GET {}", demo.link), "");
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    let (_, cookie) = answer.split_once("set-cookie: ").unwrap();
    let cookie = cookie.split(';').next().unwrap();
    for (path, cookie) in [("/sign-in", ""), ("/", cookie), ("/news", cookie)] {
        let page = demo.page(path, cookie);
        assert!(page.starts_with("HTTP/1.1 200"), "{path}: {page}");
        assert!(
            page.contains("Demo: upstreams and clients are made up."),
            "{page}"
        );
        assert!(page.contains("<title>Demo: "), "{page}");
        assert!(!page.contains("First steps"), "{page}");
    }

    // One of each kind that fails, one that asked for a pause, one whose quota is used up.
    let needs = |status: &Value, names: &[&str]| {
        let attention = status["attention"].as_array().unwrap();
        let has = |name: &&str| attention.iter().any(|one| one["name"] == **name);
        names.iter().all(has)
    };
    let wanted = [
        "dry-bed",
        "floodgate",
        "lantern",
        "harbor",
        "orchard",
        "marsh",
    ];
    let status = demo.until(
        "is everything as it should be",
        "/api/v1/status",
        |status| needs(status, &wanted),
    );
    assert_eq!(status["demo"], true);
    for good in [
        "brook",
        "canal",
        "slow-bend",
        "meadow",
        "beacon",
        "quarry",
        "springs",
        "estuary",
    ] {
        assert!(!needs(&status, &[good]), "{good}: {status:#}");
    }
    demo.until("has every front made calls", "/api/v1/status", |status| {
        let fronts = status["fronts"].as_array().unwrap().iter();
        let mut serving = fronts.filter(|front| front["name"] != "notify");
        serving.all(|front| front["counters"]["sent"].as_u64() > Some(0))
    });

    // Programs are told as well, and nobody is sent to a file that goes with it.
    assert_eq!(demo.json("/stats?format=json")["demo"], true);
    assert!(ask(demo.web, "GET /stats", &demo.key).contains("\ndemo 1\n"));
    assert!(ask(demo.web, "GET /metrics", &demo.key).contains("\nweir_demo 1\n"));
    let settings = ask(demo.web, "GET /settings", &demo.key);
    assert!(
        settings.contains("These values belong to the demo"),
        "{settings}"
    );
    assert!(!settings.contains("Edit that file"), "{settings}");
    let own = demo.json("/api/v1/upstreams/search/meadow/entry");
    let said = own["sentence"].as_str().unwrap();
    assert!(said.starts_with("This entry is part of the demo"), "{said}");

    // A search that works.
    let feed = ask(
        demo.web,
        "GET /torznab/api?t=search&q=example+linux+13.3",
        &demo.key,
    );
    assert!(
        feed.contains("<title>Example Linux 13.3 amd64 netinst</title>"),
        "{feed}"
    );

    // What programs show of it is marked too.
    for (path, mark) in [
        ("/torznab/api?t=caps", r#"title="Weir (demo): "#),
        ("/newznab/api?t=caps", r#"title="Weir (demo): "#),
        (
            "/torznab/meadow/api?t=caps",
            r#"title="Weir (demo): meadow"#,
        ),
        ("/torznab/api?t=search", "<title>Weir (demo): "),
        ("/torznab/api?t=search", "<description>Demo: upstreams"),
        ("/torznab/api?t=search&o=json", r#""title":"Weir (demo): "#),
        ("/torznab/api?t=indexers", "<title>meadow (demo)</title>"),
        (
            "/prowlarr/api/v1/system/status",
            r#""instanceName":"Weir (demo)""#,
        ),
        (
            "/prowlarr/api/v1/indexer",
            r#""description":"Demo: upstreams"#,
        ),
        (
            "/jackett/api/v2.0/indexers",
            r#""description":"Demo: upstreams"#,
        ),
    ] {
        let answer = ask(demo.web, &format!("GET {path}"), &demo.key);
        assert!(answer.contains(mark), "{path}: {answer}");
    }
    crawl(&demo);
    let connect = ask(demo.web, "GET /connect", &demo.key);
    let (_, news) = connect.split_once(r#"value="nntp://"#).unwrap();
    let mut newsreader = TcpStream::connect(news.split('"').next().unwrap()).unwrap();
    newsreader.set_read_timeout(Some(PATIENCE)).unwrap();
    newsreader.write_all(b"QUIT\r\n").unwrap();
    let mut greeting = String::new();
    newsreader.read_to_string(&mut greeting).unwrap();
    assert!(
        greeting.contains("(demo: all of it is made up)"),
        "{greeting}"
    );

    // Newsgroups to read.
    demo.until("are there newsgroups", "/api/v1/news/groups", |groups| {
        groups.to_string().contains("rivers.weirs")
    });
    demo.until(
        "is there a thread",
        "/api/v1/news/groups/rivers.weirs",
        |group| {
            group
                .to_string()
                .contains("Broad-crested or sharp-crested?")
        },
    );
    for feed in ["atom.xml", "sill-1@demo.example/atom.xml"] {
        let line = format!("GET /news/rivers.weirs/{feed}");
        let feed = ask(demo.web, &line, &demo.key);
        assert!(feed.contains("<title>Demo: "), "{line}: {feed}");
    }
    let article = demo.json("/api/v1/news/articles/sill-1@demo.example");
    assert!(article.to_string().contains("the old mill"), "{article}");
    let swarms = demo.json("/api/v1/swarms");
    assert!(swarms.to_string().contains("\"info_hash\""), "{swarms}");
    // Clients are programs that people know.
    let connect = ask(demo.web, "GET /connect", &demo.key);
    for program in ["qBittorrent", "Transmission"] {
        let heard = format!("Weir heard from {program} ");
        assert!(connect.contains(&heard), "no {heard}in {connect}");
    }

    demo.weir.signal("TERM");
    let (status, text) = demo.weir.end();
    assert!(status.success(), "{text}");
    assert!(
        text.contains("WARN") && text.contains("clients are made up"),
        "the log says it too: {text}"
    );
    for place in places(pid) {
        assert!(!place.exists(), "{} is still there", place.display());
    }
    assert_eq!(demo.home.path().read_dir().unwrap().count(), 0);
}

/// A line of a table of counters, by its name: those of IPv4 have names in one line and numbers in the next.
fn counter(table: &str, name: &str) -> u64 {
    let rows: Vec<Vec<&str>> = (table.lines())
        .map(|line| line.split_whitespace().collect())
        .collect();
    let found = rows.iter().enumerate().find_map(|(at, row)| {
        let place = row.iter().position(|word| *word == name)?;
        let number = match row.first() {
            Some(&"Ip:") => rows.get(at + 1)?.get(place)?,
            _ => row.get(place + 1)?,
        };
        number.parse().ok()
    });
    found.unwrap_or_else(|| panic!("no {name} in {table}"))
}

/// On a machine that has itself and nothing else, all of it works, and nothing was ever sent anywhere else.
#[test]
fn a_demo_needs_no_network_and_little_work_for_its_link() {
    let mut alone = Command::new("unshare");
    alone.args(["--map-root-user", "--net", "--", "sh", "-c"]);
    alone.arg("ip link set lo up && exec \"$@\"").arg("sh");
    let mut demo = Demo::start_by(alone.arg(env!("CARGO_BIN_EXE_weir")));
    let place = PathBuf::from(format!("/proc/{}", demo.weir.child.id()));
    let read = |name: &str| std::fs::read_to_string(place.join(name)).unwrap();
    // How long that takes is the machine's; what it does until then is ours: hundredths of a second on a processor.
    let stat = read("stat");
    let (_, stat) = stat.rsplit_once(") ").unwrap();
    let work = stat.split(' ').skip(11).take(2);
    let work: u64 = work.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    assert!(work < 300, "{work} hundredths of a second of work");

    // Upstreams of all kinds answer.
    let mut waits: BTreeSet<&str> =
        ["brook", "canal", "meadow", "beacon", "quarry", "springs"].into();
    while !waits.is_empty() {
        let line = demo.weir.line("Untried => ");
        waits.retain(|name| !line.contains(&format!("Open upstream=\"{name}\"")));
    }
    assert_eq!(counter(&read("net/snmp"), "OutNoRoutes"), 0);
    assert_eq!(counter(&read("net/snmp6"), "Ip6OutNoRoutes"), 0);
    let mut sockets = 0;
    for table in ["net/tcp", "net/udp"] {
        for line in read(table).lines().skip(1) {
            let ends: Vec<&str> = line.split_whitespace().skip(1).take(2).collect();
            let here = |end: &str| end.starts_with("0100007F:") || end == "00000000:0000";
            // What asks trackers over UDP may hear from any address.
            let asks = table == "net/udp" && ends[0].starts_with("00000000:");
            assert!((here(ends[0]) || asks) && here(ends[1]), "{table}: {line}");
            sockets += 1;
        }
    }
    assert!(sockets > 5, "its own upstreams listen there");
    for table in ["net/tcp6", "net/udp6"] {
        assert_eq!(read(table).lines().count(), 1, "{table}: {}", read(table));
    }
    demo.weir.signal("TERM");
    assert!(demo.weir.end().0.success());
}
