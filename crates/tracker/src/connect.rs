//! What to type into BitTorrent clients, for the page *Connect*: the announce addresses as each of them takes a list.

use std::net::SocketAddr;
use std::sync::Arc;

use weir_web::kit::PasteAddress;
use weir_web::{ConnectPanel, ConnectProgram};

use crate::clock::TrackerClock;
use crate::heard::HeardClient;
use crate::pages;
use crate::tracker::Tracker;

/// The panel, with the steps of each client.
pub(crate) fn panel(
    listening: Vec<(&'static str, SocketAddr)>,
    tracker: &Arc<Tracker>,
    clock: TrackerClock,
) -> ConnectPanel {
    let heard = |client: HeardClient| {
        let tracker = Arc::clone(tracker);
        Box::new(move || tracker.heard.ago(client, clock.now())) as weir_web::ConnectHeard
    };
    let program = |name, anchor, place, lines, note, client| ConnectProgram {
        name,
        anchor,
        place,
        lines,
        note,
        heard: heard(client),
        needs: None,
    };
    ConnectPanel {
        title: "Other BitTorrent clients",
        users: "BitTorrent clients",
        anchor: "tracker",
        text: "To announce to this tracker, add these addresses to a torrent’s list of trackers.",
        addresses: Box::new(move |origin| pages::announce_addresses(&listening, origin)),
        server: "The tracker",
        keys: &["tracker.http_listen", "tracker.udp_listen"],
        programs: vec![
            program(
                "qBittorrent",
                "qbittorrent",
                "Tools, Options, BitTorrent: tick “Automatically append these trackers to new downloads” and paste the list",
                list,
                "Older versions say “add” instead of “append”. Private torrents are left alone.",
                HeardClient::QBittorrent,
            ),
            program(
                "Transmission",
                "transmission",
                "Preferences, Network, “Default public trackers”; or settings.json while the daemon is stopped",
                transmission,
                "Needs Transmission 4 or newer. Private torrents are left alone.",
                HeardClient::Transmission,
            ),
            program(
                "Deluge",
                "deluge",
                "Right-click a torrent, Edit Trackers, Add: paste the list",
                list,
                "Deluge itself has no list for new torrents; the plugin Default Trackers adds one under Preferences, and takes the same lines.",
                HeardClient::Deluge,
            ),
            program(
                "rTorrent",
                "rtorrent",
                "~/.rtorrent.rc, then restart rTorrent",
                rtorrent,
                "This adds the tracker to every new torrent, private ones included: leave it out if you have any.",
                HeardClient::Rtorrent,
            ),
            program(
                "aria2",
                "aria2",
                "~/.aria2/aria2.conf, or the command line",
                aria2,
                "",
                HeardClient::Aria2,
            ),
        ],
    }
}

fn urls(addresses: &[PasteAddress]) -> Vec<&str> {
    addresses.iter().map(|one| one.url.as_str()).collect()
}

/// One address a line: both are the same tracker, so they are one tier.
fn list(addresses: &[PasteAddress]) -> Vec<(&'static str, String)> {
    vec![("Trackers", urls(addresses).join("\n"))]
}

fn transmission(addresses: &[PasteAddress]) -> Vec<(&'static str, String)> {
    let line = format!("\"default-trackers\": \"{}\",", urls(addresses).join("\\n"));
    let mut lines = list(addresses);
    lines.push(("settings.json", line));
    lines
}

fn rtorrent(addresses: &[PasteAddress]) -> Vec<(&'static str, String)> {
    let urls = urls(addresses);
    let lines = urls.iter().enumerate().map(|(place, url)| {
        let number = place + 1;
        format!(
            "method.set_key = event.download.inserted_new, weir_{number}, \"d.tracker.insert=\\\"0\\\",\\\"{url}\\\"\""
        )
    });
    vec![(".rtorrent.rc", lines.collect::<Vec<_>>().join("\n"))]
}

fn aria2(addresses: &[PasteAddress]) -> Vec<(&'static str, String)> {
    let all = urls(addresses).join(",");
    vec![
        ("aria2.conf", format!("bt-tracker={all}")),
        ("Command line", format!("--bt-tracker={all}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_gets_the_list_as_it_takes_it() {
        let addresses = [
            "http://weir.example:6969/announce",
            "udp://weir.example:6969/announce",
        ];
        let addresses = addresses.map(|url| PasteAddress {
            label: "",
            url: url.to_owned(),
            key: "",
            is_bound_here: false,
        });
        let (http, udp) = (&addresses[0].url, &addresses[1].url);
        assert_eq!(list(&addresses)[0].1, format!("{http}\n{udp}"));
        let [_, (_, line)] = &transmission(&addresses)[..] else {
            panic!("two ways");
        };
        let settings: serde_json::Value =
            serde_json::from_str(&format!("{{{}}}", line.trim_end_matches(','))).unwrap();
        assert_eq!(settings["default-trackers"], format!("{http}\n{udp}"));
        assert_eq!(aria2(&addresses)[0].1, format!("bt-tracker={http},{udp}"));
        let lines = &rtorrent(&addresses)[0].1;
        let first = lines.lines().next().unwrap();
        assert_eq!(
            first,
            format!(
                "method.set_key = event.download.inserted_new, weir_1, \"d.tracker.insert=\\\"0\\\",\\\"{http}\\\"\""
            )
        );
        assert_eq!(lines.lines().count(), 2);
    }
}
