//! Questions, claims, streams, tables, logs and connections.

use super::*;

pub(in crate::shared) async fn a_question_is_asked_once(stage: &dyn Stage) {
    join(stage, &[1, 2]).await;
    let store = stage.node(0);
    let question = Question {
        key: [9; 16],
        claim: secs(20),
        fresh: secs(60),
    };
    let about = |node, number| Ask {
        question: Some(question),
        ..ask(stage, id(node, number), &[(HOUR, 3)])
    };
    assert!(granted(&*store, about(1, 1)).await);
    stage.advance(secs(5));
    let claimed = Answer::Claimed {
        by: NodeId(1),
        left: secs(15),
        now: stage.time(),
    };
    assert_eq!(store.ask(about(2, 1)).await.unwrap(), claimed);
    let row = store.rows(vec![UP]).await.unwrap().remove(0);
    assert_eq!(row.starts.len(), 1);
    // Another's claim is not answered.
    let body = b"\0\xff\r\n answer".to_vec();
    let answer = |claim, body: Option<&Vec<u8>>| {
        let (store, body) = (stage.node(0), body.cloned());
        async move { store.answer(question, claim, body, secs(100)).await }
    };
    answer(id(2, 1), Some(&body)).await.unwrap();
    assert!(matches!(
        store.ask(about(2, 2)).await.unwrap(),
        Answer::Claimed { .. }
    ));
    answer(id(1, 1), Some(&body)).await.unwrap();
    stage.advance(secs(60));
    let answered = Answer::Answered {
        by: NodeId(1),
        age: secs(60),
        body: body.clone().into(),
        now: stage.time(),
    };
    assert_eq!(store.ask(about(2, 3)).await.unwrap(), answered);
    // Too old to be wanted, so it is asked again, and the old answer is gone.
    stage.advance(Duration::from_millis(1));
    assert!(granted(&*store, about(2, 4)).await);
    // A failure: others ask themselves.
    answer(id(2, 4), None).await.unwrap();
    assert!(granted(&*store, about(1, 5)).await);
    // Full: nothing is claimed while it only waits.
    answer(id(1, 5), None).await.unwrap();
    let refusal = refused(&*store, about(2, 6)).await;
    assert_eq!(refusal.1, full(HOUR, 3, 3));
    let free = Ask {
        windows: vec![],
        ..about(3, 7)
    };
    assert!(granted(&*store, free).await);
    // A node that gives a claim back late may have claimed it anew.
    let again = Ask {
        windows: vec![],
        ..about(3, 8)
    };
    assert!(granted(&*store, again).await);
    answer(id(3, 7), None).await.unwrap();
    assert!(matches!(
        store.ask(about(2, 9)).await.unwrap(),
        Answer::Claimed { by: NodeId(3), .. }
    ));
}

pub(in crate::shared) async fn a_claim_ends_by_itself(stage: &dyn Stage) {
    let store = stage.node(0);
    let keys = vec![[1; 16], [2; 16]];
    let claim = |node, keys: &[[u8; 16]]| {
        let (store, keys) = (stage.node(0), keys.to_vec());
        async move { store.claim(keys, NodeId(node), secs(30)).await.unwrap() }
    };
    assert_eq!(claim(1, &keys[..1]).await, [Claim::Ours]);
    stage.advance(secs(10));
    let theirs = Claim::Theirs {
        by: NodeId(1),
        left: secs(20),
    };
    assert_eq!(claim(2, &keys).await, [theirs, Claim::Ours]);
    // Renewed by its owner.
    assert_eq!(claim(1, &keys[..1]).await, [Claim::Ours]);
    assert_eq!(claim(2, &keys[1..]).await, [Claim::Ours]);
    // Whoever claimed it may be dead: after its time it is anybody's.
    stage.advance(Duration::from_millis(29_999));
    let left = Duration::from_millis(1);
    let theirs = |node| Claim::Theirs {
        by: NodeId(node),
        left,
    };
    assert_eq!(claim(3, &keys).await, [theirs(1), theirs(2)]);
    stage.advance(left);
    assert_eq!(claim(3, &keys).await, [Claim::Ours, Claim::Ours]);

    // The same with a question.
    join(stage, &[1]).await;
    let question = Question {
        key: [9; 16],
        claim: secs(20),
        fresh: secs(60),
    };
    let about = |node, number| Ask {
        question: Some(question),
        ..ask(stage, id(node, number), &[])
    };
    assert!(granted(&*store, about(1, 1)).await);
    stage.advance(secs(20));
    assert!(granted(&*store, about(2, 1)).await);
    let late = store.answer(question, id(1, 1), Some(vec![1]), secs(9));
    late.await.unwrap();
    let answer = store.ask(about(3, 1)).await.unwrap();
    assert!(matches!(answer, Answer::Claimed { by, .. } if by == NodeId(2)));
}

