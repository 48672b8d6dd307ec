//! `weir serve`: builds everything from the configuration and runs it until it is told to stop.

mod backups;
mod changes;
mod data;
mod descriptors;
mod engine;
mod fronts;
mod greeting;
mod listen;
mod logs;
mod news;
mod node;
mod notify;
mod reload;
mod search;
mod settings;
mod signals;
mod systemd;
mod tracker;
mod upstreams;

use std::cell::OnceCell;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use weir_config::ProcessEnvironment;
use weir_engine::Vitals;
use weir_store::sqlite::File;
use weir_web::{App, Contribution, Requests, Standby, System};

use crate::config::{Loaded, Sources};

use self::backups::Backups;
pub(crate) use self::data::Data;
use self::fronts::{Base, Fronts};
use self::listen::Standing;
use self::logs::Logs;
use self::node::Beating;
use self::reload::Running;
use self::signals::{Signal, Signals};
use self::systemd::{Heartbeat, Manager};

/// How often the file of forwarders is checked for changes.
const WATCH: Duration = Duration::from_secs(2);

/// As what Weir runs.
#[derive(Debug)]
pub enum Manner {
    /// For whoever configured it.
    Service,
    /// In front of upstreams that are made up; the clients among them are told when it serves.
    Demo(oneshot::Sender<Begun>),
}

/// A Weir that serves.
#[derive(Debug)]
pub struct Begun {
    /// Where its pages are.
    pub web: SocketAddr,
    /// What programs send.
    pub key: String,
}

