//! A query in words: for people who read the history, and for indexers that know no ids.

use super::{Function, Query, Term};

/// Terms that people name in words, with what comes before the value in the history.
const SPOKEN: [(Term, &str); 9] = [
    (Term::Artist, "artist "),
    (Term::Album, "album "),
    (Term::Track, "track "),
    (Term::Label, "label "),
    (Term::Author, "author "),
    (Term::Title, "title "),
    (Term::Publisher, "publisher "),
    (Term::Year, ""),
    (Term::Genre, "genre "),
];

impl Query {
    /// A short form for people, such as `"some show" s01e02 (tvdbid 123)`.
    pub fn words(&self) -> String {
        if self.recent() {
            return "recent releases".to_owned();
        }
        let mut parts = Vec::new();
        if !self.q.is_empty() {
            parts.push(format!("\"{}\"", self.q));
        }
        parts.extend(self.episode(&['s', 'e'], "-"));
        for (term, before) in SPOKEN {
            let value = self.term(term);
            parts.extend(value.map(|value| format!("{before}{value}")));
        }
        let ids: Vec<String> = self
            .ids()
            .map(|(id, value)| format!("{} {value}", id.name()))
            .collect();
        if !ids.is_empty() {
            parts.push(format!("({})", ids.join(", ")));
        }
        parts.join(" ")
    }

    /// The same as a search by words alone, with the names that releases are given; nothing if
    /// there are no words for it.
    pub fn text_form(&self) -> Option<Self> {
        let mut words = self.q.clone();
        let named: &[Term] = match self.function {
            Function::Music => &[Term::Artist, Term::Album, Term::Track],
            Function::Book => &[Term::Author, Term::Title],
            _ => &[],
        };
        // A track is looked for by itself only where no album would hold it.
        let album = self.terms.contains_key(&Term::Album);
        let named = named
            .iter()
            .filter(|term| !(album && **term == Term::Track));
        for value in named.filter_map(|term| self.term(*term)) {
            add(&mut words, value);
        }
        if words.is_empty() {
            return None;
        }
        if let Some(episode) = self.episode(&['S', 'E'], ".") {
            add(&mut words, &episode);
        }
        if self.function == Function::Movie
            && let Some(year) = self.term(Term::Year)
        {
            add(&mut words, year);
        }
        Some(Self {
            function: Function::Search,
            q: words,
            terms: Default::default(),
            ..self.clone()
        })
    }

    /// Season and episode as releases name them: `S01E02`, `S01`, and a date for a daily show.
    fn episode(&self, letters: &[char; 2], between: &str) -> Option<String> {
        let [s, e] = letters;
        let (season, episode) = (self.term(Term::Season), self.term(Term::Episode));
        Some(match (season, episode) {
            (None, None) => return None,
            (None, Some(episode)) => format!("{e}{episode:0>2}"),
            (Some(year), None) if year.len() == 4 => year.to_owned(),
            (Some(season), None) => format!("{s}{season:0>2}"),
            (Some(season), Some(episode)) => match episode.split_once('/') {
                Some((month, day)) => format!("{season}{between}{month}{between}{day}"),
                None => format!("{s}{season:0>2}{e}{episode:0>2}"),
            },
        })
    }
}

/// Adds words that are not there yet.
fn add(words: &mut String, more: &str) {
    let have = words.to_lowercase();
    if have.contains(&more.to_lowercase()) {
        return;
    }
    if !words.is_empty() {
        words.push(' ');
    }
    words.push_str(more);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(function: Function, q: &str, terms: &[(Term, &str)]) -> Query {
        let terms = terms
            .iter()
            .map(|(term, value)| (*term, (*value).to_owned()));
        Query {
            q: q.to_owned(),
            terms: terms.collect(),
            categories: vec![5000],
            max_size: Some(9),
            ..Query::new(function)
        }
    }

    #[test]
    fn words_are_short_and_say_it_all() {
        use Term::{Album, Artist, Episode, ImdbId, Season, TvdbId, Year};
        let tv = |q, terms: &[_]| query(Function::Tv, q, terms).words();
        let episode = [(Season, "1"), (Episode, "2"), (TvdbId, "123")];
        assert_eq!(
            tv("some show", &episode),
            "\"some show\" s01e02 (tvdbid 123)"
        );
        assert_eq!(tv("", &[]), "recent releases");
        assert_eq!(
            tv("", &[(Season, "2026"), (Episode, "11/15")]),
            "2026-11-15"
        );
        assert_eq!(tv("x", &[(Season, "11")]), "\"x\" s11");
        let film = [(Year, "2026"), (ImdbId, "0123456"), (TvdbId, "5")];
        let film = query(Function::Movie, "a film", &film).words();
        assert_eq!(film, "\"a film\" 2026 (tvdbid 5, imdbid 0123456)");
        let album = query(Function::Music, "", &[(Artist, "a"), (Album, "b")]).words();
        assert_eq!(album, "artist a album b");
    }

    #[test]
    fn text_form_names_releases_as_people_do() {
        use Function::{Book, Movie, Music, Search, Tv};
        use Term::{Album, Artist, Author, Episode, ImdbId, Season, Title, Track, TvdbId, Year};
        for (function, q, terms, expected) in [
            (
                Tv,
                "show",
                &[(Season, "1"), (Episode, "2"), (TvdbId, "3")][..],
                "show S01E02",
            ),
            (Tv, "show", &[(Season, "12")], "show S12"),
            (
                Tv,
                "show",
                &[(Season, "2026"), (Episode, "11/15")],
                "show 2026.11.15",
            ),
            (Tv, "show", &[(Season, "2026")], "show 2026"),
            (Tv, "show", &[(Episode, "7")], "show E07"),
            (
                Tv,
                "show s01e02",
                &[(Season, "1"), (Episode, "2")],
                "show s01e02",
            ),
            (
                Movie,
                "film",
                &[(Year, "2026"), (ImdbId, "0000001")],
                "film 2026",
            ),
            (Movie, "film 2026", &[(Year, "2026")], "film 2026"),
            (
                Music,
                "",
                &[(Artist, "a b"), (Album, "c"), (Track, "d")],
                "a b c",
            ),
            (Music, "", &[(Artist, "a b"), (Track, "d")], "a b d"),
            (Book, "", &[(Author, "x"), (Title, "y")], "x y"),
            (Search, "words", &[], "words"),
        ] {
            let query = query(function, q, terms);
            let text = query.text_form().expect(expected);
            assert_eq!(text.q, expected);
            assert_eq!(text.function, Search);
            assert!(text.terms.is_empty());
            assert_eq!((text.categories, text.max_size), (vec![5000], Some(9)));
        }
    }

    #[test]
    fn ids_alone_have_no_text_form() {
        let ids = [
            (Term::TvdbId, "1"),
            (Term::Season, "1"),
            (Term::Year, "2026"),
        ];
        assert_eq!(query(Function::Tv, "", &ids).text_form(), None);
        assert_eq!(query(Function::Movie, "", &ids).text_form(), None);
        assert_eq!(query(Function::Search, "", &[]).text_form(), None);
    }
}
