//! A front's upstreams follow its configuration: one that stays keeps its state, one that comes back gets it back, and
//! one that leads elsewhere starts fresh.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use weir_engine::dispatch::Availability;
use weir_engine::dispatch::UpstreamId;
use weir_engine::dispatch::policy::Quota;
use weir_engine::{
    Joining, Kind, Listed, Outcome, Outward, Reconciled, Restored, RestoredUpstream, Roster, Rows,
    Timeline, WallClock,
};
use weir_store::state::{Change, Kept, MemoryState, State, Wall};
use weir_testkit::memory::Network;

use crate::kit::*;
use crate::rows::{Machine, limited, state, stop, throttle};

#[derive(Clone, PartialEq)]
struct Server {
    name: &'static str,
    at: &'static str,
    colour: &'static str,
}

struct Upstream {
    entry: Server,
    id: UpstreamId,
    /// How often this one was made again for a changed entry.
    changes: u32,
    known: bool,
    looked_up: AtomicU32,
}

impl Listed for Upstream {
    type Entry = Server;

    fn entry(&self) -> &Server {
        &self.entry
    }

    fn upstream(&self) -> UpstreamId {
        self.id
    }

    fn name(entry: &Server) -> &str {
        entry.name
    }

    fn leads_elsewhere(before: &Server, now: &Server) -> bool {
        before.at != now.at
    }

    fn identity(entry: &Server) -> (String, String) {
        (entry.at.to_owned(), String::new())
    }

    fn look_up_anew(&self) {
        self.looked_up.fetch_add(1, Ordering::Relaxed);
    }
}

fn server(name: &'static str, at: &'static str) -> Server {
    Server {
        name,
        at,
        colour: "",
    }
}

fn roster(desk: &Desk, rows: Arc<Rows>, restored: Restored) -> Roster<Upstream> {
    Roster::new(&mut Outward {
        rows: Some(rows),
        restored,
        ..Outward::without_rows(desk.engine.clone(), Network::new().ground())
    })
}

fn set(roster: &Roster<Upstream>, entries: &[Server], quota: Quota) -> Reconciled<Upstream> {
    let allows = |_: &Server| (quota.clone(), Duration::from_secs(30));
    let make = |entry: &Server, joining: Joining<'_, Upstream>| Upstream {
        entry: entry.clone(),
        id: joining.upstream,
        changes: joining.before.map_or(0, |before| before.changes + 1),
        known: joining.known,
        looked_up: AtomicU32::default(),
    };
    let reconciled = roster.reconcile(entries, allows, make);
    roster.settle();
    reconciled
}

