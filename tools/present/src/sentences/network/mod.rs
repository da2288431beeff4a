//! Is the network as fast as it should be?

mod pairs;
#[cfg(test)]
mod tests;

use super::early::{absent, capital};
use crate::names::ReportNames;
use crate::units::{count, counted, rate, share, sizes, time};
use pairs::{NAMED, more, pairs, subject};
pub(crate) use pairs::{of_late_ranks, slow_part};
use report::analysis::speed::shape::{MIN_LARGE_BYTES, size};
use report::analysis::verdict::{NetworkVerdict, heaviest, of_expected};
use report::answer::{AnswerVerdict, PartKind, Report, SlowCommunicator, Speed, SpeedRow, Verdicted};
use std::collections::BTreeMap;

/// Returns whether the network is as fast as it should be.
fn network(report: &Report) -> String {
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
pub(super) fn answer(report: &Report) -> Verdicted {
    let judged = NetworkVerdict::judge(report);
    let names = ReportNames::of(report);
    let why = judged.part.map(|part| subject(part, &names));
    let why = why.or_else(|| judged.communicator.map(|slow| of(slow, &names))).unwrap_or_default();
    let NetworkVerdict { verdict, gain_us, gain, .. } = judged;
    Verdicted { verdict, text: network(report), gain_us, gain, why, next: next(&judged).into(), ..Verdicted::default() }
}

fn next(judged: &NetworkVerdict<'_>) -> &'static str {
    match (judged.part.map(|part| (part.kind, part.inside)), judged.communicator) {
        (Some((_, true)), _) | (None, Some(_)) => {
            "Read state and errors of the NVLinks on that node (nvidia-smi nvlink -s and -e), and its GPUs' clocks."
        }
        (Some((PartKind::Pair | PartKind::Link, _)), _) => {
            "Run nccl-tests' sendrecv_perf between the two nodes, and read the error counters of the ports between them."
        }
        (Some((PartKind::Adapter | PartKind::Node, _)), _) => {
            "Read state, rate and errors of the adapters on that node (ibstat, ethtool), and look at their cables."
        }
        _ if judged.is_forced => {
            "If the setting that forces a way is not needed, run the job once without it, and compare (--baseline)."
        }
        _ if judged.is_below_baseline => {
            "Compare NCCL's release, its settings and the nodes with those of the baseline."
        }
        _ if judged.is_below_link => {
            "Compare with nccl-tests at this size, and look at the network that NCCL has chosen (NCCL_DEBUG=INFO)."
        }
        _ if judged.verdict == AnswerVerdict::Unknown => {
            "Give the link's rate (--link-gbps) or an earlier report (--baseline)."
        }
        _ => "",
    }
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

/// Says that there is no rate of a large operation.
fn no_large(rows: &[SpeedRow]) -> String {
    let are_large = rows.iter().any(|row| size(row) >= MIN_LARGE_BYTES);
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
