//! Requests of clients: what each becomes, and what each refusal says.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;
use weir_search_proto::{
    Format, Function, Query, Refusal, Request, SearchRequest, Term, parse_request,
};

use crate::strategies::query;

fn asked(raw: &str) -> SearchRequest {
    match parse_request(raw).request {
        Ok(Request::Search(asked)) => asked,
        other => panic!("{raw}: {other:?}"),
    }
}

fn refused(raw: &str) -> Refusal {
    parse_request(raw).request.expect_err(raw)
}

fn terms(raw: &str) -> Vec<(Term, String)> {
    asked(raw).query.terms.into_iter().collect()
}

proptest! {
    #[test]
    fn what_is_asked_of_an_indexer_means_the_same_when_asked_of_us(query in query()) {
        let pairs = query.parameters().into_iter().map(|(name, value)| {
            format!("{name}={}", utf8_percent_encode(&value, NON_ALPHANUMERIC))
        });
        let raw = pairs.collect::<Vec<_>>().join("&");
        prop_assert_eq!(asked(&raw).query, query);
    }

    #[test]
    fn any_text_is_read_or_refused_with_a_sentence(raw in "[a-z=&%+{}:0-9é,/ ]{0,80}", t in "[a-z]{0,6}") {
        for raw in [raw.clone(), format!("t=search&{raw}"), format!("t={t}&{raw}")] {
            if let Err(refusal) = parse_request(&raw).request {
                prop_assert!((200..300).contains(&refusal.code) && !refusal.description.is_empty());
            }
        }
    }

    #[test]
    fn order_and_case_of_parameters_change_nothing(query in query()) {
        let pairs = query.parameters().into_iter().rev().map(|(name, value)| {
            let value = utf8_percent_encode(&value, NON_ALPHANUMERIC);
            format!("{}={value}&bogus=1", name.to_uppercase())
        });
        let raw = pairs.collect::<Vec<_>>().join("&");
        prop_assert_eq!(asked(&raw).query, query);
    }
}

#[test]
fn every_function_is_known_by_its_names() {
    for (t, function) in [
        ("search", Function::Search),
        ("tvsearch", Function::Tv),
        ("tv-search", Function::Tv),
        ("movie", Function::Movie),
        ("moviesearch", Function::Movie),
        ("music", Function::Music),
        ("audio", Function::Music),
        ("BOOK", Function::Book),
    ] {
        assert_eq!(asked(&format!("t={t}")).query, Query::new(function));
    }
    assert_eq!(parse_request("?t=caps&q=1").request, Ok(Request::Caps));
    let get = parse_request("t=get&id=a%2Fb%3D").request;
    assert_eq!(
        get,
        Ok(Request::Get {
            id: "a/b=".to_owned()
        })
    );
    for (raw, configured) in [
        ("t=indexers", None),
        ("t=indexers&configured=true", Some(true)),
        ("t=indexers&configured=False", Some(false)),
    ] {
        assert_eq!(
            parse_request(raw).request,
            Ok(Request::Indexers { configured })
        );
    }
}

#[test]
fn the_format_is_told_even_with_a_refusal() {
    let parsed = parse_request("o=JSON");
    assert_eq!(parsed.format, Format::Json);
    assert!(parsed.request.is_err());
    assert_eq!(parse_request("t=caps&o=xml").format, Format::Xml);
}

#[test]
fn refusals_have_the_protocols_codes_and_name_the_parameter() {
    for (raw, code, words) in [
        ("", 200, "(t)"),
        ("t=", 200, "(t)"),
        ("t=get", 200, "(id)"),
        ("t=bogus", 202, "(t)"),
        ("t=details&id=1", 203, "details"),
        ("t=register&email=a", 203, "register"),
        ("t=getnfo", 203, "getnfo"),
        ("t=cartadd", 203, "cartadd"),
        ("t=search&cat=tv", 201, "(cat)"),
        ("t=search&cat=5000,-1", 201, "(cat)"),
        ("t=search&cat=99999999999", 201, "(cat)"),
        ("t=search&limit=ten", 201, "(limit)"),
        ("t=search&limit=-1", 201, "(limit)"),
        ("t=search&offset=1.5", 201, "(offset)"),
        ("t=search&maxage=old", 201, "(maxage)"),
        ("t=search&minage=%2B1", 201, "(minage)"),
        ("t=search&minsize=1GB", 201, "(minsize)"),
        ("t=search&maxsize=x", 201, "(maxsize)"),
        ("t=tvsearch&tvdbid=abc", 201, "(tvdbid)"),
        ("t=tvsearch&tvdbid=1234567890123456789", 201, "(tvdbid)"),
        ("t=movie&imdbid=nm123", 201, "(imdbid)"),
        ("t=tvsearch&season=one", 201, "(season)"),
        ("t=tvsearch&season=-1", 201, "(season)"),
        ("t=tvsearch&ep=13/45", 201, "(ep)"),
        ("t=tvsearch&ep=x", 201, "(ep)"),
        ("t=movie&year=20260", 201, "(year)"),
        ("t=search&q={season:x}", 201, "(season)"),
    ] {
        let refusal = refused(raw);
        assert_eq!(refusal.code, code, "{raw}");
        assert!(
            refusal.description.contains(words),
            "{raw}: {}",
            refusal.description
        );
    }
}

