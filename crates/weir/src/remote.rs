//! Talks to a running Weir, or to another program's API, for commands in the terminal.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;
use weir_config::{Environment, ProcessEnvironment, Secret, SecretUrl};
use weir_net::http::{Client, Limits, Request};
use weir_net::{Reach, Roots, System};

use crate::cli;
use crate::config::{Config, load};

/// Maximum size of an answer.
const ANSWER: usize = 64 << 20;
/// The environment variables with key and address.
const KEY: &str = "WEIR_KEY";
const URL: &str = "WEIR_URL";
/// Timeout of one request.
const PATIENCE: Duration = Duration::from_secs(30);

/// An API and its key.
pub struct Remote {
    client: Client,
    base: String,
    key: Secret,
}

impl Remote {
    /// The API at this address.
    ///
    /// # Errors
    /// If the HTTP client cannot be set up.
    pub fn new(base: &str, key: Secret) -> anyhow::Result<Self> {
        let client = Client::new(Arc::new(System::new()), Roots::System, Limits::default())?;
        Ok(Self {
            client,
            base: base.trim_end_matches('/').to_owned(),
            key,
        })
    }

    /// The running Weir that flags, environment or configuration point to.
    ///
    /// # Errors
    /// If the configuration has mistakes, or there is no key.
    pub fn running(flags: cli::Remote) -> anyhow::Result<Self> {
        let cli::Remote { url, key, settings } = flags;
        let given = key.or_else(|| variable(KEY));
        let url = url.or_else(|| variable(URL));
        let config = match (&url, &given) {
            (Some(_), Some(_)) => None,
            _ => Some(load(&settings.sources())?.config),
        };
        let base = match (url, &config) {
            (Some(url), _) => url,
            (None, Some(config)) => format!("http://{}", reachable(config.web.listen)),
            (None, None) => bail!("give the address with --url"),
        };
        let key = match (given, config) {
            (Some(key), _) => Secret::new(key),
            (None, Some(config)) => configured(&config)?,
            (None, None) => bail!("give the key with --key or WEIR_KEY"),
        };
        Self::new(&base, key)
    }

    /// Its address, without a slash at the end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Gets JSON.
    ///
    /// # Errors
    /// If there is no answer, or an error status.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let body = self.ask(path, None).await?;
        serde_json::from_slice(&body).with_context(|| self.not_its_api())
    }

    /// Gets bytes.
    ///
    /// # Errors
    /// As [`Remote::get`].
    pub async fn bytes(&self, path: &str) -> anyhow::Result<Vec<u8>> {
        self.ask(path, None).await
    }

    /// Sends JSON and gets JSON.
    ///
    /// # Errors
    /// As [`Remote::get`].
    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let body = self.ask(path, Some(&body.to_string())).await?;
        serde_json::from_slice(&body).with_context(|| self.not_its_api())
    }

    async fn ask(&self, path: &str, post: Option<&str>) -> anyhow::Result<Vec<u8>> {
        let url = format!("{}{path}", self.base);
        let url = SecretUrl::parse(&url).filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.with_context(|| format!("{} is not an http or https address", self.base))?;
        let request = Request {
            body_limit: ANSWER,
            reach: Reach::Everywhere,
            accept: "application/json, */*;q=0.1",
            headers: &[("X-Api-Key", self.key.expose())],
            post,
            ..Request::new(&url)
        };
        let answer = tokio::time::timeout(PATIENCE, self.client.get(&request)).await;
        let base = &self.base;
        let answer = answer
            .with_context(|| format!("{base} does not answer"))?
            .with_context(|| format!("{base} cannot be reached"))?;
        match answer.status {
            200..300 => Ok(answer.body.to_vec()),
            401 | 403 => {
                bail!("{base} rejected the key; give the right one with --key or WEIR_KEY")
            }
            status => bail!("{base} answered {status}: {}", said(&answer.body)),
        }
    }

    fn not_its_api(&self) -> String {
        format!("{} did not send JSON; check the address", self.base)
    }
}

fn variable(name: &str) -> Option<String> {
    let mut variables = ProcessEnvironment.variables().into_iter();
    let (_, value) = variables.find(|(other, _)| other == name)?;
    value.filter(|value| !value.is_empty())
}

/// The message of an error.
fn said(body: &[u8]) -> String {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    let error = json.as_ref().and_then(|json| json["error"].as_str());
    match error {
        Some(error) => error.to_owned(),
        None => String::from_utf8_lossy(&body[..body.len().min(200)])
            .trim()
            .to_owned(),
    }
}

fn configured(config: &Config) -> anyhow::Result<Secret> {
    if let Some(key) = &config.web.api_key {
        return Ok(key.clone());
    }
    let state = config.data.join("state.db");
    let kept = weir_web::kept_key(&state).ok().flatten();
    kept.with_context(|| {
        format!(
            "there is no key in {}. If Weir does not run on this machine, give --url and --key (or WEIR_KEY)",
            state.display()
        )
    })
}

/// The address at which a program on this machine can connect.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_for_all_is_shown_as_one_that_opens() {
        let shown = |text: &str| reachable(text.parse().unwrap()).to_string();
        assert_eq!(shown("0.0.0.0:7070"), "127.0.0.1:7070");
        assert_eq!(shown("[::]:7070"), "[::1]:7070");
        assert_eq!(shown("192.0.2.7:80"), "192.0.2.7:80");
    }
}
