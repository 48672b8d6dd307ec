//! ARTICLE, HEAD, BODY and STAT; GROUP, NEXT and LAST.

use std::sync::Arc;

use weir_news_proto::command::Which;
use weir_news_proto::reply::{Located, Selected, code};
use weir_news_proto::{BlockWriter, MessageId, Newsgroup};

use super::article::{body_at, write_head};
use super::session::{Place, READER, Session};
use super::share::HeldBytes;
use super::wire::Gone;
use crate::numbered::NumberedNewsgroup;
use crate::reading::{ReadArticle, Unread};

/// Bytes of an article that are written at once.
const PIECE: usize = 16 * 1024;

/// What of an article is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    Head,
    Body,
    Nothing,
}

impl Part {
    fn code(self) -> u16 {
        match self {
            Self::Whole => code::ARTICLE,
            Self::Head => code::HEAD,
            Self::Body => code::BODY,
            Self::Nothing => code::ARTICLE_EXISTS,
        }
    }
}

/// An article that was asked for, and what is said if it is not there.
struct Wanted {
    /// 0 if it was asked for by its ID.
    number: u64,
    id: MessageId,
    missing: (u16, &'static str),
}

impl Session {
    pub(super) async fn article(&mut self, part: Part, which: Which) -> Result<(), Gone> {
        let Some(wanted) = self.wanted(which).await else {
            return Ok(());
        };
        // Its line says that there is an article with this number; nobody has to send it for that.
        let read = match part == Part::Nothing && wanted.number > 0 {
            true => None,
            false => match self.read(&wanted.id).await {
                Ok(read) => Some(read),
                Err(why) => {
                    self.cannot(&why, wanted.missing);
                    return Ok(());
                }
            },
        };
        if wanted.number > 0 {
            self.move_to(wanted.number);
        }
        let located = Located {
            number: wanted.number,
            id: Some(wanted.id),
        };
        match read.filter(|_| part != Part::Nothing) {
            None => located.write(part.code(), self.wire.out()),
            Some((read, _held)) => {
                located.write(part.code(), self.wire.out());
                self.send(part, &read).await?;
            }
        }
        Ok(())
    }

    /// An article, and the bytes that it takes while it is sent.
    pub(super) async fn read(
        &mut self,
        id: &MessageId,
    ) -> Result<(Arc<ReadArticle>, HeldBytes), Unread> {
        let model = &self.service.parts.model;
        let until = model.deadline();
        let read = model.article(id, READER).await?;
        let held = model.in_time(self.share.hold(read.raw.len()), until).await;
        match held.flatten() {
            Some(held) => Ok((read, held)),
            None => Err(self.no_room()),
        }
    }

    /// The head of an article as we send it.
    pub(super) fn own_head(&self, read: &ReadArticle) -> Vec<u8> {
        let parts = &self.service.parts;
        let xref = parts.model.own_xref(read, &parts.host);
        let mut head = Vec::with_capacity(4096);
        let xref = Some(xref.as_str()).filter(|xref| xref.contains(':'));
        write_head(&read.raw, &parts.host, xref, &mut head);
        head
    }

    /// The block of an article.
    async fn send(&mut self, part: Part, read: &ReadArticle) -> Result<(), Gone> {
        let mut block = BlockWriter::new();
        if part != Part::Body {
            for piece in self.own_head(read).chunks(PIECE) {
                block.piece(piece, self.wire.out());
                self.wire.flush_if_full().await?;
            }
        }
        if part == Part::Whole {
            block.piece(b"\r\n", self.wire.out());
        }
        if part != Part::Head {
            let body = &read.raw[body_at(&read.raw)..];
            for piece in body.chunks(PIECE) {
                block.piece(piece, self.wire.out());
                self.wire.flush_if_full().await?;
            }
        }
        block.finish(self.wire.out());
        Ok(())
    }

    /// Which article is meant; says so if there is none.
    async fn wanted(&mut self, which: Which) -> Option<Wanted> {
        let (newsgroup, number, missing) = match which {
            Which::Id(id) => {
                let missing = (code::NO_ARTICLE_ID, "No news server has this article");
                return Some(Wanted {
                    number: 0,
                    id,
                    missing,
                });
            }
            Which::Number(number) => {
                let missing = (code::NO_ARTICLE_NUMBER, "No article has this number");
                (self.newsgroup()?, number, missing)
            }
            Which::Current => {
                let missing = (code::NO_CURRENT_ARTICLE, "The current article is gone");
                let (newsgroup, number) = self.current()?;
                (newsgroup, number, missing)
            }
        };
        let model = &self.service.parts.model;
        match model.id_at(&newsgroup, number, READER).await {
            Ok(Some(id)) => Some(Wanted {
                number,
                id,
                missing,
            }),
            Ok(None) => {
                self.say(missing.0, missing.1);
                None
            }
            Err(why) => {
                self.cannot(&why, missing);
                None
            }
        }
    }

    pub(super) async fn group(&mut self, name: Newsgroup) {
        if let Some(numbered) = self.marks(&name).await {
            self.select(&numbered);
        }
    }

    /// The marks of a newsgroup; says so if there are none.
    pub(super) async fn marks(&mut self, name: &Newsgroup) -> Option<NumberedNewsgroup> {
        let numbered = self.service.parts.model.numbered(name, READER).await;
        match numbered {
            Ok(numbered) => Some(numbered),
            Err(why) => {
                self.cannot(&why, (code::FAULT, "Nothing is known of this newsgroup"));
                None
            }
        }
    }

    /// Goes into a newsgroup, and writes what it has.
    pub(super) fn select(&mut self, numbered: &NumberedNewsgroup) {
        let NumberedNewsgroup {
            name,
            low,
            high,
            count,
            ..
        } = numbered;
        let selected = Selected {
            count: *count,
            low: *low,
            high: *high,
            newsgroup: Some(name.as_str()),
        };
        selected.write(self.wire.out());
        self.place = Some(Place {
            newsgroup: name.clone(),
            current: (low <= high && *count > 0).then_some(*low),
        });
    }

    /// NEXT and LAST.
    pub(super) async fn step(&mut self, up: bool) {
        let Some((newsgroup, number)) = self.current() else {
            return;
        };
        let none = match up {
            true => (code::NO_NEXT_ARTICLE, "There is no next article"),
            false => (code::NO_PREVIOUS_ARTICLE, "There is no previous article"),
        };
        let model = &self.service.parts.model;
        match model.beside(&newsgroup, number, up, READER).await {
            Ok(Some((number, id))) => {
                self.move_to(number);
                let located = Located {
                    number,
                    id: Some(id),
                };
                located.write(code::ARTICLE_EXISTS, self.wire.out());
            }
            Ok(None) => self.say(none.0, none.1),
            Err(why) => self.cannot(&why, none),
        }
    }
}
