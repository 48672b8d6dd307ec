//! The same against real servers: INN, started for each test.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use weir_config::Secret;
use weir_net::{BoxFuture, Datagrams, Error, Family, Ground, Stream, System};
use weir_testkit::inn::{Certificate, Inn, Options};
use weir_testkit::zoo::news::Article;

use super::*;
use crate::config::Overview;

const GROUP: &str = "misc.test";

async fn inn(options: Options, articles: u64) -> Inn {
    let inn = Inn::start(options).await.expect("INN runs");
    let articles = (1..=articles).map(posted);
    inn.feed(articles).await.expect("INN takes articles");
    inn
}

/// An article as a server is fed with it.
fn posted(number: u64) -> Vec<u8> {
    let article = Article::new(
        &news::id(number),
        &[
            ("Path", "elsewhere!not-for-mail"),
            ("From", "Reader <reader@news.example>"),
            ("Newsgroups", GROUP),
            ("Subject", &format!("Article {number}")),
            ("Date", "Tue, 17 Nov 2026 06:00:00 +0000"),
        ],
        "Some text.\r\n",
    );
    article.bytes
}

/// Servers of this machine, as if they were far away.
struct FarAway(System);

impl Ground for FarAway {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Error>> {
        Box::pin(async { Ok(vec![Ipv4Addr::new(192, 0, 2, 1).into()]) })
    }

    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, Result<Box<dyn Stream>, Error>> {
        self.0.connect((Ipv4Addr::LOCALHOST, to.port()).into())
    }

    fn bind(&self, family: Family) -> BoxFuture<'_, Result<Arc<dyn Datagrams>, Error>> {
        self.0.bind(family)
    }
}

fn link_to(
    inn: &Inn,
    roots: Roots,
    change: impl FnOnce(&mut ServerEntry, &mut Config),
) -> (Outbound, Link) {
    link_over(Arc::new(System::new()), inn, roots, change)
}

fn link_over(
    ground: Arc<dyn Ground>,
    inn: &Inn,
    roots: Roots,
    change: impl FnOnce(&mut ServerEntry, &mut Config),
) -> (Outbound, Link) {
    let outbound = Outbound::new(ground, &roots).expect("a way out");
    let mut config = Config::default();
    let mut entry = ServerEntry {
        port: NonZeroU32::new(inn.address().port().into()),
        tls: TlsMode::Off,
        ..ServerEntry::new("inn", "localhost")
    };
    change(&mut entry, &mut config);
    let link = outbound.link(&split(&config).1.link, &entry);
    (outbound, link)
}

#[tokio::test(flavor = "multi_thread")]
async fn all_three_ways_of_an_overview_and_articles_compressed_and_not() {
    let inn = inn(Options::with(&[GROUP]), 60).await;
    let mut told = Vec::new();
    let near = || Arc::new(System::new()) as Arc<dyn Ground>;
    let far = || Arc::new(FarAway(System::new()));
    for (overview, ground) in [
        (Overview::Auto, near()),
        (Overview::Auto, far()),
        (Overview::Hdr, far()),
        (Overview::Head, far()),
    ] {
        let (outbound, link) = link_over(ground, &inn, Roots::default(), |_, config| {
            config.overview = overview
        });
        let window = link.overview(&newsgroup(GROUP), 11..=50).await;
        let window = window.expect("an overview");
        assert_eq!(window.selected.and_then(|told| told.numbers), Some((1, 60)));
        let rows: Vec<_> = window
            .lines()
            .map(|line| (line.number, line.subject.to_vec(), line.id()))
            .collect();
        assert_eq!(rows.len(), 40);
        told.push(rows);
        let article = link.article(&id(5)).await.expect("an article");
        assert!(article.windows(9).any(|part| part == b"Article 5"));
        assert_eq!(link.article(&id(500)).await, Err(NewsFault::NoArticle));
        let nowhere = link.newsgroup(&newsgroup("no.such")).await;
        assert_eq!(nowhere, Err(NewsFault::NoNewsgroup));
        let listed = link.list(weir_news_proto::Listing::Counts(None)).await;
        let listed = listed.expect("a list");
        assert!(lines(&listed).any(|line| line.starts_with(b"misc.test ")));
        assert_eq!(link.connections(), (1, 1));
        link.close();
        outbound.closed().await;
    }
    assert!(told.iter().all(|one| *one == told[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn encrypted_from_the_start_by_command_or_not_at_all() {
    let certificate = Certificate::new(&["localhost"]).expect("a certificate");
    let trusted = || Roots::Pem(certificate.certificate.clone().into_bytes());
    let options = Options {
        account: Some(("reader".to_owned(), "hunter2".to_owned())),
        tls: Some(certificate.clone()),
        ..Options::with(&[GROUP])
    };
    let inn = inn(options, 3).await;
    let tls_port = inn.tls_address().expect("a port for TLS").port();
    let signs_in = |entry: &mut ServerEntry, tls, port: u16, password: &str| {
        entry.tls = tls;
        entry.port = NonZeroU32::new(port.into());
        entry.username = Some("reader".to_owned());
        entry.password = Some(Secret::new(password));
    };
    let plain_port = inn.address().port();
    for (tls, port) in [
        (TlsMode::Tls, tls_port),
        (TlsMode::Auto, tls_port),
        (TlsMode::Starttls, plain_port),
        (TlsMode::Auto, plain_port),
    ] {
        let (_outbound, link) = link_to(&inn, trusted(), |entry, _| {
            signs_in(entry, tls, port, "hunter2")
        });
        let article = link.article(&id(1)).await;
        assert!(article.is_ok(), "{tls:?} at {port}: {article:?}");
    }
    let (_outbound, link) = link_to(&inn, trusted(), |entry, _| {
        signs_in(entry, TlsMode::Tls, tls_port, "wrong-word")
    });
    let fault = link.article(&id(1)).await.expect_err("a wrong password");
    assert!(matches!(fault, NewsFault::Login(_)), "{fault:?}");
    assert!(!fault.to_string().contains("wrong-word"));
    // A certificate that is not trusted ends it, whatever else there would be.
    for (tls, port) in [(TlsMode::Auto, tls_port), (TlsMode::Starttls, plain_port)] {
        let (_outbound, link) = link_to(&inn, Roots::default(), |entry, _| {
            entry.tls = tls;
            entry.port = NonZeroU32::new(port.into());
        });
        let fault = link
            .article(&id(1))
            .await
            .expect_err("an unknown certificate");
        assert!(
            fault.to_string().starts_with("no secure connection"),
            "{fault}"
        );
    }
    let (_outbound, link) = link_to(&inn, trusted(), |_, _| {});
    assert_eq!(link.article(&id(1)).await, Err(NewsFault::LoginWanted));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_killed_is_found_again() {
    let mut inn = inn(Options::with(&[GROUP]), 10).await;
    let (_outbound, link) = link_to(&inn, Roots::default(), |_, _| {});
    link.article(&id(1)).await.expect("an article");
    inn.kill();
    assert!(link.article(&id(2)).await.is_err());
    inn.restart().await.expect("INN runs again");
    link.article(&id(2)).await.expect("an article");
    assert_eq!(link.connections().0, 1);
}
