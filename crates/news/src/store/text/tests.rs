//! What is stored is found, in any script, once, and no longer than it is stored; whatever is asked, and wherever a crash cuts in.

mod asking;
mod following;

use std::path::Path;

use weir_news_proto::{MessageId, Newsgroup};

use super::*;
use crate::store::{Kept, KeptArticle, KeptLine, ReadLine};
use crate::text::{Inquiry, Order};

const ROOMY: u64 = 64 << 20;
/// 10 November 2026.
const NOW: i64 = 1_794_301_920;

/// Nothing was found.
const NONE: [u64; 0] = [];

struct World {
    news: NewsFile,
    index: TextIndex,
    directory: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self::within(ROOMY, ROOMY)
    }

    /// With these limits of store and index.
    fn within(disk: u64, limit: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (news, index) = open(directory.path(), disk, limit);
        Self {
            news,
            index: index.unwrap(),
            directory,
        }
    }

    /// Stores overview lines: number, subject and author.
    fn lines(&self, newsgroup: &str, lines: &[(u64, &str, &str)]) {
        let line = |(number, subject, author): &(u64, &str, &str)| {
            let date = weir_news_proto::date::write(NOW - 1000 + *number as i64);
            KeptLine {
                number: Some(*number),
                line: format!("{subject}\t{author}\t{date}\t{}\t\t10\t1", id(*number)).into(),
            }
        };
        let kept = Kept {
            lines: lines.iter().map(line).filter_map(ReadLine::of).collect(),
            ..Kept::default()
        };
        self.news.keep(&group(newsgroup), kept);
    }

    /// Stores an article that is posted to these newsgroups.
    fn article(&self, number: u64, newsgroups: &str, body: &str) {
        self.news
            .keep_article(&id(number), article(number, newsgroups, body));
    }

    /// Waits until all is written and indexed.
    async fn settle(&self) {
        settle(&self.news, &self.index).await;
    }

    async fn look(&self, asked: &str) -> Looked {
        look(&self.index, asked, Order::Best).await
    }

    /// The numbers of the articles that are found, in order.
    async fn found(&self, asked: &str) -> Vec<u64> {
        let looked = self.look(asked).await;
        // What cannot be shown any more must not be counted either.
        assert_eq!(looked.found, looked.hits.len(), "{asked}");
        numbers(&looked)
    }
}

fn open(directory: &Path, disk: u64, limit: u64) -> (NewsFile, Option<TextIndex>) {
    let path = directory.join("news.db");
    let news = NewsFile::open(Some(path.clone()), disk);
    let index = TextIndex::open(&news, &path, limit);
    (news, index)
}

async fn written(news: &NewsFile) {
    loop {
        news.swept(|_| Ok(true)).await;
        if !news.0.backlog.lock().is_writing() {
            return;
        }
    }
}

async fn settle(news: &NewsFile, index: &TextIndex) {
    written(news).await;
    for _ in 0..10_000 {
        match index.step(NOW).await {
            Stepped::More => {}
            Stepped::Done => return,
            Stepped::Stuck => panic!("the index is stuck"),
        }
    }
    panic!("there is no end to it");
}

async fn look(index: &TextIndex, asked: &str, order: Order) -> Looked {
    let looking = Looking {
        inquiry: Inquiry::read(asked),
        order,
        skip: 0,
        take: 100,
    };
    // Where the machine has other things to do, a question may take longer than readers wait for it.
    for _ in 0..20 {
        match index.look(looking.clone()).await {
            Err(NotLooked::Busy) => {}
            looked => return looked.unwrap(),
        }
    }
    panic!("{asked} is not answered");
}

fn numbers(looked: &Looked) -> Vec<u64> {
    let number = |hit: &crate::store::Hit| {
        let bare = hit.id.bare();
        bare[..bare.find('.').unwrap()].parse().unwrap()
    };
    looked.hits.iter().map(number).collect()
}

fn group(name: &str) -> Newsgroup {
    name.parse().unwrap()
}

fn id(number: u64) -> MessageId {
    format!("<{number}.of@news.example>").parse().unwrap()
}

fn article(number: u64, newsgroups: &str, body: &str) -> KeptArticle {
    let date = weir_news_proto::date::write(NOW - 1000 + number as i64);
    let raw = format!(
        "From: Mira Holt <mira@rivers.example>\r\nNewsgroups: {newsgroups}\r\nSubject: Article {number}\r\nDate: {date}\r\n\
        Message-ID: {}\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{body}\r\n",
        id(number)
    );
    KeptArticle {
        raw: raw.into(),
        server: "near".into(),
        fetched: NOW,
    }
}
