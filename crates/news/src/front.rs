//! Starts and stops the news front.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weir_engine::{Outward, Tryout};
use weir_net::{BoxFuture, Roots};
use weir_store::sqlite::File;
use weir_web::{Contribution, Porter, Refused, Reload, Requests, Staged};

use crate::config::Config;
use crate::contribution::contribution;
use crate::error::Error;
use crate::inbound::nntp::{NntpServer, NntpSockets};
use crate::marks::Marks;
use crate::model::Model;
use crate::posting::outbox::Outbox;
use crate::reader::Reader;
use crate::rules::{nntp, split};
use crate::server::ServedEntry;
use crate::tryout::try_out;

/// Where the news front keeps what it knows.
pub struct Storage {
    /// `state.db`: what signed-in people have read and written.
    pub state: File,
    /// Where `news.db` is: overviews, articles, own numbers. Without it they are kept in memory alone.
    pub news: Option<PathBuf>,
}

/// The running front.
pub struct Front {
    model: Arc<Model>,
    reader: Arc<Reader>,
    nntp: Arc<NntpServer>,
    /// Whether everybody may read.
    public: bool,
}

impl Front {
    /// Starts it; newsreaders at `sockets` are answered from [`weir_web::Front::serve`] on. Called within a runtime.
    ///
    /// # Errors
    /// When its files, its certificate or its way out are not to be had.
    pub fn start(
        config: &Config,
        outward: Outward,
        roots: &Roots,
        files: Storage,
        sockets: NntpSockets,
    ) -> Result<Self, Error> {
        let Storage { state, news } = files;
        let (public, vitals) = (split(config).0.public, outward.engine.vitals().clone());
        let outbox = Outbox::open(Some(state.clone()))?;
        let model = Model::start_with(config, outward, roots, news, outbox)?;
        let marks = Marks::open(state)?;
        let server = NntpServer::new(nntp(config), (model.clone(), public), sockets, vitals)?;
        Ok(Self {
            reader: Reader::with_desk(model.clone(), marks, Arc::new(weir_web::System)),
            model,
            nntp: Arc::new(server),
            public,
        })
    }

    /// Where newsreaders connect, by protocol.
    pub fn listening(&self) -> &[(&'static str, SocketAddr)] {
        self.nntp.listening()
    }
}

impl weir_web::Front for Front {
    fn contribution(&self, requests: &Requests) -> Result<Contribution, Refused> {
        let figures = self.nntp.figures().clone();
        requests.source("news", move || figures.commands());
        let contribution = contribution(&self.model, &self.reader, self.public, &self.nntp);
        Ok(contribution)
    }

    fn serve(&self, porter: &Porter) {
        self.nntp.serve(porter);
    }

    fn look_up_anew(&self) {
        self.model.federation.servers.look_up_anew();
    }

    fn save(&self) -> Result<(), Refused> {
        self.model.engine.hand_over();
        self.model.file.flush();
        Ok(())
    }

    fn leave(&self) {
        self.nntp.leave();
        self.model.lifetime.leave();
    }

    fn stop(&self, drain: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Both at once: sessions end by themselves when the model keeps nobody waiting any more.
            tokio::join!(self.nntp.stop(drain), self.model.stop(drain));
        })
    }

    fn close(&self) {
        self.model.close();
    }
}

impl<C: AsRef<Config>> Reload<C> for Front {
    fn stage(&self, config: &C) -> Result<Staged, Refused> {
        let (model, config) = (self.model.clone(), config.as_ref().clone());
        let (server, rules) = (self.nntp.clone(), nntp(&config).1);
        let tls = server.stage()?;
        Ok(Box::new(move || {
            model.apply(&config);
            server.apply(rules, tls);
        }))
    }

    fn try_out(&self, config: &C, name: &str) -> Option<Tryout> {
        let (_, rules, _) = split(config.as_ref());
        let entry = rules.entries.into_iter().find(|entry| entry.name == name)?;
        let link = rules.link;
        let federation = self.model.federation.clone();
        Some(Box::pin(try_out(federation, ServedEntry { entry, link })))
    }
}
