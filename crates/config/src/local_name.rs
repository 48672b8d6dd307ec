//! Which host names can only exist in a local network.

/// Names below these are never given out by public DNS, so no other site can have one.
const LOCAL: [&str; 5] = [".localhost", ".local", ".lan", ".internal", ".home.arpa"];

/// Whether a host name can only belong to a local network, in any case and with or without a dot at its end.
pub fn is_local_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    !name.is_empty() && (!name.contains('.') || LOCAL.iter().any(|end| name.ends_with(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_network_are_told_from_others() {
        for name in [
            "nas",
            "NAS.",
            "a.b.Local",
            "x.lan",
            "x.internal.",
            "x.home.arpa",
        ] {
            assert!(is_local_name(name), "{name}");
        }
        for name in [
            "",
            ".",
            "a.example",
            "local.example",
            "xlan.example",
            "home.arpa.example",
        ] {
            assert!(!is_local_name(name), "{name}");
        }
    }
}
