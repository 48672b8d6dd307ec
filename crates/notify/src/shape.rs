//! A message as each kind of hook takes it.

use serde_json::{Value, json};

use crate::config::hook::HookKind;
use crate::message::{Message, wall};
use crate::outbox::Line;
use crate::rules::NtfyRules;

/// ntfy turns a message of more than 4,096 bytes into a file.
const NTFY: usize = 4000;
/// Discord takes 2,000 characters, title included.
const DISCORD: usize = 1800;
/// Slack cuts what is longer than 4,000 characters.
const SLACK: usize = 3800;
/// Our own JSON has each event by itself; its text is for those who want no more.
const WEBHOOK: usize = 16_000;
/// Characters of a title.
const TITLE: usize = 150;

/// The JSON for a hook.
pub(crate) fn body(kind: HookKind, message: &Message, ntfy: &NtfyRules, topic: &str) -> String {
    let value = match kind {
        HookKind::Webhook => webhook(message),
        HookKind::Ntfy => self::ntfy(message, ntfy, topic),
        HookKind::Discord => discord(message),
        HookKind::Slack => slack(message),
    };
    value.to_string()
}

fn title(message: &Message) -> String {
    crate::message::shortened(&message.title, TITLE)
}

fn webhook(message: &Message) -> Value {
    let events: Vec<Value> = message.events.iter().map(event).collect();
    json!({
        "version": 1,
        "test": message.is_test,
        "sent_at": message.at.to_string(),
        "host": &*message.host,
        "link": message.link,
        "title": title(message),
        "text": message.text(WEBHOOK, str::to_owned),
        "events": events,
        "more": message.more,
    })
}

fn event(line: &Line) -> Value {
    json!({
        "id": format!("{:016x}", line.id),
        "event": line.event,
        "front": line.front,
        "upstream": line.upstream,
        "at": wall(line.at).to_string(),
        "since": wall(line.since).to_string(),
        "until": line.until.map(|until| wall(until).to_string()),
        "sentence": line.sentence,
    })
}

/// Published as JSON to the server, not to the topic: headers could not hold every letter.
fn ntfy(message: &Message, rules: &NtfyRules, topic: &str) -> Value {
    let mut value = json!({
        "topic": topic,
        "title": title(message),
        "message": message.text(NTFY, str::to_owned),
        "priority": rules.priority,
        "tags": rules.tags,
    });
    if let Some(link) = &message.link {
        value["click"] = link.as_str().into();
    }
    value
}

fn discord(message: &Message) -> Value {
    let (title, text) = (markdown(&title(message)), message.text(DISCORD, markdown));
    json!({
        "content": format!("**{title}**\n{text}"),
        // Words of upstreams must not call people, and links need no picture.
        "allowed_mentions": { "parse": [] },
        "flags": 4,
    })
}

fn slack(message: &Message) -> Value {
    let (title, text) = (entities(&title(message)), message.text(SLACK, entities));
    json!({ "text": format!("{title}\n{text}"), "mrkdwn": false })
}

/// Text that Discord shows as it is.
fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if "\\*_~|`>#<@[]()".contains(letter) {
            safe.push('\\');
        }
        safe.push(letter);
    }
    safe
}

/// Text that Slack shows as it is: `<!channel>` would call everybody.
fn entities(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Sender;
    use crate::outbox::Batch;
    use jiff::tz::TimeZone;
    use weir_engine::dispatch::Moment;

    fn message(words: &str, count: u64) -> Message {
        let line = |id| Line {
            id,
            event: "down".to_owned(),
            began: true,
            subject: "upstream/search/harbor".to_owned(),
            front: Some("search".to_owned()),
            upstream: Some("harbor".to_owned()),
            at: 1_700_000_000_000_000_000,
            since: 1_699_999_000_000_000_000,
            until: None,
            title: "harbor is down".to_owned(),
            sentence: words.to_owned(),
        };
        let batch = Batch {
            lines: (1..=count).map(line).collect(),
            more: 0,
        };
        let sender = Sender {
            host: "mill".into(),
            link: Some("https://weir.example".to_owned()),
        };
        Message::of(
            &batch,
            Moment(1_700_000_001_000_000_000),
            &sender,
            &TimeZone::UTC,
        )
    }

    fn shaped(kind: HookKind, message: &Message) -> Value {
        let rules = NtfyRules {
            priority: 4,
            tags: vec!["warning".to_owned()],
        };
        serde_json::from_str(&body(kind, message, &rules, "weir")).unwrap()
    }

    #[test]
    fn each_kind_has_its_own_fields() {
        let one = message("harbor has been disabled since 22:02: it answered 503.", 1);
        let webhook = shaped(HookKind::Webhook, &one);
        assert_eq!(webhook["version"], 1);
        assert_eq!(webhook["sent_at"], "2023-11-14T22:13:21Z");
        assert_eq!(webhook["events"][0]["event"], "down");
        assert_eq!(webhook["events"][0]["since"], "2023-11-14T21:56:40Z");
        assert_eq!(webhook["events"][0]["id"], "0000000000000001");
        assert_eq!(
            webhook["link"],
            "https://weir.example/upstreams/search/harbor"
        );
        let ntfy = shaped(HookKind::Ntfy, &one);
        assert_eq!(ntfy["topic"], "weir");
        assert_eq!(
            (ntfy["priority"].as_u64(), &ntfy["tags"][0]),
            (Some(4), &"warning".into())
        );
        assert_eq!(ntfy["title"], "harbor is down");
        assert_eq!(
            ntfy["click"],
            "https://weir.example/upstreams/search/harbor"
        );
        let slack = shaped(HookKind::Slack, &one);
        assert!(
            slack["text"]
                .as_str()
                .unwrap()
                .starts_with("harbor is down\nharbor has been")
        );
        let discord = shaped(HookKind::Discord, &one);
        assert!(
            discord["content"]
                .as_str()
                .unwrap()
                .starts_with("**harbor is down**\n")
        );
    }

    #[test]
    fn words_of_upstreams_call_nobody() {
        let rude = message(
            "it said: @everyone <!channel> [click](http://evil.example) **now**",
            1,
        );
        let slack = shaped(HookKind::Slack, &rude);
        assert!(slack["text"].as_str().unwrap().contains("&lt;!channel&gt;"));
        let discord = shaped(HookKind::Discord, &rude);
        let content = discord["content"].as_str().unwrap();
        assert!(
            content.contains("\\@everyone") && content.contains("\\[click\\]\\("),
            "{content}"
        );
        assert_eq!(discord["allowed_mentions"]["parse"], json!([]));
    }

    #[test]
    fn no_message_is_longer_than_its_hook_takes() {
        let long = message(&"*ü<".repeat(300), 100);
        let length = |kind, field: &str| {
            let value = shaped(kind, &long);
            let text = value[field].as_str().unwrap();
            (text.len(), text.chars().count())
        };
        assert!(length(HookKind::Discord, "content").1 <= 2000);
        assert!(length(HookKind::Ntfy, "message").0 <= 4096);
        assert!(length(HookKind::Slack, "text").1 <= 4000);
        let rules = NtfyRules {
            priority: 3,
            tags: Vec::new(),
        };
        let whole = body(HookKind::Webhook, &long, &rules, "");
        assert!(whole.len() < 256 << 10, "{}", whole.len());
    }
}
