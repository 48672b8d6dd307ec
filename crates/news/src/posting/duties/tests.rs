use weir_news_proto::article::Article;

use super::*;

const LOCK: LockSecret = LockSecret([3; 32]);

fn done(sent: &[u8]) -> Result<Outgoing, String> {
    let means = Means {
        lock: &LOCK,
        now: 1_794_301_920,
        newsgroups: 3,
        bytes: 10_000,
        random: [9; 15],
    };
    super::done(sent, &means)
}

const HEAD: &str = "From: Ann <a@b.example>\r\nNewsgroups: misc.test\r\nSubject: x\r\n";

fn with(more: &str) -> String {
    format!("{HEAD}{more}\r\nText\r\n")
}

fn text(outgoing: &Outgoing) -> String {
    String::from_utf8(outgoing.raw.to_vec()).expect("text")
}

fn why(sent: &str) -> String {
    done(sent.as_bytes()).expect_err("it is refused")
}

#[test]
fn what_an_article_needs_is_added_and_stays_the_same_over_retries() {
    let first = done(with("").as_bytes()).expect("it can be sent");
    let raw = text(&first);
    assert!(first.id.as_str().ends_with("@b.example>"), "{}", first.id);
    assert!(raw.contains(&format!("Message-ID: {}\r\n", first.id)));
    assert!(
        raw.contains("Date: Tue, 10 Nov 2026 09:12:00 +0000\r\n"),
        "{raw}"
    );
    assert!(
        raw.contains(&format!("Cancel-Lock: {}\r\n", LOCK.lock(&first.id))),
        "{raw}"
    );
    assert!(raw.ends_with("\r\n\r\nText\r\n") && !raw.contains("MIME-Version"));
    let again = done(raw.as_bytes()).expect("it can be sent");
    assert_eq!(again.id, first.id);
    assert!(text(&again).contains("Date: Tue, 10 Nov 2026 09:12:00 +0000\r\n"));
}

#[test]
fn what_is_missing_is_named() {
    for name in ["From", "Newsgroups", "Subject"] {
        let lines: Vec<&str> = HEAD
            .lines()
            .filter(|line| !line.starts_with(name))
            .collect();
        let sent = format!("{}\r\n\r\nText\r\n", lines.join("\r\n"));
        assert_eq!(why(&sent), format!("It has no {name}."));
        let empty = with("").replace(&format!("{name}: "), &format!("{name}: \r\nX-Other: "));
        assert_eq!(
            why(&empty),
            format!("It has no {name}."),
            "an empty one is none"
        );
    }
    assert!(
        why("From: nobody\r\nNewsgroups: misc.test\r\nSubject: x\r\n\r\n").contains("an address")
    );
    assert!(why(&with("Message-ID: <a b>\r\n")).contains("Message-ID"));
    assert!(why(&with("Date: yesterday\r\n")).contains("Date"));
    assert!(why("").contains("From"));
}

#[test]
fn limits_are_said_with_their_keys() {
    let many = with("").replace("misc.test", "a.a,b.b,c.c,d.d");
    assert!(why(&many).contains("4 newsgroups, and news.post_groups allows 3"));
    let long = with(&"x".repeat(10_000));
    assert!(why(&long).contains("news.post_bytes allows 10000"));
    let twice = with("").replace("misc.test", "a.a, b.b ,a.a,");
    assert_eq!(
        done(twice.as_bytes())
            .expect("it can be sent")
            .newsgroups
            .len(),
        2
    );
}

#[test]
fn what_only_servers_and_moderators_say_is_left_out() {
    let sent = with(
        "Xref: here misc.test:1\r\nNNTP-Posting-Host: me\r\nInjection-Info: x\r\nApproved: me\r\nLines: 3\r\n\
         Path: a!b!not-for-mail\r\nX-Trace: x\r\nCancel-Key: sha256:AAAA\r\nOrganization: Mine\r\nX-Face: kept\r\n",
    );
    let raw = text(&done(sent.as_bytes()).expect("it can be sent"));
    for name in [
        "Xref",
        "NNTP-Posting-Host",
        "Injection-Info",
        "Approved",
        "Lines",
        "Path",
        "X-Trace",
        "Cancel-Key",
    ] {
        assert!(!raw.contains(&format!("{name}:")), "{name}: {raw}");
    }
    assert!(raw.contains("Organization: Mine\r\n") && raw.contains("X-Face: kept\r\n"));
    let own = text(&done(with("Path: not-for-mail\r\n").as_bytes()).expect("it can be sent"));
    assert!(own.contains("Path: not-for-mail\r\n"));
}

#[test]
fn nothing_breaks_out_of_a_header() {
    for odd in ["a\rX: y", "a\0b", "a\x0bb", "a\x1bb"] {
        assert!(
            done(with(&format!("X-Odd: {odd}\r\n")).as_bytes()).is_err(),
            "{odd:?}"
        );
    }
    assert!(why(&with("no colon\r\n")).contains("not a header"));
    assert!(why(&with("odd name: x\r\n")).contains("not a header"));
    assert!(why(&with("From: b@c.example\r\n")).contains("twice"));
    assert!(why(&with("subject: again\r\n")).contains("twice"));
    assert!(why(" folded\r\nFrom: a@b.c\r\n\r\n").contains("first line"));
    // A bare LF is a line end for some servers, so it is one for us, and what follows is looked at like any header.
    let split = with("X-Odd: a\nApproved: me\r\n");
    let raw = text(&done(split.as_bytes()).expect("it can be sent"));
    assert!(!raw.contains("Approved") && raw.contains("X-Odd: a\r\n"));
}

