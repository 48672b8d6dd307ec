//! A news server of the zoo as a client sees it, in memory and on loopback: each misbehaviour must look as it is meant to.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use flate2::write::{DeflateDecoder, DeflateEncoder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};
use weir_net::{Ground, Stream, System};
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{
    Article, Behaviour, EmptyRange, Greeting, Nature, News, Newsgroup, Rows, id,
};

const SECOND: Duration = Duration::from_secs(1);

fn home() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 119))
}

fn newsgroups() -> Vec<Newsgroup> {
    vec![
        Newsgroup::new("misc.test").with(3..=7),
        Newsgroup::new("misc.empty").flag("m"),
    ]
}

/// A raw client.
struct Client {
    stream: Box<dyn Stream>,
    /// What came after the greeting.
    text: Vec<u8>,
}

impl Client {
    /// Connects without waiting for a greeting.
    async fn connect(ground: &dyn Ground, to: SocketAddr) -> Self {
        let stream = ground.connect(to).await.expect("a connection");
        let text = Vec::new();
        Self { stream, text }
    }

    async fn send(&mut self, bytes: &str) {
        self.stream.write_all(bytes.as_bytes()).await.expect("sent");
    }

    /// What comes in a second, or until the server hangs up; the flag tells which.
    async fn rest(&mut self) -> (String, bool) {
        let end = Instant::now() + SECOND;
        let mut ended = false;
        while !ended {
            let read = tokio::time::timeout_at(end, self.stream.read_buf(&mut self.text));
            let Ok(read) = read.await else { break };
            ended = read.unwrap_or(0) == 0;
        }
        let text = std::mem::take(&mut self.text);
        (String::from_utf8_lossy(&text).into_owned(), ended)
    }

    /// Sends lines and reads until the server hangs up, as it does after `QUIT`.
    async fn whole(&mut self, lines: &str) -> String {
        self.send(lines).await;
        self.rest().await.0
    }

    /// Reads until the text ends so.
    async fn until(&mut self, end: &str) -> String {
        while !self.text.ends_with(end.as_bytes()) {
            let read = timeout(10 * SECOND, self.stream.read_buf(&mut self.text));
            let read = read.await.expect("in time").expect("readable");
            assert!(read > 0, "{}", String::from_utf8_lossy(&self.text));
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.text)).into_owned()
    }

    async fn ask(&mut self, line: &str, end: &str) -> String {
        self.send(&format!("{line}\r\n")).await;
        self.until(end).await
    }
}

/// One server in memory; time stands still unless somebody waits.
async fn server() -> (Network, News) {
    let network = Network::new();
    let news = News::start(Place::Memory(&network, home()), newsgroups());
    let news = news.await.expect("memory");
    (network, news)
}

async fn greeted(network: &Network) -> Client {
    let mut client = Client::connect(network, home()).await;
    client.until("\r\n").await;
    client
}

