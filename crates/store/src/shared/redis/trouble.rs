//! What a server says when it will not do something, as a sentence with what to do about it.

use redis::{RedisError, ServerError};

use crate::shared::Lost;

/// What the scripts know of the rows' form.
pub(super) const KNOWN: u32 = 1;

/// Whether the connection is of no more use, since it leads to the wrong server or needs another password.
pub(super) struct Trouble {
    pub(super) lost: Lost,
    pub(super) ends: bool,
    /// The server is well, and somebody else has this part of a cluster.
    pub(super) moved: bool,
    /// The script is not known to the server, which has forgotten it.
    pub(super) no_script: bool,
}

impl Trouble {
    pub(super) fn silent(why: impl Into<String>) -> Self {
        Self {
            lost: Lost::Silent(why.into()),
            ends: true,
            moved: false,
            no_script: false,
        }
    }

    fn refused(ends: bool, sentence: impl Into<String>) -> Self {
        Self {
            lost: Lost::Refused(sentence.into()),
            ends,
            moved: false,
            no_script: false,
        }
    }

    pub(super) fn of_server(error: &ServerError) -> Self {
        Self::of_words(error.code(), error.details().unwrap_or_default())
    }

    pub(super) fn of(error: &RedisError) -> Self {
        match error.code() {
            Some(code) => Self::of_words(code, error.detail().unwrap_or_default()),
            None if error.is_io_error() || error.is_connection_dropped() => {
                Self::silent(format!("the connection broke ({error})"))
            }
            None => Self::silent(error.to_string()),
        }
    }

    fn of_words(code: &str, details: &str) -> Self {
        let mut details: String = details.chars().take(200).collect();
        details.retain(|letter| !letter.is_control());
        // Redis 6 wraps what a command inside a script answered.
        let wrapped = ["OOM", "READONLY", "MISCONF", "NOPERM", "NOREPLICAS"];
        let inner = wrapped
            .into_iter()
            .find(|inner| code == "ERR" && details.contains(&format!("-{inner} ")));
        match inner.unwrap_or(code) {
            "WEIRNEWER" => Self {
                lost: newer(&details),
                ends: false,
                moved: false,
                no_script: false,
            },
            "WEIRSECRET" => Self::refused(
                false,
                "the store is used with another store.secret: give all nodes the same, or use \
                 another database of the store",
            ),
            "WEIRMEMBERS" => Self::refused(false, crate::shared::too_many_members()),
            "NOSCRIPT" => Self {
                no_script: true,
                ..Self::refused(false, "the store has forgotten our scripts")
            },
            "NOAUTH" => Self::refused(
                true,
                "the store wants a password: write redis://user:password@host in store.redis",
            ),
            "WRONGPASS" => Self::refused(
                true,
                "the store refuses user or password: correct them in store.redis",
            ),
            "NOPERM" => Self::refused(
                true,
                format!(
                    "the store's user may not do what is needed ({details}): allow it \
                     ~{{weir}}:* ~weir:* +@all -@admin +info"
                ),
            ),
            "OOM" => Self::refused(
                false,
                "the store is full: raise maxmemory there, or give it a server of its own",
            ),
            "READONLY" => Self::refused(
                true,
                "the store is a read-only replica: name its primary in store.redis",
            ),
            "MISCONF" => Self::refused(
                false,
                "the store cannot write to its disk and takes nothing until it can: see its log",
            ),
            "NOREPLICAS" => Self::refused(
                false,
                "the store has too few replicas to write (min-replicas-to-write): see its log",
            ),
            "LOADING" => Self::refused(false, "the store is still reading its data"),
            "MASTERDOWN" => Self::refused(true, "the store's primary is down"),
            "CLUSTERDOWN" => Self::refused(
                false,
                format!("the store's cluster is down ({details}): see CLUSTER INFO there"),
            ),
            "BUSY" => Self::refused(false, "the store is busy with a script of somebody else"),
            // Somebody else has this part of a cluster now, or soon: look again where.
            "MOVED" | "ASK" | "TRYAGAIN" => Self {
                moved: true,
                ..Self::silent("the store's cluster is changing")
            },
            "CROSSSLOT" => Self::refused(true, "the store's cluster refuses our keys"),
            code => Self::refused(false, format!("the store refuses: {code} {details}")),
        }
    }
}

/// What is needed, and by which row if it is not the store as a whole.
fn newer(details: &str) -> Lost {
    let mut words = details.split_whitespace();
    let needs = words.next().and_then(|needs| needs.parse().ok());
    Lost::Newer {
        needs: needs.unwrap_or(u32::MAX),
        known: KNOWN,
        row: words.next().and_then(|row| super::wire::upstream(row).ok()),
    }
}
