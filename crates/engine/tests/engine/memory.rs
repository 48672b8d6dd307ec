//! What is said about an upstream is the same after a restart, and no reason is ever rewritten.

use weir_engine::dispatch::{Asker, Job, Skip, Wait, What};
use weir_engine::{
    About, Got, Outcome, Own, OwnKind, OwnReason, Record, Scene, Standing, about, sentence,
};

use crate::kit::*;
use crate::rows::{Machine, add, stop};

/// All that is told of an upstream, with times as plain numbers.
fn told(desk: &Desk, upstream: weir_engine::dispatch::UpstreamId) -> Vec<String> {
    let records = desk.engine.decisions(upstream, None, 99);
    records
        .iter()
        .rev()
        .map(|record| say(desk, record))
        .collect()
}

fn say(desk: &Desk, record: &Record) -> String {
    let scene = Scene {
        upstream: "one",
        class: &|_| "RSS",
        asker: &|asker| desk.engine.asker_name(asker).map(|name| name.to_string()),
        clock: &|moment, _| {
            let nanos = moment.0 - 1_700_000_000_000_000_000;
            format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
        },
    };
    sentence(record, &scene)
}

#[tokio::test(start_paused = true)]
async fn state_reason_since_and_records_are_told_as_before_a_restart() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    rows.settle(&desk.engine, &["one"]);
    let asked = |desk: &Desk| Job {
        asker: desk.engine.asker("Sonarr"),
        ..job(one, RSS)
    };
    desk.engine.submit(asked(&desk), desk.done("a")).await;
    pass(secs(5)).await;
    let refused = desk.ready("b", Step::Said(Outcome::Broken, "it answered 503"));
    desk.engine.submit(asked(&desk), refused).await;
    pass(secs(7)).await;
    desk.engine.submit(asked(&desk), desk.done("c")).await;
    desk.engine.keep_own(one, &[1, 2]);
    let before = desk.engine.upstream(one).expect("it is there");
    let words = told(&desk, one);
    assert!(
        words.iter().any(|words| words.contains("it answered 503")),
        "{words:?}"
    );
    stop(desk).await;

    pass(secs(10)).await;
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    let after = desk.engine.upstream(one).expect("it is there");
    assert_eq!(after.status.state, before.status.state);
    assert_eq!(after.since, before.since);
    assert_eq!(after.trouble, before.trouble);
    assert_eq!(after.last_error, before.last_error);
    assert_eq!(after.last_call, before.last_call);
    assert_eq!(after.history, before.history);
    assert_eq!(*restored.upstreams["one"].memory.own, [1, 2]);
    assert_eq!(told(&desk, one), words);
    // Numbers go on, so that links stay right.
    let last = desk.engine.decisions(one, None, 1)[0].number;
    desk.engine.clear(one, "me");
    assert_eq!(desk.engine.decisions(one, None, 1)[0].number, last + 1);
}

#[tokio::test(start_paused = true)]
async fn a_kill_makes_no_ending_up_and_gives_no_number_again() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    rows.settle(&desk.engine, &["one"]);
    desk.engine.submit(job(one, RSS), desk.done("a")).await;
    // Within the minute after the first decision, all is written: in the middle of this call.
    pass(secs(50)).await;
    let call = desk.call("b");
    let ticket = desk.engine.submit(job(one, RSS), call.clone());
    pass(secs(11)).await;
    let (next, _, restored) = machine.start(policy());
    call.answer();
    ticket.await;
    desk.engine.submit(job(one, RSS), desk.done("c")).await;
    let lost = desk.engine.decisions(one, None, 1)[0].number;
    // What came after the writing is lost with the kill.
    let one = add(&next, &restored, "one", quota(secs(0), 1));
    assert_eq!(
        told(&next, one),
        [
            "one was called at once and answered in 0 ms.",
            "one was called at once; how it ended is not known, because Weir was killed.",
        ]
    );
    next.engine.submit(job(one, RSS), next.done("d")).await;
    assert!(next.engine.decisions(one, None, 1)[0].number > lost);
    let asked = next.engine.decisions(one, Some(lost + 1), 1).remove(0);
    assert_ne!(asked.number, lost, "a link to it shows nothing else");
}

