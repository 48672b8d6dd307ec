//! The opening sentence: which front is in trouble, why, and until when; or that all is well.

use weir_engine::{Engine, Standing, dispatch::Moment, span};

use crate::{
    App, CardOverload, CardState,
    contribution::Contributed,
    nodes::view::NodesView,
    upstreams::{Times, outage},
};

/// Sentences with marks in place of times, each with the clock that its marks are read by.
pub(super) struct Opening {
    fronts: Vec<(String, Option<Times>)>,
    nodes: Option<NodesView>,
}

impl Opening {
    pub(super) fn of(app: &App) -> Self {
        Self {
            fronts: Self::of_fronts(app),
            nodes: NodesView::of(app),
        }
    }

    fn of_fronts(app: &App) -> Vec<(String, Option<Times>)> {
        if let Some((words, times)) = outage(app) {
            return vec![(words, Some(times))];
        }
        let cards = app.fronts().iter();
        let cards = cards.filter_map(|front| Some((front, front.card.as_ref()?)));
        let told: Vec<Told<'_>> = cards
            .map(|(front, card)| {
                let state = card.view().state;
                let why = matches!(state, CardState::Limited).then(|| why(app, front));
                Told {
                    title: front.title,
                    state,
                    overload: card.overload(),
                    why: why.flatten(),
                }
            })
            .collect();
        headline(told)
    }

    pub(super) fn html(&self) -> String {
        let html = |(words, times): &(String, Option<Times>)| match times {
            Some(times) => times.html(words),
            None => crate::upstreams::escape(words),
        };
        let mut all: Vec<String> = self.fronts.iter().map(html).collect();
        // Why, and what it means, stands below it on the page.
        let trouble = self.nodes.as_ref().and_then(NodesView::trouble_headline);
        all.extend(trouble.map(|what| format!("{}.", crate::upstreams::escape(&what))));
        all.join(" ")
    }

    pub(super) fn plain(&self) -> String {
        let plain = |(words, times): &(String, Option<Times>)| match times {
            Some(times) => times.plain(words),
            None => words.clone(),
        };
        let mut all: Vec<String> = self.fronts.iter().map(plain).collect();
        all.extend(self.nodes.as_ref().and_then(NodesView::trouble_sentence));
        all.join(" ")
    }
}

/// How one front is doing.
struct Told<'a> {
    title: &'a str,
    state: CardState,
    overload: Option<CardOverload>,
    /// Why it is limited, as a whole sentence after its name.
    why: Option<(String, Times)>,
}

fn times(app: &App, engine: &Engine) -> Times {
    Times::new(engine, app.now(), app.shell().zone.clone())
}

/// Why a front is limited: what its upstreams are doing, and when the next one is back.
fn why(app: &App, front: &Contributed) -> Option<(String, Times)> {
    let upstreams = front.upstreams.as_ref()?;
    let engine = upstreams.engine();
    let briefs = engine.briefs();
    let states: Vec<Standing> = briefs.iter().map(|brief| brief.standing).collect();
    let times = times(app, engine);
    let next = briefs
        .iter()
        .filter_map(|brief| Some((brief.until?, brief.standing)));
    let next = next.min_by_key(|(until, _)| *until);
    let kept = upstreams.serves_switched_off();
    let kind = (upstreams.kind(), kept);
    let words = limited(kind, &states, next, |until| times.until(until))?;
    Some((words, times))
}

/// What is said of an upstream that was never called, or has answered nothing so far.
const NOT_YET: &str = "has not answered yet";

