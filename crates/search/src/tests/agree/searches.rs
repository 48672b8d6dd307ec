//! Searches of people: the page, the API, its events and the history tell the same of each, and of what an indexer is worth.

use serde_json::Value;
use weir_engine::dispatch::Availability;

use super::story::Story;
use super::views::text;
use super::*;

/// Who searches on the page, as the history names it.
pub(super) const BROWSER: &str = "curl";

/// A search on the page.
pub(super) struct Browsed {
    pub(super) id: String,
    /// The front still has it: with a restart they are gone.
    pub(super) is_kept: bool,
}

pub(super) async fn agree(story: &Story) {
    let world = &story.world;
    let api = world.json("/api/v1/history?limit=500").await;
    let rows = api["searches"].as_array().expect("a list");
    let of_browser = rows.iter().filter(|row| row["program"] == BROWSER);
    let of_browser: Vec<&Value> = of_browser.collect();
    assert_eq!(of_browser.len(), story.browsed.len(), "a row for each");
    let list = world.json("/api/v1/searches").await;
    for (browsed, row) in story.browsed.iter().rev().zip(of_browser) {
        if !browsed.is_kept {
            let gone = world.get(&format!("/search?id={}", browsed.id)).await;
            assert_eq!(gone.status, 404);
            continue;
        }
        let one = look(world, &browsed.id).await;
        let mut listed = list["searches"].as_array().expect("a list").iter();
        // Only the last ones are listed.
        if let Some(listed) = listed.find(|other| other["id"] == one["id"]) {
            for (field, told) in listed.as_object().expect("a row") {
                assert_eq!(&one[field], told, "{field} of {}", browsed.id);
            }
        }
        remembered(&one, row);
    }
    yields_agree(world, rows).await;
}

/// What is shown of a search at this moment. Gives what the API says.
pub(super) async fn look(world: &World, id: &str) -> Value {
    let one = world
        .json(&format!("/api/v1/searches/{id}?limit=1000"))
        .await;
    let page = world.get(&format!("/search?id={id}")).await.body;
    let words = text(&page);
    for field in ["headline", "rest", "pace"] {
        let told = one[field].as_str().expect("words");
        assert!(words.contains(told), "{told} in {words}");
    }
    let lines = one["indexers"].as_array().expect("a list");
    let of = |states: &[&str]| {
        let is = |line: &&Value| states.contains(&line["state"].as_str().expect("a word"));
        lines.iter().filter(is).count()
    };
    let counts = [
        ("answered", of(&["answered", "shared", "cached"])),
        ("asking", of(&["asking"])),
        ("skipped", of(&["skipped"])),
        ("failed", of(&["failed"])),
        ("nothing", of(&["nothing"])),
        ("asked", lines.len()),
    ];
    for (field, count) in counts {
        assert_eq!(one[field], count, "{field} of {one}");
    }
    for line in lines {
        let name = line["name"].as_str().expect("a name");
        let (_, row) = page
            .split_once(&format!("data-indexer=\"{name}\""))
            .expect("its line");
        let row = text(row.split("</li>").next().expect("its end"));
        for field in ["says", "note"] {
            let told = line[field].as_str().expect("words");
            assert!(row.contains(told), "{told} in {row}");
        }
    }
    let releases = one["releases"].as_array().expect("a list");
    assert_eq!(one["results"], releases.len(), "{one}");
    assert_eq!(one["matching"], one["results"]);
    let is_off = |name: &str| {
        let present = world.engine.upstreams(0, usize::MAX);
        let is_there = present.iter().any(|row| *row.name == *name);
        is_there && world.view(name).status.state == Availability::Off
    };
    for release in releases {
        let title = release["title"].as_str().expect("a title");
        assert!(words.contains(title), "{title} in {words}");
        for source in release["sources"].as_array().expect("a list") {
            let name = source["indexer"].as_str().expect("a name");
            assert!(!is_off(name), "{name} is off, and offered: {release}");
        }
    }
    if one["finished"] == true {
        let events = world
            .get(&format!("/api/v1/searches/{id}/events"))
            .await
            .body;
        let mut data = events
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        let first: Value = serde_json::from_str(data.next().expect("an event")).expect("JSON");
        for (field, told) in first.as_object().expect("an object") {
            assert_eq!(&one[field], told, "{field} of an event");
        }
    }
    one
}