pub(in crate::shared) async fn streams_are_read_from_a_place(stage: &dyn Stage) {
    let store = stage.node(0);
    let (swarm, other) = (Stream::Swarm(NodeId(1)), Stream::Forwarded(NodeId(1)));
    let append = |stream, body: &[u8]| {
        let (store, body) = (stage.node(0), body.to_vec());
        async move { store.append(stream, body, secs(60)).await.unwrap() }
    };
    let read = |place, most| {
        let store = stage.node(1);
        async move {
            let mut read = store.read(vec![(swarm, place)], most).await.unwrap();
            read.ends.remove(0)
        }
    };
    let empty = read(Place::START, 10).await;
    assert_eq!(empty.last, None);
    assert_eq!(empty.entries, []);
    let now = stage.time();
    let one = append(swarm, b"one").await;
    let two = append(swarm, b"t\0wo").await;
    assert_eq!((one.millis, two.millis), (now.0, now.0));
    assert!(one > Place::START && two > one);
    append(other, b"else").await;
    stage.advance(secs(30));
    let three = append(swarm, b"three").await;
    let end = read(Place::START, 2).await;
    assert_eq!((end.stream, end.last), (swarm, Some(three)));
    assert_eq!(
        end.entries,
        [(one, b"one".to_vec()), (two, b"t\0wo".to_vec())]
    );
    let end = read(two, 2).await;
    assert_eq!(end.entries, [(three, b"three".to_vec())]);
    let ends = store.read(vec![(other, Place::START), (swarm, three)], 9);
    let ends = ends.await.unwrap().ends;
    assert_eq!(ends[0].entries.len(), 1);
    assert_eq!((ends[1].entries.len(), ends[1].last), (0, Some(three)));
    // What is older than a minute is forgotten, but for the newest of it: who has read that has missed nothing.
    stage.advance(secs(31));
    let four = append(swarm, b"four").await;
    let end = read(one, 9).await;
    assert_eq!((end.entries[0].0, end.last), (two, Some(four)));
    assert_eq!(end.entries.len(), 3);
    let all = read(Place::START, 9).await;
    assert_eq!(all.entries.len(), 3, "the first is forgotten");
    stage.advance(secs(600));
    let five = append(swarm, b"five").await;
    let end = read(three, 9).await;
    assert_eq!((end.entries[0].0, end.last), (four, Some(five)));
    // Time that stands still, or goes back, makes places none the less.
    let six = append(swarm, b"six").await;
    assert!(six > five);
    let long = vec![0; LONGEST_ANSWER + 1];
    assert!(matches!(
        store.append(swarm, long, secs(1)).await,
        Err(Lost::TooLong(_))
    ));
}

fn row(key: &str, value: Option<&str>) -> Entry {
    let bytes = |text: &str| text.as_bytes().to_vec();
    (bytes(key), value.map(bytes))
}

