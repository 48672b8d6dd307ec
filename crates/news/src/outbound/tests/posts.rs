//! Articles that are handed over.

use futures_util::future::join_all;
use weir_news_proto::block::write_block;

use super::*;
use crate::call::{AskPost, Question};

fn own(number: u64) -> MessageId {
    format!("<p{number}@weir.example>").parse().expect("an ID")
}

fn raw(number: u64) -> Bytes {
    let id = own(number);
    let head = format!(
        "From: a@b.example\r\nNewsgroups: misc.test\r\nSubject: {number}\r\nMessage-ID: {id}"
    );
    format!("{head}\r\n\r\n.\r\n.dot\r\n..\r\nend\r\n").into()
}

/// An article as a block.
fn block(number: u64) -> Bytes {
    let mut block = Vec::new();
    write_block(&raw(number), &mut block);
    block.into()
}

fn ask(number: u64) -> AskPost {
    AskPost {
        id: own(number),
        raw: raw(number),
        given: Arc::default(),
    }
}

/// How often an article was kept.
fn kept(world: &World, number: u64) -> usize {
    let subject = format!("Subject: {number}\r\n");
    let posted = world.server.posted();
    let text = posted
        .iter()
        .map(|one| String::from_utf8_lossy(&one.bytes).into_owned());
    text.filter(|text| text.contains(&subject)).count()
}

#[tokio::test(start_paused = true)]
async fn an_article_arrives_as_it_was_written_dots_and_all() {
    let world = World::new().await;
    let link = world.link();
    link.post(block(1), Arc::default())
        .await
        .expect("it is taken");
    let posted = world.server.posted();
    assert!(
        posted[0]
            .bytes
            .ends_with(b"\r\n\r\n.\r\n.dot\r\n..\r\nend\r\n")
    );
    assert_eq!(link.has(&own(1)).await, Ok(true));
    assert_eq!(link.has(&own(2)).await, Ok(false));
    assert_eq!(world.asked()[0], "POST");
}

