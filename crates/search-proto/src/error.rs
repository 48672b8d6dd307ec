//! The protocol's own error documents, and what can be wrong with an indexer's answer.

use serde_json::json;

use crate::xml::{Writer, document};

/// The codes that are in wide use.
pub mod code {
    /// The API key is missing or wrong.
    pub const BAD_CREDENTIALS: u16 = 100;
    /// The account is suspended.
    pub const SUSPENDED: u16 = 101;
    /// The key is right, but does not allow this.
    pub const NOT_ALLOWED: u16 = 102;
    /// A parameter that is needed is missing.
    pub const MISSING_PARAMETER: u16 = 200;
    /// A parameter has a value that cannot be.
    pub const INCORRECT_PARAMETER: u16 = 201;
    /// There is no such `t=`.
    pub const NO_SUCH_FUNCTION: u16 = 202;
    /// The protocol has this `t=`, but it is not offered here.
    pub const NOT_AVAILABLE: u16 = 203;
    /// There is no such release.
    pub const NO_SUCH_ITEM: u16 = 300;
    /// Too many requests.
    pub const REQUEST_LIMIT: u16 = 500;
    /// Too many downloads.
    pub const DOWNLOAD_LIMIT: u16 = 501;
    /// Anything else.
    pub const UNKNOWN: u16 = 900;
    /// The API is switched off.
    pub const DISABLED: u16 = 910;
}

/// An error as the protocol says it: a number that programs know and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{description} (code {code})")]
pub struct ErrorDocument {
    /// One of [`code`], or whatever else an indexer thought of.
    pub code: u16,
    /// The sentence.
    pub description: String,
}

/// Why a client's request is not served; it is the error document that the client gets.
pub type Refusal = ErrorDocument;

impl ErrorDocument {
    /// An error with this number and sentence.
    pub fn new(code: u16, description: impl Into<String>) -> Self {
        Self {
            code,
            description: description.into(),
        }
    }

    /// The document as clients expect it.
    pub fn xml(&self) -> String {
        let mut writer = Writer::new(document());
        let code = self.code.to_string();
        let attributes = [("code", code.as_str()), ("description", &self.description)];
        writer.empty("error", &attributes);
        writer.finish()
    }

    /// The document for those who asked with `o=json`.
    pub fn json(&self) -> String {
        let code = self.code.to_string();
        let error = json!({"@attributes": {"code": code, "description": self.description}});
        json!({ "error": error }).to_string()
    }
}

/// Why an indexer's answer cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The indexer answered with an error document.
    #[error("the indexer says: {0}")]
    Error(ErrorDocument),
    /// A page for people: a sign-in, a challenge, an error of a web server.
    #[error("the indexer sent a page for people instead of an answer")]
    Html,
    /// Nothing but white space.
    #[error("the answer is empty")]
    Empty,
    /// Something that is no XML, or whose end is missing.
    #[error("not readable as XML at byte {at}: {cause}")]
    NotXml {
        /// How far it could be read, in bytes of its UTF-8 form.
        at: u64,
        /// What is wrong there.
        cause: String,
    },
    /// XML, but neither a feed nor caps, whichever was expected.
    #[error("XML, but not the document that was expected: <{0}>")]
    NotAFeed(String),
    /// Elements within elements beyond any sense.
    #[error("elements are nested too deeply")]
    TooDeep,
    /// More releases or categories than anyone sends.
    #[error("there are too many entries")]
    TooMany,
    /// A single text beyond any sense.
    #[error("a text is too long")]
    TooLong,
    /// A document that declares entities of its own, which only attackers do.
    #[error("the document declares entities")]
    Entity,
    /// Bytes in an encoding that we do not know.
    #[error("the answer is in an unknown encoding")]
    Encoding,
}
