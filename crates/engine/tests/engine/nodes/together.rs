//! What several nodes on one store do as if they were one, and what each does alone.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_row_of_a_newer_weir_makes_a_node_alone_once() {
    // Spacing alone: the beat wishes for nothing there.
    let world = World::new(secs(1), Windows::default());
    let party = world.party(1).await;
    pass(secs(10)).await;
    let view = || party.it().node.view();
    assert_eq!(
        (view().standing.clone(), view().returns),
        (NodeStanding::Together, 1)
    );
    world.store.renew(world.key(), true);
    pass(secs(60)).await;
    let NodeStanding::Alone { since, why } = view().standing.clone() else {
        panic!("{:?}", view());
    };
    assert!(why.contains("upgrade this node"), "{why}");
    assert_eq!(view().returns, 1);
    pass(secs(60)).await;
    let alone = NodeStanding::Alone { since, why };
    assert_eq!((view().standing.clone(), view().returns), (alone, 1));
    world.store.renew(world.key(), false);
    pass(secs(5)).await;
    assert_eq!(
        (view().standing.clone(), view().returns),
        (NodeStanding::Together, 2)
    );
    // What is too long for any store is no reason to be alone.
    let long = vec![0; 2 << 20];
    let stream = Stream::Swarm(party.it().node.id());
    let append = party
        .it()
        .node
        .call(|store| store.append(stream, long, secs(60)));
    assert!(matches!(append.await, Err(Lost::TooLong(_))));
    assert!(!party.it().node.is_alone());
}

#[tokio::test(start_paused = true)]
async fn three_nodes_keep_one_window_and_use_nearly_all_of_it() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let mut all = Vec::new();
    for number in 1..=3 {
        all.push(world.party(number).await);
    }
    pass(secs(10)).await;
    all.iter().for_each(|party| party.ask(100));
    pass(secs(60)).await;
    // Five for each of the three are kept for when they are alone.
    assert_eq!(world.calls(), 85);
    pass(secs(7200)).await;
    assert!(world.most(secs(3600)) <= 100, "{}", world.most(secs(3600)));
    assert!(world.calls() >= 2 * 85, "{}", world.calls());
    // A member that leaves gives its share back.
    all[2].stop().await;
    all[1].stop().await;
    pass(secs(7200)).await;
    let before = world.calls();
    all[0].ask(200);
    pass(secs(60)).await;
    assert_eq!(world.calls() - before, 95);
}

#[tokio::test(start_paused = true)]
async fn three_nodes_keep_one_distance() {
    began();
    let world = World::new(secs(2), Windows::default());
    let mut all = Vec::new();
    for number in 1..=3 {
        all.push(world.party(number).await);
    }
    all.iter().for_each(|party| party.ask(10));
    pass(secs(120)).await;
    assert_eq!(world.calls(), 30);
    assert!(world.closest() >= millis(1990), "{:?}", world.closest());
}

#[tokio::test(start_paused = true)]
async fn an_equal_question_of_three_nodes_is_one_call() {
    began();
    let world = World::new(Duration::ZERO, Windows::default());
    let mut all = Vec::new();
    for number in 1..=3 {
        all.push(world.party(number).await);
    }
    let mut tickets = Vec::new();
    let taken = Arc::<Mutex<Vec<Vec<u8>>>>::default();
    for party in &all {
        let job = Job {
            claims: true,
            ..Job::new(party.it().upstream, INTERACTIVE)
        };
        let call = Noted {
            taken: taken.clone(),
            takes: secs(3),
            ..party.call(Some("debian"))
        };
        tickets.push(party.it().engine.submit(job, Arc::new(call)));
    }
    let mut ends = Vec::new();
    for ticket in tickets {
        ends.push(ticket.await);
    }
    assert_eq!(world.calls(), 1);
    let answered = ends.iter().filter(|end| **end == Ended::Answered);
    assert_eq!(answered.count(), 2, "{ends:?}");
    assert_eq!(*taken.lock(), vec![b"the answer".to_vec(); 2]);
    // Counted as shared, and told so.
    let counters: Vec<_> = all
        .iter()
        .map(|party| party.it().engine.status().counters)
        .collect();
    assert_eq!(counters.iter().map(|one| one.shared).sum::<u64>(), 2);
    assert_eq!(counters.iter().map(|one| one.sent).sum::<u64>(), 1);
    for one in counters {
        assert_eq!(one.asked, one.shared + one.sent);
    }
}

