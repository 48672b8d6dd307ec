//! Weir beside the server that it reads from: the same commands, and what each of the two answers.
//!
//! A newsgroup that one server alone carries has that server's numbers, so answers can be compared letter for letter. Where
//! Weir answers otherwise on purpose, the command stands in [`DIFFERENT`]; `docs/decisions.md` says why.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::Value;

use super::articles::{Posted, series};
use super::talk::{Said, Talk};
use super::{KEY, Town, text};

fn town() -> Town {
    let mut one = series("misc.test", 12);
    one.push(Posted::plain("reply", "misc.test", 70, &["t5"]));
    one.push(Posted::new(
        "dots",
        "misc.test",
        80,
        "From: =?utf-8?q?J=C3=BCrgen?= <j@town.example>\r\nSubject: Dots\r\n".as_bytes(),
        b".a line that begins with a dot\r\n..\r\n.\r\nand the last",
    ));
    let two = [Posted::plain("hill", "example.hills", 5, &[])];
    Town::new(
        [
            (&["misc.test", "misc.empty"], &one),
            (&["example.hills"], &two),
        ],
        "",
    )
}

/// Commands in an order in which each has something to answer.
const COMMANDS: &[&str] = &[
    "MODE READER",
    // Without a newsgroup.
    "STAT",
    "ARTICLE",
    "HEAD",
    "BODY",
    "NEXT",
    "LAST",
    "OVER",
    "XOVER",
    "OVER 1-2",
    "HDR subject",
    "XHDR Path",
    "HDR subject 1-2",
    "LISTGROUP",
    "STAT 1",
    "XPAT subject 1- *",
    // Articles by their IDs, wherever one is.
    "STAT <t5@town.example>",
    "HEAD <t5@town.example>",
    "BODY <t5@town.example>",
    "ARTICLE <t5@town.example>",
    "BODY <dots@town.example>",
    "STAT <nobody@town.example>",
    "ARTICLE <nobody@town.example>",
    "HDR subject <t5@town.example>",
    "HDR subject <nobody@town.example>",
    "OVER <t5@town.example>",
    // Lists.
    "LIST",
    "LIST ACTIVE",
    "LIST ACTIVE misc.*",
    "LIST ACTIVE no.such.*",
    "LIST COUNTS misc.*",
    "LIST NEWSGROUPS",
    "LIST NEWSGROUPS misc.t*",
    "LIST OVERVIEW.FMT",
    "LIST HEADERS",
    "LIST HEADERS MSGID",
    "LIST HEADERS RANGE",
    "LIST ACTIVE.TIMES",
    "LIST SUBSCRIPTIONS",
    "LIST MOTD",
    "LIST NOSUCH",
    "LIST ACTIVE a b",
    "LIST ACTIVE *,!misc.*",
    "LIST DISTRIB.PATS",
    // A newsgroup.
    "GROUP no.such.newsgroup",
    "GROUP",
    "GROUP misc.test",
    "STAT",
    "LAST",
    "NEXT",
    "NEXT",
    "STAT",
    "LAST",
    "ARTICLE 3",
    "HEAD 3",
    "BODY 3",
    "STAT 3",
    "STAT",
    "NEXT",
    "STAT 99",
    "ARTICLE 99",
    "STAT 0",
    "OVER",
    "OVER 2-4",
    "OVER 12-",
    "OVER 90-99",
    "OVER 5-2",
    "OVER 3-3",
    "XOVER 2-4",
    "XOVER 90-99",
    "XHDR subject 90-99",
    "XPAT subject 90-99 *",
    "HDR subject",
    "HDR subject 2-4",
    "HDR Subject 13",
    "HDR :lines 2-4",
    "HDR :bytes 2",
    "HDR references 12-14",
    "HDR newsgroups 2-3",
    "HDR subject 90-99",
    "XHDR subject 2-4",
    "XHDR lines 2-3",
    "XHDR message-id 1-",
    "HDR message-id <t5@town.example>",
    "XPAT subject 1- *t1*",
    "XPAT subject 1- nosuch",
    "XPAT from 1-3 *t2* *t3*",
    "LISTGROUP",
    "LISTGROUP misc.test",
    "LISTGROUP misc.test 3-5",
    "LISTGROUP misc.test 90-99",
    "LISTGROUP no.such.newsgroup",
    "STAT",
    "GROUP misc.empty",
    "STAT",
    "NEXT",
    "LAST",
    "OVER",
    "OVER 1-9",
    "LISTGROUP",
    "LISTGROUP misc.empty",
    "STAT 1",
    // Time.
    "NEWNEWS misc.* 20380101 000000 GMT",
    "NEWGROUPS 20380101 000000 GMT",
    "NEWNEWS * 20000101",
    "NEWNEWS",
    "NEWGROUPS",
    "NEWGROUPS 2000 0000",
    "NEWGROUPS 20001301 000000 GMT",
    // What makes no sense.
    "XYZZY",
    "MODE FOO",
    "MODE",
    "GROUP a b",
    "STAT <broken",
    "ARTICLE abc",
    "STAT -1",
    "OVER a-b",
    "OVER 1-2-3",
    "HDR",
    "XPAT subject",
    "XPAT subject 1-",
    "DATE now",
    "AUTHINFO",
    "AUTHINFO FOO",
    "AUTHINFO PASS before-user",
    "IHAVE <a@town.example>",
    "STARTTLS",
    "list active misc.test",
    "gRoUp misc.test",
    "stat",
];