#[tokio::test(start_paused = true)]
async fn who_stays_keeps_its_state_and_only_a_changed_entry_is_made_anew() {
    let (desk, rows, restored) = Machine::new().start(policy());
    let roster = roster(&desk, rows, restored);
    let entries = [server("a", "x"), server("b", "y")];
    assert!(set(&roster, &entries, quota(secs(0), 1)).any_new);
    let (a, b) = (roster.named("a").unwrap(), roster.named("b").unwrap());
    throttle(&desk, a.id, secs(600)).await;
    let mut changed = entries.clone();
    changed[0].colour = "red";
    let reconciled = set(&roster, &changed, quota(secs(0), 1));
    assert!(!reconciled.any_new && reconciled.gone.is_empty());
    let after = roster.named("a").unwrap();
    assert_eq!((after.id, after.changes), (a.id, 1));
    assert!(matches!(state(&desk, a.id), Availability::Cooldown { .. }));
    assert!(Arc::ptr_eq(&b, &roster.find(b.id).unwrap()));
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_has_windows_cooldown_and_switch_again() {
    let (desk, rows, restored) = Machine::new().start(policy());
    let roster = roster(&desk, rows, restored);
    let entries = [server("a", "x"), server("b", "y")];
    set(&roster, &entries, limited());
    let (a, b) = (roster.named("a").unwrap(), roster.named("b").unwrap());
    throttle(&desk, a.id, secs(600)).await;
    desk.engine.switch_off(b.id, "account renewal", "operator");
    let reconciled = set(&roster, &[], limited());
    assert_eq!(reconciled.gone.len(), 2);
    assert!(roster.find(a.id).is_none() && roster.all().is_empty());
    pass(secs(60)).await;
    assert!(set(&roster, &entries, limited()).any_new);
    let again = roster.named("a").unwrap();
    assert!(again.known && again.id != a.id);
    let left = desk.engine.upstream(again.id).unwrap().status;
    assert!(
        matches!(left.state, Availability::Cooldown { .. }),
        "{left:?}"
    );
    assert_eq!(left.query[0].used, 1);
    let b = roster.named("b").unwrap();
    assert!(matches!(state(&desk, b.id), Availability::Off));
}

#[tokio::test(start_paused = true)]
async fn who_leads_elsewhere_keeps_windows_and_switch_but_no_cooldown() {
    let (desk, rows, restored) = Machine::new().start(policy());
    let roster = roster(&desk, rows, restored);
    set(&roster, &[server("a", "x"), server("b", "x")], limited());
    let (a, b) = (roster.named("a").unwrap(), roster.named("b").unwrap());
    throttle(&desk, a.id, secs(600)).await;
    desk.engine.switch_off(b.id, "account renewal", "operator");
    let reconciled = set(&roster, &[server("a", "z"), server("b", "z")], limited());
    assert_eq!(reconciled.gone.len(), 2);
    let moved = roster.named("a").unwrap();
    assert_eq!(moved.changes, 0, "it is another one");
    let status = desk.engine.upstream(moved.id).unwrap().status;
    assert!(
        !matches!(status.state, Availability::Cooldown { .. }),
        "{status:?}"
    );
    assert_eq!(status.query[0].used, 1);
    let b = roster.named("b").unwrap();
    assert!(matches!(state(&desk, b.id), Availability::Off));
}

fn used(desk: &Desk, id: UpstreamId) -> u32 {
    let view = desk.engine.upstream(id).expect("it is there");
    view.status.query[0].used
}

#[tokio::test(start_paused = true)]
async fn who_has_another_name_and_leads_where_it_did_is_the_same_also_after_a_restart() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let before = roster(&desk, rows, restored);
    let entries = [server("a", "x"), server("b", "y"), server("c", "z")];
    set(&before, &entries, limited());
    let (a, b) = (before.named("a").unwrap(), before.named("b").unwrap());
    throttle(&desk, a.id, secs(600)).await;
    desk.engine.switch_off(b.id, "account renewal", "operator");
    let entries = [server("one", "x"), server("two", "y"), server("c", "z")];
    let reconciled = set(&before, &entries, limited());
    assert!(!reconciled.any_new && reconciled.gone.is_empty());
    let (one, two) = (before.named("one").unwrap(), before.named("two").unwrap());
    assert_eq!((one.id, one.changes), (a.id, 1));
    assert!(before.named("a").is_none());
    let view = desk.engine.upstream(one.id).unwrap();
    assert_eq!((&*view.figures.name, used(&desk, one.id)), ("one", 1));
    assert!(matches!(
        state(&desk, one.id),
        Availability::Cooldown { .. }
    ));
    assert!(matches!(state(&desk, two.id), Availability::Off));
    // Cut off, not stopped: whoever renames one finds it so whatever happens next.
    drop((before, desk));
    let (desk, rows, restored) = machine.start(policy());
    let mut names: Vec<&str> = restored.upstreams.keys().map(|name| &**name).collect();
    names.sort_unstable();
    assert_eq!(names, ["c", "one", "two"]);
    let after = roster(&desk, rows, restored);
    let mut entries = entries.to_vec();
    entries.push(server("a", "elsewhere"));
    set(&after, &entries, limited());
    let (one, two) = (after.named("one").unwrap(), after.named("two").unwrap());
    assert_eq!(used(&desk, one.id), 1, "counted once");
    assert!(matches!(
        state(&desk, one.id),
        Availability::Cooldown { .. }
    ));
    assert!(matches!(state(&desk, two.id), Availability::Off));
    let off = desk.engine.upstream(two.id).unwrap().off.unwrap();
    assert_eq!(off.reason, "account renewal");
    let a = after.named("a").unwrap();
    assert!(!a.known, "whoever has the old name later is another one");
    assert_eq!(used(&desk, a.id), 0);
}

