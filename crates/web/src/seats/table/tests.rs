use super::*;

/// Connections by name, with the cells that they write when they ask.
struct Room {
    table: SeatTable<String>,
    open: HashMap<String, (SeatKey, Arc<AtomicU64>)>,
}

const SEATING: Seating = Seating {
    places: 16,
    share: 4,
    reserve: 2,
};

fn holder(name: &str) -> Holder {
    // The name is the address, without what tells connections of one apart.
    let address = name.split('/').next().unwrap();
    Holder::at(address.parse().unwrap(), |address| {
        address == IpAddr::from([10, 0, 0, 1])
    })
}

impl Room {
    fn new(seating: Seating) -> Self {
        Self {
            table: SeatTable::new(seating),
            open: HashMap::new(),
        }
    }

    /// A new connection; says who went for it.
    fn come(&mut self, name: &str, now: u64) -> Result<Option<String>, Leaves> {
        let since = Arc::new(AtomicU64::new(now));
        let (key, leaver) = self.table.take(holder(name), Arc::clone(&since))?;
        assert_eq!(self.table.ended_by(key, name.to_owned()), None);
        self.open.insert(name.to_owned(), (key, since));
        let gone = leaver.map(|(end, _)| end.unwrap());
        if let Some(gone) = &gone {
            let (key, _) = self.open.remove(gone).unwrap();
            // What the task of an ended connection does on its way out changes nothing.
            self.table.wait(key);
            self.table.work(key);
            self.table.give_back(key);
        }
        self.check();
        Ok(gone)
    }

    fn ask(&self, name: &str, now: u64) {
        self.open[name].1.store(now, Ordering::Relaxed);
    }

    fn work(&mut self, name: &str) {
        self.table.work(self.open[name].0);
        self.check();
    }

    fn wait(&mut self, name: &str, now: u64) {
        self.ask(name, now);
        self.table.wait(self.open[name].0);
        self.check();
    }

    fn leave(&mut self, name: &str) {
        let (key, _) = self.open.remove(name).unwrap();
        self.table.give_back(key);
        self.check();
    }

    /// What is counted is what is there.
    fn check(&self) {
        let places = self.table.places.iter().flatten();
        let [strangers, own] = self.table.taken;
        assert_eq!(places.clone().count(), self.open.len());
        assert_eq!(strangers + own, self.open.len());
        let held: usize = self.table.holders.values().map(|held| held.places).sum();
        assert_eq!(held, self.open.len());
        let waiting = |held: &&Holding| !held.waiting.is_empty();
        let ranks = self.table.ranks.iter().map(BTreeSet::len).sum::<usize>();
        assert_eq!(self.table.holders.values().filter(waiting).count(), ranks);
        let seating = self.table.seating;
        assert!(strangers + own <= seating.places);
        assert!(strangers <= seating.places - seating.reserve);
        for (holder, held) in &self.table.holders {
            assert!(holder.is_own() || held.places <= seating.share);
        }
    }
}

#[test]
fn an_address_beyond_its_share_gives_up_its_own_longest_waiting() {
    let mut room = Room::new(SEATING);
    for (now, name) in [
        "203.0.113.1/a",
        "203.0.113.1/b",
        "203.0.113.1/c",
        "203.0.113.1/d",
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(room.come(name, now as u64), Ok(None));
    }
    assert_eq!(room.come("203.0.113.2/other", 4), Ok(None));
    room.ask("203.0.113.1/a", 5);
    room.work("203.0.113.1/b");
    let gone = room.come("203.0.113.1/e", 6);
    assert_eq!(
        gone,
        Ok(Some("203.0.113.1/c".into())),
        "a asked, b is answered"
    );
    for name in ["203.0.113.1/a", "203.0.113.1/d", "203.0.113.1/e"] {
        room.work(name);
    }
    assert_eq!(room.come("203.0.113.1/f", 7), Err(Leaves::TurnedAway));
    room.wait("203.0.113.1/d", 8);
    assert_eq!(
        room.come("203.0.113.1/f", 9),
        Ok(Some("203.0.113.1/d".into()))
    );
}

#[test]
fn a_network_of_64_bits_is_one_address_and_so_is_a_v4_one_in_v6_clothes() {
    assert_eq!(holder("2001:db8::1"), holder("2001:db8::ffff:2"));
    assert_ne!(holder("2001:db8::1"), holder("2001:db8:0:1::1"));
    assert_eq!(holder("::ffff:203.0.113.1"), holder("203.0.113.1"));
    for own in ["::1", "127.0.0.9", "::ffff:10.0.0.1"] {
        assert!(holder(own).is_own(), "{own}");
    }
    assert!(!holder("10.0.0.2").is_own());
}

#[test]
fn when_all_places_are_taken_whoever_holds_the_most_gives_one_up() {
    let mut room = Room::new(SEATING);
    // An honest client waits longest of all; strangers have 14 places.
    room.come("198.51.100.1/honest", 0).unwrap();
    for n in 0..13 {
        let name = format!("203.0.113.{}/{n}", n % 4);
        assert_eq!(room.come(&name, n + 1), Ok(None), "{name}");
    }
    // 203.0.113.0 holds four, the other three hold three each.
    assert_eq!(
        room.come("198.51.100.2/new", 20),
        Ok(Some("203.0.113.0/0".into()))
    );
    // Now all of them hold three: the longest wait decides.
    assert_eq!(
        room.come("198.51.100.3/new", 21),
        Ok(Some("203.0.113.1/1".into()))
    );
    room.ask("203.0.113.2/2", 22);
    assert_eq!(
        room.come("198.51.100.4/new", 23),
        Ok(Some("203.0.113.3/3".into()))
    );
}

