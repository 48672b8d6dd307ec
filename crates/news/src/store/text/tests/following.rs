//! How the index follows the store: what goes, what comes back, limits, damage, crashes.

use super::*;

#[tokio::test]
async fn what_leaves_the_store_leaves_the_index() {
    let world = World::within(1 << 20, ROOMY);
    world.lines("a.b", &[(1, "water", "Ann <a@x>")]);
    world.article(1, "a.b", "a rare sturgeon");
    world.settle().await;
    assert_eq!(world.found("sturgeon").await, [1]);
    // Noise, which cannot be packed, pushes the article out.
    for number in 2..60 {
        let noise: String = (0..1200_u64)
            .map(|part| {
                blake3::hash(&(number * 10_000 + part).to_le_bytes())
                    .to_hex()
                    .to_string()
                    + "\r\n"
            })
            .collect();
        world.article(number, "a.b", &noise);
        written(&world.news).await;
    }
    world.news.sweep(NOW).await;
    world.settle().await;
    assert!(world.news.article(&id(1)).await.is_none());
    assert_eq!(world.found("sturgeon").await, NONE);
    assert_eq!(world.found("water").await, [1], "its line is still there");
    let looked = world.look("author:mira").await;
    assert_eq!(looked.found, looked.hits.len(), "each of them can be shown");
    assert!((5..58).contains(&looked.found), "{}", looked.found);
}

#[tokio::test]
async fn a_line_that_goes_is_not_found_any_more() {
    let world = World::new();
    world.lines(
        "a.b",
        &[(1, "water", "Ann <a@x>"), (2, "water", "Ann <a@x>")],
    );
    world.lines("a.c", &[(1, "water", "Ann <a@x>")]);
    world.settle().await;
    let delete = |sql: &'static str| {
        world
            .news
            .swept(move |news| news.execute(sql, []).map(|_| true))
    };
    assert!(delete("DELETE FROM news_line WHERE row = (SELECT row FROM news_number WHERE newsgroup = 1 AND number = 2)").await);
    world.settle().await;
    assert_eq!(world.found("water").await, [1]);
    assert!(delete("DELETE FROM news_line WHERE row = (SELECT row FROM news_number WHERE newsgroup = 1 AND number = 1)").await);
    world.settle().await;
    let looked = world.look("water").await;
    let names: Vec<_> = looked.hits[0]
        .newsgroups
        .iter()
        .map(|name| name.as_str())
        .collect();
    assert_eq!(names, ["a.c"], "it is still in the other newsgroup");
    assert_eq!(world.found("water group:a.b").await, NONE);
}

#[tokio::test]
async fn an_article_that_is_kept_anew_is_found_by_its_new_text_once() {
    let world = World::new();
    world.article(1, "a.b", "first water");
    world.settle().await;
    world.article(1, "a.b", "second water");
    world.settle().await;
    assert_eq!(world.found("first").await, NONE);
    assert_eq!(world.found("water").await, [1]);
    assert_eq!(world.look("water").await.coverage.articles, 1);
}

#[tokio::test]
async fn what_was_stored_before_there_was_an_index_is_walked_through() {
    let directory = tempfile::tempdir().unwrap();
    let (news, none) = open(directory.path(), ROOMY, 0);
    assert!(none.is_none() && !directory.path().join(NAME).exists());
    for number in 1..=700 {
        news.keep_article(&id(number), article(number, "a.b", "water"));
    }
    let line = KeptLine {
        number: Some(900),
        line: format!(
            "water\tAnn\tTue, 10 Nov 2026 09:00:00 +0000\t{}\t\t1\t1",
            id(900)
        )
        .into(),
    };
    let kept = Kept {
        lines: ReadLine::of(line).into_iter().collect(),
        ..Kept::default()
    };
    news.keep(&group("a.b"), kept);
    written(&news).await;
    let path = directory.path().join("news.db");
    let index = TextIndex::open(&news, &path, ROOMY).unwrap();
    assert_eq!(
        index.step(NOW).await,
        Stepped::More,
        "from here on changes are noted"
    );
    assert_eq!(index.step(NOW).await, Stepped::More);
    let coverage = look(&index, "water", Order::Best).await.coverage;
    assert_eq!(coverage.articles + coverage.waiting, 701, "{coverage:?}");
    assert!(coverage.waiting > 0);
    // What comes meanwhile is not lost.
    news.keep_article(&id(701), article(701, "a.b", "water"));
    settle(&news, &index).await;
    let looked = look(&index, "water", Order::Newest).await;
    assert_eq!((looked.found, looked.coverage.waiting), (702, 0));
}

#[tokio::test]
async fn an_index_that_was_deleted_or_switched_off_is_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let begin = |limit| open(directory.path(), ROOMY, limit);
    let (news, index) = begin(ROOMY);
    let index = index.unwrap();
    news.keep_article(&id(1), article(1, "a.b", "water"));
    settle(&news, &index).await;
    news.close();
    index.close();
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(directory.path().join(format!("{NAME}{end}")));
    }
    let (news, index) = begin(ROOMY);
    let index = index.unwrap();
    settle(&news, &index).await;
    assert_eq!(look(&index, "water", Order::Best).await.found, 1);
    news.close();
    index.close();
    let (news, none) = begin(0);
    assert!(none.is_none() && !directory.path().join(NAME).exists());
    news.keep_article(&id(2), article(2, "a.b", "water"));
    written(&news).await;
    let noted = news.0.file.read(|news| {
        news.query_row("SELECT COUNT(*) FROM news_change", [], |row| row.get(0))
            .map(Some)
    });
    assert_eq!(noted, Some(0_i64), "nobody would read the notes");
    news.close();
    let (news, index) = begin(ROOMY);
    let index = index.unwrap();
    settle(&news, &index).await;
    assert_eq!(look(&index, "water", Order::Best).await.found, 2);
}

