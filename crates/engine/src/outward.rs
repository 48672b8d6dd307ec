//! What a front is given to call its upstreams with.

use std::sync::Arc;

use weir_net::Ground;

use crate::engine::Engine;
use crate::node::Node;
use crate::rows::{Restored, Rows};

/// A front's way to its upstreams. Built by the program, taken by the front when it starts.
pub struct Outward {
    /// Makes the calls.
    pub engine: Engine,
    /// Keeps the engine's rows, if they are kept.
    pub rows: Option<Arc<Rows>>,
    /// What was kept from an earlier run.
    pub restored: Restored,
    /// The network.
    pub ground: Arc<dyn Ground>,
    /// This node among others, if there are several.
    pub node: Option<Node>,
}

impl Outward {
    /// Keeps nothing across a restart.
    pub fn without_rows(engine: Engine, ground: Arc<dyn Ground>) -> Self {
        Self {
            engine,
            rows: None,
            restored: Restored::default(),
            ground,
            node: None,
        }
    }
}
