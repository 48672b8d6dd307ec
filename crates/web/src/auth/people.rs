//! Sessions, keys, sign-in links and form secrets as rows that all nodes hold: how they are written, read and merged.
//!
//! In the table of sessions a row's name is the session's hash. In the table of keys it begins with a letter: `k` and a key's
//! hash, `f` and a node's number (its first key), `i` and the hash of a sign-in link, `s` and a hash of a form secret. Rows of
//! other kinds belong to others (`l` to the keys of download links).

use std::sync::Arc;

use data_encoding::HEXLOWER;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::watch;
use weir_engine::Node;
use weir_store::rusqlite::{self, Transaction};
use weir_store::shared::{Claim, Lost, NodeId, Table};
use weir_store::sqlite::File;

use super::firsts::{FirstKey, FirstKeys};
use super::forms::{FormSecret, FormSecrets};
use super::keys::{KeyNews, Keys, MergedKey};
use super::links::{AGAIN, CLAIMED, LinkNews, LinkRow, Links, claim_key};
use super::secrets::Hash;
use super::session::{EndedSessions, SessionNews, SessionRow, Sessions};
use crate::nodes::{Fields, Held, HeldRow, Replica, Taken};
use crate::{Clock, Right};

/// What this node holds together with the others.
pub(crate) struct People {
    pub(crate) node: Node,
    pub(crate) sessions: Replica,
    pub(crate) keys: Replica,
    pub(super) links: Links,
}

/// What both holders change.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) file: File,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sessions: Sessions,
    pub(super) keys: Keys,
    pub(super) links: Links,
    pub(super) firsts: FirstKeys,
    pub(super) forms: FormSecrets,
    /// Changes when keys no longer hold that did.
    pub(super) ended: watch::Sender<()>,
}

impl People {
    pub(super) fn new(node: Node, kept: Kept) -> Self {
        let sessions = HeldSessions(kept.clone());
        let own = node.id();
        Self {
            sessions: Replica::new(node.clone(), Table::Sessions, sessions),
            links: kept.links.clone(),
            keys: Replica::new(node.clone(), Table::Keys, HeldKeys { kept, own }),
            node,
        }
    }

    /// Tells that a session began, was used or ended.
    pub(super) fn tell_session(&self, id: Hash, news: Option<&SessionNews>) {
        if let Some(news) = news {
            self.sessions.tell(session_row(id, news));
        }
    }

    pub(super) fn tell_ended(&self, ended: &EndedSessions) {
        for (id, until) in ended {
            let news = SessionNews::Ended(*until);
            self.sessions.tell(session_row(*id, &news));
        }
    }

    /// Tells that a key was made, used or revoked.
    pub(super) fn tell_key(&self, print: Hash, news: Option<&KeyNews>) {
        if let Some(news) = news {
            self.keys.tell(key_row(print, news));
        }
    }

    pub(super) fn tell_first(&self, first: &FirstKey) {
        self.keys.tell(first_row(first));
    }

    /// Tells what is known of sign-in links.
    pub(super) fn tell_links(&self, ids: &[Hash]) {
        for id in ids {
            if let Some(news) = self.links.news(id) {
                self.keys.tell(link_row(*id, news));
            }
        }
    }

    /// A link of another node. If it is not known here it is looked for in the store, unless that would be in vain.
    pub(super) async fn find_link(&self, id: &Hash, may_look: bool) -> Option<LinkRow> {
        if let Some(row) = self.links.find(id) {
            return Some(row);
        }
        let mut waits = AGAIN.into_iter();
        while may_look && !self.links.is_ended(id) && !self.node.is_alone() {
            self.keys.look().await;
            if let Some(row) = self.links.find(id) {
                return Some(row);
            }
            tokio::time::sleep(waits.next()?).await;
        }
        None
    }

    /// Whether this node is the one at which a link is used; the store does not always answer.
    pub(super) async fn claim_link(&self, id: &Hash) -> Result<bool, Lost> {
        let (keys, by) = (vec![claim_key(id)], self.node.id());
        let claims = self.node.call(|store| store.claim(keys, by, CLAIMED));
        Ok(matches!(claims.await?[..], [Claim::Ours]))
    }

    /// Waits until the others can know what was changed here, or do not answer in time.
    pub(super) async fn told(&self) {
        let told = async |held: &Replica| {
            if held.untold() > 0 {
                held.look().await;
            }
        };
        tokio::join!(told(&self.sessions), told(&self.keys));
    }
}

/// All sessions.
struct HeldSessions(Kept);

impl Held for HeldSessions {
    fn is_ours(&self, id: &[u8]) -> bool {
        id.len() == size_of::<Hash>()
    }

    fn rows(&self) -> Vec<HeldRow> {
        let all = self.0.sessions.all_news().into_iter();
        all.map(|(id, news)| session_row(id, &news)).collect()
    }

