//! Servers that fail, and what readers see of it.

use tokio::time::advance;
use weir_engine::dispatch::Asker;
use weir_testkit::zoo::news::{Article, Behaviour};

use super::world::*;
use crate::policy::NORMAL;
use crate::reading::{Content, Unread};

fn down() -> Behaviour {
    Behaviour::Goodbye("400 Going down".to_owned())
}

async fn two() -> NewsWorld {
    let one = test().with(1..=40);
    let two = test().with(1..=40);
    NewsWorld::new(vec![vec![one], vec![two]]).await
}

#[tokio::test(start_paused = true)]
async fn the_next_server_is_read_when_the_first_fails() {
    let world = two().await;
    world.newsgroups().await.expect("a list");
    world.servers[0].set(down());
    let page = world.page(0).await.expect("a page");
    assert_eq!(page.known, 40);
    let silent = &page.currency.silent;
    assert_eq!(silent.len(), 1);
    assert_eq!(silent[0].name.as_ref(), "one");
    assert!(silent[0].reason.starts_with("it "), "{}", silent[0].reason);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_left_alone_is_named_with_the_first_page_already() {
    let world = two().await;
    world.newsgroups().await.expect("a list");
    world.servers[0].set(down());
    world.article(99).await.expect_err("and it begins to rest");
    // As a page does it, without what is merged in afterwards.
    let open = world.model.open(&group("misc.test")).await;
    world.model.bring_new(&open, NORMAL, Asker::NOBODY).await;
    let currency = open.with(|state| state.currency());
    let silent = &currency.silent;
    assert_eq!(silent.len(), 1, "{silent:?}");
    assert!(silent[0].reason.starts_with("it is cooling down"));
    assert!(silent[0].retry_at.is_some());
}

#[tokio::test(start_paused = true)]
async fn one_that_dies_in_the_middle_of_a_page_is_replaced() {
    let world = two().await;
    world.newsgroups().await.expect("a list");
    world.servers[0].set_for("OVER", Behaviour::Half);
    let page = world.page(0).await.expect("a page");
    assert_eq!(page.known, 40);
}

#[tokio::test(start_paused = true)]
async fn with_all_servers_down_what_is_known_stays_readable_and_says_so() {
    let world = two().await;
    let before = world.settled().await;
    assert!(before.currency.silent.is_empty());
    world.article(7).await.expect("an article");
    world.servers.iter().for_each(|server| server.set(down()));
    advance(6 * MINUTE).await;
    let page = world.page(0).await.expect("a page");
    assert_eq!(page.known, 40);
    assert_eq!(page.currency.silent.len(), 2);
    assert_eq!(
        page.currency.checked, before.currency.checked,
        "since then nobody said what is new"
    );
    assert_eq!(
        world.newsgroups().await.expect("a list").newsgroups.len(),
        1
    );
    world.article(7).await.expect("it was read before");
    let Unread::Unreachable(silent) = world.article(8).await.unwrap_err() else {
        panic!("nobody could say that it is nowhere");
    };
    assert_eq!(silent.len(), 2);
    assert!(
        silent.iter().all(|server| server.retry_at.is_some()),
        "{silent:?}"
    );
}

/// The servers that are said not to have answered, with the reason of the first.
fn silents<T: std::fmt::Debug>(unread: Result<T, Unread>) -> (Vec<String>, String) {
    let Err(Unread::Unreachable(silent)) = unread else {
        panic!("{unread:?}");
    };
    let reason = silent.first().map(|server| server.reason.clone());
    let names = silent.iter().map(|server| server.name.to_string());
    (names.collect(), reason.unwrap_or_default())
}

/// A server that begins to hang, before or after its newsgroup is first read.
async fn hanging(is_read: bool) -> NewsWorld {
    let world = NewsWorld::of(1..=2000).await;
    if is_read {
        world.settled().await;
    }
    world.servers[0].set(Behaviour::Hang);
    world
}

#[tokio::test(start_paused = true)]
async fn whoever_has_not_answered_by_the_deadline_is_named() {
    let reason = "it did not answer within 10 s";
    let late = (vec!["one".to_owned()], reason.to_owned());
    let world = hanging(false).await;
    assert_eq!(silents(world.newsgroups().await), late, "newsgroups");
    let world = hanging(false).await;
    assert_eq!(silents(world.article(7).await), late, "article");
    let world = hanging(false).await;
    assert_eq!(silents(world.page(0).await), late, "threads");
    let world = hanging(true).await;
    assert_eq!(silents(world.page(35).await), late, "older threads");
    let world = hanging(true).await;
    assert_eq!(silents(world.thread(3).await), late, "a thread far back");

    let world = hanging(true).await;
    let view = world.thread(1_990).await.expect("its line is known");
    let Content::Unreachable(silent) = &view.messages[0].content else {
        panic!("{:?}", view.messages[0].content);
    };
    assert_eq!(silent[0].reason, reason, "an article of a thread");

    let world = hanging(true).await;
    let before = world.page(0).await.expect("what is known");
    advance(6 * MINUTE).await;
    let stored = world.page(0).await.expect("what is known");
    assert_eq!(stored.currency.silent[0].reason, reason);
    assert_eq!(stored.currency.checked, before.currency.checked);
}

#[tokio::test(start_paused = true)]
async fn all_who_were_asked_in_vain_are_named() {
    let world = two().await;
    world.newsgroups().await.expect("a list");
    world
        .servers
        .iter()
        .for_each(|one| one.set(Behaviour::Hang));
    let (names, _) = silents(world.article(7).await);
    assert_eq!(names, ["one", "two"]);
    let (names, _) = silents(world.page(0).await);
    assert_eq!(names, ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn whoever_answers_after_the_deadline_is_no_longer_named() {
    let world = NewsWorld::of(1..=9).await;
    world.newsgroups().await.expect("a list");
    world.servers[0].set_for("OVER", Behaviour::Slow(12 * SECOND));
    silents(world.page(0).await);
    tokio::time::sleep(5 * SECOND).await;
    let page = world.page(0).await.expect("a page");
    assert_eq!((page.known, page.currency.silent.len()), (9, 0));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_back_is_read_again() {
    let world = NewsWorld::of(1..=3).await;
    world.servers[0].set(down());
    let Unread::Unreachable(silent) = world.page(0).await.unwrap_err() else {
        panic!("nothing is known");
    };
    assert_eq!(silent[0].name.as_ref(), "one");
    world.servers[0].set(Behaviour::Good);
    advance(2 * MINUTE).await;
    assert_eq!(world.page(0).await.expect("a page").known, 3);
}

#[tokio::test(start_paused = true)]
async fn a_renumbered_newsgroup_is_neither_doubled_nor_lost() {
    let world = NewsWorld::of(1..=40).await;
    world.settled().await;
    world.servers[0].renumber("misc.test", 501);
    world.servers[0].add(&["misc.test"], Article::numbered(41));
    advance(6 * MINUTE).await;
    world.page(0).await.expect("a page");
    world.settle().await;
    let page = world.page(0).await.expect("a page");
    assert_eq!(page.known, 41);
}

#[tokio::test(start_paused = true)]
async fn what_came_before_a_newsgroup_was_renumbered_downwards_hides_nothing() {
    // More than a page shows, so that nobody goes back in time to fill it.
    let world = NewsWorld::of(1_001..=1_200).await;
    world.settled().await;
    world.servers[0].renumber("misc.test", 1);
    world.servers[0].add(&["misc.test"], Article::numbered(2_000));
    advance(6 * MINUTE).await;
    world.page(0).await.expect("a page");
    world.settle().await;
    assert_eq!(world.page(0).await.expect("a page").known, 201);
}

#[tokio::test(start_paused = true)]
async fn what_is_new_after_a_renumbering_that_overlaps_is_not_hidden_by_old_numbers() {
    let world = NewsWorld::of(1_001..=1_200).await;
    world.settled().await;
    world.servers[0].renumber("misc.test", 901);
    // It gets a number that another article had.
    world.servers[0].add(&["misc.test"], Article::numbered(2_000));
    advance(6 * MINUTE).await;
    world.page(0).await.expect("a page");
    world.settle().await;
    assert_eq!(world.page(0).await.expect("a page").known, 201);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lists_a_newsgroup_without_having_it_is_not_silent() {
    let world = two().await;
    world.newsgroups().await.expect("a list");
    let unknown = Behaviour::Line("411 No such newsgroup".to_owned());
    world.servers[0].set_for("GROUP", unknown);
    let page = world.page(0).await.expect("a page");
    assert_eq!((page.known, page.currency.silent.len()), (40, 0));
}

#[tokio::test(start_paused = true)]
async fn a_newsgroup_that_one_server_does_not_carry_is_asked_of_the_others() {
    let world = NewsWorld::new(vec![vec![], vec![test().with(1..=5)]]).await;
    assert_eq!(world.page(0).await.expect("a page").known, 5);
    assert!(
        world.asked(0).iter().all(|line| !line.starts_with("GROUP")),
        "its list says so"
    );
}

/// One call at a time, and one that waits.
async fn narrow() -> NewsWorld {
    let change = |config: &mut crate::Config| {
        config.queue_size = 1.try_into().expect("not 0");
        config.servers[0].connections = 1.try_into().expect("not 0");
        config.pipeline_depth = 1.try_into().expect("not 0");
        config.article_depth = 1.try_into().expect("not 0");
    };
    NewsWorld::with(vec![vec![test().with(1..=60)]], change).await
}

#[tokio::test(start_paused = true)]
async fn a_list_that_finds_no_place_in_the_queue_says_so() {
    let world = narrow().await;
    world.newsgroups().await.expect("a list");
    world.settle().await;
    world.servers[0].set(Behaviour::Slow(5 * SECOND));
    let articles = (1..=20).map(|number| world.article(number));
    let page = async {
        tokio::time::sleep(SECOND).await;
        world.page(0).await
    };
    let (_, page) = tokio::join!(futures_util::future::join_all(articles), page);
    assert!(
        matches!(page, Err(Unread::Busy { retry_after: 1.. })),
        "{page:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_says_when_to_come_back() {
    let world = narrow().await;
    world.settled().await;
    world.servers[0].set(Behaviour::Slow(5 * SECOND));
    let articles = (1..=20).map(|number| world.article(number));
    let read = futures_util::future::join_all(articles).await;
    let busy = read
        .iter()
        .filter(|read| matches!(read, Err(Unread::Busy { retry_after: 1.. })));
    assert!(busy.count() > 10);
}

#[tokio::test(start_paused = true)]
async fn a_reload_keeps_what_is_known_and_reads_what_is_new() {
    let mut world = two().await;
    world.settled().await;
    world.servers[1].add(&["misc.test"], Article::numbered(41));
    world.config.servers.remove(0);
    world.model.apply(&world.config);
    advance(6 * MINUTE).await;
    let page = world.page(0).await.expect("a page");
    assert_eq!(page.known, 41);
    assert_eq!(
        page.newsgroup.servers.len(),
        1,
        "the list is made of those who are left"
    );
}
