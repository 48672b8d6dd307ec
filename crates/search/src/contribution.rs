//! What the search front brings to the web listener.

use std::sync::Arc;

use weir_web::{Contribution, Icon};

use crate::front::Front;
use crate::{api, inbound, metrics, pages};

impl Front {
    /// Pages, API, feeds, downloads, figures and metrics.
    pub(crate) fn contribute(&self) -> Contribution {
        let desk = &self.desk;
        let (access, feeds) = inbound::feeds(desk);
        let (key, lists) = inbound::lists(desk);
        let shown: Arc<crate::desk::Desk> = desk.clone();
        let counted = desk.clone();
        let contribution = Contribution::new("search", "Search", Icon::Search)
            .card(shown.clone())
            .stats(shown.clone())
            .upstreams(shown)
            .router(pages::router(desk))
            .router_for(access, feeds)
            .router_for(key, lists)
            .router_for(weir_web::Access::Api, api::router(desk))
            .router_for(weir_web::Access::Open, inbound::downloads(desk))
            .metrics(move |registry| metrics::register(counted, registry));
        pages::nav()
            .into_iter()
            .fold(contribution, Contribution::nav)
    }
}
