//! The web listener: page shell, assets, sign-in, overview, `/stats`, `/metrics` and health, and the place where
//! fronts plug in their routes.
//!
//! A front hands over a [`Contribution`]; nothing else about it is known here. Who may open a route is a property of
//! that route ([`Access`]), checked here before any handler runs.

mod access;
mod app;
mod assets;
mod auth;
mod body;
mod charts;
mod client;
mod clock;
pub mod config;
mod contribution;
mod error;
mod failure;
mod forms;
pub mod forwarded;
mod front;
mod guard;
mod heard;
mod household;
pub mod kit;
mod live;
mod metrics;
pub mod nodes;
pub mod openapi;
mod pages;
mod porter;
mod ready;
mod right;
mod rules;
pub mod seats;
mod series;
mod server;
mod shell;
mod standby;
mod stats;
mod status;
mod streams;
mod throttle;
mod upstreams;
mod visitor;

pub use access::{Access, Refusal};
pub use app::App;
pub use auth::{
    kept_key,
    link::{SignInLink, noted_address, sign_in_link},
};
pub use client::Client;
pub use clock::{Clock, System};
pub use config::{Auth, Config, WebLimits};
pub use contribution::{
    Card, CardOverload, CardState, CardView, ConnectAddresses, ConnectHeard, ConnectPanel,
    ConnectProgram, Contribution, Figure, Icon, NavEntry, NavGroup, Section, Stats,
};
pub use error::Error;
pub use failure::{Failure, FieldMistake, MAKE_ROOM, UNWRITTEN};
pub use forms::field;
pub use front::{Front, Refused, Reload, Staged};
pub use household::Household;
pub use live::{Announcer, LivePart};
pub use metrics::Requests;
pub use pages::time::Shown;
pub use porter::{KeyMark, Porter};
pub use right::Right;
pub use server::{Guest, ListenerEnd, run, run_guests};
pub use shell::DEMO;
pub use standby::{Standby, stand_by};
pub use throttle::{Pace, Throttle};
pub use upstreams::{Lookout, Upstreams, path as upstream_path, without_name};
pub use visitor::{Identity, ProgramKey, RequestId, Visitor, is_called_after};
