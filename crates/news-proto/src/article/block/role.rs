//! What each line of a text is: someone's words, who is quoted, a signature, a PGP mark.

use super::super::embedded::Embedded;
use super::super::line::{Line, SIGNATURE};

/// Words that end a line about who is quoted, in the languages that newsreaders speak.
const VERBS: [&str; 18] = [
    "wrote",
    "writes",
    "write",
    "said",
    "schrieb",
    "schreibt",
    "meinte",
    "écrit",
    "écrivait",
    "escribió",
    "escreveu",
    "scritto",
    "scrive",
    "schreef",
    "skrev",
    "napisał",
    "писал",
    "пишет",
];

/// Words that begin one that goes over two lines.
const BEGINNINGS: [&str; 8] = ["On ", "In ", "Am ", "Le ", "El ", "Op ", "Il ", "Den "];

/// Lines of a signature whose mark has lost its space; a longer one is a text with dashes in it.
const SHORT: usize = 10;

/// What a block is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Words, of the author or quoted.
    Text,
    /// Who is quoted in the next block: "Mira Holt wrote:".
    Attribution,
    /// What comes after `-- `.
    Signature,
    /// The lines that PGP puts around and after a signed text. Nobody has checked them.
    Pgp,
    /// A file in the text, which is not shown.
    File(Embedded),
}

/// The role of each line; nothing for a file and for a mark that is not shown.
pub(super) fn of(lines: &[Option<&Line<'_>>]) -> Vec<Option<Role>> {
    let mut roles: Vec<Option<Role>> = lines.iter().map(|line| line.map(|_| Role::Text)).collect();
    attributions(lines, &mut roles);
    signature(lines, &mut roles);
    pgp(lines, &mut roles);
    roles
}

/// Marks the lines before a deeper quote that say whose it is.
fn attributions(lines: &[Option<&Line<'_>>], roles: &mut [Option<Role>]) {
    // The last line that is not blank, and how many blank ones came after it.
    let mut last: Option<(usize, usize)> = None;
    for (index, line) in lines.iter().enumerate() {
        let Some(line) = line else {
            last = None;
            continue;
        };
        if line.text.trim().is_empty() {
            last = last.map(|(before, blank)| (before, blank + 1));
            continue;
        }
        if let Some((before, blank)) = last
            && let Some(above) = lines[before]
            && above.quote < line.quote
            && blank < 2
            && is_attribution(&above.text)
        {
            roles[before] = Some(Role::Attribution);
            let first = before
                .checked_sub(1)
                .and_then(|index| lines[index].map(|line| (index, line)));
            if let Some((index, first)) = first
                && first.quote == above.quote
                && begins(&first.text)
                && !begins(&above.text)
            {
                roles[index] = Some(Role::Attribution);
            }
        }
        last = Some((index, 0));
    }
}

fn is_attribution(text: &str) -> bool {
    let text = text.trim_end();
    if text.len() > 300 {
        return false;
    }
    let is_verb = |word: &str| {
        let word = word
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase();
        VERBS.contains(&word.as_str())
    };
    let ends = text.ends_with([':', '…']) || text.ends_with("...");
    let last_is_verb = text.split_whitespace().next_back().is_some_and(is_verb);
    last_is_verb || ends && (text.contains('@') || text.split_whitespace().any(is_verb))
}

fn begins(text: &str) -> bool {
    text.len() < 300 && BEGINNINGS.iter().any(|start| text.starts_with(start))
}

/// Marks what comes after the last `-- `: an earlier one belongs to a text that was put in whole.
fn signature(lines: &[Option<&Line<'_>>], roles: &mut [Option<Role>]) {
    let is_mark = |line: &Option<&Line<'_>>, mark: &str| {
        line.is_some_and(|line| line.quote == 0 && line.text == mark)
    };
    let exact = lines.iter().rposition(|line| is_mark(line, SIGNATURE));
    let found = exact.or_else(|| {
        let tail = lines.len().saturating_sub(SHORT);
        let found = lines[tail..].iter().rposition(|line| is_mark(line, "--"));
        found.map(|index| tail + index)
    });
    let Some(mark) = found else {
        return;
    };
    roles[mark] = None;
    for (line, role) in lines.iter().zip(roles).skip(mark + 1) {
        if line.is_some_and(|line| line.quote == 0) {
            *role = Some(Role::Signature);
        }
    }
}

/// Marks PGP's own lines, as far as they are there in full: from the first mark to an empty line,
/// and from the signature's beginning to its end.
fn pgp(lines: &[Option<&Line<'_>>], roles: &mut [Option<Role>]) {
    let mut until = None;
    for (line, role) in lines.iter().zip(roles) {
        let Some(line) = line.filter(|line| line.quote == 0) else {
            continue;
        };
        let text = line.text.trim_end();
        until = match (text, until) {
            ("-----BEGIN PGP SIGNED MESSAGE-----", _) => Some(""),
            ("-----BEGIN PGP SIGNATURE-----", _) => Some("-----END PGP SIGNATURE-----"),
            (_, until) => until,
        };
        if let Some(end) = until {
            *role = Some(Role::Pgp);
            if text == end {
                until = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::line;
    use super::*;

    fn roles(text: &str) -> String {
        let lines: Vec<Line<'_>> = line::fixed(text).collect();
        let lines: Vec<Option<&Line<'_>>> = lines.iter().map(Some).collect();
        let letters = of(&lines).into_iter().map(|role| match role {
            None => '-',
            Some(Role::Text) => 't',
            Some(Role::Attribution) => 'a',
            Some(Role::Signature) => 's',
            Some(Role::Pgp) => 'p',
            Some(Role::File(_)) => 'f',
        });
        letters.collect()
    }

    #[test]
    fn attributions_in_several_languages() {
        for text in [
            "Mira Holt <m@r.example> wrote:\n> x",
            "In article <1@r.example>, Mira writes:\n\n> x",
            "Mira Holt schrieb\n> x",
            "Le 15 novembre, Mira a écrit :\n> x",
            "* Mira Holt (m@r.example):\n> x",
            "> Mira wrote:\n>> x",
        ] {
            assert!(roles(text).starts_with('a'), "{text}");
        }
        assert_eq!(
            roles("On Sunday, 15 November, Mira Holt\n<m@r.example> wrote:\n> x"),
            "aat"
        );
    }

    #[test]
    fn other_lines_before_a_quote_are_text() {
        for text in [
            "My list:\n> x",
            "Mira wrote:\nno quote",
            "Mira wrote:\n\n\n\n> x",
            "She wrote a book.\n> x",
        ] {
            assert!(roles(text).starts_with('t'), "{text}");
        }
    }

    #[test]
    fn the_last_mark_starts_the_signature() {
        assert_eq!(roles("a\n-- \nb\n-- \nc"), "ttt-s");
        assert_eq!(roles("a\n--\nc"), "t-s");
        assert_eq!(
            roles(&format!("--\n{}", "x\n".repeat(20))).chars().next(),
            Some('t')
        );
        assert_eq!(roles("> -- \n> quoted"), "tt");
    }

    #[test]
    fn pgp_lines_are_apart() {
        let text = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\ntext\n-----BEGIN PGP SIGNATURE-----\n\nabc\n\
                    -----END PGP SIGNATURE-----\nafter";
        assert_eq!(roles(text), "ppptppppt");
    }
}
