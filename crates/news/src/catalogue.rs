//! The newsgroups of all servers as one list.
//!
//! Each server is asked for its list with one command, never once per newsgroup: LIST COUNTS, or LIST ACTIVE where it lacks
//! that; LIST NEWSGROUPS, if it has it, says what they are about. What a server sent last stays until it sends another, so
//! one that is down does not take its newsgroups along.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use weir_engine::dispatch::Moment;
use weir_news_proto::Newsgroup;
use weir_news_proto::article::decode_header;
use weir_news_proto::list::{Active, Counted, Described, PostingStatus};

use crate::call::ListBlock;
use crate::numbers::{Carried, ServerId};
use crate::outbound::lines;
use crate::reading::{Currency, NewsgroupList, NewsgroupRow, Posting, Rendered, SilentServer};

/// Newsgroups that are listed. The largest servers carry half as many; a server that invents more does not fill our memory.
const MOST: usize = 250_000;

/// Characters kept of a description.
const DESCRIPTION: usize = 300;

/// What servers list.
#[derive(Default)]
pub(crate) struct Catalogue {
    state: Mutex<CatalogueState>,
    /// Told whenever the list was made anew.
    changed: Notify,
}

#[derive(Default)]
struct CatalogueState {
    lists: BTreeMap<ServerId, ServerList>,
    /// All in one; `None` if no server has ever listed anything.
    merged: Option<Arc<MergedList>>,
    /// When a server last confirmed it.
    checked: Option<(Moment, i64)>,
    /// See [`Catalogue::partial_since`].
    partial_since: Option<Moment>,
}

/// What one server sent.
#[derive(Clone, Default)]
struct ServerList {
    listed: Option<ListBlock>,
    /// When that was, in Unix seconds.
    at: Option<i64>,
    described: Option<Bytes>,
    silent: Option<SilentServer>,
}

/// A server in the order of priorities.
#[derive(Clone, Debug)]
pub(crate) struct Ranked {
    pub(crate) server: ServerId,
    pub(crate) name: Arc<str>,
}

/// The list, and what it was made from.
#[derive(Debug)]
pub(crate) struct MergedList {
    pub(crate) list: Arc<NewsgroupList>,
    places: HashMap<Newsgroup, usize>,
    carried: Vec<Vec<(ServerId, Carried)>>,
}

impl MergedList {
    /// A newsgroup, and what its servers say of it, by their priorities.
    pub(crate) fn find(&self, name: &Newsgroup) -> Option<(&NewsgroupRow, &[(ServerId, Carried)])> {
        let place = *self.places.get(name)?;
        Some((&self.list.newsgroups[place], &self.carried[place]))
    }

    /// What the servers of a newsgroup say of it, by its place in the list.
    pub(crate) fn carried_at(&self, place: usize) -> &[(ServerId, Carried)] {
        &self.carried[place]
    }

    /// How many newsgroups a server carries.
    pub(crate) fn carried_by(&self, server: ServerId) -> usize {
        let carries = |servers: &&Vec<(ServerId, Carried)>| {
            servers.iter().any(|(carrier, _)| *carrier == server)
        };
        self.carried.iter().filter(carries).count()
    }
}

impl Catalogue {
    /// The list as it is, and when it was last confirmed.
    pub(crate) fn merged(&self) -> Option<(Arc<MergedList>, Option<Moment>)> {
        let state = self.state.lock();
        let merged = state.merged.clone()?;
        Some((merged, state.checked.map(|(at, _)| at)))
    }

    /// A server's list came.
    pub(crate) fn listed(&self, server: ServerId, list: ListBlock, now: Option<(Moment, i64)>) {
        let mut state = self.state.lock();
        state.checked = now.or(state.checked);
        let kept = state.lists.entry(server).or_default();
        kept.listed = Some(list);
        kept.at = now.map(|(_, at)| at);
        kept.silent = None;
    }

    /// When a server sent the list that is known of it, in Unix seconds.
    pub(crate) fn listed_at(&self, server: ServerId) -> Option<i64> {
        self.state.lock().lists.get(&server)?.at
    }

