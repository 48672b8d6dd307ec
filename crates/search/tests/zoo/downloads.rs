//! Files behind links: what clients get, what indexers see.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_link_gives_what_the_indexer_gives_or_says_why_not() {
    let status = |status, retry_after| Files::Status(status, retry_after);
    for (files, expected, words) in [
        (Files::Good, 200, "d4:infod"),
        (
            Files::Html,
            502,
            "odd sent no file: it sent a web page instead of a file.",
        ),
        (Files::Missing, 404, "odd sent no file: it answered 404."),
        (Files::Magnet, 302, ""),
        (
            status(429, RetryAfter::Seconds(77)),
            429,
            "odd sent no file: it says we ask too often.",
        ),
        (
            status(500, RetryAfter::None),
            502,
            "odd sent no file: it answered 500.",
        ),
        (
            Files::Error(501, "Download limit reached".to_owned()),
            429,
            "odd sent no file: its limit is reached: Download limit reached.",
        ),
        (
            Files::Error(300, "No such item".to_owned()),
            404,
            "odd sent no file: it has no such file.",
        ),
    ] {
        let what = format!("{files:?}");
        let (odd, _well, world) = pair(12 * SECOND).await;
        let feed = world.get("/torznab/odd/api?t=search").await;
        assert_eq!(feed.titles().len(), 3, "{}", feed.body);
        odd.set_files(files.clone());
        // No key is needed.
        let given = world.send(&path(&feed.links()[0]), &[]).await;
        assert_eq!(given.status, expected, "{what}: {}", given.body);
        assert!(given.body.starts_with(words), "{what}: {}", given.body);
        assert_eq!(odd.grabs()[0].target, "/file/3", "{what}");
        match files {
            Files::Magnet => {
                let magnet = format!("magnet:?xt=urn:btih:{:040x}", 0xabc);
                assert_eq!(given.location, Some(magnet));
            }
            Files::Status(429, _) => {
                let seconds: u64 = given.retry_after.expect("a time").parse().expect("seconds");
                assert!((76..=78).contains(&seconds), "{seconds}");
            }
            Files::Good => {
                world.send(&path(&feed.links()[0]), &[]).await;
                assert_eq!(odd.grabs().len(), 1, "it is kept");
            }
            _ => {}
        }
        // A dead link says nothing of the indexer.
        if matches!(expected, 200 | 302 | 404) || files == Files::Html {
            assert_eq!(world.state_of("odd"), "open", "{what}");
        }
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_up_allowance_of_downloads_leaves_searches_alone() {
    let (odd, _well, world) = pair(12 * SECOND).await;
    let feed = world.get("/torznab/odd/api?t=search").await;
    odd.set_files(Files::Error(501, "Download limit reached".to_owned()));
    let given = world.get(&path(&feed.links()[0])).await;
    assert_eq!(given.status, 429, "{}", given.body);
    let seconds: u64 = given.retry_after.expect("a time").parse().expect("seconds");
    assert!(seconds > 600, "{seconds}");
    let other = world.get(&path(&feed.links()[1])).await;
    assert_eq!(
        (other.status, odd.grabs().len()),
        (429, 1),
        "nobody asks again"
    );
    let reply = world.get("/torznab/odd/api?t=search&q=some").await;
    assert_eq!(
        (reply.status, reply.titles().len()),
        (200, 3),
        "{}",
        reply.body
    );
    assert_eq!(odd.searches().len(), 2);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_link_leads_nowhere_and_an_address_has_so_many_a_minute() {
    let (odd, _well, world) = pair(12 * SECOND).await;
    let feed = world.get("/torznab/odd/api?t=search").await;
    let link = path(&feed.links()[0]);
    let forged = link.replacen("/dl/", "/dl/A", 1);
    assert_eq!(world.send(&forged, &[]).await.status, 404);
    assert_eq!(world.send("/dl/x/y.torrent", &[]).await.status, 404);
    assert_eq!(odd.grabs().len(), 0);
    let mut refused = None;
    for number in 0..130 {
        let given = world.send(&link, &[]).await;
        if given.status == 429 {
            refused = Some((number, given.retry_after));
            break;
        }
        assert_eq!(given.status, 200);
    }
    let (number, wait) = refused.expect("there is a limit");
    assert_eq!(number, 120, "forged links do not count");
    assert!(wait.expect("a time").parse::<u64>().is_ok());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_nzb_comes_by_the_way_of_its_own_protocol() {
    let news = indexer(Setup {
        newznab: true,
        items: vec![Item::numbered(1).bare()],
        ..Setup::default()
    })
    .await;
    let mut config = config([("news", &news)]);
    config.indexers[0].kind = entries::IndexerKind::Newznab;
    let world = World::new(ground(), &config);
    let feed = world.get("/newznab/api?t=search").await;
    assert_eq!(feed.titles().len(), 1, "{}", feed.body);
    assert!(feed.body.contains("application/x-nzb"), "{}", feed.body);
    let link = &feed.links()[0];
    assert!(link.ends_with(".nzb"), "{link}");
    let given = world.send(&path(link), &[]).await;
    assert!(given.body.contains("<nzb"), "{}", given.body);
    let torrents = world.get("/torznab/api?t=search").await;
    assert_eq!(torrents.status, 503, "{}", torrents.body);
    world.stop().await;
}
