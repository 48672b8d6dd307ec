//! Which scheduled job is due next.
//!
//! A tree and not a heap, because jobs are also cancelled and listed in order, and because hours may pass between
//! two of them: there is nothing to gain from a timer wheel's ticks, which would also make due times inexact.

use std::collections::BTreeMap;

use crate::job::JobKey;
use crate::jobs::JobSlot;
use crate::moment::Moment;
use crate::spread::KeyTable;

/// Jobs for a later time, due to the nanosecond. Its cap is the dispatcher's business (`agenda_refuses`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    /// By due time, then by the serial number of the job (rule 20).
    entries: BTreeMap<(Moment, u64), JobSlot>,
    /// The jobs that have a scheduled key; each key is here at most once (rule 15).
    keys: KeyTable<JobKey, JobSlot>,
}

impl Agenda {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn holds(&self, key: Option<JobKey>) -> bool {
        self.find(key).is_some()
    }

    /// The job with this key.
    pub(crate) fn find(&self, key: Option<JobKey>) -> Option<JobSlot> {
        key.and_then(|key| self.keys.get(&key).copied())
    }

    pub(crate) fn insert(&mut self, place: (Moment, u64), key: Option<JobKey>, slot: JobSlot) {
        self.entries.insert(place, slot);
        if let Some(key) = key {
            self.keys.insert(key, slot);
        }
    }

    pub(crate) fn remove(&mut self, place: (Moment, u64), key: Option<JobKey>) {
        self.entries.remove(&place);
        if let Some(key) = key {
            self.keys.remove(&key);
        }
    }

    /// The job that is due next, and when.
    pub(crate) fn next(&self) -> Option<(Moment, JobSlot)> {
        self.entries
            .first_key_value()
            .map(|(&(due, _), &slot)| (due, slot))
    }

    /// All jobs, soonest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Moment, JobSlot)> + '_ {
        self.entries.iter().map(|(&(due, _), &slot)| (due, slot))
    }
}
