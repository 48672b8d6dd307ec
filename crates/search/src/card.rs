//! The search front's card on the overview.

use weir_engine::{Engine, StateCounts};
use weir_web::{Card, CardState, CardView, Figure};

use crate::config::indexer::example;

/// How well the front answers, at a glance.
pub(crate) struct SearchCard(pub(crate) Engine);

impl Card for SearchCard {
    fn view(&self) -> CardView {
        let briefs = self.0.briefs();
        if briefs.is_empty() {
            let sentence =
                "No indexer is configured yet. Add one, or import yours from Prowlarr or Jackett.";
            return CardView::unconfigured(sentence, example());
        }
        let counts = StateCounts::of(&briefs);
        let counters = self.0.status().counters;
        let (state, rest) = match counts.may_answer() {
            // Of what is off, nothing is offered.
            false if counts.manual == counts.all => (
                CardState::Limited,
                " Searches find nothing until an indexer is switched on.",
            ),
            false => (
                CardState::Limited,
                " Until one answers, results come from the cache.",
            ),
            true => (CardState::Answering, ""),
        };
        let open = counts.sentence("indexer", "indexers");
        CardView {
            state,
            sentence: format!("{open}{rest}"),
            figures: Figure::of_calls(&counters),
            lines: None,
        }
    }
}
