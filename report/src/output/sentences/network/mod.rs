//! Is the network as fast as it should be?

mod pairs;
#[cfg(test)]
mod tests;

use super::words::{absent, capital};
use crate::analysis::speed::shape::{LARGE, bus_bytes, size};
use crate::answer::{AnswerVerdict, PartKind, Report, SlowCommunicator, SlowPart, Speed, SpeedRow, Verdicted};
use crate::output::names::ReportNames;
use crate::output::units::{count, counted, rate, share, sizes, time};
use pairs::{NAMED, more, pairs, subject};
pub(crate) use pairs::{of_late_ranks, slow_part};
use std::collections::BTreeMap;

/// Least part of the rows' time that forced ones have if they are worth a look.
const FORCED: f64 = 0.1;
/// Share of a step from which on what it would gain is much.
const MUCH: f64 = 0.05;
/// Factor from which on a slow part is bad, where its gain is not known.
const BAD: f64 = 1.5;
/// Share of the baseline's rate below which an operation is worth a look, and below which it is bad.
const OF_BASELINE: [f64; 2] = [0.85, 0.5];
/// Share of the link below which an operation is worth a look.
const OF_LINK: f64 = 0.5;
/// Least bytes of an operation that should reach a good share of its link: smaller ones are latency in part.
const LONG: f64 = 16.0 * 1024.0 * 1024.0;

/// Returns whether the network is as fast as it should be.
pub fn network(report: &Report) -> String {
    let names = ReportNames::of(report);
    let mut text = match (report.speed.known(), report.speed.absent()) {
        (Some(speed), _) => reached(speed) + &few(speed),
        (None, reason) => absent(reason),
    };
    let communicators = report.speed.known().map_or(&[][..], |speed| &speed.slow);
    for slow in communicators.iter().take(NAMED) {
        text += " ";
        text += &slow_communicator(slow, &names);
    }
    text +=
        &more(communicators.len(), "slow communicator", "speed").map_or_else(String::new, |more| format!(" {more}"));
    text += &report.speed.known().map_or_else(String::new, forced);
    text += " ";
    text += &pairs(report, &names, !communicators.is_empty());
    text
}

/// Returns the answer with its verdict.
pub(super) fn verdicted(report: &Report) -> Verdicted {
    let speed = report.speed.known();
    let heavy = speed.and_then(|speed| heaviest(&speed.rows));
    let parts = report.pairs.known().map_or(&[][..], |pairs| &pairs.slow);
    let communicators = speed.map_or(&[][..], |speed| &speed.slow);
    let gain_us =
        parts.iter().filter_map(|part| part.gain_us.or_else(|| gain_us(report, part.excess_us))).reduce(f64::max);
    let length = report.steps.known().map(|steps| steps.mean_us).filter(|us| *us > 0.0);
    let gain = gain_us.zip(length).map(|(gain, length)| gain / length);
    let factors = parts.iter().map(|part| part.factor).chain(communicators.iter().map(factor));
    let of_baseline = speed.filter(|speed| speed.baseline.is_some()).and(heavy).and_then(of_expected);
    let of_link = heavy.filter(|row| size(row) >= LONG).and_then(|row| row.utilisation);
    let slow = factors.reduce(f64::max).map(|factor| match gain {
        Some(gain) if gain >= MUCH => AnswerVerdict::Bad,
        None if factor >= BAD => AnswerVerdict::Bad,
        _ => AnswerVerdict::Look,
    });
    let below = of_baseline.map(|part| match part {
        part if part < OF_BASELINE[1] => AnswerVerdict::Bad,
        part if part < OF_BASELINE[0] => AnswerVerdict::Look,
        _ => AnswerVerdict::Fine,
    });
    let share = of_link.map(|part| if part < OF_LINK { AnswerVerdict::Look } else { AnswerVerdict::Fine });
    let compared = are_compared(report).then_some(AnswerVerdict::Fine);
    let forced = speed.is_some_and(|speed| forced_part(speed) >= FORCED).then_some(AnswerVerdict::Look);
    let worst = [slow, below, share, forced, compared].into_iter().flatten().max_by_key(|verdict| match verdict {
        AnswerVerdict::Unknown => 0,
        AnswerVerdict::Fine => 1,
        AnswerVerdict::Look => 2,
        AnswerVerdict::Bad => 3,
    });
    let verdict = worst.unwrap_or(AnswerVerdict::Unknown);
    let names = ReportNames::of(report);
    let why =
        parts.first().map(|part| subject(part, &names)).or_else(|| communicators.first().map(|slow| of(slow, &names)));
    Verdicted {
        verdict,
        text: network(report),
        gain_us,
        gain,
        when: String::new(),
        why: why.unwrap_or_default(),
        next: next(verdict, parts.first(), communicators.first(), [below, share, forced]),
        ..Verdicted::default()
    }
}