#[tokio::test(start_paused = true)]
async fn nothing_goes_over_a_connection_while_an_article_does() {
    let mut world = World::new().await;
    world.entry.connections = NonZeroU32::MIN;
    world.server.set(Behaviour::Slow(SECOND));
    let link = world.link();
    let (one, two) = (block(1), block(2));
    let numbers = [1, 2];
    let reads = join_all(numbers.map(|number| {
        let link = &link;
        async move { link.article(&id(number)).await }
    }));
    let (first, reads, second) = tokio::join!(
        link.post(one, Arc::default()),
        reads,
        link.post(two, Arc::default())
    );
    first.and(second).expect("both are taken");
    assert!(reads.iter().all(Result::is_ok), "{reads:?}");
    assert_eq!((kept(&world, 1), kept(&world, 2)), (1, 1));
    assert_eq!(world.connections(), 1);
    // Each answer came before the next command: POST is never sent ahead of another, nor another ahead of it.
    let commands = world.server.commands();
    for pair in commands.windows(2) {
        let posts = pair.iter().any(|command| command.line == "POST");
        assert!(!posts || pair[1].at - pair[0].at >= SECOND, "{pair:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_before_it_asks_gets_it_over_another_connection() {
    let world = World::new().await;
    let link = world.link();
    link.date().await.expect("an answer");
    world.server.set_next("POST", 1, Behaviour::Close);
    link.post(block(1), Arc::default())
        .await
        .expect("it is taken");
    assert_eq!(kept(&world, 1), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_after_340_has_the_article_once() {
    for (behaviour, posts) in [
        (Behaviour::DieAfterArticle, 1),
        (Behaviour::DieBeforeArticle, 2),
    ] {
        let world = World::new().await;
        let link = world.link();
        world.server.set_next("POST", 1, behaviour.clone());
        let lost = link.post(block(9), Arc::default()).await;
        assert!(matches!(lost, Err(NewsFault::Unfinished(_))), "{lost:?}");
        let world = World::new().await;
        let link = world.link();
        world.server.set_next("POST", 1, behaviour.clone());
        ask(1).ask(&link).await.expect("it is there");
        assert_eq!(kept(&world, 1), 1, "{behaviour:?}");
        let asked = world.asked();
        let count = |verb: &str| asked.iter().filter(|line| line.starts_with(verb)).count();
        assert_eq!((count("POST"), count("STAT")), (posts, 1), "{asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_after_340_is_not_sent_it_again() {
    let world = World::new().await;
    let link = world.link();
    world.server.without(&["COMPRESS"]);
    world.server.set_for("POST", Behaviour::Stall(10));
    world.server.set_for("STAT", Behaviour::Hang);
    let lost = ask(1).ask(&link).await;
    assert!(
        matches!(lost, Err(NewsFault::Silent)),
        "a line is cut: {lost:?}"
    );
    // All of "340 Send it", and no word after that.
    world.server.set_for("POST", Behaviour::Stall(13));
    let lost = ask(1).ask(&link).await;
    assert!(matches!(lost, Err(NewsFault::Unfinished(_))), "{lost:?}");
    let posts = world.asked().into_iter().filter(|line| line == "POST");
    assert!(posts.count() <= 3);
}

#[tokio::test(start_paused = true)]
async fn an_article_whose_sender_has_left_is_not_sent() {
    let world = World::new().await;
    let link = world.link();
    world.server.set(Behaviour::Far(SECOND));
    let given = Arc::<AtomicBool>::default();
    link.date().await.expect("an answer");
    let leaves = tokio::time::timeout(SECOND / 2, link.post(block(1), given.clone()));
    assert!(leaves.await.is_err());
    assert!(!given.load(std::sync::atomic::Ordering::SeqCst));
    assert_eq!(link.has(&own(1)).await, Ok(false));
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(kept(&world, 1), 0);
}

#[tokio::test(start_paused = true)]
async fn refusals_say_why_and_cost_no_connection() {
    let world = World::new().await;
    let link = world.link();
    for (line, fault) in [
        ("440 No", NewsFault::NoPosting("No".to_owned())),
        (
            "480 Who are you",
            NewsFault::NoPosting("Who are you".to_owned()),
        ),
        ("502 Not you", NewsFault::NoPosting("Not you".to_owned())),
        ("441 Bad", NewsFault::NotTaken("Bad".to_owned())),
        ("500 What", NewsFault::Unsupported("What".to_owned())),
    ] {
        world
            .server
            .set_for("POST", Behaviour::Line(line.to_owned()));
        assert_eq!(
            link.post(block(1), Arc::default()).await,
            Err(fault),
            "{line}"
        );
    }
    world
        .server
        .set_for("POST", Behaviour::Verdict("441 Why".to_owned()));
    let refused = ask(1).ask(&link).await;
    assert_eq!(refused, Err(NewsFault::NotTaken("Why".to_owned())));
    assert_eq!(world.connections(), 1);
    assert_eq!(kept(&world, 1), 0);
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_is_a_success_whatever_it_is_called() {
    let world = World::new().await;
    let link = world.link();
    ask(1).ask(&link).await.expect("it is taken");
    let again = link.post(block(1), Arc::default()).await;
    assert!(matches!(again, Err(NewsFault::NotTaken(_))), "{again:?}");
    ask(1).ask(&link).await.expect("it is there");
    world
        .server
        .set_for("POST", Behaviour::Line("435 Have it".to_owned()));
    ask(1).ask(&link).await.expect("it is there");
    assert_eq!(kept(&world, 1), 1);
    let other = AskPost {
        id: id(7),
        ..ask(2)
    };
    let taken = other.ask(&link).await;
    assert!(
        matches!(taken, Err(NewsFault::NotTaken(_))),
        "the ID is that of somebody else's article: {taken:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn words_before_the_article_end_the_connection() {
    let world = World::new().await;
    let link = world.link();
    world.server.without(&["COMPRESS"]);
    let both = Behaviour::Bytes(b"340 Send it\r\n240 Thanks\r\n".to_vec());
    world.server.set_next("POST", 1, both);
    let odd = link.post(block(1), Arc::default()).await;
    assert!(matches!(odd, Err(NewsFault::Unfinished(_))), "{odd:?}");
    assert_eq!(link.has(&own(1)).await, Ok(false));
    assert_eq!(world.connections(), 2);
}