#[tokio::test(start_paused = true)]
async fn names_that_change_hands_take_nothing_with_them() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let before = roster(&desk, rows, restored);
    set(&before, &[server("a", "x"), server("b", "y")], limited());
    let (a, b) = (before.named("a").unwrap(), before.named("b").unwrap());
    throttle(&desk, a.id, secs(600)).await;
    let swapped = [server("a", "y"), server("b", "x")];
    set(&before, &swapped, limited());
    let is_so = |desk: &Desk, a: &Upstream, b: &Upstream| {
        assert_eq!((used(desk, a.id), used(desk, b.id)), (0, 1));
        assert!(matches!(state(desk, b.id), Availability::Cooldown { .. }));
    };
    let (now_a, now_b) = (before.named("a").unwrap(), before.named("b").unwrap());
    assert_eq!((now_a.id, now_b.id), (b.id, a.id));
    is_so(&desk, &now_a, &now_b);
    // One takes the name of another, which takes a new one; and one that was removed has left its own to a third.
    set(&before, &[server("b", "y"), server("c", "x")], limited());
    set(&before, &[server("c", "x")], limited());
    set(&before, &[server("b", "x"), server("c", "new")], limited());
    is_so(
        &desk,
        &before.named("c").unwrap(),
        &before.named("b").unwrap(),
    );
    drop((before, desk));
    let (desk, rows, restored) = machine.start(policy());
    let after = roster(&desk, rows, restored);
    set(&after, &[server("b", "x"), server("c", "new")], limited());
    is_so(
        &desk,
        &after.named("c").unwrap(),
        &after.named("b").unwrap(),
    );
}

/// A disk that is written to when it has time.
#[derive(Default)]
struct SlowDisk {
    written: MemoryState,
    waiting: Mutex<Vec<(String, Vec<Change>)>>,
}

impl State for SlowDisk {
    fn load(&self, front: &str, now: Wall) -> Result<Kept, weir_store::Error> {
        self.flush()?;
        self.written.load(front, now)
    }

    fn save(&self, front: &str, changes: Vec<Change>) -> Result<(), weir_store::Error> {
        self.waiting.lock().push((front.to_owned(), changes));
        Ok(())
    }

    fn flush(&self) -> Result<(), weir_store::Error> {
        for (front, changes) in std::mem::take(&mut *self.waiting.lock()) {
            self.written.save(&front, changes)?;
        }
        Ok(())
    }

    fn forget(&self, before: Wall) -> Result<usize, weir_store::Error> {
        self.flush()?;
        self.written.forget(before)
    }
}

#[tokio::test(start_paused = true)]
async fn names_that_are_swapped_are_on_the_disk_when_that_is_done() {
    let disk = Arc::new(SlowDisk::default());
    let timeline = Timeline::starting_at(SystemTime::UNIX_EPOCH + secs(1_800_000_000));
    let clock: WallClock = Arc::new(move || timeline.wall(timeline.now()));
    let load = || Rows::load("test", disk.clone(), timeline, clock.clone()).expect("a disk");
    let (rows, restored) = load();
    let keeper = rows.clone();
    let desk = Desk::with(policy(), |options| {
        options.timeline = timeline;
        options.keeper = Some(keeper);
    });
    let roster = roster(&desk, rows, restored);
    set(&roster, &[server("a", "x"), server("b", "y")], limited());
    let (a, b) = (roster.named("a").unwrap(), roster.named("b").unwrap());
    throttle(&desk, a.id, secs(600)).await;
    desk.engine.switch_off(b.id, "account renewal", "operator");
    desk.engine.hand_over();
    disk.flush().unwrap();
    set(&roster, &[server("a", "y"), server("b", "x")], limited());
    // Killed: what waits for the disk is lost.
    disk.waiting.lock().clear();
    let (_, restored) = load();
    let [a, b] = ["a", "b"].map(|name| &restored.upstreams[name]);
    assert_eq!(a.off.as_ref().unwrap().reason, "account renewal");
    assert!(!b.row.health.off && b.row.health.cooldown.is_some());
    let starts = |row: &RestoredUpstream| row.row.query.iter().map(|one| one.starts.len()).sum();
    let counted: [usize; 2] = [starts(a), starts(b)];
    assert_eq!(counted, [0, 1], "windows too, of nobody else");
}

