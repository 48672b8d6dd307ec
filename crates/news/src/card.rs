//! The news front's card on the overview.

use weir_engine::dispatch::Availability;
use weir_engine::{Engine, StateCounts, UpstreamView, span};
use weir_web::{Card, CardState, CardView, Figure};

use crate::config::server::example;
use crate::inbound::nntp::{NntpFigures, OpenKind};

/// Servers named with their reasons; of more, the upstreams page tells.
const NAMED: usize = 3;

/// How well the front answers, at a glance.
pub(crate) struct NewsCard(pub(crate) Engine, pub(crate) NntpFigures);

impl Card for NewsCard {
    fn view(&self) -> CardView {
        let briefs = self.0.briefs();
        if briefs.is_empty() {
            let sentence = "No news server is configured yet. Add one.";
            return CardView::unconfigured(sentence, example());
        }
        let views = briefs.iter();
        let views = views.filter_map(|brief| self.0.upstream(brief.upstream));
        let away: Vec<UpstreamView> = views.filter(is_away).collect();
        let counts = StateCounts::of(&briefs);
        let state = match counts.may_answer() {
            true => CardState::Answering,
            false => CardState::Limited,
        };
        let counters = self.0.status().counters;
        let mut figures = Figure::of_calls(&counters);
        let newsreaders = self.1.count(OpenKind::All) as u64;
        figures.push(Figure::count("Newsreaders", newsreaders));
        CardView {
            state,
            sentence: sentence(&counts, &away),
            figures,
            lines: None,
        }
    }
}

/// Whether a server is not asked, or has never answered.
fn is_away(view: &UpstreamView) -> bool {
    match view.status.state {
        Availability::Cooldown { .. } | Availability::Disabled { .. } | Availability::Off => true,
        Availability::Untried => view.last_error.is_some(),
        Availability::Open | Availability::Probing => false,
    }
}

fn sentence(counts: &StateCounts, away: &[UpstreamView]) -> String {
    let open = counts.sentence("news server", "news servers");
    let here = match counts.may_answer() {
        true => open,
        false => format!("{open} Until one answers, only what is stored can be read."),
    };
    let reasons = away.iter().take(NAMED).map(reason);
    let more = match away.len().saturating_sub(NAMED) {
        0 => None,
        1 => Some("One more is unavailable.".to_owned()),
        more => Some(format!("{more} more are unavailable.")),
    };
    let all: Vec<String> = [here].into_iter().chain(reasons).chain(more).collect();
    all.join(" ")
}

/// Who is away, why, and until when.
fn reason(view: &UpstreamView) -> String {
    let name = &view.figures.name;
    let (word, until) = match view.status.state {
        Availability::Off => return format!("{name} is off, by operator."),
        Availability::Cooldown { until } => ("is cooling down", Some(until)),
        Availability::Disabled { until } => ("is disabled", view.probe_at.or(Some(until))),
        Availability::Untried | Availability::Open | Availability::Probing => {
            ("has not answered yet", view.probe_at)
        }
    };
    let trouble = view.trouble.as_ref().map(|trouble| &trouble.reason);
    let error = view.last_error.as_ref().map(|(_, error)| error);
    let why = trouble.or(error);
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    let next = until.map_or_else(String::new, |until| {
        format!("; next try in {}", span(view.at.until(until)))
    });
    format!("{name} {word}{why}{next}.")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_testkit::zoo::news::Behaviour;

    use super::*;
    use crate::federation::tests::World;

    #[tokio::test(start_paused = true)]
    async fn whoever_is_away_is_named_with_the_reason_and_the_next_try() {
        let world = World::new(|_| {}).await;
        let card = NewsCard(world.engine.clone(), NntpFigures::default());
        let untried = "None of the 2 news servers has been tried yet.";
        assert_eq!(card.view().sentence, untried);
        world.article(3).await;
        let one = "1 of 2 news servers is open. 1 has not been tried yet.";
        assert_eq!(card.view().sentence, one);
        world.servers[0].set(Behaviour::Close);
        world.article(1).await;
        let view = card.view();
        assert_eq!(view.state, CardState::Answering);
        let start = "1 of 2 news servers is open. one is cooling down: the ";
        assert!(view.sentence.starts_with(start), "{}", view.sentence);
        assert!(
            view.sentence.ends_with("; next try in 60 s."),
            "{}",
            view.sentence
        );
        world.servers[1].set(Behaviour::Close);
        world.servers[1].cut();
        world.article(2).await;
        let view = card.view();
        assert_eq!(view.state, CardState::Limited);
        let start = "0 of 2 news servers are open. Until one answers, only what is stored can be read. one is ";
        assert!(view.sentence.starts_with(start), "{}", view.sentence);
        assert!(view.sentence.contains(" two is cooling down: the "));
        world
            .servers
            .iter()
            .for_each(|one| one.set(Behaviour::Good));
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert_eq!(card.view().sentence, "All 2 news servers are open.");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_server_the_lines_to_write_are_shown() {
        let world = World::new(|config| config.servers.clear()).await;
        let view = NewsCard(world.engine.clone(), NntpFigures::default()).view();
        assert_eq!(view.state, CardState::Unconfigured);
        let lines = view.lines.unwrap_or_default();
        assert!(lines.starts_with("news:\n  servers:\n    - {"), "{lines}");
    }
}
