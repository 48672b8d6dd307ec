//! What is kept comes back, after a restart too; what odd data does; and that newsgroups do not mix.

mod damage;
mod histories;
mod limit;

use std::path::Path;

use bytes::Bytes;

use super::*;
use crate::numbers::{Carried, NumberChanges, NumberMarks, NumberRun, ServerMarks};

const ROOMY: u64 = 64 << 20;

fn open(directory: &Path, limit: u64) -> NewsFile {
    NewsFile::open(Some(directory.join("news.db")), limit)
}

fn group(name: &str) -> Newsgroup {
    name.parse().unwrap()
}

fn id(number: u64) -> MessageId {
    format!("<{number}.of@news.example>").parse().unwrap()
}

/// A line of an article with this ID, written so many seconds after 2001-09-09.
fn line(id: &MessageId, number: Option<u64>, seconds: i64) -> KeptLine {
    let date = weir_news_proto::date::write(1_000_000_000 + seconds);
    let line =
        format!("A subject\tSomebody <a@b.example>\t{date}\t{id}\t<ref@x>\t1234\t12\tXref: x");
    KeptLine {
        number,
        line: line.into(),
    }
}

fn numbered(numbers: impl Iterator<Item = u64>) -> Vec<KeptLine> {
    numbers
        .map(|number| line(&id(number), Some(number), 0))
        .collect()
}

fn changes(high: u64) -> NumberChanges {
    NumberChanges {
        marks: NumberMarks {
            low: 1,
            high,
            room_end: 1,
            lead: Some(ServerId(1)),
        },
        servers: vec![ServerMarks {
            server: ServerId(1),
            carried: Carried {
                low: 1,
                high,
                count: u64::MAX,
            },
            mark: high,
            earlier: 7,
            renewed: 3,
        }],
        gone: Vec::new(),
        runs: vec![NumberRun {
            our_start: 1,
            length: high,
            server: ServerId(1),
            their_start: 1,
        }],
    }
}

/// Lines as they are handed over; those that name no article are not.
fn read(lines: Vec<KeptLine>) -> Vec<ReadLine> {
    lines.into_iter().filter_map(ReadLine::of).collect()
}

fn kept(lines: Vec<KeptLine>, high: u64) -> Kept {
    Kept {
        lines: read(lines),
        changes: changes(high),
        checked: vec![(ServerId(1), reached(high as i64))],
        ..Kept::default()
    }
}

fn article(bytes: usize, fetched: i64) -> KeptArticle {
    // Noise, so that packing does not make it smaller.
    let mut raw = vec![0; bytes];
    let mut noise = blake3::Hasher::new();
    noise.update(&fetched.to_le_bytes());
    noise.finalize_xof().fill(&mut raw);
    KeptArticle {
        raw: raw.into(),
        server: "near".into(),
        fetched,
    }
}

/// Waits until everything is written.
async fn quiet(file: &NewsFile) {
    file.sweep(i64::MAX).await;
    while file.0.backlog.lock().is_writing() {
        file.swept(|_| Ok(false)).await;
    }
    assert!(file.0.backlog.lock().is_empty());
}

fn numbers_of(lines: &[KeptLine]) -> Vec<Option<u64>> {
    lines.iter().map(|line| line.number).collect()
}

