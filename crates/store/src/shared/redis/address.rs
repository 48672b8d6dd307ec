//! Where the store is: `store.redis`, read once. Its password is shown nowhere.

use std::fmt;

/// A server: its name or address, and its port.
pub(super) type Host = (String, u16);

/// The port that is meant where none is named.
const PORT: u16 = 6379;

/// Addresses at most; those of other servers of a cluster are found there.
const MOST: usize = 16;

/// The address of one server, or of several of a cluster.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisAddress {
    pub(super) hosts: Vec<Host>,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) db: u32,
    pub(super) tls: bool,
}

impl fmt::Debug for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisAddress({self})")
    }
}

/// Without name and password.
impl fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.tls { "rediss://" } else { "redis://" })?;
        for (place, (name, port)) in self.hosts.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            if name.contains(':') {
                write!(f, "{comma}[{name}]:{port}")?;
            } else {
                write!(f, "{comma}{name}:{port}")?;
            }
        }
        if self.db > 0 {
            write!(f, "/{}", self.db)?;
        }
        Ok(())
    }
}

impl RedisAddress {
    /// Reads `redis://[user:password@]host[:port][/db]`, or `rediss://` for TLS; several hosts, separated by commas, are
    /// servers of one cluster.
    ///
    /// # Errors
    /// A sentence that says what is wrong and repeats no part of the address, since that holds the password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (tls, rest) = scheme(text.trim())
            .ok_or("an address of the store begins with redis:// or rediss:// (TLS)")?;
        let (account, rest) = match rest.rsplit_once('@') {
            Some((account, rest)) => (Some(account), rest),
            None => (None, rest),
        };
        let (user, password) = match account.map(|account| account.split_once(':')) {
            None => (None, None),
            Some(Some((user, password))) => (decoded(user)?, decoded(password)?),
            Some(None) => return Err("before the @ stands user:password, or :password".to_owned()),
        };
        let mut hosts: Vec<_> = rest.split(',').map(without_scheme).collect();
        let last = hosts.last_mut().and_then(|last| {
            let (host, db) = last.split_once('/')?;
            *last = host;
            Some(db)
        });
        let db = match last.unwrap_or_default() {
            "" => 0,
            digits => digits
                .parse()
                .map_err(|_| "after the last / stands the number of the database")?,
        };
        let hosts = hosts.into_iter().map(host).collect::<Result<Vec<_>, _>>()?;
        if hosts.len() > MOST {
            return Err(format!("at most {MOST} addresses"));
        }
        if hosts.len() > 1 && db != 0 {
            return Err("a cluster has one database, 0".to_owned());
        }
        Ok(Self {
            hosts,
            user,
            password,
            db,
            tls,
        })
    }
}

fn scheme(text: &str) -> Option<(bool, &str)> {
    let plain = text.strip_prefix("redis://").map(|rest| (false, rest));
    plain.or_else(|| text.strip_prefix("rediss://").map(|rest| (true, rest)))
}

fn without_scheme(text: &str) -> &str {
    scheme(text.trim()).map_or(text.trim(), |(_, rest)| rest)
}

fn decoded(text: &str) -> Result<Option<String>, String> {
    let text = percent_encoding::percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| "user and password are text")?;
    Ok((!text.is_empty()).then(|| text.into_owned()))
}

fn host(text: &str) -> Result<Host, String> {
    let bad = || "a host is name:port, 192.0.2.1:port or [2001:db8::1]:port".to_owned();
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']').ok_or_else(bad)?;
            (name, port.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map_or(Ok(PORT), |port| port.parse().map_err(|_| bad()))?;
    let fine = |letter: char| letter.is_ascii_graphic() && !"/@,[]".contains(letter);
    if name.is_empty() || port == 0 || !name.chars().all(fine) {
        return Err(bad());
    }
    Ok((name.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_no_password_shown() {
        let address = RedisAddress::parse("redis://h").unwrap();
        assert_eq!(address.to_string(), "redis://h:6379");
        let address =
            RedisAddress::parse("rediss://me:p%40s,s@one:1,[::1]:2,rediss://three").unwrap();
        assert_eq!(address.to_string(), "rediss://one:1,[::1]:2,three:6379");
        assert_eq!(address.password.as_deref(), Some("p@s,s"));
        assert_eq!(address.user.as_deref(), Some("me"));
        assert!(!format!("{address:?}").contains("p@s"));
        let address = RedisAddress::parse("redis://:pass@h:7/3").unwrap();
        assert_eq!((address.user.as_deref(), address.db), (None, 3));
        assert_eq!(address.to_string(), "redis://h:7/3");
    }

    #[test]
    fn what_is_no_address_is_said_without_repeating_it() {
        for text in [
            "",
            "h:6379",
            "http://h",
            "redis://",
            "redis://h:0",
            "redis://h:99999",
            "redis://h/x",
            "redis://secret@h",
            "redis://u:secret@",
            "redis://u:%ff@h",
            "redis://[::1",
            "redis://a,b/1",
            "redis://a,,b",
            "redis://h/1/secret",
        ] {
            let error = RedisAddress::parse(text).unwrap_err();
            assert!(!error.contains("secret"), "{text}: {error}");
        }
    }
}
