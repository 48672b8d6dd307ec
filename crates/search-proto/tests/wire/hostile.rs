//! Bytes that were made to do harm, and bytes that end too early.

use weir_search_proto::{Caps, Unreadable, parse_request, read_feed};

use crate::recorded::{files, recorded};

const MEGABYTE: usize = 1024 * 1024;

fn item(inside: &str) -> String {
    format!(
        "<rss><channel><item><title>a</title><link>http://a/</link>{inside}</item></channel></rss>"
    )
}

fn refusal(text: &str) -> Unreadable {
    read_feed(text.as_bytes(), None).expect_err("a refusal")
}

#[test]
fn entity_bombs_are_refused_unread() {
    let mut bomb = String::from("<?xml version=\"1.0\"?><!DOCTYPE lolz [<!ENTITY lol0 \"lol\">");
    for n in 1..10 {
        let ten = format!("&lol{};", n - 1).repeat(10);
        bomb.push_str(&format!("<!ENTITY lol{n} \"{ten}\">"));
    }
    bomb.push_str("]><rss><channel><item><title>&lol9;</title></item></channel></rss>");
    assert_eq!(refusal(&bomb), Unreadable::Entity);
    assert_eq!(Caps::read(bomb.as_bytes(), None), Err(Unreadable::Entity));
    assert_eq!(
        refusal(&bomb.replace("ENTITY lol", "entity % lol")),
        Unreadable::Entity
    );
}

#[test]
fn external_entities_are_refused_and_external_types_are_not_fetched() {
    let outside = "<!DOCTYPE rss [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>";
    let feed = item("<guid>&x;</guid>");
    assert_eq!(refusal(&format!("{outside}{feed}")), Unreadable::Entity);
    let dtd =
        "<!DOCTYPE rss PUBLIC \"-//Netscape//DTD RSS 0.91//EN\" \"http://a.example/rss.dtd\">";
    let feed = read_feed(format!("{dtd}{feed}").as_bytes(), None).expect("a feed");
    assert_eq!(feed.releases[0].guid, "&x;");
}

#[test]
fn depth_is_bounded() {
    let deep = "<a>".repeat(100_000);
    assert_eq!(refusal(&item(&deep)), Unreadable::TooDeep);
    assert_eq!(refusal(&format!("<rss>{deep}")), Unreadable::TooDeep);
    let caps = format!("<caps>{deep}");
    assert_eq!(Caps::read(caps.as_bytes(), None), Err(Unreadable::TooDeep));
    let fine = format!("{}{}", "<a>".repeat(29), "</a>".repeat(29));
    assert_eq!(
        read_feed(item(&fine).as_bytes(), None)
            .expect("a feed")
            .releases
            .len(),
        1
    );
    assert_eq!(
        refusal(&item(&format!("<a>{fine}</a>"))),
        Unreadable::TooDeep
    );
}

#[test]
fn length_of_a_text_is_bounded() {
    let long = "x".repeat(2 * MEGABYTE + 1);
    for inside in [
        format!("<guid>{long}</guid>"),
        format!("<guid><![CDATA[{long}]]></guid>"),
        format!("<guid>{}</guid>", "&#120;".repeat(long.len())),
        format!("<enclosure url=\"{long}\"/>"),
        format!("<attr name=\"a\" value=\"{long}\"/>"),
    ] {
        assert_eq!(
            refusal(&item(&inside)),
            Unreadable::TooLong,
            "{}",
            &inside[..30]
        );
    }
    // What nobody wants costs nothing.
    let feed = item(&format!("<description>{long}</description>"));
    assert_eq!(
        read_feed(feed.as_bytes(), None)
            .expect("a feed")
            .releases
            .len(),
        1
    );
}

#[test]
fn number_of_items_and_categories_is_bounded() {
    let items = |n: usize| format!("<rss><channel>{}</channel></rss>", "<item/>".repeat(n));
    let feed = read_feed(items(10_000).as_bytes(), None).expect("a feed");
    assert_eq!((feed.releases.len(), feed.odd), (0, 10_000));
    assert_eq!(refusal(&items(10_001)), Unreadable::TooMany);
    let categories = "<category id='1' name='a'/>".repeat(10_001);
    let caps = format!("<caps><categories>{categories}</categories></caps>");
    assert_eq!(Caps::read(caps.as_bytes(), None), Err(Unreadable::TooMany));
}