#[tokio::test]
async fn a_restart_sees_everything() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let near = file.server("near.example:563");
    let far = file.server("far.example:119");
    let name = group("comp.lang.rust");
    file.keep(&name, kept(numbered(1..=600), 600));
    let text = KeptArticle {
        raw: "A line\r\n".repeat(1000).into(),
        server: "near".into(),
        fetched: 9,
    };
    file.keep_article(&id(1), text.clone());
    let list = KeptList {
        server: far,
        kind: ListKind::Descriptions,
        at: 8,
        block: "a.b\tText\r\n".into(),
    };
    file.keep_list(list.clone());
    file.close();

    let file = open(directory.path(), ROOMY);
    assert_eq!(file.server("far.example:119"), far);
    assert_eq!(file.server("near.example:563"), near);
    assert!(![near, far].contains(&file.server("third.example:119")));
    let newsgroup = file.newsgroup(&name).await.unwrap();
    let NumberChanges { marks, runs, .. } = changes(600);
    assert_eq!((newsgroup.rows.marks, newsgroup.rows.runs), (marks, runs));
    assert_eq!(
        (newsgroup.lines, newsgroup.checked),
        (600, vec![(ServerId(1), reached(600))])
    );
    let servers = newsgroup.rows.servers;
    assert_eq!((servers[0].earlier, servers[0].renewed), (7, 3));
    assert_eq!(
        servers[0].carried.count,
        i64::MAX as u64,
        "as much as the file holds"
    );
    let lines = file.lines(&name, 1000).await;
    assert_eq!(
        numbers_of(&lines),
        (1..=600).rev().map(Some).collect::<Vec<_>>()
    );
    assert_eq!(lines[0], line(&id(600), Some(600), 0));
    assert_eq!(file.article(&id(1)).await.unwrap(), text);
    assert_eq!(file.article(&id(2)).await, None);
    assert_eq!(file.lists(), [list]);
    let sizes = file.sizes();
    assert!(
        sizes.articles > 10 && sizes.articles < 1000,
        "it is packed: {sizes:?}"
    );
    assert!(
        sizes.lines > 600 * 50 && sizes.file > sizes.lines,
        "{sizes:?}"
    );
}

#[tokio::test]
async fn what_is_kept_is_there_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let name = group("a.b");
    for window in 0..20 {
        let numbers = window * 500 + 1..=window * 500 + 500;
        file.keep(&name, kept(numbered(numbers.clone()), *numbers.end()));
        for number in [*numbers.start(), *numbers.end()] {
            assert_eq!(file.number_of(&name, &id(number)), Some(number));
            assert_eq!(file.id_of(&name, number), Some(id(number)));
        }
        file.keep_article(&id(window), article(100, window as i64));
        assert!(file.article(&id(window)).await.is_some());
    }
    let newsgroup = file.newsgroup(&name).await.unwrap();
    assert_eq!(
        (newsgroup.rows.marks.high, newsgroup.lines),
        (10_000, 10_000)
    );
    assert_eq!(file.lines(&name, 20_000).await.len(), 10_000);
}

/// Keeps the writer busy until the answer is dropped: what is kept meanwhile waits.
fn hold(file: &NewsFile) -> std::sync::mpsc::SyncSender<()> {
    let (release, held) = std::sync::mpsc::sync_channel(0);
    let wait = move |_: &rusqlite::Transaction<'_>| {
        let _ = held.recv();
        Ok(())
    };
    file.0.file.post(wait, drop).unwrap();
    release
}

#[tokio::test]
async fn what_waits_is_found_by_its_numbers_as_if_it_were_written() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let name = group("a.b");
    file.keep(&name, kept(numbered(1..=3), 3));
    quiet(&file).await;
    file.swept(|news| {
        let sql =
            "DELETE FROM news_line WHERE row = (SELECT row FROM news_number WHERE number = 2)";
        news.execute(sql, []).map(|_| true)
    })
    .await;
    let rows = async |range| {
        let rows = file.numbered(&name, range).await.unwrap();
        let row = |row: NumberedRow| (row.number, row.id == id(row.number), row.line.is_some());
        rows.into_iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(
        rows(2..=9).await,
        [(2, true, false), (3, true, true)],
        "a line is gone"
    );
    let release = hold(&file);
    file.keep(&name, kept(numbered([2, 5, 8].into_iter()), 8));
    for is_written in [false, true] {
        assert_eq!(file.0.backlog.lock().is_empty(), is_written);
        assert_eq!(file.number_of(&name, &id(5)), Some(5));
        assert_eq!(file.id_of(&name, 5), Some(id(5)));
        let all = [2, 3, 5, 8].map(|number| (number, true, true));
        assert_eq!(rows(2..=9).await, all, "each once, with its line");
        assert_eq!(rows(6..=7).await, []);
        let beside = |from, up| file.nearest(&name, from, up);
        assert_eq!((beside(4, true), beside(6, true)), (Some(5), Some(8)));
        assert_eq!((beside(7, false), beside(4, false)), (Some(5), Some(3)));
        assert_eq!(beside(9, true), None);
        assert_eq!(file.nearest(&group("c.d"), 1, true), None);
        if !is_written {
            release.send(()).unwrap();
            quiet(&file).await;
        }
    }
}

