//! Articles as servers are fed with them.

/// An article to be handed to a server.
#[derive(Clone, Debug)]
pub(crate) struct Posted {
    pub(crate) bytes: Vec<u8>,
}

impl Posted {
    /// An article whose ID is `<name@town.example>`, written so many minutes after midnight; `more` are other lines of its
    /// head. Both that and the text may be any bytes.
    pub(crate) fn new(name: &str, newsgroups: &str, minute: u32, more: &[u8], body: &[u8]) -> Self {
        let date = format!(
            "Wed, 10 Jan 2024 {:02}:{:02}:00 +0000",
            minute / 60,
            minute % 60
        );
        let head = format!(
            "Path: elsewhere!not-for-mail\r\nNewsgroups: {newsgroups}\r\nDate: {date}\r\n\
             Message-ID: {}\r\n",
            bracketed(name)
        );
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(more);
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(b"\r\n");
        Self { bytes }
    }

    /// An ordinary one, which answers the articles of these names.
    pub(crate) fn plain(name: &str, newsgroups: &str, minute: u32, answers: &[&str]) -> Self {
        let re = if answers.is_empty() { "" } else { "Re: " };
        let about = answers.first().copied().unwrap_or(name);
        let mut head =
            format!("From: Author of {name} <a@town.example>\r\nSubject: {re}About {about}\r\n");
        if !answers.is_empty() {
            let ids: Vec<String> = answers.iter().map(|name| bracketed(name)).collect();
            head += &format!("References: {}\r\n", ids.join(" "));
        }
        let body = format!("The text of {name}.");
        Self::new(name, newsgroups, minute, head.as_bytes(), body.as_bytes())
    }
}

/// So many threads of one article each: `t1`, `t2` and so on, the last one the newest.
pub(crate) fn series(newsgroup: &str, count: u32) -> Vec<Posted> {
    (1..=count)
        .map(|number| Posted::plain(&format!("t{number}"), newsgroup, number, &[]))
        .collect()
}

/// The ID of an article without its brackets, as addresses have it.
pub(crate) fn id(name: &str) -> String {
    format!("{name}@town.example")
}

fn bracketed(name: &str) -> String {
    format!("<{}>", id(name))
}
