//! What people read of recorded articles: headers, character sets, quotes, signatures, links.

use weir_news_proto::article::{Article, Damage, Followup, Role, Span, Target};

use super::kept::{article, texts};

/// 2026-11-15 10:00:00 UTC, the time of all samples.
const TIME: i64 = 1_794_736_800;

/// The blocks of an article as text: role and quote level before each.
pub(super) fn blocks(article: &Article) -> Vec<String> {
    let blocks = article.blocks().map(|block| {
        let role = match &block.role {
            Role::Text => "text".to_owned(),
            Role::Attribution => "by".to_owned(),
            Role::Signature => "signature".to_owned(),
            Role::Pgp => "pgp".to_owned(),
            Role::File(file) => format!(
                "file {:?} {:?} {:?}/{:?}",
                file.name, file.size, file.part, file.total
            ),
        };
        format!("{role} {}: {}", block.quote, block.text())
    });
    blocks.collect()
}

#[test]
fn headers_of_an_answer() {
    let head = article("utf-8").head;
    assert_eq!(head.from.name, "Jörg Petri");
    assert_eq!(head.from.address, "joerg@river.example");
    assert_eq!(head.subject, "Größe am alten Wehr");
    assert_eq!(
        (head.date.seconds, head.date.raw.as_str()),
        (Some(TIME), "Sun, 15 Nov 2026 11:00:00 +0100")
    );
    assert_eq!(
        texts(&head.references),
        ["<root0001@river.example>", "<gauge0000@river.example>"]
    );
    assert_eq!(head.in_reply_to, head.references.last().cloned());
    assert_eq!(texts(&head.newsgroups), ["example.rivers.gauges"]);
    assert_eq!(head.organization, "Fluss & Söhne");
    assert_eq!(head.user_agent, "slrn/1.0.3");
    assert_eq!(head.xref, "news-one.example example.rivers.gauges:42");
    assert_eq!(head.path, "news-one.example!news-two.example!not-for-mail");
    assert_eq!(head.header("lines"), Some("12"));
    assert_eq!(head.headers[0].name, "Path");
}

#[test]
fn headers_of_a_cross_post() {
    let head = article("cross-post").head;
    assert_eq!(
        (head.from.shown(), head.from.address.as_str()),
        ("Mira Holt", "mira@river.example")
    );
    assert_eq!(
        texts(&head.newsgroups),
        [
            "example.rivers.gauges",
            "example.rivers.survey",
            "example.test"
        ]
    );
    let followup = Followup::Newsgroups(vec![head.newsgroups[0].clone()]);
    assert_eq!(head.followup_to, Some(followup));
    assert_eq!(
        head.reply_to.expect("it has one").address,
        "mira@home.example"
    );
    assert_eq!(head.date.seconds, Some(TIME));
    assert_eq!(head.user_agent, "tin 2.6.2");
    let id = head.message_id.expect("it has one");
    assert_eq!(id.as_str(), "<survey1@river.example>");
}

#[test]
fn quotes_signature_and_links_of_an_answer() {
    let article = article("utf-8");
    let expected = [
        "by 0: On Sat, 14 Nov 2026, Mira Holt\n<mira@river.example> wrote:",
        "text 1: Der Pegel steht bei 2,40 m.\nSiehe https://gauge.example/mill?day=14 (täglich).",
        "text 2: Das war gestern auch so.",
        "text 0: Heute sind es 2,55 m — größer als gedacht.\nMehr dazu in <gauge0000.abc@river.example> und \
         news:example.rivers.survey",
        "signature 0: Jörg Petri\nmailto:joerg@river.example",
    ];
    assert_eq!(blocks(&article), expected);
    let targets: Vec<Target> = article
        .blocks()
        .flat_map(|block| &block.spans)
        .filter_map(|span| match span {
            Span::Link { target, .. } => Some(target.clone()),
            Span::Text(_) => None,
        })
        .collect();
    let expected = [
        Target::Url("https://gauge.example/mill?day=14".into()),
        Target::Article("<gauge0000.abc@river.example>".parse().expect("an ID")),
        Target::Newsgroup("example.rivers.survey".parse().expect("a name")),
        Target::Url("mailto:joerg@river.example".into()),
    ];
    assert_eq!(targets, expected);
    assert_eq!(article.snippet(30), "Heute sind es 2,55 m —…");
    assert!(
        article
            .plain_text()
            .contains("\n>> Das war gestern auch so.\n")
    );
    assert!(!article.plain_text().contains("mailto:"));
    assert_eq!(article.damage, []);
}

