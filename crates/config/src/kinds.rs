//! Settings of simple types: numbers, words, paths, addresses, networks.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;

use ipnet::IpNet;

use crate::{Node, Secret, Setting, Value, Wrong, from_text, show_text};

/// A percentage, 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u8);

impl Percent {
    /// The number, at most 100.
    pub fn value(self) -> u8 {
        self.0
    }
}

fn integer(node: &Node) -> Option<i64> {
    match &node.value {
        Value::Int(value) => Some(*value),
        Value::Raw(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A number type that is read from a whole number.
macro_rules! whole {
    ($type:ty, $wanted:literal, $from:expr) => {
        impl Setting for $type {
            fn wanted() -> String {
                $wanted.to_owned()
            }

            fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
                integer(node)
                    .and_then($from)
                    .ok_or_else(|| Wrong::kind::<Self>(node))
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    };
}

whole!(u32, "a whole number from 0 to 4294967295", |n| {
    u32::try_from(n).ok()
});
whole!(u16, "a whole number from 0 to 65535", |n| u16::try_from(n)
    .ok());
whole!(NonZeroU32, "a whole number of 1 or more", |n| {
    u32::try_from(n).ok().and_then(Self::new)
});
whole!(Percent, "a whole number from 0 to 100", |n| {
    u8::try_from(n).ok().filter(|n| *n <= 100).map(Percent)
});

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A factor or a rate; never negative, always finite.
impl Setting for f64 {
    fn wanted() -> String {
        "a number of 0 or more".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
        let number = match &node.value {
            Value::Float(value) => Some(*value),
            Value::Raw(text) => text.trim().parse().ok(),
            // Exact up to 2^53, more than any factor or rate here.
            _ => integer(node).map(|n| n as Self),
        };
        number
            .filter(|number| number.is_finite() && *number >= 0.0)
            .ok_or_else(|| Wrong::kind::<Self>(node))
    }

    fn show(&self) -> String {
        format!("{self:?}")
    }
}

impl Setting for bool {
    fn wanted() -> String {
        "true or false".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
        match &node.value {
            Value::Bool(value) => Ok(*value),
            Value::Raw(text) if text == "true" => Ok(true),
            Value::Raw(text) if text == "false" => Ok(false),
            _ => Err(Wrong::kind::<Self>(node)),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// A type that is read from text that is not empty.
macro_rules! textual {
    ($type:ty, $wanted:literal, $from:expr, $show:expr) => {
        impl Setting for $type {
            fn wanted() -> String {
                $wanted.to_owned()
            }

            fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
                from_text(node, |text| {
                    Some(text).filter(|text| !text.is_empty()).and_then($from)
                })
            }

            fn show(&self) -> String {
                show_text(&$show(self))
            }
        }
    };
}

textual!(
    String,
    "text (in quotes if it looks like a number)",
    |text| Some(text.to_owned()),
    Self::clone
);
textual!(
    PathBuf,
    "a path",
    |text| Some(text.into()),
    |path: &Self| path.to_string_lossy().into_owned()
);
textual!(
    SocketAddr,
    "an address with a port such as 127.0.0.1:7070 or \"[::]:6969\"",
    |text| text.parse().ok(),
    Self::to_string
);
textual!(
    IpAddr,
    "an address such as 192.0.2.1 or \"2001:db8::1\"",
    |text| text.parse().ok(),
    Self::to_string
);
// An address alone is a network of one. Host bits are dropped, or 10.1.2.3/8 would not equal the network it stands for.
textual!(
    IpNet,
    "a network such as 10.0.0.0/8 or \"fd00::/8\", or one address",
    |text| match text.parse::<Self>() {
        Ok(net) => Some(net.trunc()),
        Err(_) => text.parse::<IpAddr>().ok().map(Self::from),
    },
    Self::to_string
);

impl Setting for Secret {
    const SECRET: bool = true;

    fn wanted() -> String {
        "text in quotes".to_owned()
    }

    fn read(node: &Node) -> Result<Self, Vec<Wrong>> {
        from_text(node, |text| (!text.is_empty()).then(|| Self::new(text)))
    }

    fn show(&self) -> String {
        "(secret)".to_owned()
    }
}
