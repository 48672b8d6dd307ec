//! Reads configuration files into checked values that remember where they came from.
//!
//! A crate defines each key once as a [`Field`], lists them in a [`Table`], and reads them into its own
//! struct in [`Section::read`]. The binary assembles the sections and calls [`read()`] with the file's
//! tree and the [`Layers`] over it. What is wrong is collected in [`Mistakes`]; nothing is clamped.

mod duration;
mod field;
mod fields;
mod file;
mod kinds;
mod layers;
mod local_name;
mod macros;
mod mistake;
mod nearest;
mod origin;
mod relations;
mod resolved;
mod sample;
mod secret;
mod secret_url;
mod secrets;
mod section;
mod setting;
mod toml_file;
mod tree;
mod unknown;
mod yaml;

pub use duration::Size;
pub use field::{About, Condition, Field, Row, Table, check};
pub use fields::Fields;
pub use file::{FileFormat, read_file, read_text};
pub use ipnet::IpNet;
pub use kinds::Percent;
pub use layers::{Environment, Layers, ProcessEnvironment};
pub use local_name::is_local_name;
pub use mistake::{Mistake, Mistakes};
pub use nearest::edits;
pub use origin::Origin;
pub use resolved::{Resolved, to_table, to_yaml};
pub use sample::sample;
pub use secret::Secret;
pub use secret_url::SecretUrl;
pub use secrets::{ENCODED, Secrets};
pub use section::{Item, Report, Section, defaults, read, read_entry};
pub use setting::{Setting, Wrong, from_text, show_text};
pub use tree::{Node, TreeEntry, Value};
