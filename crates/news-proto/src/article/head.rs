//! The headers of an article as values for pages.

use super::author::Author;
use super::damage::{Damage, Report};
use super::field::Section;
use super::limits;
use super::words::decode_hinted;
use crate::id::{self, MessageId};
use crate::{Newsgroup, date};

/// What the headers say. A header that is missing is empty; nothing here is checked to be true.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Head {
    /// Who wrote it.
    pub from: Author,
    /// Where the author wants answers by mail, if that differs.
    pub reply_to: Option<Author>,
    /// What it is about.
    pub subject: String,
    /// When it was written.
    pub date: Date,
    /// Its Message-ID, if it has a valid one.
    pub message_id: Option<MessageId>,
    /// The Message-IDs of its ancestors, oldest first.
    pub references: Vec<MessageId>,
    /// The Message-ID that it answers, by the header that mail programs write.
    pub in_reply_to: Option<MessageId>,
    /// The newsgroups that it was posted to.
    pub newsgroups: Vec<Newsgroup>,
    /// Where answers should go, if not to where it was posted.
    pub followup_to: Option<Followup>,
    /// The author's organization.
    pub organization: String,
    /// The program that it was written with: `User-Agent`, `X-Newsreader` or `X-Mailer`.
    pub user_agent: String,
    /// A server's name and the numbers of the article there.
    pub xref: String,
    /// The servers that it came through.
    pub path: String,
    /// All headers in the order of the article, decoded.
    pub headers: Vec<Header>,
}

/// Where an author wants answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followup {
    /// To these newsgroups, at least one.
    Newsgroups(Vec<Newsgroup>),
    /// To the author by mail: the word `poster`.
    Poster,
}

/// A date as it was written and as we understand it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Date {
    /// The header on one line.
    pub raw: String,
    /// Unix seconds, if it is a date.
    pub seconds: Option<i64>,
}

/// One header for a view of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name as it was written; printable ASCII.
    pub name: String,
    /// Its value, decoded and on one line.
    pub value: String,
}

impl Head {
    /// Reads headers; `hint` is the character set of the article's text.
    pub(super) fn of(section: &Section<'_>, hint: Option<&str>, report: &mut Report) -> Self {
        let text = |name: &str| {
            let value = section.first(name).unwrap_or_default();
            decode_hinted(value, hint)
        };
        // IDs and dates are read as they were sent: what looks like an encoded word in them is none.
        let bytes = |name: &str| section.first(name).unwrap_or_default();
        let author = |name: &str| {
            section
                .first(name)
                .map(|value| Author::parse_hinted(value, hint))
        };
        let programs = ["User-Agent", "X-Newsreader", "X-Mailer"].map(text);
        Self {
            from: author("From").unwrap_or_default(),
            reply_to: author("Reply-To").filter(|author| !author.is_empty()),
            subject: text("Subject"),
            date: Date {
                seconds: date::parse(bytes("Date")),
                raw: text("Date"),
            },
            message_id: MessageId::from_bytes(bytes("Message-ID").trim_ascii()).ok(),
            references: references(bytes("References"), report),
            in_reply_to: id::in_reply_to(bytes("In-Reply-To")),
            newsgroups: newsgroups("Newsgroups", &text("Newsgroups"), report),
            followup_to: followup_to(newsgroups("Followup-To", &text("Followup-To"), report)),
            organization: text("Organization"),
            user_agent: programs
                .into_iter()
                .find(|name| !name.is_empty())
                .unwrap_or_default(),
            xref: text("Xref"),
            path: text("Path"),
            headers: headers(section, hint),
        }
    }

    /// The value of the first header of this name, decoded.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| header.value.as_str())
    }
}

fn references(header: &[u8], report: &mut Report) -> Vec<MessageId> {
    if id::candidates(header).nth(id::MAX_REFERENCES).is_some() {
        report.add(Damage::LongList("References".to_owned()));
    }
    id::references(header)
}

fn newsgroups(name: &str, header: &str, report: &mut Report) -> Vec<Newsgroup> {
    let names = header.split(',');
    let mut names: Vec<Newsgroup> = names
        .filter_map(|name| name.trim().parse().ok())
        .take(limits::NEWSGROUPS + 1)
        .collect();
    if names.len() > limits::NEWSGROUPS {
        report.add(Damage::LongList(name.to_owned()));
        names.pop();
    }
    names
}

