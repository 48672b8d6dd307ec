//! The newsgroups of the demo: invented people write about rivers and about software that does not exist.

use weir_testkit::zoo::indexer::date;
use weir_testkit::zoo::news::{Article, Newsgroup};

/// All newsgroups with what they are about.
pub(super) const NAMES: [(&str, &str); 5] = [
    ("rivers.general", "Anything about running water"),
    ("rivers.weirs", "Weirs, sills, sluices and fish passes"),
    (
        GAUGES,
        "Readings of gauges, posted by the gauges themselves",
    ),
    (
        "comp.example.linux",
        "Example Linux, a system that does not exist",
    ),
    ("misc.demo", "Try posting here: it goes nowhere"),
];

/// Where readings are posted.
const GAUGES: &str = "rivers.gauges";

/// An article: newsgroup, its id, those it refers to, author, subject, minutes before now, text.
type Letter = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static str,
    i64,
    &'static str,
);

const ADA: &str = "Ada Brook <ada@example.com>";
const BEN: &str = "Ben Ford <ben@example.org>";
const CLEO: &str = "Cleo Marsh <cleo@example.net>";
const DAN: &str = "Dan Sluice <dan@example.com>";

const LETTERS: [Letter; 18] = [
    (
        "rivers.weirs",
        "sill-1",
        &[],
        ADA,
        "Broad-crested or sharp-crested?",
        4_320,
        "We are replacing the sill at the old mill. The drawings show a broad crest, the\n\
         survey of 1962 a sharp one.\n\nWhich of the two is easier to gauge at low water?\n\nAda",
    ),
    (
        "rivers.weirs",
        "sill-2",
        &["sill-1"],
        BEN,
        "Re: Broad-crested or sharp-crested?",
        4_100,
        "Ada Brook wrote:\n> Which of the two is easier to gauge at low water?\n\n\
         The sharp one, as long as it stays sharp. Ours collected branches within a month,\n\
         and the readings drifted by two centimetres.\n\nBen",
    ),
    (
        "rivers.weirs",
        "sill-3",
        &["sill-1", "sill-2"],
        CLEO,
        "Re: Broad-crested or sharp-crested?",
        3_900,
        "> Ours collected branches within a month\n\nA boom upstream helps. Cut the ropes long enough:\n\
         the river rises more than you think.\n\nCleo",
    ),
    (
        "rivers.weirs",
        "sill-4",
        &["sill-1"],
        DAN,
        "Re: Broad-crested or sharp-crested?",
        2_600,
        "Broad. Canoeists will thank you, and so will the fish.\n\nDan",
    ),
    (
        "rivers.weirs",
        "sill-5",
        &["sill-1", "sill-4"],
        ADA,
        "Re: Broad-crested or sharp-crested?",
        700,
        "> Canoeists will thank you\n\nThat settles it. Work begins when the water is low enough.\n\nAda",
    ),
    (
        "rivers.weirs",
        "pass-1",
        &[],
        CLEO,
        "Fish pass: how steep is too steep?",
        1_900,
        "The new pass has a slope of one in fifteen. Trout manage, bream turn back.\n\
         Has anybody rebuilt one without closing the river?\n\nCleo",
    ),
    (
        "rivers.weirs",
        "pass-2",
        &["pass-1"],
        BEN,
        "Re: Fish pass: how steep is too steep?",
        1_500,
        "One in twenty-five works for ours. We added resting pools, one every six metres,\n\
         and built from the bank side only.\n\nBen",
    ),
    (
        "rivers.general",
        "map-1",
        &[],
        DAN,
        "Open Rivers Atlas: volume 6 is out",
        2_900,
        "Volume 6 covers the lowlands. Corrections to volume 2 are in the appendix.\n\nDan",
    ),
    (
        "rivers.general",
        "map-2",
        &["map-1"],
        ADA,
        "Re: Open Rivers Atlas: volume 6 is out",
        2_500,
        "> Corrections to volume 2 are in the appendix\n\nIncluding the ford that was never there?\n\nAda",
    ),
    (
        "rivers.general",
        "map-3",
        &["map-1", "map-2"],
        DAN,
        "Re: Open Rivers Atlas: volume 6 is out",
        2_400,
        "Including the ford that was never there.\n\nDan",
    ),
    (
        "rivers.general",
        "ice-1",
        &[],
        BEN,
        "First ice",
        300,
        "Thin ice along the left bank this morning, gone by ten. Earlier than last year.\n\nBen",
    ),
    (
        "rivers.general",
        "ice-2",
        &["ice-1"],
        CLEO,
        "Re: First ice",
        180,
        "None here yet, but the gauge house had frost on the inside.\n\nCleo",
    ),
    (
        "comp.example.linux",
        "rel-1",
        &[],
        DAN,
        "Example Linux 13.3 released",
        1_440,
        "Example Linux 13.3 is ready. Changes since 13.2:\n\n\
         - the installer asks fewer questions\n- the clock survives a flat battery\n- 41 small repairs\n\n\
         Images are where they always are.\n\nDan",
    ),
    (
        "comp.example.linux",
        "rel-2",
        &["rel-1"],
        ADA,
        "Re: Example Linux 13.3 released",
        1_200,
        "> the installer asks fewer questions\n\nIt still asks for the name of my first pet.\n\nAda",
    ),
    (
        "comp.example.linux",
        "rel-3",
        &["rel-1", "rel-2"],
        DAN,
        "Re: Example Linux 13.3 released",
        1_100,
        "That question is for 14.0 to remove. We are attached to it.\n\nDan",
    ),
    (
        "comp.example.linux",
        "swap-1",
        &[],
        CLEO,
        "Swap on a small machine",
        500,
        "The gauge house has 256 MB. Is swap on flash as bad as people say?\n\nCleo",
    ),
    (
        "comp.example.linux",
        "swap-2",
        &["swap-1"],
        BEN,
        "Re: Swap on a small machine",
        420,
        "Compressed memory first, flash only if that is not enough. Ours has not touched the\n\
         flash in three years.\n\nBen",
    ),
    (
        "misc.demo",
        "hello-1",
        &[],
        "Weir demo <demo@example.com>",
        "This newsgroup is part of the demo",
        60,
        "Everything here is made up, and nothing leaves this machine. What you post is gone when\n\
         the demo ends.",
    ),
];

