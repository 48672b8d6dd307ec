//! The entries of `news.servers`.

use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use weir_config::{Field, Fields, Item, Secret, Table, check, choices};

/// A news server.
#[derive(Clone, Debug, PartialEq)]
pub struct NewsServer {
    /// Its name in pages, logs and metrics.
    pub name: String,
    /// Its host name or address.
    pub host: String,
    /// Its port.
    pub port: NonZeroU16,
    /// Whether the connection is encrypted.
    pub tls: TlsMode,
    /// The user name to sign in with.
    pub username: Option<String>,
    /// The password to sign in with.
    pub password: Option<Secret>,
    /// Maximum open connections.
    pub connections: NonZeroU32,
    /// Lower numbers are asked first.
    pub priority: u32,
    /// Timeout of one call.
    pub timeout: Duration,
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

const NAME: Field<String> = Field::needed(
    "name",
    "Name in pages, logs and metrics: letters, digits, dot, dash, underscore.",
)
.check(|name| check::path_word(name));
const HOST: Field<String> = Field::needed("host", "Host name or address.").check(|text| host(text));
const PORT: Field<Option<NonZeroU32>> = Field::new(
    "port",
    "null",
    "Port; null for 119 with tls off or starttls, else 563.",
)
.check(|port| {
    if port.is_some_and(|port| port.get() > 65535) {
        Err("a port from 1 to 65535")
    } else {
        Ok(())
    }
});
const TLS: Field<TlsMode> = Field::new("tls", "auto", "Encryption: auto, tls, starttls or off.");
const USERNAME: Field<Option<String>> =
    Field::new("username", "null", "User name to sign in with.");
const PASSWORD: Field<Option<Secret>> = Field::new("password", "null", "Password to sign in with.");
const CONNECTIONS: Field<NonZeroU32> = Field::new("connections", "4", "Maximum open connections.");
const PRIORITY: Field<u32> = Field::new("priority", "1", "Lower numbers are asked first.");
const TIMEOUT: Field<Duration> =
    Field::new("timeout", "30s", "Timeout of one call.").check(check::some_time);

impl Item for NewsServer {
    const TABLE: &'static Table = &Table {
        key: "servers",
        doc: "The news servers that are read.",
        at_start: false,
        rows: &[
            NAME.row(),
            HOST.row(),
            PORT.row(),
            TLS.row(),
            USERNAME.row(),
            PASSWORD.row(),
            CONNECTIONS.row(),
            PRIORITY.row(),
            TIMEOUT.row(),
        ],
        gone: &[],
    };

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let (name, host) = (fields.need(&NAME), fields.need(&HOST));
        let (port, tls) = (fields.get(&PORT), fields.get(&TLS));
        let (username, password) = (fields.get(&USERNAME), fields.get(&PASSWORD));
        let (connections, priority, timeout) = (
            fields.get(&CONNECTIONS),
            fields.get(&PRIORITY),
            fields.get(&TIMEOUT),
        );
        match (&username, &password) {
            (Some(_), None) => fields.refuse("username", "write password too"),
            (None, Some(_)) => fields.refuse("password", "write username too"),
            (Some(_), Some(_)) if tls == TlsMode::Off => {
                fields.refuse(
                    "tls",
                    "choose auto, tls or starttls; passwords are never sent unencrypted",
                );
            }
            _ => {}
        }
        if password.is_some() {
            // Passwords are not printed, and a user name without a password could not be read back.
            fields.set_aside("username");
        }
        let usual = if matches!(tls, TlsMode::Off | TlsMode::Starttls) {
            119
        } else {
            563
        };
        let port = port.map_or(usual, NonZeroU32::get);
        fields.settle("port", &port);
        let port = u16::try_from(port).ok().and_then(NonZeroU16::new)?;
        let (name, host) = (name?, host?);
        Some(Self {
            name,
            host,
            port,
            tls,
            username,
            password,
            connections,
            priority,
            timeout,
        })
    }
}

fn host(text: &str) -> Result<(), &'static str> {
    if text.contains(['/', ' ', '@']) {
        return Err("a host name or address, without scheme and port");
    }
    Ok(())
}
