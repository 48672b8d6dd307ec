use super::*;

/// 2026-11-15 10:00:00 UTC, a Sunday; from `date -u -d @1794736800`.
const TIME: i64 = 1_794_736_800;

fn read(text: &str) -> Option<i64> {
    parse(text.as_bytes())
}

#[test]
fn every_form_found_in_articles_is_read() {
    for text in [
        "Sun, 15 Nov 2026 10:00:00 +0000",
        "Sun, 15 Nov 2026 10:00:00 GMT",
        "Sun, 15 Nov 2026 10:00:00 -0000",
        "Sun, 15 Nov 2026 10:00:00 -0000 (UTC)",
        "15 Nov 2026 10:00:00 +0000",
        "15 Nov 2026 10:00 +0000",
        "Sun,15 Nov 2026 10:00:00 UT",
        "Sun, 15 Nov 2026 11:00:00 +0100 (CET)",
        "Sun, 15 Nov 2026 11:00:00 +0100(CET)",
        "Sun, 15 Nov 2026 11:00:00 +0100 (Central (European) 15 Time)",
        "Sun (day of rest), 15 Nov 2026 10:00:00 GMT",
        "Sun, 15 Nov 2026 11:00:00 +01:00",
        "Sun, 15 Nov 2026 11:00:00 +100",
        "Sun, 15 Nov 2026 11:00:00+0100",
        "Sun, 15 Nov 2026 15:30:00 +0530",
        "Sun, 15 Nov 2026 02:00:00 PST",
        "Sun, 15 Nov 2026 03:00:00 MST",
        "Sun, 15 Nov 2026 05:00:00 est",
        "Sun, 15 Nov 2026 12:00:00 MET DST",
        "Sun, 15 Nov 2026 12:00:00 +0200 MEST",
        "Sun, 15 Nov 2026 12:00:00 GMT+0200",
        "Sun, 15 Nov 2026 19:00:00 JST",
        "Sun, 15 Nov 2026 10:00:00 Z",
        "Sun, 15 Nov 2026 10:00:00 A",
        "Sun, 15 Nov 2026 10:00:00 XYZZY",
        "Sun, 15 Nov 2026 10:00:00 +9999",
        "Sun, 15 Nov 2026 10:00:00 +2400",
        "Mon, 16 Nov 2026 09:59:00 +2359",
        "Sun, 15 Nov 2026 10:00:00",
        "Sunday, 15 November 2026 10:00:00 UTC",
        "Sunday, 15 November 2026 05:00:00 EST",
        "Sunday, 15 November 2026 at 05:00 EST",
        "Nov. 15, 2026 10:00:00 AM GMT",
        "15 Nov 26 11:00 +0100 (CET",
        "Sunday, 15-Nov-26 10:00:00 GMT",
        "15 Nov 26 10:00:00 GMT",
        "15 Nov 126 10:00:00 GMT",
        "Sun Nov 15 10:00:00 2026",
        "Sun Nov 15 10:00:00 GMT 2026",
        "Nov 15, 2026 10:00:00",
        "  Sun,\r\n\t15 Nov 2026 10:00:00 GMT ",
        "Mon, 15 Nov 2026 10:00:00 GMT",
        "Sun, 15 Nov 2026 10:00:00.25 GMT",
        "Sun, 15 Nov 2026 09:59:60 GMT",
    ] {
        assert_eq!(read(text), Some(TIME), "{text}");
    }
    assert_eq!(read("15 Nov 2026"), Some(TIME - 10 * 3_600));
    assert_eq!(read("1 Jan 70 00:00 GMT"), Some(0));
    assert_eq!(read("1 Jan 49 00:00 GMT"), Some(2_493_072_000));
    assert_eq!(read("5 Jun 86 12:00:00 EDT"), Some(518_371_200));
    assert_eq!(read("Thu, 29 Feb 2024 00:00:00 +0000"), Some(1_709_164_800));
    assert_eq!(parse(b"Sun, 15 Nov 2026 10:00:00 \xe9t\xe9"), Some(TIME));
}

