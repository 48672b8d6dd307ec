//! LIST of newsgroups, NEWGROUPS and NEWNEWS.

use std::sync::Arc;

use weir_news_proto::Wildmat;
use weir_news_proto::command::Listing;
use weir_news_proto::list::{Active, Counted, Described, PostingStatus};
use weir_news_proto::reply::code;

use super::session::{READER, Session};
use super::wire::Gone;
use crate::numbered::{NumberedList, NumberedNewsgroup};
use crate::reading::Posting;

/// Rows that are looked at before others have a turn: a wildmat can be made to take long over each.
const ROWS: usize = 128;

impl Session {
    /// LIST ACTIVE, COUNTS and NEWSGROUPS.
    pub(super) async fn list_newsgroups(&mut self, listing: &Listing) -> Result<(), Gone> {
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
                self.rows(&list, wildmat.as_ref(), write).await
            }
            Listing::Active(wildmat) => {
                let write = |row: Row<'_>, out: &mut Vec<u8>| active(row.0).write(out);
                self.rows(&list, wildmat.as_ref(), write).await
            }
            _ => self.rows(&list, None, |_, _| {}).await,
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
        for (index, row) in list.rows().enumerate() {
            if index % ROWS == ROWS - 1 {
                tokio::task::yield_now().await;
            }
            let name = row.0.name.as_str();
            if wildmat.is_some_and(|wildmat| !wildmat.matches(name)) {
                continue;
            }
            let out = self.wire.out();
            if name.starts_with('.') {
                out.push(b'.');
            }
            write(row, out);
            out.extend_from_slice(b"\r\n");
            self.wire.flush_if_full().await?;
        }
        self.wire.out().extend_from_slice(b".\r\n");
        Ok(())
    }
}

/// A newsgroup and what it is about.
type Row<'a> = (&'a NumberedNewsgroup, &'a str);

fn active(row: &NumberedNewsgroup) -> Active<'_> {
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
