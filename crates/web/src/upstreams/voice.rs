//! What it takes to tell of an upstream, without looking at the upstream itself: decisions are told by the thousand.

use std::sync::Arc;

use weir_engine::{
    Scene,
    dispatch::{Asker, Class},
};

use super::{Upstreams, path, times::Times};
use crate::contribution::Contributed;

/// Tells of one upstream of one front.
#[derive(Clone, Copy)]
pub(super) struct Voice<'a> {
    pub(super) front: &'a Contributed,
    pub(super) upstreams: &'a Arc<dyn Upstreams>,
    pub(super) name: &'a str,
    pub(super) times: &'a Times,
}

impl Voice<'_> {
    pub(super) fn path(&self) -> String {
        path(self.front.name, self.name)
    }

    pub(super) fn class(&self, class: Class) -> &'static str {
        let classes = self.upstreams.classes();
        classes
            .get(usize::from(class.0))
            .copied()
            .unwrap_or("the job")
    }

    /// Who an asker is, as a name.
    pub(super) fn asker(&self, asker: Asker) -> Option<String> {
        match asker {
            Asker::OPERATOR => Some("operator".to_owned()),
            Asker::WEIR => Some("Weir".to_owned()),
            asker => {
                let name = self.upstreams.engine().asker_name(asker);
                name.map(|name| name.to_string())
            }
        }
    }

    /// Provides what sentences about it need.
    pub(super) fn scene<T>(&self, tell: impl FnOnce(&Scene<'_>) -> T) -> T {
        tell(&Scene {
            upstream: self.name,
            class: &|class| self.class(class),
            asker: &|asker| match asker {
                Asker::OPERATOR => Some("an operator".to_owned()),
                Asker::WEIR => Some("Weir\u{2019}s own test".to_owned()),
                asker => self.asker(asker),
            },
            clock: &|moment, seconds| {
                if seconds {
                    super::times::exactly(moment)
                } else {
                    super::times::at(moment)
                }
            },
        })
    }
}
