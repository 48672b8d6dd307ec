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
    let (events, one) = (events(decision), decision.count == 1);
    let repeated = match &decision.own.asker {
        Some(asker) => format!("{asker} repeated {events}"),
        None if one => format!("{events} was repeated by another address"),
        None => format!("{events} were repeated by other addresses"),
    };
    let they = if one { "It was" } else { "They were" };
    format!("{repeated}. {they} answered but not forwarded again.")
}

fn throttled(decision: &OwnDecision) -> String {
    let own = &decision.own;
    if &*own.about == about::FORWARDERS {
        return left_out(decision);
    }
    let (events, was) = (events(decision), was(decision));
    let what = match &*own.about {
        about::STOPPED => format!("{events} will be sent to trackers later"),
        _ => format!("{events} {was} stored and answered, but not sent to trackers"),
    };
    match own.reason {
        OwnReason::TooMany => format!("{}: {what}.", why(decision)),
        _ => format!("{what}: {}.", why(decision)),
    }
}

/// Announces that went to fewer forwarders than they would have.
fn left_out(decision: &OwnDecision) -> String {
    let (own, why) = (&decision.own, why(decision));
    let announces = match decision.count {
        1 => format!("Announce{}", example(decision, " of ")),
        many => format!("{} announces", grouped(many)),
    };
    let concerned = grouped(own.concerned);
    let asked = own.limit.unwrap_or_default();
    match (own.reason, decision.count) {
        (OwnReason::QueueFilling, count) => {
            let asked = counted(asked, "forwarder", "forwarders");
            let left = match count {
                1 => format!(", {concerned} left out"),
                _ => format!(" each ({concerned} left out in all)"),
            };
            format!("{announces} sent to only {asked}{left}: {why}.")
        }
        (OwnReason::Slow, 1) => {
            let announce = example(decision, " of ");
            format!("Slow forwarders {why}: the announce{announce} was not sent to them.")
        }
        (OwnReason::Slow, _) => {
            format!("Slow forwarders {why}: {announces} were not sent to them.")
        }
        (_, 1) => {
            let forwarders = counted(own.concerned, "forwarder", "forwarders");
            format!("{announces} not sent to {forwarders}: {why}.")
        }
        (..) => {
            format!("{announces} not sent to all forwarders ({concerned} left out in all): {why}.")
        }
    }
}

fn dropped(decision: &OwnDecision) -> String {
    let done = match (&*decision.own.about, decision.own.retry) {
        (about::COMPLETED, _) => format!("{} not forwarded", was(decision)),
        // Not all are told the same, so that not all come back at once.
        (_, Some(_)) => "answered with known peers but not forwarded".to_owned(),
        _ => "dropped".to_owned(),
    };
    let told = decision.own.retry.map_or_else(String::new, |retry| {
        format!(" {} to wait at least {}.", were_told(decision), time(retry))
    });
    let (subject, why, latest) = (subject(decision), why(decision), latest(decision));
    format!("{subject} {done}: {why}{latest}.{told}")
}

fn refused(decision: &OwnDecision) -> String {
    let (what, why) = (subject(decision), why(decision));
    let retry = decision.own.retry.map(time);
    if &*decision.own.about == about::DOWNLOAD {
        let (latest, last) = match decision.count {
            1 => (String::new(), ""),
            _ => (example(decision, ", most recently of "), "last "),
        };
        let told = retry.map_or_else(String::new, |retry| {
            format!(" It was {last}told to retry in {retry}.")
        });
        return format!("{what} refused{latest}: {why}.{told}");
    }
    let told = retry.map_or_else(String::new, |retry| {
        format!(" {} to retry in {retry}.", were_told(decision))
    });
    format!("{what} refused: {why}{}.{told}", latest(decision))
}

fn were_told(decision: &OwnDecision) -> &'static str {
    match (decision.count, &decision.own.asker) {
        (1, _) => "The client was told",
        // A single client is told something else each time.
        (_, Some(_)) => "The client was last told",
        (_, None) => "The clients were told",
    }
}

