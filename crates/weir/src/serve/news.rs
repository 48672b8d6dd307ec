//! Starts the news front.

use anyhow::Context;
use weir_engine::Rate;
use weir_net::Roots;
use weir_news::{Front, NntpSockets, Storage};

use super::fronts::Base;
use super::listen;

pub(super) fn start(base: &Base<'_>) -> anyhow::Result<Front> {
    let (config, section) = (base.config, &base.config.news);
    let outward = base.engines.build(
        "news",
        weir_news::policy(base.engines.general(), section),
        Rate::NONE,
        config.engine.retry_after_max,
    )?;
    let files = Storage {
        state: base.state.clone(),
        news: Some(base.data.join("news.db")),
    };
    let open = |address: Option<_>, key: &str, variable: &str| {
        let open = address.map(|address| listen::socket(address, key, variable));
        open.transpose()
    };
    let plain = ("news.nntp_listen", "WEIR_NEWS__NNTP_LISTEN");
    let secure = ("news.nntps_listen", "WEIR_NEWS__NNTPS_LISTEN");
    let sockets = NntpSockets {
        plain: open(section.nntp_listen, plain.0, plain.1)?,
        secure: open(section.nntps_listen, secure.0, secure.1)?,
    };
    let front = Front::start(section, outward, &Roots::System, files, sockets);
    let front = front.context("cannot start the news front")?;
    for (protocol, address) in front.listening() {
        tracing::info!(front = "news", protocol, %address, "listening");
    }
    Ok(front)
}