#[test]
fn labelled_character_sets() {
    let russian = "text 0: Привет! Уровень воды у старой мельницы сегодня выше обычного.\n\
                   Кто-нибудь видел показания за неделю?";
    for (name, subject, charset, text) in [
        (
            "iso-8859-1",
            "Größe am Wehr",
            "windows-1252",
            "text 0: Die größte Überraschung war der Pegel am Mühlwehr, der seit gestern steigt.",
        ),
        ("windows-1251", "Уровень воды", "windows-1251", russian),
        ("koi8-r-raw-headers", "Уровень воды", "KOI8-R", russian),
        (
            "iso-2022-jp",
            "水位について",
            "ISO-2022-JP",
            "text 0: こんにちは。今日の水位は二メートルです。",
        ),
        ("gb2312", "河水水位", "GBK", "text 0: 今天的水位比昨天高。"),
        ("big5", "河水水位", "Big5", "text 0: 今天的水位比昨天高。"),
    ] {
        let article = article(name);
        assert_eq!(article.head.subject, subject, "{name}");
        assert_eq!(blocks(&article)[0], text, "{name}");
        let text = article.parts[0].text().expect("text");
        assert_eq!((text.charset, text.is_guessed), (charset, false), "{name}");
        assert_eq!(article.damage, [], "{name}");
    }
    assert_eq!(article("koi8-r-raw-headers").head.from.name, "Иван Петров");
}

#[test]
fn character_sets_that_are_not_said_or_wrong() {
    let german = "text 0: Die größte Überraschung für Müller war der Pegel am Mühlwehr.\n\
                  Könnte das am Regen liegen? Schöne Grüße";
    for (name, charset) in [
        ("unlabelled-8bit", "windows-1252"),
        ("unlabelled-utf-8", "UTF-8"),
        ("mislabelled-ascii", "windows-1252"),
        ("mislabelled-utf-8", "windows-1252"),
    ] {
        let article = article(name);
        assert_eq!(blocks(&article), [german], "{name}");
        let text = article.parts[0].text().expect("text");
        assert_eq!((text.charset, text.is_guessed), (charset, true), "{name}");
        assert_eq!(article.damage, [], "{name}");
    }
    let japanese = blocks(&article("iso-2022-jp-unlabelled"));
    assert_eq!(japanese[1], "text 1: 古い水車の測定所");
    assert_eq!(blocks(&article("utf-16")), [german]);
}

#[test]
fn character_sets_that_are_not_read() {
    let seven = article("utf-7");
    assert_eq!(
        blocks(&seven),
        ["text 0: +ADw-script+AD4-alert(1)+ADw-/script+AD4-"]
    );
    assert_eq!(seven.head.subject, "=?utf-7?Q?+ADw-b+AD4-?=");
    assert_eq!(seven.damage, [Damage::UnknownCharset("utf-7".into())]);
    let unknown = article("unknown-charset");
    assert!(blocks(&unknown)[0].starts_with("text 0: Die größte"));
    let sentence = "The character set \"x-klingon\" is not supported; another one was guessed.";
    assert_eq!(unknown.damage[0].to_string(), sentence);
}

#[test]
fn flowed_text_is_joined() {
    let expected = [
        "by 0: Mira Holt wrote:",
        "text 1: The gauge at the old mill has been rising since Thursday.",
        "text 2: Is that usual for November?",
        "text 0: It is. In wet years it rises in October already.\n>This is not a quote.\n Indented by one.",
        "signature 0: Jonas Petri river.example",
    ];
    assert_eq!(blocks(&article("flowed")), expected);
    assert_eq!(
        blocks(&article("flowed-delsp")),
        ["text 0: 今日の水位は二メートルです。\nOne two"]
    );
}

#[test]
fn a_line_of_dashes_starts_no_long_signature() {
    assert!(blocks(&article("many-dashes"))[0].starts_with("text 0: --\nnot a signature"));
}

#[test]
fn signed_text_is_apart_from_its_marks() {
    let expected = [
        "pgp 0: -----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256",
        "text 0: The gauge stands at 2.55 m.",
        "signature 0: Mira",
        "pgp 0: -----BEGIN PGP SIGNATURE-----\n\niQEzBAEBCAAdFiEEabcdef\n=abcd\n-----END PGP SIGNATURE-----",
    ];
    assert_eq!(blocks(&article("pgp-inline")), expected);
}
