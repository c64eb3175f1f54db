//! What a job prints.

use bellwether_wire::v1;
use tonic::Streaming;

use super::Client;
use crate::error::ClientError;

/// The output of a job, without a gap even if the connection breaks.
#[derive(Debug)]
pub struct Output {
    client: Client,
    request: v1::WatchLogsRequest,
    stream: Option<Streaming<v1::WatchLogsResponse>>,
}

impl Client {
    /// What the attempts of a job have printed, and with `follow` what they print until the job ends.
    pub fn logs(&self, request: v1::WatchLogsRequest) -> Output {
        Output { client: self.clone(), request, stream: None }
    }
}

impl Output {
    /// The next of it; none once there is no more.
    pub async fn next(&mut self) -> Result<Option<v1::WatchLogsResponse>, ClientError> {
        loop {
            let request = &self.request;
            let stream = match &mut self.stream {
                Some(stream) => stream,
                none => {
                    let opened = self.client.call(|mut link| {
                        let request = request.clone();
                        async move { link.watch_logs(request).await }
                    });
                    none.insert(opened.await?)
                }
            };
            match stream.message().await {
                Ok(Some(response)) => {
                    self.request.after = response.cursor;
                    return Ok(Some(response));
                }
                Ok(None) => return Ok(None),
                // The scheduler went away: ask again for what comes next.
                Err(status) => {
                    self.stream = None;
                    self.client.pause_unless_final(Some(status)).await?;
                }
            }
        }
    }
}
