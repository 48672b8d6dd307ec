//! What is asked, and what is answered.

use proptest::prelude::*;

use super::*;

#[tokio::test]
async fn lines_are_found_by_subject_and_author_and_articles_by_their_text() {
    let world = World::new();
    world.lines(
        "a.b",
        &[
            (1, "Gauge at the old mill", "Jonas Petri <jonas@x.example>"),
            (2, "=?UTF-8?Q?Fr=C3=BChling?=", "Lena <lena@y.example>"),
        ],
    );
    world.article(
        3,
        "a.b",
        "The miller has seen it.\r\n\r\n> Who reads the gauge?\r\n",
    );
    world.settle().await;
    assert_eq!(world.found("mill").await, [1]);
    assert_eq!(world.found("author:petri").await, [1]);
    assert_eq!(world.found("jonas@x.example").await, [1]);
    assert_eq!(world.found("fruhling").await, [2]);
    assert_eq!(world.found("miller").await, [3]);
    assert_eq!(
        world.found("mill*").await,
        [1, 3],
        "the subject weighs more"
    );
    assert_eq!(
        world.found("gauge").await,
        [1, 3],
        "what is quoted weighs least"
    );
    assert_eq!(world.found("gauge -reads").await, [1]);
    assert_eq!(world.found("\"has seen it\"").await, [3]);
    assert_eq!(world.found("\"seen has it\"").await, NONE);
    assert_eq!(world.found("subject:miller").await, NONE);
    let looked = world.look("miller").await;
    assert_eq!((looked.found, looked.is_all), (1, true));
    let hit = &looked.hits[0];
    assert_eq!((hit.author.as_str(), hit.date), ("Mira Holt", NOW - 997));
    assert!(
        hit.passage
            .iter()
            .any(|piece| piece.marked && piece.text == "miller")
    );
    let coverage = Coverage {
        articles: 3,
        texts: 1,
        waiting: 0,
        since: None,
    };
    assert_eq!(looked.coverage, coverage);
}

#[tokio::test]
async fn words_are_found_in_any_script() {
    let world = World::new();
    let texts = [
        ("Уровень воды в реке поднялся", "вода* УРОВЕНЬ"),
        ("Η στάθμη του ποταμού ανέβηκε", "σταθμη ποταμου"),
        ("ارتفع مُسْتَوى الماء في النهر", "مستوى النهر"),
        ("नदी का जलस्तर बढ़ गया", "नदी जलस्तर"),
        ("河水的水位又上升了", "水位"),
        ("川の水位がまた上がった", "また上が"),
        ("강의 수위가 다시 올랐다", "수위"),
        ("ระดับน้ำในแม่น้ำสูงขึ้น", "แม่น้ำ"),
        ("Übermäßig hohe Flüsse", "ubermassig FLÜSSE"),
        ("Ｗａｔｅｒ mark ﬁne", "water fine"),
    ];
    for (number, (text, _)) in (1..).zip(texts) {
        world.article(number, "a.b", text);
    }
    world.settle().await;
    for (number, (_, asked)) in (1..).zip(texts) {
        let asked = asked.replace("вода*", "вод*");
        // Chinese and Japanese share characters, and the water level with them.
        let expected: &[u64] = if number == 5 { &[6, 5] } else { &[number] };
        let mut found = world.found(&asked).await;
        found.sort_by(|one, other| other.cmp(one));
        assert_eq!(found, expected, "{asked}");
    }
    assert_eq!(world.found("水上").await, NONE, "only what stands together");
    assert_eq!(world.found("升").await, [5], "a single character");
}

#[tokio::test]
async fn newsgroups_authors_and_times_narrow_it_down() {
    let world = World::new();
    world.lines(
        "comp.lang.rust",
        &[(1, "water", "Ann <a@x>"), (2, "water", "Bob <b@x>")],
    );
    world.lines("comp.lang.c", &[(3, "water", "Ann <a@x>")]);
    world.lines("de.test", &[(4, "water", "Ann <a@x>")]);
    world.settle().await;
    let cases: [(&str, &[u64]); 9] = [
        ("water", &[4, 3, 2, 1]),
        ("water group:comp.*", &[3, 2, 1]),
        ("water group:comp.lang.c", &[3]),
        ("water group:*.c,de.test", &[4, 3]),
        ("water group:comp.lang", &[]),
        ("water group:nothing.?", &[]),
        ("group:comp.lang.rust", &[2, 1]),
        ("water author:ann group:comp.*", &[3, 1]),
        ("water group:*", &[4, 3, 2, 1]),
    ];
    for (asked, expected) in cases {
        assert_eq!(
            numbers(&look(&world.index, asked, Order::Newest).await),
            expected,
            "{asked}"
        );
    }
    assert_eq!(world.found("water after:2027").await, NONE);
    assert_eq!(world.found("water before:2026-11-10").await, NONE);
    assert_eq!(
        world
            .found("water after:2026-11-10 before:2026-11-11")
            .await
            .len(),
        4
    );
}

