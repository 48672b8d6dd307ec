//! The messages of a thread's page, each with its place in the tree.

use weir_engine::words::{counted, grouped};
use weir_web::Failure;
use weir_web::kit;

use super::currency::{SilentLine, listed, silent};
use super::message::{ArticleText, MessageFacts, named, titled};
use super::text::{Reading, fair_share, length};
use super::when::{Times, When};
use super::{address, compose};
use crate::posting::PostNote;
use crate::reading::{Absence, Content, Message, OutlineRow, Posting, ThreadView};

/// Bytes of text on one page; messages that are longer than their share are cut, and lead to their own pages.
const PAGE_TEXT: usize = 240_000;
/// Levels of indentation; deeper answers name whom they answer.
pub(super) const DEEPEST: usize = 6;

/// A message, or a gap.
pub(super) struct MessageRow {
    pub(super) anchor: String,
    pub(super) level: usize,
    /// It begins a list within the row before.
    pub(super) opens: bool,
    /// So many lists end before it.
    pub(super) closes: usize,
    /// Messages below it on this page, in words.
    pub(super) below: Option<String>,
    pub(super) what: Shows,
}

pub(super) enum Shows {
    Message(Box<ShownMessage>),
    Missing(MissingMessage),
    Unreachable(Vec<SilentLine>, String),
}

pub(super) struct ShownMessage {
    pub(super) author: String,
    /// Whom it answers, and where that is.
    pub(super) to: Option<(String, String)>,
    pub(super) at: i64,
    pub(super) when: When,
    /// Its subject, if that differs from the thread's.
    pub(super) subject: Option<String>,
    /// What is known of it, if it was posted here.
    pub(super) note: Option<String>,
    /// Where an answer is written, if anybody takes one.
    pub(super) reply: Option<String>,
    pub(super) text: String,
    pub(super) facts: MessageFacts,
    pub(super) href: String,
}

pub(super) struct MissingMessage {
    pub(super) sentence: String,
    pub(super) asked: Option<(String, When)>,
}

/// The messages and gaps of the page.
pub(super) fn rows(
    view: &ThreadView,
    here: &str,
    times: &Times,
) -> Result<Vec<MessageRow>, Failure> {
    let shown: Vec<(&OutlineRow, &Message)> = view
        .messages
        .iter()
        .filter_map(|message| Some((view.outline.get(message.row)?, message)))
        .collect();
    let lengths: Vec<usize> = shown
        .iter()
        .map(|(_, message)| message_length(message))
        .collect();
    let most = fair_share(&lengths, PAGE_TEXT);
    let depths: Vec<usize> = shown.iter().map(|(row, _)| row.depth).collect();
    let levels = levels(&depths);
    let mut rows: Vec<MessageRow> = Vec::with_capacity(shown.len());
    for (index, (row, message)) in shown.iter().enumerate() {
        let level = levels[index];
        let before = index.checked_sub(1).map(|before| levels[before]);
        let below = depths[index + 1..]
            .iter()
            .take_while(|depth| **depth > row.depth)
            .count();
        rows.push(MessageRow {
            anchor: address::anchor(&row.id),
            level,
            opens: before.is_some_and(|before| level > before),
            closes: before.map_or(0, |before| before.saturating_sub(level)),
            below: (below > 0).then(|| counted(below as u64, "reply", "replies")),
            what: shows(view, row, message, most, here, times)?,
        });
    }
    Ok(rows)
}

/// How far each message is indented. A page that begins deep in a thread begins at the left all the same, and no message is
/// indented by more than one step from the one before.
fn levels(depths: &[usize]) -> Vec<usize> {
    let shallow = |depth: &usize| (*depth).min(DEEPEST);
    let least = depths.iter().map(shallow).min().unwrap_or_default();
    let mut before = None;
    let level = |depth: &usize| {
        let level = shallow(depth) - least;
        let level = before.map_or(0, |before: usize| level.min(before + 1));
        before = Some(level);
        level
    };
    depths.iter().map(level).collect()
}

