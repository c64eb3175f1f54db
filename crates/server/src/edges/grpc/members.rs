//! Who leads, and how the schedulers are.

use std::pin::Pin;

use bellwether_cluster::MemberId;
use bellwether_journal::state;
use bellwether_wire::v1;
use bellwether_wire::v1::members_server::Members;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status};

use super::status::status;
use crate::edges::desk::Desk;

#[derive(Debug, Clone)]
pub(crate) struct MembersService {
    pub(crate) desk: Desk,
}

#[tonic::async_trait]
impl Members for MembersService {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<v1::Leadership, Status>> + Send + 'static>>;

    async fn watch(
        &self,
        _request: Request<v1::WatchLeaderRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let members = self.desk.members.clone();
        let standings = WatchStream::new(members.watch());
        let told = standings.map(move |standing| Ok(standing.to_wire(&members.here())));
        Ok(Response::new(Box::pin(told)))
    }

    async fn list(
        &self,
        _request: Request<v1::ListMembersRequest>,
    ) -> Result<Response<v1::ListMembersResponse>, Status> {
        Ok(Response::new(self.desk.members.list(self.desk.handle.durable())))
    }

    async fn state(
        &self,
        _request: Request<v1::MemberStateRequest>,
    ) -> Result<Response<v1::MemberStateResponse>, Status> {
        let member = self.desk.members.id().0.into();
        let told = self.desk.handle.ask(move |view| {
            let is_durable = view.durable.seq == view.state.seq();
            v1::MemberStateResponse {
                member,
                position: view.state.seq().0,
                chain: if is_durable { view.durable.chain.0.to_vec() } else { Vec::new() }.into(),
                state: state::hash(view.state).to_vec().into(),
            }
        });
        Ok(Response::new(told.await.map_err(status)?))
    }

    async fn transfer(
        &self,
        request: Request<v1::TransferRequest>,
    ) -> Result<Response<v1::TransferResponse>, Status> {
        let to = u16::try_from(request.into_inner().to).ok().filter(|to| *to != 0).map(MemberId);
        self.desk.members.transfer(to).await.map_err(status)?;
        Ok(Response::new(v1::TransferResponse {}))
    }

    async fn remove(
        &self,
        request: Request<v1::RemoveMemberRequest>,
    ) -> Result<Response<v1::RemoveMemberResponse>, Status> {
        let id = u16::try_from(request.into_inner().member).unwrap_or(u16::MAX);
        self.desk.members.remove(MemberId(id)).await.map_err(status)?;
        Ok(Response::new(v1::RemoveMemberResponse {}))
    }
}
