//! Hosts with several addresses: the reply comes from the address that the client called, or the client drops it.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::thread;

use crate::network::Host;
use crate::tracker::PORT;
use crate::{Both, Network, PATIENCE, Weir, reached};

const CONNECT: u32 = 0;
const ANNOUNCE: u32 = 1;
const SCRAPE: u32 = 2;
const ERROR: u32 = 3;

/// A client on UDP that asks one address (BEP 15).
struct Asker {
    socket: UdpSocket,
    address: IpAddr,
}

impl Asker {
    fn new(host: &Host, address: IpAddr) -> Self {
        let socket = host.asks(address, PORT).expect("a route there");
        Self::with(socket, address)
    }

    /// On Weir's own host, where this thread is.
    fn at_home(address: IpAddr) -> Self {
        let any = match address {
            IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0)).expect("a socket");
        socket.connect((address, PORT)).expect("a route there");
        Self::with(socket, address)
    }

    fn with(socket: UdpSocket, address: IpAddr) -> Self {
        socket
            .set_read_timeout(Some(PATIENCE))
            .expect("a time above zero");
        Self { socket, address }
    }

    /// Sends a request with this action and returns the reply without action and transaction.
    fn ask(&self, connection: [u8; 8], action: u32, rest: &[u8], expected: u32) -> Vec<u8> {
        let head = [&connection[..], &action.to_be_bytes(), b"same"].concat();
        let packet = [&head, rest].concat();
        self.socket.send(&packet).expect("it is sent");
        let mut reply = [0; 2048];
        let received = self.socket.recv(&mut reply);
        let length = received.unwrap_or_else(|error| {
            panic!("{} does not answer action {action}: {error}", self.address)
        });
        assert_eq!(reply[..4], expected.to_be_bytes(), "{}", self.address);
        assert_eq!(reply[4..8], *b"same");
        reply[8..length].to_vec()
    }

    fn connect(&self) -> [u8; 8] {
        let magic = 0x0417_2710_1980_u64.to_be_bytes();
        let id = self.ask(magic, CONNECT, &[], CONNECT);
        id.try_into().expect("a connection id")
    }

    /// Whether any reply comes from the address it calls.
    fn hears(&self) -> bool {
        let magic = 0x0417_2710_1980_u64.to_be_bytes();
        let packet = [&magic[..], &CONNECT.to_be_bytes(), b"same"].concat();
        self.socket
            .set_read_timeout(Some(std::time::Duration::from_millis(500)))
            .expect("a time above zero");
        self.socket.send(&packet).is_ok() && self.socket.recv(&mut [0; 64]).is_ok()
    }
}

/// The body of an announce by a leecher.
fn announce(hash: u8) -> Vec<u8> {
    let mut rest = Vec::new();
    rest.extend_from_slice(&[hash; 20]);
    rest.extend_from_slice(b"-XX0000-abcdefghijkl");
    for number in [0u64, 1, 0] {
        rest.extend_from_slice(&number.to_be_bytes());
    }
    // No event, no address, a key, as many peers as we like.
    for number in [0, 0, 7, u32::MAX] {
        rest.extend_from_slice(&number.to_be_bytes());
    }
    rest.extend_from_slice(&6881u16.to_be_bytes());
    rest
}

/// A tracker on this host that names one peer of each family, for as many announces as there are `times`.
fn upstream(times: usize) -> (u16, thread::JoinHandle<()>) {
    let listener = TcpListener::bind((Network::FROM_V4, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let answers = thread::spawn(move || {
        for _ in 0..times {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a request");
                head.push(byte[0]);
            }
            let mut body = b"d8:intervali1800e5:peers6:".to_vec();
            body.extend_from_slice(&[6, 6, 6, 6, 0x1a, 0x0a]);
            body.extend_from_slice(b"6:peers618:");
            let six = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 6);
            body.extend_from_slice(&six.octets());
            body.extend_from_slice(&[0x1a, 0x0a, b'e']);
            let length = body.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).expect("it reads");
            stream.write_all(&body).expect("it reads");
        }
    });
    (port, answers)
}

#[test]
fn each_address_of_the_host_answers_from_itself() {
    let network = Network::new();
    let further: [IpAddr; 2] = [
        Ipv4Addr::new(10, 98, 0, 251).into(),
        Ipv6Addr::new(0x2001, 0xdb8, 0x98, 0, 0, 0, 0, 251).into(),
    ];
    network.change("addr add 10.98.0.251/24 dev hub");
    network.change("addr add 2001:db8:98::fb/64 dev hub nodad preferred_lft 0");
    let asked: [IpAddr; 7] = [
        Network::V4.into(),
        Network::FROM_V4.into(),
        further[0],
        Network::V6.into(),
        Network::FROM_V6.into(),
        further[1],
        Network::LINK.into(),
    ];
    let (port, answers) = upstream(asked.len());
    let uri = format!("http://{}:{port}/announce", Network::FROM_V4);
    let settings = format!(r#"forwarders: [{{ uri: "{uri}" }}], first_wait: 30s"#);
    let _weir = Weir::start(&network, &settings);
    let host = network.host(Both);
    for (address, hash) in asked.into_iter().zip(1..) {
        let asker = Asker::new(&host, address);
        let id = asker.connect();
        // Held until the upstream has answered with its peer.
        let reply = asker.ask(id, ANNOUNCE, &announce(hash), ANNOUNCE);
        let peer = if address.is_ipv4() { 6 } else { 18 };
        assert_eq!(reply.len(), 12 + peer, "{address} was not held");
        // Nothing is held back any more.
        asker.ask(id, ANNOUNCE, &announce(hash), ANNOUNCE);
        let counts = asker.ask(id, SCRAPE, &[hash; 20], SCRAPE);
        assert_eq!(counts.len(), 12, "{address}");
        asker.ask(id, 9, &[0; 90], ERROR);
        asker.ask([1; 8], ANNOUNCE, &announce(hash), ERROR);
    }
    answers.join().expect("every announce went on");
}

/// With a single address, replies need not be sent from a chosen one; as soon as there are two, they must be.
#[test]
fn a_host_with_one_address_answers_from_it_also_when_another_comes() {
    let network = Network::with_one_address();
    let _weir = Weir::start(&network, "");
    let host = network.host(Both);
    for address in [IpAddr::from(Network::V4), Network::V6.into()] {
        Asker::new(&host, address).connect();
        // From the same host.
        Asker::at_home(address).connect();
    }
    for address in ["127.0.0.1", "127.0.0.2", "::1"] {
        let address = address.parse().expect("an address");
        Asker::at_home(address).connect();
    }
    // Like a VPN that takes over the route to the client.
    network.change("addr add 10.98.0.250/32 dev hub");
    network.change("route replace 10.98.0.0/24 dev hub src 10.98.0.250");
    network.change("addr add 2001:db8:98::fa/64 dev hub nodad");
    network.change("-6 addr change 2001:db8:98::1/64 dev hub nodad preferred_lft 0");
    for address in ["10.98.0.250", "2001:db8:98::fa"] {
        // An address that did not exist at the start.
        Asker::new(&host, address.parse().expect("an address")).connect();
    }
    for address in [IpAddr::from(Network::V4), Network::V6.into()] {
        let asker = Asker::new(&host, address);
        assert!(reached(|| asker.hears()), "{address} is not heard any more");
    }
}
