//! A front's own decisions in words: one function for each kind.

use std::time::Duration;

use super::{OwnDecision, OwnKind, OwnReason, about};
use crate::sentence::outage;
use crate::words::{counted, grouped};

impl OwnDecision {
    /// The decision in words.
    pub fn sentence(&self) -> String {
        match self.own.kind {
            OwnKind::Deduplicated => deduplicated(self),
            OwnKind::Throttled => throttled(self),
            OwnKind::Dropped => dropped(self),
            OwnKind::Refused => refused(self),
            OwnKind::OurNetwork => outage(self.own.concerned),
        }
    }
}

fn deduplicated(decision: &OwnDecision) -> String {
    let events = events(decision);
    let they = if decision.count == 1 {
        "It was"
    } else {
        "They were"
    };
    let who = who(decision);
    format!("{who} repeated {events}. {they} answered but not forwarded again.")
}

fn throttled(decision: &OwnDecision) -> String {
    let own = &decision.own;
    if &*own.about == about::FORWARDERS {
        let forwarders = counted(own.concerned, "forwarder", "forwarders");
        let announces = match decision.count {
            1 => example(decision, " of "),
            many => format!(" of {} announces", grouped(many)),
        };
        return format!("{forwarders} left out{announces}: {}.", why(decision));
    }
    let (events, is) = (events(decision), is(decision));
    let what = match &*own.about {
        about::STOPPED => format!("{events} will be sent to trackers later"),
        _ => format!("{events} {is} stored and answered, but not sent to trackers"),
    };
    match own.reason {
        OwnReason::TooMany => format!("{}: {what}.", why(decision)),
        _ => format!("{what}: {}.", why(decision)),
    }
}

fn dropped(decision: &OwnDecision) -> String {
    let told = decision.own.retry.map_or_else(String::new, |retry| {
        let retry = told(retry);
        format!(", answered with the known peers and told to come back in {retry}")
    });
    format!(
        "{} dropped: {}{told}{}.",
        subject(decision),
        why(decision),
        latest(decision)
    )
}

fn refused(decision: &OwnDecision) -> String {
    // Everybody was told the same, but a single client something else each time.
    let last = match (decision.count, &decision.own.asker) {
        (2.., Some(_)) => "last ",
        _ => "",
    };
    if &*decision.own.about == about::DOWNLOAD {
        let latest = match decision.count {
            1 => String::new(),
            _ => example(decision, ", most recently of "),
        };
        let told = decision.own.retry.map_or_else(String::new, |retry| {
            format!(" It was {last}told to retry in {}.", told(retry))
        });
        let (what, why) = (subject(decision), why(decision));
        return format!("{what} refused{latest}: {why}.{told}");
    }
    let told = decision.own.retry.map_or_else(String::new, |retry| {
        format!(", {last}told to retry in {}", told(retry))
    });
    format!(
        "{} refused: {}{told}{}.",
        subject(decision),
        why(decision),
        latest(decision)
    )
}

/// `First announce of 4be19c07…90c2`, `1,204 first announces`.
fn subject(decision: &OwnDecision) -> String {
    let (about, count) = (&*decision.own.about, decision.count);
    if count > 1 || about == about::COMPLETED {
        return match about {
            about::COMPLETED | about::STOPPED => events(decision),
            about::ARTICLE_SEARCH => counted(count, about, "article searches"),
            about => counted(count, about, &format!("{about}s")),
        };
    }
    let mut letters = about.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    let about: String = first.into_iter().chain(letters).collect();
    format!("{about}{}", example(decision, " of "))
}

/// The latest of many, behind everything else.
fn latest(decision: &OwnDecision) -> String {
    match decision.count {
        1 => String::new(),
        _ => example(decision, "; most recently of "),
    }
}

fn example(decision: &OwnDecision, before: &str) -> String {
    let example = decision.own.example.as_deref();
    example.map_or_else(String::new, |example| format!("{before}{example}"))
}

