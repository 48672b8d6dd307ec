//! What a client asks us: a query string becomes a request that means one thing.

mod parameters;
mod term;
mod token;

use parameters::Parameters;

use crate::error::{Refusal, code};
use crate::query::{Function, Query, Term};
use crate::text::squeeze;

/// Characters of the words that are read, and of any term.
const WORDS: usize = 1_000;
const TERM: usize = 300;

/// Categories that a request may name.
const CATEGORIES: usize = 200;

/// Characters of an id to download.
const ID: usize = 4_000;

/// What the protocol has and we do not offer.
const NOT_OFFERED: [&str; 15] = [
    "details",
    "d",
    "getnfo",
    "info",
    "n",
    "comments",
    "commentadd",
    "user",
    "register",
    "r",
    "cartadd",
    "cartdel",
    "cart",
    "nzbadd",
    "genres",
];

/// A request with what belongs to all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// What is asked, or why that cannot be served.
    pub request: Result<Request, Refusal>,
    /// How the client wants its answer, errors included.
    pub format: Format,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// What can be asked here.
    Caps,
    /// A search.
    Search(SearchRequest),
    /// The file of a release.
    Get {
        /// What the release was listed under.
        id: String,
    },
    /// Jackett's list of indexers.
    Indexers {
        /// Only those that are configured, or only those that are not.
        configured: Option<bool>,
    },
}

/// A search and the part of its answer that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    /// The search.
    pub query: Query,
    /// How many releases are wanted; whoever answers has a limit of its own.
    pub limit: Option<u32>,
    /// How many releases to leave out at the beginning.
    pub offset: u32,
    /// What is known already will not do (`nocache=1`).
    pub no_cache: bool,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// The protocol's own.
    #[default]
    Xml,
    /// On request (`o=json`).
    Json,
}

/// Reads the part of a URL after `?`.
///
/// Names are read in any case, unknown ones are passed over, an empty value is none, and of a
/// repeated name the first value counts.
pub fn parse_request(raw_query: &str) -> Parsed {
    let parameters = Parameters::read(raw_query);
    let json = parameters
        .get("o")
        .is_some_and(|o| o.eq_ignore_ascii_case("json"));
    Parsed {
        request: request(&parameters),
        format: if json { Format::Json } else { Format::Xml },
    }
}

fn request(parameters: &Parameters) -> Result<Request, Refusal> {
    let Some(t) = parameters.get("t") else {
        return Err(missing("t"));
    };
    if let Some(function) = Function::parse(t) {
        return Ok(Request::Search(asked(function, parameters)?));
    }
    let t = t.to_ascii_lowercase();
    match t.as_str() {
        "caps" | "c" => Ok(Request::Caps),
        "get" | "g" => match parameters.get("id") {
            Some(id) if id.len() > ID => Err(wrong("id", "the id of a release")),
            Some(id) => Ok(Request::Get { id: id.to_owned() }),
            None => Err(missing("id")),
        },
        "indexers" => Ok(Request::Indexers {
            configured: parameters.flag("configured"),
        }),
        _ if NOT_OFFERED.contains(&t.as_str()) => {
            let text = format!("Function not available: {t}");
            Err(Refusal::new(code::NOT_AVAILABLE, text))
        }
        _ => Err(Refusal::new(code::NO_SUCH_FUNCTION, "No such function (t)")),
    }
}

fn asked(function: Function, parameters: &Parameters) -> Result<SearchRequest, Refusal> {
    let mut query = Query::new(function);
    query.q = squeeze(parameters.get("q").unwrap_or_default());
    if query.q.chars().count() > WORDS {
        return Err(wrong("q", "at most 1,000 characters"));
    }
    query.categories = categories(parameters.get("cat").unwrap_or_default())?;
    for term in Term::ALL {
        let value = parameters.get(term.name()).map(squeeze);
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            term::add(&mut query, term, &value)?;
        }
    }
    token::take(&mut query)?;
    if function == Function::Search {
        // Nobody takes terms with words alone. Of several kinds the first is meant: a season makes a series of an
        // id that films have as well.
        let kinds = query.terms.keys().filter_map(|term| term.function());
        query.function = kinds.min().unwrap_or(function);
    }
    query.max_age_days = parameters.number("maxage", "days")?.map(narrow);
    query.min_age_days = parameters.number("minage", "days")?.map(narrow);
    query.min_size = parameters.number("minsize", "bytes")?;
    query.max_size = parameters.number("maxsize", "bytes")?;
    let limit = parameters.number("limit", "releases")?;
    let offset = parameters.number("offset", "releases")?;
    Ok(SearchRequest {
        query,
        limit: limit.map(narrow),
        offset: offset.map_or(0, narrow),
        no_cache: parameters.flag("nocache") == Some(true),
    })
}

/// Sorted and each once, so that equal questions are equal.
fn categories(list: &str) -> Result<Vec<u32>, Refusal> {
    let expected = "category numbers with commas between them";
    let parts = list
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let mut categories = Vec::new();
    for part in parts {
        let id = digits(part).and_then(|digits| digits.parse().ok());
        categories.push(id.ok_or_else(|| wrong("cat", expected))?);
        if categories.len() > CATEGORIES {
            return Err(wrong("cat", "at most 200 categories"));
        }
    }
    categories.sort_unstable();
    categories.dedup();
    Ok(categories)
}

/// Text that is nothing but digits; a sign would pass for a number elsewhere.
fn digits(text: &str) -> Option<&str> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then_some(text)
}

/// A number as large as it can be here.
fn narrow(number: u64) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}

fn missing(name: &str) -> Refusal {
    Refusal::new(
        code::MISSING_PARAMETER,
        format!("Missing parameter ({name})"),
    )
}

fn wrong(name: &str, expected: &str) -> Refusal {
    let text = format!("Incorrect parameter ({name}): expected {expected}");
    Refusal::new(code::INCORRECT_PARAMETER, text)
}
