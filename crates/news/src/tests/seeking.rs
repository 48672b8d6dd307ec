//! What is looked for in stored articles, by way of the model.

use futures_util::future::join_all;

use super::restart::{Machine, stop};
use crate::seeking::{Seeking, Unfound};
use crate::text::Inquiry;

#[tokio::test]
async fn of_many_who_search_at_once_the_last_are_told_to_come_back() {
    let machine = Machine::new(3).await;
    let model = machine.start(|_| {});
    let seek = |_| {
        let inquiry = Inquiry::read("water");
        model.seek(Seeking {
            inquiry,
            ..Seeking::default()
        })
    };
    // All of them come before the first is answered.
    let found = join_all((0..24).map(seek)).await;
    let busy = |found: &&Result<_, _>| matches!(found, Err(Unfound::Busy { retry_after: 1.. }));
    assert!(found.iter().any(Result::is_ok), "{found:?}");
    assert!(found.last().as_ref().is_some_and(busy), "{:?}", found[23]);
    assert!(found.iter().all(|found| found.is_ok() || busy(&found)));
    let refused = found.iter().filter(busy).count() as u64;
    let own = model.engine.own_decisions();
    assert_eq!((own.len(), own[0].count), (1, refused), "{own:?}");
    assert_eq!(
        own[0].sentence(),
        format!(
            "{refused} article searches refused: too many at once (8 wait at most). The clients were told to retry in 3 s."
        )
    );
    let counters = model.engine.status().counters;
    assert_eq!((counters.asked, counters.refused), (refused, refused));
    stop(model).await;
}
