//! Documents and requests that are kept: in the style of real programs, and what the fuzzer once
//! tripped over.

use std::fs;
use std::path::{Path, PathBuf};

use weir_search_proto::{
    ApiLimits, Caps, ErrorDocument, Feed, Format, Function, InfoHash, Mapping, Protocol, Request,
    Term, Unreadable, parse_request, read_feed,
};

#[path = "../../../../fuzz/search_properties.rs"]
mod properties;

type Property = fn(&[u8]);

/// 2026-11-15 10:00:00 UTC, the time of all samples.
const TIME: i64 = 1_794_736_800;

const HASH: &str = "aabbccddeeff00112233445566778899a0b1c2d3";

#[test]
fn kept_bytes_keep_the_fuzzers_properties() {
    let properties: [(&str, Property); 3] = [
        ("search_feed", properties::search_feed),
        ("search_caps", properties::search_caps),
        ("search_request", properties::search_request),
    ];
    for (name, property) in properties {
        let mut kept = files(&recorded().join(name));
        kept.extend(files(&root().join("../../fuzz/seeds").join(name)));
        assert!(!kept.is_empty(), "nothing kept for {name}");
        for path in kept {
            property(&fs::read(&path).expect("a file"));
        }
    }
}

#[test]
fn prowlarrs_feed() {
    let feed = feed("prowlarr.xml");
    let [release] = &feed.releases[..] else {
        panic!("{feed:?}");
    };
    assert_eq!(release.title, "Some.Show.S01E02.1080p.WEB.h264-GROUP");
    assert_eq!(release.guid, "https://indexer.example/torrent/42");
    let page = "https://indexer.example/torrent/42#comments";
    assert_eq!(release.details.as_deref(), Some(page));
    let file = "http://prowlarr.example/7/download?apikey=0123&link=abc&file=Some.Show";
    assert_eq!(release.download.as_deref(), Some(file));
    assert_eq!(
        (release.magnet.as_deref(), release.info_hash),
        (None, Some(hash()))
    );
    assert_eq!(
        (release.size, release.published),
        (Some(1_500_000_000), Some(TIME))
    );
    assert_eq!(release.categories, [5000, 5040, 100_123]);
    assert_eq!((release.seeders, release.peers), (Some(10), Some(12)));
    assert_eq!((release.grabs, release.files), (Some(17), Some(3)));
    assert_eq!(release.protocol, Some(Protocol::Torrent));
    let others: Vec<String> = release
        .attributes
        .iter()
        .map(|(k, v)| format!("{k}={v}"))
        .collect();
    let expected = "tvdbid=12345 minimumratio=1 minimumseedtime=172800 downloadvolumefactor=0 \
                    uploadvolumefactor=1 tag=freeleech tag=internal";
    assert_eq!(others.join(" "), expected);
    assert_eq!(
        (feed.total, feed.offset, feed.limits, feed.odd),
        (None, None, None, 0)
    );
}

#[test]
fn jacketts_feed() {
    let feed = feed("jackett.xml");
    let [release] = &feed.releases[..] else {
        panic!("{feed:?}");
    };
    assert_eq!(release.title, "A Film (2026) [1080p]");
    assert_eq!(release.download, None);
    let magnet = release.magnet.as_deref().expect("a magnet link");
    assert!(magnet.contains("&dn=A+Film&tr="));
    assert_eq!(release.info_hash, Some(hash()));
    assert_eq!(
        release.details.as_deref(),
        Some("https://public.example/movie/1")
    );
    assert_eq!(release.published, Some(TIME));
    assert_eq!(release.categories, [2000, 145_715]);
    assert_eq!(feed.odd, 1, "one has no link");
}

#[test]
fn nzbhydra2s_feed() {
    let feed = feed("nzbhydra2.xml");
    let limits = ApiLimits {
        calls_made: Some(13),
        calls_allowed: Some(100),
        grabs_made: Some(2),
        grabs_allowed: Some(20),
    };
    assert_eq!(
        (feed.total, feed.offset, feed.limits),
        (Some(1000), Some(0), Some(limits))
    );
    let release = &feed.releases[0];
    assert_eq!(release.protocol, Some(Protocol::Nzb));
    assert_eq!(release.guid, "-123456");
    assert_eq!(release.categories, [5000, 5040]);
    let name = ("hydraIndexerName".to_owned(), "News".to_owned());
    assert!(release.attributes.contains(&name));
}