/// `First announce of torrent 4be19c07…90c2`, `1,204 first announces`.
fn subject(decision: &OwnDecision) -> String {
    let (about, count) = (&*decision.own.about, decision.count);
    if count > 1 || about == about::COMPLETED {
        return match about {
            about::COMPLETED | about::STOPPED => events(decision),
            about::ARTICLE_SEARCH => counted(count, about, "article searches"),
            about => counted(count, about, &format!("{about}s")),
        };
    }
    let of = match about {
        about::FIRST | about::ANNOUNCE => " of torrent ",
        about::NEW_PEER => " for torrent ",
        _ => " of ",
    };
    let mut letters = about.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    let about: String = first.into_iter().chain(letters).collect();
    format!("{about}{}", example(decision, of))
}

/// The latest of many, behind everything else.
fn latest(decision: &OwnDecision) -> String {
    match decision.count {
        1 => String::new(),
        _ => example(decision, "; most recently "),
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
    let who = || own.asker.as_deref();
    match own.reason {
        OwnReason::Repeated => "done before".to_owned(),
        OwnReason::TooMany if *own.about == *about::DOWNLOAD => {
            let who = who().unwrap_or("another address");
            format!("{who} asked for more than {limit} files in a minute")
        }
        OwnReason::TooMany if *own.about == *about::ARTICLE_SEARCH => {
            format!("too many at once ({limit} wait at most)")
        }
        OwnReason::TooMany if *own.about == *about::POST => {
            let who = who().unwrap_or("another address");
            format!("{who} had posted {limit} in the last hour")
        }
        OwnReason::TooMany if *own.about == *about::NEWSREADER => "too many were open".to_owned(),
        OwnReason::TooMany if *own.about == *about::COMMAND => {
            "too much was already waiting to be sent".to_owned()
        }
        OwnReason::TooMany => match who() {
            Some(who) => format!("{who} sent more than {limit} events in a minute"),
            None => format!("More addresses each sent over {limit} events in a minute"),
        },
        OwnReason::NoToken => format!("the limit of {limit} per second was reached"),
        OwnReason::QueueFull => format!("queue full ({limit})"),
        OwnReason::QueueFilling => format!("queue at {} %", own.fill.unwrap_or_default()),
        OwnReason::Slow => "already fill half the queue".to_owned(),
        OwnReason::EventsFull => format!("{limit} events were already waiting"),
        OwnReason::Full => "the tracker is full (max_peers or max_swarms reached)".to_owned(),
        OwnReason::Crowded => "too many peers from one address".to_owned(),
        OwnReason::AllFailed => "nobody could be reached".to_owned(),
        OwnReason::NotAllowed => "torrents not in allow_file are not served".to_owned(),
        OwnReason::Denied => "torrents in deny_file are not served".to_owned(),
    }
}

/// `1 completed event`, `40 stopped events`.
fn events(decision: &OwnDecision) -> String {
    let about = &*decision.own.about;
    let (one, more) = (format!("{about} event"), format!("{about} events"));
    counted(decision.count, &one, &more)
}

fn was(decision: &OwnDecision) -> &'static str {
    if decision.count == 1 { "was" } else { "were" }
}

