//! The entries of `news.servers`.

use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{Item, Secret, check, choices, item};
use weir_store::shared::{Seal, UpstreamKey};

item! {
    /// A news server.
    pub struct ServerEntry in "servers", example "{ name: main, host: news.example, username: USER, password: PASSWORD }" {
        needed {
            /// Name in pages, logs and metrics: letters, digits, dot, dash, underscore.
            name: String, check |name| check::path_word(name);
            /// Host name or address.
            host: String, check |text| is_host(text);
        }
        /// Port; null for 119 with tls off or starttls, else 563. With tls auto, 119 is tried after 563.
        port: Option<NonZeroU32> = "null", check is_port;
        /// Encryption: auto, tls, starttls or off.
        tls: TlsMode = "auto";
        /// User name to sign in with.
        username: Option<String> = "null";
        /// Password to sign in with.
        password: Option<Secret> = "null";
        /// Maximum open connections.
        connections: NonZeroU32 = "4";
        /// Lower numbers are asked first.
        priority: u32 = "1";
        /// Timeout of one call.
        timeout: Duration = "30s", check check::some_time;
    }
    then |fields| {
        match (&username, &password) {
            (Some(_), None) => fields.refuse("username", "write password too"),
            (None, Some(_)) => fields.refuse("password", "write username too"),
            (Some(_), Some(_)) if tls == TlsMode::Off => {
                fields.refuse("tls", "choose auto, tls or starttls; passwords are never sent unencrypted");
            }
            _ => {}
        }
        if password.is_some() {
            // Passwords are not printed, and a user name without a password could not be read back.
            fields.set_aside("username");
        }
    }
}

choices! {
    /// Whether a connection is encrypted.
    pub enum TlsMode {
        /// TLS if possible; plain only if no password is sent.
        Auto = "auto",
        /// TLS from the first byte.
        Tls = "tls",
        /// TLS after a `STARTTLS` command.
        Starttls = "starttls",
        /// Never.
        Off = "off",
    }
}

impl ServerEntry {
    /// A news server with all other keys at their defaults.
    pub fn new(name: &str, host: &str) -> Self {
        Self {
            name: name.to_owned(),
            host: host.to_owned(),
            port: None,
            tls: TlsMode::Auto,
            username: None,
            password: None,
            connections: const { NonZeroU32::new(4).expect("not 0") },
            priority: 1,
            timeout: Duration::from_secs(30),
        }
    }
}

/// An entry as it is written in a file.
pub(crate) fn example() -> String {
    let entry = ServerEntry::TABLE.example;
    format!("news:\n  servers:\n    - {entry}")
}

fn is_port(port: &Option<NonZeroU32>) -> Result<(), &'static str> {
    let fits = port.is_none_or(|port| port.get() <= 65535);
    check::that(fits, "a port from 1 to 65535")
}

fn is_host(text: &str) -> Result<(), &'static str> {
    check::that(
        check::is_host(text),
        "a host name or address, without scheme and port",
    )
}

impl ServerEntry {
    /// What its article numbers belong to, whatever it is called here.
    pub(crate) fn place(&self) -> String {
        let host = self.host.to_ascii_lowercase();
        let port = self.port.map_or(0, |port| port.get());
        format!("{host}:{port}")
    }

    /// The server as all nodes know it, by address and account.
    pub(crate) fn key(&self, seal: &Seal) -> UpstreamKey {
        let (address, account) = self.identity();
        UpstreamKey::of(seal, "news", &address, &account)
    }

    /// Its address and account, as nodes compare them.
    pub(crate) fn identity(&self) -> (String, String) {
        let port = self.port.map_or_else(String::new, |port| port.to_string());
        let address = format!("{}:{port}", self.host.to_ascii_lowercase());
        (address, self.username.clone().unwrap_or_default())
    }
}
