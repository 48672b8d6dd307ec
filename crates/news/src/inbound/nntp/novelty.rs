//! NEWGROUPS, NEWNEWS and LIST ACTIVE.TIMES.

use weir_news_proto::Wildmat;
use weir_news_proto::reply::code;

use super::session::Session;
use super::wire::Gone;

impl Session {
    pub(super) async fn new_groups(&mut self, _since: i64) -> Result<(), Gone> {
        self.say(code::UNSUPPORTED, "Not kept");
        Ok(())
    }

    pub(super) async fn new_news(&mut self, _wildmat: &Wildmat, _since: i64) -> Result<(), Gone> {
        if !self.service.parts.rules.load().newnews {
            self.say(code::REFUSED, "NEWNEWS is switched off here");
            return Ok(());
        }
        self.say(code::UNSUPPORTED, "Not kept");
        Ok(())
    }
}
