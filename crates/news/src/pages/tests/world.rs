//! The web part before a library with a few values.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Method, Request};
use parking_lot::Mutex;
use tower::ServiceExt;
use weir_config::Secret;
use weir_news_proto::{MessageId, Newsgroup};
use weir_store::sqlite::File;
use weir_web::{Access, App, Contribution, Icon, Right};

use crate::marks::Marks;
use crate::model::ThreadPlace;
use crate::pages::samples::NOV;
use crate::reader::{Finding, Library, Pending, Reader};
use crate::reading::{NewsgroupList, ReadArticle, ThreadPage, ThreadView, Unread};
use crate::seeking::{FoundPage, Seeking, Unfound};
use crate::{api, pages};

const KEY: &str = "0123456789abcdef0123456789abcdef";

/// What the library answers, whatever it is asked for.
pub(super) struct Samples {
    pub(super) newsgroups: Result<Arc<NewsgroupList>, Unread>,
    pub(super) threads: Result<Arc<ThreadPage>, Unread>,
    /// By page; what is asked for by an article is the last one.
    pub(super) thread: Vec<Result<Arc<ThreadView>, Unread>>,
    pub(super) article: Result<Arc<ReadArticle>, Unread>,
    pub(super) found: Result<FoundPage, Unfound>,
}

impl Default for Samples {
    fn default() -> Self {
        Self::failing(&Unread::NoServers)
    }
}

impl Samples {
    /// The same trouble with everything.
    pub(super) fn failing(unread: &Unread) -> Self {
        Self {
            newsgroups: Err(unread.clone()),
            threads: Err(unread.clone()),
            thread: vec![Err(unread.clone())],
            article: Err(unread.clone()),
            found: Err(Unfound::Off),
        }
    }
}

struct SampleLibrary {
    samples: Samples,
    asked: Arc<Mutex<Vec<String>>>,
}

impl SampleLibrary {
    fn answer<T: Send + Sync + 'static>(
        &self,
        question: String,
        answer: Result<Arc<T>, Unread>,
    ) -> Pending<'_, T> {
        self.asked.lock().push(question);
        Box::pin(std::future::ready(answer))
    }
}

impl Library for SampleLibrary {
    fn newsgroups(&self) -> Pending<'_, NewsgroupList> {
        self.answer("newsgroups".to_owned(), self.samples.newsgroups.clone())
    }

    fn known_newsgroups(&self) -> Option<Arc<NewsgroupList>> {
        self.samples.newsgroups.clone().ok()
    }

    fn has_index(&self) -> bool {
        !matches!(self.samples.found, Err(Unfound::Off))
    }

    fn threads<'a>(&'a self, newsgroup: &'a Newsgroup, page: usize) -> Pending<'a, ThreadPage> {
        self.answer(format!("{newsgroup} {page}"), self.samples.threads.clone())
    }

    fn thread<'a>(
        &'a self,
        newsgroup: &'a Newsgroup,
        root: &'a MessageId,
        place: ThreadPlace,
    ) -> Pending<'a, ThreadView> {
        let pages = &self.samples.thread;
        let answer = match &place {
            ThreadPlace::Page(page) => pages.get(*page).cloned(),
            ThreadPlace::Article(_) | ThreadPlace::Newest => pages.last().cloned(),
        };
        let answer = answer.unwrap_or(Err(Unread::NoPage { pages: pages.len() }));
        self.answer(format!("{newsgroup} {root} {place:?}"), answer)
    }

    fn article<'a>(&'a self, id: &'a MessageId) -> Pending<'a, ReadArticle> {
        self.answer(id.to_string(), self.samples.article.clone())
    }

    fn seek(&self, seeking: Seeking) -> Finding<'_> {
        self.asked.lock().push(format!("{seeking:?}"));
        let mut found = self.samples.found.clone();
        if let Ok(found) = &mut found {
            found.page = seeking.page;
        }
        Box::pin(std::future::ready(found))
    }
}

struct Still;

impl weir_web::Clock for Still {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::from_second(NOV + 600).expect("a time")
    }
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("text"))
    }
}

pub(super) struct World {
    router: Router,
    asked: Arc<Mutex<Vec<String>>>,
    _directory: tempfile::TempDir,
}

impl World {
    pub(super) fn new(samples: Samples) -> Self {
        Self::with(samples, Access::Page, weir_web::Config::default())
    }

    /// Pages that everybody may read, so many of them a minute.
    pub(super) fn public(samples: Samples, pages: u32) -> Self {
        let config = weir_web::Config {
            reading_pages: pages.try_into().expect("some"),
            ..weir_web::Config::default()
        };
        Self::with(samples, Access::Reading, config)
    }

    fn with(samples: Samples, access: Access, config: weir_web::Config) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let state = File::open(directory.path().join("state.db")).expect("a file");
        let asked = Arc::default();
        let library = SampleLibrary {
            samples,
            asked: Arc::clone(&asked),
        };
        let marks = Marks::open(state.clone()).expect("tables");
        let reader = Reader::new(Arc::new(library), marks, Arc::new(Still));
        let contribution = Contribution::new("news", "News", Icon::News)
            .router_for(access, Right::Read, pages::router(&reader))
            .api(api::router(&reader))
            .api(api::own_router(&reader));
        let contribution = pages::nav()
            .into_iter()
            .fold(contribution, Contribution::nav);
        let config = weir_web::Config {
            api_key: Some(Secret::new(KEY)),
            ..config
        };
        let app = App::open(
            config,
            &state,
            Arc::new(Still),
            weir_web::Requests::default(),
            vec![contribution],
        );
        Self {
            router: app.expect("a web part").router(),
            asked,
            _directory: directory,
        }
    }

    /// What the library was asked so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().clone()
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "").await
    }

    /// A page as somebody far away gets it, who has no key.
    pub(super) async fn get_as_stranger(&self, path: &str) -> Answer {
        let request = Request::get(path).body(Body::empty());
        let peer = SocketAddr::from(([198, 51, 100, 7], 4000));
        self.answer(request.expect("a request"), peer).await
    }

    pub(super) async fn send(&self, method: Method, path: &str, body: &str) -> Answer {
        self.ask(method, path, &[], body).await
    }

    /// The same with more headers.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "weir.example:7070")
            .header("content-type", "application/json")
            .header("x-api-key", KEY);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request
            .body(Body::from(body.to_owned()))
            .expect("a request");
        let peer = SocketAddr::from(([127, 0, 0, 1], 4000));
        self.answer(request, peer).await
    }

    async fn answer(&self, mut request: Request<Body>, peer: SocketAddr) -> Answer {
        request.extensions_mut().insert(ConnectInfo(peer));
        let answer = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer");
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let bytes = to_bytes(answer.into_body(), usize::MAX)
            .await
            .unwrap_or_default();
        Answer {
            status,
            headers,
            body: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}
