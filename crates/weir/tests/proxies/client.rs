//! A client that comes from an address of its own, over TLS.

use std::io::{BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use socket2::{Domain, Socket, Type};

use super::proxy::Proxy;
use super::{NAME, PATIENCE};

pub(crate) type Stream = BufReader<StreamOwned<ClientConnection, TcpStream>>;

pub(crate) struct Client<'a> {
    proxy: &'a Proxy,
    /// Its address is 127.0.0 and this.
    pub(crate) last: u8,
}

impl<'a> Client<'a> {
    pub(crate) fn new(proxy: &'a Proxy, last: u8) -> Self {
        Self { proxy, last }
    }

    /// The whole answer.
    pub(crate) fn get(&self, path: &str, headers: &str) -> String {
        Self::read(self.open("GET", path, headers, ""))
    }

    /// The whole answer to a form.
    pub(crate) fn post(&self, path: &str, headers: &str, form: &str) -> String {
        let headers = format!(
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n{headers}",
            form.len()
        );
        Self::read(self.open("POST", path, &headers, form))
    }

    /// The answer as it comes.
    pub(crate) fn open(&self, method: &str, path: &str, headers: &str, body: &str) -> Stream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let own = Ipv4Addr::new(127, 0, 0, self.last);
        socket.bind(&SocketAddr::from((own, 0)).into()).unwrap();
        socket.connect(&self.proxy.address.into()).unwrap();
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = ServerName::try_from(NAME).unwrap();
        let connection = ClientConnection::new(Arc::new(self.config()), name).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n{headers}\r\n{body}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    fn config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        let pem = self.proxy.certificate.certificate.as_bytes();
        roots
            .add(CertificateDer::from_pem_slice(pem).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap();
        config.with_root_certificates(roots).with_no_client_auth()
    }

    /// Reads to the end; some programs end a connection without saying so.
    fn read(mut stream: Stream) -> String {
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        assert!(ended.is_ok() || !answer.is_empty(), "{ended:?}");
        String::from_utf8_lossy(&answer).into_owned()
    }
}
