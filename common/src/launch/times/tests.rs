//! Times from a recording, whatever they are.

use super::super::Anchor;
use super::*;

/// Returns the outcome of a launch from 1000 to 3000 ticks of the host, with the times of a recording.
fn told(first: u64, begin: Option<u64>, last: u64) -> Result<(u64, u64), Untimed> {
    of([(1000, 3000, Recorded { first, begin, last, learnt: 9000, at: 0, anchor: None })])[0]
}

/// Returns the outcomes of launches of one communicator: when each began and returned, ticks, with its times.
fn of<const COUNT: usize>(launches: [(u64, u64, Recorded); COUNT]) -> Vec<Result<(u64, u64), Untimed>> {
    let (mut times, mut found) = (LaunchTimes::default(), Vec::new());
    for (order, (before, after, recorded)) in (0..).zip(launches) {
        let kernel = Some(KernelId { context: Handle::new(1, 1), order });
        times.await_launch(Box::new(Launch {
            kernel,
            before,
            after,
            ..Launch::new(LaunchSource::Recording(recorded))
        }));
    }
    times.look_at_recorded(9000, 1.0, &mut |outcome| found.push(outcome.time.map(|time| (time.start, time.stop))));
    assert_eq!((found.len(), times.are_awaited()), (COUNT, false));
    found
}

/// A thread that lost its processor in a launch launches its kernel long after the stream has come to it. The events alone
/// do not show that where they waited for the kernel before; an anchor does.
#[test]
fn an_anchor_shows_that_a_launch_came_late() {
    let recorded = |first, last, anchor| Recorded { first, begin: None, last, learnt: 9000, at: 0, anchor };
    // the clock of the events is 499 us ahead
    let anchor = Some(Anchor { from: 1000, until: 9000, time: 500_000 });
    let second = |anchor| {
        let first = (50_000, 60_000, recorded(560_000, 600_000, anchor));
        of([first, (90_000, 300_000, recorded(601_000, 900_000, None))])[1]
    };
    assert_eq!(second(anchor), Ok((799_000, 900_000)));
    assert_eq!(second(None), Ok((604_200, 900_000)));
}

#[test]
fn no_recorded_kernel_begins_outside_of_its_events_or_ends_before_them() {
    let events = (500_000, 600_000);
    for begin in [500_000, 502_000, 600_000] {
        assert_eq!(told(events.0, Some(begin), events.1), Ok((begin, events.1)));
    }
    assert_eq!(
        told(events.0, None, events.1),
        Ok((503_200, events.1)),
        "the launch returned 2000 ns after the first event, behind which no kernel begins within 3200 ns"
    );
    for begin in [0, 499_999, 600_001, u64::MAX] {
        assert_eq!(told(events.0, Some(begin), events.1), Err(Untimed::NotBelieved), "{begin}");
    }
    for begin in [None, Some(0), Some(550_000), Some(600_000)] {
        assert_eq!(told(events.1, begin, events.0), Err(Untimed::NotBelieved), "{begin:?}");
    }
}
