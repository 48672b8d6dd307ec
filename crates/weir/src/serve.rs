//! `weir serve`: builds everything from the configuration and runs it until it is told to stop.

mod changes;
mod data;
mod descriptors;
mod engine;
mod fronts;
mod greeting;
mod listen;
mod logs;
mod news;
mod notify;
mod reload;
mod search;
mod settings;
mod signals;
mod tracker;

use std::cell::OnceCell;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio_util::sync::CancellationToken;
use weir_engine::Vitals;
use weir_store::sqlite::File;
use weir_web::{App, Contribution, Requests, System};

use crate::config::{Loaded, Sources, WithoutEffect};

use self::data::Data;
use self::fronts::{Base, Fronts};
use self::logs::Logs;
use self::reload::Running;
use self::signals::{Signal, Signals};

/// How often the file of forwarders is checked for changes.
const WATCH: Duration = Duration::from_secs(2);

/// Runs until stopped. `sources` is kept for reloads.
///
/// # Errors
/// If something that Weir needs (its directory, a port) is not available; the error says what to do.
pub fn run(loaded: Loaded, sources: Sources) -> anyhow::Result<ExitCode> {
    let logs = Logs::start(&loaded.config.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("weir")
        .build()
        .context("cannot start the worker threads")?;
    let outcome = runtime.block_on(serve(loaded, sources, logs));
    // Blocking threads that still wait for something must not keep the process alive.
    runtime.shutdown_background();
    outcome
}

/// Lets `/readyz` and `/metrics` report whether everything that must run is still running.
fn watch(contribution: Contribution, vitals: &Vitals, state: &File) -> Contribution {
    let (missing, counted, state) = (vitals.clone(), vitals.clone(), state.clone());
    contribution
        .missing(move || {
            let mut all = missing.missing();
            if !state.is_writable() {
                all.push("state.db is no longer written: restart Weir".to_owned());
            }
            all
        })
        .metrics(move |registry| registry.register_collector(Box::new(counted)))
}

async fn serve(loaded: Loaded, sources: Sources, logs: Logs) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::catch()?;
    let mut config = loaded.config.clone();
    descriptors::divide(&mut config);
    let data = Data::lock(&config.data)?;
    let state = File::open(data.path().join("state.db"))?;
    let running = Running::new(loaded.clone(), sources, logs);
    let listener = listen::tcp(config.web.listen, "web.listen", "--web").await?;
    let address = listener
        .local_addr()
        .context("the web listener has no address")?;
    let engines = engine::Engines::new(config.engine.clone(), config.store.clone(), &state)?;
    let base = Base {
        config: &config,
        data: data.path(),
        state: &state,
        engines: &engines,
        desk: OnceCell::new(),
    };
    let fronts = Fronts::start(&base)?;
    let requests = Requests::default();
    let contributions = fronts.contributions(&requests);
    let mut contributions = contributions.map_err(anyhow::Error::from_boxed)?;
    contributions.push(watch(
        settings::contribution(&running, base.desk.into_inner()),
        &engines.vitals,
        &state,
    ));
    let web = App::open(
        config.web.clone(),
        &state,
        Arc::new(System),
        requests,
        contributions,
    )?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), %address, data = %data.path().display(), "started");
    for WithoutEffect { key, why } in config.without_effect() {
        tracing::warn!(key, "{why}");
    }
    let file = running.to_edit();
    greeting::print(&web, address, &fronts.greeting(), &loaded, &file)?;
    web.set_config_file(file);

    let stop = CancellationToken::new();
    running.set_parts(web.clone(), fronts.clone());
    fronts.serve(&web.porter());
    let server = weir_web::run(listener, web, stop.clone(), config.drain);
    tokio::pin!(server);
    let mut look = tokio::time::interval(WATCH);
    let mut forwarders_file = None;
    let code = loop {
        tokio::select! {
            ended = &mut server => {
                tracing::info!(cut = ended.cut, "the web listener is closed; waiting for calls under way");
                break ExitCode::SUCCESS;
            }
            _ = look.tick() => running.reload_if_changed(&mut forwarders_file),
            signal = signals.next() => match signal {
                Signal::Reload => drop(running.reload()), // the log has the result
                Signal::Stop { name, .. } if !stop.is_cancelled() => {
                    tracing::info!(signal = name, drain = ?config.drain, "stopping; a second signal stops at once");
                    stop.cancel();
                    fronts.leave();
                }
                Signal::Stop { name, code } => {
                    tracing::warn!(signal = name, "stopping at once");
                    break ExitCode::from(code);
                }
            },
        }
    };
    // After a second signal nothing is waited for, even if it only arrives now.
    let drain = match code == ExitCode::SUCCESS {
        true => config.drain,
        false => Duration::ZERO,
    };
    let code = tokio::select! {
        () = fronts.stop(drain) => code,
        (signal, code) = signals.stop() => {
            tracing::warn!(signal, "stopping at once");
            ExitCode::from(code)
        }
    };
    fronts.close();
    // Last, because fronts write to it until they are closed.
    state.close();
    tracing::info!("stopped");
    Ok(code)
}