    /// What a server's newsgroups are about.
    pub(crate) fn described(&self, server: ServerId, block: Bytes) {
        self.state.lock().lists.entry(server).or_default().described = Some(block);
    }

    /// Whether a server has said what its newsgroups are about.
    pub(crate) fn is_described(&self, server: ServerId) -> bool {
        let state = self.state.lock();
        let list = state.lists.get(&server);
        list.is_some_and(|list| list.described.is_some())
    }

    /// A server did not send its list.
    pub(crate) fn silent(&self, server: ServerId, silent: SilentServer) {
        self.state.lock().lists.entry(server).or_default().silent = Some(silent);
    }

    /// Since when lists are known of some servers, while others are still to send their first.
    pub(crate) fn partial_since(&self) -> Option<Moment> {
        self.state.lock().partial_since
    }

    /// Makes one list of what these servers sent. What others sent is forgotten: they are no longer configured.
    pub(crate) fn merge(&self, servers: &[Ranked]) -> Option<Arc<MergedList>> {
        let (lists, checked) = {
            let mut state = self.state.lock();
            let configured =
                |server: &ServerId| servers.iter().any(|ranked| ranked.server == *server);
            state.lists.retain(|server, _| configured(server));
            (state.lists.clone(), state.checked)
        };
        let merged = merge(servers, &lists, checked.map(|(_, at)| at)).map(Arc::new);
        let unknown = servers.iter().any(|ranked| {
            let list = lists.get(&ranked.server);
            list.is_none_or(|list| list.listed.is_none() && list.silent.is_none())
        });
        let mut state = self.state.lock();
        state.merged = merged.clone();
        state.partial_since = match checked.filter(|_| unknown) {
            Some((at, _)) => state.partial_since.or(Some(at)),
            None => None,
        };
        drop(state);
        self.changed.notify_waiters();
        merged
    }

    /// Waits until the list is made anew, after this was called.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// What a server says of posting to these newsgroups; those that it does not carry are closed there.
    pub(crate) fn takes(&self, server: ServerId, names: &[Newsgroup]) -> Vec<Posting> {
        let mut all = vec![Posting::Closed; names.len()];
        let listed = {
            let state = self.state.lock();
            let list = state.lists.get(&server);
            list.and_then(|list| list.listed.clone())
        };
        let Some(ListBlock { counts, block }) = listed else {
            return all;
        };
        for line in lines(&block) {
            let end = line.iter().position(u8::is_ascii_whitespace);
            let word = &line[..end.unwrap_or(line.len())];
            let place = names
                .iter()
                .position(|name| name.as_str().as_bytes() == word);
            if let Some(place) = place
                && let Some((active, _)) = parse(line, counts)
            {
                all[place] = posting(active.status);
            }
        }
        all
    }

    /// Who did not send a list, and why.
    pub(crate) fn silents(&self) -> Vec<SilentServer> {
        let state = self.state.lock();
        let silent = state.lists.values().filter_map(|list| list.silent.clone());
        silent.collect()
    }

    /// Bytes of all lists.
    pub(crate) fn bytes(&self) -> usize {
        let state = self.state.lock();
        let size = |list: &ServerList| {
            let listed = list.listed.as_ref().map_or(0, |list| list.block.len());
            listed + list.described.as_ref().map_or(0, Bytes::len)
        };
        state.lists.values().map(size).sum()
    }
}

/// A newsgroup while lists are merged.
struct Gathered<'a> {
    name: &'a str,
    servers: Vec<(usize, Carried)>,
    posting: Posting,
    description: &'a [u8],
}

