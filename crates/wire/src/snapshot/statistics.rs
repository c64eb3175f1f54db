//! What predictions are made of, in a snapshot.

use bellwether_core::model::Timestamp;
use bellwether_core::place::predictor::{
    Accuracy, CellKey, Durations, Slowness, StatisticsFacts, TypeHistory,
};

use crate::malformed::{Malformed, name};
use crate::v1;

pub fn cell_to_wire((key, durations): &(CellKey, Durations)) -> v1::CellFacts {
    v1::CellFacts {
        r#type: key.job_type,
        sender: key.sender,
        size: u32::from(key.size_bucket),
        cpu: key.cpu,
        machine: key.machine,
        durations: Some(durations_to_wire(durations)),
    }
}

pub fn type_to_wire((number, history): &(u32, TypeHistory)) -> v1::TypeFacts {
    let accuracy = &history.accuracy;
    v1::TypeFacts {
        r#type: *number,
        samples: history.samples,
        latest: history.latest.0,
        average: history.average,
        average_error: history.average_error,
        scaled_excess: history.scaled_excess,
        finest_error: history.finest_error,
        judged: history.judged,
        typical: history.typical.as_ref().map(durations_to_wire),
        machines: history.machines.into_iter().flatten().collect(),
        predicted: accuracy.samples,
        near: accuracy.near,
        recent_error: accuracy.recent,
        usual_error: accuracy.usual,
        drifting: accuracy.drifting,
    }
}

pub fn machine_to_wire((machine, slowness): &(u32, Slowness)) -> v1::MachineFacts {
    let Slowness { factor, comparisons } = *slowness;
    v1::MachineFacts { machine: *machine, slowness: factor, comparisons }
}

pub(super) fn machine_from_wire(wire: &v1::MachineFacts) -> (u32, Slowness) {
    (wire.machine, Slowness { factor: wire.slowness, comparisons: wire.comparisons })
}

pub(super) fn take(
    facts: &mut StatisticsFacts,
    names: &[String],
    cells: &[v1::CellFacts],
    types: &[v1::TypeFacts],
) -> Result<(), Malformed> {
    for text in names {
        facts.names.push(name("names", text)?);
    }
    for wire in cells {
        let size_bucket = u8::try_from(wire.size)
            .map_err(|_| Malformed::not_allowed("cells.size", wire.size, "at most 128"))?;
        let key = CellKey {
            job_type: wire.r#type,
            sender: wire.sender,
            size_bucket,
            cpu: wire.cpu,
            machine: wire.machine,
        };
        let durations = wire.durations.as_ref();
        let durations = durations.ok_or_else(|| Malformed::missing("cells.durations"))?;
        facts.cells.push((key, durations_from_wire(durations)?));
    }
    for wire in types {
        facts.types.push((wire.r#type, history_from_wire(wire)?));
    }
    Ok(())
}

fn history_from_wire(wire: &v1::TypeFacts) -> Result<TypeHistory, Malformed> {
    let mut machines = wire.machines.iter().copied();
    Ok(TypeHistory {
        samples: wire.samples,
        latest: Timestamp(wire.latest),
        average: wire.average,
        average_error: wire.average_error,
        scaled_excess: wire.scaled_excess,
        finest_error: wire.finest_error,
        judged: wire.judged,
        typical: wire.typical.as_ref().map(durations_from_wire).transpose()?,
        machines: [machines.next(), machines.next()],
        configured: None,
        accuracy: Accuracy {
            samples: wire.predicted,
            near: wire.near,
            recent: wire.recent_error,
            usual: wire.usual_error,
            drifting: wire.drifting,
        },
    })
}

fn durations_to_wire(durations: &Durations) -> v1::DurationFacts {
    v1::DurationFacts {
        samples: durations.samples,
        latest: durations.latest.0,
        estimate: durations.estimate,
        error: durations.error,
        centres: durations.centres.to_vec(),
        weights: durations.weights.to_vec(),
    }
}

fn durations_from_wire(wire: &v1::DurationFacts) -> Result<Durations, Malformed> {
    let clusters = |field: &str, list: &[f32]| {
        list.try_into().map_err(|_| Malformed::not_allowed(field, list.len(), "clusters are four"))
    };
    Ok(Durations {
        samples: wire.samples,
        latest: Timestamp(wire.latest),
        estimate: wire.estimate,
        error: wire.error,
        centres: clusters("centres", &wire.centres)?,
        weights: clusters("weights", &wire.weights)?,
    })
}
