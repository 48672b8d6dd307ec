//! What one client may have: places, commands, time; and how all of them end.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::Instant;
use weir_testkit::zoo::news::{Article, Newsgroup};

use super::world::{FRIEND, HERE, Rig, STRANGER, Wishes};
use crate::inbound::nntp::OpenKind;
use crate::inbound::nntp::session::Session;

const SECOND: Duration = Duration::from_secs(1);

const PUBLIC: Wishes = Wishes {
    public: true,
    auth_none: false,
    tls: false,
};

fn number(number: u32) -> std::num::NonZeroU32 {
    std::num::NonZeroU32::new(number).unwrap()
}

#[tokio::test(start_paused = true)]
async fn one_household_has_its_share_of_the_places_and_this_machine_its_own() {
    let shelf = vec![Newsgroup::new("misc.test").with([1])];
    let change = |config: &mut crate::Config| {
        config.nntp.connections = number(16);
        config.nntp.connections_per_address = Some(number(2));
    };
    let mut rig = Rig::with(vec![shelf], PUBLIC, change).await;
    let mut first = rig.from("2001:db8::1").await;
    let mut second = rig.from("2001:db8::2").await;
    tokio::time::advance(SECOND).await;
    assert_eq!(first.code("DATE").await, 111);
    tokio::time::advance(SECOND).await;
    let mut third = rig.from("2001:db8::3").await;
    assert_eq!(second.rest().await, b"", "it has been silent for longest");
    assert_eq!(first.code("DATE").await, 111);
    assert_eq!(third.code("DATE").await, 111);
    let mut here = Vec::new();
    for address in [HERE, FRIEND, HERE, FRIEND, HERE] {
        here.push(rig.from(address).await);
    }
    for reader in &mut here {
        assert_eq!(reader.code("DATE").await, 111);
    }
}

#[tokio::test(start_paused = true)]
async fn a_newsreader_without_a_place_is_recorded_and_counted() {
    let shelf = vec![Newsgroup::new("misc.test").with([1])];
    let few = |config: &mut crate::Config| config.nntp.connections = number(16);
    let mut rig = Rig::with(vec![shelf], PUBLIC, few).await;
    let mut open = Vec::new();
    let address = |place: usize| format!("203.0.113.{place}");
    let refused = loop {
        let address = address(open.len() + 1);
        match rig.connect(&address, 1024) {
            // None of them is silent: each has asked for something that it does not take.
            Some(mut newsreader) if open.len() < 60 => {
                newsreader.send("HELP\r\n".repeat(4)).await;
                open.push(newsreader);
                tokio::task::yield_now().await;
            }
            Some(_) => panic!("there is room for all"),
            None => break address,
        }
    };
    let engine = &rig.world.model.engine;
    assert_eq!(
        engine.own_decisions()[0].sentence(),
        format!("Newsreader connection of {refused} refused: too many were open.")
    );
    assert_eq!(engine.status().counters.refused, 1);
}

