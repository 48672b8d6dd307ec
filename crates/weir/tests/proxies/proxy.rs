//! Caddy and nginx, started with the examples of `contrib`.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use weir_testkit::inn::Certificate;

use super::{NAME, PATIENCE, Weir};

/// A running proxy; killed when dropped.
pub(crate) struct Proxy {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) certificate: Certificate,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Its workers end with it only if it is asked to stop.
        let kill = format!("kill -TERM {}", self.child.id());
        drop(Command::new("sh").args(["-c", &kill]).status());
        drop(self.child.wait());
    }
}

pub(crate) fn caddy(directory: &Path, weir: &Weir) -> Proxy {
    let prepared = Prepared::new(directory);
    let text = example("caddy/Caddyfile", weir);
    let (certificate, key) = (&prepared.certificate_file, &prepared.key_file);
    let site = format!(
        "https://{NAME}:{} {{\n\ttls {certificate} {key}",
        prepared.address.port()
    );
    let text = replace(&text, &format!("\n{NAME} {{"), &format!("\n{site}"));
    let global = "{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n}\n";
    let file = directory.join("Caddyfile");
    fs::write(&file, format!("{global}{text}")).unwrap();
    let mut command = Command::new("caddy");
    command
        .args(["run", "--adapter", "caddyfile", "--config"])
        .arg(file);
    prepared.start(directory, &mut command)
}

pub(crate) fn nginx(directory: &Path, weir: &Weir) -> Proxy {
    let prepared = Prepared::new(directory);
    let text = example("nginx/weir.conf", weir);
    let listen = format!("listen {} ssl;", prepared.address);
    let text = replace(&text, "listen 443 ssl;", &listen);
    let text = replace(&text, "    listen [::]:443 ssl;\n", "");
    let text = replace(
        &text,
        "/etc/ssl/weir.example/fullchain.pem",
        &prepared.certificate_file,
    );
    let text = replace(
        &text,
        "/etc/ssl/weir.example/privkey.pem",
        &prepared.key_file,
    );
    let home = directory.display();
    let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let places: String = places
        .iter()
        .map(|name| format!("    {name}_temp_path {home}/{name};\n"))
        .collect();
    let user = match rustix::process::geteuid().is_root() {
        true => "user root;\n",
        false => "",
    };
    let whole = format!(
        "{user}daemon off;\npid {home}/nginx.pid;\nerror_log {home}/nginx.log;\nevents {{}}\n\
         http {{\n    access_log off;\n{places}{text}\n}}\n"
    );
    let file = directory.join("nginx.conf");
    fs::write(&file, whole).unwrap();
    let mut command = Command::new(match fs::exists("/usr/sbin/nginx") {
        Ok(true) => "/usr/sbin/nginx",
        _ => "nginx",
    });
    command.arg("-e").arg(directory.join("nginx.log"));
    prepared.start(directory, command.arg("-c").arg(file))
}

/// An example with the ports of this Weir.
fn example(name: &str, weir: &Weir) -> String {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/");
    let text = fs::read_to_string(format!("{place}{name}")).unwrap();
    let text = replace(&text, "127.0.0.1:7070", &weir.web.to_string());
    replace(&text, "127.0.0.1:6969", &weir.tracker.to_string())
}

/// Replaces what must be there, so that a changed example does not slip away from its test.
fn replace(text: &str, what: &str, with: &str) -> String {
    assert!(text.contains(what), "there is no {what:?} in\n{text}");
    text.replace(what, with)
}

/// What both need: a free port and a certificate in files.
struct Prepared {
    address: SocketAddr,
    certificate: Certificate,
    certificate_file: String,
    key_file: String,
}

impl Prepared {
    fn new(directory: &Path) -> Self {
        let certificate = Certificate::new(&[NAME]).unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.join(name);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        // Free a moment ago: neither program can tell which port it was given.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Self {
            address: free.local_addr().unwrap(),
            certificate_file: file("certificate.pem", &certificate.certificate),
            key_file: file("key.pem", &certificate.key),
            certificate,
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "other programs keep their own time"
    )]
    fn start(self, directory: &Path, command: &mut Command) -> Proxy {
        let log = directory.join("proxy.log");
        let output = fs::File::create(&log).unwrap();
        let child = command
            .env("HOME", directory)
            .env("XDG_DATA_HOME", directory)
            .env("XDG_CONFIG_HOME", directory)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .expect("`cargo xtask setup` installs it");
        let mut proxy = Proxy {
            child,
            address: self.address,
            certificate: self.certificate,
        };
        let start = Instant::now();
        while TcpStream::connect(proxy.address).is_err() {
            let ended = proxy.child.try_wait().unwrap();
            let told = || fs::read_to_string(&log).unwrap_or_default();
            assert!(ended.is_none(), "it ended: {}", told());
            assert!(start.elapsed() < PATIENCE, "it does not listen: {}", told());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        proxy
    }
}
