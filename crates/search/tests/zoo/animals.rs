//! For each misbehaviour, what a client and the indexer read.

use weir_testkit::zoo::flood::Flood;

use super::*;

/// A behaviour and why the indexer has no part in the reply; nothing if it has.
fn table() -> Vec<(Behaviour, Option<&'static str>)> {
    use Behaviour as B;
    let status = |status, retry_after| B::Status(status, retry_after);
    let said = |code, words: &str| B::Error(code, words.to_owned());
    let often = Some("it says we ask too often");
    let date = RetryAfter::Text("Fri, 06 Nov 2099 08:49:37 GMT".to_owned());
    let unreadable = Some("its answer cannot be read: ");
    let silent = Some("it did not answer within 0.4 s");
    vec![
        (B::Good, None),
        (B::Gzip, None),
        (B::Latin1, None),
        (B::WrongPaging, None),
        (B::Slow(Duration::from_millis(50)), None),
        (
            B::Limits {
                calls: (1, 100),
                grabs: (1, 10),
            },
            None,
        ),
        (status(429, RetryAfter::None), often),
        (status(429, RetryAfter::Seconds(9)), often),
        (status(429, date), often),
        (status(503, RetryAfter::Seconds(9)), often),
        (status(503, RetryAfter::None), Some("it answered 503")),
        (
            B::BurstLimit {
                calls: 0,
                window: MINUTE,
                retry_after: RetryAfter::None,
            },
            often,
        ),
        (
            said(100, "Incorrect user credentials"),
            Some("it rejected our API key: Incorrect user credentials"),
        ),
        (
            said(201, "Incorrect parameter"),
            Some("it does not support this search: Incorrect parameter"),
        ),
        (
            said(500, "Request limit reached"),
            Some("its limit is reached: Request limit reached"),
        ),
        (
            said(501, "Download limit reached"),
            Some("its limit is reached: Download limit reached"),
        ),
        (said(900, "Unknown"), Some("it said: Unknown (error 900)")),
        (B::InvalidXml, unreadable),
        (
            B::Html,
            Some(
                "its answer cannot be read: the indexer sent a page for people instead of an answer",
            ),
        ),
        (
            B::Empty,
            Some("its answer cannot be read: the answer is empty"),
        ),
        (
            B::EntityBomb,
            Some("its answer cannot be read: the document declares entities"),
        ),
        (
            B::ExternalEntity,
            Some("its answer cannot be read: the document declares entities"),
        ),
        (B::RedirectLoop, Some("")),
        (B::CloseAfterRequest, Some("the connection was closed")),
        (B::Flaky(1), Some("it answered 500")),
        (B::GzipBomb(40 << 20), Some("")),
        (
            B::Flood(Flood::Informational, 64 << 20),
            Some("the answer consists of too many preliminary replies"),
        ),
        (
            B::Flood(Flood::GzipMembers, 8 << 20),
            Some("the answer consists of too many gzip members"),
        ),
        (B::Hang, silent),
        (B::Drip(Duration::from_millis(50)), silent),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_misbehaviour_is_that_indexers_failure_and_never_the_requests() {
    for (behaviour, words) in table() {
        let what = format!("{behaviour:?}");
        // No good answer may be late on a busy machine.
        let timeout = match behaviour {
            Behaviour::Hang | Behaviour::Drip(_) => Duration::from_millis(400),
            _ => 12 * SECOND,
        };
        let (odd, well, world) = pair(timeout).await;
        world.get("/torznab/api?t=caps").await;
        odd.set(behaviour.clone());
        let reply = world.get("/torznab/api?t=search&q=some").await;
        assert_eq!(reply.status, 200, "{what}: {}", reply.body);
        let titles = reply.titles();
        for number in 11..14 {
            let title = format!("Some.Show.S01E{number}.1080p");
            assert!(titles.contains(&title), "{what}: {titles:?}");
        }
        match words {
            None => {
                assert_eq!(titles.len(), 6, "{what}: {}", reply.body);
                assert_eq!(reply.skipped(), [], "{what}");
            }
            Some(words) => {
                assert_eq!(titles.len(), 3, "{what}: {}", reply.body);
                let reason = reply.reason("odd");
                assert!(
                    reason.starts_with(words) && !reason.is_empty(),
                    "{what}: {reason}"
                );
                assert_eq!(reply.skipped().len(), 1, "{what}");
            }
        }
        if behaviour == Behaviour::Latin1 {
            let latin = titles.iter().filter(|title| title.ends_with(".Amélie"));
            assert_eq!(latin.count(), 3, "{titles:?}");
        }
        assert!(!odd.was_lured(), "{what}");
        let asked = &odd.searches()[0].target;
        assert_eq!(
            asked, "/api?t=search&q=some&extended=1&limit=100&offset=0&apikey=indexer-key-of-ours",
            "{what}"
        );
        assert_eq!(well.searches().len(), 1, "{what}");
        let calls = match behaviour {
            Behaviour::RedirectLoop => 6,
            // On the connection that was open, and on a new one.
            Behaviour::CloseAfterRequest => 2,
            _ => 1,
        };
        assert_eq!(odd.searches().len(), calls, "{what}");
        world.stop().await;
    }
}

/// The most memory that this process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number
        .and_then(|number| number.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_megabytes_are_cut_at_the_limit() {
    let (odd, _well, world) = pair(MINUTE).await;
    world.get("/torznab/api?t=caps").await;
    odd.set(Behaviour::HugeBody(200 << 20));
    let before = peak();
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!((reply.status, reply.titles().len()), (200, 3));
    assert!(
        reply.reason("odd").contains("16"),
        "{}",
        reply.reason("odd")
    );
    let grown = peak() - before;
    assert!(grown < 120 << 20, "{} MiB more", grown >> 20);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_caps_cost_their_indexer_alone() {
    for behaviour in [
        Behaviour::Html,
        Behaviour::InvalidXml,
        Behaviour::Hang,
        Behaviour::Status(500, RetryAfter::None),
        Behaviour::Error(100, "no".to_owned()),
        Behaviour::EntityBomb,
    ] {
        let what = format!("{behaviour:?}");
        let (odd, _well, world) = pair(Duration::from_millis(300)).await;
        odd.set_all(behaviour);
        let caps = world.get("/torznab/api?t=caps").await;
        assert_eq!(caps.status, 200, "{what}");
        assert!(
            caps.body.contains("<tv-search available=\"yes\""),
            "{what}: {}",
            caps.body
        );
        let reply = world.get("/torznab/api?t=search&q=some").await;
        assert_eq!(
            (reply.status, reply.titles().len()),
            (200, 3),
            "{what}: {}",
            reply.body
        );
        assert_eq!(reply.skipped().len(), 1, "{what}");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_to_answer_is_429_with_whole_seconds() {
    let odd = indexer(Setup::with(1..4)).await;
    let world = World::new(ground(), &config([("odd", &odd)]));
    world.get("/torznab/api?t=caps").await;
    let later = "Fri, 06 Nov 2099 08:49:37 GMT".to_owned();
    odd.set(Behaviour::Status(429, RetryAfter::Text(later)));
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!(reply.status, 429, "{}", reply.body);
    let seconds: u64 = reply
        .retry_after
        .expect("a time")
        .parse()
        .expect("whole seconds");
    assert!((86_390..=86_400).contains(&seconds), "{seconds}");
    let json = world.get("/torznab/api?t=search&q=some&o=json").await;
    assert_eq!(json.status, 429);
    assert!(json.body.starts_with("{\"error\":"), "{}", json.body);
    world.stop().await;
}
