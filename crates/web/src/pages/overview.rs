//! `/`: is everything fine, and if not, what and until when?

use askama::Template;
use axum::{extract::State, response::Response};

use crate::{App, CardState, CardView, Icon, Visitor, pages::time::Shown, upstreams::Glance};

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    headline: String,
    started: Shown,
    cards: Vec<OfFront>,
    upstreams: Glance,
    /// The server's clock, for countdowns.
    now: i64,
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
    let states: Vec<(&str, CardState)> = cards
        .iter()
        .map(|card| (card.title, card.view.state))
        .collect();
    let page = OverviewPage {
        headline: headline(&states),
        started: Shown::new(app.started(), app.now(), &app.shell().zone),
        cards,
        upstreams: Glance::look(&app),
        now: app.now().as_millisecond(),
    };
    visitor.show("Overview", &page)
}

/// The answer in words: fronts in trouble first, by name; then those that answer; then what is not set up.
fn headline(states: &[(&str, CardState)]) -> String {
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
    let limited = named(&[CardState::Limited]);
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
        let say = |states: [CardState; 3]| {
            headline(&[
                ("Tracker", states[0]),
                ("Search", states[1]),
                ("News", states[2]),
            ])
        };
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
        assert_eq!(headline(&[]), "Weir is running. No front is set up yet.");
    }
}
