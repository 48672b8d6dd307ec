//! The tracker's card on the overview.

use std::time::Duration;

use weir_engine::StateCounts;
use weir_engine::words::counted;
use weir_web::{Card, CardOverload, CardState, CardView, Figure, Upstreams};

use crate::forwarding::overload::{Lately, Overload};
use crate::look::Look;
use crate::sharing::SharingCount;

/// What to write to have listeners.
const LINES: &str = "tracker:\n  http_listen: \"[::]:6969\"\n  udp_listen: \"[::]:6969\"";

impl Card for Look {
    fn view(&self) -> CardView {
        if self.listening().is_empty() {
            return CardView {
                state: CardState::Off,
                sentence: "Both listeners are off. Set one of them and restart Weir.".into(),
                figures: Vec::new(),
                lines: Some(LINES.into()),
            };
        }
        let totals = self.totals();
        let counters = self.forwarders().engine().status().counters;
        let mut figures = vec![
            Figure::count("Swarms", totals.swarms.into()),
            Figure::count("Peers", totals.peers().into()),
            Figure::flow("Requests", counters.asked),
            Figure::flow("From memory", counters.from_memory),
            Figure::flow("Calls made", counters.sent),
        ];
        if let Some(sharing) = self.sharing() {
            let read = sharing.figures.get(SharingCount::Read);
            figures.push(Figure::flow("From other nodes", read));
        }
        // They add up; what is usually nothing is shown when it is something.
        for (label, count) in [
            ("Skipped", counters.skipped),
            ("Dropped", counters.dropped),
            ("Refused", counters.refused),
            ("Already queued", counters.duplicates),
            ("Cancelled", counters.cancelled + counters.shut_down),
            ("Waiting", counters.waiting()),
        ] {
            if count > 0 {
                figures.push(Figure::flow(label, count));
            }
        }
        let (state, overloaded) = match self.overload() {
            None => (CardState::Answering, String::new()),
            Some(CardOverload { clause, .. }) => {
                (CardState::Overloaded, format!("Overloaded: {clause}. "))
            }
        };
        CardView {
            state,
            sentence: overloaded + &self.sentence(),
            figures,
            lines: None,
        }
    }

    fn overload(&self) -> Option<CardOverload> {
        overload(&self.lately())
    }

    fn thresholds(&self) -> Vec<(u32, &'static str)> {
        let rules = self.tracker().terms().forwarding;
        let fewer = (rules.throttle_to > 0).then_some((rules.throttle_at, "top-N"));
        let all = fewer.into_iter().chain([(rules.limit_at, "tokens")]);
        all.filter(|(at, _)| *at > 0).collect()
    }
}

