//! Why: of jobs that wait, jobs that ran and jobs that were refused, asked of the real binary.

mod journal;
mod placed;
mod recorded;
mod seen;
mod silent;
mod stage;
mod top;
mod waiting;
mod worker;
