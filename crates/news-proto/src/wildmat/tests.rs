use super::*;

fn matches(wildmat: &str, name: &str) -> bool {
    wildmat.parse::<Wildmat>().expect(wildmat).matches(name)
}

#[test]
fn stars_and_question_marks_match_text_and_characters() {
    for (pattern, name, expected) in [
        ("comp.lang.rust", "comp.lang.rust", true),
        ("comp.lang.rust", "comp.lang.rust.misc", false),
        ("comp.lang.rust", "comp.lang.rus", false),
        ("Comp.*", "comp.lang.rust", false),
        ("*", "", true),
        ("*", "anything.at.all", true),
        ("comp.*", "comp.", true),
        ("comp.*", "comp", false),
        ("*.rust", "comp.lang.rust", true),
        ("*.rust", "rust.lang", false),
        ("*.lang.*", "comp.lang.rust", true),
        ("a*b*c", "aXbXbYc", true),
        ("a*b*c", "aXcXb", false),
        ("**a**", "bab", true),
        ("?", "é", true),
        ("??", "é", false),
        ("?", "", false),
        ("новости.*", "новости.пример", true),
    ] {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}

/// The examples of RFC 3977 §4.4.
#[test]
fn last_match_decides() {
    let list = "a*,!*b,*c*";
    for (name, expected) in [("aaa", true), ("abb", false), ("ccb", true), ("xxx", false)] {
        assert_eq!(matches(list, name), expected, "{name}");
    }
    let most = "comp.*,!comp.sys.*,comp.sys.mac";
    assert!(matches(most, "comp.lang.c") && matches(most, "comp.sys.mac"));
    assert!(!matches(most, "comp.sys.ibm") && !matches(most, "alt.test"));
    assert!(!matches("!a", "b"));
}

#[test]
fn sets_match_one_of_their_members() {
    for (pattern, name, expected) in [
        ("[abc]", "b", true),
        ("[abc]", "d", false),
        ("[a-c]x", "cx", true),
        ("[^a-c]x", "cx", false),
        ("[^a-c]x", "dx", true),
        ("[^a]", "", false),
        ("[]a]", "]", true),
        ("[a-]", "-", true),
        ("[-a]", "-", true),
        ("[à-ö]", "é", true),
        ("u[ks].*", "uk.test", true),
        ("\\*a", "*a", true),
        ("\\*a", "ba", false),
    ] {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}

#[test]
fn single_patterns_may_hold_commas_and_spaces() {
    let pattern: Pattern = "*[Ww]eir, version ?*".parse().unwrap();
    assert!(pattern.matches("The Weir, version 2") && !pattern.matches("Weir, version "));
    assert_eq!(pattern.as_str(), "*[Ww]eir, version ?*");
    assert!("!a".parse::<Pattern>().unwrap().matches("!a"));
}

#[test]
fn bytes_that_are_no_text_are_odd_characters() {
    let matches = |pattern: &str, text: &[u8]| pattern.parse::<Pattern>().unwrap().matches(text);
    assert!(matches("gr?n", b"gr\xfcn") && !matches("gr??n", b"gr\xfcn"));
    assert!(matches("*n", b"gr\xfcn") && matches("gr[^a-z]n", b"gr\xfcn"));
    // The beginning of a character that never ends.
    assert!(matches("??", b"\xe2\x82") && !matches("€", b"\xe2\x82"));
    assert!(matches("€?", "€€".as_bytes()));
}

#[test]
fn broken_patterns_are_refused() {
    for text in [
        "", ",", "a,", "a,,b", "!", "a,!", "[", "[a", "[]", "[^]", "a\\", "a b", "a\r\n", "a\0",
        "[a,b]",
    ] {
        assert_eq!(text.parse::<Wildmat>(), Err(Error::Wildmat), "{text:?}");
    }
    for text in ["", "[a", "a\n"] {
        assert_eq!(text.parse::<Pattern>(), Err(Error::Wildmat), "{text:?}");
    }
}

/// With a search that goes back to every `*`, this test takes longer than the universe.
#[test]
fn many_stars_take_no_more_time_than_both_lengths_multiplied() {
    let pattern = format!("{}b", "a*".repeat(200));
    let name = "a".repeat(10_000);
    assert!(!matches(&pattern, &name));
    assert!(matches(&pattern, &format!("{name}b")));
    let list = vec!["*a*a*b"; 50].join(",");
    assert!(!matches(&list, &name));
}

#[test]
fn wildmats_are_written_as_they_came() {
    let wildmat: Wildmat = "comp.*,!*.binaries.*".parse().unwrap();
    assert_eq!(wildmat.to_string(), "comp.*,!*.binaries.*");
    assert_eq!(format!("{wildmat:?}"), "Wildmat(comp.*,!*.binaries.*)");
}
