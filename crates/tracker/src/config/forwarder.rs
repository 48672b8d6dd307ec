//! The entries of `tracker.forwarders`, in the configuration or in a file of their own.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use weir_config::{Fields, Node, Origin, SecretUrl, Value, check, choices, item, read_file};

item! {
    /// An upstream tracker that announces are forwarded to.
    pub struct ForwarderEntry in "forwarders", example "{ uri: \"udp://tracker.example:1337/announce\", name: example }" {
        needed {
            /// Announce URL: http, https or udp.
            uri: SecretUrl;
        }
        settled {
            /// Name in pages, logs and metrics; null for the URL's host and port.
            name: String = uri.authority();
        }
        /// Address to announce to this tracker for our clients.
        ip: Option<IpAddr> = "null";
        /// Host header to send instead of the URL's host.
        host: Option<String> = "null";
        /// Proxy to call it through: http or socks5 URL.
        proxy: Option<SecretUrl> = "null", check check::proxy;
        /// Timeout of one attempt, instead of forward_timeout.
        timeout: Option<Duration> = "null", check |timeout| timeout.as_ref().map_or(Ok(()), check::some_time);
        /// Addresses to use: any, ipv4 or ipv6.
        family: ForwarderFamily = "any";
    }
    then |fields| {
        if let Some(uri) = &uri {
            check_uri(uri, proxy.is_some(), fields);
        }
    }
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

fn check_uri(uri: &SecretUrl, proxied: bool, fields: &mut Fields<'_>) {
    if uri.scheme() == "udp" && proxied {
        fields.refuse(
            "proxy",
            "leave this out: UDP trackers cannot be called through a proxy",
        );
    }
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
