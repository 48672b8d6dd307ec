//! Every misbehaviour: what becomes of the forwarder, and when exactly it is called again.

use weir_testkit::memory::{Fault, Name};
use weir_testkit::zoo::flood::Flood;
use weir_testkit::zoo::http::RetryAfter;

use super::*;

/// What must come of a misbehaviour.
pub(super) struct Case {
    pub(super) what: String,
    /// Calls until the announce is done with.
    pub(super) calls: u64,
    pub(super) state: &'static str,
    pub(super) failures: u32,
    /// How long the last of these calls takes, in milliseconds.
    pub(super) takes: u64,
    /// Seconds after its end until the next call.
    pub(super) again: u64,
    /// The retry is scheduled: nobody needs to announce for it.
    pub(super) retry: bool,
    /// The last word about it.
    pub(super) words: &'static str,
    /// Peers that clients get afterwards.
    pub(super) peers: usize,
}

/// One try, nobody to blame.
pub(super) fn well(what: impl std::fmt::Debug, again: u64) -> Case {
    Case {
        what: format!("{what:?}"),
        calls: 1,
        state: "open",
        failures: 0,
        takes: 0,
        again,
        retry: false,
        words: "",
        peers: 1,
    }
}

/// A healthy *no*.
pub(super) fn refusing(what: impl std::fmt::Debug, again: u64, words: &'static str) -> Case {
    Case {
        words,
        peers: 0,
        ..well(what, again)
    }
}

/// Left alone; due again when that ends.
fn in_cooldown(what: impl std::fmt::Debug, state: &'static str, words: &'static str) -> Case {
    let again = state.split(' ').nth(1).and_then(|text| text.parse().ok());
    Case {
        state,
        failures: u32::from(state.starts_with("disabled")),
        ..refusing(what, again.expect("a time"), words)
    }
}

/// An answer that nobody can use: one failure at once.
pub(super) fn broken(what: impl std::fmt::Debug, words: &'static str) -> Case {
    Case {
        state: "untried",
        failures: 1,
        ..refusing(what, 60, words)
    }
}

/// Tried five times; together that is one failure.
pub(super) fn failing(what: impl std::fmt::Debug, takes: u64, words: &'static str) -> Case {
    Case {
        calls: 5,
        takes,
        ..broken(what, words)
    }
}

impl Case {
    /// A client announces once; the forwarder is then called as the case says, and again to the second.
    pub(super) async fn check(&self, world: &World) {
        let what = &self.what;
        let first = world.announce(1, 1).await;
        assert_eq!(
            (first.interval, first.peers.len()),
            (60, 0),
            "{what}: at first"
        );
        world.idle(u32::from(self.retry)).await;
        let view = world.view("a");
        assert_eq!(world.calls("a"), self.calls, "{what}: {:?}", view.figures);
        let last = world.last_call("a").expect("it was called");
        let ended = last + Duration::from_millis(self.takes);
        let shown = world.state_of("a");
        // Seen up to a tenth of a second later.
        assert_eq!(shown, self.state, "{what}");
        assert_eq!(view.status.failures, self.failures, "{what}");
        let error = world.last_error("a");
        assert!(error.starts_with(self.words), "{what}: {error}");
        assert_eq!(error.is_empty(), self.words.is_empty(), "{what}: {error}");

        let whole = Duration::from_secs(ended.as_millis().div_ceil(1000) as u64);
        let due = whole + Duration::from_secs(self.again);
        world.until(due - SECOND).await;
        let reply = world.announce(1, 2).await;
        let pending = self.retry && due <= 5 * MINUTE;
        let interval = if pending { 60 } else { 1800 };
        assert_eq!(reply.interval, interval, "{what}: while it waits");
        // Nobody is kept for longer than `age`.
        let kept = usize::from(due < 3 * HOUR);
        let peers = (kept * self.peers) as u32;
        assert_eq!(reply.peers.len(), kept * (self.peers + 1), "{what}");
        assert_eq!(reply.counts, (peers, 1 + kept as u32), "{what}");
        assert_eq!(world.last_call("a"), Some(last), "{what}: called early");
        world.until(due).await;
        if !self.retry {
            world.announce(1, 3).await;
        }
        assert_eq!(world.last_call("a"), Some(due), "{what}: called again");
    }
}

fn status(code: u16, retry_after: RetryAfter) -> Behaviour {
    Behaviour::Status(code, retry_after)
}

