use super::*;
use crate::model::config::PredictorKind;
use crate::place::predictor::predictor;

/// All but the one that fails.
const WORKING: [PredictorKind; 3] =
    [PredictorKind::Ema, PredictorKind::Hierarchical, PredictorKind::Auto];
const FAST: u32 = 101;
const SLOW: u32 = 102;

fn features(kind: u32) -> Features {
    Features { kind, sender: 0, size_bucket: 0, cpu: 0 }
}

fn millis(
    kind: PredictorKind,
    statistics: &Statistics,
    features: &Features,
    class: Option<u32>,
) -> u64 {
    let prediction = predictor(kind).predict(statistics, features, class);
    prediction.expect("statistics are always available").estimate.as_millis()
}

/// One job after another, each predicted rightly.
fn ran(statistics: &mut Statistics, features: &Features, class: u32, millis: u64) {
    let before = statistics.accuracy(features.kind).map_or(0, Accuracy::samples);
    let actual = Micros::from_millis(millis);
    statistics.observe(&Observation {
        features: *features,
        class,
        started: Timestamp(u64::from(before)),
        actual,
        predicted: actual,
        pace: PaceLevel::default(),
    });
}

/// Type 1 takes 3 times as long on SLOW as on FAST.
fn with_known_speeds() -> Statistics {
    let mut statistics = Statistics::default();
    for _ in 0..30 {
        ran(&mut statistics, &features(1), FAST, 1_000);
        ran(&mut statistics, &features(1), SLOW, 3_000);
    }
    statistics
}

#[test]
fn an_unknown_type_takes_the_default() {
    let statistics = Statistics::default();
    for kind in WORKING {
        let prediction =
            predictor(kind).predict(&statistics, &features(1), Some(FAST)).expect("available");
        assert_eq!(
            prediction,
            Prediction {
                estimate: Micros::from_millis(5_000),
                confidence_percent: 0,
                samples: 0,
                unsure_percent: prediction.unsure_percent,
            }
        );
    }
}

#[test]
fn a_type_without_history_takes_its_configured_duration_until_it_has_one() {
    let mut statistics = Statistics::default();
    let name = Name::fixed("render");
    let config = Config {
        duration_by_type: vec![(name.clone(), Micros::from_millis(700))],
        ..Config::default()
    };
    statistics.set_defaults(&config);
    let render = features(statistics.lookup(&name));
    for kind in WORKING {
        assert_eq!(millis(kind, &statistics, &render, None), 700);
    }
    statistics.set_defaults(&Config::default());
    assert_eq!(millis(PredictorKind::Ema, &statistics, &render, None), 5_000);
    statistics.set_defaults(&config);
    ran(&mut statistics, &render, FAST, 90);
    for kind in WORKING {
        assert_eq!(millis(kind, &statistics, &render, None), 90);
    }
}

#[test]
fn the_moving_average_gives_the_newest_job_three_tenths() {
    let mut statistics = Statistics::default();
    ran(&mut statistics, &features(1), FAST, 1_000);
    ran(&mut statistics, &features(1), FAST, 2_000);
    assert_eq!(millis(PredictorKind::Ema, &statistics, &features(1), None), 1_300);
}

#[test]
fn the_finest_key_with_history_is_read() {
    let mut statistics = Statistics::default();
    let of = |sender, size_bucket| Features { kind: 1, sender, size_bucket, cpu: 500 };
    for _ in 0..5 {
        ran(&mut statistics, &of(7, 20), FAST, 100);
        ran(&mut statistics, &of(8, 20), FAST, 200);
        ran(&mut statistics, &of(9, 30), FAST, 4_000);
    }
    let predict =
        |features| millis(PredictorKind::Hierarchical, &statistics, &features, Some(FAST));
    assert_eq!(predict(of(7, 20)), 100);
    assert_eq!(predict(of(8, 20)), 200);
    // A new sender: what others needed for such a size.
    assert_eq!(predict(of(10, 30)), 4_000);
    // A new size: what jobs of the type took of late.
    assert!((100..=4_000).contains(&predict(of(10, 60))));
}

