//! Limits such as `300/5m`: so many calls in any time of that length.

use std::num::NonZeroU32;
use std::time::Duration;

use weir_config::{Fields, Node, Setting, Value, Wrong};
use weir_engine::dispatch::Window;

/// The most windows that one indexer may have for queries, and for downloads: every call is counted in each.
const MOST: usize = 8;

/// So many calls in any time of that length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowLimit {
    /// How many.
    pub calls: NonZeroU32,
    /// In how long.
    pub window: Window,
}

impl Setting for WindowLimit {
    fn wanted() -> String {
        "a number of calls and a time, such as 300/5m or 25/30d".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
        let (Value::Text(text) | Value::Raw(text)) = &node.value else {
            return Err(Wrong::kind::<Self>(node));
        };
        let wrong = |text: String| {
            vec![Wrong {
                origin: node.origin.clone(),
                text,
            }]
        };
        let (calls, time) = text
            .split_once('/')
            .ok_or_else(|| Wrong::kind::<Self>(node))?;
        let calls: u32 = calls
            .trim()
            .parse()
            .map_err(|_| Wrong::kind::<Self>(node))?;
        let calls = NonZeroU32::new(calls).ok_or_else(|| {
            wrong(format!(
                "write 1 or more before the slash, not \"{text}\"; to stop calling an indexer, remove it or switch it off"
            ))
        })?;
        let length = Duration::read(&Node::raw(time.trim(), node.origin.clone())).ok();
        let window = length.filter(|length| length.subsec_nanos() == 0 && !length.is_zero());
        let seconds = window.and_then(|length| u32::try_from(length.as_secs()).ok());
        let seconds = seconds.ok_or_else(|| {
            wrong(format!(
                "write a time of whole seconds after the slash, such as 5m, 12h or 30d, not \"{time}\""
            ))
        })?;
        Ok(Self {
            calls,
            window: Window::of_seconds(seconds),
        })
    }

    fn show(&self) -> String {
        format!("{}/{}", self.calls, self.window.length().show())
    }
}

/// Limits that have a key of their own: its name, its window, what it says.
pub(super) type Named<'a> = (&'a str, Window, Option<NonZeroU32>);

/// Refuses a list that names a length twice, or one that has a key of its own which is set too.
pub(super) fn once_each(
    fields: &mut Fields<'_>,
    key: &str,
    limits: &[WindowLimit],
    named: &[Named<'_>],
) {
    for (at, limit) in limits.iter().enumerate() {
        let mut set = named.iter().filter(|(.., calls)| calls.is_some());
        let (shown, length) = (limit.show(), limit.window.length().show());
        if let Some((other, ..)) = set.find(|(_, window, _)| *window == limit.window) {
            let text = format!("remove {shown} or {other}: both are limits for {length}");
            fields.refuse(key, text);
        }
        let mut before = limits[..at].iter();
        if let Some(other) = before.find(|other| other.window == limit.window) {
            let other = other.show();
            let text = format!("remove {other} or {shown}: both are limits for {length}");
            fields.refuse(key, text);
        }
    }
    if limits.len() > MOST {
        fields.refuse(
            key,
            format!("write at most {MOST} limits, not {}", limits.len()),
        );
    }
}