#[tokio::test]
async fn numbers_that_are_taken_away_are_gone_before_that_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let name = group("one.news");
    file.keep(&name, kept(numbered(1..=6), 6));
    file.flush();
    let seen = async || {
        let rows = file.numbered(&name, 1..=9).await.unwrap();
        let rows = rows.into_iter();
        let rows = rows.map(|row| (row.number, row.id, row.line.is_some()));
        rows.collect::<Vec<_>>()
    };
    let renumber = |renumbered: &[(u64, Option<u64>)]| {
        let renumbered = renumbered.iter();
        let kept = Kept {
            renumbered: renumbered.map(|(n, number)| (id(*n), *number)).collect(),
            ..Kept::default()
        };
        file.keep(&name, kept);
    };
    // Number, article, and whether its line is at hand.
    let agrees = async |expected: &[(u64, u64, bool)]| {
        let rows = expected
            .iter()
            .map(|(number, n, line)| (*number, id(*n), *line));
        assert_eq!(seen().await, rows.collect::<Vec<_>>());
        for n in 1..=9 {
            let one = expected.iter().find(|(_, article, _)| *article == n);
            let number = one.map(|(number, ..)| *number);
            assert_eq!(file.number_of(&name, &id(n)), number, "of {n}");
            let one = expected.iter().find(|(number, ..)| *number == n);
            let article = one.map(|(_, article, _)| id(*article));
            assert_eq!(file.id_of(&name, n), article, "at {n}");
        }
    };

    let go_on = hold(&file);
    renumber(&[(6, None)]);
    let mut left: Vec<_> = (1..=5).map(|n| (n, n, true)).collect();
    agrees(&left).await;
    drop(go_on);
    file.flush();
    agrees(&left).await;

    // The numbers of other nodes count from now on.
    let go_on = hold(&file);
    file.forget_numbers(&name);
    agrees(&[]).await;
    renumber(&[(1, Some(2)), (2, Some(1))]);
    agrees(&[(1, 2, false), (2, 1, false)]).await;
    let line = line(&id(3), Some(7), 0);
    file.keep(&name, kept(vec![line], 7));
    agrees(&[(1, 2, false), (2, 1, false), (7, 3, true)]).await;
    drop(go_on);
    file.flush();
    left = vec![(1, 2, true), (2, 1, true), (7, 3, true)];
    agrees(&left).await;
    file.close();
}

#[tokio::test]
async fn lines_come_newest_first_and_those_without_a_number_last() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let name = group("a.b");
    let mut lines = numbered([3, 9, 5].into_iter());
    lines.push(line(&id(100), None, 50));
    lines.push(line(&id(101), None, 70));
    lines.push(line(&id(102), None, 60));
    file.keep(&name, kept(lines, 9));
    let found = file.lines(&name, 10).await;
    let ids: Vec<_> = found
        .iter()
        .map(|line| String::from_utf8_lossy(&line.line).into_owned())
        .collect();
    for (found, wanted) in ids.iter().zip([9, 5, 3, 101, 102, 100]) {
        assert!(found.contains(id(wanted).as_str()), "{found} {wanted}");
    }
    assert_eq!(
        numbers_of(&found),
        [Some(9), Some(5), Some(3), None, None, None]
    );
    assert_eq!(numbers_of(&file.lines(&name, 2).await), [Some(9), Some(5)]);
    let between = file.lines_between(&name, 0..=5, 10).await;
    assert_eq!(numbers_of(&between), [Some(3), Some(5)]);
    assert_eq!(
        numbers_of(&file.lines_between(&name, 4..=u64::MAX, 1).await),
        [Some(5)]
    );
}

