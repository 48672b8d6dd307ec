//! What a call is made of, as arguments of its script.

use super::wire::Args;
use crate::shared::{
    Configured, HandedStart, MOST_CONFIGURED, Stream, Switched, Table, Told, ToldLimit, shortened,
};
use crate::state::Ledger;

pub(super) fn table_name(table: Table) -> &'static str {
    match table {
        Table::Sessions => "sessions",
        Table::Keys => "keys",
        Table::Indexers => "indexers",
    }
}

pub(super) fn stream_key(stream: Stream) -> String {
    match stream {
        Stream::Swarm(node) => format!("weir:{{swarm:{:016x}}}", node.0),
        Stream::Forwarded(node) => format!("{{weir}}:forwarded:{:016x}", node.0),
    }
}

pub(super) fn put_starts(args: &mut Args, starts: &[HandedStart]) {
    args.count(starts.len());
    for start in starts {
        args.upstream(start.upstream)
            .id(start.id)
            .ledger(start.ledger);
        args.span(start.age).flag(start.spaced);
    }
}

pub(super) fn put_limit(args: &mut Args, limit: ToldLimit) {
    args.ledger(limit.ledger).window(limit.window);
    args.number(limit.limit.max(1).into());
    args.maybe(limit.used.map(Into::into)).number(limit.at.0);
}

pub(super) fn put_switched(args: &mut Args, switched: &Switched) {
    args.text(if switched.off { "off" } else { "on" });
    args.node(switched.node).text(shortened(&switched.by));
    args.text(shortened(&switched.reason));
    args.number(switched.at.0);
}

pub(super) fn put_told(args: &mut Args, told: &Told) {
    match told {
        Told::Unused(id) => {
            args.text("unused").id(*id);
        }
        Told::Started {
            id,
            ledger,
            age,
            spaced,
        } => {
            args.text("started").id(*id).ledger(*ledger);
            args.span(*age).flag(*spaced);
        }
        Told::Throttled {
            span,
            by,
            reason,
            at,
        } => {
            args.text("throttled").span(*span).node(*by);
            args.text(shortened(reason)).number(at.0);
        }
        Told::Limit(limit) => {
            args.text("limit");
            put_limit(args, *limit);
        }
        Told::Switched(switched) => put_switched(args, switched),
        Told::Configured(node, limits) => {
            args.text("configured").node(*node);
            let one = |one: &Configured| {
                let ledger = match one.ledger {
                    Ledger::Query => "q",
                    Ledger::Grab => "g",
                };
                format!("{ledger}:{}:{}", one.window.0, one.limit)
            };
            let all: Vec<String> = limits.iter().take(MOST_CONFIGURED).map(one).collect();
            args.text(&all.join(","));
        }
        Told::Cleared(at) => {
            args.text("cleared").number(at.0);
        }
    }
}