#[tokio::test(start_paused = true)]
async fn a_good_server_serves_a_reader() {
    let (network, news) = server().await;
    let mut client = Client::connect(&network, home()).await;
    let all = "CAPABILITIES\r\nmode reader\r\nGROUP misc.test\r\nLISTGROUP misc.test 4-5\r\nLIST COUNTS\r\n\
               LIST ACTIVE *.empty\r\nLIST NEWSGROUPS misc.t*\r\nLIST OVERVIEW.FMT\r\nOVER 3-4\r\nHDR Subject 7-\r\n\
               XHDR References 7\r\nSTAT\r\nNEXT\r\nLAST\r\nLAST\r\nHEAD <5@zoo.example>\r\nBODY 6\r\n\
               ARTICLE <x@y>\r\nARTICLE 99\r\nOVER 90-\r\nDATE\r\nNONSENSE\r\nQUIT\r\n";
    let article = "Body of article 6.\r\n..A line that begins with a dot.\r\n.\r\n";
    let expected = [
        "200 Zoo, posting allowed\r\n",
        "101 Capabilities\r\nVERSION 2\r\nIMPLEMENTATION Zoo\r\nREADER\r\nIHAVE\r\nOVER MSGID\r\nHDR\r\nPOST\r\n",
        "COMPRESS DEFLATE\r\nLIST ACTIVE NEWSGROUPS COUNTS ACTIVE.TIMES OVERVIEW.FMT\r\n.\r\n",
        "200 Zoo, posting allowed\r\n",
        "211 5 3 7 misc.test\r\n",
        "211 5 3 7 misc.test\r\n4\r\n5\r\n.\r\n",
        "215 List\r\nmisc.empty 0 1 0 m\r\nmisc.test 7 3 5 y\r\n.\r\n",
        "215 List\r\nmisc.empty 0000000000 0000000001 m\r\n.\r\n",
        "215 List\r\nmisc.test\tAbout misc.test\r\n.\r\n",
        "215 Fields\r\nSubject:\r\nFrom:\r\nDate:\r\nMessage-ID:\r\nReferences:\r\n:bytes\r\n:lines\r\nXref:full\r\n.\r\n",
        "224 Overview\r\n3\tSubject 3\tAuthor 3 <author3@example.com>\t01 Jan 2024 00:03:00 +0000\t<3@zoo.example>\t\t218\t2\tXref: zoo.example misc.test:3\r\n",
        "4\tSubject 4\tAuthor 4 <author4@example.com>\t01 Jan 2024 00:04:00 +0000\t<4@zoo.example>\t\t218\t2\tXref: zoo.example misc.test:4\r\n.\r\n",
        "225 Headers\r\n7 Subject 7\r\n.\r\n",
        "221 Headers\r\n7 (none)\r\n.\r\n",
        "223 3 <3@zoo.example>\r\n",
        "223 4 <4@zoo.example>\r\n",
        "223 3 <3@zoo.example>\r\n",
        "422 No previous article\r\n",
        "221 0 <5@zoo.example>\r\nNewsgroups: misc.test\r\nFrom: Author 5 <author5@example.com>\r\nSubject: Subject 5\r\nDate: 01 Jan 2024 00:05:00 +0000\r\nMessage-ID: <5@zoo.example>\r\n.\r\n",
        "222 6 <6@zoo.example>\r\n",
        article,
        "430 No such article\r\n",
        "423 No such number\r\n",
        "423 Nothing in that range\r\n",
        "111 20240201120000\r\n",
        "500 What?\r\n",
        "205 Bye\r\n",
    ];
    assert_eq!(client.whole(all).await, expected.concat());
    assert_eq!(news.commands().len(), 23);
    assert_eq!(news.count("GROUP misc.test"), 1);
    assert_eq!(news.count("MODE"), 1);
    let connections = news.connections();
    assert_eq!(connections.len(), 1);
    assert!(connections[0].closed.is_some());
    assert_eq!((news.open(), news.depth()), (0, 23));
}

/// What a server sends on its own, or after one command, and whether it hangs up then.
async fn meets(client: &mut Client, line: &str) -> (String, bool) {
    client.send(line).await;
    client.rest().await
}

#[tokio::test(start_paused = true)]
async fn greetings_are_as_bad_as_they_should_be() {
    let (network, news) = server().await;
    let table = [
        (Greeting::Good, "200 Zoo, posting allowed\r\n111 2", false),
        (
            Greeting::Late(SECOND / 2),
            "200 Zoo, posting allowed\r\n111 2",
            false,
        ),
        (Greeting::Never, "", false),
        (
            Greeting::smtp(),
            "220 mail.example ESMTP ready\r\n111 2",
            false,
        ),
        (Greeting::garbage(), "\u{16}\u{3}\u{1}\0", false),
        (
            Greeting::not_now(),
            "400 Service temporarily unavailable\r\n",
            true,
        ),
        (Greeting::refused(), "502 Access denied\r\n", true),
        (Greeting::Close, "", true),
    ];
    for (greeting, begins, ends) in table {
        news.be(|nature| nature.greeting = greeting.clone());
        let mut client = Client::connect(&network, home()).await;
        let (text, ended) = meets(&mut client, "DATE\r\n").await;
        assert!(text.starts_with(begins), "{greeting:?}: {text:?}");
        assert!(
            !begins.is_empty() || text.is_empty(),
            "{greeting:?}: {text:?}"
        );
        assert_eq!(ended, ends, "{greeting:?}");
    }
    news.be(|nature| {
        nature.greeting = Greeting::Good;
        nature.connections = Some(1);
    });
    let _first = greeted(&network).await;
    let mut second = Client::connect(&network, home()).await;
    let (text, ended) = second.rest().await;
    assert_eq!(
        (text.as_str(), ended),
        ("502 Too many connections\r\n", true)
    );
}