#[test]
fn a_feature_that_means_nothing_does_not_hide_what_the_type_takes() {
    let mut statistics = Statistics::default();
    // Sizes come and go at random; the few samples per size are worth less than all together.
    let mut near = 0;
    for n in 0..400u64 {
        let sized = Features { size_bucket: (n * 31 % 97) as u8, ..features(1) };
        let actual = 1_000 + n * 7_919 % 400;
        let predicted = millis(PredictorKind::Hierarchical, &statistics, &sized, Some(FAST));
        near += u32::from(predicted.abs_diff(actual) <= actual / 4);
        ran(&mut statistics, &sized, FAST, actual);
    }
    assert!(near > 380, "{near}");
}

#[test]
fn a_new_type_on_a_slow_class_is_predicted_slower() {
    let mut statistics = with_known_speeds();
    ran(&mut statistics, &features(2), FAST, 100);
    let predict = |class| millis(PredictorKind::Hierarchical, &statistics, &features(2), class);
    assert_eq!(predict(Some(FAST)), 100);
    assert!((270..=330).contains(&predict(Some(SLOW))), "{}", predict(Some(SLOW)));
    // On average over the workers that jobs ran on it lies between.
    assert!((150..=250).contains(&predict(None)), "{}", predict(None));
}

#[test]
fn a_type_never_seen_is_predicted_slower_on_a_slow_class() {
    let statistics = with_known_speeds();
    let predict = |class| millis(PredictorKind::Auto, &statistics, &features(3), class);
    assert!(predict(Some(SLOW)) > 2 * predict(Some(FAST)));
    assert_eq!(predict(None), 5_000);
}

#[test]
fn auto_follows_whichever_is_nearer() {
    let mut statistics = with_known_speeds();
    let predict = |statistics: &_, kind| millis(kind, statistics, &features(1), Some(SLOW));
    assert_eq!(predict(&statistics, PredictorKind::Auto), 3_000);
    // Alternating by a factor of 1.7 with no feature that tells: the average is nearer than either.
    for n in 0..40 {
        ran(&mut statistics, &features(1), FAST, if n % 2 == 0 { 1_000 } else { 2_100 });
    }
    let average = predict(&statistics, PredictorKind::Ema);
    assert!((1_300..1_800).contains(&average));
    let auto = millis(PredictorKind::Auto, &statistics, &features(1), Some(FAST));
    assert!((1_200..1_800).contains(&auto), "{auto}");
}

#[test]
fn drift_is_told_once_with_its_figures() {
    let mut statistics = Statistics::default();
    let mut told = Vec::new();
    for n in 0..200 {
        told.extend(statistics.observe(&Observation {
            features: features(1),
            class: FAST,
            started: Timestamp(n),
            actual: Micros::from_millis(if n < 100 { 1_000 } else { 4_000 }),
            predicted: Micros::from_millis(1_000),
            pace: PaceLevel::default(),
        }));
    }
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].kind, 1);
    assert!(told[0].error_percent >= told[0].usual_percent + 50);
}

#[test]
fn past_the_bound_new_keys_are_predicted_from_coarser_ones() {
    let mut statistics = Statistics::default();
    ran(&mut statistics, &features(1), FAST, 50);
    for cpu in 0..PREDICTION_KEYS_MAX as u32 {
        ran(&mut statistics, &Features { cpu, ..features(2) }, FAST, 300);
    }
    assert_eq!(statistics.cells.len(), PREDICTION_KEYS_MAX);
    // Known keys go on learning; a type that comes too late has at least its average.
    for _ in 0..8 {
        ran(&mut statistics, &features(1), FAST, 80);
        ran(&mut statistics, &features(3), FAST, 900);
    }
    let predict = |kind| millis(PredictorKind::Hierarchical, &statistics, &features(kind), None);
    assert!((75..=80).contains(&predict(1)));
    assert_eq!(predict(3), 900);
}

#[test]
fn statistics_are_built_again_from_their_facts() {
    let mut statistics = with_known_speeds();
    for n in 0..50 {
        statistics.intern(&Name::fixed(&format!("n{}", n * 7 % 50)));
        let features = Features { sender: n % 5, cpu: n, ..features(n % 7) };
        ran(&mut statistics, &features, FAST + n % 2, 10 + u64::from(n));
    }
    let facts = statistics.facts();
    let mut restored = facts.clone().into_statistics(&Config::default());
    assert_eq!(restored, statistics);
    assert_eq!(restored.facts(), facts);
    // And they go on alike.
    ran(&mut restored, &features(3), SLOW, 77);
    ran(&mut statistics, &features(3), SLOW, 77);
    assert_eq!(restored, statistics);
}