#[tokio::test(start_paused = true)]
async fn no_number_is_given_again_however_soon_after_its_start_weir_is_killed() {
    let machine = Machine::new();
    let own = || Own::new(OwnKind::Refused, OwnReason::Full, about::ANNOUNCE);
    let (mut numbers, mut own_numbers) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let (desk, rows, restored) = machine.start(policy());
        if let Some(past) = &restored.past {
            desk.engine.restore_own(past);
        }
        let one = add(&desk, &restored, "one", quota(secs(0), 1));
        rows.settle(&desk.engine, &["one"]);
        // Somebody reads it at once, and nothing of it is ever written.
        desk.engine.submit(job(one, RSS), desk.done("a")).await;
        desk.engine.note_own(own(), 1);
        numbers.push(desk.engine.decisions(one, None, 1)[0].number);
        own_numbers.push(desk.engine.own_decisions()[0].number);
    }
    for numbers in [numbers, own_numbers] {
        assert!(
            numbers.is_sorted_by(|one, other| one < other),
            "{numbers:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_told_of_an_upstream_that_was_never_called_is_told_after_a_restart() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    rows.settle(&desk.engine, &["one"]);
    let skip = Skip {
        reason: Wait::Gap,
        wait: Some(secs(74)),
        limit: Some(secs(60)),
    };
    let about = About::Nothing;
    desk.engine
        .note_skip(&job(one, RSS), &about, skip, Got::Nothing);
    let words = told(&desk, one);
    assert_eq!(words.len(), 1);
    stop(desk).await;
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    assert_eq!(told(&desk, one), words);
    // It is gone from the configuration, and with its row goes all that is kept.
    rows.settle(&desk.engine, &[]);
    assert!(rows.kept().contains_key("one"));
    machine.forget_all();
    assert!(rows.kept().is_empty());
}

#[tokio::test(start_paused = true)]
async fn numbers_go_on_after_a_day_without_decisions() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    rows.settle(&desk.engine, &["one"]);
    for name in ["a", "b"] {
        desk.engine.submit(job(one, RSS), desk.done(name)).await;
    }
    stop(desk).await;
    for _ in 0..2 {
        pass(secs(90_000)).await;
        let (desk, _, restored) = machine.start(policy());
        let one = add(&desk, &restored, "one", quota(secs(0), 1));
        assert!(told(&desk, one).is_empty());
        stop(desk).await;
    }
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    desk.engine.submit(job(one, RSS), desk.done("c")).await;
    assert_eq!(desk.engine.decisions(one, None, 1)[0].number, 3);
}

#[tokio::test(start_paused = true)]
async fn who_acted_is_named_also_after_a_restart() {
    let machine = Machine::new();
    let mut policy = policy();
    policy.failure.threshold = 3;
    let (desk, rows, restored) = machine.start(policy.clone());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    rows.settle(&desk.engine, &["one"]);
    desk.engine.submit(job(one, RSS), desk.done("a")).await;
    let fail = desk.ready("b", Step::Said(Outcome::Broken, "it answered 503"));
    desk.engine.submit(job(one, RSS), fail).await;
    let (anna, ben) = ("anna (192.0.2.4)", "ben (192.0.2.9)");
    // There are failures, and then a cooldown.
    desk.engine.clear(one, anna);
    crate::rows::throttle(&desk, one, secs(60)).await;
    desk.engine.clear(one, ben);
    desk.engine.switch_off(one, "it moves", anna);
    desk.engine.switch_on(one, ben);
    let acts = |desk: &Desk, one| {
        let mut told = told(desk, one);
        told.retain(|words| words.contains(" by "));
        told
    };
    let words = acts(&desk, one);
    assert_eq!(
        words,
        [
            "one: its failures were cleared by anna (192.0.2.4).",
            "one: cooldown cleared by ben (192.0.2.9).",
            "one was switched off by anna (192.0.2.4): “it moves”.",
            "one was switched on by ben (192.0.2.9).",
        ]
    );
    stop(desk).await;
    let (desk, _, restored) = machine.start(policy);
    desk.engine.asker("Sonarr");
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    assert_eq!(acts(&desk, one), words);
}

