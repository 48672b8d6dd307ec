//! Commands from lines: the server's half.

use super::listing::ListedBy;
use super::{Articles, Command, Listing, MAX_LINE, Password, Which};
use crate::date;
use crate::error::Error;
use crate::field::FieldName;
use crate::newsgroup::Newsgroup;
use crate::number::number;
use crate::wildmat::Wildmat;

/// What reads the arguments of one verb.
type Reader = fn(&mut Arguments<'_>) -> Result<Command, Error>;

const VERBS: &[(&str, Reader)] = &[
    ("ARTICLE", |words| Ok(Command::Article(words.which()?))),
    ("AUTHINFO", authinfo),
    ("BODY", |words| Ok(Command::Body(words.which()?))),
    ("CAPABILITIES", |words| {
        Ok(Command::Capabilities(words.keyword()?))
    }),
    ("COMPRESS", compress),
    ("DATE", |_| Ok(Command::Date)),
    ("GROUP", |words| Ok(Command::Group(words.need()?.parse()?))),
    ("HDR", |words| {
        Ok(Command::Hdr(words.field()?, words.articles()?))
    }),
    ("HEAD", |words| Ok(Command::Head(words.which()?))),
    ("HELP", |_| Ok(Command::Help)),
    ("IHAVE", |words| Ok(Command::Ihave(words.need()?.parse()?))),
    ("LAST", |_| Ok(Command::Last)),
    ("LIST", |words| Ok(Command::List(listing(words)?))),
    ("LISTGROUP", list_group),
    ("MODE", mode),
    ("NEWGROUPS", |words| Ok(Command::NewGroups(words.time()?))),
    ("NEWNEWS", |words| {
        Ok(Command::NewNews(words.need()?.parse()?, words.time()?))
    }),
    ("NEXT", |_| Ok(Command::Next)),
    ("OVER", |words| Ok(Command::Over(words.articles()?))),
    ("POST", |_| Ok(Command::Post)),
    ("QUIT", |_| Ok(Command::Quit)),
    ("STARTTLS", |_| Ok(Command::StartTls)),
    ("STAT", |words| Ok(Command::Stat(words.which()?))),
    ("XHDR", |words| {
        Ok(Command::Xhdr(words.field()?, words.articles()?))
    }),
    ("XOVER", |words| Ok(Command::Xover(words.articles()?))),
    ("XPAT", xpat),
];

impl Command {
    /// Reads a line, with or without its end. [`Error::code`] says how to answer one that is not a
    /// command.
    pub fn parse(line: &[u8]) -> Result<Self, Error> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > MAX_LINE - "\r\n".len() {
            return Err(Error::LineTooLong);
        }
        let line = line.trim_ascii_start();
        let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t'));
        let (verb, rest) = line.split_at(end.unwrap_or(line.len()));
        let known = VERBS
            .iter()
            .find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(verb));
        let (_, read) = known.ok_or(Error::UnknownCommand)?;
        let rest = std::str::from_utf8(rest).map_err(|_| Error::Text)?;
        if rest.contains(['\0', '\r', '\n']) {
            return Err(Error::Text);
        }
        let mut words = Arguments { rest };
        let command = read(&mut words)?;
        words.end()?;
        Ok(command)
    }
}

fn authinfo(words: &mut Arguments<'_>) -> Result<Command, Error> {
    let variant = words.need()?;
    if variant.eq_ignore_ascii_case("USER") {
        return Ok(Command::AuthUser(words.all()?.into()));
    }
    if variant.eq_ignore_ascii_case("PASS") {
        return Ok(Command::AuthPass(Password::new(words.all()?)));
    }
    if !variant.eq_ignore_ascii_case("SASL") {
        return Err(Error::UnknownVariant);
    }
    let mechanism = words.need()?;
    if !super::write::is_keyword(mechanism) {
        return Err(Error::Text);
    }
    let response = words.next().map(|response| {
        let readable = super::write::is_base64(response);
        readable
            .then(|| Password::new(response))
            .ok_or(Error::Base64)
    });
    Ok(Command::AuthSasl(mechanism.into(), response.transpose()?))
}

fn compress(words: &mut Arguments<'_>) -> Result<Command, Error> {
    if words.need()?.eq_ignore_ascii_case("DEFLATE") {
        Ok(Command::CompressDeflate)
    } else {
        Err(Error::Compression)
    }
}

fn mode(words: &mut Arguments<'_>) -> Result<Command, Error> {
    if words.need()?.eq_ignore_ascii_case("READER") {
        Ok(Command::ModeReader)
    } else {
        Err(Error::UnknownVariant)
    }
}