/// Runs until stopped. `sources` is kept for reloads.
///
/// # Errors
/// If something that Weir needs (its directory, a port) is not available; the error says what to do.
pub fn run(loaded: Loaded, sources: Sources, manner: Manner) -> anyhow::Result<ExitCode> {
    let logs = Logs::start(&loaded.config.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("weir")
        .build()
        .context("cannot start the worker threads")?;
    let outcome = runtime.block_on(serve(loaded, sources, logs, manner));
    // Blocking threads that still wait for something must not keep the process alive.
    runtime.shutdown_background();
    outcome
}

/// Lets `/readyz` and `/metrics` report whether everything that must run is still running, and that Weir is stopping.
fn watch(
    contribution: Contribution,
    vitals: &Vitals,
    state: &File,
    stop: &CancellationToken,
) -> Contribution {
    let (missing, counted, stop) = (vitals.clone(), vitals.clone(), stop.clone());
    contribution
        .files([state.clone()])
        .missing(move || {
            let mut all = missing.missing();
            if stop.is_cancelled() {
                all.push("Weir is stopping.".to_owned());
            }
            all
        })
        .metrics(move |registry| registry.register_collector(Box::new(counted)))
}

async fn serve(
    loaded: Loaded,
    sources: Sources,
    logs: Logs,
    manner: Manner,
) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::catch()?;
    if loaded.added.denied {
        let path = loaded.added.path.display();
        anyhow::bail!("{path} cannot be read. Give Weir permission to read and write it");
    }
    let mut config = loaded.config.clone();
    descriptors::divide(&mut config);
    let data = Data::lock(&config.data)?;
    let state = File::open(data.path().join("state.db"))?;
    let running = Running::new(loaded.clone(), sources, logs);
    let listener = listen::tcp(config.web.listen, "web.listen", "--web").await?;
    let address = listener
        .local_addr()
        .context("the web listener has no address")?;
    // Fronts may take a while: files are read, tables migrated.
    let starting = Standing::by(listener, Standby::Starting);
    let stop = CancellationToken::new();
    let mut engines = engine::Engines::new(config.engine.clone(), &config.store, &state)?;
    engines.node = node::build(&config, &state, engines.timeline)?;
    let base = Base {
        config: &config,
        data: data.path(),
        state: &state,
        engines: &engines,
        desk: OnceCell::new(),
    };
    let fronts = Fronts::start(&base)?;
    let beat = engines.node.clone();
    let beat = beat.map(|node| Beating::start(node, &engines.vitals));
    let requests = Requests::default();
    let contributions = fronts.contributions(&requests);
    let mut contributions = contributions.map_err(anyhow::Error::from_boxed)?;
    let (saved, rows) = (fronts.clone(), engines.rows());
    let backups = Backups::open(data.path(), move || {
        saved.save().map_err(anyhow::Error::from_boxed)?;
        Ok(rows.flush()?)
    });
    let backups = backups.noting(&state)?;
    contributions.push(watch(
        backups.contribute(settings::contribution(
            &running,
            base.desk.into_inner(),
            backups.clone(),
        )),
        &engines.vitals,
        &state,
        &stop,
    ));
    contributions.push(upstreams::contribution(&running));
    let web = App::open_at(
        engines.node.clone(),
        config.web.clone(),
        &state,
        Arc::new(System),
        requests,
        contributions,
    )?;
    // Before anybody is told where Weir is: who comes then is served.
    let listener = starting.end().await?;
    let twice = listen::twice(listener).context("the web listener cannot be kept for the end");
    let (listener, after) = twice?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), %address, data = %data.path().display(), "started");
    let file = running.to_edit();
    if let Manner::Demo(_) = manner {
        tracing::warn!("{}", weir_web::DEMO);
        web.mark_as_demo();
    }
    greeting::print(&web, address, &fronts.greeting(), &loaded, &file)?;
    web.set_config_file(file);
    web.set_upstreams_file(loaded.added.path.display().to_string());

    running.set_parts(web.clone(), fronts.clone());
    fronts.serve(&web.porter());
    let mut after = Some(after);
    let mut stopping = None;
    let manager = Manager::of_environment(&ProcessEnvironment);
    let (vitals, written, seen) = (engines.vitals.clone(), state.clone(), web.clone());
    let mut heartbeat = Heartbeat::new(manager.clone(), move || {
        let alive = vitals.missing().is_empty() && written.is_writable();
        (alive, seen.sentence())
    });
    running.set_manager(manager.clone());
    manager.ready(&web.sentence());
    if let (Manner::Demo(begin), Some(key)) = (manner, web.key_was_made()) {
        let key = key.expose().to_owned();
        // If nobody waits for it, there are no clients to tell.
        let _ = begin.send(Begun { web: address, key });
    }
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
            _ = look.tick() => {
                running.reload_if_changed(&mut forwarders_file);
                backups.sweep();
            }
            () = heartbeat.beat() => {}
            signal = signals.next() => match signal {
                Signal::Reload => drop(running.reload()), // the log has the result
                Signal::Stop { name, .. } if !stop.is_cancelled() => {
                    tracing::info!(signal = name, drain = ?config.drain, "stopping; a second signal stops at once");
                    manager.stopping(config.drain);
                    stop.cancel();
                    let after = after.take().map(tokio::net::TcpListener::from_std);
                    let after = after.and_then(Result::ok);
                    stopping = after.map(|after| Standing::by(after, Standby::Stopping));
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
    backups.close();
    // After the fronts: what their last calls did belongs to what this node leaves behind.
    if let Some(beat) = beat {
        beat.stop().await;
    }
    fronts.close();
    drop(stopping);
    // Last, because fronts write to it until they are closed.
    state.close();
    tracing::info!("stopped");
    Ok(code)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::JoinSet;
    use weir_web::Icon;

    use super::*;

    async fn readyz(address: std::net::SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = "GET /readyz HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_thread_that_keeps_failing_and_a_stop_are_told_by_readyz() {
        let directory = tempfile::tempdir().unwrap();
        let state = File::open(directory.path().join("state.db")).unwrap();
        let (vitals, stop) = (Vitals::default(), CancellationToken::new());
        let front = Contribution::new("some", "Some", Icon::Settings);
        let front = watch(front, &vitals, &state, &stop);
        let (clock, requests) = (Arc::new(System), Requests::default());
        let config = weir_web::Config::default();
        let web = App::open(config, &state, clock, requests, vec![front]).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = JoinSet::new();
        let end = CancellationToken::new();
        server.spawn(weir_web::run(listener, web, end, Duration::ZERO));
        assert!(readyz(address).await.ends_with("\r\n\r\nready\n"));

        let vital = vitals.add("tracker", "udp");
        let mut runs = 0;
        let failing = std::thread::spawn(move || {
            let fail = || {
                runs += 1;
                match runs {
                    1..=3 => Err("no socket".to_owned()),
                    _ => Ok(()),
                }
            };
            vital.run(|| false, fail);
        });
        failing.join().unwrap();
        let answer = readyz(address).await;
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        let told = "not ready\ntracker: udp failed 3 times in a row: no socket\n";
        assert!(answer.ends_with(told), "{answer}");
        stop.cancel();
        assert!(readyz(address).await.ends_with("Weir is stopping.\n"));
    }
}
