//! Random values in the form in which they are read.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use weir_news_proto::{
    ArticleRange, Articles, Command, FieldName, ListedBy, Listing, MessageId, Newsgroup, Password,
    Which, Wildmat,
};

/// The latest second of the year 9999.
pub(crate) const LAST: i64 = 253_402_300_799;

pub(crate) fn id() -> impl Strategy<Value = MessageId> {
    "<[!-=?-~]{1,60}>".prop_map(|text| text.parse().expect("an ID"))
}

pub(crate) fn newsgroup() -> impl Strategy<Value = Newsgroup> {
    "[a-z0-9+_\\-é.]{1,40}".prop_map(|text| text.parse().expect("a name"))
}

/// A value that survives on a line: no tab, CR, LF or NUL, and no blanks around it.
pub(crate) fn value() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![8 => 0x20_u8..0x7f, 1 => 0x80_u8..=0xff, 1 => 0x01_u8..0x08];
    vec(byte, 0..60).prop_map(|value| value.trim_ascii().to_vec())
}

pub(crate) fn field() -> impl Strategy<Value = FieldName> {
    ":?[A-Z][A-Za-z\\-]{0,20}".prop_map(|text| text.parse().expect("a name"))
}

pub(crate) fn range() -> impl Strategy<Value = ArticleRange> {
    prop_oneof![
        any::<u64>().prop_map(ArticleRange::One),
        any::<u64>().prop_map(ArticleRange::From),
        any::<(u64, u64)>().prop_map(|(low, high)| ArticleRange::Between(low, high)),
    ]
}

pub(crate) fn command() -> impl Strategy<Value = Command> {
    prop_oneof![article(), lists(), account(), plain()]
}

fn article() -> impl Strategy<Value = Command> {
    let listed = option::of((newsgroup(), option::of(range())));
    let pattern = "[a-z*?]{1,9}( [a-z*?]{1,9}){0,2}";
    prop_oneof![
        which().prop_map(Command::Article),
        which().prop_map(Command::Head),
        which().prop_map(Command::Body),
        which().prop_map(Command::Stat),
        newsgroup().prop_map(Command::Group),
        listed.prop_map(Command::ListGroup),
        articles().prop_map(Command::Over),
        articles().prop_map(Command::Xover),
        (field(), articles()).prop_map(|(field, articles)| Command::Hdr(field, articles)),
        (field(), articles()).prop_map(|(field, articles)| Command::Xhdr(field, articles)),
        (field(), range(), pattern).prop_map(|(field, range, pattern)| {
            let pattern = pattern.parse().expect("a pattern");
            Command::Xpat(field, Articles::Range(range), pattern)
        }),
        id().prop_map(Command::Ihave),
    ]
}

fn lists() -> impl Strategy<Value = Command> {
    let by = prop::sample::select(vec![None, Some(ListedBy::MessageId), Some(ListedBy::Range)]);
    let listing = prop_oneof![
        option::of(wildmat()).prop_map(Listing::Active),
        option::of(wildmat()).prop_map(Listing::ActiveTimes),
        option::of(wildmat()).prop_map(Listing::Counts),
        option::of(wildmat()).prop_map(Listing::Newsgroups),
        option::of(wildmat()).prop_map(Listing::Subscriptions),
        by.prop_map(Listing::Headers),
        Just(Listing::DistribPats),
        Just(Listing::Distributions),
        Just(Listing::Moderators),
        Just(Listing::Motd),
        Just(Listing::OverviewFmt),
    ];
    prop_oneof![
        listing.prop_map(Command::List),
        (0..=LAST).prop_map(Command::NewGroups),
        (wildmat(), 0..=LAST).prop_map(|(wildmat, time)| Command::NewNews(wildmat, time)),
    ]
}

fn account() -> impl Strategy<Value = Command> {
    let text = "[!-~é][ -~é]{0,30}";
    let response = option::of("([A-Za-z0-9+/]{4}){1,9}([A-Za-z0-9+/]{2}==)?");
    prop_oneof![
        text.prop_map(|user| Command::AuthUser(user.into())),
        text.prop_map(|password| Command::AuthPass(Password::new(&password))),
        ("[A-Z0-9\\-]{1,20}", response).prop_map(|(mechanism, response)| {
            Command::AuthSasl(mechanism.into(), response.map(|text| Password::new(&text)))
        }),
        option::of("[A-Z]{1,12}").prop_map(|word| Command::Capabilities(word.map(Box::from))),
    ]
}

fn plain() -> impl Strategy<Value = Command> {
    prop::sample::select(vec![
        Command::Next,
        Command::Last,
        Command::Date,
        Command::Help,
        Command::ModeReader,
        Command::StartTls,
        Command::CompressDeflate,
        Command::Post,
        Command::Quit,
    ])
}

fn wildmat() -> impl Strategy<Value = Wildmat> {
    "!?[a-z.*?é]{1,20}(,!?[a-z.*?]{1,20}){0,3}".prop_map(|text| text.parse().expect("a wildmat"))
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![
        Just(Which::Current),
        any::<u64>().prop_map(Which::Number),
        id().prop_map(Which::Id),
    ]
}

fn articles() -> impl Strategy<Value = Articles> {
    prop_oneof![
        Just(Articles::Current),
        range().prop_map(Articles::Range),
        id().prop_map(Articles::Id),
    ]
}
