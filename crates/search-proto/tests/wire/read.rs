//! Feeds of others, one peculiarity at a time.

use weir_search_proto::{Caps, ErrorDocument, Protocol, Release, Unreadable, read_feed};

const MAGNET: &str = "magnet:?xt=urn:btih:aabbccddeeff00112233445566778899a0b1c2d3";

fn read(inside: &str) -> Result<Vec<Release>, Unreadable> {
    let feed = format!("<rss><channel>{inside}</channel></rss>");
    read_feed(feed.as_bytes(), None).map(|feed| feed.releases)
}

/// The release of an item with a title and a link besides this.
fn release(inside: &str) -> Release {
    let item = format!("<item><title>a</title>{inside}<link>https://a.example/1</link></item>");
    read(&item).expect("a feed").remove(0)
}

fn refusal(body: &str) -> Unreadable {
    read_feed(body.as_bytes(), None).expect_err("a refusal")
}

#[test]
fn size_is_that_of_the_attribute_then_the_element_then_the_enclosure() {
    let attribute = "<torznab:attr name='size' value='3'/>";
    let (element, enclosure) = ("<size>2</size>", "<enclosure url='http://a/' length='1'/>");
    let size = |inside: &str| release(inside).size;
    assert_eq!(size(&format!("{enclosure}{element}{attribute}")), Some(3));
    assert_eq!(size(&format!("{enclosure}{element}")), Some(2));
    assert_eq!(size(enclosure), Some(1));
    assert_eq!(size(&format!("<size>0</size>{enclosure}")), Some(1));
    assert_eq!(size("<size>unknown</size>"), None);
}

#[test]
fn magnet_is_found_wherever_it_is() {
    for inside in [
        format!("<link>{MAGNET}</link>"),
        format!("<enclosure url='{MAGNET}' type='application/x-bittorrent'/>"),
        format!("<guid>{MAGNET}</guid>"),
        format!("<attr name='magneturl' value='{MAGNET}'/>"),
        format!("<torrent:magnetURI><![CDATA[{MAGNET}]]></torrent:magnetURI>"),
    ] {
        let releases = read(&format!("<item><title>a</title>{inside}</item>")).expect("a feed");
        let release = &releases[0];
        assert_eq!(release.magnet.as_deref(), Some(MAGNET), "{inside}");
        assert!(release.info_hash.is_some(), "{inside}");
        assert_eq!(
            (release.download.as_deref(), release.protocol),
            (None, Some(Protocol::Torrent))
        );
    }
}

#[test]
fn protocol_is_that_of_the_enclosure_then_by_what_it_has() {
    for (inside, expected) in [
        (
            "<enclosure url='http://a/' type='application/x-nzb'/>",
            Some(Protocol::Nzb),
        ),
        (
            "<enclosure url='http://a/' type='application/x-bittorrent'/>",
            Some(Protocol::Torrent),
        ),
        (
            "<enclosure url='http://a/' type='application/x-bittorrent;x-scheme-handler/magnet'/>",
            Some(Protocol::Torrent),
        ),
        (
            "<enclosure url='http://a/x.NZB?a=b.torrent' type='text/plain'/>",
            Some(Protocol::Nzb),
        ),
        (
            "<enclosure url='http://a/x.torrent'/>",
            Some(Protocol::Torrent),
        ),
        (
            "<attr name='infohash' value='aabbccddeeff00112233445566778899a0b1c2d3'/>",
            Some(Protocol::Torrent),
        ),
        ("<attr name='seeders' value='1'/>", Some(Protocol::Torrent)),
        ("", None),
    ] {
        assert_eq!(release(inside).protocol, expected, "{inside}");
    }
}

#[test]
fn details_are_a_page_that_is_not_the_file() {
    let details = |inside: &str| release(inside).details;
    let enclosure = "<enclosure url='https://a.example/1.torrent'/>";
    let page = |url: &str| Some(url.to_owned());
    let both = format!("<comments>http://c/</comments><guid>http://g/</guid>{enclosure}");
    assert_eq!(details(&both), page("http://c/"));
    assert_eq!(
        details(&format!("<guid>http://g/</guid>{enclosure}")),
        page("http://g/")
    );
    assert_eq!(details(enclosure), page("https://a.example/1"));
    assert_eq!(details("<guid>https://a.example/1</guid>"), None);
    assert_eq!(details("<guid isPermaLink='false'>http://g/</guid>"), None);
    assert_eq!(details("<comments>12</comments>"), None);
}

