//! Keys with rights in the whole program: what each protocol says to too little, and a full disk.

use std::collections::{BTreeSet, VecDeque};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use tempfile::TempDir;

use super::demo::Demo;
use super::{Weir, ask, ask_with, config};

const KEY: &str = "the-first-key-of-all";

fn send(address: SocketAddr, line: &str, key: &str, kind: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: {key}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn make(address: SocketAddr, name: &str, right: &str) -> String {
    make_with(KEY, address, name, right)
}

fn make_with(key: &str, address: SocketAddr, name: &str, right: &str) -> String {
    let body = format!("{{\"name\":\"{name}\",\"right\":\"{right}\"}}");
    let made = send(address, "POST /api/v1/keys", key, "application/json", &body);
    let (_, rest) = made.split_once("\"key\":\"").expect("a key");
    rest.split_once('"').unwrap().0.to_owned()
}

#[test]
fn each_protocol_refuses_too_little_in_its_own_words() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let (_weir, address) = Weir::start(dir.path(), &[]);
    let (read, search) = (
        make(address, "reader", "read"),
        make(address, "Sonarr", "search"),
    );
    let feed = ask(address, "GET /torznab/api?t=search", &read);
    assert!(feed.starts_with("HTTP/1.1 403"), "{feed}");
    assert!(feed.contains("<error code=\"102\""), "{feed}");
    assert!(feed.contains("search and download"), "{feed}");
    for line in [
        "POST /api/v1/backups",
        "POST /api/v1/reload",
        "POST /settings/reload",
    ] {
        let refused = ask(address, line, &search);
        assert!(refused.starts_with("HTTP/1.1 403"), "{line}: {refused}");
        assert!(refused.contains("right “everything”"), "{line}: {refused}");
    }
    assert!(ask(address, "GET /search", &read).starts_with("HTTP/1.1 403"));
    for path in [
        "/",
        "/upstreams",
        "/swarms",
        "/news",
        "/history",
        "/connect",
        "/settings",
    ] {
        let page = ask(address, &format!("GET {path}"), &read);
        assert!(page.starts_with("HTTP/1.1 200"), "{path}: {page}");
        assert!(!page.contains(KEY), "{path} shows the first key");
    }
    let searching = ask(address, "GET /search", &search);
    assert!(searching.starts_with("HTTP/1.1 200"), "{searching}");
    let posting = ask(address, "GET /news/compose", &search);
    assert!(posting.contains("right “post”"), "{posting}");
    // Where it was made says which program: it turns up on the page Connect by its key alone.
    let before = ask(address, "GET /connect", KEY);
    assert!(before.contains("Weir heard from Sonarr"), "{before}");
    let agent = ask_with(
        address,
        "GET /torznab/api?t=search",
        &search,
        "User-Agent: curl/8\r\n",
    );
    assert!(!agent.starts_with("HTTP/1.1 40"), "{agent}");
}

#[test]
fn a_reload_applies_what_was_looked_at_or_nothing() {
    let dir = TempDir::new().unwrap();
    let file = |tries: u8| {
        let text = format!("web: {{ api_key: {KEY}, sign_in_tries: {tries} }}\n");
        config(dir.path(), &text);
    };
    file(6);
    let (_weir, address) = Weir::start(dir.path(), &[]);
    file(7);
    let preview = ask(address, "GET /settings/reload", KEY);
    let (_, rest) = preview.split_once("name=\"seen\" value=\"").unwrap();
    let seen = format!("seen={}", rest.split_once('"').unwrap().0);
    let form = "application/x-www-form-urlencoded";
    file(8);
    let refused = send(address, "POST /settings/reload", KEY, form, &seen);
    assert!(refused.starts_with("HTTP/1.1 409"), "{refused}");
    assert!(
        refused.contains("<code>8</code>"),
        "what there is now is shown: {refused}"
    );
    let page = ask(address, "GET /settings?filter=sign_in_tries", KEY);
    assert!(page.contains("<code>6</code>"), "{page}");
    file(7);
    let applied = send(address, "POST /settings/reload", KEY, form, &seen);
    assert!(applied.starts_with("HTTP/1.1 303"), "{applied}");
}

