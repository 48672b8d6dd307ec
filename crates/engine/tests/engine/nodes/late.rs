//! Questions, grants and answers that are late, lost, repeated or of another.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_grant_that_nobody_wants_any_more_is_given_back() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Slow(millis(500)));
    let job = Job::new(one.it().upstream, COMPLETION);
    let ticket = one.it().engine.submit(job, Arc::new(one.call(None)));
    pass(millis(100)).await;
    drop(ticket);
    pass(secs(10)).await;
    assert_eq!(world.calls(), 0, "it was withdrawn while it asked");
    one.ask(30);
    pass(secs(60)).await;
    // One is kept for when it is alone.
    assert_eq!(world.calls(), 19);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_a_stopped_node_hears_of_when_it_wakes_is_given_back() {
    began();
    let minute = secs(60);
    let world = World::new(Duration::ZERO, Windows::from([(Window::of_seconds(60), 1)]));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Slow(millis(500)));
    one.ask(1);
    pass(millis(100)).await;
    // The answer lies there; nobody on this node reads it.
    let asleep = Instant::now();
    tokio::time::advance(minute + secs(5)).await;
    two.ask(1);
    pass(secs(5)).await;
    assert_eq!(world.calls(), 1, "after {:?}", asleep.elapsed());
    pass(secs(600)).await;
    assert_eq!(world.calls(), 2, "the call is made all the same, later");
    assert_eq!(world.most(minute), 1);
}

