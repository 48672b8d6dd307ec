//! Calls through proxies of both kinds.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use weir_net::http::{Client, Limits, Request, Roots};
use weir_net::{Error, Ground};
use weir_testkit::memory::{Accepted, Fault, Listener, Network};

use crate::trust::{certificate, serve};
use crate::{Heads, Scripted, answer, at, client, head, join, url};

const PROXY: &str = "10.0.0.9:3128";

async fn through(client: &Client, proxy: &str, text: &str) -> Result<String, Error> {
    let (proxy, url) = (url(proxy), url(text));
    let request = Request {
        proxy: Some(&proxy),
        redirects: 1,
        ..Request::new(&url)
    };
    let response = client.get(&request).await?;
    Ok(String::from_utf8_lossy(&response.body).into_owned())
}

/// Accepts connections and passes each to `one`, recording what it returns.
fn proxy<F: Future<Output = ()> + Send + 'static>(
    mut listener: Listener,
    one: impl Fn(Accepted, Heads) -> F + Send + 'static,
) -> (Heads, JoinSet<()>) {
    let heads = Heads::default();
    let noted = heads.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Some(stream) = listener.accept().await {
            one(stream, noted.clone()).await;
        }
    });
    (heads, tasks)
}

#[tokio::test(start_paused = true)]
async fn plain_requests_are_handed_over_whole() {
    let network = Network::new();
    let server = Scripted::start(
        network.listen(at(PROXY)),
        vec![vec![answer("200 OK", b"one"), answer("200 OK", b"two")]],
    );
    let client = client(&network);
    for expected in ["one", "two"] {
        let asked = through(
            &client,
            "http://us%65r:p%40ss@10.0.0.9:3128",
            "http://tracker.example:6969/announce?k=%7e",
        );
        assert_eq!(asked.await.as_deref(), Ok(expected));
    }
    let head = &server.heads()[0];
    let line =
        "GET http://tracker.example:6969/announce?k=%7e HTTP/1.1\r\nHost: tracker.example:6969\r\n";
    assert!(head.starts_with(line), "{head}");
    assert!(
        head.contains("\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n"),
        "{head}"
    );
    assert!(!head.contains("\r\nAuthorization"), "{head}");
    assert_eq!(network.connections(at(PROXY)), 1);
}

