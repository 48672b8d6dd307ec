//! `weir demo`: Weir as it is, in front of upstreams and clients that are made up.
//!
//! The upstreams are those of `testkit`, on loopback and in this process; a trickle of clients asks for things. What
//! pages show of them is true: the same engine decides, waits and gives up as it would with real ones. Nothing leaves
//! this machine, and the state is in a directory of its own that goes with the process.

mod clients;
mod news;
mod place;
mod releases;
mod upstreams;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::ExitCode;

use anyhow::Context;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use self::clients::Clients;
use self::place::Place;
use self::upstreams::Upstreams;
use crate::config::{Sources, load};
use crate::serve::{self, Manner};

/// Runs until stopped.
///
/// # Errors
/// If there is no room for a directory or a port.
pub fn run() -> anyhow::Result<ExitCode> {
    let place = Place::make()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("demo")
        .enable_all()
        .build()
        .context("cannot start the worker threads")?;
    let upstreams = runtime.block_on(Upstreams::start());
    let upstreams = upstreams.context("cannot start the upstreams of the demo")?;
    let tracker = free_port().context("there is no free port")?;
    let file = place.write(&upstreams.config(place.data(), tracker))?;
    let sources = Sources {
        file: Some(file),
        places: Vec::new(),
        // What is set for a real Weir does not concern this one.
        environment: Box::new(BTreeMap::new()),
        flags: Vec::new(),
        data: None,
    };
    let (begin, began) = oneshot::channel();
    let mut tasks = JoinSet::new();
    tasks.spawn_on(
        Clients::new(tracker, upstreams.letters()).run(began),
        runtime.handle(),
    );
    let loaded = load(&sources)?;
    let code = serve::run(loaded, sources, Manner::Demo(begin));
    drop((tasks, upstreams));
    runtime.shutdown_background();
    code
}

/// A port that nobody has at the moment. Clients must know where the tracker is before it can tell them.
fn free_port() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}
