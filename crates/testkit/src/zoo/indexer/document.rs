//! The documents of an indexer. Written here rather than by the search front's own writer, so that tests have two
//! opinions.

use std::fmt::Write;

use super::script::value;
use super::{Item, Shelf};

/// Bytes in ISO 8859-1.
pub(super) struct Latin(pub(super) Vec<u8>);

const HEAD: &str = "<rss version=\"2.0\" xmlns:torznab=\"http://torznab.com/schemas/2015/feed\" \
                    xmlns:newznab=\"http://www.newznab.com/DTD/2010/feeds/attributes/\">\n<channel>\n\
                    <title>Scripted</title>\n";

pub(super) fn caps(shelf: &Shelf) -> String {
    let caps = &shelf.caps;
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<caps>\n<server version=\"1.3\" title=\"Scripted\"/>\n\
         <limits default=\"{0}\" max=\"{0}\"/>\n<searching>\n",
        caps.limit
    );
    for (name, parameters) in &caps.searching {
        text += &format!("<{name} available=\"yes\" supportedParams=\"{parameters}\"/>\n");
    }
    text += "</searching>\n<categories>\n";
    for (id, name, below) in &caps.categories {
        text += &format!("<category id=\"{id}\" name=\"{name}\">");
        for (id, name) in below {
            text += &format!("<subcat id=\"{id}\" name=\"{name}\"/>");
        }
        text += "</category>\n";
    }
    text + "</categories>\n</caps>\n"
}

pub(super) fn error(code: u16, words: &str) -> String {
    format!("<?xml version=\"1.0\"?>\n<error code=\"{code}\" description=\"{words}\"/>\n")
}

pub(super) fn limits(calls: (usize, usize), grabs: (usize, usize)) -> String {
    format!(
        "<newznab:apilimits apicurrent=\"{}\" apimax=\"{}\" grabcurrent=\"{}\" grabmax=\"{}\"/>\n",
        calls.0, calls.1, grabs.0, grabs.1
    )
}

/// What was asked for.
pub(super) fn feed(shelf: &Shelf, target: &str, more: &str) -> String {
    let items: Vec<&Item> = shelf
        .items
        .iter()
        .filter(|item| wanted(item, target))
        .collect();
    let number = |name| value(target, name).and_then(|text| text.parse().ok());
    let offset: usize = number("offset").unwrap_or(0);
    let limit = number("limit").unwrap_or(usize::MAX);
    let limit = limit.min(shelf.caps.limit as usize);
    let total = items.len();
    let page = items.into_iter().skip(offset).take(limit);
    let response = format!("<newznab:response offset=\"{offset}\" total=\"{total}\"/>\n{more}");
    write(shelf, &response, page)
}

/// All it has.
pub(super) fn everything(shelf: &Shelf) -> String {
    let response = "<newznab:response offset=\"7\" total=\"999999\"/>\n";
    write(shelf, response, shelf.items.iter())
}

pub(super) fn latin(shelf: &Shelf, target: &str) -> Latin {
    let text = feed(shelf, target, "").replace("UTF-8", "ISO-8859-1");
    let text = text.replace("p</title>", "p.Amélie</title>");
    let bytes = text
        .chars()
        .map(|letter| u8::try_from(letter).unwrap_or(b'?'));
    Latin(bytes.collect())
}

fn write<'a>(shelf: &Shelf, response: &str, items: impl Iterator<Item = &'a Item>) -> String {
    let mut text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{HEAD}{response}");
    for item in items {
        write_item(&mut text, shelf, item);
    }
    text + "</channel>\n</rss>\n"
}

