//! Who is handed an article, and what comes of it.

use bytes::Bytes;
use weir_engine::Got;
use weir_engine::dispatch::Asker;
use weir_news_proto::MessageId;
use weir_testkit::zoo::news::{self, Behaviour};

use crate::posting::{NotPosted, PostState, Poster};
use crate::tests::world::*;

pub(super) fn article(newsgroups: &str, more: &str) -> Bytes {
    let head =
        format!("From: Ann <a@b.example>\r\nNewsgroups: {newsgroups}\r\nSubject: Mine\r\n{more}");
    format!("{head}\r\nText\r\n").into()
}

pub(super) async fn post(world: &NewsWorld, article: Bytes) -> Result<MessageId, NotPosted> {
    let posted = world
        .model
        .post(article, Poster::keyholder(), Asker::NOBODY);
    posted.await
}

fn flagged(name: &str, flag: char) -> news::Newsgroup {
    let mut flagged = news::Newsgroup::new(name);
    flagged.flag = flag.to_string();
    flagged
}

/// How many articles each server has kept.
fn kept(world: &NewsWorld) -> Vec<usize> {
    let posted = world.servers.iter().map(|server| server.posted().len());
    posted.collect()
}

async fn two() -> NewsWorld {
    NewsWorld::new(vec![vec![test().with(1..=3)], vec![test().with(1..=3)]]).await
}

fn state(world: &NewsWorld, id: &MessageId) -> PostState {
    world.model.own(id).expect("it was posted here").state
}

#[tokio::test(start_paused = true)]
async fn the_first_server_that_carries_the_newsgroup_gets_it() {
    let world = two().await;
    let id = post(&world, article("misc.test", ""))
        .await
        .expect("it is posted");
    assert_eq!(kept(&world), [1, 0]);
    let posted = &world.servers[0].posted()[0];
    let text = String::from_utf8_lossy(&posted.bytes).into_owned();
    assert!(
        text.contains(&format!("Message-ID: {id}\r\n")) && text.contains("Cancel-Lock: sha256:")
    );
    let note = world.model.own(&id).expect("it was posted here");
    assert_eq!(note.server.as_deref(), Some("one"));
}

