//! What `news.db` has of an article now: its lines in newsgroups, and its text.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};
use weir_news_proto::article::{Article, Author, Role, decode_header};
use weir_news_proto::{MessageId, OverviewLine, date};

use super::super::pack::{ArticleKey, hash, key, unpack};

/// Bytes of an article that are read. Text comes first; what is beyond is files.
const READ: usize = 512 << 10;
/// Bytes of text that count, of the author's own and of what is quoted.
const TEXT: usize = 128 << 10;
/// Newsgroups of an article that count.
const NEWSGROUPS: usize = 24;

/// An article as it can be found.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) id: MessageId,
    pub(super) subject: String,
    pub(super) author: Author,
    pub(super) date: i64,
    /// What the author says, if the article is stored, and what others had said.
    pub(super) text: Option<(String, String)>,
    /// All newsgroups that it is known to be in, by name.
    pub(super) newsgroups: BTreeSet<String>,
    /// Those in which its line is stored, by their numbers in the file.
    pub(super) places: BTreeSet<i64>,
    /// Bytes that were read for it.
    pub(super) read: usize,
}

/// Reads an article; nothing if neither a line nor a text of it is stored, or nobody can say which article it is. Its lines
/// are looked for in these newsgroups, and in those that its text names.
pub(super) fn gather(
    news: &Connection,
    article: &ArticleKey,
    places: impl IntoIterator<Item = i64>,
) -> rusqlite::Result<Option<Stored>> {
    let raw = raw(news, article)?;
    let read = raw
        .as_ref()
        .map(|raw| Article::parse(&raw[..raw.len().min(READ)]));
    let mut places: BTreeSet<i64> = places.into_iter().filter(|place| *place > 0).collect();
    let named = read.iter().flat_map(|read| &read.head.newsgroups);
    let named: BTreeSet<String> = named.take(NEWSGROUPS).map(ToString::to_string).collect();
    for name in &named {
        let sql = "SELECT id FROM news_newsgroup WHERE name = ?1";
        let mut statement = news.prepare_cached(sql)?;
        places.extend(
            statement
                .query_row([name], |row| row.get::<_, i64>(0))
                .optional()?,
        );
    }
    let mut stored = read.and_then(|read| of_article(read, article));
    if let (Some(stored), Some(raw)) = (&mut stored, &raw) {
        stored.read += raw.len();
        stored.newsgroups = named;
    }
    for place in places {
        if let Some((name, line)) = line(news, article, place)? {
            let stored = match &mut stored {
                Some(stored) => stored,
                none => match of_line(&line, article) {
                    Some(read) => none.insert(read),
                    None => continue,
                },
            };
            stored.read += line.len();
            stored.newsgroups.insert(name);
            stored.places.insert(place);
        }
    }
    Ok(stored)
}

fn raw(news: &Connection, article: &ArticleKey) -> rusqlite::Result<Option<bytes::Bytes>> {
    let sql = "SELECT body, length FROM news_article JOIN news_body ON news_body.row = news_article.row WHERE key = ?1";
    let found = news.prepare_cached(sql)?.query_row([article], |row| {
        let length: i64 = row.get(1)?;
        Ok(unpack(row.get(0)?, length.max(0) as usize))
    });
    Ok(found.optional()?.flatten())
}

fn line(
    news: &Connection,
    article: &ArticleKey,
    place: i64,
) -> rusqlite::Result<Option<(String, Vec<u8>)>> {
    let (short, _) = article.split_first_chunk().expect("it has 16 bytes");
    let sql = "SELECT n.id, g.name, l.line FROM news_number n
        JOIN news_line l ON l.row = n.row JOIN news_newsgroup g ON g.id = n.newsgroup
        WHERE n.newsgroup = ?1 AND n.hash = ?2 AND g.name IS NOT NULL";
    let mut statement = news.prepare_cached(sql)?;
    let mut rows = statement.query(params![place, i64::from_le_bytes(*short)])?;
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        if id.parse().is_ok_and(|id: MessageId| key(&id) == *article) {
            return Ok(Some((row.get(1)?, row.get(2)?)));
        }
    }
    Ok(None)
}

fn of_article(read: Article, article: &ArticleKey) -> Option<Stored> {
    let id = read.head.message_id.clone();
    // What calls itself otherwise than it was asked for is known by its lines alone.
    let id = id.filter(|id| key(id) == *article)?;
    let (mut own, mut quoted) = (String::new(), String::new());
    for block in read.blocks() {
        let text = match (&block.role, block.quote) {
            (Role::Text, 0) => &mut own,
            (Role::Text | Role::Attribution, _) => &mut quoted,
            _ => continue,
        };
        if text.len() < TEXT {
            text.push_str(&block.text());
            text.push('\n');
            text.truncate(text.floor_char_boundary(TEXT));
        }
    }
    Some(Stored {
        id,
        subject: read.head.subject,
        author: read.head.from,
        date: read.head.date.seconds.unwrap_or(0),
        text: Some((own, quoted)),
        newsgroups: BTreeSet::new(),
        places: BTreeSet::new(),
        read: 0,
    })
}

fn of_line(line: &[u8], article: &ArticleKey) -> Option<Stored> {
    let numbered = [b"0\t", line].concat();
    let line = OverviewLine::parse(&numbered).ok()?;
    let id = line.id().filter(|id| key(id) == *article)?;
    Some(Stored {
        id,
        subject: decode_header(line.subject),
        author: Author::parse(line.from),
        date: date::parse(line.date).unwrap_or(0),
        text: None,
        newsgroups: BTreeSet::new(),
        places: BTreeSet::new(),
        read: 0,
    })
}

/// Twenty bits by which articles of one second are told apart.
pub(super) fn within(id: &MessageId) -> i64 {
    hash(id) & 0xf_ffff
}