pub(in crate::shared) async fn tables_are_read_by_version(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let store = stage.node(0);
    let put = |entries: Vec<Entry>| {
        let store = stage.node(1);
        async move { store.put(Table::Sessions, entries, secs(60)).await.unwrap() }
    };
    let changes = |since| {
        let store = stage.node(2);
        async move { store.changes(Table::Sessions, since).await.unwrap() }
    };
    let empty = changes(Version::NONE).await;
    assert_eq!((empty.whole, empty.entries.len()), (true, 0));
    let first = put(vec![row("a", Some("1")), row("b\0", Some("2"))]).await;
    let all = changes(Version::NONE).await;
    let both = [row("a", Some("1")), row("b\0", Some("2"))];
    assert_eq!((all.whole, all.version), (true, first));
    assert_eq!(all.entries, both);
    let since = changes(empty.version).await;
    assert_eq!((since.whole, since.version), (false, first));
    assert_eq!(since.entries, both);
    let second = put(vec![row("a", None), row("c", Some(""))]).await;
    let third = put(vec![row("b\0", Some("3"))]).await;
    assert!(first < second && second < third);
    let since = changes(first).await;
    assert_eq!((since.whole, since.version), (false, third));
    let news = [row("a", None), row("c", Some("")), row("b\0", Some("3"))];
    assert_eq!(since.entries, news);
    let since = changes(third).await;
    assert_eq!((since.whole, since.entries.len()), (false, 0));
    // Read whole, what was taken out is simply not there.
    let all = changes(Version::NONE).await;
    assert_eq!(all.entries, [row("c", Some("")), row("b\0", Some("3"))]);
    // Tables do not know one another.
    let other = store.changes(Table::Keys, Version::NONE).await.unwrap();
    assert_eq!((other.whole, other.entries.len()), (true, 0));
    let long = (vec![0; LONGEST_ANSWER], Some(vec![0]));
    let refused = store.put(Table::Keys, vec![long], secs(1)).await;
    assert!(matches!(refused, Err(Lost::TooLong(_))), "{refused:?}");
}

pub(in crate::shared) async fn tables_forget(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let store = stage.node(0);
    let put = |entries: Vec<Entry>, keep| store.put(Table::Indexers, entries, keep);
    let first = put(vec![row("a", Some("1"))], secs(60)).await.unwrap();
    let second = put(vec![row("b", Some("2"))], secs(600)).await.unwrap();
    stage.advance(secs(60));
    let all = store.changes(Table::Indexers, Version::NONE).await.unwrap();
    assert_eq!(all.entries, [row("b", Some("2"))]);
    // A row that ended leaves those who know the table alone.
    let since = store.changes(Table::Indexers, first).await.unwrap();
    assert_eq!((since.whole, since.entries.len()), (false, 1));
    let third = put(vec![row("b", None)], secs(60)).await.unwrap();
    stage.advance(secs(60));
    // That it was taken out is forgotten: who has not read it reads everything.
    let since = store.changes(Table::Indexers, second).await.unwrap();
    assert_eq!((since.whole, since.entries.len()), (true, 0));
    let since = store.changes(Table::Indexers, third).await.unwrap();
    assert_eq!((since.whole, since.entries.len()), (false, 0));
}

pub(in crate::shared) async fn tables_of_another_epoch_are_read_whole(stage: &dyn Stage) {
    join(stage, &[1]).await;
    let put = |key: &str| {
        let (store, entry) = (stage.node(0), row(key, Some("1")));
        async move { store.put(Table::Keys, vec![entry], secs(60)).await.unwrap() }
    };
    put("a").await;
    stage.save().await;
    let lost = put("b").await;
    stage.restore().await;
    let store = stage.node(0);
    let mut again = beat(1, &[]);
    again.new_epoch = Epoch(80);
    store.beat(again).await.unwrap();
    // So many changes there have been again, but others.
    put("c").await;
    let since = store.changes(Table::Keys, lost).await.unwrap();
    assert!(since.whole);
    let both = [row("a", Some("1")), row("c", Some("1"))];
    assert_eq!(since.entries, both);
    let since = store.changes(Table::Keys, since.version).await.unwrap();
    assert!(!since.whole);
    stage.restart_empty().await;
    let store = stage.node(0);
    let since = store.changes(Table::Keys, since.version).await.unwrap();
    assert_eq!((since.whole, since.entries.len()), (true, 0));
}

