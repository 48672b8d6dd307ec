//! What somebody writes in a browser: as its fields, as an article, and kept until it is sent.
//!
//! Drafts are in `state.db`. A draft's name proves by itself that it was given to somebody who was signed in, so that a form
//! which arrives after the session has ended can be kept, and nobody else can make us keep anything.

use std::collections::BTreeMap;

use data_encoding::BASE32_NOPAD;
use parking_lot::Mutex;
use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};
use weir_news_proto::{MessageId, Newsgroup, id};
use weir_store::Error;
use weir_store::sqlite::File;

use super::duties::is_address;
use super::header::{self, LONGEST, one_line};
use super::lock::LockSecret;

/// Drafts that are kept; those not touched for longest go first.
const MOST: u32 = 50;

/// Characters of a line of text; longer ones are continued on the next, in a way that programs undo (RFC 3676).
const WIDTH: usize = 72;

/// Characters of a name and of a subject.
const NAME: usize = 200;
const SUBJECT: usize = 500;

/// References of an answer: the first, which is the thread's, and the nearest.
pub(crate) const REFERENCES: usize = 20;

/// What somebody has written so far. Everything is as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) newsgroups: String,
    pub(crate) subject: String,
    pub(crate) followup: String,
    pub(crate) text: String,
    /// The Message-IDs of what it answers, oldest first.
    pub(crate) references: String,
    /// The article that it replaces.
    pub(crate) replaces: String,
    /// A Message-ID that a program wants it to have; a browser's draft gets one from its [`Drafts::seed`].
    pub(crate) id: String,
    /// How often a server refused it, which makes it another article. Never from a form.
    pub(crate) refused: u32,
}

/// A field of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DraftField {
    Name,
    Address,
    Newsgroups,
    Subject,
    Followup,
    Text,
}

/// A field, and what is wrong with it.
pub(crate) type Mistake = (DraftField, String);

impl Draft {
    /// The newsgroups it is for, each once.
    pub(crate) fn newsgroups(&self) -> Result<Vec<Newsgroup>, Mistake> {
        names(&self.newsgroups).map_err(|says| (DraftField::Newsgroups, says))
    }

    /// What keeps it from being sent, by itself; whether servers take it is another question.
    pub(crate) fn mistakes(&self, bytes: usize, most: usize) -> Vec<Mistake> {
        let mut all = Vec::new();
        let mut find = |wrong: bool, field, says: &str| {
            if wrong {
                all.push((field, says.to_owned()));
            }
        };
        let name = one_line(&self.name);
        find(
            name.chars().count() > NAME,
            DraftField::Name,
            "The name is too long.",
        );
        let address = self.address.trim();
        find(
            address.is_empty(),
            DraftField::Address,
            "Write an address; it may be one that does not exist, such as me@mine.invalid.",
        );
        find(
            !address.is_empty() && !is_address(address),
            DraftField::Address,
            "This is not an address; one looks like name@host.example.",
        );
        let subject = one_line(&self.subject);
        find(subject.is_empty(), DraftField::Subject, "Write a subject.");
        find(
            subject.chars().count() > SUBJECT,
            DraftField::Subject,
            "The subject is too long.",
        );
        find(
            self.text.trim().is_empty(),
            DraftField::Text,
            "Write some text.",
        );
        find(
            self.text.contains('\0'),
            DraftField::Text,
            "The text has a NUL, which news cannot carry.",
        );
        if self.text.len() > bytes {
            let says = format!(
                "The text has {} bytes, and news.post_bytes allows {bytes}.",
                self.text.len()
            );
            all.push((DraftField::Text, says));
        }
        match self.newsgroups() {
            Err(mistake) => all.push(mistake),
            Ok(names) if names.len() > most => {
                let says = format!(
                    "These are {} newsgroups, and news.post_groups allows {most}.",
                    names.len()
                );
                all.push((DraftField::Newsgroups, says));
            }
            Ok(_) => {}
        }
        if let Err(says) = self.followup() {
            all.push((DraftField::Followup, says));
        }
        all
    }

    /// Where answers are to go, as the header has it; empty for where it is posted.
    fn followup(&self) -> Result<String, String> {
        match self.followup.trim() {
            "" => Ok(String::new()),
            poster if poster.eq_ignore_ascii_case("poster") => Ok("poster".to_owned()),
            list => Ok(super::listed(&names(list)?).replace(", ", ",")),
        }
    }

