//! Small newsgroups in a few words: `a < b c` is article a, which refers to b and then c.

use std::collections::BTreeMap;

use weir_news_proto::MessageId;

use super::*;

mod hostile;
mod linking;
mod listing;
mod properties;
mod reading;
mod removal;

fn id(name: &str) -> MessageId {
    MessageId::from_bare(&format!("{name}@x")).expect("a name makes an ID")
}

/// A name again.
fn name(id: &str) -> &str {
    &id[1..id.len() - 3]
}

/// An article whose texts and date follow from its name.
struct Draft {
    id: MessageId,
    references: Vec<MessageId>,
    in_reply_to: Option<MessageId>,
    subject: String,
    author: String,
    date: i64,
}

impl Draft {
    fn new(line: &str, date: i64) -> Self {
        let (article, references) = line.split_once('<').unwrap_or((line, ""));
        let article = article.trim();
        Self {
            id: id(article),
            references: references.split_whitespace().map(id).collect(),
            in_reply_to: None,
            subject: format!("about {article}"),
            author: format!("author of {article}"),
            date,
        }
    }

    fn headline(&self) -> Headline<'_> {
        Headline {
            number: None,
            id: &self.id,
            references: &self.references,
            in_reply_to: self.in_reply_to.as_ref(),
            subject: &self.subject,
            author: &self.author,
            date: self.date,
            bytes: 1_000,
            lines: 20,
        }
    }
}

/// A table of articles that came one after the other, a second apart.
fn table(lines: &[&str]) -> ThreadTable {
    let mut table = ThreadTable::new();
    for (date, line) in lines.iter().enumerate() {
        let inserted = table.insert(&Draft::new(line, date as i64).headline());
        assert_eq!(inserted, Inserted::New, "{line}");
    }
    check(&table);
    table
}

/// The whole tree that one ID leads to: a name per row, a dot per level, ghosts in brackets.
fn drawn(table: &ThreadTable, of: &str) -> Vec<String> {
    let Some(tree) = table.tree(&id(of)) else {
        return Vec::new();
    };
    let row = |row: TreeRow<'_>| {
        let dots = ".".repeat(row.depth);
        match row.article {
            Some(article) => format!("{dots}{}", name(article.id())),
            None => format!("{dots}[{} {}]", name(row.id), row.missing),
        }
    };
    let rows = (0..tree.len()).filter_map(|at| tree.row(at));
    rows.map(row).collect()
}

/// The roots of the list, newest first.
fn listed(table: &ThreadTable) -> Vec<&str> {
    table.threads(0).map(|thread| name(thread.root())).collect()
}

/// Everybody's parent, as it is linked, and whether it is an article.
fn links(table: &ThreadTable) -> BTreeMap<String, (Option<String>, bool)> {
    let containers = &table.containers;
    let text = |at| name(containers.id(at)).to_owned();
    let all = containers.all().into_iter();
    all.map(|at| {
        let parent = containers.parent(at).map(text);
        (text(at), (parent, !containers.is_ghost(at)))
    })
    .collect()
}

/// What holds in every table: each container is in exactly one thread, each article in one row of one
/// tree, and books say what a walk finds.
fn check(table: &ThreadTable) {
    assert!(table.touched.is_empty());
    let mut seen = BTreeMap::new();
    let mut articles = 0;
    for at in table.containers.all() {
        let thread = table.containers[at].thread;
        let container = &table.containers[at];
        if container.wanted == NONE {
            assert!(!container.cut);
        } else {
            assert_ne!(container.wanted, at);
            assert_eq!(table.containers[container.wanted].thread, thread);
        }
        if seen.insert(thread, ()).is_none() {
            articles += check_thread(table, thread);
        }
    }
    assert_eq!(table.articles(), articles);
    assert_eq!(table.threads.len(), seen.len());
    let listed: Vec<u32> = table.ranking.newest(0).collect();
    let with_articles = seen.keys().filter(|&&at| table.threads[at].articles > 0);
    assert_eq!(listed.len(), with_articles.count());
    let dates = table.threads(0).map(|thread| thread.last().date());
    assert!(dates.is_sorted_by(|newer, older| newer >= older));
}

fn check_thread(table: &ThreadTable, thread: u32) -> usize {
    let book = &table.threads[thread];
    assert_eq!(table.containers.parent(book.root), None);
    let (mut below, mut articles) = (0, Vec::new());
    let mut next = Some(book.root);
    while let Some(at) = next {
        below += 1;
        assert_eq!(table.containers[at].thread, thread);
        if !table.containers.is_ghost(at) {
            articles.push(at);
        }
        next = table.containers.step(book.root, at);
    }
    let all = table.containers.all().into_iter();
    let labelled = all.filter(|&at| table.containers[at].thread == thread);
    assert_eq!((below, labelled.count()), (book.containers, below as usize));
    assert_eq!(articles.len(), book.articles as usize);
    let Some(&first) = articles.first() else {
        return 0;
    };
    let dates = articles.iter().map(|&at| table.line(at).date);
    assert_eq!(dates.clone().min(), Some(table.line(book.oldest).date));
    assert_eq!(dates.max(), Some(table.line(book.latest).date));
    let first = table.containers.id(first).parse().expect("an ID");
    let tree = table.tree(&first).expect("a thread with articles");
    let rows = (0..tree.len()).filter_map(|row| tree.row(row)?.article);
    let mut shown: Vec<&str> = rows.map(KnownArticle::id).collect();
    let mut held: Vec<&str> = articles.iter().map(|&at| table.containers.id(at)).collect();
    shown.sort_unstable();
    held.sort_unstable();
    assert_eq!(shown, held);
    articles.len()
}
