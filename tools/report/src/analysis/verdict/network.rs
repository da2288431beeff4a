//! Is the network as fast as it should be?

use crate::analysis::speed::shape::{MIN_LARGE_BYTES, bus_bytes, size};
use crate::answer::{AnswerVerdict, Report, SlowCommunicator, SlowPart, Speed, SpeedRow};
use std::collections::BTreeMap;

/// Least part of the rows' time that forced ones have if they are worth a look.
const MIN_FORCED_SHARE: f64 = 0.1;
/// Share of a step from which on what it would gain is much.
const LARGE_GAIN: f64 = 0.05;
/// Factor from which on a slow part is bad, where its gain is not known.
const BAD_FACTOR: f64 = 1.5;
/// Share of the baseline's rate below which an operation is worth a look, and below which it is bad.
const BASELINE_LIMITS: [f64; 2] = [0.85, 0.5];
/// Share of the link below which an operation is worth a look.
const MIN_LINK_SHARE: f64 = 0.5;
/// Least bytes of an operation that should reach a good share of its link: smaller ones are latency in part.
const MIN_BYTES_OF_LINK: f64 = 16.0 * 1024.0 * 1024.0;

/// The verdict on the network.
#[derive(Debug)]
pub struct NetworkVerdict<'a> {
    /// How much it matters.
    pub verdict: AnswerVerdict,
    /// The most that a step would gain, microseconds.
    pub gain_us: Option<f64>,
    /// The same as a share of a step.
    pub gain: Option<f64>,
    /// The part of the network that is slowest beside its like.
    pub part: Option<&'a SlowPart>,
    /// The communicator that is slowest beside its like.
    pub communicator: Option<&'a SlowCommunicator>,
    /// Whether the operation that moves most bytes is slower than the baseline.
    pub is_below_baseline: bool,
    /// Whether that operation uses little of its link.
    pub is_below_link: bool,
    /// Whether operations with much of the time ran as NCCL itself would not choose.
    pub is_forced: bool,
}

impl<'a> NetworkVerdict<'a> {
    /// Judges speed and pairs.
    pub fn judge(report: &'a Report) -> Self {
        let speed = report.speed.known();
        let heavy = speed.and_then(|speed| heaviest(&speed.rows));
        let pairs = report.pairs.known();
        let parts = pairs.map_or(&[][..], |pairs| &pairs.slow);
        let communicators = speed.map_or(&[][..], |speed| &speed.slow);
        let gain_us =
            parts.iter().filter_map(|part| part.gain_us.or_else(|| gain_us(report, part.excess_us))).reduce(f64::max);
        let length = report.steps.known().map(|steps| steps.mean_us).filter(|us| *us > 0.0);
        let gain = gain_us.zip(length).map(|(gain, length)| gain / length);
        let slow = parts.iter().map(|part| part.factor).chain(communicators.iter().map(factor)).reduce(f64::max);
        let slow = slow.map(|factor| match gain {
            Some(gain) if gain >= LARGE_GAIN => AnswerVerdict::Bad,
            None if factor >= BAD_FACTOR => AnswerVerdict::Bad,
            _ => AnswerVerdict::Look,
        });
        let of_baseline = speed.filter(|speed| speed.baseline.is_some()).and(heavy).and_then(of_expected);
        let below = of_baseline.map(|part| match part {
            part if part < BASELINE_LIMITS[1] => AnswerVerdict::Bad,
            part if part < BASELINE_LIMITS[0] => AnswerVerdict::Look,
            _ => AnswerVerdict::Fine,
        });
        let of_link = heavy.filter(|row| size(row) >= MIN_BYTES_OF_LINK).and_then(|row| row.utilisation);
        let share = of_link.map(|part| if part < MIN_LINK_SHARE { AnswerVerdict::Look } else { AnswerVerdict::Fine });
        let is_forced = speed.is_some_and(|speed| forced_part(speed) >= MIN_FORCED_SHARE);
        let forced = is_forced.then_some(AnswerVerdict::Look);
        let are_compared = pairs.is_some_and(|pairs| pairs.rows.iter().any(|pair| pair.is_judged()));
        let compared = are_compared.then_some(AnswerVerdict::Fine);
        let worst = [slow, below, share, forced, compared].into_iter().flatten().max_by_key(|verdict| match verdict {
            AnswerVerdict::Unknown => 0,
            AnswerVerdict::Fine => 1,
            AnswerVerdict::Look => 2,
            AnswerVerdict::Bad => 3,
        });
        let is_below = |verdict: Option<AnswerVerdict>| verdict.is_some_and(|verdict| verdict != AnswerVerdict::Fine);
        Self {
            verdict: worst.unwrap_or(AnswerVerdict::Unknown),
            gain_us,
            gain,
            part: parts.first(),
            communicator: communicators.first(),
            is_below_baseline: is_below(below),
            is_below_link: is_below(share),
            is_forced,
        }
    }
}

