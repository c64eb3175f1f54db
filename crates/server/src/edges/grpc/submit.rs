//! Submissions, one request or a stream of them.

use std::pin::Pin;

use bellwether_wire::v1;
use bellwether_wire::v1::submit_result::Result as Outcome;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Status, Streaming};

use super::status::status;
use crate::edges::contain;
use crate::edges::desk::{Desk, Pending, Refused, Submitted};

/// Requests of one stream that may wait for their answers.
const STREAM_REQUESTS_MAX: usize = 64;

pub(super) type Responses = Pin<Box<dyn Stream<Item = Result<v1::SubmitResponse, Status>> + Send>>;

pub(super) fn response(results: Vec<Submitted>) -> v1::SubmitResponse {
    let result = |(index, result): (usize, Submitted)| match result {
        Ok(accepted) => Outcome::Accepted(accepted),
        Err(Refused::Malformed(why)) => Outcome::Rejection(v1::Rejection::from(
            &why.within(format_args!("submissions[{index}]")),
        )),
        Err(refused) => Outcome::Rejection(v1::Rejection::from(&refused)),
    };
    let results = results.into_iter().enumerate().map(result);
    v1::SubmitResponse {
        results: results.map(|result| v1::SubmitResult { result: Some(result) }).collect(),
    }
}

pub(super) fn submit_stream(
    desk: Desk,
    requests: Streaming<v1::SubmitRequest>,
    trace_parent: Option<String>,
) -> Responses {
    let (sender, receiver) = mpsc::channel(STREAM_REQUESTS_MAX);
    let forwarded = forward(desk.clone(), requests, sender, trace_parent);
    contain::spawn("SubmitStream", forwarded);
    let responses = ReceiverStream::new(receiver).then(move |sent: Result<Pending, Status>| {
        let desk = desk.clone();
        async move { sent?.answer(&desk).await.map(response).map_err(status) }
    });
    Box::pin(responses)
}

/// Hands requests to the loop in order, as long as somebody takes the answers.
async fn forward(
    desk: Desk,
    mut requests: Streaming<v1::SubmitRequest>,
    answers: mpsc::Sender<Result<Pending, Status>>,
    trace_parent: Option<String>,
) {
    loop {
        let Ok(permit) = answers.reserve().await else { return };
        let request = match requests.message().await {
            Ok(Some(request)) => request,
            Ok(None) => return,
            Err(status) => return permit.send(Err(status)),
        };
        let read = desk.read_submissions(&request.submissions, trace_parent.as_deref());
        match desk.send_submissions(read).await {
            Ok(pending) => permit.send(Ok(pending)),
            Err(why) => return permit.send(Err(status(why))),
        }
    }
}
