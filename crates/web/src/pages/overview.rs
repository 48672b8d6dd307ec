//! `/`: is everything fine, and if not, what and until when?

use askama::Template;
use axum::{extract::State, response::Response};
use weir_engine::span;

use crate::{
    App, CardOverload, CardState, CardView, Icon, LivePart, Visitor, kit, pages::time::Shown,
    upstreams::Glance,
};

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    headline: String,
    started: Shown,
    cards: Vec<OfFront>,
    upstreams: Glance,
    /// The full path of the file to edit.
    file: String,
    /// The server's clock, for countdowns.
    now: i64,
}

/// The opening sentence, on the page and live.
#[derive(Template)]
#[template(path = "parts/headline.html")]
struct HeadlinePart {
    headline: String,
}

/// A card with the front it belongs to.
struct OfFront {
    name: &'static str,
    title: &'static str,
    icon: Icon,
    view: CardView,
}

/// `GET /`.
pub(crate) async fn show(State(app): State<App>, visitor: Visitor) -> Response {
    let cards: Vec<OfFront> = app
        .fronts()
        .iter()
        .filter_map(|front| {
            let view = front.card.as_ref()?.view();
            Some(OfFront {
                name: front.name,
                title: front.title,
                icon: front.icon,
                view,
            })
        })
        .collect();
    let page = OverviewPage {
        headline: opening(&app),
        started: Shown::new(app.started(), app.now(), &app.shell().zone),
        cards,
        upstreams: Glance::look(&app),
        file: visitor.config_file(),
        now: app.now().as_millisecond(),
    };
    visitor.show("Overview", &page)
}

/// The live parts of the overview with this window, as on the page.
pub(crate) fn parts(app: &App, _window: &str) -> Vec<LivePart> {
    let headline = HeadlinePart {
        headline: opening(app),
    };
    kit::part("headline", &headline).into_iter().collect()
}

/// The opening sentence.
pub(crate) fn opening(app: &App) -> String {
    let fronts = app.fronts().iter();
    let cards = fronts.filter_map(|front| Some((front.title, front.card.as_ref()?)));
    let cards: Vec<_> = cards.collect();
    let overloads = cards.iter().map(|(title, card)| (*title, card.overload()));
    let overloads: Vec<_> = overloads
        .filter_map(|(title, overload)| Some((title, overload?)))
        .collect();
    let states = cards
        .iter()
        .map(|(title, card)| (*title, card.view().state));
    headline(&states.collect::<Vec<_>>(), &overloads)
}

/// The answer in words: fronts in trouble first, by name; then those that answer; then what is not set up.
fn headline(states: &[(&str, CardState)], overloads: &[(&str, CardOverload)]) -> String {
    let named = |wanted: &[CardState]| -> Vec<&str> {
        states
            .iter()
            .filter(|(_, state)| wanted.contains(state))
            .map(|(title, _)| *title)
            .collect()
    };
    let down = named(&[CardState::Down]);
    if !down.is_empty() {
        return sentence(&down, "is not answering.", "are not answering.");
    }
    if !overloads.is_empty() {
        let sentences = overloads.iter().map(|(title, overload)| {
            let CardOverload { since, clause, .. } = overload;
            match since.as_secs() {
                0..60 => format!("{title} is overloaded: {clause}."),
                _ => format!(
                    "{title} has been overloaded for {}: {clause}.",
                    span(*since)
                ),
            }
        });
        return sentences.collect::<Vec<_>>().join(" ");
    }
    let limited = named(&[CardState::Limited, CardState::Overloaded]);
    if !limited.is_empty() {
        return sentence(&limited, "is limited.", "are limited.");
    }
    let starting = named(&[CardState::Starting]);
    if !starting.is_empty() {
        return sentence(&starting, "is starting.", "are starting.");
    }
    let answering = named(&[CardState::Answering]);
    match (answering.len(), states.len()) {
        (0, _) => "Weir is running. No front is set up yet.".to_owned(),
        (3, 3) => "All three fronts are answering.".to_owned(),
        (some, all) if some == all && all > 1 => "All fronts are answering.".to_owned(),
        _ => sentence(&answering, "is answering.", "are answering."),
    }
}

fn sentence(names: &[&str], one: &str, more: &str) -> String {
    match names {
        [] => String::new(),
        [only] => format!("{only} {one}"),
        [first, second] => format!("{first} and {second} {more}"),
        [most @ .., last] => format!("{} and {last} {more}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headline_names_trouble_first() {
        use CardState::{Answering, Down, Limited, Off, Unconfigured};
        let named = |states: [CardState; 3]| {
            [
                ("Tracker", states[0]),
                ("Search", states[1]),
                ("News", states[2]),
            ]
        };
        let say = |states| headline(&named(states), &[]);
        assert_eq!(
            say([Answering, Answering, Answering]),
            "All three fronts are answering."
        );
        assert_eq!(say([Answering, Limited, Off]), "Search is limited.");
        assert_eq!(
            say([Down, Limited, Down]),
            "Tracker and News are not answering."
        );
        assert_eq!(say([Answering, Unconfigured, Off]), "Tracker is answering.");
        assert_eq!(
            say([Unconfigured, Unconfigured, Off]),
            "Weir is running. No front is set up yet."
        );
        let nothing = headline(&[], &[]);
        assert_eq!(nothing, "Weir is running. No front is set up yet.");
        let overload = |seconds| CardOverload {
            since: std::time::Duration::from_secs(seconds),
            clause: "1,204 first announces refused in the last minute".to_owned(),
            counts: Vec::new(),
        };
        let say = |seconds, states| headline(&named(states), &[("Tracker", overload(seconds))]);
        let overloaded = CardState::Overloaded;
        assert_eq!(
            say(5, [overloaded, Limited, Off]),
            "Tracker is overloaded: 1,204 first announces refused in the last minute."
        );
        assert_eq!(
            say(180, [overloaded, Answering, Off]),
            "Tracker has been overloaded for 3 min: 1,204 first announces refused in the last minute."
        );
        assert_eq!(
            say(180, [overloaded, Down, Off]),
            "Search is not answering."
        );
    }
}
