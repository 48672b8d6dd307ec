//! A message as people read it: a title, a line for each event, how many more, and who sent it.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use weir_engine::dispatch::Moment;
use weir_web::{Lookout, Shown};

use crate::config::hook::EventKind;
use crate::outbox::{Batch, Line};

/// Characters of one sentence at most: reasons are in the words of upstreams.
const SENTENCE: usize = 600;
/// A line that is older than this when it is sent begins with its time, in nanoseconds.
const STALE: u64 = 120 * 1_000_000_000;

/// Who sends messages, and where its pages are.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) host: Arc<str>,
    pub(crate) link: Option<String>,
}

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) title: String,
    /// What is told to programs.
    pub(crate) events: Vec<Line>,
    /// What is told to people, in the same order.
    pub(crate) lines: Vec<String>,
    pub(crate) more: u32,
    /// The page to look at, if it is known where pages are.
    pub(crate) link: Option<String>,
    pub(crate) host: Arc<str>,
    pub(crate) at: Timestamp,
    pub(crate) is_test: bool,
}

/// The wall time of a moment of this run.
pub(crate) fn wall(moment: u64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(moment)).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl Message {
    /// Tells a batch of events at a moment.
    pub(crate) fn of(batch: &Batch, now: Moment, sender: &Sender, zone: &TimeZone) -> Self {
        let at = wall(now.0);
        let lines = batch.lines.iter().map(|line| {
            let sentence = shortened(&line.sentence, SENTENCE);
            match now.0.saturating_sub(line.at) > STALE {
                true => format!("{}: {sentence}", Shown::new(wall(line.at), at, zone).text),
                false => sentence,
            }
        });
        Self {
            title: title(batch),
            lines: lines.collect(),
            more: batch.more,
            link: sender.link.as_ref().map(|link| match &batch.lines[..] {
                [only] if batch.more == 0 => link.clone() + &page(only),
                _ => format!("{link}/upstreams"),
            }),
            host: sender.host.clone(),
            at,
            events: batch.lines.clone(),
            is_test: false,
        }
    }

    /// A message that an operator asked for.
    pub(crate) fn test(hook: &str, now: Moment, sender: &Sender) -> Self {
        let sentence = format!("This is a test: messages of Weir arrive through the hook {hook}.");
        Self {
            title: "Test message".to_owned(),
            lines: vec![sentence],
            more: 0,
            link: sender.link.clone(),
            host: sender.host.clone(),
            at: wall(now.0),
            events: Vec::new(),
            is_test: true,
        }
    }

    /// Everything below the title, in at most so many bytes: lines that do not fit are counted. `escape` makes text harmless
    /// for whoever shows it.
    pub(crate) fn text(&self, limit: usize, escape: impl Fn(&str) -> String) -> String {
        let mut end = format!("Weir on {}", escape(&self.host));
        if let Some(link) = &self.link {
            end = format!("{end}\n{link}");
        }
        // Room for "and 4294967295 more", line ends included.
        let room = limit.saturating_sub(end.len() + 24);
        let (mut text, mut left_out) = (String::new(), self.more);
        for line in &self.lines {
            let line = escape(line);
            match text.len() + line.len() < room {
                true => text = text + &line + "\n",
                false => left_out = left_out.saturating_add(1),
            }
        }
        if left_out > 0 {
            text += &format!("and {left_out} more\n");
        }
        text + &end
    }
}

/// A text of at most so many characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The page that shows more about an event.
fn page(line: &Line) -> String {
    match (&line.front, &line.upstream) {
        (Some(front), Some(name)) => Lookout::path(front, name),
        (Some(_), None) => "/".to_owned(),
        _ => "/upstreams".to_owned(),
    }
}

