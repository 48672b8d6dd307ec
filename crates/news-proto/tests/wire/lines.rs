//! Lines inside blocks, replies and values: what is written is read as it was.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use weir_news_proto::list::{Active, Counted, Created, Described, ListedHeaders, PostingStatus};
use weir_news_proto::overview::{parse_value_line, write_value_line};
use weir_news_proto::{
    ArticleRange, Capabilities, Located, MessageId, OverviewFormat, OverviewLine, Reply, Selected,
    Xref, date, id, reply, xref,
};

use crate::strategies::{self, LAST, value};

fn status() -> impl Strategy<Value = PostingStatus<'static>> {
    prop::sample::select(vec![
        PostingStatus::Allowed,
        PostingStatus::Refused,
        PostingStatus::Moderated,
        PostingStatus::Closed,
        PostingStatus::Junked,
        PostingStatus::Alias("other.name"),
    ])
}

fn split(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = lines.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty())
}

proptest! {
    #[test]
    fn lists(
        name in strategies::newsgroup(),
        (high, low, count) in any::<(u64, u64, u64)>(),
        status in status(),
        text in value(),
    ) {
        let newsgroup = name.as_str();
        let active = Active { newsgroup, high, low, status };
        let mut out = Vec::new();
        active.write(&mut out);
        prop_assert_eq!(Active::parse(&out), Ok(active));
        let counted = Counted { active, count };
        out.clear();
        counted.write(&mut out);
        prop_assert_eq!(Counted::parse(&out), Ok(counted));
        let created = Created { newsgroup, at: count, creator: &text };
        out.clear();
        created.write(&mut out);
        prop_assert_eq!(Created::parse(&out), Ok(created));
        let described = Described { newsgroup, text: &text };
        let mut out = Vec::new();
        described.write(&mut out);
        prop_assert_eq!(Described::parse(&out), Ok(described));
    }

    #[test]
    fn overview(
        number in any::<u64>(),
        values in [value(), value(), value(), value()],
        id in strategies::id(),
        counts in (option::of(any::<u64>()), option::of(any::<u64>())),
        extra in vec((strategies::field(), option::of(value())), 0..5),
    ) {
        let format = OverviewFormat::with(extra.iter().map(|(name, _)| name.clone()));
        let mut tail = Vec::new();
        let mut next = extra.iter();
        format.write_extra(|_| next.next()?.1.as_deref(), &mut tail);
        let line = OverviewLine {
            number,
            subject: &values[0],
            from: &values[1],
            date: &values[2],
            message_id: id.as_str().as_bytes(),
            references: &values[3],
            bytes: counts.0,
            lines: counts.1,
            extra: &tail,
        };
        let mut out = Vec::new();
        line.write(&mut out);
        let read = OverviewLine::parse(&out).expect("we wrote it");
        prop_assert_eq!(read, line);
        prop_assert_eq!(read.id(), Some(id));
        for (position, (name, value)) in extra.iter().enumerate() {
            // The first field of a name counts.
            if extra[..position].iter().all(|(other, _)| other != name) {
                let value = value.as_deref().filter(|value| !value.is_empty());
                prop_assert_eq!(format.value(&read, name.as_str()), value);
            }
        }
        let mut listed = Vec::new();
        format.write(&mut listed);
        prop_assert_eq!(OverviewFormat::parse(split(&listed)), Ok(format));
    }

    #[test]
    fn values(number in any::<u64>(), value in value()) {
        let mut out = Vec::new();
        write_value_line(number, &value, &mut out);
        prop_assert_eq!(parse_value_line(&out), Ok((number, &value[..])));
    }

    #[test]
    fn headers(any in any::<bool>(), names in vec(strategies::field(), 0..9)) {
        let listed = ListedHeaders { any, names };
        let mut out = Vec::new();
        listed.write(&mut out);
        prop_assert_eq!(ListedHeaders::parse(split(&out)), listed);
    }

    #[test]
    fn capabilities(entries in vec(("[A-Z]{1,9}", vec("[A-Z0-9.]{1,9}", 0..5)), 0..9)) {
        let mut capabilities = Capabilities::default();
        for (label, arguments) in &entries {
            capabilities.add(label, arguments.iter().map(String::as_str));
        }
        let mut out = Vec::new();
        capabilities.write(&mut out);
        prop_assert_eq!(&Capabilities::parse(split(&out)), &capabilities);
        for (label, arguments) in &entries {
            prop_assert!(capabilities.has(label));
            prop_assert!(arguments.iter().all(|word| capabilities.offers(label, word)));
        }
    }

    #[test]
    fn replies(
        code in 100..600_u16,
        text in value(),
        name in strategies::newsgroup(),
        (count, low, high) in any::<(u64, u64, u64)>(),
        id in strategies::id(),
    ) {
        let mut out = Vec::new();
        let written = Reply { code, text: &text };
        written.write(&mut out);
        prop_assert_eq!(Reply::parse(&out), Ok(written));
        let selected = Selected { count, low, high, newsgroup: Some(name.as_str()) };
        out.clear();
        selected.write(&mut out);
        prop_assert_eq!(Reply::parse(&out).expect("we wrote it").selected(), Ok(selected));
        let located = Located { number: count, id: Some(id) };
        let mut out = Vec::new();
        located.write(222, &mut out);
        prop_assert_eq!(Reply::parse(&out).expect("we wrote it").located(), Ok(located));
    }

    #[test]
    fn dates(seconds in 0..=LAST, offset in -1_439..1_440_i64) {
        prop_assert_eq!(date::parse(date::write(seconds).as_bytes()), Some(seconds));
        prop_assert_eq!(date::parse_compact(date::write_compact(seconds).as_bytes()), Ok(seconds));
        let stamp = date::write_stamp(seconds);
        let (day, time) = (&stamp.as_bytes()[..8], &stamp.as_bytes()[9..15]);
        prop_assert_eq!(date::parse_stamp(day, time), Ok(seconds));
        // The same moment, as a clock elsewhere shows it.
        let there = date::write((seconds + offset * 60).clamp(0, LAST));
        let sign = if offset < 0 { '-' } else { '+' };
        let zone = format!("{sign}{:02}{:02}", offset.abs() / 60, offset.abs() % 60);
        let text = there.replace("+0000", &zone);
        if (86_400..LAST - 86_400).contains(&seconds) {
            prop_assert_eq!(date::parse(text.as_bytes()), Some(seconds), "{}", text);
        }
        let mut line = Vec::new();
        reply::write(111, &date::write_compact(seconds), &mut line);
        prop_assert_eq!(Reply::parse(&line).expect("we wrote it").date(), Ok(seconds));
    }

    #[test]
    fn references(ids in vec(strategies::id(), 0..20)) {
        // `<` within an ID is legal and would begin a new one in a list.
        let plain: Vec<MessageId> = ids.into_iter().filter(|id| !id.bare().contains('<')).collect();
        let header: Vec<String> = plain.iter().map(MessageId::to_string).collect();
        prop_assert_eq!(id::references(header.join("\r\n ").as_bytes()), plain);
    }

    #[test]
    fn cross_posts(places in vec((strategies::newsgroup(), any::<u64>()), 1..9)) {
        let mut out = Vec::new();
        xref::write_xref("host", places.iter().map(|(name, number)| (name, *number)), &mut out);
        let read = Xref::parse(&out).expect("we wrote it");
        prop_assert_eq!(read.server, b"host");
        prop_assert!(read.places().eq(places.iter().map(|(name, number)| (name.as_str(), *number))));
    }

    #[test]
    fn ranges(range in strategies::range(), number in any::<u64>()) {
        prop_assert_eq!(range.to_string().parse(), Ok(range));
        let within = range.within(number..=number);
        prop_assert_eq!(within.is_some(), range.contains(number));
        prop_assert!(ArticleRange::From(number).contains(number));
    }
}