    fn take(&self, rows: Vec<HeldRow>) -> BoxFuture<'_, Result<Taken, weir_store::Error>> {
        let (sessions, now) = (self.0.sessions.clone(), self.0.clock.now().as_second());
        Box::pin(self.0.file.write(move |tx| {
            let mut taken = Taken::default();
            for HeldRow { id, fields } in rows {
                let id = Hash::try_from(id.as_slice());
                let (Ok(id), Some(news)) = (id, read_session(&fields)) else {
                    taken.unread += 1;
                    continue;
                };
                if sessions.merge(tx, &id, &news, now)?
                    && let Some(ours) = sessions.news(&id)
                {
                    taken.back.push(over(fields, session_row(id, &ours)));
                }
            }
            Ok(taken)
        }))
    }
}

/// Keys, first keys, sign-in links and form secrets.
struct HeldKeys {
    kept: Kept,
    own: NodeId,
}

impl Held for HeldKeys {
    fn is_ours(&self, id: &[u8]) -> bool {
        matches!(id.first(), Some(b'k' | b'f' | b'i' | b's'))
    }

    fn rows(&self) -> Vec<HeldRow> {
        let Kept {
            keys,
            links,
            firsts,
            forms,
            ..
        } = &self.kept;
        let keys = keys.all_news().into_iter();
        let mut all: Vec<HeldRow> = keys.map(|(print, news)| key_row(print, &news)).collect();
        let links = links.all_news().into_iter();
        all.extend(links.map(|(id, news)| link_row(id, news)));
        all.extend(firsts.all().iter().map(first_row));
        all.extend(forms.all().iter().map(form_row));
        all
    }

    fn take(&self, rows: Vec<HeldRow>) -> BoxFuture<'_, Result<Taken, weir_store::Error>> {
        let (kept, own) = (self.kept.clone(), self.own);
        let now = kept.clock.now().as_second();
        Box::pin(async move {
            let work = kept.clone();
            let taken = kept.file.write(move |tx| {
                let mut taken = Taken::default();
                for row in rows {
                    match take_key(&work, tx, own, &row, now)? {
                        TakenRow::Same => {}
                        TakenRow::Unread => taken.unread += 1,
                        TakenRow::KnowsMore(ours) => taken.back.push(over(row.fields, ours)),
                    }
                }
                Ok(taken)
            });
            let taken = taken.await?;
            // Cheap, and whoever listens looks for themselves whether their key still holds.
            kept.ended.send_replace(());
            Ok(taken)
        })
    }
}

enum TakenRow {
    Same,
    Unread,
    KnowsMore(HeldRow),
}

fn take_key(
    kept: &Kept,
    tx: &Transaction<'_>,
    own: NodeId,
    row: &HeldRow,
    now: i64,
) -> rusqlite::Result<TakenRow> {
    let Some((kind, id)) = row.id.split_first() else {
        return Ok(TakenRow::Unread);
    };
    match kind {
        b'k' => {
            let (Ok(print), Some(news)) = (Hash::try_from(id), read_key(&row.fields)) else {
                return Ok(TakenRow::Unread);
            };
            Ok(match kept.keys.merge(tx, &print, &news, now)? {
                MergedKey::Same => TakenRow::Same,
                MergedKey::KnowsMore => match kept.keys.news(&print) {
                    Some(ours) => TakenRow::KnowsMore(key_row(print, &ours)),
                    None => TakenRow::Same,
                },
                MergedKey::Revoked => {
                    kept.sessions.end_of_key(tx, &print, now)?;
                    TakenRow::Same
                }
            })
        }
        b'f' => {
            let node = <[u8; 8]>::try_from(id).map(u64::from_be_bytes).map(NodeId);
            let Some(first) = node.ok().and_then(|node| read_first(node, &row.fields)) else {
                return Ok(TakenRow::Unread);
            };
            // Whether its own key holds is for each node to say, by its configuration.
            let ours_is_later = match (kept.firsts.of(own), first.node == own) {
                (Some(ours), true) if ours != first => {
                    let changes = ours.changes.max(first.changes.saturating_add(1));
                    let later = FirstKey { changes, ..ours };
                    kept.firsts.merge(tx, &later)?;
                    true
                }
                _ => kept.firsts.merge(tx, &first)?,
            };
            let ours = kept.firsts.of(first.node).filter(|_| ours_is_later);
            Ok(ours.map_or(TakenRow::Same, |ours| TakenRow::KnowsMore(first_row(&ours))))
        }
        b'i' => {
            let (Ok(id), Some(news)) = (Hash::try_from(id), read_link(&row.fields)) else {
                return Ok(TakenRow::Unread);
            };
            let knows_more = kept.links.merge(tx, &id, news, (own, now))?;
            let ours = kept.links.news(&id).filter(|_| knows_more);
            Ok(ours.map_or(TakenRow::Same, |ours| {
                TakenRow::KnowsMore(link_row(id, ours))
            }))
        }
        b's' => {
            let Some(form) = read_form(&row.fields) else {
                return Ok(TakenRow::Unread);
            };
            kept.forms.merge(tx, form)?;
            Ok(TakenRow::Same)
        }
        _ => Ok(TakenRow::Unread),
    }
}

