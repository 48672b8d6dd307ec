//! Tries a news server that is not saved yet: connects, signs in and asks for its time. Nothing of it is kept.

use std::sync::Arc;

use parking_lot::Mutex;
use weir_engine::{
    About, Call, Fault, Outcome, Permit, TryoutFault, TryoutFound, TryoutKeys, TryoutResult,
};
use weir_net::{BoxFuture, Error};
use weir_news_proto::MessageId;

use crate::federation::Federation;
use crate::judge::NewsFault;
use crate::outbound::Link;
use crate::policy::quota;
use crate::server::{ServedEntry, has_same_way};

const KEYS: TryoutKeys = TryoutKeys {
    address: "host",
    secret: "password",
    encryption: "tls",
    proxy: None,
};

/// Asks a server, through the engine.
pub(crate) async fn try_out(federation: Arc<Federation>, served: ServedEntry) -> TryoutResult {
    use weir_engine::Listed;
    let known = federation.servers.find_by(|one| {
        let mut entry = one.entry().clone();
        entry.name.clone_from(&served.entry.name);
        let before = ServedEntry {
            entry,
            link: Listed::entry(one).link,
        };
        has_same_way(&before, &served)
    });
    let (quota, time_out) = (quota(&served.link, &served.entry), served.entry.timeout);
    // Its own connections if it has some: an account that has all of them in use may have no other.
    let link = match &known {
        Some(known) => known.link.clone(),
        None => Arc::new(federation.outbound.link(&served.link, &served.entry)),
    };
    let closing = Closing(known.is_none().then(|| link.clone()));
    let signs_in = served.entry.username.is_some();
    let call = Arc::new(TryoutCall {
        link: link.clone(),
        signs_in,
        said: Mutex::default(),
    });
    let upstream = known.map(|known| known.upstream);
    let ended = federation
        .engine
        .try_out(upstream, quota, time_out, call.clone());
    let ended = ended.await;
    let said = call.said.lock().take();
    let result = match said {
        Some(Ok(())) => Ok(found(&link, signs_in)),
        Some(Err(fault)) => Err(explain(&fault)),
        None => Err(TryoutFault::unanswered(&ended, time_out, KEYS)),
    };
    drop(closing);
    result
}

/// A way that nobody needs afterwards.
struct Closing(Option<Arc<Link>>);

impl Drop for Closing {
    fn drop(&mut self) {
        if let Some(link) = &self.0 {
            link.close();
        }
    }
}

struct TryoutCall {
    link: Arc<Link>,
    signs_in: bool,
    /// What came of it.
    said: Mutex<Option<Result<(), NewsFault>>>,
}

impl Call for TryoutCall {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let said = self.ask().await;
            let outcome = match &said {
                Ok(()) => Outcome::Done,
                Err(fault) => {
                    permit.explain(fault.to_string());
                    fault.outcome(&permit)
                }
            };
            *self.said.lock() = Some(said);
            outcome
        })
    }

    fn about(&self) -> About {
        About::Text("its time".into())
    }
}

impl TryoutCall {
    /// Asks for its time, which is the shortest answer there is. Many servers tell it to everybody and only articles to those
    /// who have signed in: who has no account asks for one that nobody has as well.
    async fn ask(&self) -> Result<(), NewsFault> {
        self.link.date().await?;
        if self.signs_in {
            return Ok(());
        }
        let Ok(id) = MessageId::from_bare("tryout@weir.invalid") else {
            return Ok(());
        };
        match self.link.has(&id).await {
            Err(fault @ NewsFault::LoginWanted) => Err(fault),
            _ => Ok(()),
        }
    }
}

fn found(link: &Link, signs_in: bool) -> TryoutFound {
    let encryption = match link.is_encrypted() {
        Some(true) => "encrypted with TLS",
        _ => "not encrypted",
    };
    let sign_in = match signs_in {
        true => "signed in",
        false => "no sign-in needed",
    };
    TryoutFound {
        facts: vec![encryption.to_owned(), sign_in.to_owned()],
        told: Vec::new(),
    }
}

/// What is wrong, and at which field.
fn explain(fault: &NewsFault) -> TryoutFault {
    let what = fault.to_string();
    match fault {
        NewsFault::Fault(Fault::Net(Error::NotTls)) => {
            TryoutFault::new(KEYS.encryption, what, "Choose starttls, or another port.")
        }
        NewsFault::Fault(fault) => TryoutFault::of(fault, KEYS),
        NewsFault::LoginWanted => {
            TryoutFault::new("username", what, "Enter the user name and the password.")
        }
        NewsFault::Login(_) => {
            TryoutFault::new(KEYS.secret, what, "Check the user name and the password.")
        }
        NewsFault::NoEncryption => TryoutFault::new(
            KEYS.encryption,
            what,
            "Check the port; without encryption, leave user name and password empty.",
        ),
        NewsFault::Garbled(_) | NewsFault::Silent => TryoutFault::new(
            KEYS.address,
            what,
            "Check that host and port are those of a news server.",
        ),
        NewsFault::Closed(_) => {
            TryoutFault::elsewhere(what, "Ask its operator whether this address may connect.")
        }
        _ => TryoutFault::elsewhere(what, "Try again later."),
    }
}