/// Bytes of text in a message.
pub(super) fn message_length(message: &Message) -> usize {
    match &message.content {
        Content::Read(read) => length(&read.article),
        _ => 0,
    }
}

fn shows(
    view: &ThreadView,
    row: &OutlineRow,
    message: &Message,
    most: usize,
    here: &str,
    times: &Times,
) -> Result<Shows, Failure> {
    Ok(match &message.content {
        Content::Nowhere(absence) => Shows::Missing(missing(row, absence, times)),
        Content::Unreachable(servers) => {
            Shows::Unreachable(silent(servers, times), address::article(&row.id))
        }
        Content::Read(read) => {
            let reading = Reading {
                most,
                ..Reading::WHOLE
            };
            let subject = titled(&read.article.head.subject);
            let bare = |subject: &str| bare_subject(subject).to_lowercase();
            let differs = bare(&subject) != bare(&view.subject) && row.depth > 0;
            Shows::Message(Box::new(ShownMessage {
                author: named(&row.author),
                to: row.parent.and_then(|parent| answered(view, parent, here)),
                at: row.date,
                when: times.full(row.date),
                subject: differs.then_some(subject),
                note: read.post.as_ref().and_then(PostNote::sentence),
                reply: (view.newsgroup.posting != Posting::Closed)
                    .then(|| compose::reply_address(&row.id)),
                text: kit::render(&ArticleText::new(read, reading))?,
                facts: MessageFacts::new(read, times),
                href: address::article(&row.id),
            }))
        }
    })
}

/// Whom a message answers: the place on this page, or on another one.
fn answered(view: &ThreadView, parent: usize, here: &str) -> Option<(String, String)> {
    let parent = view
        .outline
        .get(parent)
        .filter(|parent| parent.missing == 0)?;
    let anchor = address::anchor(&parent.id);
    let href = match parent.page == view.page {
        true => format!("#{anchor}"),
        false => format!("{}#{anchor}", address::page(here, parent.page)),
    };
    Some((named(&parent.author), href))
}

fn missing(row: &OutlineRow, absence: &Absence, times: &Times) -> MissingMessage {
    let what = match row.missing {
        0 | 1 => "A message is missing here.".to_owned(),
        some => format!("{} messages are missing here.", grouped(some as u64)),
    };
    // Of several in a row, only the last was asked for: the one that was answered.
    let it = match row.missing {
        0 | 1 => "it",
        _ => "the last of them",
    };
    let whose = match absence.servers.len() {
        0 => None,
        1 => Some(format!("The server does not have {it}.")),
        2 => Some(format!("Neither server has {it}.")),
        _ => Some(format!("None of the servers has {it}.")),
    };
    let asked = whose
        .is_some()
        .then(|| (listed(&absence.servers), times.full(absence.at)));
    let sentence = match whose {
        Some(whose) => format!("{what} {whose}"),
        None => what,
    };
    MissingMessage { sentence, asked }
}

/// A subject without the marks of answers.
fn bare_subject(subject: &str) -> &str {
    let mut rest = subject.trim();
    while let Some((mark, after)) = rest.split_once(':') {
        if !["re", "aw", "sv", "antw", "fwd"].contains(&mark.trim().to_ascii_lowercase().as_str()) {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_ends_at_six_levels_and_begins_at_the_left() {
        assert_eq!(levels(&[0, 1, 2, 1, 0]), [0, 1, 2, 1, 0]);
        assert_eq!(
            levels(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 2]),
            [0, 1, 2, 3, 4, 5, 6, 6, 6, 2]
        );
        assert_eq!(levels(&[40, 41, 42]), [0, 0, 0]);
        assert_eq!(
            levels(&[5, 3, 4]),
            [0, 0, 1],
            "a page may begin deeper than it goes on"
        );
        assert_eq!(levels(&[5, 6, 3]), [0, 1, 0]);
        assert_eq!(levels(&[]), [0; 0]);
    }

    #[test]
    fn a_subject_is_the_same_however_it_was_answered() {
        assert_eq!(bare_subject("Re: AW: Gauge: stuck?"), "Gauge: stuck?");
    }
}
