//! The writer thread of a file: takes all waiting writes, runs them in one transaction and answers after the commit.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
    thread::{Builder, JoinHandle},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::mpsc;

use super::health::Health;
use crate::Error;

/// Maximum writes per commit, so that the first of them never waits long.
const GROUP: usize = 256;

/// A job in the queue.
pub(super) enum Job {
    /// Shares a transaction with its neighbours.
    Write(Write),
    /// Gets the connection itself, because it manages its own transactions.
    Exclusive(Exclusive),
}

pub(super) type Exclusive = Box<dyn FnOnce(&mut Connection) + Send>;
type Answer = Box<dyn FnOnce(Result<(), &Arc<rusqlite::Error>>, &Health)>;
type Run = Box<
    dyn FnOnce(Result<&Transaction<'_>, &Arc<rusqlite::Error>>, &Health) -> Option<Answer> + Send,
>;

/// A caller's closure, and the callback for its result.
pub(super) struct Write {
    durable: bool,
    run: Run,
}

impl Write {
    pub(super) fn new<T, F, A>(durable: bool, work: F, answer: A) -> Self
    where
        T: 'static,
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
        A: FnOnce(Result<T, Error>) + Send + 'static,
    {
        let run: Run = Box::new(move |transaction, health| {
            let transaction = match transaction {
                Ok(transaction) => transaction,
                Err(refused) => {
                    answer(Err(health.not_committed(refused)));
                    return None;
                }
            };
            match isolated(transaction, work, health) {
                Ok(value) => Some(Box::new(
                    move |committed: Result<(), &Arc<rusqlite::Error>>, health: &Health| {
                        let committed = committed.map_err(|error| health.not_committed(error));
                        answer(committed.map(|()| value));
                    },
                ) as Answer),
                Err(error) => {
                    answer(Err(error));
                    None
                }
            }
        });
        Self { durable, run }
    }
}

pub(super) fn start(
    path: &Path,
    connection: Connection,
    waiting: mpsc::Receiver<Job>,
    health: Arc<Health>,
) -> Result<JoinHandle<()>, Error> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    Builder::new()
        .name(format!("store {stem}"))
        .spawn(move || work(connection, waiting, &health))
        .map_err(|source| Error::Refused {
            path: path.to_owned(),
            source,
        })
}

fn work(mut connection: Connection, mut waiting: mpsc::Receiver<Job>, health: &Health) {
    while let Some(first) = waiting.blocking_recv() {
        if health.is_abandoned() {
            // Whoever waits for the dropped job gets `Error::Closed`.
            continue;
        }
        let mut next = Some(first);
        let mut group = Vec::new();
        while let Some(Job::Write(write)) = next.take_if(|job| matches!(job, Job::Write(_))) {
            group.push(write);
            if group.len() < GROUP {
                next = waiting.try_recv().ok();
            }
        }
        // Dropping an open transaction rolls it back. The thread goes on, because without it nothing would be stored
        // any more.
        let done = catch_unwind(AssertUnwindSafe(|| {
            if !group.is_empty() {
                commit(&mut connection, group, health);
            }
        }));
        let alone = catch_unwind(AssertUnwindSafe(|| {
            if let Some(Job::Exclusive(alone)) = next {
                alone(&mut connection);
            }
        }));
        for panic in [done, alone].into_iter().filter_map(Result::err) {
            tracing::error!(panic = text(&*panic), "work on the store panicked");
        }
    }
    if health.is_abandoned() {
        return;
    }
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
        tracing::warn!(%error, "the write-ahead log of the store remains until the next start");
    }
}

fn commit(connection: &mut Connection, group: Vec<Write>, health: &Health) {
    let durable = group.iter().any(|write| write.durable);
    let mode = if durable { "FULL" } else { "NORMAL" };
    let begun = connection
        .pragma_update(None, "synchronous", mode)
        .and_then(|()| connection.transaction_with_behavior(TransactionBehavior::Immediate));
    let transaction = match begun {
        Ok(transaction) => transaction,
        Err(error) => {
            let error = Arc::new(error);
            tracing::error!(%error, "the store cannot begin a transaction");
            group
                .into_iter()
                .for_each(|write| drop((write.run)(Err(&error), health)));
            return;
        }
    };
    let answers: Vec<Answer> = group
        .into_iter()
        .filter_map(|write| (write.run)(Ok(&transaction), health))
        .collect();
    let committed = transaction.commit().map_err(Arc::new);
    if let Err(error) = &committed {
        tracing::error!(%error, "the store cannot commit");
    }
    for answer in answers {
        // If one panics, the others must still get their answers.
        let told = catch_unwind(AssertUnwindSafe(|| {
            answer(committed.as_ref().copied(), health)
        }));
        if let Err(panic) = told {
            tracing::error!(
                panic = text(&*panic),
                "the callback of a write to the store panicked"
            );
        }
    }
}

/// Runs one closure so that a failure or panic rolls back only its own changes.
fn isolated<T>(
    transaction: &Transaction<'_>,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    health: &Health,
) -> Result<T, Error> {
    if transaction.is_autocommit() {
        // The transaction is already gone; a savepoint would now start, and commit, a transaction of its own.
        return Err(Error::GivenUp);
    }
    transaction.execute_batch("SAVEPOINT one")?;
    let done = catch_unwind(AssertUnwindSafe(|| work(transaction)));
    let done = match done {
        Ok(result) => result.map_err(|source| health.heard(source)),
        Err(panic) => Err(Error::Panicked(text(&*panic).to_owned())),
    };
    match done {
        Ok(value) => {
            transaction.execute_batch("RELEASE one")?;
            Ok(value)
        }
        Err(error) => {
            // A full disk ends the whole transaction. Then there is no savepoint left, and the failing commit
            // tells everyone else.
            let _ = transaction.execute_batch("ROLLBACK TO one; RELEASE one");
            Err(error)
        }
    }
}

fn text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
