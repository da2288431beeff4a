//! Waits over time, in bounded memory: bins double in length when the job outgrows them.

use crate::answer::WaitMap;

/// Most rows.
const MAX_ROWS: usize = 256;
/// Most bins of a row.
const MAX_BINS: usize = 256;
/// Length of a bin at the beginning, nanoseconds.
const MIN_BIN_NS: i64 = 1_000;

/// The map. Bin i lies from i to i + 1 times the length of a bin after the begin of the first call that came.
#[derive(Debug)]
pub(super) struct Map {
    gpus: usize,
    gpus_in_row: usize,
    length: i64,
    /// Begin of the first call that came, on the common clock. Others may have begun earlier.
    origin: Option<i64>,
    /// Number of the first bin that is kept.
    base: i64,
    /// First and last bin with a call.
    used: Option<[i64; 2]>,
    /// Waits by row and bin, nanoseconds.
    rows: Vec<[u64; MAX_BINS]>,
}

impl Map {
    pub(super) fn new(gpus: usize) -> Self {
        let gpus_in_row = gpus.div_ceil(MAX_ROWS).max(1);
        let rows = vec![[0; MAX_BINS]; gpus.div_ceil(gpus_in_row)];
        Self { gpus, gpus_in_row, length: MIN_BIN_NS, origin: None, base: 0, used: None, rows }
    }

    /// Adds a call, and how long it waited from its begin on, nanoseconds of the common clock.
    pub(super) fn add(&mut self, gpu: usize, [begin, stop]: [i64; 2], wait: i64) {
        let origin = *self.origin.get_or_insert(begin);
        let [begin, stop, end] = [begin, stop, begin.saturating_add(wait)].map(|time| time.saturating_sub(origin));
        self.make_room(begin, stop.max(end).max(begin + 1));
        if end <= begin {
            return;
        }
        let (length, base) = (self.length, self.base);
        let Some(row) = self.rows.get_mut(gpu / self.gpus_in_row) else { return };
        for bin in begin.div_euclid(length)..=(end - 1).div_euclid(length) {
            let [from, to] = [begin.max(bin * length), end.min((bin + 1) * length)];
            if let Some(sum) = usize::try_from(bin - base).ok().and_then(|place| row.get_mut(place)) {
                *sum += (to - from).unsigned_abs();
            }
        }
    }

    fn make_room(&mut self, begin: i64, end: i64) {
        loop {
            let [first, last] = [begin.div_euclid(self.length), (end - 1).div_euclid(self.length)];
            let used = self.used.map_or([first, last], |used| [used[0].min(first), used[1].max(last)]);
            if used[1] - used[0] < MAX_BINS as i64 {
                self.used = Some(used);
                if used[0] < self.base || used[1] >= self.base + MAX_BINS as i64 {
                    self.move_bins(used[0], |bin| bin);
                }
                return;
            }
            let base = self.base.div_euclid(2);
            self.length = self.length.saturating_mul(2);
            self.used = self.used.map(|used| used.map(|bin| bin.div_euclid(2)));
            self.move_bins(base, |bin| bin.div_euclid(2));
        }
    }

    /// Makes this bin the first one, and gives each bin a new number.
    fn move_bins(&mut self, base: i64, number: impl Fn(i64) -> i64) {
        for row in &mut self.rows {
            let bins = std::mem::replace(row, [0; MAX_BINS]);
            for (bin, waits) in (self.base..).zip(bins) {
                let place = usize::try_from(number(bin) - base).ok();
                if let Some(sum) = place.and_then(|place| row.get_mut(place)) {
                    *sum += waits;
                }
            }
        }
        self.base = base;
    }

    /// Returns the map, with its begin since the job's first operation.
    pub(super) fn finish(&self, first: i64) -> WaitMap {
        let gpus_in_row = self.gpus_in_row as u64;
        let Some([from, to]) = self.used else { return WaitMap { gpus_in_row, ..WaitMap::default() } };
        let row = |(place, waits): (usize, &[u64; MAX_BINS])| {
            let gpus = self.gpus_in_row.min(self.gpus - place * self.gpus_in_row);
            let whole = self.length as f64 * gpus as f64;
            let used = (self.base..).zip(waits).filter(|(bin, _)| (from..=to).contains(bin));
            // communicators' waits may lie beside each other
            used.map(|(_, &sum)| (sum as f64 / whole).min(1.0) as f32).collect()
        };
        WaitMap {
            begin_us: (from * self.length + self.origin.unwrap_or(first) - first) as f64 / 1e3,
            bin_us: self.length as f64 / 1e3,
            gpus_in_row,
            rows: self.rows.iter().enumerate().map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_shared_among_its_bins() {
        let mut map = Map::new(2);
        map.add(0, [500, 1_000], 0);
        map.add(0, [2_000, 4_700], 1_750);
        map.add(1, [2_500, 4_700], 1_000);
        let map = map.finish(500);
        assert_eq!((map.begin_us, map.bin_us, map.gpus_in_row), (0.0, 1.0, 1));
        assert_eq!(map.rows, [vec![0.0, 0.5, 1.0, 0.25, 0.0], vec![0.0, 0.0, 1.0, 0.0, 0.0]]);
    }

    #[test]
    fn bins_double_when_the_job_outgrows_them_and_no_wait_is_lost() {
        let mut map = Map::new(1);
        for wait in 0..10_000 {
            map.add(0, [wait * 1_000, wait * 1_000 + 1_000], 500);
        }
        // an earlier call comes later
        map.add(0, [-7_000, -6_000], 1_000);
        let map = map.finish(-7_000);
        // 10,007 us in at most 256 bins
        assert_eq!((map.begin_us, map.bin_us, map.rows[0].len()), (-57.0, 64.0, 158));
        assert_eq!(map.rows[0][1..157], [0.5; 156]);
        let sum: f64 = map.rows[0].iter().map(|&share| f64::from(share) * 64.0).sum();
        assert!((sum - 5_001.0).abs() < 1e-3, "{sum}");
    }

    #[test]
    fn hours_apart_take_few_steps() {
        let mut map = Map::new(1);
        map.add(0, [0, 1_000_000_000], 1_000_000_000);
        map.add(0, [3_600_000_000_000, 3_601_000_000_000], 1_000_000_000);
        let map = map.finish(0);
        assert!(map.rows[0].len() <= MAX_BINS && map.rows[0].len() > MAX_BINS / 2);
    }

    #[test]
    fn many_gpus_are_put_together() {
        let mut map = Map::new(513);
        for gpu in [0, 2, 512] {
            map.add(gpu, [0, 1_000], 1_000);
        }
        let map = map.finish(0);
        assert_eq!((map.gpus_in_row, map.rows.len()), (3, 171));
        assert_eq!((map.rows[0][0], map.rows[1][0]), (2.0 / 3.0, 0.0));
        assert_eq!(Map::new(512).finish(0), WaitMap { gpus_in_row: 2, ..WaitMap::default() });
        // the last row has one GPU
        let mut map = Map::new(257);
        map.add(256, [0, 1_000], 1_000);
        assert_eq!(map.finish(0).rows.last().unwrap(), &[1.0]);
    }
}
