//! What an article must be before it is handed to a server (RFC 5536, 5537): its required headers, nothing in it that is not
//! for the poster to say, lines that may be sent, and a Message-ID that stays the same however often it is tried.

use bytes::Bytes;
use weir_news_proto::article::{Author, Followup};
use weir_news_proto::{MessageId, Newsgroup, date};

use super::header::{self, LONGEST};
use super::lock::LockSecret;

/// Fields that only servers and moderators write (RFC 5536, section 3.2; RFC 5537, section 3.5), and old ones that servers
/// refuse. They are left out without a word, as programs send them back with what they answer.
const NOT_OURS: [&str; 19] = [
    "Also-Control",
    "Approved",
    "Article-Names",
    "Article-Updates",
    "Bytes",
    "Date-Received",
    "Injection-Date",
    "Injection-Info",
    "Lines",
    "NNTP-Posting-Date",
    "NNTP-Posting-Host",
    "Posting-Version",
    "Received",
    "Relay-Version",
    "Return-Path",
    "See-Also",
    "X-Complaints-To",
    "X-Trace",
    "Xref",
];

/// Fields of which there is at most one.
const SINGLE: [&str; 17] = [
    "Archive",
    "Cancel-Key",
    "Cancel-Lock",
    "Content-Transfer-Encoding",
    "Content-Type",
    "Control",
    "Date",
    "Distribution",
    "Followup-To",
    "From",
    "MIME-Version",
    "Message-ID",
    "Newsgroups",
    "Path",
    "References",
    "Subject",
    "Supersedes",
];

/// Fields of plain text, in which anything can be encoded.
const TEXTS: [&str; 6] = [
    "Comments",
    "Keywords",
    "Organization",
    "Subject",
    "Summary",
    "User-Agent",
];

/// An article that can be sent.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) id: MessageId,
    pub(crate) newsgroups: Vec<Newsgroup>,
    pub(crate) subject: String,
    /// The article that it takes back, as a cancel or by taking its place.
    pub(crate) takes_back: Option<Taken>,
    /// With CRLF at the end of each line, dots as they are.
    pub(crate) raw: Bytes,
}

/// What an article is for that takes another one back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// `Control: cancel`.
    Cancelled(MessageId),
    /// `Supersedes`.
    Superseded(MessageId),
}

impl Taken {
    /// Which article is taken back.
    pub(crate) fn id(&self) -> &MessageId {
        match self {
            Self::Cancelled(id) | Self::Superseded(id) => id,
        }
    }
}

/// What duties are done with.
pub(super) struct Means<'a> {
    pub(super) lock: &'a LockSecret,
    /// Unix seconds.
    pub(super) now: i64,
    /// Newsgroups that one article may go to.
    pub(super) newsgroups: usize,
    /// Octets of an article.
    pub(super) bytes: usize,
    /// For the Message-ID, if the article has none.
    pub(super) random: [u8; 15],
}

/// One field: its name, and its value on one line.
struct Field {
    name: String,
    value: Vec<u8>,
}

/// Makes an article out of what somebody sent.
///
/// # Errors
/// What is wrong with it, as a sentence.
pub(super) fn done(sent: &[u8], means: &Means<'_>) -> Result<Outgoing, String> {
    if sent.len() > means.bytes {
        return Err(format!(
            "The article has {} bytes, and news.post_bytes allows {}.",
            sent.len(),
            means.bytes
        ));
    }
    let (head, body) = halves(sent);
    let mut fields = fields(head)?;
    fields.retain(|field| !NOT_OURS.iter().any(|name| field.is(name)));
    // A poster may say how the path ends, not where the article has been.
    fields.retain(|field| !field.is("Path") || !field.value.contains(&b'!'));
    let body = body_of(body)?;

    let author = needed(&fields, "From")?;
    let author = Author::parse(author);
    if !is_address(&author.address) {
        return Err("From needs an address, such as name@host.example.".to_owned());
    }
    let subject = weir_news_proto::article::decode_header(needed(&fields, "Subject")?);
    let newsgroups = names("Newsgroups", needed(&fields, "Newsgroups")?)?;
    if newsgroups.len() > means.newsgroups {
        return Err(format!(
            "It goes to {} newsgroups, and news.post_groups allows {}.",
            newsgroups.len(),
            means.newsgroups
        ));
    }
    let followup = followup(&fields)?;
    let id = match found(&fields, "Message-ID") {
        Some(value) => MessageId::from_bytes(value.trim_ascii())
            .map_err(|_| "Its Message-ID is not a valid one.".to_owned())?,
        None => new_id(&author.address, &means.random),
    };
    if let Some(date) = found(&fields, "Date")
        && date::parse(date).is_none()
    {
        return Err("Its Date is not a valid one.".to_owned());
    }
    let takes_back = takes_back(&fields)?;
    drop(followup);

    fields.retain(|field| {
        !["Message-ID", "Newsgroups", "Cancel-Key"]
            .iter()
            .any(|name| field.is(name))
    });
    let mut raw = Vec::with_capacity(sent.len() + 512);
    let list: Vec<&str> = newsgroups.iter().map(Newsgroup::as_str).collect();
    put("Message-ID", id.as_str().as_bytes(), &mut raw)?;
    put("Newsgroups", list.join(",").as_bytes(), &mut raw)?;
    if found(&fields, "Date").is_none() {
        put("Date", date::write(means.now).as_bytes(), &mut raw)?;
    }
    for field in &fields {
        let value = field.sendable()?;
        match field.is("Cancel-Lock") {
            // Theirs and ours: either key opens it.
            true => {
                let both = [&value, b" ".as_slice(), means.lock.lock(&id).as_bytes()].concat();
                put("Cancel-Lock", &both, &mut raw)?;
            }
            false => put(&field.name, &value, &mut raw)?,
        }
    }
    if found(&fields, "Cancel-Lock").is_none() {
        put("Cancel-Lock", means.lock.lock(&id).as_bytes(), &mut raw)?;
    }
    if let Some(taken) = &takes_back {
        put(
            "Cancel-Key",
            means.lock.key(taken.id()).as_bytes(),
            &mut raw,
        )?;
    }
    describe(&fields, &body, &mut raw)?;
    raw.extend_from_slice(b"\r\n");
    raw.extend_from_slice(&body);
    Ok(Outgoing {
        id,
        newsgroups,
        subject,
        takes_back,
        raw: raw.into(),
    })
}

