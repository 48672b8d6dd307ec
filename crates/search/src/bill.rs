//! What a search costs: the calls that are made for it, and those of others that it shares.
//!
//! A search is answered and remembered at its deadline, but calls may be made for it later, and only then is its cost
//! known. Whatever could still add to it holds a [`Bill`]: the task that sees to one indexer, and the call that this
//! search leads. When the last of them is gone the figures are final, which whoever holds the receiver is told.

use tokio::sync::watch;

/// One indexer's line on the bill of a search, for whoever may add to it.
#[derive(Clone)]
pub(crate) struct Bill {
    costs: watch::Sender<Vec<Cost>>,
    line: usize,
}

/// What one indexer's part in a search costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Calls that were really made for this search.
    pub(crate) calls: u32,
    /// The program whose call this search shares.
    pub(crate) shared_with: Option<String>,
}

impl Bill {
    /// One for each of so many indexers, and the costs of all as they are now. Whoever keeps a search keeps only the
    /// costs, or they would never be final.
    pub(crate) fn open(lines: usize) -> (Vec<Self>, watch::Receiver<Vec<Cost>>) {
        let (sender, receiver) = watch::channel(vec![Cost::default(); lines]);
        let line = |line| Self {
            costs: sender.clone(),
            line,
        };
        ((0..lines).map(line).collect(), receiver)
    }

    /// A call is made, and it is made for this search whoever else waits for it.
    pub(crate) fn called(&self) {
        self.costs.send_modify(|costs| costs[self.line].calls += 1);
    }

    /// Another program's call is under way, and this search waits for it. The first such program counts.
    pub(crate) fn shared(&self, program: String) {
        self.costs.send_modify(|costs| {
            costs[self.line].shared_with.get_or_insert(program);
        });
    }
}

/// Waits until nothing can be added to a bill any more.
pub(crate) async fn closed(costs: &mut watch::Receiver<Vec<Cost>>) {
    while costs.changed().await.is_ok() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_bill_is_closed_when_nobody_can_add_to_it() {
        let (bills, mut costs) = Bill::open(2);
        let late = bills[1].clone();
        late.shared("Sonarr".to_owned());
        late.shared("Radarr".to_owned());
        drop(bills);
        let open = tokio::time::timeout(std::time::Duration::ZERO, closed(&mut costs)).await;
        assert!(open.is_err());
        late.called();
        drop(late);
        closed(&mut costs).await;
        let shared = Cost {
            calls: 1,
            shared_with: Some("Sonarr".to_owned()),
        };
        assert_eq!(*costs.borrow(), [Cost::default(), shared]);
    }
}
