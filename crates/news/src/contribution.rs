//! What the news front brings to the web listener.

use std::sync::Arc;

use weir_web::{Access, Contribution, Icon};

use crate::card::NewsCard;
use crate::model::Model;
use crate::reader::Reader;
use crate::stats::NewsStats;
use crate::upstreams::ServerViews;
use crate::{api, metrics, pages};

/// Pages, API, card, figures, upstreams and metrics.
pub(crate) fn contribution(model: &Arc<Model>, reader: &Arc<Reader>, public: bool) -> Contribution {
    let (counted, cached) = (model.clone(), model.clone());
    let contribution = Contribution::new("news", "News", Icon::News)
        .card(Arc::new(NewsCard(model.federation.engine.clone())))
        .stats(Arc::new(NewsStats(model.clone())))
        .upstreams(Arc::new(ServerViews(model.clone())))
        .cached(move || cached.cache_counts())
        .metrics(move |registry| metrics::register(counted, registry))
        .router_for(Access::Api, api::own_router(reader))
        .router(pages::compose::router(reader))
        .router_for(Access::KeptForm, pages::compose::form_router(reader));
    let contribution = pages::nav()
        .into_iter()
        .fold(contribution, Contribution::nav);
    let (pages, api) = (pages::router(reader), api::router(reader));
    match public {
        true => contribution
            .public("/news")
            .router_for(Access::Reading, pages)
            .router_for(Access::ReadingApi, api),
        false => contribution.router(pages).router_for(Access::Api, api),
    }
}