#[test]
fn lengths_are_bounded() {
    let long = |length: usize| "é".repeat(length);
    assert_eq!(
        asked(&format!("t=search&q={}", long(1_000))).query.q.len(),
        2_000
    );
    assert_eq!(refused(&format!("t=search&q={}", long(1_001))).code, 201);
    assert_eq!(refused(&format!("t=music&artist={}", long(301))).code, 201);
    assert_eq!(refused(&format!("t=get&id={}", long(2_001))).code, 201);
    let categories = |n: u32| {
        (1..=n)
            .map(|id| id.to_string())
            .collect::<Vec<_>>()
            .join(",")
    };
    assert_eq!(
        asked(&format!("t=search&cat={}", categories(200)))
            .query
            .categories
            .len(),
        200
    );
    assert_eq!(
        refused(&format!("t=search&cat={}", categories(201))).code,
        201
    );
}

#[test]
fn words_are_decoded_and_squeezed() {
    for (q, expected) in [
        ("Some+Show", "Some Show"),
        ("Some%20Show", "Some Show"),
        ("1%2B1", "1+1"),
        ("%20%20a%09%0Ab%00c+", "a bc"),
        ("R%C3%B3s", "Rós"),
        ("R%F3s", "R\u{FFFD}s"),
        ("100%", "100%"),
        ("%zz", "%zz"),
        ("a=b", "a=b"),
    ] {
        assert_eq!(asked(&format!("t=search&q={q}")).query.q, expected, "{q}");
    }
}

#[test]
fn numbers_have_one_form() {
    for (raw, term, expected) in [
        ("season=S01", Term::Season, "1"),
        ("season=01", Term::Season, "1"),
        ("season=1", Term::Season, "1"),
        ("season=0", Term::Season, "0"),
        ("season=2026", Term::Season, "2026"),
        ("ep=E05", Term::Episode, "5"),
        ("ep=05", Term::Episode, "5"),
        ("ep=11/15", Term::Episode, "11/15"),
        ("ep=1%2F5", Term::Episode, "01/05"),
        ("imdbid=tt123", Term::ImdbId, "0000123"),
        ("imdbid=0000123", Term::ImdbId, "0000123"),
        ("imdbid=TT12345678", Term::ImdbId, "12345678"),
        ("tvdbid=00123", Term::TvdbId, "123"),
        ("rid=7", Term::RageId, "7"),
        ("year=2026", Term::Year, "2026"),
        ("GENRE=Sci%20%20Fi", Term::Genre, "Sci Fi"),
    ] {
        assert_eq!(
            terms(&format!("t=tvsearch&{raw}")),
            [(term, expected.to_owned())],
            "{raw}"
        );
    }
}

#[test]
fn what_says_nothing_is_absent() {
    let raw = "t=tvsearch&q=&cat=&tvdbid=0&imdbid=tt0000000&season=&artist=%00&year=0\
               &maxage=0&minsize=0&maxsize=&limit=&offset=0&extended=1&attrs=all";
    let asked = asked(raw);
    assert_eq!(asked.query, Query::new(Function::Tv));
    assert!(asked.query.recent());
    assert_eq!(
        (asked.limit, asked.offset, asked.no_cache),
        (None, 0, false)
    );
}

#[test]
fn the_first_value_that_is_one_counts() {
    let asked = asked("t=search&q=&q=a&q=b&limit=5&limit=x");
    assert_eq!((asked.query.q.as_str(), asked.limit), ("a", Some(5)));
}

#[test]
fn categories_are_sorted_and_each_once() {
    let query = asked("t=search&cat=5040,2000,%205040%20,,5030").query;
    assert_eq!(query.categories, [2000, 5030, 5040]);
}

#[test]
fn paging_is_as_large_as_it_can_be() {
    let asked = asked("t=search&limit=99999999999999999999&offset=99999999999&nocache=1");
    assert_eq!((asked.limit, asked.offset), (Some(u32::MAX), u32::MAX));
    assert!(asked.no_cache);
}

#[test]
fn tokens_in_the_words_become_terms() {
    let query =
        asked("t=tvsearch&q={TvdbId:123} some {ImdbId:tt55} show{season:S02}{episode:03}").query;
    assert_eq!(query.q, "some show");
    let expected = [
        (Term::Season, "2"),
        (Term::Episode, "3"),
        (Term::TvdbId, "123"),
        (Term::ImdbId, "0000055"),
    ];
    let found: Vec<(Term, &str)> = query.terms.iter().map(|(k, v)| (*k, v.as_str())).collect();
    assert_eq!(found, expected);
    // A parameter wins, unknown names and empty values are words.
    let query = asked("t=tvsearch&tvdbid=1&q={tvdbid:2}{foo:3}{tvdbid:}{}{").query;
    assert_eq!(query.terms[&Term::TvdbId], "1");
    assert_eq!(query.q, "{foo:3}{tvdbid:}{}{");
}

#[test]
fn terms_make_a_kind_of_search_of_words() {
    for (raw, function) in [
        ("q={imdbid:tt0133093}", Function::Movie),
        ("q=film {tmdbid:603}", Function::Movie),
        ("q={tvdbid:1} show", Function::Tv),
        ("q=show {season:1}{ep:2}", Function::Tv),
        ("q={tvmazeid:1}", Function::Tv),
        ("rid=5", Function::Tv),
        ("imdbid=1&season=2", Function::Tv),
        ("q={artist:a}{album:b}", Function::Music),
        ("author=x&title=y", Function::Book),
        ("q=words {year:2026}", Function::Search),
        ("q=words", Function::Search),
    ] {
        let query = asked(&format!("t=search&{raw}")).query;
        assert_eq!(query.function, function, "{raw}");
    }
    // What says its kind keeps it.
    let query = asked("t=movie&q={season:1}").query;
    assert_eq!(query.function, Function::Movie);
}

#[test]
fn words_around_a_token_do_not_become_one() {
    let query = asked("t=search&q={{season:1}tvdbid:5}").query;
    assert_eq!(query.q, "{ tvdbid:5}");
    assert_eq!(query.terms.len(), 1);
}
