//! Articles as people write them: some hundred authors, threads of different lengths, overview lines of about 430 octets.

/// A newsgroup of 5,000 articles, all of which are listed.
pub(crate) const LIST: &str = "example.list";
/// One of 1,000 articles.
pub(crate) const SMALL: &str = "example.small";
/// One of 100,000.
pub(crate) const LARGE: &str = "example.large";
/// One of threads with 20 articles each.
pub(crate) const THREADS: &str = "example.threads";

const WORDS: [&str; 16] = [
    "gauge", "river", "mill", "survey", "spring", "weir", "flood", "bridge", "sluice", "readings",
    "sensor", "upstream", "repair", "winter", "levels", "photos",
];

/// The articles of some newsgroups, each posted to all of them; oldest first.
pub(crate) struct Corpus {
    newsgroups: String,
    headers: Vec<Headers>,
    /// Roots of threads, oldest first, without brackets.
    pub(crate) roots: Vec<String>,
}

struct Headers {
    id: String,
    references: Vec<String>,
    subject: String,
    author: usize,
    number: usize,
}

impl Corpus {
    /// Every sixth article or so starts a thread; each other one answers one of the last forty.
    pub(crate) fn new(newsgroups: &str, count: usize) -> Self {
        let mut dice = Dice(0x5eed);
        Self::made(newsgroups, count, |number| {
            (number > 0 && dice.up_to(6) > 0).then(|| number - 1 - dice.up_to(number.min(40)))
        })
    }

    /// So many threads of so many articles.
    pub(crate) fn threads(newsgroups: &str, threads: usize, articles: usize) -> Self {
        let mut dice = Dice(0x5eed);
        Self::made(newsgroups, threads * articles, |number| {
            let place = number % articles;
            (place > 0).then(|| number - 1 - dice.up_to(place))
        })
    }

    fn made(
        newsgroups: &str,
        count: usize,
        mut answers: impl FnMut(usize) -> Option<usize>,
    ) -> Self {
        let mut headers: Vec<Headers> = Vec::with_capacity(count);
        let mut roots = Vec::new();
        let mut dice = Dice(0xd1ce);
        let first = newsgroups.split(',').next().unwrap();
        for number in 0..count {
            let tail = dice.up_to(1 << 30);
            let id = format!("{tail:08x}${number}$5f3c@{first}.client{}.test", tail % 100);
            let (subject, references) = match answers(number).map(|at| &headers[at]) {
                None => {
                    roots.push(id.clone());
                    (dice.subject(), Vec::new())
                }
                Some(parent) => (reply(&parent.subject), chain(parent)),
            };
            let author = dice.up_to(300);
            headers.push(Headers {
                id,
                references,
                subject,
                author,
                number,
            });
        }
        Self {
            newsgroups: newsgroups.to_owned(),
            headers,
            roots,
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.headers.len()
    }

    /// Each as it is sent.
    pub(crate) fn articles(&self) -> impl Iterator<Item = Vec<u8>> {
        self.headers.iter().map(|headers| self.article(headers))
    }

    fn article(&self, headers: &Headers) -> Vec<u8> {
        let Headers {
            id,
            references,
            subject,
            author,
            number,
        } = headers;
        let newsgroups = &self.newsgroups;
        // INN takes what is at most ten days old: about eight seconds lie between two.
        let age = self.headers.len() - number;
        let date = date(age as i64 * 8);
        let references = match references.is_empty() {
            true => String::new(),
            false => format!("References: {}\r\n", references.join(" ")),
        };
        let mut text = format!(
            "From: Author Number{author} <author{author}@mail.example>\r\nNewsgroups: {newsgroups}\r\n\
             Subject: {subject}\r\nDate: {date}\r\nMessage-ID: <{id}>\r\n{references}\
             User-Agent: Gauge/1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
        );
        for line in 0..24 {
            match line % 8 {
                0 => text.push_str("> What did the gauge at the old mill say after the flood?\r\n"),
                7 => text.push_str("\r\n"),
                _ => text.push_str(
                    "The readings of the upstream sensor were as in the last survey.\r\n",
                ),
            }
        }
        text.push_str("-- \r\nAuthor of many articles\r\n");
        text.into_bytes()
    }
}

/// A date so many seconds ago, as articles have it.
fn date(ago: i64) -> String {
    let now = std::fs::metadata("/proc/self").and_then(|now| now.modified());
    let now = now.unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
    utc(now.as_secs() as i64 - ago)
}

/// Unix seconds as a date of RFC 5322.
fn utc(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // The civil calendar from days, by eras of 400 years that begin in March.
    let z = days + 719_468;
    let (era, day) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let year = year + era * 400 + i64::from(month >= 10);
    let name = [
        "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb",
    ][month as usize];
    let (hours, minutes, seconds) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{of_month} {name} {year} {hours:02}:{minutes:02}:{seconds:02} +0000")
}

fn reply(subject: &str) -> String {
    match subject.strip_prefix("Re: ") {
        Some(_) => subject.to_owned(),
        None => format!("Re: {subject}"),
    }
}

/// The parent's references and the parent, trimmed as newsreaders do it.
fn chain(parent: &Headers) -> Vec<String> {
    let mut chain = parent.references.clone();
    chain.push(format!("<{}>", parent.id));
    if chain.len() > 12 {
        chain.remove(1);
    }
    chain
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn up_to(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn subject(&mut self) -> String {
        let words: Vec<&str> = (0..6).map(|_| WORDS[self.up_to(WORDS.len())]).collect();
        words.join(" ")
    }
}