#[tokio::test(start_paused = true)]
async fn a_call_to_one_that_is_gone_leaves_nothing_under_a_name_that_another_has_taken() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let before = roster(&desk, rows, restored);
    set(&before, &[server("a", "x"), server("b", "y")], limited());
    let (a, b) = (before.named("a").unwrap(), before.named("b").unwrap());
    throttle(&desk, a.id, secs(600)).await;
    let call = desk.call("slow");
    desk.engine
        .submit_detached(job(b.id, INTERACTIVE), call.clone());
    pass(secs(1)).await;
    set(&before, &[server("b", "x")], limited());
    call.give(Step::Outcome(Outcome::Done));
    pass(secs(1)).await;
    desk.engine.hand_over();
    let kinds = |desk: &Desk, id: UpstreamId| {
        let records = desk.engine.records(id, |_| true, 9);
        let ends = records.into_iter().filter_map(|one| one.end);
        ends.map(|end| end.kind).collect::<Vec<_>>()
    };
    let is_so = |desk: &Desk, id| assert_eq!(kinds(desk, id), [Kind::Throttled]);
    is_so(&desk, before.named("b").unwrap().id);
    drop((before, desk));
    let (desk, rows, restored) = machine.start(policy());
    let after = roster(&desk, rows, restored);
    set(&after, &[server("b", "x")], limited());
    is_so(&desk, after.named("b").unwrap().id);
}

#[tokio::test(start_paused = true)]
async fn what_is_scheduled_goes_with_the_name() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let before = roster(&desk, rows, restored);
    set(&before, &[server("a", "x")], limited());
    let a = before.named("a").unwrap();
    let mut later = job(a.id, BACKGROUND);
    later.not_before = desk.engine.timeline().now() + secs(900);
    desk.engine.submit_detached(later, desk.done("later"));
    desk.engine.hand_over();
    set(&before, &[server("b", "x")], limited());
    drop((before, desk));
    let (_, _, restored) = machine.start(policy());
    let whose: Vec<&str> = restored.agenda.iter().map(|job| &*job.upstream).collect();
    assert_eq!(whose, ["b"]);
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_run_kept_comes_back_at_the_start_alone() {
    let machine = Machine::new();
    let (desk, rows, restored) = machine.start(policy());
    let before = roster(&desk, rows, restored);
    set(&before, &[server("a", "x")], limited());
    throttle(&desk, before.named("a").unwrap().id, secs(600)).await;
    stop(desk).await;
    let (desk, rows, restored) = machine.start(policy());
    let after = roster(&desk, rows, restored);
    set(&after, &[server("a", "x"), server("new", "y")], limited());
    let a = after.named("a").unwrap();
    assert!(a.known && !after.named("new").unwrap().known);
    assert!(matches!(state(&desk, a.id), Availability::Cooldown { .. }));
    desk.engine.clear(a.id, "me");
    set(&after, &[], limited());
    set(&after, &[server("a", "x")], limited());
    let a = after.named("a").unwrap();
    assert!(!matches!(state(&desk, a.id), Availability::Cooldown { .. }));
}

#[tokio::test(start_paused = true)]
async fn names_are_looked_up_anew_where_the_operator_asks_for_it() {
    let (desk, rows, restored) = Machine::new().start(policy());
    let roster = roster(&desk, rows, restored);
    set(&roster, &[server("a", "x")], limited());
    roster.look_up_anew();
    let a = roster.named("a").unwrap();
    assert_eq!(a.looked_up.load(Ordering::Relaxed), 1);
}
