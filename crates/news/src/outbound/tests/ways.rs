//! How a connection begins, and how overviews are fetched.

use weir_config::Secret;
use weir_testkit::zoo::news::{EmptyRange, Greeting};

use super::*;
use crate::config::Overview;

#[tokio::test(start_paused = true)]
async fn all_three_ways_give_the_same_overview() {
    let mut told = Vec::new();
    for (overview, commands) in [
        (
            Overview::Over,
            vec!["GROUP misc.test", "OVER 40-42", "LIST OVERVIEW.FMT"],
        ),
        (
            Overview::Hdr,
            vec![
                "GROUP misc.test",
                "HDR Subject 40-42",
                "HDR From 40-42",
                "HDR Date 40-42",
                "HDR Message-ID 40-42",
                "HDR References 40-42",
            ],
        ),
        (
            Overview::Head,
            vec!["GROUP misc.test", "HEAD 40", "HEAD 41", "HEAD 42"],
        ),
    ] {
        let mut world = World::new().await;
        world.config.overview = overview;
        let window = world
            .link()
            .overview(&newsgroup("misc.test"), 40..=42)
            .await;
        let window = window.expect("an overview");
        assert_eq!(world.asked(), commands);
        let lines: Vec<_> = window
            .lines()
            .map(|line| {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let fields = [
                    line.subject,
                    line.from,
                    line.date,
                    line.message_id,
                    line.references,
                ];
                (line.number, fields.map(text))
            })
            .collect();
        assert_eq!(lines.len(), 3);
        let selected = window.selected.expect("it was selected");
        assert_eq!((selected.count, selected.numbers), (100, Some((1, 100))));
        told.push(lines);
    }
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0], told[2]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lacks_a_way_is_asked_by_the_next_and_remembered() {
    for (lacks, by) in [
        (vec!["OVER"], "XOVER"),
        (vec!["OVER", "XOVER"], "HDR"),
        (vec!["OVER", "XOVER", "HDR", "XHDR"], "HEAD"),
        (vec!["CAPABILITIES", "OVER"], "XOVER"),
    ] {
        let world = World::new().await;
        // It does not tell, so that each has to be tried.
        world.server.without(&lacks);
        let link = world.link();
        let tried = || {
            lacks
                .iter()
                .map(|lack| world.server.count(lack))
                .sum::<usize>()
        };
        let mut after = Vec::new();
        for _ in 0..2 {
            let window = link.overview(&newsgroup("misc.test"), 1..=2).await;
            assert_eq!(numbers(&window.expect("an overview")), [1, 2], "{lacks:?}");
            after.push(tried());
        }
        assert_eq!(link.fetches_by(), by, "{lacks:?}");
        assert_eq!(after[0], after[1], "{lacks:?}: not tried again");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_in_a_range_is_no_fault_however_it_is_said() {
    for empty in [EmptyRange::NoArticles, EmptyRange::EmptyBlock] {
        for overview in [Overview::Over, Overview::Hdr, Overview::Head] {
            let mut world = World::new().await;
            world.config.overview = overview;
            world.server.be(|nature| nature.empty_range = empty);
            let link = world.link();
            let window = link.overview(&newsgroup("misc.test"), 500..=510).await;
            assert_eq!(
                numbers(&window.expect("an overview")),
                [0; 0],
                "{overview:?}"
            );
            assert_eq!(world.connections(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_transit_server_becomes_a_newsreaders() {
    let world = World::new().await;
    world.server.be(|nature| nature.transit = true);
    world.link().article(&id(1)).await.expect("an article");
    assert_eq!(world.server.count("MODE READER"), 1);
}

#[tokio::test(start_paused = true)]
async fn compression_is_used_where_it_is_offered() {
    let world = World::new().await;
    let link = world.link();
    let plain = link.article(&id(5)).await.expect("an article");
    assert_eq!(world.server.count("COMPRESS"), 1);
    let world = World::new().await;
    world.server.without(&["COMPRESS"]);
    let link = world.link();
    assert_eq!(link.article(&id(5)).await.expect("an article"), plain);
    assert_eq!(world.server.count("COMPRESS"), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_compressed_on_the_same_machine() {
    let mut world = World::new().await;
    let address = ([127, 0, 0, 1], PORT).into();
    let shelf = vec![news::Newsgroup::new("misc.test").with(1..=9)];
    let server = News::start(Place::Memory(&world.network, address), shelf).await;
    world.server = server.expect("a server");
    world.entry.host = "127.0.0.1".to_owned();
    world.link().article(&id(5)).await.expect("an article");
    assert_eq!(world.server.count("COMPRESS"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_password_is_never_sent_without_encryption() {
    for tls in [TlsMode::Auto, TlsMode::Starttls, TlsMode::Tls] {
        let mut world = World::new().await;
        world.entry = ServerEntry {
            tls,
            username: Some("reader".to_owned()),
            password: Some(Secret::new("hunter2")),
            ..world.entry
        };
        let fault = world.link().date().await.expect_err("no way");
        assert_eq!(world.server.count("AUTHINFO"), 0, "{tls:?}: {fault}");
        assert!(!fault.to_string().contains("hunter2"));
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_password_the_plain_way_is_taken_where_there_is_no_other() {
    let mut world = World::new().await;
    world.entry.tls = TlsMode::Auto;
    let link = world.link();
    link.date().await.expect("an answer");
    // The first try spoke TLS to a server that does not.
    assert_eq!(world.connections(), 2);
    world.server.cut();
    link.date().await.expect("an answer");
    assert_eq!(world.connections(), 3, "what worked is tried first");
    tokio::time::sleep(3601 * SECOND).await;
    link.date().await.expect("an answer");
    assert_eq!(world.connections(), 5, "TLS gets another chance");
}

#[tokio::test(start_paused = true)]
async fn greetings_that_are_none_say_what_is_wrong() {
    for (greeting, words) in [
        (Greeting::smtp(), "its answer cannot be read"),
        (Greeting::garbage(), "its answer cannot be read"),
        (Greeting::not_now(), "it cannot answer now"),
        (Greeting::refused(), "it does not serve us: Access denied"),
    ] {
        let world = World::new().await;
        world.server.be(|nature| nature.greeting = greeting);
        let fault = world.link().date().await.expect_err("no answer");
        assert!(fault.to_string().starts_with(words), "{fault}");
        assert_eq!(world.connections(), 1, "{words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_wants_a_name_says_so_without_costing_connections() {
    let world = World::new().await;
    world
        .server
        .be(|nature| nature.account = Some(("reader".to_owned(), "word".to_owned())));
    let link = world.link();
    for _ in 0..3 {
        let fault = link
            .article(&id(1))
            .await
            .expect_err("it wants to know who we are");
        assert_eq!(fault, NewsFault::LoginWanted);
    }
    assert_eq!(world.connections(), 1);
}
