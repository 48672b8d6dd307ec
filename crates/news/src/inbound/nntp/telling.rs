//! What the server says of itself: greeting, CAPABILITIES, HELP, DATE, and the lists that do not depend on newsgroups.

use weir_news_proto::command::{ListedBy, Listing};
use weir_news_proto::list::ListedHeaders;
use weir_news_proto::reply::code;
use weir_news_proto::{Capabilities, FieldName, date};
use weir_web::Card as _;

use super::session::Session;
use crate::card::NewsCard;

/// Fields of overviews that HDR can be asked for with a range.
const LISTED: [&str; 8] = [
    "Subject",
    "From",
    "Date",
    "Message-ID",
    "References",
    ":bytes",
    ":lines",
    "Xref",
];

/// The order of an overview's fields. Sizes have the names of before RFC 3977, which its section 8.4 permits and INN uses: slrn
/// knows no others and would show 0 lines.
const OVERVIEW_FORMAT: &[u8] =
    b"Subject:\r\nFrom:\r\nDate:\r\nMessage-ID:\r\nReferences:\r\nBytes:\r\nLines:\r\nXref:full";

/// The variants of LIST that are answered.
const LISTS: [&str; 8] = [
    "ACTIVE",
    "ACTIVE.TIMES",
    "COUNTS",
    "HEADERS",
    "MOTD",
    "NEWSGROUPS",
    "OVERVIEW.FMT",
    "SUBSCRIPTIONS",
];

const HELP: &str = "\
Commands that this server understands:\r\n\
\x20 ARTICLE [number|<message-id>]     HEAD, BODY and STAT likewise\r\n\
\x20 GROUP newsgroup                   LISTGROUP [newsgroup [range]]\r\n\
\x20 NEXT, LAST                        OVER [range|<message-id>]\r\n\
\x20 HDR field [range|<message-id>]    XOVER, XHDR, XPAT as before RFC 3977\r\n\
\x20 LIST [ACTIVE|ACTIVE.TIMES|COUNTS|NEWSGROUPS|SUBSCRIPTIONS [wildmat]]\r\n\
\x20 LIST [HEADERS [MSGID|RANGE]|MOTD|OVERVIEW.FMT]\r\n\
\x20 NEWGROUPS date time [GMT]         NEWNEWS wildmat date time [GMT]\r\n\
\x20 POST                              DATE, HELP, CAPABILITIES, MODE READER, QUIT\r\n\
\x20 AUTHINFO USER name, AUTHINFO PASS key; STARTTLS; COMPRESS DEFLATE\r\n\
Whoever signs in takes any name, and a key of this server as the password.\r\n";

impl Session {
    /// The first line, and the answer to MODE READER. It is 200 also for those who have to sign in before they post: to many
    /// newsreaders 201 means for good.
    pub(super) fn greet(&mut self) {
        let host = &self.service.parts.host;
        let porter = &self.service.porter;
        let posting = match self.standing.may_post(porter) {
            Ok(()) => "posting allowed",
            Err(None) => "posting after sign-in",
            Err(Some(_)) => "reading only with this key",
        };
        let demo = if porter.is_demo() {
            " (demo: all of it is made up)"
        } else {
            ""
        };
        let text = format!("{host} Weir news server ready, {posting}{demo}");
        self.say(code::POSTING_ALLOWED, &text);
    }

    pub(super) fn capabilities(&mut self) {
        let mut all = Capabilities::default();
        all.add("VERSION", ["2"]);
        all.add("IMPLEMENTATION", ["Weir", env!("CARGO_PKG_VERSION")]);
        if self.can_sign_in() && !self.service.porter.is_open() {
            // Without USER it says: not before the connection is encrypted (RFC 4643, section 2.1).
            match self.standing.is_safe(&self.service.porter) {
                true => all.add("AUTHINFO", ["USER"]),
                false if self.can_secure() => all.add("AUTHINFO", []),
                false => {}
            }
        }
        if self.standing.compressed.is_none() {
            all.add("COMPRESS", ["DEFLATE"]);
        }
        all.add("HDR", []);
        all.add("LIST", LISTS);
        if self.service.parts.rules.load().newnews {
            all.add("NEWNEWS", []);
        }
        all.add("OVER", ["MSGID"]);
        all.add("POST", []);
        all.add("READER", []);
        if self.can_secure() {
            all.add("STARTTLS", []);
        }
        all.add("XPAT", []);
        self.say(code::CAPABILITIES, "Capability list follows");
        let out = self.wire.out();
        all.write(out);
        out.extend_from_slice(b".\r\n");
    }

    pub(super) fn help(&mut self) {
        self.say(code::HELP, "Help text follows");
        let out = self.wire.out();
        out.extend_from_slice(HELP.as_bytes());
        out.extend_from_slice(b".\r\n");
    }

    pub(super) fn date(&mut self) {
        let (_, seconds) = self.service.parts.model.now();
        self.say(code::DATE, &date::write_compact(seconds));
    }

    /// LIST OVERVIEW.FMT, HEADERS, MOTD and what is not kept.
    pub(super) fn list_about_us(&mut self, listing: &Listing) {
        let mut block = Vec::new();
        match listing {
            Listing::OverviewFmt => block = OVERVIEW_FORMAT.to_vec(),
            Listing::Headers(by) => headers(*by).write(&mut block),
            Listing::Motd => {
                let parts = &self.service.parts;
                let card = NewsCard(parts.model.engine.clone(), parts.figures.clone());
                block = card.view().sentence.into_bytes();
            }
            Listing::Subscriptions(_) => {}
            other => {
                let text = format!("No list of {} is kept", other.keyword());
                return self.say(code::UNSUPPORTED, &text);
            }
        }
        self.say(code::LIST, "List follows");
        weir_news_proto::block::write_block(&block, self.wire.out());
    }
}

/// By ID the whole article is at hand, so any field can be asked for; by range only what overviews have.
fn headers(by: Option<ListedBy>) -> ListedHeaders {
    let names = LISTED.iter().filter_map(|name| name.parse().ok());
    let metadata = |name: &FieldName| name.is_metadata();
    match by {
        Some(ListedBy::MessageId) => ListedHeaders {
            any: true,
            names: names.filter(metadata).collect(),
        },
        Some(ListedBy::Range) | None => ListedHeaders {
            any: false,
            names: names.collect(),
        },
    }
}