    /// The article, without what every article gets from us.
    pub(crate) fn article(&self) -> Result<Vec<u8>, Mistake> {
        let mut raw = Vec::with_capacity(self.text.len() + 1024);
        let mut put = |field, name: &str, value: &str| match value {
            "" => Ok(()),
            value if header::write(name, value.as_bytes(), &mut raw) => Ok(()),
            _ => Err((field, format!("{name} is too long to be sent."))),
        };
        let name = header::phrase(&self.name);
        let from = match name.as_str() {
            "" => self.address.trim().to_owned(),
            name => format!("{name} <{}>", self.address.trim()),
        };
        put(DraftField::Address, "From", &one_line(&from))?;
        let names = super::listed(&self.newsgroups()?).replace(", ", ",");
        put(DraftField::Newsgroups, "Newsgroups", &names)?;
        put(DraftField::Subject, "Subject", &header::text(&self.subject))?;
        let followup = self
            .followup()
            .map_err(|says| (DraftField::Followup, says))?;
        put(DraftField::Followup, "Followup-To", &followup)?;
        let references: Vec<String> = trimmed(&id::references(self.references.as_bytes()))
            .iter()
            .map(ToString::to_string)
            .collect();
        put(DraftField::Text, "References", &references.join(" "))?;
        if let Ok(replaced) = self.replaces.parse::<MessageId>() {
            put(DraftField::Text, "Supersedes", replaced.as_str())?;
        }
        if let Ok(id) = self.id.parse::<MessageId>() {
            put(DraftField::Text, "Message-ID", id.as_str())?;
        }
        put(DraftField::Text, "User-Agent", "Weir")?;
        put(DraftField::Text, "MIME-Version", "1.0")?;
        let kind = "text/plain; charset=UTF-8; format=flowed";
        put(DraftField::Text, "Content-Type", kind)?;
        let text = flowed(&self.text);
        let long = text.lines().any(|line| line.len() > LONGEST);
        let encoding = match (long, text.is_ascii()) {
            (true, _) => "quoted-printable",
            (false, true) => "7bit",
            (false, false) => "8bit",
        };
        put(DraftField::Text, "Content-Transfer-Encoding", encoding)?;
        raw.extend_from_slice(b"\r\n");
        match long {
            true => raw.extend_from_slice(quoted_printable(&text).as_bytes()),
            false => raw.extend_from_slice(text.as_bytes()),
        }
        Ok(raw)
    }
}

/// The first, and the last ones of many.
pub(crate) fn trimmed(ids: &[MessageId]) -> Vec<MessageId> {
    match ids {
        [first, .., _] if ids.len() > REFERENCES => {
            let last = &ids[ids.len() - (REFERENCES - 1)..];
            std::iter::once(first).chain(last).cloned().collect()
        }
        few => few.to_vec(),
    }
}

/// Newsgroups that somebody typed.
fn names(text: &str) -> Result<Vec<Newsgroup>, String> {
    let mut all: Vec<Newsgroup> = Vec::new();
    let words = text.split([',', ' ', '\t', '\r', '\n', ';']);
    for word in words.filter(|word| !word.is_empty()) {
        let shown: String = word.chars().filter(|c| !c.is_control()).take(60).collect();
        let name: Newsgroup = word
            .parse()
            .map_err(|_| format!("“{shown}” is not the name of a newsgroup."))?;
        if !all.contains(&name) {
            all.push(name);
        }
    }
    match all.is_empty() {
        true => Err("Write the name of a newsgroup, such as misc.test.".to_owned()),
        false => Ok(all),
    }
}

/// Text in lines that are short, with a space at the end of those that go on (RFC 3676). Quotes are left as they are.
fn flowed(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut out = String::with_capacity(text.len() + text.len() / 32);
    for line in text.trim_end().split('\n') {
        // A space at the end would mean that the line goes on; that of a signature means itself.
        let line = match line {
            "-- " => line,
            other => other.trim_end_matches(' '),
        };
        if line.starts_with('>') {
            out.push_str(line);
            out.push_str("\r\n");
            continue;
        }
        let mut rest = line;
        loop {
            let (first, after) = break_line(rest);
            // What looks like a quote, or like the start of a message in a mailbox, gets a space that is not shown.
            let hides =
                first.starts_with(' ') || first.starts_with('>') || first.starts_with("From ");
            if hides {
                out.push(' ');
            }
            out.push_str(first);
            out.push_str("\r\n");
            match after {
                Some(after) => rest = after,
                None => break,
            }
        }
    }
    out
}

