//! Settings that are changed while the scheduler runs: written as in the file, with its units and words.

use bellwether_core::model::Config;
use serde_json::{Map, Value};

use super::settings::Draft;
use super::{LoadError, file};

const DURATION_BY_TYPE: &str = "duration_by_type";
const LIMITS: &str = "limits";

/// The settings with these changes: a JSON merge patch with the keys of the file. Null takes back what
/// may be absent.
pub fn change(config: Config, patch: &Map<String, Value>) -> Result<Config, LoadError> {
    let mut draft = Draft::live(config);
    for (key, value) in patch {
        match (key.as_str(), value) {
            ("shadow", Value::Null) => draft.set_live("shadow", "none")?,
            (DURATION_BY_TYPE, Value::Null) => draft.forget_duration(None),
            (DURATION_BY_TYPE, Value::Object(types)) => {
                let forgotten = types.iter().filter(|(_, duration)| duration.is_null());
                forgotten.for_each(|(kind, _)| draft.forget_duration(Some(kind)));
                set(&mut draft, key, value)?;
            }
            (LIMITS, Value::Null) => draft.forget_limit(None),
            (LIMITS, Value::Object(limits)) => {
                let forgotten = limits.iter().filter(|(_, limit)| limit.is_null());
                forgotten.for_each(|(pattern, _)| draft.forget_limit(Some(pattern)));
                set(&mut draft, key, value)?;
            }
            (_, Value::Null) => {
                return Err(LoadError::Missing { key: key.clone() });
            }
            _ => set(&mut draft, key, value)?,
        }
    }
    draft.finish_live()
}

fn set(draft: &mut Draft, key: &str, value: &Value) -> Result<(), LoadError> {
    let mut flat = Vec::new();
    let origin = || "the change".to_owned();
    file::flatten(key, value, &mut flat)
        .map_err(|reason| LoadError::Change { origin: origin(), reason })?;
    flat.iter().try_for_each(|(key, value)| draft.set_live(key, value))
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::{Micros, Name, OnLimit, Strategy};
    use serde_json::json;

    use super::*;

    fn changed(patch: &Value) -> Result<Config, String> {
        let durations = vec![(Name::fixed("a"), Micros::from_secs(1))];
        let config = Config { duration_by_type: durations, ..Config::default() };
        change(config, patch.as_object().unwrap()).map_err(|why| why.to_string())
    }

    #[test]
    fn what_the_file_takes_is_taken() {
        let config = changed(&json!({
            "job_timeout_default": "5m", "retry_base": 2, "payload_bytes_max": "2MiB",
            "reject_threshold": 0.9, "shadow": "round_robin", "retry_backoff": "linear",
            "priorities": { "low": 10 }, "duration_by_type": { "a": null, "b": "1m" },
        }));
        let config = config.unwrap();
        assert_eq!(config.job_timeout_default, Micros::from_secs(300));
        assert_eq!((config.payload_bytes_max, config.reject_percent), (2 << 20, 90));
        assert_eq!((config.shadow, config.priorities.low), (Some(Strategy::RoundRobin), 10));
        assert_eq!(config.duration_by_type, [(Name::fixed("b"), Micros::from_secs(60))]);
        let limits = json!({ "limits": { "gpu": 4, "a.b": { "max": 1, "on_limit": "skip" } } });
        let limited = changed(&limits).unwrap().limits;
        let read: Vec<_> =
            limited.iter().map(|l| (l.pattern.as_str(), l.max, l.on_limit)).collect();
        assert_eq!(read, [("a.b", 1, OnLimit::Skip), ("gpu", 4, OnLimit::Queue)]);
        assert_eq!(changed(&json!({ "shadow": null })).unwrap().shadow, None);
    }

    #[test]
    fn what_is_wrong_is_named_as_it_was_written() {
        let wrong = |patch: Value| changed(&patch).unwrap_err();
        assert_eq!(
            wrong(json!({ "retry_base": "600s" })),
            "retry_base is 600 s while retry_cap is 300 s; it must be above 0 and at most retry_cap"
        );
        assert_eq!(
            wrong(json!({ "reject_threshold": 200 })),
            "reject_threshold is 200; it must be from throttle_percent to 100"
        );
        assert_eq!(
            wrong(json!({ "max_rerty": 1 })),
            "the change: max_rerty is not known; did you mean max_retry?"
        );
        assert!(wrong(json!({ "data_dir": "x" })).contains("data_dir"));
        assert!(wrong(json!({ "quite_something_else": 1 })).ends_with("is not known"));
    }
}
