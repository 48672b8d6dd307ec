//! Whom pages say was asked about a swarm, when next, and what it said.

use super::*;
use crate::asked::{AskedForwarder, NextAsk};
use crate::last_words::LastWord;

impl World {
    fn asked(&self, swarm: u8) -> Vec<AskedForwarder> {
        let exchange = self.forwarders.exchange();
        exchange.asked(&[swarm; 20], &exchange.lineup())
    }

    fn words(&self, swarm: u8) -> Vec<Option<LastWord>> {
        let exchange = self.forwarders.exchange();
        let all = self.forwarders.all();
        all.iter()
            .map(|forwarder| exchange.last_word(&[swarm; 20], forwarder))
            .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn pages_say_who_was_asked_when_next_and_what_it_said() {
    let network = Network::new();
    let given = tracker(
        &network,
        1,
        good(1800, &["198.51.100.7:1", "198.51.100.8:1"]),
    )
    .await;
    let refuses = tracker(
        &network,
        2,
        Behaviour::FailureOnly("not registered".to_owned()),
    )
    .await;
    let hangs = tracker(&network, 3, Behaviour::Hang).await;
    let world = World::new(
        &network,
        &config(&[
            ("given", &given.url()),
            ("refuses", &refuses.url()),
            ("hangs", &hangs.url()),
        ]),
    );
    assert!(world.asked(1).iter().all(|one| !one.asked.was_asked()));
    assert_eq!(world.words(1), [None, None, None]);
    world.announce(1, 1).await;
    let asked = world.asked(1);
    assert_eq!(asked[2].next, NextAsk::Now, "it has not answered yet");
    world.until(2 * MINUTE).await;
    let asked = world.asked(1);
    let after = |one: &AskedForwarder| match one.next {
        NextAsk::After(moment) => world.timeline.now().until(moment).as_secs() / 60,
        other => panic!("{other:?}"),
    };
    assert!((25..=30).contains(&after(&asked[0])), "half an hour");
    assert!(after(&asked[1]) > 0, "a no holds for a while");
    let peers: Vec<u16> = asked.iter().map(|one| one.asked.peers).collect();
    assert_eq!(peers, [2, 0, 0]);
    assert!(asked.iter().all(|one| one.asked.was_asked()));
    let words = world.words(1);
    let one = words[0].as_ref().expect("it answered");
    assert_eq!((one.peers, one.interval), (2, Some(30 * MINUTE)));
    assert_eq!(one.trouble, None);
    assert!(one.seeders.is_some(), "it says how many it counts");
    let said = |word: &Option<LastWord>| {
        let word = word.as_ref().expect("it was asked");
        word.trouble.as_deref().unwrap_or_default().to_owned()
    };
    assert!(said(&words[1]).starts_with("it said: "), "{words:?}");
    assert!(
        said(&words[2]).starts_with("it did not answer"),
        "{words:?}"
    );
    assert_eq!(world.words(2), [None, None, None], "another swarm");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_off_or_cools_down_is_not_asked_before_that_ends() {
    let network = Network::new();
    let one = tracker(&network, 1, good(1800, &[])).await;
    let world = World::new(&network, &config(&[("one", &one.url())]));
    assert_eq!(world.asked(1)[0].next, NextAsk::WithAnnounce);
    let upstream = world.forwarders.all()[0].upstream;
    world.engine.switch_off(upstream, "moving", "operator");
    assert_eq!(world.asked(1)[0].next, NextAsk::Off);
    world.engine.switch_on(upstream, "me");
    world.announce(1, 1).await;
    let NextAsk::After(next) = world.asked(1)[0].next else {
        panic!("it was asked");
    };
    world.until(HOUR).await;
    assert!(next < world.timeline.now());
    assert_eq!(world.asked(1)[0].next, NextAsk::WithAnnounce);
}