/// Behaviours, how the answer to `LISTGROUP misc.test` begins and ends, and whether the server hangs up.
fn table() -> Vec<(Behaviour, &'static str, &'static str, bool)> {
    use Behaviour as B;
    let line = |text: &str| text.to_owned();
    let (good, end) = ("211 5 3 7 misc.test\r\n3\r\n", "\r\n7\r\n.\r\n");
    vec![
        (B::Good, good, end, false),
        (B::Slow(SECOND / 2), good, end, false),
        (B::Far(SECOND / 2), good, end, false),
        (B::Drip(Duration::from_millis(1)), good, end, false),
        (B::Line(line("480 No")), "480 No\r\n", "480 No\r\n", false),
        (
            B::Goodbye(line("400 Bye")),
            "400 Bye\r\n",
            "400 Bye\r\n",
            true,
        ),
        (B::Bytes(b"\0\xff".to_vec()), "\0\u{fffd}", "", false),
        (B::Hang, "", "", false),
        (B::Drip(SECOND), "2", "2", false),
        (B::Cut(23), good, "3\r", true),
        (B::Half, "211 5 3 7 misc.te", "", true),
        (B::Stall(21), "211", "test\r\n", false),
        (B::Close, "", "", true),
        (B::Reset, "", "", true),
        (B::EndlessLine(300_000), "xxxxxx", "xxxxxx", true),
        (B::EndlessBlock(300_000), good, "", true),
        (B::Hang.after(5), good, end, false),
    ]
}

