//! When is what worth a message? Takes what is seen and the time, and says what has begun and what has ended.
//!
//! Each hook has a watch of its own, because hooks come and go, and one that was told of an outage must be told of its
//! end. An outage is told when it has lasted long enough, and its end when it has been over long enough: whatever
//! fails again before that is the same outage. For something that comes and goes that time doubles with each time it
//! was told, so that it is told less and less often. No clock and no I/O.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_engine::dispatch::Moment;

use crate::subject::{Subject, Whom};

/// An outage that begins within this time after the last one belongs to something that comes and goes.
const MEMORY: Duration = Duration::from_secs(6 * 3600);
/// How long something must have been over at most, however often it came and went.
const LONGEST: Duration = Duration::from_secs(3600);
/// After a start, and after our own network was away, nobody is called down before it could be tried once.
const GRACE: Duration = Duration::from_secs(60);

/// How one thing looks now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Fine,
    Bad {
        since: Moment,
    },
    /// Nobody knows: not tried yet, or switched off by an operator.
    Unclear,
}

/// Everything that is watched. What is missing is no longer there.
pub(crate) type Sightings = HashMap<Subject, Seen>;

/// How long things must last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) down_after: Duration,
    pub(crate) back_after: Duration,
    pub(crate) overload_after: Duration,
}

/// What has begun or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Happening {
    pub(crate) subject: Subject,
    pub(crate) turn: Turn,
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Began { since: Moment },
    Ended { since: Moment, until: Moment },
}

/// What came of a look.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Noticed {
    /// In the order in which they began or ended.
    pub(crate) happenings: Vec<Happening>,
    /// What must be kept from now on; `None` if nothing.
    pub(crate) changes: Vec<(Subject, Option<KeptCourse>)>,
}

/// What one hook was told, and what it may have to be told soon.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Watch {
    /// The hook itself: it is never told that it does not work.
    own: Whom,
    /// What is or was bad of late.
    courses: HashMap<Subject, Course>,
}

/// How far something is.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Course {
    stage: Stage,
    /// How often it was told in a row.
    repeats: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// It is bad, and was not told yet.
    Suspected {
        since: Moment,
        /// When it was first seen so.
        seen: Moment,
        /// When an outage before this was told as over.
        before: Option<Moment>,
    },
    Told {
        since: Moment,
    },
    /// It was told, and has been fine from then on.
    Mending {
        since: Moment,
        from: Moment,
    },
    /// It was told as over.
    Over {
        at: Moment,
    },
}

/// What is kept over a restart: what was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptCourse {
    /// Since when it is bad, unless it was told as over.
    since: Option<u64>,
    /// From when on it is fine again, if that is to be told.
    from: Option<u64>,
    /// When it was told as over.
    over: Option<u64>,
    repeats: u8,
}

impl Watch {
    /// The watch of a hook, with what it was told in an earlier run.
    pub(crate) fn restored(
        own: Whom,
        kept: impl IntoIterator<Item = (Subject, KeptCourse)>,
    ) -> Self {
        let courses = kept.into_iter().filter_map(|(subject, kept)| {
            let (since, from) = (kept.since.map(Moment), kept.from.map(Moment));
            let stage = match (since, from, kept.over.map(Moment)) {
                (Some(since), None, _) => Stage::Told { since },
                (Some(since), Some(from), _) => Stage::Mending { since, from },
                (None, _, Some(at)) => Stage::Over { at },
                (None, _, None) => return None,
            };
            let repeats = kept.repeats;
            Some((subject, Course { stage, repeats }))
        });
        Self {
            own,
            courses: courses.collect(),
        }
    }

    /// Compares what is seen now with what was seen before.
    pub(crate) fn look(&mut self, now: Moment, seen: &Sightings, terms: &Terms) -> Noticed {
        let mut noticed = Noticed::default();
        let bad = seen.iter().filter_map(|(subject, seen)| match seen {
            Seen::Bad { since } => Some((subject, *since)),
            Seen::Fine | Seen::Unclear => None,
        });
        let is_own = |subject: &Subject| match subject {
            Subject::Upstream(whom) | Subject::Quota(whom) => *whom == self.own,
            Subject::Network | Subject::Front(_) => false,
        };
        let ours = matches!(seen.get(&Subject::Network), Some(Seen::Bad { .. }));
        for (subject, since) in bad {
            let is_known = self.courses.contains_key(subject) || is_own(subject);
            if !is_known {
                let course = Course {
                    stage: Stage::Suspected {
                        since,
                        seen: now,
                        before: None,
                    },
                    repeats: 0,
                };
                self.courses.insert(subject.clone(), course);
            }
        }
        self.courses.retain(|subject, course| {
            let kept = course.kept();
            let state = match seen.get(subject) {
                None => None,
                Some(_) if ours && subject.needs_network() => Some(Seen::Unclear),
                Some(state) => Some(*state),
            };
            let next = state.and_then(|state| {
                let (next, turn) = course.next(state, now, subject, terms);
                noticed.happenings.extend(turn.map(|turn| Happening {
                    subject: subject.clone(),
                    turn,
                }));
                next
            });
            let keep = next.and_then(|next| next.kept());
            if keep != kept {
                noticed.changes.push((subject.clone(), keep));
            }
            *course = next.unwrap_or(*course);
            next.is_some()
        });
        noticed.happenings.sort_by(|one, other| {
            let of = |happening: &Happening| match happening.turn {
                Turn::Began { since } => since,
                Turn::Ended { until, .. } => until,
            };
            let by_time = of(one).cmp(&of(other));
            by_time.then_with(|| one.subject.cmp(&other.subject))
        });
        noticed
    }
}