#[test]
fn on_a_full_disk_nothing_is_made_or_revoked_and_it_says_so() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let (weir, address) = Weir::start_on_full_disk(dir.path());
    let old = make(address, "old", "read");
    weir.limit_files("1024");
    let form = "application/x-www-form-urlencoded";
    let body = "name=A+new+one&right=post";
    let refused = send(address, "POST /settings/access/keys", KEY, form, body);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("Nothing was changed: state.db cannot be written. Is the disk full?"));
    assert!(
        refused.contains("value=\"A new one\""),
        "what was typed is kept"
    );
    let refused = send(address, "DELETE /api/v1/keys/1", KEY, form, "");
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(
        ask(address, "GET /api/v1/status", &old).starts_with("HTTP/1.1 200"),
        "it still holds"
    );
    weir.limit_files("unlimited");
    let list = ask(address, "GET /api/v1/keys", KEY);
    assert!(
        list.contains("\"old\"") && !list.contains("A new one"),
        "{list}"
    );
    make(address, "A new one", "post");
    let revoked = send(address, "DELETE /api/v1/keys/1", KEY, form, "");
    assert!(revoked.starts_with("HTTP/1.1 200"), "{revoked}");
    assert!(ask(address, "GET /api/v1/status", &old).starts_with("HTTP/1.1 401"));
}

#[test]
fn on_a_full_disk_signing_in_and_out_says_why_it_fails() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &format!("web: {{ api_key: {KEY} }}\n"));
    let (weir, address) = Weir::start_on_full_disk(dir.path());
    let cookie = |answer: &str, name: &str| {
        let (_, rest) = answer.split_once(&format!("set-cookie: {name}=")).unwrap();
        format!("Cookie: {name}={}\r\n", rest.split(';').next().unwrap())
    };
    // As a browser asks: with cookies and without a key.
    let browse = |line: &str, headers: &str, form: &[(&str, &str)]| {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let kind = "Content-Type: application/x-www-form-urlencoded";
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: weir\r\n{headers}{kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let token = |page: &str| {
        let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let sign_in = || {
        let shown = browse("GET /sign-in", "", &[]);
        let bound = cookie(&shown, "weir_form");
        let form = [("csrf", token(&shown)), ("key", KEY.to_owned())];
        let form = form.each_ref().map(|(name, value)| (*name, value.as_str()));
        browse("POST /sign-in", &bound, &form)
    };
    let full = "Nothing was changed: state.db cannot be written. Is the disk full?";
    let session = cookie(&sign_in(), "weir_session");
    weir.limit_files("1024");
    let refused = sign_in();
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains(full), "{refused}");
    let page = browse("GET /", &session, &[]);
    let csrf = token(&page);
    let refused = browse("POST /sign-out", &session, &[("csrf", &csrf)]);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains(full), "{refused}");
    // Nor does a session end for others.
    let listed = browse("GET /settings/access", &session, &[]);
    let (_, one) = listed
        .split_once("action=\"/settings/access/sessions/")
        .unwrap_or_else(|| panic!("no session in {listed}"));
    let one = one.split('"').next().unwrap().to_owned();
    for path in [&*one, "end"] {
        let line = format!("POST /settings/access/sessions/{path}");
        let refused = browse(&line, &session, &[("csrf", &csrf), ("keep", "")]);
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        assert!(refused.contains(full), "{refused}");
        let still = browse("GET /settings/access", &session, &[]);
        assert!(still.starts_with("HTTP/1.1 200"), "{still}");
    }
    // The first steps close at once, and again after a restart.
    assert!(page.contains("First steps"), "{page}");
    let closed = browse("POST /first-run/close", &session, &[("csrf", &csrf)]);
    assert!(closed.starts_with("HTTP/1.1 303"), "{closed}");
    assert!(!browse("GET /", &session, &[]).contains("First steps"));
    weir.limit_files("unlimited");
    let line = format!("POST /settings/access/sessions/{one}");
    let ended = browse(&line, &session, &[("csrf", &csrf)]);
    assert!(ended.starts_with("HTTP/1.1 303"), "{ended}");
    assert!(!browse("GET /settings/access", &session, &[]).starts_with("HTTP/1.1 200"));
}

