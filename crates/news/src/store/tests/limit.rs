//! What goes when the file is full, in which order, and what stays.

use super::*;

const LIMIT: u64 = 2 << 20;

/// Pages of the file on disk, which is what the limit is for.
fn on_disk(directory: &Path) -> u64 {
    std::fs::metadata(directory.join("news.db")).unwrap().len()
}

#[tokio::test]
async fn three_times_the_limit_passes_through_and_what_was_read_last_stays() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), LIMIT);
    for number in 0..600_u64 {
        file.keep_article(&id(number), article(10_000, number as i64));
        // The first ones are read all the time.
        let favourite = number % 10;
        file.read_article(&id(favourite), number as i64);
        if number % 50 == 0 {
            quiet(&file).await;
        }
    }
    quiet(&file).await;
    let sizes = file.sizes();
    assert!(
        sizes.articles > LIMIT / 2,
        "not more is thrown away than has to be: {sizes:?}"
    );
    assert!(sizes.file <= LIMIT + (1 << 20), "{sizes:?}");
    for number in (0..10).chain(550..600) {
        assert!(file.article(&id(number)).await.is_some(), "{number}");
    }
    for number in 10..300 {
        assert!(file.article(&id(number)).await.is_none(), "{number}");
    }
    file.close();
    assert!(on_disk(directory.path()) <= LIMIT + (1 << 20));
}

#[tokio::test]
async fn lines_go_after_articles_and_their_numbers_stay() {
    let directory = tempfile::tempdir().unwrap();
    let limit = LIMIT / 8 * 5;
    let file = open(directory.path(), limit);
    let (old, new) = (group("opened.long.ago"), group("opened.just.now"));
    file.keep_article(&id(1), article(1000, 1));
    for (name, at) in [(&old, 1), (&new, 2)] {
        file.keep(name, kept(vec![line(&id(77_777), None, 0)], 1));
        quiet(&file).await;
        file.read_newsgroup(name, at);
        for window in 0..7 {
            let numbers = window * 500 + 1..=window * 500 + 500;
            file.keep(name, kept(numbered(numbers), 3500));
        }
    }
    quiet(&file).await;
    assert!(file.sizes().file <= limit + (1 << 20), "{:?}", file.sizes());
    assert!(
        file.article(&id(1)).await.is_none(),
        "articles go first: {:?}",
        file.sizes()
    );
    let (left_old, left_new) = (file.lines(&old, 9999).await, file.lines(&new, 9999).await);
    assert!(
        left_old.len() < left_new.len(),
        "{} {}",
        left_old.len(),
        left_new.len()
    );
    assert!(left_new.len() > 3000, "{}", left_new.len());
    for name in [&old, &new] {
        let found = file.newsgroup(name).await.unwrap();
        assert_eq!(found.lines as usize, file.lines(name, 9999).await.len());
        assert_eq!(found.rows.marks.high, 3500);
        for number in (1..=3500).step_by(100) {
            assert_eq!(file.id_of(name, number), Some(id(number)));
            assert_eq!(file.number_of(name, &id(number)), Some(number));
        }
    }
    // Lines that were thrown away may come again, with the number that they had.
    assert!(!numbers_of(&left_old).contains(&Some(5)));
    file.keep(&old, kept(vec![line(&id(5), None, 0)], 3500));
    let again = file.lines_between(&old, 1..=10, 10).await;
    assert_eq!(numbers_of(&again), [Some(5)]);
}

#[tokio::test]
async fn whole_newsgroups_go_when_numbers_alone_are_too_many() {
    let directory = tempfile::tempdir().unwrap();
    let small = 1 << 20;
    let file = open(directory.path(), small);
    let names: Vec<Newsgroup> = (0..8).map(|n| group(&format!("group.{n}"))).collect();
    for (at, name) in (1..).zip(&names) {
        for window in 0..6 {
            let numbers = window * 500 + 1..=window * 500 + 500;
            file.keep(name, kept(numbered(numbers), 3000));
        }
        quiet(&file).await;
        file.read_newsgroup(name, at);
        quiet(&file).await;
    }
    assert!(file.sizes().file <= small + (1 << 20), "{:?}", file.sizes());
    assert_eq!(file.newsgroup(&names[0]).await, None);
    assert_eq!(file.id_of(&names[0], 1), None);
    assert_eq!(
        file.id_of(&names[7], 1),
        Some(id(1)),
        "the last one stays whole"
    );
    assert!(file.newsgroup(&names[7]).await.is_some());
}

#[tokio::test]
async fn changes_of_a_newsgroup_that_went_wait_for_all_of_its_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let name = group("a.b");
    file.keep(&name, kept(numbered(1..=10), 10));
    quiet(&file).await;
    file.swept(|transaction| {
        transaction.execute("UPDATE news_newsgroup SET name = NULL", [])?;
        Ok(true)
    })
    .await;
    assert!(!file.has_lost(&name), "nobody has looked");
    file.keep(&name, kept(numbered(11..=20), 20));
    quiet(&file).await;
    assert!(file.has_lost(&name));
    assert_eq!(file.id_of(&name, 11), None);
    let NumberChanges {
        marks,
        servers,
        runs,
        ..
    } = changes(30);
    let rows = NumberRows {
        marks,
        servers,
        runs,
    };
    file.keep_rows(&name, rows.clone());
    file.keep(&name, kept(numbered(21..=30), 30));
    quiet(&file).await;
    assert!(!file.has_lost(&name));
    assert_eq!(file.id_of(&name, 25), Some(id(25)));
    assert_eq!(file.newsgroup(&name).await.unwrap().rows.runs, rows.runs);
}

#[tokio::test]
async fn what_is_larger_than_its_share_is_not_kept() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), LIMIT);
    file.keep_article(&id(1), article(1000, 1));
    file.keep_article(&id(2), article(LIMIT as usize / 4 + 1, 2));
    quiet(&file).await;
    assert!(file.article(&id(1)).await.is_some());
    assert!(file.article(&id(2)).await.is_none());
}

#[tokio::test]
async fn times_in_the_future_do_not_keep_anything_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    file.keep_article(&id(1), article(1000, 9_000_000_000));
    file.sweep(50).await;
    let read = file.0.file.read(|connection| {
        let sql = "SELECT read FROM news_article";
        connection
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .map(Some)
    });
    assert_eq!(read, Some(50));
}

#[tokio::test]
async fn a_line_that_came_again_is_the_next_to_go() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let name = group("a.b");
    file.keep(&name, kept(numbered(1..=200), 200));
    quiet(&file).await;
    let some = |transaction: &Transaction<'_>| sweep::drop_lines(transaction, 1);
    assert!(file.swept(some).await);
    let left = file.lines(&name, 200).await;
    assert!((100..200).contains(&left.len()), "{}", left.len());
    file.keep(&name, kept(numbered(5..=5), 200));
    assert_eq!(file.lines_between(&name, 1..=5, 10).await.len(), 1);
    assert!(file.swept(some).await);
    assert_eq!(file.lines_between(&name, 1..=5, 10).await.len(), 0);
}
