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

/// A row. What means nothing in it is left out and counted: one wrong field must not cost this node the store.
pub(super) fn read_row(now: StoreTime, reply: Result<Fields, Lost>) -> SharedRow {
    let mut row = SharedRow::default();
    let mut ignored = 0;
    if reply
        .and_then(|reply| fill(&mut row, now, reply, &mut ignored))
        .is_err()
    {
        ignored += 1;
    }
    row.ignored = ignored;
    row
}

/// What a part says; counted if that is nothing.
fn said<T>(part: Result<T, Lost>, ignored: &mut u32) -> Option<T> {
    *ignored += u32::from(part.is_err());
    part.ok()
}

/// All parts that say something.
fn all<T>(
    parts: Fields,
    ignored: &mut u32,
    mut read: impl FnMut(&mut Fields) -> Result<T, Lost>,
) -> Vec<T> {
    let all = parts.each(|part| Ok(said(read(part), ignored)));
    all.into_iter().flatten().flatten().collect()
}

fn fill(
    row: &mut SharedRow,
    now: StoreTime,
    mut reply: Fields,
    ignored: &mut u32,
) -> Result<(), Lost> {
    let mut fields: HashMap<String, Vec<u8>> = HashMap::new();
    let mut flat = reply.fields()?;
    while !flat.is_empty() {
        let (name, value) = (flat.text(), flat.bytes());
        fields.extend(said(name.and_then(|name| Ok((name, value?))), ignored));
    }
    read_fields(row, now, &fields, ignored);
    for ledger in [crate::state::Ledger::Query, crate::state::Ledger::Grab] {
        row.starts.extend(all(reply.fields()?, ignored, |start| {
            let (id, at) = (start.id(), start.time());
            Ok((id?, at?, ledger))
        }));
    }
    row.starts
        .sort_by_key(|(id, at, ledger)| (*at, *ledger, *id));
    row.counted = all(reply.fields()?, ignored, |lump| {
        let mut lump = lump.fields()?;
        Ok(Counted {
            ledger: lump.ledger()?,
            window: lump.window()?,
            starts: lump.small()?,
            at: lump.time()?,
        })
    });
    row.counted
        .sort_by_key(|lump| (lump.ledger, lump.window, lump.at, lump.starts));
    row.shares = all(reply.fields()?, ignored, |share| {
        let mut share = share.fields()?;
        Ok((
            share.node()?,
            share.ledger()?,
            share.window()?,
            share.small()?,
        ))
    });
    row.shares
        .sort_by_key(|(node, ledger, window, _)| (*ledger, *window, *node));
    Ok(())
}

fn read_fields(
    row: &mut SharedRow,
    now: StoreTime,
    fields: &HashMap<String, Vec<u8>>,
    ignored: &mut u32,
) {
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
    row.last_start = said(time("last"), ignored).flatten();
    let throttled = || {
        let Some(until) = time("throttled")?.filter(|until| now < *until) else {
            return Ok(None);
        };
        let by = wire::node(&text("throttled_by")?)?;
        Ok(Some((until, by, text("throttled_reason")?)))
    };
    row.throttled = said(throttled(), ignored).flatten();
    let what = ["off", "on"]
        .into_iter()
        .find(|what| fields.contains_key(*what));
    let switched = |what: &str| {
        Ok(Switched {
            off: what == "off",
            node: wire::node(&text(what)?)?,
            by: text(&format!("{what}_by"))?,
            reason: text(&format!("{what}_reason"))?,
            at: time(&format!("{what}_at"))?.unwrap_or_default(),
        })
    };
    row.switched = what.and_then(|what| said(switched(what), ignored));
    let limit = |name: &str, value: &[u8]| {
        let at = time(&format!("limit_at:{name}"))?.unwrap_or_default();
        let (ledger, window) = name.split_once(':').map_or_else(Fields::unknown, Ok)?;
        let value = String::from_utf8_lossy(value);
        let (limit, used) = value.split_once(':').map_or_else(Fields::unknown, Ok)?;
        let used = (!used.is_empty()).then(|| wire::parse(used.as_bytes()));
        Ok(ToldLimit {
            ledger: wire::ledger(ledger)?,
            window: Window(wire::parse(window.as_bytes())?),
            limit: wire::parse(limit.as_bytes())?,
            used: used.transpose()?,
            at,
        })
    };
    for (name, value) in fields {
        if let Some(node) = name.strip_prefix("configured:") {
            let text = String::from_utf8_lossy(value);
            let limits: Result<Vec<_>, Lost> = text.split(',').map(read_configured).collect();
            let told = wire::node(node).and_then(|node| Ok((node, limits?)));
            row.configured.extend(said(told, ignored));
        } else if let Some(name) = name.strip_prefix("limit:") {
            row.limits.extend(said(limit(name, value), ignored));
        }
    }
    row.configured.sort();
    row.limits.sort_by_key(|limit| (limit.ledger, limit.window));
}
