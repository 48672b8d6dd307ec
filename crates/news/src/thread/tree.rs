//! A thread as it is read: from the top, replies below what they answer, older ones first.
//!
//! It is made anew for whoever asks, in O(n log n) of the thread's own size; pages that were rendered
//! are kept by those who render them, under the thread's version.

use weir_news_proto::MessageId;

use super::slab::NONE;
use super::{KnownArticle, ThreadTable};

/// Up to this many rows, a thread is one page.
const ONE_PAGE: usize = 100;

/// Rows on each page of a longer thread.
const PAGE: usize = 50;

/// A thread in the order in which it is read.
pub struct ThreadTree<'a> {
    table: &'a ThreadTable,
    rows: Vec<Position>,
}

/// A row of a thread: an article, or the place of articles that are missing.
#[derive(Clone, Copy)]
pub struct TreeRow<'a> {
    /// The ID; of several missing ones in a row, the last, which is the one that was answered.
    pub id: &'a str,
    /// 0 for the root.
    pub depth: usize,
    /// Which row this one answers.
    pub parent: Option<usize>,
    /// The article, if it is not missing.
    pub article: Option<KnownArticle<'a>>,
    /// How many articles are missing here, each the only known reply to the one before.
    pub missing: usize,
}

struct Position {
    at: u32,
    depth: u32,
    parent: Option<u32>,
    missing: u32,
}

/// A container on the walk through a thread.
struct Step {
    at: u32,
    /// The step of its parent.
    parent: u32,
    /// Its date; of a ghost, that of the oldest article below it, or none if there is none.
    date: Option<i64>,
    /// Children that are articles or have articles below them.
    shown_children: u32,
}

impl ThreadTable {
    /// The thread in which an article or a ghost is, as a tree.
    pub fn tree(&self, id: &MessageId) -> Option<ThreadTree<'_>> {
        let at = self.containers.find(id.as_str())?;
        let book = &self.threads[self.containers[at].thread];
        (book.articles > 0).then(|| ThreadTree {
            table: self,
            rows: self.arrange(book.root, book.containers as usize),
        })
    }

    /// All that is shown of a thread, in the order of reading.
    fn arrange(&self, root: u32, containers: usize) -> Vec<Position> {
        let steps = self.walk(root, containers);
        let mut shown: Vec<u32> = (0..steps.len() as u32)
            .filter(|&step| steps[step as usize].date.is_some())
            .collect();
        shown.sort_unstable_by(|&one, &other| {
            let (one, other) = (&steps[one as usize], &steps[other as usize]);
            let by_date = (one.parent, one.date).cmp(&(other.parent, other.date));
            by_date.then_with(|| self.containers.id(one.at).cmp(self.containers.id(other.at)))
        });
        let children_of = |step: u32| {
            let start = shown.partition_point(|&child| steps[child as usize].parent < step);
            let count = steps[step as usize].shown_children as usize;
            &shown[start..start + count]
        };
        let mut rows: Vec<Position> = Vec::with_capacity(shown.len());
        // Steps to be shown, with the row above and the missing articles between.
        let mut waiting = vec![(0, None, 0)];
        while let Some((step, parent, missing)) = waiting.pop() {
            let at = steps[step as usize].at;
            let children = children_of(step);
            let is_ghost = self.containers.is_ghost(at);
            let missing = missing + u32::from(is_ghost);
            if let &[child] = children
                && is_ghost
                && self.containers.is_ghost(steps[child as usize].at)
            {
                waiting.push((child, parent, missing));
                continue;
            }
            let row = rows.len() as u32;
            let depth = parent.map_or(0, |row: u32| rows[row as usize].depth + 1);
            rows.push(Position {
                at,
                depth,
                parent,
                missing,
            });
            waiting.extend(children.iter().rev().map(|&child| (child, Some(row), 0)));
        }
        rows
    }

    /// All containers of a thread, parents before their children, with the dates to sort them by.
    fn walk(&self, root: u32, containers: usize) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::with_capacity(containers);
        let mut waiting = vec![(root, NONE)];
        while let Some((at, parent)) = waiting.pop() {
            let step = steps.len() as u32;
            let date = (!self.containers.is_ghost(at)).then(|| self.line(at).date);
            steps.push(Step {
                at,
                parent,
                date,
                shown_children: 0,
            });
            waiting.extend(self.containers.children(at).map(|child| (child, step)));
        }
        for step in (1..steps.len()).rev() {
            let Step { parent, date, .. } = steps[step];
            if date.is_none() {
                continue;
            }
            let is_ghost = self.containers.is_ghost(steps[parent as usize].at);
            let above = &mut steps[parent as usize];
            above.shown_children += 1;
            if is_ghost && (above.date.is_none() || date < above.date) {
                above.date = date;
            }
        }
        steps
    }
}

impl<'a> ThreadTree<'a> {
    /// Rows, those for missing articles included.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row, which a tree of a known thread never says.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A row, counted from 0.
    pub fn row(&self, row: usize) -> Option<TreeRow<'a>> {
        let position = self.rows.get(row)?;
        let article = KnownArticle::new(self.table, position.at);
        Some(TreeRow {
            id: self.table.containers.id(position.at),
            depth: position.depth as usize,
            parent: position.parent.map(|parent| parent as usize),
            article,
            missing: position.missing as usize,
        })
    }

    /// How many pages it fills.
    pub fn pages(&self) -> usize {
        match self.rows.len() {
            ..=ONE_PAGE => 1,
            rows => rows.div_ceil(PAGE),
        }
    }

    /// The rows of a page, counted from 0; none past the last one.
    pub fn page(&self, page: usize) -> impl Iterator<Item = TreeRow<'a>> {
        let size = if self.pages() == 1 { ONE_PAGE } else { PAGE };
        let first = page.saturating_mul(size);
        (first..first.saturating_add(size)).map_while(|row| self.row(row))
    }

    /// The row of an article, for links that lead into the middle of a thread.
    pub fn position(&self, id: &MessageId) -> Option<usize> {
        let at = self.table.containers.find(id.as_str())?;
        self.rows.iter().position(|row| row.at == at)
    }

    /// The page on which a row is.
    pub fn page_of(&self, row: usize) -> usize {
        if self.pages() == 1 { 0 } else { row / PAGE }
    }
}
