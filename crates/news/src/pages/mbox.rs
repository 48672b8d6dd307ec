//! `/news/{newsgroup}/{root}/mbox`: a whole thread for a mail program. Pages of the thread are fetched one after the other
//! while they are sent, so that a thread of any size costs the memory of one page.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream;
use weir_news_proto::article::{safe_name, write_mbox};
use weir_news_proto::{MessageId, Newsgroup};

use super::forms::{answer, attached};
use super::message::titled;
use crate::model::ThreadPlace;
use crate::reader::Reader;
use crate::reading::{Content, Message, ThreadView, Unread};

/// Where sending is.
struct Mailbox {
    reader: Arc<Reader>,
    newsgroup: Newsgroup,
    root: MessageId,
    /// What is sent next; afterwards the page to fetch.
    view: Option<Arc<ThreadView>>,
    page: usize,
    pages: usize,
}

/// The answer, from the first page on.
pub(crate) fn send(
    reader: Arc<Reader>,
    newsgroup: Newsgroup,
    root: MessageId,
    first: Arc<ThreadView>,
) -> Response {
    let name = match safe_name(&titled(&first.subject)).as_str() {
        "" => "thread.mbox".to_owned(),
        name => format!("{name}.mbox"),
    };
    let mailbox = Mailbox {
        reader,
        newsgroup,
        root,
        page: 0,
        pages: first.pages,
        view: Some(first),
    };
    let pages = stream::unfold(mailbox, |mut mailbox| async move {
        let bytes = mailbox.next().await?;
        Some((bytes, mailbox))
    });
    let response = answer(
        "application/mbox",
        "sandbox; default-src 'none'",
        Body::from_stream(pages),
    );
    attached(response, &name)
}

impl Mailbox {
    /// The next page. An error ends the answer before its end, so that nobody takes a part for the whole.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let view = match self.view.take() {
            Some(view) => view,
            None if self.page >= self.pages => return None,
            None => {
                let place = ThreadPlace::Page(self.page);
                let library = &self.reader.library;
                match library.thread(&self.newsgroup, &self.root, place).await {
                    Ok(view) => view,
                    // The thread has fewer pages than before.
                    Err(Unread::NoPage { .. }) => return None,
                    Err(_) => {
                        self.page = self.pages;
                        return Some(Err(io::Error::other("a page could not be fetched")));
                    }
                }
            }
        };
        self.page += 1;
        let lacks = |message: &Message| matches!(message.content, Content::Unreachable(_));
        if view.messages.iter().any(lacks) {
            // A download that is cut off is seen; a part that looks whole is not.
            self.page = self.pages;
            return Some(Err(io::Error::other("an article could not be fetched")));
        }
        Some(Ok(written(&view).into()))
    }
}

fn written(view: &ThreadView) -> Vec<u8> {
    let mut out = Vec::new();
    for message in &view.messages {
        if let Content::Read(read) = &message.content {
            let head = &read.article.head;
            let date = head.date.seconds.unwrap_or_default();
            write_mbox(&mut out, &read.raw, &head.from.address, date);
        }
    }
    out
}
