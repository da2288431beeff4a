//! Service times of transfers, by size: a transfer's time from when its connection was free.
//!
//! A size's time is the median, the minimum or the mean, as asked. The median of any number of times needs bounded
//! memory: times are counted in buckets whose bounds grow by a constant factor, eight buckets to an octave. Each bucket
//! keeps its count, sum and minimum. The median is the mean of the bucket that holds the lower median. So it is exact
//! if the middle times are equal, off by less than an eighth otherwise, and independent of the order and the parts in
//! which times are added.

use crate::config::Regression;
use rustc_hash::FxHashMap;

/// Largest number of buckets, over all sizes. A pair's transfers need some hundreds. Beyond it, times that need another
/// bucket are left out.
pub const MOST_BUCKETS: usize = 7168;
/// Sizes and times from here on are implausible and left out (128 TiB; 39 hours in nanoseconds).
const LIMIT: u64 = 1 << 47;
/// Number of bits below a time's highest set bit that select its bucket: eight buckets to an octave.
const BITS: u32 = 3;
/// Number of bits of a bucket's number.
const NUMBER_BITS: u32 = 9;

const _: () = assert!(number(LIMIT - 1) < 1 << NUMBER_BITS);

/// Returns the number of a time's bucket.
const fn number(time: u64) -> u64 {
    if time < 1 << BITS {
        return time;
    }
    let octave = time.ilog2() - BITS;
    ((octave as u64 + 1) << BITS) | (time >> octave & ((1 << BITS) - 1))
}

/// Returns the least time of a bucket, and the number of times from there on that it may hold.
const fn bounds(number: u64) -> [u64; 2] {
    if number < 1 << BITS {
        return [number, 1];
    }
    let octave = (number >> BITS) - 1;
    [((1 << BITS) | (number & ((1 << BITS) - 1))) << octave, 1 << octave]
}

/// Times of one size in one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bucket {
    count: u64,
    sum: u64,
    least: u64,
}

impl Bucket {
    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.least = self.least.min(other.least);
    }
}

/// A transfer as its connection served it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service {
    /// Size.
    pub bytes: u64,
    /// Service time, ticks.
    pub ticks: u64,
    /// Number of its connection's transfers under way when it started, itself included.
    pub in_flight: u64,
}

/// All transfers, if each takes its size's median time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Typical {
    /// Bytes.
    pub bytes: f64,
    /// Ticks that they take.
    pub ticks: f64,
    /// Standard error of these ticks.
    pub error: f64,
}

/// Service times of many transfers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Services {
    /// By size and bucket number.
    buckets: FxHashMap<u64, Bucket>,
    count: u64,
    in_flight: u64,
    most_in_flight: u64,
}

impl Services {
    /// Adds a transfer.
    pub fn add(&mut self, service: Service) {
        let Service { bytes, ticks, in_flight } = service;
        self.count += 1;
        self.in_flight += in_flight;
        self.most_in_flight = self.most_in_flight.max(in_flight);
        if bytes < LIMIT && ticks < LIMIT {
            self.add_bucket(bytes << NUMBER_BITS | number(ticks), Bucket { count: 1, sum: ticks, least: ticks });
        }
    }

    fn add_bucket(&mut self, key: u64, bucket: Bucket) {
        if let Some(known) = self.buckets.get_mut(&key) {
            known.merge(bucket);
        } else if self.buckets.len() < MOST_BUCKETS {
            self.buckets.insert(key, bucket);
        }
    }

    /// Adds all transfers of another.
    pub fn merge(&mut self, other: &Self) {
        other.buckets.iter().for_each(|(&key, &bucket)| self.add_bucket(key, bucket));
        self.count += other.count;
        self.in_flight += other.in_flight;
        self.most_in_flight = self.most_in_flight.max(other.most_in_flight);
    }

    /// Gives back memory when nothing more is expected.
    pub fn close(&mut self) {
        self.buckets.shrink_to_fit();
    }

    /// Returns the number of buckets.
    pub(crate) fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Returns the bytes per tick of all transfers, each with its own time. `None` if the ticks are 0.
    pub(crate) fn mean_rate(&self) -> Option<f64> {
        let of_sizes = self.by_size(|size, buckets| {
            let ticks: f64 = buckets.iter().map(|(_, bucket)| bucket.sum as f64).sum();
            Some((size as f64 * count(buckets) as f64, ticks))
        });
        let (bytes, ticks) = of_sizes.into_iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        (ticks > 0.0).then(|| bytes / ticks)
    }