/// The first line of a paragraph with the space that says it goes on, and the rest.
fn break_line(text: &str) -> (&str, Option<&str>) {
    if text.chars().count() <= WIDTH || text == "-- " {
        return (text, None);
    }
    let limit = text
        .char_indices()
        .nth(WIDTH)
        .map_or(text.len(), |(place, _)| place);
    let space = text[..limit]
        .rfind(' ')
        .or_else(|| text[limit..].find(' ').map(|place| place + limit));
    match space {
        // At the start there is nothing to break off.
        Some(place) if !text[..place].trim().is_empty() => {
            let (first, rest) = text.split_at(place + 1);
            match rest.is_empty() {
                true => (text, None),
                false => (first, Some(rest)),
            }
        }
        _ => (text, None),
    }
}

/// Text in ASCII and lines of 76 (RFC 2045, section 6.7).
fn quoted_printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for line in text.split_inclusive("\r\n") {
        let line = line.strip_suffix("\r\n").unwrap_or(line);
        let mut width = 0;
        let bytes = line.as_bytes();
        for (place, byte) in bytes.iter().enumerate() {
            let last = place + 1 == bytes.len();
            let plain = matches!(byte, b'!'..=b'<' | b'>'..=b'~') || (*byte == b' ' && !last);
            let length = if plain { 1 } else { 3 };
            if width + length > 75 {
                out.push_str("=\r\n");
                width = 0;
            }
            match plain {
                true => out.push(char::from(*byte)),
                false => out.push_str(&format!("={byte:02X}")),
            }
            width += length;
        }
        out.push_str("\r\n");
    }
    out
}

/// The name of a draft, given to somebody who is signed in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DraftName(String);

impl DraftName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A draft that is kept.
#[derive(Clone, Debug)]
pub(crate) struct KeptDraft {
    pub(crate) name: DraftName,
    pub(crate) at: i64,
    pub(crate) draft: Draft,
}

/// All of them.
pub(crate) struct Drafts {
    secret: [u8; 32],
    file: Option<File>,
    /// What is kept where there is no file.
    memory: Mutex<BTreeMap<String, (i64, String)>>,
    /// Name and address of whoever wrote last.
    author: Mutex<(String, String)>,
}

impl Drafts {
    /// The tables are there by now.
    pub(super) fn open(file: Option<File>, secret: &LockSecret) -> Result<Self, Error> {
        let author = match &file {
            None => None,
            Some(file) => file.read(|connection| {
                let sql = "SELECT value FROM news_post_word WHERE name = 'author'";
                let value: Option<Vec<u8>> =
                    connection.query_row(sql, [], |row| row.get(0)).optional()?;
                Ok(value.and_then(|value| serde_json::from_slice(&value).ok()))
            })?,
        };
        Ok(Self {
            secret: blake3::derive_key("weir 2026 names of news drafts", &secret.0),
            file,
            memory: Mutex::default(),
            author: Mutex::new(author.unwrap_or_default()),
        })
    }

    /// A name for a draft that somebody begins.
    pub(crate) fn name(&self) -> Result<DraftName, getrandom::Error> {
        let mut random = [0; 15];
        getrandom::fill(&mut random)?;
        let word = BASE32_NOPAD.encode(&random).to_ascii_lowercase();
        let proof = self.proof(&word);
        Ok(DraftName(format!("{word}-{proof}")))
    }

    /// Reads a name; only those that were given out are any.
    pub(crate) fn read_name(&self, text: &str) -> Option<DraftName> {
        let (word, proof) = text.split_once('-')?;
        // Both are hashes of secrets, so how long a comparison takes tells nothing that helps.
        let is_ours = word.len() == 24
            && blake3::hash(proof.as_bytes()) == blake3::hash(self.proof(word).as_bytes());
        is_ours.then(|| DraftName(text.to_owned()))
    }

    /// What the Message-ID of a draft is made from: the same as long as nothing in it changes, so that a form which is sent
    /// twice, or again after an error, is one article.
    pub(crate) fn seed(&self, name: &DraftName, draft: &Draft) -> [u8; 15] {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(b"seed ");
        hasher.update(name.0.as_bytes());
        hasher.update(serde_json::to_string(draft).unwrap_or_default().as_bytes());
        let mut seed = [0; 15];
        seed.copy_from_slice(&hasher.finalize().as_bytes()[..15]);
        seed
    }

