//! Values by hand, as servers would give them, for tests.

use std::sync::Arc;

use weir_news_proto::MessageId;
use weir_news_proto::article::Article;

use crate::reading::{
    Content, Currency, Message, NewsgroupList, NewsgroupRow, OutlineRow, Posting, ReadArticle,
    Rendered, ThreadPage, ThreadRow, ThreadView,
};

/// Tuesday, 10 November 2026, 09:12 UTC.
pub(crate) const NOV: i64 = 1_794_301_920;

pub(crate) fn id(text: &str) -> MessageId {
    MessageId::from_bare(text).expect("an ID")
}

pub(crate) fn newsgroup(name: &str) -> NewsgroupRow {
    NewsgroupRow {
        name: name.parse().expect("a name"),
        description: String::new(),
        articles: 214,
        posting: Posting::Open,
        servers: vec!["news-one".into(), "news-two".into()],
        newest: None,
        high: 0,
    }
}

pub(crate) fn checked() -> Currency {
    Currency {
        checked: Some(NOV),
        ..Currency::default()
    }
}

pub(crate) fn list(newsgroups: Vec<NewsgroupRow>) -> NewsgroupList {
    NewsgroupList {
        newsgroups,
        currency: checked(),
        rendered: Rendered::default(),
    }
}

pub(crate) fn thread_row(number: usize) -> ThreadRow {
    let seconds = NOV - 60 * i64::try_from(number).expect("few");
    ThreadRow {
        root: id(&format!("{number}@x.example")),
        subject: format!("Thread {number}"),
        author: "Mira Holt".to_owned(),
        articles: number + 1,
        first: seconds - 3600,
        last: seconds,
        last_author: "Jonas Petri".to_owned(),
        last_id: id(&format!("{number}.last@x.example")),
    }
}

pub(crate) fn threads(rows: Vec<ThreadRow>) -> ThreadPage {
    ThreadPage {
        newsgroup: newsgroup("example.rivers.gauges"),
        page: 0,
        known: rows.len(),
        has_more: false,
        complete: true,
        threads: rows,
        currency: checked(),
        rendered: Rendered::default(),
    }
}

pub(crate) fn article(id: &MessageId, raw: &str) -> Arc<ReadArticle> {
    let raw = raw.replace('\n', "\r\n");
    Arc::new(ReadArticle {
        id: id.clone(),
        article: Article::parse(raw.as_bytes()),
        raw: raw.into_bytes().into(),
        server: "news-one".into(),
        fetched: NOV,
        post: None,
        rendered: Rendered::default(),
    })
}

/// A row of a thread: depth, the row it answers, who wrote it.
pub(crate) fn row(number: usize, depth: usize, parent: Option<usize>, author: &str) -> OutlineRow {
    OutlineRow {
        id: id(&format!("{number}@x.example")),
        author: author.to_owned(),
        subject: "Gauge at the old mill: stuck, or a very steady river?".to_owned(),
        date: NOV + 60 * i64::try_from(number).expect("few"),
        depth,
        parent,
        missing: 0,
        page: 0,
    }
}

/// A thread of these rows, each with the text that `body` gives it.
pub(crate) fn thread(outline: Vec<OutlineRow>, body: impl Fn(usize) -> String) -> ThreadView {
    let message = |(index, row): (usize, &OutlineRow)| {
        let raw = format!(
            "From: {} <someone@x.example>\nNewsgroups: example.rivers.gauges\nSubject: {}\nMessage-ID: {}\n\n{}",
            row.author,
            row.subject,
            row.id,
            body(index)
        );
        Message {
            row: index,
            content: Content::Read(article(&row.id, &raw)),
        }
    };
    let messages = outline.iter().enumerate().filter(|(_, row)| row.page == 0);
    ThreadView {
        newsgroup: newsgroup("example.rivers.gauges"),
        root: outline[0].id.clone(),
        subject: outline[0].subject.clone(),
        page: 0,
        pages: outline.iter().map(|row| row.page + 1).max().unwrap_or(1),
        messages: messages.map(message).collect(),
        outline,
        currency: checked(),
        rendered: Rendered::default(),
    }
}