/// The newsgroups that a server carries, with their articles.
pub(super) fn newsgroups(now: i64, carries: impl Fn(&str) -> bool) -> Vec<Newsgroup> {
    let carried = NAMES.iter().filter(|(name, _)| carries(name));
    carried
        .map(|(name, about)| newsgroup(name, about, now))
        .collect()
}

fn newsgroup(name: &str, about: &str, now: i64) -> Newsgroup {
    let letters = LETTERS.iter().filter(|letter| letter.0 == name);
    let mut articles: Vec<(i64, Article)> = letters.map(|letter| article(letter, now)).collect();
    if name == GAUGES {
        let earlier = (1..=8).map(|hours| now - hours * 3_600);
        articles.extend(
            (1..)
                .zip(earlier)
                .map(|(number, at)| (at, reading(1_000 - number, at).1)),
        );
    }
    articles.sort_by_key(|(at, _)| *at);
    let mut newsgroup = Newsgroup::new(name);
    newsgroup.description = about.to_owned();
    (1..)
        .zip(articles)
        .fold(newsgroup, |newsgroup, (number, (_, article))| {
            newsgroup.at(number, article)
        })
}

fn article(letter: &Letter, now: i64) -> (i64, Article) {
    let (newsgroup, id, references, from, subject, minutes, text) = letter;
    let at = now - minutes * 60;
    let references: Vec<String> = references.iter().map(|id| self::id(id)).collect();
    let (date, references) = (date(at), references.join(" "));
    let mut headers = vec![
        ("Newsgroups", *newsgroup),
        ("From", *from),
        ("Subject", *subject),
        ("Date", &date),
    ];
    if !references.is_empty() {
        headers.push(("References", &references));
    }
    (at, Article::new(&self::id(id), &headers, text))
}

/// What a gauge posts, and where.
pub(super) fn reading(number: u32, at: i64) -> (&'static str, Article) {
    let height = 138 + number * 7 % 23;
    let place = ["old mill", "ford", "lower lock"][number as usize % 3];
    let subject = format!(
        "Gauge at the {place}: {}.{:02} m",
        height / 100,
        height % 100
    );
    let (id, date) = (id(&format!("gauge-{number}")), date(at));
    let headers = [
        ("Newsgroups", GAUGES),
        ("From", "Gauge <gauge@example.com>"),
        ("Subject", &subject),
        ("Date", &date),
    ];
    let text = format!("{subject}. The water is clear. The next reading is due in an hour.");
    (GAUGES, Article::new(&id, &headers, &text))
}

fn id(name: &str) -> String {
    format!("<{name}@demo.example>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_is_in_a_newsgroup_and_refers_to_earlier_ones() {
        for (number, letter) in LETTERS.iter().enumerate() {
            let (newsgroup, id, references, ..) = letter;
            assert!(NAMES.iter().any(|(name, _)| name == newsgroup), "{id}");
            for reference in *references {
                let earlier = LETTERS[..number].iter();
                let mut earlier = earlier.filter(|one| one.1 == *reference && one.5 > letter.5);
                assert!(earlier.next().is_some(), "{id} refers to {reference}");
            }
        }
    }
}