#[test]
fn on_a_full_disk_an_article_that_was_typed_comes_back_with_the_reason() {
    let dir = TempDir::new().unwrap();
    let server = "news: { servers: [{ name: a, host: 127.0.0.1, port: 9, tls: off }] }";
    config(
        dir.path(),
        &format!("web: {{ api_key: {KEY} }}\n{server}\n"),
    );
    let (weir, address) = Weir::start_on_full_disk(dir.path());
    let form = "application/x-www-form-urlencoded";
    let body = "address=a%40b.example&newsgroups=misc.test&subject=s&text=Typed+words&act=keep";
    weir.limit_files("1024");
    let refused = send(address, "POST /news/drafts", KEY, form, body);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(
        refused.contains("Not kept: state.db cannot be written. Is the disk full?"),
        "{refused}"
    );
    assert!(refused.contains("\nTyped words</textarea>"), "{refused}");
    weir.limit_files("unlimited");
    let kept = send(address, "POST /news/drafts", KEY, form, body);
    assert!(kept.starts_with("HTTP/1.1 303"), "{kept}");
}

#[test]
fn a_program_whose_key_was_revoked_does_not_work() {
    let dir = TempDir::new().unwrap();
    let indexer = "search: { indexers: [{ name: a, url: 'http://127.0.0.1:9/api' }] }";
    config(
        dir.path(),
        &format!("web: {{ api_key: {KEY} }}\n{indexer}\n"),
    );
    let (weir, address) = Weir::start(dir.path(), &[]);
    let key = make(address, "my Sonarr", "search");
    let heard_at = |address: SocketAddr| {
        let page = ask(address, "GET /connect", KEY);
        let (_, rest) = page.split_once("data-heard=\"sonarr\">").unwrap();
        rest.split_once('<').unwrap().0.to_owned()
    };
    let heard = || heard_at(address);
    let agent = "User-Agent: Sonarr/4.0\r\n";
    ask_with(address, "GET /torznab/api?t=search&q=a", &key, agent);
    assert!(heard().ends_with(". It works."), "{}", heard());
    let revoked = send(
        address,
        "DELETE /api/v1/keys/1",
        KEY,
        "application/json",
        "",
    );
    assert!(revoked.starts_with("HTTP/1.1 200"), "{revoked}");
    assert!(
        heard().ends_with(", with a key that has since been revoked."),
        "{}",
        heard()
    );
    // After a restart nobody knows with which key it came, and so nobody says that it works.
    weir.signal("TERM");
    assert!(weir.end().0.success());
    let (_weir, address) = Weir::start(dir.path(), &[]);
    let said = heard_at(address);
    assert!(
        said.starts_with("Weir heard from Sonarr ") && !said.contains("It works"),
        "{said}"
    );
    ask_with(address, "GET /torznab/api?t=search&q=a", KEY, agent);
    let said = heard_at(address);
    assert!(said.ends_with(". It works."), "{said}");
}

#[test]
fn pages_of_lesser_keys_hide_what_would_be_refused() {
    let dir = TempDir::new().unwrap();
    config(
        dir.path(),
        &format!(
            "web: {{ api_key: {KEY} }}\nsearch: {{ indexers: [{{ name: a, url: 'http://127.0.0.1:9/api' }}] }}\n"
        ),
    );
    let (_weir, address) = Weir::start(dir.path(), &[]);
    let read = make(address, "reader", "read");
    for path in ["/", "/upstreams", "/upstreams/search/a"] {
        let page = ask(address, &format!("GET {path}"), &read);
        assert!(
            page.contains("<body class=\"lesser no-search no-post\">"),
            "{path}: {page}"
        );
        let page = ask(address, &format!("GET {path}"), KEY);
        assert!(page.contains("<body>"), "{path}: {page}");
    }
}

