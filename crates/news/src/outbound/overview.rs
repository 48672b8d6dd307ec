//! Overviews of a stretch of a newsgroup, by whichever of three ways a server knows.
//!
//! All three give the same: lines of an overview in the server's own format. HDR and HEAD give no more than threads and
//! lists need.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use bytes::Bytes;
use weir_news_proto::overview::parse_value_line;
use weir_news_proto::reply::code;
use weir_news_proto::{
    Articles, Command, FieldName, Listing, Newsgroup, OverviewFormat, OverviewLine, Which,
};

use super::answer::{Answer, lines};
use super::connection::{Delivery, Order};
use super::method::FetchBy;
use super::{LINE, Link, SelectedNumbers, missing};
use crate::judge::NewsFault;

/// A stretch of a newsgroup as a server told it.
#[derive(Clone, Debug)]
pub struct Window {
    /// What the lines have after their seven fields.
    pub format: OverviewFormat,
    /// The lines; rows may be missing, repeated or out of order.
    pub block: Bytes,
    /// What the server said of the whole newsgroup, if it was selected for this.
    pub selected: Option<SelectedNumbers>,
}

impl Window {
    /// The lines that can be read.
    pub fn lines(&self) -> impl Iterator<Item = OverviewLine<'_>> {
        lines(&self.block).filter_map(|line| OverviewLine::parse(line).ok())
    }
}

/// What HDR is asked for, in the order of an overview.
const FIELDS: [&str; 5] = ["Subject", "From", "Date", "Message-ID", "References"];

impl Link {
    /// The overview of these numbers of a newsgroup.
    pub async fn overview(
        &self,
        newsgroup: &Newsgroup,
        numbers: RangeInclusive<u64>,
    ) -> Result<Window, NewsFault> {
        let method = self.pool.method();
        let mut by = method.now();
        loop {
            let window = match by {
                FetchBy::Over => self.by_over(newsgroup, &numbers, Command::Over).await,
                FetchBy::Xover => self.by_over(newsgroup, &numbers, Command::Xover).await,
                FetchBy::Hdr => self.by_hdr(newsgroup, &numbers).await,
                FetchBy::Head => self.by_head(newsgroup, &numbers).await,
            };
            by = match window {
                Err(NewsFault::Unsupported(words)) => {
                    let next = method.instead_of(by);
                    next.ok_or(NewsFault::Unsupported(words))?
                }
                window => return window,
            };
        }
    }

    async fn by_over(
        &self,
        newsgroup: &Newsgroup,
        numbers: &RangeInclusive<u64>,
        command: fn(Articles) -> Command,
    ) -> Result<Window, NewsFault> {
        let known = self.format.load_full();
        let mut commands = vec![command(Articles::Range(numbers.clone().into()))];
        // Asked once, together with the first overview, so that nobody waits for it.
        if known.is_none() {
            commands.push(Command::List(Listing::OverviewFmt));
        }
        let delivery = self.ask(newsgroup, commands, self.sizes.window).await?;
        let selected = selected(&delivery);
        let mut answers = delivery.answers.into_iter();
        let block = rows(answers.next())?;
        let format = match (known, answers.next()) {
            (Some(known), _) => known,
            (None, listed) => {
                let listed = listed.filter(|answer| answer.code == code::LIST);
                let format = listed.and_then(|answer| OverviewFormat::parse(answer.lines()).ok());
                // A server with other fields in front, or without a list, still has the seven.
                let format = std::sync::Arc::new(format.unwrap_or_default());
                self.format.store(Some(format.clone()));
                format
            }
        };
        Ok(Window {
            format: (*format).clone(),
            block,
            selected,
        })
    }

    async fn by_hdr(
        &self,
        newsgroup: &Newsgroup,
        numbers: &RangeInclusive<u64>,
    ) -> Result<Window, NewsFault> {
        let field = |name: &&str| {
            let name: FieldName = name.parse().expect("it is a header's name");
            Command::Hdr(name, Articles::Range(numbers.clone().into()))
        };
        let commands = FIELDS.iter().map(field).collect();
        let delivery = self.ask(newsgroup, commands, self.sizes.window).await?;
        let selected = selected(&delivery);
        let mut articles = BTreeMap::<u64, [Bytes; FIELDS.len()]>::new();
        for (place, answer) in delivery.answers.into_iter().enumerate() {
            let block = rows(Some(answer))?;
            for line in lines(&block) {
                let Ok((number, value)) = parse_value_line(line) else {
                    continue;
                };
                if numbers.contains(&number) {
                    articles.entry(number).or_default()[place] = block.slice_ref(value);
                }
            }
        }
        let mut block = Vec::new();
        for (number, [subject, from, date, message_id, references]) in &articles {
            let line = OverviewLine {
                number: *number,
                subject,
                from,
                date,
                message_id,
                references,
                ..OverviewLine::default()
            };
            line.write(&mut block);
            block.extend_from_slice(b"\r\n");
        }
        Ok(Window {
            format: OverviewFormat::default(),
            block: block.into(),
            selected,
        })
    }

    async fn by_head(
        &self,
        newsgroup: &Newsgroup,
        numbers: &RangeInclusive<u64>,
    ) -> Result<Window, NewsFault> {
        // Each number costs a command, so nobody gets more of them than lines are fetched at once.
        let most = self.sizes.window / LINE;
        if numbers.end().saturating_sub(*numbers.start()) >= most as u64 {
            return Err(NewsFault::TooLong(self.sizes.window));
        }
        let commands = numbers
            .clone()
            .map(|number| Command::Head(Which::Number(number)));
        let commands = commands.collect();
        let delivery = self.ask(newsgroup, commands, self.sizes.article).await?;
        let selected = selected(&delivery);
        let format = OverviewFormat::with_xref();
        let mut block = Vec::new();
        for (number, answer) in numbers.clone().zip(delivery.answers) {
            if answer.code == code::HEAD {
                format.write_from_head(number, &answer.block, (None, None), &mut block);
                block.extend_from_slice(b"\r\n");
            } else if let fault @ (NewsFault::Unsupported(_) | NewsFault::LoginWanted) =
                answer.fault()
            {
                return Err(fault);
            }
        }
        Ok(Window {
            format,
            block: block.into(),
            selected,
        })
    }

    async fn ask(
        &self,
        newsgroup: &Newsgroup,
        commands: Vec<Command>,
        limit: usize,
    ) -> Result<Delivery, NewsFault> {
        self.pool
            .ask(Order {
                newsgroup: Some(newsgroup.clone()),
                commands,
                limit,
                ..Order::default()
            })
            .await
    }
}

fn selected(delivery: &Delivery) -> Option<SelectedNumbers> {
    SelectedNumbers::of(delivery.selected.as_ref()?).ok()
}

/// The rows of an answer. Where there are none some say so with a code of their own.
fn rows(answer: Option<Answer>) -> Result<Bytes, NewsFault> {
    let answer = answer.ok_or_else(missing)?;
    match answer.code {
        code::OVERVIEW | code::HEADERS | code::HEAD => Ok(answer.block),
        _ => match answer.fault() {
            NewsFault::NoArticle => Ok(Bytes::new()),
            fault => Err(fault),
        },
    }
}
