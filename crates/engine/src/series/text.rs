//! Rings as text that survives a restart: short, because a busy front has over a thousand points in each.
//!
//! `first number;step;step…`; a step is its numbers with commas between them, preceded by how far it is from the one
//! before. Zeros are left out, and a step that is the same as the one before is counted: `1,3,,,,25,30*6`.

use std::fmt::Write;

use weir_dispatch::Moment;

use super::Span;

/// The numbers of one step.
pub(crate) type Row = [u32; 9];

/// Writes steps, oldest first.
pub(crate) fn write(rows: &[(u32, Row)]) -> String {
    let mut text = String::with_capacity(rows.len() * 16);
    let Some((first, _)) = rows.first() else {
        return text;
    };
    let _ = write!(text, "{first}"); // writing to a string cannot fail
    let mut before = *first;
    let step = |(number, row): &(u32, Row), before: u32| (number.saturating_sub(before), *row);
    let mut rows = rows.iter().peekable();
    while let Some(row) = rows.next() {
        let this = step(row, before);
        before = row.0;
        let mut times = 1;
        while let Some(next) = rows.next_if(|next| step(next, before) == this) {
            before = next.0;
            times += 1;
        }
        let _ = write!(text, ";{}", this.0);
        let length = this.1.iter().rposition(|&number| number > 0);
        for number in &this.1[..length.map_or(0, |last| last + 1)] {
            text.push(',');
            if *number > 0 {
                let _ = write!(text, "{number}");
            }
        }
        if times > 1 {
            let _ = write!(text, "*{times}");
        }
    }
    text
}

/// Reads what was written, at most so many steps. It ends where it cannot be read.
pub(crate) fn read(text: &str, most: usize) -> Vec<(u32, Row)> {
    let mut parts = text.split(';');
    let Some(mut number) = parts.next().and_then(|first| first.parse::<u32>().ok()) else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for part in parts {
        let (step, times) = part.split_once('*').unwrap_or((part, "1"));
        let (Some((further, row)), Ok(times)) = (read_step(step), times.parse::<usize>()) else {
            return rows;
        };
        for _ in 0..times {
            if rows.len() == most {
                return rows;
            }
            number = number.saturating_add(further);
            rows.push((number, row));
        }
    }
    rows
}

fn read_step(step: &str) -> Option<(u32, Row)> {
    let mut numbers = step.split(',');
    let further = numbers.next()?.parse().ok()?;
    let mut row = Row::default();
    for (place, number) in numbers.enumerate() {
        let place = row.get_mut(place)?;
        if !number.is_empty() {
            *place = number.parse().ok()?;
        }
    }
    Some((further, row))
}

/// Steps with their times moved by `shift`: those within the span, and not later than now.
pub(crate) fn moved(
    rows: Vec<(u32, Row)>,
    span: Span,
    shift: i64,
    now: Moment,
) -> impl Iterator<Item = (u32, Row)> {
    let rows = rows.into_iter().map(move |(number, row)| {
        let at = span.begin(number).0.saturating_add_signed(shift);
        (span.number(Moment(at)), row)
    });
    rows.filter(move |(number, _)| {
        let at = span.begin(*number);
        at <= now && at + span.length() > now
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let idle = Row::default();
        let busy = [3, 0, 1, 0, 25, 30, 7, 0, 41];
        let rows = [
            (100, idle),
            (101, idle),
            (102, idle),
            (103, busy),
            (110, busy),
        ];
        let text = write(&rows);
        assert_eq!(text, "100;0;1*2;1,3,,1,,25,30,7,,41;7,3,,1,,25,30,7,,41");
        assert_eq!(read(&text, 360), rows);
        assert_eq!(read(&write(&[]), 360), []);
    }

    #[test]
    fn a_day_of_nothing_is_short() {
        let rows: Vec<(u32, Row)> = (0..288).map(|number| (number, Row::default())).collect();
        assert_eq!(write(&rows), "0;0;1*287");
        assert_eq!(read("0;0;1*287", 360).len(), 288);
    }

    #[test]
    fn damage_costs_no_memory_and_keeps_what_comes_before_it() {
        assert_eq!(read("5;0,1*99999999999", 360).len(), 360);
        assert_eq!(read("5;4294967295,1;4294967295,2", 360).len(), 2);
        for text in ["", "x", "-1;1", ";;"] {
            assert_eq!(read(text, 360), [], "{text:?}");
        }
        for text in ["5;0;1,x", "5;0;1,1,1,1,1,1,1,1,1,1,1", "5;0;1*x", "5;0;"] {
            assert_eq!(read(text, 360).len(), 1, "{text:?}");
        }
    }
}
