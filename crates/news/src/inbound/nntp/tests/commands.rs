//! Articles, newsgroups and lists: what is answered to whom.

use weir_testkit::zoo::news::{Article, Newsgroup};

use super::world::{Rig, Wishes};

#[tokio::test(start_paused = true)]
async fn an_article_comes_with_our_path_and_our_numbers() {
    let mut rig = Rig::of(5..=8).await;
    let mut reader = rig.here().await;
    assert_eq!(reader.ask("GROUP misc.test").await, "211 4 5 8 misc.test");
    assert_eq!(reader.ask("ARTICLE 6").await, "220 6 <6@zoo.example>");
    let article = String::from_utf8(reader.block().await).unwrap();
    let (head, body) = article.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains("\r\nPath: weir.example!not-for-mail"),
        "{head}"
    );
    assert!(
        head.ends_with("\r\nXref: weir.example misc.test:6"),
        "{head}"
    );
    assert_eq!(
        body,
        "Body of article 6.\r\n.A line that begins with a dot.\r\n"
    );
    assert_eq!(reader.ask("HEAD").await, "221 6 <6@zoo.example>");
    assert_eq!(reader.block().await, format!("{head}\r\n").into_bytes());
    assert_eq!(reader.ask("BODY 6").await, "222 6 <6@zoo.example>");
    assert_eq!(reader.block().await, body.as_bytes());
    assert_eq!(
        reader.ask("ARTICLE <6@zoo.example>").await,
        "220 0 <6@zoo.example>"
    );
    assert_eq!(reader.block().await, article.as_bytes());
}

