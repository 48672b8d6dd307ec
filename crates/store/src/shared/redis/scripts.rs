//! The scripts, one for each operation. Each is sent with the parts that it is made of, in front.

use std::sync::LazyLock;

/// A script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Beat,
    HandIn,
    Leave,
    Ask,
    Tell,
    Rows,
    Answer,
    Claim,
    Put,
    Changes,
    Extend,
    Lease,
    Append,
    Read,
}

impl Script {
    /// Whether it runs where nearly everything is; streams may be elsewhere.
    pub(super) fn at_home(self, key: &str) -> bool {
        !matches!(self, Self::Append | Self::Read) || key.starts_with("{weir}")
    }
}

/// A file of this directory.
macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("scripts/", $name, ".lua"))
    };
}

const HEAD: &str = file!("head");
const UPSTREAM: &str = file!("upstream");
const MEMBER: &str = file!("member");
const QUESTION: &str = file!("question");
const TABLE: &str = file!("table");

/// All of them, in the order of [`Script`].
pub(super) static SCRIPTS: LazyLock<[(Script, String); 14]> = LazyLock::new(|| {
    [
        (Script::Beat, &[HEAD, UPSTREAM, MEMBER, file!("beat")][..]),
        (Script::HandIn, &[HEAD, UPSTREAM, MEMBER, file!("hand_in")]),
        (Script::Leave, &[HEAD, UPSTREAM, MEMBER, file!("leave")]),
        (Script::Ask, &[HEAD, UPSTREAM, QUESTION, file!("ask")]),
        (Script::Tell, &[HEAD, UPSTREAM, file!("tell")]),
        (Script::Rows, &[HEAD, UPSTREAM, file!("rows")]),
        (Script::Answer, &[HEAD, QUESTION, file!("answer")]),
        (Script::Claim, &[HEAD, file!("claim")]),
        (Script::Put, &[HEAD, TABLE, file!("put")]),
        (Script::Changes, &[HEAD, TABLE, file!("changes")]),
        (Script::Extend, &[HEAD, file!("extend")]),
        (Script::Lease, &[HEAD, file!("lease")]),
        (Script::Append, &[file!("append")]),
        (Script::Read, &[file!("read")]),
    ]
    .map(|(script, parts)| (script, parts.concat()))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_stand_in_their_order() {
        for (place, (script, _)) in SCRIPTS.iter().enumerate() {
            assert_eq!(*script as usize, place);
        }
    }
}