fn merge(
    servers: &[Ranked],
    lists: &BTreeMap<ServerId, ServerList>,
    checked: Option<i64>,
) -> Option<MergedList> {
    let sent: Vec<(usize, &ServerList)> = servers
        .iter()
        .enumerate()
        .filter_map(|(rank, ranked)| Some((rank, lists.get(&ranked.server)?)))
        .collect();
    if sent.iter().all(|(_, list)| list.listed.is_none()) {
        return None;
    }
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut all: Vec<Gathered<'_>> = Vec::new();
    for &(rank, list) in &sent {
        let Some(listed) = &list.listed else { continue };
        for line in lines(&listed.block) {
            let Some((active, count)) = parse(line, listed.counts) else {
                continue;
            };
            let place = *places.entry(active.newsgroup).or_insert(all.len());
            if place == all.len() {
                if all.len() == MOST {
                    places.remove(active.newsgroup);
                    continue;
                }
                all.push(Gathered {
                    name: active.newsgroup,
                    servers: Vec::new(),
                    posting: Posting::Closed,
                    description: &[],
                });
            }
            let gathered = &mut all[place];
            if gathered
                .servers
                .last()
                .is_none_or(|(last, _)| *last != rank)
            {
                gathered.servers.push((rank, count));
                gathered.posting = gathered.posting.max(posting(active.status));
            }
        }
    }
    for &(_, list) in &sent {
        let described = list.described.as_deref().unwrap_or_default();
        for line in lines(described) {
            if let Ok(described) = Described::parse(line)
                && let Some(&place) = places.get(described.newsgroup)
                && all[place].description.is_empty()
            {
                all[place].description = described.text;
            }
        }
    }
    all.sort_unstable_by_key(|gathered| gathered.name);
    let silent = sent.iter().filter_map(|(_, list)| list.silent.clone());
    let currency = Currency {
        checked,
        silent: silent.collect(),
        busy: None,
    };
    Some(finish(servers, &all, currency))
}