#[test]
fn missing_guid_is_made_up_of_what_is_there() {
    assert_eq!(release("").guid, "https://a.example/1");
    assert_eq!(release("<guid> </guid>").guid, "https://a.example/1");
    let magnet = read(&format!(
        "<item><title>a</title><link>{MAGNET}</link></item>"
    ));
    assert_eq!(magnet.expect("a feed")[0].guid, MAGNET);
}

#[test]
fn items_without_title_or_download_are_counted_and_left_out() {
    let feed = "<rss><channel>\
        <item><title> </title><link>http://a/</link></item>\
        <item><link>http://a/</link></item>\
        <item><title>a</title></item>\
        <item><title>a</title><link>/relative</link></item>\
        <item><title>a</title><link>ftp://a/</link></item>\
        <item><title>a</title><link>http://a/</link></item>\
        </channel></rss>";
    let feed = read_feed(feed.as_bytes(), None).expect("a feed");
    assert_eq!((feed.releases.len(), feed.odd), (1, 5));
}

#[test]
fn categories_are_numbers_from_both_places_each_once() {
    let inside = "<category>TV > HD</category><category>5000</category>\
        <attr name='category' value='5040'/><attr name='category' value='5000'/>\
        <attr name='category' value='-3'/>";
    assert_eq!(release(inside).categories, [5000, 5040]);
}

#[test]
fn peers_are_seeders_and_leechers() {
    let inside = "<attr name='leechers' value='2'/><attr name='seeders' value='3'/>";
    let with = release(inside);
    assert_eq!(with.peers, Some(5));
    assert_eq!(with.attributes, [("leechers".to_owned(), "2".to_owned())]);
    let given = release(&format!("{inside}<attr name='peers' value='9'/>"));
    assert_eq!(given.peers, Some(9));
    assert_eq!(release("<attr name='seeders' value='-1'/>").seeders, None);
}

#[test]
fn date_is_taken_from_where_there_is_one() {
    let time = Some(1_794_736_800);
    assert_eq!(
        release("<pubDate>Sun, 15 Nov 2026 10:00:00 GMT</pubDate>").published,
        time
    );
    assert_eq!(
        release("<dc:date>2026-11-15T10:00:00Z</dc:date>").published,
        time
    );
    let usenet = "<attr name='usenetdate' value='15 Nov 2026 10:00:00 +0000'/>";
    assert_eq!(release(usenet).published, time);
    assert_eq!(
        release(&format!("<pubDate>soon</pubDate>{usenet}")).published,
        time
    );
    assert_eq!(
        release("<pubDate>Thu, 01 Jan 1970 00:00:00 +0000</pubDate>").published,
        None
    );
}

#[test]
fn attributes_are_read_in_any_form() {
    let inside = "<x:attr name=grabs value=7></x:attr><attr value='a&amp;b' name='team'/>\
        <attr name='FILES' value='2'/><attr name='empty' value=''/><attr name='alone'/>\
        <attr value='alone'/><attr name='broken/>' value='x'/>";
    let release = release(inside);
    assert_eq!((release.grabs, release.files), (Some(7), Some(2)));
    let expected = [("team", "a&b"), ("broken/>", "x")];
    assert_eq!(
        release.attributes,
        expected.map(|(k, v)| (k.to_owned(), v.to_owned()))
    );
}

#[test]
fn text_may_be_cut_by_comments_and_references() {
    let title = |text: &str| {
        let item = format!("<item><title>{text}</title><link>http://a/</link></item>");
        read(&item).expect("a feed").remove(0).title
    };
    assert_eq!(title(" a<!-- b -->c "), "ac");
    assert_eq!(title("a<![CDATA[&amp;]]>&lt;"), "a&amp;<");
    assert_eq!(title("a &nosuch; b & c"), "a &nosuch; b & c");
    assert_eq!(title("a&#x1F;&#xD800;&#99999999;b\n c"), "ab  c");
    assert_eq!(title("Rock &amp;amp; Roll"), "Rock &amp; Roll");
}

