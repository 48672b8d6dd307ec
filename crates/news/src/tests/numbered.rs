//! Newsgroups by their own numbers: marks, ranges, and who is asked for them.

mod arrivals;
mod histories;
mod kept;
mod shelf;

use weir_engine::dispatch::Asker;
use weir_news_proto::{MessageId, OverviewLine, Xref};
use weir_testkit::zoo::news::{Article, Behaviour};

use super::world::*;
use crate::model::Model;
use crate::numbered::NumberedLine;
use crate::reading::Unread;

const READER: Asker = Asker::NOBODY;

/// All lines of a range, checked for what holds of all of them.
async fn lines(
    model: &Model,
    name: &str,
    range: std::ops::RangeInclusive<u64>,
) -> Result<Vec<NumberedLine>, Unread> {
    let mut lines = model.numbered_lines(&group(name), range.clone(), READER);
    let mut all: Vec<NumberedLine> = Vec::new();
    while let Some(batch) = lines.next().await? {
        assert!((1..=500).contains(&batch.len()), "{}", batch.len());
        all.extend(batch);
    }
    let numbers: Vec<u64> = all.iter().map(|line| line.number).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    assert!(numbers.iter().all(|number| range.contains(number)));
    for line in &all {
        let text = [b"0\t", &line.fields[..]].concat();
        let read = OverviewLine::parse(&text).expect("an overview");
        assert_eq!(read.id().as_ref(), Some(&line.id));
        let xref = read.extra.strip_prefix(b"Xref: ").expect("an Xref");
        let xref = Xref::parse(xref).expect("an Xref");
        let mut places = xref.places();
        assert!(places.any(|place| place == (name, line.number)));
    }
    Ok(all)
}

fn named(lines: &[NumberedLine]) -> Vec<(u64, MessageId)> {
    let named = lines.iter().map(|line| (line.number, line.id.clone()));
    named.collect()
}

