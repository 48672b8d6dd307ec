//! Runs a [`Dispatcher`](weir_dispatch::Dispatcher) on tokio: the one way out for every call to an
//! upstream.
//!
//! A front is given an [`Outward`], keeps its upstreams in a [`Roster`], implements [`Call`], submits jobs to its
//! [`Engine`] and holds [`Ticket`]s or places in [`Flights`]. [`Fault`] judges what went wrong with a call as far as all
//! protocols share it. Listener threads outside the runtime see only the [`Gate`]. `dispatch` decides which job is next;
//! this crate makes the calls, reports how they ended and counts.

mod askers;
mod brief;
mod call;
mod conditions;
mod driver;
mod engine;
mod errors;
mod fault;
mod flight;
mod flow;
mod gate;
// Not in `gate.rs`, which tests/shuttle.rs compiles once more.
#[cfg(test)]
#[path = "gate/tests.rs"]
mod gate_tests;
mod keeper;
mod ledger;
mod lifetime;
mod look;
mod metrics;
mod new_calls;
mod node;
mod onlooker;
mod operate;
mod outward;
mod own;
mod past;
mod pause;
mod payload;
mod probes;
mod recent;
mod record;
mod roster;
mod rows;
mod sentence;
mod series;
mod shared;
mod sharing;
mod side;
mod state;
mod state_counts;
mod sync;
mod tally;
mod ticket;
mod timeline;
mod tryout;
mod upcoming;
mod vital;
mod weather;
mod window;
pub mod words;
mod worker;

pub use brief::Brief;
pub use call::{Call, Ended, KEPT_BYTES, Outcome, Permit, Reason, SharedQuestion, Skipped};
pub use conditions::{UpstreamCondition, used_up};
pub use engine::{Engine, Options};
pub use errors::PastError;
pub use fault::Fault;
pub use flight::{FlightAnswer, FlightKey, Flights, Follower, Landing};
pub use gate::{Gate, Rate};
pub use keeper::{AgendaChange, Changes, Keeper, KeptPast, KeptUpstream, Memory, Off};
pub use lifetime::Lifetime;
pub use look::{Figures, UpstreamFigures, UpstreamView};
pub use metrics::Metrics;
pub use node::{
    BEAT, KeptNode, Node, NodeKeeper, NodeOptions, NodePart, NodeStanding, NodeView, StoreFigures,
    StoreTrouble,
};
pub use onlooker::{NewRecord, Onlooker, SinceLast, StateChange};
pub use outward::Outward;
pub use own::{Own, OwnDecision, OwnKind, OwnReason, about};
pub use recent::Recent;
pub use record::{About, CallEnd, Got, Receipt, Record};
pub use roster::{Joining, Listed, Reconciled, Roster};
pub use rows::{Restored, RestoredJob, RestoredPast, RestoredUpstream, Rows, WallClock};
pub use sentence::{
    Scene, drop_reason, failure, is_queued, our_network, sentence, slot_of, span, wait_reason,
    waits_until, window_name, within,
};
pub use series::{Point, Span};
pub use sharing::{DifferingLimit, SharedUse};
pub use side::{Standing, UpstreamTrouble};
pub use state_counts::StateCounts;
pub use tally::{Counters, Kind, Latency, ListenerCounts, Requests};
pub use ticket::Ticket;
pub use timeline::{Timeline, Waking};
pub use tryout::{Tryout, TryoutFault, TryoutFound, TryoutKeys, TryoutResult};
pub use upcoming::ScheduledCall;
pub use vital::{Vital, Vitals};
pub use weather::{Trouble, Weather};
pub use weir_dispatch as dispatch;
pub use window::Window;