/// What was reached.
fn why(decision: &OwnDecision) -> String {
    let own = &decision.own;
    let limit = own.limit.map(grouped);
    let limit = limit.as_deref().unwrap_or("all");
    match own.reason {
        OwnReason::Repeated => "done before".to_owned(),
        OwnReason::TooMany if *own.about == *about::DOWNLOAD => {
            format!(
                "{} asked for more than {limit} files in a minute",
                who(decision)
            )
        }
        OwnReason::TooMany if *own.about == *about::ARTICLE_SEARCH => {
            format!("too many at once ({limit} wait at most)")
        }
        OwnReason::TooMany if *own.about == *about::POST => {
            format!("{} had posted {limit} in the last hour", who(decision))
        }
        OwnReason::TooMany if *own.about == *about::NEWSREADER => "too many were open".to_owned(),
        OwnReason::TooMany if *own.about == *about::COMMAND => {
            "too much was already waiting to be sent".to_owned()
        }
        OwnReason::TooMany => format!(
            "{} sent more than {limit} events in a minute",
            who(decision)
        ),
        OwnReason::NoToken => format!("no token left ({limit} per second)"),
        OwnReason::QueueFull => format!("queue full ({limit})"),
        OwnReason::QueueFilling => {
            let fill = own.fill.unwrap_or_default();
            format!("queue at {fill} %, top {limit} asked")
        }
        OwnReason::Slow => "slow forwarders already hold half the queue".to_owned(),
        OwnReason::EventsFull => format!("{limit} events were already waiting"),
        OwnReason::Full => "tracker full (max_peers or max_swarms)".to_owned(),
        OwnReason::Crowded => "too many peers from one address".to_owned(),
        OwnReason::AllFailed => "nobody could be reached".to_owned(),
    }
}

/// `1 completed event`, `40 stopped events`.
fn events(decision: &OwnDecision) -> String {
    let about = &*decision.own.about;
    let (one, more) = (format!("{about} event"), format!("{about} events"));
    counted(decision.count, &one, &more)
}

fn is(decision: &OwnDecision) -> &'static str {
    if decision.count == 1 { "was" } else { "were" }
}

fn who(decision: &OwnDecision) -> &str {
    decision.own.asker.as_deref().unwrap_or("Other clients")
}

