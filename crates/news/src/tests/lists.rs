//! Lists of newsgroups and of threads.

use weir_engine::Got;
use weir_engine::dispatch::What;
use weir_testkit::zoo::news::{self, Article, Behaviour, EmptyRange};

use super::world::*;
use crate::reading::{Posting, Unread};

#[tokio::test(start_paused = true)]
async fn newsgroups_of_all_servers_are_one_list_with_one_command_each() {
    let one = vec![
        test().with(1..=9),
        news::Newsgroup::new("only.one").flag("m"),
    ];
    let two = vec![
        test().with(1..=20),
        news::Newsgroup::new("only.two").flag("n"),
    ];
    let world = NewsWorld::new(vec![one, two]).await;
    let list = world.newsgroups().await.expect("a list");
    let rows: Vec<(&str, u64, Posting)> = list
        .newsgroups
        .iter()
        .map(|row| (row.name.as_str(), row.articles, row.posting))
        .collect();
    let expected = [
        ("misc.test", 20, Posting::Open),
        ("only.one", 0, Posting::Moderated),
        ("only.two", 0, Posting::Closed),
    ];
    assert_eq!(rows, expected);
    assert!(list.currency.checked.is_some() && list.currency.silent.is_empty());
    world.settle().await;
    let described = world.newsgroups().await.expect("a list");
    assert_eq!(described.newsgroups[0].description, "About misc.test");
    assert_eq!(world.asked(0), ["LIST COUNTS", "LIST NEWSGROUPS"]);
    assert_eq!(world.asked(1), ["LIST COUNTS", "LIST NEWSGROUPS"]);
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_comes_between_the_first_lists_waits_for_all_of_them() {
    let one = vec![test().with(1..=30), news::Newsgroup::new("only.one")];
    let two = vec![test().with(1..=3)];
    let world = NewsWorld::new(vec![one, two]).await;
    world.servers[0].set_for("LIST", Behaviour::Far(SECOND));
    let (list, (page, named)) = tokio::join!(world.newsgroups(), async {
        // By now the second server has sent its list, and the first has not.
        tokio::time::sleep(SECOND / 2).await;
        assert!(world.model.catalogue.partial_since().is_some());
        tokio::join!(world.page(0), world.newsgroups())
    });
    assert_eq!(page.expect("a page").known, 30, "of the first server");
    assert_eq!(named.expect("a list").newsgroups.len(), 2);
    assert_eq!(list.expect("a list").newsgroups.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn records_say_what_was_known_of_a_server_that_sent_no_list() {
    let one = vec![test().with(1..=30)];
    let two = vec![test().with(1..=3)];
    let world = NewsWorld::new(vec![one, two]).await;
    let newest = |name| {
        let server = world.model.federation.servers.named(name);
        let upstream = server.expect("a server").upstream;
        world.model.engine.decisions(upstream, None, 1).remove(0)
    };
    world.servers[1].set(Behaviour::Close);
    world.newsgroups().await.expect("a list");
    world.settle().await;
    let mut records = Vec::new();
    let server = world.model.federation.servers.named("two").expect("two");
    for record in world.model.engine.decisions(server.upstream, None, 50) {
        let is_decision =
            record.asker == READER && !matches!(record.what, What::CooldownBegan { .. });
        records.extend(is_decision.then_some(record.got));
    }
    assert!(!records.is_empty());
    assert!(
        records.iter().all(|got| *got == Some(Got::Nothing)),
        "{records:?}"
    );
    // An hour and more later both are silent, and what the first sent is still there.
    tokio::time::sleep(70 * MINUTE).await;
    world.servers[0].set(Behaviour::Close);
    world.newsgroups().await.expect("the list of before");
    let got = newest("one").got.or_else(|| {
        let server = world.model.federation.servers.named("one").expect("one");
        let all = world.model.engine.decisions(server.upstream, None, 50);
        all.into_iter().find_map(|record| record.got)
    });
    assert!(
        matches!(got, Some(Got::Cached { age }) if age >= 70 * MINUTE),
        "{got:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_lists_is_waited_for_once() {
    let one = vec![test().with(1..=30)];
    let two = vec![test().with(1..=3)];
    let world = NewsWorld::new(vec![one, two]).await;
    world.servers[0].set_for("LIST", Behaviour::Hang);
    let start = tokio::time::Instant::now();
    world.newsgroups().await.expect("the other's list");
    assert!(start.elapsed() <= 3 * SECOND, "{:?}", start.elapsed());
    let start = tokio::time::Instant::now();
    world.newsgroups().await.expect("the other's list");
    assert_eq!(world.page(0).await.expect("a page").known, 3);
    assert!(start.elapsed() < SECOND, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_server_without_counts_lists_what_is_active_and_descriptions_may_be_missing() {
    let world = NewsWorld::of(5..=9).await;
    world.servers[0].without(&["LIST COUNTS", "LIST NEWSGROUPS"]);
    let list = world.newsgroups().await.expect("a list");
    assert_eq!(list.newsgroups[0].articles, 5);
    world.settle().await;
    assert_eq!(
        world.newsgroups().await.expect("a list").newsgroups[0].description,
        ""
    );
}

#[tokio::test(start_paused = true)]
async fn the_newest_thread_comes_first_and_pages_have_fifty() {
    let world = NewsWorld::of(1..=120).await;
    let first = world.page(0).await.expect("a page");
    assert_eq!(roots(&first), (71..=120).rev().collect::<Vec<_>>());
    assert_eq!(
        (first.known, first.complete, first.has_next()),
        (120, true, true)
    );
    let last = world.page(2).await.expect("a page");
    assert_eq!(roots(&last), (1..=20).rev().collect::<Vec<_>>());
    assert!(!last.has_next());
    assert_eq!(
        world.page(3).await.unwrap_err(),
        Unread::NoPage { pages: 3 }
    );
    assert_eq!(
        world.page(usize::MAX).await.unwrap_err(),
        Unread::NoPage { pages: 3 }
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_page_costs_the_same_however_large_the_newsgroup_is() {
    let cost = async |articles: u64| {
        let world = NewsWorld::of(1..=articles).await;
        world.page(0).await.expect("a page");
        let asked = world.asked(0).into_iter();
        let asked = asked.filter(|line| line.starts_with("GROUP") || line.starts_with("OVER"));
        (asked.collect::<Vec<_>>(), articles)
    };
    assert_eq!(cost(1000).await.0, ["GROUP misc.test", "OVER 501-1000"]);
    assert_eq!(
        cost(20_000).await.0,
        ["GROUP misc.test", "OVER 19501-20000"]
    );
}

#[tokio::test(start_paused = true)]
async fn deeper_pages_fetch_older_windows_and_the_next_page_is_fetched_ahead() {
    let world = NewsWorld::of(1..=2000).await;
    world.settled().await;
    world.asked(0);
    let tenth = world.page(9).await.expect("a page");
    assert_eq!((tenth.known, tenth.complete), (500, false));
    assert!(
        world.asked(0).is_empty(),
        "all of its threads were in the first window"
    );
    world.settle().await;
    assert_eq!(
        world.asked(0),
        ["OVER 1001-1500"],
        "the eleventh is fetched ahead"
    );
    let deep = world.page(30).await.expect("a page");
    assert_eq!(deep.threads.len(), 50);
    assert_eq!(world.asked(0), ["OVER 501-1000", "OVER 1-500"]);
    assert_eq!(roots(&world.page(39).await.expect("a page"))[49], 1);
    let end = world.page(40).await.unwrap_err();
    assert_eq!(end, Unread::NoPage { pages: 40 });
}

#[tokio::test(start_paused = true)]
async fn large_holes_do_not_cost_a_command_each() {
    let numbers = (1..=600u64).map(|number| number * 100);
    let world = NewsWorld::of(numbers).await;
    let page = world.page(0).await.expect("a page");
    assert_eq!(page.threads.len(), 50);
    let over = world
        .asked(0)
        .into_iter()
        .filter(|line| line.starts_with("OVER"));
    assert_eq!(over.collect::<Vec<_>>(), ["OVER 52001-60000"]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_newsgroup_is_a_page_without_threads() {
    for empty in [EmptyRange::NoArticles, EmptyRange::EmptyBlock] {
        let world = NewsWorld::of([]).await;
        world.servers[0].be(|nature| nature.empty_range = empty);
        let page = world.page(0).await.expect("a page");
        assert_eq!((page.threads.len(), page.complete), (0, true));
        assert_eq!(
            world.page(1).await.unwrap_err(),
            Unread::NoPage { pages: 0 }
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_newsgroup_that_nobody_carries_is_unknown_and_asked_about_nowhere() {
    let world = NewsWorld::of(1..=3).await;
    let wanted = group("misc.tset");
    let unknown = world
        .model
        .threads(&wanted, 0, weir_engine::dispatch::Asker::NOBODY)
        .await;
    let near = vec!["misc.test".to_owned()];
    assert_eq!(unknown.unwrap_err(), Unread::NoNewsgroup { near });
    assert!(world.asked(0).iter().all(|line| line.starts_with("LIST")));
}

#[tokio::test(start_paused = true)]
async fn without_a_server_there_is_nothing_to_read() {
    let world = NewsWorld::new(Vec::new()).await;
    assert_eq!(world.newsgroups().await.unwrap_err(), Unread::NoServers);
    assert_eq!(world.page(0).await.unwrap_err(), Unread::NoServers);
    assert_eq!(world.article(1).await.unwrap_err(), Unread::NoServers);
}

#[tokio::test(start_paused = true)]
async fn newsgroups_of_several_servers_are_merged_by_message_id() {
    let one = test().with((1..=60).chain(61..=80));
    // The second one counts from 1001 on.
    let mut two = test();
    for number in (1..=60).chain(81..=100) {
        two = two.at(1000 + number, Article::numbered(number));
    }
    let world = NewsWorld::new(vec![vec![one], vec![two]]).await;
    world.servers[1].set_for("GROUP", Behaviour::Far(SECOND / 10));
    let first = world.page(0).await.expect("a page");
    assert_eq!(first.known, 80, "the page waits for the first server alone");
    world.settle().await;
    let merged = world.page(0).await.expect("a page");
    assert_eq!(merged.known, 100, "each article once, whoever has it");
    assert_eq!(roots(&merged)[0], 100);
    let low = |line: &String| line.starts_with("OVER");
    assert_eq!(world.asked(1).iter().filter(|line| low(line)).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn threads_hang_together_and_show_who_spoke_last() {
    let shelf = test()
        .at(1, Article::numbered(1))
        .at(2, Article::numbered(2))
        .at(3, Article::reply(3, &[1]))
        .at(4, Article::reply(4, &[1, 3]));
    let world = NewsWorld::new(vec![vec![shelf]]).await;
    let page = world.page(0).await.expect("a page");
    assert_eq!(roots(&page), [1, 2]);
    let thread = &page.threads[0];
    assert_eq!((thread.articles, thread.subject.as_str()), (3, "Subject 1"));
    assert_eq!(
        (thread.author.as_str(), thread.last_author.as_str()),
        ("Author 1", "Author 4")
    );
    assert_eq!(thread.last_id, id(4));
}

#[tokio::test(start_paused = true)]
async fn dates_of_newest_articles_are_asked_for_only_where_they_are_shown() {
    let shelves = vec![
        test().with(1..=3),
        news::Newsgroup::new("other").with(1..=9),
    ];
    let world = NewsWorld::new(vec![shelves]).await;
    world.newsgroups().await.expect("a list");
    world.settle().await;
    world.asked(0);
    let reader = weir_engine::dispatch::Asker::NOBODY;
    let shown = group("other");
    let dates = async || {
        let list = world.newsgroups().await.expect("a list");
        list.newsgroups
            .iter()
            .map(|row| row.newest)
            .collect::<Vec<_>>()
    };
    world.model.look_at(&[&shown], reader);
    world.settle().await;
    assert_eq!(world.asked(0), ["GROUP other", "OVER 5-9"]);
    let date = 1_704_067_200 + 9 * 60;
    tokio::time::advance(6 * SECOND).await;
    assert_eq!(dates().await, [None, Some(date)]);
    world.model.look_at(&[&shown], reader);
    world.settle().await;
    assert!(world.asked(0).is_empty(), "it is known for five minutes");
    tokio::time::advance(6 * MINUTE).await;
    assert_eq!(dates().await, [None, Some(date)]);
    world.model.look_at(&[&shown], reader);
    world.settle().await;
    assert_eq!(world.asked(0), ["GROUP other", "OVER 5-9"]);
}

#[tokio::test(start_paused = true)]
async fn a_newsgroup_larger_than_the_memory_for_it_lets_its_oldest_threads_go() {
    let world = NewsWorld::of(1..=3000).await;
    world.settled().await;
    let open = world.model.open(&group("misc.test")).await;
    world.page(50).await.expect("a page");
    open.with(|state| {
        assert_eq!(state.table.articles(), 3000);
        state.trim(1000);
        assert_eq!(state.table.articles(), 900);
        let newest = state.table.threads(0).next().expect("a thread");
        assert_eq!(newest.root(), "<3000@zoo.example>");
        let oldest = state.table.threads(899).next().expect("a thread");
        assert_eq!(oldest.root(), "<2101@zoo.example>");
    });
    let page = world.page(0).await.expect("a page");
    assert!(!page.complete && page.known == 900);
    world.settle().await;
    assert_eq!(
        world.page(0).await.expect("a page").known,
        900,
        "they are not fetched again"
    );
}

#[tokio::test(start_paused = true)]
async fn whoever_reads_a_newsgroup_learns_the_date_of_its_newest_article() {
    let world = NewsWorld::of(1..=9).await;
    let newest = async || {
        let list = world.newsgroups().await.expect("a list");
        list.newsgroups[0].newest
    };
    assert_eq!(newest().await, None, "nobody has asked");
    let page = world.page(0).await.expect("a page");
    tokio::time::advance(6 * SECOND).await;
    assert_eq!(newest().await, page.threads.first().map(|row| row.last));
}
