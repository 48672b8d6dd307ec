//! Files and disks that fail.

use super::*;

fn spoil(directory: &Path) {
    for name in ["news.db", "news.db-wal"] {
        let name = directory.join(name);
        if let Ok(found) = std::fs::metadata(&name) {
            std::fs::write(&name, vec![0x5A; found.len() as usize]).unwrap();
        }
    }
}

#[tokio::test]
async fn a_file_that_is_damaged_at_the_start_is_set_aside() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("news.db"), vec![0x5A; 10_000]).unwrap();
    let file = open(directory.path(), ROOMY);
    assert!(directory.path().join("news.db.bad").exists());
    file.keep(&group("a.b"), kept(numbered(1..=10), 10));
    assert_eq!(file.lines(&group("a.b"), 100).await.len(), 10);
}

#[tokio::test]
async fn a_file_that_is_damaged_while_in_use_is_set_aside_and_keeping_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let server = file.server("near.example:563");
    let (known, fresh) = (group("a.known"), group("a.fresh"));
    file.keep(&known, kept(numbered(1..=2000), 2000));
    quiet(&file).await;
    spoil(directory.path());
    assert_eq!(file.article(&id(1)).await, None);
    let mut rounds = 0;
    while !directory.path().join("news.db.bad").exists() {
        // Pages may still be in somebody's memory.
        assert!(file.lines(&known, 5000).await.len() <= 2000);
        file.keep_article(&id(rounds), article(1000, 1));
        rounds += 1;
        assert!(rounds < 1000, "the damage is never noticed");
    }
    file.keep(&fresh, kept(numbered(1..=10), 10));
    file.keep(&known, kept(numbered(2001..=2010), 2010));
    quiet(&file).await;
    assert!(file.has_lost(&known) && !file.has_lost(&fresh));
    assert_eq!(
        file.newsgroup(&known).await,
        None,
        "half of it would be worse"
    );
    assert!(!file.has_lost(&known), "who was told so begins anew");
    file.keep(&known, kept(numbered(1..=5), 5));
    file.close();
    let file = open(directory.path(), ROOMY);
    assert_eq!(file.lines(&fresh, 100).await.len(), 10);
    assert_eq!(file.lines(&known, 100).await.len(), 5);
    assert_eq!(
        file.server("near.example:563"),
        server,
        "the new file knows it as well"
    );
}

#[tokio::test]
async fn what_was_written_survives_a_process_that_just_ends() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    file.keep(&group("a.b"), kept(numbered(1..=10), 10));
    quiet(&file).await;
    // The files as they are when nobody closes anything.
    let left = tempfile::tempdir().unwrap();
    for name in ["news.db", "news.db-wal"] {
        std::fs::copy(directory.path().join(name), left.path().join(name)).unwrap();
    }
    let again = open(left.path(), ROOMY);
    assert_eq!(again.lines(&group("a.b"), 100).await.len(), 10);
    drop(file);
    assert_eq!(
        open(directory.path(), ROOMY)
            .lines(&group("a.b"), 100)
            .await
            .len(),
        10
    );
}

/// Makes the disk full, as SQLite sees it, or gives it room again.
async fn fill(file: &NewsFile, full: bool) {
    let pages = if full { 1 } else { 1_000_000 };
    file.swept(move |transaction| {
        let set = format!("PRAGMA max_page_count = {pages}");
        transaction.query_row(&set, [], |_| Ok(true))
    })
    .await;
}

#[tokio::test]
async fn a_full_disk_costs_nothing_that_numbers_need() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let name = group("a.b");
    file.keep(&name, kept(numbered(1..=10), 10));
    quiet(&file).await;
    fill(&file, true).await;
    for window in 0..100 {
        let numbers = window * 500 + 11..=window * 500 + 510;
        let mut kept = kept(numbered(numbers.clone()), *numbers.end());
        let extra = vec![b'x'; 2000];
        kept.lines
            .iter_mut()
            .for_each(|line| line.line = [&line.line[..], &extra].concat().into());
        file.keep(&name, kept);
    }
    while file.0.backlog.lock().is_writing() {
        file.swept(|_| Ok(false)).await;
    }
    assert!(file.0.backlog.lock().failures > 0);
    assert_eq!(file.number_of(&name, &id(11)), Some(11), "it still waits");
    let high = file.newsgroup(&name).await.unwrap().rows.marks.high;
    assert_eq!(high, 50_010, "what waits counts");
    assert!(file.lines(&name, 100).await.len() >= 10);
    fill(&file, false).await;
    file.keep_article(&id(1), article(10, 1));
    quiet(&file).await;
    file.close();
    let file = open(directory.path(), ROOMY);
    let newsgroup = file.newsgroup(&name).await.unwrap();
    assert_eq!(newsgroup.rows.marks.high, 50_010);
    assert_eq!(newsgroup.rows.runs, changes(50_010).runs);
    let lines = newsgroup.lines;
    assert!(
        (10_000..40_000).contains(&lines),
        "32 MiB of lines waited: {lines}"
    );
}

#[tokio::test]
async fn an_entry_that_can_never_be_written_does_not_stop_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let breaks = "CREATE TRIGGER broken BEFORE INSERT ON news_article WHEN new.server = 'near'
        BEGIN SELECT RAISE(ABORT, 'as the test wished'); END";
    file.swept(move |transaction| transaction.execute(breaks, []).map(|_| true))
        .await;
    file.keep_article(&id(1), article(10, 1));
    for number in 2..20 {
        let server = "far".into();
        file.keep_article(
            &id(number),
            KeptArticle {
                server,
                ..article(10, 1)
            },
        );
        while file.0.backlog.lock().is_writing() {
            file.swept(|_| Ok(false)).await;
        }
    }
    assert!(file.0.backlog.lock().is_empty());
    assert!(file.article(&id(19)).await.is_some());
    assert!(file.article(&id(1)).await.is_none());
}
