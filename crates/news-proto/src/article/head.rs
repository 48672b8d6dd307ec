//! The headers of an article as values for pages.

use super::author::Author;
use super::damage::{Damage, Report};
use super::field::Section;
use super::words::decode_hinted;
use super::{limits, values};

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
    /// Its Message-ID with brackets, if it has a valid one.
    pub message_id: Option<String>,
    /// The Message-IDs of its ancestors, oldest first.
    pub references: Vec<String>,
    /// The Message-IDs that it answers, by the header that mail programs write.
    pub in_reply_to: Vec<String>,
    /// The newsgroups that it was posted to.
    pub newsgroups: Vec<String>,
    /// The newsgroups that answers should go to, or `poster` for answers by mail.
    pub followup_to: Vec<String>,
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
        let ids = |name: &str| values::message_ids(section.first(name).unwrap_or_default());
        let author = |name: &str| {
            section
                .first(name)
                .map(|value| Author::parse_hinted(value, hint))
        };
        let date = text("Date");
        let programs = ["User-Agent", "X-Newsreader", "X-Mailer"].map(text);
        Self {
            from: author("From").unwrap_or_default(),
            reply_to: author("Reply-To").filter(|author| !author.is_empty()),
            subject: text("Subject"),
            date: Date {
                seconds: values::date(&date),
                raw: date,
            },
            message_id: Some(text("Message-ID")).filter(|id| values::is_message_id(id)),
            references: references(ids("References").collect(), report),
            in_reply_to: ids("In-Reply-To").take(limits::REFERENCES).collect(),
            newsgroups: newsgroups("Newsgroups", &text("Newsgroups"), report),
            followup_to: newsgroups("Followup-To", &text("Followup-To"), report),
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

/// Of too many references, the first tells the thread and the last ones tell the place in it.
fn references(mut ids: Vec<String>, report: &mut Report) -> Vec<String> {
    if ids.len() > limits::REFERENCES {
        report.add(Damage::LongList("References".to_owned()));
        ids.drain(1..=ids.len() - limits::REFERENCES);
    }
    ids
}

fn newsgroups(name: &str, header: &str, report: &mut Report) -> Vec<String> {
    let mut names: Vec<String> = values::newsgroups(header)
        .take(limits::NEWSGROUPS + 1)
        .collect();
    if names.len() > limits::NEWSGROUPS {
        report.add(Damage::LongList(name.to_owned()));
        names.pop();
    }
    names
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
        assert_eq!(head.references.len(), limits::REFERENCES);
        assert_eq!(
            (head.references[0].as_str(), head.references[1].as_str()),
            ("<0@x>", "<501@x>")
        );
        assert_eq!(head.references.last().map(String::as_str), Some("<1499@x>"));
        assert_eq!(damage, [Damage::LongList("References".into())]);
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
