//! Faults that tests bring in: nothing here is part of a program.

use std::cell::RefCell;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

/// An announce of this panics.
pub(crate) const HASH: [u8; 20] = *b"announcing it panics";

pub(crate) fn on_announce(hash: &[u8; 20]) {
    assert_ne!(*hash, HASH, "on purpose");
}

/// To send an announce of this swarm on panics.
pub(crate) const FORWARDED: u8 = 0xff;

pub(crate) fn on_forward(hash: &[u8; 20]) {
    assert_ne!(*hash, [FORWARDED; 20], "on purpose");
}

thread_local! {
    static IN_MIRROR: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// Something happens once on this thread after the ledger was read for a mirror, and before its record is written.
pub(crate) fn set_in_mirror(act: impl FnOnce() + 'static) {
    IN_MIRROR.set(Some(Box::new(act)));
}

pub(crate) fn in_mirror() {
    if let Some(act) = IN_MIRROR.take() {
        act();
    }
}

/// To accept a connection from here panics.
pub(crate) const PEER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);

pub(crate) fn on_accept(peer: IpAddr) {
    assert_ne!(peer, PEER, "on purpose");
}

/// Panics once if there is a file of this name.
pub(crate) fn once(directory: &Path, name: &str) {
    assert!(
        fs::remove_file(directory.join(name)).is_err(),
        "on purpose, in {name}"
    );
}
