//! The outline beside a thread: who answered whom, each one line.

use super::address;
use super::message::named;
use super::rows::DEEPEST;
use super::when::{Times, When};
use crate::reading::{OutlineRow, ThreadView};

/// A line of the outline.
pub(crate) struct OutlineLine {
    pub(crate) anchor: String,
    pub(crate) author: String,
    /// `None` where articles are missing.
    pub(crate) when: Option<When>,
    /// How many articles are missing here, in words.
    pub(crate) missing: Option<String>,
    /// It begins a list within the line before.
    pub(crate) opens: bool,
    /// So many lists end before it.
    pub(crate) closes: usize,
    pub(crate) level: usize,
    /// The lines that lead to it: how wide they are drawn, and their path.
    pub(crate) drawing: Option<(usize, String)>,
}

/// Pixels between two levels, where the line of the first one runs, and how high a row is.
const STEP: usize = 14;
const EDGE: usize = 6;
const HEIGHT: usize = 26;

/// The lines of this page's part of a thread: all of a thread of ten thousand would be too much to load and to read.
pub(crate) fn lines(view: &ThreadView, times: &Times) -> Vec<OutlineLine> {
    let rows = view.outline.iter().filter(|row| row.page == view.page);
    let least = rows.clone().map(|row| row.depth.min(DEEPEST)).min();
    let least = least.unwrap_or_default();
    let mut lines: Vec<OutlineLine> = Vec::new();
    let mut before = None;
    for row in rows {
        let level = row.depth.min(DEEPEST) - least;
        let last = lines.last().map(|line| line.level);
        let level = last.map_or(0, |last| level.min(last + 1));
        lines.push(OutlineLine {
            anchor: address::anchor(&row.id),
            author: named(&row.author),
            when: (row.missing == 0).then(|| times.brief(row.date, before)),
            missing: missing(row),
            opens: last.is_some_and(|last| level > last),
            closes: last.map_or(0, |last| last.saturating_sub(level)),
            level,
            drawing: None,
        });
        if row.missing == 0 {
            before = Some(row.date);
        }
    }
    draw(&mut lines);
    lines
}

/// Draws who answers whom. A level's line goes on past a row if somebody else answers the same message further down.
fn draw(lines: &mut [OutlineLine]) {
    let mut goes_on = [false; DEEPEST + 1];
    for line in lines.iter_mut().rev() {
        let level = line.level.min(DEEPEST);
        line.drawing = (level > 0).then(|| {
            let mut path = String::new();
            for (depth, goes_on) in goes_on.iter().enumerate().take(level + 1).skip(1) {
                let x = STEP * (depth - 1) + EDGE;
                match (goes_on, depth == level) {
                    (true, _) => path.push_str(&format!("M{x} 0v{HEIGHT}")),
                    (false, true) => path.push_str(&format!("M{x} 0v{}", HEIGHT / 2)),
                    (false, false) => {}
                }
                if depth == level {
                    path.push_str(&format!("M{x} {}h{}", HEIGHT / 2, STEP - EDGE));
                }
            }
            (STEP * level + EDGE, path)
        });
        goes_on[level] = true;
        goes_on[level + 1..].fill(false);
    }
}

fn missing(row: &OutlineRow) -> Option<String> {
    match row.missing {
        0 => None,
        1 => Some("not available".to_owned()),
        some => Some(format!("{some} not available")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::samples::{row, thread};

    /// What is drawn at each line, by level: a corner, a fork, a line that passes, or nothing.
    fn drawn(depths: &[usize]) -> Vec<String> {
        let rows = depths.iter().enumerate();
        let rows = rows.map(|(number, depth)| row(number, *depth, None, "Mira"));
        let view = thread(rows.collect(), |_| "x".to_owned());
        let signs = |line: &OutlineLine| {
            let Some((width, path)) = &line.drawing else {
                return String::new();
            };
            assert_eq!(*width, STEP * line.level + EDGE);
            let sign = |depth: usize| {
                let x = STEP * (depth - 1) + EDGE;
                let whole = path.contains(&format!("M{x} 0v26"));
                let half = path.contains(&format!("M{x} 0v13"));
                match (whole, half, path.contains(&format!("M{x} 13h8"))) {
                    (true, false, true) => '├',
                    (true, false, false) => '│',
                    (false, true, true) => '└',
                    (false, false, false) => ' ',
                    odd => panic!("{odd:?} in {path}"),
                }
            };
            (1..=line.level).map(sign).collect()
        };
        lines(&view, &Times::new(None)).iter().map(signs).collect()
    }

    #[test]
    fn lines_lead_from_each_answer_to_what_it_answers() {
        assert_eq!(
            drawn(&[0, 1, 2, 3, 1, 2, 2, 1, 2]),
            ["", "├", "│└", "│ └", "├", "│├", "│└", "└", " └"]
        );
        assert_eq!(drawn(&[0, 1, 0, 1]), ["", "└", "", "└"]);
    }

    #[test]
    fn the_deepest_level_takes_what_is_deeper() {
        let depths: Vec<usize> = (0..DEEPEST + 3).collect();
        let all = drawn(&depths);
        let last = " ".repeat(DEEPEST - 1);
        assert_eq!(all[DEEPEST], format!("{last}├"));
        assert_eq!(all[DEEPEST + 2], format!("{last}└"));
    }
}