impl Field {
    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Its value in ASCII.
    fn sendable(&self) -> Result<Vec<u8>, String> {
        if self.value.is_ascii() {
            return Ok(self.value.clone());
        }
        let Ok(text) = std::str::from_utf8(&self.value) else {
            return Err(format!("{} is neither ASCII nor UTF-8.", self.name));
        };
        if self.is("From") || self.is("Reply-To") || self.is("Sender") {
            let author = Author::parse(&self.value);
            if is_address(&author.address) {
                let name = header::phrase(&author.name);
                return Ok(format!("{name} <{}>", author.address).into_bytes());
            }
        }
        let is_text = TEXTS.iter().any(|name| self.is(name)) || self.name.starts_with("X-");
        match is_text {
            true => Ok(header::text(text).into_bytes()),
            false => Err(format!("{} must be in ASCII.", self.name)),
        }
    }
}

/// Head and body; a head without an empty line after it has no body.
fn halves(sent: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    while let Some(end) = sent[at..].iter().position(|byte| *byte == b'\n') {
        let line = sent[at..at + end]
            .strip_suffix(b"\r")
            .unwrap_or(&sent[at..at + end]);
        if line.is_empty() {
            return (&sent[..at], &sent[at + end + 1..]);
        }
        at += end + 1;
    }
    (sent, &[])
}

fn fields(head: &[u8]) -> Result<Vec<Field>, String> {
    let mut all: Vec<Field> = Vec::new();
    let lines = head.split_inclusive(|byte| *byte == b'\n');
    for line in lines {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.iter().any(|byte| matches!(byte, b'\r' | 0)) {
            return Err("Its head has a CR or NUL where none may be.".to_owned());
        }
        let text = line.iter().map(|byte| match byte {
            b'\t' => b' ',
            byte => *byte,
        });
        let text: Vec<u8> = text.collect();
        if text.iter().any(u8::is_ascii_control) {
            return Err("Its head has control characters.".to_owned());
        }
        if text.starts_with(b" ") {
            let Some(last) = all.last_mut() else {
                return Err("Its first line is not a header.".to_owned());
            };
            last.value.extend_from_slice(&text);
            continue;
        }
        let colon = text.iter().position(|byte| *byte == b':');
        let Some(colon) = colon.filter(|colon| *colon > 0) else {
            return Err("A line of its head is not a header.".to_owned());
        };
        let name = &text[..colon];
        if !name.iter().all(u8::is_ascii_graphic) {
            return Err("A line of its head is not a header.".to_owned());
        }
        let name = String::from_utf8_lossy(name).into_owned();
        let repeated = all.iter().any(|field| field.is(&name));
        if repeated && SINGLE.iter().any(|one| one.eq_ignore_ascii_case(&name)) {
            return Err(format!("It has {name} twice."));
        }
        all.push(Field {
            name,
            value: text[colon + 1..].trim_ascii().to_vec(),
        });
    }
    // A field without a value may not be sent (RFC 5536, section 2.2).
    all.retain(|field| !field.value.trim_ascii().is_empty());
    Ok(all)
}

fn found<'a>(fields: &'a [Field], name: &str) -> Option<&'a [u8]> {
    let field = fields.iter().find(|field| field.is(name))?;
    Some(&field.value)
}

fn needed<'a>(fields: &'a [Field], name: &str) -> Result<&'a [u8], String> {
    found(fields, name).ok_or_else(|| format!("It has no {name}."))
}

