//! Shows the shell with sample contributions: `cargo run -p weir-web --example preview`. Ends with Ctrl-C.

mod upstreams;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::{Router, routing::get};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use weir_store::sqlite::File;
use weir_web::{
    App, Card, CardState, CardView, Config, Contribution, Figure, Icon, NavEntry, NavGroup,
    Requests, Right, System, Visitor,
};

use self::upstreams::Samples;

struct Sample(CardView);

impl Card for Sample {
    fn view(&self) -> CardView {
        self.0.clone()
    }

    fn thresholds(&self) -> Vec<(u32, &'static str)> {
        match self.0.figures.is_empty() {
            true => Vec::new(),
            false => vec![(60, "top-N"), (80, "tokens")],
        }
    }
}

fn sample(
    state: CardState,
    sentence: &str,
    figures: &[(&str, &str)],
    lines: Option<&str>,
) -> Arc<dyn Card> {
    Arc::new(Sample(CardView {
        state,
        sentence: sentence.to_owned(),
        figures: figures
            .iter()
            .map(|(label, value)| Figure {
                label: (*label).into(),
                value: (*value).into(),
                flow: false,
            })
            .collect(),
        lines: lines.map(ToOwned::to_owned),
    }))
}

fn contributions(trackers: Arc<Samples>, indexers: Arc<Samples>) -> Vec<Contribution> {
    let tracker = sample(
        CardState::Answering,
        "Answers announces on port 6969, over HTTP and UDP.",
        &[("Swarms", "1,204"), ("Peers", "8,810")],
        None,
    );
    let search = sample(CardState::Answering, "3 of 5 indexers are open.", &[], None);
    let news = sample(
        CardState::Unconfigured,
        "No news server is set up, so there are no newsgroups.",
        &[],
        Some("news:\n  servers:\n    - name: main\n      host: news.example"),
    );
    let page = |title: &'static str| {
        get(move |visitor: Visitor| async move {
            visitor.page(title, &format!("<h1>{title}</h1><p>A sample page.</p>"))
        })
    };
    let entry = |label, href, icon, key, group, phone| NavEntry {
        label,
        href,
        icon,
        key,
        group,
        place: 2,
        phone,
        needs: Right::Read,
    };
    vec![
        Contribution::new("tracker", "Tracker", Icon::Tracker)
            .card(tracker)
            .stats(trackers.clone())
            .upstreams(trackers)
            .router(Right::Read, Router::new().route("/swarms", page("Swarms")))
            .nav(entry(
                "Swarms",
                "/swarms",
                Icon::Tracker,
                'w',
                NavGroup::Watch,
                false,
            )),
        Contribution::new("search", "Search", Icon::Search)
            .card(search)
            .stats(indexers.clone())
            .upstreams(indexers)
            .router(Right::Read, Router::new().route("/search", page("Search")))
            .nav(entry(
                "Search",
                "/search",
                Icon::Search,
                's',
                NavGroup::Read,
                true,
            )),
        Contribution::new("news", "News", Icon::News)
            .card(news)
            .router(Right::Read, Router::new().route("/news", page("News")))
            .nav(entry(
                "News",
                "/news",
                Icon::News,
                'n',
                NavGroup::Read,
                true,
            )),
    ]
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
#[expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example talks to whoever started it and has nobody to be given a clock by"
)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let past = SystemTime::now() - Duration::from_secs(1200 * 60);
    let (trackers, indexers) = upstreams::live(past).await;
    tokio::time::resume();
    let directory = tempfile::tempdir()?;
    let state = File::open(directory.path().join("state.db"))?;
    let app = App::open(
        Config::default(),
        &state,
        Arc::new(System),
        Requests::default(),
        contributions(trackers, indexers),
    )?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}{}", listener.local_addr()?, app.sign_in_link()?);
    if let Some(key) = app.key_was_made() {
        println!("key {}", key.expose());
    }
    let stop = CancellationToken::new();
    let serve = weir_web::run(listener, app, stop.clone(), Duration::from_secs(5));
    let interrupt = async {
        let _ = tokio::signal::ctrl_c().await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(serve, interrupt);
    println!("{ended:?}");
    Ok(())
}
