//! CAPABILITIES: what a server says it can do (RFC 3977 §5.2).
//!
//! A list holds until MODE READER, STARTTLS, AUTHINFO or COMPRESS changes the connection; whoever
//! owns that throws the list away.

/// Labels, and arguments of one label, that are kept; no server has as many.
const MAX: usize = 100;

/// Octets of the longest word that is kept; RFC 3977 §9.5 has labels of 12.
const MAX_WORD: usize = 200;

/// Labels with their arguments, in the order of the server's list. Neither is case-sensitive here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    entries: Vec<(String, Vec<String>)>,
}

impl Capabilities {
    /// Reads the lines of the block. A label that is listed twice has the arguments of both; words
    /// that are not printable ASCII are skipped.
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut capabilities = Self::default();
        for line in lines.into_iter().take(MAX) {
            let words = line.split(u8::is_ascii_whitespace).filter_map(readable);
            let mut words = words.take(MAX);
            if let Some(label) = words.next() {
                capabilities.add(label, words);
            }
        }
        capabilities
    }

    /// Adds a label, or arguments to one that is there. Words that could not be sent are left out.
    pub fn add<'a>(&mut self, label: &'a str, arguments: impl IntoIterator<Item = &'a str>) {
        let at = self
            .entries
            .iter()
            .position(|(own, _)| own.eq_ignore_ascii_case(label));
        let own = match at {
            Some(at) => &mut self.entries[at].1,
            None if readable(label.as_bytes()).is_none() => return,
            None => {
                self.entries.push((label.to_owned(), Vec::new()));
                let last = self.entries.len() - 1;
                &mut self.entries[last].1
            }
        };
        for argument in arguments {
            let known = own.iter().any(|own| own.eq_ignore_ascii_case(argument));
            if !known && own.len() < MAX && readable(argument.as_bytes()).is_some() {
                own.push(argument.to_owned());
            }
        }
    }

    /// Whether a label is listed.
    pub fn has(&self, label: &str) -> bool {
        self.entry(label).is_some()
    }

    /// Whether a label is listed with this argument: `offers("COMPRESS", "DEFLATE")`.
    pub fn offers(&self, label: &str, argument: &str) -> bool {
        self.arguments(label)
            .any(|own| own.eq_ignore_ascii_case(argument))
    }

    /// The arguments of a label; none if it is not listed.
    pub fn arguments(&self, label: &str) -> impl Iterator<Item = &str> {
        let arguments = self
            .entry(label)
            .map_or(&[][..], |(_, arguments)| arguments);
        arguments.iter().map(String::as_str)
    }

    /// Whether MODE READER is needed before a newsreader's commands are understood.
    pub fn needs_mode_reader(&self) -> bool {
        self.has("MODE-READER") && !self.has("READER")
    }

    /// Appends the lines of the block, each with its end.
    pub fn write(&self, out: &mut Vec<u8>) {
        for (label, arguments) in &self.entries {
            out.extend_from_slice(label.as_bytes());
            for argument in arguments {
                out.push(b' ');
                out.extend_from_slice(argument.as_bytes());
            }
            out.extend_from_slice(b"\r\n");
        }
    }

    fn entry(&self, label: &str) -> Option<&(String, Vec<String>)> {
        let mut entries = self.entries.iter();
        entries.find(|(own, _)| own.eq_ignore_ascii_case(label))
    }
}

fn readable(word: &[u8]) -> Option<&str> {
    let fits = (1..=MAX_WORD).contains(&word.len()) && word.iter().all(u8::is_ascii_graphic);
    fits.then(|| std::str::from_utf8(word).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Capabilities {
        Capabilities::parse(text.lines().map(str::as_bytes))
    }

    #[test]
    fn labels_and_arguments_are_found_in_any_case() {
        let text = "VERSION 2\r\nREADER\r\nAUTHINFO USER SASL\r\nCOMPRESS DEFLATE\r\n";
        let capabilities = read(text);
        assert!(capabilities.has("reader") && !capabilities.has("POST"));
        assert!(capabilities.offers("COMPRESS", "deflate"));
        assert!(!capabilities.offers("COMPRESS", "LZ4") && !capabilities.offers("READER", ""));
        assert!(capabilities.arguments("AUTHINFO").eq(["USER", "SASL"]));
        assert_eq!(capabilities.arguments("POST").next(), None);
        let mut out = Vec::new();
        capabilities.write(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn transit_servers_want_mode_reader() {
        assert!(read("VERSION 2\nMODE-READER").needs_mode_reader());
        assert!(!read("VERSION 2\nREADER\nMODE-READER").needs_mode_reader());
        assert!(!read("VERSION 2").needs_mode_reader());
    }

    #[test]
    fn repeated_labels_are_joined_and_odd_words_skipped() {
        let odd = b"  \n\xff\nLIST  ACTIVE\t\xff COUNTS\nlist counts MOTD\n";
        let capabilities = Capabilities::parse(odd.split(|byte| *byte == b'\n'));
        assert!(
            capabilities
                .arguments("LIST")
                .eq(["ACTIVE", "COUNTS", "MOTD"])
        );
        assert_eq!(capabilities.entries.len(), 1);
    }

    #[test]
    fn lists_without_end_are_cut() {
        let many: String = (0..1_000)
            .map(|n| format!("L{n} {}\n", "a ".repeat(1_000)))
            .collect();
        let capabilities = read(&many);
        assert!(capabilities.has("L99") && !capabilities.has("L100"));
        assert!(!read(&"x".repeat(201)).has(&"x".repeat(201)));
        let mut own = Capabilities::default();
        own.add("A\r\nQUIT", []);
        own.add("LIST", ["a b", "ACTIVE"]);
        let mut out = Vec::new();
        own.write(&mut out);
        assert_eq!(out, b"LIST ACTIVE\r\n");
    }
}
