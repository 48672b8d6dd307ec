//! The commented sample file, generated from the field tables.

use std::fmt::Write;

use crate::{Row, Table};

const WIDTH: usize = 100;

/// The sample in YAML. A line that begins with `#` and no space is a key with its default. Lists have an example entry
/// below them: without their `#`, both lines together are a good list.
pub fn sample(root: &Table) -> String {
    let mut out = String::new();
    paragraph(&mut out, 0, root.doc);
    out.push('\n');
    section(&mut out, 0, root);
    out
}

fn section(out: &mut String, indent: usize, table: &Table) {
    let pad = "  ".repeat(indent);
    for row in table.rows {
        match row {
            Row::Field(about) => {
                let also = about.variable.map(|name| format!(" Environment: {name}."));
                let also = also.unwrap_or_default();
                let when = if about.at_start {
                    " Read at start."
                } else {
                    ""
                };
                paragraph(out, indent, &format!("{}{when}{also}", about.doc));
                let default = about.default.unwrap_or("");
                let _ = writeln!(out, "{pad}#{}: {default}", about.key);
            }
            Row::Section(inner) => {
                out.push('\n');
                paragraph(out, indent, &whole(inner.doc, inner));
                let _ = writeln!(out, "{pad}{}:", inner.key);
                section(out, indent + 1, inner);
            }
            Row::List(doc, inner) => {
                out.push('\n');
                paragraph(out, indent, &whole(doc, inner));
                entry(out, indent, inner);
                paragraph(out, indent, "For example (remove the # of both lines):");
                let _ = writeln!(out, "{pad}#{}:\n{pad}#  - {}", inner.key, inner.example);
            }
        }
    }
}

/// The documentation of a section or list. If all of it is read at start, its keys do not repeat that.
fn whole(doc: &str, table: &Table) -> String {
    let when = if table.at_start {
        " All of it is read at start."
    } else {
        ""
    };
    format!("{doc}{when}")
}

/// The keys of a list's entries, as text, because lists are empty by default.
fn entry(out: &mut String, indent: usize, table: &Table) {
    paragraph(out, indent, "Keys of each entry:");
    for row in table.rows {
        let Row::Field(about) = row else { continue };
        let default = about.default.map_or("required".to_owned(), |default| {
            format!("default {default}")
        });
        paragraph(
            out,
            indent,
            &format!("- {} ({default}): {}", about.key, about.doc),
        );
    }
}

fn paragraph(out: &mut String, indent: usize, text: &str) {
    let pad = "  ".repeat(indent);
    let mut line = format!("{pad}#");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{line}");
            line = format!("{pad}#{}", if text.starts_with("- ") { "  " } else { "" });
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(out, "{line}");
}
