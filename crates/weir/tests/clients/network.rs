//! A separate network for one test: Weir's host in the middle, one host per client around it.
//!
//! Every host is a network namespace, connected to Weir's by a bridge. So each client has its own addresses, fixed ports
//! do not collide with those of another test, and nothing reaches an outside network. Weir's host has several addresses
//! in each family, and clients know one that routing would not choose: they drop replies from any other.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A name that resolves to both addresses of Weir on every host.
pub(crate) const NAME: &str = "tracker.example";

/// Which addresses a host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Families {
    V4,
    V6,
    Both,
}

/// Weir's host. The thread that created it is inside: whatever it connects to or starts is in this network.
pub(crate) struct Network {
    hub: Space,
    hosts: Cell<u8>,
}

/// A client's host.
pub(crate) struct Host {
    space: Space,
    pub(crate) v4: Option<Ipv4Addr>,
    pub(crate) v6: Option<Ipv6Addr>,
}

impl Network {
    /// Weir's addresses, as clients know them.
    pub(crate) const V4: Ipv4Addr = v4(1);
    pub(crate) const V6: Ipv6Addr = v6(1);
    /// Where Weir's own calls come from.
    pub(crate) const FROM_V4: Ipv4Addr = v4(250);
    pub(crate) const FROM_V6: Ipv6Addr = v6(250);
    /// Link-local.
    pub(crate) const LINK: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x98);

    pub(crate) fn new() -> Self {
        let network = Self::with_one_address();
        // Routing prefers the first IPv4 address added, and the IPv6 address that is not deprecated.
        network.change(&format!("addr del {}/24 dev hub", Self::V4));
        network.change(&format!("addr del {}/64 dev hub", Self::V6));
        let hub = &network.hub;
        hub.give("hub", Some(Self::FROM_V4), Some(Self::FROM_V6));
        hub.give("hub", Some(Self::V4), None);
        for rest in [
            format!("{}/64 dev hub nodad preferred_lft 0", Self::V6),
            format!("{}/64 dev hub nodad", Self::LINK),
        ] {
            network.change(&format!("addr add {rest}"));
        }
        network
    }

    /// With only those addresses on Weir's host that clients know.
    pub(crate) fn with_one_address() -> Self {
        let hub = Space::new();
        // Without its own MAC address, a bridge uses those of its ports. It would change with each new host, and
        // packets on their way to the old one would be lost.
        hub.ip("link add hub address 02:00:00:00:98:01 type bridge");
        hub.ip("link set hub addrgenmode none up");
        hub.give("hub", Some(Self::V4), Some(Self::V6));
        hub.enter().expect("root may enter a namespace it made");
        Self {
            hub,
            hosts: Cell::new(1),
        }
    }

    /// Changes Weir's host with `ip`.
    pub(crate) fn change(&self, words: &str) {
        self.hub.ip(words);
    }

    /// A new host next to Weir's.
    pub(crate) fn host(&self, families: Families) -> Host {
        let number = self.hosts.get() + 1;
        self.hosts.set(number);
        let space = Space::new();
        let pid = space.keeper.id();
        self.hub.ip(&format!(
            "link add host{number} master hub type veth peer name net netns {pid}"
        ));
        self.hub
            .ip(&format!("link set host{number} addrgenmode none up"));
        space.ip("link set net addrgenmode none up");
        let v4 = (families != Families::V6).then_some(v4(number));
        let v6 = (families != Families::V4).then_some(v6(number));
        space.give("net", v4, v6);
        if v6.is_some() {
            space.ip(&format!("addr add fe80::{number}/64 dev net nodad"));
        }
        // Some programs use a family only if it has a default route.
        if v4.is_some() {
            space.ip(&format!("route add default via {}", Self::V4));
        } else {
            // Leads nowhere. Without any IPv4, transmission cannot even open a port for its own host.
            space.ip("addr add 192.0.2.1/32 dev lo");
        }
        if v6.is_some() {
            space.ip(&format!("-6 route add default via {}", Self::V6));
        }
        Host { space, v4, v6 }
    }
}

impl Host {
    /// A program to be started on this host.
    pub(crate) fn command(&self, program: &str) -> Command {
        self.space.command(program)
    }

