//! The schedulers themselves.

use std::time::Duration;

use bellwether_wire::v1;
use bellwether_wire::v1::members_client::MembersClient;
use tonic::{Response, Status};

use super::Client;
use crate::connection;
use crate::error::ClientError;

type Link = MembersClient<connection::Link>;

/// How long one of several is waited for that may be stopped.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// And for one that reads all of its state.
const STATE_WITHIN: Duration = Duration::from_secs(30);

impl Client {
    /// What each scheduler at the addresses says of itself and the others.
    pub async fn members(&self) -> Vec<(String, Result<v1::ListMembersResponse, ClientError>)> {
        let mut told = Vec::new();
        for asked in self.settings.fleet.everybody() {
            let mut link = MembersClient::new(asked.link.clone());
            let list = within(link.list(v1::ListMembersRequest {})).await;
            let list = list.map_err(|status| self.error_of(&asked, &status));
            told.push((asked.connection.address.clone(), list.map(Response::into_inner)));
        }
        told
    }

    /// What each scheduler at the addresses has made of the journal, and where it is in it.
    pub async fn member_states(
        &self,
    ) -> Vec<(String, Result<v1::MemberStateResponse, ClientError>)> {
        let mut told = Vec::new();
        for asked in self.settings.fleet.everybody() {
            let mut link = MembersClient::new(asked.link.clone());
            // A large state is not read in a moment.
            let state = link.state(v1::MemberStateRequest {});
            let state = tokio::time::timeout(STATE_WITHIN, state).await;
            let state = state.unwrap_or_else(|_| Err(Status::unavailable("it does not answer")));
            let state = state.map_err(|status| self.error_of(&asked, &status));
            told.push((asked.connection.address.clone(), state.map(Response::into_inner)));
        }
        told
    }

    /// Lets another scheduler lead; 0 is whoever is ready. Returns once the present leader does not.
    pub async fn transfer(&self, to: u32) -> Result<(), ClientError> {
        self.ask_leader(async |mut link: Link| {
            link.transfer(v1::TransferRequest { to }).await.map(drop)
        })
        .await
    }

    /// Takes a member out for good, if enough of the others answer.
    pub async fn remove_member(&self, member: u32) -> Result<(), ClientError> {
        self.ask_leader(async |mut link: Link| {
            link.remove(v1::RemoveMemberRequest { member }).await.map(drop)
        })
        .await
    }

    /// Asks each in turn until one does not say that another leads.
    async fn ask_leader(
        &self,
        ask: impl AsyncFn(Link) -> Result<(), Status>,
    ) -> Result<(), ClientError> {
        let mut failed = None;
        for asked in self.settings.fleet.everybody() {
            let Err(status) = ask(MembersClient::new(asked.link.clone())).await else {
                return Ok(());
            };
            match self.error_of(&asked, &status) {
                error if error.is_transient() => failed = Some(error),
                error => return Err(error),
            }
        }
        Err(failed.unwrap_or_else(|| ClientError::Protocol("there is nobody to ask".to_owned())))
    }
}

async fn within<T>(answer: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    let late = || Status::unavailable("it does not answer");
    tokio::time::timeout(ANSWER_WITHIN, answer).await.unwrap_or_else(|_| Err(late()))
}