#[tokio::test(start_paused = true)]
async fn times_are_right_after_the_clock_was_set() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    rows.settle(&desk.engine, &["one"]);
    desk.engine.submit(job(one, RSS), desk.done("a")).await;
    machine.set_clock(|now| now + secs(1000));
    // The next row tells the keeper of it.
    desk.engine.submit(job(one, RSS), desk.done("b")).await;
    pass(secs(2)).await;
    let made = desk.engine.decisions(one, None, 1)[0].at;
    stop(desk).await;
    let (desk, _, restored) = machine.start(policy());
    let one = add(&desk, &restored, "one", quota(secs(0), 1));
    let again = desk.engine.decisions(one, None, 1)[0].at;
    assert_eq!(
        made.until(again),
        secs(1000),
        "two seconds ago by both clocks"
    );
}

#[tokio::test(start_paused = true)]
async fn an_older_reason_stays_when_a_newer_error_comes() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    let fail = |words| {
        let call = desk.ready("a", Step::Said(Outcome::Broken, words));
        desk.engine.submit(job(one, INTERACTIVE), call)
    };
    fail("it answered 503").await;
    let first = told(&desk, one);
    pass(secs(60)).await;
    fail("no such host").await;
    let all = told(&desk, one);
    assert_eq!(all[..first.len()], first);
    let view = desk.engine.upstream(one).expect("it is there");
    let trouble = view.trouble.expect("it cools down");
    assert_eq!(&*trouble.reason, "no such host");
    assert_eq!(trouble.since.until(trouble.began), secs(60), "one spell");
    assert_eq!(view.since, trouble.since);
}

#[tokio::test(start_paused = true)]
async fn the_reason_of_a_call_is_its_own_whatever_others_say_meanwhile() {
    let mut policy = policy();
    policy.failure.threshold = 3;
    let desk = Desk::new(policy);
    let one = desk.upstream("one", secs(0), 2);
    let calls = [desk.call("a"), desk.call("b")];
    let tickets = calls
        .each_ref()
        .map(|call| desk.engine.submit(job(one, RSS), call.clone()));
    settle().await;
    let [first, second] = tickets;
    calls[1].give(Step::Said(Outcome::Broken, "second"));
    second.await;
    calls[0].give(Step::Said(Outcome::Broken, "first"));
    first.await;
    let records = desk.engine.decisions(one, None, 9);
    let causes: Vec<_> = records
        .iter()
        .rev()
        .map(|one| one.cause.as_deref())
        .collect();
    assert_eq!(causes, [Some("first"), Some("second")]);
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_nobody_asks_is_tried_soon_after_its_cooldown() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.try_with(Outcome::Done);
    desk.engine.submit(job(one, RSS), desk.done("a")).await;
    let fail = desk.ready("b", Step::Outcome(Outcome::Broken));
    desk.engine.submit(job(one, RSS), fail).await;
    pass(secs(89)).await;
    assert_eq!(desk.starts("probe"), [std::time::Duration::ZERO; 0]);
    pass(secs(2)).await;
    assert_eq!(desk.starts("probe"), [secs(90)]);
    let view = desk.engine.upstream(one).expect("it is there");
    assert_eq!(view.figures.standing, Standing::Open);
    let started = desk.engine.decisions(one, None, 9);
    let own = started.iter().find(|one| one.asker == Asker::WEIR);
    assert!(matches!(
        own.expect("it is told").what,
        What::Started { .. }
    ));
    pass(secs(86_400)).await;
    assert_eq!(
        desk.starts("probe").len(),
        1,
        "one that is open is left in peace"
    );
}