#[tokio::test]
async fn what_is_posted_to_two_newsgroups_is_one_hit_that_names_both() {
    let world = World::new();
    world.lines("a.one", &[(1, "water", "Ann <a@x>")]);
    world.settle().await;
    world.lines("a.two", &[(1, "water", "Ann <a@x>")]);
    world.article(1, "a.one,a.three", "water water");
    world.settle().await;
    let looked = world.look("water").await;
    assert_eq!((looked.hits.len(), looked.found), (1, 1));
    let names: Vec<_> = looked.hits[0]
        .newsgroups
        .iter()
        .map(|name| name.as_str())
        .collect();
    assert_eq!(names, ["a.one", "a.three", "a.two"]);
    for asked in [
        "water group:a.one",
        "water group:a.two",
        "water group:a.three",
    ] {
        assert_eq!(world.found(asked).await, [1], "{asked}");
    }
}

#[tokio::test]
async fn pages_follow_each_other_in_either_order() {
    let world = World::new();
    let lines: Vec<_> = (1..=60)
        .map(|number| (number, "water", "Ann <a@x>"))
        .collect();
    world.lines("a.b", &lines);
    world.settle().await;
    for order in [Order::Best, Order::Newest] {
        let mut all = Vec::new();
        for page in 0..4 {
            let looking = Looking {
                inquiry: Inquiry::read("water"),
                order,
                skip: page * 20,
                take: 20,
            };
            let looked = world.index.look(looking).await.unwrap();
            assert_eq!(looked.found, 60);
            all.extend(numbers(&looked));
        }
        assert_eq!(
            all,
            (1..=60).rev().collect::<Vec<_>>(),
            "of equals the newest: {order:?}"
        );
    }
}

#[tokio::test]
async fn whoever_comes_when_all_seats_are_taken_is_told_so() {
    let world = World::new();
    world.settle().await;
    let shared = &world.index.0;
    let all = shared.line.acquire_many(LINE as u32).await.unwrap();
    let looking = Looking {
        inquiry: Inquiry::read("water"),
        order: Order::Best,
        skip: 0,
        take: 20,
    };
    assert_eq!(
        world.index.look(looking.clone()).await.unwrap_err(),
        NotLooked::Busy
    );
    drop(all);
    assert!(world.index.look(looking).await.is_ok());
    assert_eq!(
        shared.seats.available_permits(),
        SEATS,
        "the seat is free again"
    );
}

#[tokio::test]
async fn whoever_finds_no_seat_in_time_is_told_so_and_leaves_the_line() {
    let world = World::new();
    world.settle().await;
    let shared = &world.index.0;
    let all = shared.seats.clone().acquire_many_owned(SEATS as u32).await;
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let looking = Looking {
        inquiry: Inquiry::read("water"),
        order: Order::Best,
        skip: 0,
        take: 20,
    };
    let looked = world.index.look(looking.clone()).await;
    assert_eq!(looked.unwrap_err(), NotLooked::Busy);
    assert!((PATIENCE..PATIENCE * 2).contains(&began.elapsed()));
    assert_eq!(shared.line.available_permits(), LINE);
    tokio::time::resume();
    drop(all);
    assert!(world.index.look(looking).await.is_ok());
}

/// An index in which so many articles have the same word.
async fn crowd(world: &World, articles: usize) {
    let (tell, told) = oneshot::channel();
    let fill = move |index: &rusqlite::Transaction<'_>| {
        let sql =
            "WITH RECURSIVE n (row) AS (SELECT 1 UNION ALL SELECT row + 1 FROM n WHERE row < ?1)
            INSERT INTO text_word (rowid, subject) SELECT row, 'water' FROM n";
        index.execute(sql, [articles as i64])
    };
    let posted = world.index.0.index.post(fill, move |done| {
        let _ = tell.send(done);
    });
    posted.unwrap();
    assert_eq!(told.await.unwrap().unwrap(), articles);
}

