//! Makes one request: finds or opens a connection, follows redirects, reads the answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Uri};
use jiff::Timestamp;

use super::line::Line;
use super::pool::{Key, Pool};
use super::proxy::{self, Proxy};
use super::target::Target;
use super::{Limits, Request, Response, Roots, body, retry_after};
use crate::dial::{self, Goal};
use crate::meter::Meter;
use crate::tls::Tls;
use crate::{Error, Ground};

/// Maximum bytes from proxy and TLS before the first request; certificates take a few thousand.
const OPENING: usize = 256 << 10;

/// Time for a body where only the status counts.
const BODY_MOMENT: Duration = Duration::from_secs(2);

/// The wall clock, for `Retry-After` with a date.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// An HTTP client; a cheap handle whose clones share their connections.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    ground: Arc<dyn Ground>,
    tls: Tls,
    limits: Limits,
    pool: Arc<Pool>,
    clock: Clock,
}

/// An answer whose body is still to be read.
struct Begun {
    line: Line,
    key: Key,
    answer: hyper::Response<Incoming>,
}

impl Client {
    /// Fails if the given roots are unusable. A machine without trusted certificates is not an error until
    /// they are needed.
    pub fn new(ground: Arc<dyn Ground>, roots: Roots, limits: Limits) -> Result<Self, Error> {
        Self::with_clock(ground, roots, limits, Arc::new(Timestamp::now))
    }

    /// Like [`new`](Self::new), with the caller's wall clock.
    pub fn with_clock(
        ground: Arc<dyn Ground>,
        roots: Roots,
        limits: Limits,
        clock: Clock,
    ) -> Result<Self, Error> {
        let shared = Shared {
            ground,
            tls: Tls::new(&roots, Some(b"http/1.1"))?,
            limits,
            pool: Pool::new(limits),
            clock,
        };
        let shared = Arc::new(shared);
        Ok(Self { shared })
    }

    /// Sends a request and waits for the complete answer; any status counts as an answer. The caller limits the time:
    /// dropping the future closes the connection.
    pub async fn get(&self, request: &Request<'_>) -> Result<Response, Error> {
        let mut target = Target::first(request)?;
        let mut left = request.redirects;
        loop {
            let begun = self.begin(&target, request).await?;
            match redirect(&begun.answer, &target, request) {
                Some(_) if left == 0 && request.redirects > 0 => return Err(Error::Redirects),
                Some(next) if left > 0 && request.post.is_none() => {
                    // The connection is dropped instead of reading the body, which could be of any length.
                    target = next?;
                    left -= 1;
                }
                _ => return self.finish(begun, request).await,
            }
        }
    }

    /// Idle connections kept open.
    pub fn idle(&self) -> usize {
        self.shared.pool.count()
    }

    async fn begin(&self, target: &Target<'_>, request: &Request<'_>) -> Result<Begun, Error> {
        let proxy = request.proxy.map(Proxy::new).transpose()?;
        let key = Key {
            secure: target.is_secure(),
            host: target.host().to_owned(),
            port: target.port(),
            proxy: request.proxy.map(|proxy| proxy.expose().into()),
            family: request.family,
        };
        if proxy.is_some() {
            proxy::judge(target)?;
        }
        let question = || question(target, request, proxy.as_ref());
        if let Some(mut line) = self.shared.pool.take(&key, target.reach) {
            match line.ask(question()?).await {
                Ok(answer) => return begun(line, key, answer, target, proxy.as_ref()),
                // It was closed while our request was on its way. A GET may be sent twice, a POST must not.
                Err(_) if !line.was_heard() && request.post.is_none() => {}
                Err(error) => return Err(error),
            }
        }
        let question = question()?;
        let mut line = self.open(target, request, proxy.as_ref()).await?;
        let answer = line.ask(question).await?;
        begun(line, key, answer, target, proxy.as_ref())
    }

    async fn open(
        &self,
        target: &Target<'_>,
        request: &Request<'_>,
        proxy: Option<&Proxy<'_>>,
    ) -> Result<Line, Error> {
        let Shared {
            ground,
            tls,
            limits,
            ..
        } = &*self.shared;
        let goal = Goal {
            host: target.host(),
            port: target.port(),
            family: request.family,
            reach: target.reach,
        };
        let (stream, to) = match proxy {
            Some(proxy) => {
                let opened = proxy.open(&**ground, request.family, limits.connect);
                (opened.await?, None)
            }
            None => {
                let (stream, to) = dial::connect(&**ground, goal, limits.connect).await?;
                (stream, Some(to.ip()))
            }
        };
        let (mut stream, meter) = Meter::on(stream, OPENING);
        if let Some(proxy) = proxy {
            proxy.lead(&mut stream, target).await?;
        }
        if target.is_secure() {
            let secured = tls.secure(stream, target.host()).await;
            stream = secured.map_err(|error| match meter.is_over() {
                true => Error::TooLarge { limit: OPENING },
                false => error,
            })?;
        }
        Line::open(stream, meter, limits.head, to).await
    }