    /// Returns the number of transfers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean and the largest number of a connection's transfers under way when a transfer started, itself
    /// included.
    pub fn in_flight(&self) -> Option<(f64, u64)> {
        (self.count > 0).then(|| (self.in_flight as f64 / self.count as f64, self.most_in_flight))
    }

    /// Returns each size and its time in ticks, in ascending order of sizes.
    pub fn points(&self, regression: Regression) -> Vec<(u64, f64)> {
        let time = match regression {
            Regression::Median => median,
            Regression::Min => least,
            Regression::Avg => mean,
        };
        self.by_size(|size, buckets| Some((size, time(buckets)?)))
    }

    /// Returns the figures of a typical transfer. A stall counts only in a size half of whose transfers stall. `None` if
    /// the ticks are 0.
    pub fn typical(&self) -> Option<Typical> {
        let of_sizes = self.by_size(|size, buckets| {
            let transfers = count(buckets) as f64;
            let ticks = median(buckets)? * transfers;
            Some(Typical { bytes: size as f64 * transfers, ticks, error: median_error(buckets) * transfers })
        });
        let sum = of_sizes.into_iter().reduce(|all, one| Typical {
            bytes: all.bytes + one.bytes,
            ticks: all.ticks + one.ticks,
            error: all.error.hypot(one.error),
        });
        sum.filter(|sum| sum.ticks > 0.0)
    }

    /// Maps each size, in ascending order.
    fn by_size<T>(&self, of_one: impl Fn(u64, &[(u64, Bucket)]) -> Option<T>) -> Vec<T> {
        let mut sorted: Vec<(u64, Bucket)> = self.buckets.iter().map(|(&key, &bucket)| (key, bucket)).collect();
        sorted.sort_unstable_by_key(|&(key, _)| key);
        let chunks = sorted.chunk_by(|(a, _), (b, _)| a >> NUMBER_BITS == b >> NUMBER_BITS);
        chunks.filter_map(|chunk| of_one(chunk.first()?.0 >> NUMBER_BITS, chunk)).collect()
    }
}

fn count(of_one_size: &[(u64, Bucket)]) -> u64 {
    of_one_size.iter().map(|(_, bucket)| bucket.count).sum()
}

fn median(of_one_size: &[(u64, Bucket)]) -> Option<f64> {
    let middle = count(of_one_size).div_ceil(2);
    let mut passed = 0;
    let bucket = of_one_size.iter().find(|(_, bucket)| {
        passed += bucket.count;
        passed >= middle
    });
    bucket.map(|(_, bucket)| bucket.sum as f64 / bucket.count as f64)
}

/// Returns the standard error of the median. Of n times, the number below the true median has a standard deviation of
/// half the root of n (binomial), whatever the times' distribution: the times at these places lie two errors apart.
fn median_error(of_one_size: &[(u64, Bucket)]) -> f64 {
    let count = count(of_one_size) as f64;
    let [low, high] = [-0.5, 0.5].map(|off| at(of_one_size, (count / 2.0 + off * count.sqrt()).clamp(0.0, count)));
    (high - low) / 2.0
}

/// Returns the time that this many times lie below, as if those of a bucket lay evenly in it.
fn at(of_one_size: &[(u64, Bucket)], place: f64) -> f64 {
    let (mut passed, mut time) = (0.0, 0.0);
    for &(key, bucket) in of_one_size {
        let [from, width] = bounds(key & ((1 << NUMBER_BITS) - 1)).map(|it| it as f64);
        let part = (place - passed) / bucket.count as f64;
        time = from + width * part.min(1.0);
        passed += bucket.count as f64;
        if passed >= place {
            break;
        }
    }
    time
}

fn least(of_one_size: &[(u64, Bucket)]) -> Option<f64> {
    of_one_size.iter().map(|(_, bucket)| bucket.least).min().map(|least| least as f64)
}

