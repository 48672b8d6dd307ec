//! Licence expressions: does what a crate says in its `license` field hold with what we allow?
//!
//! The grammar is that of SPDX: names joined by `AND`, `OR` and `WITH`, in brackets where needed.
//! Older crates write `MIT/Apache-2.0`, where the stroke means `OR`; some write the joining words small,
//! which SPDX allows.

use anyhow::{Result, bail};

/// Whether `allowed` licences are enough to use something under `expression`.
pub(crate) fn is_satisfied(expression: &str, allowed: impl Fn(&str) -> bool) -> Result<bool> {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut parser = Parser {
        words: spaced.split_whitespace().collect(),
        at: 0,
        allowed,
    };
    let satisfied = parser.either()?;
    match parser.peek() {
        None => Ok(satisfied),
        Some(word) => bail!("`{expression}` goes on with `{word}` where it should end"),
    }
}

/// Words that are no licence.
const JOINING: [&str; 5] = ["(", ")", "AND", "OR", "WITH"];

struct Parser<'a, F> {
    words: Vec<&'a str>,
    at: usize,
    allowed: F,
}

impl<'a, F: Fn(&str) -> bool> Parser<'a, F> {
    fn either(&mut self) -> Result<bool> {
        let mut satisfied = self.both()?;
        while self.take("OR") {
            satisfied |= self.both()?;
        }
        Ok(satisfied)
    }

    fn both(&mut self) -> Result<bool> {
        let mut satisfied = self.one()?;
        while self.take("AND") {
            satisfied &= self.one()?;
        }
        Ok(satisfied)
    }

    fn one(&mut self) -> Result<bool> {
        if self.take("(") {
            let satisfied = self.either()?;
            if !self.take(")") {
                bail!("a bracket is not closed");
            }
            return Ok(satisfied);
        }
        let name = self.name()?;
        if self.take("WITH") {
            let exception = self.name()?;
            return Ok((self.allowed)(&format!("{name} WITH {exception}")));
        }
        Ok((self.allowed)(name))
    }

    fn name(&mut self) -> Result<&'a str> {
        match self.peek() {
            Some(word)
                if !JOINING
                    .iter()
                    .any(|joining| joining.eq_ignore_ascii_case(word)) =>
            {
                self.at += 1;
                Ok(word)
            }
            _ => bail!("a licence name is missing"),
        }
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self
            .peek()
            .is_some_and(|next| next.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(expression: &str) -> bool {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];
        is_satisfied(expression, |name| allowed.contains(&name)).unwrap()
    }

    #[test]
    fn one_allowed_choice_is_enough() {
        assert!(holds("MIT"));
        assert!(holds("GPL-3.0-only OR MIT"));
        assert!(holds("GPL-3.0-only/MIT"));
        assert!(!holds("GPL-3.0-only"));
    }

    #[test]
    fn all_parts_of_a_sum_must_be_allowed() {
        assert!(holds("MIT AND Apache-2.0"));
        assert!(!holds("MIT AND GPL-3.0-only"));
        assert!(!holds("(MIT OR Apache-2.0) AND OFL-1.1"));
        assert!(holds("GPL-3.0-only AND OFL-1.1 OR MIT"));
        assert!(holds("(MIT)AND(Apache-2.0)"));
    }

    #[test]
    fn an_exception_belongs_to_the_name() {
        assert!(holds("Apache-2.0 WITH LLVM-exception"));
        assert!(!holds("MIT WITH LLVM-exception"));
    }

    #[test]
    fn nonsense_is_refused() {
        for expression in ["", "MIT OR", "(MIT", "MIT MIT", "AND", "MIT)"] {
            assert!(is_satisfied(expression, |_| true).is_err(), "{expression}");
        }
    }
}