#[test]
fn pages_for_people_are_recognised() {
    for page in [
        "<!DOCTYPE html><html></html>",
        "<!doctype HTML PUBLIC \"-//W3C//DTD XHTML 1.0//EN\" \"http://a/\"><p>",
        "\n\n<HTML><body>",
        "<?xml version=\"1.0\"?><!-- x --><html xmlns=\"http://www.w3.org/1999/xhtml\">",
        "<head><title>Sign in</title>",
        "<br />\n<b>Fatal error</b>: Uncaught",
        "error code: 1020",
    ] {
        assert_eq!(refusal(page), Unreadable::Html, "{page}");
    }
}

#[test]
fn other_things_are_called_what_they_are() {
    assert_eq!(refusal(""), Unreadable::Empty);
    assert_eq!(refusal(" \r\n\t\u{FEFF}"), Unreadable::Empty);
    assert_eq!(refusal("<?xml version=\"1.0\"?>"), Unreadable::Empty);
    assert_eq!(refusal("<caps/>"), Unreadable::NotAFeed("caps".to_owned()));
    assert_eq!(refusal("<rss/>"), Unreadable::NotAFeed("rss".to_owned()));
    let feed = Caps::read(b"<rss><channel/></rss>", None);
    assert_eq!(feed, Err(Unreadable::NotAFeed("rss".to_owned())));
    for text in [
        "Internal server error",
        "{\"a\":1}",
        "{",
        "<rss></channel>",
        "<rss><channel></rss>",
    ] {
        assert!(matches!(refusal(text), Unreadable::NotXml { .. }), "{text}");
    }
    let cause = refusal("Too many requests").to_string();
    assert!(
        cause.contains("it begins with \"Too many requests\""),
        "{cause}"
    );
}

#[test]
fn errors_that_we_write_are_read_again() {
    for (code, text) in [(100, "Wrong & <missing> \"key\""), (900, ""), (65_535, "é")] {
        let document = ErrorDocument::new(code, text);
        assert_eq!(
            refusal(&document.xml()),
            Unreadable::Error(document.clone())
        );
        assert_eq!(refusal(&document.json()), Unreadable::Error(document));
    }
    let odd = Unreadable::Error(ErrorDocument::new(900, "gone"));
    assert_eq!(refusal("<error description='gone'/>"), odd);
    assert_eq!(refusal("<error code='x'>gone</error>"), odd);
    assert_eq!(refusal("<ns:ERROR code='99999'>gone</ns:ERROR>"), odd);
    assert_eq!(refusal("{\"error\": \"gone\"}"), odd);
    assert_eq!(refusal("{\"error\": {\"message\": \"gone\"}}"), odd);
    let numbered = Unreadable::Error(ErrorDocument::new(500, "gone"));
    assert_eq!(
        refusal("{\"error\": {\"code\": 500, \"description\": \"gone\"}}"),
        numbered
    );
    assert_eq!(
        refusal("{\"code\": \"500\", \"error\": \"gone\"}"),
        numbered
    );
}

#[test]
fn a_mark_and_space_before_the_declaration_are_tolerated() {
    for start in [
        "",
        "\u{FEFF}",
        "\n\n  ",
        "\u{FEFF}\n",
        "<?xml version='1.0'?>\n<?pi x?>\n",
    ] {
        let feed = format!("{start}<rss><channel/></rss>");
        assert!(read_feed(feed.as_bytes(), None).is_ok(), "{start:?}");
    }
}

/// What stands in the way of a date or a number is gone from what we keep and write, so it must be gone
/// from what we understand.
#[test]
fn attributes_are_understood_as_they_are_written() {
    let item = "<rss><channel><item><title>a</title><link>http://a/b.torrent</link>\
                <attr name='seeders' value='1'/><attr name='leechers' value='2&#1;3'/>\
                <attr name='usenetdate' value='Sun, 15 Nov&#xFFFE; 2026 10:00:00 +0000'/>\
                </item></channel></rss>";
    let feed = read_feed(item.as_bytes(), None).expect("a feed");
    let release = &feed.releases[0];
    assert_eq!(release.published, Some(1_794_736_800));
    assert_eq!(release.peers, Some(24));
    let (_, date) = release.attributes.last().expect("an attribute");
    assert_eq!(date, "Sun, 15 Nov 2026 10:00:00 +0000");
}
