//! What the search front brings to the web listener.

use std::sync::Arc;

use weir_web::{Access, Contribution, Icon, Right};

use crate::card::SearchCard;
use crate::stats::SearchStats;
use crate::upstreams::IndexerViews;
use crate::views::Views;
use crate::{api, inbound, metrics, pages};

/// Pages, API, feeds, downloads, figures and metrics.
pub(crate) fn contribution(views: &Arc<Views>) -> Contribution {
    let model = &views.model;
    let (access, feeds) = inbound::feeds(views);
    let (key, lists) = inbound::lists(views);
    let (counted, cached) = (model.clone(), model.clone());
    let connected = views.clone();
    let contribution = Contribution::new("search", "Search", Icon::Search)
        .card(Arc::new(SearchCard(model.engine.clone())))
        .stats(Arc::new(SearchStats(model.clone())))
        .upstreams(Arc::new(IndexerViews(model.clone())))
        .announcements(model.announcer.clone())
        .router(Right::Search, pages::searching(views))
        .router(Right::Read, pages::reading(views))
        .router_for(access, Right::Search, feeds)
        .router_for(key, Right::Search, lists)
        .api(api::router(views))
        .router_for(Access::Open, Right::Search, inbound::downloads(views))
        .key_lines(move |name, origin, key| pages::key_lines(&connected, name, origin, key))
        .cached(move || cached.cache.counts())
        .metrics(move |registry| metrics::register(counted, registry));
    pages::nav()
        .into_iter()
        .fold(contribution, Contribution::nav)
}
