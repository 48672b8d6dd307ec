//! Weir is killed, or stopped, and starts again with all servers down: what was read can be read.

use super::articles::{Posted, id, series};
use super::{ALWAYS_CHECK, Town, articles_of, roots, silent};

#[test]
fn after_a_kill_and_a_stop_every_page_is_there_and_marked_as_stale() {
    let mut one = series("misc.test", 60);
    one.push(Posted::plain("reply", "misc.test", 70, &["t5"]));
    let two = [Posted::plain("hill", "example.hills", 5, &[])];
    let mut town = Town::new(
        [(&["misc.test"], &one), (&["example.hills"], &two)],
        ALWAYS_CHECK,
    );
    let pages = [
        "/news".to_owned(),
        "/news/misc.test".to_owned(),
        "/news/misc.test?page=2".to_owned(),
        "/news/example.hills".to_owned(),
        format!("/news/misc.test/{}", id("t5")),
        format!("/news/article/{}", id("t5")),
        format!("/news/article/{}", id("hill")),
    ];
    pages.iter().for_each(|path| drop(town.weir.page(path)));
    // In the middle of whatever it writes.
    town.weir.kill();
    town.start_again();
    for path in &pages {
        town.weir.page(path);
    }
    assert!(
        !town.weir.log().contains("news.db.bad"),
        "{}",
        town.weir.log()
    );
    town.weir.stop();
    town.shops.iter_mut().for_each(super::Shop::die);
    town.start_again();
    for path in &pages {
        let page = town.weir.page(path);
        // An article is what it is, however old.
        let lasts = path.starts_with("/news/article/");
        let marked = page.contains("No answer from <b>") && page.contains("Last checked on");
        assert!(lasts || marked, "{path}: {page}");
    }
    let list = town.threads("misc.test");
    assert_eq!(roots(&list)[0], id("t5"), "the thread with the reply");
    assert_eq!(list["known"], 60);
    assert_eq!(silent(&list), ["one"]);
    assert!(list["currency"]["checked_at"].is_string(), "since when");
    assert!(articles_of(&list) >= 50);
    let thread = town.weir.page(&format!("/news/misc.test/{}", id("t5")));
    assert!(thread.contains("The text of t5.") && thread.contains("The text of reply."));
    // What nobody had read yet is not there, and that is said.
    let path = format!("GET /news/article/{}", id("t9"));
    let (status, head, body) = town.weir.ask(&path, "");
    let body = String::from_utf8(body).unwrap();
    assert_eq!(status, 503, "{body}");
    assert!(head.contains("retry-after: "), "{head}");
    assert!(body.contains("No server answers"), "{body}");
}
