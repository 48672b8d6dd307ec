//! The first run on the overview: ticked as it happens, closed for good.

use tempfile::TempDir;

use super::tracker::{KEY, Rig, announce, text};
use super::{ask, config};

/// Nobody listens there.
const INDEXER: &str = r#"search: { indexers: [{ name: one, url: "http://127.0.0.1:9/api" }] }"#;

/// The first steps, if the overview shows them.
fn steps(rig: &Rig) -> Option<String> {
    let page = ask(rig.web, "GET /", KEY);
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    let (_, steps) = page.split_once("First steps")?;
    Some(steps.split_once("</section>").unwrap().0.to_owned())
}

fn done(steps: &str) -> Vec<bool> {
    let ticks = ["first-client", "first-upstream", "first-decision"];
    let is_done = |id: &str| {
        let (_, tick) = steps.split_once(&format!("id=\"{id}\"")).unwrap();
        let tick = tick
            .split_once("</span></li>")
            .map_or(tick, |(tick, _)| tick);
        let tick = tick.split_once("<strong>").unwrap().0;
        assert_ne!(tick.contains("Done"), tick.contains("Not yet"), "{tick}");
        tick.contains("Done")
    };
    ticks.map(is_done).into()
}

#[test]
fn first_steps_name_addresses_and_file_and_are_ticked_as_they_happen() {
    let rig = Rig::start("");
    let before = steps(&rig).expect("three steps");
    assert_eq!(done(&before), [false, false, false]);
    let file = rig.dir.path().canonicalize().unwrap().join("weir.yaml");
    let wanted = [
        format!("http://{}/announce", rig.tracker),
        format!("/torznab/api?apikey={KEY}"),
        file.display().to_string(),
        "href=\"/upstreams/add\"".to_owned(),
        "href=\"/upstreams/import\"".to_owned(),
        ". Newsreaders: ".to_owned(),
    ];
    for text in wanted {
        assert!(before.contains(&text), "no {text} in {before}");
    }
    announce(rig.tracker, 7);
    assert_eq!(done(&steps(&rig).unwrap()), [true, false, false]);
    assert!(rig.reload(INDEXER).starts_with("HTTP/1.1 200"));
    assert_eq!(done(&steps(&rig).unwrap()), [true, true, false]);
    // What was ticked stays ticked, and the last tick ends it all.
    rig.weir.signal("TERM");
    let Rig { weir, dir, .. } = rig;
    assert!(weir.end().0.success());
    let rig = Rig::run(dir);
    assert_eq!(done(&steps(&rig).unwrap()), [true, true, false]);
    ask(rig.web, "GET /torznab/api?t=search&q=some", KEY);
    assert_eq!(steps(&rig), None);
}

#[test]
fn closed_steps_stay_closed_after_a_restart() {
    let dir = TempDir::new().unwrap();
    config(dir.path(), &text(""));
    let rig = Rig::run(dir);
    assert!(steps(&rig).is_some());
    let refused = ask(rig.web, "POST /first-run/close", "wrong");
    assert!(!refused.contains("location: /\r\n"), "{refused}");
    assert!(steps(&rig).is_some());
    let closed = ask(rig.web, "POST /first-run/close", KEY);
    assert!(closed.starts_with("HTTP/1.1 303"), "{closed}");
    assert_eq!(steps(&rig), None);
    rig.weir.signal("TERM");
    let Rig { weir, dir, .. } = rig;
    assert!(weir.end().0.success());
    assert_eq!(steps(&Rig::run(dir)), None);
}
