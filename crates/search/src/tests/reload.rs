//! Other settings while everything runs.

use weir_web::Reload as _;

use super::*;

/// A configuration of which this section is a part.
struct Whole(Config);

impl AsRef<Config> for Whole {
    fn as_ref(&self) -> &Config {
        &self.0
    }
}

impl World {
    pub(super) fn reload(&self, config: &Config) {
        let apply = self.front.stage(&Whole(config.clone())).expect("a reload");
        apply();
    }
}

/// An indexer that does not accept our key any more, and is disabled for that.
async fn refused(network: &Network) -> (Indexer, Config, World) {
    let mut indexers = crowd(network, 1).await;
    let config = plain(&indexers);
    let world = World::new(network.ground(), &config);
    world.get("/torznab/api?t=caps").await;
    let wrong = "Incorrect user credentials".into();
    indexers[0].set(Behaviour::Error(100, wrong));
    world.get("/torznab/api?t=search&q=some").await;
    assert!(world.state_of("a").starts_with("disabled"));
    (indexers.remove(0), config, world)
}

#[tokio::test(start_paused = true)]
async fn those_who_stay_keep_their_state_and_others_come_and_go() {
    let network = Network::new();
    let indexers = crowd(&network, 3).await;
    let all = named(&indexers);
    let (mut before, mut after) = (all.clone(), all);
    before.indexers.truncate(2);
    after.indexers.remove(1);
    after.deadline = 3 * SECOND;
    let world = World::new(network.ground(), &before);
    world.get("/torznab/api?t=caps").await;
    indexers[0].set(Behaviour::Status(429, RetryAfter::Seconds(600)));
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!(reply.titles().len(), 3, "those of b");
    world.reload(&after);
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!(reply.titles().len(), 3, "those of c");
    assert!(
        reply.reason("a").starts_with("it is cooling down"),
        "{}",
        reply.body
    );
    assert_eq!(indexers[0].searches().len(), 1);
    assert_eq!(indexers[1].searches().len(), 1, "it is gone");
    assert_eq!(indexers[0].introductions(), 1, "what it can do is known");
    assert_eq!(world.get("/torznab/b/api?t=search").await.status, 404);
    indexers[2].set(Behaviour::Hang);
    world.until(100 * SECOND).await;
    let reply = world.get("/torznab/c/api?t=search&q=another").await;
    assert_eq!((reply.status, reply.took), (429, 3 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn another_spacing_and_other_limits_hold_at_once() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = plain(&indexers);
    let world = World::new(network.ground(), &config);
    world.get("/torznab/api?t=search&q=one").await;
    config.spacing.completion = 9 * SECOND;
    config.indexers[0].per_minute = std::num::NonZeroU32::new(2);
    world.reload(&config);
    world.get("/torznab/api?t=search&q=two").await;
    assert_eq!(times(&world, &indexers[0].searches()), [0, 9_000]);
    let windows = world.view("a").status.query;
    assert_eq!((windows[0].used, windows[0].limit), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_one_that_goes_is_told_so() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let before = named(&indexers);
    let mut after = before.clone();
    after.indexers.remove(0);
    let world = World::new(network.ground(), &before);
    world.get("/torznab/api?t=search&q=one").await;
    let search = world.begin("t=search&q=two", INTERACTIVE);
    turn().await;
    assert_eq!(standings(&search), ["asking", "asking"], "the spacing");
    world.reload(&after);
    search.settled(search.deadline()).await;
    let parts = search.parts();
    assert!(
        matches!(&parts[0].state, PartState::Skipped { reason, .. } if reason == "it is no longer configured"),
        "{:?}",
        standings(&search)
    );
}

#[tokio::test(start_paused = true)]
async fn a_reload_that_cannot_be_written_changes_nothing() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let after = named(&indexers);
    let mut before = after.clone();
    before.indexers.truncate(1);
    let world = World::new(network.ground(), &before);
    world.state.close();
    let after = Config {
        deadline: SECOND,
        ..after
    };
    assert!(world.front.stage(&Whole(after)).is_err(), "no file");
    assert_eq!(
        world.front.views.model.rules.load().deadline,
        before.deadline
    );
    assert_eq!(world.engine.upstreams(0, usize::MAX).len(), 1);
    assert_eq!(world.get("/torznab/b/api?t=caps").await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn one_that_comes_back_or_leads_elsewhere_keeps_its_budget() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let mut config = named(&indexers);
    config.min_request_interval = Some(Duration::ZERO);
    config.indexers[0].per_day = std::num::NonZeroU32::new(3);
    let world = World::new(network.ground(), &config);
    world.get("/torznab/a/api?t=search").await;
    let mut elsewhere = config.clone();
    elsewhere.indexers[0].url = weir_config::SecretUrl::parse(&indexers[1].url()).expect("a URL");
    world.reload(&elsewhere);
    let reply = world.get("/torznab/a/api?t=search&q=some").await;
    assert_eq!(
        reply.status, 429,
        "what it can do took the last: {}",
        reply.body
    );
    let mut without = config.clone();
    without.indexers.remove(0);
    world.reload(&without);
    world.reload(&config);
    let reply = world.get("/torznab/a/api?t=search&q=some").await;
    assert_eq!(reply.status, 429, "{}", reply.body);
    assert!(
        reply.body.contains("its quota is used up"),
        "{}",
        reply.body
    );
}

#[tokio::test(start_paused = true)]
async fn one_that_an_operator_switched_off_stays_off_when_it_comes_back() {
    let network = Network::new();
    let indexers = crowd(&network, 2).await;
    let config = named(&indexers);
    let world = World::new(network.ground(), &config);
    let a = world.view("a").figures.upstream;
    world.engine.switch_off(a, "too slow", "a person");
    let mut without = config.clone();
    without.indexers.remove(0);
    world.reload(&without);
    world.reload(&config);
    assert_eq!(world.state_of("a"), "off");
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_tried_at_once() {
    let network = Network::new();
    let (_indexer, mut config, world) = refused(&network).await;
    config.indexers[0].priority = 7;
    world.reload(&config);
    assert!(
        world.state_of("a").starts_with("disabled"),
        "nothing to do with it"
    );
    config.indexers[0].api_key = Some(weir_config::Secret::new("another key"));
    world.reload(&config);
    assert_eq!(world.state_of("a"), "untried");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_take_longer_now_is_shared_as_long() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = named(&indexers);
    let world = World::new(
        network.ground(),
        &Config {
            indexers: Vec::new(),
            ..config.clone()
        },
    );
    config.indexers[0].timeout = 40 * SECOND;
    config.min_request_interval = Some(Duration::ZERO);
    world.reload(&config);
    world.get("/torznab/api?t=caps").await;
    indexers[0].set(Behaviour::Slow(35 * SECOND));
    let search = world.begin("t=search&q=some", INTERACTIVE);
    world.until(20 * SECOND).await;
    world.begin("t=search&q=some", INTERACTIVE);
    world.until(36 * SECOND).await;
    assert_eq!(indexers[0].searches().len(), 1);
    assert_eq!(search.tally_of(&search.parts()).answered, 1);
}

/// Who waited for the turn of the old address is told; none of their calls is made there any more.
#[tokio::test(start_paused = true)]
async fn held_calls_do_not_go_out_with_the_old_key() {
    let network = Network::new();
    let (indexer, mut config, world) = refused(&network).await;
    world.begin("t=search&q=show", INTERACTIVE);
    turn().await;
    assert_eq!((world.queued(), indexer.searches().len()), (1, 1));
    config.indexers[0].api_key = Some(weir_config::Secret::new("another-key"));
    world.reload(&config);
    turn().await;
    assert_eq!((world.queued(), indexer.searches().len()), (0, 1));
    assert_eq!(world.state_of("a"), "untried");
    indexer.set(Behaviour::Good);
    let reply = world.get("/torznab/api?t=search&q=some").await;
    assert_eq!(reply.titles().len(), 3, "{}", reply.body);
    let asked = indexer.searches();
    let key = asked.last().and_then(|asked| asked.value("apikey"));
    assert_eq!(key, Some("another-key"));
}

/// An indexer at an address inside, under a name.
async fn inside(network: &Network) -> (Indexer, Config) {
    let place = Place::Memory(network, SocketAddr::from(([10, 0, 0, 5], 80)));
    let indexer = Indexer::start(place, Setup::with(1..4)).await;
    let indexer = indexer.expect("memory has room");
    let mut config = named(std::slice::from_ref(&indexer));
    let url = weir_config::SecretUrl::parse("http://indexer.example/api");
    config.indexers[0].url = url.expect("a URL");
    config.min_request_interval = Some(Duration::ZERO);
    (indexer, config)
}

#[tokio::test(start_paused = true)]
async fn a_name_that_turns_private_is_refused_until_the_operator_has_looked() {
    let network = Network::new();
    let outside = indexer(&network, 1, Setup::with(1..4)).await;
    let (inside, config) = inside(&network).await;
    network.resolves("indexer.example", &["192.0.2.1"]);
    let world = World::new(network.ground(), &config);
    let titles = world.get("/torznab/api?t=search&q=some").await.titles();
    assert_eq!((titles.len(), outside.searches().len()), (3, 1));
    network.set_fault(outside.address(), weir_testkit::memory::Fault::Refused);
    network.resolves("indexer.example", &["10.0.0.5"]);
    // Its connection is closed by then.
    world.until(2 * MINUTE).await;
    let reply = world.get("/torznab/api?t=search&q=show").await;
    let words = "its name now resolves to the private address 10.0.0.5";
    assert!(reply.body.contains(words), "{}", reply.body);
    assert_eq!(network.connections(inside.address()), 0);
    // A file that changed by itself is nobody's word about names; the operator's is.
    world.reload(&config);
    world.until(HOUR).await;
    let reply = world.get("/torznab/api?t=search&q=show").await;
    assert!(reply.body.contains(words), "{}", reply.body);
    world.front.look_up_anew();
    world.until(2 * HOUR).await;
    let reply = world.get("/torznab/api?t=search&q=show").await;
    assert_eq!(reply.titles().len(), 3, "{}", reply.body);
    let asked = super::words(&inside.searches());
    assert_eq!(asked, ["", "show"], "Weir's own try, then the search");
}

#[tokio::test(start_paused = true)]
async fn links_to_a_neighbour_that_is_not_configured_are_refused() {
    let network = Network::new();
    let (inside, config) = inside(&network).await;
    network.resolves("indexer.example", &["10.0.0.5"]);
    // Its links hold its address and not its name.
    let world = World::new(network.ground(), &config);
    let links = world.get("/torznab/api?t=search&q=some").await.links();
    let given = world.get(&links[0].replace("http://weir:7070", "")).await;
    assert_eq!(given.status, 502, "{}", given.body);
    let words = "the address 10.0.0.5 is private";
    assert!(given.body.contains(words), "{}", given.body);
    assert_eq!(inside.grabs().len(), 0);
    assert_eq!(world.state_of("a"), "open");
}

#[tokio::test(start_paused = true)]
async fn memory_is_as_large_as_it_was_at_the_start() {
    let network = Network::new();
    let indexers = crowd(&network, 1).await;
    let mut config = Config {
        min_request_interval: Some(Duration::ZERO),
        ..plain(&indexers)
    };
    let world = World::new(network.ground(), &config);
    config.cache.memory = weir_config::Size::from(1);
    world.reload(&config);
    let first = world.get("/torznab/api?t=search&limit=2").await;
    assert_eq!(first.response(), (0, 3));
    // Other answers do not push it out: its next page is of what the first one was of.
    indexers[0].add(Item::numbered(99));
    let other = [("user-agent", "Radarr/5")];
    let fresh = world.ask("/torznab/api?t=search&nocache=1", &other).await;
    assert_eq!(fresh.response(), (0, 4));
    let next = world.get("/torznab/api?t=search&limit=2&offset=2").await;
    assert_eq!(next.response(), (2, 3));
}