    async fn finish(&self, begun: Begun, request: &Request<'_>) -> Result<Response, Error> {
        let Begun { line, key, answer } = begun;
        let (head, packed) = answer.into_parts();
        let from = line.to;
        let text = |name| text(&head.headers, name);
        let packing = text(header::CONTENT_ENCODING);
        let body = self.body(line, key, (packed, packing), request.body_limit);
        let body = match request.by_status {
            false => body.await?,
            // Whatever is wrong with the body, the request was received and answered.
            true => match tokio::time::timeout(BODY_MOMENT, body).await {
                Ok(Ok(body)) => body,
                Ok(Err(_)) | Err(_) => Bytes::new(),
            },
        };
        let retry_after = text(header::RETRY_AFTER);
        let clock = || (self.shared.clock)();
        Ok(Response {
            status: head.status.as_u16(),
            retry_after: retry_after.and_then(|text| retry_after::parse(text, clock)),
            content_type: text(header::CONTENT_TYPE).map(str::to_owned),
            body,
            from,
            headers: head.headers,
        })
    }
}

impl Client {
    /// Reads a body and keeps the connection for the next request.
    async fn body(
        &self,
        mut line: Line,
        key: Key,
        (packed, packing): (Incoming, Option<&str>),
        limit: usize,
    ) -> Result<Bytes, Error> {
        let packed = line.read(packed, limit).await?;
        self.shared.pool.put(key, line);
        body::unpack(packing, packed, limit).await
    }
}

/// Counts an answer as the upstream's, unless it is the proxy that asks for a sign-in.
fn begun(
    line: Line,
    key: Key,
    answer: hyper::Response<Incoming>,
    target: &Target<'_>,
    proxy: Option<&Proxy<'_>>,
) -> Result<Begun, Error> {
    if answer.status() == 407 && proxy.is_some_and(|proxy| proxy.takes(target)) {
        return Err(proxy::wants_login());
    }
    Ok(Begun { line, key, answer })
}

/// Where the answer redirects to; `None` if it does not, or leaves HTTP.
fn redirect<'a>(
    answer: &hyper::Response<Incoming>,
    target: &Target<'a>,
    request: &Request<'a>,
) -> Option<Result<Target<'a>, Error>> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    // Some servers write raw UTF-8 there, which `to_str` would refuse.
    let location = answer.headers().get(header::LOCATION)?.as_bytes();
    target.redirected(std::str::from_utf8(location).ok()?, request)
}

fn question(
    target: &Target<'_>,
    request: &Request<'_>,
    proxy: Option<&Proxy<'_>>,
) -> Result<hyper::Request<String>, Error> {
    let handed_over = proxy.filter(|proxy| proxy.takes(target));
    let uri = Uri::try_from(target.line(handed_over.is_some()));
    let mut question = hyper::Request::new(String::new());
    *question.uri_mut() = uri.map_err(|_| Error::Unsendable("the URL"))?;
    let host = request.host.filter(|_| target.configured);
    let host = host.map_or_else(|| target.authority(), str::to_owned);
    if let Some(json) = request.post {
        *question.method_mut() = Method::POST;
        *question.body_mut() = json.to_owned();
        let kind = HeaderValue::from_static("application/json");
        question.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    let headers = question.headers_mut();
    for (name, text) in request.headers.iter().filter(|_| target.configured) {
        let name = HeaderName::from_bytes(name.as_bytes());
        let name = name.map_err(|_| Error::Unsendable("a header"))?;
        let mut value = value(text, "a header")?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    headers.insert(header::HOST, value(&host, "the host")?);
    headers.insert(
        header::USER_AGENT,
        value(request.user_agent, "the user agent")?,
    );
    headers.insert(header::ACCEPT, value(request.accept, "the accepted types")?);
    headers.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static(body::ACCEPTED),
    );
    if let Some(credentials) = target.credentials() {
        headers.insert(header::AUTHORIZATION, credentials);
    }
    if let Some(credentials) = handed_over.and_then(Proxy::credentials) {
        headers.insert(header::PROXY_AUTHORIZATION, credentials);
    }
    Ok(question)
}

fn value(text: &str, what: &'static str) -> Result<HeaderValue, Error> {
    HeaderValue::from_str(text).map_err(|_| Error::Unsendable(what))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}