/// What happened in a few words: of one event its own, of several how many of each kind.
fn title(batch: &Batch) -> String {
    if let ([only], 0) = (&batch.lines[..], batch.more) {
        return only.title.clone();
    }
    let kinds = [
        (EventKind::Network, "network"),
        (EventKind::Overload, "overloaded"),
        (EventKind::Down, "down"),
        (EventKind::Back, "back"),
        (EventKind::Quota, "quota used up"),
    ];
    let counts = kinds.into_iter().filter_map(|(kind, words)| {
        let count = batch.lines.iter().filter(|line| line.is(kind)).count();
        match kind {
            _ if count == 0 => None,
            EventKind::Network => Some("our network".to_owned()),
            _ => Some(format!("{count} {words}")),
        }
    });
    let mut counts: Vec<String> = counts.collect();
    if batch.more > 0 {
        counts.push(format!("{} more", batch.more));
    }
    format!("Weir: {}", counts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: u64, kind: EventKind, name: &str) -> Line {
        Line {
            id,
            event: kind.name().to_owned(),
            began: kind != EventKind::Back,
            subject: format!("upstream/search/{name}"),
            front: Some("search".to_owned()),
            upstream: Some(name.to_owned()),
            at: 1_700_000_000_000_000_000,
            since: 1_700_000_000_000_000_000,
            until: None,
            title: format!("{name} is {}", kind.name()),
            sentence: format!("Search: {name} has been disabled since 22:02: it answered 503."),
        }
    }

    fn sender(link: Option<&str>) -> Sender {
        Sender {
            host: "mill".into(),
            link: link.map(str::to_owned),
        }
    }

    fn message(lines: Vec<Line>, more: u32, later: u64, link: Option<&str>) -> Message {
        let now = Moment(1_700_000_000_000_000_000 + later * 1_000_000_000);
        let batch = Batch { lines, more };
        Message::of(&batch, now, &sender(link), &TimeZone::UTC)
    }

    #[test]
    fn one_event_is_told_with_its_own_words_and_page() {
        let link = Some("https://weir.example");
        let one = message(vec![line(1, EventKind::Down, "harbor")], 0, 5, link);
        assert_eq!(one.title, "harbor is down");
        assert_eq!(
            one.text(2000, str::to_owned),
            "Search: harbor has been disabled since 22:02: it answered 503.\nWeir on mill\n\
             https://weir.example/upstreams/search/harbor"
        );
        let none = message(vec![line(1, EventKind::Down, "harbor")], 0, 5, None);
        assert!(none.text(2000, str::to_owned).ends_with("\nWeir on mill"));
    }

    #[test]
    fn a_late_line_says_when_it_was() {
        let late = message(vec![line(1, EventKind::Down, "harbor")], 0, 121, None);
        assert!(
            late.lines[0].starts_with("22:13: Search: harbor"),
            "{:?}",
            late.lines
        );
        let next_day = message(vec![line(1, EventKind::Down, "harbor")], 0, 86_400, None);
        assert!(
            next_day.lines[0].starts_with("Tue 14 Nov, 22:13: "),
            "{:?}",
            next_day.lines
        );
    }

    #[test]
    fn several_are_counted_by_kind_and_never_too_long() {
        let lines = (0..20).map(|id| line(id, EventKind::Down, &"x".repeat(700)));
        let lines = lines.chain([line(20, EventKind::Back, "lake")]).collect();
        let many = message(lines, 14, 5, Some("https://weir.example"));
        assert_eq!(many.title, "Weir: 20 down, 1 back, 14 more");
        for limit in [500, 1900, 3800, 100_000] {
            let text = many.text(limit, str::to_owned);
            assert!(text.len() <= limit, "{} of {limit}", text.len());
            assert!(text.contains(" more\n"), "{text}");
            assert!(text.ends_with("/upstreams"));
        }
        assert!(many.text(100_000, str::to_owned).contains("and 14 more\n"));
        assert!(
            many.text(1900, str::to_owned).contains("and 32 more\n"),
            "{}",
            many.text(1900, str::to_owned)
        );
        assert!(
            many.lines
                .iter()
                .all(|line| line.chars().count() <= SENTENCE + 1)
        );
    }
}
