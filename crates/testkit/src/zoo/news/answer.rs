//! What a good news server answers to a command.

use super::State;
use super::article::Article;
use super::behaviour::Nature;
use super::{listing, reading, wire};

/// An answer and what comes after it.
pub(super) struct Reply {
    pub(super) line: String,
    /// Not yet with dots doubled.
    pub(super) block: Option<Vec<u8>>,
    pub(super) then: Then,
}

/// What happens after an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Nothing,
    /// An article comes; an id if it was offered with one.
    Article(Option<String>),
    Pack,
    Close,
}

impl Reply {
    pub(super) fn line(line: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            block: None,
            then: Then::Nothing,
        }
    }

    pub(super) fn block(line: impl Into<String>, block: Vec<u8>) -> Self {
        let block = Some(block);
        Self {
            block,
            ..Self::line(line)
        }
    }

    fn then(self, then: Then) -> Self {
        Self { then, ..self }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\r\n", self.line).into_bytes();
        if let Some(block) = &self.block {
            bytes.extend(wire::block(block));
        }
        bytes
    }
}

/// Where a client is in its conversation.
#[derive(Default)]
pub(super) struct Talk {
    name: Option<String>,
    signed_in: bool,
    reader: bool,
    packed: bool,
    pub(super) newsgroup: Option<String>,
    pub(super) current: Option<u64>,
}

/// What it answers to a line.
pub(super) fn of(state: &mut State, talk: &mut Talk, line: &str) -> Reply {
    if line.len() > 510 {
        return Reply::line("501 Line too long");
    }
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let Some((verb, words)) = words.split_first() else {
        return Reply::line("500 What?");
    };
    let verb = verb.to_ascii_uppercase();
    if knows_not(&state.nature, &verb) {
        return Reply::line("500 What?");
    }
    let variant = words.first().map(|word| word.to_ascii_uppercase());
    let variant = format!("{verb} {}", variant.unwrap_or_default());
    if knows_not(&state.nature, &variant) {
        return Reply::line("503 Not here");
    }
    if let Some(refusal) = refusal(&state.nature, talk, &verb) {
        return Reply::line(refusal);
    }
    match (verb.as_str(), words) {
        ("CAPABILITIES", _) => Reply::block("101 Capabilities", capabilities(&state.nature, talk)),
        ("MODE", [mode]) if mode.eq_ignore_ascii_case("reader") => {
            talk.reader = true;
            Reply::line(greeting(&state.nature))
        }
        ("QUIT", []) => Reply::line("205 Bye").then(Then::Close),
        ("DATE", []) => Reply::line("111 20240201120000"),
        ("AUTHINFO", [kind, word]) => authinfo(&state.nature, talk, kind, word),
        ("COMPRESS", [_]) if talk.packed => Reply::line("502 Packed already"),
        ("COMPRESS", [how]) if how.eq_ignore_ascii_case("deflate") => {
            talk.packed = true;
            Reply::line("206 Packed from here").then(Then::Pack)
        }
        ("COMPRESS", [_]) => Reply::line("503 Not that way"),
        ("POST", []) if !state.nature.posting => Reply::line("440 No posting here"),
        ("POST", []) => Reply::line("340 Send it").then(Then::Article(None)),
        ("IHAVE", [id]) if state.shelf.article(id).is_some() => Reply::line("435 Have it"),
        ("IHAVE", [id]) => Reply::line("335 Send it").then(Then::Article(Some((*id).to_owned()))),
        ("LIST", words) => listing::list(state, words),
        ("OVER" | "XOVER" | "HDR" | "XHDR", words) => listing::rows(state, talk, &verb, words),
        ("GROUP" | "LISTGROUP", words) => reading::select(state, talk, &verb, words),
        ("NEXT" | "LAST", []) => reading::step(state, talk, &verb),
        ("ARTICLE" | "HEAD" | "BODY" | "STAT", words) => reading::fetch(state, talk, &verb, words),
        ("MODE" | "QUIT" | "DATE" | "AUTHINFO" | "COMPRESS" | "POST" | "IHAVE", _) => {
            Reply::line("501 Not so")
        }
        _ => Reply::line("500 What?"),
    }
}

