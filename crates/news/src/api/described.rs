//! The API of news, described.

use axum::http::StatusCode;
use weir_web::Right;
use weir_web::openapi::schema::{
    choice, count, either, flag, integer, list, map, object, pattern, text, time,
};
use weir_web::openapi::{Operation, Schema};

use crate::marks::MOST_AT_ONCE;
use crate::pages::address::MOST_PAGES;
use crate::text::is_day;

const ID: &str = "A Message-ID without its angle brackets, percent-encoded.";

/// `GET /api/v1/news/groups`.
pub(super) fn newsgroups() -> Operation {
    Operation::get("/api/v1/news/groups", "Newsgroups by name")
        .needs(Right::Read)
        .query(
            "q",
            text().about("Words that names or descriptions must have."),
        )
        .query(
            "names",
            text().about("Whole names, separated by commas, in place of words."),
        )
        .query("page", page())
        .fails(StatusCode::NOT_FOUND, "No news server is configured.")
        .answers(
            "A page of them.",
            object([
                ("total", count()),
                ("page", count()),
                ("pages", count()),
                ("groups", list(newsgroup())),
                ("currency", currency()),
            ]),
        )
}

/// `GET /api/v1/news/groups/{newsgroup}`.
pub(super) fn threads() -> Operation {
    let thread = object([
        ("id", text().about("The Message-ID of its first article.")),
        ("subject", text()),
        ("author", text()),
        ("articles", count()),
        ("first_at", time()),
        ("last_at", time()),
        ("last_author", text()),
        ("last_id", text()),
    ])
    .named("NewsThread");
    Operation::get("/api/v1/news/groups/{newsgroup}", "Threads of a newsgroup")
        .needs(Right::Read)
        .path("newsgroup", text())
        .query("page", page())
        .answers(
            "A page of them, latest first.",
            object([
                ("group", newsgroup()),
                ("page", count()),
                ("known", count()),
                (
                    "complete",
                    flag().about("No older thread is on any server."),
                ),
                ("has_next", flag()),
                ("threads", list(thread)),
                ("currency", currency()),
            ]),
        )
}

/// `GET /api/v1/news/groups/{newsgroup}/threads/{root}`.
pub(super) fn thread() -> Operation {
    let missing = object([("servers", list(text())), ("asked_at", time())]);
    let unreachable = object([("silent", list(silent()))]);
    let message = object([
        ("id", text()),
        ("parent", text().or_null()),
        ("depth", count()),
        (
            "missing",
            count().about("Articles before it that no server has."),
        ),
        ("state", choice(["read", "missing", "unreachable"])),
        ("content", either([plain_article(), missing, unreachable])),
    ]);
    let path = "/api/v1/news/groups/{newsgroup}/threads/{root}";
    Operation::get(path, "One thread")
        .needs(Right::Read)
        .path("newsgroup", text())
        .path("root", text().about(ID))
        .query("page", page())
        .query(
            "article",
            text().about("The page on which this article is."),
        )
        .answers(
            "A page of its articles.",
            object([
                ("group", newsgroup()),
                ("id", text()),
                ("subject", text()),
                ("page", count()),
                ("pages", count()),
                ("articles", count()),
                ("missing", count()),
                ("messages", list(message)),
                ("currency", currency()),
            ]),
        )
}

/// `GET /api/v1/news/search`.
pub(super) fn search() -> Operation {
    let day = || {
        let day = pattern("^[0-9]{4}([-/.][0-9]{1,2}){0,2}$", is_day);
        day.about("A day, a month or a year, such as 2025-01-31 or 2025.")
    };
    let piece = object([("text", text()), ("marked", flag())]);
    let hit = object([
        ("id", text()),
        ("subject", text()),
        ("author", text()),
        ("at", time()),
        ("groups", list(text())),
        ("passage", list(piece)),
        ("url", text()),
    ]);
    let index = object([
        ("articles", count()),
        ("texts", count()),
        ("waiting", count()),
        ("since", time().or_null()),
    ]);
    Operation::get("/api/v1/news/search", "Search stored articles")
        .needs(Right::Read)
        .query(
            "q",
            text().about("Words, and what narrows them down, such as `group:comp.*`."),
        )
        .query("group", text().about("Patterns of newsgroups."))
        .query("author", text())
        .query("after", day())
        .query("before", day())
        .query("order", choice(["best", "newest"]))
        .query("page", page())
        .fails(
            StatusCode::NOT_FOUND,
            "Stored articles cannot be searched here.",
        )
        .answers(
            "What was found.",
            object([
                ("found", count()),
                ("complete", flag()),
                ("page", count()),
                ("has_next", flag()),
                ("articles", list(hit)),
                (
                    "notes",
                    list(text()).about("What was left out of the question, and why."),
                ),
                ("index", index),
            ]),
        )
}

