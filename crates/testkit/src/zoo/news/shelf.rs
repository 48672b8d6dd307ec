//! What a news server has: newsgroups with their numbers, and articles by id.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::article::Article;

/// A newsgroup and what is in it.
#[derive(Clone, Debug, Default)]
pub struct Newsgroup {
    /// Its name.
    pub name: String,
    /// `y`, `n`, `m`, …
    pub flag: String,
    /// For people.
    pub description: String,
    numbers: BTreeMap<u64, Arc<Article>>,
    /// The highest number that ever was.
    high: u64,
}

impl Newsgroup {
    /// An empty one in which everybody may post.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            flag: "y".to_owned(),
            description: format!("About {name}"),
            ..Self::default()
        }
    }

    /// The same with another flag.
    pub fn flag(self, flag: &str) -> Self {
        let flag = flag.to_owned();
        Self { flag, ..self }
    }

    /// The same with articles of the series, each at its own number.
    pub fn with(mut self, numbers: impl IntoIterator<Item = u64>) -> Self {
        for number in numbers {
            self.put(number, Arc::new(Article::numbered(number)));
        }
        self
    }

    /// The same with an article at a number.
    pub fn at(mut self, number: u64, article: Article) -> Self {
        self.put(number, Arc::new(article));
        self
    }

    fn put(&mut self, number: u64, article: Arc<Article>) {
        self.numbers.insert(number, article);
        self.high = self.high.max(number);
    }

    pub(super) fn count(&self) -> u64 {
        self.numbers.len() as u64
    }

    pub(super) fn low(&self) -> u64 {
        let first = self.numbers.keys().next();
        first.copied().unwrap_or(self.high + 1)
    }

    pub(super) fn high(&self) -> u64 {
        self.high
    }

    pub(super) fn article(&self, number: u64) -> Option<&Arc<Article>> {
        self.numbers.get(&number)
    }

    pub(super) fn range(
        &self,
        range: RangeInclusive<u64>,
    ) -> impl DoubleEndedIterator<Item = (u64, &Arc<Article>)> {
        // A range that runs backwards is empty, and would be a panic below.
        let range = if range.is_empty() { 0..=0 } else { range };
        let numbers = self.numbers.range(range);
        numbers.map(|(number, article)| (*number, article))
    }

    /// The nearest number below.
    pub(super) fn before(&self, number: u64) -> Option<u64> {
        self.numbers.range(..number).next_back().map(|(n, _)| *n)
    }

    /// The nearest number above.
    pub(super) fn after(&self, number: u64) -> Option<u64> {
        self.numbers.range(number + 1..).next().map(|(n, _)| *n)
    }
}

/// Everything together.
#[derive(Default)]
pub(super) struct Shelf {
    newsgroups: BTreeMap<String, Newsgroup>,
    ids: HashMap<String, Arc<Article>>,
    /// Where an article stands, for `Xref`.
    places: HashMap<String, Vec<(String, u64)>>,
    /// Ids of those that were taken down, which is not the same as never having been there.
    taken_down: HashSet<String>,
}

impl Shelf {
    pub(super) fn new(newsgroups: Vec<Newsgroup>) -> Self {
        let mut shelf = Self::default();
        for newsgroup in newsgroups {
            shelf.set(newsgroup);
        }
        shelf
    }

    /// Puts a newsgroup in the place of the one of the same name.
    pub(super) fn set(&mut self, newsgroup: Newsgroup) {
        let name = newsgroup.name.clone();
        if let Some(old) = self.newsgroups.remove(&name) {
            for article in old.numbers.values() {
                self.leaves(&article.id, &name);
            }
        }
        for (number, article) in &newsgroup.numbers {
            self.stands(article.clone(), &name, *number);
        }
        self.newsgroups.insert(name, newsgroup);
    }

    /// Adds an article to newsgroups that are there, at the next number of each.
    pub(super) fn add(&mut self, names: &[&str], article: Article) -> Vec<u64> {
        let article = Arc::new(article);
        let mut given = Vec::new();
        for name in names {
            let Some(newsgroup) = self.newsgroups.get_mut(*name) else {
                continue;
            };
            let number = newsgroup.high + 1;
            newsgroup.put(number, article.clone());
            self.stands(article.clone(), name, number);
            given.push(number);
        }
        given
    }

    /// Takes an article away, as expiry or a cancel does.
    pub(super) fn remove(&mut self, id: &str) {
        for (name, number) in self.places.remove(id).unwrap_or_default() {
            if let Some(newsgroup) = self.newsgroups.get_mut(&name) {
                newsgroup.numbers.remove(&number);
            }
        }
        self.ids.remove(id);
    }

    pub(super) fn take_down(&mut self, id: &str) {
        self.taken_down.insert(id.to_owned());
    }

    /// Gives the articles of a newsgroup numbers from `first` on, in the order they had.
    pub(super) fn renumber(&mut self, name: &str, first: u64) {
        let Some(mut newsgroup) = self.newsgroups.get(name).cloned() else {
            return;
        };
        let articles = std::mem::take(&mut newsgroup.numbers);
        newsgroup.high = first.saturating_sub(1);
        for (number, article) in (first..).zip(articles.into_values()) {
            newsgroup.put(number, article);
        }
        self.set(newsgroup);
    }

    pub(super) fn newsgroup(&self, name: &str) -> Option<&Newsgroup> {
        self.newsgroups.get(name)
    }

    pub(super) fn newsgroups(&self) -> impl Iterator<Item = &Newsgroup> {
        self.newsgroups.values()
    }

    pub(super) fn article(&self, id: &str) -> Option<&Arc<Article>> {
        self.ids.get(id)
    }

    pub(super) fn is_taken_down(&self, id: &str) -> bool {
        self.taken_down.contains(id)
    }

    pub(super) fn places(&self, id: &str) -> &[(String, u64)] {
        self.places.get(id).map_or(&[], Vec::as_slice)
    }

    fn stands(&mut self, article: Arc<Article>, name: &str, number: u64) {
        let places = self.places.entry(article.id.clone()).or_default();
        places.push((name.to_owned(), number));
        self.ids.insert(article.id.clone(), article);
    }

    fn leaves(&mut self, id: &str, name: &str) {
        let Some(places) = self.places.get_mut(id) else {
            return;
        };
        places.retain(|(other, _)| other != name);
        if places.is_empty() {
            self.places.remove(id);
            self.ids.remove(id);
        }
    }
}
