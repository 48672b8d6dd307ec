//! What the notify front brings to the web listener.

use std::sync::Arc;

use weir_web::{Contribution, Icon, Right};

use crate::hook::FRONT;
use crate::model::Model;
use crate::stats::NotifyStats;
use crate::test_message::Desk;
use crate::upstreams::HookViews;
use crate::{api, pages};

/// Upstreams, figures and tests. No card: it serves nobody who asks, so the overview has nothing to say of it.
pub(crate) fn contribution(model: &Arc<Model>) -> Contribution {
    let desk = Desk(model.clone());
    Contribution::new(FRONT, "Notifications", Icon::Notify)
        .stats(Arc::new(NotifyStats(model.clone())))
        .upstreams(Arc::new(HookViews(model.clone())))
        .router(Right::Everything, pages::router(&desk))
        .api(api::routes(&desk))
}