async fn check(ground: &dyn Ground, news: &News) {
    for (behaviour, begins, ends, hangs_up) in table() {
        let mut client = Client::connect(ground, news.address()).await;
        client.until("\r\n").await;
        news.set_for("LISTGROUP", behaviour.clone());
        let (text, ended) = meets(&mut client, "LISTGROUP misc.test\r\n").await;
        let fits = text.starts_with(begins) && text.ends_with(ends);
        assert!(fits, "{behaviour:?}: {text:?}");
        assert!(
            !begins.is_empty() || text.is_empty(),
            "{behaviour:?}: {text:?}"
        );
        assert_eq!(ended, hangs_up, "{behaviour:?}");
        let long = matches!(
            behaviour,
            Behaviour::EndlessLine(_) | Behaviour::EndlessBlock(_)
        );
        assert_eq!(text.len() >= 300_000, long, "{behaviour:?}");
        if !hangs_up
            && !matches!(
                behaviour,
                Behaviour::Hang | Behaviour::Stall(_) | Behaviour::Drip(_)
            )
        {
            let date = client.ask("DATE", "\r\n").await;
            assert_eq!(date, "111 20240201120000\r\n", "{behaviour:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_as_bad_as_they_should_be_in_memory() {
    let (network, news) = server().await;
    check(&network, &news).await;
    // What clients left hanging is gone with them.
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(news.open(), 0);
}

#[tokio::test]
async fn answers_are_as_bad_as_they_should_be_on_loopback() {
    let news = News::start(Place::Loopback, newsgroups());
    let news = news.await.expect("loopback");
    check(&System::new(), &news).await;
}

#[tokio::test(start_paused = true)]
async fn a_behaviour_may_be_for_few_commands_and_for_a_while() {
    let (network, news) = server().await;
    let mut client = greeted(&network).await;
    news.set(Behaviour::Line("403 Fault".to_owned()));
    news.set_for("DATE", Behaviour::Good);
    news.set_next("GROUP misc.test", 1, Behaviour::Line("411 None".to_owned()));
    assert_eq!(client.ask("group misc.test", "\n").await, "411 None\r\n");
    assert_eq!(client.ask("GROUP misc.test", "\n").await, "403 Fault\r\n");
    assert!(client.ask("DATE", "\n").await.starts_with("111 "));
    news.set(Behaviour::Good);
    assert!(
        client
            .ask("GROUP misc.test", "\n")
            .await
            .starts_with("211 ")
    );
    news.cut();
    let (text, ended) = client.rest().await;
    assert_eq!((text.as_str(), ended), ("", true));
}

#[tokio::test(start_paused = true)]
async fn pipelined_commands_are_counted_and_answered_in_time() {
    let (network, news) = server().await;
    let mut client = greeted(&network).await;
    for (behaviour, time) in [
        (Behaviour::Far(SECOND), SECOND),
        (Behaviour::Slow(SECOND), 8 * SECOND),
    ] {
        news.set(behaviour);
        let start = Instant::now();
        client.send(&"STAT <3@zoo.example>\r\n".repeat(8)).await;
        let stat = "223 0 <3@zoo.example>\r\n";
        assert_eq!(client.until(&stat.repeat(8)).await, stat.repeat(8));
        assert_eq!(start.elapsed(), time);
    }
    assert_eq!(news.depth(), 8);
    assert_eq!(news.commands()[9].at.elapsed(), 8 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn an_account_is_asked_for() {
    let (network, news) = server().await;
    news.be(|nature| nature.account = Some(("ann".to_owned(), "secret".to_owned())));
    let mut client = Client::connect(&network, home()).await;
    let lines = "GROUP misc.test\r\nAUTHINFO PASS secret\r\nAUTHINFO USER ann\r\nAUTHINFO PASS wrong\r\n\
                 AUTHINFO USER ann\r\nAUTHINFO PASS secret\r\nGROUP misc.test\r\nAUTHINFO USER ann\r\nQUIT\r\n";
    let text = client.whole(lines).await;
    let codes: Vec<&str> = text.lines().filter_map(|line| line.get(..3)).collect();
    let expected = [
        "200", "480", "482", "381", "481", "381", "281", "211", "502", "205",
    ];
    assert_eq!(codes, expected);
}

#[tokio::test(start_paused = true)]
async fn natures_differ() {
    let (network, news) = server().await;
    let over = "GROUP misc.test\r\nOVER 3-4\r\nQUIT\r\n";
    let empty = "GROUP misc.empty\r\nOVER 1-\r\nQUIT\r\n";
    let third = "3\tSubject 3\t";
    let date = "Author 3 <author3@example.com>\t01 Jan 2024 00:03:00 +0000";
    let lying = |nature: &mut Nature| nature.capabilities = Some(vec!["VERSION 9".to_owned()]);
    type Change = Box<dyn Fn(&mut Nature)>;
    let rows = |rows: Rows| -> Change { Box::new(move |nature| nature.rows = rows) };
    let table: Vec<(Change, &str, String)> = vec![
        (rows(Rows::Fields(3)), over, format!("{third}{date}\r\n4\t")),
        (
            rows(Rows::ExtraTabs),
            over,
            "3\tSubject 3\twith a tab\tAuthor".to_owned(),
        ),
        (
            rows(Rows::Shifted(100)),
            over,
            "\r\n103\tSubject 3".to_owned(),
        ),
        (rows(Rows::NoNumbers), over, "\r\none\tSubject 3".to_owned()),
        (rows(Rows::Twice), over, format!("misc.test:3\r\n{third}")),
        (
            rows(Rows::Reversed),
            over,
            format!("misc.test:4\r\n{third}"),
        ),
        (rows(Rows::Holes), over, "misc.test:3\r\n.\r\n".to_owned()),
        (
            rows(Rows::Garbage),
            over,
            "misc.test:3\r\n\r\n\0".to_owned(),
        ),
        (rows(Rows::Good), empty, "423 Nothing".to_owned()),
        (
            Box::new(|nature| nature.empty_range = EmptyRange::EmptyBlock),
            empty,
            "224 Overview\r\n.\r\n".to_owned(),
        ),
        (
            Box::new(|nature| nature.counts = Some((9, 1, 2))),
            "GROUP misc.test\r\nLIST COUNTS *.test\r\nQUIT\r\n",
            "211 9 1 2 misc.test\r\n215 List\r\nmisc.test 2 1 9 y\r\n".to_owned(),
        ),
        (
            Box::new(lying),
            "CAPABILITIES\r\nQUIT\r\n",
            "101 Capabilities\r\nVERSION 9\r\n.".to_owned(),
        ),
        (
            Box::new(|nature| nature.posting = false),
            "POST\r\nQUIT\r\n",
            "201 Zoo, no posting\r\n440 ".to_owned(),
        ),
        (
            Box::new(|nature| nature.transit = true),
            "DATE\r\nCAPABILITIES\r\nMODE READER\r\nDATE\r\nQUIT\r\n",
            "401 MODE-READER\r\n101".to_owned(),
        ),
        (
            Box::new(|nature| nature.zero_by_id = false),
            "GROUP misc.test\r\nSTAT <5@zoo.example>\r\nQUIT\r\n",
            "223 5 <5@zoo.example>".to_owned(),
        ),
    ];
    for (change, lines, has) in table {
        news.be(|nature| *nature = Nature::default());
        news.be(|nature| change(nature));
        let text = Client::connect(&network, home()).await.whole(lines).await;
        assert!(text.contains(&has), "{has:?} is not in {text:?}");
    }
    news.be(|nature| *nature = Nature::default());
    news.without(&["OVER", "XOVER", "LIST COUNTS", "CAPABILITIES"]);
    let mut client = Client::connect(&network, home()).await;
    let text = client
        .whole("CAPABILITIES\r\nXOVER\r\nLIST COUNTS\r\nLIST\r\nQUIT\r\n")
        .await;
    let codes: Vec<&str> = text.lines().filter_map(|line| line.get(..4)).collect();
    assert_eq!(codes[1..5], ["500 ", "500 ", "503 ", "215 "]);
}

#[tokio::test(start_paused = true)]
async fn what_it_has_may_change() {
    let (network, news) = server().await;
    let mut client = greeted(&network).await;
    news.remove(&id(3));
    assert_eq!(
        client.ask("GROUP misc.test", "\n").await,
        "211 4 4 7 misc.test\r\n"
    );
    news.renumber("misc.test", 1);
    assert_eq!(
        client.ask("GROUP misc.test", "\n").await,
        "211 4 1 4 misc.test\r\n"
    );
    assert_eq!(
        client.ask("STAT 1", "\n").await,
        "223 1 <4@zoo.example>\r\n"
    );
    let both = ["misc.test", "misc.empty"];
    assert_eq!(news.add(&both, Article::reply(9, &[4, 7])), [5, 1]);
    let over = client.ask("OVER 5", "\r\n.\r\n").await;
    assert!(over.contains("\tRe: Subject 4\t"), "{over}");
    assert!(
        over.contains("\t<4@zoo.example> <7@zoo.example>\t"),
        "{over}"
    );
    assert!(
        over.contains("\tXref: zoo.example misc.test:5 misc.empty:1\r\n"),
        "{over}"
    );
    news.take_down(&id(9));
    assert_eq!(
        client.ask("ARTICLE <9@zoo.example>", "\n").await,
        "451 Taken down\r\n"
    );
    news.put(
        Newsgroup::new("misc.test")
            .at(8, Article::garbage(8))
            .at(9, Article::huge(10, 5 << 20)),
    );
    let garbage = client.ask("ARTICLE <8@zoo.example>", "\r\n.\r\n").await;
    assert!(
        garbage.contains("\0bare\rcr and\nlf\r\n")
            && garbage.ends_with("\r\n...\r\n.\n.\r\n\u{fffd}\r\n.\r\n"),
        "{garbage:?}"
    );
    assert!(client.ask("BODY <10@zoo.example>", "\r\n.\r\n").await.len() > 5 << 20);
}

#[tokio::test(start_paused = true)]
async fn posting_may_end_badly() {
    let (network, news) = server().await;
    let text = "From: a@b\r\nNewsgroups: misc.test\r\nSubject: s\r\nMessage-ID: <p@q>\r\n\r\n..dot\r\n.\r\n";
    let mut client = greeted(&network).await;
    assert_eq!(client.ask("POST", "\n").await, "340 Send it\r\n");
    client.send(text).await;
    assert_eq!(client.until("\n").await, "240 Thanks\r\n");
    assert!(news.posted()[0].bytes.ends_with(b"\r\n\r\n.dot\r\n"));
    assert_eq!(client.ask("IHAVE <p@q>", "\n").await, "435 Have it\r\n");
    assert_eq!(client.ask("POST", "\n").await, "340 Send it\r\n");
    client.send(text).await;
    assert_eq!(client.until("\n").await, "441 Not wanted: a duplicate\r\n");

    for (behaviour, kept) in [
        (Behaviour::DieBeforeArticle, 1),
        (Behaviour::Verdict("441 No".to_owned()), 1),
        (Behaviour::DieAfterArticle, 2),
    ] {
        news.set_for("POST", behaviour.clone());
        let mut client = greeted(&network).await;
        assert_eq!(
            client.ask("POST", "\n").await,
            "340 Send it\r\n",
            "{behaviour:?}"
        );
        let _ = client
            .stream
            .write_all(text.replace("p@q", "r@s").as_bytes())
            .await;
        let (text, ended) = client.rest().await;
        let verdict = matches!(behaviour, Behaviour::Verdict(_));
        assert_eq!(
            text,
            if verdict { "441 No\r\n" } else { "" },
            "{behaviour:?}"
        );
        assert_eq!(
            (ended, news.posted().len()),
            (!verdict, kept),
            "{behaviour:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn packed_conversations_and_bombs() {
    let (network, news) = server().await;
    let mut client = greeted(&network).await;
    assert_eq!(
        client.ask("COMPRESS DEFLATE", "\n").await,
        "206 Packed from here\r\n"
    );
    let mut pack = DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut unpack = DeflateDecoder::new(Vec::new());
    pack.write_all(b"DATE\r\nGROUP misc.test\r\n").unwrap();
    pack.flush().unwrap();
    client.stream.write_all(pack.get_ref()).await.unwrap();
    pack.get_mut().clear();
    while !unpack.get_ref().ends_with(b"misc.test\r\n") {
        let mut bytes = Vec::new();
        client.stream.read_buf(&mut bytes).await.unwrap();
        unpack.write_all(&bytes).unwrap();
        unpack.flush().unwrap();
    }
    assert_eq!(
        unpack.get_ref().as_slice(),
        b"111 20240201120000\r\n211 5 3 7 misc.test\r\n"
    );

    let before = news.written();
    news.set_for("OVER", Behaviour::EndlessBlock(10 << 20));
    pack.write_all(b"OVER 3-7\r\n").unwrap();
    pack.flush().unwrap();
    client.stream.write_all(pack.get_ref()).await.unwrap();
    let mut packed = Vec::new();
    client.stream.read_to_end(&mut packed).await.unwrap();
    unpack.write_all(&packed).unwrap();
    unpack.flush().unwrap();
    assert!(unpack.get_ref().len() > 10 << 20);
    assert!(packed.len() < 1 << 20, "{}", packed.len());
    assert_eq!(news.written() - before, packed.len());
}