#[tokio::test(start_paused = true)]
async fn a_newsreader_moves_through_a_newsgroup() {
    let mut rig = Rig::of([2, 4, 5]).await;
    let mut reader = rig.here().await;
    assert_eq!(reader.code("GROUP misc.test").await, 211);
    assert_eq!(reader.ask("STAT").await, "223 2 <2@zoo.example>");
    assert_eq!(reader.code("LAST").await, 422);
    assert_eq!(reader.ask("NEXT").await, "223 4 <4@zoo.example>");
    assert_eq!(reader.ask("NEXT").await, "223 5 <5@zoo.example>");
    assert_eq!(reader.code("NEXT").await, 421);
    assert_eq!(reader.ask("STAT").await, "223 5 <5@zoo.example>");
    assert_eq!(reader.ask("LAST").await, "223 4 <4@zoo.example>");
    // By its ID an article is read without going there.
    assert_eq!(
        reader.ask("STAT <2@zoo.example>").await,
        "223 0 <2@zoo.example>"
    );
    assert_eq!(reader.ask("STAT").await, "223 4 <4@zoo.example>");
    assert_eq!(reader.ask("STAT 2").await, "223 2 <2@zoo.example>");
    assert_eq!(reader.ask("NEXT").await, "223 4 <4@zoo.example>");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_has_a_code_of_its_own() {
    let empty = Newsgroup::new("misc.empty");
    let test = Newsgroup::new("misc.test").with([2, 4]);
    let mut rig = Rig::with(vec![vec![empty, test]], Wishes::default(), |_| {}).await;
    let mut reader = rig.here().await;
    for (command, code) in [
        ("STAT", 412),
        ("STAT 1", 412),
        ("NEXT", 412),
        ("LAST", 412),
        ("OVER", 412),
        ("OVER 1-5", 412),
        ("XOVER", 412),
        ("XHDR Path", 412),
        ("HDR Subject 1", 412),
        ("XPAT Subject 1- *", 412),
        ("LISTGROUP", 412),
        ("ARTICLE <nobody@has.it>", 430),
        ("OVER <nobody@has.it>", 430),
        ("HDR Subject <nobody@has.it>", 430),
        ("GROUP no.such.newsgroup", 411),
        ("LISTGROUP no.such.newsgroup", 411),
        ("GROUP misc.empty", 211),
        ("STAT", 420),
        ("NEXT", 420),
        ("OVER", 420),
        ("XHDR Path", 420),
        ("OVER 1-5", 423),
        ("GROUP misc.test", 211),
        ("GROUP no.such.newsgroup", 411),
        ("STAT 3", 423),
        ("ARTICLE 99", 423),
        ("OVER 3", 423),
        ("OVER 5-", 423),
        ("OVER 4-2", 423),
        ("HDR Subject 3", 423),
        ("HDR Organization 1-4", 503),
        ("HDR :unknown <2@zoo.example>", 503),
        ("LIST DISTRIBUTIONS", 503),
        ("LIST NONSENSE", 501),
        ("IHAVE <a@b>", 500),
        ("GROUP", 501),
        ("STAT x", 501),
        ("STAT <broken", 501),
        ("NONSENSE", 500),
        ("", 500),
        ("MODE STREAM", 501),
        ("COMPRESS LZ4", 503),
    ] {
        assert_eq!(reader.code(command).await, code, "{command}");
    }
    // As it was before RFC 3977.
    for (command, code) in [
        ("XOVER 7-9", "224"),
        ("XHDR Subject 7-9", "221"),
        ("XPAT Subject 7-9 *", "221"),
    ] {
        let (told, block) = reader.list(command).await;
        assert_eq!((told.as_str(), block.as_str()), (code, ""), "{command}");
    }
    assert_eq!(
        reader.ask("STAT").await,
        "223 2 <2@zoo.example>",
        "still there"
    );
}

#[tokio::test(start_paused = true)]
async fn an_article_that_is_listed_and_gone_is_missing() {
    let mut rig = Rig::of([1, 2]).await;
    let mut reader = rig.here().await;
    assert_eq!(reader.code("GROUP misc.test").await, 211);
    rig.world.servers[0].remove("<2@zoo.example>");
    assert_eq!(reader.code("BODY 2").await, 423);
    assert_eq!(reader.code("BODY <2@zoo.example>").await, 430);
}

#[tokio::test(start_paused = true)]
async fn lists_of_newsgroups_are_chosen_by_wildmats() {
    let shelf = vec![
        Newsgroup::new("misc.test").with(3..=5),
        Newsgroup::new("misc.talk").flag("m").with([1]),
        Newsgroup::new("comp.lang.c").flag("n"),
    ];
    let mut rig = Rig::with(vec![shelf], Wishes::default(), |_| {}).await;
    let mut reader = rig.here().await;
    let (code, active) = reader.list("LIST").await;
    assert_eq!(code, "215");
    let names = |list: &str| {
        let names = list
            .lines()
            .filter_map(|line| line.split([' ', '\t']).next());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(&active), ["comp.lang.c", "misc.talk", "misc.test"]);
    assert!(
        active.contains("misc.test 0000000005 0000000003 y\n"),
        "{active}"
    );
    assert!(
        active.contains("misc.talk 0000000001 0000000001 m\n"),
        "{active}"
    );
    assert!(
        active
            .lines()
            .any(|line| line.starts_with("comp.lang.c ") && line.ends_with(" n"))
    );
    let (_, counts) = reader.list("LIST COUNTS misc.test,comp.*").await;
    assert_eq!(names(&counts), ["comp.lang.c", "misc.test"]);
    assert!(counts.contains("misc.test 5 3 3 y\n"), "{counts}");
    let (_, active) = reader.list("LIST ACTIVE misc.*,!*.talk").await;
    assert_eq!(names(&active), ["misc.test"]);
    let (_, described) = reader.list("LIST NEWSGROUPS *.c").await;
    assert!(described.starts_with("comp.lang.c\t"), "{described}");
    let (_, none) = reader.list("LIST ACTIVE alt.*").await;
    assert_eq!(none, "");
    let marks = reader.ask("GROUP misc.test").await;
    assert_eq!(marks, "211 3 3 5 misc.test", "GROUP says what LIST says");
}

#[tokio::test(start_paused = true)]
async fn lists_about_the_server_itself() {
    let mut rig = Rig::of([1]).await;
    let mut reader = rig.here().await;
    let (code, format) = reader.list("LIST OVERVIEW.FMT").await;
    assert_eq!(code, "215");
    let usual = "Subject:\nFrom:\nDate:\nMessage-ID:\nReferences:\nBytes:\nLines:\nXref:full\n";
    assert_eq!(format, usual);
    let (_, by_range) = reader.list("LIST HEADERS RANGE").await;
    assert!(
        by_range.contains("Xref\n") && !by_range.contains(":\n"),
        "{by_range}"
    );
    assert_eq!(reader.list("LIST HEADERS").await.1, by_range);
    let (_, by_id) = reader.list("LIST HEADERS MSGID").await;
    assert_eq!(by_id, ":\n:bytes\n:lines\n");
    assert_eq!(
        reader.list("LIST MOTD").await.1,
        "The only news server has not been tried yet.\n"
    );
    assert_eq!(reader.list("LIST SUBSCRIPTIONS").await.1, "");
    assert_eq!(reader.ask("DATE").await, "111 20241004000000");
    let (code, help) = reader.list("HELP").await;
    assert!(code == "100" && help.contains("NEWNEWS"), "{help}");
    assert!(help.lines().all(|line| line.len() < 80));
    assert!(reader.ask("MODE READER").await.starts_with("200 "));
    assert_eq!(reader.code("QUIT").await, 205);
    assert_eq!(reader.rest().await, b"");
}

#[tokio::test(start_paused = true)]
async fn capabilities_name_what_can_be_done() {
    let mut rig = Rig::of([1]).await;
    let mut reader = rig.here().await;
    let all = reader.capabilities().await;
    for one in [
        "VERSION 2",
        "READER",
        "POST",
        "HDR",
        "OVER MSGID",
        "XPAT",
        "NEWNEWS",
        "COMPRESS DEFLATE",
        "LIST ACTIVE ACTIVE.TIMES COUNTS HEADERS MOTD NEWSGROUPS OVERVIEW.FMT SUBSCRIPTIONS",
    ] {
        assert!(all.contains(one), "{one} in {all:?}");
    }
    let mut rules = (**rig.server.parts.rules.load()).clone();
    rules.newnews = false;
    rig.server.apply(rules, None);
    assert!(!reader.capabilities().await.contains("NEWNEWS"));
    assert_eq!(reader.code("NEWNEWS * 20240101 000000 GMT").await, 502);
}

#[tokio::test(start_paused = true)]
async fn dots_are_doubled_wherever_they_stand() {
    // One line after the other with a dot, so that some of them fall on each border between pieces.
    let mut body = String::new();
    for length in 0..400 {
        body.push_str(&".".repeat(length % 3));
        body.push_str(&"x".repeat(length));
        body.push('\n');
    }
    let article = Article::new(
        "<dots@zoo.example>",
        &[
            ("Newsgroups", "misc.test"),
            ("From", "a@b"),
            ("Subject", "dots"),
        ],
        &body,
    );
    let shelf = Newsgroup::new("misc.test").at(1, article);
    let mut rig = Rig::with(vec![vec![shelf]], Wishes::default(), |_| {}).await;
    let mut reader = rig.here().await;
    assert_eq!(reader.code("BODY <dots@zoo.example>").await, 222);
    let got = String::from_utf8(reader.block().await).unwrap();
    assert_eq!(got, body.replace('\n', "\r\n"));
    assert_eq!(reader.code("DATE").await, 111, "and nothing is left over");
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_text_come_through_without_breaking_lines() {
    let shelf = Newsgroup::new("misc.test").at(1, Article::garbage(1));
    let mut rig = Rig::with(vec![vec![shelf]], Wishes::default(), |_| {}).await;
    let mut reader = rig.here().await;
    assert_eq!(reader.code("BODY <1@zoo.example>").await, 222);
    let body = reader.block().await;
    // That server does not double a dot after a bare LF, so for it the article ends there.
    assert_eq!(
        body,
        b"\x00\x01\x80\xff bare\r\nlf, bare\rcr\r\n..\r\n.\r\n"
    );
    assert_eq!(reader.code("OVER <1@zoo.example>").await, 224);
    let line = reader.block().await;
    assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
    assert_eq!(line.iter().filter(|byte| **byte == b'\t').count(), 8);
    assert!(!line.contains(&0));
}

#[tokio::test(start_paused = true)]
async fn what_is_new_is_told_since_a_time() {
    let shelf = vec![
        Newsgroup::new("misc.test").with(1..=2),
        Newsgroup::new("misc.talk").with([1]),
    ];
    let mut rig = Rig::with(vec![shelf], Wishes::default(), |_| {}).await;
    let mut reader = rig.here().await;
    let (code, new) = reader.list("NEWGROUPS 20240101 000000 GMT").await;
    assert_eq!(code, "231");
    let rows = "misc.talk 0000000001 0000000001 y\nmisc.test 0000000002 0000000001 y\n";
    assert_eq!(new, rows);
    assert_eq!(reader.list("NEWGROUPS 20250101 000000").await.1, "");
    let (code, times) = reader.list("LIST ACTIVE.TIMES *.test").await;
    assert_eq!(
        (code.as_str(), times.as_str()),
        ("215", "misc.test 1728000000 weir\n")
    );
    assert_eq!(reader.code("NEWGROUPS yesterday").await, 501);
    // Nothing is written down here, so nobody knows when articles came.
    assert_eq!(reader.code("NEWNEWS * 20240101 000000 GMT").await, 403);
}
