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
const ARR: &str = "Settings, Indexers, +, Torznab (or Newznab for Usenet): URL, API Key; API Path is among the advanced settings and already right";

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
        path: "Indexers, Add Indexer, Generic Torznab (or Generic Newznab): URL, API Key; API Path is among the advanced settings and already right",
        fields: URLS,
        note: "To put Weir in Prowlarr’s own place, give programs that know Prowlarr the address with /prowlarr.",
    },
    KnownProgram {
        name: "qui",
        anchor: "qui",
        path: "Settings, Indexers, Discover: server URL and API key of Prowlarr or Jackett. Or Add single: the Torznab URL and API key",
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
        path: "Settings, Indexers, Add new, Generic Torznab (or Generic Newznab; older versions: Torznab Generic): URL, API key. Then enable its feed under Settings, Feeds",
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
        note: "Older versions call url website. The page that shows a new key has these lines with the key filled in.",
    },
    KnownProgram {
        name: "qBittorrent",
        anchor: "qbittorrent",
        path: "",
        fields: &[("RSS", "/torznab/api?t=search&apikey=KEY")],
        note: "",
    },
];
