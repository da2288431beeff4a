//! Clocks that are apart.

use super::hear;
use crate::made::{self, MS};
use crate::stream::CommonClock;

#[test]
fn clocks_hours_apart_that_drift_are_found_within_their_errors() {
    for seconds in [1, 20] {
        let made = made::apart(seconds);
        let clocks = CommonClock::read(&made.job, &made.table).unwrap();
        assert_eq!(clocks.count(), 4);
        for process in 0..4 {
            let error = clocks.error_of(process).unwrap();
            // 30 us together, 2 us of the GPUs' clocks: 34 us either way, and drift by the parts of the run
            assert!(error < 100_000, "{seconds} s: {process}: {error}");
            for time in (0..=10).map(|part| seconds * 1000 * MS / 10 * part) {
                let off = clocks.time(process, made.clocks[process].shows(time)).abs_diff(made.common(time));
                assert!(off <= error, "{seconds} s: {process}: {off} at {time}, error {error}");
            }
        }
        assert_eq!(clocks.error(), (0..4).map(|process| clocks.error_of(process).unwrap()).max());
    }
}

#[test]
fn nobody_is_late_only_because_clocks_are_apart() {
    let (heard, counts, _) = hear(&made::apart(2));
    assert_eq!((counts.matched, counts.compared), (200, 200));
    for occurrence in &heard.occurrences {
        assert_eq!(occurrence.compared.unwrap().last, None);
        for part in &occurrence.parts {
            assert!(part.wait.unwrap() <= part.error && part.error < 100_000, "{part:?}");
        }
    }
    let waiting =
        heard.occurrences.iter().flat_map(|it| &it.parts).filter(|part| part.wait.is_some_and(|wait| wait > 0));
    let mut likely: Vec<i64> = waiting.map(|part| part.likely).collect();
    likely.sort_unstable();
    let median = likely[likely.len() / 2];
    assert!((1_000..100_000).contains(&median), "{median}");
}

#[test]
fn processes_of_one_boot_read_one_clock() {
    let (_, _, clocks) = hear(&made::delayed(4, 0, 0));
    assert_eq!((clocks.count(), clocks.error()), (1, Some(0)));
    assert_eq!(clocks.time(3, 12_345), 12_345);
}

#[test]
fn a_machine_that_nothing_connects_is_known_by_the_time_of_day() {
    let mut made = made::apart(1);
    // nobody knows when rank 0 ran; rank 3's machine booted first
    made.table.0[0].iter_mut().for_each(|row| row.time = None);
    let (heard, counts, clocks) = hear(&made);
    assert_eq!((made.root(), clocks.error_of(3)), (3, Some(0)));
    assert_eq!((clocks.error_of(0), clocks.error()), (None, None));
    assert!(clocks.error_of(2).is_some_and(|error| error < 100_000));
    assert_eq!((counts.matched, counts.compared), (100, 0));
    // its time of day is 10 ms after that of the common clock's machine
    assert_eq!(clocks.time(0, made.clocks[0].shows(0)) - made.common(0), -10 * MS as i64);
    assert!(heard.calls.iter().filter(|it| it.call().gpu == 0).all(|it| it.part.span.is_none()));
}
