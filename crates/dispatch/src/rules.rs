//! The rules that the dispatcher obeys, numbered so that code and tests can cite them (`Rule 17`).
//!
//! The naive model in `tests/model` is a second implementation of the same rules, made of plain lists and
//! full scans; every topic of `tests/topics` and thousands of random histories run on both. Whoever changes
//! a rule changes it here, in the code that cites it, and in the model.
//!
//! # Time
//!
//! 1. The caller gives the time, and it never runs backwards: an operation with an earlier moment than the
//!    last one happens at the last one.
//! 2. A time has passed at exactly its moment: gaps, windows, cooldowns, pauses, aging and due times all hold
//!    at `<= now`.
//! 3. Before an operation, what time alone brings happens in order of time. At one moment the order is: workers
//!    given back, the crew's step, jobs that fall due, then the operation.
//!
//! # Whose turn it is
//!
//! 4. Jobs of one upstream, class and budget start in the order of their submit numbers. Each budget has queues
//!    of its own, so that a grab never waits behind a query that waits for spacing.
//! 5. A job gets its submit number when it enters the queue, and waits from then on. A job from the agenda enters
//!    at its due moment, however late the dispatcher is asked.
//! 6. An upstream offers at most one job: an operator's probe, else the head of an aged queue, else the head of
//!    the most urgent class whose gap has passed and whose windows have room. Among the budgets of one class the
//!    lowest submit number goes first.
//! 7. A queue is aged when its head has waited for [`Policy::aging`] plus the gap of its class
//!    ([`Quota::gaps`]), counted from the head's submission or the queue's last start, whichever is later. Of several aged queues the longest wait
//!    goes first, then the more urgent class, then the lower submit number.
//! 8. Aging takes a slot that opened for another class and never adds one: an aged query starts only when the
//!    gap of some waiting query has passed, and side calls and grabs, which know no gap, open no slot for it. So
//!    two queries are never closer together than the smallest gap that waits.
//! 9. A free worker takes the offer of the most urgent class. A class whose offered job has waited for `aging`
//!    since its submission and since the class last started on this front goes before; of several the longest
//!    wait, then the more urgent. Within a class the lowest submit number goes first.
//! 10. A job whose order key is under way stands aside: it counts as queued, lets later jobs pass, and takes its
//!     place again, by its submit number, when that call ends.
//! 11. Of all that its upstream demands, only the in-flight limit holds an operator's probe. It needs a worker,
//!     its order key, room in the queue and a front that is neither held nor paused, as others do; it counts in
//!     windows and starts the spacing clock; it belongs to no queue and has no second attempt.
//! 12. A raised job keeps its submit number and the time it has waited, so it may be aged at once. It is not judged
//!     anew as a submission is; from then on the max-wait of its new class holds.
//! 13. A class beyond the policy's last counts as the last. An in-flight limit of 0 and 0 attempts count as 1.
//!
//! # Submission
//!
//! 14. The checks of a submission come in this order: upstream gone, shut down, pending key taken, not before a
//!     later time, off, cooldown, max-wait, queue full, backlog full.
//! 15. A job for later goes to the agenda whatever the state of its upstream, which is asked when the job is due.
//!     The agenda refuses a scheduled key that it holds already, then every job while it is full.
//! 16. A skip says why. Off has neither wait nor limit; a cooldown that ends the class ([`OnCooldown::End`]) has the
//!     time left and no limit, and comes before max-wait; max-wait has both, and skips a job whose upstream's next
//!     wait is longer than the limit, not one whose wait equals it.
//! 17. One upstream's share of the queue is twice an even share, but at most half of the queue and at least
//!     [`Policy::backlog_floor`]; a single upstream has all of it. Upstreams that are off or cool down count as
//!     well, and jobs that were queued before the share shrank stay.
//! 18. A class that overflows to the agenda does so for a full queue and for a full backlog, due after
//!     [`Policy::put_off`]. What the agenda refuses then is dropped for the agenda's reason.
//! 19. Every job that was taken in ends exactly once. Within one operation the order of ends is not promised. A job that is
//!     skipped, dropped or put off leaves a record with the reason, whether it was taken in or not; only one for an
//!     upstream that was gone before leaves none.
//!
//! # Agenda
//!
//! 20. Jobs fall due by time, those of one moment in the order in which they were taken in.
//! 21. A due job is judged like a new one: it is skipped if its upstream is off, cools down or makes it wait too
//!     long, put off if there is no room, and queued otherwise.
//! 22. Jobs of every class are put off, for a full queue and for a full backlog, counted from the due moment. The
//!     agenda is not asked for room: they never left it.
//!
//! # Max-wait
//!
//! 23. An upstream's next wait is the longest of off, cooldown, window and gap; of equal ones the first is named.
//!     The in-flight limit, probing, workers, hold and pause are no part of it. While off, or gone, it has no end.
//! 24. After every operation each head whose next wait is longer than it accepts is skipped, then the one behind
//!     it. Next waits grow through operations alone, so the mere passing of time never skips a head.
//! 25. When a cooldown begins or grows, all queued jobs of the upstream are judged, not only the heads; those that
//!     stand aside are judged only then. Probes stay.
//!
//! # Cooldowns
//!
//! 26. Calls that started before the latest cooldown began count neither as failures nor as successes, not even
//!     when it is over or was cleared. Only a time that the upstream names is kept to.
//! 27. A cooldown never gets shorter: another one replaces it only if it ends later, and brings its own cause.
//! 28. When a cooldown is over its upstream is probing: a call starts only while no other of whatever kind is in
//!     flight, until one succeeds.
//! 29. A failed try while probing climbs a rung at once and ends its job, whatever attempts are left; what showed as
//!     disabled shows as disabled again. If the cooldown was cleared meanwhile, the call counts like any other.
//! 30. A probe that an operator starts during a cooldown can only help: its failure changes nothing unless the
//!     upstream names a later end, its success ends the cooldown. Started at another time it counts like any call.
//! 31. A throttled call cools down for the time that the upstream names, else for the front's own
//!     ([`FailurePolicy::throttled`]), and is no failure; with neither it climbs a rung. A named time of 0 is none;
//!     named times are cut to [`FailurePolicy::longest`].
//! 32. A rejected call climbs one rung at once and disables, for the longer of that rung and the named time. At the
//!     top of the ladder the last rung repeats.
//! 33. While open, a job without a further attempt is one failure, and [`FailurePolicy::threshold`] in a row begin
//!     the first cooldown. Done, no and again set row and rung to 0; our own network and a panic change nothing.
//! 34. An operator's clear ends the cooldown, sets row and rung to 0 and forgets told limits; it does not switch on.
//!     While off, cooldowns begin and end unseen.
//!
//! # Attempts
//!
//! 35. A wish to be asked again uses up no attempt, and its wait is not stretched by jitter.
//! 36. Calls after a job's first, also those that an upstream wished for, are made in [`Policy::again_class`].
//! 37. A further attempt goes to the agenda although its upstream cools down or is off by then; what it meets when
//!     due decides.
//! 38. A further attempt that finds its upstream gone, the front shut down, its scheduled key taken or the agenda
//!     full ends the job for the first of these, in place of the attempt's outcome, and counts as no failure.
//! 39. The wait after the `n`th attempt is `retry_base × 2^(n−1) × (1000 + jitter) ÷ 1000`, rounded down once; more
//!     jitter than 500 counts as 500. When our own network failed it is at least the pause.
//! 40. A pause stops starts and nothing else; of several the longest holds.
//!
//! # Crew
//!
//! 41. Steps fall on whole multiples of [`CrewPolicy::step`] after the start, also in the middle of a jump in time,
//!     and each sees the fill just before it.
//! 42. A worker leaves only between calls: the size falls at once, and nothing starts until fewer calls hold a
//!     worker than that. A maximum below the base counts as the base.
//! 43. A call as old as [`CrewPolicy::slot_time`] gives its worker back and counts as waiting. Where no more may
//!     wait it keeps its worker until there is room; then the call that started first goes first.
//! 44. An upstream is slow from the moment one of its calls gives its worker back until one ends sooner than
//!     `slot_time` after its start, however it ends. A call that starts at a slow upstream needs a free worker but
//!     holds none while there is room to wait: a dead upstream holds a worker once and not at every call.
//! 45. Only a worker given back makes an upstream slow: neither a call that grew old without room to wait, nor one
//!     that waited from its start.
//! 46. Within one end of a call, the end comes before the workers given back. They may make the upstream slow again,
//!     and take the room to wait before a call that starts.
//! 47. Nothing but calls changes slowness, and a restart forgets it. With a `slot_time` of 0 no end is early.
//!
//! # Windows
//!
//! 48. A window is known by its length; a budget has any number of them, each length once. One counts starts only
//!     while it has a limit: one that gets a limit later begins empty. A changed limit keeps its starts.
//! 49. A start is counted in every window of its budget before its call is made, and leaves a sliding one exactly its
//!     length later. Only the window of 24 hours may have resets; a start made at a reset belongs to the new day.
//! 50. What an upstream tells about a configured window is ignored. A told limit of 0 counts as 1 (a configured 0
//!     never opens), and what was used beyond our own starts counts as starts made now, in that window alone.
//! 51. A told limit is forgotten at the first start two windows after it was told, when an operator clears, and half
//!     a window after a restart.
//!
//! # First tries
//!
//! 54. An upstream is untried until a call to it succeeds for the first time (done, no, again), whenever that call
//!     started. It is treated as an open one; only its name differs. A restart remembers it.
//! 55. A trial ([`Job::trial`]) waits like any job of its class and has one attempt. Where it, or an operator's probe, fails
//!     at an untried upstream, that changes nothing, except that a time which the upstream names is kept to; at any other
//!     upstream it counts like any call.
//!
//! # Restart
//!
//! 52. A stored end is cut to the longest that its kind may last from now. A stored start in the future counts as
//!     now, and so does a due time in the past.
//! 53. Queued jobs are lost; aging, pause and slowness begin anew.
//!
//! # Several nodes
//!
//! 56. An upstream is shared while other nodes call it too. Where none is shared, none of the rules below says anything.
//! 57. At a shared upstream a chosen job asks before it starts if its budget has a limited window, if it is a query and any
//!     class has a gap, or if it claims a question ([`Job::claims`]). Operators' probes never ask. It asks with the gap of
//!     its class or, where it is aged and that has not passed, with the smallest among the queries that wait; side calls
//!     and grabs ask with none.
//! 58. Of each upstream one job asks at a time; until it has its answer, nothing but operators' probes is offered there. So
//!     rule 4 holds whatever answers take.
//! 59. While it asks, a job is not queued, keeps its submit number, and counts as a call for the in-flight limit, for
//!     probing (rule 28) and for order keys (rule 10). It holds a worker until its answer, at a slow upstream too. It is no
//!     start: it counts in no window, starts no clock and uses up no attempt. It can be cancelled and raised; raised, it
//!     goes on asking with the gap that it asked with.
//! 60. When a cooldown of its upstream begins or grows, when that is switched off, removed or gets
//!     another quota, and at shutdown, a job that asks goes back to its queue before all else, and is judged there with the others. An answer that comes later, or for a job
//!     that ended, changes nothing.
//! 61. A granted job starts, unless by then the front is held or paused, its upstream's next wait (with the gap that it
//!     asked with) is longer than nothing, or its upstream is probing and has another call in flight: then it goes back to
//!     its queue and the permission is given back.
//! 62. A job goes back to its queue by its submit number, whether there is room or not, and has waited since its submission.
//!     Then rule 24 holds as after every operation. One that is put back without an answer asks again when its turn comes, and
//!     leaves no record.
//! 63. A refusal for a window takes all windows of its budget for full until then, in place of an earlier one. So does one for
//!     any reason that rule 64 does not cover, such as a gap where the job asked with none. That is part of the next wait
//!     (rule 23), which has the reason of the refusal. It is named with the window that the others found full, whose use is
//!     shown as all nodes see it together, and is forgotten when it is over at the next start,
//!     with another quota, when an operator clears, when the upstream is shared no longer, and at a restart. Where its end is
//!     only when the job asks again ([`Wait::Agreeing`], [`Wait::Share`] of nothing), no window shows it, and a
//!     refusal that repeats it leaves no record.
//! 64. A refusal for the gap moves the spacing clock forward, never back, so that the gap that was asked with ends then. A
//!     refusal for a cooldown, and throttling that is heard of in another way, begins a cooldown as if a call had been told
//!     so: cut to [`FailurePolicy::longest`], and only if it ends later than the present one by more than a second, since
//!     nodes never quite agree on the time.
//! 65. A refusal holds for at least a millisecond and at most a day, whatever it says.
//! 66. A job that is deferred goes to the agenda, if that takes it (rule 15), and is dropped otherwise; no attempt is used
//!     up. When it is due it goes back to its queue by its submit number, and has waited since its submission; the first
//!     time is recorded. It can be deferred again, to an earlier moment too. A job that is answered by another node ends without a call,
//!     wherever it is, unless its call is under way.
//!
//! [`CrewPolicy::slot_time`]: crate::policy::CrewPolicy::slot_time
//! [`CrewPolicy::step`]: crate::policy::CrewPolicy::step
//! [`FailurePolicy::longest`]: crate::policy::FailurePolicy::longest
//! [`FailurePolicy::threshold`]: crate::policy::FailurePolicy::threshold
//! [`FailurePolicy::throttled`]: crate::policy::FailurePolicy::throttled
//! [`OnCooldown::End`]: crate::policy::OnCooldown::End
//! [`Wait::Agreeing`]: crate::Wait::Agreeing
//! [`Wait::Share`]: crate::Wait::Share
//! [`Job::claims`]: crate::Job::claims
//! [`Job::trial`]: crate::Job::trial
//! [`Policy::again_class`]: crate::Policy::again_class
//! [`Policy::aging`]: crate::Policy::aging
//! [`Policy::backlog_floor`]: crate::Policy::backlog_floor
//! [`Policy::put_off`]: crate::Policy::put_off
//! [`Quota::gaps`]: crate::Quota::gaps
