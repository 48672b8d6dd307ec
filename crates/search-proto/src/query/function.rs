//! The kinds of search.

/// What kind of search is asked for (`t=`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// By words alone.
    Search,
    /// For series.
    Tv,
    /// For films.
    Movie,
    /// For music.
    Music,
    /// For books.
    Book,
}

impl Function {
    /// All of them, in the order in which caps name them.
    pub const ALL: [Self; 5] = [Self::Search, Self::Tv, Self::Movie, Self::Music, Self::Book];

    /// The top category of what it finds; 0 where that can be anything.
    pub(crate) fn category(self) -> u32 {
        match self {
            Self::Search => 0,
            Self::Movie => 2000,
            Self::Music => 3000,
            Self::Tv => 5000,
            Self::Book => 7000,
        }
    }

    /// The value of `t` that asks for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Tv => "tvsearch",
            Self::Movie => "movie",
            Self::Music => "music",
            Self::Book => "book",
        }
    }

    /// Its element in caps.
    pub fn element(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Tv => "tv-search",
            Self::Movie => "movie-search",
            Self::Music => "music-search",
            Self::Book => "book-search",
        }
    }

    /// Reads a value of `t` or the name of an element in caps, in any spelling that programs use.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let short = name.strip_suffix("search").unwrap_or(&name);
        match short.strip_suffix('-').unwrap_or(short) {
            "" if name == "search" => Some(Self::Search),
            "s" => Some(Self::Search),
            "tv" => Some(Self::Tv),
            "movie" | "m" => Some(Self::Movie),
            "music" | "audio" | "mu" => Some(Self::Music),
            "book" | "b" => Some(Self::Book),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_understood() {
        for function in Function::ALL {
            assert_eq!(Function::parse(function.name()), Some(function));
            assert_eq!(Function::parse(function.element()), Some(function));
        }
        for (name, function) in [
            ("tv", Function::Tv),
            ("TVSearch", Function::Tv),
            ("tv-search", Function::Tv),
            ("moviesearch", Function::Movie),
            ("movie-search", Function::Movie),
            ("audio", Function::Music),
            ("audio-search", Function::Music),
            ("booksearch", Function::Book),
            ("s", Function::Search),
        ] {
            assert_eq!(Function::parse(name), Some(function), "{name}");
        }
        for name in [
            "",
            "-",
            "-search",
            "caps",
            "searchsearch",
            "details",
            "tv--search",
        ] {
            assert_eq!(Function::parse(name), None, "{name}");
        }
    }
}
