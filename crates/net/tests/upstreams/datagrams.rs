//! Datagrams through the kernel.

use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::timeout;
use weir_net::{Family, Ground, System};

#[tokio::test]
async fn one_socket_speaks_both_families() {
    let system = System::with_name_servers(Vec::new());
    let socket = system.bind(Family::Any).await.expect("a socket");
    for local in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(server) = UdpSocket::bind(local).await else {
            // This machine has no IPv6.
            continue;
        };
        let address = server.local_addr().expect("an address");
        socket.send(b"ping", address).await.expect("sent");
        let mut packet = [0; 16];
        let (length, from) = server.recv_from(&mut packet).await.expect("received");
        assert_eq!(&packet[..length], b"ping");
        server.send_to(b"pong", from).await.expect("sent");
        let (length, from) = socket.receive(&mut packet).await.expect("received");
        assert_eq!((&packet[..length], from), (&b"pong"[..], address));
    }
}

#[tokio::test]
async fn a_socket_of_one_family_refuses_the_other() {
    let system = System::with_name_servers(Vec::new());
    let socket = system.bind(Family::V4).await.expect("a socket");
    let to = "[2001:db8::1]:1".parse().expect("an address");
    assert!(socket.send(b"ping", to).await.is_err());
}

#[tokio::test]
async fn packets_that_nobody_takes_do_not_end_the_socket() {
    let system = System::with_name_servers(Vec::new());
    let socket = system.bind(Family::V4).await.expect("a socket");
    let gone = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let nobody = gone.local_addr().expect("an address");
    drop(gone);
    let server = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let address = server.local_addr().expect("an address");
    let mut packet = [0; 16];
    for _ in 0..3 {
        socket.send(b"lost", nobody).await.expect("sent");
        socket.send(b"ping", address).await.expect("sent");
        let (_, from) = server.recv_from(&mut packet).await.expect("received");
        server.send_to(b"pong", from).await.expect("sent");
        let received = timeout(Duration::from_secs(5), socket.receive(&mut packet));
        let (length, from) = received.await.expect("in time").expect("received");
        assert_eq!((&packet[..length], from), (&b"pong"[..], address));
    }
}