#[tokio::test(start_paused = true)]
async fn secure_requests_go_through_a_tunnel() {
    let network = Network::new();
    let (acceptor, pem) = certificate("tracker.example");
    let (heads, _tasks) = proxy(network.listen(at(PROXY)), move |mut stream, heads| {
        let acceptor = acceptor.clone();
        async move {
            let Some(head) = head(&mut stream).await else {
                return;
            };
            heads.lock().push(head);
            let _ = stream
                .write_all(b"HTTP/1.0 200 Connection established\r\n\r\n")
                .await;
            serve(acceptor, stream).await;
        }
    });
    let client = Client::new(network.ground(), Roots::Pem(pem), Limits::default());
    let client = client.expect("a client");
    let asked = through(
        &client,
        "http://user:word@10.0.0.9:3128",
        "https://tracker.example/announce",
    );
    let body = asked.await.expect("an answer");
    assert!(
        body.starts_with("tracker.example GET /announce HTTP/1.1\r\n"),
        "{body}"
    );
    assert!(!body.contains("Proxy-Authorization"), "{body}");
    assert_eq!(
        heads.lock().as_slice(),
        [concat!(
            "CONNECT tracker.example:443 HTTP/1.1\r\nHost: tracker.example:443\r\n",
            "Proxy-Authorization: Basic dXNlcjp3b3Jk\r\n\r\n"
        )]
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_proxy_refuses_is_its_own_fault() {
    let network = Network::new();
    let client = client(&network);
    for (answers, text, expected) in [
        (
            "407 No",
            "http://a.example/",
            "it requires a different user name or password",
        ),
        (
            "407 No",
            "https://a.example/",
            "it requires a different user name or password",
        ),
        ("502 Bad", "https://a.example/", "it answered 502"),
    ] {
        let listener = network.listen(at(PROXY));
        let _server = Scripted::start(listener, vec![vec![answer(answers, b"")]]);
        let error = through(&client, "http://10.0.0.9:3128", text).await;
        assert_eq!(error, Err(Error::Proxy(expected.to_owned())));
    }
    let listener = network.listen(at(PROXY));
    let _server = Scripted::start(listener, vec![vec![b"SSH-2.0-x\r\n\r\n".to_vec()]]);
    let error = through(&client, "http://10.0.0.9:3128", "https://a.example/").await;
    assert_eq!(
        error,
        Err(Error::Proxy("it does not speak HTTP".to_owned()))
    );
    let error = through(&client, "https://10.0.0.9:3128", "http://a.example/").await;
    assert!(matches!(error, Err(Error::Proxy(_))));
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_changes_its_mind_is_its_own_fault() {
    let network = Network::new();
    let answers = vec![answer("200 OK", b"ok"), answer("407 No", b"")];
    let _server = Scripted::start(network.listen(at(PROXY)), vec![answers]);
    let client = client(&network);
    let ask = || through(&client, "http://10.0.0.9:3128", "http://a.example/");
    assert_eq!(ask().await.as_deref(), Ok("ok"));
    assert!(matches!(ask().await, Err(Error::Proxy(_))));
    assert_eq!(network.connections(at(PROXY)), 1);
}

#[tokio::test(start_paused = true)]
async fn a_missing_proxy_is_no_missing_upstream() {
    let network = Network::new();
    let client = client(&network);
    for (fault, expected) in [
        (
            Fault::Refused,
            Error::Proxy("connection refused".to_owned()),
        ),
        (Fault::Silent, Error::Proxy("timed out".to_owned())),
        (Fault::Unreachable, Error::Unreachable),
    ] {
        network.set_fault(at(PROXY), fault);
        let error = through(&client, "http://10.0.0.9:3128", "http://a.example/").await;
        assert_eq!(error, Err(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn private_addresses_in_plain_sight_are_refused_before_the_proxy() {
    let network = Network::new();
    let client = client(&network);
    for text in [
        "http://127.0.0.1/",
        "https://[fd00::1]/",
        "http://localhost/",
        "http://a.localhost/",
        "http://nas/",
        "http://nas.lan./",
    ] {
        for proxy in ["http://10.0.0.9:3128", "socks5://10.0.0.9:3128"] {
            let error = through(&client, proxy, text).await;
            assert!(
                matches!(error, Err(Error::Forbidden(_) | Error::LocalName)),
                "{text} {error:?}"
            );
        }
    }
    assert_eq!(network.connections(at(PROXY)), 0);
}

/// A SOCKS5 server that requires `login`, if any, and connects to the name's address in the same network.
async fn socks(mut stream: Accepted, heads: Heads, network: Network, login: bool) -> Option<()> {
    let [5, count] = read::<2>(&mut stream).await? else {
        return None;
    };
    let mut methods = vec![0; usize::from(count)];
    stream.read_exact(&mut methods).await.ok()?;
    let method = if login { 2 } else { 0 };
    let method = if methods.contains(&method) {
        method
    } else {
        255
    };
    stream.write_all(&[5, method]).await.ok()?;
    if login {
        let [1, length] = read::<2>(&mut stream).await? else {
            return None;
        };
        let user = text(&mut stream, length).await?;
        let length = read::<1>(&mut stream).await?[0];
        let password = text(&mut stream, length).await?;
        let fine = user == "user" && password == "word";
        stream.write_all(&[1, u8::from(!fine)]).await.ok()?;
    }
    let [5, 1, 0, kind] = read::<4>(&mut stream).await? else {
        return None;
    };
    let host = match kind {
        1 => std::net::Ipv4Addr::from(read::<4>(&mut stream).await?).to_string(),
        3 => {
            let length = read::<1>(&mut stream).await?[0];
            text(&mut stream, length).await?
        }
        _ => std::net::Ipv6Addr::from(read::<16>(&mut stream).await?).to_string(),
    };
    let port = u16::from_be_bytes(read::<2>(&mut stream).await?);
    heads.lock().push(format!("{host} {port}"));
    let address = match host.parse() {
        Ok(address) => address,
        Err(_) => network.resolve(&host).await.ok()?[0],
    };
    match network.connect((address, port).into()).await {
        Ok(upstream) => {
            let bound = [5, 0, 0, 3, 3, b'a', b'.', b'b', 1, 2];
            stream.write_all(&bound).await.ok()?;
            join(stream, upstream).await;
        }
        Err(_) => stream
            .write_all(&[5, 5, 0, 1, 0, 0, 0, 0, 0, 0])
            .await
            .ok()?,
    }
    Some(())
}

async fn read<const N: usize>(stream: &mut Accepted) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await.ok()?;
    Some(bytes)
}

async fn text(stream: &mut Accepted, length: u8) -> Option<String> {
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await.ok()?;
    String::from_utf8(bytes).ok()
}

#[tokio::test(start_paused = true)]
async fn socks_resolves_names_and_connects() {
    for login in [false, true] {
        let network = Network::new();
        // For the proxy, which is in the same network as the client here.
        network.resolves("tracker.example", &["192.0.2.1"]);
        let inner = network.clone();
        let (heads, _tasks) = proxy(network.listen(at(PROXY)), move |stream, heads| {
            let inner = inner.clone();
            async move {
                let _ = socks(stream, heads, inner, login).await;
            }
        });
        let script = || vec![vec![answer("200 OK", b"ok")]; 2];
        let _plain = Scripted::start(network.listen(at("192.0.2.1:80")), script());
        let _six = Scripted::start(network.listen(at("[2001:db8::1]:81")), script());
        let client = client(&network);
        let proxy = "socks5://user:word@10.0.0.9:3128";
        for (url, seen) in [
            ("http://tracker.example/", "tracker.example 80"),
            ("http://192.0.2.1/", "192.0.2.1 80"),
            ("http://[2001:db8::1]:81/", "2001:db8::1 81"),
        ] {
            assert_eq!(
                through(&client, proxy, url).await.as_deref(),
                Ok("ok"),
                "{url}"
            );
            assert_eq!(heads.lock().last().map(String::as_str), Some(seen));
        }
        let error = through(&client, proxy, "http://192.0.2.99/").await;
        assert_eq!(error, Err(Error::Refused));
    }
}

#[tokio::test(start_paused = true)]
async fn socks_wants_the_right_login() {
    let network = Network::new();
    let inner = network.clone();
    let (_, _tasks) = proxy(network.listen(at(PROXY)), move |stream, heads| {
        let inner = inner.clone();
        async move {
            let _ = socks(stream, heads, inner, true).await;
        }
    });
    let client = client(&network);
    for (proxy, expected) in [
        (
            "socks5://user:wrong@10.0.0.9:3128",
            "it rejected our user name and password",
        ),
        (
            "socks5://10.0.0.9:3128",
            "it requires another kind of sign-in",
        ),
    ] {
        let error = through(&client, proxy, "http://a.example/").await;
        assert_eq!(error, Err(Error::Proxy(expected.to_owned())));
    }
}