/// A time as the reply has it: seconds, or whole minutes where those are many.
fn time(time: Duration) -> String {
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
                "First announce refused: the limit of 10 per second was reached. The client was told to retry in 300 s.",
                "1,000 first announces refused: the limit of 10 per second was reached. The clients were told to retry in 300 s.",
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
                "First announce of torrent 4be19c07…90c2 (qBittorrent 4.6.5) refused: queue full (10,000). The client was told to retry in 30 minutes.",
                "1,000 first announces refused: queue full (10,000); most recently 4be19c07…90c2 (qBittorrent 4.6.5). The clients were told to retry in 30 minutes.",
            ]
        );
        let answered = Own {
            kind: OwnKind::Dropped,
            example: None,
            ..full
        };
        assert_eq!(
            both(answered),
            [
                "First announce answered with known peers but not forwarded: queue full (10,000). The client was told to wait at least 30 minutes.",
                "1,000 first announces answered with known peers but not forwarded: queue full (10,000). The clients were told to wait at least 30 minutes.",
            ]
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
                "New peer for torrent 4be19c07…90c2 (qBittorrent 4.6.5) refused: the tracker is full (max_peers or max_swarms reached). The client was told to retry in 30 minutes.",
                "1,000 new peers refused: the tracker is full (max_peers or max_swarms reached); most recently 4be19c07…90c2 (qBittorrent 4.6.5). The clients were told to retry in 30 minutes.",
            ]
        );
        assert_eq!(
            both(refused(OwnReason::Crowded))[1],
            "1,000 new peers refused: too many peers from one address; most recently 4be19c07…90c2 (qBittorrent 4.6.5). The clients were told to retry in 30 minutes."
        );
    }

    #[test]
    fn announces_of_torrents_that_are_not_served() {
        let refused = |reason| Own {
            example: Some("4be19c07…90c2".into()),
            ..Own::new(OwnKind::Refused, reason, about::ANNOUNCE)
        };
        assert_eq!(
            both(refused(OwnReason::Denied)),
            [
                "Announce of torrent 4be19c07…90c2 refused: torrents in deny_file are not served.",
                "1,000 announces refused: torrents in deny_file are not served; most recently 4be19c07…90c2.",
            ]
        );
        assert_eq!(
            both(refused(OwnReason::NotAllowed))[0],
            "Announce of torrent 4be19c07…90c2 refused: torrents not in allow_file are not served."
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
                "1,000 re-announces dropped: queue full (10,000); most recently 4be19c07…90c2.",
            ]
        );
        let completed = own(dropped, OwnReason::EventsFull, about::COMPLETED, 110_000);
        assert_eq!(
            both(completed),
            [
                "1 completed event was not forwarded: 110,000 events were already waiting.",
                "1,000 completed events were not forwarded: 110,000 events were already waiting.",
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
                "Article search refused: too many at once (8 wait at most). The client was told to retry in 3 s.",
                "1,000 article searches refused: too many at once (8 wait at most). The clients were told to retry in 3 s.",
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
                "Post refused: Anna had posted 20 in the last hour. The client was told to retry in 42 minutes.",
                "1,000 posts refused: Anna had posted 20 in the last hour. The client was last told to retry in 42 minutes.",
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
                "1,000 newsreader connections refused: too many were open; most recently 203.0.113.7.",
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
            "Newsreader request of 203.0.113.7 refused: too much was already waiting to be sent. The client was told to retry in 1 s."
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
                "Announce sent to only 20 forwarders, 80 left out: queue at 63 %.",
                "1,000 announces sent to only 20 forwarders each (80,000 left out in all): queue at 63 %.",
            ]
        );
        let full = Own {
            reason: OwnReason::QueueFull,
            limit: Some(10_000),
            concerned: 1,
            ..forwarders.clone()
        };
        assert_eq!(
            both(full),
            [
                "Announce not sent to 1 forwarder: queue full (10,000).",
                "1,000 announces not sent to all forwarders (1,000 left out in all): queue full (10,000).",
            ]
        );
        let slow = Own {
            reason: OwnReason::Slow,
            concerned: 3,
            ..forwarders
        };
        assert_eq!(
            both(slow),
            [
                "Slow forwarders already fill half the queue: the announce was not sent to them.",
                "Slow forwarders already fill half the queue: 1,000 announces were not sent to them.",
            ]
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
                "More addresses each sent over 60 events in a minute: 1 stopped event will be sent to trackers later.",
                "More addresses each sent over 60 events in a minute: 1,000 stopped events will be sent to trackers later.",
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
            both(own.clone()),
            [
                "203.0.113.7 repeated 1 completed event. It was answered but not forwarded again.",
                "203.0.113.7 repeated 1,000 completed events. They were answered but not forwarded again.",
            ]
        );
        let others = Own { asker: None, ..own };
        assert_eq!(
            both(others),
            [
                "1 completed event was repeated by another address. It was answered but not forwarded again.",
                "1,000 completed events were repeated by other addresses. They were answered but not forwarded again.",
            ]
        );
    }
}
