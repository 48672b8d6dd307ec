//! What servers are like and what they have.

use weir_testkit::zoo::news::{Article, EmptyRange, Nature, Newsgroup, Rows, id};

use crate::{Client, greeted, home, server};

#[tokio::test(start_paused = true)]
async fn an_account_is_asked_for() {
    let (network, news) = server().await;
    news.be(|nature| nature.account = Some(("ann".to_owned(), "secret".to_owned())));
    let mut client = Client::connect(&network, home()).await;
    let lines = "GROUP misc.test\r\nAUTHINFO PASS secret\r\nAUTHINFO USER ann\r\nAUTHINFO PASS wrong\r\n\
                 AUTHINFO USER ann\r\nAUTHINFO PASS secret\r\nGROUP misc.test\r\nAUTHINFO USER ann\r\nQUIT\r\n";
    let text = client.whole(lines).await;
    let codes: Vec<&str> = text.lines().filter_map(|line| line.get(..3)).collect();
    let expected = [
        "200", "480", "482", "381", "481", "381", "281", "211", "502", "205",
    ];
    assert_eq!(codes, expected);
}

#[tokio::test(start_paused = true)]
async fn natures_differ() {
    let (network, news) = server().await;
    let over = "GROUP misc.test\r\nOVER 3-4\r\nQUIT\r\n";
    let empty = "GROUP misc.empty\r\nOVER 1-\r\nQUIT\r\n";
    let third = "3\tSubject 3\t";
    let date = "Author 3 <author3@example.com>\t01 Jan 2024 00:03:00 +0000";
    let lying = |nature: &mut Nature| nature.capabilities = Some(vec!["VERSION 9".to_owned()]);
    type Change = Box<dyn Fn(&mut Nature)>;
    let rows = |rows: Rows| -> Change { Box::new(move |nature| nature.rows = rows) };
    let table: Vec<(Change, &str, String)> = vec![
        (rows(Rows::Fields(3)), over, format!("{third}{date}\r\n4\t")),
        (
            rows(Rows::ExtraTabs),
            over,
            "3\tSubject 3\twith a tab\tAuthor".to_owned(),
        ),
        (
            rows(Rows::Shifted(100)),
            over,
            "\r\n103\tSubject 3".to_owned(),
        ),
        (rows(Rows::NoNumbers), over, "\r\none\tSubject 3".to_owned()),
        (rows(Rows::Twice), over, format!("misc.test:3\r\n{third}")),
        (
            rows(Rows::Reversed),
            over,
            format!("misc.test:4\r\n{third}"),
        ),
        (rows(Rows::Holes), over, "misc.test:3\r\n.\r\n".to_owned()),
        (
            rows(Rows::Garbage),
            over,
            "misc.test:3\r\n\r\n\0".to_owned(),
        ),
        (rows(Rows::Good), empty, "423 Nothing".to_owned()),
        (
            Box::new(|nature| nature.empty_range = EmptyRange::EmptyBlock),
            empty,
            "224 Overview\r\n.\r\n".to_owned(),
        ),
        (
            Box::new(|nature| nature.counts = Some((9, 1, 2))),
            "GROUP misc.test\r\nLIST COUNTS *.test\r\nQUIT\r\n",
            "211 9 1 2 misc.test\r\n215 List\r\nmisc.test 2 1 9 y\r\n".to_owned(),
        ),
        (
            Box::new(lying),
            "CAPABILITIES\r\nQUIT\r\n",
            "101 Capabilities\r\nVERSION 9\r\n.".to_owned(),
        ),
        (
            Box::new(|nature| nature.posting = false),
            "POST\r\nQUIT\r\n",
            "201 Zoo, no posting\r\n440 ".to_owned(),
        ),
        (
            Box::new(|nature| nature.transit = true),
            "DATE\r\nCAPABILITIES\r\nMODE READER\r\nDATE\r\nQUIT\r\n",
            "401 MODE-READER\r\n101".to_owned(),
        ),
        (
            Box::new(|nature| nature.zero_by_id = false),
            "GROUP misc.test\r\nSTAT <5@zoo.example>\r\nQUIT\r\n",
            "223 5 <5@zoo.example>".to_owned(),
        ),
    ];
    for (change, lines, has) in table {
        news.be(|nature| *nature = Nature::default());
        news.be(|nature| change(nature));
        let text = Client::connect(&network, home()).await.whole(lines).await;
        assert!(text.contains(&has), "{has:?} is not in {text:?}");
    }
    news.be(|nature| *nature = Nature::default());
    news.without(&["OVER", "XOVER", "LIST COUNTS", "CAPABILITIES"]);
    let mut client = Client::connect(&network, home()).await;
    let text = client
        .whole("CAPABILITIES\r\nXOVER\r\nLIST COUNTS\r\nLIST\r\nQUIT\r\n")
        .await;
    let codes: Vec<&str> = text.lines().filter_map(|line| line.get(..4)).collect();
    assert_eq!(codes[1..5], ["500 ", "500 ", "503 ", "215 "]);
}

#[tokio::test(start_paused = true)]
async fn what_it_has_may_change() {
    let (network, news) = server().await;
    let mut client = greeted(&network).await;
    news.remove(&id(3));
    assert_eq!(
        client.ask("GROUP misc.test", "\n").await,
        "211 4 4 7 misc.test\r\n"
    );
    news.renumber("misc.test", 1);
    assert_eq!(
        client.ask("GROUP misc.test", "\n").await,
        "211 4 1 4 misc.test\r\n"
    );
    assert_eq!(
        client.ask("STAT 1", "\n").await,
        "223 1 <4@zoo.example>\r\n"
    );
    let both = ["misc.test", "misc.empty"];
    assert_eq!(news.add(&both, Article::reply(9, &[4, 7])), [5, 1]);
    let over = client.ask("OVER 5", "\r\n.\r\n").await;
    assert!(over.contains("\tRe: Subject 4\t"), "{over}");
    assert!(
        over.contains("\t<4@zoo.example> <7@zoo.example>\t"),
        "{over}"
    );
    assert!(
        over.contains("\tXref: zoo.example misc.test:5 misc.empty:1\r\n"),
        "{over}"
    );
    news.take_down(&id(9));
    assert_eq!(
        client.ask("ARTICLE <9@zoo.example>", "\n").await,
        "451 Taken down\r\n"
    );
    news.put(
        Newsgroup::new("misc.test")
            .at(8, Article::garbage(8))
            .at(9, Article::huge(10, 5 << 20)),
    );
    let garbage = client.ask("ARTICLE <8@zoo.example>", "\r\n.\r\n").await;
    assert!(
        garbage.contains("\0bare\rcr and\nlf\r\n")
            && garbage.ends_with("\r\n...\r\n..\n.\r\n\u{fffd}\r\n.\r\n"),
        "{garbage:?}"
    );
    assert!(client.ask("BODY <10@zoo.example>", "\r\n.\r\n").await.len() > 5 << 20);
}
