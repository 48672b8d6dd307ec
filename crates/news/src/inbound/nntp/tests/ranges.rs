//! OVER, HDR, XPAT and LISTGROUP.

use std::time::Duration;

use weir_testkit::zoo::news::{Behaviour, Newsgroup};

use super::world::{Newsreader, Rig, Wishes};

async fn in_group(rig: &mut Rig) -> Newsreader {
    let mut reader = rig.here().await;
    assert_eq!(reader.code("GROUP misc.test").await, 211);
    reader
}

#[tokio::test(start_paused = true)]
async fn overviews_have_our_numbers_and_our_xref() {
    let mut rig = Rig::of(1..=3).await;
    let mut reader = in_group(&mut rig).await;
    let (code, lines) = reader.list("OVER 2-").await;
    assert_eq!(code, "224");
    let lines: Vec<Vec<&str>> = lines
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].len(), 9, "{lines:?}");
    assert_eq!(lines[0][0], "2");
    assert_eq!(lines[0][1], "Subject 2");
    assert_eq!(lines[0][4], "<2@zoo.example>");
    assert_eq!(lines[0][8], "Xref: weir.example misc.test:2");
    assert_eq!(lines[1][0], "3");
    let (_, old) = reader.list("XOVER 2-3").await;
    assert_eq!(old.lines().count(), 2);
    let (_, current) = reader.list("OVER").await;
    assert!(current.starts_with("1\tSubject 1\t"), "{current}");
    let (_, by_id) = reader.list("OVER <2@zoo.example>").await;
    let by_id: Vec<&str> = by_id.trim_end().split('\t').collect();
    assert_eq!(by_id[0], "0");
    assert_eq!(by_id[1..], lines[0][1..], "the same as by number");
}

#[tokio::test(start_paused = true)]
async fn fields_come_by_number_range_and_id() {
    let mut rig = Rig::of(1..=3).await;
    let mut reader = in_group(&mut rig).await;
    for (command, code, block) in [
        ("HDR Subject 2-3", "225", "2 Subject 2\n3 Subject 3\n"),
        ("HDR subject", "225", "1 Subject 1\n"),
        ("HDR Message-ID 3", "225", "3 <3@zoo.example>\n"),
        ("HDR References 1-2", "225", "1 \n2 \n"),
        ("HDR Xref 2", "225", "2 weir.example misc.test:2\n"),
        ("HDR :lines 1-2", "225", "1 2\n2 2\n"),
        ("HDR Newsgroups 2", "225", "2 misc.test\n"),
        ("HDR Newsgroups <2@zoo.example>", "225", "0 misc.test\n"),
        ("HDR Path 1", "225", "1 weir.example!not-for-mail\n"),
        ("HDR :lines <2@zoo.example>", "225", "0 2\n"),
        ("HDR Organization <2@zoo.example>", "225", "0 \n"),
        ("XHDR Subject 2-3", "221", "2 Subject 2\n3 Subject 3\n"),
        ("XHDR References 1-2", "221", "1 (none)\n2 (none)\n"),
        ("XHDR Lines 1", "221", "1 2\n"),
        (
            "XHDR Subject <2@zoo.example>",
            "221",
            "<2@zoo.example> Subject 2\n",
        ),
        ("XPAT Subject 1-3 *2", "221", "2 Subject 2\n"),
        (
            "XPAT Subject 1- Subject *",
            "221",
            "1 Subject 1\n2 Subject 2\n3 Subject 3\n",
        ),
        ("XPAT From 1- nobody*", "221", ""),
        (
            "XPAT Subject <2@zoo.example> *2",
            "221",
            "<2@zoo.example> Subject 2\n",
        ),
        ("XPAT Subject <2@zoo.example> *3", "221", ""),
    ] {
        let (got, lines) = reader.list(command).await;
        assert_eq!((got.as_str(), lines.as_str()), (code, block), "{command}");
    }
}

