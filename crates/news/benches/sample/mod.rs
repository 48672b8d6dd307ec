//! A newsgroup as it might be: some hundred people, threads of different lengths, overview lines of
//! about 430 octets as INN sends them.

use weir_news::thread::{Headline, Inserted, ThreadTable};
use weir_news_proto::MessageId;

/// Articles of one newsgroup, oldest first.
pub(crate) struct Sample {
    articles: Vec<Article>,
}

struct Article {
    id: MessageId,
    references: Vec<MessageId>,
    subject: String,
    author: String,
    date: i64,
}

const WORDS: [&str; 16] = [
    "gauge", "river", "mill", "survey", "spring", "weir", "flood", "bridge", "sluice", "readings",
    "sensor", "upstream", "repair", "winter", "levels", "photos",
];

impl Sample {
    /// Every sixth article or so starts a thread; each other one answers one of the last forty.
    pub(crate) fn of(count: usize) -> Self {
        let mut articles: Vec<Article> = Vec::with_capacity(count);
        let mut dice = Dice(0x5eed);
        for number in 0..count {
            let date = 1_780_000_000 + number as i64 * 600;
            let tail = dice.up_to(1 << 30);
            let id = format!(
                "<{date:x}.{tail:08x}${number}@news.client{}.example>",
                tail % 100
            );
            let author = dice.up_to(300);
            let answered =
                (number > 0 && dice.up_to(6) > 0).then(|| number - 1 - dice.up_to(number.min(40)));
            let (subject, references) = match answered.map(|at| &articles[at]) {
                None => (dice.subject(), Vec::new()),
                Some(parent) => (reply(&parent.subject), chain(parent)),
            };
            articles.push(Article {
                id: id.parse().expect("it is made as an ID is"),
                references,
                subject,
                author: format!("Author Number{author} <author{author}@mail.example>"),
                date,
            });
        }
        Self { articles }
    }

    /// Each article as the table takes it.
    pub(crate) fn headlines(&self) -> impl DoubleEndedIterator<Item = Headline<'_>> {
        let numbered = self.articles.iter().enumerate();
        numbered.map(|(number, article)| Headline {
            number: Some(number as u64 + 1),
            id: &article.id,
            references: &article.references,
            in_reply_to: None,
            subject: &article.subject,
            author: &article.author,
            date: article.date,
            bytes: 2_345,
            lines: 42,
        })
    }

    /// Octets of all lines on the wire.
    pub(crate) fn wire_length(&self) -> usize {
        let line = |article: &Article| {
            let references = article
                .references
                .iter()
                .map(|id| id.as_str().len() + 1)
                .sum::<usize>();
            let date = "Sun, 15 Nov 2026 10:00:00 +0000".len();
            let xref = "Xref: news.server.example example.rivers.gauges:123456".len();
            let texts = article.subject.len() + article.author.len() + article.id.as_str().len();
            6 + texts + date + references + 4 + 2 + xref + 10
        };
        self.articles.iter().map(line).sum()
    }

    /// All of it in a table.
    pub(crate) fn table(&self) -> ThreadTable {
        let mut table = ThreadTable::new();
        for headline in self.headlines() {
            assert_eq!(table.insert(&headline), Inserted::New);
        }
        table
    }
}

fn reply(subject: &str) -> String {
    match subject.strip_prefix("Re: ") {
        Some(_) => subject.to_owned(),
        None => format!("Re: {subject}"),
    }
}

/// The parent's references and the parent, trimmed as newsreaders do it.
fn chain(parent: &Article) -> Vec<MessageId> {
    let mut chain = parent.references.clone();
    chain.push(parent.id.clone());
    if chain.len() > 20 {
        chain.remove(1);
    }
    chain
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn up_to(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn subject(&mut self) -> String {
        let words: Vec<&str> = (0..6).map(|_| WORDS[self.up_to(WORDS.len())]).collect();
        words.join(" ")
    }
}
