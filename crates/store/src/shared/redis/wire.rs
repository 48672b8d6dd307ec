//! What scripts are given and what they answer: arguments one after another, and replies of which nothing is believed.

use std::collections::BTreeSet;
use std::time::Duration;

use redis::Value;

use crate::shared::words::millis;
use crate::shared::{AskId, Epoch, Lost, NodeId, Place, StoreTime, UpstreamKey};
use crate::state::{Ledger, Window};

/// The arguments of a script.
#[derive(Default)]
pub(super) struct Args(pub(super) Vec<Vec<u8>>);

impl Args {
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.push(bytes.to_vec());
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.text(&number.to_string())
    }

    pub(super) fn count(&mut self, count: usize) -> &mut Self {
        self.number(count as u64)
    }

    pub(super) fn span(&mut self, span: Duration) -> &mut Self {
        self.number(millis(span))
    }

    /// Empty where there is none.
    pub(super) fn maybe(&mut self, number: Option<u64>) -> &mut Self {
        match number {
            Some(number) => self.number(number),
            None => self.text(""),
        }
    }

    pub(super) fn node(&mut self, node: NodeId) -> &mut Self {
        self.text(&format!("{:016x}", node.0))
    }

    pub(super) fn epoch(&mut self, epoch: Epoch) -> &mut Self {
        self.text(&format!("{:016x}", epoch.0))
    }

    pub(super) fn id(&mut self, id: AskId) -> &mut Self {
        self.text(&format!("{:016x}{:016x}", id.node.0, id.number))
    }

    pub(super) fn key(&mut self, key: &[u8; 16]) -> &mut Self {
        self.text(&hex(key))
    }

    pub(super) fn upstream(&mut self, upstream: UpstreamKey) -> &mut Self {
        self.key(&upstream.0)
    }

    pub(super) fn upstreams(&mut self, upstreams: &BTreeSet<UpstreamKey>) -> &mut Self {
        self.count(upstreams.len());
        for upstream in upstreams {
            self.upstream(*upstream);
        }
        self
    }

    pub(super) fn ledger(&mut self, ledger: Ledger) -> &mut Self {
        self.text(match ledger {
            Ledger::Query => "q",
            Ledger::Grab => "g",
        })
    }

    pub(super) fn window(&mut self, window: Window) -> &mut Self {
        self.number(window.0.into())
    }

    pub(super) fn flag(&mut self, flag: bool) -> &mut Self {
        self.text(if flag { "1" } else { "0" })
    }

    /// A value that may be none.
    pub(super) fn value(&mut self, value: Option<&[u8]>) -> &mut Self {
        match value {
            Some(value) => self.0.push([b"+".as_slice(), value].concat()),
            None => self.0.push(b"-".to_vec()),
        }
        self
    }
}

