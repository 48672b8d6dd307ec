//! Live parts are the page, and a page costs what it shows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use weir_engine::{
    Call, Engine, Options, Outcome, Permit, Timeline, Weather,
    dispatch::{
        Class, Job, MAX_CLASSES, Policy, Quota, UpstreamId, Windows,
        policy::{ClassPolicy, CrewPolicy, FailurePolicy, OnCooldown, Overflow},
    },
};
use weir_store::sqlite::File;

use super::*;
use crate::{Card, CardState, CardView, Config, Contribution, Icon, Requests, System, Upstreams};

/// A front that counts how often one of its upstreams is looked at closely.
struct Watched {
    engine: Engine,
    looks: AtomicUsize,
}

impl Upstreams for Watched {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn kind(&self) -> &'static str {
        "indexer"
    }

    fn place(&self, _: UpstreamId) -> String {
        self.looks.fetch_add(1, Ordering::Relaxed);
        String::new()
    }

    fn probe(&self, _: UpstreamId) -> Option<Arc<dyn Call>> {
        None
    }

    fn classes(&self) -> &'static [&'static str] {
        &["interactive"]
    }
}

impl Card for Watched {
    fn view(&self) -> CardView {
        CardView {
            state: CardState::Answering,
            sentence: "It answers.".into(),
            figures: Vec::new(),
            lines: None,
        }
    }
}

struct Ends(Outcome);

impl Call for Ends {
    fn attempt(&self, _: Permit) -> futures_util::future::BoxFuture<'_, Outcome> {
        Box::pin(std::future::ready(self.0))
    }
}

fn policy() -> Policy {
    let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
    Policy {
        classes: vec![ClassPolicy {
            max_wait: None,
            on_cooldown: OnCooldown::Hold,
            overflow: Overflow::Drop,
        }],
        capacity: 10_000,
        agenda_capacity: 100,
        backlog_floor: 32,
        aging: second * 10,
        put_off: second * 10,
        crew: CrewPolicy {
            base: 10,
            max: 20,
            grow_at: 60,
            shrink_below: 40,
            step: second,
            slot_time: second,
            waiting_max: 1000,
        },
        failure: FailurePolicy {
            ladder: vec![minute * 10],
            threshold: 1,
            threshold_disables: false,
            throttled: None,
            longest: minute * 60,
        },
        again_class: None,
        attempts: 1,
        retry_base: second,
        records: 20,
    }
}

/// A front with so many upstreams, each called so often; every tenth fails at last.
async fn watched(upstreams: u32, calls: u32) -> (App, Arc<Watched>, tempfile::TempDir) {
    let wall = UNIX_EPOCH + Duration::from_secs(1_794_700_000);
    let options = Options::new(Timeline::starting_at(wall), Weather::default());
    let engine = Engine::new("search", policy(), options);
    for number in 0..upstreams {
        let quota = Quota {
            gaps: [Duration::ZERO; MAX_CLASSES],
            in_flight: 1,
            query: Windows::default(),
            grab: Windows::default(),
        };
        let id = engine.add_upstream(&format!("u-{number}"), quota, Duration::from_secs(30));
        for call in 0..calls {
            let fails = number % 10 == 0 && call + 1 == calls;
            let outcome = if fails {
                Outcome::Unavailable
            } else {
                Outcome::Done
            };
            engine
                .submit(Job::new(id, Class(0)), Arc::new(Ends(outcome)))
                .await;
        }
    }
    let front = Arc::new(Watched {
        engine,
        looks: AtomicUsize::new(0),
    });
    let contribution = Contribution::new("search", "Search", Icon::Search)
        .card(front.clone())
        .upstreams(front.clone());
    let directory = tempfile::tempdir().unwrap();
    let state = File::open(directory.path().join("state.db")).unwrap();
    let app = App::open(
        Config::default(),
        &state,
        Arc::new(System),
        Requests::default(),
        vec![contribution],
    )
    .unwrap();
    (app, front, directory)
}

fn body(app: &App, window: &str) -> String {
    let window = window_of(window);
    let (lead, attention) = glance(app);
    let page = OverviewPage {
        form_token: "token",
        window,
        windows: Vec::new(),
        notice: None,
        first_run: None,
        here: "/".to_owned(),
        headline: headline(app),
        lead,
        cards: FrontCard::all(app, window),
        attention,
        nodes: None,
        decisions: last_decisions(app),
        list: DECISIONS,
        charts: plots::charts(app, window),
        refresh: false,
        refresh_link: String::new(),
        now: 0,
    };
    kit::render(&page).unwrap()
}

fn window_of(name: &str) -> Window {
    window(name).unwrap()
}

/// Countdowns move while we look; in the browser script counts them.
fn still(part: &str) -> &str {
    part.split("<span data-until").next().unwrap_or_default()
}

#[tokio::test]
async fn live_parts_are_the_same_bytes_as_the_first_paint() {
    let (app, _, _directory) = watched(20, 2).await;
    // The first steps have a test of their own.
    first_run::close(axum::extract::State(app.clone()))
        .await
        .unwrap();
    for window in WINDOWS {
        // A moment's wall time comes of two clocks that are read one after the other, so two looks may be a millisecond
        // apart; looked at again, they are not.
        let (page, parts) = (0..50)
            .map(|_| (body(&app, window.name), parts(&app, window.name)))
            .find(|(page, parts)| parts.iter().all(|(_, part)| page.contains(still(part))))
            .expect("the same bytes");
        let ids: Vec<&str> = parts.iter().map(|(id, _)| id.as_str()).collect();
        let wanted = [
            "headline",
            "lead",
            "front-search",
            "attention-list",
            "calls-caption",
            "calls-table",
            "times-caption",
            "times-table",
            "fill-caption",
            "fill-table",
        ];
        assert_eq!(ids, wanted);
        for (id, part) in parts {
            assert!(part.contains(&format!("id=\"{id}\" data-live")), "{part}");
            assert!(page.contains(still(&part)), "{part}\nin\n{page}");
            assert!(!part.contains("csrf") && !part.contains("token"), "{part}");
        }
    }
    let row = || kit::render(&last_decisions(&app).remove(0)).unwrap();
    assert!(row().starts_with("<li id=\"d-search-"), "{}", row());
    assert!((0..50).any(|_| body(&app, "1h").contains(&row())));
}

#[tokio::test]
async fn a_page_looks_closely_at_no_more_than_it_shows() {
    let (app, front, _directory) = watched(500, 20).await;
    let decisions: usize = (0..500)
        .map(|id| front.engine.decisions(UpstreamId(id), None, 100).len())
        .sum();
    assert!(decisions >= 10_000, "{decisions}");
    front.looks.store(0, Ordering::Relaxed);
    let page = body(&app, "1h");
    let looks = front.looks.load(Ordering::Relaxed);
    assert_eq!(
        looks, 20,
        "ten that need attention, and ten about which something was decided last"
    );
    assert!(page.contains("450 of 500 upstreams are open."), "{page}");
    assert!(page.contains(">40 more</a>"), "{page}");
    assert!(page.len() < 60_000, "{}", page.len());
    // A live page does not look at decisions: their list grows by itself.
    front.looks.store(0, Ordering::Relaxed);
    parts(&app, "1h");
    assert_eq!(front.looks.load(Ordering::Relaxed), 10);
}