/// What it says to an article that it asked for; it is kept unless it is there already.
pub(super) fn receive(state: &mut State, offered: Option<&str>, bytes: Vec<u8>) -> String {
    let made_up = format!("<posted-{}@zoo.example>", state.posted.len() + 1);
    let mut article = Article::raw("", bytes);
    let id = article.header("Message-ID").unwrap_or_default();
    article.id = String::from_utf8_lossy(&id).into_owned();
    if article.id.is_empty() {
        let line = format!("Message-ID: {made_up}\r\n");
        article.bytes.splice(0..0, line.into_bytes());
        article.id = made_up;
    }
    let (good, bad) = match offered {
        Some(_) => ("235 Thanks", "437 Not wanted"),
        None => ("240 Thanks", "441 Not wanted"),
    };
    if state.shelf.article(&article.id).is_some() {
        return format!("{bad}: a duplicate");
    }
    let newsgroups = article.header("Newsgroups").unwrap_or_default();
    let newsgroups = String::from_utf8_lossy(&newsgroups).into_owned();
    let names: Vec<&str> = newsgroups.split(',').map(str::trim).collect();
    state.posted.push(article.clone());
    if state.shelf.add(&names, article).is_empty() {
        return format!("{bad}: no such newsgroup");
    }
    good.to_owned()
}

/// The first line of a connection.
pub(super) fn greeting(nature: &Nature) -> &'static str {
    if nature.posting {
        "200 Zoo, posting allowed"
    } else {
        "201 Zoo, no posting"
    }
}

fn knows_not(nature: &Nature, command: &str) -> bool {
    nature.unknown.iter().any(|unknown| unknown == command)
}

/// Why a command has to wait.
fn refusal(nature: &Nature, talk: &Talk, verb: &str) -> Option<&'static str> {
    let always = ["CAPABILITIES", "MODE", "QUIT", "AUTHINFO", "COMPRESS"];
    if always.contains(&verb) {
        return None;
    }
    if nature.account.is_some() && !talk.signed_in {
        return Some("480 Authenticate first");
    }
    (nature.transit && !talk.reader && verb != "IHAVE").then_some("401 MODE-READER")
}

fn authinfo(nature: &Nature, talk: &mut Talk, kind: &str, word: &str) -> Reply {
    let user = kind.eq_ignore_ascii_case("user");
    let line = match (&nature.account, &talk.name) {
        _ if talk.signed_in || talk.packed => "502 Not any more",
        (None, _) => "502 Not needed",
        (_, _) if user => {
            talk.name = Some(word.to_owned());
            "381 And the password?"
        }
        (_, None) => "482 The name first",
        (Some((name, password)), Some(given)) => {
            talk.signed_in = name == given && password == word;
            let (yes, no) = ("281 Welcome", "481 Wrong name or password");
            if talk.signed_in { yes } else { no }
        }
    };
    Reply::line(line)
}

fn capabilities(nature: &Nature, talk: &Talk) -> Vec<u8> {
    let lines = nature.capabilities.clone().unwrap_or_else(|| {
        let reads = !nature.transit || talk.reader;
        let mut lines = vec!["VERSION 2", "IMPLEMENTATION Zoo"];
        lines.push(if reads { "READER" } else { "MODE-READER" });
        lines.extend(["IHAVE", "OVER MSGID", "HDR"]);
        lines.extend(nature.posting.then_some("POST"));
        let may_sign_in = nature.account.is_some() && !talk.signed_in && !talk.packed;
        lines.extend(may_sign_in.then_some("AUTHINFO USER"));
        lines.extend((!talk.packed).then_some("COMPRESS DEFLATE"));
        let verb = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        lines.retain(|line| !knows_not(nature, &verb(line)));
        let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
        lines.push(listing::variants(|name| knows_not(nature, name)));
        lines
    });
    let lines = lines.iter().map(|line| format!("{line}\r\n"));
    lines.collect::<String>().into_bytes()
}
