//! Scripts: a few words per command, the engine's facts as the outcome.
//!
//! ```text
//! worker w1 slots=2 role=gpu     submit a type=t after=x+y priority=high
//! run|extend r: a, b after=a     ack|claim|progress|complete|fail|return a [by=w1] [nth=1]
//! wait 5s                        silence w1 | wake w1 | beat w1 load=500 queue=2 overloaded
//! cancel|retry a, pin a w1       drain|undrain|leave w1, pause|unpause t
//! config key=value               restart [snapshot], reconnect w1 [holding=a+b] [new]
//! away 60s (nobody listens)      clock 3600 (the wall clock is this many seconds ahead)
//! predictor fails|works          effects, state a, why a, decision a, shadow
//! -- (leaves out what was said so far)
//! ```
//! Commands are parted by `;` or a new line. Each line of the script gives at most one line of
//! output, and `wait` one for each moment at which something happened.

mod parse;
mod render;
mod world;

use bellwether_core::model::{Config, FailureCause, HeldAttempt, Submission, WallAhead};
use bellwether_core::{Answer, Command, Report};
use expect_test::Expect;

pub(crate) use parse::{Words, name, span};
pub(crate) use world::{Outcome, START, World, hash, restored};

/// Runs a script from an empty scheduler and compares what happened.
#[track_caller]
pub(crate) fn check(script: &str, expected: Expect) {
    check_with(|_| {}, script, expected);
}

/// The same under another configuration.
#[track_caller]
pub(crate) fn check_with(set: impl FnOnce(&mut Config), script: &str, expected: Expect) {
    // Nothing takes long in a script, and what is sent ahead would blur the order of things.
    let mut config = Config { prefetch: 0, prefetch_max: 0, ..Config::default() };
    set(&mut config);
    let (world, output) = run(World::new(config), script);
    expected.assert_eq(&output);
    world.check_promises();
}

pub(crate) fn run(world: World, script: &str) -> (World, String) {
    let mut player = Player { world, line: Vec::new(), lines: Vec::new() };
    for line in script.lines() {
        for command in line.split(';').map(str::trim).filter(|command| !command.is_empty()) {
            player.play(command);
        }
        player.end_line();
    }
    let output = player.lines.iter().map(|line| format!("{line}\n")).collect();
    (player.world, output)
}

struct Player {
    world: World,
    line: Vec<String>,
    lines: Vec<String>,
}

