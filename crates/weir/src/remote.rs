//! Talks to a running Weir, or to another program's API, for commands in the terminal.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use weir_config::{Environment, ProcessEnvironment, Secret, SecretUrl};
use weir_net::http::{Client, Limits, Request};
use weir_net::{Reach, Roots, System};

use crate::cli::{self, Usage};
use crate::config::{Config, load};
use crate::serve::Data;

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
    /// What to do if the key is rejected.
    about_key: &'static str,
    /// What to do if there is nobody.
    hint: String,
    /// Bytes of an answer.
    most: usize,
    /// Whether it may have a private address.
    private: bool,
}

/// It rejected the key, and what to do about it.
#[derive(Debug)]
pub struct RejectedKey(String);

impl std::fmt::Display for RejectedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RejectedKey {}

impl Remote {
    /// The API at this address; `about_key` says what to do if the key is rejected.
    ///
    /// # Errors
    /// If the HTTP client cannot be set up.
    pub fn new(base: &str, key: Secret, about_key: &'static str) -> anyhow::Result<Self> {
        let client = Client::new(Arc::new(System::new()), Roots::System, Limits::default())?;
        Ok(Self {
            client,
            base: base.trim_end_matches('/').to_owned(),
            key,
            about_key,
            hint: String::new(),
            most: ANSWER,
            private: true,
        })
    }

    /// The same with less trust in whoever answers, because the address came over the network.
    #[must_use]
    pub(crate) fn bounded(self, most: usize, private: bool) -> Self {
        Self {
            most,
            private,
            ..self
        }
    }

    /// The running Weir that flags, environment or configuration point to.
    ///
    /// # Errors
    /// If the configuration has mistakes, or there is no key.
    pub fn running(flags: cli::Remote) -> anyhow::Result<Self> {
        let cli::Remote { url, key, place } = flags;
        let given = key.or_else(|| variable(KEY));
        let url = url.or_else(|| variable(URL));
        let config = match (&url, &given) {
            (Some(_), Some(_)) => None,
            _ => Some(load(&place.sources())?.config),
        };
        let hint = match (&url, &config) {
            (None, Some(config)) if !Data::is_in_use(&config.data) => format!(
                ". No Weir is running with {}: start it with `weir serve`, or give its address with --url",
                config.data.display()
            ),
            (None, _) => ". Give the address of the running Weir with --url".to_owned(),
            (Some(_), _) => ". Check the address, and that Weir is running there".to_owned(),
        };
        let base = match (url, &config) {
            (Some(url), _) => url,
            (None, Some(config)) => {
                // We do not know the flags of the running Weir, but it has noted its address. Once it has stopped, anybody
                // may listen there, and must not be sent the key.
                let noted = Data::is_in_use(&config.data)
                    .then(|| weir_web::noted_address(&config.data.join("state.db")));
                let noted = noted.flatten();
                format!("http://{}", reachable(noted.unwrap_or(config.web.listen)))
            }
            (None, None) => bail!("give the address with --url"),
        };
        let key = match (given, config) {
            (Some(key), _) => Secret::new(key),
            (None, Some(config)) => configured(&config)?,
            (None, None) => bail!("give the key with --key or WEIR_KEY"),
        };
        let remote = Self::new(&base, key, "give the right one with --key or WEIR_KEY")?;
        Ok(Self { hint, ..remote })
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
        serde_json::from_slice(&body).map_err(|_| self.not_its_api())
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
        serde_json::from_slice(&body).map_err(|_| self.not_its_api())
    }

    async fn ask(&self, path: &str, post: Option<&str>) -> anyhow::Result<Vec<u8>> {
        let url = format!("{}{path}", self.base);
        let url = SecretUrl::parse(&url).filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.with_context(|| format!("{} is not an http or https address", self.base))?;
        let request = Request {
            body_limit: self.most,
            reach: match self.private {
                true => Reach::Everywhere,
                false => Reach::Public,
            },
            accept: "application/json, */*;q=0.1",
            // Not what Weir calls itself when it asks another Weir.
            user_agent: concat!("weir-search/", env!("CARGO_PKG_VERSION")),
            headers: &[("X-Api-Key", self.key.expose())],
            post,
            ..Request::new(&url)
        };
        let answer = tokio::time::timeout(PATIENCE, self.client.get(&request)).await;
        let base = &self.base;
        let answer = answer
            .with_context(|| format!("{base} does not answer"))?
            .map_err(|error| {
                let error = anyhow::Error::from(error);
                anyhow!("{base} cannot be reached: {error:#}{}", self.hint)
            })?;
        let said = said(&answer.body);
        match (answer.status, said) {
            (200..300, _) => Ok(answer.body.to_vec()),
            (401 | 403, _) => Err(self.rejected_key()),
            // Whatever was sent has a mistake in it.
            (400 | 422, Some(said)) if post.is_some() => Err(Usage(said).into()),
            (status, Some(said)) => bail!("{base} answered {status}: {said}"),
            (300..400, None) => bail!("{base} redirects elsewhere; check the address"),
            (404, None) => bail!("{base} has no such API (it answered 404); check the address"),
            (status, None) => bail!("{base} answered {status}"),
        }
    }

    /// The key was rejected, and what to do about it.
    pub fn rejected_key(&self) -> anyhow::Error {
        let text = format!("{} rejected the key; {}", self.base, self.about_key);
        RejectedKey(text).into()
    }

    /// What answered is something else. Where in its page the JSON ended helps nobody.
    fn not_its_api(&self) -> anyhow::Error {
        anyhow!(
            "{} answered, but not with JSON; check the address",
            self.base
        )
    }
}

/// Whether flags or environment name the address of a Weir, so that the configuration here is not its.
pub(crate) fn is_elsewhere(flags: &cli::Remote) -> bool {
    flags.url.is_some() || variable(URL).is_some()
}

fn variable(name: &str) -> Option<String> {
    let mut variables = ProcessEnvironment.variables().into_iter();
    let (_, value) = variables.find(|(other, _)| other == name)?;
    value.filter(|value| !value.is_empty())
}

/// The message of an error, if the API sent one. Other programs send pages for browsers, which nobody wants to read in a
/// terminal.
fn said(body: &[u8]) -> Option<String> {
    let json: Value = serde_json::from_slice(body).ok()?;
    let error = json["error"].as_str()?;
    // Without control characters, so that it cannot move the cursor.
    Some(
        error
            .chars()
            .filter(|letter| !letter.is_control())
            .collect(),
    )
}

fn configured(config: &Config) -> anyhow::Result<Secret> {
    if let Some(key) = &config.web.api_key {
        return Ok(key.clone());
    }
    let state = config.data.join("state.db");
    let kept = weir_web::kept_key(&state).ok().flatten();
    kept.with_context(|| {
        format!(
            "there is no key in {}. If Weir keeps its data elsewhere, give --data; if it runs on another machine, give --url and --key (or WEIR_KEY)",
            state.display()
        )
    })
}

/// The address at which a program on this machine can connect. `[::]` opens IPv4 too, and on a machine without IPv6 that
/// alone.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
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
        assert_eq!(shown("[::]:7070"), "127.0.0.1:7070");
        assert_eq!(shown("192.0.2.7:80"), "192.0.2.7:80");
    }
}
