//! Who takes part, what each may spend alone, and what is handed in.

use super::*;

impl Rows {
    /// When a member was last known to be there. It may have been later than the row says where the row is older data.
    pub(super) fn last_seen(&self, node: NodeId) -> u64 {
        let seen = self.members.get(&node).map_or(0, |member| member.seen);
        let began = self.epoch.as_ref().map_or(0, |epoch| epoch.began);
        let known = |epoch: &&EpochRow| epoch.known.contains(&node);
        seen.max(self.epoch.as_ref().filter(known).map_or(0, |_| began))
    }

    fn is_silent(&self, now: u64, node: &NodeId) -> bool {
        now >= self.last_seen(*node) + millis(SILENT)
    }

    pub(super) fn missing(&self, now: u64) -> Vec<NodeId> {
        let Some(epoch) = &self.epoch else {
            return Vec::new();
        };
        let waited = |node: &&NodeId| now < self.last_seen(**node) + millis(SILENT);
        epoch.known.iter().filter(waited).copied().collect()
    }

    pub(super) fn pulse(&self, now: u64, node: NodeId) -> Pulse {
        let members = self.members.iter().map(|(node, row)| {
            let silent = now.saturating_sub(row.seen);
            Member {
                node: *node,
                name: row.name.clone(),
                version: row.version.clone(),
                addresses: row.addresses.clone(),
                silent: span(silent),
                lag: row.lag,
                state: if silent <= millis(HERE) {
                    NodeState::Here
                } else {
                    NodeState::Silent
                },
            }
        });
        Pulse {
            now: StoreTime(now),
            epoch: self.epoch.as_ref().map_or(Epoch(0), |epoch| epoch.id),
            members: members.collect(),
            shares: self.shares_of(node),
            missing: self.missing(now),
        }
    }

    pub(super) fn shares_of(&self, node: NodeId) -> Vec<Share> {
        let mut shares = Vec::new();
        for (upstream, row) in &self.upstreams {
            for ((ledger, window), nodes) in &row.shares {
                if let Some(starts) = nodes.get(&node) {
                    shares.push(Share {
                        upstream: *upstream,
                        ledger: *ledger,
                        window: *window,
                        starts: *starts,
                    });
                }
            }
        }
        shares
    }

    /// `heard` is the time of the newest pulse that the node's handle had heard of.
    pub(in super::super) fn beat(
        &mut self,
        now: u64,
        run: u64,
        heard: u64,
        beat: Beat,
    ) -> Result<Pulse, Lost> {
        let node = beat.node;
        // One that was under way for long may wish for less than the node has got since.
        let old = heard > 0 && heard < self.members.get(&node).map_or(0, |member| member.seen);
        let trusted = |epoch: &&EpochRow| epoch.id != beat.distrusts;
        let begins = self.epoch(run).filter(trusted).is_none();
        if !self.members.contains_key(&node) && self.members.len() >= MOST_MEMBERS {
            // Whoever was silent for too long makes room below; in a new epoch all are waited for.
            let silent = |other| self.is_silent(now, other);
            if begins || !self.members.keys().any(silent) {
                return Err(Lost::Refused(crate::shared::too_many_members()));
            }
        }
        if begins {
            // Whoever was waited for before is so still, member or not.
            let before = self.epoch.take();
            let mut known = before.map_or_else(BTreeSet::new, |epoch| epoch.known);
            known.extend(self.members.keys());
            self.epoch = Some(EpochRow {
                id: beat.new_epoch,
                run,
                began: now,
                known,
                handed: BTreeMap::new(),
            });
        }
        let open = self.handing_in(now);
        let (members, known) = (&self.members, node);
        if let Some(epoch) = &mut self.epoch {
            // Whoever comes while others are waited for may know something as well.
            if (open || begins) && !epoch.handed.contains_key(&known) {
                epoch.known.insert(known);
            }
            epoch
                .handed
                .retain(|node, at| members.contains_key(node) || now < *at + millis(SILENT));
            let began = epoch.began;
            epoch.known.retain(|node| {
                members.contains_key(node) || now < began + millis(SILENT) + 2 * DAY
            });
        }
        self.end_silent(now, node);
        let (joined, met) = match self.members.get(&node) {
            Some(member) => (member.joined, member.met),
            None => (now, false),
        };
        self.members.insert(
            node,
            MemberRow {
                name: shortened(&beat.name).to_owned(),
                version: shortened(&beat.version).to_owned(),
                addresses: beat.addresses,
                lag: beat.lag,
                seen: now,
                heard,
                joined,
                met,
            },
        );
        let met = self.met(now, node);
        if let Some(member) = self.members.get_mut(&node) {
            member.met = met;
        }
        // Who has yet to hand in keeps what it has: its shares are not all known here.
        let known = |epoch: &EpochRow| epoch.known.contains(&node);
        if !self.epoch.as_ref().is_some_and(known) {
            self.share_out(now, node, &beat.shares, old);
        }
        Ok(self.pulse(now, node))
    }

    /// Whether all who are there have read that a member came. Before that it is granted nothing and has no share: if the store
    /// lost it now, nobody could name it.
    pub(super) fn met(&self, now: u64, node: NodeId) -> bool {
        let Some(member) = self.members.get(&node) else {
            return true;
        };
        let knows = |(other, row): (&NodeId, &MemberRow)| {
            *other == node || row.heard >= member.joined || now > row.seen + millis(HERE)
        };
        member.met || self.members.iter().all(knows)
    }

