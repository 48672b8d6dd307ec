//! What scripts answer, as values.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::wire::{self, Fields};
use crate::shared::{
    Answer, Configured, Counted, Grant, HERE, Lost, MOST_ADDRESSES, MOST_MEMBERS, MOST_SHARES,
    Member, NodeState, Pulse, Refusal, Share, SharedRow, StoreTime, Switched, ToldLimit, shortened,
};
use crate::state::Window;

pub(super) fn read_share(share: &mut Fields) -> Result<Share, Lost> {
    let mut share = share.fields()?;
    Ok(Share {
        upstream: share.upstream()?,
        ledger: share.ledger()?,
        window: share.window()?,
        starts: share.small()?,
    })
}

pub(super) fn read_member(member: &mut Fields) -> Result<Member, Lost> {
    let mut member = member.fields()?;
    let (node, name, version) = (member.node()?, word(&mut member)?, word(&mut member)?);
    let addresses = member.text()?;
    let addresses = addresses.split(' ').filter_map(|text| text.parse().ok());
    let addresses: Vec<IpAddr> = addresses.take(MOST_ADDRESSES).collect();
    let (lag, silent) = (member.span()?, member.span()?);
    Ok(Member {
        node,
        name,
        version,
        addresses,
        silent,
        lag,
        state: if silent <= HERE {
            NodeState::Here
        } else {
            NodeState::Silent
        },
    })
}

/// Something that a node, an upstream or an operator said.
fn word(fields: &mut Fields) -> Result<String, Lost> {
    Ok(shortened(&fields.text()?).to_owned())
}

/// Refuses more than there can be: whatever reads it keeps it, and does something for each.
fn at_most(most: usize, fields: Fields) -> Result<Fields, Lost> {
    match fields.left() {
        left if left > most => Fields::unknown(),
        _ => Ok(fields),
    }
}

pub(super) fn read_pulse(mut reply: Fields, heard: &AtomicU64) -> Result<Pulse, Lost> {
    let (now, epoch) = (reply.time()?, reply.epoch()?);
    let mut members = at_most(MOST_MEMBERS, reply.fields()?)?.each(read_member)?;
    members.sort_by_key(|member| member.node);
    let mut shares = at_most(MOST_SHARES, reply.fields()?)?.each(read_share)?;
    shares.sort_by_key(|share| (share.upstream, share.ledger, share.window));
    let mut missing = reply.fields()?.each(Fields::node)?;
    missing.sort_unstable();
    // Those that have left are among them; that somebody is missing is what counts.
    missing.truncate(MOST_MEMBERS);
    heard.fetch_max(now.0, Ordering::SeqCst);
    Ok(Pulse {
        now,
        epoch,
        members,
        shares,
        missing,
    })
}

pub(super) fn read_refusal(reply: &mut Fields) -> Result<Refusal, Lost> {
    Ok(match &*reply.text()? {
        "window" => Refusal::Window {
            window: reply.window()?,
            used: u32::try_from(reply.number()?).unwrap_or(u32::MAX),
            limit: u32::try_from(reply.number()?).unwrap_or(u32::MAX),
        },
        "gap" => Refusal::Gap,
        "throttled" => Refusal::Throttled {
            by: reply.node()?,
            reason: word(reply)?,
        },
        "off" => Refusal::Off(Switched {
            off: true,
            node: reply.node()?,
            by: word(reply)?,
            reason: word(reply)?,
            at: reply.time()?,
        }),
        "handing in" => Refusal::HandingIn,
        _ => return Fields::unknown(),
    })
}

pub(super) fn read_answer(mut reply: Fields) -> Result<Answer, Lost> {
    let word = reply.text()?;
    let now = reply.time()?;
    Ok(match &*word {
        "granted" => Answer::Granted(Grant { at: now }),
        "late" => Answer::Late { now },
        "refused" => Answer::Refused {
            wait: reply.span()?,
            reason: read_refusal(&mut reply)?,
            now,
        },
        "claimed" => Answer::Claimed {
            by: reply.node()?,
            left: reply.span()?,
            now,
        },
        "answered" => Answer::Answered {
            by: reply.node()?,
            age: reply.span()?,
            body: reply.bytes()?.into(),
            now,
        },
        _ => return Fields::unknown(),
    })
}