#[test]
fn among_equals_the_longest_wait_goes_however_often_others_asked() {
    let seating = Seating {
        places: 200,
        share: 8,
        reserve: 0,
    };
    let mut room = Room::new(seating);
    let name = |n: u64| format!("203.0.113.{n}/x");
    for n in 0..200 {
        room.come(&name(n), n).unwrap();
    }
    // Fewer than the table looks at in one go.
    for n in (0..100).filter(|n| n % 2 == 0) {
        room.ask(&name(n), 1000 + n);
    }
    for n in (0..10).filter(|n| n % 2 == 1) {
        let gone = room.come(&format!("198.51.100.{n}/new"), 2000).unwrap();
        assert_eq!(gone, Some(name(n)));
    }
}

#[test]
fn a_request_that_is_being_answered_never_goes() {
    let mut room = Room::new(SEATING);
    for n in 0..14 {
        let name = format!("203.0.113.{n}/x");
        room.come(&name, n).unwrap();
        room.work(&name);
    }
    assert_eq!(room.come("198.51.100.1/new", 20), Err(Leaves::TurnedAway));
    // This machine and proxies still have the reserve.
    assert_eq!(room.come("127.0.0.1/a", 21), Ok(None));
    assert_eq!(room.come("10.0.0.1/b", 22), Ok(None));
    // The longest wait among those that have their own.
    assert_eq!(room.come("10.0.0.1/c", 23), Ok(Some("127.0.0.1/a".into())));
    room.leave("203.0.113.3/x");
    assert_eq!(room.come("198.51.100.1/new", 24), Ok(None));
}

#[test]
fn proxies_have_no_share_but_hold_no_more_than_is_free() {
    let mut room = Room::new(SEATING);
    for n in 0..16 {
        assert_eq!(room.come(&format!("10.0.0.1/{n}"), n), Ok(None));
    }
    assert_eq!(room.come("10.0.0.1/16", 16), Ok(Some("10.0.0.1/0".into())));
    // Strangers have places too, and get them back.
    for n in 0..14 {
        let gone = room.come(&format!("203.0.113.{n}/x"), 20 + n).unwrap();
        assert_eq!(gone, Some(format!("10.0.0.1/{}", n + 1)));
    }
    // Then each side makes room for its own.
    assert_eq!(
        room.come("203.0.113.99/x", 40),
        Ok(Some("203.0.113.0/x".into()))
    );
    assert_eq!(room.come("127.0.0.1/x", 41), Ok(Some("10.0.0.1/15".into())));
}

#[test]
fn of_those_that_came_at_the_same_time_the_first_goes_first() {
    let mut room = Room::new(Seating::new(4, None));
    for n in 0..4 {
        room.come(&format!("203.0.113.1/{n}"), 7).unwrap();
    }
    // The newcomer has the place of the one that went, but not its turn.
    for n in 4..12 {
        let gone = room.come(&format!("203.0.113.1/{n}"), 7).unwrap();
        assert_eq!(gone, Some(format!("203.0.113.1/{}", n - 4)));
    }
}

#[test]
fn a_connection_that_lost_its_place_before_it_was_spawned_is_told_so() {
    let mut table = SeatTable::new(Seating {
        places: 1,
        share: 1,
        reserve: 0,
    });
    let cell = || Arc::new(AtomicU64::new(0));
    let (first, _) = table.take(holder("203.0.113.1"), cell()).unwrap();
    let (second, leaver) = table.take(holder("203.0.113.2"), cell()).unwrap();
    assert_eq!(leaver, Some((None, Leaves::Room)));
    assert_eq!(table.ended_by(first, "first"), Some("first"));
    assert_eq!(table.ended_by(second, "second"), None);
}

#[test]
fn the_usual_shares_leave_room_for_others() {
    let web = Seating::new(1024, None);
    assert_eq!((web.share, web.reserve), (64, 128));
    let tiny = Seating::new(1, None);
    assert_eq!((tiny.places, tiny.reserve), (1, 0));
    assert_eq!(Seating::new(15_000, NonZeroU32::new(3)).share, 3);
}

#[test]
fn sitters_of_one_address_and_of_twenty_shut_nobody_out() {
    for addresses in [1, 20] {
        let mut room = Room::new(Seating::new(100, None));
        for n in 0..5000_u64 {
            let name = format!("203.0.113.{}/{n}", n % addresses);
            room.come(&name, n).unwrap();
            // A client in each of ten networks asks now and then, and keeps its connection.
            if n % 50 == 0 {
                let honest = format!("198.51.100.{}/{n}", n / 50 % 10);
                let address = honest.split('/').next().unwrap().to_owned() + "/";
                let before = room.open.keys().find(|name| name.starts_with(&address));
                match before.cloned() {
                    Some(kept) => room.ask(&kept, n),
                    None => drop(room.come(&honest, n).unwrap()),
                }
            }
        }
        let honest = room.open.keys().filter(|name| name.starts_with("198.51"));
        assert_eq!(
            honest.count(),
            10,
            "from {addresses}: each kept its connection"
        );
        let attackers = room.open.len() - 10;
        assert!(attackers <= 78, "{attackers} from {addresses}");
    }
}