/// Returns what a step would gain at most, of the time that a part cost the whole job. Transfers are those of all
/// steps.
fn gain_us(report: &Report, excess_us: Option<f64>) -> Option<f64> {
    let steps = report.steps.known()?;
    let count = steps.count + steps.warm_up;
    excess_us.filter(|_| count > 0).map(|us| us / count as f64)
}

/// Returns whether pairs or communicators were compared with others.
fn are_compared(report: &Report) -> bool {
    report.pairs.known().is_some_and(|pairs| pairs.rows.iter().any(|pair| pair.is_judged()))
}

fn next(
    verdict: AnswerVerdict,
    part: Option<&SlowPart>,
    communicator: Option<&SlowCommunicator>,
    [baseline, link, forced]: [Option<AnswerVerdict>; 3],
) -> String {
    let is_below = |verdict: Option<AnswerVerdict>| verdict.is_some_and(|verdict| verdict != AnswerVerdict::Fine);
    let text = match (part.map(|part| (part.kind, part.inside)), communicator) {
        (Some((_, true)), _) | (None, Some(_)) => {
            "Read state and errors of the NVLinks on that node (nvidia-smi nvlink -s and -e), and its GPUs' clocks."
        }
        (Some((PartKind::Pair | PartKind::Link, _)), _) => {
            "Run nccl-tests' sendrecv_perf between the two nodes, and read the error counters of the ports between them."
        }
        (Some((PartKind::Adapter | PartKind::Node, _)), _) => {
            "Read state, rate and errors of the adapters on that node (ibstat, ethtool), and look at their cables."
        }
        _ if forced.is_some() => {
            "If the setting that forces a way is not needed, run the job once without it, and compare (--baseline)."
        }
        _ if is_below(baseline) => "Compare NCCL's release, its settings and the nodes with those of the baseline.",
        _ if is_below(link) => {
            "Compare with nccl-tests at this size, and look at the network that NCCL has chosen (NCCL_DEBUG=INFO)."
        }
        _ if verdict == AnswerVerdict::Unknown => {
            "Give the link's rate (--link-gbps) or an earlier report (--baseline)."
        }
        _ => "",
    };
    text.into()
}

/// Says what the operation reaches that moves most bytes.
fn reached(speed: &Speed) -> String {
    let Some(row) = heaviest(&speed.rows) else { return no_large(&speed.rows) };
    let what = operation(row);
    let mut text = match (row.busbw, row.busiest, row.busbw_mean) {
        (Some(busbw), ..) => format!("{what} reaches {} bus bandwidth", rate(busbw)),
        (None, Some(busiest), _) => format!("{what} reaches {} at its busiest rank", rate(busiest)),
        (None, None, mean) => {
            format!("{what} reaches {} bus bandwidth at least, its waits included", rate(mean.unwrap_or_default()))
        }
    };
    if let Some(part) = row.utilisation {
        text += &format!(", {} of its link", share(part));
    }
    match (row.expected, of_expected(row), &speed.baseline) {
        (Some(expected), Some(part), Some(_)) => {
            text += &format!(", {} of the baseline's {}", share(part), rate(expected));
        }
        (_, _, Some(_)) => text += "; the baseline has no such operation",
        (Some(expected), _, None) => {
            text += &format!("; the best other communicator of this shape reaches {}", rate(expected));
        }
        (None, _, None) => {}
    }
    if row.utilisation.is_none() && row.busbw.is_some() {
        text += "; the rate of its link is not known (--link-gbps)";
    }
    text + "."
}

