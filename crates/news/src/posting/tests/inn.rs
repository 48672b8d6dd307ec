//! The same against a real server: INN, started for each test.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use weir_engine::dispatch::Asker;
use weir_engine::{Engine, Options, Outward, Timeline, Weather};
use weir_net::{BoxFuture, Datagrams, Error, Family, Ground, Roots, Stream, System};
use weir_news_proto::MessageId;
use weir_testkit::inn::{self, Inn, Newsgroup};

use super::deliveries::article;
use crate::call::AskPresence;
use crate::config::Config;
use crate::config::server::{ServerEntry, TlsMode};
use crate::model::{Model, ThreadPlace};
use crate::policy::{self, HIGH};
use crate::posting::{NotPosted, PostState, Poster};
use crate::tests::world::{general, group};

const READER: Asker = Asker::NOBODY;

async fn inn() -> Inn {
    let flagged = |name: &str, flag| Newsgroup {
        flag,
        ..Newsgroup::new(name)
    };
    let newsgroups = vec![
        Newsgroup::new("misc.test"),
        Newsgroup::new("misc.other"),
        flagged("misc.closed", 'n'),
    ];
    let options = inn::Options {
        newsgroups,
        ..inn::Options::with(&[])
    };
    Inn::start(options).await.expect("INN runs")
}

fn model(inn: &Inn, ground: Arc<dyn Ground>) -> Arc<Model> {
    let entry = ServerEntry {
        port: NonZeroU32::new(inn.address().port().into()),
        tls: TlsMode::Off,
        ..ServerEntry::new("inn", "127.0.0.1")
    };
    let config = Config {
        servers: vec![entry],
        ..Config::default()
    };
    // Servers refuse articles whose dates are far off.
    let now = weir_web::Clock::now(&weir_web::System)
        .as_second()
        .unsigned_abs();
    let wall = std::time::UNIX_EPOCH + std::time::Duration::from_secs(now);
    let options = Options::new(Timeline::starting_at(wall), Weather::default());
    let engine = Engine::new("news", policy::policy(general(), &config), options);
    let outward = Outward::without_rows(engine, ground);
    Model::start(&config, outward, &Roots::default(), None).expect("a model")
}

async fn post(model: &Model, article: Bytes) -> Result<MessageId, NotPosted> {
    model.post(article, Poster::keyholder(), READER).await
}

/// Whether the server has an article, by its own word.
async fn has(model: &Model, id: &MessageId) -> bool {
    let server = model.federation.servers.named("inn").expect("a server");
    let asked = model
        .federation
        .ask(&server, AskPresence(id.clone()), (HIGH, READER));
    *asked.await.expect("an answer")
}

/// How many articles the server has in a newsgroup.
async fn count(model: &Model) -> u64 {
    let server = model.federation.servers.named("inn").expect("a server");
    let said = server.link.newsgroup(&group("misc.test")).await;
    said.expect("an answer").count
}

