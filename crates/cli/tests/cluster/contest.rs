//! Jobs that several want to make and to cancel at the same time, while leaders come and go: what each was
//! told must have happened in some order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use bellwether_sdk::{Client, ClientError, Context, NewJob, Outcome, v1};
use bellwether_testbed::{Model, Timed, check_linear};
use tokio::task::JoinSet;

pub(crate) const TYPE: &str = "contest";
/// Who ask for one job at the same time.
const SUBMITTERS: usize = 2;

/// One job, from nothing to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Life {
    Absent,
    Live,
    Completed,
    Cancelled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    /// Taken, or known by its own key.
    Submitted,
    /// Refused, because the id stands for another's job.
    Taken,
    /// There was no answer.
    MaySubmit,
    Cancelled,
    /// Refused, because the job has ended. What was sent again after a lost answer may have ended it itself.
    TooLate,
    /// Refused, because there is no such job.
    Unknown,
    MayCancel,
    /// A worker has done it, and reports that.
    MayComplete,
    /// What is there at the end.
    Seen(Life),
}

struct OneJob;

impl Model for OneJob {
    type State = Life;
    type Call = Call;

    fn begin(&self) -> Life {
        Life::Absent
    }

    fn after(&self, life: &Life, call: &Call) -> Vec<Life> {
        let same = |holds: bool| if holds { vec![*life] } else { vec![] };
        match (call, life) {
            (Call::Submitted | Call::MaySubmit, Life::Absent) => vec![Life::Live],
            (Call::Submitted | Call::MaySubmit, _) => vec![],
            (Call::Taken, life) => same(*life != Life::Absent),
            (Call::Cancelled | Call::MayCancel | Call::TooLate, Life::Live) => {
                vec![Life::Cancelled]
            }
            (Call::TooLate, life) => same(*life != Life::Absent),
            (Call::Cancelled | Call::MayCancel, _) => vec![],
            (Call::Unknown, life) => same(*life == Life::Absent),
            (Call::MayComplete, Life::Live) => vec![Life::Completed],
            (Call::MayComplete, _) => vec![],
            (Call::Seen(seen), life) => same(seen == life),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Contests {
    client: Client,
    begun: Instant,
    // Submitters, cancellers and workers write it from their own tasks.
    histories: Arc<Mutex<BTreeMap<String, Vec<Timed<Call>>>>>,
}

impl Contests {
    pub(crate) fn new(client: Client) -> Contests {
        Contests { client, begun: Instant::now(), histories: Arc::default() }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn histories(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Timed<Call>>>> {
        self.histories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, id: &str, call: Call, begun: u64, ended: Option<u64>) {
        self.histories().entry(id.to_owned()).or_default().push(Timed { call, begun, ended });
    }

    /// What a worker does with such a job.
    pub(crate) async fn work(self, context: Context) -> Outcome {
        self.note(context.id(), Call::MayComplete, self.now(), None);
        Outcome::done("")
    }

    /// Several make the same job, and one cancels it.
    pub(crate) fn begin(&self, number: usize, tasks: &mut JoinSet<Result<()>>) {
        let id = format!("contest-{number}");
        for _ in 0..SUBMITTERS {
            tasks.spawn(self.clone().submit(id.clone()));
        }
        tasks.spawn(self.clone().cancel(id));
    }

    async fn submit(self, id: String) -> Result<()> {
        let begun = self.now();
        let answer = self.client.submit(NewJob::new(TYPE).id(&id)).await;
        let call = match &answer {
            Ok(_) => Call::Submitted,
            Err(ClientError::Refused(_)) => Call::Taken,
            Err(_) => Call::MaySubmit,
        };
        let ended = (call != Call::MaySubmit).then(|| self.now());
        self.note(&id, call, begun, ended);
        Ok(())
    }

    async fn cancel(self, id: String) -> Result<()> {
        let begun = self.now();
        let answer = self.client.cancel(vec![id.clone()], "a contest").await;
        let call = match &answer {
            Ok(refused) => match refused.first().map(|(_, why)| why.code.as_str()) {
                None => Call::Cancelled,
                Some("already_ended") => Call::TooLate,
                Some("unknown_job") => Call::Unknown,
                Some(code) => bail!("{id} can't be cancelled: {code}"),
            },
            Err(_) => Call::MayCancel,
        };
        let ended = (call != Call::MayCancel).then(|| self.now());
        self.note(&id, call, begun, ended);
        Ok(())
    }

    /// Every history has an order, with what is there now at its end.
    pub(crate) async fn verify(&self) -> Result<usize> {
        let ids: Vec<String> = self.histories().keys().cloned().collect();
        for id in &ids {
            let begun = self.now();
            let life = self.life_of(id).await?;
            self.note(id, Call::Seen(life), begun, Some(self.now()));
            let history = self.histories().get(id).cloned().unwrap_or_default();
            check_linear(&OneJob, &history).with_context(|| format!("{id}: {history:#?}"))?;
        }
        Ok(ids.len())
    }

    async fn life_of(&self, id: &str) -> Result<Life> {
        match self.client.job(id, 0).await {
            Ok(job) if !job.has_ended() => Ok(self.client.wait(id).await.map(ended)??),
            Ok(job) => ended(job),
            Err(error) if error.code() == Some("unknown_job") => Ok(Life::Absent),
            Err(error) => Err(error.into()),
        }
    }
}

fn ended(job: bellwether_sdk::client::Job) -> Result<Life> {
    match job.state() {
        v1::JobState::Completed => Ok(Life::Completed),
        v1::JobState::Cancelled => Ok(Life::Cancelled),
        other => bail!("{} has ended as {other:?}", job.id()),
    }
}

fn holds(calls: &[(Call, u64, Option<u64>)]) -> bool {
    let timed = |&(call, begun, ended)| Timed { call, begun, ended };
    check_linear(&OneJob, &calls.iter().map(timed).collect::<Vec<_>>()).is_ok()
}

#[test]
fn histories_that_can_be_are_let_pass() {
    use Call::{Cancelled, MayCancel, MayComplete, Seen, Submitted, Taken, TooLate, Unknown};
    let cancelled_first = [
        (Unknown, 0, Some(3)),
        (Submitted, 1, Some(5)),
        (Taken, 1, Some(6)),
        (MayComplete, 7, None),
        (Seen(Life::Completed), 20, Some(21)),
    ];
    assert!(holds(&cancelled_first));
    let result_came_too_late = [
        (Submitted, 0, Some(2)),
        (MayComplete, 5, None),
        (Cancelled, 4, Some(9)),
        (Seen(Life::Cancelled), 20, Some(21)),
    ];
    assert!(holds(&result_came_too_late));
    let cancelled_by_the_first_try =
        [(Submitted, 0, Some(2)), (TooLate, 3, Some(9)), (Seen(Life::Cancelled), 20, Some(21))];
    assert!(holds(&cancelled_by_the_first_try));
    let nobody_knows = [(Submitted, 0, Some(2)), (MayCancel, 3, None)];
    assert!(holds(&[&nobody_knows[..], &[(Seen(Life::Cancelled), 20, Some(21))]].concat()));
}

#[test]
fn histories_of_planted_bugs_are_found_out() {
    use Call::{Cancelled, MayComplete, Seen, Submitted, Taken, TooLate, Unknown};
    let acknowledged_and_lost = [(Submitted, 0, Some(2)), (Seen(Life::Absent), 20, Some(21))];
    assert!(!holds(&acknowledged_and_lost));
    let made_twice = [
        (Submitted, 0, Some(2)),
        (Submitted, 3, Some(4)),
        (MayComplete, 5, None),
        (Seen(Life::Completed), 20, Some(21)),
    ];
    assert!(!holds(&made_twice));
    let taken_by_nobody = [(Taken, 0, Some(2)), (Seen(Life::Absent), 20, Some(21))];
    assert!(!holds(&taken_by_nobody));
    let cancelled_and_done_all_the_same = [
        (Submitted, 0, Some(2)),
        (Cancelled, 3, Some(4)),
        (MayComplete, 5, None),
        (Seen(Life::Completed), 20, Some(21)),
    ];
    assert!(!holds(&cancelled_and_done_all_the_same));
    let done_before_anybody_did_it = [
        (Submitted, 0, Some(2)),
        (TooLate, 3, Some(4)),
        (MayComplete, 5, None),
        (Seen(Life::Completed), 20, Some(21)),
    ];
    assert!(!holds(&done_before_anybody_did_it));
    let unknown_to_one_who_was_deposed =
        [(Submitted, 0, Some(2)), (Unknown, 3, Some(4)), (Seen(Life::Cancelled), 20, Some(21))];
    assert!(!holds(&unknown_to_one_who_was_deposed));
    let refused_and_done = [(Unknown, 0, Some(2)), (Seen(Life::Cancelled), 20, Some(21))];
    assert!(!holds(&refused_and_done));
}
