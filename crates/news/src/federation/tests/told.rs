//! What somebody is told who leaves a server for the next one.

use weir_engine::Got;

use super::*;
use crate::silence;

#[tokio::test(start_paused = true)]
async fn whoever_moves_on_is_told_whether_the_server_was_asked_at_all() {
    let world = World::new(|_| {}).await;
    let reader = world.engine.asker("tin");
    let read = async |number| {
        let question = AskArticle(id(number));
        world
            .federation
            .seek(&question, (HIGH, reader), || Got::Nothing)
            .await
    };
    let newest = |name| {
        let upstream = world.server(name).upstream;
        world.engine.decisions(upstream, None, 1).remove(0)
    };
    // The first holds its call back, the second has the article.
    world.servers[0].set_for("ARTICLE", Behaviour::Hang);
    assert_eq!(found(&read(1).await), "two");
    assert_eq!(newest("one").got, Some(Got::Elsewhere));
    // Neither has it or says so: the first is called and hangs, the second says no.
    let Sought::Unknown(silent) = read(70).await else {
        panic!("the first might have it");
    };
    let told = |(server, why): &(Arc<Server>, NoAnswer)| {
        silence::silent(&world.engine, server, why).reason
    };
    assert_eq!(told(&silent[0]), "it did not answer within 4 s");
    assert_eq!(newest("one").got, Some(Got::Nothing));
    // Nothing is called at all.
    world.engine.hold();
    let goes_on = async {
        tokio::time::sleep(5 * SECOND).await;
        world.engine.release();
    };
    let (sought, ()) = tokio::join!(read(71), goes_on);
    let Sought::Unknown(silent) = sought else {
        panic!("the first might have it");
    };
    let words = "it was not asked: the request was still queued after 4 s";
    assert_eq!(told(&silent[0]), words);
    let skipped = newest("one");
    assert!(matches!(skipped.what, What::Skipped(_)), "{skipped:?}");
    assert_eq!(skipped.got, Some(Got::Nothing));
    assert_eq!(
        world.heard(0, &["ARTICLE"]).len(),
        2,
        "it was never asked for the last"
    );
}
