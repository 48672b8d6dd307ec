//! The entries of `tracker.forwarders`, in the configuration or in a file of their own.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use weir_config::{
    Field, Fields, Item, Node, Origin, SecretUrl, Table, Value, check, choices, read_file,
};

/// An upstream tracker that announces are forwarded to.
#[derive(Clone, Debug, PartialEq)]
pub struct ForwarderEntry {
    /// Its announce URL.
    pub uri: SecretUrl,
    /// Its name in pages, logs and metrics.
    pub name: String,
    /// The address announced to it for our clients.
    pub ip: Option<IpAddr>,
    /// The `Host` header, if not the URL's host.
    pub host: Option<String>,
    /// The proxy it is called through.
    pub proxy: Option<SecretUrl>,
    /// Timeout of one attempt, instead of `forward_timeout`.
    pub timeout: Option<Duration>,
    /// Which addresses of its host are used.
    pub family: ForwarderFamily,
}

choices! {
    /// A family of addresses.
    pub enum ForwarderFamily {
        /// Whatever works.
        Any = "any",
        /// IPv4 only.
        Ipv4 = "ipv4",
        /// IPv6 only.
        Ipv6 = "ipv6",
    }
}

const URI: Field<SecretUrl> = Field::needed("uri", "Announce URL: http, https or udp.");
const NAME: Field<Option<String>> = Field::new(
    "name",
    "null",
    "Name in pages, logs and metrics; null for the URL's host and port.",
);
const IP: Field<Option<IpAddr>> = Field::new(
    "ip",
    "null",
    "Address to announce to this tracker for our clients.",
);
const HOST: Field<Option<String>> = Field::new(
    "host",
    "null",
    "Host header to send instead of the URL's host.",
);
const PROXY: Field<Option<SecretUrl>> = Field::new(
    "proxy",
    "null",
    "Proxy to call it through: http or socks5 URL.",
)
.check(check::proxy);
const TIMEOUT: Field<Option<Duration>> = Field::new(
    "timeout",
    "null",
    "Timeout of one attempt, instead of forward_timeout.",
)
.check(|timeout| timeout.as_ref().map_or(Ok(()), check::some_time));
const FAMILY: Field<ForwarderFamily> =
    Field::new("family", "any", "Addresses to use: any, ipv4 or ipv6.");

impl Item for ForwarderEntry {
    const TABLE: &'static Table = &Table {
        key: "forwarders",
        doc: "Trackers that announces are forwarded to.",
        at_start: false,
        rows: &[
            URI.row(),
            NAME.row(),
            IP.row(),
            HOST.row(),
            PROXY.row(),
            TIMEOUT.row(),
            FAMILY.row(),
        ],
        gone: &[],
    };

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let uri = fields.need(&URI);
        let name = fields.get(&NAME);
        let rest = (
            fields.get(&IP),
            fields.get(&HOST),
            fields.get(&PROXY),
            fields.get(&TIMEOUT),
            fields.get(&FAMILY),
        );
        let uri = uri?;
        check_uri(&uri, fields);
        if uri.scheme() == "udp" && rest.2.is_some() {
            fields.refuse(
                "proxy",
                "leave this out: UDP trackers cannot be called through a proxy",
            );
        }
        let name = name.unwrap_or_else(|| uri.authority());
        fields.settle("name", &name);
        let (ip, host, proxy, timeout, family) = rest;
        Some(Self {
            uri,
            name,
            ip,
            host,
            proxy,
            timeout,
            family,
        })
    }
}

fn check_uri(uri: &SecretUrl, fields: &mut Fields<'_>) {
    match uri.scheme() {
        "http" | "https" => {}
        "udp" if uri.port().is_none_or(|port| port == 0) => {
            fields.refuse("uri", "write a port; UDP trackers have no default one")
        }
        "udp" => {}
        other => fields.refuse(
            "uri",
            format!("write a URL that begins with http, https or udp, not {other}"),
        ),
    }
}

/// Reads the list from `forwarders_file` if that is set, else from the key. A file named by a flag or the environment
/// replaces a list in the configuration file; both in the configuration file are a mistake.
pub(super) fn read_all(fields: &mut Fields<'_>, file: Option<&Path>) -> Vec<ForwarderEntry> {
    let Some(file) = file else {
        let list = fields.list();
        fields.distinct::<ForwarderEntry>("name");
        return list;
    };
    let both_in_file = matches!(
        (
            fields.source("forwarders_file"),
            fields.origin_of("forwarders")
        ),
        (Some(Origin::File { .. }), Some(_))
    );
    if both_in_file {
        fields.refuse(
            "forwarders_file",
            "keep either this or forwarders, not both",
        );
    }
    let node = read_file(file, fields.mistakes()).map(inner_list);
    let list = fields.list_from(node);
    fields.distinct::<ForwarderEntry>("name");
    fields.set_aside("forwarders_file");
    list
}

/// The file is a list, or has one under `forwarders`, because a TOML file cannot be a list.
fn inner_list(node: Node) -> Node {
    match node.value {
        Value::Map(mut entries) if entries.len() == 1 && entries[0].key == "forwarders" => {
            entries.remove(0).node
        }
        value => Node {
            value,
            origin: node.origin,
        },
    }
}