pub(super) fn hex(key: &[u8; 16]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(32);
    for byte in key {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The parts of a reply, one after another.
pub(super) struct Fields(std::vec::IntoIter<Value>);

type Read<T> = Result<T, Lost>;

/// It answered, and nobody knows what that means.
fn garbled() -> Lost {
    Lost::Refused(
        "the store gave an answer that makes no sense: is it a Valkey or Redis that only this \
         Weir uses?"
            .into(),
    )
}

impl Fields {
    pub(super) fn of(value: Value) -> Read<Self> {
        match value {
            Value::Array(values) => Ok(Self(values.into_iter())),
            _ => Err(garbled()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    pub(super) fn left(&self) -> usize {
        self.0.len()
    }

    fn next(&mut self) -> Read<Value> {
        self.0.next().ok_or_else(garbled)
    }

    pub(super) fn fields(&mut self) -> Read<Self> {
        Self::of(self.next()?)
    }

    pub(super) fn bytes(&mut self) -> Read<Vec<u8>> {
        match self.next()? {
            Value::BulkString(bytes) => Ok(bytes),
            Value::SimpleString(text) => Ok(text.into_bytes()),
            _ => Err(garbled()),
        }
    }

    pub(super) fn text(&mut self) -> Read<String> {
        String::from_utf8(self.bytes()?).map_err(|_| garbled())
    }

    pub(super) fn number(&mut self) -> Read<u64> {
        number(self.next()?)
    }

    pub(super) fn small(&mut self) -> Read<u32> {
        u32::try_from(self.number()?).map_err(|_| garbled())
    }

    pub(super) fn span(&mut self) -> Read<Duration> {
        // No span is longer than a hundred years.
        Ok(Duration::from_millis(millis(Duration::from_millis(
            self.number()?,
        ))))
    }

    pub(super) fn time(&mut self) -> Read<StoreTime> {
        Ok(StoreTime(self.number()?))
    }

    pub(super) fn node(&mut self) -> Read<NodeId> {
        node(&self.text()?)
    }

    pub(super) fn epoch(&mut self) -> Read<Epoch> {
        Ok(Epoch(sixteen(&self.text()?)?))
    }

    pub(super) fn id(&mut self) -> Read<AskId> {
        let text = self.text()?;
        let (node, number) = text.split_at_checked(16).ok_or_else(garbled)?;
        Ok(AskId {
            node: NodeId(sixteen(node)?),
            number: sixteen(number)?,
        })
    }

    pub(super) fn upstream(&mut self) -> Read<UpstreamKey> {
        upstream(&self.text()?)
    }

    pub(super) fn ledger(&mut self) -> Read<Ledger> {
        ledger(&self.text()?)
    }

    pub(super) fn window(&mut self) -> Read<Window> {
        Ok(Window(self.small()?))
    }

    /// A place in a stream; empty for none.
    pub(super) fn place(&mut self) -> Read<Option<Place>> {
        let text = self.text()?;
        if text.is_empty() {
            return Ok(None);
        }
        let (millis, number) = text.split_once('-').ok_or_else(garbled)?;
        let (millis, number) = (millis.parse(), number.parse());
        Ok(Some(Place {
            millis: millis.map_err(|_| garbled())?,
            number: number.map_err(|_| garbled())?,
        }))
    }

    /// A value that may be none.
    pub(super) fn value(&mut self) -> Read<Option<Vec<u8>>> {
        let mut bytes = self.bytes()?;
        match bytes.first() {
            Some(b'+') => {
                bytes.remove(0);
                Ok(Some(bytes))
            }
            Some(b'-') => Ok(None),
            _ => Err(garbled()),
        }
    }

    /// Reads as many as there are.
    pub(super) fn each<T>(mut self, mut read: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut all = Vec::new();
        while !self.is_empty() {
            all.push(read(&mut self)?);
        }
        Ok(all)
    }

    /// A word that says what follows; one that is not known makes no sense.
    pub(super) fn unknown<T>() -> Read<T> {
        Err(garbled())
    }
}

pub(super) fn number(value: Value) -> Read<u64> {
    match value {
        Value::Int(number) => u64::try_from(number).map_err(|_| garbled()),
        Value::BulkString(bytes) => parse(&bytes),
        _ => Err(garbled()),
    }
}

pub(super) fn parse<T: std::str::FromStr>(bytes: &[u8]) -> Read<T> {
    let text = std::str::from_utf8(bytes).map_err(|_| garbled())?;
    text.parse().map_err(|_| garbled())
}

pub(super) fn node(text: &str) -> Read<NodeId> {
    Ok(NodeId(sixteen(text)?))
}

pub(super) fn upstream(text: &str) -> Read<UpstreamKey> {
    let mut key = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return Err(garbled());
    }
    for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).map_err(|_| garbled())?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| garbled())?;
    }
    Ok(UpstreamKey(key))
}

pub(super) fn ledger(text: &str) -> Read<Ledger> {
    match text {
        "q" => Ok(Ledger::Query),
        "g" => Ok(Ledger::Grab),
        _ => Err(garbled()),
    }
}

fn sixteen(text: &str) -> Read<u64> {
    if text.len() != 16 {
        return Err(garbled());
    }
    u64::from_str_radix(text, 16).map_err(|_| garbled())
}