/// No newsgroup can be called `poster`, so among names of newsgroups it means nothing.
fn followup_to(mut names: Vec<Newsgroup>) -> Option<Followup> {
    let count = names.len();
    names.retain(|name| !name.as_str().eq_ignore_ascii_case("poster"));
    match names.is_empty() {
        false => Some(Followup::Newsgroups(names)),
        true => (count > 0).then_some(Followup::Poster),
    }
}

fn headers(section: &Section<'_>, hint: Option<&str>) -> Vec<Header> {
    let headers = section.fields.iter().map(|field| Header {
        name: field.name.to_owned(),
        value: decode_hinted(field.value, hint),
    });
    headers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &str) -> (Head, Vec<Damage>) {
        let mut report = Report::default();
        let section = Section::read(raw.as_bytes(), 0, 100, |_| false, &mut report);
        let head = Head::of(&section, None, &mut report);
        (head, report.into_list())
    }

    #[test]
    fn the_first_header_of_a_name_counts() {
        let (head, _) = read("subject: one\r\nSUBJECT: two\r\n\r\n");
        assert_eq!(head.subject, "one");
        assert_eq!(head.header("Subject"), Some("one"));
        assert_eq!(head.headers.len(), 2);
    }

    #[test]
    fn of_many_references_the_first_and_the_last_are_kept() {
        let ids: Vec<String> = (0..1_500).map(|number| format!("<{number}@x>")).collect();
        let (head, damage) = read(&format!("References: {}\n\n", ids.join("\n ")));
        assert_eq!(head.references.len(), id::MAX_REFERENCES);
        assert_eq!(
            (head.references[0].as_str(), head.references[1].as_str()),
            ("<0@x>", "<501@x>")
        );
        assert_eq!(head.references[999].as_str(), "<1499@x>");
        assert_eq!(damage, [Damage::LongList("References".into())]);
    }

    #[test]
    fn references_that_fit_are_no_damage() {
        let ids: Vec<String> = (0..1_000).map(|number| format!("<{number}@x>")).collect();
        let (head, damage) = read(&format!("References: {}\n\n", ids.join(" ")));
        assert_eq!((head.references.len(), damage), (1_000, vec![]));
    }

    #[test]
    fn ids_are_read_as_they_were_sent() {
        let (head, _) =
            read("Message-ID:\r\n <=?utf-8?q?a?=@x> \r\nIn-Reply-To: Mira <b@x>\r\n\r\n");
        let ids = [head.message_id, head.in_reply_to].map(|id| id.map(|id| id.to_string()));
        assert_eq!(
            ids,
            [Some("<=?utf-8?q?a?=@x>".into()), Some("<b@x>".into())]
        );
    }

    #[test]
    fn newsgroups_have_names_that_can_be_sent() {
        let (head, _) = read("Newsgroups: a.b, c.d,,e f,*,<x>\n\n");
        let names: Vec<&str> = head.newsgroups.iter().map(Newsgroup::as_str).collect();
        assert_eq!(names, ["a.b", "c.d"]);
        let many = "a.b,".repeat(limits::NEWSGROUPS + 1);
        let (head, damage) = read(&format!("Newsgroups: {many}\n\n"));
        assert_eq!(head.newsgroups.len(), limits::NEWSGROUPS);
        assert_eq!(damage, [Damage::LongList("Newsgroups".into())]);
    }

    #[test]
    fn answers_go_to_newsgroups_or_to_the_author() {
        let followup = |value: &str| read(&format!("Followup-To: {value}\n\n")).0.followup_to;
        let group = || Some(Followup::Newsgroups(vec!["a.b".parse().expect("a name")]));
        assert_eq!(followup("poster"), Some(Followup::Poster));
        assert_eq!(followup(" Poster"), Some(Followup::Poster));
        assert_eq!(followup("a.b"), group());
        assert_eq!(followup("poster, a.b"), group());
        assert_eq!(followup("e f"), None);
        assert_eq!(read("\n\n").0.followup_to, None);
    }

    #[test]
    fn programs_have_several_headers() {
        assert_eq!(read("X-Newsreader: tin\n\n").0.user_agent, "tin");
        assert_eq!(
            read("X-Mailer: mutt\nUser-Agent: slrn\n\n").0.user_agent,
            "slrn"
        );
    }
}
