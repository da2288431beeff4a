//! How long the next look waits, so that looks take a bounded part of a processor.

use std::time::Duration;

/// Shortest time between two looks.
pub(super) const PERIOD: Duration = Duration::from_secs(1);
/// Time that passes for one unit of processor time, beyond the credit.
const THRIFT: u32 = 1000;
/// Processor time that looks may take in advance: the first ones take long, and their rows are wanted as all others.
const CREDIT: Duration = Duration::from_millis(20);

/// The processor time of looks that has not yet been waited for.
#[derive(Debug, Default)]
pub(super) struct LookThrift {
    debt: Duration,
}

impl LookThrift {
    /// Returns the time until the next look, behind one that took `cost` of a processor. `passed` is the time since the
    /// look before it. Looks that cost less than they may save up nothing.
    pub(super) fn pause(&mut self, cost: Duration, passed: Duration) -> Duration {
        self.debt = self.debt.saturating_sub(passed / THRIFT).saturating_add(cost);
        PERIOD.max(self.debt.saturating_sub(CREDIT).saturating_mul(THRIFT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_first_looks_may_be_dear() {
        let mut thrift = LookThrift::default();
        let pauses = [4, 4, 4, 4].map(|cost| thrift.pause(cost * MS, PERIOD));
        assert_eq!(pauses, [PERIOD; 4]);
    }

    #[test]
    fn looks_take_a_thousandth_in_the_long_run() {
        let (mut thrift, mut passed) = (LookThrift::default(), PERIOD);
        let mut all = Duration::ZERO;
        for _ in 0..1000 {
            passed = thrift.pause(5 * MS, passed);
            all += passed;
        }
        assert!(all >= Duration::from_secs(4975), "{all:?}");
    }

    #[test]
    fn cheap_hours_save_nothing_up() {
        let mut thrift = LookThrift::default();
        (0..100_000).for_each(|_| assert_eq!(thrift.pause(MS / 5, PERIOD), PERIOD));
        assert_eq!(thrift.pause(100 * MS, PERIOD), Duration::from_secs(80));
    }
}
