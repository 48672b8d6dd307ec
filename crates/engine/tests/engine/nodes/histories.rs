//! Random histories: whatever goes wrong, no window is exceeded.

use super::*;

/// Whatever goes wrong, no window is exceeded: nodes that are cut off, killed, stopped and started again, calls that are
/// lost, late or repeated, stores that are restarted with all, some or none of what they held.
#[tokio::test(start_paused = true)]
async fn windows_hold_whatever_goes_wrong() {
    began();
    let mut called = 0;
    for seed in seeds() {
        let limit = [10, 25, 60, 100][seed as usize % 4];
        let windows = Windows::from([(Window::HOUR, limit), (Window::of_seconds(300), limit / 2)]);
        let mut world = World::new(Duration::ZERO, windows);
        // Now shorter, now longer than those of queries.
        let (grabs, grab_window) = [(4, secs(120)), (30, secs(2 * 3600))][seed as usize / 2 % 2];
        let length = Window::of_seconds(grab_window.as_secs() as u32);
        world.quota.grab = Windows::from([(length, grabs)]);
        let mut random = fastrand::Rng::with_seed(seed);
        // One asks only when it is alone: of its share nothing is spent before.
        let quiet = seed as usize % 3;
        let mut all = Vec::new();
        for number in 1..=2 {
            all.push(world.party(number).await);
        }
        // The third one comes whenever it comes, or is there from the beginning.
        all.push(match seed % 2 {
            0 => world.party(3).await,
            _ => world.absent(3),
        });
        let mut snapshot = world.store.snapshot();
        let mut said = Vec::new();
        for step in 0..250 {
            let which = random.usize(0..3);
            let party = &mut all[which];
            let what = random.u32(0..100);
            said.push((step, which, what));
            if party.running.is_none() {
                match what {
                    0..40 => party.start(),
                    40..50 => party.store.cut(true),
                    50..56 => party.store.cut(false),
                    _ => {}
                }
            } else {
                match what {
                    0..40 if which == quiet && !party.is_alone() => {}
                    0..40 => party.ask(random.usize(1..8)),
                    40..50 => party.grab(random.usize(1..4)),
                    50..56 => party.store.cut(true),
                    56..66 => party.store.cut(false),
                    66..70 => party.store.fail(Fault::Unheard),
                    70..74 => party.store.fail(Fault::Unanswered),
                    74..77 => party.store.fail(Fault::Late(secs(random.u64(1..30)))),
                    77..80 => party.store.fail(Fault::Twice),
                    80..82 => party.store.fail(Fault::Again(secs(random.u64(1..30)))),
                    82..84 => party.store.fail(Fault::Slow(millis(random.u64(1..900)))),
                    84..86 => party.kill().await,
                    86..88 => party.stop().await,
                    88..90 => snapshot = world.store.snapshot(),
                    90..91 => world.store.restore(&snapshot),
                    91..92 => world.store.restart_empty(),
                    92..93 => world.store.flush(),
                    93..94 => world.store.restart(),
                    94..97 => party.store.fail(Fault::Held(millis(random.u64(1..900)))),
                    97..100 => party.ask_twice(random.usize(1..4)),
                    _ => {}
                }
            }
            pass(millis(random.u64(1..60_000))).await;
        }
        let (hour, minutes) = (world.most(secs(3600)), world.most(secs(300)));
        assert!(
            hour <= limit as usize,
            "seed {seed}: {hour} of {limit}: {said:?}"
        );
        assert!(
            minutes <= limit as usize / 2,
            "seed {seed}: {minutes} in five minutes"
        );
        let grabbed = world.most_of(Budget::Grab, grab_window);
        assert!(
            grabbed <= grabs as usize,
            "seed {seed}: {grabbed} downloads of {grabs}: {said:?}"
        );
        // With a tiny limit and a store that forgets, little is certain and little is called, but something is.
        assert!(world.calls() > 3, "seed {seed}: {} calls", world.calls());
        called += world.calls();
        for mut party in all {
            if party.running.is_some() {
                party.kill().await;
            }
        }
    }
    assert!(called > 100, "hardly anything was called");
}