fn mean(of_one_size: &[(u64, Bucket)]) -> Option<f64> {
    let (count, sum) =
        of_one_size.iter().fold((0, 0.0), |(count, sum), (_, bucket)| (count + bucket.count, sum + bucket.sum as f64));
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn services(times: impl IntoIterator<Item = (u64, u64)>) -> Services {
        let mut services = Services::default();
        times.into_iter().for_each(|(bytes, ticks)| services.add(Service { bytes, ticks, in_flight: 1 }));
        services
    }

    #[test]
    fn each_size_has_one_point() {
        let all = services([(8, 30), (8, 20), (8, 1000), (0, 5), (64, 1), (64, 3)]);
        assert_eq!(all.points(Regression::Median), [(0, 5.0), (8, 30.0), (64, 1.0)]);
        assert_eq!(all.points(Regression::Min), [(0, 5.0), (8, 20.0), (64, 1.0)]);
        assert_eq!(all.points(Regression::Avg), [(0, 5.0), (8, 350.0), (64, 2.0)]);
    }

    #[test]
    fn a_typical_transfer_takes_its_sizes_median_time() {
        let all = services([(8, 30), (8, 20), (8, 100_000), (0, 5), (64, 3), (64, 3)]);
        assert_eq!(all.typical().map(|typical| (typical.bytes, typical.ticks)), Some((152.0, 101.0)));
        assert_eq!([services([]), services([(8, 0)])].map(|services| services.typical()), [None; 2]);
    }

    #[test]
    fn the_error_of_a_typical_time_falls_with_the_number_of_transfers() {
        let error = |count: u64| {
            let typical = services((0..count).map(|number| (8, 1000 + 1000 * (number * 37 % 100) / 100))).typical();
            typical.map(|typical| typical.error / typical.ticks).unwrap()
        };
        // evenly spread over 1000 around 1500: half a root of n of the n places to each side
        for (count, expected) in [(100, 0.033), (10_000, 0.0033)] {
            assert!((0.8..1.25).contains(&(error(count) / expected)), "{count}: {}", error(count));
        }
        // equal times: what the bucket leaves open
        assert!(services([(8, 30); 100]).typical().is_some_and(|typical| typical.error < 0.01 * typical.ticks));
    }

    #[test]
    fn a_median_is_off_by_less_than_an_eighth_and_exact_where_times_are_alike() {
        for seed in 0..50 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut times: Vec<u64> = (0..1 + random.usize(..400)).map(|_| 1 << random.u32(..40)).collect();
            times.iter_mut().for_each(|time| *time += random.u64(..*time));
            let found = services(times.iter().map(|&time| (8, time))).points(Regression::Median)[0].1;
            times.sort_unstable();
            let exact = times[(times.len() - 1) / 2] as f64;
            assert!((found / exact - 1.0).abs() < 0.125, "{found} instead of {exact}");
        }
        let alike = services((0..999).map(|number| (8, if number % 3 == 0 { number } else { 12_345 })));
        assert_eq!(alike.points(Regression::Median), [(8, 12_345.0)]);
    }

    #[test]
    fn buckets_ascend_with_times() {
        let edges = (0..47).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + (1 << bit >> 1)]);
        let numbers: Vec<u64> = edges.map(number).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
        assert_eq!([0, 7, 8, 15, 16, 17, 18].map(number), [0, 7, 8, 15, 16, 16, 17]);
        for time in (0..47).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + (1 << bit >> 1)]) {
            let [from, width] = bounds(number(time));
            assert!((from..from + width).contains(&time), "{time} is not in {from} + {width}");
        }
    }

    #[test]
    fn merging_equals_adding_all() {
        let times = |part: u64| {
            (0..500_u64).filter(move |i| part == 2 || i % 2 == part).map(|i| (i * 31 % 17, i * 7919 % 10_009))
        };
        let mut merged = services(times(0));
        merged.merge(&services(times(1)));
        assert_eq!(merged, services(times(2)));
    }

    #[test]
    fn transfers_in_flight_are_averaged() {
        let mut all = Services::default();
        assert_eq!(all.in_flight(), None);
        [1, 2, 3, 8].into_iter().for_each(|in_flight| all.add(Service { bytes: 8, ticks: 1, in_flight }));
        assert_eq!(all.in_flight(), Some((3.5, 8)));
    }

    #[test]
    fn memory_is_bounded_and_what_is_implausible_is_not_taken() {
        let all = services((0..MOST_BUCKETS as u64 + 10).map(|size| (size, 1)).chain([(3, u64::MAX), (LIMIT, 1)]));
        assert_eq!(all.points(Regression::Median).len(), MOST_BUCKETS);
        assert_eq!(services([(3, LIMIT), (LIMIT, 1)]).points(Regression::Median), []);
    }
}
