//! Independent trials side by side.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};
use tokio::task::JoinSet;

/// As many as there are processors on the smallest machine.
const LANES: usize = 2;

/// Tries each item; the first failure, which names its item, ends it all.
pub(crate) async fn each<T, U, F>(
    items: Vec<T>,
    trial: impl Fn(T) -> F + Send + Sync + 'static,
) -> Result<Vec<U>>
where
    T: Clone + std::fmt::Debug + Send + Sync + 'static,
    U: Send + 'static,
    F: Future<Output = Result<U>> + Send,
{
    let (items, trial) = (Arc::new(items), Arc::new(trial));
    let next = Arc::new(AtomicUsize::new(0));
    let mut lanes = JoinSet::new();
    for _ in 0..LANES {
        let (items, trial, next) = (items.clone(), trial.clone(), next.clone());
        lanes.spawn(async move {
            let mut done = Vec::new();
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = trial(item.clone()).await;
                done.push(result.with_context(|| format!("{item:?}"))?);
            }
            anyhow::Ok(done)
        });
    }
    let mut all = Vec::new();
    while let Some(lane) = lanes.join_next().await {
        all.extend(lane??);
    }
    Ok(all)
}
