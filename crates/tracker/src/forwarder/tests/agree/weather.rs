//! While our own network is down, everybody is told so; and afterwards a record tells of it.

use weir_engine::{Kind, OwnDecision, OwnKind};

use super::super::*;
use super::desk::{Everything, between, text, times};

pub(super) fn check(world: &World, all: &Everything) {
    let figures = world.engine.status();
    let is_down = figures.network_down;
    let gauge = all.metrics["network_down{front=\"tracker\"}"];
    assert_eq!(gauge, u64::from(is_down));
    assert_eq!(all.status["fronts"][0]["network_down"], is_down);
    let headline = between(&all.overview, "<h1 id=\"headline\" data-live>", "</h1>");
    let words = text(headline);
    assert_eq!(
        words.contains("fault is in our own network."),
        is_down,
        "{words}"
    );
    let own = world.engine.own_decisions().into_iter();
    let own = own.filter(|one| one.own.kind == OwnKind::OurNetwork);
    let outages: Vec<OwnDecision> = own.collect();
    if is_down {
        let list = between(&all.list, "<p class=\"notice warn\">", "</p>");
        assert_eq!(text(list), words, "{}", all.list);
        match figures.counts.paused_until {
            Some(until) => assert_eq!(times(headline), [world.wall(until)], "{words}"),
            None => assert!(
                words.ends_with("The next call will show whether it is back."),
                "{words}"
            ),
        }
        // The record of it says the same, and is of this run.
        let record = outages.first().expect("a record of it");
        let began = figures.at - world.time();
        assert!(record.at >= began, "{record:?}");
        assert!(
            record.sentence().contains("fault is in our own network."),
            "{record:?}"
        );
    }
    // Each ended before the next began.
    for pair in outages.windows(2) {
        assert!(pair[1].last <= pair[0].at, "{pair:?}");
    }
    calls_agree(world, &outages);
}

/// Records tell of no more calls in vain than were counted, in this run.
fn calls_agree(world: &World, outages: &[OwnDecision]) {
    let began = world.timeline.now() - world.time();
    let told = outages.iter().filter(|one| one.at >= began);
    let told: u64 = told.map(|one| one.count).sum();
    let forwarders = world.engine.upstreams(0, usize::MAX);
    let counted = forwarders
        .iter()
        .map(|one| one.requests[Kind::OurNetwork as usize]);
    let counted: u64 = counted.sum();
    let all_are_listed = forwarders.len() == super::steps::NAMES.len();
    assert!(
        told <= counted || !all_are_listed,
        "{counted} calls, {outages:?}"
    );
}