#[tokio::test(flavor = "multi_thread")]
async fn articles_answers_and_cross_posts_are_taken_and_read_back() {
    let inn = inn().await;
    let model = model(&inn, Arc::new(System::new()));
    let text = "From: J\u{f6}rg <j@b.example>\r\nNewsgroups: misc.test,misc.other\r\nSubject: Gr\u{fc}\u{df}e\r\n\r\n.\r\n..\r\n.dot\r\nGr\u{fc}\u{df}e\r\n";
    let first = post(&model, text.to_owned().into())
        .await
        .expect("it is posted");
    let answer = article("misc.test", &format!("References: {first}\r\n"));
    let second = post(&model, answer).await.expect("it is posted");
    assert!(has(&model, &first).await && has(&model, &second).await);
    let place = ThreadPlace::Page(0);
    let view = model
        .thread(&group("misc.test"), &first, place, READER)
        .await
        .expect("a thread");
    let ids: Vec<&MessageId> = view.outline.iter().map(|row| &row.id).collect();
    assert_eq!(ids, [&first, &second]);
    assert_eq!(view.outline[0].author, "J\u{f6}rg");
    assert_eq!(
        model.own(&first).expect("it is known").state,
        PostState::Seen
    );
    let read = model.article(&first, READER).await.expect("an article");
    assert_eq!(read.article.head.subject, "Gr\u{fc}\u{df}e");
    assert!(
        read.raw
            .ends_with("\r\n\r\n.\r\n..\r\n.dot\r\nGr\u{fc}\u{df}e\r\n".as_bytes())
    );
    assert!(
        read.article.head.header("Xref").is_some(),
        "as the server has it"
    );
    let closed = post(&model, article("misc.closed", "")).await;
    assert!(matches!(closed, Err(NotPosted::Refused(_))), "{closed:?}");
    let again = post(
        &model,
        article("misc.test", &format!("Message-ID: {first}\r\n")),
    )
    .await;
    assert_eq!(again, Ok(first), "the same ID is the same article");
    assert_eq!(count(&model).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_with_its_key_removes_the_article_and_one_without_does_not() {
    let inn = inn().await;
    let model = model(&inn, Arc::new(System::new()));
    let id = post(&model, article("misc.test", ""))
        .await
        .expect("it is posted");
    assert!(has(&model, &id).await);
    // Of somebody else, who does not know the secret.
    let other = self::model(&inn, Arc::new(System::new()));
    let server = other.federation.servers.named("inn").expect("a server");
    let forged = format!(
        "From: a@b.example\r\nNewsgroups: misc.test\r\nSubject: x\r\nMessage-ID: <forged@b.example>\r\n\
         Control: cancel {id}\r\nCancel-Key: sha256:AAAA\r\n\r\nx\r\n.\r\n"
    );
    let _ = server.link.post(forged.into(), Arc::default()).await;
    assert!(has(&model, &id).await, "the lock holds");
    let cancel = article("misc.test", &format!("Control: cancel {id}\r\n"));
    post(&model, cancel).await.expect("it is sent");
    assert!(!has(&model, &id).await, "the key opens it");

    let id = post(&model, article("misc.test", ""))
        .await
        .expect("it is posted");
    let replaced = article("misc.test", &format!("Supersedes: {id}\r\n"));
    let by = post(&model, replaced).await.expect("it is posted");
    assert!(!has(&model, &id).await && has(&model, &by).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_dies_after_the_article_leaves_it_there_once() {
    for cut in [Cut::BeforeArticle, Cut::AfterArticle] {
        let inn = inn().await;
        let dying = Arc::new(DyingGround {
            system: System::new(),
            cut,
            posts: Arc::default(),
            left: Arc::new(AtomicUsize::new(1)),
        });
        let model = model(&inn, dying.clone());
        let id = post(&model, article("misc.test", ""))
            .await
            .expect("it is posted");
        assert_eq!(dying.left.load(Ordering::SeqCst), 0, "a connection died");
        assert!(has(&model, &id).await);
        assert_eq!(count(&model).await, 1, "{cut:?}");
        assert_eq!(model.own(&id).expect("it is known").state, PostState::Sent);
    }
}

/// When a connection dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// The server has asked for the article and gets none.
    BeforeArticle,
    /// It gets all of it, and we never hear its last word.
    AfterArticle,
}

/// This machine's network, on which the first connections that carry an article die.
struct DyingGround {
    system: System,
    cut: Cut,
    posts: Arc<AtomicUsize>,
    /// So many are still to die.
    left: Arc<AtomicUsize>,
}

struct DyingStream {
    stream: Box<dyn Stream>,
    cut: Cut,
    left: Arc<AtomicUsize>,
    dead: Arc<AtomicBool>,
}

impl Ground for DyingGround {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, Error>> {
        self.system.resolve(host)
    }

    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, Result<Box<dyn Stream>, Error>> {
        Box::pin(async move {
            self.posts.fetch_add(1, Ordering::SeqCst);
            let stream = self.system.connect(to).await?;
            let dying = DyingStream {
                stream,
                cut: self.cut,
                left: self.left.clone(),
                dead: Arc::default(),
            };
            Ok(Box::new(dying) as Box<dyn Stream>)
        })
    }

    fn bind(&self, family: Family) -> BoxFuture<'_, Result<Arc<dyn Datagrams>, Error>> {
        self.system.bind(family)
    }
}

impl DyingStream {
    /// Whether the connection is to die with these bytes.
    fn dies(&self, bytes: &[u8]) -> bool {
        let carries = bytes.ends_with(b"\r\n.\r\n");
        let one_less = |left: usize| left.checked_sub(1);
        carries
            && self
                .left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
                .is_ok()
    }
}

impl AsyncRead for DyingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        match self.dead.load(Ordering::SeqCst) {
            true => Poll::Ready(Ok(())),
            false => Pin::new(&mut self.stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for DyingStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        if self.dies(bytes) {
            self.dead.store(true, Ordering::SeqCst);
            if self.cut == Cut::BeforeArticle {
                return Poll::Ready(Ok(bytes.len()));
            }
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
