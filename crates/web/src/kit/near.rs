//! Names like the one that was asked for.

/// At most three names that differ little or hold what was asked for.
pub(super) fn nearest(wanted: &str, names: Vec<String>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut near: Vec<(usize, String)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let holds = !wanted.is_empty() && (lower.contains(&wanted) || wanted.contains(&lower));
            let steps = if holds { 1 } else { distance(&wanted, &lower) };
            (steps <= 1 + wanted.chars().count() / 4).then_some((steps, name))
        })
        .collect();
    near.sort();
    near.truncate(3);
    near.into_iter().map(|(_, name)| name).collect()
}

/// How many letters have to be added, taken or changed. Both are cut to a length that nobody types wrong.
fn distance(one: &str, other: &str) -> usize {
    let letters = |text: &str| text.chars().take(64).collect::<Vec<char>>();
    let (one, other) = (letters(one), letters(other));
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.iter().enumerate() {
        let mut corner = row[0];
        row[0] = index + 1;
        for (place, against) in other.iter().enumerate() {
            let same = corner + usize::from(letter != against);
            corner = row[place + 1];
            row[place + 1] = same.min(corner + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_were_meant_are_found() {
        let names = || {
            ["harbor.example", "lantern", "tracker-one"]
                .map(String::from)
                .to_vec()
        };
        assert_eq!(nearest("harbour.example", names()), ["harbor.example"]);
        assert_eq!(nearest("lantren", names()), ["lantern"]);
        assert_eq!(nearest("lanter", names()), ["lantern"]);
        assert_eq!(nearest("tracker", names()), ["tracker-one"]);
        assert_eq!(nearest("quarry", names()), [""; 0]);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