#[tokio::test(start_paused = true)]
async fn an_idle_upstream_that_throttles_every_probe_is_probed_less_and_less_often() {
    let mut policy = policy();
    policy.failure.ladder = vec![secs(60), secs(300)];
    let desk = Desk::new(policy);
    let one = desk.upstream("one", secs(0), 1);
    let retry_after = Some(secs(5));
    desk.try_with(Outcome::Throttled { retry_after });
    let throttle = async || {
        desk.engine.submit(job(one, RSS), desk.done("a")).await;
        let throttled = desk.ready("b", Step::Outcome(Outcome::Throttled { retry_after }));
        desk.engine.submit(job(one, RSS), throttled).await;
    };
    throttle().await;
    // 30 s after the end of the first cooldown, then twice as long after that of each further one, up to the ladder's top.
    pass(secs(35)).await;
    let view = desk.engine.upstream(one).expect("it is there");
    assert_eq!(view.probe_at, Some(view.at + secs(65)));
    pass(secs(1000)).await;
    let expected = [35, 65, 125, 245, 305].iter().scan(0, |sum, wait| {
        *sum += wait;
        Some(secs(*sum))
    });
    assert_eq!(desk.starts("probe"), expected.collect::<Vec<_>>());
    // An answer ends it.
    throttle().await;
    pass(secs(36)).await;
    assert_eq!(desk.starts("probe").len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_real_job_is_the_better_probe() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.try_with(Outcome::Done);
    let fail = desk.ready("b", Step::Outcome(Outcome::Broken));
    desk.engine.submit(job(one, RSS), fail).await;
    pass(secs(70)).await;
    desk.engine.submit(job(one, RSS), desk.done("a")).await;
    pass(secs(3600)).await;
    assert_eq!(desk.starts("probe"), [std::time::Duration::ZERO; 0]);
}

#[tokio::test(start_paused = true)]
async fn untried_upstreams_are_tried_within_five_minutes_and_less_and_less_often() {
    let desk = Desk::new(policy());
    let all: Vec<_> = ["one", "two", "three"]
        .map(|name| desk.upstream(name, secs(0), 1))
        .into();
    desk.try_with(Outcome::Broken);
    pass(secs(300)).await;
    let starts = desk.starts("probe");
    assert_eq!(starts.len(), 3);
    assert!(
        starts.windows(2).any(|pair| pair[0] != pair[1]),
        "spread out"
    );
    let view = desk.engine.upstream(all[0]).expect("it is there");
    assert_eq!(view.figures.standing, Standing::Untried);
    assert_eq!((view.status.rung, view.status.failures), (0, 0));
    let (_, words) = view.last_error.expect("it is shown");
    assert_eq!(&*words, "it said no");
    pass(secs(3600)).await;
    let hour = desk.starts("probe").len();
    assert!((9..=21).contains(&hour), "{hour} tries in an hour");
}

#[tokio::test(start_paused = true)]
async fn what_an_operator_switched_off_is_not_tried() {
    let desk = Desk::new(policy());
    let one = desk.upstream("one", secs(0), 1);
    desk.try_with(Outcome::Done);
    desk.engine.switch_off(one, "holiday", "operator");
    pass(secs(7200)).await;
    assert_eq!(desk.starts("probe"), [std::time::Duration::ZERO; 0]);
    let record = desk.engine.decisions(one, None, 1).remove(0);
    assert_eq!(record.cause.as_deref(), Some("holiday"));
    let who = desk.engine.asker_name(record.asker);
    assert_eq!(who.as_deref(), Some("operator"));
}

#[tokio::test(start_paused = true)]
async fn the_fronts_own_decisions_are_told_after_a_restart() {
    let machine = Machine::new();
    let (desk, _, _) = machine.start(policy());
    let own = Own {
        asker: Some("192.0.2.7".into()),
        limit: Some(60),
        ..Own::new(OwnKind::Throttled, OwnReason::TooMany, about::COMPLETED)
    };
    desk.engine.note_own(own.clone(), 40);
    let sentence = |desk: &Desk| {
        let decisions = desk.engine.own_decisions();
        let told = decisions
            .iter()
            .map(|one| (one.number, one.at, one.sentence()));
        told.collect::<Vec<_>>()
    };
    let before = sentence(&desk);
    stop(desk).await;
    pass(secs(90)).await;
    let (desk, _, restored) = machine.start(policy());
    desk.engine
        .restore_own(&restored.past.expect("it was kept"));
    assert_eq!(sentence(&desk), before);
    desk.engine.note_own(own, 1);
    assert_eq!(sentence(&desk)[0].0, 2, "a later burst is another record");
}