/// `GET /api/v1/news/articles/{id}`.
pub(super) fn article() -> Operation {
    let header = object([("name", text()), ("value", text())]);
    Operation::get("/api/v1/news/articles/{id}", "One article")
        .needs(Right::Read)
        .path("id", text().about(ID))
        .answers(
            "The article.",
            object(article_fields())
                .with([("headers", list(header))])
                .named("NewsArticle"),
        )
}

/// `GET /api/v1/news/marks`.
pub(super) fn marks() -> Operation {
    Operation::get("/api/v1/news/marks", "What was read, watched and ignored")
        .needs(Right::Read)
        .query("since", since())
        .answers("What changed since then.", changes())
}

/// `POST /api/v1/news/marks`.
pub(super) fn mark() -> Operation {
    let most = MOST_AT_ONCE as i64;
    Operation::post("/api/v1/news/marks", "Change marks")
        .needs(Right::Read)
        .about("Merges what changed here with what is known, and answers as GET does.")
        .query("since", since())
        .body(object([
            (
                "threads",
                map(thread_mark(true))
                    .most(most)
                    .optional()
                    .about("By the Message-ID of the root, with its brackets."),
            ),
            (
                "newsgroups",
                map(newsgroup_mark(true))
                    .most(most)
                    .optional()
                    .about("By name."),
            ),
        ]))
        .answers("What changed since then.", changes())
}

/// `POST /api/v1/news/articles`.
pub(super) fn post() -> Operation {
    let field = |about| text().optional().about(about);
    let names = |about| list(text()).optional().about(about);
    Operation::post("/api/v1/news/articles", "Post an article").needs(Right::Post)
        .body(object([
            ("name", field("The author's name.")),
            ("address", field("The author's address; it may be one that does not exist.")),
            ("groups", names("Newsgroups; those of the answered article if there are none.")),
            ("subject", field("That of the answered article if there is none.")),
            ("text", field("")),
            ("followup_to", names("Newsgroups, or the word `poster`.")),
            ("reply_to", field("The Message-ID of what it answers.")),
            ("supersedes", field("The Message-ID of an article of one's own that it replaces.")),
            ("id", field("A Message-ID of one's own, so that the same article can be posted again safely.")),
        ]))
        .fails(StatusCode::NOT_FOUND, "No server has the article that it answers.")
        .fails(StatusCode::FORBIDDEN, "The newsgroup takes no articles.")
        .answers_as(StatusCode::CREATED, "It was posted, or will be.", own_post())
}

/// `GET /api/v1/news/posts`.
pub(super) fn posts() -> Operation {
    Operation::get("/api/v1/news/posts", "Articles that were posted here")
        .needs(Right::Post)
        .answers(
            "The last 500.",
            object([("total", count()), ("posts", list(own_post()))]),
        )
}

/// `GET /api/v1/news/posts/{id}`.
pub(super) fn one_post() -> Operation {
    Operation::get("/api/v1/news/posts/{id}", "What became of a post")
        .needs(Right::Post)
        .path("id", text().about(ID))
        .answers("The post.", own_post())
}

/// `DELETE /api/v1/news/posts/{id}`.
pub(super) fn cancel() -> Operation {
    Operation::delete("/api/v1/news/posts/{id}", "Cancel an article")
        .needs(Right::Post)
        .path("id", text().about(ID))
        .fails(StatusCode::FORBIDDEN, "No server takes the cancellation.")
        .fails(StatusCode::UNPROCESSABLE_ENTITY, "A server refuses it.")
        .answers_as(StatusCode::ACCEPTED, "It is being cancelled.", own_post())
}

