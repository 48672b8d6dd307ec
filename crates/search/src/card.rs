//! The search front's card on the overview.

use weir_engine::{Engine, Standing};
use weir_web::{Card, CardState, CardView, Figure};

use crate::config::indexer::example;

/// How well the front answers, at a glance.
pub(crate) struct SearchCard(pub(crate) Engine);

impl Card for SearchCard {
    fn view(&self) -> CardView {
        let rows = self.0.upstreams(0, usize::MAX);
        if rows.is_empty() {
            let sentence =
                "No indexer is configured yet. Add one, or import yours from Prowlarr or Jackett.";
            return CardView::unconfigured(sentence, example());
        }
        let open = |standing| matches!(standing, Standing::Open | Standing::Probing);
        let open = rows.iter().filter(|row| open(row.standing)).count();
        let counters = self.0.status().counters;
        let (state, rest) = match open {
            0 => (
                CardState::Limited,
                " Answers come from the cache until one is back.",
            ),
            _ => (CardState::Answering, ""),
        };
        let indexers = match rows.len() {
            1 => "indexer is",
            _ => "indexers are",
        };
        CardView {
            state,
            sentence: format!("{open} of {} {indexers} open.{rest}", rows.len()),
            figures: Figure::of_calls(&counters),
            lines: None,
        }
    }
}