#[tokio::test]
async fn a_crash_between_index_and_notes_changes_nothing() {
    let world = World::new();
    world.settle().await;
    world.lines("a.b", &[(1, "water", "Ann <a@x>")]);
    world.article(1, "a.b", "water and ice");
    written(&world.news).await;
    // A step whose notes are not deleted, as if the process had ended right after the commit.
    for _ in 0..2 {
        let (tell, told) = oneshot::channel();
        let news = world.directory.path().join("news.db");
        let posted = world.index.0.index.post(
            move |index| build::step(index, &news, ROOMY, NOW),
            move |done| drop(tell.send(done)),
        );
        posted.unwrap();
        assert!(told.await.unwrap().unwrap().noted.is_some());
    }
    // The files as they are when nobody closes anything.
    let left = tempfile::tempdir().unwrap();
    for name in ["news.db", "news.db-wal", NAME, "news-text.db-wal"] {
        fs::copy(world.directory.path().join(name), left.path().join(name)).unwrap();
    }
    let (news, index) = open(left.path(), ROOMY, ROOMY);
    let index = index.unwrap();
    assert_eq!(look(&index, "ice", Order::Best).await.found, 1);
    settle(&news, &index).await;
    let looked = look(&index, "water", Order::Best).await;
    assert_eq!((numbers(&looked), looked.coverage.articles), (vec![1], 1));
    assert_eq!(looked.coverage.waiting, 0, "the notes are gone");
}

#[tokio::test]
async fn a_damaged_index_is_made_anew_and_no_article_is_lost() {
    let world = World::new();
    for number in 1..=50 {
        world.article(number, "a.b", "water");
    }
    world.settle().await;
    world.index.close();
    let path = world.directory.path().join(NAME);
    let mut bytes = fs::read(&path).unwrap();
    let start = bytes.len() / 4;
    bytes[start..].fill(0x5A);
    fs::write(&path, &bytes).unwrap();
    let index =
        TextIndex::open(&world.news, &world.directory.path().join("news.db"), ROOMY).unwrap();
    // Either opening has seen it, or a question or a step does.
    for _ in 0..50 {
        let looking = Looking {
            inquiry: Inquiry::read("water"),
            order: Order::Best,
            skip: 0,
            take: 1,
        };
        let _ = index.look(looking).await;
        index.step(NOW).await;
    }
    assert!(world.directory.path().join("news-text.db.bad").exists());
    settle(&world.news, &index).await;
    assert_eq!(look(&index, "water", Order::Best).await.found, 50);
    assert!(world.news.article(&id(1)).await.is_some());
}

#[tokio::test]
async fn damage_that_only_a_question_meets_is_noticed() {
    let world = World::new();
    for number in 1..=50 {
        world.article(number, "a.b", "water");
    }
    world.settle().await;
    world.index.close();
    let news = world.directory.path().join("news.db");
    let index = TextIndex::open(&world.news, &news, ROOMY).unwrap();
    let path = world.directory.path().join(NAME);
    let mut bytes = fs::read(&path).unwrap();
    let start = bytes.len() / 4;
    bytes[start..].fill(0x5A);
    fs::write(&path, &bytes).unwrap();
    let looking = Looking {
        inquiry: Inquiry::read("water"),
        order: Order::Best,
        skip: 0,
        take: 1,
    };
    let looked = index.look(looking.clone()).await;
    assert_eq!(looked.unwrap_err(), NotLooked::Unreadable);
    let aside = world.directory.path().join("news-text.db.bad");
    for _ in 0..500 {
        if aside.exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(aside.exists(), "it is set aside without a step");
    settle(&world.news, &index).await;
    assert_eq!(look(&index, "water", Order::Best).await.found, 50);
}

#[tokio::test]
async fn another_news_file_is_another_index() {
    let world = World::new();
    world.article(1, "a.b", "water");
    world.settle().await;
    world.index.close();
    world.news.close();
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(world.directory.path().join(format!("news.db{end}")));
    }
    let (news, index) = open(world.directory.path(), ROOMY, ROOMY);
    let index = index.unwrap();
    news.keep_article(&id(2), article(2, "a.b", "water"));
    settle(&news, &index).await;
    assert_eq!(numbers(&look(&index, "water", Order::Best).await), [2]);
}

#[tokio::test]
async fn a_full_index_loses_the_oldest_and_stays_within_its_limit() {
    const LIMIT: u64 = 1 << 20;
    let world = World::within(ROOMY, LIMIT);
    world.settle().await;
    for number in 1..=900_u64 {
        // Words that nobody else has are what an index grows by.
        let words: String = (0..60_u64)
            .map(|word| format!("w{:x} ", (number * 1000 + word).wrapping_mul(0x9e37_79b9)))
            .collect();
        world.article(number, "a.b", &format!("water {words}"));
        if number % 100 == 0 {
            world.settle().await;
        }
    }
    world.settle().await;
    let looked = look(&world.index, "water", Order::Newest).await;
    let found = numbers(&looked);
    assert_eq!(found[0], 900);
    assert!((100..900).contains(&looked.found), "{}", looked.found);
    let since = looked.coverage.since.expect("it is full");
    assert!(since > NOW - 1000 && since < NOW, "{since}");
    let used = world
        .index
        .0
        .index
        .read(|index| crate::store::sweep::used(index).map(Some));
    assert!(used.unwrap() <= LIMIT, "{used:?}");
    // What had no room does not come back by being kept again.
    world.article(1, "a.b", "water again");
    world.settle().await;
    assert_eq!(world.found("again").await, NONE);
}
