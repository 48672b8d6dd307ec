//! Values that were used lately, bounded by their bytes.

use std::collections::HashMap;
use std::hash::Hash;

/// Values of which those go first that nobody has used for longest. Fronts keep answers in memory with it.
#[derive(Debug)]
pub struct Recent<K, V> {
    values: HashMap<K, Entry<V>>,
    weight: usize,
    limit: usize,
    /// Counts uses, which tell what was used last.
    uses: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    weight: usize,
    used: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> Recent<K, V> {
    /// Room for so many bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            values: HashMap::new(),
            weight: 0,
            limit,
            uses: 0,
        }
    }

    /// Values and their bytes.
    pub fn held(&self) -> (usize, usize) {
        (self.values.len(), self.weight)
    }

    /// The value with this key, which was used just now.
    pub fn get(&mut self, key: &K) -> Option<V> {
        self.uses += 1;
        let entry = self.values.get_mut(key)?;
        entry.used = self.uses;
        Some(entry.value.clone())
    }

    /// Keeps a value of so many bytes; one with the same key goes.
    pub fn put(&mut self, key: K, value: V, weight: usize) {
        if weight > self.limit {
            // It would push out everything else and then itself.
            self.remove(&key);
            return;
        }
        self.uses += 1;
        let entry = Entry {
            value,
            weight,
            used: self.uses,
        };
        self.weight += weight;
        if let Some(before) = self.values.insert(key, entry) {
            self.weight -= before.weight;
        }
        if self.weight > self.limit {
            self.shrink();
        }
    }

    /// Lets a value go.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let entry = self.values.remove(key)?;
        self.weight -= entry.weight;
        Some(entry.value)
    }

    /// Lets all go that are not wanted.
    pub fn retain(&mut self, mut wanted: impl FnMut(&K, &V) -> bool) {
        let weight = &mut self.weight;
        self.values.retain(|key, entry| {
            let wanted = wanted(key, &entry.value);
            *weight -= if wanted { 0 } else { entry.weight };
            wanted
        });
    }

    /// Gives room for other than before.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        if self.weight > limit {
            self.shrink();
        }
    }

    /// Lets the longest unused go until a tenth is free, so that this is seldom done.
    fn shrink(&mut self) {
        let entries = self.values.iter();
        let mut uses: Vec<(u64, K)> = entries
            .map(|(key, entry)| (entry.used, key.clone()))
            .collect();
        uses.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in uses {
            if self.weight <= self.limit / 10 * 9 {
                break;
            }
            self.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays() {
        let mut recent = Recent::new(100);
        for key in 0..10 {
            recent.put(key, key, 10);
        }
        assert_eq!(recent.get(&0), Some(0));
        recent.put(10, 10, 10);
        assert_eq!(recent.get(&0), Some(0));
        assert_eq!(recent.get(&1), None);
        assert_eq!(recent.get(&10), Some(10));
        assert!(recent.held().1 <= 90);
    }

    #[test]
    fn weights_are_given_back() {
        let mut recent = Recent::new(100);
        recent.put("a", 1, 40);
        recent.put("a", 2, 10);
        assert_eq!(recent.held(), (1, 10));
        recent.put("b", 3, 20);
        recent.retain(|key, _| *key == "b");
        assert_eq!(recent.held(), (1, 20));
        assert_eq!(recent.remove(&"b"), Some(3));
        assert_eq!(recent.held(), (0, 0));
        recent.put("c", 3, 20);
        recent.put("large", 4, 1000);
        assert_eq!(
            recent.held(),
            (1, 20),
            "what does not fit pushes nobody out"
        );
    }
}
