//! How long the binary takes from its start until it serves.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Starts measured; the middle one counts.
const STARTS: usize = 5;

/// Far longer than a start takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The middle of several starts with an empty data directory, until `/readyz` answers 200.
pub(crate) fn start(binary: &Path) -> Result<Duration> {
    let place = binary.with_file_name("start");
    let mut times = Vec::new();
    for _ in 0..STARTS {
        fs::create_dir_all(&place)?;
        times.push(one(binary, &place)?);
        fs::remove_dir_all(&place)?;
    }
    times.sort();
    Ok(times[STARTS / 2])
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures real time")]
fn one(binary: &Path, place: &Path) -> Result<Duration> {
    // Free a moment ago; if somebody else takes it now, the start fails and says so.
    let web = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let mut command = Command::new(binary);
    command
        .args(["serve", "--data", "data", "--web", &web.to_string()])
        .args(["-l", "127.0.0.1:0", "-u", "127.0.0.1:0"])
        .env("WEIR_NEWS__NNTP_LISTEN", "127.0.0.1:0")
        .current_dir(place)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let begin = Instant::now();
    let _running = Running(command.spawn()?);
    loop {
        if is_ready(&web.to_string()) {
            return Ok(begin.elapsed());
        }
        ensure!(begin.elapsed() < PATIENCE, "it does not get ready");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether the Weir at this address says that it can serve.
fn is_ready(address: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else {
        return false;
    };
    let ask = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut answer = String::new();
    stream.write_all(ask.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200")
}
