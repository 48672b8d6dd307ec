//! Codes by name, those of RFC 3977, 4642, 4643 and 8054 that either side decides on.

/// HELP: a block of text follows.
pub const HELP: u16 = 100;
/// CAPABILITIES: a block follows.
pub const CAPABILITIES: u16 = 101;
/// DATE.
pub const DATE: u16 = 111;
/// Greeting and MODE READER: posting is allowed.
pub const POSTING_ALLOWED: u16 = 200;
/// Greeting and MODE READER: posting is not allowed.
pub const POSTING_REFUSED: u16 = 201;
/// QUIT: the connection is about to be closed.
pub const CLOSING: u16 = 205;
/// COMPRESS: everything after this line is compressed.
pub const COMPRESSION_STARTS: u16 = 206;
/// GROUP, and LISTGROUP with a block.
pub const GROUP_SELECTED: u16 = 211;
/// LIST: a block follows.
pub const LIST: u16 = 215;
/// ARTICLE: head and body follow.
pub const ARTICLE: u16 = 220;
/// HEAD, XHDR and XPAT: a block follows.
pub const HEAD: u16 = 221;
/// BODY: a block follows.
pub const BODY: u16 = 222;
/// STAT, NEXT and LAST: the article is there, nothing follows.
pub const ARTICLE_EXISTS: u16 = 223;
/// OVER: a block follows.
pub const OVERVIEW: u16 = 224;
/// HDR: a block follows.
pub const HEADERS: u16 = 225;
/// NEWNEWS: a block of IDs follows.
pub const NEW_ARTICLES: u16 = 230;
/// NEWGROUPS: a block follows.
pub const NEW_GROUPS: u16 = 231;
/// IHAVE: the article was taken.
pub const TRANSFERRED: u16 = 235;
/// POST: the article was taken.
pub const POSTED: u16 = 240;
/// AUTHINFO: accepted.
pub const AUTHENTICATED: u16 = 281;
/// AUTHINFO SASL: accepted, with a last word of the server's.
pub const AUTHENTICATED_WITH_DATA: u16 = 283;
/// IHAVE: send the article.
pub const SEND_TRANSFER: u16 = 335;
/// POST: send the article.
pub const SEND_ARTICLE: u16 = 340;
/// AUTHINFO USER: send the password.
pub const PASSWORD_NEEDED: u16 = 381;
/// STARTTLS: begin with TLS.
pub const TLS_STARTS: u16 = 382;
/// AUTHINFO SASL: go on.
pub const SASL_CONTINUES: u16 = 383;
/// The service is not available and the connection is about to be closed.
pub const UNAVAILABLE: u16 = 400;
/// The server is in the wrong mode; its first word says which capability is needed.
pub const WRONG_MODE: u16 = 401;
/// An internal fault of the server.
pub const FAULT: u16 = 403;
/// No such newsgroup.
pub const NO_SUCH_GROUP: u16 = 411;
/// No newsgroup was selected.
pub const NO_GROUP_SELECTED: u16 = 412;
/// The current article number is invalid.
pub const NO_CURRENT_ARTICLE: u16 = 420;
/// NEXT: there is none.
pub const NO_NEXT_ARTICLE: u16 = 421;
/// LAST: there is none.
pub const NO_PREVIOUS_ARTICLE: u16 = 422;
/// No article with that number, or none in that range.
pub const NO_ARTICLE_NUMBER: u16 = 423;
/// No article with that ID.
pub const NO_ARTICLE_ID: u16 = 430;
/// IHAVE: not wanted.
pub const NOT_WANTED: u16 = 435;
/// IHAVE: not now.
pub const TRY_LATER: u16 = 436;
/// IHAVE: never.
pub const TRANSFER_REJECTED: u16 = 437;
/// POST: not allowed.
pub const NO_POSTING: u16 = 440;
/// POST: failed; the words say why.
pub const POSTING_FAILED: u16 = 441;
/// Seen for articles that were taken down.
pub const TAKEN_DOWN: u16 = 451;
/// Authentication is needed first.
pub const AUTHENTICATION_NEEDED: u16 = 480;
/// Wrong user or password.
pub const AUTHENTICATION_FAILED: u16 = 481;
/// AUTHINFO commands in the wrong order.
pub const AUTHENTICATION_ORDER: u16 = 482;
/// TLS is needed first.
pub const ENCRYPTION_NEEDED: u16 = 483;
/// Unknown command.
pub const UNKNOWN_COMMAND: u16 = 500;
/// Syntax error.
pub const SYNTAX: u16 = 501;
/// Refused for good: no permission, too many connections, or already active.
pub const REFUSED: u16 = 502;
/// The server does not have what the command is about.
pub const UNSUPPORTED: u16 = 503;
/// Base 64 that cannot be decoded.
pub const BAD_ENCODING: u16 = 504;
/// STARTTLS: cannot begin.
pub const TLS_FAILED: u16 = 580;
