//! What a news server does that it should not, and to which commands.

use std::time::Duration;

/// How a connection begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// `200`, or `201` if nobody may post.
    Good,
    /// The good one, after this time.
    Late(Duration),
    /// None, ever.
    Never,
    /// These bytes, and it goes on as if they were good.
    Bytes(Vec<u8>),
    /// This line, then the connection ends; `400` and `502` do that.
    Goodbye(String),
    /// The connection ends without a word.
    Close,
}

impl Greeting {
    /// That of a mail server.
    pub fn smtp() -> Self {
        Self::Bytes(b"220 mail.example ESMTP ready\r\n".to_vec())
    }

    /// Bytes that mean nothing, and a line at last.
    pub fn garbage() -> Self {
        Self::Bytes(b"\x16\x03\x01\x00\xff\xfe garbage\r\n".to_vec())
    }

    /// `400`: not now.
    pub fn not_now() -> Self {
        Self::Goodbye("400 Service temporarily unavailable".to_owned())
    }

    /// `502`: not you.
    pub fn refused() -> Self {
        Self::Goodbye("502 Access denied".to_owned())
    }
}

/// What becomes of an answer. What is endless ends after a number of bytes, and so does the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// As it should.
    Good,
    /// As it should; each command takes this time, one after the other.
    Slow(Duration),
    /// As it should, this time after the command came in: a far server, whose answers overlap.
    Far(Duration),
    /// This line and nothing else: `"480 Authenticate"`, `"451 Taken down"`, `"403 Fault"`.
    Line(String),
    /// This line, then the connection ends: `"400 Going down"`.
    Goodbye(String),
    /// These bytes, not packed whatever was agreed on.
    Bytes(Vec<u8>),
    /// Reads on and never answers again.
    Hang,
    /// A good answer, one byte at a time with a pause after each.
    Drip(Duration),
    /// So many bytes of a good answer, then the connection ends.
    Cut(usize),
    /// The first half of a good answer, then the connection ends.
    Half,
    /// So many bytes of a good answer, then silence.
    Stall(usize),
    /// The connection ends without a word.
    Close,
    /// The connection ends with an error for the client.
    Reset,
    /// So many bytes without an end of line. Packed they are a deflate bomb.
    EndlessLine(usize),
    /// The good answer's block over and over for so many bytes. Packed it is a deflate bomb.
    EndlessBlock(usize),
    /// `POST`, `IHAVE`: asks for the article, then the connection ends.
    DieBeforeArticle,
    /// `POST`, `IHAVE`: takes the article and keeps it, then the connection ends without a word.
    DieAfterArticle,
    /// `POST`, `IHAVE`: takes the article, does not keep it and says this.
    Verdict(String),
    /// The first so many commands of each connection are answered as they should be, all others so.
    After(usize, Box<Self>),
}

impl Behaviour {
    /// The same after so many good answers on each connection.
    pub fn after(self, commands: usize) -> Self {
        Self::After(commands, Box::new(self))
    }

    /// What it means for a connection's command, the first of which has number 1.
    pub(super) fn at(&self, command: usize) -> &Self {
        match self {
            Self::After(good, _) if command <= *good => &Self::Good,
            Self::After(_, then) => then.at(command),
            other => other,
        }
    }
}

/// How the rows of an overview are wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// Not at all.
    #[default]
    Good,
    /// Only so many fields after the number.
    Fields(usize),
    /// A tab within the subject.
    ExtraTabs,
    /// Numbers that are too high by this.
    Shifted(u64),
    /// The number is no number.
    NoNumbers,
    /// Each row twice.
    Twice,
    /// The newest first.
    Reversed,
    /// Every second one is missing.
    Holes,
    /// Bytes that mean nothing, after each good row: empty, NULs, bare LF, no UTF-8.
    Garbage,
}

/// What an empty range is answered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyRange {
    /// `423`, as the RFC and INN have it.
    #[default]
    NoArticles,
    /// A block with nothing in it.
    EmptyBlock,
}

/// What a server is like, other than in how it answers a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nature {
    /// How connections begin.
    pub greeting: Greeting,
    /// Everybody may post.
    pub posting: bool,
    /// Name and password without which everything is answered with `480`.
    pub account: Option<(String, String)>,
    /// Connections at a time; more are greeted with `502`.
    pub connections: Option<usize>,
    /// Commands that it does not know, in upper case; see also [`super::News::without`].
    pub unknown: Vec<String>,
    /// What `CAPABILITIES` says instead of the truth.
    pub capabilities: Option<Vec<String>>,
    /// Nothing for readers works before `MODE READER`.
    pub transit: bool,
    /// Count, low and high of every newsgroup instead of the true ones.
    pub counts: Option<(u64, u64, u64)>,
    /// What is wrong with overviews.
    pub rows: Rows,
    /// What an empty range is answered with.
    pub empty_range: EmptyRange,
    /// `ARTICLE` by id tells 0, as it may, instead of the number in the selected newsgroup.
    pub zero_by_id: bool,
}

impl Default for Nature {
    fn default() -> Self {
        Self {
            greeting: Greeting::Good,
            posting: true,
            account: None,
            connections: None,
            unknown: Vec::new(),
            capabilities: None,
            transit: false,
            counts: None,
            rows: Rows::Good,
            empty_range: EmptyRange::NoArticles,
            zero_by_id: true,
        }
    }
}

/// Behaviours and the commands they are for.
#[derive(Default)]
pub(super) struct Rules(Vec<Rule>);

struct Rule {
    /// The beginning of a command's line, its verb in upper case; empty for all commands.
    of: String,
    behaviour: Behaviour,
    /// How often it is still to be used.
    times: Option<usize>,
}

impl Rules {
    /// Sets the behaviour for commands that begin so, in place of the one that was set for them.
    pub(super) fn set(&mut self, of: &str, behaviour: Behaviour, times: Option<usize>) {
        self.0.retain(|rule| rule.of != of);
        let of = of.to_owned();
        self.0.push(Rule {
            of,
            behaviour,
            times,
        });
        // What is said about few commands goes before what is said about many.
        self.0.sort_by_key(|rule| std::cmp::Reverse(rule.of.len()));
    }

    /// The behaviour for a command whose verb is in upper case, and which one of its connection it is.
    pub(super) fn take(&mut self, line: &str, command: usize) -> Behaviour {
        for rule in &mut self.0 {
            let fits = rule.of.is_empty() || super::begins(line, &rule.of);
            if !fits || rule.times == Some(0) {
                continue;
            }
            let behaviour = rule.behaviour.at(command).clone();
            if let (Some(times), true) = (&mut rule.times, behaviour != Behaviour::Good) {
                *times -= 1;
            }
            return behaviour;
        }
        Behaviour::Good
    }
}
