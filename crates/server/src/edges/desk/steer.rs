//! Commands by hand: what they change is durable when they are answered.

use bellwether_core::Command;
use bellwether_core::model::{Name, Seq, excerpt};
use bellwether_wire::{Malformed, v1};

use super::Desk;
use super::unanswered::{Refused, Unanswered};
use crate::event_loop::Unavailable;

impl Desk {
    /// Does one thing; tells the position at which it is durable.
    pub(crate) async fn command(&self, command: Command) -> Result<Seq, Unanswered> {
        let mut settled = self.handle.command(vec![command]).await?;
        let settled = settled.pop().expect("the loop answers every command");
        settled.result.map_err(Refused::from)?;
        Ok(settled.seq)
    }

    /// One command for each id, all in one go; what is refused is named.
    pub(crate) async fn each<N: From<Name>>(
        &self,
        ids: Vec<String>,
        command: impl Fn(N) -> Command,
    ) -> Result<v1::Done, Unavailable> {
        let mut refused = Vec::new();
        let mut names = Vec::with_capacity(ids.len());
        let mut commands = Vec::with_capacity(ids.len());
        for id in ids {
            match Name::new(&id) {
                Ok(name) => {
                    names.push(id);
                    commands.push(command(N::from(name)));
                }
                Err(why) => {
                    let why = Malformed::new("id", why);
                    let id = excerpt(&id).into_owned();
                    refused.push(v1::Refused { id, rejection: Some(v1::Rejection::from(&why)) });
                }
            }
        }
        let settled = self.handle.command(commands).await?;
        let position = settled.iter().map(|settled| settled.seq).max().unwrap_or(Seq(0));
        for (id, settled) in names.into_iter().zip(settled) {
            if let Err(rejection) = settled.result {
                let rejection = Some(v1::Rejection::from(&Refused::Rejected(rejection)));
                refused.push(v1::Refused { id, rejection });
            }
        }
        Ok(v1::Done { position: position.0, refused })
    }
}
