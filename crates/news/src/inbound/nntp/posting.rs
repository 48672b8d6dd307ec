//! POST.

use weir_news_proto::reply::code;

use super::session::Session;
use super::wire::Gone;

impl Session {
    pub(super) async fn post(&mut self) -> Result<(), Gone> {
        if !self.standing.may_post(&self.service.porter) {
            self.say(code::AUTHENTICATION_NEEDED, "Sign in to post here");
            return Ok(());
        }
        self.say(code::NO_POSTING, "Posting is not possible here");
        Ok(())
    }
}
