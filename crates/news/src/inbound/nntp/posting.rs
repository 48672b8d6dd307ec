//! POST.

use bytes::Bytes;
use weir_news_proto::reply::code;

use super::session::{READER, Session};
use super::wire::Gone;
use crate::posting::Poster;

impl Session {
    pub(super) async fn post(&mut self) -> Result<(), Gone> {
        if !self.standing.may_post(&self.service.porter) {
            self.say(code::AUTHENTICATION_NEEDED, "Sign in to post here");
            return Ok(());
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
        // Whoever posts here has the key: names say nothing.
        let poster = Poster::keyholder();
        match model.post(Bytes::from(article), poster, READER).await {
            Ok(id) => self.say(code::POSTED, &format!("Article posted as {id}")),
            Err(why) => self.say(code::POSTING_FAILED, &why.to_string()),
        }
        Ok(())
    }
}
