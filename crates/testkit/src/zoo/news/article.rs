//! An article as it lies on a news server: bytes, and what an overview says about them.

/// An article; everything but its id is read from its bytes when it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Article {
    /// With its angle brackets.
    pub id: String,
    /// Head, empty line and body as they go over the wire, but without dots doubled.
    pub bytes: Vec<u8>,
}

impl Article {
    /// An article of these headers, in this order, with its `Message-ID` after them.
    pub fn new(id: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let mut bytes = Vec::new();
        for (name, value) in headers.iter().chain(&[("Message-ID", id)]) {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        for line in body.lines() {
            bytes.extend_from_slice(line.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        Self::raw(id, bytes)
    }

    /// Bytes that need not be an article.
    pub fn raw(id: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            id: id.to_owned(),
            bytes: bytes.into(),
        }
    }

    /// One of a series, `<n@zoo.example>`; a higher number is newer by a minute.
    pub fn numbered(number: u64) -> Self {
        Self::reply(number, &[])
    }

    /// One of a series that refers to others of it, the oldest first.
    pub fn reply(number: u64, references: &[u64]) -> Self {
        let (minute, hour, day) = (number % 60, number / 60 % 24, number / 1440 % 28 + 1);
        let from = format!("Author {number} <author{number}@example.com>");
        let date = format!("{day:02} Jan 2024 {hour:02}:{minute:02}:00 +0000");
        let subject = match references.first() {
            Some(root) => format!("Re: Subject {root}"),
            None => format!("Subject {number}"),
        };
        let references: Vec<String> = references.iter().copied().map(id).collect();
        let references = references.join(" ");
        let mut headers = vec![
            ("Newsgroups", "misc.test"),
            ("From", &from),
            ("Subject", &subject),
            ("Date", &date),
        ];
        if !references.is_empty() {
            headers.push(("References", &references));
        }
        let body = format!("Body of article {number}.\n.A line that begins with a dot.\n");
        Self::new(&id(number), &headers, &body)
    }

    /// One of a series whose body has so many bytes, in lines of 64.
    pub fn huge(number: u64, bytes: usize) -> Self {
        let mut article = Self::numbered(number);
        let line = [&[b'x'; 62][..], b"\r\n"].concat();
        article.bytes.extend(line.repeat(bytes / line.len()));
        article
    }

    /// One of a series with 8-bit bytes that are no UTF-8, NULs, bare CR and bare LF in head and body.
    pub fn garbage(number: u64) -> Self {
        let mut bytes =
            b"Newsgroups: misc.test\r\nFrom: \xff\xfe\x00 <a@b>\r\nSubject: \xe9\xa0\x00bare\rcr"
                .to_vec();
        bytes.extend_from_slice(b" and\nlf\r\nno colon here\r\n: no name\r\nDate: yesterday\r\n");
        bytes.extend_from_slice(format!("Message-ID: {}\r\n\r\n", id(number)).as_bytes());
        bytes.extend_from_slice(b"\x00\x01\x80\xff bare\nlf, bare\rcr\r\n..\r\n.\n.\r\n\xc3");
        Self::raw(&id(number), bytes)
    }

    /// The bytes before the empty line.
    pub(super) fn head(&self) -> &[u8] {
        &self.bytes[..self.border().0]
    }

    /// The bytes after the empty line.
    pub(super) fn body(&self) -> &[u8] {
        &self.bytes[self.border().1..]
    }

    /// Where the head ends and where the body begins.
    fn border(&self) -> (usize, usize) {
        let all = self.bytes.len();
        let end = self.bytes.windows(4).position(|four| four == b"\r\n\r\n");
        end.map_or((all, all), |end| (end + 2, end + 4))
    }

    /// A header's value, unfolded.
    pub(super) fn header(&self, name: &str) -> Option<Vec<u8>> {
        let mut value: Option<Vec<u8>> = None;
        for line in self.head().split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let goes_on = line.first().is_some_and(u8::is_ascii_whitespace);
            match &mut value {
                Some(value) if goes_on => value.extend_from_slice(line),
                Some(_) => break,
                None => value = named(line, name),
            }
        }
        value
    }

    /// What an overview or `HDR` says under this name, on one line; `:bytes` and `:lines` are known, too.
    pub(super) fn field(&self, name: &str) -> Vec<u8> {
        match name {
            ":bytes" => return self.bytes.len().to_string().into_bytes(),
            ":lines" => {
                let lines = self.body().iter().filter(|byte| **byte == b'\n');
                return lines.count().to_string().into_bytes();
            }
            _ => {}
        }
        let mut value = self.header(name).unwrap_or_default();
        for byte in &mut value {
            if matches!(byte, b'\t' | b'\r' | b'\n' | 0) {
                *byte = b' ';
            }
        }
        value
    }
}

/// The id of one of a series.
pub fn id(number: u64) -> String {
    format!("<{number}@zoo.example>")
}

fn named(line: &[u8], name: &str) -> Option<Vec<u8>> {
    let (found, value) = line.split_at_checked(name.len())?;
    let value = value.strip_prefix(b":")?;
    let matches = found.eq_ignore_ascii_case(name.as_bytes());
    matches.then(|| value.trim_ascii().to_vec())
}