#[tokio::test(start_paused = true)]
async fn a_grant_of_a_store_that_lost_everything_before_its_answer_arrived_counts() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Slow(millis(900)));
    one.ask(1);
    pass(millis(100)).await;
    world.store.restart_empty();
    one.it().node.hurry();
    pass(millis(100)).await;
    assert_eq!(world.calls(), 0, "its answer is still on its way");
    pass(secs(10)).await;
    assert_eq!(world.calls(), 1);
    one.ask(30);
    pass(secs(60)).await;
    assert_eq!(world.calls(), 19);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_reaches_a_store_after_it_was_handed_in_is_no_permission() {
    began();
    for twice in [false, true] {
        let world = World::new(Duration::ZERO, hourly(20));
        let one = world.party(1).await;
        pass(secs(10)).await;
        one.ask(18);
        pass(secs(10)).await;
        assert_eq!(world.calls(), 18);
        if twice {
            // Of its two requests, the second is asked for as the store loses everything.
            let job = Job::new(one.it().upstream, COMPLETION);
            let call = Noted {
                twice,
                takes: millis(50),
                ..one.call(None)
            };
            one.it().engine.submit_detached(job, Arc::new(call));
            pass(millis(20)).await;
        } else {
            one.ask(1);
            pass(millis(20)).await;
        }
        assert_eq!(world.calls(), 19);
        one.store.fail(Fault::Held(millis(500)));
        if !twice {
            one.ask(1);
        }
        pass(millis(100)).await;
        world.store.flush();
        one.it().node.hurry();
        pass(secs(10)).await;
        // One is kept for when it is alone.
        assert_eq!(world.calls(), 19);
        pass(secs(30)).await;
        assert_eq!(world.counted().await, 19);
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_request_whose_call_was_cut_off_is_given_back() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    let job = Job::new(one.it().upstream, COMPLETION);
    let call = Noted {
        twice: true,
        takes: millis(29_500),
        ..one.call(None)
    };
    let ticket = one.it().engine.submit(job, Arc::new(call));
    pass(millis(29_400)).await;
    // So that the beat is not what is slow.
    one.it().node.hurry();
    pass(millis(10)).await;
    one.store.fail(Fault::Slow(millis(900)));
    assert_eq!(ticket.await, Ended::TimedOut);
    pass(secs(10)).await;
    assert_eq!((world.calls(), world.counted().await), (1, 1));
    world.store.flush();
    pass(secs(30)).await;
    assert_eq!(world.counted().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_second_request_hears_that_the_clock_has_jumped() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    let job = Job::new(one.it().upstream, COMPLETION);
    let call = Noted {
        twice: true,
        takes: millis(100),
        ..one.call(None)
    };
    one.it().node.hurry();
    pass(millis(10)).await;
    one.it().engine.submit_detached(job, Arc::new(call));
    pass(millis(50)).await;
    let returns = one.it().node.view().returns;
    world
        .store
        .follow_tokio_time(world.store.time().after(secs(2 * 3600)));
    // Well before its next beat.
    pass(millis(100)).await;
    assert_eq!(one.it().node.view().returns, returns + 1);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_given_back_late_is_not_that_of_the_next_try() {
    began();
    let world = World::new(Duration::ZERO, Windows::default());
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    let search = |party: &Party| {
        let job = Job {
            claims: true,
            ..Job::new(party.it().upstream, INTERACTIVE)
        };
        let call = Noted {
            takes: secs(5),
            ..party.call(Some("debian"))
        };
        party.it().engine.submit(job, Arc::new(call))
    };
    one.store.fail(Fault::Slow(millis(1500)));
    let first = search(&one);
    pass(secs(2)).await;
    assert_eq!(world.calls(), 1, "it asked once more");
    let second = search(&two);
    assert_eq!(first.await, Ended::Finished(Outcome::Done));
    assert_eq!(second.await, Ended::Answered);
    assert_eq!(world.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_takes_its_time_does_not_shorten_the_distance() {
    began();
    let gap = secs(2);
    let world = World::new(gap, Windows::default());
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    for slow in [millis(90), millis(150), millis(900)] {
        one.store.fail(Fault::Slow(slow));
        one.ask(1);
        pass(millis(50)).await;
        two.ask(1);
        pass(secs(30)).await;
    }
    assert_eq!(world.calls(), 6);
    assert!(world.closest() >= gap * 95 / 100, "{:?}", world.closest());
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "a part that comes after the first beat")]
async fn a_part_that_the_first_beat_would_not_see_is_a_mistake() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    let options = Options {
        node: Some(one.it().node.clone()),
        ..Options::new(one.it().node.timeline(), Weather::default())
    };
    let _late = Engine::new("late", policy(), options);
}

#[tokio::test(start_paused = true)]
async fn the_second_request_of_a_call_keeps_to_the_window() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let mut all = Vec::new();
    for number in 1..=3 {
        all.push(world.party(number).await);
    }
    pass(secs(10)).await;
    all.iter().for_each(|party| party.ask_twice(10));
    pass(secs(60)).await;
    // One is kept for each of the three.
    assert_eq!(world.calls(), 17);
    assert_eq!(world.counted().await, 17);
    all[0].store.cut(true);
    pass(secs(10)).await;
    all[0].ask_twice(3);
    pass(secs(60)).await;
    assert_eq!(world.calls(), 18, "its share is one, not two");
    all[0].store.cut(false);
    pass(secs(7200)).await;
    assert!(world.most(secs(3600)) <= 20);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_arrives_late_is_given_back() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    // As for a node that was stopped while it asked, and woken.
    one.store.fail(Fault::Slow(secs(59)));
    let asked = Instant::now();
    one.ask(1);
    pass(secs(60)).await;
    assert_eq!((world.calls(), world.counted().await), (1, 1));
    let at = world.calls.lock()[0].2;
    assert!(at >= asked + secs(59), "{:?}", at - asked);
    // What the store counts is the second grant, not the first.
    let rows = world.store.rows(vec![world.key()]).await;
    let start = rows.expect("it answers").remove(0).starts[0].1;
    assert!(start.until(world.store.time()) < secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_node_and_its_copy_ask_different_questions() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    let mut copy = world.absent(2);
    copy.kept = Arc::new(Mutex::new(KeptNode {
        runs: 0,
        ..one.kept.lock().clone()
    }));
    copy.start();
    let (mine, copied) = (one.it().node.ask_id(), copy.it().node.ask_id());
    assert_eq!(mine.node, copied.node);
    assert_ne!(mine.number, copied.number);
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_another_question_is_not_believed() {
    began();
    let world = World::new(Duration::ZERO, Windows::default());
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    let search = |party: &Party, text| {
        let job = Job {
            claims: true,
            ..Job::new(party.it().upstream, INTERACTIVE)
        };
        let call = Arc::new(party.call(Some(text)));
        party.it().engine.submit(job, call)
    };
    assert_eq!(search(&one, "debian").await, Ended::Finished(Outcome::Done));
    pass(secs(1)).await;
    // Whoever runs the store gives what it holds for one question as the answer to another.
    let question = |text: &str| Question {
        key: world
            .seal
            .name(&[b"question", &world.key().0, text.as_bytes()]),
        claim: secs(60),
        fresh: secs(60),
    };
    let ask = |number, text| Ask {
        id: AskId {
            node: NodeId(99),
            number,
        },
        upstream: world.key(),
        ledger: weir_store::state::Ledger::Query,
        windows: vec![],
        day_begins: None,
        gap: None,
        question: Some(question(text)),
        wanted_until: world.store.time(),
    };
    let Ok(Answer::Answered { body, .. }) = world.store.ask(ask(1, "debian")).await else {
        panic!("it is answered");
    };
    let claimed = world.store.ask(ask(2, "fedora")).await;
    assert!(matches!(claimed, Ok(Answer::Granted(_))), "{claimed:?}");
    let body = Some(body.to_vec());
    let swapped = world
        .store
        .answer(question("fedora"), ask(2, "fedora").id, body, secs(60));
    swapped.await.expect("it takes it");
    assert_eq!(search(&two, "fedora").await, Ended::Finished(Outcome::Done));
    assert_eq!(world.calls(), 2);
    assert_eq!(search(&two, "debian").await, Ended::Answered);
}

#[tokio::test(start_paused = true)]
async fn a_share_lasts_from_when_the_beat_was_sent() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Slow(secs(3600)));
    one.it().node.hurry();
    pass(millis(1)).await;
    let sent = one.it().node.timeline().now();
    pass(secs(3600)).await;
    let heard = one.it().node.view().heard.expect("it was heard");
    assert!(heard <= sent, "{heard:?} {sent:?}");
}

#[tokio::test(start_paused = true)]
async fn what_the_store_did_not_hear_is_told_again() {
    began();
    let world = World::new(Duration::ZERO, hourly(1000));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    // Just after a beat, so that what is lost is the word about the throttling.
    one.it().node.hurry();
    pass(millis(10)).await;
    let throttled = Noted {
        outcome: Outcome::Throttled {
            retry_after: Some(secs(600)),
        },
        takes: secs(1),
        ..one.call(None)
    };
    let job = Job::new(one.it().upstream, COMPLETION);
    one.it().engine.submit_detached(job, Arc::new(throttled));
    pass(millis(500)).await;
    one.store.fail(Fault::Unheard);
    pass(secs(10)).await;
    assert!(!one.is_alone());
    two.ask(1);
    pass(secs(60)).await;
    assert_eq!(world.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_was_not_heard_of_is_given_back() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Unanswered);
    one.ask(1);
    pass(millis(100)).await;
    // Counted, and made in the share of a node that is alone.
    assert_eq!((world.calls(), world.counted().await), (1, 1));
    pass(secs(10)).await;
    assert!(!one.is_alone());
    let rows = world.store.rows(vec![world.key()]).await;
    let starts = rows.expect("it answers").remove(0).starts;
    assert_eq!(starts.len(), 1);
    one.ask(30);
    pass(secs(60)).await;
    assert_eq!(world.calls(), 19);
}