fn answers() -> Vec<(Behaviour, Case)> {
    use Behaviour as B;
    let text = |text: &str| RetryAfter::Text(text.to_owned());
    let no = || B::FailureOnly("not here".to_owned());
    let retry = |minutes| Case {
        retry: true,
        ..refusing(
            B::RetryIn(minutes),
            u64::from(minutes.max(1)) * 60,
            "it said: try later",
        )
    };
    let cut = "the connection was closed";
    let unreadable = "its answer cannot be read";
    let often = "it says we ask too often";
    let silent = "it did not answer within 30 s";
    let cases = vec![
        (good(900, &["198.51.100.7:1"]), well("good", 900)),
        (B::Interval(0), well("interval 0", 60)),
        (B::Interval(-5), well("no interval", 1800)),
        (B::Interval(59), well("interval 59", 60)),
        (B::Interval(61), well("interval 61", 61)),
        (B::Interval(i64::MAX), well("interval huge", 86_400)),
        (
            B::Good(Good {
                min_interval: Some(7200),
                ..Good::default()
            }),
            well("min interval", 7200),
        ),
        (no(), refusing("failure", 1800, "it said: not here")),
        (B::RetryIn(0), retry(0)),
        (B::RetryIn(5), retry(5)),
        (B::RetryIn(9), retry(9)),
        (
            B::RetryIn(10),
            refusing("retry in 10", 600, "it said: try later"),
        ),
        (
            B::RetryIn(240),
            refusing("retry in 240", 14_400, "it said: try later"),
        ),
        (
            B::RetryNever,
            refusing("never", 86_400, "it said: gone for good (never ask about"),
        ),
        (
            status(429, RetryAfter::None),
            in_cooldown(429, "cooldown 300", often),
        ),
        (
            status(429, RetryAfter::Seconds(120)),
            in_cooldown("429, 120", "cooldown 120", often),
        ),
        (
            status(429, RetryAfter::Seconds(0)),
            in_cooldown("429, 0", "cooldown 300", often),
        ),
        (
            status(429, text("soon")),
            in_cooldown("429, soon", "cooldown 300", often),
        ),
        (
            status(429, text("Fri, 06 Nov 2099 08:49:37 GMT")),
            in_cooldown("429, far away", "cooldown 86400", often),
        ),
        (
            status(429, text("Sun, 06 Nov 1994 08:49:37 GMT")),
            in_cooldown("429, long ago", "cooldown 300", often),
        ),
        (
            status(503, RetryAfter::Seconds(90)),
            in_cooldown("503, 90", "cooldown 90", often),
        ),
        (
            status(503, RetryAfter::None),
            failing(503, 0, "it answered 503"),
        ),
        (
            status(502, RetryAfter::None),
            failing(502, 0, "it answered 502"),
        ),
        (
            status(302, RetryAfter::None),
            broken("302 to nowhere", "it answered 302"),
        ),
        (
            status(401, RetryAfter::None),
            in_cooldown(401, "disabled 60", "it answered 401"),
        ),
        (
            status(500, RetryAfter::Seconds(9)),
            failing(500, 0, "it answered 500"),
        ),
        (
            status(400, RetryAfter::None),
            in_cooldown(400, "disabled 60", "it answered 400"),
        ),
        (
            status(403, RetryAfter::None),
            in_cooldown(403, "disabled 60", "it answered 403"),
        ),
        (
            status(404, RetryAfter::None),
            in_cooldown(404, "disabled 60", "it answered 404"),
        ),
        (B::Hang, failing("hang", 30_000, silent)),
        (B::Drip(SECOND), failing("drip", 30_000, silent)),
        (B::HalfBody, failing("half", 0, cut)),
        (B::CloseAtOnce, failing("close at once", 0, cut)),
        (B::CloseAfterRequest, failing("close", 0, cut)),
        (B::Reset, failing("reset", 0, cut)),
        (
            B::Garbage,
            broken("garbage", "the answer is not readable as HTTP"),
        ),
        (B::Html, broken("html", unreadable)),
        (B::Empty, broken("empty", unreadable)),
        (B::Truncated, broken("truncated", unreadable)),
        (B::NestingBomb, broken("nesting", unreadable)),
        (B::EndlessString, broken("endless", unreadable)),
        (
            B::HugeBody(3 << 20),
            broken("huge", "the answer is larger than 262144"),
        ),
        (
            B::GzipBomb(3 << 20),
            broken("bomb", "the answer is larger than 262144"),
        ),
        (
            B::HugeHead(1 << 20),
            broken("head", "the answer is larger than 65536"),
        ),
        (
            B::Flood(Flood::Informational, 8 << 20),
            broken("preliminary", "the answer consists of too many preliminary"),
        ),
        (
            B::Flood(Flood::Chunks, 8 << 20),
            broken("chunks", "the answer consists of too many small pieces"),
        ),
        (
            B::Flood(Flood::ChunkSize, 8 << 20),
            broken("chunk size", "the answer is larger than 262144"),
        ),
        (B::RedirectLoop, broken("loop", "redirected too often")),
        (
            B::Redirect("http://10.0.0.9/announce".to_owned()),
            in_cooldown("private", "disabled 60", "the address 10.0.0.9 is private"),
        ),
    ];
    cases
}