#[tokio::test]
async fn of_too_many_matches_only_the_newest_are_looked_at() {
    let world = World::new();
    world.settle().await;
    crowd(&world, MOST + 1).await;
    for order in [Order::Best, Order::Newest] {
        let looked = look(&world.index, "water", order).await;
        assert_eq!((looked.found, looked.is_all), (MOST, false), "{order:?}");
    }
}

#[tokio::test]
async fn whoever_looks_for_too_long_gets_what_was_found_by_then() {
    let world = World::new();
    world.settle().await;
    crowd(&world, 1000).await;
    let looking = Looking {
        inquiry: Inquiry::read("water"),
        order: Order::Best,
        skip: 0,
        take: 20,
    };
    let path = world.directory.path().join(NAME);
    let found = |until| {
        let mut looked = Looked {
            is_all: true,
            ..Looked::default()
        };
        let expression = looking.inquiry.expression(&[]).unwrap();
        let matches = |index: &rusqlite::Connection| {
            look::matches(index, &expression, &looking, until, &mut looked)
        };
        let rows = File::peek(&path, matches).unwrap();
        (rows.len(), looked.found, looked.is_all)
    };
    let now = tokio::time::Instant::now();
    assert_eq!(found(now + PATIENCE * 1000), (20, 1000, true));
    assert_eq!(found(now), (0, 0, false), "the time is over");
}

#[tokio::test]
async fn a_pattern_comes_to_so_many_newsgroups_and_no_more() {
    let world = World::new();
    for number in 1..=201 {
        let line = (number, "water", "Ann <a@x>");
        world.lines(&format!("a{number:03}.rivers"), &[line]);
    }
    world.settle().await;
    let looked = world.look("water group:*.rivers").await;
    assert_eq!(looked.found, 200);
    assert_eq!(
        looked.notes,
        ["Only the first 200 newsgroups that fit “*.rivers” were looked in."]
    );
    assert_eq!(world.found("water group:a201.rivers").await, [201]);
}

/// An index that each case can ask without a runtime.
fn asked(text: &str, page: usize) -> rusqlite::Result<Looked> {
    use std::sync::OnceLock;
    static FILES: OnceLock<(tempfile::TempDir, PathBuf, PathBuf)> = OnceLock::new();
    let (_, news, index) = FILES.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let world = World::new();
        runtime.block_on(async {
            world.lines("a.b", &[(1, "water OR NOT near AND", "Ann <a@x>")]);
            world.article(2, "a.b", "body : quoted * ^ { } ( ) \" NEAR(");
            world.settle().await;
        });
        world.index.close();
        world.news.close();
        let path = |name: &str| world.directory.path().join(name);
        let (news, index) = (path("news.db"), path(NAME));
        (world.directory, news, index)
    });
    let looking = Looking {
        inquiry: Inquiry::read(text),
        order: if page.is_multiple_of(2) {
            Order::Best
        } else {
            Order::Newest
        },
        skip: page * 20,
        take: 20,
    };
    let looked = File::peek(index, |index| Ok(look::look(index, news, &looking)));
    looked.unwrap()
}

#[test]
fn the_syntax_of_the_index_is_only_text() {
    for text in [
        "\"",
        "\"\"",
        "*",
        "-",
        "--",
        "-\"",
        "(",
        ")",
        "AND",
        "OR",
        "NOT",
        "a NOT",
        "NEAR(a b)",
        "{subject} : x",
        "^water",
        "a + b",
        "a:b",
        "group:",
        "group:*",
        "group:[",
        "group:\"",
        "author:",
        "after:",
        "'; DROP TABLE text_word; --",
        "\0",
        "a\0b",
        "%",
        "_",
        "\u{feff}",
        "字*",
        "-字",
        "\"字",
        "body:x",
        "rowid:1",
        "😀",
        "a*b*",
        "**",
        "\\",
    ] {
        let looked = asked(text, 0);
        assert!(looked.is_ok(), "{text:?}: {looked:?}");
    }
    assert_eq!(
        asked("water NOT near", 0).unwrap().found,
        1,
        "these are words"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn nothing_that_can_be_typed_is_an_error(text in "\\PC{0,80}", page in 0usize..60) {
        prop_assert!(asked(&text, page).is_ok(), "{:?}", text);
    }

    #[test]
    fn nor_is_anything_that_looks_like_syntax(
        parts in prop::collection::vec(
            prop::sample::select(vec!["\"", "*", "-", "(", ")", "a", "water", " ", ":", "group", "author", "NOT", "字", "水位", "after", "2025", "^", "{", "}", "+", ","]),
            0..24,
        ),
    ) {
        let text = parts.concat();
        prop_assert!(asked(&text, 0).is_ok(), "{:?}", text);
    }
}
