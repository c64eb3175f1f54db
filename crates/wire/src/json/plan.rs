//! What somebody wants to have run: a job by itself, or a run of which some jobs stand for many.
//!
//! The jobs of a run are named in it: the id of each is the run's, and its name behind a slash.

use std::collections::BTreeMap;

use bellwether_core::model::limits::{DEPENDENCIES_MAX, RUN_JOBS_MAX};
use bellwether_core::model::{JobId, Name, RunId};
use serde_json::Value;

use super::array::{Items, element, parted};
use super::job::Draft;
use super::run::SubmissionDraft;
use super::template::{Values, fill};
use crate::malformed::{Malformed, Problem, at_most};

/// A run with arrays is taken whole up to so many jobs, and step by step beyond.
pub const WHOLE_MAX: usize = 10_000;
/// Jobs of one step, and the payload at which it is full. They are always cut the same, so that what
/// was taken before is known by its keys.
const STEP_JOBS: usize = 1_000;
const STEP_BYTES: usize = 1 << 20;
/// Begins the keys of runs that nobody chose a key for.
const AUTOMATIC_KEY: &str = "auto-";

/// What an element is, and what stands in its brackets, by the names that its texts know.
pub(super) const ITEM: &str = "item";
pub(super) const INDEX: &str = "index";

#[derive(Debug, Clone)]
pub struct Plan {
    run: Option<RunId>,
    /// The same key again is the same run again.
    key: Option<Name>,
    parts: Vec<Part>,
    /// Which part a name of the run is.
    names: BTreeMap<String, usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) what: What,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    One(Box<Draft>),
    Many(Box<Array>),
}

/// One job over many items.
#[derive(Debug, Clone)]
pub(super) struct Array {
    pub(super) template: Value,
    pub(super) values: Values,
    pub(super) items: Items,
}

impl Plan {
    /// A job by itself, as it is.
    pub(super) fn single(job: Draft) -> Plan {
        let part = Part { name: String::new(), what: What::One(Box::new(job)) };
        Plan { run: None, key: None, parts: vec![part], names: BTreeMap::new() }
    }

    pub(super) fn of_run(
        run: RunId,
        key: Option<Name>,
        parts: Vec<Part>,
    ) -> Result<Plan, Malformed> {
        let mut names = BTreeMap::new();
        for (place, part) in parts.iter().enumerate() {
            if names.insert(part.name.clone(), place).is_some() {
                return Err(Malformed::new(format!("jobs.{}", part.name), Problem::Twice));
            }
        }
        let plan = Plan { run: Some(run), key, parts, names };
        // What is wrong with an array shows in its first element.
        for part in &plan.parts {
            if let What::Many(array) = &part.what {
                let first = plan.element(part, array, &mut array.values.clone(), 0);
                first.map_err(|why| why.within(format_args!("jobs.{}", part.name)))?;
            }
        }
        Ok(plan)
    }

