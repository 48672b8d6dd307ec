//! NEWGROUPS, NEWNEWS and LIST ACTIVE.TIMES: what is new, as far as we have noticed.

use weir_news_proto::Wildmat;
use weir_news_proto::list::{Active, Created};
use weir_news_proto::reply::code;

use super::lists::active;
use super::session::{READER, Session};
use super::wire::Gone;
use crate::numbered::NumberedNewsgroup;

/// Articles that one NEWNEWS names at most.
const MOST: usize = 20_000;

/// Bytes that their IDs take, about.
const BYTES: usize = 2 << 20;

/// Whom newsgroups come from: all of them were found on a server.
const CREATOR: &[u8] = b"weir";

impl Session {
    pub(super) async fn new_groups(&mut self, since: i64) -> Result<(), Gone> {
        let Some(new) = self.newsgroups_since(since).await else {
            return Ok(());
        };
        self.say(code::NEW_GROUPS, "List of new newsgroups follows");
        let rows = new.iter().map(|(row, _)| Some(active(row)));
        self.each(rows, |row: Active<'_>, line| row.write(line))
            .await
    }

    /// LIST ACTIVE.TIMES.
    pub(super) async fn times(&mut self, wildmat: Option<&Wildmat>) -> Result<(), Gone> {
        let Some(all) = self.newsgroups_since(0).await else {
            return Ok(());
        };
        self.say(code::LIST, "List of newsgroups follows");
        let wanted = |name: &str| wildmat.is_none_or(|wildmat| wildmat.matches(name));
        let rows = all.iter().map(|(row, at)| {
            wanted(row.name.as_str()).then_some(Created {
                newsgroup: row.name.as_str(),
                at: u64::try_from(*at).unwrap_or(0),
                creator: CREATOR,
            })
        });
        self.each(rows, |row: Created<'_>, line| row.write(line))
            .await
    }

    pub(super) async fn new_news(&mut self, wildmat: &Wildmat, since: i64) -> Result<(), Gone> {
        if !self.service.parts.rules.load().newnews {
            self.say(code::REFUSED, "NEWNEWS is switched off here");
            return Ok(());
        }
        let (model, wanted) = (self.service.parts.model.clone(), wildmat.clone());
        let until = model.deadline();
        let ids = async {
            let held = self.share.hold(BYTES).await;
            let wanted = move |name: &str| wanted.matches(name);
            (held, model.articles_since(since, wanted, MOST).await)
        };
        let new = match model.in_time(ids, until).await {
            Some((Some(_held), Ok(new))) if new.whole => new.ids,
            Some((Some(_), Ok(_))) => {
                let text = format!(
                    "More than {MOST} articles are new: ask for fewer newsgroups or a later time"
                );
                self.say(code::FAULT, &text);
                return Ok(());
            }
            Some((_, Err(why))) => {
                self.cannot(&why, (code::FAULT, "Nothing is kept"));
                return Ok(());
            }
            Some((None, Ok(_))) | None => {
                self.say(code::FAULT, "That took too long: try again");
                return Ok(());
            }
        };
        self.say(code::NEW_ARTICLES, "List of new articles follows");
        let rows = new.iter().map(|id| Some(id.as_str().as_bytes()));
        self.each(rows, |id, line| line.extend_from_slice(id)).await
    }

    async fn newsgroups_since(&mut self, since: i64) -> Option<Vec<(NumberedNewsgroup, i64)>> {
        let new = self.service.parts.model.newsgroups_since(since, READER);
        match new.await {
            Ok(new) => Some(new),
            Err(why) => {
                self.cannot(&why, (code::FAULT, "The newsgroups are not known"));
                None
            }
        }
    }
}