impl Subject {
    /// Whether nothing can be said of it while our own network is away.
    fn needs_network(&self) -> bool {
        matches!(self, Self::Upstream(_) | Self::Quota(_))
    }

    /// How long it must be bad.
    fn after(&self, terms: &Terms) -> Duration {
        match self {
            Self::Upstream(_) => terms.down_after,
            Self::Front(_) => terms.overload_after,
            Self::Quota(_) | Self::Network => Duration::ZERO,
        }
    }
}

impl Course {
    /// What comes next, and what is to be told. `None` when nothing is left to remember.
    fn next(
        self,
        state: Seen,
        now: Moment,
        subject: &Subject,
        terms: &Terms,
    ) -> (Option<Self>, Option<Turn>) {
        let repeats = self.repeats;
        let stay = |stage| (Some(Self { stage, repeats }), None);
        match (self.stage, state) {
            (
                Stage::Suspected {
                    since,
                    seen,
                    before,
                },
                Seen::Bad { since: again },
            ) => {
                let (since, after) = (since.min(again), subject.after(terms));
                let lasts = since.until(now) >= after && seen.until(now) >= after.min(GRACE);
                if !lasts {
                    return stay(Stage::Suspected {
                        since,
                        seen,
                        before,
                    });
                }
                let repeats = match before {
                    Some(at) if at.until(now) < MEMORY => repeats.saturating_add(1),
                    _ => 0,
                };
                let stage = Stage::Told { since };
                (Some(Self { stage, repeats }), Some(Turn::Began { since }))
            }
            (Stage::Suspected { before, .. }, Seen::Fine | Seen::Unclear) => match before {
                Some(at) => stay(Stage::Over { at }),
                None => (None, None),
            },
            (Stage::Told { since }, Seen::Fine) => {
                // At once if so configured.
                let stage = Stage::Mending { since, from: now };
                Self { stage, repeats }.mended(now, terms)
            }
            (Stage::Mending { .. }, Seen::Fine) => self.mended(now, terms),
            (Stage::Mending { since, .. }, Seen::Bad { .. }) => stay(Stage::Told { since }),
            (Stage::Over { at }, Seen::Bad { since }) => stay(Stage::Suspected {
                since: since.max(at),
                seen: now,
                before: Some(at),
            }),
            (Stage::Over { at }, _) if at.until(now) >= MEMORY => (None, None),
            (stage, _) => stay(stage),
        }
    }

    /// Something that is fine again: has it been so long enough?
    fn mended(self, now: Moment, terms: &Terms) -> (Option<Self>, Option<Turn>) {
        let Stage::Mending { since, from } = self.stage else {
            return (Some(self), None);
        };
        let doubled = terms.back_after.saturating_mul(1 << self.repeats.min(16));
        let wait = doubled.min(LONGEST.max(terms.back_after));
        if from.until(now) < wait {
            return (Some(self), None);
        }
        let stage = Stage::Over { at: now };
        let turn = Turn::Ended { since, until: from };
        (Some(Self { stage, ..self }), Some(turn))
    }

    /// What a restart must not forget.
    fn kept(self) -> Option<KeptCourse> {
        let (since, from, over) = match self.stage {
            Stage::Suspected { before, .. } => (None, None, Some(before?)),
            Stage::Told { since } => (Some(since), None, None),
            Stage::Mending { since, from } => (Some(since), Some(from), None),
            Stage::Over { at } => (None, None, Some(at)),
        };
        let number = |moment: Moment| moment.0;
        Some(KeptCourse {
            since: since.map(number),
            from: from.map(number),
            over: over.map(number),
            repeats: self.repeats,
        })
    }
}