/// The history keeps what was told at the end of a search, or at its deadline. What comes later, or is switched off later, only
/// the search itself shows.
fn remembered(one: &Value, row: &Value) {
    assert_eq!(row["asked"], one["asked"], "{row}");
    let told = row["indexers"].as_array().expect("a list").iter();
    let now = one["indexers"].as_array().expect("a list").iter();
    for (told, now) in told.zip(now) {
        assert_eq!(told["indexer"], now["name"], "{row}");
        let reason = now["reason"].as_str().unwrap_or_default();
        let note = now["note"].as_str().expect("words");
        if note.starts_with("Not listed: ") {
            let why = ["switched off by an operator", "it is no longer configured"];
            assert!(why.iter().any(|why| reason.starts_with(why)), "{now}");
            assert_eq!(now["releases"], 0, "{now}");
            continue;
        }
        if now["state"] == told["what"] {
            let before = told["reason"].as_str().expect("words");
            let is_answer = ["answered", "shared", "cached"].map(Value::from);
            if is_answer.contains(&told["what"]) {
                assert_eq!(now["releases"], told["releases"], "{now} {told}");
            } else if now["took_ms"] == told["took_ms"] && told["what"] != "asking" {
                // With what was served instead. A call that is held for the next asker may come to another end later.
                assert!(before.starts_with(reason), "{now} {told}");
            }
            continue;
        }
        // Nobody who was answered, or had nothing to be asked, is told anything else later.
        let went_on = ["skipped", "failed", "asking"].map(Value::from);
        assert!(went_on.contains(&told["what"]), "{now} {told}");
    }
}

/// What an indexer has given in the last seven days, as its page says it, is what the history says.
async fn yields_agree(world: &World, searches: &[Value]) {
    let api = world.json("/api/v1/history?kind=grabs&limit=500").await;
    let grabs = api["grabs"].as_array().expect("a list");
    if searches.len() >= 500 || grabs.len() >= 500 {
        return;
    }
    let now = crate::words::unix(world.timeline.now());
    let is_recent = |row: &&Value| {
        let at = row["at"].as_str().expect("a time");
        let at: jiff::Timestamp = at.parse().expect("a time");
        at.as_second() >= now - 7 * 86_400
    };
    for one in world.engine.upstreams(0, usize::MAX) {
        let name = &*one.name;
        let parts = searches.iter().filter(is_recent);
        let parts = parts.flat_map(|row| row["indexers"].as_array().expect("a list"));
        let parts: Vec<&Value> = parts
            .filter(|part| part["indexer"] == name)
            .filter(|part| part["what"] == "answered" || part["what"] == "shared")
            .collect();
        let sum = |field: &str| -> u64 {
            let counts = parts.iter().map(|part| part[field].as_u64());
            counts.map(|count| count.expect("a count")).sum()
        };
        let files = grabs.iter().filter(is_recent);
        let files = files.filter(|row| row["indexer"] == name && row["what"] != "failed");
        let counted = weir_engine::words::counted;
        let words = format!(
            "{} in {}, {} of them nowhere else; {}",
            counted(sum("releases"), "release", "releases"),
            counted(parts.len() as u64, "search", "searches"),
            sum("alone"),
            counted(files.count() as u64, "download", "downloads"),
        );
        let page = world.get(&format!("/upstreams/search/{name}")).await.body;
        assert!(page.contains(&words), "{words} in {}", text(&page));
    }
}
