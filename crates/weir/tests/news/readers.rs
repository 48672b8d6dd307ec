//! Newsreaders that people use, each in a terminal: they list, read and post through Weir.

use super::articles::{Posted, series};
use super::terminal::{Terminal, home, program};
use super::{KEY, Town, text, wait};

/// Two servers with different newsgroups, which readers see as one.
fn town() -> Town {
    let mut one = series("misc.test", 12);
    one.push(Posted::plain("reply", "misc.test", 70, &["t5"]));
    let two = [Posted::plain("hill", "example.hills", 5, &[])];
    Town::new([(&["misc.test"], &one), (&["example.hills"], &two)], "")
}

/// The article is on the server that takes it, once, and on the page.
fn was_posted(town: &Town, subject: &str) {
    wait("it is on the page", || {
        let page = town.threads("misc.test");
        let threads = page["threads"].as_array().unwrap();
        let posted = threads
            .iter()
            .filter(|row| text(&row["subject"]) == subject);
        (posted.count() == 1).then_some(())
    });
    let [one, two] = [0, 1].map(|shop| town.shops[shop].tap.count("POST"));
    assert_eq!(
        (one, two),
        (1, 0),
        "the server that carries the newsgroup was given it once"
    );
}

#[test]
fn tin_counts_what_is_new_and_lists_reads_and_posts() {
    let town = town();
    let port = town.weir.nntp().port();
    let files = |home: &str| {
        [
            (
                ".newsrc".to_owned(),
                "misc.test:\nexample.hills:\n".to_owned(),
            ),
            (".newsauth".to_owned(), format!("127.0.0.1 {KEY} {home}\n")),
            (
                ".tin/tinrc".to_owned(),
                "mail_address=A Poster <poster@example.test>\n".to_owned(),
            ),
        ]
    };
    let files = files("reader");
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();

    let batch = home(&files);
    let mut tin = program("tin", batch.path());
    let told = tin
        .args(["-r", "-n", "-Z", "-v", "-p", &port.to_string()])
        .output()
        .expect("tin runs");
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    assert_eq!(
        told.status.code(),
        Some(2),
        "there is something to read: {said}"
    );
    assert!(
        said.contains("13 unread") && said.contains("1 unread"),
        "{said}"
    );

    let tin = Terminal::run(home(&files), &format!("tin -r -A -p {port}"));
    tin.shows(&["misc.test", "About misc.test", "example.hills"]);
    tin.press(&["Enter"]);
    tin.shows(&["About t1", "Author of t12"]);
    tin.press(&["Enter"]);
    tin.shows(&["The text of t1."]);
    tin.press(&["q"]);
    tin.shows(&["About t12", "w=post"]);
    tin.press(&["w"]);
    tin.shows(&["Post subject"]);
    tin.write("Posted with tin");
    tin.press(&["Enter"]);
    tin.shows(&["p=post"]);
    tin.press(&["p"]);
    tin.shows(&["Article posted"]);
    was_posted(&town, "Posted with tin");
}

#[test]
fn slrn_lists_reads_and_posts() {
    let town = town();
    let port = town.weir.nntp().port();
    let settings = format!(
        "nnrpaccess \"127.0.0.1\" \"reader\" \"{KEY}\"\nset force_authentication 1\nset confirm_actions 0\nset username \"poster\"\n\
         set hostname \"example.test\"\nset realname \"A Poster\"\nset editor_command \"sh editor '%s'\"\n"
    );
    let files = [
        (".slrnrc", settings.as_str()),
        (".jnewsrc", "misc.test:\nexample.hills:\n"),
    ];
    let slrn = Terminal::run(
        home(&files),
        &format!("slrn --nntp -h 127.0.0.1 -p {port} -f .jnewsrc"),
    );
    slrn.shows(&["misc.test", "example.hills"]);
    slrn.press(&["Enter"]);
    slrn.shows(&["About t1", "About t12"]);
    slrn.press(&["Space"]);
    slrn.shows(&["The text of t1."]);
    slrn.press(&["P"]);
    slrn.shows(&["Newsgroup: misc.test"]);
    slrn.press(&["Enter"]);
    slrn.shows(&["Subject:"]);
    slrn.write("Posted with slrn");
    slrn.press(&["Enter"]);
    slrn.shows(&["Post the message?"]);
    slrn.press(&["y"]);
    slrn.shows(&["Posting...done."]);
    was_posted(&town, "Posted with slrn");
}
