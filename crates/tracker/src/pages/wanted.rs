//! What somebody looks for: all swarms, those whose hash begins so, or one; and from where on.

use serde::Deserialize;
use weir_tracker_proto::InfoHash;

use crate::catalogue::{PageQuestion, PageStart, Prefix, SwarmRank};

/// What the address of a page says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SwarmsQuery {
    /// An info hash or its first digits.
    pub(super) q: String,
    /// The last swarm of the page before, as [`write_place`] writes it.
    after: Option<String>,
    /// The first swarm of the page behind.
    before: Option<String>,
    /// The info hash of the swarm whose row is open.
    open: String,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SwarmsWanted {
    Many(PageQuestion),
    One(InfoHash),
}

impl SwarmsQuery {
    /// # Errors
    /// With a sentence that says what is wrong.
    pub(super) fn wanted(&self) -> Result<SwarmsWanted, String> {
        let text = self.q.trim();
        let length = text.chars().count();
        // 32 digits of base 32, as old magnet links have it, may also be 32 digits of a longer hash.
        if let Some(of) = Prefix::new(text).filter(|_| length < 40) {
            let from = self.from()?;
            return Ok(SwarmsWanted::Many(PageQuestion { of, from }));
        }
        if let Ok(hash) = text.parse() {
            return Ok(SwarmsWanted::One(hash));
        }
        match text.chars().find(|letter| !letter.is_ascii_hexdigit()) {
            Some(letter) => Err(format!(
                "A hash has only the digits 0 to 9 and the letters a to f, not “{letter}”."
            )),
            None => Err(format!("A hash is 40 hex digits; this has {length}.")),
        }
    }

    /// The parameter because of which [`Self::wanted`] fails.
    pub(super) fn wrong_field(&self) -> &'static str {
        let alone = Self {
            q: self.q.clone(),
            ..Self::default()
        };
        match (alone.wanted(), &self.after) {
            (Err(_), _) => "q",
            (Ok(_), Some(_)) => "after",
            (Ok(_), None) => "before",
        }
    }

    /// The swarm whose row is open.
    pub(super) fn opened(&self) -> Option<InfoHash> {
        self.open.parse().ok()
    }

    /// The same page with another row open, or none.
    pub(super) fn with_open(&self, hash: Option<&InfoHash>) -> String {
        let place = |place: &Option<String>| place.clone().unwrap_or_default();
        let (after, before) = (place(&self.after), place(&self.before));
        let open = hash.map(InfoHash::to_string).unwrap_or_default();
        let parts = [
            ("q", self.q.trim()),
            ("after", &after),
            ("before", &before),
            ("open", &open),
        ];
        let page = weir_web::kit::address("/swarms", &parts, &[]);
        match hash {
            Some(hash) => format!("{page}#s-{hash}"),
            None => page,
        }
    }

    fn from(&self) -> Result<PageStart, String> {
        let place = |text: &str| {
            read_place(text).ok_or_else(|| {
                "That page is not one of this list. Start again with the largest.".to_owned()
            })
        };
        match (&self.after, &self.before) {
            (Some(after), _) => Ok(PageStart::After(place(after)?)),
            (None, Some(before)) => Ok(PageStart::Before(place(before)?)),
            (None, None) => Ok(PageStart::Start),
        }
    }
}

/// A place as it stands in an address.
pub(super) fn write_place(place: SwarmRank) -> String {
    format!("{}-{}", place.peers(), InfoHash(place.hash()))
}

fn read_place(text: &str) -> Option<SwarmRank> {
    let (peers, hash) = text.split_once('-')?;
    let hash: InfoHash = hash.parse().ok()?;
    Some(SwarmRank::new(peers.parse().ok()?, hash.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(q: &str) -> Result<SwarmsWanted, String> {
        let q = q.to_owned();
        let view = SwarmsQuery {
            q,
            ..SwarmsQuery::default()
        };
        view.wanted()
    }

    #[test]
    fn hashes_and_first_digits_are_told_apart() {
        let hash = "4BE19C07".repeat(5);
        assert_eq!(wanted(&hash), Ok(SwarmsWanted::One(hash.parse().unwrap())));
        assert_eq!(wanted(&format!(" {hash}\n")), wanted(&hash));
        let base32 = "JPQZYB2L4GOAOS7BTQDUXYM4A5F6DHAH";
        assert!(matches!(wanted(base32), Ok(SwarmsWanted::One(_))));
        for prefix in ["", "4", "4be19c07", &hash[..39]] {
            assert!(
                matches!(wanted(prefix), Ok(SwarmsWanted::Many(_))),
                "{prefix}"
            );
        }
    }

    #[test]
    fn what_is_no_hash_gets_a_sentence() {
        let long = "0".repeat(43);
        assert_eq!(
            wanted(&long),
            Err("A hash is 40 hex digits; this has 43.".into())
        );
        let sentence = wanted("4be1 z").unwrap_err();
        assert!(sentence.contains("not “ ”"), "{sentence}");
        assert!(wanted("ubuntu").unwrap_err().contains("“u”"));
    }

    #[test]
    fn places_are_read_back_and_others_refused() {
        let place = SwarmRank::new(7, [0xab; 20]);
        assert_eq!(read_place(&write_place(place)), Some(place));
        for wrong in [
            "",
            "7",
            "7-ab",
            "x-abababababababababababababababababababab",
        ] {
            let view = SwarmsQuery {
                after: Some(wrong.into()),
                ..SwarmsQuery::default()
            };
            assert!(view.wanted().is_err(), "{wrong}");
        }
    }
}
