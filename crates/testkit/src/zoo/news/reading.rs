//! Newsgroups are selected and articles fetched.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::State;
use super::answer::{Reply, Talk};
use super::article::Article;
use super::behaviour::Nature;
use super::shelf::Newsgroup;

pub(super) const NO_NEWSGROUP: &str = "412 No newsgroup selected";
const NO_CURRENT: &str = "420 No current article";

/// `GROUP` and `LISTGROUP`.
pub(super) fn select(state: &State, talk: &mut Talk, verb: &str, words: &[&str]) -> Reply {
    let name = match (words.first(), &talk.newsgroup) {
        (Some(name), _) => (*name).to_owned(),
        (None, Some(name)) if verb == "LISTGROUP" => name.clone(),
        (None, _) if verb == "LISTGROUP" => return Reply::line(NO_NEWSGROUP),
        (None, _) => return Reply::line("501 Which one?"),
    };
    let Some(newsgroup) = state.shelf.newsgroup(&name) else {
        return Reply::line("411 No such newsgroup");
    };
    let range = words.get(1).map_or(Some(0..=u64::MAX), |text| range(text));
    let Some(range) = range else {
        return Reply::line("501 Not a range");
    };
    let (count, low, high) = counts(&state.nature, newsgroup);
    talk.current = newsgroup.article(newsgroup.low()).map(|_| newsgroup.low());
    talk.newsgroup = Some(name.clone());
    let line = format!("211 {count} {low} {high} {name}");
    if verb == "GROUP" {
        return Reply::line(line);
    }
    let numbers = newsgroup.range(range);
    let numbers: String = numbers.map(|(number, _)| format!("{number}\r\n")).collect();
    Reply::block(line, numbers.into_bytes())
}

/// Count, low and high of a newsgroup, as it tells them.
pub(super) fn counts(nature: &Nature, newsgroup: &Newsgroup) -> (u64, u64, u64) {
    let truth = (newsgroup.count(), newsgroup.low(), newsgroup.high());
    nature.counts.unwrap_or(truth)
}

/// `NEXT` and `LAST`.
pub(super) fn step(state: &State, talk: &mut Talk, verb: &str) -> Reply {
    let Some(newsgroup) = selected(state, talk) else {
        return Reply::line(NO_NEWSGROUP);
    };
    let Some(current) = talk.current else {
        return Reply::line(NO_CURRENT);
    };
    let (number, none) = match verb {
        "NEXT" => (newsgroup.after(current), "421 No next article"),
        _ => (newsgroup.before(current), "422 No previous article"),
    };
    let found = number.and_then(|number| Some((number, newsgroup.article(number)?)));
    let Some((number, article)) = found else {
        return Reply::line(none);
    };
    talk.current = Some(number);
    Reply::line(format!("223 {number} {}", article.id))
}

/// `ARTICLE`, `HEAD`, `BODY` and `STAT`.
pub(super) fn fetch(state: &State, talk: &mut Talk, verb: &str, words: &[&str]) -> Reply {
    let found = match words.first() {
        Some(id) if id.starts_with('<') => by_id(state, talk, id),
        Some(number) => by_number(state, talk, number),
        None => current(state, talk),
    };
    let (number, article) = match found {
        Ok(found) => found,
        Err(line) => return Reply::line(line),
    };
    if state.shelf.is_taken_down(&article.id) {
        return Reply::line("451 Taken down");
    }
    let line = |code: u16| format!("{code} {number} {}", article.id);
    match verb {
        "ARTICLE" => Reply::block(line(220), article.bytes.clone()),
        "HEAD" => Reply::block(line(221), article.head().to_vec()),
        "BODY" => Reply::block(line(222), article.body().to_vec()),
        _ => Reply::line(line(223)),
    }
}

/// An article and its number; else the line that says why not.
pub(super) type Found = Result<(u64, Arc<Article>), &'static str>;

pub(super) fn by_id(state: &State, talk: &Talk, id: &str) -> Found {
    let article = state.shelf.article(id).ok_or("430 No such article")?;
    let here = talk
        .newsgroup
        .as_deref()
        .filter(|_| !state.nature.zero_by_id);
    let places = state.shelf.places(id).iter();
    let mut here = places.filter(|(name, _)| Some(name.as_str()) == here);
    let number = here.next().map_or(0, |(_, number)| *number);
    Ok((number, article.clone()))
}

fn by_number(state: &State, talk: &mut Talk, number: &str) -> Found {
    let number = number.parse().map_err(|_| "501 Not a number")?;
    let newsgroup = selected(state, talk).ok_or(NO_NEWSGROUP)?;
    let article = newsgroup.article(number).ok_or("423 No such number")?;
    talk.current = Some(number);
    Ok((number, article.clone()))
}

pub(super) fn current(state: &State, talk: &Talk) -> Found {
    let newsgroup = selected(state, talk).ok_or(NO_NEWSGROUP)?;
    let number = talk.current.ok_or(NO_CURRENT)?;
    let article = newsgroup.article(number).ok_or(NO_CURRENT)?;
    Ok((number, article.clone()))
}

pub(super) fn selected<'a>(state: &'a State, talk: &Talk) -> Option<&'a Newsgroup> {
    state.shelf.newsgroup(talk.newsgroup.as_deref()?)
}

/// `5`, `5-` or `5-9`.
pub(super) fn range(text: &str) -> Option<RangeInclusive<u64>> {
    match text.split_once('-') {
        None => text.parse().ok().map(|number| number..=number),
        Some((low, "")) => Some(low.parse().ok()?..=u64::MAX),
        Some((low, high)) => Some(low.parse().ok()?..=high.parse().ok()?),
    }
}
