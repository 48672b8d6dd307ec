//! OVER, HDR, XPAT and LISTGROUP: lines of a range, sent as they come and never held whole.
//!
//! Before the first batch is there, a failure is a reply; after it, the connection is closed without the dot that ends the
//! block, so that nobody takes a part for the whole.

use std::io::Write;
use std::ops::RangeInclusive;

use weir_news_proto::command::Articles;
use weir_news_proto::overview::write_value_line;
use weir_news_proto::reply::code;
use weir_news_proto::{ArticleRange, FieldName, MessageId, Newsgroup, OverviewFormat, Pattern};

use super::article::{body_at, field};
use super::session::{READER, Session};
use super::share::HeldBytes;
use super::wire::Gone;
use crate::numbered::{NumberedLine, NumberedLines};
use crate::reading::{ReadArticle, Unread};

/// Bytes of a batch and of those that were asked for ahead, as a rule.
const BATCHES: usize = 512 * 1024;

/// The fields of overviews, in their order after the number.
const OVERVIEW: [&str; 8] = [
    "Subject",
    "From",
    "Date",
    "Message-ID",
    "References",
    ":bytes",
    ":lines",
    "Xref",
];

/// Where Xref is, whose value has its name in front.
const XREF: usize = 7;

/// What is said of an article, and in which form.
#[derive(Clone, Copy)]
enum Form<'a> {
    /// HDR.
    Value,
    /// XHDR: what is missing is called so.
    Old,
    /// XPAT: what matches.
    Matching(&'a Pattern),
}

/// Whether a command is one of RFC 3977 or its forerunner with an X, which newsreaders still send. To that, servers have
/// always answered an empty range with an empty block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    Today,
    Old,
}

