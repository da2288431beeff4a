//! Times from a recording, whatever they are.

use super::*;

/// Returns the outcome of a launch from 1000 to 3000 ticks of the host, with the times of a recording.
fn told(first: u64, begin: Option<u64>, last: u64) -> Result<(u64, u64), Untimed> {
    let recorded = Recorded { first, begin, last, learnt: 9000, at: 0 };
    let kernel = Some(KernelId { context: Handle::new(1, 1), order: 0 });
    let launch = Launch { kernel, before: 1000, after: 3000, ..Launch::new(Source::Recording(recorded)) };
    let (mut times, mut found) = (Times::default(), Vec::new());
    times.await_launch(Box::new(launch));
    times.look_at_recorded(9000, 1.0, &mut |outcome| found.push(outcome.time.map(|time| (time.start, time.stop))));
    assert_eq!((found.len(), times.are_awaited()), (1, false));
    found[0]
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
