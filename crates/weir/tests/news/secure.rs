//! Encrypted connections and passwords, with real servers and a certificate of our own.

use std::fs;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_testkit::inn::{Certificate, Inn, Options};

use super::articles::{Posted, id};
use super::weir::{Weir, configure};
use super::{text, wait};

/// A server that wants a name and a password, and what it needs to be trusted.
struct Vault {
    inn: Inn,
    certificate: Certificate,
    directory: TempDir,
    _runtime: Runtime,
}

impl Vault {
    fn open() -> Self {
        let runtime = Runtime::new().unwrap();
        let certificate = Certificate::new(&["localhost"]).unwrap();
        let options = Options {
            account: Some(("reader".to_owned(), "hunter2".to_owned())),
            tls: Some(certificate.clone()),
            ..Options::with(&["misc.test"])
        };
        let inn = runtime.block_on(Inn::start(options)).unwrap();
        let article = Posted::plain("secret", "misc.test", 1, &[]);
        runtime.block_on(inn.feed([article.bytes])).unwrap();
        Self {
            inn,
            certificate,
            directory: TempDir::new().unwrap(),
            _runtime: runtime,
        }
    }

    /// An entry for it under this name.
    fn entry(&self, name: &str, tls: &str, password: Option<&str>) -> String {
        let address = match tls {
            "tls" => self.inn.tls_address().unwrap(),
            _ => self.inn.address(),
        };
        let sign_in = password.map_or_else(String::new, |password| {
            format!(", username: reader, password: {password}")
        });
        let port = address.port();
        format!("{{ name: {name}, host: localhost, port: {port}, tls: {tls}{sign_in} }}")
    }

    /// Weir in front of it; who is trusted is told as every program is told.
    fn weir(&self, entries: &[String], trusted: bool) -> Weir {
        // What one Weir has read is no proof of what the next one can.
        let home = TempDir::new_in(self.directory.path()).unwrap().keep();
        let pem = home.join("roots.pem");
        let other = Certificate::new(&["elsewhere.example"]).unwrap();
        let roots = if trusted { &self.certificate } else { &other };
        fs::write(&pem, &roots.certificate).unwrap();
        configure(&home, entries, "");
        Weir::start(&home, &[("SSL_CERT_FILE", pem.to_str().unwrap())])
    }
}

/// What the page of an upstream says of it.
fn page(weir: &Weir, name: &str) -> String {
    weir.page(&format!("/upstreams/news/{name}"))
}

#[test]
fn articles_come_through_tls_and_starttls_with_a_password() {
    let vault = Vault::open();
    for (name, tls) in [("whole", "tls"), ("begun", "starttls"), ("tried", "auto")] {
        let weir = vault.weir(&[vault.entry(name, tls, Some("hunter2"))], true);
        let path = format!("/api/v1/news/articles/{}", id("secret"));
        let article = weir.json(&path);
        assert_eq!(
            text(&article["text"]).trim(),
            "The text of secret.",
            "{tls}"
        );
        assert_eq!(weir.json("/api/v1/news/groups/misc.test")["known"], 1);
        let said = page(&weir, name);
        assert!(said.contains("<dd>TLS</dd>"), "{tls}: {said}");
        let log = weir.log();
        assert!(log.contains("encryption=\"TLS"), "{tls}: {log}");
        assert!(!log.contains("hunter2"), "{log}");
    }
}

#[test]
fn a_wrong_password_and_an_unknown_certificate_are_named_on_the_page_of_the_server() {
    let vault = Vault::open();
    let entries = [
        vault.entry("mistyped", "tls", Some("wrong-word")),
        vault.entry("nameless", "starttls", None),
    ];
    let weir = vault.weir(&entries, true);
    let (status, _, body) = weir.ask("GET /news/misc.test", "");
    let body = String::from_utf8(body).unwrap();
    assert_eq!(status, 503, "{body}");
    for reason in [
        "it rejected our user name or password",
        "it wants a user name and a password",
    ] {
        assert!(body.contains(reason), "{reason} for readers: {body}");
    }
    for (name, reason) in [
        ("mistyped", "rejected our user name or password"),
        ("nameless", "wants a user name and a password"),
    ] {
        let said = wait(&format!("the page says why {name} fails"), || {
            let said = page(&weir, name);
            said.contains(reason).then_some(said)
        });
        assert!(!said.contains("wrong-word"), "{said}");
    }
    drop(weir);

    let stranger = vault.entry("stranger", "auto", Some("hunter2"));
    let weir = vault.weir(&[stranger], false);
    weir.probe("stranger");
    let said = page(&weir, "stranger");
    assert!(said.contains("no secure connection"), "{said}");
    assert!(!weir.log().contains("hunter2"));
}