    /// Gives the host one more address.
    pub(crate) fn also(&self, address: Ipv4Addr) {
        self.space.ip(&format!("addr add {address}/24 dev net"));
    }

    /// Moves the calling thread here.
    pub(crate) fn enter(&self) -> io::Result<()> {
        self.space.enter()
    }

    /// Connects to a port that is open only on this host.
    pub(crate) fn connect(&self, port: u16) -> io::Result<TcpStream> {
        self.visit(|| TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))))
    }

    /// A socket on this host that accepts packets only from this address of Weir's host.
    pub(crate) fn asks(&self, address: IpAddr, port: u16) -> io::Result<UdpSocket> {
        self.visit(|| {
            let (any, link) = match address {
                IpAddr::V4(_) => (IpAddr::from(Ipv4Addr::UNSPECIFIED), false),
                IpAddr::V6(v6) => (Ipv6Addr::UNSPECIFIED.into(), v6.is_unicast_link_local()),
            };
            let socket = UdpSocket::bind((any, 0))?;
            match link {
                true => socket.connect((format!("{address}%net"), port))?,
                false => socket.connect((address, port))?,
            }
            Ok(socket)
        })
    }

    /// Opens something on this host.
    fn visit<T: Send>(&self, open: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let opened = thread::scope(|scope| {
            let visit = scope.spawn(|| {
                self.space.enter()?;
                open()
            });
            visit.join()
        });
        opened.expect("a thread that only opens a socket")
    }
}

/// A private address.
const fn v4(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 98, 0, number)
}

/// An address reserved for documentation: unlike private ones, clients treat it as a real one.
const fn v6(number: u8) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0x98, 0, 0, 0, 0, number as u16)
}

/// Network and mount namespaces, which exist as long as the process that holds them. That process ends when its input
/// closes, so even a test that is killed leaves nothing behind.
struct Space {
    keeper: Child,
}

/// Gives the namespace its own hosts file.
const KEEP: &str = r#"
mount -t tmpfs hosts /mnt && printf '%s\n' "$@" > /mnt/hosts && mount --bind /mnt/hosts /etc/hosts && echo there
exec cat
"#;

impl Space {
    fn new() -> Self {
        let mut keeper = Command::new("unshare")
            .args(["--net", "--mount", "--", "sh", "-c", KEEP, "keep"])
            .args(["127.0.0.1 localhost", "::1 localhost"])
            .arg(format!("{} {NAME}", Network::V4))
            .arg(format!("{} {NAME}", Network::V6))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("`unshare` is in Debian's util-linux");
        let mut said = String::new();
        let stdout = keeper.stdout.as_mut().expect("it is piped");
        let read = BufReader::new(stdout).read_line(&mut said);
        if read.is_err() || said != "there\n" {
            drop(keeper.stdin.take());
            let mut why = String::new();
            let stderr = keeper.stderr.take().expect("it is piped");
            drop(BufReader::new(stderr).read_to_string(&mut why));
            drop(keeper.wait());
            panic!(
                "tests with real clients need network namespaces, and making one failed (run them as root): {why}"
            );
        }
        let space = Self { keeper };
        space.ip("link set lo up");
        space
    }

    /// Moves the calling thread here.
    fn enter(&self) -> io::Result<()> {
        let file = File::open(format!("/proc/{}/ns/net", self.keeper.id()))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(())
    }

    /// A command that runs here; its process id is the program's.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let pid = self.keeper.id().to_string();
        command.args(["--target", &pid, "--net", "--mount", "--", program]);
        command
    }

    /// Runs `ip` here.
    fn ip(&self, words: &str) {
        let output = self
            .command("ip")
            .args(words.split(' '))
            .output()
            .expect("`nsenter` is in Debian's util-linux");
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`ip {words}` failed: {why}");
    }

    fn give(&self, link: &str, v4: Option<Ipv4Addr>, v6: Option<Ipv6Addr>) {
        if let Some(v4) = v4 {
            self.ip(&format!("addr add {v4}/24 dev {link}"));
        }
        if let Some(v6) = v6 {
            // Usable at once, because nobody else can have it (no duplicate address detection).
            self.ip(&format!("addr add {v6}/64 dev {link} nodad"));
        }
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        drop(self.keeper.kill());
        drop(self.keeper.wait());
    }
}