fn page() -> Schema {
    integer().least(1).most(MOST_PAGES as i64).about("From 1.")
}

fn since() -> Schema {
    integer().about("The `version` of an earlier answer; all if left out.")
}

fn newsgroup() -> Schema {
    object([
        ("name", text()),
        ("description", text()),
        ("articles", count().about("About how many.")),
        ("posting", choice(["closed", "moderated", "open"])),
        ("servers", list(text())),
        ("newest_at", time().or_null()),
    ])
    .named("Newsgroup")
}

fn silent() -> Schema {
    object([
        ("name", text()),
        ("reason", text()),
        ("retry_at", time().or_null()),
    ])
    .named("SilentServer")
}

fn currency() -> Schema {
    object([
        (
            "checked_at",
            time().or_null().about("When servers were last asked."),
        ),
        (
            "silent",
            list(silent()).about("Servers that could not be asked."),
        ),
        ("busy", flag()),
    ])
    .named("Currency")
}

fn plain_article() -> Schema {
    object(article_fields()).named("NewsMessage")
}

fn article_fields() -> Vec<(&'static str, Schema)> {
    let file = object([
        ("name", text()),
        ("content_type", text()),
        ("bytes", count()),
        ("url", text()),
    ]);
    vec![
        ("id", text()),
        ("subject", text()),
        ("author", text()),
        ("address", text()),
        ("at", time().or_null()),
        ("date", text().about("As the article has it.")),
        ("groups", list(text())),
        ("references", list(text())),
        ("text", text()),
        ("attachments", list(file)),
        (
            "damage",
            list(text()).about("What is wrong with the article itself."),
        ),
        ("server", text()),
        ("fetched_at", time()),
        (
            "post",
            object(note_fields())
                .or_null()
                .about("If it was posted here."),
        ),
        ("bytes", count()),
        ("url", text()),
    ]
}

fn note_fields() -> Vec<(&'static str, Schema)> {
    let states = ["sending", "unsure", "sent", "seen", "refused", "lost"];
    vec![
        ("state", choice(states)),
        ("posted_at", time()),
        ("changed_at", time()),
        ("server", text().or_null()),
        ("left_out", list(text())),
        ("says", text()),
        ("taken_back_at", time().or_null()),
        ("replaced_by", text().or_null()),
    ]
}

fn own_post() -> Schema {
    object(note_fields())
        .with([
            ("id", text()),
            ("subject", text()),
            ("groups", list(text())),
            ("url", text()),
        ])
        .named("Post")
}

fn changes() -> Schema {
    object([
        ("version", integer().about("Send it as `since` next time.")),
        ("more", flag().about("There is more: ask again at once.")),
        ("threads", map(thread_mark(false))),
        ("newsgroups", map(newsgroup_mark(false))),
    ])
}

/// Whoever sends a mark may leave out what it does not know.
fn as_sent(fields: Vec<(&'static str, Schema)>, sent: bool) -> Schema {
    let fields = fields.into_iter();
    object(fields.map(|(name, field)| match sent {
        true => (name, field.optional()),
        false => (name, field),
    }))
}

fn thread_mark(sent: bool) -> Schema {
    let fields = vec![
        (
            "upto",
            seconds("All articles written until then were read."),
        ),
        (
            "count",
            integer()
                .least(0)
                .most(u32::MAX.into())
                .about("How many those were."),
        ),
        ("read", list(text()).about("Later articles that were read.")),
        ("flag", choice(["none", "watched", "ignored"])),
        ("flag_at", seconds("When that was chosen.")),
        ("at", seconds("When something of it changed last.")),
    ];
    as_sent(fields, sent)
}

fn newsgroup_mark(sent: bool) -> Schema {
    let fields = vec![
        (
            "articles",
            count().about("How many it had at the last visit."),
        ),
        (
            "upto",
            seconds("Threads without a later article count as read."),
        ),
        ("subscribed", flag()),
        ("subscribed_at", seconds("When that was chosen.")),
        ("at", seconds("When somebody visited it last.")),
    ];
    as_sent(fields, sent)
}

/// Unix seconds.
fn seconds(about: &'static str) -> Schema {
    integer().least(i64::MIN).most(i64::MAX).about(about)
}