/// A time as it stands in the reply: seconds, or whole minutes where those are many.
fn told(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds > 300 && seconds % 60 == 0 => counted(seconds / 60, "minute", "minutes"),
        seconds => format!("{} s", grouped(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use weir_dispatch::Moment;

    use super::super::Own;
    use super::*;

    /// The decision made once, and a thousand times.
    fn both(own: Own) -> [String; 2] {
        [1, 1000].map(|count| {
            let own = Own {
                concerned: own.concerned * count,
                ..own.clone()
            };
            let decision = OwnDecision {
                number: 1,
                at: Moment(0),
                last: Moment(0),
                count,
                own,
            };
            decision.sentence()
        })
    }

    fn own(kind: OwnKind, reason: OwnReason, about: &str, limit: u32) -> Own {
        Own {
            limit: Some(limit),
            ..Own::new(kind, reason, about)
        }
    }

    #[test]
    fn refused_first_announces() {
        let (refused, first) = (OwnKind::Refused, about::FIRST);
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let busy = Own {
            retry: seconds(300),
            ..own(refused, OwnReason::NoToken, first, 10)
        };
        assert_eq!(
            both(busy.clone()),
            [
                "First announce refused: no token left (10 per second), told to retry in 300 s.",
                "1,000 first announces refused: no token left (10 per second), told to retry in 300 s.",
            ]
        );
        let full = Own {
            retry: seconds(1800),
            example: Some("4be19c07…90c2 (qBittorrent 4.6.5)".into()),
            ..own(refused, OwnReason::QueueFull, first, 10_000)
        };
        assert_eq!(
            both(full.clone()),
            [
                "First announce of 4be19c07…90c2 (qBittorrent 4.6.5) refused: queue full (10,000), told to retry in 30 minutes.",
                "1,000 first announces refused: queue full (10,000), told to retry in 30 minutes; most recently of 4be19c07…90c2 (qBittorrent 4.6.5).",
            ]
        );
        let answered = Own {
            kind: OwnKind::Dropped,
            example: None,
            ..full
        };
        assert_eq!(
            both(answered)[0],
            "First announce dropped: queue full (10,000), answered with the known peers and told to come back in 30 minutes."
        );
    }

    #[test]
    fn refused_new_peers() {
        let refused = |reason| Own {
            retry: Some(Duration::from_secs(1800)),
            example: Some("4be19c07…90c2 (qBittorrent 4.6.5)".into()),
            ..Own::new(OwnKind::Refused, reason, about::NEW_PEER)
        };
        assert_eq!(
            both(refused(OwnReason::Full)),
            [
                "New peer of 4be19c07…90c2 (qBittorrent 4.6.5) refused: tracker full (max_peers or max_swarms), told to retry in 30 minutes.",
                "1,000 new peers refused: tracker full (max_peers or max_swarms), told to retry in 30 minutes; most recently of 4be19c07…90c2 (qBittorrent 4.6.5).",
            ]
        );
        assert_eq!(
            both(refused(OwnReason::Crowded))[1],
            "1,000 new peers refused: too many peers from one address, told to retry in 30 minutes; most recently of 4be19c07…90c2 (qBittorrent 4.6.5)."
        );
    }

    #[test]
    fn dropped_announces_and_events() {
        let dropped = OwnKind::Dropped;
        let again = Own {
            example: Some("4be19c07…90c2".into()),
            ..own(dropped, OwnReason::QueueFull, about::AGAIN, 10_000)
        };
        assert_eq!(
            both(again),
            [
                "Re-announce of 4be19c07…90c2 dropped: queue full (10,000).",
                "1,000 re-announces dropped: queue full (10,000); most recently of 4be19c07…90c2.",
            ]
        );
        let completed = own(dropped, OwnReason::EventsFull, about::COMPLETED, 110_000);
        assert_eq!(
            both(completed),
            [
                "1 completed event dropped: 110,000 events were already waiting.",
                "1,000 completed events dropped: 110,000 events were already waiting.",
            ]
        );
    }

    #[test]
    fn refused_downloads() {
        let one = Own {
            asker: Some("203.0.113.7".into()),
            retry: Some(Duration::from_secs(12)),
            example: Some("Some.Show.S01E01".into()),
            ..own(OwnKind::Refused, OwnReason::TooMany, about::DOWNLOAD, 120)
        };
        assert_eq!(
            both(one),
            [
                "Download of Some.Show.S01E01 refused: 203.0.113.7 asked for more than 120 files in a minute. It was told to retry in 12 s.",
                "1,000 downloads refused, most recently of Some.Show.S01E01: 203.0.113.7 asked for more than 120 files in a minute. It was last told to retry in 12 s.",
            ]
        );
    }

    #[test]
    fn refused_by_news() {
        let search = Own {
            retry: Some(Duration::from_secs(3)),
            ..own(
                OwnKind::Refused,
                OwnReason::TooMany,
                about::ARTICLE_SEARCH,
                8,
            )
        };
        assert_eq!(
            both(search),
            [
                "Article search refused: too many at once (8 wait at most), told to retry in 3 s.",
                "1,000 article searches refused: too many at once (8 wait at most), told to retry in 3 s.",
            ]
        );
        let post = Own {
            asker: Some("Anna".into()),
            retry: Some(Duration::from_secs(2520)),
            ..own(OwnKind::Refused, OwnReason::TooMany, about::POST, 20)
        };
        assert_eq!(
            both(post),
            [
                "Post refused: Anna had posted 20 in the last hour, told to retry in 42 minutes.",
                "1,000 posts refused: Anna had posted 20 in the last hour, last told to retry in 42 minutes.",
            ]
        );
        let newsreader = Own {
            example: Some("203.0.113.7".into()),
            ..Own::new(OwnKind::Refused, OwnReason::TooMany, about::NEWSREADER)
        };
        assert_eq!(
            both(newsreader),
            [
                "Newsreader connection of 203.0.113.7 refused: too many were open.",
                "1,000 newsreader connections refused: too many were open; most recently of 203.0.113.7.",
            ]
        );
    }

    #[test]
    fn refused_newsreader_requests() {
        let request = Own {
            retry: Some(Duration::from_secs(1)),
            example: Some("203.0.113.7".into()),
            ..Own::new(OwnKind::Refused, OwnReason::TooMany, about::COMMAND)
        };
        assert_eq!(
            both(request)[0],
            "Newsreader request of 203.0.113.7 refused: too much was already waiting to be sent, told to retry in 1 s."
        );
    }

    #[test]
    fn throttled_forwarders_and_events() {
        let throttled = OwnKind::Throttled;
        let forwarders = Own {
            fill: Some(63),
            concerned: 80,
            ..own(throttled, OwnReason::QueueFilling, about::FORWARDERS, 20)
        };
        assert_eq!(
            both(forwarders.clone()),
            [
                "80 forwarders left out: queue at 63 %, top 20 asked.",
                "80,000 forwarders left out of 1,000 announces: queue at 63 %, top 20 asked.",
            ]
        );
        let full = Own {
            reason: OwnReason::QueueFull,
            limit: Some(10_000),
            concerned: 1,
            ..forwarders.clone()
        };
        assert_eq!(both(full)[0], "1 forwarder left out: queue full (10,000).");
        let slow = Own {
            reason: OwnReason::Slow,
            concerned: 3,
            ..forwarders
        };
        assert_eq!(
            both(slow)[0],
            "3 forwarders left out: slow forwarders already hold half the queue."
        );
        let asker = Some("203.0.113.7".into());
        let completed = Own {
            asker,
            ..own(throttled, OwnReason::TooMany, about::COMPLETED, 60)
        };
        assert_eq!(
            both(completed.clone()),
            [
                "203.0.113.7 sent more than 60 events in a minute: 1 completed event was stored and answered, but not sent to trackers.",
                "203.0.113.7 sent more than 60 events in a minute: 1,000 completed events were stored and answered, but not sent to trackers.",
            ]
        );
        let stopped = Own {
            about: about::STOPPED.into(),
            asker: None,
            ..completed
        };
        assert_eq!(
            both(stopped),
            [
                "Other clients sent more than 60 events in a minute: 1 stopped event will be sent to trackers later.",
                "Other clients sent more than 60 events in a minute: 1,000 stopped events will be sent to trackers later.",
            ]
        );
        let late = own(throttled, OwnReason::EventsFull, about::STOPPED, 110_000);
        assert_eq!(
            both(late)[0],
            "1 stopped event will be sent to trackers later: 110,000 events were already waiting."
        );
    }

    #[test]
    fn an_outage_of_our_own() {
        let outage = |concerned| Own {
            concerned,
            ..Own::new(OwnKind::OurNetwork, OwnReason::AllFailed, about::NETWORK)
        };
        assert_eq!(
            both(outage(17))[0],
            "17 upstreams failed at once, so the fault is in our own network. None was disabled."
        );
    }

    #[test]
    fn repeated_events() {
        let own = Own {
            asker: Some("203.0.113.7".into()),
            ..Own::new(OwnKind::Deduplicated, OwnReason::Repeated, about::COMPLETED)
        };
        assert_eq!(
            both(own),
            [
                "203.0.113.7 repeated 1 completed event. It was answered but not forwarded again.",
                "203.0.113.7 repeated 1,000 completed events. They were answered but not forwarded again.",
            ]
        );
    }
}
