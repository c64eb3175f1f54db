//! Following jobs and events as they happen.

use std::collections::{BTreeSet, VecDeque};

use bellwether_wire::v1;
use tonic::{Status, Streaming};

use super::Client;
use super::jobs::Job;
use crate::error::ClientError;

/// Jobs as they end; with progress, also as they start and go on.
#[derive(Debug)]
pub struct Ended {
    client: Client,
    open: BTreeSet<String>,
    progress: bool,
    stream: Option<Streaming<v1::WaitJobsResponse>>,
    ready: VecDeque<Job>,
}

/// Events from a position on, without a gap even if the connection breaks.
#[derive(Debug)]
pub struct Events {
    client: Client,
    request: v1::WatchEventsRequest,
    stream: Option<Streaming<v1::WatchEventsResponse>>,
    ready: VecDeque<v1::EventEnvelope>,
}

impl Client {
    /// Follows these jobs to their end.
    pub fn follow(&self, ids: impl IntoIterator<Item = String>, progress: bool) -> Ended {
        Ended {
            client: self.clone(),
            open: ids.into_iter().collect(),
            progress,
            stream: None,
            ready: VecDeque::new(),
        }
    }

    /// The job once it has ended.
    pub async fn wait(&self, id: &str) -> Result<Job, ClientError> {
        let mut ended = self.follow([id.to_owned()], false);
        let last = ended.next().await?;
        last.ok_or_else(|| ClientError::Protocol(format!("no word of the end of {id}")))
    }

    pub fn events(&self, request: v1::WatchEventsRequest) -> Events {
        Events { client: self.clone(), request, stream: None, ready: VecDeque::new() }
    }
}

impl Client {
    /// A stream has ended: asking again at once would only hurt a scheduler in trouble.
    pub(super) async fn pause_unless_final(
        &self,
        status: Option<Status>,
    ) -> Result<(), ClientError> {
        let asked = self.settings.fleet.ask();
        if let Some(error) = status.map(|status| self.error_of(&asked, &status)) {
            if !error.is_transient() {
                return Err(error);
            }
            self.go_elsewhere(&asked, &error);
        }
        tokio::time::sleep(self.settings.builder.backoff.pause(1)).await;
        Ok(())
    }
}

impl Ended {
    /// The next job that has ended, or changed; none once all have ended.
    pub async fn next(&mut self) -> Result<Option<Job>, ClientError> {
        loop {
            if let Some(job) = self.ready.pop_front() {
                if job.has_ended() && !self.open.remove(job.id()) {
                    continue;
                }
                return Ok(Some(job));
            }
            if self.open.is_empty() {
                return Ok(None);
            }
            self.receive().await?;
        }
    }

    async fn receive(&mut self) -> Result<(), ClientError> {
        let request = v1::WaitJobsRequest {
            ids: self.open.iter().cloned().collect(),
            progress: self.progress,
        };
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let opened = self.client.call(|mut link| {
                    let request = request.clone();
                    async move { link.wait_jobs(request).await }
                });
                none.insert(opened.await?)
            }
        };
        let asked = self.client.settings.fleet.ask();
        match self.client.unless_deposed(&asked, stream.message()).await {
            Ok(Some(response)) => self.ready.extend(response.jobs.into_iter().map(Job)),
            // The scheduler went away before the last of them: ask again.
            ended => {
                self.stream = None;
                self.client.pause_unless_final(ended.err()).await?;
            }
        }
        Ok(())
    }
}

impl Events {
    pub async fn next(&mut self) -> Result<v1::EventEnvelope, ClientError> {
        loop {
            if let Some(event) = self.next_or_end().await? {
                return Ok(event);
            }
        }
    }

    /// None once all that was asked for has come, if the request goes no further than now.
    pub async fn next_or_end(&mut self) -> Result<Option<v1::EventEnvelope>, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.request.from = event.seq + 1;
                // Several events may have one position. A scheduler of before knows of no ids.
                self.request.after.clone_from(&event.id);
                return Ok(Some(event));
            }
            if !self.receive().await? && self.request.until_now {
                return Ok(None);
            }
        }
    }

    /// False if the scheduler had no more to say.
    async fn receive(&mut self) -> Result<bool, ClientError> {
        let request = &self.request;
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let opened = self.client.call(|mut link| {
                    let request = request.clone();
                    async move { link.watch_events(request).await }
                });
                none.insert(opened.await?)
            }
        };
        match stream.message().await {
            Ok(Some(response)) => self.ready.extend(response.events),
            Ok(None) if request.until_now => {
                self.stream = None;
                return Ok(false);
            }
            ended => {
                self.stream = None;
                self.client.pause_unless_final(ended.err()).await?;
            }
        }
        Ok(true)
    }
}
