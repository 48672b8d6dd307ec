//! Weir is killed and starts again: what was written is as it was, what was not is gone, and its numbers are nobody else's.

use std::collections::BTreeMap;

use weir_engine::Kind;
use weir_engine::dispatch::Moment;

use super::book::{Book, Fact, KEPT, MOST};
use super::story::Story;
use super::*;

/// Records are written once a minute. The second is for whoever gathers them.
const WRITTEN: Duration = Duration::from_secs(61);
/// Cooldowns and switches are written within `store.write_every`.
const ROWS: Duration = Duration::from_secs(1);

impl Story {
    /// Kills it. Nothing that it does as its tasks end reaches a file, or a program.
    pub(super) async fn kill(&mut self, pause: Duration) {
        turn().await;
        self.hear();
        self.book.look(&self.world);
        let at = self.world.timeline.now();
        self.kills.push(at);
        self.world.state.close();
        self.asks.shutdown().await;
        // Their connections broke, and no history tells of them.
        self.heard.retain(Option::is_some);
        self.world.front.stop(Duration::ZERO).await;
        self.world.front.close();
        self.start_again(pause).await;
        self.book.kill(&self.world, at);
    }

    /// Records about whoever was answered then may have been lost with a kill.
    pub(super) fn may_be_lost(&self, (began, ended): (Moment, Moment)) -> bool {
        let lost = |at: &&Moment| began <= **at && ended + WRITTEN >= **at;
        self.kills.iter().find(lost).is_some()
    }
}

/// Whether what was first said then may have been lost with a kill at the moment `at`.
pub(super) fn is_lost(said: Moment, at: Moment) -> bool {
    said + ROWS >= at
}

/// However often it was killed: each call was counted before it was made.
pub(super) fn no_window_was_exceeded(story: &Story) {
    let requests = story.indexers[1].seen().into_iter();
    let calls = requests.filter(|seen| !seen.bytes.starts_with(b"GET /file/"));
    let times: Vec<_> = calls.map(|seen| seen.at).collect();
    for (index, time) in times.iter().enumerate() {
        // At the moment of a change it is one or the other.
        let until = story.limits.iter().skip(1).map(|(since, _)| Some(since));
        let limits = story.limits.iter().zip(until.chain([None]));
        let in_force = limits
            .filter(|((since, _), until)| since <= time && until.is_none_or(|until| until >= time));
        let most = in_force.map(|((_, most), _)| most).max();
        let most = most.expect("there was one from the beginning");
        let before = times[..index].iter();
        let same = before.filter(|before| time.duration_since(**before) < Duration::from_secs(299));
        let count = same.count() + 1;
        assert!(
            count <= *most as usize,
            "{count} of {most} calls: {times:?}, {:?}",
            story.limits
        );
    }
}

impl Book {
    /// Whether there may have been later ones that were lost.
    pub(super) fn is_from_before_a_kill(&self, name: &str, number: u64) -> bool {
        let mut cuts = self.cuts.iter().filter(|(of, _)| of == name);
        cuts.any(|(_, cut)| number <= *cut)
    }

    /// Weir was killed at this moment, and is there again.
    fn kill(&mut self, world: &World, at: Moment) {
        let now = world.timeline.now();
        for row in world.engine.upstreams(0, usize::MAX) {
            let name = row.name.to_string();
            let (_, records) = world
                .engine
                .upstream_with_records(row.upstream)
                .expect("it is there");
            let again: BTreeMap<u64, Fact> = records
                .iter()
                .map(|record| (record.number, Fact::of(world, &name, record)))
                .collect();
            let known: Vec<u64> = self.of(&name).map(|(number, _)| number).collect();
            let highest = known.last().copied().unwrap_or_default();
            assert!(
                again.keys().all(|number| known.contains(number)),
                "{name}: a record that nobody has seen: {again:?}"
            );
            let oldest = again.keys().next().copied().unwrap_or(u64::MAX);
            for number in known {
                let place = (name.clone(), number);
                let (before, since) = (&self.facts[&place], self.seen[&place]);
                let was_written = since + WRITTEN < at;
                match again.get(&number) {
                    Some(after) => after.survives(before, was_written, &place),
                    None if before.at + KEPT <= now => {}
                    None if number < oldest && again.len() >= MOST => {}
                    None => {
                        assert!(!was_written, "{place:?} was lost: {before:?}");
                        self.facts.remove(&place);
                    }
                }
            }
            for (number, fact) in again {
                let place = (name.clone(), number);
                self.seen.insert(place.clone(), now);
                self.facts.insert(place, fact);
            }
            self.cuts.push((name, highest));
        }
        self.restart(world);
    }
}

impl Fact {
    /// Fails unless this is `before` after a kill.
    fn survives(&self, before: &Self, was_written: bool, place: &(String, u64)) {
        let was_lost = self.end.is_some_and(|(kind, _)| kind == Kind::Lost);
        if was_lost && before.end != self.end {
            assert!(before.is_start(), "{place:?}: {before:?}, then {self:?}");
            assert!(
                before.end.is_none() || !was_written,
                "{place:?}: {before:?}"
            );
            let told = self.sentence.contains("how it ended is not known");
            assert!(told, "{place:?}: {self:?}");
            return;
        }
        let had_got = self.got == before.got || !was_written;
        assert!(had_got, "{place:?}: {before:?}, then {self:?}");
        let same = Self {
            got: self.got,
            sentence: match self.got == before.got {
                true => before.sentence.clone(),
                false => self.sentence.clone(),
            },
            ..before.clone()
        };
        assert!(*self == same, "{place:?}: {before:?}, then {self:?}");
    }
}