/// What the tracker does not do at the moment, in words; `None` if it copes.
fn overload(lately: &[Lately]) -> Option<CardOverload> {
    let since = lately.iter().map(|lately| lately.since).max();
    let since: Duration = since?;
    let mut counts: Vec<(&'static str, u64)> = Vec::new();
    for lately in lately {
        let (name, ..) = words(lately.what);
        match counts.iter_mut().find(|(same, _)| *same == name) {
            Some((_, sum)) => *sum += lately.count,
            None => counts.push((name, lately.count)),
        }
    }
    let clauses: Vec<String> = counts
        .iter()
        .filter_map(|(name, count)| {
            let what = lately.iter().map(|lately| words(lately.what));
            let (_, one, more, done) = what.into_iter().find(|(same, ..)| same == name)?;
            Some(format!("{} {done}", counted(*count, one, more)))
        })
        .collect();
    let clause = match &clauses[..] {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        all => all.concat(),
    };
    Some(CardOverload {
        since,
        clause: format!("{clause} in the last minute"),
        counts,
    })
}

/// What it is called in the API, what it happened to, and what happened.
fn words(what: Overload) -> (&'static str, &'static str, &'static str, &'static str) {
    let (first, firsts) = ("first announce", "first announces");
    match what {
        Overload::NoToken | Overload::FirstFull => {
            ("first_announces_refused", first, firsts, "refused")
        }
        Overload::NoTokenAnswered | Overload::FirstFullAnswered => {
            ("first_announces_dropped", first, firsts, "not sent on")
        }
        Overload::AgainFull => (
            "re_announces_dropped",
            "re-announce",
            "re-announces",
            "dropped",
        ),
        Overload::LeftOut | Overload::LastPlaces | Overload::Slow => {
            ("forwarders_left_out", "forwarder", "forwarders", "left out")
        }
        Overload::CompletedLost => (
            "completed_dropped",
            "completed event",
            "completed events",
            "dropped",
        ),
        Overload::Full | Overload::Crowded => (
            "new_peers_refused",
            "new peer",
            "new peers",
            "refused (tracker full)",
        ),
        Overload::NotAllowed | Overload::Denied => (
            "announces_refused",
            "announce",
            "announces",
            "refused (not served)",
        ),
        Overload::StoppedLate => (
            "stopped_delayed",
            "stopped event",
            "stopped events",
            "delayed",
        ),
    }
}

impl Look {
    fn sentence(&self) -> String {
        let totals = self.totals();
        let here = match totals.swarms {
            0 => "No swarms yet".to_owned(),
            swarms => format!(
                "{}, {}",
                counted(swarms, "swarm", "swarms"),
                counted(totals.peers(), "peer", "peers")
            ),
        };
        let where_it_answers = answers_on(&self.ports("udp"), &self.ports("http"));
        let mut sentence = format!("{here}; {where_it_answers}.");
        let count = self.forwarders().all().len();
        if count > 0 {
            let trackers = counted(count as u64, "tracker", "trackers");
            sentence += &format!(" Announces are forwarded to {trackers}.");
            let counts = StateCounts::of(&self.forwarders().engine().briefs());
            if counts.open < counts.all {
                sentence += &format!(" {}", counts.sentence("tracker", "trackers"));
            }
        }
        match self.sharing() {
            Some(sharing) if sharing.is_alone() => {
                sentence += " Other nodes hear of these swarms when the store answers again.";
            }
            Some(sharing) => {
                let others = counted(sharing.others() as u64, "other node", "other nodes");
                sentence += &format!(" Swarms are shared with {others}.");
            }
            None => {}
        }
        sentence
    }
}

fn answers_on(udp: &[u16], http: &[u16]) -> String {
    let list = |ports: &[u16]| {
        let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
        ports.join(", ")
    };
    match (udp, http) {
        (udp, http) if udp == http => format!("answers on UDP and HTTP port {}", list(udp)),
        (udp, []) => format!("answers on UDP port {}", list(udp)),
        ([], http) => format!("answers on HTTP port {}", list(http)),
        (udp, http) => format!(
            "answers on UDP port {} and HTTP port {}",
            list(udp),
            list(http)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overload_is_told_with_its_kinds_and_since_when() {
        assert_eq!(overload(&[]), None);
        let lately = |what, seconds, count| Lately {
            what,
            since: Duration::from_secs(seconds),
            count,
        };
        let one = overload(&[lately(Overload::LeftOut, 5, 1)]).unwrap();
        assert_eq!(one.clause, "1 forwarder left out in the last minute");
        let all = [
            lately(Overload::NoToken, 70, 1200),
            lately(Overload::FirstFull, 5, 4),
            lately(Overload::AgainFull, 200, 2),
            lately(Overload::LastPlaces, 1, 80),
        ];
        let all = overload(&all).unwrap();
        assert_eq!(
            all.clause,
            "1,204 first announces refused, 2 re-announces dropped and 80 forwarders left out in the last minute"
        );
        assert_eq!(all.since, Duration::from_secs(200));
        assert_eq!(all.counts[0], ("first_announces_refused", 1204));
        let no_room = [lately(Overload::Full, 5, 12)];
        assert_eq!(
            overload(&no_room).unwrap().clause,
            "12 new peers refused (tracker full) in the last minute"
        );
    }

    #[test]
    fn ports_are_named() {
        assert_eq!(
            answers_on(&[6969], &[6969]),
            "answers on UDP and HTTP port 6969"
        );
        assert_eq!(
            answers_on(&[1], &[2]),
            "answers on UDP port 1 and HTTP port 2"
        );
        assert_eq!(answers_on(&[1], &[]), "answers on UDP port 1");
        assert_eq!(answers_on(&[], &[2]), "answers on HTTP port 2");
    }
}
