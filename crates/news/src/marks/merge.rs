//! How two marks of the same thing become one: nothing that was read becomes unread, and the latest choice counts.

use super::{MOST_READ, NewsgroupMark, ThreadMark};

impl ThreadMark {
    /// Takes over what another mark knows better.
    pub(super) fn absorb(&mut self, other: &Self) {
        match other.upto.cmp(&self.upto) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => {
                self.count = self.count.max(other.count);
                for place in &other.read {
                    if !self.read.contains(place) {
                        self.read.push(place.clone());
                    }
                }
                self.bound_read();
            }
            // What was read one by one before is among those.
            std::cmp::Ordering::Greater => {
                self.upto = other.upto;
                self.count = other.count;
                self.read.clone_from(&other.read);
            }
        }
        if other.flag_at >= self.flag_at {
            self.flag = other.flag;
            self.flag_at = other.flag_at;
        }
        self.at = self.at.max(other.at);
    }

    /// Keeps the latest ones.
    pub(super) fn bound_read(&mut self) {
        let surplus = self.read.len().saturating_sub(MOST_READ);
        self.read.drain(..surplus);
    }
}

impl NewsgroupMark {
    /// Takes over what another mark knows better.
    pub(super) fn absorb(&mut self, other: &Self) {
        if other.at >= self.at {
            self.articles = other.articles;
            self.at = other.at;
        }
        self.upto = self.upto.max(other.upto);
        if other.subscribed_at >= self.subscribed_at {
            self.subscribed = other.subscribed;
            self.subscribed_at = other.subscribed_at;
        }
    }
}