/// `is answering from cache only: all 7 indexers are cooling down. Next one back at 14:32, in 6 min.` Of upstreams of a kind
/// that are switched off, what is cached is served or not.
fn limited(
    (kind, serves_switched_off): (&str, bool),
    states: &[Standing],
    next: Option<(Moment, Standing)>,
    until: impl Fn(Moment) -> String,
) -> Option<String> {
    let count = |wanted: Standing| states.iter().filter(|state| **state == wanted).count();
    let groups = [
        (Standing::Cooldown, "is cooling down", "are cooling down"),
        (Standing::Disabled, "is disabled", "are disabled"),
        (Standing::Manual, "is off", "are off"),
        (Standing::Untried, NOT_YET, "have not answered yet"),
    ];
    let groups: Vec<(usize, &str, &str)> = groups
        .into_iter()
        .map(|(state, one, more)| (count(state), one, more))
        .filter(|(count, ..)| *count > 0)
        .collect();
    let total = states.len();
    let explained: usize = groups.iter().map(|(count, ..)| count).sum();
    // Something else is wrong where one of them is open.
    if total == 0 || explained < total {
        return None;
    }
    let why = match groups.as_slice() {
        [(_, one, _)] if total == 1 => format!("its only {kind} {one}"),
        [(_, one, _)] if total == 2 && *one == NOT_YET => {
            format!("neither {kind} has answered yet")
        }
        [(_, _, more)] if total == 2 => format!("both {kind}s {more}"),
        [(_, one, _)] if *one == NOT_YET => format!("none of its {total} {kind}s has answered yet"),
        [(_, _, more)] => format!("all {total} {kind}s {more}"),
        several => {
            let words = several.iter().map(|(count, one, more)| match count {
                1 => format!("1 {one}"),
                count => format!("{count} {more}"),
            });
            let words: Vec<String> = words.collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            format!("of its {total} {kind}s {}", listed(&words))
        }
    };
    // What was disabled is only tried then.
    let next = next.map_or_else(String::new, |(next, standing)| {
        let which = match (total, standing == Standing::Disabled) {
            (1, false) => "Its cooldown ends",
            (1, true) => "It is tried again",
            (_, false) => "Next one back",
            (_, true) => "The next one is tried",
        };
        format!(" {which} at {}.", until(next))
    });
    if count(Standing::Manual) == total && !serves_switched_off {
        let they = if total == 1 { "It stays" } else { "They stay" };
        return Some(format!(
            "cannot answer: {why}. {they} off until switched on."
        ));
    }
    Some(format!("is answering from cache only: {why}.{next}"))
}

/// The answer in words: fronts in trouble first, by name; then those that answer; then what is not set up.
fn headline(told: Vec<Told<'_>>) -> Vec<(String, Option<Times>)> {
    let plain = |words: String| vec![(words, None)];
    let named = |wanted: &[CardState]| -> Vec<&str> {
        let told = told.iter().filter(|one| wanted.contains(&one.state));
        told.map(|one| one.title).collect()
    };
    let down = named(&[CardState::Down]);
    if !down.is_empty() {
        return plain(sentence(&down, "is not answering.", "are not answering."));
    }
    let overloads = told
        .iter()
        .filter_map(|one| Some((one.title, one.overload.as_ref()?)));
    let overloads: Vec<(String, Option<Times>)> = overloads
        .map(|(title, overload)| (overloaded(title, overload), None))
        .collect();
    if !overloads.is_empty() {
        return overloads;
    }
    let limited = named(&[CardState::Limited, CardState::Overloaded]);
    if !limited.is_empty() {
        let is_limited = |one: &Told<'_>| limited.contains(&one.title);
        let told = told.iter().filter(|one| is_limited(one));
        return told
            .map(|one| match &one.why {
                Some((why, times)) => (format!("{} {why}", one.title), Some(times.clone())),
                None => (format!("{} is limited.", one.title), None),
            })
            .collect();
    }
    let starting = named(&[CardState::Starting]);
    if !starting.is_empty() {
        return plain(sentence(&starting, "is starting.", "are starting."));
    }
    let answering = named(&[CardState::Answering]);
    plain(match (answering.len(), told.len()) {
        (0, _) => "Weir is running. No front is set up yet.".to_owned(),
        (3, 3) => "All three fronts are answering.".to_owned(),
        (some, all) if some == all && all > 1 => "All fronts are answering.".to_owned(),
        _ => sentence(&answering, "is answering.", "are answering."),
    })
}

/// The sentence about a front that has more to do than it can.
pub(crate) fn overloaded(title: &str, overload: &CardOverload) -> String {
    let CardOverload { since, clause, .. } = overload;
    match since.as_secs() {
        0..60 => format!("{title} is overloaded: {clause}."),
        _ => format!(
            "{title} has been overloaded for {}: {clause}.",
            span(*since)
        ),
    }
}

fn sentence(names: &[&str], one: &str, more: &str) -> String {
    match names {
        [] => String::new(),
        [only] => format!("{only} {one}"),
        names => format!("{} {more}", listed(names)),
    }
}

