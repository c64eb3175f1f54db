//! How good predictions are, and how another policy would have done.

use bellwether_core::model::Name;
use bellwether_core::place::shadow::ShadowTotals;
use bellwether_wire::{Malformed, Mirror as _, v1};

use crate::edges::desk::{Desk, Unanswered};
use crate::event_loop::View;

/// Types in one answer.
const TYPES_MAX: usize = 1_000;

impl Desk {
    pub(crate) async fn predictions(
        &self,
        kind: String,
    ) -> Result<v1::PredictionsResponse, Unanswered> {
        let kind = match kind.as_str() {
            "" => None,
            text => Some(Name::new(text).map_err(|why| Malformed::new("type", why))?),
        };
        Ok(self.handle.ask(move |view| predictions(view, kind.as_ref())).await?)
    }

    pub(crate) async fn shadow_report(&self) -> Result<v1::ShadowReportResponse, Unanswered> {
        Ok(self.handle.ask(shadow_report).await?)
    }
}

fn predictions(view: &View<'_>, kind: Option<&Name>) -> v1::PredictionsResponse {
    let state = view.state;
    let (mut types, more) = state.predictions(kind, TYPES_MAX);
    types.sort_by(|one, other| one.kind.cmp(&other.kind));
    let types = types
        .into_iter()
        .map(|known| v1::TypePrediction {
            r#type: known.kind.to_string(),
            estimate: known.prediction.estimate.0,
            confidence_percent: u32::from(known.prediction.confidence_percent),
            samples: known.prediction.samples,
            judged: known.accuracy.samples(),
            within_25_permille: known.accuracy.within_25_permille(),
            recent_error_percent: known.accuracy.recent_error_percent(),
            usual_error_percent: known.accuracy.usual_error_percent(),
            drifting: known.accuracy.is_drifting(),
            classes: known
                .classes
                .into_iter()
                .map(|(class, prediction)| v1::ClassPrediction {
                    class: class.to_string(),
                    estimate: prediction.estimate.0,
                    confidence_percent: u32::from(prediction.confidence_percent),
                    samples: prediction.samples,
                })
                .collect(),
        })
        .collect();
    v1::PredictionsResponse {
        predictor: state.config().predictor.to_wire(),
        breaker: state.breaker().state(view.now).to_wire(),
        types,
        more,
    }
}

fn shadow_report(view: &View<'_>) -> v1::ShadowReportResponse {
    let config = view.state.config();
    let totals: &ShadowTotals = view.state.shadow();
    let mean = |sum: u64| sum.checked_div(totals.decisions).unwrap_or(0);
    let permille = |part: u64, whole: u64| {
        u32::try_from(u128::from(part) * 1_000 / u128::from(whole.max(1))).unwrap_or(u32::MAX)
    };
    v1::ShadowReportResponse {
        live: config.strategy.to_wire(),
        shadow: config.shadow.map_or(0, |shadow| shadow.to_wire()),
        decisions: totals.decisions,
        agreed: totals.agreed,
        agreement_permille: permille(totals.agreed, totals.decisions),
        live_finish: mean(totals.live_finish),
        shadow_finish: mean(totals.shadow_finish),
        round_robin_finish: mean(totals.round_robin_finish),
        live_gain_permille: gain(totals.live_finish, totals.round_robin_finish),
        shadow_gain_permille: gain(totals.shadow_finish, totals.round_robin_finish),
        shadow_over_live_permille: gain(totals.shadow_finish, totals.live_finish),
    }
}

/// How much less `time` is than `base`, in thousandths of it.
fn gain(time: u64, base: u64) -> i32 {
    let (time, base) = (i128::from(time), i128::from(base));
    if base == 0 { 0 } else { i32::try_from((base - time) * 1_000 / base).unwrap_or(i32::MIN) }
}
