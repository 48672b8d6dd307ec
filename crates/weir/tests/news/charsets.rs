//! Articles in many character sets, labelled, mislabelled and not labelled at all, from a real server.

use super::articles::{Posted, id};
use super::{Town, text};

/// Name, lines of the head, text as bytes; then author, subject and text as people read them.
struct Sample {
    name: &'static str,
    head: &'static [u8],
    body: &'static [u8],
    author: &'static str,
    subject: &'static str,
    text: &'static str,
}

const SAMPLES: &[Sample] = &[
    Sample {
        name: "utf8",
        head: b"From: =?UTF-8?B?SsO8cmdlbg==?= <j@town.example>\r\n\
                Subject: =?UTF-8?Q?Die_Br=C3=BCcke?=\r\n\
                MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n",
        body: "Grüße aus 東京".as_bytes(),
        author: "Jürgen",
        subject: "Die Brücke",
        text: "Grüße aus 東京",
    },
    Sample {
        name: "latin1",
        head: b"From: =?iso-8859-1?Q?Andr=E9?= <a@town.example>\r\n\
                Subject: =?iso-8859-1?Q?Un_caf=E9?=\r\n\
                MIME-Version: 1.0\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n",
        body: b"Un caf\xe9 cr\xe8me",
        author: "André",
        subject: "Un café",
        text: "Un café crème",
    },
    Sample {
        name: "mislabelled",
        head: b"From: Liar <l@town.example>\r\nSubject: Said to be UTF-8\r\n\
                MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n",
        body: b"Une pi\xe8ce \xe0 d\xe9couvrir",
        author: "Liar",
        subject: "Said to be UTF-8",
        text: "Une pièce à découvrir",
    },
    Sample {
        name: "plainly-wrong",
        head: b"From: Liar <l@town.example>\r\nSubject: Said to be ASCII\r\n\
                MIME-Version: 1.0\r\nContent-Type: text/plain; charset=us-ascii\r\n",
        body: "Größe: 5 €".as_bytes(),
        author: "Liar",
        subject: "Said to be ASCII",
        text: "Größe: 5 €",
    },
    Sample {
        name: "unlabelled",
        head: b"From: Ren\xe9 <r@town.example>\r\nSubject: Stra\xdfe\r\n",
        body: b"In der Stra\xdfe",
        author: "René",
        subject: "Straße",
        text: "In der Straße",
    },
    Sample {
        name: "unlabelled-utf8",
        head: "From: Zoë <z@town.example>\r\nSubject: Žluťoučký kůň\r\n".as_bytes(),
        body: "Příliš žluťoučký kůň".as_bytes(),
        author: "Zoë",
        subject: "Žluťoučký kůň",
        text: "Příliš žluťoučký kůň",
    },
    Sample {
        name: "koi8",
        head: b"From: =?koi8-r?Q?=F0=D2=C9=D7=C5=D4?= <p@town.example>\r\n\
                Subject: =?koi8-r?B?8NLJ18XU?=\r\n\
                MIME-Version: 1.0\r\nContent-Type: text/plain; charset=koi8-r\r\nContent-Transfer-Encoding: 8bit\r\n",
        body: b"\xf0\xd2\xc9\xd7\xc5\xd4",
        author: "Привет",
        subject: "Привет",
        text: "Привет",
    },
    Sample {
        name: "japanese",
        head: b"From: =?ISO-2022-JP?B?GyRCRnxLXDhsGyhC?= <n@town.example>\r\n\
                Subject: =?ISO-2022-JP?B?GyRCRnxLXDhsGyhC?=\r\n\
                MIME-Version: 1.0\r\nContent-Type: text/plain; charset=iso-2022-jp\r\nContent-Transfer-Encoding: 7bit\r\n",
        body: b"\x1b$BF|K\\8l\x1b(B",
        author: "日本語",
        subject: "日本語",
        text: "日本語",
    },
];

#[test]
fn every_character_set_is_read_in_lists_and_in_articles() {
    let stock: Vec<Posted> = SAMPLES
        .iter()
        .zip(1..)
        .map(|(sample, minute)| {
            Posted::new(sample.name, "misc.test", minute, sample.head, sample.body)
        })
        .collect();
    let town = Town::new([(&["misc.test"], &stock), (&["misc.test"], &[])], "");
    let list = town.threads("misc.test");
    let shown = town.weir.page("/news/misc.test");
    for sample in SAMPLES {
        let name = sample.name;
        let rows = list["threads"].as_array().unwrap();
        let row = rows.iter().find(|row| row["id"] == id(name)).unwrap();
        assert_eq!(
            (text(&row["subject"]), text(&row["author"])),
            (sample.subject.to_owned(), sample.author.to_owned()),
            "{name} in the list"
        );
        for words in [sample.subject, sample.author] {
            assert!(shown.contains(words), "{name}: {words} in the page");
        }
        let article = town
            .weir
            .json(&format!("/api/v1/news/articles/{}", id(name)));
        assert_eq!(text(&article["subject"]), sample.subject, "{name}");
        assert_eq!(text(&article["author"]), sample.author, "{name}");
        assert_eq!(text(&article["text"]).trim(), sample.text, "{name}");
        let page = town.weir.page(&format!("/news/article/{}", id(name)));
        assert!(page.contains(sample.text), "{name}: {page}");
    }
}
