//! An answer as it begins: to whom, where, and with what quoted.

use weir_news_proto::article::{Followup, cut_bytes};
use weir_news_proto::{MessageId, Newsgroup};

use super::draft::{Draft, trimmed};
use crate::reading::ReadArticle;

/// Bytes of what is answered that are quoted; nobody answers more, and the rest can be copied.
const QUOTED: usize = 32 * 1024;

/// An answer, and where its author may want it instead.
pub(crate) struct Reply {
    pub(crate) draft: Draft,
    /// The author asks for answers by mail, to this address.
    pub(crate) by_mail: Option<String>,
    /// The author asks for answers here instead of where the article is.
    pub(crate) elsewhere: Vec<Newsgroup>,
}

/// Begins an answer to an article.
pub(crate) fn to(read: &ReadArticle) -> Reply {
    let head = &read.article.head;
    let followed = match &head.followup_to {
        Some(Followup::Newsgroups(names)) => names.clone(),
        Some(Followup::Poster) | None => Vec::new(),
    };
    let names = match followed.is_empty() {
        true => &head.newsgroups,
        false => &followed,
    };
    let answered = head.reply_to.as_ref().unwrap_or(&head.from);
    let draft = Draft {
        newsgroups: super::listed(names),
        subject: answering(&head.subject),
        text: quoted(read),
        references: references(read),
        ..Draft::default()
    };
    Reply {
        draft,
        by_mail: matches!(head.followup_to, Some(Followup::Poster))
            .then(|| answered.address.clone()),
        elsewhere: match followed == head.newsgroups {
            true => Vec::new(),
            false => followed,
        },
    }
}

/// The same article once more, to be sent in its place.
pub(crate) fn instead_of(read: &ReadArticle) -> Draft {
    let head = &read.article.head;
    let references: Vec<String> = head.references.iter().map(ToString::to_string).collect();
    let texts = read.article.parts.iter();
    let texts = texts.filter_map(weir_news_proto::article::Part::text);
    let texts: Vec<String> = texts.map(weir_news_proto::article::Text::plain).collect();
    Draft {
        name: head.from.name.clone(),
        address: head.from.address.clone(),
        newsgroups: super::listed(&head.newsgroups),
        subject: head.subject.clone(),
        followup: match &head.followup_to {
            None => String::new(),
            Some(Followup::Poster) => "poster".to_owned(),
            Some(Followup::Newsgroups(names)) => super::listed(names),
        },
        text: texts.join("\n\n"),
        references: references.join(" "),
        replaces: read.id.to_string(),
        ..Draft::default()
    }
}

/// A subject with one `Re:` before it.
fn answering(subject: &str) -> String {
    let mut base = subject.trim();
    while base.len() >= 3 && base.is_char_boundary(3) && base[..3].eq_ignore_ascii_case("re:") {
        base = base[3..].trim_start();
    }
    format!("Re: {base}")
}

/// The ancestors of an answer: those of what it answers, and that.
fn references(read: &ReadArticle) -> String {
    let head = &read.article.head;
    let mut ids: Vec<MessageId> = match (head.references.is_empty(), &head.in_reply_to) {
        (true, Some(parent)) => vec![parent.clone()],
        _ => head.references.clone(),
    };
    ids.retain(|id| *id != read.id);
    ids.push(read.id.clone());
    let ids: Vec<String> = trimmed(&ids).iter().map(ToString::to_string).collect();
    ids.join(" ")
}

/// What is answered, with a mark before each line, and who said it. Signatures are not answered.
fn quoted(read: &ReadArticle) -> String {
    let head = &read.article.head;
    let who = match head.from.shown().trim() {
        "" => "Somebody",
        who => who,
    };
    let mut out = match head.date.seconds {
        Some(seconds) => {
            // `Sun, 15 Nov 2026 10:00:00 +0000` without its seconds and its zone.
            let date = weir_news_proto::date::write(seconds);
            let day = date.get(..16).unwrap_or(&date);
            format!("On {day}, {who} wrote:\n")
        }
        None => format!("{who} wrote:\n"),
    };
    let text = read.article.plain_text();
    let text = cut_bytes(text.trim_end(), QUOTED);
    for line in text.lines() {
        match line {
            "" => out.push_str(">\n"),
            line if line.starts_with('>') => {
                out.push('>');
                out.push_str(line);
                out.push('\n');
            }
            line => {
                out.push_str("> ");
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::samples::{article, id};

    fn reply(raw: &str) -> Reply {
        to(&article(&id("p@x"), raw))
    }

    #[test]
    fn an_answer_goes_where_its_parent_is_and_names_all_ancestors() {
        let reply = reply(
            "From: Ann <a@b.example>\nNewsgroups: misc.test,misc.other\nSubject: RE: re: Hello\n\
             Date: Tue, 17 Nov 2026 06:00:00 +0000\nReferences: <1@x> <2@x>\n\nOne\n\n> Two\n-- \nAnn\n",
        );
        let Draft {
            newsgroups,
            subject,
            text,
            references,
            ..
        } = reply.draft;
        assert_eq!(newsgroups, "misc.test, misc.other");
        assert_eq!(subject, "Re: Hello");
        assert_eq!(references, "<1@x> <2@x> <p@x>");
        assert_eq!(
            text,
            "On Tue, 17 Nov 2026, Ann wrote:\n> One\n>\n>> Two\n\n"
        );
        assert!(reply.by_mail.is_none() && reply.elsewhere.is_empty());
    }

    #[test]
    fn where_the_author_wants_answers_is_honoured_and_said() {
        let head = "From: Ann <a@b.example>\nNewsgroups: misc.test\nSubject: x\n";
        let other = reply(&format!("{head}Followup-To: misc.other\n\nx\n"));
        assert_eq!(other.draft.newsgroups, "misc.other");
        assert_eq!(super::super::listed(&other.elsewhere), "misc.other");
        let mail = reply(&format!("{head}Followup-To: poster\n\nx\n"));
        assert_eq!(mail.by_mail.as_deref(), Some("a@b.example"));
        assert_eq!(mail.draft.newsgroups, "misc.test");
    }

    #[test]
    fn of_many_ancestors_the_first_and_the_nearest_are_named() {
        let ids: Vec<String> = (0..100).map(|number| format!("<{number}@x>")).collect();
        let raw = format!("Subject: x\nReferences: {}\n\nx\n", ids.join(" "));
        let references = reply(&raw).draft.references;
        let ids: Vec<&str> = references.split(' ').collect();
        assert_eq!(ids.len(), 20);
        assert_eq!(
            (ids[0], ids[1], ids[18], ids[19]),
            ("<0@x>", "<82@x>", "<99@x>", "<p@x>")
        );
    }
}
