//! The rates over NVLink between two readings, for the series that Score-P asks for.

use crate::base::{lock, notes};
use crate::hardware::Ways;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Most values: those of 18 hours.
const MOST: usize = 1 << 16;

/// Times in ticks, each with the bytes per second since the reading before.
type Rates = Vec<(u64, Ways<f64>)>;

/// The last reading, and the rates so far.
#[derive(Debug)]
struct LastReading {
    last: Option<(Instant, Ways<u64>)>,
    rates: Rates,
}

static WANTED: AtomicBool = AtomicBool::new(false);
static KEPT: Mutex<LastReading> = Mutex::new(LastReading { last: None, rates: Vec::new() });

/// Announces that the rates will be asked for: they are kept from this call on.
pub(crate) fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

/// Takes a reading at a time, in ticks and by the system's clock: the bytes of all GPUs so far.
pub(super) fn take(time: u64, now: Instant, sums: Ways<u64>) {
    if WANTED.load(Ordering::Relaxed)
        && let Some(mut kept) = lock::hold(&KEPT)
    {
        kept.take(time, now, sums);
    }
}

/// Returns all rates, in the order of time.
pub(crate) fn rates() -> Rates {
    lock::hold(&KEPT).map(|kept| kept.rates.clone()).unwrap_or_default()
}

impl LastReading {
    fn take(&mut self, time: u64, now: Instant, sums: Ways<u64>) {
        let Some((then, before)) = self.last.replace((now, sums)) else { return };
        let seconds = now.duration_since(then).as_secs_f64();
        if seconds <= 0.0 {
            return;
        }
        if self.rates.len() >= MOST {
            notes::add("the series of NVLink are incomplete: there were more readings than are kept".into());
            return;
        }
        let rate = sums.zip(before).map(|(now, before)| now.saturating_sub(before) as f64 / seconds);
        self.rates.push((time, rate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_rate_is_of_the_time_since_the_reading_before() {
        let mut kept = LastReading { last: None, rates: vec![] };
        let begun = Instant::now();
        for (time, seconds, sent) in [(10, 0, 5), (20, 2, 25), (20, 2, 25), (30, 3, 25)] {
            kept.take(time, begun + Duration::from_secs(seconds), Ways { sent, received: 2 * sent });
        }
        let rate = |sent: f64| Ways { sent, received: 2.0 * sent };
        assert_eq!(kept.rates, [(20, rate(10.0)), (30, rate(0.0))]);
    }
}
