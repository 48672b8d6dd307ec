//! The hooks as pages, API and metrics see them.

use std::sync::Arc;

use weir_engine::dispatch::UpstreamId;
use weir_engine::{Call, Engine};
use weir_web::Upstreams;

use crate::call::TestCall;
use crate::model::Model;
use crate::policy::CLASSES;

/// All hooks, and what is known of them.
pub(crate) struct HookViews(pub(crate) Arc<Model>);

impl Upstreams for HookViews {
    fn engine(&self) -> &Engine {
        &self.0.engine
    }

    fn kind(&self) -> &'static str {
        "hook"
    }

    fn place(&self, upstream: UpstreamId) -> String {
        let hook = self.0.hooks.find(upstream);
        hook.map_or_else(String::new, |hook| hook.address.place())
    }

    fn probe(&self, upstream: UpstreamId) -> Option<Arc<dyn Call>> {
        let model = self.0.clone();
        self.0.hooks.probe(upstream, |hook| TestCall {
            model,
            hook,
            answer: Default::default(),
        })
    }

    /// Whoever reads its messages would get a test each time.
    fn is_tried_unasked(&self) -> bool {
        false
    }

    fn classes(&self) -> &'static [&'static str] {
        &CLASSES
    }

    fn facts(&self, upstream: UpstreamId) -> Vec<(String, String)> {
        let Some(hook) = self.0.hooks.find(upstream) else {
            return Vec::new();
        };
        let mut facts = vec![
            ("Kind".to_owned(), hook.kind.title().to_owned()),
            ("Is told".to_owned(), hook.events()),
        ];
        if let Some(test) = hook.desk.last_test() {
            facts.push(("Last test".to_owned(), test.sentence));
        }
        facts
    }
}
