//! How links sign in, and how other nodes hear of them.

use tokio_util::sync::CancellationToken;

use super::people::People;
use super::secrets::{self, Hash};
use super::site::Site;
use super::{Doorkeeper, Followed, NotTaken, link, links};
use crate::{Client, Error};

impl Doorkeeper {
    /// Makes a sign-in link that replaces the previous one; returns its path.
    pub(crate) fn link(&self) -> Result<String, Error> {
        let new = link::NewLink::make()?;
        let path = new.path.clone();
        let now = self.clock.now().as_second();
        self.file.write_blocking(move |tx| new.put(tx, now))?;
        Ok(path)
    }

    /// Signs in by link and uses it up. A wrong link counts as a wrong key; the right one, of 160 random bits, signs
    /// in no matter what others at this address sent.
    pub(crate) async fn use_link(
        &self,
        link: &str,
        agent: &str,
        client: &Client,
        site: Site,
    ) -> Result<Followed, Error> {
        let id = secrets::hash(link);
        let now = self.clock.now().as_second();
        // A read is cheap, a durable write is not: whoever guesses gets no further than this.
        let made = self.file.read(|connection| link::made(connection, &id))?;
        let is_valid = match (made, &self.people) {
            (Some(made), _) => link::is_valid(made, now),
            (None, None) => return Ok(self.wrong_link(client, site)),
            (None, Some(people)) => {
                let may_look = !self.blocked(client, site);
                match people.find_link(&id, may_look).await {
                    Some(row) => links::is_valid_elsewhere(row.made, now),
                    None => return Ok(self.unknown_link(people, &id, client, site)),
                }
            }
        };
        if !is_valid {
            return Ok(Followed::Expired);
        }
        if let Some(people) = &self.people {
            match people.claim_link(&id).await {
                Ok(true) => {}
                Ok(false) => return Ok(self.wrong_link(client, site)),
                // Somebody must be able to sign in while there is no store: this node's own link does.
                Err(_) if made.is_some() => {}
                Err(_) => {
                    let row = people.links.find(&id);
                    let maker = row.map(|row| people.node.name_of(row.node));
                    return Ok(Followed::Unsure(maker));
                }
            }
        }
        match self.take_link(id, made.is_some(), agent, client).await? {
            Some(token) => Ok(Followed::In(token)),
            None => Ok(self.wrong_link(client, site)),
        }
    }

    /// Uses up a link, which is in this node's own file or another's; the token of the session, unless somebody else was
    /// faster.
    async fn take_link(
        &self,
        id: Hash,
        is_own: bool,
        agent: &str,
        client: &Client,
    ) -> Result<Option<String>, Error> {
        let first = self.settings.load().print;
        let new = self.new_session(first, agent, client)?;
        let (token, now) = (new.token.clone(), new.now.as_second());
        let sessions = self.sessions.clone();
        let links = self.people.as_ref().map(|people| people.links.clone());
        let taken = self.file.write_durable(move |tx| {
            let there = !is_own || link::take(tx, &id)?;
            let taken = match &links {
                Some(links) if there => links.end(tx, &id, now)?,
                _ => there,
            };
            if taken {
                sessions.insert(tx, &new)?;
            }
            Ok(taken)
        });
        if !taken.await? {
            return Ok(None);
        }
        if let Some(people) = &self.people {
            people.tell_links(&[id]);
        }
        self.told_session(secrets::hash(&token)).await;
        Ok(Some(token))
    }

    fn wrong_link(&self, client: &Client, site: Site) -> Followed {
        let counted = self.counted(client, site, false);
        Followed::Not(counted.err().unwrap_or(NotTaken::Wrong))
    }

    /// A link that no node is known to have made.
    fn unknown_link(&self, people: &People, id: &Hash, client: &Client, site: Site) -> Followed {
        let is_unsure = people.node.is_alone() && !people.links.is_ended(id);
        match self.wrong_link(client, site) {
            Followed::Not(NotTaken::Wrong) if is_unsure => Followed::Unsure(None),
            wrong => wrong,
        }
    }

    /// Tells other nodes which link is in force in this node's file, if that has changed: another process may have written it.
    pub(crate) async fn note_link(&self) -> Result<(), Error> {
        let Some(people) = &self.people else {
            return Ok(());
        };
        let now = self.clock.now().as_second();
        let found = self.file.read(link::found)?;
        let (is_new, over) = people.links.in_file(people.node.id(), found);
        if !over.is_empty() {
            let (links, ended) = (people.links.clone(), over.clone());
            let end = self.file.write(move |tx| {
                for id in &ended {
                    links.end(tx, id, now)?;
                }
                Ok(())
            });
            end.await?;
            people.tell_links(&over);
        }
        if let Some((id, _)) = found.filter(|_| is_new) {
            people.tell_links(&[id]);
        }
        Ok(())
    }

    /// Does so now and then until it is told to stop.
    pub(crate) async fn watch_link(&self, stop: CancellationToken) {
        while self.people.is_some() {
            if let Err(error) = self.note_link().await {
                tracing::debug!(%error, "cannot look for a new sign-in link");
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(links::WATCH) => {}
            }
        }
    }
}