/// All that a page offers, as the first lines of requests: links and forms. What the style hides from lesser keys is left out.
fn offers(page: &str, right: &str) -> Vec<String> {
    const VOID: [&str; 5] = ["input", "meta", "link", "br", "!doctype"];
    let mut found = Vec::new();
    let mut open: Vec<(&str, bool)> = Vec::new();
    for tag in page.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        if let Some(name) = tag.strip_prefix('/') {
            let at = open.iter().rposition(|(other, _)| *other == name);
            open.truncate(at.unwrap_or(open.len()));
            continue;
        }
        let name = tag.split([' ', '\n']).next().unwrap();
        let attribute = |which: &str| {
            let (_, rest) = tag.split_once(&format!(" {which}=\""))?;
            let value = rest.split('"').next()?.split('#').next()?;
            Some(value.to_owned())
        };
        let is_inside = open.last().is_some_and(|(_, is_hidden)| *is_hidden);
        let classes = attribute("class").unwrap_or_default();
        let is_hidden = is_inside
            || classes.split(' ').any(|class| match class {
                "operator" => true,
                "needs-search" => right != "search",
                "needs-post" => right != "post",
                _ => false,
            });
        let method = attribute("method").unwrap_or_default();
        let offer = match name {
            "a" => attribute("href").map(|path| ("GET", path)),
            "form" if method == "post" => attribute("action").map(|path| ("POST", path)),
            "form" => attribute("action").map(|path| ("GET", path)),
            _ => None,
        };
        let offer = offer.filter(|(_, path)| path.starts_with('/') && !is_hidden);
        found.extend(offer.map(|(method, path)| format!("{method} {path}")));
        if !VOID.contains(&name) && !tag.ends_with('/') {
            open.push((name, is_hidden));
        }
    }
    found
}

/// Follows all that pages offer to whoever has this key, from the overview on; what was refused, with where it was offered.
fn refusals(address: SocketAddr, key: &str, right: &str, most: usize) -> (usize, Vec<String>) {
    let mut seen = BTreeSet::new();
    let first = ("GET /".to_owned(), String::new());
    let (mut waiting, mut refused) = (VecDeque::from([first]), Vec::new());
    while let Some((line, from)) = waiting.pop_front() {
        if seen.len() == most || !seen.insert(line.clone()) {
            continue;
        }
        let form = "application/x-www-form-urlencoded";
        let answer = send(address, &line, key, form, "");
        if answer.starts_with("HTTP/1.1 403") {
            refused.push(format!("{line}, offered by {from}"));
        } else if line.starts_with("GET ") && answer.contains("text/html") {
            waiting.extend(
                offers(&answer, right)
                    .into_iter()
                    .map(|offer| (offer, line.clone())),
            );
        }
    }
    (seen.len(), refused)
}

#[test]
fn no_page_of_a_lesser_key_offers_what_would_be_refused() {
    let nothing = format!("web: {{ api_key: {KEY} }}\n");
    let one_each = format!(
        "{nothing}search: {{ indexers: [{{ name: a, url: 'http://127.0.0.1:9/api' }}] }}\n\
         tracker: {{ forwarders: [{{ name: b, uri: 'http://127.0.0.1:9/announce' }}] }}\n\
         news: {{ servers: [{{ name: c, host: 127.0.0.1, port: 9, tls: off }}] }}\n\
         notify: {{ hooks: [{{ name: d, url: 'http://127.0.0.1:9/' }}] }}\n"
    );
    for text in [nothing, one_each] {
        let dir = TempDir::new().unwrap();
        config(dir.path(), &text);
        let (_weir, address) = Weir::start(dir.path(), &[]);
        for right in ["read", "search", "post"] {
            let key = make(address, right, right);
            let (followed, refused) = refusals(address, &key, right, 400);
            assert!(followed > 15, "{right}: only {followed}");
            assert!(refused.is_empty(), "{right}: {refused:#?}");
        }
    }
}

#[test]
fn no_page_of_a_lesser_key_offers_what_would_be_refused_when_there_is_much_to_see() {
    let demo = Demo::start();
    demo.until("are there newsgroups", "/api/v1/news/groups", |groups| {
        groups.to_string().contains("rivers.weirs")
    });
    for right in ["read", "search", "post"] {
        let key = make_with(&demo.key, demo.web, right, right);
        let (_, refused) = refusals(demo.web, &key, right, 250);
        assert!(refused.is_empty(), "{right}: {refused:#?}");
    }
}