#[tokio::test(start_paused = true)]
async fn fifty_equal_searches_on_each_node_are_one_call_also_if_it_fails() {
    began();
    let refused = Outcome::Rejected {
        reason: Reason::Refused,
    };
    // At once, and after a while.
    for (outcome, takes) in [
        (Outcome::Unavailable, secs(3)),
        (Outcome::Broken, Duration::ZERO),
        (refused, millis(300)),
    ] {
        let world = World::new(Duration::ZERO, Windows::default());
        let mut all = Vec::new();
        for number in 1..=3 {
            all.push(world.party(number).await);
        }
        pass(secs(10)).await;
        let flights: Vec<Flights<&str, ()>> = all
            .iter()
            .map(|party| Flights::new(party.it().engine.clone()))
            .collect();
        let mut followers = Vec::new();
        for (party, flights) in all.iter().zip(&flights) {
            for _ in 0..50 {
                let job = Job {
                    claims: true,
                    ..Job::new(party.it().upstream, INTERACTIVE)
                };
                let call = Noted {
                    outcome,
                    takes,
                    ..party.call(Some("debian"))
                };
                followers.push(flights.join("debian", job, |_| Some(Arc::new(call))));
            }
        }
        pass(secs(6)).await;
        assert_eq!(world.calls(), 1);
        for follower in followers {
            let ended = follower.await.expect_err("it failed");
            assert_eq!(ended, Ended::Finished(outcome));
        }
        let counters = all.iter().map(|party| party.it().engine.status().counters);
        for one in counters {
            assert_eq!((one.asked, one.shared + one.sent), (50, 50));
        }
        // It failed for whoever asked, and counts where it failed.
        let troubled = all.iter().filter(|party| {
            let view = party.it().engine.upstream(party.it().upstream);
            view.expect("there").trouble.is_some()
        });
        assert_eq!(troubled.count(), 1);
        let records = all.iter().flat_map(|party| {
            let is_shared = |record: &Record| matches!(record.what, What::Shared { .. });
            party
                .it()
                .engine
                .records(party.it().upstream, is_shared, 100)
        });
        assert!(
            records
                .into_iter()
                .all(|record| record.got == Some(Got::Nothing))
        );
        // Who asks now wants to know how it is now.
        let well = all.iter().find(|party| {
            let view = party.it().engine.upstream(party.it().upstream);
            view.expect("there").trouble.is_none()
        });
        let well = well.expect("two of them");
        let job = Job {
            claims: true,
            ..Job::new(well.it().upstream, INTERACTIVE)
        };
        let call = Arc::new(well.call(Some("debian")));
        let again = well.it().engine.submit(job, call);
        assert_eq!(again.await, Ended::Finished(Outcome::Done));
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_knows_better_than_the_store_asks_now_and_then() {
    began();
    let world = World::new(Duration::ZERO, hourly(1000));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.it()
        .engine
        .switch_off(one.it().upstream, "it moves", "Ada");
    pass(secs(1)).await;
    one.it().node.hurry();
    pass(millis(10)).await;
    // The store hears late that it is on again, and answers in a hundredth of a second.
    one.store.fail(Fault::Held(millis(900)));
    one.it().engine.switch_on(one.it().upstream, "me");
    pass(millis(1)).await;
    let before = one.it().node.figures().calls();
    for _ in 0..80 {
        one.store.fail(Fault::Slow(millis(10)));
    }
    one.ask(1);
    pass(millis(800)).await;
    let asked = one.it().node.figures().calls() - before;
    assert!((2..=6).contains(&asked), "{asked} questions");
    assert_eq!(world.calls(), 0);
    pass(secs(3)).await;
    assert_eq!(world.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_claimer_that_dies_costs_the_others_no_more_than_its_claim() {
    began();
    let world = World::new(Duration::ZERO, Windows::default());
    let mut one = world.party(1).await;
    let two = world.party(2).await;
    let ask = |party: &Party| {
        let job = Job {
            claims: true,
            ..Job::new(party.it().upstream, INTERACTIVE)
        };
        let call = Noted {
            takes: secs(3),
            ..party.call(Some("debian"))
        };
        party.it().engine.submit(job, Arc::new(call))
    };
    let first = ask(&one);
    pass(secs(1)).await;
    let began = Instant::now();
    let second = ask(&two);
    pass(millis(10)).await;
    one.kill().await;
    drop(first);
    assert_eq!(second.await, Ended::Finished(Outcome::Done));
    // The claim is as long as the call's time-out, of which one second had passed.
    assert!(began.elapsed() <= secs(29 + 4), "{:?}", began.elapsed());
    assert_eq!(world.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn alone_a_node_spends_its_share_and_says_why_the_rest_waits() {
    began();
    let world = World::new(Duration::ZERO, hourly(100));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    one.store.cut(true);
    pass(secs(3)).await;
    assert!(one.is_alone() && !two.is_alone());
    one.ask(50);
    two.ask(200);
    pass(secs(60)).await;
    let by = |number| {
        let calls = world.calls.lock();
        calls.iter().filter(|(by, ..)| *by == number).count()
    };
    assert_eq!((by(1), by(2)), (5, 90));
    let (wait, why) = one
        .it()
        .engine
        .next_wait(one.it().upstream, COMPLETION, Budget::Query);
    assert_eq!(why, Some(Wait::Share));
    assert!(wait > secs(3000) && wait <= secs(3600), "{wait:?}");
    // The record says so, with the limit that the page shows.
    let full = FullWindow {
        window: Window::HOUR,
        used: 5,
        limit: 100,
        kept: 5,
    };
    assert_eq!(one.waits().last(), Some(&(Wait::Share, Some(full))));
    let full = FullWindow {
        used: 90,
        kept: 10,
        ..full
    };
    assert_eq!(two.waits().last(), Some(&(Wait::Window, Some(full))));
    // Together again, what it did alone is counted once, and nothing is exceeded.
    one.store.cut(false);
    pass(secs(7200)).await;
    assert!(!one.is_alone());
    assert!(world.most(secs(3600)) <= 100);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_nobody_knows_the_end_of_leaves_one_record() {
    began();
    let world = World::new(Duration::ZERO, hourly(3));
    let all = [
        world.party(1).await,
        world.party(2).await,
        world.party(3).await,
    ];
    pass(secs(10)).await;
    let alone = &all[2];
    alone.store.cut(true);
    pass(secs(3)).await;
    alone.ask(1);
    pass(secs(3600)).await;
    let none = FullWindow {
        window: Window::HOUR,
        used: 0,
        limit: 3,
        kept: 0,
    };
    assert_eq!(alone.waits(), [(Wait::Share, Some(none))]);
    let shown = alone.it().engine.upstream(alone.it().upstream);
    let shown = shown.expect("there").status.query[0];
    assert!(shown.next <= alone.it().node.timeline().now(), "{shown:?}");
    // A store that has lost everything: all say what they used, and nobody is told that a quota is used up.
    let one = &all[0];
    world.store.restart_empty();
    pass(millis(2500)).await;
    one.ask(1);
    pass(secs(20)).await;
    assert_eq!(one.waits(), [(Wait::Agreeing, None)]);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_comes_too_late_and_an_answer_of_no_use_leave_no_record() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let one = world.party(1).await;
    pass(secs(10)).await;
    one.store.fail(Fault::Slow(secs(59)));
    one.ask(1);
    pass(secs(60)).await;
    assert_eq!(world.calls(), 1);
    assert_eq!(one.waits(), []);
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_is_off_elsewhere_is_switched_off_and_has_no_other_reason() {
    began();
    let world = World::new(Duration::ZERO, hourly(1000));
    let one = world.party(1).await;
    let two = world.party(2).await;
    pass(secs(10)).await;
    one.it()
        .engine
        .switch_off(one.it().upstream, "it moves", "Ada");
    pass(millis(20)).await;
    // Before it has read so.
    two.ask(1);
    pass(millis(20)).await;
    let view = two.it().engine.upstream(two.it().upstream).expect("there");
    assert_eq!(view.status.state, Availability::Off);
    let whats = two.it().engine.records(two.it().upstream, |_| true, 10);
    let whats: Vec<_> = whats.into_iter().map(|record| record.what).collect();
    assert!(
        matches!(whats[..], [What::Skipped(skip), What::SwitchedOff] if skip.reason == Wait::Off),
        "{whats:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_back_when_it_was_told_to_is_answered_at_any_node() {
    began();
    let world = World::new(Duration::ZERO, hourly(20));
    let mut all = Vec::new();
    for number in 1..=3 {
        all.push(world.party(number).await);
    }
    pass(secs(10)).await;
    let search = |node: usize| {
        let job = Job::new(all[node].it().upstream, RSS);
        let call = Arc::new(all[node].call(None));
        all[node].it().engine.submit(job, call)
    };
    // One is kept for each of the three.
    for number in 0..17 {
        let ended = search(number % 3).await;
        assert_eq!(ended, Ended::Finished(Outcome::Done));
        pass(secs(60)).await;
    }
    for number in 0..9 {
        let Ended::Skipped(skipped) = search(number % 3).await else {
            panic!("there is no room");
        };
        let wait = skipped.skip.wait.expect("a time is told");
        assert!(wait > secs(15) && wait < secs(3605), "{wait:?}");
        pass(wait).await;
        // Told by one, and at that one or another.
        let ended = search((number + number / 3) % 3).await;
        assert_eq!(ended, Ended::Finished(Outcome::Done), "{number}");
    }
    assert!(world.most(secs(3600)) <= 17);
}