#[test]
fn what_is_no_date_is_none() {
    let long = format!("Sun, 15 Nov 2026 10:00:00 GMT ({})", "x".repeat(300));
    for text in [
        "",
        ",",
        "(",
        "yesterday",
        "15 Nov",
        "Nov 2026",
        "32 Nov 2026 10:00:00",
        "31 Nov 2026 10:00:00",
        "29 Feb 2026 10:00:00",
        "29 Feb 1900 10:00:00",
        "0 Nov 2026 10:00:00",
        "15 Foo 2026 10:00:00",
        "15 Nov 2026 24:00:00",
        "15 Nov 50 10:00:00",
        "15 Nov 2026 10:60:00",
        "15 Nov 2026 10:00:61",
        "15 Nov 2026 10:00:00:00",
        "15 Nov 2026 10:",
        "15 Nov 2026 10:00:00 +01000000",
        "15 Nov 20260 10:00:00",
        "15 Nov 2026 1999 10:00:00",
        "31 Dec 1969 23:59:59 GMT",
        "15 11 2026 10:00:00",
        "15 Nov 2026x",
        &long,
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn last_and_first_moments_move_with_their_zone() {
    assert_eq!(read("31 Dec 1969 23:59:59 -0001"), Some(59));
    assert_eq!(read("1 Jan 1970 00:00:00 +0001"), None);
    assert_eq!(read("31 Dec 9999 23:59:59 GMT"), Some(LAST));
    assert_eq!(read("31 Dec 9999 23:59:59 -0100"), None);
}

#[test]
fn what_is_written_is_read_again() {
    assert_eq!(write(TIME), "Sun, 15 Nov 2026 10:00:00 +0000");
    assert_eq!(write_compact(TIME), "20261115100000");
    assert_eq!(write_stamp(TIME), "20261115 100000 GMT");
    let step = 86_400 * 17 + 3_661;
    for seconds in (0..LAST)
        .step_by(step * 101)
        .chain([0, LAST, 951_782_400, 951_868_799])
    {
        assert_eq!(read(&write(seconds)), Some(seconds));
        assert_eq!(
            parse_compact(write_compact(seconds).as_bytes()),
            Ok(seconds)
        );
    }
}

#[test]
fn days_and_dates_are_each_others_reverse() {
    for day in (0..LAST / DAY).step_by(37) {
        let (year, month, date) = civil(day);
        assert_eq!(at((year, month, date), (0, 0, 0), 0), Some(day * DAY));
    }
    assert_eq!(civil(0), (1970, 1, 1));
}

#[test]
fn mailboxes_have_a_form_of_their_own() {
    assert_eq!(asctime(TIME), "Sun Nov 15 10:00:00 2026");
    assert_eq!(asctime(i64::MIN), "Thu Jan  1 00:00:00 1970");
    assert_eq!(read(&asctime(TIME)), Some(TIME));
}

#[test]
fn times_outside_of_the_calendar_are_pulled_into_it() {
    assert_eq!(write(i64::MIN), "Thu, 01 Jan 1970 00:00:00 +0000");
    assert_eq!(write_compact(i64::MAX), "99991231235959");
}

#[test]
fn stamps_may_have_short_years() {
    assert_eq!(parse_stamp(b"20261115", b"100000"), Ok(TIME));
    assert_eq!(parse_stamp(b"261115", b"100000"), Ok(TIME));
    assert_eq!(parse_stamp(b"700101", b"000000"), Ok(0));
    assert_eq!(
        parse_stamp(b"691231", b"235959"),
        parse_stamp(b"20691231", b"235959")
    );
    for (date, time) in [
        ("20261115", "10000"),
        ("20261115", "1000000"),
        ("2026111", "100000"),
        ("20261315", "100000"),
        ("2026-1-1", "100000"),
        ("20261115", "+10000"),
        ("", ""),
    ] {
        assert_eq!(
            parse_stamp(date.as_bytes(), time.as_bytes()),
            Err(Error::Date),
            "{date} {time}"
        );
    }
    assert_eq!(parse_compact(b"2026"), Err(Error::Date));
}