#[tokio::test]
async fn an_article_gets_a_number_later_and_no_number_gets_another_article() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let name = group("a.b");
    file.keep(
        &name,
        kept(vec![line(&id(1), None, 0), line(&id(2), Some(2), 0)], 2),
    );
    assert_eq!(file.number_of(&name, &id(1)), None);
    let renumbered = vec![(id(1), Some(7)), (id(3), Some(8))];
    file.keep(
        &name,
        Kept {
            renumbered,
            ..kept(Vec::new(), 8)
        },
    );
    for quietly in [false, true] {
        assert_eq!(file.number_of(&name, &id(1)), Some(7));
        assert_eq!(file.id_of(&name, 7), Some(id(1)));
        assert_eq!(file.id_of(&name, 8), Some(id(3)), "though it has no line");
        if !quietly {
            quiet(&file).await;
        }
    }
    // The line comes again, without a number and from somebody who gives its number to another.
    file.keep(
        &name,
        kept(vec![line(&id(1), None, 0), line(&id(9), Some(2), 0)], 8),
    );
    quiet(&file).await;
    assert_eq!(file.number_of(&name, &id(1)), Some(7));
    assert_eq!(file.id_of(&name, 2), Some(id(2)));
    assert_eq!(file.number_of(&name, &id(9)), None);
    let lines = file.lines(&name, 10).await;
    assert_eq!(numbers_of(&lines), [Some(7), Some(2), None]);
    file.keep(
        &name,
        Kept {
            renumbered: vec![(id(1), None)],
            ..kept(Vec::new(), 8)
        },
    );
    for quietly in [false, true] {
        assert_eq!(file.id_of(&name, 7), None);
        assert_eq!(file.number_of(&name, &id(1)), None);
        if !quietly {
            quiet(&file).await;
        }
    }
}

#[tokio::test]
async fn newsgroups_do_not_mix() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let (one, two) = (group("a.one"), group("a.two"));
    file.keep(&one, kept(numbered(1..=10), 10));
    file.keep(&two, kept(vec![line(&id(3), Some(30), 0)], 30));
    quiet(&file).await;
    assert_eq!(file.number_of(&one, &id(3)), Some(3));
    assert_eq!(file.number_of(&two, &id(3)), Some(30));
    assert_eq!((file.id_of(&one, 30), file.id_of(&two, 3)), (None, None));
    assert_eq!(file.lines(&two, 100).await.len(), 1);
    assert_eq!(file.newsgroup(&one).await.unwrap().rows.marks.high, 10);
    assert_eq!(file.newsgroup(&group("a.three")).await, None);
}

#[tokio::test]
async fn a_number_is_found_without_going_through_all_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let plan = file.0.file.read(|connection| {
        let mut statement =
            connection.prepare(&format!("EXPLAIN QUERY PLAN {}", load::NUMBER_OF))?;
        let steps = statement.query_map(["", "", ""], |row| row.get::<_, String>("detail"))?;
        steps.collect::<rusqlite::Result<Vec<_>>>().map(Some)
    });
    let plan = plan.unwrap();
    let by_hash = |step: &String| step.contains("news_number_hash (newsgroup=? AND hash=?)");
    assert!(plan.iter().any(by_hash), "{plan:?}");
}

#[tokio::test]
async fn runs_and_servers_that_are_gone_are_gone() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let name = group("a.b");
    file.keep(&name, kept(Vec::new(), 10));
    let mut later = changes(12);
    later.servers[0].server = ServerId(2);
    later.gone = vec![(ServerId(1), 1)];
    later.runs = vec![NumberRun {
        our_start: 11,
        length: 2,
        server: ServerId(2),
        their_start: 5,
    }];
    file.keep(
        &name,
        Kept {
            changes: later.clone(),
            ..Kept::default()
        },
    );
    // What says nothing of numbers changes none.
    file.keep(
        &name,
        Kept {
            checked: vec![(ServerId(2), reached(99))],
            ..Kept::default()
        },
    );
    file.close();
    let newsgroup = open(directory.path(), ROOMY)
        .newsgroup(&name)
        .await
        .unwrap();
    assert_eq!(
        (newsgroup.rows.runs, newsgroup.rows.marks),
        (later.runs, later.marks)
    );
    assert_eq!(newsgroup.rows.servers.len(), 1);
    assert_eq!(newsgroup.rows.servers[0].server, ServerId(2));
    assert_eq!(
        newsgroup.checked,
        [(ServerId(1), reached(10)), (ServerId(2), reached(99))]
    );
}

