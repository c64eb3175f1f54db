//! When the keys of a run were taken, about: enough to let go of each in its time, however many runs have
//! become one.

use bellwether_core::model::{JobNo, Micros, Timestamp};

/// So many fit beside the head of a file.
pub(super) const AGES_MAX: usize = 250;

/// Jobs, each with the time of the last key up to it. The last is the last of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ages(Vec<(JobNo, Timestamp)>);

impl Ages {
    pub(super) fn one(last: JobNo, at: Timestamp) -> Ages {
        Ages(vec![(last, at)])
    }

    /// None of no points.
    pub(super) fn of(mut points: Vec<(JobNo, Timestamp)>) -> Option<Ages> {
        while points.len() > AGES_MAX {
            // Of two neighbours the later one stands for both: keys stay longer, never shorter. The first
            // has none if their number is odd.
            let mut index = points.len() % 2;
            points.retain(|_| {
                index += 1;
                index.is_multiple_of(2)
            });
        }
        (!points.is_empty()).then_some(Ages(points))
    }

    pub(super) fn points(&self) -> &[(JobNo, Timestamp)] {
        &self.0
    }

    pub(super) fn newest(&self) -> Timestamp {
        self.0.last().expect("there is at least one").1
    }

    /// When the key of this job was taken, or a little later.
    pub(super) fn of_job(&self, job: JobNo) -> Timestamp {
        let place = self.0.partition_point(|(last, _)| *last < job);
        self.0.get(place).map_or_else(|| self.newest(), |(_, at)| *at)
    }

    /// Jobs up to this one have had their time.
    pub(super) fn over(&self, now: Timestamp, expires_after: Micros) -> Option<JobNo> {
        let is_over = |(_, at): &&(JobNo, Timestamp)| now.since(*at) > expires_after;
        self.0.iter().take_while(is_over).last().map(|(job, _)| *job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_points_a_part_is_kept_and_none_gets_older_by_it() {
        for count in [1, AGES_MAX as u64, AGES_MAX as u64 + 1, 1_001, 9_000] {
            let points = (1..=count).map(|n| (JobNo(n * 10), Timestamp(n))).collect();
            let ages = Ages::of(points).unwrap();
            assert!(ages.points().len() <= AGES_MAX);
            assert_eq!(ages.points().last(), Some(&(JobNo(count * 10), Timestamp(count))));
            for n in 1..=count {
                assert!(ages.of_job(JobNo(n * 10)) >= Timestamp(n), "{n} of {count}");
            }
        }
    }

    #[test]
    fn what_had_its_time_is_known_by_its_job() {
        let ages = Ages::of(vec![(JobNo(5), Timestamp(100)), (JobNo(9), Timestamp(200))]).unwrap();
        assert_eq!(ages.over(Timestamp(150), Micros(50)), None);
        assert_eq!(ages.over(Timestamp(151), Micros(50)), Some(JobNo(5)));
        assert_eq!(ages.over(Timestamp(300), Micros(50)), Some(JobNo(9)));
        assert_eq!(ages.of_job(JobNo(6)), Timestamp(200));
    }
}
