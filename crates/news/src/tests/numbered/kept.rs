//! What is read from the file, with real time.

use super::super::restart::{Machine, stop};
use super::*;

#[tokio::test]
async fn what_was_read_once_is_not_fetched_again_and_is_there_with_all_servers_down() {
    let machine = Machine::new(1200).await;
    let name = group("misc.test");
    let model = machine.start(|_| {});
    let marks = model.numbered(&name, READER).await.expect("marks");
    let read = lines(&model, "misc.test", 1..=1200).await.expect("lines");
    assert_eq!(named(&read), same(1..=1200));
    machine.server.forget();
    let again = lines(&model, "misc.test", 1..=1200).await.expect("lines");
    assert_eq!(again, read);
    assert!(
        machine.server.commands().is_empty(),
        "{:?}",
        machine.server.commands()
    );
    stop(model).await;

    machine
        .server
        .set(Behaviour::Goodbye("400 Down".to_owned()));
    machine.server.forget();
    // So little memory that few lines are held.
    let model = machine.start(|config| config.cache.memory = (100 << 10).into());
    assert_eq!(model.numbered(&name, READER).await, Ok(marks.clone()));
    let list = model.numbered_list(READER).await.expect("a list");
    assert_eq!(list.find(&name), Some(&marks));
    assert_eq!(lines(&model, "misc.test", 1..=1200).await, Ok(read));
    assert_eq!(model.id_at(&name, 7, READER).await, Ok(Some(id(7))));
    assert_eq!(model.number_of(&name, &id(7)).await, Some(7));
    let beside = model.beside(&name, 8, false, READER).await;
    assert_eq!(beside, Ok(Some((7, id(7)))));
    assert!(
        machine.server.commands().is_empty(),
        "{:?}",
        machine.server.commands()
    );
    stop(model).await;
}

#[tokio::test]
async fn a_number_that_only_a_dead_server_can_explain_is_an_error_and_not_a_hole() {
    let machine = Machine::new(900).await;
    let name = group("misc.test");
    let model = machine.start(|_| {});
    model.numbered(&name, READER).await.expect("marks");
    stop(model).await;
    machine
        .server
        .set(Behaviour::Goodbye("400 Down".to_owned()));
    let model = machine.start(|_| {});
    assert_eq!(
        model.numbered(&name, READER).await.expect("marks").high,
        900
    );
    let newest = lines(&model, "misc.test", 801..=900).await.expect("lines");
    assert_eq!(named(&newest), same(801..=900));
    for range in [1..=900, 1..=1, 399..=401] {
        let read = lines(&model, "misc.test", range).await;
        assert!(matches!(read, Err(Unread::Unreachable(_))), "{read:?}");
    }
    assert!(model.id_at(&name, 3, READER).await.is_err());
    assert!(model.beside(&name, 400, false, READER).await.is_err());
    // The nearest one is known, though nobody can say what is beyond it.
    let beside = model.beside(&name, 402, false, READER).await;
    assert_eq!(beside, Ok(Some((401, id(401)))));
    assert!(model.beside(&name, 401, false, READER).await.is_err());
    stop(model).await;
}

#[tokio::test]
async fn numbers_that_were_promised_are_promised_after_a_restart() {
    let machine = Machine::new(10).await;
    let name = group("misc.test");
    let fresh = |config: &mut crate::config::Config| {
        config.cache.threads = std::time::Duration::ZERO;
    };
    let model = machine.start(fresh);
    model.numbered(&name, READER).await.expect("marks");
    for number in 11..=610 {
        machine
            .server
            .add(&["misc.test"], Article::numbered(number));
    }
    machine
        .server
        .set_for("OVER", Behaviour::Line("403 Later".to_owned()));
    let marks = model.numbered(&name, READER).await.expect("marks");
    assert_eq!((marks.low, marks.high), (1, 610));
    let list = model.numbered_list(READER).await.expect("a list");
    let listed = list.find(&name).expect("it is there");
    assert_eq!((listed.low, listed.high), (1, 610), "in the list, too");
    stop(model).await;
    machine
        .server
        .set(Behaviour::Goodbye("400 Down".to_owned()));
    let model = machine.start(fresh);
    let marks = model.numbered(&name, READER).await.expect("marks");
    assert_eq!((marks.low, marks.high), (1, 610));
    stop(model).await;
}

#[tokio::test]
async fn what_has_expired_is_gone_though_the_file_has_it() {
    let machine = Machine::new(10).await;
    let name = group("misc.test");
    let model = machine.start(|config| config.cache.threads = std::time::Duration::ZERO);
    model.numbered(&name, READER).await.expect("marks");
    for number in 1..=5 {
        machine.server.remove(id(number).as_str());
    }
    let marks = model.numbered(&name, READER).await.expect("marks");
    assert_eq!((marks.low, marks.high), (6, 10));
    let read = lines(&model, "misc.test", 1..=10).await.expect("lines");
    assert_eq!(named(&read), same(6..=10));
    assert_eq!(model.id_at(&name, 3, READER).await, Ok(None));
    assert_eq!(model.number_of(&name, &id(3)).await, None);
    assert_eq!(model.beside(&name, 6, false, READER).await, Ok(None));
    stop(model).await;
}

#[tokio::test]
async fn what_has_expired_is_gone_from_the_file_alone() {
    let machine = Machine::new(100).await;
    let name = group("misc.test");
    let fresh = |config: &mut crate::config::Config| {
        config.cache.threads = std::time::Duration::ZERO;
        // So little memory that few lines are held.
        config.cache.memory = (100 << 10).into();
    };
    let model = machine.start(fresh);
    model.numbered(&name, READER).await.expect("marks");
    assert_eq!(model.number_of(&name, &id(3)).await, Some(3));
    for number in 1..=50 {
        machine.server.remove(id(number).as_str());
    }
    let marks = model.numbered(&name, READER).await.expect("marks");
    assert_eq!((marks.low, marks.high), (51, 100));
    let open = model.open(&name).await;
    let held = open.with(|state| state.table.article(&id(3)).is_some());
    assert!(!held, "only the file has it");
    assert_eq!(model.number_of(&name, &id(3)).await, None);
    assert_eq!(model.number_of(&name, &id(51)).await, Some(51));
    assert_eq!(model.id_at(&name, 3, READER).await, Ok(None));
    stop(model).await;
}
