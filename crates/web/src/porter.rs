//! Who a client of another listener is, by the rules of this one: the same addresses are near, the same keys are right, and
//! wrong ones count together, wherever they are sent.

use std::{net::IpAddr, sync::Arc};

use axum::http::HeaderMap;
use tokio::sync::watch;

use crate::access::refused_as;
use crate::auth::Sought;
use crate::auth::secrets::Hash;
use crate::auth::site::Site;
use crate::seats::Holder;
use crate::{App, Auth, Client, Lookout, Refusal, Right};

/// Judges clients of a front's own listener. A cheap handle, which follows reloads.
#[derive(Clone)]
pub struct Porter(App);

/// By which key somebody came in; says nothing of the key itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyMark(Hash);

impl Porter {
    pub(crate) fn new(app: App) -> Self {
        Self(app)
    }

    /// A view of all fronts, for a front that tells people of the others.
    pub fn lookout(&self) -> Lookout {
        Lookout::new(self.0.clone())
    }

    /// The client at an address. Its protocol has no forwarding headers, so whoever connects speaks for itself: a tunnel
    /// that ends on this machine makes everybody behind it look as if they were here.
    pub fn client(&self, peer: IpAddr) -> Client {
        let settings = self.0.keeper().settings();
        Client::judge(peer, &HeaderMap::new(), &settings.rules)
    }

    /// Whose places its connections take: this machine and `web.trusted` have their own.
    pub fn holder(&self, client: &Client) -> Holder {
        Holder::at(client.address, |_| client.near())
    }

    /// Whether nobody needs a key, by `web.auth`.
    pub fn is_open(&self) -> bool {
        self.0.keeper().settings().rules.auth == Auth::None
    }

    /// Whether upstreams and clients are made up.
    pub fn is_demo(&self) -> bool {
        self.0.is_demo()
    }

    /// Looks once whether another node has made a key that is not known here, before [`Porter::key`] refuses it. Returns at
    /// once if it is known, or there is one node alone, and after 300 ms at most.
    pub async fn look_for(&self, given: &str, client: &Client) {
        let sought = Sought {
            session: None,
            key: Some(given.to_owned()),
            site: Site::Ours,
        };
        self.0.keeper().look_for(&sought, client).await;
    }

    /// Checks a key; wrong ones are counted by address together with those that are sent to the web listener.
    ///
    /// # Errors
    /// Why it was not accepted.
    pub fn key(&self, given: &str, client: &Client) -> Result<KeyMark, Refusal> {
        let (keeper, now) = (self.0.keeper(), self.0.now());
        let checked = keeper.key(given, client, Site::Ours);
        let bearer = checked.map_err(|refused| refused_as(refused, now))?;
        Ok(KeyMark(bearer.print))
    }

    /// Whether a key that was right still is: it may have been revoked, or another first one may be in force.
    pub fn holds(&self, mark: &KeyMark) -> bool {
        self.0.keeper().bearer(&mark.0).is_some()
    }

    /// What a key allows; nothing if it no longer holds.
    pub fn right(&self, mark: &KeyMark) -> Option<Right> {
        Some(self.0.keeper().bearer(&mark.0)?.right)
    }

    /// The name of a key; `None` for the first one.
    pub fn key_name(&self, mark: &KeyMark) -> Option<Arc<str>> {
        self.0.keeper().bearer(&mark.0)?.name
    }

    /// Changes each time that keys no longer hold which did.
    pub fn key_ends(&self) -> watch::Receiver<()> {
        self.0.keeper().key_ends()
    }
}
