//! The two formats of `/metrics`: the text format of Prometheus, which everything reads, and OpenMetrics for those who
//! ask for it.

use std::fmt::{self, Write};

use prometheus_client::registry::Registry;

/// A format of `/metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricsFormat {
    /// Prometheus's own, version 0.0.4.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl MetricsFormat {
    /// The format that a client prefers; `accept` has its `Accept` headers, of which there may be none. A draw goes to
    /// the text format, and so does a client that accepts neither: a page that can be read helps more than an error.
    pub(crate) fn accepted<'a>(accept: impl Iterator<Item = &'a str>) -> Self {
        let ranges: Vec<Range<'_>> = accept.flat_map(ranges).collect();
        let quality = |format: Self| {
            let matching = ranges.iter().filter_map(|range| {
                let closeness = range.matches(format)?;
                Some((closeness, range.quality))
            });
            matching.max().map_or(0, |(_, quality)| quality)
        };
        if quality(Self::OpenMetrics) > quality(Self::Text) {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    /// Its content type.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// Type, subtype and version.
    fn names(self) -> [&'static str; 3] {
        match self {
            Self::Text => ["text", "plain", "0.0.4"],
            Self::OpenMetrics => ["application", "openmetrics-text", "1.0.0"],
        }
    }

    /// Writes everything that is registered.
    pub(crate) fn write(self, registry: &Registry) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, registry)?;
        match self {
            Self::Text => text_format(&text),
            Self::OpenMetrics => Ok(text),
        }
    }
}

/// One part of an `Accept` header.
struct Range<'a> {
    kind: &'a str,
    subtype: &'a str,
    version: Option<&'a str>,
    /// In thousandths.
    quality: u16,
}

impl Range<'_> {
    /// How closely it describes a format; the closest range decides. `None` if it describes another one.
    fn matches(&self, format: MetricsFormat) -> Option<u8> {
        let [kind, subtype, version] = format.names();
        let is = |name: &str, wanted: &str| name.eq_ignore_ascii_case(wanted);
        match (self.kind, self.subtype, self.version) {
            ("*", "*", _) => Some(0),
            (other, _, _) if !is(other, kind) => None,
            (_, "*", _) => Some(1),
            (_, other, _) if !is(other, subtype) => None,
            (_, _, None) => Some(2),
            (_, _, Some(other)) => (other == version).then_some(3),
        }
    }
}

/// The readable parts of an `Accept` header.
fn ranges(header: &str) -> impl Iterator<Item = Range<'_>> {
    header.split(',').filter_map(|part| {
        let mut pieces = part.split(';').map(str::trim);
        let (kind, subtype) = pieces.next()?.split_once('/')?;
        let mut range = Range {
            kind,
            subtype,
            version: None,
            quality: 1000,
        };
        for piece in pieces {
            let Some((name, value)) = piece.split_once('=') else {
                continue;
            };
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "version" => range.version = Some(value),
                "q" => range.quality = quality(value)?,
                // Such as charset, of which there is one only.
                _ => {}
            }
        }
        Some(range)
    })
}

/// A number from 0 to 1, in thousandths.
fn quality(text: &str) -> Option<u16> {
    let number: f64 = text.parse().ok()?;
    let fits = (0.0..=1.0).contains(&number);
    fits.then(|| (number * 1000.0).round() as u16)
}

/// Turns OpenMetrics into the text format. Samples are written alike in both; the lines about a family are not: here they
/// name it as its samples are named, know no units, and nothing marks the end. We write no exemplars, which have no place
/// in the text format.
fn text_format(open_metrics: &str) -> Result<String, fmt::Error> {
    let mut text = String::with_capacity(open_metrics.len());
    // The line with the help comes first, but only the one with the type tells the family's name.
    let mut help = "";
    for line in open_metrics.lines() {
        let Some(comment) = line.strip_prefix("# ") else {
            writeln!(text, "{line}")?;
            continue;
        };
        match comment.split_once(' ') {
            Some(("HELP", rest)) => help = rest.split_once(' ').map_or("", |(_, help)| help),
            Some(("TYPE", rest)) => {
                let (family, kind) = rest.split_once(' ').unwrap_or((rest, "unknown"));
                let (suffix, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    "unknown" => ("", "untyped"),
                    kind => ("", kind),
                };
                writeln!(text, "# HELP {family}{suffix} {help}")?;
                writeln!(text, "# TYPE {family}{suffix} {kind}")?;
            }
            _ => {} // units and the end
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::MetricsFormat::{OpenMetrics, Text};
    use super::*;

    fn chosen(accept: &[&str]) -> MetricsFormat {
        MetricsFormat::accepted(accept.iter().copied())
    }

    #[test]
    fn the_text_format_is_for_everybody_who_does_not_ask_for_the_other() {
        for accept in [
            &[][..],
            &[""],
            &["*/*"],
            &["text/plain"],
            &["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"],
            &["application/openmetrics-text;version=0.0.1"],
            &["application/openmetrics-text;q=0"],
            &["application/openmetrics-text;q=0.4, text/plain;q=0.5"],
            &["application/openmetrics-text;q=0.5;version=1.0.0, text/plain;version=0.0.4;q=0.5"],
            &["image/png"],
            &["application/openmetrics-text;q=much"],
            &["*/*;q=0.9, application/*;q=0.1"],
        ] {
            assert_eq!(chosen(accept), Text, "{accept:?}");
        }
    }

    #[test]
    fn open_metrics_is_for_those_who_prefer_it() {
        for accept in [
            // Prometheus 2 and 3.
            &[
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            ][..],
            &[
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
            ],
            &["application/openmetrics-text"],
            &["Application/OpenMetrics-Text; Version=\"1.0.0\"; charset=utf-8"],
            &["text/plain;q=0.5", "application/openmetrics-text"],
            &["text/plain;q=0, */*"],
            &["*/*;q=0.9, text/*;q=0.1"],
            &[
                "application/openmetrics-text;version=1.0.0;q=0.9, application/openmetrics-text;q=0.1, text/plain;q=0.5",
            ],
        ] {
            assert_eq!(chosen(accept), OpenMetrics, "{accept:?}");
        }
    }

    #[test]
    fn families_are_named_as_their_samples() {
        let open = "# HELP a_bytes Memory.\n# TYPE a_bytes gauge\n# UNIT a_bytes bytes\na_bytes 1\n\
                    # HELP b Calls.\n# TYPE b counter\nb_total{c=\"# TYPE\"} 2\n\
                    # HELP d The version.\n# TYPE d info\nd_info{v=\"1\"} 1\n\
                    # HELP e How much.\n# TYPE e unknown\ne 3\n# EOF\n";
        assert_eq!(
            text_format(open).unwrap(),
            "# HELP a_bytes Memory.\n# TYPE a_bytes gauge\na_bytes 1\n\
             # HELP b_total Calls.\n# TYPE b_total counter\nb_total{c=\"# TYPE\"} 2\n\
             # HELP d_info The version.\n# TYPE d_info gauge\nd_info{v=\"1\"} 1\n\
             # HELP e How much.\n# TYPE e untyped\ne 3\n"
        );
    }
}
