//! Whose turn is it? Pure decisions about outbound calls: no tokio, no sockets, no clock.
//!
//! A [`Dispatcher`] holds the jobs of one front. It is told what happens (a job was submitted, a call ended) and
//! when, and says what to start next. `engine` runs it; fronts give it [`Policy`]. What it promises is written down in
//! [`rules`], and the code cites them by number.

mod agenda;
mod cooldown;
mod crew;
mod dispatcher;
mod heap;
pub mod job;
mod jobs;
pub mod moment;
pub mod policy;
mod queue;
mod quota;
pub mod record;
pub mod rules;
mod spread;
mod upstream;

pub use cooldown::{Cause, Cooldown, SavedHealth};
pub use dispatcher::{Dispatcher, SavedJob, SavedUpstream, Status, UpstreamStatus};
pub use job::{
    Admission, After, Ask, Availability, DropReason, End, Finish, Job, JobId, JobKey, Next,
    Refused, Skip, Start, UpstreamId, Wait,
};
pub use moment::Moment;
pub use policy::{Budget, Class, MAX_CLASSES, Policy, Quota, Usage, Window, Windows};
pub use quota::{FullWindow, SavedWindow, WindowUse};
pub use record::{Asker, Decision, What};
