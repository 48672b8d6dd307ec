//! Bad greetings, bad answers, and answers that take their time.

use std::time::Duration;

use tokio::time::Instant;
use weir_net::{Ground, System};
use weir_testkit::zoo::Place;
use weir_testkit::zoo::news::{Behaviour, Greeting, News};

use crate::{Client, SECOND, WHILE, greeted, home, newsgroups, server};

/// What a server sends on its own, or after one command, and whether it hangs up then.
async fn meets(client: &mut Client, line: &str) -> (String, bool) {
    client.send(line).await;
    client.rest().await
}

#[tokio::test(start_paused = true)]
async fn greetings_are_as_bad_as_they_should_be() {
    let (network, news) = server().await;
    let table = [
        (Greeting::Good, "200 Zoo, posting allowed\r\n111 2", false),
        (
            Greeting::Late(WHILE / 5),
            "200 Zoo, posting allowed\r\n111 2",
            false,
        ),
        (Greeting::Never, "", false),
        (
            Greeting::smtp(),
            "220 mail.example ESMTP ready\r\n111 2",
            false,
        ),
        (Greeting::garbage(), "\u{16}\u{3}\u{1}\0", false),
        (
            Greeting::not_now(),
            "400 Service temporarily unavailable\r\n",
            true,
        ),
        (Greeting::refused(), "502 Access denied\r\n", true),
        (Greeting::Close, "", true),
    ];
    for (greeting, begins, ends) in table {
        news.be(|nature| nature.greeting = greeting.clone());
        let mut client = Client::connect(&network, home()).await;
        let (text, ended) = meets(&mut client, "DATE\r\n").await;
        assert!(text.starts_with(begins), "{greeting:?}: {text:?}");
        assert!(
            !begins.is_empty() || text.is_empty(),
            "{greeting:?}: {text:?}"
        );
        assert_eq!(ended, ends, "{greeting:?}");
    }
    news.be(|nature| {
        nature.greeting = Greeting::Good;
        nature.connections = Some(1);
    });
    let _first = greeted(&network).await;
    let mut second = Client::connect(&network, home()).await;
    let (text, ended) = second.rest().await;
    assert_eq!(
        (text.as_str(), ended),
        ("502 Too many connections\r\n", true)
    );
}

/// Behaviours, how the answer to `LISTGROUP misc.test` begins and ends, and whether the server hangs up.
fn table() -> Vec<(Behaviour, &'static str, &'static str, bool)> {
    use Behaviour as B;
    let line = |text: &str| text.to_owned();
    let (good, end) = ("211 5 3 7 misc.test\r\n3\r\n", "\r\n7\r\n.\r\n");
    vec![
        (B::Good, good, end, false),
        (B::Slow(WHILE / 5), good, end, false),
        (B::Far(WHILE / 5), good, end, false),
        (B::Drip(Duration::from_millis(1)), good, end, false),
        (B::Line(line("480 No")), "480 No\r\n", "480 No\r\n", false),
        (
            B::Goodbye(line("400 Bye")),
            "400 Bye\r\n",
            "400 Bye\r\n",
            true,
        ),
        (B::Bytes(b"\0\xff".to_vec()), "\0\u{fffd}", "", false),
        (B::Hang, "", "", false),
        (B::Drip(SECOND), "2", "2", false),
        (B::Cut(23), "211 5 3 7 misc.test\r\n", "3\r", true),
        (B::Half, "211 5 3 7 misc.te", "", true),
        (B::Stall(21), "211", "test\r\n", false),
        (B::Close, "", "", true),
        (B::Reset, "", "", true),
        (B::EndlessLine(300_000), "xxxxxx", "xxxxxx", true),
        (B::EndlessBlock(300_000), good, "", true),
        (B::Hang.after(5), good, end, false),
    ]
}

async fn check(ground: &dyn Ground, news: &News) {
    for (behaviour, begins, ends, hangs_up) in table() {
        let mut client = Client::connect(ground, news.address()).await;
        client.until("\r\n").await;
        news.set_for("LISTGROUP", behaviour.clone());
        let (text, ended) = meets(&mut client, "LISTGROUP misc.test\r\n").await;
        let fits = text.starts_with(begins) && text.ends_with(ends);
        assert!(fits, "{behaviour:?}: {text:?}");
        assert!(
            !begins.is_empty() || text.is_empty(),
            "{behaviour:?}: {text:?}"
        );
        assert_eq!(ended, hangs_up, "{behaviour:?}");
        let long = matches!(
            behaviour,
            Behaviour::EndlessLine(_) | Behaviour::EndlessBlock(_)
        );
        assert_eq!(text.len() >= 300_000, long, "{behaviour:?}");
        if !hangs_up
            && !matches!(
                behaviour,
                Behaviour::Hang | Behaviour::Stall(_) | Behaviour::Drip(_)
            )
        {
            let date = client.ask("DATE", "\r\n").await;
            assert_eq!(date, "111 20240201120000\r\n", "{behaviour:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_as_bad_as_they_should_be_in_memory() {
    let (network, news) = server().await;
    check(&network, &news).await;
    // What clients left hanging is gone with them.
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(news.open(), 0);
}

#[tokio::test]
async fn answers_are_as_bad_as_they_should_be_on_loopback() {
    let news = News::start(Place::Loopback, newsgroups());
    let news = news.await.expect("loopback");
    check(&System::new(), &news).await;
}

#[tokio::test(start_paused = true)]
async fn a_behaviour_may_be_for_few_commands_and_for_a_while() {
    let (network, news) = server().await;
    let mut client = greeted(&network).await;
    news.set(Behaviour::Line("403 Fault".to_owned()));
    news.set_for("DATE", Behaviour::Good);
    news.set_next("GROUP misc.test", 1, Behaviour::Line("411 None".to_owned()));
    assert_eq!(client.ask("group misc.test", "\n").await, "411 None\r\n");
    assert_eq!(client.ask("GROUP misc.test", "\n").await, "403 Fault\r\n");
    assert!(client.ask("DATE", "\n").await.starts_with("111 "));
    news.set(Behaviour::Good);
    assert!(
        client
            .ask("GROUP misc.test", "\n")
            .await
            .starts_with("211 ")
    );
    news.cut();
    let (text, ended) = client.rest().await;
    assert_eq!((text.as_str(), ended), ("", true));
}

#[tokio::test(start_paused = true)]
async fn pipelined_commands_are_counted_and_answered_in_time() {
    let (network, news) = server().await;
    let mut client = greeted(&network).await;
    for (behaviour, time) in [
        (Behaviour::Far(SECOND), SECOND),
        (Behaviour::Slow(SECOND), 8 * SECOND),
    ] {
        news.set(behaviour);
        let start = Instant::now();
        client.send(&"STAT <3@zoo.example>\r\n".repeat(8)).await;
        let stat = "223 0 <3@zoo.example>\r\n";
        assert_eq!(client.until(&stat.repeat(8)).await, stat.repeat(8));
        assert_eq!(start.elapsed(), time);
    }
    assert_eq!(news.depth(), 8);
    assert_eq!(news.commands()[9].at.elapsed(), 8 * SECOND);
}