#[test]
fn headers_are_folded_and_encoded() {
    let long: String = (0..200)
        .map(|number| format!(" <{number}@x.example>"))
        .collect();
    let sent =
        with(&format!("References:{long}\r\nOrganization: für alle\r\n")).replace("Ann", "Jörg");
    let outgoing = done(sent.as_bytes()).expect("it can be sent");
    let raw = text(&outgoing);
    let head = raw.split("\r\n\r\n").next().expect("a head");
    assert!(
        head.is_ascii() && head.lines().all(|line| line.len() <= 998),
        "{head}"
    );
    let article = Article::parse(&outgoing.raw);
    assert_eq!(article.head.from.name, "Jörg");
    assert_eq!(article.head.organization, "für alle");
    assert_eq!(article.head.references.len(), 200);
    assert!(why(&with(&format!("X-Long: {}\r\n", "x".repeat(999)))).contains("cannot be folded"));
    assert!(done(&[HEAD.as_bytes(), b"X-A: \xff\r\n\r\n"].concat()).is_err());
}

#[test]
fn text_that_is_not_ascii_says_what_it_is() {
    let sent = [HEAD.as_bytes(), "\r\nGrüße\r\n".as_bytes()].concat();
    let raw = text(&done(&sent).expect("it can be sent"));
    assert!(raw.contains("MIME-Version: 1.0\r\nContent-Type: text/plain; charset=UTF-8\r\nContent-Transfer-Encoding: 8bit\r\n"));
    let latin = [HEAD.as_bytes(), b"\r\nGr\xfc\xdfe\r\n"].concat();
    let raw = done(&latin).expect("it can be sent").raw;
    assert!(String::from_utf8_lossy(&raw).contains("charset=unknown-8bit"));
    let said = with("Content-Type: text/plain; charset=iso-8859-1\r\n").replace("Text", "Grüße");
    let raw = text(&done(said.as_bytes()).expect("it can be sent"));
    assert!(
        raw.contains("iso-8859-1") && !raw.contains("UTF-8"),
        "its author knows better"
    );
}

#[test]
fn lines_end_as_they_must_and_binary_is_refused() {
    let sent = [HEAD.as_bytes(), b"\r\na\nb\rc\r\n.\r\n..d"].concat();
    let raw = text(&done(&sent).expect("it can be sent"));
    assert!(
        raw.ends_with("\r\n\r\na\r\nb\r\nc\r\n.\r\n..d\r\n"),
        "{raw:?}"
    );
    assert!(why(&with("").replace("Text", "a\0b")).contains("NUL"));
    assert!(why(&with("").replace("Text", &"x".repeat(999))).contains("999 bytes"));
    assert!(done(with("").replace("Text", &"x".repeat(998)).as_bytes()).is_ok());
}

#[test]
fn of_all_that_articles_do_to_others_only_taking_back_is_let_through() {
    let taken = |more: &str| done(with(more).as_bytes()).map(|outgoing| outgoing.takes_back);
    let id: MessageId = "<old@b.example>".parse().expect("an ID");
    assert_eq!(
        taken("Control: cancel <old@b.example>\r\n"),
        Ok(Some(Taken::Cancelled(id.clone())))
    );
    assert_eq!(
        taken("Supersedes: <old@b.example>\r\n"),
        Ok(Some(Taken::Superseded(id.clone())))
    );
    for more in [
        "Control: newgroup a.b\r\n",
        "Control: rmgroup a.b\r\n",
        "Control: cancel x\r\n",
        "Supersedes: x\r\n",
    ] {
        assert!(taken(more).is_err(), "{more}");
    }
    let both = "Control: cancel <a@b>\r\nSupersedes: <a@b>\r\n";
    assert!(taken(both).is_err());
    let raw =
        text(&done(with("Supersedes: <old@b.example>\r\n").as_bytes()).expect("it can be sent"));
    assert!(raw.contains(&format!("Cancel-Key: {}\r\n", LOCK.key(&id))));
}

#[test]
fn a_lock_of_the_posters_program_stays_beside_ours() {
    let outgoing = done(with("Cancel-Lock: sha1:abc\r\n").as_bytes()).expect("it can be sent");
    let raw = text(&outgoing).replace("\r\n ", " ");
    assert!(
        raw.contains(&format!(
            "Cancel-Lock: sha1:abc {}\r\n",
            LOCK.lock(&outgoing.id)
        )),
        "{raw}"
    );
}

#[test]
fn an_id_says_nothing_about_where_weir_runs() {
    for (address, host) in [
        ("a@host.example", "host.example"),
        ("a@localhost", "weir.invalid"),
        ("a@b_c.example", "weir.invalid"),
    ] {
        let sent = with("").replace("a@b.example", address);
        let id = done(sent.as_bytes()).expect("it can be sent").id;
        assert!(id.bare().ends_with(&format!("@{host}")), "{id}");
    }
}
