//! What a search can be narrowed by.

use super::Function;

/// A parameter other than words, categories and paging; their order is that of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// A season, or the year of a daily show.
    Season,
    /// An episode, or `MM/DD` of a daily show.
    Episode,
    /// The id at TheTVDB.
    TvdbId,
    /// The id at TVRage, which is gone; old indexers still have it.
    RageId,
    /// The id at TVmaze.
    TvmazeId,
    /// The id at IMDb, without `tt`.
    ImdbId,
    /// The id at TMDB.
    TmdbId,
    /// The id at Trakt.
    TraktId,
    /// The id at Douban.
    DoubanId,
    /// The year it came out.
    Year,
    /// The genre.
    Genre,
    /// Who plays.
    Artist,
    /// The album.
    Album,
    /// Who published the music.
    Label,
    /// A piece of an album.
    Track,
    /// Who wrote it.
    Author,
    /// The title of a book.
    Title,
    /// Who published the book.
    Publisher,
}

impl Term {
    /// All of them, in their order.
    pub const ALL: [Self; 18] = [
        Self::Season,
        Self::Episode,
        Self::TvdbId,
        Self::RageId,
        Self::TvmazeId,
        Self::ImdbId,
        Self::TmdbId,
        Self::TraktId,
        Self::DoubanId,
        Self::Year,
        Self::Genre,
        Self::Artist,
        Self::Album,
        Self::Label,
        Self::Track,
        Self::Author,
        Self::Title,
        Self::Publisher,
    ];

    /// Its name in requests and in caps.
    pub fn name(self) -> &'static str {
        match self {
            Self::Season => "season",
            Self::Episode => "ep",
            Self::TvdbId => "tvdbid",
            Self::RageId => "rid",
            Self::TvmazeId => "tvmazeid",
            Self::ImdbId => "imdbid",
            Self::TmdbId => "tmdbid",
            Self::TraktId => "traktid",
            Self::DoubanId => "doubanid",
            Self::Year => "year",
            Self::Genre => "genre",
            Self::Artist => "artist",
            Self::Album => "album",
            Self::Label => "label",
            Self::Track => "track",
            Self::Author => "author",
            Self::Title => "title",
            Self::Publisher => "publisher",
        }
    }

    /// Reads a name in any case, also the longer ones that some programs use.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            _ if name.eq_ignore_ascii_case("episode") => Some(Self::Episode),
            _ if name.eq_ignore_ascii_case("rageid") => Some(Self::RageId),
            _ if name.eq_ignore_ascii_case("tvrageid") => Some(Self::RageId),
            _ => {
                let mut all = Self::ALL.into_iter();
                all.find(|term| name.eq_ignore_ascii_case(term.name()))
            }
        }
    }

    /// Whether this names one work in a database.
    pub fn is_id(self) -> bool {
        (Self::TvdbId..=Self::DoubanId).contains(&self)
    }

    /// The kind of search that only this can narrow, or mostly does; none where several can.
    pub fn function(self) -> Option<Function> {
        match self {
            Self::Season | Self::Episode | Self::TvdbId | Self::RageId | Self::TvmazeId => {
                Some(Function::Tv)
            }
            Self::ImdbId | Self::TmdbId | Self::TraktId | Self::DoubanId => Some(Function::Movie),
            Self::Artist | Self::Album | Self::Label | Self::Track => Some(Function::Music),
            Self::Author | Self::Title | Self::Publisher => Some(Function::Book),
            Self::Year | Self::Genre => None,
        }
    }

    /// The terms that make sense for a kind of search.
    pub fn of(function: Function) -> &'static [Self] {
        match function {
            Function::Search => &[],
            Function::Tv => &[
                Self::Season,
                Self::Episode,
                Self::TvdbId,
                Self::RageId,
                Self::TvmazeId,
                Self::ImdbId,
                Self::TmdbId,
                Self::TraktId,
                Self::Year,
                Self::Genre,
            ],
            Function::Movie => &[
                Self::ImdbId,
                Self::TmdbId,
                Self::TraktId,
                Self::DoubanId,
                Self::Year,
                Self::Genre,
            ],
            Function::Music => &[
                Self::Year,
                Self::Genre,
                Self::Artist,
                Self::Album,
                Self::Label,
                Self::Track,
            ],
            Function::Book => &[
                Self::Year,
                Self::Genre,
                Self::Author,
                Self::Title,
                Self::Publisher,
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_named_in_their_order() {
        assert!(Term::ALL.is_sorted());
        for term in Term::ALL {
            assert_eq!(Term::parse(term.name()), Some(term));
            assert_eq!(Term::parse(&term.name().to_uppercase()), Some(term));
        }
        assert_eq!(Term::parse("episode"), Some(Term::Episode));
        assert_eq!(Term::parse("rageId"), Some(Term::RageId));
        assert_eq!(Term::parse("q"), None);
    }

    #[test]
    fn seven_of_them_are_ids() {
        let ids = Term::ALL.into_iter().filter(|term| term.is_id());
        assert_eq!(ids.count(), 7);
        assert!(!Term::Year.is_id() && !Term::Episode.is_id());
    }

    #[test]
    fn a_term_belongs_to_the_kind_of_search_that_it_makes() {
        for term in Term::ALL {
            let fits = term.function().is_none_or(|function| {
                function != Function::Search && Term::of(function).contains(&term)
            });
            assert!(fits, "{term:?}");
        }
    }

    #[test]
    fn terms_of_a_function_are_in_their_order_and_fit_it() {
        for function in Function::ALL {
            assert!(Term::of(function).is_sorted());
        }
        assert!(Term::of(Function::Tv).contains(&Term::TvmazeId));
        assert!(!Term::of(Function::Movie).contains(&Term::TvdbId));
    }
}
