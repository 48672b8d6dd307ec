//! What a key allows. Every route states the right it needs; `access` and the API's own check compare.

/// A right, of a key or needed by a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    /// Look at pages and figures, and read news. Changes nothing but the reader's own marks.
    Read,
    /// Also search, and see what was found with its download links.
    Search,
    /// Also post articles, and take one's own back.
    Post,
    /// All of that, and what an operator does: upstreams, settings, backups, keys.
    Everything,
}

impl Right {
    /// From the least to the most.
    pub const ALL: [Self; 4] = [Self::Read, Self::Search, Self::Post, Self::Everything];

    /// Whether a key with this right may do what needs `needed`. Each right includes reading; searching and posting do
    /// not include each other.
    pub fn covers(self, needed: Self) -> bool {
        self == needed || self == Self::Everything || needed == Self::Read
    }

    /// Its name in the API, in forms and in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Search => "search",
            Self::Post => "post",
            Self::Everything => "everything",
        }
    }

    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Search => "search and download",
            Self::Post => "post",
            Self::Everything => "everything",
        }
    }

    /// What its key may do, after "may".
    pub fn deed(self) -> &'static str {
        match self {
            Self::Everything => "do everything",
            other => other.words(),
        }
    }

    /// What it allows, for somebody who chooses one.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Read => "pages, figures, metrics and newsgroups; changes nothing",
            Self::Search => "read, search and download; for Sonarr, Radarr and the like",
            Self::Post => "read, and post articles; for newsreaders",
            Self::Everything => "everything, including settings, upstreams, backups and keys",
        }
    }

    /// The right with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_makes_a_sentence() {
        let may: Vec<_> = Right::ALL.into_iter().map(Right::deed).collect();
        assert_eq!(
            may,
            ["read", "search and download", "post", "do everything"]
        );
    }

    #[test]
    fn rights_include_what_the_table_in_the_docs_says() {
        use Right::{Everything, Post, Read, Search};
        let table = [
            (Read, vec![Read]),
            (Search, vec![Read, Search]),
            (Post, vec![Read, Post]),
            (Everything, vec![Read, Search, Post, Everything]),
        ];
        for (has, allowed) in table {
            for needed in Right::ALL {
                assert_eq!(
                    has.covers(needed),
                    allowed.contains(&needed),
                    "{has:?} {needed:?}"
                );
            }
        }
    }

    #[test]
    fn names_are_read_back() {
        for right in Right::ALL {
            assert_eq!(Right::parse(right.name()), Some(right));
        }
        assert_eq!(Right::parse("Everything"), None);
    }
}
