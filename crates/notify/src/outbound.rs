//! Sends one message to one hook.
//!
//! The status alone says whether it arrived: a hook that takes a message and then sends a long or broken body has taken
//! it, and must not get it again.

use std::sync::Arc;

use weir_config::{Secret, SecretUrl, Secrets, is_local_name};
use weir_engine::Fault;
use weir_net::http::{Client, Limits, Request};
use weir_net::{Error, Ground, Home, Reach, is_private};

use crate::config::hook::{HookKind, topic};
use crate::judge::HookFault;
use crate::message::Message;
use crate::rules::{HookRules, HookWay, NtfyRules};
use crate::{seal, shape};

/// Bytes of an answer that are read; it is at most quoted.
const ANSWER: usize = 64 << 10;
/// Parts of a path that are shorter are words and not keys.
const SECRET_IN_PATH: usize = 6;

/// The way out for all hooks.
pub(crate) struct Outbound {
    http: Client,
    /// Whether hooks may have private addresses.
    private: bool,
}

/// Where a hook is, who we are there, and what it takes.
pub(crate) struct HookAddress {
    url: SecretUrl,
    home: Home,
    kind: HookKind,
    ntfy: NtfyRules,
    topic: String,
    secret: Option<Secret>,
    token: Option<Secret>,
    proxy: Option<SecretUrl>,
    secrets: Secrets,
    /// Whether it is in the same network, and can be told that the way out of it is down.
    pub(crate) is_near: bool,
}

impl HookAddress {
    pub(crate) fn new(rules: HookRules) -> Self {
        let HookRules {
            kind, way, ntfy, ..
        } = rules;
        let HookWay {
            url,
            secret,
            token,
            proxy,
        } = way;
        let in_path = |part: &str| part.len() >= SECRET_IN_PATH;
        let key = secret.as_ref().or(token.as_ref());
        let secrets = Secrets::of(&url, key, in_path);
        // A message to ntfy goes to the server and names its topic.
        let (url, topic) = match kind {
            HookKind::Ntfy => topic(&url).unwrap_or((url, String::new())),
            HookKind::Webhook | HookKind::Discord | HookKind::Slack => (url, String::new()),
        };
        let is_near = match url.host() {
            Some(url::Host::Ipv4(address)) => is_private(address.into()),
            Some(url::Host::Ipv6(address)) => is_private(address.into()),
            Some(url::Host::Domain(name)) => is_local_name(name),
            None => false,
        };
        Self {
            home: Home::new(&url),
            is_near: is_near && proxy.is_none(),
            url,
            kind,
            ntfy,
            topic,
            secret,
            token,
            proxy,
            secrets,
        }
    }

    /// Where it is, without secrets.
    pub(crate) fn place(&self) -> String {
        self.url.place()
    }

    pub(crate) fn look_up_anew(&self) {
        self.home.forget();
    }
}

impl Outbound {
    pub(crate) fn new(ground: Arc<dyn Ground>, private: bool) -> Result<Self, Error> {
        let limits = Limits {
            // Messages are rare. One that meets a connection which the other side has closed meanwhile could be lost, and
            // must not be sent twice.
            idle: 0,
            idle_per_upstream: 0,
            ..Limits::default()
        };
        let http = Client::new(ground, weir_net::Roots::System, limits)?;
        Ok(Self { http, private })
    }

    /// Sends a message; returns the status that it was taken with.
    pub(crate) async fn send(
        &self,
        address: &HookAddress,
        message: &Message,
    ) -> Result<u16, HookFault> {
        let body = shape::body(address.kind, message, &address.ntfy, &address.topic);
        let timestamp = message.at.as_second().to_string();
        let secret = address.secret.as_ref();
        let signature = secret.map(|key| seal::signature(key.expose(), &timestamp, &body));
        let bearer = address.token.as_ref();
        let bearer = bearer.map(|token| format!("Bearer {}", token.expose()));
        let mut headers: Vec<(&str, &str)> = Vec::new();
        if address.kind == HookKind::Webhook {
            headers.push(("X-Weir-Timestamp", &timestamp));
        }
        headers.extend(signature.iter().map(|text| ("X-Weir-Signature", &**text)));
        headers.extend(bearer.iter().map(|text| ("Authorization", &**text)));
        let request = Request {
            proxy: address.proxy.as_ref(),
            body_limit: ANSWER,
            reach: match self.private {
                true => Reach::Home(&address.home),
                false => Reach::Public,
            },
            headers: &headers,
            post: Some(&body),
            by_status: true,
            ..Request::new(&address.url)
        };
        let response = self.http.get(&request).await.map_err(Fault::from)?;
        match Fault::of_status(response.status, response.retry_after) {
            None => Ok(response.status),
            Some(Fault::Status(status @ 300..400)) => Err(HookFault::Moved(status)),
            Some(Fault::Status(status)) => {
                let words = String::from_utf8_lossy(&response.body);
                let words = address.secrets.words(words.trim());
                Err(match words.is_empty() {
                    true => Fault::Status(status).into(),
                    false => HookFault::Said(status, words),
                })
            }
            Some(fault) => Err(fault.into()),
        }
    }
}
