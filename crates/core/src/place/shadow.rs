//! How another policy would have done.

use crate::event::Shadow;
use crate::model::WorkerNo;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShadowTotals {
    pub decisions: u64,
    pub agreed: u64,
    /// Sums of predicted finishing times, in microseconds.
    pub live_finish: u64,
    pub shadow_finish: u64,
    pub round_robin_finish: u64,
    /// The worker that round-robin would have chosen last.
    pub turn: WorkerNo,
}

impl ShadowTotals {
    pub(crate) fn count(&mut self, chosen: WorkerNo, shadow: &Shadow) {
        self.decisions += 1;
        self.turn = shadow.round_robin.unwrap_or(self.turn);
        self.agreed += u64::from(chosen == shadow.worker);
        self.live_finish = self.live_finish.saturating_add(shadow.live_finish.0);
        self.shadow_finish = self.shadow_finish.saturating_add(shadow.predicted_finish.0);
        self.round_robin_finish =
            self.round_robin_finish.saturating_add(shadow.round_robin_finish.0);
    }

    pub fn agreement_percent(&self) -> u64 {
        (self.agreed * 100).checked_div(self.decisions).unwrap_or(0)
    }

    /// How much sooner than under round-robin jobs would end, in percent of round-robin's time.
    pub fn gain_over_round_robin_percent(&self) -> i64 {
        let (shadow, base) = (self.shadow_finish as i128, self.round_robin_finish as i128);
        if base == 0 { 0 } else { ((base - shadow) * 100 / base) as i64 }
    }
}