/// `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn of(fronts: Vec<(String, Option<Times>)>) -> Opening {
        Opening {
            fronts,
            nodes: None,
        }
    }

    fn say(states: [CardState; 3], overload: Option<u64>) -> String {
        let overload = overload.map(|seconds| CardOverload {
            since: Duration::from_secs(seconds),
            clause: "1,204 first announces refused in the last minute".to_owned(),
            counts: Vec::new(),
        });
        let titles = ["Tracker", "Search", "News"].into_iter().zip(states);
        let told = titles.map(|(title, state)| Told {
            title,
            state,
            overload: overload.clone().filter(|_| title == "Tracker"),
            why: None,
        });
        of(headline(told.collect())).plain()
    }

    #[test]
    fn the_headline_names_trouble_first() {
        use CardState::{Answering, Down, Limited, Off, Overloaded, Starting, Unconfigured};
        for (states, overload, words) in [
            ([Answering; 3], None, "All three fronts are answering."),
            ([Answering, Limited, Off], None, "Search is limited."),
            (
                [Starting, Answering, Starting],
                None,
                "Tracker and News are starting.",
            ),
            (
                [Down, Limited, Down],
                None,
                "Tracker and News are not answering.",
            ),
            (
                [Answering, Unconfigured, Off],
                None,
                "Tracker is answering.",
            ),
            (
                [Unconfigured, Unconfigured, Off],
                None,
                "Weir is running. No front is set up yet.",
            ),
            (
                [Overloaded, Limited, Off],
                Some(5),
                "Tracker is overloaded: 1,204 first announces refused in the last minute.",
            ),
            (
                [Overloaded, Answering, Off],
                Some(180),
                "Tracker has been overloaded for 3 min: 1,204 first announces refused in the last minute.",
            ),
            (
                [Overloaded, Down, Off],
                Some(180),
                "Search is not answering.",
            ),
        ] {
            assert_eq!(say(states, overload), words);
        }
        let nothing = of(headline(Vec::new())).plain();
        assert_eq!(nothing, "Weir is running. No front is set up yet.");
    }

    #[test]
    fn a_front_whose_upstreams_all_rest_says_why_and_until_when() {
        use Standing::{Cooldown, Disabled, Manual, Open, Untried};
        let say_of = |kind, states: &[Standing], next: Option<(Moment, Standing)>| {
            limited(kind, states, next, |_| "14:32".to_owned())
        };
        let indexers = ("indexer", false);
        let say = |states: &[Standing], next: Option<u64>| {
            let next = next.map(|next| (Moment(next), states[0]));
            say_of(indexers, states, next)
        };
        let words = "is answering from cache only: all 7 indexers are cooling down. Next one back at 14:32.";
        assert_eq!(say(&[Cooldown; 7], Some(1)).as_deref(), Some(words));
        let words = "is answering from cache only: its only indexer is cooling down. Its cooldown ends at 14:32.";
        assert_eq!(say(&[Cooldown], Some(1)).as_deref(), Some(words));
        let words = "is answering from cache only: its only indexer is disabled. It is tried again at 14:32.";
        assert_eq!(say(&[Disabled], Some(1)).as_deref(), Some(words));
        let words = "is answering from cache only: both indexers are disabled. The next one is tried at 14:32.";
        assert_eq!(say(&[Disabled; 2], Some(1)).as_deref(), Some(words));
        let words = "is answering from cache only: of its 4 indexers 2 are cooling down, 1 is disabled and 1 is off. Next one back at 14:32.";
        let mixed = [Cooldown, Disabled, Manual, Cooldown];
        assert_eq!(say(&mixed, Some(1)).as_deref(), Some(words));
        let words = "is answering from cache only: of its 4 indexers 2 are cooling down, 1 is disabled and 1 is off. The next one is tried at 14:32.";
        let first = Some((Moment(1), Disabled));
        assert_eq!(say_of(indexers, &mixed, first).as_deref(), Some(words));
        // Where nothing can be used without them, the cache is of no use either.
        let words = "cannot answer: both indexers are off. They stay off until switched on.";
        assert_eq!(say(&[Manual; 2], None).as_deref(), Some(words));
        let words = "cannot answer: its only indexer is off. It stays off until switched on.";
        assert_eq!(say(&[Manual], None).as_deref(), Some(words));
        let news = |states: &[Standing]| say_of(("news server", true), states, None);
        let words = "is answering from cache only: both news servers are off.";
        assert_eq!(news(&[Manual; 2]).as_deref(), Some(words));
        let words = "is answering from cache only: neither indexer has answered yet.";
        assert_eq!(say(&[Untried; 2], None).as_deref(), Some(words));
        let words = "is answering from cache only: none of its 3 indexers has answered yet.";
        assert_eq!(say(&[Untried; 3], None).as_deref(), Some(words));
        assert_eq!(
            say(&[Cooldown, Open], Some(1)),
            None,
            "the reason is another one"
        );
        assert_eq!(say(&[], None), None);
    }
}