/// Our fields over theirs: what a newer Weir added stays.
fn over(mut theirs: Fields, ours: HeldRow) -> HeldRow {
    theirs.extend(ours.fields);
    HeldRow {
        id: ours.id,
        fields: theirs,
    }
}

fn fields(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    }
}

fn session_row(id: Hash, news: &SessionNews) -> HeldRow {
    let value = match news {
        SessionNews::Ended(until) => json!({ "ended": true, "until": until }),
        SessionNews::Holds(row) => json!({
            "key": HEXLOWER.encode(&row.key),
            "created": row.created,
            "seen": row.seen,
            "expires": row.expires,
            "agent": &*row.agent,
            "address": &*row.address,
        }),
    };
    HeldRow {
        id: id.to_vec(),
        fields: fields(value),
    }
}

fn read_session(fields: &Fields) -> Option<SessionNews> {
    if fields.get("ended").and_then(Value::as_bool) == Some(true) {
        return Some(SessionNews::Ended(number(fields, "until")?));
    }
    let times = (
        number(fields, "created")?,
        number(fields, "seen")?,
        number(fields, "expires")?,
    );
    Some(SessionNews::Holds(SessionRow::of_others(
        hash(fields, "key")?,
        times,
        text(fields, "agent")?,
        text(fields, "address")?,
    )))
}

fn key_row(print: Hash, news: &KeyNews) -> HeldRow {
    let value = match news {
        KeyNews::Revoked(until) => json!({ "revoked": true, "until": until }),
        KeyNews::Holds {
            name,
            right,
            made,
            used,
        } => json!({ "name": name, "right": right.name(), "made": made, "used": used }),
    };
    HeldRow {
        id: named(b'k', &print),
        fields: fields(value),
    }
}

fn read_key(fields: &Fields) -> Option<KeyNews> {
    if fields.get("revoked").and_then(Value::as_bool) == Some(true) {
        return Some(KeyNews::Revoked(number(fields, "until")?));
    }
    Some(KeyNews::Holds {
        name: super::keys::name(text(fields, "name")?).ok()?,
        // What a later Weir wrote and this one does not know allows as little as possible.
        right: Right::parse(text(fields, "right")?).unwrap_or(Right::Read),
        made: number(fields, "made")?,
        used: number(fields, "used")?,
    })
}

fn first_row(first: &FirstKey) -> HeldRow {
    HeldRow {
        id: named(b'f', &first.node.0.to_be_bytes()),
        fields: fields(json!({
            "name": &*first.name,
            "print": HEXLOWER.encode(&first.print),
            "strong": first.strong,
            "changes": first.changes,
            "revoked": first.revoked,
        })),
    }
}

fn read_first(node: NodeId, fields: &Fields) -> Option<FirstKey> {
    let flag = |name| fields.get(name).and_then(Value::as_bool);
    let name: String = text(fields, "name")?.chars().take(100).collect();
    Some(FirstKey {
        node,
        name: name.into(),
        print: hash(fields, "print")?,
        strong: flag("strong")?,
        changes: number(fields, "changes")?,
        revoked: flag("revoked")?,
    })
}

fn link_row(id: Hash, news: LinkNews) -> HeldRow {
    let value = match news {
        LinkNews::Ended(until) => json!({ "ended": true, "until": until }),
        // As text: numbers of JSON are exact only up to 53 bits.
        LinkNews::Holds(LinkRow { made, node }) => {
            json!({ "made": made, "node": HEXLOWER.encode(&node.0.to_be_bytes()) })
        }
    };
    HeldRow {
        id: named(b'i', &id),
        fields: fields(value),
    }
}

fn read_link(fields: &Fields) -> Option<LinkNews> {
    if fields.get("ended").and_then(Value::as_bool) == Some(true) {
        return Some(LinkNews::Ended(number(fields, "until")?));
    }
    let node = HEXLOWER.decode(text(fields, "node")?.as_bytes()).ok()?;
    let node = <[u8; 8]>::try_from(node.as_slice()).ok()?;
    Some(LinkNews::Holds(LinkRow {
        made: number(fields, "made")?,
        node: NodeId(u64::from_be_bytes(node)),
    }))
}

fn form_row(form: &FormSecret) -> HeldRow {
    HeldRow {
        // The secret is random: its hash says nothing of it.
        id: named(b's', &blake3::hash(&form.secret).as_bytes()[..16]),
        fields: fields(json!({ "secret": HEXLOWER.encode(&form.secret), "made": form.made })),
    }
}

fn read_form(fields: &Fields) -> Option<FormSecret> {
    Some(FormSecret {
        made: number(fields, "made")?,
        secret: hash(fields, "secret")?,
    })
}

fn named(kind: u8, id: &[u8]) -> Vec<u8> {
    [&[kind], id].concat()
}

fn number(fields: &Fields, name: &str) -> Option<i64> {
    fields.get(name)?.as_i64()
}

fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

fn hash(fields: &Fields, name: &str) -> Option<Hash> {
    let bytes = HEXLOWER.decode(text(fields, name)?.as_bytes()).ok()?;
    Hash::try_from(bytes.as_slice()).ok()
}
