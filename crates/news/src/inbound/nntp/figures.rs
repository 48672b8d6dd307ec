//! What the NNTP server counts, for `/metrics` and `/stats`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use weir_news_proto::Verb;

/// Classes of commands: few, whatever clients send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandKind {
    /// An article or a part of it.
    Article,
    /// A newsgroup is chosen, or its numbers are listed.
    Newsgroup,
    /// Lines of overviews and fields of headers.
    Overview,
    /// Lists of newsgroups and others.
    List,
    /// What is new.
    News,
    /// An article is posted.
    Post,
    /// Signing in.
    SignIn,
    /// About the conversation itself.
    Talk,
    /// No command that we know.
    Unknown,
}

impl CommandKind {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Article, "nntp_article"),
        (Self::Newsgroup, "nntp_newsgroup"),
        (Self::Overview, "nntp_overview"),
        (Self::List, "nntp_list"),
        (Self::News, "nntp_news"),
        (Self::Post, "nntp_post"),
        (Self::SignIn, "nntp_sign_in"),
        (Self::Talk, "nntp_talk"),
        (Self::Unknown, "nntp_unknown"),
    ];

    pub(crate) fn of(verb: Verb) -> Self {
        match verb {
            Verb::Article | Verb::Head | Verb::Body | Verb::Stat | Verb::Next | Verb::Last => {
                Self::Article
            }
            Verb::Group | Verb::ListGroup => Self::Newsgroup,
            Verb::Over | Verb::Xover | Verb::Hdr | Verb::Xhdr | Verb::Xpat => Self::Overview,
            Verb::List => Self::List,
            Verb::NewGroups | Verb::NewNews => Self::News,
            Verb::Post | Verb::Ihave => Self::Post,
            Verb::AuthUser | Verb::AuthPass | Verb::AuthSasl => Self::SignIn,
            Verb::Date
            | Verb::Help
            | Verb::Capabilities
            | Verb::ModeReader
            | Verb::StartTls
            | Verb::CompressDeflate
            | Verb::Quit => Self::Talk,
        }
    }
}

/// The counters; clones share them.
#[derive(Clone, Default)]
pub(crate) struct NntpFigures(Arc<Counted>);

#[derive(Default)]
struct Counted {
    commands: [AtomicU64; CommandKind::ALL.len()],
    open: AtomicUsize,
    encrypted: AtomicUsize,
    compressed: AtomicUsize,
    accepted: AtomicU64,
    wrong_keys: AtomicU64,
    slow: AtomicU64,
    /// When somebody signed in or read something last, in milliseconds since the listener began, plus one.
    last: AtomicU64,
}

/// A kind of connection of which it is counted how many are open.
#[derive(Clone, Copy)]
pub(crate) enum OpenKind {
    /// Any.
    All,
    /// With TLS.
    Encrypted,
    /// With COMPRESS.
    Compressed,
}

/// Counts an open connection until it is dropped.
pub(crate) struct CountedOpen {
    figures: NntpFigures,
    kind: OpenKind,
}

impl NntpFigures {
    pub(crate) fn command(&self, kind: CommandKind) {
        self.0.commands[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Commands so far, by what they are called in metrics.
    pub(crate) fn commands(&self) -> Vec<(&'static str, u64)> {
        let all = CommandKind::ALL.iter();
        all.map(|(kind, name)| {
            (
                *name,
                self.0.commands[*kind as usize].load(Ordering::Relaxed),
            )
        })
        .collect()
    }

    /// A connection, or something it has.
    pub(crate) fn open(&self, kind: OpenKind) -> CountedOpen {
        self.gauge(kind).fetch_add(1, Ordering::Relaxed);
        if let OpenKind::All = kind {
            self.0.accepted.fetch_add(1, Ordering::Relaxed);
        }
        CountedOpen {
            figures: self.clone(),
            kind,
        }
    }

    /// Notes that somebody signed in or may read, in milliseconds since the listener began.
    pub(crate) fn note_success(&self, at: u64) {
        self.0.last.store(at.saturating_add(1), Ordering::Relaxed);
    }

    /// When somebody did that last, since the listener began.
    pub(crate) fn last_success(&self) -> Option<std::time::Duration> {
        let at = self.0.last.load(Ordering::Relaxed).checked_sub(1)?;
        Some(std::time::Duration::from_millis(at))
    }

    /// The same unless there are `most` already.
    pub(crate) fn open_below(&self, kind: OpenKind, most: usize) -> Option<CountedOpen> {
        let update = |open: usize| (open < most).then_some(open + 1);
        let gauge = self.gauge(kind);
        gauge
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, update)
            .ok()?;
        Some(CountedOpen {
            figures: self.clone(),
            kind,
        })
    }

    pub(crate) fn wrong_key(&self) {
        self.0.wrong_keys.fetch_add(1, Ordering::Relaxed);
    }

    /// A client was cut off because it took or sent too little.
    pub(crate) fn slow(&self) {
        self.0.slow.fetch_add(1, Ordering::Relaxed);
    }

    /// How many connections are open.
    pub(crate) fn count(&self, kind: OpenKind) -> usize {
        self.gauge(kind).load(Ordering::Relaxed)
    }

    /// Registers it; names begin with `weir_` already.
    pub(crate) fn register(self, registry: &mut Registry) {
        registry.register_collector(Box::new(self));
    }

    fn gauge(&self, kind: OpenKind) -> &AtomicUsize {
        match kind {
            OpenKind::All => &self.0.open,
            OpenKind::Encrypted => &self.0.encrypted,
            OpenKind::Compressed => &self.0.compressed,
        }
    }
}

impl Drop for CountedOpen {
    fn drop(&mut self) {
        let gauge = self.figures.gauge(self.kind);
        gauge.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for NntpFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NntpFigures")
            .field(&self.count(OpenKind::All))
            .finish()
    }
}

impl Collector for NntpFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, kind) in [
            (
                "nntp_connections",
                "Open connections of newsreaders",
                OpenKind::All,
            ),
            (
                "nntp_connections_encrypted",
                "Those of them with TLS",
                OpenKind::Encrypted,
            ),
            (
                "nntp_connections_compressed",
                "Those of them with COMPRESS",
                OpenKind::Compressed,
            ),
        ] {
            let gauge = ConstGauge::new(i64::try_from(self.count(kind)).unwrap_or(i64::MAX));
            let descriptor = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            gauge.encode(descriptor)?;
        }
        let counted = &*self.0;
        for (name, help, counter) in [
            (
                "nntp_connections_accepted",
                "Connections of newsreaders that were accepted",
                &counted.accepted,
            ),
            (
                "nntp_wrong_keys",
                "Passwords of newsreaders that were refused",
                &counted.wrong_keys,
            ),
            (
                "nntp_slow_clients",
                "Newsreaders that were cut off because they took or sent too little",
                &counted.slow,
            ),
        ] {
            let counter = ConstCounter::new(counter.load(Ordering::Relaxed));
            let descriptor = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            counter.encode(descriptor)?;
        }
        Ok(())
    }
}