/// Says which settings force ways that NCCL itself would not take.
fn forced(speed: &Speed) -> String {
    let mut rows: BTreeMap<&str, u64> = BTreeMap::new();
    speed.rows.iter().filter_map(|row| row.forced.as_deref()).for_each(|by| *rows.entry(by).or_default() += 1);
    let all: u64 = rows.values().sum();
    let Some((by, _)) = rows.iter().max_by_key(|(_, rows)| **rows) else { return String::new() };
    let others = if rows.len() > 1 { ", and others" } else { "" };
    let of = counted(speed.rows.len() as u64, "row");
    format!(" {} of {of} of --part speed ran as NCCL itself would not choose: {by}{others}.", count(all))
}

/// Returns the part of the rows' time that forced ones have; 0 where no time is known.
fn forced_part(speed: &Speed) -> f64 {
    let time = |row: &SpeedRow| row.median_us.or(row.mean_us).unwrap_or_default() * row.count as f64;
    let all: f64 = speed.rows.iter().map(time).sum();
    let forced: f64 = speed.rows.iter().filter(|row| row.forced.is_some()).map(time).sum();
    if all > 0.0 { forced / all } else { 0.0 }
}

/// Returns the rate of a row over the expected one.
fn of_expected(row: &SpeedRow) -> Option<f64> {
    let expected = row.expected.filter(|expected| *expected > 0.0)?;
    row.busbw.map(|busbw| busbw / expected)
}

/// Says that there is no rate of a large operation.
fn no_large(rows: &[SpeedRow]) -> String {
    let are_large = rows.iter().any(|row| size(row) >= LARGE);
    let most = rows.iter().filter(|row| row.median_us.is_some()).max_by_key(|row| row.compared);
    match most {
        _ if are_large => "Not known: no operation of 1 MiB or more has a bus bandwidth.".into(),
        Some(row) => format!(
            "There are only small operations, whose time is latency: {} takes {} in the median.",
            operation(row),
            time(row.median_us.unwrap_or_default())
        ),
        None => "Not known: there are only small operations, and none has a time.".into(),
    }
}

fn operation(row: &SpeedRow) -> String {
    let dimension = if row.dimension == "unknown" { String::new() } else { format!("{}, ", row.dimension) };
    let ranks = counted(row.nranks.max(0).unsigned_abs().into(), "rank");
    format!("{} of {} ({dimension}{ranks})", row.function, sizes(row.from_bytes, row.to_bytes))
}

/// Says how many operations the speeds are of, where those are less than half.
fn few(speed: &Speed) -> String {
    let sum = |of: fn(&SpeedRow) -> u64| speed.rows.iter().map(of).fold(0, u64::saturating_add);
    let (compared, all) = (sum(|row| row.compared), sum(|row| row.count));
    if compared == 0 || compared >= all.div_ceil(2) {
        return String::new();
    }
    format!(" Only {} of {} could be compared.", count(compared), counted(all, "operation"))
}

fn of(slow: &SlowCommunicator, names: &ReportNames<'_>) -> String {
    let ranks: Vec<String> = slow.gpus.iter().take(8).map(|&gpu| names.gpu(gpu)).collect();
    let dots = if slow.gpus.len() > ranks.len() { ", ..." } else { "" };
    format!("communicator {} ({}{dots})", names.communicator(&slow.comm), ranks.join(", "))
}

fn factor(slow: &SlowCommunicator) -> f64 {
    if slow.others_us > 0.0 { slow.median_us / slow.others_us } else { 1.0 }
}

/// Says how slow a communicator is.
pub(crate) fn slow_communicator(slow: &SlowCommunicator, names: &ReportNames<'_>) -> String {
    format!(
        "{} takes {} for {} of {}, the median of {} of its shape {}.",
        capital(&of(slow, names)),
        time(slow.median_us),
        slow.function,
        sizes(slow.from_bytes, slow.to_bytes),
        counted(slow.shape, "communicator"),
        time(slow.others_us)
    )
}

/// Returns the row that the answer is about. Of operations of 1 MiB and more it is of the function, dimension, number
/// of ranks and nodes that move most bytes, of their size with most bytes, of the slowest communicator. Rows without a
/// rate do not count; where none has one, that of the durations with their waits is taken.
pub(crate) fn heaviest(rows: &[SpeedRow]) -> Option<&SpeedRow> {
    let large = |rate: fn(&SpeedRow) -> Option<f64>| -> Vec<&SpeedRow> {
        rows.iter().filter(|row| size(row) >= LARGE && rate(row).is_some()).collect()
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
