//! A news server of the zoo as a client sees it, in memory and on loopback: each misbehaviour must look as it is meant to.

mod faults;
mod natures;
mod posting;

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};
use weir_net::{Ground, Stream};
use weir_testkit::memory::Network;
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{News, Newsgroup};

const SECOND: Duration = Duration::from_secs(1);

/// Long enough for what comes at once, also on a busy machine.
const WHILE: Duration = Duration::from_millis(500);

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

    /// What comes in a while, or until the server hangs up; the flag tells which.
    async fn rest(&mut self) -> (String, bool) {
        let end = Instant::now() + WHILE;
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
        "224 Overview\r\n3\tSubject 3\tAuthor 3 <author3@example.com>\t01 Jan 2024 00:03:00 +0000\t<3@zoo.example>\t\t199\t2\tXref: zoo.example misc.test:3\r\n",
        "4\tSubject 4\tAuthor 4 <author4@example.com>\t01 Jan 2024 00:04:00 +0000\t<4@zoo.example>\t\t199\t2\tXref: zoo.example misc.test:4\r\n.\r\n",
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