    pub fn run(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    /// How many jobs it stands for.
    pub fn jobs(&self) -> usize {
        self.parts.iter().map(|part| part.what.len()).sum()
    }

    /// The first name of an array in it, if there is one.
    pub fn array(&self) -> Option<&str> {
        let is_many = |part: &&Part| matches!(part.what, What::Many(_));
        self.parts.iter().find(is_many).map(|part| part.name.as_str())
    }

    /// Whether it is too much to be taken at once.
    pub fn is_large(&self) -> bool {
        self.array().is_some() && self.jobs() > WHOLE_MAX
    }

    /// All of it, to be taken or refused together.
    pub fn whole(self) -> Result<SubmissionDraft, Malformed> {
        at_most("jobs", self.jobs(), RUN_JOBS_MAX)?;
        let mut jobs = Vec::with_capacity(self.jobs());
        for part in &self.parts {
            for place in 0..part.what.len() {
                jobs.push(self.job(part, place)?);
            }
        }
        Ok(SubmissionDraft { run: self.run, jobs, extends: false })
    }

    /// Piece by piece, each with a key by which it is known again. What a job depends on comes before
    /// it.
    pub fn steps(self) -> Result<Steps, Malformed> {
        let order = self.order()?;
        let automatic = self.run.as_ref().map(|run| Name::new(&format!("{AUTOMATIC_KEY}{run}")));
        let automatic = automatic.transpose().map_err(|why| Malformed::new("run", why))?;
        let key = self.key.clone().or(automatic);
        Ok(Steps { plan: Plan { key, ..self }, order, part: 0, place: 0 })
    }

    fn job(&self, part: &Part, place: usize) -> Result<Draft, Malformed> {
        let job = match &part.what {
            What::One(job) => self.one(part, job),
            What::Many(array) => self.element(part, array, &mut array.values.clone(), place),
        };
        job.map_err(|why| match &self.run {
            Some(_) => why.within(format_args!("jobs.{}", part.name)),
            None => why,
        })
    }

    fn one(&self, part: &Part, job: &Draft) -> Result<Draft, Malformed> {
        let mut job = job.clone();
        let Some(run) = &self.run else { return Ok(job) };
        self.belong(run, &mut job, &part.name)?;
        Ok(job)
    }

    fn element(
        &self,
        part: &Part,
        array: &Array,
        values: &mut Values,
        place: usize,
    ) -> Result<Draft, Malformed> {
        let (item, label) = array.items.at(place);
        values.insert(ITEM.to_owned(), item);
        values.insert(INDEX.to_owned(), Value::from(label));
        let raw = serde_json::value::to_raw_value(&fill(&array.template, values)?);
        let raw = raw.expect("a value can be written");
        let mut job = Draft::from_json(&raw)?;
        job.spec.node = None;
        let run = self.run.as_ref().expect("an array is a run");
        // One key for all would make one job of them.
        if let Some(key) = &job.spec.idempotency_key {
            let key = Name::new(&element(key.as_str(), label));
            job.spec.idempotency_key =
                Some(key.map_err(|why| Malformed::new("idempotency_key", why))?);
        }
        self.belong(run, &mut job, &element(&part.name, label))?;
        Ok(job)
    }

    /// Its id, its key and what it depends on, as a job of the run.
    fn belong(&self, run: &RunId, job: &mut Draft, name: &str) -> Result<(), Malformed> {
        let id = JobId::new(&format!("{run}/{name}"));
        job.id = Some(id.map_err(|why| Malformed::new("id", why))?);
        if let (None, Some(key)) = (&job.spec.idempotency_key, &self.key) {
            let key = Name::new(&format!("{key}/{name}"));
            job.spec.idempotency_key =
                Some(key.map_err(|why| Malformed::new("idempotency_key", why))?);
        }
        let mut dependencies = Vec::with_capacity(job.spec.dependencies.len());
        for dependency in &job.spec.dependencies {
            self.resolve(run, dependency, &mut dependencies)?;
        }
        at_most("dependencies", dependencies.len(), DEPENDENCIES_MAX)?;
        job.spec.dependencies = dependencies.into();
        Ok(())
    }

    /// A name of the run is its job, or all of them; what is no name of it is a job from elsewhere.
    fn resolve(&self, run: &RunId, name: &JobId, into: &mut Vec<JobId>) -> Result<(), Malformed> {
        let within = |name: &str| {
            let id = JobId::new(&format!("{run}/{name}"));
            id.map_err(|why| Malformed::new("dependencies", why))
        };
        match self.names.get(name.as_str()).map(|place| &self.parts[*place].what) {
            Some(What::One(_)) => into.push(within(name.as_str())?),
            Some(What::Many(array)) => {
                let given = array.items.len();
                if given > DEPENDENCIES_MAX {
                    let problem = Problem::TooWide { given, max: DEPENDENCIES_MAX };
                    return Err(Malformed::new(format!("dependencies.{name}"), problem));
                }
                for place in 0..given {
                    into.push(within(&element(name.as_str(), array.items.at(place).1))?);
                }
            }
            None => match parted(name.as_str()) {
                Some((array, label)) if self.has_element(array, label) => {
                    into.push(within(name.as_str())?);
                }
                _ => into.push(name.clone()),
            },
        }
        Ok(())
    }

    fn has_element(&self, array: &str, label: u64) -> bool {
        let part = self.names.get(array).map(|place| &self.parts[*place].what);
        matches!(part, Some(What::Many(array)) if array.items.has(label))
    }

    /// The parts such that each comes after those that it depends on.
    fn order(&self) -> Result<Vec<usize>, Malformed> {
        let mut unmet = vec![0_usize; self.parts.len()];
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); self.parts.len()];
        for (place, part) in self.parts.iter().enumerate() {
            for before in self.depends_on(part) {
                unmet[place] += 1;
                below[before].push(place);
            }
        }
        let mut order: Vec<usize> = (0..unmet.len()).filter(|place| unmet[*place] == 0).collect();
        let mut done = 0;
        while let Some(place) = order.get(done).copied() {
            done += 1;
            for next in &below[place] {
                unmet[*next] -= 1;
                if unmet[*next] == 0 {
                    order.push(*next);
                }
            }
        }
        match unmet.iter().position(|unmet| *unmet > 0) {
            None => Ok(order),
            Some(place) => {
                let field = format!("jobs.{}.dependencies", self.parts[place].name);
                Err(Malformed::new(field, Problem::Cycle))
            }
        }
    }

    fn depends_on(&self, part: &Part) -> Vec<usize> {
        let of = |name: &str| {
            let array = || name.split_once('[').map_or(name, |(array, _)| array);
            self.names.get(name).or_else(|| self.names.get(array())).copied()
        };
        match &part.what {
            What::One(job) => {
                job.spec.dependencies.iter().filter_map(|name| of(name.as_str())).collect()
            }
            What::Many(array) => {
                let listed = array.template["dependencies"].as_array();
                listed.into_iter().flatten().filter_map(|name| of(name.as_str()?)).collect()
            }
        }
    }
}

impl What {
    fn len(&self) -> usize {
        match self {
            What::One(_) => 1,
            What::Many(array) => array.items.len(),
        }
    }
}

/// The pieces of a plan, each made when it is asked for.
#[derive(Debug)]
pub struct Steps {
    plan: Plan,
    order: Vec<usize>,
    /// The next job: of which part in the order, and its place in it.
    part: usize,
    place: usize,
}

impl Iterator for Steps {
    type Item = Result<SubmissionDraft, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut jobs = Vec::new();
        let mut bytes = 0;
        while jobs.len() < STEP_JOBS && bytes < STEP_BYTES {
            let Some(part) = self.order.get(self.part).map(|part| &self.plan.parts[*part]) else {
                break;
            };
            if self.place == part.what.len() {
                (self.part, self.place) = (self.part + 1, 0);
                continue;
            }
            match self.plan.job(part, self.place) {
                Ok(job) => {
                    bytes += job.spec.payload.len();
                    jobs.push(job);
                    self.place += 1;
                }
                Err(why) => {
                    self.part = self.order.len();
                    return Some(Err(why));
                }
            }
        }
        let run = self.plan.run.clone();
        (!jobs.is_empty()).then_some(Ok(SubmissionDraft { run, jobs, extends: true }))
    }
}
