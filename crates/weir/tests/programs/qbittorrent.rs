//! qBittorrent reads the merged feed and downloads what matches its rule.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{PATIENCE, Town, wait};

struct Qbittorrent {
    child: Child,
    address: SocketAddr,
}

impl Drop for Qbittorrent {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Qbittorrent {
    fn start(town: &Town) -> Self {
        let profile = town.file("profile");
        let config = profile.join("qBittorrent/config");
        fs::create_dir_all(&config).unwrap();
        let free = || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap()
        };
        let (address, port) = (free(), free().port());
        let text = format!(
            r"[LegalNotice]
Accepted=true
[BitTorrent]
Session\DHTEnabled=false
Session\PeXEnabled=false
Session\LSDEnabled=false
Session\Port={port}
Session\Interface=lo
Session\InterfaceName=lo
[Network]
PortForwardingEnabled=false
[Preferences]
WebUI\Address=127.0.0.1
WebUI\Port={}
WebUI\LocalHostAuth=false
[RSS]
AutoDownloader\DownloadRepacks=true
AutoDownloader\EnableProcessing=true
AutoDownloader\SmartEpisodeFilter=
Session\EnableProcessing=true
Session\RefreshInterval=1
",
            address.port()
        );
        fs::write(config.join("qBittorrent.conf"), text).unwrap();
        let child = Command::new("qbittorrent-nox")
            .arg(format!("--profile={}", profile.display()))
            .env("HOME", town.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("`cargo xtask setup` installs qbittorrent-nox");
        let this = Self { child, address };
        wait("qBittorrent takes orders", || {
            TcpStream::connect(address).is_ok()
        });
        this
    }

    /// Sends a command, and returns the body of the answer.
    fn order(&self, name: &str, fields: &[(&str, &str)]) -> String {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "POST /api/v2/{name} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(" 200 "), "{name}: {head}");
        body.to_owned()
    }
}

#[test]
fn qbittorrent_reads_the_merged_feed_and_downloads_by_rule() {
    let town = Town::new();
    let client = Qbittorrent::start(&town);
    let feed = town.url("/torznab/api?t=search&cat=5000");
    let rule = serde_json::json!({
        "enabled": true,
        "mustContain": "S01E05",
        "affectedFeeds": [feed],
        "savePath": town.file("saved").to_str(),
        "addPaused": true,
    });
    client.order(
        "rss/setRule",
        &[("ruleName", "five"), ("ruleDef", &rule.to_string())],
    );
    client.order("rss/addFeed", &[("url", &feed), ("path", "")]);
    wait("qBittorrent has the release that its rule wants", || {
        let list: Value = serde_json::from_str(&client.order("torrents/info", &[])).unwrap();
        let list = list.as_array().unwrap();
        assert!(list.len() <= 1, "{list:#?}");
        !list.is_empty()
    });
    let items: Value =
        serde_json::from_str(&client.order("rss/items", &[("withData", "true")])).unwrap();
    let articles = items.as_object().unwrap().values().next().unwrap()["articles"].clone();
    assert_eq!(articles.as_array().unwrap().len(), 6, "{articles:#}");
    assert_eq!(town.indexers[1].grabs().len(), 1);
}