#[test]
fn what_never_ends_is_not_xml() {
    for start in [
        "<rss><channel><item><title><![CDATA[",
        "<rss><!-- ",
        "<rss a=\"",
        "<rss>",
        "<rss><channel>",
        "<rss><channel><item><title>",
        "<?xml ",
        "<!DOCTYPE rss [",
        "<",
    ] {
        let endless = format!("{start}{}", "x".repeat(MEGABYTE));
        let refused = refusal(&endless);
        assert!(
            matches!(refused, Unreadable::NotXml { .. }),
            "{start}: {refused:?}"
        );
        assert!(refused.to_string().len() < 400);
    }
}

#[test]
fn many_small_things_take_no_longer_than_few_large_ones() {
    // Each of these is slow for a reader that looks at what it has seen already.
    let attributes = (0..100_000)
        .map(|n| format!(" a{n}=''"))
        .collect::<String>();
    let many = [
        item(&format!("<attr{attributes}/>")),
        item(&format!("<guid>{}</guid>", "&".repeat(MEGABYTE))),
        item(&format!("<guid>{}</guid>", "&a".repeat(MEGABYTE))),
        item(&format!(
            "<attr name='a' value='{}'/>",
            "&".repeat(MEGABYTE)
        )),
        item(&"<attr name='a' value='b'/>".repeat(100_000)),
        item(&"<category>1</category>".repeat(100_000)),
        item(
            &(0..100_000)
                .map(|n| format!("<category>{n}</category>"))
                .collect::<String>(),
        ),
        item(&format!("<guid>{}</guid>", "<![CDATA[]]>".repeat(100_000))),
    ];
    for feed in many {
        let feed = read_feed(feed.as_bytes(), None).expect("a feed");
        let release = &feed.releases[0];
        assert!(release.attributes.len() <= 64 && release.categories.len() <= 64);
    }
    let tokens = "{".repeat(1_000);
    assert!(
        parse_request(&format!("t=search&q={tokens}"))
            .request
            .is_ok()
    );
    assert!(parse_request(&"a=b&".repeat(100_000)).request.is_err());
}

#[test]
fn kept_attributes_are_short() {
    let long = "é".repeat(2_000);
    let feed = item(&format!("<attr name='{long}' value='{long}'/>"));
    let feed = read_feed(feed.as_bytes(), None).expect("a feed");
    let (name, value) = &feed.releases[0].attributes[0];
    assert_eq!((name.chars().count(), value.chars().count()), (100, 1_000));
}

#[test]
fn no_beginning_of_a_document_is_a_panic_or_half_an_answer() {
    for directory in ["search_feed", "search_caps"] {
        for path in files(&recorded().join(directory)) {
            let body = std::fs::read(&path).expect("a file");
            let end = body.iter().rposition(|byte| *byte == b'>').unwrap_or(0);
            for length in 0..body.len() {
                let feed = read_feed(&body[..length], None);
                let caps = Caps::read(&body[..length], Some("iso-8859-1"));
                let whole = length > end || path.ends_with("both-namespaces.xml");
                assert!(whole || feed.is_err(), "{}: {length}", path.display());
                assert!(whole || caps.is_err(), "{}: {length}", path.display());
            }
        }
    }
}

#[test]
fn any_byte_may_be_wrong() {
    for directory in ["search_feed", "search_caps"] {
        for path in files(&recorded().join(directory)) {
            let mut body = std::fs::read(&path).expect("a file");
            for place in 0..body.len() {
                for wrong in [b'<', 0xFF] {
                    let right = std::mem::replace(&mut body[place], wrong);
                    let _ = read_feed(&body, None);
                    let _ = Caps::read(&body, None);
                    body[place] = right;
                }
            }
        }
    }
}