#[tokio::test(start_paused = true)]
async fn every_answer_over_http_has_its_time_and_its_state() {
    for (behaviour, case) in answers() {
        let network = Network::new();
        let tracker = tracker(&network, 1, behaviour).await;
        let world = World::new(&network, &config(&[("a", &tracker.url())]));
        case.check(&world).await;
    }
}

#[tokio::test(start_paused = true)]
async fn hosts_that_cannot_be_reached_are_disabled_and_tried_again() {
    let network = Network::new();
    network.set_name("silent.example", Name::Silent);
    network.set_fault(place(2), Fault::NoRoute);
    network.set_fault(place(3), Fault::Unreachable);
    network.set_fault(place(4), Fault::Silent);
    let disabled = |what, words| in_cooldown(what, "disabled 60", words);
    for (url, case) in [
        (
            "http://192.0.2.1:6969/a",
            disabled("refused", "connection refused"),
        ),
        ("http://192.0.2.2:6969/a", disabled("no route", "no route")),
        (
            "http://192.0.2.3:6969/a",
            disabled("no network", "network unreachable"),
        ),
        (
            "http://nowhere.example/a",
            disabled("no host", "no such host"),
        ),
        (
            "udp://nowhere.example:1/a",
            disabled("no host", "no such host"),
        ),
        (
            "http://192.0.2.4:6969/a",
            failing("no connection", 10_000, "timed out"),
        ),
        (
            "http://silent.example/a",
            failing("no name server", 5000, "the name servers do not answer"),
        ),
    ] {
        let world = World::new(&network, &config(&[("a", url)]));
        case.check(&world).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_redirect_to_a_public_place_is_followed() {
    let network = Network::new();
    let to = tracker(&network, 2, good(900, &["198.51.100.7:1"])).await;
    let from = tracker(&network, 1, Behaviour::Redirect(to.url())).await;
    let world = World::new(&network, &config(&[("a", &from.url())]));
    well("redirect", 900).check(&world).await;
    assert_eq!((from.seen().len(), to.seen().len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_drips_in_time_is_an_answer() {
    let network = Network::new();
    let tracker = tracker(&network, 1, Behaviour::Drip(SECOND / 10)).await;
    let world = World::new(&network, &config(&[("a", &tracker.url())]));
    world.announce(1, 1).await;
    while world.calls("a") == 0 {
        assert_eq!(world.ask(1, 1, Event::None).expect("a reply").interval, 60);
        world.until(world.time() + SECOND / 20).await;
    }
    let took = world.time().as_secs();
    assert!((10..30).contains(&took), "{took}");
    assert_eq!(world.state_of("a"), "open");
    let due = Duration::from_secs(took + 1 + 1800);
    world.until(due - SECOND).await;
    world.announce(1, 1).await;
    assert_eq!(world.last_call("a"), Some(Duration::ZERO));
    world.until(due).await;
    world.announce(1, 1).await;
    assert_eq!(world.last_call("a"), Some(due), "counted from the end");
}

#[tokio::test(start_paused = true)]
async fn private_forwarders_may_be_forbidden() {
    let network = Network::new();
    for url in ["http://10.0.0.9/a", "udp://10.0.0.9:1/a"] {
        let config = Config {
            allow_private_upstreams: false,
            ..config(&[("a", url)])
        };
        let world = World::new(&network, &config);
        let words = "the address 10.0.0.9 is private";
        in_cooldown(url, "disabled 60", words).check(&world).await;
    }
}

#[tokio::test(start_paused = true)]
async fn calls_under_way_together_are_one_step_of_the_ladder() {
    let network = Network::new();
    network.set_fault(place(1), Fault::Slow(5 * SECOND));
    let world = World::new(&network, &config(&[("a", "http://192.0.2.1:6969/a")]));
    for swarm in 1..=4 {
        world.announce(swarm, 1).await;
    }
    world.until(5 * SECOND).await;
    assert_eq!(world.calls("a"), 4);
    assert_eq!(world.state_of("a"), "disabled 60");
    assert_eq!(world.view("a").status.rung, 1);
}
