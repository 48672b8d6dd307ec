//! Finds the known word closest to a mistyped one.

/// The closest of `known`, if it is close enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // A third of the letters may be wrong, since operators write keys from memory; two always, or a swap in a short key
    // would find nothing.
    let furthest = (word.chars().count() / 3).max(2);
    known
        .into_iter()
        .map(|candidate| (edits(&word, &candidate.to_lowercase()), candidate))
        // As many edits as letters make any word of any other.
        .filter(|(distance, candidate)| *distance <= furthest && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The nearest word, or else the shortest that ends with this word: `nntp_listen` for `listen`.
pub(crate) fn near_or_longer<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let longer = |known: &&str| {
        known
            .strip_suffix(word)
            .is_some_and(|start| start.ends_with('_'))
    };
    nearest(word, known.iter().copied()).or_else(|| {
        let longer = known.iter().copied().filter(longer);
        longer.min_by_key(|known| known.len())
    })
}

/// Edits between two words: insert, remove, replace, or swap two neighbours. Both are cut to a length that nobody types
/// wrong.
pub fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(100).collect();
    let b: Vec<char> = b.chars().take(100).collect();
    let mut older = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(older[j - 1] + 1);
            }
            row.push(best);
        }
        older = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("age", "age"), 0);
        assert_eq!(edits("aeg", "age"), 1);
        assert_eq!(edits("agee", "age"), 1);
        assert_eq!(edits("", "age"), 3);
    }

    #[test]
    fn far_words_are_not_suggested() {
        assert_eq!(nearest("lisen", ["listen", "auth"]), Some("listen"));
        assert_eq!(nearest("colour", ["listen", "auth"]), None);
        assert_eq!(nearest("x", ["ip"]), None);
    }
}