#[test]
fn newznabs_feed_with_all_its_oddities() {
    let feed = feed("newznab.xml");
    assert_eq!((feed.total, feed.offset), (Some(4321), Some(100)));
    assert_eq!(
        feed.limits.and_then(|limits| limits.calls_allowed),
        Some(1000)
    );
    let [album, book] = &feed.releases[..] else {
        panic!("{feed:?}");
    };
    let file = "https://news.example/getnzb/0123456789abcdef.nzb&i=1&r=secret";
    assert_eq!(album.download.as_deref(), Some(file));
    assert_eq!(
        (album.size, album.published),
        (Some(104_857_600), Some(TIME))
    );
    assert_eq!(
        album.attributes[0],
        ("artist".into(), "Sigur Rós & others".into())
    );
    assert_eq!(book.title, "Café & Bar – AT&T; Tom & Jerry");
    assert_eq!((book.size, book.published), (Some(1_234_567), Some(TIME)));
    assert_eq!(
        book.details.as_deref(),
        Some("https://news.example/details/fedcba9876543210")
    );
}

#[test]
fn other_encodings_are_read() {
    for name in ["latin-1.xml", "utf-16.xml"] {
        let release = &feed(name).releases[0];
        assert_eq!(release.title, "Les Misérables — intégrale", "{name}");
        assert_eq!(
            release.attributes,
            [("team".to_owned(), "Équipe".to_owned())]
        );
    }
}

#[test]
fn cdata_is_text() {
    let release = &feed("cdata.xml").releases[0];
    assert_eq!(release.title, "Tom & Jerry <3 [2026]");
    let file = "https://site.example/download.php?id=5&passkey=secret";
    assert_eq!(release.download.as_deref(), Some(file));
    assert_eq!(
        (release.size, release.published),
        (Some(1_610_612_736), Some(TIME))
    );
    assert_eq!(
        (release.categories.as_slice(), release.guid.as_str()),
        (&[2040][..], "5")
    );
}

#[test]
fn attributes_count_whatever_their_prefix() {
    let release = &feed("both-namespaces.xml").releases[0];
    assert_eq!(release.title, "Mixed");
    assert_eq!((release.seeders, release.peers), (Some(3), Some(7)));
    assert_eq!((release.size, release.published), (Some(1_000), Some(TIME)));
    assert_eq!(
        (release.categories.as_slice(), release.info_hash),
        (&[5000][..], Some(hash()))
    );
    assert_eq!(release.protocol, Some(Protocol::Torrent));
    let languages = release
        .attributes
        .iter()
        .filter(|(name, _)| name == "language");
    assert_eq!(languages.count(), 2);
}

#[test]
fn errors_come_in_all_shapes() {
    for (name, code, description) in [
        ("error-newznab.xml", 100, "Incorrect user credentials"),
        (
            "error-jackett.xml",
            900,
            "Jackett.Common.IndexerException: Exception (public): <timeout>",
        ),
        ("error-text.xml", 500, "Request limit reached"),
        ("error-elements.xml", 501, "Download limit reached"),
        ("error-in-feed.xml", 910, "API Disabled"),
        ("error.json", 101, "Account suspended"),
    ] {
        let expected = Unreadable::Error(ErrorDocument::new(code, description));
        let body = kept("search_feed", name);
        assert_eq!(read_feed(&body, None), Err(expected.clone()), "{name}");
        if name != "error-in-feed.xml" {
            assert_eq!(Caps::read(&body, None), Err(expected), "{name}");
        }
    }
}

#[test]
fn a_challenge_is_a_page_for_people() {
    let body = kept("search_feed", "challenge.html");
    assert_eq!(read_feed(&body, Some("utf-8")), Err(Unreadable::Html));
    assert_eq!(Caps::read(&body, None), Err(Unreadable::Html));
}