    fn proof(&self, word: &str) -> String {
        let hash = blake3::keyed_hash(&self.secret, word.as_bytes());
        BASE32_NOPAD
            .encode(&hash.as_bytes()[..15])
            .to_ascii_lowercase()
    }

    /// Keeps a draft in the place of the one of the same name.
    pub(crate) async fn keep(
        &self,
        name: &DraftName,
        draft: &Draft,
        now: i64,
    ) -> Result<(), Error> {
        let fields = serde_json::to_string(draft).unwrap_or_default();
        let name = name.0.clone();
        let Some(file) = &self.file else {
            let mut memory = self.memory.lock();
            memory.insert(name, (now, fields));
            while memory.len() > MOST as usize
                && let Some(oldest) = memory
                    .iter()
                    .min_by_key(|(_, (at, _))| *at)
                    .map(|(name, _)| name.clone())
            {
                memory.remove(&oldest);
            }
            return Ok(());
        };
        file.write(move |tx| {
            let sql = "INSERT OR REPLACE INTO news_post_draft (id, at, fields) VALUES (?1, ?2, ?3)";
            tx.execute(sql, params![name, now, fields])?;
            let sql = "DELETE FROM news_post_draft WHERE id IN \
                       (SELECT id FROM news_post_draft ORDER BY at DESC LIMIT -1 OFFSET ?1)";
            tx.execute(sql, [MOST])?;
            Ok(())
        })
        .await
    }

    /// A draft that is kept.
    pub(crate) fn find(&self, name: &DraftName) -> Result<Option<Draft>, Error> {
        let fields = match &self.file {
            None => self
                .memory
                .lock()
                .get(&name.0)
                .map(|(_, fields)| fields.clone()),
            Some(file) => file.read(|connection| {
                let sql = "SELECT fields FROM news_post_draft WHERE id = ?1";
                connection
                    .query_row(sql, [&name.0], |row| row.get(0))
                    .optional()
            })?,
        };
        Ok(fields.and_then(|fields: String| serde_json::from_str(&fields).ok()))
    }

    /// All drafts, newest first.
    pub(crate) fn all(&self) -> Result<Vec<KeptDraft>, Error> {
        let rows: Vec<(String, i64, String)> = match &self.file {
            None => {
                let memory = self.memory.lock();
                let mut rows: Vec<_> = memory
                    .iter()
                    .map(|(name, (at, fields))| (name.clone(), *at, fields.clone()))
                    .collect();
                rows.sort_by_key(|(_, at, _)| std::cmp::Reverse(*at));
                rows
            }
            Some(file) => file.read(|connection| {
                let sql = "SELECT id, at, fields FROM news_post_draft ORDER BY at DESC";
                let mut statement = connection.prepare_cached(sql)?;
                let rows =
                    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
                rows.collect()
            })?,
        };
        let kept = rows.into_iter().filter_map(|(name, at, fields)| {
            let name = self.read_name(&name)?;
            let draft = serde_json::from_str(&fields).ok()?;
            Some(KeptDraft { name, at, draft })
        });
        Ok(kept.collect())
    }

    /// Name and address of whoever wrote last, for the next form.
    pub(crate) fn author(&self) -> (String, String) {
        self.author.lock().clone()
    }

    /// Remembers whoever wrote last.
    pub(crate) async fn remember_author(&self, draft: &Draft) -> Result<(), Error> {
        let author = (draft.name.clone(), draft.address.clone());
        if *self.author.lock() == author {
            return Ok(());
        }
        *self.author.lock() = author.clone();
        let Some(file) = &self.file else {
            return Ok(());
        };
        file.write(move |tx| {
            let sql = "INSERT OR REPLACE INTO news_post_word (name, value) VALUES ('author', ?1)";
            tx.execute(sql, [serde_json::to_vec(&author).unwrap_or_default()])?;
            Ok(())
        })
        .await
    }

    /// Forgets a draft.
    pub(crate) async fn discard(&self, name: &DraftName) -> Result<(), Error> {
        self.memory.lock().remove(&name.0);
        let Some(file) = &self.file else {
            return Ok(());
        };
        let name = name.0.clone();
        file.write(move |tx| {
            tx.execute("DELETE FROM news_post_draft WHERE id = ?1", [name])?;
            Ok(())
        })
        .await
    }
}

#[cfg(test)]
mod tests;
