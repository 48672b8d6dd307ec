//! Programs that search through Weir, with their own words for where an address goes.

/// A program, its place for addresses, and what to paste there.
pub(super) struct KnownProgram {
    pub(super) name: &'static str,
    pub(super) anchor: &'static str,
    pub(super) path: &'static str,
    /// Labels and paths after our address; after `=` the text itself, in which `ORIGIN` is our address.
    pub(super) fields: &'static [(&'static str, &'static str)],
    pub(super) note: &'static str,
}

/// Where the key goes in a program's lines.
pub(super) const KEY: &str = "KEY";

/// What Sonarr and its relatives ask for.
const URLS: &[(&str, &str)] = &[
    ("URL", "/torznab"),
    ("URL, Usenet", "/newznab"),
    ("API path", "=/api"),
];

/// Where they ask for it.
const ARR: &str = "Settings, Indexers, +, Torznab (or Newznab for Usenet): URL, API Path, API Key";

const fn arr(name: &'static str, anchor: &'static str) -> KnownProgram {
    KnownProgram {
        name,
        anchor,
        path: ARR,
        fields: URLS,
        note: "",
    }
}

pub(super) const KNOWN: [KnownProgram; 10] = [
    arr("Sonarr", "sonarr"),
    arr("Radarr", "radarr"),
    arr("Lidarr", "lidarr"),
    arr("Readarr", "readarr"),
    KnownProgram {
        name: "Prowlarr",
        anchor: "prowlarr",
        path: "Indexers, Add Indexer, Generic Torznab (or Generic Newznab): Url, API Path, API Key",
        fields: URLS,
        note: "To put Weir in Prowlarr’s own place, give programs that know Prowlarr the address with /prowlarr.",
    },
    KnownProgram {
        name: "qui",
        anchor: "qui",
        path: "Settings, Indexers: discover from Prowlarr or Jackett, or add one by its URL; API key",
        fields: &[
            ("Prowlarr URL", "/prowlarr"),
            ("Jackett URL", "/jackett"),
            ("Torznab URL", "/torznab/api"),
        ],
        note: "",
    },
    KnownProgram {
        name: "autobrr",
        anchor: "autobrr",
        path: "Settings, Indexers, Generic Torznab (or Generic Newznab): URL, API Key; then enable it under Settings, Feeds",
        fields: &[
            ("Torznab URL", "/torznab/api"),
            ("Newznab URL", "/newznab/api"),
        ],
        note: "",
    },
    KnownProgram {
        name: "cross-seed",
        anchor: "cross-seed",
        path: "config.js, with the key in place of KEY",
        fields: &[(
            "config.js",
            "=torznab: [\"ORIGIN/torznab/api?apikey=KEY\"],",
        )],
        note: "The page that shows a new key has this line with the key filled in.",
    },
    KnownProgram {
        name: "FlexGet",
        anchor: "flexget",
        path: "config.yml, below discover, from; with the key in place of KEY",
        fields: &[
            (
                "config.yml",
                "=- torznab: { url: \"ORIGIN/torznab\", apikey: \"KEY\", searcher: tvsearch }",
            ),
            ("rss", "/torznab/api?t=search&apikey=KEY"),
        ],
        note: "Some versions call url website. The page that shows a new key has these lines with the key filled in.",
    },
    KnownProgram {
        name: "qBittorrent",
        anchor: "qbittorrent",
        path: "",
        fields: &[("RSS", "/torznab/api?t=search&apikey=KEY")],
        note: "",
    },
];