fn write_item(text: &mut String, shelf: &Shelf, item: &Item) {
    let (kind, attribute) = match shelf.newznab {
        true => ("application/x-nzb", "newznab"),
        false => ("application/x-bittorrent", "torznab"),
    };
    let secret = match shelf.secret.as_str() {
        "" => String::new(),
        secret => format!("?passkey={secret}"),
    };
    let link = format!("{}/file/{}{secret}", shelf.base, item.file);
    let date = date(item.published);
    let Item {
        title,
        guid,
        size,
        category,
        seeders,
        more,
        ..
    } = item;
    let written = write!(
        text,
        "<item><title>{title}</title><guid>{guid}</guid><link>{link}</link><pubDate>{date}</pubDate>\
         <size>{size}</size><enclosure url=\"{link}\" length=\"{size}\" type=\"{kind}\"/>\
         <{attribute}:attr name=\"category\" value=\"{category}\"/>\
         <{attribute}:attr name=\"seeders\" value=\"{seeders}\"/>"
    );
    written.expect("memory takes everything");
    if let Some(hash) = &item.info_hash {
        *text += &format!("<{attribute}:attr name=\"infohash\" value=\"{hash}\"/>");
    }
    *text += more;
    *text += "</item>\n";
}

fn wanted(item: &Item, target: &str) -> bool {
    let title = item.title.to_lowercase().replace('.', " ");
    let words = value(target, "q").unwrap_or_default().to_lowercase();
    // A dot separates words in the title too, so "13.3" is found there as well.
    let mut words = words
        .split(['+', ' ', '.'])
        .flat_map(|word| word.split("%20"));
    if !words.all(|word| title.contains(word)) {
        return false;
    }
    let categories = value(target, "cat").unwrap_or_default().replace("%2c", ",");
    let categories = categories.replace("%2C", ",");
    let mut ids = categories
        .split(',')
        .filter_map(|id| id.parse::<u32>().ok())
        .peekable();
    let of = |id: u32| {
        id == item.category || (id.is_multiple_of(1000) && item.category / 1000 == id / 1000)
    };
    ids.peek().is_none() || ids.any(of)
}

/// A torrent or an NZB that tells its own address.
pub(super) fn file(shelf: &Shelf, target: &str) -> Vec<u8> {
    if shelf.newznab {
        let text =
            "<?xml version=\"1.0\"?>\n<nzb xmlns=\"http://www.newzbin.com/DTD/2003/nzb\"></nzb>\n";
        return text.as_bytes().to_vec();
    }
    let path = target.split('?').next().unwrap_or_default();
    let name = format!("{}:{path}", path.len());
    format!("d4:infod6:lengthi1e4:name{name}12:piece lengthi1e6:pieces20:aaaaaaaaaaaaaaaaaaaaee")
        .into_bytes()
}

pub(super) fn entity_bomb() -> String {
    let mut text =
        "<?xml version=\"1.0\"?>\n<!DOCTYPE rss [\n<!ENTITY a0 \"aaaaaaaaaa\">\n".to_owned();
    for level in 1..10 {
        let below = format!("&a{};", level - 1).repeat(10);
        text += &format!("<!ENTITY a{level} \"{below}\">\n");
    }
    text + "]>\n<rss><channel><item><title>&a9;</title></item></channel></rss>\n"
}

pub(super) fn external_entity(base: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE rss [<!ENTITY lure SYSTEM \"{base}/external\">]>\n\
         <rss><channel><item><title>&lure;</title><guid>1</guid><link>{base}/file/1</link></item></channel></rss>\n"
    )
}

/// A time as in RFC 1123; `seconds` since 1970.
pub fn date(seconds: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years that begin in March, so that the day that is sometimes there comes last.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = match month {
        0..10 => (month + 2, 0),
        _ => (month - 10, 1),
    };
    let year = era * 400 + year + later;
    format!(
        "{}, {day:02} {} {year} {:02}:{:02}:{:02} +0000",
        DAYS[days.rem_euclid(7) as usize],
        MONTHS[month as usize],
        time / 3600,
        time / 60 % 60,
        time % 60
    )
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "Thu, 01 Jan 1970 00:00:00 +0000");
        assert_eq!(date(784_111_777), "Sun, 06 Nov 1994 08:49:37 +0000");
        assert_eq!(date(1_709_210_096), "Thu, 29 Feb 2024 12:34:56 +0000");
    }
}