/// Where Weir answers with another code than INN, on purpose: command, INN's code, ours.
const DIFFERENT: &[(&str, &str, &str)] = &[
    ("OVER <t5@town.example>", "503", "224"),
    ("LIST SUBSCRIPTIONS", "503", "215"),
    ("LIST MOTD", "503", "215"),
    ("HDR newsgroups 2-3", "225", "503"),
    ("NEWNEWS misc.* 20380101 000000 GMT", "480", "230"),
    ("AUTHINFO PASS before-user", "483", "482"),
    ("IHAVE <a@town.example>", "480", "500"),
];

/// Blocks of which only the code is compared: what each server has of its own.
const OWN_WORDS: &[&str] = &[
    "LIST HEADERS",
    "LIST HEADERS MSGID",
    "LIST HEADERS RANGE",
    "LIST ACTIVE.TIMES",
    "XHDR lines 2-3",
];

/// A block without what each server writes as itself: who it is, the way an article came, and the newsgroup of the second
/// server. Lists have no order.
fn comparable(command: &str, block: &[String]) -> Vec<String> {
    let own = ["Path: ", "Xref: ", "example.hills"];
    let kept = block
        .iter()
        .filter(|line| !own.iter().any(|own| line.starts_with(own)));
    let mut kept: Vec<String> = kept
        .map(|line| match line.split_once("\tXref: ") {
            Some((before, xref)) => {
                let (_, places) = xref.split_once(' ').unwrap_or_default();
                format!("{before}\tXref: HOST {places}")
            }
            None => line.clone(),
        })
        .collect();
    if command.to_ascii_uppercase().starts_with("LIST") && command != "LIST OVERVIEW.FMT" {
        kept.sort();
    }
    kept
}

#[test]
fn every_command_is_answered_as_inn_answers_it() {
    let town = town();
    let mut inn = Talk::with(town.shops[0].inn.address());
    let mut weir = Talk::with(town.weir.nntp());
    let mut faults = Vec::new();
    for &command in COMMANDS {
        let (theirs, ours) = (inn.say(command), weir.say(command));
        let expected = DIFFERENT
            .iter()
            .find(|(different, ..)| *different == command);
        let codes = (theirs.code(), ours.code());
        let as_argued = match expected {
            Some((_, inn, weir)) => codes == (*inn, *weir),
            None => codes.0 == codes.1,
        };
        let same_block = match (&theirs.block, &ours.block) {
            (Some(theirs), Some(ours)) if !OWN_WORDS.contains(&command) => {
                comparable(command, theirs) == comparable(command, ours)
            }
            _ => true,
        };
        // Numbers and IDs on the first line; XHDR and XPAT begin with the code of HEAD and tell none.
        let tells = ["211", "220", "221", "222", "223"].contains(&codes.0)
            && codes.0 == codes.1
            && !command.starts_with('X');
        let words = |said: &Said| -> Vec<String> {
            said.line.split(' ').take(3).map(str::to_owned).collect()
        };
        let same_line = !tells || words(&theirs) == words(&ours);
        if !as_argued || !same_block || !same_line {
            faults.push(format!("{command:?}\n  INN  {theirs:?}\n  Weir {ours:?}"));
        }
    }
    assert!(
        faults.is_empty(),
        "{} of {}:\n{}",
        faults.len(),
        COMMANDS.len(),
        faults.join("\n")
    );
    assert_eq!(
        (inn.say("QUIT").code(), weir.say("QUIT").code()),
        ("205", "205")
    );
}

/// What Python's nntplib is told by a server, as JSON.
fn session(address: SocketAddr, account: &[&str]) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/news/session.py");
    let mut python = Command::new("/usr/bin/python3");
    python.args([
        script,
        "127.0.0.1",
        &address.port().to_string(),
        "misc.test",
        "<t5@town.example>",
    ]);
    let told = python.args(account).output().expect("python runs");
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.status.success(), "{said}");
    serde_json::from_slice(&told.stdout).unwrap_or_else(|error| panic!("{error}: {told:?}"))
}

#[test]
fn nntplib_is_told_the_same_by_both() {
    let town = town();
    let mut inn = session(town.shops[0].inn.address(), &[]);
    let mut weir = session(town.weir.nntp(), &["reader", KEY]);
    assert_eq!(weir["post"], "240");
    for told in [&mut inn, &mut weir] {
        let told = told.as_object_mut().unwrap();
        // Weir also has the newsgroup of the second server, and says what it can do; an open INN wants no name.
        for own in [
            "capabilities",
            "active",
            "descriptions",
            "newgroups",
            "post",
        ] {
            told.remove(own);
        }
        let lines = told["article"][1].as_array_mut().unwrap();
        lines.retain(|line| !text(line).starts_with("Path: ") && !text(line).starts_with("Xref: "));
    }
    assert_eq!(weir, inn);
    let posted = session(town.shops[0].inn.address(), &[]);
    let subjects = posted["subjects"].as_array().unwrap();
    let ours = subjects
        .iter()
        .filter(|row| row[1] == "Posted with nntplib");
    assert_eq!(ours.count(), 1, "{subjects:?}");
}