impl Player {
    fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.lines.push(std::mem::take(&mut self.line).join(" | "));
        }
    }

    fn play(&mut self, command: &str) {
        if let Some(run) = command.strip_prefix("run ") {
            return self.run_of_jobs(run, false);
        }
        if let Some(run) = command.strip_prefix("extend ") {
            return self.run_of_jobs(run, true);
        }
        let words = Words::of(command);
        match words.plain[0] {
            "worker" => self.register(&words),
            "reconnect" => self.reconnect(&words),
            "submit" => self.submit(&words),
            "ack" | "claim" | "progress" | "complete" | "fail" | "return" => self.report(&words),
            "handoff" => self.hand_off(&words),
            "policy" => self.world.admission.policy = parse::key_policy(words.about()),
            "ticket" => {
                let ticket = words.plain.get(1).map(|word| parse::ticket(word));
                self.world.admission.ticket = ticket;
            }
            "wait" => self.wait(&words),
            "silence" => self.set_silent(words.about(), true),
            "wake" => self.set_silent(words.about(), false),
            "beat" => self.beat(&words),
            "restart" => self.restart(&words),
            "away" => {
                let by = span(words.about());
                self.world.now = self.world.now + by;
                self.send(Command::ExtendTerms { by });
            }
            "clock" => {
                let ahead = WallAhead(words.about().parse::<i64>().expect("seconds") * 1_000_000);
                self.send(Command::StepClock { ahead });
            }
            "predictor" => self.set_predictor(words.about()),
            "config" => {
                let mut config = self.world.engine.state().config().clone();
                parse::configure(&mut config, &words);
                let config = Box::new(config);
                self.send(Command::Configure { config, expected_version: None });
            }
            // What came before only set the stage.
            "--" => {
                self.line.clear();
                self.lines.clear();
            }
            "effects" => {
                let effects = std::mem::take(&mut self.world.effects);
                self.line.extend(effects.iter().map(|effect| self.world.effect(effect)));
            }
            "state" => self.line.push(self.world.job_state(words.about())),
            "decision" => self.line.push(self.world.decision(words.about())),
            "why" => self.why(words.about()),
            "shadow" => self.shadow(),
            "leave" => {
                self.set_silent(words.about(), true);
                self.send(steer(&words));
            }
            _ => self.send(steer(&words)),
        }
    }

    fn send(&mut self, command: Command) {
        let outcome = self.world.send(command);
        self.tell(outcome);
    }

    fn tell(&mut self, Outcome { result, batch }: Outcome) {
        match result {
            Ok(Answer::Submitted { jobs, known, throttle }) => {
                if known.is_some() {
                    let jobs: Vec<_> = jobs.iter().map(|no| self.world.job_name(*no)).collect();
                    self.line.push(format!("known: {}", jobs.join(", ")));
                }
                if let Some(throttle) = throttle {
                    let (filled, pause) = (throttle.filled_percent, throttle.pause);
                    self.line.push(format!("throttled: {filled}% full, pause {pause}"));
                }
            }
            Ok(Answer::Registered { unknown, .. }) => {
                let drop =
                    unknown.iter().map(|held| format!("drop {}", self.world.job_name(held.job)));
                let drop: Vec<String> = drop.collect();
                self.line.extend(drop);
            }
            Ok(Answer::AlreadyCompleted) => self.line.push("already completed".to_owned()),
            Ok(Answer::Done) => {}
            Err(rejection) => self.line.push(format!("refused: {rejection}")),
        }
        self.line.extend(self.world.line(&batch));
    }

    fn register(&mut self, words: &Words<'_>) {
        let spec = parse::worker(words.about(), words);
        let outcome = self.world.register(spec, vec![]);
        self.tell(outcome);
    }

    /// The worker comes back, with the attempts of the named jobs in hand; as another process if
    /// it is `new`.
    fn reconnect(&mut self, words: &Words<'_>) {
        let known = self.world.workers.get(words.about()).expect("a worker of this script");
        let mut spec = known.spec.clone();
        if words.says("new") {
            spec.instance += 1;
        }
        if let Some(slots) = words.get("slots") {
            spec.slots = parse::number(slots);
        }
        let jobs = words.get("holding").into_iter().flat_map(|jobs| jobs.split('+'));
        let held: Vec<HeldAttempt> = jobs
            .map(|job| self.world.offer(job, Some(words.about()), None).expect(job).1)
            .collect();
        let outcome = self.world.register(spec, held);
        self.tell(outcome);
    }

    fn submit(&mut self, words: &Words<'_>) {
        let jobs = words.plain[1..].iter().map(|id| parse::job(id, words)).collect();
        let settled = words.get("settled").map(parse::settled).unwrap_or_default();
        self.send(Command::Submit(Submission { settled, ..Submission::of(None, jobs) }));
    }

    /// `r: a, b after=a`
    fn run_of_jobs(&mut self, text: &str, extends: bool) {
        let (id, jobs) = text.split_once(':').expect("a run has a name");
        let parts = jobs.split(',').map(str::trim).filter(|part| !part.is_empty());
        let jobs = parts.map(|part| {
            let words = Words::of(part);
            parse::job(words.plain[0], &words)
        });
        let (run, jobs) = (Some(name(id.trim())), jobs.collect());
        self.send(Command::Submit(Submission { extends, ..Submission::of(run, jobs) }));
    }

    fn report(&mut self, words: &Words<'_>) {
        let nth = words.get("nth").map(parse::number);
        let offered = self.world.offer(words.about(), words.get("by"), nth);
        let (mut worker, attempt) = offered.unwrap_or_else(|| panic!("{words:?}: never offered"));
        if let Some(other) = words.get("as") {
            worker = other.to_owned();
        }
        let text = |key: &str, other: &str| words.get(key).unwrap_or(other).to_owned();
        let fail = |cause| Report::Fail {
            cause,
            error: text("error", "boom"),
            retry_after: words.get("after").map(span),
        };
        let report = match words.plain[0] {
            "ack" => Report::Acknowledge,
            "claim" => Report::Claim,
            "progress" => Report::Progress {
                permille: words.get("permille").map_or(500, parse::number),
                note: text("note", ""),
            },
            "complete" => Report::Complete { result: text("result", "ok").into() },
            "fail" if words.says("permanently") => fail(FailureCause::Permanent),
            "fail" => fail(words.get("cause").map_or(FailureCause::Failed, parse::cause)),
            _ => fail(FailureCause::Returned),
        };
        self.send(Command::Report { worker: name(&worker), attempt, report });
    }

    /// `handoff a to=w2`: as the one who holds it would sign it, but for what the words change.
    fn hand_off(&mut self, words: &Words<'_>) {
        let offered = self.world.offer(words.about(), words.get("by"), None);
        let (worker, attempt) = offered.unwrap_or_else(|| panic!("{words:?}: never offered"));
        let handoff = self.world.handoff(&worker, attempt, words);
        let worker = name(words.get("as").unwrap_or(&worker));
        let report = Report::HandOff(Box::new(handoff));
        self.send(Command::Report { worker, attempt, report });
    }

    fn wait(&mut self, words: &Words<'_>) {
        self.end_line();
        let lines = &mut self.lines;
        self.world.wait(span(words.about()), |world, batch| {
            lines.extend(world.line(&batch).map(|line| format!("{} {line}", world.clock())));
        });
    }

    fn set_silent(&mut self, id: &str, silent: bool) {
        let now = self.world.now;
        if let Some(worker) = self.world.workers.get_mut(id) {
            (worker.silent, worker.next_beat) = (silent, now);
        }
    }

    fn beat(&mut self, words: &Words<'_>) {
        let beat = parse::beat(words);
        if let Some(worker) = self.world.workers.get_mut(words.about()) {
            worker.beat = beat;
        }
        self.send(Command::Heartbeat { worker: name(words.about()), beat });
    }

    fn restart(&mut self, words: &Words<'_>) {
        let outcome = if words.says("snapshot") {
            self.world.restart_from_snapshot()
        } else {
            self.world.restart()
        };
        self.tell(outcome);
    }

    fn set_predictor(&mut self, how: &str) {
        match how {
            "fails" => self.world.break_predictor(true),
            "works" => self.world.break_predictor(false),
            other => panic!("a predictor fails or works, it does not {other}"),
        }
    }

    fn why(&mut self, id: &str) {
        let state = self.world.engine.state();
        let no = state.job_no(id).expect("a job that is known");
        self.line.push(state.why(no, self.world.now).to_string());
    }

    fn shadow(&mut self) {
        let totals = self.world.engine.state().shadow();
        let (agreed, gain) = (totals.agreement_percent(), totals.gain_over_round_robin_percent());
        let count = totals.decisions;
        self.line.push(format!("{count} decisions, {agreed}% agreed, gain {gain}%"));
    }
}