#[tokio::test(start_paused = true)]
async fn another_one_gets_it_if_the_first_does_not_let_us_or_is_not_there() {
    for behaviour in [
        Behaviour::Line("440 No".to_owned()),
        Behaviour::Line("480 Who".to_owned()),
        Behaviour::Close,
        Behaviour::Hang,
    ] {
        let world = two().await;
        world.newsgroups().await.expect("a list");
        world.servers[0].set_for("POST", behaviour.clone());
        post(&world, article("misc.test", ""))
            .await
            .expect("it is posted");
        assert_eq!(kept(&world), [0, 1], "{behaviour:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn records_say_whether_a_post_that_a_server_did_not_take_went_to_another() {
    let world = two().await;
    world.newsgroups().await.expect("a list");
    let newest = || {
        let server = world.model.federation.servers.named("one");
        let upstream = server.expect("a server").upstream;
        world.model.engine.decisions(upstream, None, 1).remove(0)
    };
    world.servers[0].set_for("POST", Behaviour::Line("440 No".to_owned()));
    post(&world, article("misc.test", ""))
        .await
        .expect("it is posted");
    assert_eq!(newest().got, Some(Got::Elsewhere), "{:?}", newest());
    world.servers[1].set_for("POST", Behaviour::Line("440 No".to_owned()));
    post(&world, article("misc.test", ""))
        .await
        .expect_err("nobody takes it");
    assert_eq!(newest().got, Some(Got::Nothing), "{:?}", newest());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_final_and_told_in_the_servers_words() {
    let world = two().await;
    world.servers[0].set_for("POST", Behaviour::Verdict("441 Too many lines".to_owned()));
    let refused = post(&world, article("misc.test", "")).await;
    let why = NotPosted::Refused("one refused it: Too many lines".to_owned());
    assert_eq!(refused, Err(why));
    assert_eq!(kept(&world), [0, 0]);
    assert!(
        world.model.outbox.all().is_empty(),
        "it is nowhere, and not kept"
    );
}

#[tokio::test(start_paused = true)]
async fn who_lets_nobody_post_and_who_is_away_are_told_apart() {
    let world = two().await;
    for server in &world.servers {
        server.set_for("POST", Behaviour::Line("440 No".to_owned()));
    }
    let closed = post(&world, article("misc.test", "")).await;
    assert!(
        matches!(&closed, Err(NotPosted::Forbidden(why)) if why.contains("two")),
        "{closed:?}"
    );
    world.servers[0].set_for("POST", Behaviour::Close);
    let away = post(&world, article("misc.test", "")).await;
    assert!(
        matches!(&away, Err(NotPosted::Unreachable(why)) if why.contains("not sent")),
        "{away:?}"
    );
    let nobody = NewsWorld::new(Vec::new()).await;
    let nobody = post(&nobody, article("misc.test", "")).await;
    assert!(matches!(nobody, Err(NotPosted::Forbidden(_))), "{nobody:?}");
}

#[tokio::test(start_paused = true)]
async fn closed_and_unknown_newsgroups_say_so_before_anybody_is_asked() {
    let shelf = vec![
        test().with(1..=3),
        flagged("misc.closed", 'n'),
        flagged("misc.modded", 'm'),
    ];
    let world = NewsWorld::new(vec![shelf]).await;
    for (names, says) in [
        ("misc.closed", "misc.closed is closed"),
        ("misc.test,misc.nowhere", "No server carries misc.nowhere"),
    ] {
        let refused = post(&world, article(names, "")).await;
        assert!(
            matches!(&refused, Err(NotPosted::Refused(why)) if why.contains(says)),
            "{refused:?}"
        );
    }
    assert_eq!(world.servers[0].count("POST"), 0);
    post(&world, article("misc.modded", ""))
        .await
        .expect("the server mails it to the moderator");
}

#[tokio::test(start_paused = true)]
async fn a_cross_post_goes_to_the_server_that_has_all_its_newsgroups() {
    let other = || news::Newsgroup::new("misc.other");
    let world = NewsWorld::new(vec![vec![test()], vec![test(), other()]]).await;
    let id = post(&world, article("misc.test,misc.other", ""))
        .await
        .expect("it is posted");
    assert_eq!(kept(&world), [0, 1]);
    assert!(world.model.own(&id).expect("known").left_out.is_empty());

    let world = NewsWorld::new(vec![vec![test()], vec![other()]]).await;
    let id = post(&world, article("misc.test,misc.other", ""))
        .await
        .expect("it is posted");
    assert_eq!(kept(&world), [1, 0]);
    let note = world.model.own(&id).expect("known");
    assert_eq!(note.left_out, [group("misc.other")]);
    assert!(
        note.sentence()
            .expect("a sentence")
            .contains("not in misc.other")
    );
}

#[tokio::test(start_paused = true)]
async fn a_cross_post_does_not_lose_a_newsgroup_because_a_server_is_down() {
    let other = || news::Newsgroup::new("misc.other");
    let world = NewsWorld::new(vec![vec![test()], vec![test(), other()]]).await;
    world.newsgroups().await.expect("a list");
    world.servers[1].set(Behaviour::Close);
    let away = post(&world, article("misc.test,misc.other", "")).await;
    assert!(matches!(away, Err(NotPosted::Unreachable(_))), "{away:?}");
    assert_eq!(kept(&world), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_after_340_has_it_once_and_nobody_else_gets_it() {
    for behaviour in [Behaviour::DieAfterArticle, Behaviour::DieBeforeArticle] {
        let world = two().await;
        world.servers[0].set_next("POST", 1, behaviour.clone());
        let id = post(&world, article("misc.test", ""))
            .await
            .expect("it is posted");
        assert_eq!(kept(&world), [1, 0], "{behaviour:?}");
        assert_eq!(state(&world, &id), PostState::Sent);
        assert_eq!(
            world.servers[0].count("STAT"),
            1,
            "it was asked before anything was sent again"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_away_after_340_is_asked_when_it_is_back() {
    for (behaviour, posts) in [
        (Behaviour::DieAfterArticle, 1),
        (Behaviour::DieBeforeArticle, 2),
    ] {
        let world = two().await;
        world.servers[0].set_next("POST", 1, behaviour.clone());
        world.servers[0].set_for("STAT", Behaviour::Close);
        let id = post(&world, article("misc.test", ""))
            .await
            .expect("Weir has taken it over");
        assert_eq!(state(&world, &id), PostState::Unsure);
        let says = world.model.own(&id).and_then(|note| note.sentence());
        assert!(says.expect("a sentence").contains("finding out"));
        assert_eq!(
            world.servers[1].count("POST"),
            0,
            "nobody else is sent it meanwhile"
        );
        world.servers[0].set_for("STAT", Behaviour::Good);
        tokio::time::sleep(20 * MINUTE).await;
        assert_eq!(world.servers[0].count("POST"), posts, "{behaviour:?}");
        assert_eq!(kept(&world), [1, 0], "{behaviour:?}");
        assert!(matches!(
            state(&world, &id),
            PostState::Sent | PostState::Seen
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn what_turns_out_to_be_refused_later_says_so() {
    let world = two().await;
    world.servers[0].set_next("POST", 1, Behaviour::DieBeforeArticle);
    world.servers[0].set_for("STAT", Behaviour::Close);
    let id = post(&world, article("misc.test", ""))
        .await
        .expect("Weir has taken it over");
    world.servers[0].set_for("STAT", Behaviour::Good);
    world.servers[0].set_for("POST", Behaviour::Verdict("441 No binaries".to_owned()));
    tokio::time::sleep(20 * MINUTE).await;
    let note = world.model.own(&id).expect("it is remembered");
    assert_eq!(note.state, PostState::Refused);
    assert!(note.sentence().expect("a sentence").contains("No binaries"));
}

#[tokio::test(start_paused = true)]
async fn what_never_turns_out_ends_after_a_day() {
    let world = two().await;
    world.servers[0].set_next("POST", 1, Behaviour::DieAfterArticle);
    world.servers[0].set_for("STAT", Behaviour::Close);
    let id = post(&world, article("misc.test", ""))
        .await
        .expect("Weir has taken it over");
    tokio::time::sleep(26 * 60 * MINUTE).await;
    assert_eq!(state(&world, &id), PostState::Lost);
    let asked = world.servers[0].count("STAT");
    tokio::time::sleep(26 * 60 * MINUTE).await;
    assert_eq!(world.servers[0].count("STAT"), asked);
}

#[tokio::test(start_paused = true)]
async fn the_same_article_again_is_posted_once() {
    let world = two().await;
    world.newsgroups().await.expect("a list");
    let own = article("misc.test", "Message-ID: <mine@b.example>\r\n");
    world.servers[0].set(Behaviour::Far(SECOND));
    let (first, second) = tokio::join!(post(&world, own.clone()), post(&world, own.clone()));
    assert_eq!(first.expect("it is posted"), second.expect("it is posted"));
    post(&world, own).await.expect("it is there");
    assert_eq!(
        (kept(&world), world.servers[0].count("POST")),
        (vec![1, 0], 1)
    );
}

#[tokio::test(start_paused = true)]
async fn an_article_whose_poster_left_is_posted_all_the_same() {
    let world = two().await;
    world.newsgroups().await.expect("a list");
    world.servers[0].set(Behaviour::Far(SECOND));
    let own = article("misc.test", "Message-ID: <mine@b.example>\r\n");
    let leaves = tokio::time::timeout(SECOND / 2, post(&world, own));
    assert!(leaves.await.is_err());
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!(kept(&world), [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn whoever_posts_too_much_is_told_when_there_is_room() {
    let world = NewsWorld::with(vec![vec![test()]], |config| {
        config.posts_per_hour = std::num::NonZeroU32::new(3).expect("not 0");
    });
    let world = world.await;
    for _ in 0..3 {
        post(&world, article("misc.test", ""))
            .await
            .expect("it is posted");
        tokio::time::sleep(10 * MINUTE).await;
    }
    let Err(NotPosted::TooMany { says, retry_after }) =
        post(&world, article("misc.test", "")).await
    else {
        panic!("a fourth one");
    };
    assert!((1795..=1800).contains(&retry_after), "{retry_after}");
    assert!(says.contains("news.posts_per_hour"), "{says}");
    let engine = &world.model.engine;
    assert_eq!(engine.status().counters.refused, 1);
    let own = engine.own_decisions();
    assert_eq!(
        own[0].sentence(),
        format!(
            "Post refused: an operator had posted 3 in the last hour. The client was told to retry in {}.",
            match retry_after {
                1800 => "30 minutes".to_owned(),
                seconds => format!("1,{} s", seconds - 1000),
            }
        )
    );
    let other = world.model.post(
        article("misc.test", ""),
        Poster::named("other"),
        Asker::NOBODY,
    );
    other.await.expect("everybody has their own limit");
    tokio::time::sleep(30 * MINUTE).await;
    post(&world, article("misc.test", ""))
        .await
        .expect("there is room");
}

#[tokio::test(start_paused = true)]
async fn only_ones_own_articles_can_be_taken_back() {
    let world = two().await;
    let id = post(&world, article("misc.test", ""))
        .await
        .expect("it is posted");
    let cancel = |id: &MessageId| article("misc.test", &format!("Control: cancel {id}\r\n"));
    let foreign: MessageId = news::id(1).parse().expect("an ID");
    for more in [
        format!("Control: cancel {foreign}\r\n"),
        format!("Supersedes: {foreign}\r\n"),
    ] {
        let refused = post(&world, article("misc.test", &more)).await;
        assert!(matches!(refused, Err(NotPosted::Refused(_))), "{refused:?}");
    }
    let other = world
        .model
        .post(cancel(&id), Poster::named("other"), Asker::NOBODY);
    assert!(matches!(other.await, Err(NotPosted::Refused(_))));
    post(&world, cancel(&id)).await.expect("it is sent");
    let sent = world.servers[0].posted();
    let text = String::from_utf8_lossy(&sent[1].bytes).into_owned();
    assert!(text.contains("Cancel-Key: sha256:"), "{text}");
    let note = world.model.own(&id).expect("it is remembered");
    assert!(note.taken_back.is_some());
    assert!(
        note.sentence()
            .expect("a sentence")
            .starts_with("Cancelled")
    );
    let again = format!("Supersedes: {id}\r\n");
    let by = post(&world, article("misc.test", &again))
        .await
        .expect("it is sent");
    let note = world.model.own(&id).expect("it is remembered");
    assert_eq!(note.taken_back.and_then(|back| back.by), Some(by));
}
