//! Schedules, played: no deadlock, the bubble of the formula, and nothing used before it is there.

use pipeline::schedule::{Action, Schedule, Side, bubble};
use pipeline::simulation::{Times, play, simulate};

const BOTH: [Schedule; 2] = [Schedule::GPipe, Schedule::OneForwardOneBackward];

fn each(test: impl Fn(Schedule, usize, usize)) {
    for schedule in BOTH {
        for stages in 1..=8 {
            (1..=32).for_each(|microbatches| test(schedule, stages, microbatches));
        }
    }
}

#[test]
fn the_bubble_is_that_of_the_formula() {
    each(|schedule, stages, microbatches| {
        for (forward, backward) in [(1.0, 1.0), (1.0, 2.0), (3.0, 1.0)] {
            let played = simulate(schedule, microbatches, &Times::equal(stages, forward, backward)).unwrap();
            let (expected, name) = (bubble(stages, microbatches), schedule.name());
            let case = format!("{name}, {stages} stages, {microbatches} micro-batches, {forward} and {backward}");
            assert!((played.bubble - expected).abs() < 1e-9, "{case}: {} {expected}", played.bubble);
            let step = (microbatches + stages - 1) as f64 * (forward + backward);
            assert!((played.step - step).abs() < 1e-9, "{case}: {} {step}", played.step);
        }
    });
}

/// Worked out by hand: of two stages with one micro-batch, the second twice as slow, and a message of half a unit.
#[test]
fn unequal_stages_and_messages_count() {
    let times = Times { forward: vec![1.0, 2.0], backward: vec![1.0, 2.0], message: vec![0.5], both: vec![0.5] };
    let played = simulate(Schedule::GPipe, 1, &times).unwrap();
    assert_eq!(played.step, 7.0);
    assert!((played.bubble - (1.0 - 8.0 / 14.0)).abs() < 1e-9);
}

/// Plays each stage alone: everything is received before it is used, computed before it is sent, and kept in a place
/// of its own until its backward.
#[test]
fn nothing_is_used_before_it_is_there() {
    each(|schedule, stages, microbatches| {
        for stage in 0..stages {
            let case = format!("{}, stage {stage} of {stages}, {microbatches} micro-batches", schedule.name());
            let (first, last) = (stage == 0, stage + 1 == stages);
            let in_flight = schedule.in_flight(stages, stage, microbatches);
            let mut slots: Vec<Option<usize>> = vec![None; in_flight];
            let [mut forwards, mut backwards, mut sent] = [0; 3];
            let mut gradient = None;
            let mut unsent = None;
            for action in schedule.actions(stages, stage, microbatches) {
                match action {
                    Action::Forward(microbatch) => {
                        assert_eq!(microbatch, forwards, "{case}");
                        let slot = &mut slots[microbatch % in_flight];
                        if first {
                            assert_eq!(slot.replace(microbatch), None, "{case}");
                        }
                        assert_eq!(*slot, Some(microbatch), "{case}");
                        forwards += 1;
                    }
                    Action::Backward(microbatch) => {
                        assert_eq!(microbatch, backwards, "{case}");
                        assert_eq!(slots[microbatch % in_flight].take(), Some(microbatch), "{case}");
                        assert!(last || gradient.take() == Some(microbatch), "{case}");
                        assert_eq!(unsent, None, "{case}: a gradient is written over");
                        unsent = (!first).then_some(microbatch);
                        backwards += 1;
                    }
                    Action::Exchange { side: Side::Right, send, receive } => {
                        if let Some(activations) = send {
                            assert!(activations == sent && activations < forwards, "{case}");
                            sent += 1;
                        }
                        if receive.is_some() {
                            // both are in one memory
                            assert_eq!((gradient, unsent), (None, None), "{case}");
                            gradient = receive;
                        }
                    }
                    Action::Exchange { side: Side::Left, send, receive } => {
                        if send.is_some() {
                            assert_eq!(unsent.take(), send, "{case}");
                        }
                        if let Some(activations) = receive {
                            assert_eq!(slots[activations % in_flight].replace(activations), None, "{case}");
                        }
                    }
                }
            }
            assert_eq!((forwards, backwards, unsent), (microbatches, microbatches, None), "{case}");
            assert_eq!(sent, if last { 0 } else { microbatches }, "{case}");
        }
    });
}

/// The simulation finds a deadlock: 1F1B whose sends and receives are no groups.
#[test]
fn a_deadlock_is_named() {
    let split = |action: Action| match action {
        Action::Exchange { side, send: send @ Some(_), receive: receive @ Some(_) } => {
            vec![Action::Exchange { side, send, receive: None }, Action::Exchange { side, send: None, receive }]
        }
        other => vec![other],
    };
    let whole = |stage| Schedule::OneForwardOneBackward.actions(2, stage, 4);
    let single: Vec<Vec<Action>> = [0, 1].map(|stage| whole(stage).into_iter().flat_map(split).collect()).into();
    let error = play(&single, &Times::equal(2, 1.0, 1.0)).unwrap_err().to_string();
    assert!(error.contains("deadlock") && error.contains("Exchange"), "{error}");
    assert!(play(&[whole(0), whole(1)], &Times::equal(2, 1.0, 1.0)).is_ok());
}