/// Returns what a step would gain at most, of the time that a part cost the whole job. Transfers are those of all
/// steps.
fn gain_us(report: &Report, excess_us: Option<f64>) -> Option<f64> {
    let steps = report.steps.known()?;
    let count = steps.count + steps.warm_up;
    excess_us.filter(|_| count > 0).map(|us| us / count as f64)
}

fn factor(slow: &SlowCommunicator) -> f64 {
    if slow.others_us > 0.0 { slow.median_us / slow.others_us } else { 1.0 }
}

/// Returns the part of the rows' time that forced ones have; 0 where no time is known.
fn forced_part(speed: &Speed) -> f64 {
    let time = |row: &SpeedRow| row.median_us.or(row.mean_us).unwrap_or_default() * row.count as f64;
    let all: f64 = speed.rows.iter().map(time).sum();
    let forced: f64 = speed.rows.iter().filter(|row| row.forced.is_some()).map(time).sum();
    if all > 0.0 { forced / all } else { 0.0 }
}

/// Returns the rate of a row over the expected one.
pub fn of_expected(row: &SpeedRow) -> Option<f64> {
    let expected = row.expected.filter(|expected| *expected > 0.0)?;
    row.busbw.map(|busbw| busbw / expected)
}

/// Returns the row that the answer is about. Of operations of 1 MiB and more it is of the function, dimension, number
/// of ranks and nodes that move most bytes, of their size with most bytes, of the slowest communicator. Rows without a
/// rate do not count; where none has one, that of the durations with their waits is taken.
pub fn heaviest(rows: &[SpeedRow]) -> Option<&SpeedRow> {
    let large = |rate: fn(&SpeedRow) -> Option<f64>| -> Vec<&SpeedRow> {
        rows.iter().filter(|row| size(row) >= MIN_LARGE_BYTES && rate(row).is_some()).collect()
    };
    let (of_transfers, with_waits) = (large(|row| row.busbw.or(row.busiest)), large(|row| row.busbw_mean));
    let kind = with_most(if of_transfers.is_empty() { with_waits } else { of_transfers }, |row| {
        (&row.function, &row.dimension, row.nranks, row.nnodes)
    });
    let long = with_most(kind, |row| [row.from_bytes, row.to_bytes]);
    let reached = |row: &SpeedRow| row.busbw.or(row.busiest).or(row.busbw_mean).unwrap_or_default();
    long.into_iter().min_by(|one, other| reached(one).total_cmp(&reached(other)))
}

/// Returns the rows with the key whose rows move most bytes.
fn with_most<'a, K: Ord>(rows: Vec<&'a SpeedRow>, key: impl Fn(&'a SpeedRow) -> K) -> Vec<&'a SpeedRow> {
    let mut alike: BTreeMap<K, Vec<&SpeedRow>> = BTreeMap::new();
    rows.into_iter().for_each(|row| alike.entry(key(row)).or_default().push(row));
    let bytes = |rows: &Vec<&SpeedRow>| rows.iter().map(|row| bus_bytes(row)).sum::<f64>();
    alike.into_values().max_by(|one, other| bytes(one).total_cmp(&bytes(other))).unwrap_or_default()
}
