//! POST.

use bytes::Bytes;
use weir_news_proto::reply::code;
use weir_web::Right;

use super::session::{READER, Session};
use super::wire::Gone;

impl Session {
    pub(super) async fn post(&mut self) -> Result<(), Gone> {
        match self.standing.may_post(&self.service.porter) {
            Ok(()) => {}
            Err(None) => {
                self.say(code::AUTHENTICATION_NEEDED, "Sign in to post here");
                return Ok(());
            }
            // Another key would do, but not on this connection: nobody signs in twice (RFC 4643, section 2.2).
            Err(Some(has)) => {
                let (needs, has) = (Right::Post.words(), has.words());
                let text =
                    format!("Posting needs a key with the right \"{needs}\"; yours has \"{has}\"");
                self.say(code::NO_POSTING, &text);
                return Ok(());
            }
        }
        let model = self.service.parts.model.clone();
        if model.federation.servers.all().is_empty() {
            self.say(code::NO_POSTING, "No news server is configured");
            return Ok(());
        }
        let limit = self.service.parts.rules.load().post_bytes;
        let held = model.in_time(self.share.hold(limit), model.deadline());
        let Some(_held) = held.await.flatten() else {
            self.say(code::FAULT, "Too much is being sent: try again soon");
            return Ok(());
        };
        self.say(
            code::SEND_ARTICLE,
            "Send the article, and a dot on a line by itself",
        );
        self.wire.flush().await?;
        let Ok(article) = self.wire.block(limit).await? else {
            let text = format!("The article is larger than {limit} bytes");
            self.say(code::POSTING_FAILED, &text);
            return Ok(());
        };
        let poster = self.standing.poster(&self.service.porter);
        match model.post(Bytes::from(article), poster, READER).await {
            Ok(id) => self.say(code::POSTED, &format!("Article posted as {id}")),
            Err(why) => self.say(code::POSTING_FAILED, &why.to_string()),
        }
        Ok(())
    }
}