#[tokio::test(start_paused = true)]
async fn strangers_are_slowed_down_and_whoever_is_near_is_not() {
    let shelf = vec![Newsgroup::new("misc.test").with([1])];
    let slow = |config: &mut crate::Config| config.nntp.commands_per_second = number(10);
    let mut rig = Rig::with(vec![shelf], PUBLIC, slow).await;
    let (mut near, mut one) = (rig.here().await, rig.from(STRANGER).await);
    let mut other = rig.from(STRANGER).await;
    let many = "DATE\r\n".repeat(100);
    let began = Instant::now();
    near.send(&many).await;
    for _ in 0..100 {
        assert!(near.line().await.starts_with("111 "));
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    one.send(&many).await;
    other.send(&many).await;
    for _ in 0..100 {
        assert!(one.line().await.starts_with("111 "));
        assert!(other.line().await.starts_with("111 "));
    }
    let took = began.elapsed();
    assert!(took >= 17 * SECOND && took <= 21 * SECOND, "{took:?}");
}

fn long() -> Vec<Vec<Newsgroup>> {
    let shelf = Newsgroup::new("misc.test").at(1, Article::huge(1, 200_000));
    vec![vec![shelf]]
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_cut_off() {
    let mut rig = Rig::with(long(), Wishes::default(), |_| {}).await;
    let mut lazy = rig.here().await;
    lazy.send("BODY <1@zoo.example>\r\n").await;
    let mut other = rig.here().await;
    let began = Instant::now();
    assert!(rig.open.join_next().await.unwrap().is_ok());
    assert_eq!(began.elapsed(), 30 * SECOND);
    assert_eq!(other.code("DATE").await, 111, "others do not notice");
    let rest = lazy.rest().await;
    assert!(
        !rest.ends_with(b"\r\n.\r\n"),
        "what it got is not the whole"
    );
    assert_eq!(rig.server.figures().count(OpenKind::All), 1);
}

/// Always some progress, never enough.
#[tokio::test(start_paused = true)]
async fn a_client_that_takes_a_byte_a_second_is_cut_off_as_well() {
    let mut rig = Rig::with(long(), Wishes::default(), |_| {}).await;
    let mut lazy = rig.connect(HERE, 1024).unwrap();
    lazy.send("BODY <1@zoo.example>\r\n").await;
    let began = Instant::now();
    let mut taken = 0;
    loop {
        let mut byte = [0];
        match lazy.stream.read(&mut byte).await {
            Ok(1) => taken += 1,
            _ => break,
        }
        tokio::time::sleep(SECOND).await;
        if rig.open.try_join_next().is_some() {
            break;
        }
    }
    assert!(taken <= 40, "{taken}");
    assert!(began.elapsed() <= 40 * SECOND, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_its_time_gets_everything() {
    let mut rig = Rig::with(long(), Wishes::default(), |_| {}).await;
    let mut slow = rig.connect(HERE, 4096).unwrap();
    slow.send("BODY <1@zoo.example>\r\nQUIT\r\n").await;
    let began = Instant::now();
    let mut all = Vec::new();
    let mut piece = vec![0; 4096];
    while let Ok(read @ 1..) = slow.stream.read(&mut piece).await {
        all.extend_from_slice(&piece[..read]);
        tokio::time::sleep(SECOND).await;
    }
    assert!(all.len() > 200_000 && all.ends_with(b".\r\n205 Goodbye\r\n"));
    assert!(began.elapsed() > 45 * SECOND, "longer than one stall");
}

#[tokio::test(start_paused = true)]
async fn answers_wait_for_room_and_not_for_ever() {
    let change = |config: &mut crate::Config| {
        config.public = true;
        config.nntp.in_flight = (1 << 20).into();
    };
    let wishes = Wishes {
        public: true,
        ..Wishes::default()
    };
    let mut rig = Rig::with(long(), wishes, change).await;
    let mut lazy = rig.connect(STRANGER, 1024).unwrap();
    lazy.send("BODY <1@zoo.example>\r\n").await;
    tokio::time::sleep(SECOND).await;
    // Its household has an eighth of the room, which that article takes.
    let mut second = rig.from(STRANGER).await;
    let reply = second.ask("BODY <1@zoo.example>").await;
    assert!(reply.starts_with("403 Too much"), "{reply}");
    let engine = &rig.world.model.engine;
    assert_eq!(
        engine.own_decisions()[0].sentence(),
        "Newsreader request of 203.0.113.9 refused: too much was already waiting to be sent. The client was told to retry in 1 s."
    );
    assert_eq!(engine.status().counters.refused, 1);
    let mut elsewhere = rig.from("203.0.113.77").await;
    assert_eq!(elsewhere.code("BODY <1@zoo.example>").await, 222);
    assert!(elsewhere.block().await.len() > 200_000);
}

#[tokio::test(start_paused = true)]
async fn a_stop_tells_everybody_and_ends_after_the_answer_under_way() {
    let mut rig = Rig::with(long(), Wishes::default(), |_| {}).await;
    let mut idle = rig.here().await;
    let mut busy = rig.connect(HERE, 4096).unwrap();
    busy.send("BODY <1@zoo.example>\r\nDATE\r\n").await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    rig.server.leave();
    assert!(idle.line().await.starts_with("400 This server is stopping"));
    assert_eq!(idle.rest().await, b"");
    assert!(busy.line().await.starts_with("200 "));
    assert!(busy.line().await.starts_with("222 "));
    assert!(busy.block().await.len() > 200_000);
    assert!(busy.line().await.starts_with("400 This server is stopping"));
    while rig.open.join_next().await.is_some() {}
    assert_eq!(rig.server.figures().count(OpenKind::All), 0);
}

/// What a connection takes while nobody says anything, beside the socket itself.
#[tokio::test(start_paused = true)]
async fn a_connection_at_rest_is_small() {
    let mut rig = Rig::of([1]).await;
    let (near, far) = tokio::io::duplex(16);
    let peer = std::net::IpAddr::from([127, 0, 0, 1]);
    let service = rig.service.clone();
    let seats = service.parts.seats.clone();
    let holder = service.porter.holder(&service.porter.client(peer));
    let mut size = 0;
    seats.take(holder, 0, |seat| {
        let place = (seat, Instant::now());
        let talk = Session::new(service, Box::new(far), peer, place).run(false);
        size = std::mem::size_of_val(&talk);
        rig.open.spawn(talk)
    });
    drop(near);
    assert!(size < 3_000, "{size} bytes");
}
