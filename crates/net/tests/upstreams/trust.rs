//! TLS: which certificates it trusts and what it asks for.

use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use weir_net::http::{Client, Limits, Request, Roots};
use weir_net::{Error, Reach, Stream, System};
use weir_testkit::memory::Network;

use crate::{answer, at, get, head, url};

/// A server's side of TLS and the PEM that a client must trust.
pub(crate) fn certificate(name: &str) -> (TlsAcceptor, Vec<u8>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a server");
    (TlsAcceptor::from(Arc::new(config)), cert.pem().into_bytes())
}

/// Answers requests on a secure stream with what the client asked for.
pub(crate) async fn serve(acceptor: TlsAcceptor, stream: impl Stream) {
    let Ok(mut stream) = acceptor.accept(stream).await else {
        return;
    };
    let name = stream
        .get_ref()
        .1
        .server_name()
        .unwrap_or("nobody")
        .to_owned();
    while let Some(head) = head(&mut stream).await {
        let body = format!("{name} {head}");
        let _ = stream.write_all(&answer("200 OK", body.as_bytes())).await;
        let _ = stream.flush().await;
    }
}

fn trusting(network: &Network, roots: Roots) -> Client {
    Client::new(network.ground(), roots, Limits::default()).expect("a client")
}

#[tokio::test(start_paused = true)]
async fn a_trusted_certificate_opens_and_the_host_header_does_not_change_the_name() {
    let network = Network::new();
    network.resolves("tracker.example", &["192.0.2.1"]);
    let (acceptor, pem) = certificate("tracker.example");
    let mut listener = network.listen(at("192.0.2.1:443"));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Some(stream) = listener.accept().await {
            serve(acceptor.clone(), stream).await;
        }
    });
    let client = trusting(&network, Roots::Pem(pem.clone()));
    let url = url("https://tracker.example/announce");
    let request = Request {
        host: Some("other.example"),
        ..Request::new(&url)
    };
    for _ in 0..2 {
        let response = client.get(&request).await.expect("an answer");
        let body = String::from_utf8_lossy(&response.body).into_owned();
        let expected = "tracker.example GET /announce HTTP/1.1\r\nHost: other.example\r\n";
        assert!(body.starts_with(expected), "{body}");
    }
    assert_eq!(network.connections(at("192.0.2.1:443")), 1);
    drop(client);
    let also = trusting(&network, Roots::SystemAnd(pem));
    also.get(&request).await.expect("an answer");
}

#[tokio::test(start_paused = true)]
async fn strangers_and_wrong_names_are_not_trusted() {
    let network = Network::new();
    network.resolves("tracker.example", &["192.0.2.1"]);
    network.resolves("other.example", &["192.0.2.1"]);
    let (acceptor, pem) = certificate("tracker.example");
    let (_, strange) = certificate("tracker.example");
    let mut listener = network.listen(at("192.0.2.1:443"));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Some(stream) = listener.accept().await {
            serve(acceptor.clone(), stream).await;
        }
    });
    for (roots, text) in [
        (Roots::Pem(strange), "https://tracker.example/"),
        (Roots::System, "https://tracker.example/"),
        (Roots::Pem(pem.clone()), "https://other.example/"),
        (Roots::Pem(pem), "https://192.0.2.1/"),
    ] {
        let error = get(&trusting(&network, roots), text).await;
        assert!(
            matches!(error, Err(Error::Untrusted(_))),
            "{text} {error:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn who_does_not_speak_tls_is_told_so() {
    let network = Network::new();
    let (_, pem) = certificate("tracker.example");
    let client = trusting(&network, Roots::Pem(pem));
    for (bytes, cut) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], false),
        (b"", true),
    ] {
        let mut listener = network.listen(at("192.0.2.1:443"));
        let server = async {
            let mut stream = listener.accept().await.expect("a connection");
            stream.write_all(bytes).await.expect("sent");
        };
        let (error, ()) = tokio::join!(get(&client, "https://192.0.2.1/"), server);
        match error {
            Err(Error::Cut) if cut => {}
            Err(Error::NotTls) if !cut => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tls_may_end_without_a_goodbye_if_nothing_is_missing() {
    for (answer, expected) in [
        ("HTTP/1.1 200 OK\r\n\r\nhello", Ok(&b"hello"[..])),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
            Err(Error::Cut),
        ),
    ] {
        let network = Network::new();
        let (acceptor, pem) = certificate("192.0.2.1");
        let client = trusting(&network, Roots::Pem(pem));
        let mut listener = network.listen(at("192.0.2.1:443"));
        let server = async {
            let stream = listener.accept().await.expect("a connection");
            let mut stream = acceptor.accept(stream).await.expect("a client");
            head(&mut stream).await.expect("a request");
            stream.write_all(answer.as_bytes()).await.expect("sent");
            stream.flush().await.expect("sent");
        };
        let (response, ()) = tokio::join!(get(&client, "https://192.0.2.1/"), server);
        let body = response.map(|response| response.body);
        assert_eq!(body.as_deref().map_err(Clone::clone), expected);
    }
}

#[tokio::test]
async fn certificates_that_are_none_are_refused_at_once() {
    let network = Network::new();
    for roots in [
        Roots::Pem(b"junk".to_vec()),
        Roots::Pem(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec()),
        Roots::SystemAnd(Vec::new()),
        Roots::SystemAnd(
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec(),
        ),
    ] {
        let client = Client::new(network.ground(), roots, Limits::default());
        assert!(matches!(client.err(), Some(Error::Roots(_))));
    }
}

#[tokio::test]
async fn tls_works_over_the_kernel() {
    let (acceptor, pem) = certificate("127.0.0.1");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        serve(acceptor, stream).await;
    });
    let system = Arc::new(System::with_name_servers(Vec::new()));
    let client = Client::new(system, Roots::Pem(pem), Limits::default()).expect("a client");
    let url = url(&format!("https://127.0.0.1:{port}/announce"));
    let request = Request {
        reach: Reach::Everywhere,
        ..Request::new(&url)
    };
    for _ in 0..2 {
        let response = client.get(&request).await.expect("an answer");
        assert!(
            response
                .body
                .starts_with(b"nobody GET /announce HTTP/1.1\r\n")
        );
        assert_eq!(client.idle(), 1);
    }
}