fn read_configured(text: &str) -> Result<Configured, Lost> {
    let mut parts = text.split(':');
    let mut next = || parts.next().map_or_else(Fields::unknown, Ok);
    Ok(Configured {
        ledger: wire::ledger(next()?)?,
        window: Window(wire::parse(next()?.as_bytes())?),
        limit: wire::parse(next()?.as_bytes())?,
    })
}

pub(super) fn read_row(now: StoreTime, mut reply: Fields) -> Result<SharedRow, Lost> {
    let mut fields: HashMap<String, Vec<u8>> = HashMap::new();
    let mut flat = reply.fields()?;
    while !flat.is_empty() {
        fields.insert(flat.text()?, flat.bytes()?);
    }
    let mut row = SharedRow::default();
    let text = |name: &str| {
        let bytes = fields.get(name).cloned().unwrap_or_default();
        String::from_utf8(bytes).or_else(|_| Fields::unknown())
    };
    let time = |name: &str| -> Result<Option<StoreTime>, Lost> {
        let bytes = fields.get(name);
        bytes
            .map(|bytes| wire::parse(bytes).map(StoreTime))
            .transpose()
    };
    row.last_start = time("last")?;
    if let Some(until) = time("throttled")?.filter(|until| now < *until) {
        let by = wire::node(&text("throttled_by")?)?;
        row.throttled = Some((until, by, text("throttled_reason")?));
    }
    for what in ["off", "on"] {
        if fields.contains_key(what) {
            row.switched = Some(Switched {
                off: what == "off",
                node: wire::node(&text(what)?)?,
                by: text(&format!("{what}_by"))?,
                reason: text(&format!("{what}_reason"))?,
                at: time(&format!("{what}_at"))?.unwrap_or_default(),
            });
            break;
        }
    }
    for (name, value) in &fields {
        if let Some(node) = name.strip_prefix("configured:") {
            let text = String::from_utf8_lossy(value);
            let limits: Result<Vec<_>, Lost> = text.split(',').map(read_configured).collect();
            row.configured.push((wire::node(node)?, limits?));
        }
    }
    row.configured.sort();
    for (name, value) in &fields {
        let Some(name) = name.strip_prefix("limit:") else {
            continue;
        };
        let at = time(&format!("limit_at:{name}"))?.unwrap_or_default();
        let (ledger, window) = name.split_once(':').map_or_else(Fields::unknown, Ok)?;
        let value = String::from_utf8_lossy(value);
        let (limit, used) = value.split_once(':').map_or_else(Fields::unknown, Ok)?;
        let used = (!used.is_empty()).then(|| wire::parse(used.as_bytes()));
        row.limits.push(ToldLimit {
            ledger: wire::ledger(ledger)?,
            window: Window(wire::parse(window.as_bytes())?),
            limit: wire::parse(limit.as_bytes())?,
            used: used.transpose()?,
            at,
        });
    }
    row.limits.sort_by_key(|limit| (limit.ledger, limit.window));
    for ledger in [crate::state::Ledger::Query, crate::state::Ledger::Grab] {
        let starts = reply.fields()?;
        let starts = starts.each(|start| Ok((start.id()?, start.time()?, ledger)))?;
        row.starts.extend(starts);
    }
    row.starts
        .sort_by_key(|(id, at, ledger)| (*at, *ledger, *id));
    row.counted = reply.fields()?.each(|lump| {
        let mut lump = lump.fields()?;
        Ok(Counted {
            ledger: lump.ledger()?,
            window: lump.window()?,
            starts: lump.small()?,
            at: lump.time()?,
        })
    })?;
    row.counted
        .sort_by_key(|lump| (lump.ledger, lump.window, lump.at, lump.starts));
    row.shares = reply.fields()?.each(|share| {
        let mut share = share.fields()?;
        Ok((
            share.node()?,
            share.ledger()?,
            share.window()?,
            share.small()?,
        ))
    })?;
    row.shares
        .sort_by_key(|(node, ledger, window, _)| (*ledger, *window, *node));
    Ok(row)
}