/// What is said when a range has no articles.
struct Missing {
    told: (u16, &'static str),
    age: Age,
    /// How the answer would have begun.
    reply: (u16, &'static str),
}

/// Lines of which the first are here.
struct BegunLines {
    lines: NumberedLines,
    first: Vec<NumberedLine>,
    _held: HeldBytes,
}

/// Articles that were asked for.
enum Asked {
    Article(MessageId),
    Numbers {
        newsgroup: Newsgroup,
        range: RangeInclusive<u64>,
        missing: (u16, &'static str),
    },
}

impl Session {
    pub(super) async fn over(&mut self, which: Articles, form: Age) -> Result<(), Gone> {
        let reply = (code::OVERVIEW, "Overview information follows");
        match self.asked(which) {
            None => Ok(()),
            Some(Asked::Article(id)) => {
                let missing = (code::NO_ARTICLE_ID, "No news server has this article");
                match self.read(&id).await {
                    Err(why) => self.cannot(&why, missing),
                    Ok((read, _held)) => {
                        let mut line = Vec::new();
                        let sizes = (Some(bytes(&read)), Some(lines(&read)));
                        let head = self.own_head(&read);
                        OverviewFormat::with_xref().write_from_head(0, &head, sizes, &mut line);
                        self.say(reply.0, reply.1);
                        self.one_line(&line);
                    }
                }
                Ok(())
            }
            Some(Asked::Numbers {
                newsgroup,
                range,
                missing,
            }) => {
                let missing = Missing {
                    told: missing,
                    age: form,
                    reply,
                };
                let Some(begun) = self.begin(&newsgroup, range, missing).await else {
                    return Ok(());
                };
                self.say(reply.0, reply.1);
                self.send_lines(begun, |line, out| {
                    // Numbers come first, so there is never a dot to be doubled; and fields have no line ends.
                    let _ = write!(out, "{}\t", line.number);
                    out.extend_from_slice(&line.fields);
                    out.extend_from_slice(b"\r\n");
                })
                .await
            }
        }
    }

    pub(super) async fn hdr(&mut self, name: FieldName, which: Articles) -> Result<(), Gone> {
        self.fields(name, which, Form::Value).await
    }

    pub(super) async fn xhdr(&mut self, name: FieldName, which: Articles) -> Result<(), Gone> {
        self.fields(name, which, Form::Old).await
    }

    pub(super) async fn xpat(
        &mut self,
        name: FieldName,
        which: Articles,
        pattern: &Pattern,
    ) -> Result<(), Gone> {
        self.fields(name, which, Form::Matching(pattern)).await
    }

    async fn fields(
        &mut self,
        name: FieldName,
        which: Articles,
        form: Form<'_>,
    ) -> Result<(), Gone> {
        let reply = match form {
            Form::Value => code::HEADERS,
            Form::Old | Form::Matching(_) => code::HEAD,
        };
        match self.asked(which) {
            None => Ok(()),
            Some(Asked::Article(id)) => {
                let missing = (code::NO_ARTICLE_ID, "No news server has this article");
                self.field_of(&name, (0, &id), (form, reply), missing).await
            }
            Some(Asked::Numbers {
                newsgroup,
                range,
                missing,
            }) => {
                let Some(place) = place(&name) else {
                    return self
                        .beyond_overview(&name, (newsgroup, range), (form, reply), missing)
                        .await;
                };
                let age = match form {
                    Form::Value => Age::Today,
                    Form::Old | Form::Matching(_) => Age::Old,
                };
                let missing = Missing {
                    told: missing,
                    age,
                    reply: (reply, "Header follows"),
                };
                let Some(begun) = self.begin(&newsgroup, range, missing).await else {
                    return Ok(());
                };
                self.say(reply, "Header follows");
                self.send_lines(begun, |line, out| {
                    if let Some(value) = form.value(value(&line.fields, place)) {
                        write_value_line(line.number, value, out);
                        out.extend_from_slice(b"\r\n");
                    }
                })
                .await
            }
        }
    }

    /// A field that overviews do not have: the article itself has it, but not those of a whole range.
    async fn beyond_overview(
        &mut self,
        name: &FieldName,
        (newsgroup, range): (Newsgroup, RangeInclusive<u64>),
        reply: (Form<'_>, u16),
        missing: (u16, &'static str),
    ) -> Result<(), Gone> {
        let number = *range.start();
        if name.is_metadata() || number != *range.end() {
            let text = "Only fields of LIST HEADERS RANGE can be asked for by range";
            self.say(code::UNSUPPORTED, text);
            return Ok(());
        }
        let model = &self.service.parts.model;
        match model.id_at(&newsgroup, number, READER).await {
            Ok(Some(id)) => self.field_of(name, (number, &id), reply, missing).await,
            Ok(None) => {
                self.say(missing.0, missing.1);
                Ok(())
            }
            Err(why) => {
                self.cannot(&why, missing);
                Ok(())
            }
        }
    }

    /// A field of one article.
    async fn field_of(
        &mut self,
        name: &FieldName,
        (number, id): (u64, &MessageId),
        (form, reply): (Form<'_>, u16),
        missing: (u16, &'static str),
    ) -> Result<(), Gone> {
        let (read, _held) = match self.read(id).await {
            Ok(read) => read,
            Err(why) => {
                self.cannot(&why, missing);
                return Ok(());
            }
        };
        let value = match name {
            name if name.is(":bytes") => bytes(&read).to_string().into_bytes(),
            name if name.is(":lines") => lines(&read).to_string().into_bytes(),
            name if name.is_metadata() => {
                let text = "There is no such item; LIST HEADERS MSGID names those that there are";
                self.say(code::UNSUPPORTED, text);
                return Ok(());
            }
            name => field(&self.own_head(&read), name.as_str()).unwrap_or_default(),
        };
        let mut line = Vec::new();
        if let Some(value) = form.value(&value) {
            match form {
                // As before RFC 3977, where the number is that of no newsgroup.
                Form::Old | Form::Matching(_) if number == 0 => {
                    line.extend_from_slice(id.as_str().as_bytes());
                    line.push(b' ');
                    line.extend(value.iter().map(|byte| match byte {
                        b'\t' | b'\r' | b'\n' | 0 => b' ',
                        byte => *byte,
                    }));
                }
                _ => write_value_line(number, value, &mut line),
            }
        }
        self.say(reply, "Header follows");
        match line.is_empty() {
            true => self.wire.out().extend_from_slice(b".\r\n"),
            false => self.one_line(&line),
        }
        Ok(())
    }

    pub(super) async fn list_group(
        &mut self,
        which: Option<(Newsgroup, Option<ArticleRange>)>,
    ) -> Result<(), Gone> {
        let (name, range) = match which {
            Some((name, range)) => (name, range),
            None => match self.newsgroup() {
                Some(name) => (name, None),
                None => return Ok(()),
            },
        };
        let Some(numbered) = self.marks(&name).await else {
            return Ok(());
        };
        let all = numbered.low..=numbered.high;
        let range = range.map_or(Some(all.clone()), |range| range.within(all));
        let range = range.filter(|range| !range.is_empty());
        let begun = match range {
            None => None,
            Some(range) => match self.first_lines(&name, range).await {
                Ok(begun) => begun,
                Err(why) => {
                    self.cannot(&why, (code::FAULT, "Nothing is known of this newsgroup"));
                    return Ok(());
                }
            },
        };
        self.select(&numbered);
        match begun {
            None => {
                self.wire.out().extend_from_slice(b".\r\n");
                Ok(())
            }
            Some(begun) => {
                self.send_lines(begun, |line, out| {
                    let _ = write!(out, "{}\r\n", line.number);
                })
                .await
            }
        }
    }

    /// Which articles are meant; says so if there are none.
    fn asked(&mut self, which: Articles) -> Option<Asked> {
        Some(match which {
            Articles::Id(id) => Asked::Article(id),
            Articles::Current => {
                let (newsgroup, number) = self.current()?;
                Asked::Numbers {
                    newsgroup,
                    range: number..=number,
                    missing: (code::NO_CURRENT_ARTICLE, "The current article is gone"),
                }
            }
            Articles::Range(range) => Asked::Numbers {
                newsgroup: self.newsgroup()?,
                range: range
                    .within(0..=u64::MAX)
                    .unwrap_or(RangeInclusive::new(1, 0)),
                missing: (code::NO_ARTICLE_NUMBER, "No articles in that range"),
            },
        })
    }

    /// The first lines of a range; says so if there are none.
    async fn begin(
        &mut self,
        newsgroup: &Newsgroup,
        range: RangeInclusive<u64>,
        missing: Missing,
    ) -> Option<BegunLines> {
        let Missing {
            told: missing,
            age,
            reply,
        } = missing;
        match self.first_lines(newsgroup, range).await {
            Ok(Some(begun)) => Some(begun),
            Ok(None) if age == Age::Old && missing.0 == code::NO_ARTICLE_NUMBER => {
                self.say(reply.0, reply.1);
                self.wire.out().extend_from_slice(b".\r\n");
                None
            }
            Ok(None) => {
                self.say(missing.0, missing.1);
                None
            }
            Err(why) => {
                self.cannot(&why, missing);
                None
            }
        }
    }

    /// The first lines of a range, by the deadline.
    async fn first_lines(
        &mut self,
        newsgroup: &Newsgroup,
        range: RangeInclusive<u64>,
    ) -> Result<Option<BegunLines>, Unread> {
        let model = &self.service.parts.model;
        let until = model.deadline();
        let held = model.in_time(self.share.hold(BATCHES), until).await;
        let held = held.flatten().ok_or_else(|| self.no_room())?;
        let mut lines = model.numbered_lines(newsgroup, range, READER);
        let first = model.in_time(lines.next(), until).await;
        let first = first.unwrap_or(Err(Unread::Unreachable(Vec::new())))?;
        Ok(first.map(|first| BegunLines {
            lines,
            first,
            _held: held,
        }))
    }

    /// Sends all lines of a range and the dot at its end.
    async fn send_lines(
        &mut self,
        mut begun: BegunLines,
        mut write: impl FnMut(&NumberedLine, &mut Vec<u8>),
    ) -> Result<(), Gone> {
        let mut batch = begun.first;
        loop {
            for line in &batch {
                write(line, self.wire.out());
                self.wire.flush_if_full().await?;
            }
            // What is here goes out while the next ones are looked for.
            self.wire.flush().await?;
            batch = match begun.lines.next().await {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(why) => {
                    tracing::debug!(front = "news", ?why, "a range has come to an early end");
                    return Err(Gone::Broken);
                }
            };
        }
        self.wire.out().extend_from_slice(b".\r\n");
        Ok(())
    }

    /// Writes a block of one line.
    fn one_line(&mut self, line: &[u8]) {
        weir_news_proto::block::write_block(line, self.wire.out());
    }
}

impl Form<'_> {
    /// What is said of a value; nothing if the article is not mentioned.
    fn value<'v>(&self, value: &'v [u8]) -> Option<&'v [u8]> {
        match self {
            Self::Value => Some(value),
            Self::Old if value.is_empty() => Some(b"(none)"),
            Self::Old => Some(value),
            Self::Matching(pattern) => pattern.matches(value).then_some(value),
        }
    }
}

/// Where a field is in overviews.
fn place(name: &FieldName) -> Option<usize> {
    let place = OVERVIEW.iter().position(|field| name.is(field));
    // Before RFC 3977 metadata had names of headers.
    place.or_else(|| match name {
        name if name.is("Bytes") => Some(5),
        name if name.is("Lines") => Some(6),
        _ => None,
    })
}

fn value(fields: &[u8], place: usize) -> &[u8] {
    let value = fields.split(|byte| *byte == b'\t').nth(place);
    let value = value.unwrap_or_default();
    match place {
        XREF => value.strip_prefix(b"Xref: ").unwrap_or(value),
        _ => value,
    }
}

/// The size of an article as overviews have it.
fn bytes(read: &ReadArticle) -> u64 {
    read.raw.len() as u64
}

/// The lines of its body.
fn lines(read: &ReadArticle) -> u64 {
    let body = &read.raw[body_at(&read.raw)..];
    let ends = memchr::memchr_iter(b'\n', body).count();
    (ends + usize::from(!body.is_empty() && !body.ends_with(b"\n"))) as u64
}
