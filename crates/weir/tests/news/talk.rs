//! Conversations with news servers, Weir among them, as they are on the wire.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

use super::PATIENCE;

/// A conversation with a server.
pub(crate) struct Talk {
    stream: BufReader<TcpStream>,
}

/// What a server said: the first line, and the lines of the block that came with it, as they are on the wire.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) line: String,
    pub(crate) block: Option<Vec<String>>,
}

impl Said {
    pub(crate) fn code(&self) -> &str {
        self.line.get(..3).unwrap_or_default()
    }
}

impl Talk {
    pub(crate) fn with(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut talk = Self {
            stream: BufReader::new(stream),
        };
        assert!(talk.line().starts_with("20"));
        talk
    }

    /// The next line.
    pub(crate) fn line(&mut self) -> String {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line).unwrap();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.strip_suffix("\r\n")
            .unwrap_or_else(|| panic!("no whole line: {line:?}"))
            .to_owned()
    }

    pub(crate) fn say(&mut self, command: &str) -> Said {
        write!(self.stream.get_mut(), "{command}\r\n").unwrap();
        let line = self.line();
        let verb = command
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_ascii_uppercase();
        let has_block = match line.get(..3).unwrap_or_default() {
            "100" | "101" | "215" | "220" | "221" | "222" | "224" | "225" | "230" | "231" => true,
            "211" => verb == "LISTGROUP",
            _ => false,
        };
        let block = has_block.then(|| {
            let mut lines = Vec::new();
            loop {
                let line = self.line();
                if line == "." {
                    break lines;
                }
                lines.push(line);
            }
        });
        Said { line, block }
    }
}