    pub(super) fn handing_in(&self, now: u64) -> bool {
        let Some(epoch) = &self.epoch else {
            return true;
        };
        !epoch.is_settled(now)
            || now < epoch.began + millis(HAND_IN) && !self.missing(now).is_empty()
    }

    /// Members that were silent for too long are none any more; what they might have spent counts as spent now.
    pub(super) fn end_silent(&mut self, now: u64, but: NodeId) {
        let silent = |node: &NodeId| self.is_silent(now, node);
        let gone: Vec<_> = self.members.keys().copied().filter(silent).collect();
        for node in gone {
            for share in self.shares_of(node) {
                self.set_share(now, node, &share, 0);
            }
            if node != but {
                self.members.remove(&node);
            }
        }
    }

    pub(super) fn share_out(&mut self, now: u64, node: NodeId, wishes: &[ShareWish], old: bool) {
        for share in self.shares_of(node).into_iter().filter(|_| !old) {
            let wished = |wish: &ShareWish| {
                (wish.upstream, wish.ledger, wish.window)
                    == (share.upstream, share.ledger, share.window)
            };
            if !wishes.iter().any(wished) {
                self.set_share(now, node, &share, 0);
            }
        }
        for wish in wishes {
            let (ledger, window) = (wish.ledger, wish.window);
            let row = self.upstreams.entry(wish.upstream).or_default();
            row.see(ledger, length(window));
            let key = (ledger, window);
            let has = row.shares.get(&key).and_then(|nodes| nodes.get(&node));
            let has = has.copied().unwrap_or(0);
            let wants = nominal_share(wish.limit);
            let mut share = Share {
                upstream: wish.upstream,
                ledger,
                window,
                starts: has,
            };
            if wants < has && !old {
                // What it had may be spent, so the difference counts.
                self.set_share(now, node, &share, wants);
            } else if wants > has {
                let used = self.used(now, wish.upstream, ledger, window, None);
                let reserved =
                    self.reserved(now, wish.upstream, ledger, window, wish.limit) - u64::from(has);
                let (wanted, limit) = (u64::from(wants), u64::from(wish.limit));
                let fits = reserved + wanted <= limit / 2 && used + reserved + wanted <= limit;
                if fits && self.certain(now, window) && self.met(now, node) {
                    share.starts = wants;
                    self.set_share(now, node, &share, wants);
                }
            }
        }
    }

    /// Gives a member this share; what it had more before counts as started now.
    pub(super) fn set_share(&mut self, now: u64, node: NodeId, share: &Share, starts: u32) {
        let row = self.upstreams.entry(share.upstream).or_default();
        let key = (share.ledger, share.window);
        let nodes = row.shares.entry(key).or_default();
        let had = nodes.insert(node, starts).unwrap_or(0);
        if starts == 0 {
            nodes.remove(&node);
        }
        if nodes.is_empty() {
            row.shares.remove(&key);
        }
        if had > starts {
            row.count(share.ledger, share.window, now, had - starts);
        }
    }

    pub(in super::super) fn hand_in(&mut self, now: u64, run: u64, hand_in: HandIn) -> Pulse {
        let node = hand_in.node;
        if self
            .epoch(run)
            .is_none_or(|epoch| epoch.id != hand_in.epoch)
        {
            return self.pulse(now, node);
        }
        for start in &hand_in.starts {
            self.start(now, start);
        }
        for share in &hand_in.shares {
            // Never less than is recorded: this may be a repeat of what was true a while ago.
            let row = self.upstreams.entry(share.upstream).or_default();
            row.see(share.ledger, length(share.window));
            if share.starts > 0 {
                let nodes = row.shares.entry((share.ledger, share.window)).or_default();
                let has = nodes.entry(node).or_default();
                *has = (*has).max(share.starts);
            }
        }
        for (upstream, span, reason) in hand_in.throttled {
            let row = self.upstreams.entry(upstream).or_default();
            row.throttle(now, span, node, &reason, now);
        }
        for (upstream, limit) in hand_in.limits {
            self.upstreams
                .entry(upstream)
                .or_default()
                .limit(now, limit, false);
        }
        for (upstream, switched) in hand_in.switched {
            let row = self.upstreams.entry(upstream).or_default();
            row.switch(now, switched, false);
        }
        if let Some(epoch) = &mut self.epoch {
            epoch.handed.insert(node, now);
            epoch.known.extend(hand_in.known.iter().take(MOST_MEMBERS));
            let handed = &epoch.handed;
            epoch.known.retain(|node| !handed.contains_key(node));
        }
        self.pulse(now, node)
    }

    pub(in super::super) fn leave(&mut self, now: u64, heard: u64, leave: &Leave) {
        for start in &leave.starts {
            self.start(now, start);
        }
        // The node is back already: this was under way for long.
        let seen = self
            .members
            .get(&leave.node)
            .map_or(0, |member| member.seen);
        if heard < seen {
            return;
        }
        self.members.remove(&leave.node);
        for row in self.upstreams.values_mut() {
            row.shares.retain(|_, nodes| {
                nodes.remove(&leave.node);
                !nodes.is_empty()
            });
            row.configured.remove(&leave.node);
        }
        for nodes in self.leases.values_mut() {
            nodes.remove(&leave.node);
        }
    }

    pub(super) fn start(&mut self, now: u64, start: &HandedStart) {
        let row = self.upstreams.entry(start.upstream).or_default();
        // It counts in a window; in which one, the store may not have seen yet.
        row.see(start.ledger, DAY);
        row.handed(now, start);
    }
}