pub(in crate::shared) async fn logs_have_one_order(stage: &dyn Stage) {
    let log = LogKey::Numbers([1; 16]);
    let extend = |node, known, entries: &[&str]| {
        let (store, log) = (stage.node(node), log.clone());
        let entries = entries.iter().map(|entry| entry.as_bytes().to_vec());
        let entries: Vec<_> = entries.collect();
        async move { store.extend(log, known, entries).await.unwrap() }
    };
    let texts = |answer: &LogAnswer| -> Vec<String> {
        let entries = answer.entries.iter();
        entries
            .map(|entry| String::from_utf8_lossy(entry).into_owned())
            .collect()
    };
    let answer = extend(0, 0, &["one", "two"]).await;
    assert_eq!((answer.appended, answer.length), (true, 2));
    assert_eq!(texts(&answer), ["one", "two"]);
    // Somebody was faster: what came in between is told, and nothing appended.
    let answer = extend(1, 0, &["eins"]).await;
    assert_eq!((answer.appended, answer.length), (false, 2));
    assert_eq!(texts(&answer), ["one", "two"]);
    let answer = extend(1, 2, &["three"]).await;
    assert_eq!((answer.appended, answer.length), (true, 3));
    assert_eq!(texts(&answer), ["three"]);
    // Known to be longer than it is: the store has lost something.
    let answer = extend(2, 5, &["six"]).await;
    assert_eq!((answer.appended, answer.length), (false, 3));
    assert_eq!(texts(&answer).len(), 0);
    // Asked about, without anything to add.
    let answer = extend(2, 1, &[]).await;
    assert_eq!((answer.appended, answer.length), (false, 3));
    assert_eq!(texts(&answer), ["two", "three"]);
    let other = LogKey::Numbers([2; 16]);
    let answer = stage.node(0).extend(other, 0, vec![]).await.unwrap();
    assert_eq!((answer.appended, answer.length), (true, 0));
}

pub(in crate::shared) async fn who_has_not_noticed_a_loss_appends_nothing(stage: &dyn Stage) {
    let log = LogKey::Numbers([1; 16]);
    let extend = |epoch, known| {
        let (store, log) = (stage.node(0), log.clone());
        async move {
            let answer = store.extend_within(Some(epoch), log, known, vec![b"x".to_vec()]);
            let answer = answer.await.unwrap();
            (answer.appended, answer.length)
        }
    };
    assert_eq!(extend(Epoch(5), 0).await, (false, 0), "there is none yet");
    let before = stage.node(0).beat(beat(1, &[])).await.unwrap().epoch;
    assert_eq!(extend(before, 0).await, (true, 1));
    assert_eq!(extend(Epoch(before.0 + 1), 1).await, (false, 1));
    stage.restart_empty().await;
    assert_eq!(extend(before, 0).await, (false, 0), "nobody has noticed");
    let begins = Beat {
        new_epoch: Epoch(77),
        ..beat(1, &[])
    };
    stage.node(0).beat(begins).await.unwrap();
    assert_eq!(extend(before, 0).await, (false, 0), "this node has not");
    assert_eq!(extend(Epoch(77), 0).await, (true, 1));
}

pub(in crate::shared) async fn connections_are_shared_out(stage: &dyn Stage) {
    let lease = |node, open| {
        let store = stage.node(0);
        async move {
            let lease = store.lease(UP, NodeId(node), open, 10).await.unwrap();
            (lease.granted, lease.others, lease.nodes)
        }
    };
    assert_eq!(lease(1, 4).await, (4, 0, 1));
    assert_eq!(lease(2, 8).await, (6, 4, 2));
    assert_eq!(lease(3, 8).await, (0, 10, 3));
    // Closed ones are free for others.
    assert_eq!(lease(1, 1).await, (1, 6, 3));
    assert_eq!(lease(3, 8).await, (3, 7, 3));
    assert_eq!(lease(1, 0).await, (0, 9, 2));
    // Not heard of for ten seconds: a lease or a beat will do.
    stage.advance(secs(8));
    stage.node(0).beat(beat(2, &[])).await.unwrap();
    stage.advance(secs(3));
    assert_eq!(lease(1, 9).await, (4, 6, 2));
    let other = stage.node(0).lease(OTHER, NodeId(1), 3, 2).await.unwrap();
    assert_eq!(
        (other.granted, other.nodes, other.now),
        (2, 1, stage.time())
    );
}