/// Newsgroups of a field, each once.
fn names(field: &str, value: &[u8]) -> Result<Vec<Newsgroup>, String> {
    let text = std::str::from_utf8(value).map_err(|_| format!("{field} is not in UTF-8."))?;
    let mut all: Vec<Newsgroup> = Vec::new();
    for name in text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        let name: Newsgroup = name
            .parse()
            .map_err(|_| format!("{field}: {name:?} is not the name of a newsgroup."))?;
        if !all.contains(&name) {
            all.push(name);
        }
    }
    match all.is_empty() {
        true => Err(format!("{field} names no newsgroup.")),
        false => Ok(all),
    }
}

fn followup(fields: &[Field]) -> Result<Option<Followup>, String> {
    match found(fields, "Followup-To") {
        None => Ok(None),
        Some(value) if value.eq_ignore_ascii_case(b"poster") => Ok(Some(Followup::Poster)),
        Some(value) => Ok(Some(Followup::Newsgroups(names("Followup-To", value)?))),
    }
}

/// Of all that articles can do to others, only taking one's own back is let through; whose it is, the caller knows.
fn takes_back(fields: &[Field]) -> Result<Option<Taken>, String> {
    let id = |value: &[u8]| MessageId::from_bytes(value.trim_ascii());
    let control = found(fields, "Control");
    let supersedes = found(fields, "Supersedes");
    match (control, supersedes) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err("It has both Control and Supersedes.".to_owned()),
        (None, Some(value)) => match id(value) {
            Ok(id) => Ok(Some(Taken::Superseded(id))),
            Err(_) => Err("Supersedes is not a Message-ID.".to_owned()),
        },
        (Some(value), None) => match value.strip_prefix(b"cancel ").map(id) {
            Some(Ok(id)) => Ok(Some(Taken::Cancelled(id))),
            _ => Err("The only control message that Weir sends is a cancel.".to_owned()),
        },
    }
}

/// The body with CRLF at the end of each line.
fn body_of(body: &[u8]) -> Result<Vec<u8>, String> {
    if body.contains(&0) {
        return Err("Its text has a NUL, which news cannot carry.".to_owned());
    }
    let mut out = Vec::with_capacity(body.len() + body.len() / 32 + 2);
    let mut rest = body;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let (line, after) = match end {
            None => (rest, rest.len()),
            Some(end) if rest[end..].starts_with(b"\r\n") => (&rest[..end], end + 2),
            Some(end) => (&rest[..end], end + 1),
        };
        if line.len() > LONGEST {
            return Err(format!(
                "A line of its text has {} bytes; {LONGEST} are allowed.",
                line.len()
            ));
        }
        out.extend_from_slice(line);
        out.extend_from_slice(b"\r\n");
        rest = &rest[after..];
    }
    Ok(out)
}

/// Says what the body is, if its author has not and it is not plain ASCII.
fn describe(fields: &[Field], body: &[u8], raw: &mut Vec<u8>) -> Result<(), String> {
    let said = ["MIME-Version", "Content-Type", "Content-Transfer-Encoding"];
    if body.is_ascii() || said.iter().any(|name| found(fields, name).is_some()) {
        return Ok(());
    }
    let charset = match std::str::from_utf8(body) {
        Ok(_) => "UTF-8",
        // RFC 1428 has this name for what nobody knows.
        Err(_) => "unknown-8bit",
    };
    put("MIME-Version", b"1.0", raw)?;
    let kind = format!("text/plain; charset={charset}");
    put("Content-Type", kind.as_bytes(), raw)?;
    put("Content-Transfer-Encoding", b"8bit", raw)
}

fn put(name: &str, value: &[u8], raw: &mut Vec<u8>) -> Result<(), String> {
    match header::write(name, value, raw) {
        true => Ok(()),
        false => Err(format!(
            "{name} cannot be folded into lines of {LONGEST} bytes."
        )),
    }
}

/// A Message-ID of ours. Its left half is unique by chance; the right one is the author's own, who has given it away anyway,
/// so that nothing is said about where Weir runs.
pub(super) fn new_id(address: &str, random: &[u8; 15]) -> MessageId {
    let unique = data_encoding::BASE32_NOPAD
        .encode(random)
        .to_ascii_lowercase();
    let host = address.rsplit('@').next().unwrap_or_default();
    let is_host = host.contains('.')
        && host.len() <= 100
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    let host = if is_host { host } else { "weir.invalid" };
    let id = MessageId::from_bare(&format!("{unique}@{host}"));
    id.expect("letters, digits, dots and dashes make an ID")
}

/// Whether it can be an address: one `@` between two words.
pub(super) fn is_address(text: &str) -> bool {
    let word = |word: &str| {
        let fits = |byte: u8| byte.is_ascii_graphic() && !b"<>()[],;:\\\"@".contains(&byte);
        !word.is_empty() && word.bytes().all(fits)
    };
    let halves = text.rsplit_once('@');
    text.len() <= 254 && halves.is_some_and(|(left, right)| word(left) && word(right))
}

#[cfg(test)]
mod tests;
