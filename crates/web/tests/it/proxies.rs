//! Which client the headers of a trusted proxy name: one table, for the web listener here and for the tracker's in its
//! own tests.

/// The proxy itself, in the networks that are trusted.
pub(crate) const PROXY: &str = "127.0.0.1";
/// `trusted_proxies`.
pub(crate) const TRUSTED: &str = "127.0.0.0/8";

/// Header lines of a proxy, and the client address that follows from them.
pub(crate) const BEHIND: [(&[&str], &str); 21] = [
    (&[], PROXY),
    (&["X-Forwarded-For: 198.51.100.7"], "198.51.100.7"),
    (&["x-forwarded-for: 198.51.100.7:4711"], "198.51.100.7"),
    (&["X-Forwarded-For: [2001:db8::7]:4711"], "2001:db8::7"),
    (&["X-Forwarded-For: ::ffff:198.51.100.7"], "198.51.100.7"),
    // Everything before the last address that is not a proxy was written by the client.
    (
        &["X-Forwarded-For: 203.0.113.1, 198.51.100.7, 127.0.0.3"],
        "198.51.100.7",
    ),
    (&["X-Forwarded-For: me, 198.51.100.7"], "198.51.100.7"),
    (
        &[
            "X-Forwarded-For: 203.0.113.1",
            "X-Forwarded-For: 198.51.100.7",
        ],
        "198.51.100.7",
    ),
    (&["X-Real-IP: 198.51.100.7"], "198.51.100.7"),
    (&["Forwarded: for=198.51.100.7"], "198.51.100.7"),
    (
        &["Forwarded: for=203.0.113.1, proto=http;For=\"[2001:db8::7]:80\""],
        "2001:db8::7",
    ),
    (
        &[
            "X-Forwarded-For: 198.51.100.7",
            "Forwarded: for=198.51.100.7",
            "X-Real-IP: 198.51.100.7",
        ],
        "198.51.100.7",
    ),
    // A proxy that sets one of them passes on the others as the client wrote them.
    (
        &["X-Forwarded-For: 203.0.113.1", "X-Real-IP: 198.51.100.7"],
        PROXY,
    ),
    (
        &[
            "X-Forwarded-For: 203.0.113.1",
            "Forwarded: for=198.51.100.7",
        ],
        PROXY,
    ),
    (
        &["Forwarded: for=203.0.113.1", "X-Real-IP: 198.51.100.7"],
        PROXY,
    ),
    (&["X-Forwarded-For: unknown"], PROXY),
    (&["X-Forwarded-For: 198.51.100.7, unknown"], PROXY),
    (
        &["X-Forwarded-For: unknown", "X-Real-IP: 198.51.100.7"],
        PROXY,
    ),
    (&["Forwarded: by=198.51.100.7"], PROXY),
    // Claiming to be a proxy does not hide the client.
    (
        &["X-Forwarded-For: 127.0.0.9", "X-Real-IP: 198.51.100.7"],
        "198.51.100.7",
    ),
    (&["Via: 1.1 somebody"], PROXY),
];
