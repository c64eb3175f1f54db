//! Which jobs are meant: for lists, and for what is done to many.

use bellwether_core::model::JobStatus;
use bellwether_sdk::client::Job;
use bellwether_sdk::{Client, v1};
use bellwether_wire::Mirror as _;
use clap::Args;

use crate::simulate::names::parse_word;

/// Jobs that are asked for at a time.
const PAGE: usize = 1_000;

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct JobFilter {
    /// Only jobs in these states, with commas between them
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = parse_word::<JobStatus>)]
    pub(super) state: Vec<JobStatus>,
    /// Only jobs of this type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only jobs with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only jobs of this run
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<String>,
    /// Only jobs that this worker ran
    #[arg(long)]
    worker: Option<String>,
    /// Only jobs whose id starts like this
    #[arg(long, value_name = "START")]
    id: Option<String>,
    /// Only jobs submitted at this time or later, as 2027-01-31T08:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<u64>,
    /// Only jobs submitted before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<u64>,
}

impl JobFilter {
    pub(super) fn of_run(run: String) -> JobFilter {
        JobFilter { run: Some(run), ..JobFilter::default() }
    }

    pub(super) fn of_ids(start: String) -> JobFilter {
        JobFilter { id: Some(start), ..JobFilter::default() }
    }

    /// Whether it leaves all jobs in.
    pub(super) fn is_empty(&self) -> bool {
        self.state.is_empty()
            && self.since.is_none()
            && self.until.is_none()
            && [&self.kind, &self.tag, &self.run, &self.worker, &self.id]
                .iter()
                .all(|field| field.is_none())
    }

    pub(super) fn request(&self) -> v1::ListJobsRequest {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        v1::ListJobsRequest {
            states: self.state.iter().map(|state| state.to_wire()).collect(),
            r#type: text(&self.kind),
            tag: text(&self.tag),
            run_id: text(&self.run),
            worker: text(&self.worker),
            submitted_after: self.since.unwrap_or(0),
            submitted_before: self.until.unwrap_or(0),
            id_prefix: text(&self.id),
            ..Default::default()
        }
    }
}

/// The jobs that fit, newest first, at most so many.
pub(super) async fn find(
    client: &Client,
    request: v1::ListJobsRequest,
    limit: usize,
) -> anyhow::Result<Vec<Job>> {
    find_each(client, request, limit, std::convert::identity).await
}

/// The same, by their ids alone: there may be many.
pub(super) async fn find_ids(
    client: &Client,
    request: v1::ListJobsRequest,
    limit: usize,
) -> anyhow::Result<Vec<String>> {
    find_each(client, request, limit, |job| job.id().to_owned()).await
}

async fn find_each<T>(
    client: &Client,
    mut request: v1::ListJobsRequest,
    limit: usize,
    keep: impl Fn(Job) -> T,
) -> anyhow::Result<Vec<T>> {
    let mut found = Vec::new();
    loop {
        let wanted = (limit - found.len()).min(PAGE);
        request.limit = u32::try_from(wanted).unwrap_or(u32::MAX);
        let page = client.jobs(request.clone()).await?;
        found.extend(page.jobs.into_iter().take(wanted).map(&keep));
        match page.next {
            Some(next) if found.len() < limit => request.cursor = next,
            _ => return Ok(found),
        }
    }
}

fn moment(text: &str) -> Result<u64, String> {
    let micros = super::moment(text)?.as_microsecond();
    u64::try_from(micros).map_err(|_| "it must be after 1970".to_owned())
}