fn list_group(words: &mut Arguments<'_>) -> Result<Command, Error> {
    let Some(newsgroup) = words.next() else {
        return Ok(Command::ListGroup(None));
    };
    let newsgroup: Newsgroup = newsgroup.parse()?;
    let range = words.next().map(str::parse).transpose()?;
    Ok(Command::ListGroup(Some((newsgroup, range))))
}

/// Several patterns are one, with a space between them (RFC 2980 §2.9).
fn xpat(words: &mut Arguments<'_>) -> Result<Command, Error> {
    let (field, articles) = (words.field()?, words.need()?);
    let articles = articles_of(articles)?;
    let mut pattern = words.need()?.to_owned();
    while let Some(word) = words.next() {
        pattern.push(' ');
        pattern.push_str(word);
    }
    Ok(Command::Xpat(field, articles, pattern.parse()?))
}

fn listing(words: &mut Arguments<'_>) -> Result<Listing, Error> {
    let keyword = words.next().unwrap_or("ACTIVE").to_ascii_uppercase();
    let mut wildmat = || words.next().map(str::parse::<Wildmat>).transpose();
    Ok(match keyword.as_str() {
        "ACTIVE" => Listing::Active(wildmat()?),
        "ACTIVE.TIMES" => Listing::ActiveTimes(wildmat()?),
        "COUNTS" => Listing::Counts(wildmat()?),
        "DISTRIB.PATS" => Listing::DistribPats,
        "DISTRIBUTIONS" => Listing::Distributions,
        "HEADERS" => Listing::Headers(listed_by(words)?),
        "MODERATORS" => Listing::Moderators,
        "MOTD" => Listing::Motd,
        "NEWSGROUPS" => Listing::Newsgroups(wildmat()?),
        "OVERVIEW.FMT" => Listing::OverviewFmt,
        "SUBSCRIPTIONS" => Listing::Subscriptions(wildmat()?),
        _ => return Err(Error::UnknownVariant),
    })
}

fn listed_by(words: &mut Arguments<'_>) -> Result<Option<ListedBy>, Error> {
    match words.next() {
        None => Ok(None),
        Some(word) if word.eq_ignore_ascii_case("MSGID") => Ok(Some(ListedBy::MessageId)),
        Some(word) if word.eq_ignore_ascii_case("RANGE") => Ok(Some(ListedBy::Range)),
        Some(_) => Err(Error::UnknownVariant),
    }
}

fn articles_of(word: &str) -> Result<Articles, Error> {
    if word.starts_with('<') {
        return Ok(Articles::Id(word.parse()?));
    }
    Ok(Articles::Range(word.parse()?))
}

/// The words after the verb, separated by spaces and tabs.
struct Arguments<'a> {
    rest: &'a str,
}

impl<'a> Arguments<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start_matches([' ', '\t']);
        let end = rest.find([' ', '\t']).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn need(&mut self) -> Result<&'a str, Error> {
        self.next().ok_or(Error::MissingArgument)
    }

    /// All that follows: user names and passwords may have spaces in them (RFC 4643 §2.3.2).
    fn all(&mut self) -> Result<&'a str, Error> {
        let rest = std::mem::take(&mut self.rest).trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            return Err(Error::MissingArgument);
        }
        Ok(rest)
    }

    fn end(&mut self) -> Result<(), Error> {
        match self.next() {
            None => Ok(()),
            Some(_) => Err(Error::TooManyArguments),
        }
    }

    fn field(&mut self) -> Result<FieldName, Error> {
        self.need()?.parse()
    }

    fn which(&mut self) -> Result<Which, Error> {
        match self.next() {
            None => Ok(Which::Current),
            Some(word) if word.starts_with('<') => Ok(Which::Id(word.parse()?)),
            Some(word) => Ok(Which::Number(number(word.as_bytes()).ok_or(Error::Number)?)),
        }
    }

    fn articles(&mut self) -> Result<Articles, Error> {
        self.next().map_or(Ok(Articles::Current), articles_of)
    }

    /// Date and time, and `GMT`, which is optional.
    fn time(&mut self) -> Result<i64, Error> {
        let (date, time) = (self.need()?, self.need()?);
        let seconds = date::parse_stamp(date.as_bytes(), time.as_bytes())?;
        match self.next() {
            Some(zone) if !zone.eq_ignore_ascii_case("GMT") => Err(Error::Date),
            _ => Ok(seconds),
        }
    }

    fn keyword(&mut self) -> Result<Option<Box<str>>, Error> {
        match self.next() {
            Some(word) if !super::write::is_keyword(word) => Err(Error::Text),
            word => Ok(word.map(Box::from)),
        }
    }
}
