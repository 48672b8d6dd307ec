//! LIST of newsgroups, NEWGROUPS and NEWNEWS.

use std::sync::Arc;

use weir_news_proto::command::Listing;
use weir_news_proto::list::{Active, Counted, Described, PostingStatus};
use weir_news_proto::reply::code;
use weir_news_proto::{BlockWriter, Wildmat};

use super::session::{READER, Session};
use super::wire::Gone;
use crate::numbered::{NumberedList, NumberedNewsgroup};
use crate::reading::Posting;

/// Rows that are looked at before others have a turn: a wildmat can be made to take long over each.
const ROWS: usize = 128;

impl Session {
    /// LIST ACTIVE, ACTIVE.TIMES, COUNTS and NEWSGROUPS.
    pub(super) async fn list_newsgroups(&mut self, listing: &Listing) -> Result<(), Gone> {
        if let Listing::ActiveTimes(wildmat) = listing {
            return self.times(wildmat.as_ref()).await;
        }
        let Some(list) = self.numbered_list().await else {
            return Ok(());
        };
        self.say(code::LIST, "List of newsgroups follows");
        match listing {
            Listing::Counts(wildmat) => {
                let write = |row: Row<'_>, out: &mut Vec<u8>| {
                    let counted = Counted {
                        active: active(row.0),
                        count: row.0.count,
                    };
                    counted.write(out);
                };
                self.rows(&list, wildmat.as_ref(), write).await
            }
            Listing::Newsgroups(wildmat) => {
                let write = |(row, description): Row<'_>, out: &mut Vec<u8>| {
                    let described = Described {
                        newsgroup: row.name.as_str(),
                        text: description.as_bytes(),
                    };
                    described.write(out);
                };
                // Of a newsgroup about which nobody says anything there is nothing to list.
                let wildmat = wildmat.as_ref();
                let rows = list.rows().map(|row| {
                    let wanted = wildmat.is_none_or(|one| one.matches(row.0.name.as_str()));
                    (wanted && !row.1.is_empty()).then_some(row)
                });
                self.each(rows, write).await
            }
            Listing::Active(wildmat) => {
                let write = |row: Row<'_>, out: &mut Vec<u8>| active(row.0).write(out);
                self.rows(&list, wildmat.as_ref(), write).await
            }
            // Nothing else is a list of newsgroups.
            _ => {
                self.each(std::iter::empty::<Option<Row<'_>>>(), |_, _| {})
                    .await
            }
        }
    }

    async fn numbered_list(&mut self) -> Option<Arc<NumberedList>> {
        let list = self.service.parts.model.numbered_list(READER).await;
        match list {
            Ok(list) => Some(list),
            Err(why) => {
                self.cannot(&why, (code::FAULT, "The newsgroups are not known"));
                None
            }
        }
    }

    /// Writes the rows that match, and the dot at the end.
    async fn rows(
        &mut self,
        list: &NumberedList,
        wildmat: Option<&Wildmat>,
        write: impl Fn(Row<'_>, &mut Vec<u8>),
    ) -> Result<(), Gone> {
        let wanted = |name: &str| wildmat.is_none_or(|wildmat| wildmat.matches(name));
        let rows = list
            .rows()
            .map(|row| wanted(row.0.name.as_str()).then_some(row));
        self.each(rows, write).await
    }

    /// Writes a block with a line for each that is not left out, and the dot at its end.
    pub(super) async fn each<T>(
        &mut self,
        rows: impl Iterator<Item = Option<T>>,
        write: impl Fn(T, &mut Vec<u8>),
    ) -> Result<(), Gone> {
        let (mut block, mut line) = (BlockWriter::new(), Vec::new());
        for (index, row) in rows.enumerate() {
            if index % ROWS == ROWS - 1 {
                tokio::task::yield_now().await;
            }
            if let Some(row) = row {
                line.clear();
                write(row, &mut line);
                block.line(&line, self.wire.out());
                self.wire.flush_if_full().await?;
            }
        }
        block.finish(self.wire.out());
        Ok(())
    }
}

/// A newsgroup and what it is about.
type Row<'a> = (&'a NumberedNewsgroup, &'a str);

/// A newsgroup as LIST ACTIVE has it.
pub(super) fn active(row: &NumberedNewsgroup) -> Active<'_> {
    Active {
        newsgroup: row.name.as_str(),
        high: row.high,
        low: row.low,
        status: match row.posting {
            Posting::Open => PostingStatus::Allowed,
            Posting::Moderated => PostingStatus::Moderated,
            Posting::Closed => PostingStatus::Refused,
        },
    }
}