/// Commands that name a job, a worker or a type and nothing more.
fn steer(words: &Words<'_>) -> Command {
    let about = words.about();
    match words.plain[0] {
        "cancel" => Command::Cancel { job: name(about), reason: "on request".to_owned() },
        "retry" => Command::Retry { job: name(about), force: words.says("force") },
        "pin" => Command::Pin { job: name(about), worker: name(words.plain[2]) },
        "drain" => Command::Drain { worker: name(about) },
        "undrain" => Command::Undrain { worker: name(about) },
        "leave" => Command::Leave { worker: name(about) },
        "pause" => Command::Pause { kind: name(about) },
        "unpause" => Command::Unpause { kind: name(about) },
        "invite" => Command::Invite {
            worker: name(about),
            ticket: parse::ticket(words.plain[2]),
            terms: parse::terms(words),
            lasts: words.get("lasts").map_or(span("1h"), span),
        },
        "approve" => Command::ApproveKey {
            worker: name(about),
            key: parse::key(words.plain[2]),
            terms: parse::terms(words),
        },
        "revoke" => Command::RevokeKey { worker: name(about) },
        "loaded" => {
            let took = words.get("took").map_or(span("1s"), span);
            Command::ModelLoaded { worker: name(about), model: name(words.plain[2]), took }
        }
        other => panic!("{other} is no command of scripts"),
    }
}
