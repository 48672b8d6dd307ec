//! Names similar to the one that was asked for.

use weir_config::edits;

/// At most three names that differ little from what was asked for, contain it or are contained in it.
pub fn nearest(wanted: &str, names: Vec<String>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut near: Vec<(usize, String)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let holds = !wanted.is_empty() && (lower.contains(&wanted) || wanted.contains(&lower));
            let steps = if holds { 1 } else { edits(&wanted, &lower) };
            // Stricter than for configuration keys: names are copied more often than typed.
            (steps <= 1 + wanted.chars().count() / 4).then_some((steps, name))
        })
        .collect();
    near.sort();
    near.truncate(3);
    near.into_iter().map(|(_, name)| name).collect()
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
    }
}
