//! The fast way in: many submissions in a message, several messages in flight.

use bellwether_wire::v1;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use super::Client;
use super::submit::{Accepted, results};
use crate::error::{ClientError, Refusal};

/// Messages that may be under way before [`Submitter::send`] waits.
const IN_FLIGHT: usize = 8;

/// A stream of submissions and one of their results, in the same order. If it breaks, what was sent
/// and not answered may or may not have been taken; give jobs an idempotency key and send those
/// again on a new stream.
#[derive(Debug)]
pub struct SubmitStream {
    pub submitter: Submitter,
    pub answers: Answers,
}

/// The sending half. Dropping it ends the stream once everything is answered.
#[derive(Debug)]
pub struct Submitter {
    messages: mpsc::Sender<v1::SubmitRequest>,
    sizes: mpsc::Sender<usize>,
}

#[derive(Debug)]
pub struct Answers {
    responses: Opening,
    sizes: mpsc::Receiver<usize>,
    address: String,
}

/// The scheduler may open its half only with the first answer.
#[derive(Debug)]
enum Opening {
    Pending(
        tokio::task::JoinHandle<
            Result<tonic::Response<Streaming<v1::SubmitResponse>>, tonic::Status>,
        >,
    ),
    Open(Box<Streaming<v1::SubmitResponse>>),
    Closed,
}

impl Client {
    /// Opens the stream. It must be called within a Tokio runtime.
    pub fn submit_stream(&self) -> SubmitStream {
        let (messages, outgoing) = mpsc::channel(IN_FLIGHT);
        let (sizes, expected) = mpsc::channel(4 * IN_FLIGHT);
        let asked = self.settings.fleet.ask();
        let mut link = self.link(&asked);
        let opening =
            tokio::spawn(async move { link.submit_stream(ReceiverStream::new(outgoing)).await });
        SubmitStream {
            submitter: Submitter { messages, sizes },
            answers: Answers {
                responses: Opening::Pending(opening),
                sizes: expected,
                address: asked.connection.address,
            },
        }
    }
}

impl Submitter {
    /// Waits while as many messages are under way as may be. False: the stream has ended, and
    /// [`Answers::next`] says why.
    pub async fn send(&self, submissions: Vec<v1::Submission>) -> bool {
        let size = submissions.len();
        self.sizes.send(size).await.is_ok()
            && self.messages.send(v1::SubmitRequest { submissions }).await.is_ok()
    }
}

impl Answers {
    /// The results of the next message; none once the submitter is gone and all is answered.
    pub async fn next(&mut self) -> Result<Option<Vec<Result<Accepted, Refusal>>>, ClientError> {
        let Some(response) = self.next_response().await? else { return Ok(None) };
        let Some(sent) = self.sizes.recv().await else {
            return Err(ClientError::Protocol("an answer to nothing".to_owned()));
        };
        results(response, sent).map(Some)
    }

    async fn next_response(&mut self) -> Result<Option<v1::SubmitResponse>, ClientError> {
        loop {
            match &mut self.responses {
                Opening::Pending(opening) => {
                    let opened = opening.await;
                    self.responses = Opening::Closed;
                    let response = opened
                        .map_err(|error| ClientError::Protocol(error.to_string()))?
                        .map_err(|status| self.error(&status))?;
                    self.responses = Opening::Open(Box::new(response.into_inner()));
                }
                Opening::Open(stream) => {
                    return match stream.message().await {
                        Ok(message) => Ok(message),
                        Err(status) => Err(self.error(&status)),
                    };
                }
                Opening::Closed => return Ok(None),
            }
        }
    }

    fn error(&self, status: &tonic::Status) -> ClientError {
        ClientError::from_status(&self.address, status)
    }
}
