//! The dashboard in a real browser: the real binary, real workers, real clicks and keys. What a person does
//! is in `browser/`, one script for each promise.

mod stage;

use stage::Stage;

#[test]
fn a_link_signs_in_once_and_all_tabs_share_one_connection() {
    Stage::start(1).play("sign_in");
}

#[test]
fn a_failed_job_is_found_understood_mended_and_retried_by_keys_alone() {
    Stage::start(2).play("keyboard");
}

#[test]
fn nothing_that_others_wrote_runs() {
    Stage::start(1).play("hostile");
}

#[test]
fn everybody_can_use_every_view_in_dark_and_light_at_three_widths() {
    Stage::start(2).play("accessible");
}

#[test]
fn every_view_heals_after_the_scheduler_was_killed() {
    Stage::start(1).play("heals");
}

#[test]
fn a_person_steers_many_jobs_and_never_overwrites_the_settings_of_another() {
    Stage::start(1).play("steering");
}

#[test]
fn large_runs_and_long_streams_do_not_freeze_the_page() {
    Stage::start(0).play("scale");
}

#[test]
fn the_types_of_the_modules_hold() {
    stage::check_types();
}

/// `BELLWETHER_PICTURES=docs/images cargo nextest run -p bellwether --test dashboard pictures` makes those of the
/// documents anew.
#[test]
fn every_view_can_be_shown_in_pictures() {
    Stage::start(3).play("pictures");
}