#[tokio::test(start_paused = true)]
async fn numbers_of_a_newsgroup_are_listed_and_it_is_selected() {
    let mut rig = Rig::of([2, 4, 5]).await;
    let mut reader = rig.here().await;
    let reply = reader.ask("LISTGROUP misc.test").await;
    assert_eq!(reply, "211 3 2 5 misc.test");
    assert_eq!(reader.block().await, b"2\r\n4\r\n5\r\n");
    assert_eq!(reader.ask("STAT").await, "223 2 <2@zoo.example>");
    assert_eq!(reader.list("LISTGROUP misc.test 3-").await.1, "4\n5\n");
    assert_eq!(reader.list("LISTGROUP").await.1, "2\n4\n5\n");
    assert_eq!(reader.list("LISTGROUP misc.test 6-").await.1, "");
    assert_eq!(reader.list("LISTGROUP misc.test 5-4").await.1, "");
}

/// More lines than are fetched at once, from one server after the other.
#[tokio::test(start_paused = true)]
async fn a_long_range_comes_in_order_and_whole() {
    let mut rig = Rig::of(1..=1700).await;
    let mut reader = in_group(&mut rig).await;
    let (_, lines) = reader.list("OVER 1-1700").await;
    let numbers: Vec<u64> = lines
        .lines()
        .map(|line| line.split('\t').next().unwrap().parse().unwrap())
        .collect();
    assert!(numbers.iter().copied().eq(1..=1700));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_can_say_now_is_403() {
    let mut rig = Rig::of(1..=5).await;
    rig.world.servers[0].set(Behaviour::Hang);
    let mut reader = rig.here().await;
    let began = tokio::time::Instant::now();
    for command in ["GROUP misc.test", "LIST", "ARTICLE <1@zoo.example>"] {
        assert_eq!(reader.code(command).await, 403, "{command}");
    }
    assert!(
        began.elapsed() < Duration::from_secs(40),
        "{:?}",
        began.elapsed()
    );
    rig.world.servers[0].set(Behaviour::Close);
    assert_eq!(reader.code("ARTICLE <2@zoo.example>").await, 403);
    assert_eq!(reader.code("DATE").await, 111);
}

#[tokio::test(start_paused = true)]
async fn a_range_whose_first_window_is_late_is_403() {
    let mut rig = Rig::of(1..=3000).await;
    let mut reader = in_group(&mut rig).await;
    rig.world.settle().await;
    rig.world.servers[0].set(Behaviour::Hang);
    rig.world.servers[0].cut();
    let began = tokio::time::Instant::now();
    let reply = reader.ask("OVER 1-100").await;
    assert!(reply.starts_with("403 "), "{reply}");
    assert!(began.elapsed() <= Duration::from_secs(10));
    assert_eq!(reader.code("DATE").await, 111, "and the connection goes on");
}

#[tokio::test(start_paused = true)]
async fn a_range_that_breaks_later_ends_without_the_dot() {
    let mut rig = Rig::of(1..=5000).await;
    let mut reader = in_group(&mut rig).await;
    rig.world.settle().await;
    reader.send("OVER 1-5000\r\n").await;
    assert!(reader.line().await.starts_with("224 "));
    // The client takes nothing, so only what fits on the way is fetched.
    tokio::time::sleep(Duration::from_secs(1)).await;
    rig.world.servers[0].set(Behaviour::Close);
    rig.world.servers[0].cut();
    let rest = reader.rest().await;
    assert!(rest.starts_with(b"1\tSubject 1\t"));
    let lines = rest.split(|byte| *byte == b'\n').count();
    assert!((500..4500).contains(&lines), "{lines}");
    assert!(!rest.ends_with(b".\r\n") && !rest.windows(5).any(|five| five == b"\r\n.\r\n"));
}

#[tokio::test(start_paused = true)]
async fn two_servers_are_one_newsgroup() {
    let shelves = vec![
        vec![Newsgroup::new("misc.test").with(1..=3)],
        vec![Newsgroup::new("misc.test").with(2..=4)],
    ];
    let mut rig = Rig::with(shelves, Wishes::default(), |_| {}).await;
    let mut reader = in_group(&mut rig).await;
    // The second server is merged in when nobody waits for it.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(reader.code("GROUP misc.test").await, 211);
    let (_, lines) = reader.list("HDR Message-ID 1-").await;
    let mut ids: Vec<&str> = lines
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    ids.sort_unstable();
    assert_eq!(
        ids,
        [
            "<1@zoo.example>",
            "<2@zoo.example>",
            "<3@zoo.example>",
            "<4@zoo.example>"
        ]
    );
}