#[test]
fn caps_of_several_programs() {
    let prowlarr = caps("prowlarr.xml");
    assert_eq!(prowlarr.title, "Prowlarr");
    assert!(prowlarr.allows(Function::Tv, Term::TvmazeId));
    assert!(
        prowlarr.allows(Function::Music, Term::Artist),
        "audio-search is music"
    );
    assert!(!prowlarr.functions.contains_key(&Function::Book));
    assert_eq!(prowlarr.tags.len(), 2);
    let mapping = Mapping::of(&prowlarr);
    assert_eq!(mapping.theirs(&[2000, 5040]), [2000, 5040]);
    assert_eq!(mapping.ours(100_123), [100_123]);

    let jackett = caps("jackett.xml");
    assert!(!jackett.functions.contains_key(&Function::Movie));
    assert_eq!(jackett.categories.len(), 3);
    assert_eq!(jackett.text, [Function::Search, Function::Tv].into());

    let hydra = caps("nzbhydra2.xml");
    assert!(hydra.allows(Function::Tv, Term::TraktId));
    assert!(hydra.allows(Function::Book, Term::Author));
    assert!(!hydra.functions.contains_key(&Function::Music));
}

#[test]
fn caps_that_leave_things_out_are_filled_in() {
    let old = caps("newznab-old.xml");
    assert_eq!((old.default_limit, old.max_limit), (50, 200));
    assert!(old.allows(Function::Tv, Term::RageId) && old.allows(Function::Movie, Term::ImdbId));
    assert!(old.text.contains(&Function::Movie));
    let ids: Vec<u32> = old.categories[0]
        .subcategories
        .iter()
        .map(|c| c.id)
        .collect();
    assert_eq!(ids, [5040, 5080], "one has no number");
    assert_eq!(Mapping::of(&old).ours(5080), [5010]);

    let bare = caps("without-searching.xml");
    assert_eq!((bare.default_limit, bare.max_limit), (100, 100));
    assert!(bare.text.contains(&Function::Search) && bare.allows(Function::Tv, Term::Season));
}

#[test]
fn requests_of_real_clients() {
    for (name, words, categories) in [
        ("sonarr-recent", "recent releases", &[5030, 5040][..]),
        ("sonarr-episode", "s01e02 (tvdbid 12345)", &[5030, 5040]),
        (
            "sonarr-daily",
            "\"Some Daily Show\" 2026-11-15",
            &[5030, 5040],
        ),
        ("radarr-movie", "(imdbid 0123456)", &[2000]),
        ("lidarr-album", "artist Sigur Rós album Takk", &[3000, 3010]),
        ("readarr-book", "author An Author title A Book", &[7020]),
        ("cross-seed", "\"Some Show\" s01e01", &[]),
        ("flexget", "\"Some Show\" s01e01 (tvdbid 123)", &[5000]),
        ("autobrr", "recent releases", &[]),
        (
            "prowlarr-tokens",
            "\"Some Show\" s01 (tvdbid 123, imdbid 0000123)",
            &[],
        ),
        ("nzbhydra2", "\"some words\"", &[5000]),
    ] {
        let parsed = parse_request(&request(name));
        let Ok(Request::Search(asked)) = parsed.request else {
            panic!("{name}: {parsed:?}");
        };
        assert_eq!(asked.query.words(), words, "{name}");
        assert_eq!(asked.query.categories, categories, "{name}");
        let limit = (name.contains("arr") && name != "prowlarr-tokens").then_some(100);
        assert_eq!((asked.limit, asked.offset), (limit, 0), "{name}");
    }
    assert_eq!(
        parse_request(&request("sonarr-caps")).request,
        Ok(Request::Caps)
    );
    let tokens = parse_request(&request("prowlarr-tokens"));
    assert_eq!(tokens.format, Format::Json);
    assert!(parse_request(&request("nzbhydra2")).request.is_ok());
}

pub(crate) fn recorded() -> PathBuf {
    root().join("tests/recorded")
}

/// The files of a directory, sorted.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn kept(directory: &str, name: &str) -> Vec<u8> {
    fs::read(recorded().join(directory).join(name)).expect(name)
}

fn feed(name: &str) -> Feed {
    read_feed(&kept("search_feed", name), None).expect(name)
}

fn caps(name: &str) -> Caps {
    Caps::read(&kept("search_caps", name), None).expect(name)
}

fn request(name: &str) -> String {
    String::from_utf8(kept("search_request", name)).expect("text")
}

fn hash() -> InfoHash {
    HASH.parse().expect("a hash")
}
