//! What a private INN is to be like.

use std::io;

/// A newsgroup to begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newsgroup {
    /// Its name.
    pub name: String,
    /// `y`, `n` or `m`.
    pub flag: char,
    /// For people.
    pub description: String,
    /// The number of its first article.
    pub first: u64,
}

impl Newsgroup {
    /// One in which everybody may post, with numbers from 1 on.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            flag: 'y',
            description: format!("About {name}"),
            first: 1,
        }
    }
}

/// A certificate and its key, both as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Signed by itself.
    pub certificate: String,
    /// Of PKCS #8.
    pub key: String,
}

impl Certificate {
    /// A new one for these names and addresses.
    pub fn new(names: &[&str]) -> io::Result<Self> {
        let names: Vec<String> = names.iter().copied().map(str::to_owned).collect();
        let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        Ok(Self {
            certificate: made.cert.pem(),
            key: made.signing_key.serialize_pem(),
        })
    }
}

/// What an instance is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Beside INN's own.
    pub newsgroups: Vec<Newsgroup>,
    /// Name and password without which nobody may read.
    pub account: Option<(String, String)>,
    /// Readers may post.
    pub posting: bool,
    /// With one there are `STARTTLS` and a second port that speaks TLS from the beginning.
    pub tls: Option<Certificate>,
}

impl Options {
    /// An open server with these newsgroups.
    pub fn with(newsgroups: &[&str]) -> Self {
        Self {
            newsgroups: newsgroups.iter().copied().map(Newsgroup::new).collect(),
            account: None,
            posting: true,
            tls: None,
        }
    }
}