fn same(numbers: impl IntoIterator<Item = u64>) -> Vec<(u64, MessageId)> {
    numbers.into_iter().map(|n| (n, id(n))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_newsgroup_of_one_server_has_its_numbers_and_a_range_asks_for_its_windows_only() {
    let world = NewsWorld::of((1..=3000).filter(|n| n % 7 != 0)).await;
    let marks = world.model.numbered(&group("misc.test"), READER).await;
    let marks = marks.expect("marks");
    assert_eq!((marks.low, marks.high), (1, 3000));
    assert!(marks.count >= 2572 && marks.count <= 3000);
    world.asked(0);
    let read = lines(&world.model, "misc.test", 601..=650)
        .await
        .expect("lines");
    assert_eq!(named(&read), same((601..=650).filter(|n| n % 7 != 0)));
    assert_eq!(world.asked(0), ["OVER 601-650"]);
    let first = String::from_utf8_lossy(&read[0].fields).into_owned();
    let article = "Subject 601\tAuthor 601 <author601@example.com>\t01 Jan 2024 10:01:00 +0000\t<601@zoo.example>\t\t";
    assert!(first.starts_with(article), "{first}");
    assert!(
        first.ends_with("\tXref: weir.invalid misc.test:601"),
        "{first}"
    );
    let all = lines(&world.model, "misc.test", 1..=u64::MAX).await;
    assert_eq!(
        named(&all.expect("lines")),
        same((1..=3000).filter(|n| n % 7 != 0))
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_beyond_the_marks_or_a_hole_is_nothing() {
    let world = NewsWorld::of([5, 6, 9]).await;
    let name = group("misc.test");
    for (range, there) in [
        (1..=4, vec![]),
        (10..=u64::MAX, vec![]),
        (7..=8, vec![]),
        (6..=9, vec![6, 9]),
    ] {
        let read = lines(&world.model, "misc.test", range)
            .await
            .expect("lines");
        assert_eq!(named(&read), same(there));
    }
    #[expect(clippy::reversed_empty_ranges, reason = "readers send them")]
    let backwards = lines(&world.model, "misc.test", 9..=5).await;
    assert_eq!(backwards, Ok(Vec::new()));
    for (number, there) in [
        (0, None),
        (4, None),
        (5, Some(5)),
        (7, None),
        (9, Some(9)),
        (10, None),
    ] {
        let found = world.model.id_at(&name, number, READER).await;
        assert_eq!(found, Ok(there.map(id)), "{number}");
    }
    let step = async |number, up| {
        let beside = world.model.beside(&name, number, up, READER).await;
        beside.expect("an answer").map(|(number, _)| number)
    };
    assert_eq!((step(6, true).await, step(9, true).await), (Some(9), None));
    assert_eq!(
        (step(9, false).await, step(5, false).await),
        (Some(6), None)
    );
    assert_eq!(
        (step(0, true).await, step(u64::MAX, false).await),
        (Some(5), Some(9))
    );
}

#[tokio::test(start_paused = true)]
async fn a_range_that_cannot_be_had_is_an_error_and_not_a_shorter_one() {
    let world = NewsWorld::of(1..=2000).await;
    let marks = world.model.numbered(&group("misc.test"), READER).await;
    assert_eq!(marks.expect("marks").high, 2000);
    world.settle().await;
    world.servers[0].set_for("OVER 501-1000", Behaviour::Line("403 Later".to_owned()));
    let mut read = world
        .model
        .numbered_lines(&group("misc.test"), 1..=2000, READER);
    let first = read.next().await.expect("the first window").expect("lines");
    assert_eq!((first[0].number, first.len()), (1, 500));
    assert!(matches!(read.next().await, Err(Unread::Unreachable(_))));
    assert!(read.next().await.is_err(), "it stays one");
}

#[tokio::test(start_paused = true)]
async fn nobody_has_a_newsgroup_that_is_not_listed() {
    let world = NewsWorld::of(1..=3).await;
    let marks = world.model.numbered(&group("misc.tset"), READER).await;
    assert!(
        matches!(marks, Err(Unread::NoNewsgroup { .. })),
        "{marks:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_list_says_before_a_newsgroup_is_opened_what_it_says_after() {
    let other = || weir_testkit::zoo::news::Newsgroup::new("alt.other");
    let shelves = vec![
        vec![test().with(11..=20)],
        vec![test().with(1..=50), other().with(3..=9)],
    ];
    let world = NewsWorld::new(shelves).await;
    let list = world.model.numbered_list(READER).await.expect("a list");
    let rows: Vec<_> = list
        .rows()
        .map(|(row, about)| (row.clone(), about.to_owned()))
        .collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].1, "About alt.other");
    let marks = |row: &crate::numbered::NumberedNewsgroup| (row.low, row.high);
    assert_eq!(marks(&rows[0].0), (3, 9));
    for (row, _) in &rows {
        let opened = world
            .model
            .numbered(&row.name, READER)
            .await
            .expect("marks");
        assert_eq!(marks(&opened), marks(row));
    }
    for server in 0..2 {
        world.settle().await;
        world.asked(server);
    }
    let again = world.model.numbered_list(READER).await.expect("a list");
    assert!(
        again
            .rows()
            .map(|(row, _)| marks(row))
            .eq(rows.iter().map(|(row, _)| marks(row)))
    );
    assert!(world.asked(0).is_empty() && world.asked(1).is_empty());
}

#[tokio::test(start_paused = true)]
async fn another_server_stands_in_for_one_that_is_down() {
    let shelves = vec![vec![test().with(1..=40)], vec![test().with(1..=40)]];
    let world = NewsWorld::new(shelves).await;
    world.settled().await;
    world.servers[0].set(Behaviour::Goodbye("400 Down".to_owned()));
    world.servers[0].cut();
    let read = lines(&world.model, "misc.test", 1..=40)
        .await
        .expect("lines");
    assert_eq!(named(&read), same(1..=40));
}

#[tokio::test(start_paused = true)]
async fn a_crosspost_names_each_newsgroup_where_it_has_a_number() {
    let other = || weir_testkit::zoo::news::Newsgroup::new("alt.other");
    let never = || weir_testkit::zoo::news::Newsgroup::new("alt.never");
    let world = NewsWorld::new(vec![vec![test().with(1..=4), other(), never()]]).await;
    let both = ["misc.test", "alt.other", "alt.never"];
    let article = Article::new(
        &crate::tests::world::id(77).to_string(),
        &[
            ("Newsgroups", "misc.test,alt.other,alt.never"),
            ("Subject", "Both"),
        ],
        "Hello\n",
    );
    world.servers[0].add(&both, article);
    for name in &both[..2] {
        world
            .model
            .numbered(&group(name), READER)
            .await
            .expect("marks");
    }
    let read = lines(&world.model, "misc.test", 5..=5)
        .await
        .expect("lines");
    let text = String::from_utf8_lossy(&read[0].fields).into_owned();
    assert!(
        text.ends_with("\tXref: weir.invalid misc.test:5 alt.other:1"),
        "{text}"
    );
    assert!(!text.contains("Newsgroups"), "{text}");
    let article = world.article(77).await.expect("an article");
    let xref = world.model.own_xref(&article, "news.example");
    assert_eq!(xref, "news.example misc.test:5 alt.other:1");
    let name = group("alt.other");
    assert_eq!(world.model.number_of(&name, &id(77)).await, Some(1));
    assert_eq!(world.model.number_of(&name, &id(1)).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_falls_does_not_take_back_what_was_told() {
    let world = NewsWorld::of(1..=10).await;
    let name = group("misc.test");
    let told = async |count: u64| {
        world.servers[0].be(|nature| nature.counts = Some((count, 1, count)));
        tokio::time::sleep(MINUTE * 120).await;
        let list = world.model.numbered_list(READER).await.expect("a list");
        list.find(&name).expect("it is there").high
    };
    assert_eq!((told(20).await, told(15).await), (20, 20));
}

#[tokio::test(start_paused = true)]
async fn numbers_that_were_listed_and_not_needed_stay_empty() {
    let world = NewsWorld::of(1..=10).await;
    let name = group("misc.test");
    let high = async || {
        tokio::time::sleep(MINUTE * 120).await;
        let marks = world.model.numbered(&name, READER).await;
        marks.expect("marks").high
    };
    assert_eq!(high().await, 10);
    world.servers[0].be(|nature| nature.counts = Some((13, 1, 13)));
    tokio::time::sleep(MINUTE * 120).await;
    let list = world.model.numbered_list(READER).await.expect("a list");
    assert_eq!(list.find(&name).expect("it is there").high, 13);
    world.servers[0].be(|nature| nature.counts = None);
    world.servers[0].add(&["misc.test"], Article::numbered(11));
    assert_eq!(high().await, 13);
    world.servers[0].add(&["misc.test"], Article::numbered(12));
    assert_eq!(high().await, 14);
    let number = async |n| world.model.number_of(&name, &id(n)).await;
    assert_eq!((number(11).await, number(12).await), (Some(11), Some(14)));
}

#[tokio::test(start_paused = true)]
async fn what_was_listed_before_a_newsgroup_is_opened_holds_when_it_is() {
    let world = NewsWorld::of(1..=10).await;
    let name = group("misc.test");
    world.servers[0].be(|nature| nature.counts = Some((16, 5, 20)));
    let list = world.model.numbered_list(READER).await.expect("a list");
    let listed = list.find(&name).expect("it is there");
    assert_eq!((listed.low, listed.high), (5, 20));
    // Its own numbers are lower.
    world.servers[0].be(|nature| nature.counts = None);
    let marks = world.model.numbered(&name, READER).await.expect("marks");
    assert!(marks.low >= 5 && marks.high == 20, "{marks:?}");
    let read = lines(&world.model, "misc.test", 1..=100).await;
    let read = named(&read.expect("lines"));
    assert!(read.iter().all(|(number, _)| (5..=20).contains(number)));
    let ids: Vec<_> = read.into_iter().map(|(_, id)| id).collect();
    assert_eq!(ids, (1..=10).map(id).collect::<Vec<_>>(), "each of them");
}

#[tokio::test(start_paused = true)]
async fn what_was_listed_holds_while_nobody_answers() {
    let world = NewsWorld::of(1..=10).await;
    let name = group("misc.test");
    let marks = world.model.numbered(&name, READER).await;
    assert_eq!(marks.expect("marks").high, 10);
    world.servers[0].be(|nature| nature.counts = Some((13, 1, 13)));
    tokio::time::sleep(MINUTE * 120).await;
    let list = world.model.numbered_list(READER).await.expect("a list");
    assert_eq!(list.find(&name).expect("it is there").high, 13);
    world.servers[0].set(Behaviour::Goodbye("400 Down".to_owned()));
    world.servers[0].cut();
    tokio::time::sleep(MINUTE * 120).await;
    let marks = world.model.numbered(&name, READER).await;
    assert_eq!(marks.expect("marks").high, 13);
}