fn finish(servers: &[Ranked], all: &[Gathered<'_>], currency: Currency) -> MergedList {
    let mut merged = (Vec::with_capacity(all.len()), Vec::with_capacity(all.len()));
    let mut places = HashMap::with_capacity(all.len());
    for gathered in all {
        let Ok(name) = gathered.name.parse::<Newsgroup>() else {
            continue;
        };
        let text = decode_header(gathered.description);
        let most = gathered
            .servers
            .iter()
            .map(|(_, carried)| carried.count)
            .max();
        places.insert(name.clone(), merged.0.len());
        merged.0.push(NewsgroupRow {
            name,
            description: weir_news_proto::article::cut(&text, DESCRIPTION).to_owned(),
            articles: most.unwrap_or(0),
            posting: gathered.posting,
            servers: gathered
                .servers
                .iter()
                .map(|&(rank, _)| servers[rank].name.clone())
                .collect(),
            newest: None,
            high: gathered
                .servers
                .first()
                .map_or(0, |(_, carried)| carried.high),
        });
        let carried = gathered.servers.iter();
        merged.1.push(
            carried
                .map(|&(rank, carried)| (servers[rank].server, carried))
                .collect(),
        );
    }
    MergedList {
        list: Arc::new(NewsgroupList {
            newsgroups: merged.0,
            currency,
            rendered: Rendered::default(),
        }),
        places,
        carried: merged.1,
    }
}

/// A line of either list. Without a count there are as many articles as numbers, at most.
fn parse(line: &[u8], counts: bool) -> Option<(Active<'_>, Carried)> {
    let (active, count) = match counts {
        true => {
            let counted = Counted::parse(line).ok()?;
            (counted.active, Some(counted.count))
        }
        false => (Active::parse(line).ok()?, None),
    };
    // Filed elsewhere, under a name that is listed as well.
    if matches!(active.status, PostingStatus::Alias(_)) {
        return None;
    }
    let (low, high) = active
        .numbers()
        .map_or((1, 0), std::ops::RangeInclusive::into_inner);
    let span = (high + 1).saturating_sub(low);
    let carried = Carried {
        low,
        high,
        count: count.unwrap_or(span).min(span),
    };
    // Numbers that nobody believes are as good as none.
    Some((active, carried.checked().unwrap_or(Carried::NOTHING)))
}

fn posting(status: PostingStatus<'_>) -> Posting {
    match status {
        PostingStatus::Allowed => Posting::Open,
        PostingStatus::Moderated => Posting::Moderated,
        _ => Posting::Closed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(number: u32, name: &str) -> Ranked {
        Ranked {
            server: ServerId(number),
            name: name.into(),
        }
    }

    fn counts(block: &'static str) -> ListBlock {
        ListBlock {
            counts: true,
            block: Bytes::from_static(block.as_bytes()),
        }
    }

    fn active(block: &'static str) -> ListBlock {
        ListBlock {
            counts: false,
            block: Bytes::from_static(block.as_bytes()),
        }
    }

    fn two() -> (Catalogue, [Ranked; 2]) {
        let catalogue = Catalogue::default();
        let one =
            "misc.test 100 1 90 n\r\nalt.one 5 1 5 m\r\nold.name 5 1 5 =misc.test\r\nbroken\r\n";
        catalogue.listed(ServerId(1), counts(one), None);
        let two = "misc.test 0000000300 0000000201 y\r\nalt.two 0 1 n\r\n";
        catalogue.listed(ServerId(2), active(two), None);
        (catalogue, [ranked(1, "one"), ranked(2, "two")])
    }

    #[test]
    fn lists_of_several_servers_become_one() {
        let (catalogue, servers) = two();
        let text = "misc.test\tTests =?utf-8?q?f=C3=BCr?= all\r\nnobody.has.it\tx\r\n";
        catalogue.described(ServerId(2), Bytes::from_static(text.as_bytes()));
        let merged = catalogue.merge(&servers).expect("a list");
        let names: Vec<&str> = merged
            .list
            .newsgroups
            .iter()
            .map(|row| row.name.as_str())
            .collect();
        assert_eq!(names, ["alt.one", "alt.two", "misc.test"]);
        let (row, carried) = merged
            .find(&"misc.test".parse().expect("a name"))
            .expect("it is there");
        assert_eq!(row.description, "Tests für all");
        assert_eq!((row.articles, row.high), (100, 100));
        assert_eq!(
            row.posting,
            Posting::Open,
            "the most permissive server decides"
        );
        assert_eq!(row.servers.len(), 2);
        assert_eq!(
            carried[0].1,
            Carried {
                low: 1,
                high: 100,
                count: 90
            }
        );
        assert_eq!(
            carried[1].1,
            Carried {
                low: 201,
                high: 300,
                count: 100
            }
        );
        assert_eq!(
            (
                merged.carried_by(ServerId(1)),
                merged.carried_by(ServerId(2))
            ),
            (2, 2)
        );
    }

    #[test]
    fn a_server_that_is_down_keeps_its_newsgroups_and_one_that_is_gone_does_not() {
        let (catalogue, servers) = two();
        catalogue.merge(&servers).expect("a list");
        catalogue.silent(
            ServerId(1),
            SilentServer {
                name: "one".into(),
                reason: "it did not answer in time".to_owned(),
                retry_at: None,
            },
        );
        let merged = catalogue.merge(&servers).expect("a list");
        assert_eq!(merged.list.newsgroups.len(), 3);
        assert_eq!(merged.list.currency.silent.len(), 1);
        let merged = catalogue.merge(&servers[1..]).expect("a list");
        assert_eq!(merged.list.newsgroups.len(), 2);
        assert!(merged.list.currency.silent.is_empty());
    }

    #[test]
    fn each_server_says_for_itself_what_it_takes() {
        let (catalogue, _) = two();
        let names =
            ["misc.test", "alt.one", "alt.two", "misc"].map(|name| name.parse().expect("a name"));
        use Posting::{Closed, Moderated, Open};
        assert_eq!(
            catalogue.takes(ServerId(1), &names),
            [Closed, Moderated, Closed, Closed]
        );
        assert_eq!(
            catalogue.takes(ServerId(2), &names),
            [Open, Closed, Closed, Closed]
        );
        assert_eq!(catalogue.takes(ServerId(3), &names), [Closed; 4]);
    }

    #[test]
    fn nothing_listed_is_no_list() {
        assert!(Catalogue::default().merge(&[ranked(1, "one")]).is_none());
    }
}