#[tokio::test]
async fn odd_data_is_kept_as_it_is_or_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), 512 << 20);
    let name = group("alt.grüße");
    let odd: MessageId = "<'\";--%00$/../@[x]>".parse().unwrap();
    let mut long = b"Subject \xFF\xFE".to_vec();
    long.resize(8192, b'x');
    long.extend_from_slice(format!("\tfrom\tno date\t{odd}\t\t\t").as_bytes());
    let line = |line: &[u8]| KeptLine {
        number: Some(1),
        line: Bytes::copy_from_slice(line),
    };
    file.keep(
        &name,
        kept(
            vec![
                line(&long),
                line(b"no id\t\t\tnone\t"),
                line(b""),
                line(&[0; 9000]),
            ],
            1,
        ),
    );
    let list = |bytes: usize, at| KeptList {
        server: ServerId(1),
        kind: ListKind::Active,
        at,
        block: vec![b'a' + at as u8; bytes].into(),
    };
    file.keep_list(list(64 << 20, 1));
    file.keep_list(list(0, 2));
    file.keep_list(list((64 << 20) + 1, 3));
    file.keep_article(&odd, article(0, 1));
    file.close();
    let file = open(directory.path(), 512 << 20);
    assert_eq!(file.lines(&name, 10).await, [line(&long)]);
    assert_eq!(file.id_of(&name, 1), Some(odd.clone()));
    assert_eq!(file.lists(), [list((64 << 20) + 1, 3)]);
    assert_eq!(file.article(&odd).await, Some(article(0, 1)));
}

#[tokio::test]
async fn without_a_file_nothing_is_kept_and_nothing_fails() {
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("missing/news.db");
    for path in [None, Some(nowhere)] {
        let file = NewsFile::open(path, ROOMY);
        let server = file.server("a.example:119");
        assert_eq!(file.server("a.example:119"), server);
        assert_ne!(file.server("b.example:119"), server);
        let name = group("a.b");
        file.keep(&name, kept(numbered(1..=10), 10));
        file.keep_rows(&name, NumberRows::default());
        file.keep_article(&id(1), article(10, 1));
        file.read_article(&id(1), 2);
        file.read_newsgroup(&name, 2);
        file.sweep(3).await;
        assert_eq!(file.newsgroup(&name).await, None);
        assert!(file.lines(&name, 10_000).await.is_empty() && file.lists().is_empty());
        assert!(file.lines_between(&name, 1..=10, 10_000).await.is_empty());
        assert_eq!(
            (file.number_of(&name, &id(1)), file.id_of(&name, 1)),
            (None, None)
        );
        assert!(file.article(&id(1)).await.is_none() && !file.has_lost(&name));
        assert_eq!(file.sizes(), NewsSizes::default());
        file.close();
    }
}

#[tokio::test]
async fn a_copy_can_be_made_while_it_is_in_use() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    file.keep(&group("a.b"), kept(numbered(1..=10), 10));
    quiet(&file).await;
    let copy = directory.path().join("copy.db");
    file.backup(&copy).unwrap();
    let copy = NewsFile::open(Some(copy), ROOMY);
    assert_eq!(copy.lines(&group("a.b"), 100).await.len(), 10);
}

fn reached(at: i64) -> Reached {
    Reached {
        at,
        covered: vec![(1, 5), (at.unsigned_abs(), u64::MAX)],
    }
}

#[tokio::test]
async fn an_article_whose_number_came_before_its_line_stands_by_its_date() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(directory.path(), ROOMY);
    let name = group("late.line");
    let kept = |lines, renumbered| Kept {
        lines: read(lines),
        renumbered,
        ..kept(Vec::new(), 9)
    };
    file.keep(&name, kept(Vec::new(), vec![(id(31), Some(7))]));
    let lines = vec![line(&id(31), None, 31), line(&id(1), None, 1)];
    file.keep(&name, kept(lines, Vec::new()));
    file.keep(&name, kept(Vec::new(), vec![(id(31), None)]));
    let lines = file.lines(&name, 10).await;
    let first = weir_news_proto::OverviewLine::parse(&[b"0\t", &lines[0].line[..]].concat())
        .unwrap()
        .id();
    assert_eq!(first, Some(id(31)), "the newer one comes first");
}
