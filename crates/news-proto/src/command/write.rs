//! Commands as lines: the client's half.
//!
//! Arguments have been checked by their types; what is free text is checked here, so that nothing
//! which a client of ours typed becomes a command of its own.

use std::fmt::{Display, Write};

use super::{Articles, Command, MAX_LINE, Which};
use crate::date;
use crate::error::Error;

impl Command {
    /// Appends the line with its end. Nothing is appended if it is too long, or if a user name, a
    /// password or a SASL word cannot be sent.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let line = self.line()?;
        if line.contains(['\0', '\r', '\n']) {
            return Err(Error::Text);
        }
        if line.len() > MAX_LINE - "\r\n".len() {
            return Err(Error::LineTooLong);
        }
        out.extend_from_slice(line.as_bytes());
        out.extend_from_slice(b"\r\n");
        Ok(())
    }

    fn line(&self) -> Result<String, Error> {
        Ok(match self {
            Self::Article(which) => words("ARTICLE", [which.word()]),
            Self::Head(which) => words("HEAD", [which.word()]),
            Self::Body(which) => words("BODY", [which.word()]),
            Self::Stat(which) => words("STAT", [which.word()]),
            Self::Group(newsgroup) => words("GROUP", [Some(newsgroup)]),
            Self::ListGroup(None) => "LISTGROUP".to_owned(),
            Self::ListGroup(Some((newsgroup, range))) => {
                let range = range.map(|range| range.to_string());
                words("LISTGROUP", [Some(newsgroup.to_string()), range])
            }
            Self::Next => "NEXT".to_owned(),
            Self::Last => "LAST".to_owned(),
            Self::Over(articles) => words("OVER", [articles.word()]),
            Self::Xover(articles) => words("XOVER", [articles.word()]),
            Self::Hdr(field, articles) => words("HDR", [Some(field.to_string()), articles.word()]),
            Self::Xhdr(field, articles) => {
                words("XHDR", [Some(field.to_string()), articles.word()])
            }
            Self::Xpat(field, articles, pattern) => {
                let articles = articles.word().ok_or(Error::MissingArgument)?;
                format!("XPAT {field} {articles} {}", pattern.as_str())
            }
            Self::List(listing) => words("LIST", [Some(listing.keyword()), listing.argument()]),
            Self::NewGroups(time) => format!("NEWGROUPS {}", date::write_stamp(*time)),
            Self::NewNews(wildmat, time) => {
                format!("NEWNEWS {wildmat} {}", date::write_stamp(*time))
            }
            Self::Date => "DATE".to_owned(),
            Self::Help => "HELP".to_owned(),
            Self::Capabilities(None) => "CAPABILITIES".to_owned(),
            Self::Capabilities(Some(word)) => {
                format!("CAPABILITIES {}", checked(word, is_keyword)?)
            }
            Self::ModeReader => "MODE READER".to_owned(),
            Self::AuthUser(user) => format!("AUTHINFO USER {}", checked(user, is_credential)?),
            Self::AuthPass(password) => {
                format!(
                    "AUTHINFO PASS {}",
                    checked(password.reveal(), is_credential)?
                )
            }
            Self::AuthSasl(mechanism, response) => {
                let mechanism = checked(mechanism, is_keyword)?;
                let response = response.as_ref().map(|response| response.reveal());
                if response.is_some_and(|response| !is_base64(response)) {
                    return Err(Error::Base64);
                }
                words("AUTHINFO SASL", [Some(mechanism), response])
            }
            Self::StartTls => "STARTTLS".to_owned(),
            Self::CompressDeflate => "COMPRESS DEFLATE".to_owned(),
            Self::Post => "POST".to_owned(),
            Self::Ihave(id) => format!("IHAVE {id}"),
            Self::Quit => "QUIT".to_owned(),
        })
    }
}

impl Which {
    fn word(&self) -> Option<String> {
        match self {
            Self::Current => None,
            Self::Number(number) => Some(number.to_string()),
            Self::Id(id) => Some(id.to_string()),
        }
    }
}

impl Articles {
    fn word(&self) -> Option<String> {
        match self {
            Self::Current => None,
            Self::Range(range) => Some(range.to_string()),
            Self::Id(id) => Some(id.to_string()),
        }
    }
}

/// One word of printable ASCII.
pub(super) fn is_keyword(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Base 64, or the lone `=` that is an empty response (RFC 4643 §2.4.2).
pub(super) fn is_base64(word: &str) -> bool {
    let digits = word.trim_end_matches('=');
    let padded =
        word.len().is_multiple_of(4) && word.len() - digits.len() <= 2 && !digits.is_empty();
    let digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    word == "=" || padded && digits.bytes().all(digit)
}

/// What a server reads as it was meant: blanks at the start would be lost.
fn is_credential(text: &str) -> bool {
    !text.is_empty() && !text.starts_with([' ', '\t'])
}

fn checked(word: &str, check: fn(&str) -> bool) -> Result<&str, Error> {
    if check(word) {
        Ok(word)
    } else {
        Err(Error::Text)
    }
}

fn words<W: Display, const N: usize>(verb: &str, words: [Option<W>; N]) -> String {
    let mut line = verb.to_owned();
    for word in words.into_iter().flatten() {
        write!(line, " {word}").expect("writing to a string does not fail");
    }
    line
}
